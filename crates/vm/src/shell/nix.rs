//! The differences in an expression of Nix, which contains scripts in its strings of several lines (`'' ... ''`).

use super::Lexer;

/// Returns whether a text is an expression of Nix.
pub(super) fn is_nix(text: &str) -> bool {
    let begin = text.trim_start();
    // A function of a set, a set, or definitions; `{ pkgs, ... }:` may follow comments.
    let begins = begin.starts_with(['{', '#', '/', '(']) || begin.starts_with("let");
    let names = ["pkgs", "lib.", "config", "inherit ", "mkDerivation", "writeShell"];
    let function = || ["}:", ": {", " = {", " = ''", "in {"].iter().any(|it| text.contains(it));
    begins
        && !begin.starts_with("#!/bin/")
        && !begin.starts_with("#!/usr/bin/env bash")
        && names.iter().any(|it| text.contains(it))
        && text.contains(";")
        && function()
}

impl Lexer<'_> {
    /// The length of quotes here that are not those of a shell: a prime at the end of a name (`mapAttrs'`), and the escape
    /// of two quotes in a string.
    pub(super) fn nix_quote(&self) -> usize {
        let rest = self.rest();
        if rest.starts_with("'''") {
            return 3;
        }
        let before = self.text.get(..self.at).and_then(|front| front.chars().next_back());
        let after = rest.chars().nth(1);
        let name = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        let ends = after.is_none_or(|c| c.is_whitespace() || ");:.=,'".contains(c));
        // Two of them begin or end a string.
        let two = rest.starts_with("''");
        usize::from(name && ends && !two)
    }
}

#[cfg(test)]
mod tests {
    use crate::shell::statements;

    fn words(text: &str) -> Vec<String> {
        let all = statements(text);
        let words = all.iter().flat_map(|it| &it.words);
        words.filter_map(|it| it.literal()).map(str::to_owned).collect()
    }

    #[test]
    fn prime_of_a_name_opens_no_quote() {
        for name in ["lib.mapAttrs'", "lib.foldl'", "f'"] {
            let text = format!(
                "{{ lib, pkgs, ... }}: {{\n  a = {name} (n: v: v) {{}};\n  b = ''\n    run --x 'a b' y\n  '';\n}}\n"
            );
            let words = words(&text);
            for word in ["run", "--x", "a b", "y"] {
                assert!(words.iter().any(|it| it == word), "{words:?}");
            }
        }
        // In a script, it is a quote.
        assert!(words("#!/bin/sh\necho a' b'; pkgs=1\n").contains(&"a b".to_owned()));
    }
}

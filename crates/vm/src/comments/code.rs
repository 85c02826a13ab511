//! Comments of programming languages, without their grammars: only strings, here-documents and comments are recognised.
//! At the first construct that could hide where a string ends, the rest of the file has no comments.

use std::ops::Range;

/// The languages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    /// A shell, where its grammar was not understood; and other files with `#`.
    Shell,
    Ruby,
    /// Also TOML.
    Python,
    Hcl,
    Nix,
    PowerShell,
    /// `//` and `/* */`.
    Slashes,
}

/// The comments of a text.
pub(super) fn comments(text: &str, language: Language) -> Vec<Range<usize>> {
    let mut reader = Reader { text, at: 0, language, pending: Vec::new(), found: Vec::new() };
    // Comments found before the end of the run are certain.
    let _ = reader.run();
    reader.found
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    language: Language,
    /// Delimiters of here-documents that begin after this line.
    pending: Vec<String>,
    found: Vec<Range<usize>>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn line_end(&self) -> usize {
        self.at + self.rest().find('\n').unwrap_or(self.rest().len())
    }

    /// Returns the text of the line before this place.
    fn before(&self) -> &'a str {
        let before = self.text.get(..self.at).unwrap_or_default();
        before.rsplit('\n').next().unwrap_or_default()
    }

    fn comment(&mut self, end: usize) {
        let text = self.text.get(self.at..end).unwrap_or_default();
        self.found.push(self.at..self.at + text.trim_end().len());
        self.at = end;
    }

    /// Reads to the end, or up to a construct that is not understood (`None`).
    fn run(&mut self) -> Option<()> {
        use Language::{Hcl, Nix, PowerShell, Python, Ruby, Shell, Slashes};
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            let language = self.language;
            // A word may have `#` in it.
            let front = self.text.get(..self.at).unwrap_or_default();
            let begins = front.chars().next_back().is_none_or(char::is_whitespace);
            match c {
                '\n' => {
                    self.at += 1;
                    self.documents()?;
                }
                '#' if begins && language != Slashes => self.comment(self.line_end()),
                '/' if rest.starts_with("//") && matches!(language, Hcl | Slashes) && begins => {
                    self.comment(self.line_end());
                }
                '/' if rest.starts_with("/*") && matches!(language, Hcl | Nix | Slashes) => {
                    let end = self.at + 2 + rest.get(2..)?.find("*/")?;
                    self.comment(end);
                }
                '<' if rest.starts_with("<#") && language == PowerShell => {
                    let end = self.at + rest.find("#>")? + 2;
                    self.comment(end);
                }
                '<' if rest.starts_with("<<") && matches!(language, Shell | Ruby | Hcl) => {
                    self.document();
                }
                '=' if rest.starts_with("=begin")
                    && self.before().is_empty()
                    && language == Ruby =>
                {
                    let last = self.at + rest.find("\n=end")? + 1;
                    let length = self.text.get(last..)?.find('\n');
                    self.comment(length.map_or(self.text.len(), |length| last + length));
                }
                '_' if rest.starts_with("__END__") && self.before().is_empty() => return None,
                // Literals of Ruby with a chosen delimiter.
                '%' if language == Ruby => {
                    let next =
                        rest.get(1..)?.trim_start_matches(['q', 'Q', 'w', 'W', 'i', 'r', 'x', 's']);
                    if next.starts_with(|c: char| c.is_ascii_punctuation()) {
                        return None;
                    }
                    self.at += 1;
                }
                '/' if language == Ruby && self.pattern() => return None,
                '@' if language == PowerShell && rest.get(1..)?.starts_with(['"', '\'']) => {
                    return None;
                }
                '\\' if language != PowerShell => {
                    self.at += 1;
                    self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                }
                '`' if language == PowerShell => {
                    self.at += 1;
                    self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                }
                '\'' if language == Nix => {
                    if !rest.starts_with("''") {
                        self.at += 1;
                        continue;
                    }
                    self.at += 2;
                    self.indented()?;
                }
                '"' | '\'' if matches!(language, Python) && rest.starts_with(triple(c)) => {
                    self.at += 3 + rest.get(3..)?.find(triple(c))? + 3;
                }
                '"' | '\'' => self.string(c)?,
                '`' if matches!(language, Shell | Ruby | Slashes) => self.string(c)?,
                _ => self.at += c.len_utf8(),
            }
        }
        Some(())
    }

    /// Whether a slash may begin a pattern and not divide.
    fn pattern(&self) -> bool {
        let front = self.text.get(..self.at).unwrap_or_default();
        let before = front.trim_end_matches([' ', '\t', '\r']).chars().next_back();
        !before
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']' | '_' | '/' | '.' | '~'))
    }

    /// Reads a string; `None` if it does not end, or if it contains code that may contain strings.
    fn string(&mut self, quote: char) -> Option<()> {
        let plain =
            quote == '\'' && matches!(self.language, Language::Shell | Language::PowerShell);
        // Elsewhere a string that is open at the end of its line is an apostrophe, or an error.
        let lines = matches!(self.language, Language::Shell | Language::Ruby | Language::Nix)
            || quote == '`'
            || self.language == Language::PowerShell;
        self.at += 1;
        loop {
            let c = self.rest().chars().next()?;
            let rest = self.rest();
            self.at += c.len_utf8();
            match c {
                _ if c == quote => return Some(()),
                '\n' if !lines => return None,
                '\\' if !plain && self.language != Language::PowerShell => {
                    self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                }
                '`' if !plain && self.language == Language::PowerShell => {
                    self.at += self.rest().chars().next().map_or(0, char::len_utf8);
                }
                _ if !plain && ["$(", "${", "#{"].iter().any(|it| rest.starts_with(it)) => {
                    // Before its end there must be no string.
                    let close = if rest.starts_with("$(") { ')' } else { '}' };
                    let inner = rest.get(..rest.find(close)?)?;
                    if inner.contains(['"', '\'', '`', '\n'])
                        || inner.get(2..)?.contains(['(', '{'])
                    {
                        return None;
                    }
                }
                _ => {}
            }
        }
    }

    /// The rest of an indented string of Nix.
    fn indented(&mut self) -> Option<()> {
        loop {
            self.at += self.rest().find("''")? + 2;
            let rest = self.rest();
            if rest.starts_with(['\'', '$']) {
                self.at += 1;
            } else if rest.starts_with('\\') {
                self.at += 1;
                self.at += self.rest().chars().next()?.len_utf8();
            } else {
                return Some(());
            }
        }
    }

    /// `<<NAME`, `<<-NAME`, `<<~NAME`, with or without quotes.
    fn document(&mut self) {
        let rest = self.rest().get(2..).unwrap_or_default();
        self.at += 2;
        // `<<<` is a string.
        if rest.starts_with('<') {
            self.at += 1;
            return;
        }
        let word = rest.trim_start_matches(['-', '~']).trim_start_matches([' ', '\t']);
        let word = word.trim_start_matches(['\'', '"', '\\', '`']);
        let end = word.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(word.len());
        if let Some(name) = word.get(..end).filter(|name| !name.is_empty()) {
            self.pending.push(name.to_owned());
            self.at += rest.len() - word.len() + name.len();
            self.at += usize::from(self.rest().starts_with(['\'', '"', '`']));
        }
    }

    /// Skips the here-documents that begin here.
    fn documents(&mut self) -> Option<()> {
        for name in std::mem::take(&mut self.pending) {
            loop {
                if self.rest().is_empty() {
                    return None;
                }
                let end = self.line_end();
                let line = self.text.get(self.at..end).unwrap_or_default();
                self.at = (end + 1).min(self.text.len());
                if line.trim() == name {
                    break;
                }
            }
        }
        Some(())
    }
}

fn triple(quote: char) -> &'static str {
    if quote == '"' { "\"\"\"" } else { "'''" }
}

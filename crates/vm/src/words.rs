//! Words of a line of a script, whatever its language: the pieces between blanks, quotes and the marks of lists, with
//! their places. `shell` reads the one language whose variables are expanded.

use std::collections::VecDeque;
use std::ops::Range;

/// Returns whether a word is in a list of words that are separated by blanks.
pub(crate) fn listed(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// The last name of a path: of a program without its directories.
pub(crate) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// One word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) span: Range<usize>,
    /// Whether it was quoted.
    pub(crate) quoted: bool,
}

/// Splits a line at blanks, quotes, commas, brackets and semicolons. A text in quotes is one word, and
/// its backslashes escape nothing: only plain words matter here. `base` is where the line begins.
pub(crate) fn words(line: &str, base: usize) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut open: Option<usize> = None;
    let mut chars = line.char_indices().peekable();
    let mut push = |from: usize, to: usize, quoted: bool| {
        if let Some(text) = line.get(from..to)
            && (quoted || !text.is_empty())
        {
            found.push(Word { text, span: base + from..base + to, quoted });
        }
    };
    while let Some((at, c)) = chars.next() {
        let splits = c.is_whitespace() || matches!(c, ',' | ';' | '[' | ']' | '(' | ')');
        // A quote inside of a word, as in `a="b"` or `it's`, is a part of it.
        let quote = matches!(c, '"' | '\'') && open.is_none();
        if quote && let Some(length) = line.get(at + 1..).and_then(|rest| rest.find(c)) {
            push(at + 1, at + 1 + length, true);
            while chars.peek().is_some_and(|(next, _)| *next <= at + 1 + length) {
                chars.next();
            }
        } else if splits || quote {
            if let Some(from) = open.take() {
                push(from, at, false);
            }
        } else if open.is_none() {
            open = Some(at);
        }
    }
    if let Some(from) = open {
        push(from, line.len(), false);
    }
    found
}

/// The lines of a script, with those that continue (`\`, and `^` and a backtick of Windows) as one;
/// each with the offset at which it begins.
pub(crate) fn statements(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut from = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let trimmed = line.trim_end();
        let continues = trimmed.ends_with('\\')
            || trimmed.ends_with(" ^")
            || trimmed.ends_with(" `")
            || trimmed == "^";
        if !continues || at >= text.len() {
            if let Some(statement) = text.get(from..at) {
                all.push((from, statement.trim_end_matches(['\n', '\r'])));
            }
            from = at;
        }
    }
    all
}

/// Returns whether words before a program's name make it a text or the name of a package, and not a command.
pub(crate) fn only_named<'a>(before: impl IntoIterator<Item = &'a str>) -> bool {
    const TOOLS: &str = "echo printf which whereis man type hash pkill killall pgrep grep apt apt-get aptitude dpkg dnf yum \
        microdnf zypper rpm pacman yay paru pacstrap apk emerge brew pkg pkg_add xbps-install eopkg urpmi nix-env snap \
        flatpak pip pip3";
    before.into_iter().any(|word| {
        let name = word.trim_start_matches(['@', '-', '!', '"', '\'', '(']);
        listed(TOOLS, base(name))
    })
}

/// Returns the word that ends a here-document, from a text that begins with `<<`, and the length of the operator with
/// its word.
pub(crate) fn here_document(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix("<<").filter(|rest| !rest.starts_with('<'))?;
    let rest = rest.trim_start_matches(['-', '~', ' ', '\'', '"', '\\']);
    let ends = |c: char| c.is_whitespace() || ";()|&<>'\"\\`,".contains(c);
    let end = rest.find(ends).unwrap_or(rest.len());
    let quote = usize::from(rest.get(end..).is_some_and(|rest| rest.starts_with(['\'', '"'])));
    rest.get(..end)
        .filter(|word| !word.is_empty())
        .map(|word| (word, text.len() - rest.len() + end + quote))
}

/// The texts of the here-documents of a script, without the lines that end them, in order.
pub(crate) fn here_documents(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The words that end the documents of the line, and where the first one of them begins.
    let mut open: VecDeque<&str> = VecDeque::new();
    let (mut at, mut start) = (0, 0);
    for line in text.split_inclusive('\n') {
        if let Some(name) = open.front() {
            if line.trim_start_matches('\t').trim_end() == *name {
                found.push(start..at);
                start = at + line.len();
                open.pop_front();
            }
        } else {
            let mut rest = line;
            while let Some(mark) = rest.find("<<") {
                rest = rest.get(mark..).unwrap_or_default();
                let named = here_document(rest);
                open.extend(named.map(|(name, _)| name));
                // `<<<` has no document.
                let length = named.map_or_else(
                    || rest.bytes().take_while(|b| *b == b'<').count(),
                    |(_, end)| end,
                );
                rest = rest.get(length..).unwrap_or_default();
            }
            start = at + line.len();
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(line: &str) -> Vec<&str> {
        words(line, 0).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn of_shells_and_rubies() {
        assert_eq!(
            of("VBoxManage modifyvm \"a b\" --cpus 2"),
            ["VBoxManage", "modifyvm", "a b", "--cpus", "2"]
        );
        assert_eq!(
            of("v.customize [\"modifyvm\", :id, '--hpet', \"on\"]"),
            ["v.customize", "modifyvm", ":id", "--hpet", "on"]
        );
        assert_eq!(of("a \"\" b 'open"), ["a", "", "b", "open"]);
        let joined = statements("a \\\n b\nc ^\r\n d\ne\\\n");
        let joined: Vec<_> = joined.into_iter().map(|(_, line)| line).collect();
        assert_eq!(joined, ["a \\\n b", "c ^\r\n d", "e\\"]);
    }

    proptest! {
        #[test]
        fn words_stand_where_they_say(text in "[ a-z\"',;\\[\\]ü\\\\\n]{0,60}") {
            let mut covered = 0;
            for (base, line) in statements(&text) {
                covered += line.len();
                for word in words(line, base) {
                    prop_assert_eq!(text.get(word.span.clone()), Some(word.text));
                }
            }
            prop_assert!(covered <= text.len());
        }
    }
}

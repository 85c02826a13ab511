//! Assignments in files that a shell reads (`/etc/default/grub`, `/etc/update-extlinux.conf`): found
//! with their places, so that one value can be changed and nothing else.
//!
//! It understands what such files hold: comments, assignments with no, single or double quotes,
//! values over several lines, `export`. Everything else is not understood and said to be so.

use crate::words::Change;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Whether it is `NAME+=VALUE`, which bash knows and dash does not.
    pub append: bool,
    /// The line, counted from 1.
    pub line: usize,
    /// Bytes of the value, without its quotes.
    pub span: (usize, usize),
    /// The quote around it, if any.
    pub quote: Option<char>,
    /// The value as it is written.
    pub raw: String,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shell {
    /// Assignments, in order.
    pub assignments: Vec<Assignment>,
    /// Lines that are neither assignment nor comment, counted from 1, with their text.
    pub others: Vec<(usize, String)>,
}

impl Shell {
    /// Reads a file's text.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut shell = Self::default();
        let mut at = 0;
        let mut line = 1;
        while at < text.len() {
            let end =
                text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |n| at + n);
            let next = shell.line(text, at, end, line);
            line += text.get(at..next).map_or(0, |part| part.matches('\n').count());
            at = next.max(at + 1);
        }
        shell
    }

    /// One line, or more if a quote is open at its end; where the next one begins.
    fn line(&mut self, text: &str, start: usize, end: usize, number: usize) -> usize {
        let whole = text.get(start..end).unwrap_or_default();
        let next = (end + 1).min(text.len());
        let body = whole.trim_start();
        if body.is_empty() || body.starts_with('#') {
            return next;
        }
        let mut at = start + (whole.len() - body.len());
        if let Some(rest) = body.strip_prefix("export ") {
            at += body.len() - rest.trim_start().len();
        }
        let mut found = Vec::new();
        // `A=1 B=2` are two assignments.
        loop {
            let Some(assignment) = assignment(text, at, number) else {
                self.others.push((number, whole.trim().to_owned()));
                return next;
            };
            let mut stop = assignment.span.1 + usize::from(assignment.quote.is_some());
            found.push(assignment);
            let rest = text.get(stop..).unwrap_or_default();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t', ';']).len();
            stop += blanks;
            match text.get(stop..).and_then(|rest| rest.chars().next()) {
                None => {
                    self.assignments.append(&mut found);
                    return text.len();
                }
                Some('\n') => {
                    self.assignments.append(&mut found);
                    return stop + 1;
                }
                Some('#') if blanks > 0 => {
                    self.assignments.append(&mut found);
                    let rest = text.get(stop..).unwrap_or_default();
                    return rest.find('\n').map_or(text.len(), |n| stop + n + 1);
                }
                Some(_) if blanks > 0 => at = stop,
                // `"a"b`: a value of several parts is not edited.
                Some(_) => {
                    self.others.push((number, whole.trim().to_owned()));
                    return next;
                }
            }
        }
    }

    /// The last assignment of a variable.
    #[must_use]
    pub fn last(&self, name: &str) -> Option<&Assignment> {
        self.assignments.iter().rev().find(|assignment| assignment.name == name)
    }
}

fn assignment(text: &str, at: usize, line: usize) -> Option<Assignment> {
    let rest = text.get(at..)?;
    let equals = rest.find('=')?;
    let (name, append) = match rest.get(..equals)?.strip_suffix('+') {
        Some(name) => (name, true),
        None => (rest.get(..equals)?, false),
    };
    let letter = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(letter) {
        return None;
    }
    let value = at + equals + 1;
    let rest = text.get(value..)?;
    let (quote, start, length) = match rest.chars().next() {
        Some('\'') => (Some('\''), value + 1, rest.get(1..)?.find('\'')?),
        Some('"') => (Some('"'), value + 1, closing(rest.get(1..)?)?),
        _ => {
            let end =
                rest.find(|c: char| c.is_ascii_whitespace() || c == ';').unwrap_or(rest.len());
            if rest.get(..end)?.contains(['"', '\'', '\\', '`', '&', '|', '(', '<', '>']) {
                return None;
            }
            (None, value, end)
        }
    };
    let raw = text.get(start..start + length)?.to_owned();
    Some(Assignment {
        name: name.to_owned(),
        append,
        line,
        span: (start, start + length),
        quote,
        raw,
    })
}

/// Where an open double quote is closed.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// The text with words added to and removed from the last value of a variable; nothing if it has no
/// such assignment, or one that cannot be edited safely.
#[must_use]
pub fn edit(text: &str, name: &str, change: &Change) -> Option<String> {
    let shell = Shell::parse(text);
    let found = shell.last(name)?;
    Some(replace(text, found, &change.of(&found.raw)))
}

/// The text with another value of an assignment. A value without quotes gets some if it needs them.
#[must_use]
pub fn replace(text: &str, assignment: &Assignment, value: &str) -> String {
    if assignment.raw == value {
        return text.to_owned();
    }
    let (start, end) = assignment.span;
    let mut out = text.to_owned();
    let bare = assignment.quote.is_none();
    let quoted = if bare && (value.contains(' ') || value.is_empty()) {
        format!("\"{value}\"")
    } else {
        value.to_owned()
    };
    out.replace_range(start..end, &quoted);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::change;
    use proptest::prelude::*;

    const DEBIAN: &str = "# If you change this file, run 'update-grub' afterwards\n\
                          GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n\
                          GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n\
                          GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"  # for all\n\
                          GRUB_CMDLINE_LINUX=''\n#GRUB_TERMINAL=console";

    #[test]
    fn reads_what_stands_in_such_files() {
        let shell = Shell::parse(DEBIAN);
        let names: Vec<&str> = shell.assignments.iter().map(|a| a.name.as_str()).collect();
        assert_eq!(
            names,
            ["GRUB_DEFAULT", "GRUB_TIMEOUT", "GRUB_CMDLINE_LINUX_DEFAULT", "GRUB_CMDLINE_LINUX"]
        );
        assert_eq!(shell.others.len(), 1, "{:?}", shell.others);
        let last = shell.last("GRUB_CMDLINE_LINUX").unwrap();
        assert_eq!((last.line, last.quote, last.raw.as_str()), (6, Some('\''), ""));
    }

    #[test]
    fn changes_one_value_and_nothing_else() {
        let wanted = change(&["clocksource=tsc"], &["quiet"]);
        let edited = edit(DEBIAN, "GRUB_CMDLINE_LINUX_DEFAULT", &wanted).unwrap();
        let expected = DEBIAN.replace("\"quiet\"", "\"clocksource=tsc\"");
        assert_eq!(edited, expected);
        let edited = edit(DEBIAN, "GRUB_CMDLINE_LINUX", &change(&["a=1"], &[])).unwrap();
        assert_eq!(edited, DEBIAN.replace("''", "'a=1'"));
        assert_eq!(edit("A=x\n", "A", &change(&["y"], &[])).unwrap(), "A=\"x y\"\n");
        assert_eq!(edit("A=\n", "A", &change(&["y"], &[])).unwrap(), "A=y\n");
        let over = "A=\"b \\\n c\"\nB=1 C=2 # d\n";
        assert_eq!(edit(over, "A", &change(&["y"], &[])).unwrap(), over.replace("c\"", "c y\""));
        assert_eq!(edit(over, "C", &change(&[], &["2"])).unwrap(), over.replace("C=2", "C=\"\""));
        let escaped = "A=\"x=\\\"a b\\\" c\"\n";
        assert_eq!(edit(escaped, "A", &change(&[], &["b"])).unwrap(), escaped);
        // Not understood, not touched.
        assert_eq!(edit("A=\"x\"y\n", "A", &change(&["y"], &[])), None);
        assert_eq!(edit("A=$(date)\n", "A", &change(&["y"], &[])), None);
    }

    #[test]
    fn finds_bare_words() {
        let shell = Shell::parse("clocksource=tsc tsc=reliable\nfoo\n  if x; then\n");
        assert_eq!(shell.assignments.len(), 2);
        assert_eq!(shell.others.len(), 2);
    }

    proptest! {
        #[test]
        fn added_and_removed_gives_the_same_bytes(
            before in "(#[a-z ]{0,9}\n|[A-Z]{1,3}=[a-z]{0,4}\n){0,3}",
            value in "[a-c =]{0,20}",
            after in "(\n#[a-z \"']{0,9}|\nB='[a-z ]{0,4}'){0,3}"
        ) {
            let text = format!("{before}GRUB_X=\"{value}\"{after}");
            let wanted = change(&["zz=1"], &[]);
            let edited = edit(&text, "GRUB_X", &wanted).unwrap();
            prop_assert_eq!(edit(&edited, "GRUB_X", &wanted).unwrap(), edited.clone());
            prop_assert_eq!(edit(&edited, "GRUB_X", &wanted.reversed()).unwrap(), text);
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}") {
            let _ = Shell::parse(&text);
            let _ = edit(&text, "A", &change(&["b"], &[]));
        }
    }
}

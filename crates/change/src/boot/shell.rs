//! Assignments in files that a shell reads (`/etc/default/grub`, `/etc/update-extlinux.conf`), to report their
//! settings and errors.
//!
//! It reads as a person would: comments, assignments with no, single or double quotes, values over several lines,
//! `export`; the rest is kept as lines. Files to edit are read by [`super::strict`].

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Whether it is `NAME+=VALUE`, which bash supports and dash does not.
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

/// The content of a file.
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

    /// Reads one line, or more if a quote is open at its end; returns where the next one begins.
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

/// Returns where an open double quote is closed.
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

/// Returns the text with another value at a place. A value without quotes gets quotes if it needs them.
#[must_use]
pub(super) fn replaced(
    text: &str,
    span: (usize, usize),
    quote: Option<char>,
    raw: &str,
    value: &str,
) -> String {
    if raw == value {
        return text.to_owned();
    }
    let mut out = text.to_owned();
    let quoted = if quote.is_none() && (value.contains([' ', '\t']) || value.is_empty()) {
        format!("\"{value}\"")
    } else {
        value.to_owned()
    };
    out.replace_range(span.0..span.1, &quoted);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEBIAN: &str = "# If you change this file, run 'update-grub' afterwards\n\
                          GRUB_DEFAULT=0\nGRUB_TIMEOUT=5\n\
                          GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`\n\
                          GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"  # for all\n\
                          GRUB_CMDLINE_LINUX=''\n#GRUB_TERMINAL=console";

    #[test]
    fn parse_distribution_files_gives_assignments() {
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
    fn finds_bare_words() {
        let shell = Shell::parse("clocksource=tsc tsc=reliable\nfoo\n  if x; then\n");
        assert_eq!(shell.assignments.len(), 2);
        assert_eq!(shell.others.len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,80}") {
            let _ = Shell::parse(&text);
        }
    }
}

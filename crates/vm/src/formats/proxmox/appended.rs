//! Scripts that write lines to the file of a Proxmox VE machine: `echo "args: ..." >> /etc/pve/qemu-server/100.conf`, or a
//! here-document.

use super::commands::names;
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Statement, name_length, statements};
use crate::words::{here_documents, listed};

/// The directory of the files.
const PLACE: &str = "qemu-server/";

/// Returns the number of the machine of a file, which may be a variable: `$ID` for `${ID}`.
fn number(path: &str) -> Option<String> {
    let name = path.split_once(PLACE)?.1.split_once(".conf")?.0;
    let plain: String = name.chars().filter(|c| !['{', '}', '"', '\''].contains(c)).collect();
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let whole = plain.strip_prefix('$').unwrap_or(&plain);
    (!whole.is_empty() && whole.chars().all(letter)).then_some(plain)
}

/// Returns the machine to whose file `echo` or `printf` writes; the name of the file is the last word.
pub(super) fn echo(names: &[String]) -> Option<String> {
    let first = names.iter().position(|name| !listed(super::commands::BEFORE, name))?;
    let at = names.len().checked_sub(1).filter(|at| *at > first + 1)?;
    let is = |at: usize, programs: &str| names.get(at).is_some_and(|it| listed(programs, it));
    let key = names.get(first + 1..at)?.iter().find(|name| !listed("-e -n -E", name))?;
    (is(first, "echo printf") && key.contains(':')).then_some(())?;
    number(names.get(at)?)
}

/// Returns the key and the value that the words between the program and the file's name write.
pub(super) fn line(words: &[Placed]) -> Option<(String, Placed)> {
    let mut words = words.iter().filter(|word| !listed("-e -n -E", word.as_str()));
    let first = words.next()?;
    let text = first.as_str();
    let (key, rest) = text.split_once(':')?;
    let blank = rest.len() - rest.trim_start().len();
    // `printf` ends the line itself.
    let end = text.strip_suffix("\\n").unwrap_or(text).trim_end().len();
    let from = key.len() + 1 + blank;
    let mut value = first.slice(from.min(end)..end);
    for word in words {
        if !value.is_empty() {
            value.push(' ', word.span().start);
        }
        value.append(word);
    }
    let is_key = key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    (is_key && !value.is_empty()).then(|| (key.to_owned(), value))
}

/// The lines of a here-document for the file of a machine.
pub(super) struct Document {
    /// Where the line of the command begins.
    pub(super) at: usize,
    pub(super) machine: String,
    pub(super) lines: Vec<(String, Placed)>,
}

/// Returns the here-documents for files of machines.
pub(super) fn documents(text: &str) -> Vec<Document> {
    if !text.contains(PLACE) {
        return Vec::new();
    }
    let read = |span: std::ops::Range<usize>| {
        let before = text.get(..span.start)?.trim_end_matches(['\n', '\r']);
        let at = before.rfind('\n').map_or(0, |end| end + 1);
        let command = before.get(at..)?;
        let (_, target) = command.split_once('>').or_else(|| command.split_once("tee "))?;
        let machine = number(target)?;
        let mut lines = Vec::new();
        let mut start = span.start;
        for line in text.get(span)?.split_inclusive('\n') {
            if let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with('#')) {
                let blank = value.len() - value.trim_start().len();
                lines.push((
                    key.trim().to_owned(),
                    open(value.trim(), start + key.len() + 1 + blank),
                ));
            }
            start += line.len();
        }
        Some(Document { at, machine, lines })
    };
    here_documents(text).into_iter().filter_map(read).collect()
}

/// Returns a value in which each variable is unknown.
fn open(value: &str, start: usize) -> Placed {
    let mut out = Placed::default();
    let (mut at, mut rest) = (start, value);
    while let Some(mark) = rest.find(['$', '`']) {
        let (before, variable) = rest.split_at(mark);
        out.push_str(before, at);
        out.push(UNKNOWN, at + mark);
        let end = match variable.as_bytes().get(1) {
            Some(b'{') => variable.find('}').map(|end| end + 1),
            Some(b'(') => variable.find(')').map(|end| end + 1),
            _ if variable.starts_with('`') => {
                variable.get(1..).and_then(|it| it.find('`')).map(|end| end + 2)
            }
            _ => Some(1 + name_length(variable.get(1..).unwrap_or_default())),
        };
        let end = end.unwrap_or(variable.len());
        at += mark + end;
        rest = variable.get(end..).unwrap_or_default();
    }
    out.push_str(rest, at);
    out
}

/// Whether a text is a script that writes such lines.
pub(super) fn any(text: &str) -> bool {
    let writes = |statement: &Statement| echo(&names(statement)).is_some();
    text.contains(PLACE)
        && (statements(text).iter().any(writes)
            || documents(text).iter().any(|it| !it.lines.is_empty()))
}

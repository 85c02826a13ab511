//! Scripts that write lines to the file of a Proxmox VE machine: `echo "args: ..." >> /etc/pve/qemu-server/100.conf`, also
//! by `tee`, `sed` or a file that is copied there, or a here-document.

use super::commands::names;
use crate::formats::qemu::script::{begin, end};
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Statement, name_length, statements};
use crate::words::{base, here_documents, listed};
use std::collections::HashMap;
use std::ops::Range;

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

/// Where the lines that commands write go: by the place of the command, the machine, and whether the last word of the
/// command is the name of its file.
#[derive(Default)]
pub(super) struct Targets {
    all: HashMap<usize, (String, bool)>,
}

impl Targets {
    pub(super) fn of(text: &str) -> Self {
        let mut targets = Self::default();
        if !text.contains(PLACE) {
            return targets;
        }
        let statements = statements(text);
        let all: Vec<Vec<String>> = statements.iter().map(names).collect();
        let files = Files::of(&all);
        let groups = groups(text);
        for (at, (statement, names)) in statements.iter().zip(&all).enumerate() {
            if !writes(statement) {
                continue;
            }
            let place = begin(statement);
            let own = names.last().filter(|_| names.len() > 2).and_then(|name| files.machine(name));
            if let Some(machine) = own {
                targets.all.insert(place, (machine, true));
                continue;
            }
            let next = statements.get(at + 1).zip(all.get(at + 1));
            let piped = next.and_then(|(next, names)| {
                let between = text.get(end(statement)..begin(next))?;
                let tee = names.iter().position(|name| base(name) == "tee")?;
                let file = names.iter().skip(tee + 1).find(|name| !name.starts_with('-'))?;
                (between.trim_matches([' ', '"', '\'', '\t']) == "|")
                    .then(|| files.machine(file))?
            });
            let group = || {
                let (_, file) = groups.iter().find(|(range, _)| range.contains(&place))?;
                files.machine(file).or_else(|| {
                    // The file is copied there.
                    let copied = all.iter().find(|names| {
                        let from = names.len().checked_sub(2).and_then(|at| names.get(at));
                        let copies = names.iter().any(|it| matches!(base(it), "cp" | "mv"));
                        copies && from.is_some_and(|from| plain(from) == *file)
                    })?;
                    files.machine(copied.last()?)
                })
            };
            if let Some(machine) = piped.or_else(group) {
                targets.all.insert(place, (machine, false));
            }
        }
        targets
    }

    pub(super) fn get(&self, at: usize) -> Option<&(String, bool)> {
        self.all.get(&at)
    }
}

/// Variables with the name of the file of a machine.
struct Files(HashMap<String, String>);

impl Files {
    fn of(all: &[Vec<String>]) -> Self {
        let set = |names: &Vec<String>| {
            let (name, path) = names.last()?.split_once('=')?;
            Some((format!("${name}"), number(path)?))
        };
        Self(all.iter().filter_map(set).collect())
    }

    fn machine(&self, name: &str) -> Option<String> {
        number(name).or_else(|| self.0.get(name).cloned())
    }
}

/// A path without the brackets of its variables, and without quotes.
fn plain(path: &str) -> String {
    path.chars().filter(|c| !['{', '}', '"', '\''].contains(c)).collect()
}

/// The groups of commands whose output goes to a file, `{ ...; } > FILE`, each on lines of its own.
fn groups(text: &str) -> Vec<(Range<usize>, String)> {
    let mut open = None;
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if bare == "{" {
            open = Some(at);
        } else if let Some(rest) = bare.strip_prefix('}')
            && let Some(start) = open.take()
        {
            let target = rest.trim_start().strip_prefix('>').map(|it| it.trim_start_matches('>'));
            let word = target.and_then(|it| it.split_whitespace().next());
            found.extend(word.map(|word| (start..at, plain(word.trim_end_matches(';')))));
        }
        at += line.len();
    }
    found
}

/// Whether a command may write a line with a key: `echo "args: ..."`, `sed -i "1i args: ..." FILE`.
pub(super) fn writes(statement: &Statement) -> bool {
    let names = names(statement);
    let Some(first) = names.iter().position(|name| !listed(super::commands::BEFORE, name)) else {
        return false;
    };
    let is = |programs: &str| names.get(first).is_some_and(|it| listed(programs, base(it)));
    let key = |name: &String| !listed("-e -n -E", name);
    let echo =
        || names.iter().skip(first + 1).find(|it| key(it)).is_some_and(|it| it.contains(':'));
    is("echo printf") && echo() || is("sed") && names.iter().any(|name| inserted(name).is_some())
}

/// Returns where the text begins that a script of sed inserts or appends: `1i args: ...`, `$ a\\ args: ...`.
fn inserted(script: &str) -> Option<usize> {
    let address = script.trim_start_matches(|c: char| c.is_ascii_digit() || "$ ".contains(c));
    let text = address.strip_prefix(['i', 'a'])?.trim_start_matches([' ', '\\']);
    let key = text.split(':').next()?;
    let is_key =
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (is_key && text.contains(':')).then(|| script.len() - text.len())
}

/// Returns the words of a command with the line that it writes; `file`: whether its last word is the file's name.
pub(super) fn text_of(words: &[Placed], file: bool) -> Vec<Placed> {
    let sed = words.iter().any(|word| base(word.as_str()) == "sed");
    if let Some(word) = words.iter().find(|word| sed && inserted(word.as_str()).is_some()) {
        let from = inserted(word.as_str()).unwrap_or_default();
        return vec![word.slice(from..word.as_str().len())];
    }
    let before = words.iter().position(|it| listed("echo printf", it.as_str()));
    let last = words.len() - usize::from(file && !words.is_empty());
    words.get(before.unwrap_or(0) + 1..last).unwrap_or_default().to_vec()
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
    text.contains(PLACE)
        && (!Targets::of(text).all.is_empty()
            || documents(text).iter().any(|it| !it.lines.is_empty()))
}

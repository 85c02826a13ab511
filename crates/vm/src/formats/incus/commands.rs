//! Scripts that give options to an Incus or LXD machine: by commands, or by the file that they write. Nothing is changed
//! in them.
//!
//! Source: incus(1), launch, init, config set and profile set; their LXD forms.

use super::judge;
use crate::document::Document;
use crate::formats::Kind;
use crate::formats::qemu::script::expanded;
use crate::inner::{MOST_MACHINES, together, written};
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::{Statement, Word};
use crate::words::{base, listed};

/// Options that are judged.
const OPTIONS: [&str; 3] = ["raw.qemu", "raw.qemu.conf", "image.os"];

/// Whether a line is an option in a file of YAML.
pub(super) fn is_key(line: &str) -> bool {
    ["raw.qemu:", "raw.qemu.conf:"].iter().any(|key| line.trim_start().starts_with(key))
}

/// Returns whether a statement gives options to a machine.
fn gives(statement: &Statement) -> bool {
    let names: Vec<&str> = statement.words.iter().filter_map(Word::literal).map(base).collect();
    let at = names.iter().position(|name| listed("incus lxc lxd", name));
    let Some(at) = at.filter(|at| !names.iter().take(*at).any(|it| listed("echo printf", it)))
    else {
        return false;
    };
    names.iter().skip(at).any(|name| listed("launch init create set", name))
}

/// Returns the options of a command: `-c NAME=VALUE`, and `set MACHINE NAME=VALUE` or `set MACHINE NAME VALUE`.
fn options(words: &[Placed]) -> Vec<(&'static str, Placed)> {
    let mut out = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let text = word.as_str();
        let text = text.strip_prefix("--config=").unwrap_or(text);
        let front = word.as_str().len() - text.len();
        for name in OPTIONS {
            match text.strip_prefix(name) {
                Some(value) if value.starts_with('=') => {
                    let from = front + name.len() + 1;
                    out.push((name, word.slice(from..word.as_str().len())));
                }
                Some("") => {
                    // `set MACHINE NAME -- VALUE`: the value begins with a dash.
                    let _ = rest.next_if(|word| word.as_str() == "--");
                    out.extend(rest.peek().map(|value| (name, (*value).clone())));
                }
                _ => {}
            }
        }
    }
    out
}

/// The options that each command of a script gives.
fn commands(text: &str) -> Vec<Vec<(&'static str, Placed)>> {
    if !text.contains("raw.qemu") || !["incus", "lxc", "lxd"].iter().any(|it| text.contains(it)) {
        return Vec::new();
    }
    let all = expanded(text, gives).into_iter().map(|(_, words)| options(&words));
    let relevant = |all: &Vec<(&str, Placed)>| all.iter().any(|(name, _)| *name != "image.os");
    all.filter(relevant).take(MOST_MACHINES).collect()
}

/// Whether a text is a script with such commands.
pub(super) fn any(text: &str) -> bool {
    !commands(text).is_empty()
}

/// Judges what a script gives; `None` if it gives nothing.
pub(super) fn lint(document: &Document) -> Result<Option<Report>, LintError> {
    let mut reports = Vec::new();
    for given in commands(document.text.as_str()) {
        let of = |key: &str| given.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
        // An option whose words only a run shows is not read.
        let known = |key: &str| of(key).filter(|value| !value.unknown() && !value.is_empty());
        let spans = OPTIONS.map(|key| (key, known(key).map(|it| (it.as_str(), it.span()))));
        let value = |key: &str| {
            let (_, value) = spans.iter().find(|(name, _)| *name == key)?;
            value.as_ref().map(|(value, at)| (*value, at))
        };
        reports.extend(judge(document, &value, None, None)?);
    }
    let is = |text: &str| text.lines().any(is_key);
    reports.extend(written(document, Kind::Incus, is));
    Ok(together(reports).map(|mut report| {
        report.partial = true;
        for finding in &mut report.findings {
            finding.leave_edits("a script gives it to the machine");
        }
        report
    }))
}

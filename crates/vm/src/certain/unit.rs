//! systemd units: settings line by line; `ExecStart=` runs a command.

use super::looked_for::{looked_for, may_look_for};
use super::script::Guard;
use super::statement;
use crate::document::Document;
use crate::edit::Edit;
use crate::shell::{is_remark_of_unit, name_length};
use std::ops::Range;

/// Returns the lines of a unit that run nothing: comments, and settings except those of commands.
fn remarks(document: &Document) -> Vec<Range<usize>> {
    let mut at = 0;
    let mut found = Vec::new();
    let mut joined = false;
    for line in document.text.as_str().split_inclusive('\n') {
        if joined && is_remark_of_unit(line) {
            found.push(at..at + line.len());
            at += line.len();
            continue;
        }
        let runs = joined
            || line.trim_start().starts_with("Exec")
            || line.trim_start().starts_with("Environment");
        if !runs {
            found.push(at..at + line.len());
        }
        joined = runs && line.trim_end_matches(['\n', '\r']).ends_with('\\');
        at += line.len();
    }
    found
}

/// Returns where a command of a unit searches for a pattern that is not in the unit: `ExecStop=pkill -f ${PATTERN}`.
fn pattern_of_another_file(text: &str, left_out: &[Range<usize>]) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let other = left_out.iter().any(|it| it.start <= start && start < it.end);
        if other || !(line.contains("pgrep") || line.contains("pkill")) {
            continue;
        }
        let mut uses = line.match_indices('$').map(|(n, _)| {
            let name = line.get(n + 1..).unwrap_or_default().trim_start_matches('{');
            name.get(..name_length(name)).unwrap_or_default()
        });
        let unknown = |name: &str| {
            !name.is_empty() && name != "MAINPID" && !text.contains(&format!("{name}="))
        };
        if uses.any(unknown) {
            return Some(start);
        }
    }
    None
}

/// Returns the first line that a systemd unit cannot have: the unit is then a part of a different text, such as a
/// Makefile, which may process it in any way.
fn foreign_to_units(text: &str) -> Option<usize> {
    let mut joined = false;
    let mut lines = text.lines().enumerate();
    let found = lines.find(|(_, line)| {
        let within = joined;
        let line = line.trim();
        let remark = line.is_empty() || is_remark_of_unit(line);
        joined = if remark { within && !line.is_empty() } else { line.ends_with('\\') };
        let key = line.split_once('=').is_some_and(|(key, _)| {
            let key = key.trim_end();
            !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        });
        !(within || remark || key || line.starts_with(['[', '{']))
    });
    found.map(|(number, _)| number + 1)
}

/// Decides on a change in a line of a systemd unit: `ExecStart=` with plain words, which systemd and a shell split
/// in the same way.
pub(super) fn unit(document: &Document, edit: &Edit) -> Result<Edit, String> {
    let (start, line) = statement(document.text.as_str(), edit);
    let cannot = || Err("only a plain ExecStart= of a unit is edited".to_owned());
    if let Some(line) = foreign_to_units(document.text.as_str()) {
        return Err(format!("line {line}: the unit is a part of another text"));
    }
    let Some(command) = line.strip_prefix("ExecStart=") else { return cannot() };
    // The text that systemd substitutes for `%i` is not a part of the options, unless it is in the edited word.
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,@+=-% \t\\\n".contains(c);
    if !command.chars().all(plain) || command.replace("\\\n", "").contains('\\') {
        return cannot();
    }
    let command = command.trim_start_matches(['@', '-', ':', '+']);
    let from = start + line.len() - command.len();
    let blank = |c: char| c.is_whitespace();
    let at = edit.span.start.saturating_sub(start);
    let word = line.get(..at).and_then(|it| it.rfind(blank)).map_or(0, |n| n + 1);
    let end = line.get(at..).and_then(|it| it.find(blank)).map_or(line.len(), |n| at + n);
    if line.get(word..end).is_some_and(|word| word.contains('%')) {
        return Err("systemd replaces the % in that word; the result is not known here".to_owned());
    }
    let Some(moved) = edit.span.start.checked_sub(from) else { return cannot() };
    let within = Edit { span: moved..edit.span.end - from, with: edit.with.clone() };
    // systemd replaces a line continuation by a blank: systemd.syntax(7). Places do not change.
    let own = start..start + line.len();
    let mut left_out = remarks(document);
    left_out.push(own.clone());
    if let Some((at, piece)) = looked_for(document.text.as_str(), edit, &own, &left_out) {
        return Err(may_look_for(document, at, piece));
    }
    if let Some(at) = pattern_of_another_file(document.text.as_str(), &left_out) {
        let line = document.text.place(at).line;
        return Err(format!("line {line}: what is looked for is in another file"));
    }
    let alone = document.with_text(command.replace("\\\n", "  "));
    let made = Guard::new(&alone)?.one(&within)?;
    Ok(Edit { span: made.span.start + from..made.span.end + from, with: made.with })
}

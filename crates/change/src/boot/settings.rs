//! The final values of the variables of settings, and whether an edit has its intended effect and no other.

use super::shell;
use super::strict::{Obstacle, Part, Setting, read};
use crate::words::{self, Change};
use std::collections::BTreeMap;

/// Values, by name. Unknown parts are between two U+0001, which an edited file does not have.
pub(super) type Values = BTreeMap<String, String>;

/// The limit of a value, in bytes. The longest command line that a kernel accepts has 4 KiB on most processors.
pub(super) const LONGEST: usize = 64 << 10;
/// The limit of all expansions of one reading, in bytes.
const EXPANDED: usize = 1 << 20;

const UNKNOWN: char = '\u{1}';

/// The rules by which a file, or several files in sequence, become a kernel command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    /// Returns whether a name may be assigned.
    pub(super) names: fn(&str) -> bool,
    /// The variables whose words form the command line, in this order; a variable that is not set is empty.
    pub(super) line: &'static [&'static str],
}

/// The values of the variables after these files were read in this order.
pub(super) fn evaluate<'a>(
    kind: &Kind,
    files: impl IntoIterator<Item = &'a str>,
) -> Result<Values, Obstacle> {
    evaluate_each(kind, files).map_err(|(_, obstacle)| obstacle)
}

/// Returns the same; an obstacle comes with the number of its file, from 0.
pub(super) fn evaluate_each<'a>(
    kind: &Kind,
    files: impl IntoIterator<Item = &'a str>,
) -> Result<Values, (usize, Obstacle)> {
    let mut values = Values::new();
    let mut left = EXPANDED;
    for (file, text) in files.into_iter().enumerate() {
        for setting in read(text, kind.names).map_err(|obstacle| (file, obstacle))? {
            let line = setting.line;
            let value = expanded(kind, &setting, &values, &mut left)
                .ok_or_else(|| (file, Obstacle { line, what: too_long() }))?;
            values.insert(setting.name, value);
        }
    }
    Ok(values)
}

/// Returns the description of a value over the limits.
fn too_long() -> String {
    format!("a value that is longer than {} KiB, or whose parts are", LONGEST >> 10)
}

/// Returns the value of a setting; `None` if it is longer than a value may be. Each part is measured before it is
/// appended: a value that contains another one twice is twice as long, and the next one again.
fn expanded(kind: &Kind, setting: &Setting, values: &Values, left: &mut usize) -> Option<String> {
    let mut whole = String::new();
    for part in &setting.parts {
        let unknown;
        let (text, expands): (&str, bool) = match part {
            Part::Text(text) => (text, false),
            Part::Output(body) => {
                unknown = format!("{UNKNOWN}({body}){UNKNOWN}");
                (&unknown, false)
            }
            Part::Of(name) => match values.get(name) {
                Some(value) => (value, true),
                None if kind.line.contains(&name.as_str()) => ("", true),
                None => {
                    unknown = format!("{UNKNOWN}{name}{UNKNOWN}");
                    (&unknown, false)
                }
            },
        };
        if text.len() > LONGEST - whole.len() {
            return None;
        }
        if expands {
            *left = left.checked_sub(text.len())?;
        }
        whole.push_str(text);
    }
    Some(whole)
}

/// Returns the command line of these values.
pub(super) fn line(kind: &Kind, values: &Values) -> String {
    let value = |name: &&str| values.get(*name).map_or("", String::as_str);
    kind.line.iter().map(value).collect::<Vec<_>>().join(" ")
}

/// Checks that the words of the change are in force after it, and that nothing else changed. Words are added only to
/// `target`.
///
/// # Errors
/// Returns the reason, in words, if a word is not in force or something else changed.
pub(super) fn judge(
    kind: &Kind,
    target: &str,
    before: &Values,
    after: &Values,
    change: &Change,
) -> Result<(), String> {
    let ours = |name: &String| kind.line.contains(&name.as_str());
    let names = before.keys().chain(after.keys()).filter(|name| !ours(name));
    for name in names {
        if before.get(name) != after.get(name) {
            return Err(format!("{name} takes its value from it, and would change too"));
        }
    }
    let removal = Change { add: Vec::new(), remove: change.remove.clone() };
    for name in kind.line.iter().filter(|name| **name != target) {
        let value = |values: &Values| values.get(*name).cloned().unwrap_or_default();
        if words::all(&removal.of(&value(before))) != words::all(&value(after)) {
            return Err(format!("{name} takes its value from it, and would change too"));
        }
    }
    let (was, is) = (line(kind, before), line(kind, after));
    if is.contains(UNKNOWN) {
        let what = is.split(UNKNOWN).nth(1).unwrap_or_default();
        return Err(format!("its value contains that of {what}, which is not known here"));
    }
    // Each separately: two open quotes close each other, and the text between them is one word.
    for name in kind.line {
        closed(after.get(*name).map_or("", String::as_str))?;
    }
    let open = change.open(&is);
    if let Some(word) = open.add.first() {
        return Err(if words::all(&is).contains(&word.as_str()) {
            format!("{word} would be after a lone `--`, and what follows that is for init")
        } else {
            format!("{word} would not be on the command line")
        });
    }
    if let Some(word) = open.remove.first() {
        return Err(format!("{word} would still be on the command line"));
    }
    let rest = |line: &str| -> Vec<String> {
        let end = words::words(line).count();
        let changed = |word: &str| change.add.iter().chain(&change.remove).any(|it| it == word);
        let keep = |(index, word): &(usize, &str)| *index >= end || !changed(word);
        let words = words::all(line).into_iter().enumerate().filter(keep);
        words.map(|(_, word)| word.to_owned()).collect()
    };
    if rest(&was) != rest(&is) {
        return Err("other words of it would change".to_owned());
    }
    Ok(())
}

/// Refuses a command line with an open quote: added words would be part of the quote.
pub(super) fn closed(line: &str) -> Result<(), String> {
    if line.matches('"').count().is_multiple_of(2) {
        return Ok(());
    }
    Err("its value has a double quote that is not closed".to_owned())
}

/// The text with the words of the last setting of a variable changed; `default` is its value where there is none.
///
/// # Errors
/// Returns the reason, in words, if the text is not edited.
pub(super) fn edit(
    kind: &Kind,
    text: &str,
    name: &str,
    default: &str,
    change: &Change,
) -> Result<String, String> {
    let settings = read(text, kind.names).map_err(|obstacle| obstacle.to_string())?;
    let found = settings.iter().rev().find(|setting| setting.name == name);
    let edited = match found {
        Some(found) if !found.raw.is_empty() || default.is_empty() => {
            replace(text, found, &change.of(&found.raw))
        }
        Some(found) if change.of(default) != default => replace(text, found, &change.of(default)),
        Some(_) => text.to_owned(),
        None if change.of(default) == default => text.to_owned(),
        None => appended(text, name, &change.of(default)),
    };
    Ok(edited)
}

/// Returns the text with an assignment after it.
pub(super) fn appended(text: &str, name: &str, value: &str) -> String {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{newline}{name}=\"{value}\"\n")
}

/// The text with another value of a setting.
pub(super) fn replace(text: &str, setting: &Setting, value: &str) -> String {
    shell::replaced(text, setting.span, setting.quote, &setting.raw, value)
}

/// Edits one file that no other file overrides, and judges the result.
///
/// # Errors
/// Returns the reason, in words, if the file is not edited.
pub(super) fn edited(
    kind: &Kind,
    text: &str,
    name: &str,
    default: &str,
    change: &Change,
) -> Result<String, String> {
    let out = edit(kind, text, name, default, change)?;
    let values = |text: &str| {
        let mut values = evaluate(kind, [text]).map_err(|obstacle| obstacle.to_string())?;
        let value = values.entry(name.to_owned()).or_default();
        if value.is_empty() {
            default.clone_into(value);
        }
        Ok::<_, String>(values)
    };
    let (before, after) = (values(text)?, values(&out)?);
    let line = read(&out, kind.names).ok();
    let line = line.and_then(|all| all.iter().rev().find(|it| it.name == name).map(|it| it.line));
    judge(kind, name, &before, &after, change).map_err(|why| match line {
        Some(line) => format!("line {line} has {name}, but {why}"),
        None => why,
    })?;
    Ok(out)
}

//! A clocksource that a command writes to the file.

use crate::names;
use crate::paste::{Page, prompt};

/// The name that a command beginning on this line writes, and the number of its lines.
pub(super) fn write_at(page: &Page<'_>, at: usize) -> Option<(String, usize)> {
    let line = page.line(at);
    if let Some(name) = written(line) {
        return Some((name, 1));
    }
    let (next, then) = (page.line(at + 1), page.line(at + 2));
    let two = crate::log::broken_write(&[line, next]).map(|(name, _)| (name, 2));
    two.or_else(|| crate::log::broken_write(&[line, next, then]).map(|(name, _)| (name, 3)))
}

/// `echo tsc > .../current_clocksource`, `echo tsc | sudo tee .../current_clocksource` after a prompt.
fn written(line: &str) -> Option<String> {
    let command = prompt::read(line)?.command;
    let (head, _) = command.split_once("current_clocksource")?;
    let (_, rest) = head.split_once("echo ")?;
    if !rest.contains('>') && !rest.contains("tee ") {
        return None;
    }
    let rest = rest.trim_start().trim_start_matches("-n ").trim_start();
    let name = rest.split([' ', '>', '|']).next()?.trim_matches(['\'', '"']);
    names::is_known(name).then(|| name.to_owned())
}

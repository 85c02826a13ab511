//! The files that a line names, and their values.

use super::super::Page;
use crate::{Fact, names};

/// A file that a line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Current,
    Available,
}

/// The files that a line names, in the order in which a shell passes them to a command.
pub(super) fn files(line: &str) -> Vec<File> {
    let mut found = Vec::new();
    if line.contains("*_clocksource") || line.contains("clocksource0/*") {
        return vec![File::Available, File::Current];
    }
    if let Some((_, rest)) = line.split_once('{')
        && let Some((inside, rest)) = rest.split_once('}')
        && rest.starts_with("_clocksource")
    {
        for part in inside.split(',') {
            match part.trim() {
                "current" => found.push(File::Current),
                "available" => found.push(File::Available),
                _ => {}
            }
        }
        return found;
    }
    let mut rest = line;
    while let Some(at) = rest.find("_clocksource") {
        if rest[..at].ends_with("current") {
            found.push(File::Current);
        } else if rest[..at].ends_with("available") {
            found.push(File::Available);
        }
        rest = &rest[at + 12..];
        if found.len() == 4 {
            break;
        }
    }
    found
}

/// The file whose value a line has, if any.
pub(super) fn kind(value: &str) -> Option<File> {
    let mut words = value.split_ascii_whitespace();
    let all = words.clone().all(names::may_be_listed);
    let any = words.clone().any(names::is_known);
    if !all || !any || words.clone().count() > 16 {
        return None;
    }
    words.next()?;
    Some(if words.next().is_some() { File::Available } else { File::Current })
}

/// A line that consists of one name of a board. In the last line of a text it may be truncated.
pub(super) fn board(page: &Page<'_>, at: usize) -> Option<File> {
    let whole = at + 1 < page.len();
    (whole && names::may_be_of_a_board(page.line(at).trim())).then_some(File::Current)
}

/// Stores a value; returns `false` if it is not one.
pub(super) fn told(page: &mut Page<'_>, at: usize, file: File, value: &str) -> bool {
    let value = value.trim().trim_matches(['\'', '"', '`']);
    let of_a_board = file == File::Current
        && names::may_be_of_a_board(value)
        && (at + 1 < page.len()
            || page
                .told
                .available
                .value()
                .is_some_and(|list| list.iter().any(|name| name == value)));
    if kind(value).is_none() && !of_a_board {
        return false;
    }
    let above = page.lines()[..at.min(page.len())].iter().rev();
    if crate::log::is_expected(above.map(|line| line.as_str().into()), value) {
        return true;
    }
    let source = page.source(at);
    match file {
        File::Current if !value.contains(' ') => {
            page.under = Some((value.to_owned(), at));
            page.told.current = Fact::known(value.to_owned(), source);
        }
        File::Current => return false,
        File::Available => {
            let list = value.split_ascii_whitespace().map(str::to_owned).collect();
            page.told.available = Fact::known(list, source);
        }
    }
    true
}

//! Documents and settings that also run programs: provisioners of Packer and Terraform, probes of Lima, health checks
//! of Compose, commands of cloud-init. Such a program may search for the text of an option.

use super::looked_for::{may_look_for, named, options, others};
use super::lookers::{OF_COMMAND_LINES, guests_clock};
use crate::comments;
use crate::document::Document;
use crate::edit::Edit;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

/// Names that a setting has as arguments next to its value: `clock_timer :name => 'kvmclock', :present => 'no'`.
const CLOCKS: [&str; 9] = [
    "kvmclock",
    "kvm-clock",
    "hypervclock",
    "hpet",
    "invtsc",
    "rdtscp",
    "hv-time",
    "pvclock",
    "clocksource",
];

/// A file of a kind that may run programs.
pub(super) struct Programs<'a> {
    document: &'a Document,
    /// The ranges that may search for a text: all but comments and the values that would change.
    others: Vec<Range<usize>>,
    /// The reason why no value may change, computed at the first request.
    watched: OnceCell<Result<(), String>>,
    /// The places where expressions use the values of settings, by name, as far as requested.
    referred: RefCell<HashMap<&'a str, Option<usize>>>,
    /// The places and spellings of an option's name elsewhere, as far as requested.
    known: RefCell<HashMap<String, Option<Range<usize>>>>,
}

impl<'a> Programs<'a> {
    /// Reads the file, if its kind may run programs. `values` are places in values that would change.
    pub(super) fn of(document: &'a Document, values: &[Range<usize>]) -> Option<Self> {
        document.kind.format().limits.programs.then(|| {
            let text = document.text.as_str();
            let mut understood = comments::of(document);
            understood.extend(values.iter().map(|span| whole(text, span)));
            Self {
                document,
                others: others(text, &understood),
                watched: OnceCell::new(),
                referred: RefCell::default(),
                known: RefCell::default(),
            }
        })
    }

    /// Checks that no other part of the file reads processes, or the guest's clock.
    fn watched(&self) -> Result<(), String> {
        let watched = self.watched.get_or_init(|| {
            let text = self.document.text.as_str();
            for range in &self.others {
                let other = text.get(range.clone()).unwrap_or_default();
                let said = |at: usize, what: &str| {
                    let line = self.document.text.place(range.start + at).line;
                    Err(format!("line {line}: {what}"))
                };
                if let Some(at) = processes(other) {
                    return said(at, "the command lines of processes may be looked at");
                }
                if let Some((at, name)) = guests_clock(other) {
                    return said(at, &format!("{name}: the guest's clock may be looked at"));
                }
            }
            Ok(())
        });
        watched.clone()
    }

    /// Checks that no expression uses the value that an edit changes.
    fn referred_to(&self, edit: &Edit) -> Result<(), String> {
        let text = self.document.text.as_str();
        let Some(key) = key(text, edit.span.start) else { return Ok(()) };
        let mut referred = self.referred.borrow_mut();
        let found = referred.entry(key).or_insert_with(|| {
            self.others
                .iter()
                .find_map(|range| Some(range.start + reference(text.get(range.clone())?, key)?))
        });
        match found {
            Some(at) => {
                let line = self.document.text.place(*at).line;
                Err(format!("line {line}: an expression has the value"))
            }
            None => Ok(()),
        }
    }

    /// Checks that no other part of the file has the name of the option that an edit changes, or searches for it
    /// otherwise.
    pub(super) fn looked_for(&self, edit: &Edit) -> Result<(), String> {
        self.watched()?;
        self.referred_to(edit)?;
        let text = self.document.text.as_str();
        let own = whole(text, &edit.span);
        let mut names = options(text, edit);
        let line = text.get(own.clone()).unwrap_or_default();
        names.extend(
            CLOCKS.iter().filter(|it| named(line, it).is_some()).map(|it| (*it).to_owned()),
        );
        for name in names {
            let mut known = self.known.borrow_mut();
            let found = known.entry(name).or_insert_with_key(|name| self.elsewhere(name));
            if let Some(found) = found.clone() {
                let piece = text.get(found.clone()).unwrap_or_default();
                return Err(may_look_for(self.document, found.start, piece));
            }
        }
        Ok(())
    }

    /// Finds a name outside the understood ranges, which include each value that would change.
    fn elsewhere(&self, name: &str) -> Option<Range<usize>> {
        let text = self.document.text.as_str();
        self.others.iter().find_map(|range| {
            let other = text.get(range.clone())?;
            let piece = named(other, name)?;
            let start = range.start + (piece.as_ptr() as usize - other.as_ptr() as usize);
            Some(start..start + piece.len())
        })
    }
}

/// Returns the name of the setting whose value contains a place.
fn key(text: &str, at: usize) -> Option<&str> {
    text.get(..at)?.lines().rev().find_map(|line| {
        let line = line.trim_start().trim_start_matches(['"', '{', ' ']);
        let length = line
            .bytes()
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            .count();
        let (key, rest) = line.split_at_checked(length)?;
        let rest = rest.trim_start_matches('"').trim_start();
        let sets = rest.starts_with(['=', ':']) && !rest.starts_with("==");
        (sets && !key.is_empty() && !key.starts_with('-')).then_some(key)
    })
}

/// Returns the place where an expression uses the value of a setting: `self.args`.
fn reference(text: &str, key: &str) -> Option<usize> {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(key).map(|(at, _)| at).find(|at| {
        let after = text.get(at + key.len()..).and_then(|it| it.chars().next());
        text.get(..*at).is_some_and(|it| it.ends_with('.')) && !after.is_some_and(goes_on)
    })
}

/// Returns the place of a program that reads the command lines of processes.
fn processes(text: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let ps = text.match_indices("ps ").map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|it| it.chars().next_back());
        let options = text.get(at + 3..).unwrap_or_default();
        !before.is_some_and(part) && options.starts_with(['-', 'a', 'x', '|', 'u', 'e', 'w', 'f'])
    });
    let named = OF_COMMAND_LINES.iter().filter_map(|it| text.find(it));
    named.chain(ps).min()
}

/// Returns the string around a place, or its line if it is not in a string.
fn whole(text: &str, span: &Range<usize>) -> Range<usize> {
    let front = text.get(..span.start).unwrap_or_default();
    let back = text.get(span.end..).unwrap_or_default();
    let line = front.rfind('\n').map_or(0, |at| at + 1);
    let end = back.find('\n').map_or(text.len(), |at| span.end + at);
    let begin = text.get(line..span.start).unwrap_or_default();
    let quote = begin.rfind(['"', '\'']);
    // A string that begins before the place.
    let open = quote.filter(|at| {
        let c = begin.get(*at..).and_then(|rest| rest.chars().next());
        c.is_some_and(|c| begin.matches(c).count() % 2 == 1)
    });
    // A line of JSON may be the whole file.
    let json = text.trim_start().starts_with(['{', '[']);
    let Some(open) = open else { return if json { span.clone() } else { line..end } };
    let c = begin.get(open..).and_then(|rest| rest.chars().next()).unwrap_or('"');
    let close = text.get(span.end..end).unwrap_or_default().find(c);
    line + open..close.map_or(end, |at| span.end + at + 1)
}

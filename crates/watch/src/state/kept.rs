//! Reads the history file's contents: the last clocksource of a history, a line without its stamp.

use crate::event::Kind;
use crate::history::History;

/// The clocksource that was last known in this boot.
pub(super) fn last_known(history: &History, boot: Option<&str>) -> Option<String> {
    let boot = boot?;
    let mut known = None;
    let mut same = false;
    for event in history.events() {
        match event.kind {
            Kind::Started => {
                same = event.boot.as_deref() == Some(boot);
                known.clone_from(&event.to);
            }
            Kind::ClocksourceChange => known.clone_from(&event.to),
            _ => {}
        }
    }
    known.filter(|_| same)
}

/// A kernel line without its time stamp.
pub(super) fn without_stamp(line: &str) -> &str {
    match line.split_once("] ") {
        Some((stamp, rest)) if stamp.starts_with('[') => rest.trim_start(),
        _ => line,
    }
}

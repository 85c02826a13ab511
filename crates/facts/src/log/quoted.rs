//! The levels of quotation in a mail: a more deeply quoted part is older.

use super::{Entry, Event};

/// The quotation depth of a line: the number of signs before it (`> > text`, `>>text`).
pub(crate) fn depth(text: &str) -> usize {
    let mut rest = text.trim_start();
    let mut depth = 0;
    while let Some(inner) = rest.strip_prefix('>') {
        depth += 1;
        rest = inner.trim_start();
    }
    depth
}

/// The clocksource in use according to an event.
fn state(event: &Event) -> Option<&str> {
    match event {
        Event::Switched(name) | Event::ReadCurrent(name) => Some(name),
        _ => event.time_source(),
    }
}

/// The last state of the least quoted level, and the last one of the deeper levels if it differs.
pub(super) fn states(entries: &[Entry]) -> Option<[String; 2]> {
    let told =
        || entries.iter().filter_map(|entry| Some((depth(&entry.text), state(&entry.event)?)));
    let least = told().map(|(depth, _)| depth).min()?;
    let newest = told().rfind(|(depth, _)| *depth == least)?.1;
    let next = told().filter(|(depth, _)| *depth > least).map(|(depth, _)| depth).min()?;
    let older = told().rfind(|(depth, _)| *depth == next)?.1;
    (newest != older).then(|| [newest.to_owned(), older.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_signs_of_mail() {
        for (text, levels) in [("x > y", 0), ("> x", 1), (">>x", 2), ("> > > x", 3), ("  > x", 1)] {
            assert_eq!(depth(text), levels, "{text}");
        }
    }
}

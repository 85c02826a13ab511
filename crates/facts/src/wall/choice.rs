//! A choice of chronyd that its own output contradicts: a source that it selects and rejects, and one that all the others contradict.

use super::TimeSource;
use crate::Source;
use serde::Serialize;

/// A source that chronyd's log calls a falseticker.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Rejected {
    /// Its name.
    pub name: String,
    /// Whether chronyd followed it until then, by an earlier line.
    pub was_followed: bool,
    /// The line.
    #[serde(skip)]
    pub source: Option<Source>,
}

/// The servers that answer, if all of them contradict the source that chronyd follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Outvoted {
    /// The name of the source that it follows.
    pub name: String,
    /// Whether that is a clock of this machine.
    pub is_local: bool,
    /// Seconds by which the clock is ahead of each of the others.
    pub ahead_s: Vec<f64>,
}

/// Servers that contradict the followed source, at least: a daemon tolerates one wrong source.
const ENOUGH: usize = 2;

/// A row of `chronyc sources` that has a measurement.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) is_followed: bool,
    pub(super) is_local: bool,
    pub(super) ahead_s: f64,
    pub(super) bound_s: f64,
}

impl Outvoted {
    /// Compares the source that is followed with the servers that answer. The time of a receiver beside its own pulse (NMEA and PPS) is
    /// off by about 100 ms, and proves nothing.
    pub(super) fn of(rows: &[Row]) -> Option<Self> {
        let followed = rows.iter().find(|row| row.is_followed)?;
        let others: Vec<&Row> =
            rows.iter().filter(|row| !row.is_followed && !row.is_local).collect();
        let off = |row: &&&Row| {
            let apart = row.ahead_s - followed.ahead_s;
            (apart.abs() > row.bound_s + followed.bound_s).then_some(apart > 0.0)
        };
        let ahead: Vec<bool> = others.iter().filter_map(|row| off(&row)).collect();
        let agree = ahead.windows(2).all(|pair| pair[0] == pair[1]);
        (others.len() >= ENOUGH && ahead.len() == others.len() && agree).then(|| Self {
            name: followed.name.clone(),
            is_local: followed.is_local,
            ahead_s: others.iter().map(|row| row.ahead_s).collect(),
        })
    }
}

impl TimeSource {
    /// `Selected source S` and `Detected falseticker S`, as `SRC_SelectSource()` in chrony's sources.c writes them since version 4.
    pub(super) fn of_choice(line: &str, source: &Source) -> Option<Self> {
        let is_daemon = line.contains("chronyd");
        let name = |words: &str| -> Option<String> {
            let at = line.find(words)?;
            let name = line[at + words.len()..].split_ascii_whitespace().next()?;
            let whole = line.trim_start().starts_with(words) && name.contains(['.', ':']);
            (is_daemon || whole).then(|| name.to_owned())
        };
        let daemon = "chronyd";
        if let Some(name) = name("Detected falseticker ") {
            let source = Some(source.clone());
            let rejected = Some(Rejected { name, was_followed: false, source });
            return Some(Self { daemon, rejected, ..Self::default() });
        }
        let selected = Some(name("Selected source ")?);
        Some(Self { daemon, logged: Some(true), selected, ..Self::default() })
    }

    /// Adds the choices of later lines.
    pub(super) fn add_choice(&mut self, selected: Option<String>, rejected: Option<Rejected>) {
        if let Some(mut rejected) = rejected {
            let known = self.rejected.as_ref().filter(|known| known.name == rejected.name);
            rejected.was_followed |= known.is_some_and(|known| known.was_followed);
            rejected.was_followed |= self.selected.as_ref() == Some(&rejected.name);
            // A source that the daemon followed says more than one that it never did.
            if rejected.was_followed || self.rejected.as_ref().is_none_or(|one| !one.was_followed) {
                self.rejected = Some(rejected);
            }
        }
        self.selected = selected.or(self.selected.take());
    }

    /// The source that chronyd selected last, if its log also rejects that source after it was selected.
    #[must_use]
    pub fn in_turn(&self) -> Option<&Rejected> {
        let is_it = |one: &&Rejected| one.was_followed && self.selected.as_ref() == Some(&one.name);
        self.rejected.as_ref().filter(is_it).filter(|_| self.logged != Some(false))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> TimeSource {
        let mut all = TimeSource::default();
        for line in lines {
            all.add(TimeSource::of_log(line, &Source("log".into())).unwrap());
        }
        all
    }

    #[test]
    fn a_source_that_is_selected_and_then_rejected_is_in_turn() {
        let selected = "Nov 11 21:56:32 unu chronyd[379]: Selected source GPS";
        let rejected = "Nov 11 21:56:40 unu chronyd[379]: Detected falseticker GPS";
        let other = "Nov 11 21:56:48 unu chronyd[379]: Selected source 192.0.2.1";
        let lost = "Nov 11 21:56:48 unu chronyd[379]: Can't synchronise: no majority";
        for lines in [&[selected, rejected][..], &[rejected, selected, rejected, selected]] {
            assert_eq!(read(lines).in_turn().unwrap().name, "GPS", "{lines:?}");
        }
        for lines in [
            &[rejected][..],
            &[rejected, selected],
            &[selected, rejected, other],
            &[other, rejected],
            &[selected, rejected, lost],
        ] {
            assert_eq!(read(lines).in_turn(), None, "{lines:?}");
        }
    }

    fn table(text: &str) -> Option<Outvoted> {
        TimeSource::of_sources(text.lines()).unwrap().0.outvoted
    }

    #[test]
    fn servers_that_all_contradict_the_followed_source_are_told() {
        let text = "#* GPS 0 4 377 12 -1806us[-1922us] +/- 452us\n\
                    ^? a.example 2 6 377 42 -70ms[ -69ms] +/- 21ms\n\
                    ^x b.example 2 6 377 43 -59ms[ -59ms] +/- 36ms\n\
                    ^? c.example 0 6 0 - +0ns[ +0ns] +/- 0ns\n";
        let found = table(text).unwrap();
        assert_eq!((found.name.as_str(), found.ahead_s.len()), ("GPS", 2));
        for (ahead, expected) in found.ahead_s.iter().zip([-0.07, -0.059]) {
            assert!((ahead - expected).abs() < 1e-9, "{ahead}");
        }
        for (from, to) in [
            // One agrees within its bound, or is off in the other direction.
            ("+/- 36ms", "+/- 90ms"),
            ("-59ms", "+59ms"),
            // The other clock is a receiver; one server alone may be wrong.
            ("^? a.example", "#? NMEA"),
            ("#* GPS", "#? GPS"),
        ] {
            let changed = text.replacen(from, to, 1);
            assert_eq!(table(&changed), None, "{changed}");
        }
        assert_eq!(
            table(
                "#* PPS 0 4 377 12 -1ns[-1ns] +/- 99ns\n#- NMEA 0 4 377 12 -120ms[-120ms] +/- 1ms\n"
            ),
            None
        );
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}") {
            let source = Source("log".into());
            let _ = TimeSource::of_choice(&format!("chronyd[7]: Selected source {text}"), &source);
            let _ = TimeSource::of_choice(&format!("Detected falseticker {text}"), &source);
        }
    }
}

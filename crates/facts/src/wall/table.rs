//! The common part of tables of sources: the number of sources, those that answer, the one that is followed.

use super::TimeSource;
use super::choice::{Outvoted, Row};

/// A table of sources.
#[derive(Default)]
pub(super) struct Table {
    pub(super) lines: usize,
    sources: u32,
    reached: u32,
    follows: bool,
    is_local: bool,
    pub(super) own_clock: bool,
    pub(super) ahead_s: Option<f64>,
    offered_s: Vec<f64>,
    pub(super) unsteady_s: Option<(f64, f64)>,
    disagree: u32,
    pub(super) rows: Vec<Row>,
}

impl Table {
    pub(super) fn add(&mut self, reached: bool, followed: bool, local: bool) {
        self.lines += 1;
        self.sources = self.sources.saturating_add(1);
        self.reached = self.reached.saturating_add(u32::from(reached));
        self.follows |= followed;
        self.is_local |= followed && local;
    }

    /// Adds the offset of a source that answers.
    pub(super) fn offer(&mut self, ahead_s: Option<f64>, other: bool, disagrees: bool) {
        if other {
            self.offered_s.extend(ahead_s);
        }
        self.disagree += u32::from(disagrees);
    }

    pub(super) fn finish(self, daemon: &'static str) -> Option<(TimeSource, usize)> {
        let source = TimeSource {
            daemon,
            follows: Some(self.follows),
            sources: Some((self.sources, self.reached)),
            ahead_s: self.ahead_s,
            is_local: self.is_local,
            own_clock: self.own_clock,
            answering: self.reached,
            offered_s: if self.follows { Vec::new() } else { self.offered_s },
            unsteady_s: self.unsteady_s.filter(|_| !self.follows),
            disagree: self.disagree,
            outvoted: Outvoted::of(&self.rows),
            ..TimeSource::default()
        };
        (self.lines > 0).then_some((source, self.lines))
    }
}

/// Whether a word is the result of the last eight polls as bits, in octal.
pub(super) fn is_reach(word: &str) -> bool {
    word.len() <= 3 && u16::from_str_radix(word, 8).is_ok_and(|reach| reach <= 0o377)
}

/// Whether a word is a number of seconds, or a number with the letter of a unit: `34`, `12m`, `-`.
pub(super) fn is_span(word: &str) -> bool {
    let figure = word.strip_suffix(['s', 'm', 'h', 'd', 'y']).unwrap_or(word);
    word == "-" || !figure.is_empty() && figure.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::TimeSource;

    #[test]
    fn rows_are_known_by_their_columns() {
        for row in [
            "^* 192.0.2.1   2   6   377    34    -12us[  -16us] +/-   14ms",
            "#? PPS         0   4     0     -     +0ns[   +0ns] +/-    0ns",
            "^- a.example   3  10   377   27m  +2129us[+2129us] +/-   12ms",
        ] {
            assert!(TimeSource::is_row_of_sources(row), "{row}");
        }
        for row in [
            "*192.0.2.1  .GPS.  1 u   34   64  377   12.300   -0.123   0.045",
            " 192.0.2.9  .INIT. 16 u    -  64    0    0.000    0.000   0.000",
            "+ 192.0.2.7 192.0.2.1 2 u 5m 1024 377 1.1 0.2 0.3",
        ] {
            assert!(TimeSource::is_row_of_peers(row), "{row}");
        }
        for other in [
            "^* a b c d e f +/- g",
            "^^ the line above",
            "#? what about 3 of 9 servers 377 +/- 12",
            "*a b 99 u 34 64 377 1 2 3",
            "*a b 1 u 34 64 399 1 2 3",
            "",
        ] {
            assert!(!TimeSource::is_row_of_sources(other), "{other}");
            assert!(!TimeSource::is_row_of_peers(other), "{other}");
        }
    }
}

//! The stamp at which a log ends, where single lines of the same log are quoted after it.

use super::lines::text;
use super::prefix::strip;

/// Characters of a time stamp without its brackets, at most.
const STAMP: usize = 20;
/// Lines with such characters that are examined for the last time stamp.
const TRIES: u32 = 64;
/// Seconds by which the stamps of two consoles are out of order.
const BACK_S: f64 = 0.5;
/// Lines from which on those after a time stamp that goes back are a separate log.
const LOG: u32 = 8;

/// Follows the time stamps of a text.
#[derive(Debug, Default)]
pub(super) struct LastStamp {
    last: Option<f64>,
    /// The last time stamp before the first one that went back.
    front: Option<f64>,
    /// Number of lines after it.
    behind: u32,
    /// Whether one of them may begin another boot or concerns clocks.
    tells: bool,
}

impl LastStamp {
    /// Adds the time stamp of a line. `tells`: whether the line may begin another boot or concerns clocks.
    pub(super) fn take(&mut self, at: f64, tells: bool) {
        if let Some(last) = self.last.filter(|last| self.front.is_none() && at + BACK_S < *last) {
            (self.front, self.behind, self.tells) = (Some(last), 0, false);
        }
        if self.front.is_some_and(|front| at >= front) {
            self.front = None;
        }
        self.behind += 1;
        self.tells |= tells;
        self.last = Some(at);
    }

    /// The stamp at which the log ends.
    pub(super) fn end(&self) -> Option<f64> {
        self.front.filter(|_| self.behind < LOG && !self.tells).or(self.last)
    }
}

/// The last time stamp of the kernel in some lines.
pub(super) fn last_stamp(lines: &[u8]) -> Option<f64> {
    let mut end = lines.len();
    let mut tries = 0;
    while let Some(open) = memchr::memrchr(b'[', &lines[..end]) {
        end = open;
        let inside = lines[open + 1..].iter().take(STAMP);
        let mut inside = inside.take_while(|b| b.is_ascii_digit() || b" .".contains(b));
        if !inside.any(|b| *b == b'.') {
            continue;
        }
        let begin = memchr::memrchr(b'\n', &lines[..open]).map_or(0, |at| at + 1);
        let length = memchr::memchr(b'\n', &lines[begin..]).unwrap_or(lines.len() - begin);
        if let Some(at) = strip(&text(lines, begin, begin + length)).at {
            return Some(at);
        }
        end = begin;
        tries += 1;
        if tries == TRIES {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(stamps: &[(f64, bool)]) -> Option<f64> {
        let mut last = LastStamp::default();
        stamps.iter().for_each(|(at, tells)| last.take(*at, *tells));
        last.end()
    }

    #[test]
    fn end_is_the_largest_stamp_where_few_lines_stand_behind_it() {
        let log = [(0.0, true), (1.8, true), (57.0, false)];
        assert_eq!(end(&log), Some(57.0));
        assert_eq!(end(&[&log[..], &[(1.9, false), (1.7, false)]].concat()), Some(57.0));
        // Another boot, shown by its first line or by a clock, or a longer log.
        assert_eq!(end(&[&log[..], &[(0.0, true), (1.9, false)]].concat()), Some(1.9));
        assert_eq!(end(&[&log[..], &[(1.9, false); 8]].concat()), Some(1.9));
        // Two consoles.
        assert_eq!(end(&[&log[..], &[(56.0, false), (58.0, false)]].concat()), Some(58.0));
        assert_eq!(end(&[]), None);
    }
}

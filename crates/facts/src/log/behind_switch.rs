//! Whether the last switch in a text is part of a log, or a line that the text quotes.

use super::prefix::Stripped;

/// Lines with a time stamp behind a switch, with no more than [`GAP`] lines without one between two of them, from which on
/// the text has the log itself there, whatever follows it.
const BEHIND_SWITCH: u32 = 60;
const GAP: u32 = 8;

/// The lines with a time stamp behind the last switch.
#[derive(Default)]
pub(super) struct BehindSwitch {
    lines: u32,
    /// Lines without a time stamp since the last one with it.
    gap: u32,
    /// A switch was read, and no more of them behind it than a log has.
    is_open: bool,
}

impl BehindSwitch {
    /// Adds the next line.
    pub(super) fn take(&mut self, line: &Stripped<'_>) {
        let has_stamp = line.is_of_a_log();
        if has_stamp && line.message.contains("to clocksource ") {
            *self = Self { is_open: true, ..Self::default() };
        } else if has_stamp && self.is_open {
            self.lines += 1;
            self.gap = 0;
        } else if !has_stamp && !line.message.trim().is_empty() {
            self.gap += 1;
            self.is_open &= self.gap <= GAP;
        }
    }

    /// Whether the text has the log itself there, and does not quote a single line of it.
    pub(super) fn is_of_log(&self) -> bool {
        self.lines >= BEHIND_SWITCH
    }
}

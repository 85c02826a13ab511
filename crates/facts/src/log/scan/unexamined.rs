//! The part of a long text in which outputs of commands are not looked for.

use crate::log::{KernelLog, strip_prefix};
use crate::paste::LIMIT;

/// Removes from a log what lines after line `last` show without a prefix of the kernel: they may be names that a user
/// chose, or of another machine. The clocksource is then left open, with the reason.
pub(super) fn leave(log: &mut KernelLog, last: u64) {
    let is_unexamined = |line: u64, text: &str| line > last && !strip_prefix(text).1;
    let first = log.entries.iter().find(|entry| is_unexamined(entry.line, &entry.text));
    let Some(why) = first.map(|entry| {
        format!(
            "line {} shows a clocksource without a prefix of the kernel, and this text is longer than the {} MiB in which \
             outputs of commands are told apart: give the part with it alone",
            entry.line,
            LIMIT >> 20
        )
    }) else {
        return;
    };
    log.entries.retain(|entry| !is_unexamined(entry.line, &entry.text));
    log.mixed.get_or_insert(why);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn readings_that_were_not_examined_are_no_evidence() {
        let boot = "[    1.900000] clocksource: Switched to clocksource tsc\n";
        let more =
            |count: usize| "[    2.000000] usb 1-1: new high-speed USB device\n".repeat(count);
        let ps = "USER PID %CPU COMMAND\neve 12 0.0 current_clocksource: hpet\n";
        let (short, long) = (more(10), more(LIMIT / 40));
        let scan = |text: String| KernelLog::scan(text.as_bytes(), "log").unwrap();
        let read = scan(format!("{boot}{long}current_clocksource: hpet\n"));
        assert!(read.mixed.is_some_and(|why| why.contains("4 MiB")));
        assert_eq!(read.entries.len(), 1);
        assert_eq!(scan(format!("{boot}{short}{ps}")).mixed, None);
        // Messages with the kernel's prefix are read in a text of any length.
        let switch = "[  900.000000] clocksource: Switched to clocksource hpet\n";
        let read = scan(format!("{boot}{long}{switch}"));
        assert_eq!((read.mixed, read.entries.len()), (None, 2));
    }
}

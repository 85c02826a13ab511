//! The scanner processes a log in windows of a mebibyte. Its results must not depend on the position of
//! their borders.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clocksmith_facts::log::{Event, KernelLog};
use std::io::{Read, repeat};

const WINDOW: usize = 1 << 20;

/// Lines that follow each other closely, some of them wrapped by a mailer, one in two parts of a
/// transcript.
const LINES: &str = "\
[  301.100000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:
[  301.100010] clocksource:                       'hpet' wd_nsec: 503192001 wd_now: 2b1d7a5c wd_last: 2a6c02f1 mask: ffffffff
[  301.100020] clocksource:                       'tsc' cs_nsec: 509842993 cs_now: 18f1a3b6c2e
 cs_last: 18eb4c1d03a mask: ffffffffffffffff
[  301.100040] clocksource:                       'tsc' is current clocksource.
[  301.100050] tsc: Marking TSC unstable due to
clocksource watchdog
[  301.100055] Measured 1234 cycles
TSC warp between CPUs, turning off TSC clock.
[  301.100060] TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.
[  301.100090] clocksource: Switched to clocksource hpet
$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource
hpet
";

fn events(reader: impl Read) -> (u64, Vec<(u64, Event)>) {
    let log = KernelLog::scan(reader, "log").unwrap();
    (log.lines, log.entries.into_iter().map(|entry| (entry.line, entry.event)).collect())
}

#[test]
fn events_are_found_once_wherever_the_border_falls() {
    let (lines, alone) = events(LINES.as_bytes());
    assert_eq!(alone.len(), 9, "{alone:#?}");
    for inside in (0..LINES.len()).step_by(61) {
        // Overlong lines are skipped completely, so the padding is split into shorter ones.
        let dots = |at| if (at + 1) % 1024 == 0 { '\n' } else { '.' };
        let padding = (0..WINDOW - inside - 1).map(dots).collect::<String>() + "\n";
        let shift = padding.matches('\n').count() as u64;
        let (padded_lines, padded) = events(padding.as_bytes().chain(LINES.as_bytes()));
        let moved: Vec<_> = padded.into_iter().map(|(line, event)| (line - shift, event)).collect();
        assert_eq!(moved, alone, "{inside} bytes before the border");
        assert_eq!(padded_lines, lines + shift);
    }
}

#[test]
fn overlong_lines_are_passed_over_and_counted() {
    for length in [WINDOW - 1, WINDOW, WINDOW + 1, 3 * WINDOW, 3 * WINDOW + 17] {
        let long = repeat(b'x').take(length as u64);
        let log = long.chain(&b"\n[    1.000000] clocksource: Switched to clocksource tsc\n"[..]);
        let (lines, found) = events(log);
        assert_eq!((lines, found), (2, vec![(2, Event::Switched("tsc".to_owned()))]), "{length}");
        assert_eq!(events(repeat(b'x').take(length as u64)), (1, vec![]), "{length}");
    }
}

#[test]
fn the_last_line_counts_without_its_newline() {
    assert_eq!(events(&b""[..]).0, 0);
    assert_eq!(events(&b"a"[..]).0, 1);
    assert_eq!(events(&b"a\n"[..]).0, 1);
    assert_eq!(events(&b"a\nb"[..]).0, 2);
}

#[test]
fn a_block_of_zeros_hides_nothing() {
    let message = b"[    1.000000] clocksource: Switched to clocksource tsc\n";
    // The same line twice would be one line that two consoles printed.
    let second = b"[    2.000000] clocksource: Switched to clocksource hpet\n";
    for size in [1, 3000, 40_000] {
        let zeros = vec![0; size];
        let (_, found) = events(message.chain(&zeros[..]).chain(&second[..]));
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2], "{size}");
    }
}

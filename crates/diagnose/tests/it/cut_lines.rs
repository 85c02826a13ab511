//! Lines whose ends a terminal or a program truncated: the lost part may name another clocksource.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::Verdict;

/// Lines of one boot, with a demotion, and lines of other things around it.
fn boot(change: &str) -> String {
    let mut text = String::from(
        "Mar 03 09:14:06 kernel: Linux version 6.6.30-200.el9.x86_64 (build@x86-64-04.example) (gcc (GCC) 13.2.1) #1 SMP\n\
         Mar 03 09:14:06 kernel: tsc: Detected 2899.886 MHz processor\n\
         Mar 03 09:14:06 kernel: clocksource: Switched to clocksource tsc-early\n\
         Mar 03 09:14:07 kernel: clocksource: Switched to clocksource tsc\n",
    );
    for n in 10..40 {
        text += &format!(
            "Mar 03 09:15:{n} kernel: usb 1-{n}: new high-speed USB device number {n} using xhci_hcd and more\n"
        );
    }
    text += change;
    text + "Mar 03 10:20:00 kernel: usb 1-1: new high-speed USB device number 99 using xhci_hcd and more\n"
}

/// The text as `cut -c1-WIDTH` prints it.
fn cut(text: &str, width: usize) -> String {
    text.lines().map(|line| format!("{}\n", &line[..line.len().min(width)])).collect()
}

const CHANGES: [&str; 4] = [
    "Mar 03 10:14:30 kernel: clocksource: timekeeping watchdog on CPU12: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
     Mar 03 10:14:30 kernel: clocksource:                       'hpet' wd_nsec: 503339500 wd_now: 5ca548fd wd_last: 5932c25f mask: ffffffff\n\
     Mar 03 10:14:30 kernel: clocksource:                       'tsc' cs_nsec: 503646123 cs_now: 3f2a8b71c992 cs_last: 3f2a58ab1204 mask: ffffffffffffffff\n",
    "Mar 03 10:14:30 kernel: clocksource:                       'tsc' cs_nsec: 503646123 cs_now: 3f2a8b71c992 cs_last: 3f2a58ab1204 mask: ffffffffffffffff\n",
    "Mar 03 10:14:30 kernel: Clocksource tsc unstable (delta = -168170123 ns)\n",
    "Mar 03 10:14:30 kernel: clocksource: Switched to clocksource acpi_pm\n",
];

#[test]
fn demotion_that_is_cut_off_is_not_passed_over() {
    for change in CHANGES {
        for width in 50..140 {
            let report = why(&cut(&boot(change), width));
            assert_ne!(report.verdict, Verdict::Ok, "{width}: {change}: {}", report.headline);
            for part in ["demoted t.", "demoted ts.", "'t'", "'ts'"] {
                assert!(!report.headline.contains(part), "{width}: {}", report.headline);
            }
        }
    }
    for width in 70..140 {
        assert_eq!(why(&cut(&boot(""), width)).verdict, Verdict::Ok, "{width}");
    }
}

#[test]
fn choice_behind_a_message_that_is_cut_off_counts() {
    let change = "Mar 03 10:14:30 kernel: clocksource: timekeeping watchdog on CPU12: Marking cloc\n\
                  Mar 03 10:14:30 kernel: clocksource: Switched to clocksource hpet\n";
    let report = why(&boot(change));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
}

//! Boots that two others follow in the same window: only their number counts, so their lines are not
//! parsed. A log of many boots takes a fraction of the time.
//!
//! Only plain boots are skipped: each line with a keyword begins with a time stamp, each boot begins with its banner at
//! the time stamp 0, and it switches to a clocksource. All other lines are parsed one by one.

use super::Scanner;
use super::boots::BOOTS_NOTED;
use super::machine::{Machine, Signs};
use crate::log::banner;
use crate::log::continuation::LOOKAHEAD;
use crate::log::keywords;
use crate::log::lines::{count_lines, line_around, newlines_within};
use crate::log::parse::Group;
use crate::log::prefix::stamp_and_message;
use memchr::memmem::{self, Finder};
use std::ops::Range;

/// The banner of a boot, after the end of the previous line.
const BANNER: &[u8] = b"\n[    0.000000] Linux version ";
/// Minimum number of bytes for which skipping is worth the check.
const WORTH: usize = if cfg!(test) { 256 } else { 64 << 10 };
/// More lines than are read again with the next window.
const AGAIN: usize = LOOKAHEAD + 2;
/// Number of parts with other lines after which no more parts are checked.
const OTHERS: u8 = 16;
/// Seconds by which a time stamp may be before that of the previous line.
const BACK_S: f64 = 5.0;
/// The beginnings of messages that name the new clocksource.
const SWITCHES: [&[u8]; 3] = [
    b"clocksource: Switched to clocksource ",
    b"Switched to clocksource ",
    b"Switching to clocksource ",
];

/// Searches that are prepared once: the preparation costs more than the search in one line.
struct Words {
    refined: Finder<'static>,
    banner: Finder<'static>,
    first: Finder<'static>,
    machine: Signs,
}

impl Words {
    fn new() -> Self {
        Self {
            refined: Finder::new(b"Refined"),
            banner: Finder::new(b"Linux version"),
            first: Finder::new(b"refined-jiffies: "),
            machine: Signs::new(),
        }
    }
}

/// The classification of a part of a window.
enum Plain {
    /// Whole boots: the number that begin in it, and the time stamp of its last line.
    Boots { boots: u32, last_at: Option<f64> },
    /// Boots whose data is kept.
    Later,
    /// Other lines are in between.
    Mixed,
}

/// The known properties of the boots in a part of a window.
struct Passed<'a> {
    /// Boots that begin in it.
    boots: u32,
    /// The time stamp of the last line.
    last_at: Option<f64>,
    /// Whether the last boot has switched to a clocksource.
    switched: bool,
    /// The machine of the last boot.
    machine: Machine<&'a [u8]>,
}

impl Scanner {
    /// Skips the boots of a part of the window that two others follow in it, and returns the beginning of those two.
    pub(super) fn pass_older(
        &mut self,
        finder: &keywords::Finder,
        window: &[u8],
        part: Range<usize>,
    ) -> usize {
        let at = part.start;
        let plain =
            self.banner.is_some() && self.prefixed && self.log.looks_like_kernel && !self.prompted;
        if !plain || self.mixed >= OTHERS || part.len() < WORTH {
            return at;
        }
        // Most windows of a long boot have no banner, and a search forwards is several times as fast as one backwards.
        if memmem::find(&window[part.clone()], BANNER).is_none() {
            return at;
        }
        let before =
            |end: usize| memmem::rfind(&window[at..end], BANNER).map(|found| at + found + 1);
        let Some(boot) = before(part.end).and_then(|last| before(last - 1)) else { return at };
        // The last lines of a window are read again, with those after them.
        if boot - at < WORTH || newlines_within(&window[boot..part.end], AGAIN) < AGAIN {
            return at;
        }
        // The messages of a kernel that saves a crash dump are not the machine's last boot.
        if memmem::find(&window[at..part.end], b"elfcorehdr=").is_some() {
            return at;
        }
        let (boots, last_at) = match self.plain_boots(finder, window, at..boot) {
            Plain::Boots { boots, last_at } => (boots, last_at),
            Plain::Later => return at,
            Plain::Mixed => {
                self.mixed += 1;
                return at;
            }
        };
        let refined = self.store.refined();
        self.note_refined(refined);
        self.store.clear();
        self.store.assume_switched();
        self.repeated.clear();
        self.recent.clear();
        self.log.boots = self.log.boots.saturating_add(boots);
        self.last_at = last_at;
        self.log.last_at = last_at;
        self.line += count_lines(&window[at..boot]);
        boot
    }

    /// The boots of a part of the window, if all of it is plain.
    fn plain_boots(&self, finder: &keywords::Finder, window: &[u8], part: Range<usize>) -> Plain {
        let mut passed = Passed {
            boots: 0,
            last_at: self.last_at,
            switched: self.store.has_switched(),
            machine: self.machine.as_bytes(),
        };
        let full = self.log.refined_before.len() >= BOOTS_NOTED;
        let words = Words::new();
        let mut search = finder.search(window);
        let mut at = part.start;
        while let Some(hit) = search.find(at..part.end) {
            let around = line_around(window, at..part.end, hit.start..hit.end);
            let line = &window[around.clone()];
            if !full && words.refined.find(line).is_some() {
                return Plain::Later;
            }
            if hit.group == Group::Separator || !passed.line(line, &words) {
                return Plain::Mixed;
            }
            at = around.end;
        }
        if passed.switched {
            Plain::Boots { boots: passed.boots, last_at: passed.last_at }
        } else {
            Plain::Mixed
        }
    }
}

impl<'a> Passed<'a> {
    /// Adds a line; returns `false` if it is not one that may be skipped.
    fn line(&mut self, line: &'a [u8], words: &Words) -> bool {
        let Some((at, message)) = stamp_and_message(line) else { return false };
        if message.strip_prefix(banner::BEGIN.as_bytes()).is_some_and(banner::is_version)
            && at == 0.0
        {
            // The same banner again, before any switch, is the same boot.
            if !self.switched {
                return false;
            }
            *self = Self {
                boots: self.boots + 1,
                last_at: Some(at),
                switched: false,
                machine: Machine::default(),
            };
            return true;
        }
        let again = |last: f64| last > BACK_S || self.switched && last > at + super::boots::BACK_S;
        let back = self.last_at.is_some_and(|last| last > at + BACK_S || at < 0.5 && again(last));
        // Another kernel's banner, or the first registration of a boot whose banner is missing.
        if back
            || has_stamp(message)
            || words.banner.find(message).is_some()
            || at > BACK_S && words.first.find(message).is_some()
        {
            return false;
        }
        self.last_at = Some(at);
        self.switched |= SWITCHES.iter().any(|words| message.starts_with(words));
        for sign in words.machine.of(message) {
            if self.machine.is_other(&sign) {
                return false;
            }
            self.machine.note(sign);
        }
        true
    }
}

/// Whether a message begins with a second time stamp, which would replace the first.
fn has_stamp(message: &[u8]) -> bool {
    let inside = message.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inside.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::KernelLog;
    use proptest::prelude::*;

    /// A log, read with and without skipping boots.
    fn both(text: &str) -> (KernelLog, KernelLog) {
        let finder = keywords::Finder::new().unwrap();
        let read = |mixed| {
            let mut scanner = Scanner::new("log");
            scanner.mixed = mixed;
            let mut at = 0;
            // Windows of a few boots each.
            loop {
                let end = (at + 6000).min(text.len());
                let used = scanner.window(&finder, &text.as_bytes()[at..end], end == text.len());
                at += used;
                if end == text.len() || used == 0 {
                    break;
                }
            }
            scanner.finish().unwrap()
        };
        (read(0), read(OTHERS))
    }

    fn boot(number: usize, last: &str) -> String {
        format!(
            "[    0.000000] Linux version 6.1.{} (a@b) #1 SMP\n\
             [    0.000000] Command line: quiet run={number}\n\
             [    0.100000] Booting paravirtualized kernel on bare hardware\n\
             [    0.200000] tsc: Detected 3600.000 MHz processor\n\
             [    0.300000] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645519600211568 ns\n\
             [    0.400000] clocksource: Switched to clocksource tsc-early\n\
             [    1.400000] usb 1-1: new high-speed USB device\n\
             [    1.900000] clocksource: Switched to clocksource tsc\n{last}",
            number % 3
        )
    }

    #[test]
    fn boots_that_others_follow_are_counted_alone() {
        let text: String = (0..100).map(|number| boot(number, "")).collect();
        let (quick, plain) = both(&text);
        assert_eq!(quick, plain);
        assert_eq!((quick.boots, quick.lines), (100, 800));
        let mut scanner = Scanner::new("log");
        let finder = keywords::Finder::new().unwrap();
        // Not before the first boot is read.
        assert_eq!(scanner.pass_older(&finder, text.as_bytes(), 0..text.len()), 0);
        let first = boot(0, "").len();
        scanner.window(&finder, &text.as_bytes()[..first], true);
        let at = scanner.pass_older(&finder, text.as_bytes(), first..text.len());
        assert_eq!(at, text.len() - boot(98, "").len() - boot(99, "").len());
        assert_eq!(scanner.log.boots, 98);
    }

    #[test]
    fn lines_that_count_by_themselves_are_read() {
        for last in [
            "root@host:~# dmesg\n",
            "[    0.100000] tsc: Fast TSC calibration using PIT\n",
            "[    2.100000] Booting paravirtualized kernel on KVM\n",
            "[    9.100000] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645519600211568 ns\n",
            "[    2.100000] tsc: Refined TSC clocksource calibration: 3599.998 MHz\n",
            "[    9.100000] hpet: x\n[    0.100000] tsc: Detected 3600.000 MHz processor\n",
        ] {
            let text: String =
                (0..100).map(|n| boot(n, if n % 7 == 3 { last } else { "" })).collect();
            let (quick, plain) = both(&text);
            assert_eq!(quick, plain, "{last}");
        }
    }

    /// Lines of boots, and lines that may be in between.
    const LINES: [&str; 16] = [
        "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP",
        "[    0.000000] Linux version 5.4.0 (a@b) #2 SMP",
        "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP",
        "[    0.000000] Command line: quiet",
        "[    0.700000] Booting paravirtualized kernel on KVM",
        "[    0.700000] Booting paravirtualized kernel on bare hardware",
        "[    0.800000] clocksource: Switched to clocksource kvm-clock",
        "[    0.900000] clocksource: Switched to clocksource tsc",
        "[    6.900000] clocksource: Switched to clocksource hpet",
        "[   16.900000] tsc: Refined TSC clocksource calibration: 3599.998 MHz",
        "[   19.000000] tsc: Marking TSC unstable due to clocksource watchdog",
        "[    0.400000] tsc: Detected 3600.000 MHz processor",
        "[    7.500000] hpet: no comparator",
        "usb 1-1: new device with hpet",
        "[    8.500000] clocksource: hyperv_clocksource_tsc_page: mask: 0xffffffffffffffff",
        "$ dmesg | grep tsc",
    ];

    proptest! {
        // Hundreds of lines each.
        #![proptest_config(ProptestConfig::with_cases(96))]
        #[test]
        fn result_is_that_of_all_lines(
            picks in proptest::collection::vec((0..40usize, 0..LINES.len(), any::<bool>()), 1..90)
        ) {
            let mut text = boot(0, "");
            for (number, (rest, line, alone)) in picks.iter().enumerate() {
                text += &boot(number, "");
                if *rest < 3 {
                    text += &format!("{}\n", LINES[*line]);
                    if *alone {
                        text += &format!("{}\n", LINES[(*line * 7 + rest) % LINES.len()]);
                    }
                }
            }
            let (quick, plain) = both(&text);
            prop_assert_eq!(quick, plain);
        }
    }
}

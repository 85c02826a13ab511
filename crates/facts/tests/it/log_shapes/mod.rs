//! The shapes in which users paste kernel lines: the output of journald, syslog, `dmesg`, containers, build servers,
//! consoles, mailers, trackers and chats for the same boot. Whatever the shape, the facts are the same.

#![allow(clippy::unwrap_used)]

mod others;
mod shapes;
mod texts;

use clocksmith_facts::log::{Event, KernelLog};
use others::OTHERS;
use shapes::SHAPES;
use std::fmt::Write;
use texts::TEXTS;

/// One record of the kernel's log.
#[derive(Clone, Copy)]
struct Line {
    /// Its number, from 1.
    n: usize,
    /// Microseconds since boot.
    us: u64,
    level: u8,
    text: &'static str,
}

impl Line {
    /// `    9.100000`, as printk writes it.
    fn at(&self) -> String {
        format!("{:5}.{:06}", self.us / 1_000_000, self.us % 1_000_000)
    }

    /// `[    9.100000] tsc: ...`.
    fn printk(&self) -> String {
        format!("[{}] {}", self.at(), self.text)
    }

    /// Second of the minute at which it is printed: the machine starts at 07:25:40.
    fn second(&self) -> u64 {
        40 + self.us / 1_000_000
    }

    fn micros(&self) -> u64 {
        self.us % 1_000_000
    }

    /// Levels by name, as `dmesg -x` writes them.
    fn level(&self) -> &'static str {
        ["emerg", "alert", "crit", "err", "warn", "notice", "info", "debug"]
            [usize::from(self.level)]
    }

    fn json(&self) -> String {
        serde_json::to_string(self.text).unwrap()
    }
}

/// A boot in which the watchdog demotes the TSC.
const BOOT: [(u64, u8, &str); 21] = [
    (0, 5, "Linux version 6.1.0-18-amd64 (builder@host) (gcc 12.2.0) #1 SMP Debian 6.1.76-1"),
    (0, 6, "Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet"),
    (0, 6, "tsc: Fast TSC calibration using PIT"),
    (12, 6, "tsc: Detected 2599.998 MHz processor"),
    (100_000, 6, "Booting paravirtualized kernel on bare hardware"),
    (312_345, 6, "clocksource: Switched to clocksource tsc-early"),
    (500_000, 6, "pci 0000:00:1f.0: [8086:9d84] type 00 class 0x060100"),
    (1_400_123, 6, "tsc: Refined TSC clocksource calibration: 2599.999 MHz"),
    (
        1_400_133,
        6,
        "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns",
    ),
    (1_400_321, 6, "clocksource: Switched to clocksource tsc"),
    (
        9_100_000,
        4,
        "clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:",
    ),
    (
        9_100_004,
        4,
        "clocksource:                       'hpet' wd_nsec: 503923392 wd_now: 7c7d1a6a wd_last: 7bcb2ee2 mask: ffffffff",
    ),
    (
        9_100_007,
        4,
        "clocksource:                       'tsc' cs_nsec: 588021368 cs_now: 5c1a3b6c2e cs_last: 5be3154b1a mask: ffffffffffffffff",
    ),
    (
        9_100_010,
        4,
        "clocksource:                       Clocksource 'tsc' skewed 84097976 ns (84 ms) over watchdog 'hpet' interval of 503923392 ns (503 ms)",
    ),
    (9_100_013, 4, "clocksource:                       'tsc' is current clocksource."),
    (9_100_020, 4, "tsc: Marking TSC unstable due to clocksource watchdog"),
    (
        9_100_030,
        4,
        "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
    ),
    (9_100_031, 6, "sched_clock: Marking unstable (9100000000, 12345)<-(9200000000, -54321)"),
    (
        9_200_100,
        6,
        "clocksource: Checking clocksource tsc synchronization from CPU 3 to CPUs 0-1,5.",
    ),
    (9_200_321, 6, "clocksource: Switched to clocksource hpet"),
    (17_000_001, 6, "EXT4-fs (sda1): re-mounted."),
];

fn boot() -> Vec<Line> {
    let line = |(n, (us, level, text)): (usize, &(u64, u8, &'static str))| Line {
        n: n + 1,
        us: *us,
        level: *level,
        text,
    };
    BOOT.iter().enumerate().map(line).collect()
}

fn each(all: &[Line], shape: impl Fn(&Line) -> String) -> String {
    all.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", shape(line));
        text
    })
}

fn lines(all: &[Line]) -> String {
    each(all, Line::printk)
}

fn events(text: &[u8]) -> Vec<Event> {
    KernelLog::scan(text, "log").unwrap().entries.into_iter().map(|entry| entry.event).collect()
}

#[test]
fn whole_boot_in_each_shape_has_the_same_events() {
    let all = boot();
    let plain = events(lines(&all).as_bytes());
    assert_eq!(plain.len(), 19, "{plain:#?}");
    let mut failed = Vec::new();
    let shapes = SHAPES.iter().map(|(name, shape)| (*name, each(&all, shape).into_bytes()));
    for (name, text) in shapes.chain(TEXTS.iter().map(|(name, shape)| (*name, shape(&all)))) {
        let found = KernelLog::scan(&*text, "log").unwrap();
        let same = found.entries.iter().map(|entry| &entry.event).eq(&plain);
        if !same || found.boots != 1 || !found.looks_like_kernel {
            let text = String::from_utf8_lossy(&text);
            let differ = plain
                .iter()
                .filter(|event| !found.entries.iter().any(|e| e.event == **event))
                .count();
            failed.push(format!(
                "{name}: {} events ({differ} lacking), {} boots: {:.200}",
                found.entries.len(),
                found.boots,
                text
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        SHAPES.len() + TEXTS.len(),
        failed.join("\n")
    );
}

#[test]
fn single_line_in_each_shape_says_the_same() {
    let mut failed = Vec::new();
    for (name, shape) in SHAPES {
        let lacking: Vec<&str> = boot()
            .iter()
            .filter(|line| {
                let text = format!("{}\n", shape(line));
                events(text.as_bytes()) != events(format!("{}\n", line.printk()).as_bytes())
            })
            .map(|line| line.text)
            .collect();
        if !lacking.is_empty() {
            failed.push(format!("{name}: {} of {}: {:?}", lacking.len(), BOOT.len(), lacking[0]));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), SHAPES.len(), failed.join("\n"));
}

#[test]
fn text_that_is_not_a_kernel_log_has_no_event() {
    let mut failed = Vec::new();
    for (name, text) in OTHERS {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        if !log.entries.is_empty() || log.looks_like_kernel {
            failed.push(format!("{name}: looks {}: {:?}", log.looks_like_kernel, log.entries));
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), OTHERS.len(), failed.join("\n"));
}

#[test]
fn line_without_a_header_among_those_with_one_is_a_programs() {
    let kernel = "Mar 05 07:25:40 kernel: tsc: Detected 2599.998 MHz processor\n";
    let program = "Mar 05 07:25:49 tsc: Marking TSC unstable due to clocksource watchdog\n";
    assert_eq!(events(format!("{kernel}{program}").as_bytes()).len(), 1);
}

//! Lines that a pager, a narrow console or a mailer truncated: a complete figure is read, and none is misread.

#![allow(clippy::unwrap_used)]

use super::{Groups, parse};
use crate::log::event::Event;
use std::collections::BTreeSet;

/// Messages with figures, the word that determines the meaning of the figures if it follows them, and the figures that
/// must be read as soon as they are complete.
const MESSAGES: &[(&str, &str, &[&str])] = &[
    (
        "clocksource:                       'hpet' wd_nsec: 498776745 wd_now: 6d3a91f2 wd_last: 6cd1a201 mask: ffffffff",
        "",
        &["498776745"],
    ),
    (
        "clocksource:                       'tsc' cs_nsec: 499115281 cs_now: 3f2a8b71c992 cs_last: 3f2a58ab1204 mask: ffffffffffffffff",
        "",
        &["499115281"],
    ),
    (
        "clocksource:                       'refined-jiffies' wd_nesc: 503923392 wd_now: fffb7018 wd_last: fffb6e20 mask: ffffffff",
        "",
        &["503923392"],
    ),
    (
        "clocksource:                       'hpet' wd_now: 6d3a91f2 wd_last: 6cd1a201 mask: ffffffff",
        "",
        &["6cd1a201"],
    ),
    (
        "clocksource:                       'tsc' cs_now: 3f2a8b71c992 cs_last: 3f2a58ab1204 mask: ffffffffffffffff",
        "",
        &["3f2a58ab1204"],
    ),
    (
        "clocksource:                       'acpi_pm' wd2_nsec: 511000000 wd2_now: 1",
        "",
        &["511000000"],
    ),
    (
        "clocksource:                       Clocksource 'tsc' skewed -5868123 ns (-5 ms) over watchdog 'hpet' interval of 503845123 ns (503 ms)",
        "",
        &["-5868123", "503845123"],
    ),
    ("clocksource: Clocksource tsc unstable (delta = -168170123 ns)", "", &["-168170123"]),
    (
        "Clocksource tsc unstable (delta = 4686123456 ns).  Enable clocksource failover by adding clocksource_failover kernel parameter.",
        "",
        &["4686123456"],
    ),
    (
        "clocksource: hpet: mask: 0xffffffff max_cycles: 0xfffffffe, max_idle_ns: 133484882848 ns",
        "",
        &["133484882848"],
    ),
    ("tsc: Refined TSC clocksource calibration: 2893.298 MHz", "", &["2893298"]),
    ("tsc: Detected 2893.202 MHz processor", "", &[]),
    ("vmware: TSC freq read from hypervisor : 2799.999 MHz", "", &["2799999"]),
    ("hpet0: 8 comparators, 64-bit 14.318180 MHz counter", "", &["14318000"]),
    ("arch_timer: cp15 timer(s) running at 24.75MHz (virt).", "", &["24750000"]),
    (
        "Measured 3978592372 cycles TSC warp between CPUs, turning off TSC clock.",
        "TSC",
        &["3978592372"],
    ),
    (
        "clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 526800 ns, attempt 4, marking unstable",
        "",
        &["526800"],
    ),
    ("clocksource: timekeeping watchdog on CPU6: hpet wd-wd read-back delay of 236342ns", "", &[]),
    (
        "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1237987654 wd_nsec: 1337654321",
        "",
        &[],
    ),
    ("clocksource: Watchdog hpet interval: 503845123 ns", "", &["503845123"]),
    ("clocksource: Watchdog hpet read timed out. Readout sequence took: 74512 ns", "", &["74512"]),
    ("APIC calibration not consistent with PM-Timer: 98ms instead of 100ms", "", &["98"]),
    ("setup_percpu: NR_CPUS:8192 nr_cpumask_bits:96 nr_cpu_ids:128 nr_node_ids:2", "", &["128"]),
    ("smpboot: Allowing 16 CPUs, 12 hotplug CPUs", "", &[]),
    (
        "smpboot: CPU0: Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz (family: 0x6, model: 0x8e, stepping: 0xa)",
        "",
        &[],
    ),
];

fn read(text: &str) -> Option<Event> {
    parse(text, Groups::of(text))
}

/// The figures of an event: all numbers of its fields except zero, which means a missing figure.
fn figures(event: &Event) -> BTreeSet<String> {
    let shown = format!("{event:?}");
    let number = |c: char| !(c.is_ascii_digit() || c == '-');
    shown
        .split(number)
        .filter(|part| part.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()))
        .filter(|part| !part.trim_start_matches('-').trim_start_matches('0').is_empty())
        .map(str::to_owned)
        .collect()
}

fn decimal(figure: &str) -> String {
    let hexadecimal = figure.contains(|c: char| c.is_ascii_alphabetic());
    if hexadecimal {
        u64::from_str_radix(figure, 16).unwrap().to_string()
    } else {
        figure.to_owned()
    }
}

#[test]
fn line_cut_at_any_character_never_shows_another_figure() {
    for (message, ..) in MESSAGES {
        let whole = figures(&read(message).unwrap_or_else(|| panic!("{message}")));
        for (cut, _) in message.char_indices() {
            for mark in ["", ">", "\u{2026}"] {
                // A figure at the end of the message is also at the end of the whole line.
                let part = format!("{}{mark}", &message[..cut]);
                let Some(event) = read(&part) else { continue };
                // Figures truncated after the last word may lack digits if both agree so far: other code decides that.
                if matches!(event, Event::LongReadout { .. }) {
                    continue;
                }
                let others: Vec<_> = figures(&event).difference(&whole).cloned().collect();
                assert!(others.is_empty(), "{part}: {event:?}: {others:?}");
            }
        }
    }
}

#[test]
fn line_cut_behind_a_figure_keeps_it() {
    for (message, from, kept) in MESSAGES {
        for figure in *kept {
            let dotted = match figure.len() {
                7 if message.contains(" MHz") => format!("{}.{}", &figure[..4], &figure[4..]),
                _ => (*figure).to_owned(),
            };
            let end = message.find(&dotted).map(|at| at + dotted.len());
            // Rates in other units end at their unit.
            let Some(end) = end.or_else(|| message.find("MHz")) else {
                panic!("{message}: {figure}")
            };
            let from = message.find(from).map_or(0, |at| at + from.len());
            for cut in from.max(end + 1)..=message.len() {
                let Some(event) = read(&message[..cut]) else {
                    panic!("{}: nothing", &message[..cut]);
                };
                assert!(
                    figures(&event).contains(&decimal(figure)),
                    "{}: {event:?}",
                    &message[..cut]
                );
            }
        }
    }
}

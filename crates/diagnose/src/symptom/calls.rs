//! System calls that read a clock, and which of them the vDSO should have served.

use super::late::Late;
use super::{Judged, MEASURE, SHOW_CURRENT, Weight};
use crate::names;
use clocksmith_facts::Facts;
use clocksmith_facts::symptom::{Calls, Symptom};

/// Clocks that the vDSO of x86 and arm64 serves if the clocksource has a path: REALTIME and MONOTONIC always,
/// on x86 TAI since 4.20, MONOTONIC_RAW and BOOTTIME since 5.3 (`lib/vdso/gettimeofday.c`).
const SERVED: [&str; 7] = [
    "CLOCK_REALTIME",
    "CLOCK_MONOTONIC",
    "CLOCK_REALTIME_COARSE",
    "CLOCK_MONOTONIC_COARSE",
    "CLOCK_MONOTONIC_RAW",
    "CLOCK_BOOTTIME",
    "CLOCK_TAI",
];

/// Calls of a whole run below which nothing is concluded from their number: reads of CPU-time
/// clocks, and the start of some programs.
const FEW: u64 = 4;

pub(super) fn judge(symptom: &Symptom, calls: &Calls, facts: &Facts) -> Judged {
    let plural = if calls.count == 1 { "" } else { "s" };
    let mut says = format!("{} call{plural} of {}", calls.count, calls.call);
    let clocks: Vec<String> =
        calls.clocks.iter().take(4).map(|(name, count)| format!("{name} {count}")).collect();
    if !clocks.is_empty() {
        says.push_str(&format!(" ({})", clocks.join(", ")));
    }
    if let Some(us) = calls.us {
        says.push_str(&format!(", {us:.1} us each with the cost of the trace"));
    }
    if let Some(percent) = calls.percent {
        says.push_str(&format!(", {percent:.1} % of the time in system calls"));
    }
    if calls.failed > 0 {
        says.push_str(&format!(", {} of them failed", calls.failed));
    }
    if calls.of_library {
        return Judged::new(symptom, of_library(calls, says))
            .proves(
                "how often the program asks the C library for the time",
                "whether these calls enter the kernel: ltrace counts calls of the library, \
                 including those that the vDSO serves",
                "strace -c -f -e trace=clock_gettime,gettimeofday PROGRAM",
            )
            .weighs(
                Weight::Nothing,
                "ltrace counts calls of the C library: it does not show whether they enter the \
                 kernel.",
            );
    }
    if calls.failed > 0 && calls.failed == calls.count {
        return Judged::new(symptom, says)
            .proves(
                "these calls entered the kernel, and each of them failed, so the trace does not \
                 show what a read costs. Possible reasons are a seccomp filter that refuses the \
                 call, and a clock that does not exist",
                "with which error they failed",
                "strace -f -e trace=clock_gettime,gettimeofday PROGRAM",
            )
            .weighs(
                Weight::Nothing,
                format!("Each of the {} traced calls of {} failed.", calls.count, calls.call),
            );
    }
    let judged = Judged::new(symptom, says);
    let served: u64 = calls
        .clocks
        .iter()
        .filter(|(name, _)| SERVED.contains(&name.as_str()))
        .map(|(_, count)| count)
        .sum();
    if !calls.clocks.is_empty() && served == 0 {
        let name = &calls.clocks[0].0;
        return judged
            .proves(
                format!(
                    "nothing about the clocksource: {name} is a clock of a process, a thread or an alarm; no \
                     vDSO serves it, so its reads are system calls on every machine"
                ),
                "what reads of CLOCK_MONOTONIC and CLOCK_REALTIME cost",
                MEASURE,
            )
            .weighs(Weight::Nothing, format!("The traced calls read {name}, which is a system call on every machine."));
    }
    // Only clocks that the vDSO serves since a later version, on a kernel that is older or of unknown version.
    let late =
        || calls.clocks.iter().map(|(name, _)| Late::of(name)).collect::<Option<Vec<Late>>>();
    let late = if calls.clocks.is_empty() { None } else { late() };
    if let Some(late) = late
        .as_deref()
        .and_then(|late| late.iter().find(|late| late.is_served(facts) != Some(true)))
    {
        let (name, since) = (&calls.clocks[0].0, late.since());
        return match late.is_served(facts) {
            Some(false) => judged
                .proves(
                    format!(
                        "nothing about the clocksource: the vDSO serves {name} {since}, so on this \
                         kernel its reads are system calls on every clocksource"
                    ),
                    "what reads of CLOCK_MONOTONIC and CLOCK_REALTIME cost",
                    MEASURE,
                )
                .weighs(
                    Weight::Nothing,
                    format!("The traced calls read {name}, which is a system call on this kernel whatever the clocksource is."),
                ),
            _ => judged
                .proves(
                    format!("these reads of the program entered the kernel. The vDSO of x86 serves \
                             {name} {since}"),
                    "whether the clocksource is the reason, or the kernel's version",
                    "uname -r",
                )
                .weighs(
                    Weight::Nothing,
                    format!("The traced calls read {name}, which the vDSO of x86 serves {since}: \
                             whether this kernel is older is not known."),
                ),
        };
    }
    // A table counts every call of a run: a program that misses the vDSO has many.
    let is_slow = symptom.under.as_deref().is_some_and(names::is_slow_by_nature);
    if calls.clocks.is_empty() && calls.of_table && calls.count < FEW && !is_slow {
        return judged
            .proves(
                "these reads entered the kernel, and no others of this run: calls that the vDSO serves do not show in a trace",
                "whether the program read the time more often than that, through the vDSO, and \
                 which clocks these calls read (CPU-time clocks are system calls everywhere)",
                MEASURE,
            )
            .weighs(
                Weight::Nothing,
                format!(
                    "The trace has {} call{plural} of {} in the whole run: too few to say that reads do not stay in user space.",
                    calls.count, calls.call
                ),
            );
    }
    let open = "the reason, which may be the clocksource (hpet, acpi_pm, and xen or kvm-clock on some hosts have \
                no vDSO path) or the program (linked statically, 32-bit, in a sandbox, or calling syscall(2) itself)";
    let open = if calls.clocks.is_empty() && calls.call.starts_with("clock_") {
        format!(
            "which clock is read (CPU-time clocks are system calls everywhere, CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME before 5.3, CLOCK_TAI \
             before 4.20), and {open}"
        )
    } else {
        open.to_owned()
    };
    let under = symptom.under.as_deref();
    let settled = if under.is_some() { MEASURE } else { SHOW_CURRENT };
    let fits = under.is_some_and(names::is_slow_by_nature);
    let mut judged = judged;
    judged.calls = calls.count;
    judged
        .proves(
            "these reads of the program entered the kernel: calls that the vDSO serves do not show \
             in a trace",
            if fits { "which function makes the calls".to_owned() } else { open },
            if fits { "sudo clocksmith who --all" } else { settled },
        )
        .weighs(
            Weight::PerhapsSlow,
            format!(
                "The traced program reads the time by system call ({} call{plural} of {}): the vDSO did not serve it.{}",
                calls.count,
                calls.call,
                small_part(calls)
            ),
        )
}

/// Percent of a table's time up to which a row is a small part of it.
const SMALL: f64 = 10.0;

/// That other calls of a table take the time, if they do.
fn small_part(calls: &Calls) -> String {
    match calls.percent.filter(|percent| *percent < SMALL) {
        Some(percent) => format!(
            " They take {percent:.1} % of the time of its system calls: a faster clock saves no more than that."
        ),
        None => String::new(),
    }
}

/// The text for ltrace's figures, without strace's words about system calls.
fn of_library(calls: &Calls, says: String) -> String {
    match calls.percent {
        Some(percent) => says.replace(
            &format!("{percent:.1} % of the time in system calls"),
            &format!("{percent:.1} % of the time in functions of libraries"),
        ),
        None => says,
    }
}

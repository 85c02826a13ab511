//! Read costs that another program measured.

use super::late::Late;
use super::{Judged, MEASURE, SHOW_CURRENT, Weight, ns};
use crate::names;
use clocksmith_facts::Facts;
use clocksmith_facts::symptom::{Cost, Seen, Symptom};

/// Nanoseconds below which a read stays in user space: a system call alone takes as long on the fastest machines, and a
/// read by system call takes longer with the loop around it.
const FAST: f64 = 80.0;
/// Nanoseconds above which a read in user space does not explain the cost, on processors of the last fifteen years.
const SLOW: f64 = 200.0;
/// The fraction of the cost of a system call from which on a read is a system call.
const LIKE_A_CALL: f64 = 0.8;

/// Judges the measurement of a program; `None` for a coarse clock that is read from memory, which shows nothing.
pub(super) fn judge(symptom: &Symptom, cost: &Cost, facts: &Facts) -> Option<Judged> {
    let is_call = match cost.syscall_ns.filter(|syscall| *syscall > 0.0) {
        Some(syscall) => cost.ns >= LIKE_A_CALL * syscall,
        None => cost.ns > SLOW,
    };
    (is_call || !is_coarse(&cost.clock)).then(|| judge_read(symptom, cost, facts))
}

fn judge_read(symptom: &Symptom, cost: &Cost, facts: &Facts) -> Judged {
    let tool = symptom.tool;
    let under =
        symptom.under.as_deref().map_or_else(String::new, |name| format!(", with {name} in use"));
    let says = match cost.syscall_ns {
        Some(syscall) => {
            format!("{}: {} a read, {} by system call{under}", cost.clock, ns(cost.ns), ns(syscall))
        }
        None => format!("{}: {} a read{under}", cost.clock, ns(cost.ns)),
    };
    let judged = Judged::new(symptom, says);
    let who = if tool == "timed loop" { "A timed loop" } else { tool };
    let measured = format!("{who} measured {} a read of {}", ns(cost.ns), cost.clock);
    if cost.by_instruction {
        return if cost.ns > SLOW {
            judged
                .proves(
                    "the instruction that reads the TSC is expensive: a hypervisor traps it, or the machine was busy",
                    "what the kernel's clock costs",
                    MEASURE,
                )
                .weighs(Weight::PerhapsSlow, format!("{measured}: a hypervisor may trap the instruction."))
        } else {
            judged.proves(
                "the TSC itself is cheap to read",
                "whether the kernel uses it",
                SHOW_CURRENT,
            )
        };
    }
    let is_call = match cost.syscall_ns.filter(|syscall| *syscall > 0.0) {
        Some(syscall) => cost.ns >= LIKE_A_CALL * syscall,
        None => cost.ns >= FAST,
    };
    if is_coarse(&cost.clock) {
        return coarse(judged, &measured);
    }
    if is_call && let Some(late) = Late::of(&cost.clock) {
        return not_served(judged, &measured, late, facts, symptom);
    }
    if let Some(syscall) = cost.syscall_ns.filter(|syscall| *syscall > 0.0) {
        return if cost.ns >= LIKE_A_CALL * syscall {
            judged
                .proves(
                    "the vDSO makes a system call for these reads: they cost as much as the system call",
                    "why the clocksource in use has no path in the vDSO",
                    SHOW_CURRENT,
                )
                .weighs(Weight::Slow, format!("{measured}, as much as by a system call."))
        } else {
            judged
                .proves("reads stay in user space", "nothing", MEASURE)
                .weighs(Weight::Fast, format!("{measured}, and {} by system call.", ns(syscall)))
        };
    }
    if cost.ns < FAST {
        return judged
            .proves(
                "reads stay in user space: a system call and a device take longer",
                "whether reads are as fast at other times",
                MEASURE,
            )
            .weighs(Weight::Fast, format!("{measured}, so reads stay in user space."));
    }
    if cost.ns < SLOW {
        return judged.proves(
            "little: this is more than a read in user space takes on most machines, and few machines make a system \
             call that fast",
            "whether reads enter the kernel",
            MEASURE,
        );
    }
    let under = symptom.under.as_deref();
    if under.is_some_and(names::is_slow_by_nature) {
        return judged
            .proves(
                format!("what {} costs there", under.unwrap_or_default()),
                "why the kernel uses it",
                "dmesg | grep -i -e clocksource -e tsc",
            )
            .weighs(Weight::Slow, format!("{measured}."));
    }
    if under == Some("tsc") {
        return judged
            .proves(
                "this is not a read of the TSC in user space: the kernel has no vDSO for it (32 bits before 3.15), the \
                 hypervisor traps the TSC, or the machine was busy",
                "which of them",
                MEASURE,
            )
            .weighs(
                Weight::PerhapsSlow,
                format!("{measured}: with tsc that is a trapped TSC, a missing vDSO, or a busy machine."),
            );
    }
    judged
        .proves(
            "this is not a read in user space, or the machine was busy. A read by a system call \
             takes about 500 to 1500 ns with hpet, 1000 and more with acpi_pm, 150 to 800 with a \
             paravirtual clock",
            "which of them it is",
            SHOW_CURRENT,
        )
        .weighs(
            Weight::PerhapsSlow,
            format!("{measured}: reads bypass the vDSO, or the machine is busy."),
        )
}

/// Whether a clock is read only from memory if a vDSO serves it: `CLOCK_MONOTONIC_COARSE`,
/// `clock-gettime-realtime-coarse`.
fn is_coarse(clock: &str) -> bool {
    clock.to_ascii_lowercase().contains("coarse")
}

/// A read of a coarse clock reads no counter: its cost is that of entering the kernel.
fn coarse(judged: Judged, measured: &str) -> Judged {
    judged
        .proves(
            "reads enter the kernel whatever the clocksource is: a coarse clock reads no counter, \
             and takes a few nanoseconds if the vDSO serves it",
            "the reason, which may be a kernel without this vDSO (32 bits before 3.15), a sandbox, a tracer or a \
             static program",
            MEASURE,
        )
        .weighs(
            Weight::PerhapsSlow,
            format!("{measured}, which reads no counter: all reads enter the kernel there, whatever the clocksource is."),
        )
}

/// The meaning of a slow read of a clock that the vDSO serves since a later version.
fn not_served(
    judged: Judged,
    measured: &str,
    late: Late,
    facts: &Facts,
    symptom: &Symptom,
) -> Judged {
    let since = late.since();
    let beside = facts.symptoms.iter().any(|other| match &other.seen {
        Seen::Cost(cost) => {
            other.tool == symptom.tool
                && other.under == symptom.under
                && Late::of(&cost.clock).is_none()
                && !is_coarse(&cost.clock)
                && !cost.by_instruction
                && cost.syscall_ns.map_or(cost.ns < FAST, |syscall| cost.ns < LIKE_A_CALL * syscall)
        }
        _ => false,
    });
    let open = "what reads of CLOCK_MONOTONIC and CLOCK_REALTIME cost";
    match late.is_served(facts) {
        Some(false) => judged
            .proves(
                format!(
                    "nothing about the clocksource: the vDSO serves this clock {since}, so on this \
                     kernel its reads are system calls on every clocksource"
                ),
                open,
                MEASURE,
            )
            .weighs(Weight::Nothing, format!("{measured}, a system call on this kernel whatever the clocksource is.")),
        // Reads of other clocks stay in user space, so the clocksource has a vDSO path.
        _ if beside => judged
            .proves(
                format!(
                    "that the vDSO does not serve this clock there, and serves others: the clocksource is not \
                     the reason. The vDSO of x86 serves this clock {since}"
                ),
                "the kernel's version",
                "uname -r",
            )
            .weighs(Weight::Nothing, String::new()),
        None => judged
            .proves(
                format!("that reads of this clock enter the kernel. The vDSO of x86 serves it {since}"),
                format!("whether the clocksource is the reason, or the kernel's version; and {open}"),
                "uname -r",
            )
            .weighs(
                Weight::Nothing,
                format!("{measured}: a system call, as on every clocksource of an older x86 kernel (the vDSO \
                         serves this clock {since})."),
            ),
        Some(true) => judged
            .proves(
                "the vDSO makes a system call for these reads, although the vDSO of this kernel can serve the clock",
                "why the clocksource in use has no path in the vDSO",
                SHOW_CURRENT,
            )
            .weighs(Weight::PerhapsSlow, format!("{measured}: the vDSO did not serve these reads.")),
    }
}

//! What another program measured of a read.

use super::{Judged, MEASURE, SHOW_CURRENT, Weight, ns};
use crate::names;
use clocksmith_facts::symptom::{Cost, Symptom};

/// Nanoseconds below which a read stays in user space: a system call alone takes as much on the fastest machines, and
/// with the loop around it a read by system call takes more.
const FAST: f64 = 80.0;
/// Nanoseconds from which on a read in user space does not explain it on processors of the last fifteen years.
const SLOW: f64 = 200.0;
/// Part of the cost of a system call from which on a read is one.
const LIKE_A_CALL: f64 = 0.8;

pub(super) fn judge(symptom: &Symptom, cost: &Cost) -> Judged {
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
    if let Some(syscall) = cost.syscall_ns.filter(|syscall| *syscall > 0.0) {
        return if cost.ns >= LIKE_A_CALL * syscall {
            judged
                .proves(
                    "the vDSO hands these reads on to the kernel: they cost as much as the system call",
                    "why the clocksource in use has no path in the vDSO",
                    SHOW_CURRENT,
                )
                .weighs(Weight::Slow, format!("{measured}, as much as by system call."))
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
                "whether it was the same on another day",
                MEASURE,
            )
            .weighs(Weight::Fast, format!("{measured}: that is user space."));
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
                "this is no read of the TSC in user space: the kernel has no vDSO for it (32 bits before 3.15), the \
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
            "this is no read in user space, or the machine was busy. By system call hpet takes some 500 to 1500 ns, \
             acpi_pm 1000 and more, a paravirtual clock 150 to 800",
            "which of them it is",
            SHOW_CURRENT,
        )
        .weighs(Weight::PerhapsSlow, format!("{measured}: not the vDSO, or a busy machine."))
}

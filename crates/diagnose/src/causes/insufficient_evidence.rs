//! `insufficient-evidence`: this evidence does not show the cause; the cause names the evidence that would.

use super::definition::{Definition, PLAIN};
use super::reference::is_paravirt;
use super::tsc::marked;
use super::{Case, Causes, steering};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::demotion::{self, shows_marked_tsc};
use crate::remedies::table;
use clocksmith_facts::log::event::{LostTicks, UnstableReason};
use clocksmith_facts::log::{Event, KernelLog};

pub(super) const CAUSE: Definition = Definition {
    against_reliable: Some(|plan, _| {
        let case = plan.case;
        let asks =
            case.slow == Some(true) && case.machine.arch.value.is_x86() && !case.lacks_sysfs();
        let what = if case.log().is_some_and(demotion::demotes_tsc) {
            "was demoted"
        } else {
            "is not in use"
        };
        asks.then(|| {
            format!(
                "it is not known why the TSC {what}; if the TSC is at fault, time goes backwards between CPUs"
            )
        })
    }),
    remedies: &[&table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::InsufficientEvidence,
        Severity::Warning,
        "the kernel marked the TSC unstable for a reason that is not known here",
        |reason| matches!(reason, UnstableReason::Other(_)),
    );
    // Only a clocksource that no other cause covers.
    steering::too_far(case, causes, CauseId::InsufficientEvidence, Confidence::High, |name| {
        !name.starts_with("tsc") && !is_paravirt(name)
    });
    lost_ticks(case, causes);
    marked_before(case, causes);
    nothing_explains(case, causes);
}

/// A line shows that the TSC is marked unstable, and no line states the reason.
fn marked_before(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    let says_why = |event: &Event| demotion::takes_tsc(event) && !shows_marked_tsc(event);
    if !case.tsc_is_marked() || log.any(says_why) {
        return;
    }
    let Some((entry, ())) = log.first(|event| shows_marked_tsc(event).then_some(())) else {
        return;
    };
    let shown = match entry.event {
        Event::KvmTscUnreliable(_) => "KVM reports this when it starts a guest",
        _ => "it compares the counters of several CPUs only then",
    };
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!(
            "the kernel has marked the TSC unstable: {shown}. Earlier lines of the kernel log show when and why: sudo \
             dmesg, or journalctl -k -b"
        ),
        vec![Evidence::line(log, entry)],
    );
}

/// Possible reasons for the lost ticks that an old kernel counted.
fn lost_ticks(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    let grave = |kind| matches!(kind, LostTicks::Many | LostTicks::TooMany);
    let Some(entry) = log
        .all(|event| matches!(event, Event::HpetFallback))
        .chain(log.all(|event| matches!(event, Event::LostTicks(kind) if grave(*kind))))
        .chain(log.all(|event| matches!(event, Event::LostTicks(_))))
        .next()
    else {
        return;
    };
    let what = match entry.event {
        Event::HpetFallback => {
            "according to the TSC, a thousand ticks were lost, so the kernel switched to the HPET"
        }
        Event::LostTicks(LostTicks::TooMany) => {
            "according to the TSC, too many ticks were lost, so the kernel stopped using the TSC"
        }
        Event::LostTicks(LostTicks::Many) => "the kernel has lost a thousand ticks since the boot",
        _ => "the kernel lost ticks",
    };
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!(
            "{what}: interrupts were delayed (a driver, a disk without DMA, a busy host), or the \
             counter ran at a different rate from the one that the kernel assumed (a CPU that \
             changes its frequency); the message does not say which"
        ),
        vec![Evidence::line(log, entry)],
    );
}

/// Seconds after the boot within which the kernel registers its counters, even on the slowest boards.
const EARLY: f64 = 5.0;

/// Whether the log has lines of the boot's first seconds: by their time stamps, or because the kernel prints such lines
/// only then.
fn shows_early_boot(log: &KernelLog) -> bool {
    log.entries.iter().any(|entry| {
        entry.event.is_printed() && entry.at.is_some_and(|at| at < EARLY)
            || matches!(
                entry.event,
                Event::Registered { .. }
                    | Event::ArchTimer { .. }
                    | Event::DelayLoop { .. }
                    | Event::Detected { .. }
                    | Event::Banner(_)
                    | Event::CommandLine(_)
            )
    })
}

/// Adds the cause if the reads are slow or unknown and no cause was found, with the evidence that would settle it.
fn nothing_explains(case: &Case<'_>, causes: &mut Causes) {
    let explained = causes.0.iter().any(|c| {
        c.severity >= Severity::Warning && c.confidence >= Confidence::Medium
            || matches!(c.id, CauseId::RuntimeOverride | CauseId::CmdlineClocksourceOverride)
    });
    let unstable_without_reason = case.log().is_some_and(|log| {
        log.any(|e| matches!(e, Event::FoundUnstableAfterBoot | Event::SchedClockUnstable))
            && !log.any(|e| matches!(e, Event::TscUnstable(_)))
    });
    let anything = !causes.0.is_empty();
    // The clocksource in use is known, and the evidence does not show whether it is fast or stayed in use.
    if case.slow.is_none() && case.current_name().is_some() && !case.open.is_empty() && !explained {
        let names: Vec<String> =
            case.open.iter().map(|input| crate::headline::with_article(*input)).collect();
        causes.add(
            CauseId::InsufficientEvidence,
            Severity::Info,
            Confidence::High,
            format!("this evidence does not show {}", names.join(", or ")),
            Vec::new(),
        );
    }
    let needed = match case.slow {
        Some(true) => !explained,
        Some(false) => unstable_without_reason && !explained,
        // The clocksource in use is known, and only its speed is not; the headline states that.
        None if case.current_name().is_some() => unstable_without_reason && !explained,
        None => !explained && (unstable_without_reason || !anything),
    };
    if !needed {
        return;
    }
    let log_reaches_boot = case.log().is_some_and(|log| log.from_boot);
    let settle = if case.log().is_none_or(|log| !log.any(Event::is_printed)) {
        "the kernel log from the beginning of the boot would show it: sudo dmesg, or journalctl -k -b"
    } else if case.lacks_sysfs() {
        "the whole of this boot's log would show it"
    } else if !log_reaches_boot && case.log().is_some_and(shows_early_boot) {
        let one = case.log().is_some_and(|log| log.entries.len() == 1);
        match (one, case.current_name().is_some()) {
            (true, false) => {
                "the one line here that concerns clocks is from the boot's first seconds; the kernel's later choice and \
                 its reason are missing; the whole of journalctl -k -b, /var/log/dmesg or /var/log/kern.log has them"
            }
            (false, false) => {
                "these lines are from the boot's first seconds; the kernel's later choice and its reason are missing; the \
                 whole of journalctl -k -b, /var/log/dmesg or /var/log/kern.log has them"
            }
            (_, true) => {
                "the lines of the boot's first seconds that show the reason are missing; the whole of journalctl -k -b, \
                 /var/log/dmesg or /var/log/kern.log has them"
            }
        }
    } else if !log_reaches_boot {
        "this log does not begin at the boot, where the kernel logs the reason; journalctl -k -b, /var/log/dmesg or \
         /var/log/kern.log has those lines"
    } else {
        match case.may_be_x86() {
            true => {
                "sudo clocksmith collect on that machine adds CPUID, the command line and sysfs"
            }
            false => "sudo clocksmith collect on that machine adds the command line and sysfs",
        }
    };
    let gvisor = case.facts.environment.gvisor.value() == Some(&true);
    let what = match (case.current_name(), case.slow) {
        (None, _) if gvisor => {
            "this is gVisor, a kernel in user space without Linux's clocksources. Its reads use the host's clock: run \
             clocksmith on the host"
                .to_owned()
        }
        (Some(name), Some(true)) => format!("this evidence does not show why {name} is in use"),
        (Some(name), _) => {
            format!("the TSC was found unstable while {name} is in use, and no line shows why")
        }
        (None, _) => "this evidence does not show which clocksource is in use, or why".to_owned(),
    };
    let evidence = match case.current_name() {
        Some(name) => vec![Evidence::new(case.current.source.clone(), format!("current: {name}"))],
        None => Vec::new(),
    };
    // An excerpt that shows nothing wrong is harmless.
    let harmless = case.slow.is_none() && !unstable_without_reason && !anything;
    causes.add(
        CauseId::InsufficientEvidence,
        if harmless { Severity::Info } else { Severity::Warning },
        Confidence::High,
        format!("{what}; {settle}"),
        evidence,
    );
}

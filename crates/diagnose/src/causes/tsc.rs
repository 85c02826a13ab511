//! Causes that the TSC code states: what `mark_tsc_unstable()` was called with, the warp test,
//! TSC_ADJUST, calibration, and a CPU without a TSC.

use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::event::{TscAdjust, UnstableReason};
use clocksmith_facts::log::rates::{recovered_hz, tsc_hz};
use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_kernel::expectation::TscState;

pub(super) fn find(case: &Case<'_>, causes: &mut Causes) {
    if let Some(log) = case.log() {
        marked(case, log, causes);
        warp(case, log, causes);
        adjust(log, causes);
        frequency(case, log, causes);
    }
    from_model(case, causes);
}

/// The first reason is the one that the kernel printed.
fn marked(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    for entry in log.all(|event| matches!(event, Event::TscUnstable(_))) {
        let Event::TscUnstable(reason) = &entry.event else { continue };
        reason_to_cause(case, reason, entry, log, causes);
    }
}

fn reason_to_cause(
    case: &Case<'_>,
    reason: &UnstableReason,
    entry: &Entry,
    log: &KernelLog,
    causes: &mut Causes,
) {
    let evidence = vec![Evidence::line(log, entry)];
    let loss = case.loss();
    let mut add = |id, severity, summary: &str| {
        causes.add(id, severity, Confidence::High, summary, evidence.clone());
    };
    match reason {
        UnstableReason::SyncFailed => add(
            CauseId::TscWarp,
            loss,
            "at boot one CPU read a lower TSC than another had just read: the counters are not \
             synchronised",
        ),
        UnstableReason::Unsynchronized | UnstableReason::UvBios => add(
            CauseId::TscUnsynchronized,
            loss,
            "this machine has several CPUs and no promise that their TSCs run alike (no constant TSC \
             on a non-Intel CPU, or firmware says so), so the kernel does not use them",
        ),
        UnstableReason::HaltsInIdle => add(
            CauseId::TscHaltsInIdle,
            loss,
            "this CPU's TSC stops in deep idle states, and the idle driver uses them",
        ),
        UnstableReason::CpufreqChanges => add(
            CauseId::TscFrequencyChanges,
            loss,
            "this CPU's TSC runs at the core's frequency, and cpufreq changed it",
        ),
        UnstableReason::BootParameterNotsc => {
            add(CauseId::CmdlineNotsc, loss, "notsc on the kernel command line disables the TSC");
        }
        UnstableReason::BootParameter => add(
            CauseId::CmdlineTscUnstable,
            loss,
            "tsc=unstable on the kernel command line disables the TSC",
        ),
        UnstableReason::NoFrequency => add(
            CauseId::NoTsc,
            loss,
            "the kernel could not find out the TSC's frequency: no PIT, HPET, PM timer or hypervisor \
             interface answered",
        ),
        UnstableReason::HyperV => {
            let healthy =
                case.current_name().is_none_or(|name| name == "hyperv_clocksource_tsc_page");
            add(
                CauseId::InvariantTscWithheld,
                if healthy { Severity::Info } else { loss },
                "Hyper-V does not grant this guest the invariant TSC, so the kernel uses Hyper-V's own \
                 clock by design",
            );
        }
        UnstableReason::KvmBackwards => add(
            CauseId::TscJump,
            Severity::Warning,
            "KVM on this host saw the TSC go backwards: firmware reset it, over suspend or CPU \
             hot-plug",
        ),
        UnstableReason::RunningSlowly => add(
            CauseId::TscSkew,
            loss,
            "the TSC ran slower than the CPU should: it stops or slows while the CPU is idle",
        ),
        // The watchdog's own lines say more.
        UnstableReason::Watchdog => {}
        UnstableReason::Other(_) => add(
            CauseId::InsufficientEvidence,
            Severity::Warning,
            "the kernel marked the TSC unstable for a reason that is not known here",
        ),
    }
}

fn warp(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let sized = log.any(|e| matches!(e, Event::Warp { .. } | Event::WarpRandom));
    // The header tells nothing new where the size follows.
    let told = |e: &Event| match e {
        Event::Warp { .. } | Event::WarpRandom => true,
        Event::WarpHeader { .. } => !sized,
        _ => false,
    };
    for entry in log.all(told) {
        let summary = match &entry.event {
            Event::Warp { cycles } => {
                let time = match tsc_hz(log) {
                    Some((_, hz)) => {
                        #[allow(clippy::cast_precision_loss)]
                        let seconds = *cycles as f64 / hz;
                        format!(" ({})", seconds_text(seconds))
                    }
                    None => String::new(),
                };
                format!(
                    "the boot-time test saw the TSC of one CPU {cycles} cycles{time} behind another's"
                )
            }
            Event::WarpHeader { from, to } => {
                format!("the boot-time test of the TSCs of CPU {from} and CPU {to} failed")
            }
            _ => "the TSC went backwards between CPUs at random in the boot-time test".to_owned(),
        };
        causes.add(
            CauseId::TscWarp,
            case.loss(),
            Confidence::High,
            summary,
            vec![Evidence::line(log, entry)],
        );
    }
}

/// A duration for people: `64 ns`, `3.18 s`.
pub(crate) fn seconds_text(seconds: f64) -> String {
    let size = seconds.abs();
    if size < 1e-6 {
        format!("{:.0} ns", seconds * 1e9)
    } else if size < 1e-3 {
        format!("{:.1} us", seconds * 1e6)
    } else if size < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else if size < 7200.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.1} hours", seconds / 3600.0)
    }
}

fn adjust(log: &KernelLog, causes: &mut Causes) {
    for entry in log.all(|e| matches!(e, Event::TscAdjust(_))) {
        let Event::TscAdjust(kind) = &entry.event else { continue };
        let (severity, summary) = match kind {
            TscAdjust::Restored => (
                Severity::Warning,
                "something (firmware, over suspend or in SMM) wrote TSC_ADJUST after boot; the kernel \
                 put the old value back",
            ),
            TscAdjust::Forced => (
                Severity::Info,
                "firmware left a value in TSC_ADJUST at boot; the kernel cleared it",
            ),
            _ => (
                Severity::Info,
                "firmware set TSC_ADJUST differently between CPUs; the kernel evened it out",
            ),
        };
        causes.add(
            CauseId::TscAdjustChanged,
            severity,
            Confidence::High,
            summary,
            vec![Evidence::line(log, entry)],
        );
    }
}

/// The kernel's TSC frequency, held against what processors have and against itself.
fn frequency(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let registered = log.last(|event| match event {
        Event::Registered { name, max_cycles, max_idle_ns, .. } if name.starts_with("tsc") => {
            recovered_hz(*max_cycles, *max_idle_ns)
        }
        _ => None,
    });
    if let Some((entry, hz)) = registered
        && !(0.1e9..=8e9).contains(&hz)
    {
        causes.add(
            CauseId::TscMiscalibrated,
            if case.tsc_is_current() { Severity::Critical } else { Severity::Warning },
            Confidence::High,
            format!(
                "the kernel believes that the TSC runs at {:.3} GHz, which no processor does: time runs \
                 at the wrong rate",
                hz / 1e9
            ),
            vec![Evidence::line(log, entry)],
        );
    }
    let detected = log.last(|event| match event {
        Event::Detected { khz, .. } => Some(*khz),
        _ => None,
    });
    let refined = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    });
    if let (Some((first, early)), Some((second, late))) = (detected, refined)
        && early > 0
    {
        // The kernel accepts a refinement within 1 %; two honest measurements agree much better.
        let off = early.abs_diff(late).saturating_mul(1_000_000) / early;
        if off > 3000 {
            let demoted = log.any(|e| matches!(e, Event::TscUnstable(UnstableReason::Watchdog)));
            causes.add(
                CauseId::TscMiscalibrated,
                if demoted { Severity::Warning } else { Severity::Info },
                if demoted { Confidence::Medium } else { Confidence::Low },
                format!(
                    "the refined TSC frequency is {off} ppm away from the one detected first: one of \
                     the two measurements was disturbed"
                ),
                vec![Evidence::line(log, first), Evidence::line(log, second)],
            );
        }
    }
    stated_frequency(case, log, causes);
    for entry in log.all(|e| matches!(e, Event::RecalibrationDiffers)) {
        causes.add(
            CauseId::TscMiscalibrated,
            Severity::Warning,
            Confidence::High,
            "the TSC frequency that CPUID or firmware states differs from the measured one; the kernel \
             keeps the stated one",
            vec![Evidence::line(log, entry)],
        );
    }
}

/// `tsc_early_khz=` is believed as it stands; the calibration of the APIC timer gives it away.
fn stated_frequency(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let Some(given) = case.machine.cmdline.value.number("tsc_early_khz") else { return };
    let Some((entry, ms)) = log.last(|event| match event {
        Event::ApicCalibration { ms } if !(87..=115).contains(ms) => Some(*ms),
        _ => None,
    }) else {
        return;
    };
    causes.add(
        CauseId::TscMiscalibrated,
        if case.tsc_is_current() { Severity::Critical } else { Severity::Warning },
        Confidence::High,
        format!(
            "tsc_early_khz={given} is wrong: 100 ms by that figure are {ms} ms by the PM timer, so the \
             TSC runs at about {} kHz",
            given.saturating_mul(100) / ms.max(1)
        ),
        vec![cmdline(case, &format!("tsc_early_khz={given}")), Evidence::line(log, entry)],
    );
}

/// What the model concludes from static facts and no log line has said.
fn from_model(case: &Case<'_>, causes: &mut Causes) {
    let loss = case.loss();
    match &case.expectation.tsc {
        TscState::NotPresent
            if !case.tsc_is_current()
                && (!case.machine.tsc.is_assumed()
                    || case.machine.cmdline.value.has("clearcpuid")) =>
        {
            causes.add(
                CauseId::NoTsc,
                loss,
                Confidence::High,
                "the CPU shows no TSC to this kernel",
                if case.machine.cmdline.value.has("clearcpuid") {
                    vec![cmdline(case, "clearcpuid")]
                } else {
                    vec![Evidence::new(
                        super::platform::place(&case.machine.tsc.cite()),
                        "no tsc flag",
                    )]
                },
            );
        }
        TscState::NotRegistered => causes.add(
            CauseId::CmdlineNotsc,
            loss,
            Confidence::High,
            "notsc on the kernel command line keeps the TSC from registering",
            vec![cmdline(case, "notsc")],
        ),
        TscState::Unstable { reason, observed: false } if !case.tsc_is_current() => {
            let (id, assumed) = match UnstableReason::parse(reason) {
                UnstableReason::Unsynchronized => (
                    CauseId::TscUnsynchronized,
                    case.machine.constant_tsc.is_assumed()
                        || case.machine.possible_cpus.is_assumed(),
                ),
                UnstableReason::HyperV => (CauseId::InvariantTscWithheld, false),
                UnstableReason::BootParameterNotsc => (CauseId::CmdlineNotsc, false),
                UnstableReason::BootParameter => (CauseId::CmdlineTscUnstable, false),
                UnstableReason::Watchdog => (CauseId::TscMiscalibrated, false),
                UnstableReason::NoFrequency => (CauseId::NoTsc, false),
                _ => return,
            };
            let because = case
                .expectation
                .reasons
                .iter()
                .find(|r| r.rule == "tsc unstable")
                .map_or_else(|| reason.clone(), |r| r.because.clone());
            let healthy_page = id == CauseId::InvariantTscWithheld && case.slow != Some(true);
            causes.add(
                id,
                if healthy_page { Severity::Info } else { loss },
                if assumed { Confidence::Low } else { Confidence::Medium },
                because.clone(),
                vec![Evidence::new("kernel model", because)],
            );
        }
        _ => {}
    }
}

/// The command line's word as evidence.
pub(super) fn cmdline(case: &Case<'_>, word: &str) -> Evidence {
    let source =
        case.facts.cmdline.source().map_or_else(|| "command line".to_owned(), |s| s.0.clone());
    Evidence::new(source, word)
}

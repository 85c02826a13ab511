//! `tsc-miscalibrated`: the frequency that the kernel uses is wrong.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::{by_model, cmdline};
use super::{Case, Causes, steering};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::rates::recovered_hz;
use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_kernel::expectation::TscState;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the frequency that the kernel uses for the TSC is wrong"),
    blame: Blame::Always,
    gave_up: true,
    demotion: true,
    against_reliable: Some(|_, cause| {
        Some(
            if cause.confidence >= Confidence::Medium {
                "the TSC's frequency is wrong; the parameter disables the checks, but the fault remains, and the \
                 clock keeps running at the wrong rate"
            } else {
                "whether the TSC's frequency is correct is not known; the parameter disables the \
                 checks, but the fault remains"
            }
            .to_owned(),
        )
    }),
    remedies: &[
        &table::REMOVE_PARAMETER,
        &table::REBOOT_TO_RESTORE,
        &table::HOST_CLOCK_INTERFACE,
        &table::UPDATE_FIRMWARE,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::TscMiscalibrated;
    if let Some(log) = case.log() {
        registered(case, log, causes);
        refined(case, log, causes);
        stated(case, log, causes);
        for entry in log.all(|e| matches!(e, Event::RecalibrationDiffers)) {
            causes.add(
                id,
                Severity::Warning,
                Confidence::High,
                "the TSC frequency that CPUID or firmware states differs from the measured one; the kernel \
                 keeps the stated one",
                vec![Evidence::line(log, entry)],
            );
        }
        drift(case, log, causes);
        let of_tsc = |name: &str| name.starts_with("tsc");
        steering::too_far(case, causes, CauseId::TscMiscalibrated, Confidence::Low, of_tsc);
    }
    by_model(case, causes, id, case.loss(), false, |reason| {
        matches!(reason, UnstableReason::Watchdog)
    });
}

/// A rate that no processor has.
fn registered(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let registered = log.last(|event| match event {
        // The TSC of x86 has 64 bits; other architectures have counters of this name.
        Event::Registered { name, mask: u64::MAX, max_cycles, max_idle_ns }
            if name.starts_with("tsc") =>
        {
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
}

/// Two measurements of the kernel that differ.
fn refined(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let detected = log.last(|event| match event {
        Event::Detected { khz, tsc: false } => Some(*khz),
        _ => None,
    });
    // "MHz TSC" is CPUID's nominal figure (`tsc_init()`, 4.10 and later), which is off by a few
    // thousandths on many processors: not a measurement.
    if log.any(|event| matches!(event, Event::Detected { tsc: true, .. })) {
        return;
    }
    let refined = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    });
    let (Some((first, early)), Some((second, late))) = (detected, refined) else { return };
    if early == 0 {
        return;
    }
    // The kernel accepts a refinement within 1 %; two honest measurements agree much better.
    let off = early.abs_diff(late).saturating_mul(1_000_000) / early;
    if off > 3000 {
        let demoted = log.any(|e| matches!(e, Event::TscUnstable(UnstableReason::Watchdog)));
        if !demoted && passed_checks(case, log, second) {
            return;
        }
        causes.add(
            CauseId::TscMiscalibrated,
            if demoted { Severity::Warning } else { Severity::Info },
            if demoted { Confidence::Medium } else { Confidence::Low },
            format!(
                "the refined TSC frequency is {off} ppm away from the one detected first: one of the two \
                 measurements was disturbed"
            ),
            vec![Evidence::line(log, first), Evidence::line(log, second)],
        );
    }
}

/// Seconds after the refinement within which a watched TSC with a wrong rate fails a check: a rate
/// error above the tolerance fails every check, and there are two a second.
const CHECKED_FOR_S: f64 = 10.0;

/// The watchdog compared the TSC with another clock after its refinement, and let it pass.
fn passed_checks(case: &Case<'_>, log: &KernelLog, refined: &Entry) -> bool {
    let watched = matches!(case.expectation.tsc, TscState::Usable { watched: true });
    let end = log.ends_at(refined);
    let long = refined.at.zip(end).is_some_and(|(then, end)| end - then > CHECKED_FOR_S);
    watched && long && case.tsc_is_current() && !log.any(|e| matches!(e, Event::SkewTestSkipped))
}

/// The kernel does not check `tsc_early_khz=`; the calibration of the APIC timer shows a wrong value.
fn stated(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
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
            "tsc_early_khz={given} is wrong: 100 ms according to that figure are {ms} ms according to the PM timer, so \
             the TSC runs at about {} kHz",
            given.saturating_mul(100) / ms.max(1)
        ),
        vec![cmdline(case, &format!("tsc_early_khz={given}")), Evidence::line(log, entry)],
    );
}

/// A program compared the clock with a reference and found it wrong: the rate is off.
fn drift(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    if causes.has(CauseId::TscMiscalibrated) || !case.tsc_is_current() {
        return;
    }
    if let Some((entry, ())) = log.first(|e| matches!(e, Event::DriftReport(_)).then_some(())) {
        causes.add(
            CauseId::TscMiscalibrated,
            Severity::Critical,
            Confidence::Medium,
            "a program reports that the clock drifts against its reference while the TSC keeps time: the \
             frequency that the kernel uses is wrong",
            vec![Evidence::line(log, entry)],
        );
    }
}

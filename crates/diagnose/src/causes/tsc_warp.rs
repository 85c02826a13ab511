//! `tsc-warp`: the test at boot saw the TSC of one CPU behind another's.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::{marked, seconds_text};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::rates::tsc_hz;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the TSCs of the CPUs are not synchronised"),
    blame: Blame::Always,
    gave_up: true,
    returns: true,
    demotion: true,
    checked: true,
    against_reliable: Some(|plan, _| {
        let tail = if Feature::ReliableSkipsSync.of(&plan.case.machine.kernel.value) {
            "the parameter skips the warp test that failed, and time would go backwards between CPUs"
        } else {
            "before 3.3 the parameter does not skip the warp test that failed"
        };
        Some(format!("the TSCs of this machine are not synchronised; {tail}"))
    }),
    remedies: &[
        &table::VIRTUALBOX_PARAVIRT,
        &table::EQUAL_TSC_OFFSETS,
        &table::ASK_THE_OPERATOR,
        &table::UPDATE_FIRMWARE,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

/// Seconds after which a machine has brought up the CPUs that it boots with.
const BOOTED_BY: f64 = 120.0;

/// kvm-clock does not correct TSCs that differ: each CPU scales its own. With the host's stable bit, a read returns
/// that value as it is; only without the bit is a value raised to the last one that any CPU has read
/// (`pvclock_clocksource_read()` in arch/x86/kernel/pvclock.c, 2.6.35 and later). The vDSO, which works only with the
/// bit, reads one page for all CPUs (`vread_pvclock()`).
fn under_pvclock(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    if case.current_name() != Some("kvm-clock") || case.slow == Some(true) {
        return;
    }
    let failed = |event: &Event| {
        matches!(event, Event::TscUnstable(UnstableReason::SyncFailed) | Event::Warp { .. })
    };
    let lines: Vec<Evidence> =
        log.all(failed).take(2).map(|entry| Evidence::line(log, entry)).collect();
    if !lines.is_empty() {
        causes.add(
            CauseId::TscWarp,
            Severity::Warning,
            Confidence::High,
            "the TSCs of its CPUs differ, and kvm-clock is computed from them: with the host's stable bit no check \
             across CPUs is made, so time may go backwards between two CPUs; clocksmith verify measures whether it does",
            lines,
        );
    }
}

fn find(case: &Case<'_>, causes: &mut Causes) {
    under_pvclock(case, causes);
    marked(
        case,
        causes,
        CauseId::TscWarp,
        case.loss(),
        "a CPU that came online read a lower TSC value than another CPU had just read: the counters are not \
         synchronised",
        |reason| matches!(reason, UnstableReason::SyncFailed),
    );
    let Some(log) = case.log() else { return };
    let sized = log.any(|e| matches!(e, Event::Warp { .. } | Event::WarpRandom));
    // The header adds nothing if the size follows.
    let told = |e: &Event| match e {
        Event::Warp { .. } | Event::WarpRandom => true,
        Event::WarpHeader { .. } => !sized,
        _ => false,
    };
    for entry in log.all(told) {
        let when = match entry.at {
            Some(at) if at > BOOTED_BY => {
                "came online long after the boot (at a resume, or because it was added)"
            }
            Some(_) => "came online at boot",
            None => "came online",
        };
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
                    "the test of a CPU that {when} saw the TSC of one CPU {cycles} cycles{time} behind another's"
                )
            }
            Event::WarpHeader { from, to } => {
                format!("the test of the TSCs of CPU {from} and CPU {to}, which {when}, failed")
            }
            _ => format!(
                "the TSC went backwards between CPUs at random in the test of a CPU that {when}"
            ),
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

//! `tsc-skew`: the TSC ran at a different rate from its reference. The watchdog's figures are
//! judged by the detector in `watchdog`.

use super::definition::{Blame, Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Event, KernelLog};

/// Lines of a cross check that are quoted.
const LINES: usize = 4;
/// What a cross check found.
pub(super) const CROSS_CHECK: &str =
    "the cross check found some CPUs' TSCs ahead of or behind others: the TSC itself is at fault";

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the watchdog found that the TSC runs at a different rate from its reference"),
    blame: Blame::Likely,
    gave_up: true,
    returns: true,
    demotion: true,
    checked: true,
    against_reliable: Some(|plan, cause| {
        Some(
            if plan.case.log().is_some_and(|log| log.any(runs_slowly)) {
                "it is not known whether the TSC or the ticks were wrong; if the TSC is at fault, the clock runs at \
                 the wrong rate"
            } else if cause.confidence >= Confidence::Medium {
                "the TSC itself is probably at fault; the parameter disables the checks, but the fault remains"
            } else {
                "it is not known why the TSC was demoted; if the TSC is at fault, time goes backwards between CPUs"
            }
            .to_owned(),
        )
    }),
    remedies: &[
        &table::EQUAL_TSC_OFFSETS,
        &table::ASK_THE_OPERATOR,
        &table::UPDATE_FIRMWARE,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn runs_slowly(event: &Event) -> bool {
    matches!(event, Event::TscUnstable(UnstableReason::RunningSlowly))
}

/// `verify_tsc_freq()` compares the TSC with ticks, and prints no figures; of the cross check of the CPUs, a log may have only the
/// result.
fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    cross_check_alone(case, log, causes);
    for entry in log.all(runs_slowly) {
        causes.add(
            CauseId::TscSkew,
            case.loss(),
            Confidence::Medium,
            "the TSC counted less than three quarters of the time that the ticks showed: it stops or slows while the \
             CPU is idle, the CPU's frequency changes, an emulator loses cycles, or more ticks arrived than were due; \
             the message does not \
             say which",
            vec![Evidence::line(log, entry)],
        );
    }
}

/// The result of `clocksource_verify_percpu()` in a text without the lines about the demotion, which come first: the cross check
/// runs only after it.
fn cross_check_alone(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    let demoted = |event: &Event| {
        matches!(
            event,
            Event::WatchdogMarked { .. }
                | Event::WatchdogOld { .. }
                | Event::WatchdogVerdict { .. }
        )
    };
    if log.any(demoted) {
        return;
    }
    let found = log.all(|event| matches!(event, Event::CrossCheckSkew { .. }));
    let evidence: Vec<Evidence> =
        found.take(LINES).map(|entry| Evidence::line(log, entry)).collect();
    if !evidence.is_empty() {
        causes.add(CauseId::TscSkew, case.loss(), Confidence::High, CROSS_CHECK, evidence);
    }
}

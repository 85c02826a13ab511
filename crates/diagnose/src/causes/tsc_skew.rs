//! `tsc-skew`: the TSC ran at another rate than its reference. The watchdog's figures are judged by the
//! detector in `watchdog`.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::marked;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the watchdog found the TSC running at another rate than its reference"),
    blame: Blame::Likely,
    gave_up: true,
    returns: true,
    demotion: true,
    checked: true,
    against_reliable: Some(|_, cause| {
        Some(
            if cause.confidence >= Confidence::Medium {
                "the TSC itself is the likely culprit; it switches the checks off, not the fault off"
            } else {
                "why the TSC was demoted is not known; where it really is at fault, time goes backwards \
                 between CPUs"
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

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::TscSkew,
        case.loss(),
        "the TSC ran slower than the CPU should: it stops or slows while the CPU is idle",
        |reason| matches!(reason, UnstableReason::RunningSlowly),
    );
}

//! `tsc-halts-in-idle`: the TSC stops in idle states that the idle driver uses.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::marked;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the TSC stops in deep idle states"),
    blame: Blame::Likely,
    gave_up: true,
    returns: true,
    demotion: true,
    against_reliable: Some(|_, cause| {
        Some(
            if cause.confidence >= Confidence::Medium {
                "this TSC stops in deep idle states; the parameter disables the checks, but the fault remains"
            } else {
                "it is not known whether this TSC stops in deep idle states; if it does, the parameter disables the \
                 checks, but the fault remains"
            }
            .to_owned(),
        )
    }),
    remedies: &[
        &table::EXPOSE_INVARIANT_TSC,
        &table::ASK_THE_OPERATOR,
        &table::SHALLOW_IDLE,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::TscHaltsInIdle,
        case.loss(),
        "this CPU's TSC stops in deep idle states, and the idle driver uses them",
        |reason| matches!(reason, UnstableReason::HaltsInIdle),
    );
}

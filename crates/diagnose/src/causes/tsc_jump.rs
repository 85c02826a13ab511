//! `tsc-jump`: the TSC jumped once. The watchdog's figures are judged by the detector in `watchdog`.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::marked;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the TSC jumped"),
    blame: Blame::Likely,
    gave_up: true,
    demotion: true,
    against_reliable: Some(|_, cause| {
        Some(
            if cause.confidence >= Confidence::Medium {
                "the TSC was seen to jump; the parameter disables the checks, but the fault \
                 remains, and the next jump becomes part of the time"
            } else {
                "it is not known whether the TSC jumped; if it did, the parameter disables the checks, but the fault \
                 remains, and the next jump becomes part of the time"
            }
            .to_owned(),
        )
    }),
    remedies: &[&table::UPDATE_FIRMWARE, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::TscJump,
        Severity::Warning,
        "KVM on this host saw the TSC go backwards: firmware reset it, during suspend or CPU \
         hot-plug",
        |reason| matches!(reason, UnstableReason::KvmBackwards),
    );
}

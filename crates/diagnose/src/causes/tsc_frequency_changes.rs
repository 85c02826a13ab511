//! `tsc-frequency-changes`: no constant TSC, and cpufreq changed its rate.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::marked;
use super::{Case, Causes};
use crate::cause::CauseId;
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("its TSC changes rate with the CPU frequency"),
    blame: Blame::Always,
    gave_up: true,
    returns: true,
    demotion: true,
    against_reliable: Some(|_, _| {
        Some(
            "this TSC changes its rate with the CPU frequency; it switches the checks off, not the fault \
             off"
                .to_owned(),
        )
    }),
    remedies: &[&table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::TscFrequencyChanges,
        case.loss(),
        "this CPU's TSC runs at the core's frequency, and cpufreq changed it",
        |reason| matches!(reason, UnstableReason::CpufreqChanges),
    );
}

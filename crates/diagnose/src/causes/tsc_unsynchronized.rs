//! `tsc-unsynchronized`: several CPUs, and nothing guarantees that their TSCs are synchronised.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::{by_model, marked};
use super::{Case, Causes};
use crate::cause::CauseId;
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("nothing guarantees that the TSCs of the CPUs are synchronised"),
    blame: Blame::Always,
    gave_up: true,
    returns: true,
    checked: true,
    against_reliable: Some(|_, _| {
        Some(
            "nothing guarantees that the TSCs of these CPUs are synchronised, and nothing has \
             tested them; if they are not, time goes backwards between CPUs"
                .to_owned(),
        )
    }),
    remedies: &[
        &table::EXPOSE_INVARIANT_TSC,
        &table::VIRTUALBOX_PARAVIRT,
        &table::ASK_THE_OPERATOR,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::TscUnsynchronized;
    marked(
        case,
        causes,
        id,
        case.loss(),
        "this machine has several CPUs, and nothing guarantees that their TSCs are synchronised (no \
         constant TSC on a non-Intel CPU, or firmware reports that they are not), so the kernel \
         does not use them",
        |reason| matches!(reason, UnstableReason::Unsynchronized | UnstableReason::UvBios),
    );
    let assumed = case.machine.constant_tsc.is_assumed() || case.machine.possible_cpus.is_assumed();
    by_model(case, causes, id, case.loss(), assumed, |reason| {
        matches!(reason, UnstableReason::Unsynchronized)
    });
}

//! `cmdline-tsc-unstable`: `tsc=unstable` on the kernel command line.

use super::cmdline_notsc::NO_EFFECT;
use super::definition::{Definition, PLAIN};
use super::tsc::{by_model, cmdline, marked};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("tsc=unstable is on the kernel command line"),
    gave_up: true,
    returns: true,
    against_reliable: Some(|_, _| Some(NO_EFFECT.to_owned())),
    remedies: &[&table::REMOVE_PARAMETER, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::CmdlineTscUnstable;
    // A TSC that does not exist is not disabled.
    if matches!(case.expectation.tsc, TscState::NotPresent) {
        if case.machine.cmdline.value.has_value("tsc", "unstable") {
            let summary =
                "tsc=unstable on the kernel command line changes nothing: this CPU has no TSC";
            let evidence = vec![cmdline(case, "tsc=unstable")];
            causes.add(id, Severity::Info, Confidence::High, summary, evidence);
        }
        return;
    }
    let loss = case.loss();
    let summary = "tsc=unstable on the kernel command line disables the TSC";
    let mine = |reason: &UnstableReason| matches!(reason, UnstableReason::BootParameter);
    marked(case, causes, id, loss, summary, mine);
    by_model(case, causes, id, loss, false, mine);
    if case.machine.cmdline.value.has_value("tsc", "unstable")
        && Feature::TscUnstableParameter.of(&case.machine.kernel.value)
        && !case.tsc_is_current()
    {
        causes.add(id, loss, Confidence::High, summary, vec![cmdline(case, "tsc=unstable")]);
    }
}

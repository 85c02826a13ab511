//! `cmdline-notsc`: `notsc` on the kernel command line.

use super::definition::{Definition, PLAIN};
use super::tsc::{by_model, cmdline, marked};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::expectation::TscState;

/// The reason why `tsc=reliable` has no effect together with a parameter that disables the TSC.
pub(super) const NO_EFFECT: &str =
    "the command line disables the TSC; as long as it does, the parameter has no effect";

pub(super) const CAUSE: Definition = Definition {
    clause: Some("notsc is on the kernel command line"),
    gave_up: true,
    returns: true,
    against_reliable: Some(|_, _| Some(NO_EFFECT.to_owned())),
    remedies: &[&table::REMOVE_PARAMETER, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    // A TSC that does not exist is not disabled.
    if matches!(case.expectation.tsc, TscState::NotPresent) {
        return;
    }
    let id = CauseId::CmdlineNotsc;
    let loss = case.loss();
    let mine = |reason: &UnstableReason| matches!(reason, UnstableReason::BootParameterNotsc);
    marked(case, causes, id, loss, "notsc on the kernel command line disables the TSC", mine);
    if matches!(case.expectation.tsc, TscState::NotRegistered) {
        causes.add(
            id,
            loss,
            Confidence::High,
            "notsc on the kernel command line prevents the registration of the TSC",
            vec![cmdline(case, "notsc")],
        );
    }
    by_model(case, causes, id, loss, false, mine);
    if case.machine.cmdline.value.has("notsc") && !case.tsc_is_current() && !causes.has(id) {
        causes.add(
            id,
            loss,
            Confidence::High,
            "notsc on the kernel command line",
            vec![cmdline(case, "notsc")],
        );
    }
}

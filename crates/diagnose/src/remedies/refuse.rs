//! Common advice that would harm or have no effect here, each with the reason.

use super::{Plan, table, watchdog};
use crate::CauseId;
use clocksmith_kernel::Machine;
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

pub(super) fn refuse(plan: &mut Plan<'_>) {
    if !plan.case.may_be_x86() {
        return;
    }
    let advised = plan.remedies.iter().any(|r| r.id == table::TSC_RELIABLE.id);
    if !advised && let Some((because, cause)) = against_reliable(plan) {
        plan.refuse(&table::TSC_RELIABLE, vec![cause], &because);
    }
    let case = plan.case;
    if plan.has(CauseId::WatchdogAtFault)
        && let Some(because) = watchdog::against_nowatchdog(plan)
    {
        plan.refuse(&table::TSC_NOWATCHDOG, vec![CauseId::WatchdogAtFault], because);
    }
    if case.tsc_differed_and_kept() && !case.tsc_is_current() {
        let because = "the watchdog found that the TSC differs from its reference, and this kernel \
                       demotes nothing for it: although the TSC is offered, it may be wrong";
        for advice in [&table::SWITCH_TO_TSC_NOW, &table::KEEP_TSC_AT_BOOT] {
            plan.refuse(advice, vec![CauseId::InsufficientEvidence], because);
        }
    }
    if case.tsc_is_given_up() && !case.tsc_is_current() && case.slow != Some(false) {
        let mut causes: Vec<CauseId> =
            plan.causes.iter().map(|c| c.id).filter(|id| id.kernel_gave_up_tsc()).collect();
        // The evidence shows that the TSC is marked, and not the reason.
        if causes.is_empty() && case.tsc_is_marked() {
            causes.push(CauseId::InsufficientEvidence);
        }
        if !causes.is_empty() {
            plan.refuse(&table::SWITCH_TO_TSC_NOW, causes, unavailable(plan));
        }
    }
}

/// The effect of writing `tsc` to `current_clocksource` after the kernel has marked the TSC unstable.
///
/// Up to 2.6.30 `sysfs_override_clocksource()` accepts the name of any registered clocksource. A TSC that was marked
/// unstable is still registered: only its rating is lower.
fn unavailable(plan: &Plan<'_>) -> &'static str {
    let machine = plan.case.machine;
    let checks = |m: &Machine| Feature::OverrideChecked.of(&m.kernel.value);
    let registered =
        !matches!(plan.case.expectation.tsc, TscState::NotPresent | TscState::NotRegistered);
    match open::ask_over(machine, &[OpenInput::KernelVersion], checks).same {
        Some(false) if registered => {
            "the kernel has marked the TSC unstable but, before 2.6.31, still accepts the name: the time would come \
             from a counter that was found wrong"
        }
        Some(true) => {
            "the kernel does not offer the TSC until the next boot; a write returns success and changes nothing"
        }
        _ => {
            "the kernel has marked the TSC unstable until the next boot; before 2.6.31 it still accepts the name, \
             and since then a write returns success and changes nothing"
        }
    }
}

/// The reason why `tsc=reliable` is wrong here, if it is: causes by which the TSC is at fault first, then the other
/// causes.
fn against_reliable(plan: &Plan<'_>) -> Option<(String, CauseId)> {
    let mut causes: Vec<_> = plan.causes.iter().collect();
    causes.sort_by_key(|cause| !cause.blames_tsc());
    causes.into_iter().find_map(|cause| {
        let because = (cause.id.definition().against_reliable?)(plan, cause)?;
        Some((because, cause.id))
    })
}

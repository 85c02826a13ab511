//! Advice that people reach for and that would harm or do nothing here, each with the reason.

use super::Plan;
use crate::CauseId as C;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_kernel::feature::Feature;

pub(super) fn refuse(plan: &mut Plan<'_>) {
    let advised = plan.remedies.iter().any(|r| r.id == "tsc-reliable");
    if !advised && let Some((because, causes)) = against_reliable(plan) {
        plan.refuse("tsc-reliable", &causes, &because);
    }
    let unstable = [
        C::TscWarp,
        C::TscSkew,
        C::TscJump,
        C::WatchdogAtFault,
        C::TscHaltsInIdle,
        C::TscUnsynchronized,
    ]
    .into_iter()
    .any(|id| plan.has(id));
    let listed = plan
        .case
        .facts
        .available_clocksources()
        .is_some_and(|list| list.iter().any(|name| name == "tsc"));
    if unstable && !listed && !plan.case.tsc_is_current() && plan.case.slow != Some(false) {
        plan.refuse(
            "switch-to-tsc-now",
            &[C::TscWarp, C::TscSkew, C::TscJump, C::WatchdogAtFault, C::TscHaltsInIdle, C::TscUnsynchronized],
            "the TSC is marked unstable and cannot be chosen until the next boot: the write returns \
             success and changes nothing",
        );
    }
}

/// Why `tsc=reliable` is wrong here, if it is.
fn against_reliable(plan: &Plan<'_>) -> Option<(String, Vec<C>)> {
    let kernel = &plan.case.machine.kernel.value;
    let danger = "it switches the checks off, not the fault off";
    let found = |ids: &[C]| -> Vec<C> { ids.iter().copied().filter(|id| plan.has(*id)).collect() };
    let reason = if plan.has(C::TscWarp) {
        let tail = if Feature::ReliableSkipsSync.of(kernel) {
            "it skips the test that failed, and time would then go backwards between CPUs"
        } else {
            "before 3.3 it does not even skip the test that failed"
        };
        (format!("the TSCs of this machine are not synchronised; {tail}"), found(&[C::TscWarp]))
    } else if plan.has(C::TscHaltsInIdle) {
        (format!("this TSC stops in deep idle states; {danger}"), found(&[C::TscHaltsInIdle]))
    } else if plan.has(C::TscFrequencyChanges) {
        (
            format!("this TSC changes its rate with the CPU frequency; {danger}"),
            found(&[C::TscFrequencyChanges]),
        )
    } else if plan.has(C::TscJump) {
        (
            format!("the TSC was seen to jump; {danger}, and the next jump goes into the time"),
            found(&[C::TscJump]),
        )
    } else if plan.has(C::TscUnsynchronized) {
        (
            "nothing promises that the TSCs of these CPUs run alike, and nothing has tested it; where \
             they do not, time goes backwards between CPUs"
                .to_owned(),
            found(&[C::TscUnsynchronized]),
        )
    } else if plan.has(C::TscMiscalibrated) {
        (
            format!(
                "the TSC's frequency is wrong; {danger}, and the clock keeps running at the wrong rate"
            ),
            found(&[C::TscMiscalibrated]),
        )
    } else if plan.likely(C::TscSkew) {
        (format!("the TSC itself is the likely culprit; {danger}"), found(&[C::TscSkew]))
    } else if plan.has(C::TscAdjustChanged)
        && plan
            .causes
            .iter()
            .any(|c| c.id == C::TscAdjustChanged && c.severity > crate::Severity::Info)
    {
        (format!("firmware writes the TSC after boot; {danger}"), found(&[C::TscAdjustChanged]))
    } else if plan.has(C::InvariantTscWithheld) {
        let hyperv = super::kind(plan.case) == Some(HypervisorKind::Hyperv);
        let because = if hyperv {
            "Hyper-V's own clock is fast and right; without its grant the TSC changes rate when the \
             guest moves to another host"
        } else {
            "without an invariant TSC from the hypervisor the rate may change when the guest moves to \
             another host"
        };
        (because.to_owned(), found(&[C::InvariantTscWithheld]))
    } else if plan.has(C::CmdlineNotsc) || plan.has(C::CmdlineTscUnstable) {
        (
            "the command line disables the TSC; as long as it does, the parameter has no effect"
                .to_owned(),
            found(&[C::CmdlineNotsc, C::CmdlineTscUnstable]),
        )
    } else if plan.has(C::ParavirtClockBroken) {
        (format!("which clock is wrong is open; {danger}"), found(&[C::ParavirtClockBroken]))
    } else if plan.has(C::TscSkew)
        || (plan.has(C::InsufficientEvidence) && plan.case.slow == Some(true))
    {
        (
            "why the TSC was demoted is not known; where it really is at fault, time goes backwards \
             between CPUs"
                .to_owned(),
            found(&[C::TscSkew, C::InsufficientEvidence]),
        )
    } else if plan.has(C::ReadoutStall) || plan.has(C::WatchdogRemoteTimeout) {
        (
            "nothing is wrong with the clocksource".to_owned(),
            found(&[C::ReadoutStall, C::WatchdogRemoteTimeout]),
        )
    } else if plan.likely(C::WatchdogAtFault) {
        (
            "tsc=nowatchdog silences the watchdog too and keeps the test between CPUs".to_owned(),
            found(&[C::WatchdogAtFault]),
        )
    } else {
        return None;
    };
    Some(reason)
}

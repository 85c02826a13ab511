//! Changes of the running kernel.

use super::Plan;
use super::offer::Offer;
use crate::CauseId as C;
use crate::causes::reference::is_paravirt;
use crate::causes::vdso_bypassed::is_before_vdso32;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::shell::quote;

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const AVAILABLE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The TSC is or may be available, is not in use, and the evidence shows no fault of it.
fn may_switch(plan: &Plan<'_>) -> bool {
    let case = plan.case;
    let current = case.current_name();
    let worth = match case.slow {
        Some(slow) => slow,
        // The evidence does not show whether reads of a pvclock stay in user space. On Xen they seldom do
        // (`Feature::XenVdso`, and a host that sets the stable bit); on KVM they usually do, unless the reads were
        // found to be slow.
        None => match current {
            Some("xen") => true,
            Some("kvm-clock") => !case.facts.symptoms.is_empty(),
            _ => false,
        },
    };
    let there = match case.tsc_selectable() {
        Some(there) => there,
        None => current == Some("xen"),
    };
    // Reads of the TSC cost about as much as reads of these; the system call remains.
    let no_gain = current.is_some_and(is_paravirt) && is_before_vdso32(case.machine);
    current.is_some()
        && !no_gain
        && !case.tsc_is_current()
        && case.machine.arch.value.is_x86()
        && worth
        && there
        && !case.lacks_sysfs()
        && plan.against_tsc().is_none()
        && !case.tsc_differed_and_kept()
}

/// The risk of the TSC in the initial Xen domain.
const DOM0_RISK: &str =
    "if the TSCs of two CPUs differ, time goes backwards between them: run clocksmith verify first";

/// The risk of a TSC that the host does not scale.
const GUEST_RISK: &str = "if the TSCs of two CPUs differ, time goes backwards between them: run \
     clocksmith verify first; a TSC that the host does not scale runs at a different rate after a \
     migration; a guest that is restored or moved keeps a stale wall clock until NTP steps it";

/// The risk of the TSC of a guest, if it differs from the risk in the table.
fn guest_risk(plan: &Plan<'_>) -> Option<&'static str> {
    let pvclock = plan.case.current_name() == Some("kvm-clock");
    xen_risk(plan).or_else(|| pvclock.then_some(GUEST_RISK))
}

/// The risk of a native or emulated TSC of Xen.
fn xen_risk(plan: &Plan<'_>) -> Option<&'static str> {
    let xen = matches!(
        plan.case.hypervisor(),
        Some(
            HypervisorKind::Xen
                | HypervisorKind::XenHvm
                | HypervisorKind::XenPvh
                | HypervisorKind::XenPv
        )
    );
    let risk = if plan.is_dom0() {
        DOM0_RISK
    } else {
        "low on EC2's Xen families, whose TSC is native. Elsewhere it depends on the domain's TSC \
         mode: an emulated TSC is no faster, and a native one runs at a different rate after a \
         migration. If the TSCs of two CPUs differ, time goes backwards between them: run \
         clocksmith verify first"
    };
    xen.then_some(risk)
}

pub(super) fn switch_to_tsc(plan: &Plan<'_>) -> Option<Offer> {
    if !may_switch(plan) {
        return None;
    }
    let mut offer = Offer::default();
    offer = if plan.case.tsc_listed() == Some(true) {
        offer.command(format!("echo tsc > {CURRENT}"))
    } else {
        offer.command(format!("grep -qw tsc {AVAILABLE} && echo tsc > {CURRENT}")).instruction(
            "only if tsc is in available_clocksource, which this evidence does not show",
        )
    };
    offer = offer.command(format!("cat {CURRENT}  # a refused write succeeds: read it back"));
    Some(match guest_risk(plan) {
        Some(risk) => offer.risking(format!("{risk}. The choice is lost at reboot")),
        None => offer,
    })
}

pub(super) fn keep_tsc(plan: &Plan<'_>) -> Option<Offer> {
    let offer = may_switch(plan).then(|| {
        Offer::default()
            .command("sudo clocksmith fix --to tsc --apply")
            .setting("the kernel command line", "clocksource=tsc")
            .instruction(
                "clocksmith fix verifies the counter, switches, and keeps the choice with a systemd \
                 unit; without clocksmith, the word goes on the kernel command line",
            )
    })?;
    Some(match guest_risk(plan) {
        Some(risk) => offer.risking(risk),
        None => offer,
    })
}

pub(super) fn switch_to_counter(plan: &Plan<'_>) -> Option<Offer> {
    let counter = quote(plan.case.outranked_counter()?);
    Some(
        Offer::saying(format!("choose {counter}, which the vDSO reads"))
            .command(format!("echo {counter} > {CURRENT}"))
            .command(format!("cat {CURRENT}  # a refused write succeeds: read it back"))
            .setting("the kernel command line", format!("clocksource={counter}")),
    )
}

pub(super) fn clear_override(plan: &Plan<'_>) -> Option<Offer> {
    // After an empty write the kernel chooses the TSC again.
    if !plan.warns(C::RuntimeOverride)
        || plan.case.slow != Some(true)
        || plan.against_tsc().is_some()
        || plan.case.tsc_is_given_up() && plan.case.tsc_listed() == Some(true)
        || plan.case.tsc_differed_and_kept()
        || plan.case.lacks_sysfs()
    {
        return None;
    }
    Some(
        Offer::default()
            .command(
                "grep -rs clocksource /etc/systemd /etc/tuned /etc/rc.local /etc/tmpfiles.d /etc/cron*  # \
                 who writes it",
            )
            .command(format!("echo > {CURRENT}")),
    )
}

//! `invariant-tsc-withheld`: the hypervisor exposes no invariant TSC, so its own clock is used.

use super::definition::{Definition, PLAIN};
use super::paravirt::Paravirt;
use super::tsc::by_model;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::Machine;
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the hypervisor exposes no invariant TSC"),
    returns: true,
    against_reliable: Some(|plan, _| {
        let hyperv = plan.case.hypervisor() == Some(HypervisorKind::Hyperv);
        Some(
            if hyperv {
                "Hyper-V's own clock is correct; without Hyper-V's grant, the rate of the TSC may \
                 change when the guest moves to another host"
            } else {
                "without an invariant TSC from the hypervisor the rate may change when the guest moves to \
                 another host"
            }
            .to_owned(),
        )
    }),
    remedies: &[
        &table::HOST_ON_TSC,
        &table::EXPOSE_INVARIANT_TSC,
        &table::ASK_THE_OPERATOR,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::InvariantTscWithheld;
    let by_hyperv = |reason: &UnstableReason| matches!(reason, UnstableReason::HyperV);
    let healthy = case.current_name().is_none_or(|name| name == "hyperv_clocksource_tsc_page");
    let severity = if healthy { Severity::Info } else { case.loss() };
    let (sure, summary) = match consults_grant(case) {
        Some(true) => (
            Confidence::High,
            "Hyper-V does not grant this guest the invariant TSC, so the kernel uses Hyper-V's own clock by design"
                .to_owned(),
        ),
        Some(false) => (Confidence::Low, never_asks()),
        None => (
            Confidence::Medium,
            format!(
                "under Hyper-V the kernel marks the TSC unstable and uses Hyper-V's own clock by design: either the \
                 host does not grant the invariant TSC, or this kernel does not request it (kernels request it {})",
                Feature::HypervInvariant.versions()
            ),
        ),
    };
    if let Some(log) = case.log() {
        let own = |event: &Event| matches!(event, Event::TscUnstable(reason) if by_hyperv(reason));
        for entry in log.all(own) {
            causes.add(id, severity, sure, &summary, vec![Evidence::line(log, entry)]);
        }
    }
    let slow = if case.slow == Some(true) { case.loss() } else { Severity::Info };
    // Without the privilege flags only a Hyper-V clock that kept its place shows that there is no grant.
    let kept = case.current_name().is_some_and(|name| name.starts_with("hyperv"));
    let shown = case.machine.knows(OpenInput::InvariantGrant) || kept && case.current_is_settled();
    if shown && !before_grants(case) {
        by_model(case, causes, id, slow, false, by_hyperv);
    }
    serves_instead(case, causes);
}

/// Whether the kernel requests the invariant TSC from Hyper-V; `None` if its version is not in the evidence.
fn consults_grant(case: &Case<'_>) -> Option<bool> {
    let asks = |m: &Machine| Feature::HypervInvariant.of(&m.kernel.value);
    open::ask_over(case.machine, &[OpenInput::KernelVersion], asks).same
}

/// The grant is open then, so that the cause is possible at most.
fn never_asks() -> String {
    format!(
        "this kernel marks the TSC unstable in every Hyper-V guest and uses Hyper-V's own clock by \
         design: it does not query whether the host grants the invariant TSC (kernels have done so {})",
        Feature::HypervInvariant.versions()
    )
}

/// Kernels that know of no grant, and prefer Hyper-V's clock to any TSC: by their version, or by the MSR clock under its old
/// name.
fn before_grants(case: &Case<'_>) -> bool {
    case.current_name() == Some("hyperv_clocksource") || consults_grant(case) == Some(false)
}

fn serves_instead(case: &Case<'_>, causes: &mut Causes) {
    let Some(clock) = Paravirt::of(case) else { return };
    let current = clock.name;
    let known = !case.machine.nonstop_tsc.is_assumed();
    let invariant = case.machine.constant_tsc.value && case.machine.nonstop_tsc.value;
    let kvm_rule =
        Feature::KvmClockYields.of(&case.machine.kernel.value) && !case.machine.kernel.is_assumed();
    let withheld = match current {
        "kvm-clock" if known => !invariant,
        // From 5.1 on an invariant TSC makes kvm-clock step back, so its presence is the proof.
        "kvm-clock" => kvm_rule && !clock.chosen && case.current_is_settled(),
        "xen" => false,
        _ if before_grants(case) || !case.current_is_settled() => false,
        _ => {
            consults_grant(case) == Some(true)
                && matches!(case.expectation.tsc, TscState::Unstable { .. })
        }
    };
    let unasked = current.starts_with("hyperv_clocksource_")
        && case.current_is_settled()
        && consults_grant(case) == Some(false)
        && matches!(case.expectation.tsc, TscState::Unstable { .. });
    if unasked {
        let evidence = vec![clock.evidence(case)];
        let id = CauseId::InvariantTscWithheld;
        causes.add(id, clock.severity, Confidence::Low, never_asks(), evidence);
    }
    if !withheld {
        return;
    }
    causes.add(
        CauseId::InvariantTscWithheld,
        clock.severity,
        if known { Confidence::High } else { Confidence::Medium },
        format!(
            "the hypervisor exposes no invariant TSC to this guest, so {current} is used{}",
            if case.slow == Some(true) || causes.0.iter().any(|c| c.id == CauseId::TscWarp) {
                ""
            } else {
                "; it is as good as a TSC as long as its reads stay in user space"
            }
        ),
        vec![clock.evidence(case)],
    );
}

//! `paravirt-clock-broken`: the hypervisor's own clock page or time scale is wrong. Figures of the
//! watchdog that point to it are judged by the detector in `watchdog`.

use super::definition::{Definition, PLAIN};
use super::reference::is_paravirt;
use super::{Case, Causes, steering};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::Origin;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::Event;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the hypervisor's clock is wrong"),
    demotion: true,
    against_reliable: Some(|_, _| {
        Some(
            "which clock is wrong is not known; the parameter disables the checks, but the fault remains"
                .to_owned(),
        )
    }),
    remedies: &[&table::HOST_CLOCK_INTERFACE, &table::ASK_THE_OPERATOR, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    if let Some((entry, by_clocksource)) = log.first(|event| match event {
        Event::TimeWentBackwards => Some(false),
        Event::XenReadBackwards => Some(true),
        _ => None,
    }) {
        let evidence = vec![Evidence::line(log, entry)];
        let (severity, confidence, summary) = match unsupported(case, by_clocksource) {
            Some(why) => (
                Severity::Info,
                Confidence::Low,
                format!(
                    "a line of the log says that Xen's clock went backwards, and {why}: a program \
                     can also write such a line; clocksmith verify tests the clocks of the machine"
                ),
            ),
            None => (
                Severity::Critical,
                Confidence::High,
                "the kernel saw its paravirtual clock go backwards: the hypervisor's time differs between CPUs, or \
                 jumped"
                    .to_owned(),
            ),
        };
        causes.add(CauseId::ParavirtClockBroken, severity, confidence, summary, evidence);
    }
    steering::too_far(case, causes, CauseId::ParavirtClockBroken, Confidence::Low, is_paravirt);
}

/// Why the complaint proves nothing here. Only Xen guests whose kernel has Xen's own patches print it; on the machine
/// itself sysfs would look the same with it and without it, and any user can write into the log.
fn unsupported(case: &Case<'_>, by_clocksource: bool) -> Option<String> {
    let of_xen = case.hypervisor().is_some_and(|kind| {
        use HypervisorKind::{Xen, XenHvm, XenPv, XenPvh};
        matches!(kind, Xen | XenHvm | XenPv | XenPvh)
    });
    let current = case.current_name().filter(|name| *name != "xen" && !name.contains("jiffies"));
    let kernel = &case.machine.kernel;
    if let Some(name) = current {
        return Some(format!("{name} is in use, which such a guest does not have"));
    }
    if case.facts.hypervisor.is_known() && !of_xen {
        return Some("this machine is not a guest of Xen".to_owned());
    }
    if !kernel.is_assumed() && !Feature::XenPatches.of(&kernel.value) {
        return Some(format!("kernel {} does not have this message", kernel.value.version));
    }
    if !matches!(case.facts.origin, Origin::Log(_)) {
        let what = match by_clocksource {
            true => "sysfs looks the same either way",
            false => "nothing else here shows it",
        };
        return Some(what.to_owned());
    }
    None
}

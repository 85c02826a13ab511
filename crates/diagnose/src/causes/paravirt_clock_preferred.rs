//! `paravirt-clock-preferred`: a hypervisor's clock outranks the TSC.

use super::definition::{Definition, PLAIN};
use super::paravirt::Paravirt;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence};
use crate::current::outranks_tsc;
use crate::demotion;
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the hypervisor's clock is rated above the TSC"),
    returns: true,
    remedies: &[
        &table::SWITCH_TO_TSC_NOW,
        &table::KEEP_TSC_AT_BOOT,
        &table::XEN_NATIVE_TSC,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(clock) = Paravirt::of(case) else { return };
    let current = clock.name;
    let listed = case.tsc_selectable();
    if demoted_behind_it(case) {
        causes.add(
            CauseId::ParavirtClockPreferred,
            clock.severity,
            Confidence::Medium,
            format!("{current} is rated above the TSC: it was in use before the TSC was demoted, and stayed"),
            vec![clock.evidence(case)],
        );
        return;
    }
    let outranks = listed == Some(true) || (case.tsc_listed().is_none() && !case.tsc_is_given_up());
    // When the log ends, a TSC that takes over may not have registered yet.
    let shown =
        listed == Some(true) || case.current_is_settled() || outranks_tsc(case.machine, current);
    if !outranks || !shown || clock.chosen {
        return;
    }
    causes.add(
        CauseId::ParavirtClockPreferred,
        clock.severity,
        if listed == Some(true) { Confidence::High } else { Confidence::Medium },
        if case.tsc_differed_and_kept() {
            format!("{current} is rated above the TSC; this evidence does not show whether the TSC is correct")
        } else if listed == Some(true) && steps_back(case, current) {
            // It would have stepped back behind an invariant TSC.
            format!(
                "{current} is rated above the TSC, which is also registered, but is not \
                     invariant"
            )
        } else if listed == Some(true) {
            format!("{current} outranks the TSC, which is also usable here")
        } else {
            format!("{current} is rated above the TSC; this evidence does not show whether the TSC is usable")
        },
        vec![clock.evidence(case)],
    );
}

/// The kernel rates this clock lower where the TSC is invariant.
fn steps_back(case: &Case<'_>, current: &str) -> bool {
    let (machine, kernel) = (case.machine, &case.machine.kernel);
    let invariant = machine.constant_tsc.value
        && machine.nonstop_tsc.value
        && !machine.nonstop_tsc.is_assumed();
    current == "kvm-clock"
        && !invariant
        && !kernel.is_assumed()
        && Feature::KvmClockYields.of(&kernel.value)
}

/// Seconds that the watchdog needs at most to verify a TSC that registered, so that the kernel may choose it.
const VERIFIED_WITHIN: f64 = 3.0;

/// The TSC registered while this clock was in use, was not chosen, and was demoted later: that demotion is not why this
/// clock is in use.
pub(super) fn demoted_behind_it(case: &Case<'_>) -> bool {
    let (Some(log), Some(clock)) = (case.log(), Paravirt::of(case)) else { return false };
    if clock.chosen || case.tsc_listed() == Some(true) {
        return false;
    }
    let switched = |event: &Event| matches!(event, Event::Switched(name) if name == clock.name);
    let registers =
        |event: &Event| matches!(event, Event::Registered { name, .. } if name == "tsc");
    let last = log.last(|event| matches!(event, Event::Switched(_)).then_some(()));
    let Some((at, _)) =
        last.filter(|(entry, ())| switched(&entry.event)).and_then(|(e, ())| e.at.zip(Some(e)))
    else {
        return false;
    };
    let Some(registered) = log.all(registers).filter_map(|entry| entry.at).find(|then| *then >= at)
    else {
        return false;
    };
    let mut demotions = log.all(demotion::takes_tsc).peekable();
    demotions.peek().is_some()
        && demotions.all(|entry| entry.at.is_some_and(|then| then > registered + VERIFIED_WITHIN))
}

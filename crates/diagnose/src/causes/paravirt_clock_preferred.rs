//! `paravirt-clock-preferred`: a hypervisor's clock outranks a usable TSC.

use super::definition::{Definition, PLAIN};
use super::paravirt::Paravirt;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence};
use crate::remedies::table;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the hypervisor's clock outranks the usable TSC"),
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
    let outranks = listed == Some(true) || (case.tsc_listed().is_none() && !case.tsc_is_given_up());
    if !outranks || clock.chosen {
        return;
    }
    causes.add(
        CauseId::ParavirtClockPreferred,
        clock.severity,
        if listed == Some(true) { Confidence::High } else { Confidence::Medium },
        if listed == Some(true) {
            format!("{current} outranks the TSC, which is usable here too")
        } else {
            format!("{current} is rated above the TSC; whether the TSC is usable is not shown")
        },
        vec![clock.evidence(case)],
    );
}

//! `paravirt-clock-broken`: the hypervisor's own clock page or time scale is wrong. Figures of the
//! watchdog that point to it are judged by the detector in `watchdog`.

use super::definition::{Definition, PLAIN};
use super::reference::is_paravirt;
use super::{Case, Causes, steering};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the hypervisor's clock is wrong"),
    demotion: true,
    against_reliable: Some(|_, _| {
        Some(
            "which clock is wrong is open; it switches the checks off, not the fault off"
                .to_owned(),
        )
    }),
    remedies: &[&table::HOST_CLOCK_INTERFACE, &table::ASK_THE_OPERATOR, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    if let Some((entry, ())) = log.first(|e| matches!(e, Event::TimeWentBackwards).then_some(())) {
        causes.add(
            CauseId::ParavirtClockBroken,
            Severity::Critical,
            Confidence::High,
            "the kernel saw its paravirtual clock go backwards: the hypervisor's time differs between \
             CPUs",
            vec![Evidence::line(log, entry)],
        );
    }
    steering::too_far(case, causes, CauseId::ParavirtClockBroken, Confidence::Low, is_paravirt);
}

//! `tsc-unsynchronized`: several CPUs, and nothing guarantees that their TSCs are synchronised.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::{by_model, marked};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("nothing guarantees that the TSCs of the CPUs are synchronised"),
    blame: Blame::Always,
    gave_up: true,
    returns: true,
    checked: true,
    against_reliable: Some(|_, _| {
        Some(
            "nothing guarantees that the TSCs of these CPUs are synchronised, and nothing has \
             tested them; if they are not, time goes backwards between CPUs"
                .to_owned(),
        )
    }),
    remedies: &[
        &table::EXPOSE_INVARIANT_TSC,
        &table::VIRTUALBOX_PARAVIRT,
        &table::ASK_THE_OPERATOR,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::TscUnsynchronized;
    marked(
        case,
        causes,
        id,
        case.loss(),
        "this machine has several CPUs, and nothing guarantees that their TSCs are synchronised (no \
         constant TSC on a non-Intel CPU, or firmware reports that they are not), so the kernel \
         does not use them",
        |reason| matches!(reason, UnstableReason::Unsynchronized | UnstableReason::UvBios),
    );
    by_choice(case, causes);
    let assumed = case.machine.constant_tsc.is_assumed() || case.machine.possible_cpus.is_assumed();
    by_model(case, causes, id, case.loss(), assumed, |reason| {
        matches!(reason, UnstableReason::Unsynchronized)
    });
}

/// The words of 64-bit kernels before the clocksource framework name the counter, and no reason: `unsynchronized_tsc()` has
/// several, one of them for Intel's processors alone (since 2.6.19).
fn by_choice(case: &Case<'_>, causes: &mut Causes) {
    let machine = case.machine;
    let is_refused = matches!(case.current_name(), Some("hpet" | "acpi_pm"))
        && !machine.kernel.is_assumed()
        && Feature::TimeCPrefersTsc.of(&machine.kernel.value)
        && !machine.cmdline.is_assumed()
        && !machine.cmdline.value.has("notsc");
    let Some(log) = case.log().filter(|_| is_refused) else { return };
    // After lost ticks the HPET replaces a TSC that was chosen.
    let chosen = log.last(|event| match event {
        Event::TimeSource { name, bits: 64 } => Some(name.clone()),
        _ => None,
    });
    let is_current = |name: &str| case.current_name() == Some(name);
    if let Some((entry, _)) = chosen.filter(|(_, name)| is_current(name)) {
        causes.add(
            CauseId::TscUnsynchronized,
            case.loss(),
            Confidence::Medium,
            "the kernel does not use the TSC, and notsc is not on its command line: kernels before 2.6.21 do not count the \
             TSCs as synchronised if the machine has several CPUs that are not Intel's, or several nodes, or an idle state \
             (C3) in which an Intel processor's TSC stops",
            vec![Evidence::line(log, entry)],
        );
    }
}

//! `no-tsc`: the machine has no TSC, or the kernel found no frequency for it.

use super::definition::{Definition, PLAIN};
use super::tsc::{by_model, cmdline, marked, place};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::expectation::TscState;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the kernel has no usable TSC frequency, or no TSC"),
    gave_up: true,
    returns: true,
    remedies: &[&table::REBOOT_TO_RESTORE, &table::EARLY_KHZ, &table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let id = CauseId::NoTsc;
    let mine = |reason: &UnstableReason| matches!(reason, UnstableReason::NoFrequency);
    marked(
        case,
        causes,
        id,
        case.loss(),
        "the kernel could not determine the TSC's frequency: each of its calibration methods \
         failed, or their figures do not agree",
        mine,
    );
    by_model(case, causes, id, case.loss(), false, mine);
    let hidden = case.machine.cmdline.value.has("clearcpuid");
    if matches!(case.expectation.tsc, TscState::NotPresent)
        && !case.tsc_is_current()
        && (!case.machine.tsc.is_assumed() || hidden)
    {
        causes.add(
            id,
            case.loss(),
            Confidence::High,
            "the CPU shows no TSC to this kernel",
            if hidden {
                vec![cmdline(case, "clearcpuid")]
            } else {
                vec![Evidence::new(place(&case.machine.tsc.cite()), without(case))]
            },
        );
    }
}

/// The evidence that the machine has no TSC.
fn without(case: &Case<'_>) -> String {
    match case.facts.cpu.model.value() {
        Some(model) if !case.facts.cpu.flags.is_known() && !case.facts.cpuid.is_known() => {
            format!("{}: a processor without a TSC", model.name)
        }
        _ => "no tsc flag".to_owned(),
    }
}

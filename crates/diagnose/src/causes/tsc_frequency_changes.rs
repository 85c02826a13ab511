//! `tsc-frequency-changes`: no constant TSC, and cpufreq changed its rate.

use super::definition::{Blame, Definition, PLAIN};
use super::tsc::marked;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use crate::remedies::table;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::incident::incidents;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::processor::may_change_rate;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the TSC changes rate with the CPU frequency"),
    blame: Blame::Always,
    gave_up: true,
    returns: true,
    demotion: true,
    against_reliable: Some(|_, cause| {
        let known = cause.confidence > Confidence::Low;
        Some(
            if known {
                "this TSC changes its rate with the CPU frequency; the parameter disables the checks, but the fault remains"
            } else {
                "it is not known whether this TSC changes its rate with the CPU frequency; if it does, the parameter \
                 disables the checks, but the fault remains"
            }
            .to_owned(),
        )
    }),
    remedies: &[&table::CHEAPER_READS],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    marked(
        case,
        causes,
        CauseId::TscFrequencyChanges,
        case.loss(),
        "this CPU's TSC runs at the core's frequency, and cpufreq changed it",
        |reason| matches!(reason, UnstableReason::CpufreqChanges),
    );
    candidate(case, causes);
}

/// The largest difference in a check that a changed core frequency causes: cores of those years go down to a quarter of
/// their highest one, and up again, within one interval or the next, in nanoseconds.
const MOST_NS: u64 = 1_000_000_000;

/// A difference in one check on an old kernel, on a processor that may have a TSC of the core's frequency: the kernel is
/// notified of changes only by cpufreq's drivers (`time_cpufreq_notifier()` in arch/x86/kernel/tsc.c), and not of those
/// by firmware or thermal throttling.
fn candidate(case: &Case<'_>, causes: &mut Causes) {
    let machine = case.machine;
    let old = machine.kernel.is_assumed() || !Feature::IntelIdle.of(&machine.kernel.value);
    let constant = !machine.constant_tsc.is_assumed() && machine.constant_tsc.value;
    if !old || constant || case.in_guest() || !may_change_rate(machine.vendor.value, machine.model)
    {
        return;
    }
    let Some(log) = case.log() else { return };
    let found = incidents(log).into_iter().find(|incident| {
        let size = incident.skew_ns.map(i64::unsigned_abs);
        incident.old_style
            && incident.clocksource == "tsc"
            && size.is_some_and(|ns| ns > 0 && ns <= MOST_NS)
    });
    let Some(incident) = found else { return };
    let lines = incident.entries.iter().filter_map(|index| log.entries.get(*index));
    causes.add(
        CauseId::TscFrequencyChanges,
        case.loss(),
        Confidence::Low,
        "on many processors before 2008 the TSC runs at the core's frequency, and counts less or more if that \
         frequency changes; the flag constant_tsc in /proc/cpuinfo excludes this",
        lines.take(2).map(|entry| Evidence::line(log, entry)).collect(),
    );
}

//! Whether the TSC in use may be demoted after the end of a log: by the driver of idle states, or by the watchdog.

use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::processor::may_halt_in_idle;
use clocksmith_kernel::{Machine, open, predict};

/// Whether the TSC may stop in deep idle states of this processor, according to the evidence.
///
/// A processor that the evidence does not name may be an old one, unless a line shows a feature of recent processors,
/// or a hypervisor, whose guests have no deep idle states.
pub(crate) fn may_halt(machine: &Machine, log: &KernelLog) -> bool {
    let nonstop = &machine.nonstop_tsc;
    if !nonstop.is_assumed() && nonstop.value {
        return false;
    }
    if machine.model.is_some() {
        return may_halt_in_idle(machine.vendor.value, machine.model);
    }
    let guest = !machine.hypervisor.is_assumed() && machine.hypervisor.value.is_some();
    !guest && !log.any(|event| matches!(event, Event::RecentProcessor | Event::TscAdjust(_)))
}

/// Whether the watchdog watches the TSC in one of the machines that the evidence allows.
pub(super) fn may_be_watched(machine: &Machine, log: &KernelLog) -> bool {
    // A message of the kernel ranks above a conclusion from its version.
    if log.any(|event| matches!(event, Event::WatchdogDisabled)) {
        return false;
    }
    let unwatched = |m: &Machine| matches!(predict(m).tsc, TscState::Usable { watched: false });
    open::ask(machine, unwatched).same != Some(true)
}

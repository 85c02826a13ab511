//! `counter-emulated`: RISC-V without a time CSR; firmware emulates each read of it.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("firmware emulates the counter"),
    returns: true,
    remedies: &[&table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

/// The vDSO reads the counter, and the read traps.
pub(super) fn is_why(case: &Case<'_>) -> bool {
    case.machine.time_csr_emulated.is_some()
        && case.current_name() == Some("riscv_clocksource")
        && Feature::RiscvVdso.of(&case.machine.kernel.value)
}

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    if case.slow != Some(true) || !is_why(case) {
        return;
    }
    let lines = log.all(|event| matches!(event, Event::HartExtensions { .. } | Event::OpenSbi(_)));
    causes.add(
        CauseId::CounterEmulated,
        Severity::Warning,
        Confidence::High,
        "this processor has no time CSR that programs can read: the vDSO makes no system call, but \
         each read of the CSR traps into firmware, which emulates it",
        lines.take(4).map(|entry| Evidence::line(log, entry)).collect(),
    );
}

//! `counter-trapped`, `counter-trapped-compat`: an erratum workaround of arm64 disables the vDSO.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;

pub(super) const CAUSE: Definition = Definition {
    returns: true,
    remedies: &[&table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

/// Errata whose workaround replaces the counter's read, which disables the vDSO for all programs.
/// Source: `arch_timer_enable_workaround()` in `drivers/clocksource/arm_arch_timer.c`: the entries of
/// `ool_workarounds[]` that set `read_cntvct_el0`. The kernel prints Freescale's number as a005858.
const TRAPPED: [&str; 5] = ["858921", "a008585", "a005858", "161010101", "UNKNOWN1"];
/// Errata that cost only 32-bit programs the vDSO (`disable_compat_vdso`).
const TRAPPED_COMPAT: [&str; 1] = ["1418040"];

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    let mut evidence = Vec::new();
    let mut everybody = false;
    let mut erratum = false;
    let mut compat = false;
    for entry in log.all(|e| matches!(e, Event::ArchTimerErratum(_) | Event::CounterTrapped)) {
        match &entry.event {
            Event::ArchTimerErratum(text) => {
                let all = TRAPPED.iter().any(|id| text.contains(id));
                let only32 = TRAPPED_COMPAT.iter().any(|id| text.contains(id));
                everybody |= all;
                erratum |= all;
                compat |= only32;
                if !all && !only32 {
                    continue;
                }
            }
            _ => everybody |= !compat,
        }
        if evidence.len() < 4 {
            evidence.push(Evidence::line(log, entry));
        }
    }
    if everybody {
        // Kernels of makers also trap without an erratum.
        let summary = if erratum {
            "a hardware erratum makes the kernel trap reads of the counter, so the vDSO is off and every \
             clock read is a system call"
        } else {
            "the kernel traps reads of the counter, for an erratum or by the configuration of its maker, so every clock \
             read enters the kernel"
        };
        causes.add(CauseId::CounterTrapped, Severity::Warning, Confidence::High, summary, evidence);
    } else if compat {
        causes.add(
            CauseId::CounterTrappedCompat,
            Severity::Info,
            Confidence::High,
            "the workaround for a hardware erratum disables the vDSO for 32-bit programs; 64-bit programs are not affected",
            evidence,
        );
    }
}

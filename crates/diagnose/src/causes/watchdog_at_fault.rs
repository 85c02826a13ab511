//! `watchdog-at-fault`: the reference was late, wrapped, lost ticks or glitched; the TSC is not at fault.

use super::definition::{Definition, PLAIN};
use crate::cause::Confidence;
use crate::remedies::{table, watchdog};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the watchdog demoted the TSC although only its own check was at fault"),
    gave_up: true,
    demotion: true,
    checked: true,
    against_reliable: Some(|plan, cause| {
        (cause.confidence >= Confidence::Medium).then(|| {
            let better =
                "tsc=nowatchdog also disables the watchdog, and keeps the warp test between CPUs";
            watchdog::against_nowatchdog(plan).unwrap_or(better).to_owned()
        })
    }),
    remedies: &[
        &table::REBOOT_TO_RESTORE,
        &table::TSC_NOWATCHDOG,
        &table::TSC_RELIABLE,
        &table::HIDE_HPET,
        &table::NEWER_KERNEL_WATCHDOG,
        &table::CHEAPER_READS,
    ],
    // Finds which clock is at fault; also finds skew, jumps, stalls and skipped checks.
    find: super::watchdog::find,
    ..PLAIN
};

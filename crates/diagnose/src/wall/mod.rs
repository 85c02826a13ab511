//! The wall clock: its time daemon, the state that the kernel reports, and whether it is behind after a restore. Pure.
//!
//! This module contains the judgement and its part of the report. It is independent of the verdict, which is about
//! reading the clock: a stale wall clock does not make a clocksource slow, and a slow clocksource does not make a wall
//! clock wrong. Not in this module: parsers (`clocksmith-facts`), the advice (`remedies`).

mod apart;
mod contrary;
mod difference;
mod disputed;
mod growth;
mod judge;
mod masters;
mod programs;
mod ptp;
mod remarks;
mod report;
mod start;
#[cfg(test)]
mod tests;
mod tools;
mod unsynchronised;
mod words;

pub(crate) use contrary::wrong_rate;
pub(crate) use judge::judge;
pub use report::{KeeperReport, StepReport, WallClockReport, WallState};

use crate::cause::CauseId;

impl CauseId {
    /// Whether the cause is about the wall clock, and not about reads of clocks.
    #[must_use]
    pub fn concerns_wall_clock(self) -> bool {
        matches!(
            self,
            Self::WallClockUnsynchronised | Self::WallClockStaleAfterRestore | Self::TwoMasters
        )
    }
}

//! Is it the right time? The wall clock: who keeps it, what the kernel says of it, and whether it was left behind. Pure.
//!
//! What lives here: the judgement and the part of the report. It is apart from the verdict, which is about reading the
//! clock: a stale wall clock makes no clocksource slow, and a slow clocksource no wall clock wrong. What must not live
//! here: parsers (`clocksmith-facts`), the advice (`remedies`).

mod contrary;
mod difference;
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
    /// Whether it is about the wall clock, and says nothing of how clocks are read.
    #[must_use]
    pub fn concerns_wall_clock(self) -> bool {
        matches!(
            self,
            Self::WallClockUnsynchronised | Self::WallClockStaleAfterRestore | Self::TwoMasters
        )
    }
}

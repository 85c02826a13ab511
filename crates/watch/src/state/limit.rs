//! How often an event of one kind is reported. Pure.

use crate::event::Kind;
use std::collections::VecDeque;

/// The time over which events are counted, in seconds.
const WINDOW: f64 = 60.0;
/// Events of one kind in it.
const MOST: usize = 10;
/// The same for changes that sysfs shows: only root can cause more of them, and each one is true.
const MOST_SHOWN: usize = 60;
/// The same for contradicted evidence: it is reported once, because any user can make more of it.
const CONTRADICTED_WINDOW: f64 = 3600.0;

/// The events of one kind.
#[derive(Clone, Debug, Default)]
struct Told {
    times: VecDeque<f64>,
    /// The number of events that were left out since the last reported one.
    left_out: u64,
    /// Left out in all.
    suppressed: u64,
}

/// All kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct Limit([Told; Kind::ALL.len()]);

impl Limit {
    /// Returns whether an event may be reported now, and how many of its kind were left out since the last one.
    pub(super) fn admit(&mut self, kind: Kind, time: f64) -> Option<u64> {
        let (window, most) = match kind {
            Kind::ContradictedEvidence => (CONTRADICTED_WINDOW, 1),
            Kind::ClocksourceChange | Kind::AvailableChange => (WINDOW, MOST_SHOWN),
            _ => (WINDOW, MOST),
        };
        let told = self.0.get_mut(kind as usize)?;
        // A wall clock that was set back must not suppress events.
        while told.times.front().is_some_and(|at| !(0.0..window).contains(&(time - at))) {
            told.times.pop_front();
        }
        if told.times.len() >= most {
            told.left_out += 1;
            told.suppressed += 1;
            return None;
        }
        told.times.push_back(time);
        Some(std::mem::take(&mut told.left_out))
    }

    /// How many of a kind were left out in all.
    pub(super) fn suppressed(&self, kind: Kind) -> u64 {
        self.0.get(kind as usize).map_or(0, |told| told.suppressed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_leaves_out_a_flood_and_counts_it() {
        let mut limit = Limit::default();
        let told = (0..5_000).filter(|i| limit.admit(Kind::Stall, f64::from(*i) / 200.0).is_some());
        assert_eq!(told.count(), MOST);
        assert_eq!(limit.suppressed(Kind::Stall), 4_990);
        // Another kind has its own.
        assert_eq!(limit.admit(Kind::Warp, 25.0), Some(0));
        assert_eq!(limit.admit(Kind::Stall, 70.0), Some(4_990));
        assert_eq!(limit.admit(Kind::Stall, 70.0), Some(0));
    }

    #[test]
    fn limit_outlives_a_clock_that_is_set_back() {
        let mut limit = Limit::default();
        for _ in 0..20 {
            limit.admit(Kind::Stall, 1e9);
        }
        assert!(limit.admit(Kind::Stall, 10.0).is_some());
    }
}

//! The smallest step in which a clock is seen to move.

use super::shape::Loops;
use std::time::{Duration, Instant};

/// The longest time for which a fine clock is observed.
const PATIENCE: Duration = Duration::from_millis(25);
/// Steps of a fine clock that are enough.
const STEPS: usize = 2_000;
/// Steps of a coarse clock that are enough. On a busy machine some of them are several ticks, since this thread did not
/// run meanwhile.
const TICKS: u32 = 6;
/// A claimed step from which on a clock is coarse, in nanoseconds: it moves by ticks.
const COARSE_NS: u64 = 500_000;

/// The smallest step between successive readings that is not zero and not backward.
fn smallest_step(readings: &[u64]) -> Option<u64> {
    readings
        .windows(2)
        .filter_map(|pair| pair.get(1)?.checked_sub(*pair.first()?))
        .filter(|step| *step > 0)
        .min()
}

/// The smallest step of a read, in its own unit; `None` if none was seen.
///
/// `claimed` is the step that the kernel claims, in nanoseconds, where the read is in nanoseconds. A coarse clock is
/// observed for some ticks; if every observed step is several ticks, it is not the step of the clock, and the result is
/// `None`.
pub(crate) fn observe(loops: &Loops, claimed: Option<u64>) -> Option<u64> {
    let coarse = claimed.filter(|step| *step >= COARSE_NS);
    let (patience, steps) = coarse.map_or((PATIENCE, STEPS), |step| {
        (Duration::from_nanos(step) * (4 * TICKS), TICKS as usize)
    });
    let begun = Instant::now();
    let mut best = None;
    let mut last = loops.value();
    let mut seen = 0;
    while seen < steps && begun.elapsed() < patience {
        let mut readings = Vec::with_capacity(101);
        readings.extend(last);
        readings.extend((0..100).filter_map(|_| loops.value()));
        last = readings.last().copied();
        seen += readings.windows(2).filter(|pair| pair.first() != pair.get(1)).count();
        best = [best, smallest_step(&readings)].into_iter().flatten().min();
    }
    best.filter(|step| believed(*step, coarse))
}

/// Returns whether the observed step of a coarse clock is one step.
fn believed(seen: u64, coarse: Option<u64>) -> bool {
    coarse.is_none_or(|claimed| seen < claimed.saturating_add(claimed / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::{ClockId, Row, Via};
    use crate::bench::vdso::Vdso;
    use crate::reads;

    #[test]
    fn smallest_step_is_the_least_forward() {
        assert_eq!(smallest_step(&[10, 10, 30, 35, 35, 60]), Some(5));
        assert_eq!(smallest_step(&[10, 4, 4, 30]), Some(26));
        assert_eq!(smallest_step(&[7, 7]), None);
        assert_eq!(smallest_step(&[]), None);
    }

    #[test]
    fn believed_several_ticks_at_once_are_not_a_step() {
        let claimed = Some(4_000_000);
        assert!(believed(4_000_000, claimed) && believed(3_999_000, claimed));
        assert!(!believed(8_000_000, claimed) && !believed(72_000_000, claimed));
        assert!(believed(72_000_000, None));
    }

    #[test]
    fn observe_coarse_clock_is_a_tick_or_nothing() {
        let coarse = ClockId::MonotonicCoarse;
        let claimed = u64::try_from(reads::resolution(coarse).as_nanos()).unwrap();
        let loops = |id| Loops::of(Row::clock(id, Via::Libc), &Vdso::find()).unwrap();
        for _ in 0..4 {
            if let Some(step) = observe(&loops(coarse), Some(claimed)) {
                assert!(step.abs_diff(claimed) < claimed / 2, "{step} {claimed}");
            }
        }
        assert!(observe(&loops(ClockId::Monotonic), Some(1)).is_some_and(|step| step < 500_000));
    }
}

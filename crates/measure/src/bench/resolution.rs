//! The smallest step in which a clock is seen to move.

use super::shape::Loops;
use std::time::{Duration, Instant};

/// Looks for at most that long: a coarse clock moves every 1 to 10 ms.
const PATIENCE: Duration = Duration::from_millis(25);
/// Steps that are enough.
const STEPS: usize = 2_000;

/// The smallest step between successive readings that is not zero and not backward.
fn smallest_step(readings: &[u64]) -> Option<u64> {
    readings
        .windows(2)
        .filter_map(|pair| pair.get(1)?.checked_sub(*pair.first()?))
        .filter(|step| *step > 0)
        .min()
}

/// The smallest step of a read, in its own unit; `None` if it did not move within 25 ms.
pub(crate) fn observe(loops: &Loops) -> Option<u64> {
    let begun = Instant::now();
    let mut best = None;
    let mut last = loops.value();
    let mut seen = 0;
    while seen < STEPS && begun.elapsed() < PATIENCE {
        let mut readings = Vec::with_capacity(101);
        readings.extend(last);
        readings.extend((0..100).filter_map(|_| loops.value()));
        last = readings.last().copied();
        seen += readings.windows(2).filter(|pair| pair.first() != pair.get(1)).count();
        best = [best, smallest_step(&readings)].into_iter().flatten().min();
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::{ClockId, Row, Via};
    use crate::bench::vdso::Vdso;

    #[test]
    fn the_smallest_step_forward() {
        assert_eq!(smallest_step(&[10, 10, 30, 35, 35, 60]), Some(5));
        assert_eq!(smallest_step(&[10, 4, 4, 30]), Some(26));
        assert_eq!(smallest_step(&[7, 7]), None);
        assert_eq!(smallest_step(&[]), None);
    }

    #[test]
    fn a_coarse_clock_moves_in_ticks() {
        let step = |id| {
            observe(&Loops::of(Row::clock(id, Via::Libc), &Vdso::find()).unwrap())
                .unwrap_or(u64::MAX)
        };
        assert!(step(ClockId::MonotonicCoarse) >= 500_000);
        assert!(step(ClockId::Monotonic) < step(ClockId::MonotonicCoarse));
    }
}

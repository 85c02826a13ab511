//! The counter against the kernel's clocks, over time: readings between readings, each the narrowest of a few, since a
//! disturbance makes a reading wider.

use super::deadline::Deadline;
use super::samples::{Agreement, Point};
use super::source::{ClockId, Source};
use std::time::Duration;

/// The number of readings; the narrowest one is used.
const TRIES: u32 = 5;
/// The most points that are kept; beyond, every second one is dropped.
pub(crate) const MOST: usize = 512;
/// Pause between two points.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest sleep: a signal is seen after it.
const NAP: Duration = Duration::from_millis(50);

/// Takes points until the time is up, evenly over it.
pub(crate) fn take<S: Source>(source: &S, counter: bool, deadline: Deadline) -> Vec<Point> {
    let mut points = Vec::new();
    let mut pause = PAUSE;
    loop {
        points.extend(point(source, counter));
        if points.len() >= 2 * MOST {
            points = thinned(points);
            pause = pause.saturating_mul(2);
        }
        let left = deadline.left(source);
        if left.is_zero() {
            return points;
        }
        let mut rest = pause.min(left);
        while !rest.is_zero() && !deadline.is_over(source) {
            let nap = rest.min(NAP);
            std::thread::sleep(nap);
            rest -= nap;
        }
    }
}

/// Half as many points: of each two neighbours the narrower one.
pub(crate) fn thinned(points: Vec<Point>) -> Vec<Point> {
    let width = |point: &Point| point.ticks.2.wrapping_sub(point.ticks.0);
    points
        .chunks(2)
        .filter_map(|two| two.iter().min_by_key(|point| width(point)).copied())
        .collect()
}

fn point<S: Source>(source: &S, counter: bool) -> Option<Point> {
    let read = || if counter { source.counter() } else { 0 };
    let mut best: Option<((u64, u64, u64), i64, i64)> = None;
    let mut user: Option<(i64, i64, i64)> = None;
    for _ in 0..TRIES {
        let before = read();
        let raw = source.kernel_clock(ClockId::MonotonicRaw)?;
        let between = read();
        let mono = source.kernel_clock(ClockId::Monotonic)?;
        let after = read();
        let width = |ticks: &(u64, u64, u64)| ticks.2.wrapping_sub(ticks.0);
        let ticks = (before, between, after);
        if best.as_ref().is_none_or(|known| width(&ticks) < width(&known.0)) {
            best = Some((ticks, raw, mono));
        }
        let first = source.kernel_clock(ClockId::Monotonic)?;
        let middle = source.clock(ClockId::Monotonic)?;
        let last = source.kernel_clock(ClockId::Monotonic)?;
        let narrower =
            |known: &(i64, i64, i64)| last.saturating_sub(first) < known.2.saturating_sub(known.0);
        if user.as_ref().is_none_or(narrower) {
            user = Some((first, middle, last));
        }
    }
    let ((ticks, raw, mono), user) = (best?, user?);
    let base = source.kernel_clock(ClockId::Monotonic)?;
    let less = |id| source.kernel_clock(id).unwrap_or(base).saturating_sub(base);
    let (boottime, realtime) = (less(ClockId::Boottime), less(ClockId::Realtime));
    Some(Point { ticks, raw, mono, user, boottime, realtime })
}

/// Compares `CLOCK_MONOTONIC` in user space with system calls around it, on the processor of this
/// thread.
pub(crate) fn agreement<S: Source>(source: &S, cpu: u32, reads: u32) -> Agreement {
    let mut found = Agreement { cpu, reads: 0, early: 0, late: 0 };
    for _ in 0..reads {
        let (Some(first), Some(middle), Some(last)) = (
            source.kernel_clock(ClockId::Monotonic),
            source.clock(ClockId::Monotonic),
            source.kernel_clock(ClockId::Monotonic),
        ) else {
            break;
        };
        found.reads += 1;
        found.early = found.early.max(first.saturating_sub(middle));
        found.late = found.late.max(middle.saturating_sub(last));
    }
    found
}

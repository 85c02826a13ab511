//! The next state after a reading of the kernel's clock. Pure.

use super::{Clock, Environment, Remembered, State};
use crate::discipline::{Next, RATE_SHIFT, SHORTEST_NS, Sample, cycles, times};

/// The longest piece. It bounds how old the difference between the wall clock and CLOCK_MONOTONIC
/// can be, in a process that reads clocks all the time.
const LONGEST_NS: u64 = 10_000_000;
/// A line that is farther off than this is not bent.
const BENT_NS: u64 = 50_000;
/// In a child: a time that is farther off than this is a different time (of a time namespace).
const ANOTHER_TIME_NS: u64 = 1_000_000;
/// The amount by which the kernel's clock may seem to go back, between readings of two processors.
const KERNEL_BACK_NS: u64 = 50_000;
/// A reading that contradicts the line ...
const FAULT: u64 = 8;
/// ... and the number of them at which the line is given up; each good reading subtracts one.
const FAULTS: u64 = 12 * FAULT;
/// How long ago a reading must be to be measured against.
const APART_NS: u64 = 500_000;

/// The place of a counter value in a state, with the time there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    First(u64),
    Second(u64),
    /// Behind the end.
    Beyond,
    /// Before the beginning, and by too much: the counter has been set back.
    Behind,
}

/// A reading of the kernel's clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) sample: Sample,
    /// The least and the greatest that REALTIME may be ahead of MONOTONIC.
    pub(crate) realtime: (u64, u64),
    /// The same for BOOTTIME.
    pub(crate) boottime: (u64, u64),
}

impl Measured {
    /// Takes some readings, and keeps the best. `None` if the kernel refuses.
    pub(crate) fn take<E: Environment>(env: &E) -> Option<Self> {
        let mut best: Option<Sample> = None;
        let mut before = 0;
        let (mut realtime, mut boottime) = (None, None);
        for other in [None, Some(Clock::Realtime), Some(Clock::Boottime), Some(Clock::Realtime)] {
            let there = match other {
                Some(clock) => Some((clock, env.kernel(clock)?)),
                None => None,
            };
            let begin = env.counter();
            let ns = env.kernel(Clock::Monotonic)?;
            let width = env.counter().wrapping_sub(begin);
            if best.is_none_or(|best| width < best.width) {
                let cycles = begin.wrapping_add(width / 2);
                best = Some(Sample { cycles, ns, width, only_width_tells: false });
            }
            if let Some((clock, value)) = there {
                // The difference is between those to the reading before and to the one after.
                let found = (value.wrapping_sub(ns), value.wrapping_sub(before));
                let place = if clock == Clock::Realtime { &mut realtime } else { &mut boottime };
                let narrower = |(low, high): (u64, u64)| {
                    high.wrapping_sub(low) > found.1.wrapping_sub(found.0)
                };
                if place.is_none_or(narrower) {
                    *place = Some(found);
                }
            }
            before = ns;
        }
        Some(Self { sample: best?, realtime: realtime?, boottime: boottime? })
    }
}

/// Keeps a difference as long as it is possible, so that it changes only when it really does.
fn difference(old: Option<u64>, (low, high): (u64, u64)) -> u64 {
    let room = high.wrapping_sub(low);
    match old {
        Some(old) if old.wrapping_sub(low) <= room => old,
        _ => low.wrapping_add(room / 2),
    }
}

/// The state that follows `old` after a reading; `old` is `None` before the first one.
pub(crate) fn next(
    old: Option<&State>,
    measured: &Measured,
    remembered: Option<&mut Remembered>,
    child: bool,
    known_rate: u64,
) -> State {
    let sample = measured.sample;
    let Some(old) = old else {
        return finish(begin(sample, known_rate, remembered), None, measured);
    };
    let end = old.end();
    let went_back = sample.ns.saturating_add(KERNEL_BACK_NS) < old.read_ns;
    let position = old.position(sample.cycles, 0);
    let line_ns = match position {
        Which::First(ns) | Which::Second(ns) => ns,
        Which::Beyond | Which::Behind => end.max(sample.ns),
    };
    let another_time = child && line_ns.abs_diff(sample.ns) > ANOTHER_TIME_NS;
    if went_back || another_time {
        return finish(begin(sample, old.rate, remembered), None, measured);
    }
    // The first piece is not used up: there is nothing to plan yet.
    if matches!(position, Which::First(_)) && sample.ns < end {
        return finish(*old, Some(old), measured);
    }
    let follows = matches!(position, Which::Second(_)) && sample.ns < end;
    // For a piece that begins later than now, the difference at its beginning is needed.
    let line_ns = if follows {
        let left = old.end_at().wrapping_sub(sample.cycles);
        end.wrapping_sub(times(left, old.rate))
    } else {
        end.max(sample.ns)
    };
    let learnt = learn(old, sample, line_ns, remembered);
    if learnt.faults >= FAULTS {
        return finish(old.retired(), Some(old), measured);
    }
    let mut piece = learnt.piece;
    let mut base = if follows { end } else { line_ns };
    let ahead = line_ns.saturating_sub(sample.ns);
    let missing = sample.ns.saturating_sub(line_ns);
    if ahead > BENT_NS {
        // Half as fast, until the kernel's clock is reached.
        piece.0 = learnt.rate / 2;
        piece.1 = cycles(ahead.saturating_mul(2), learnt.rate).min(piece.1);
    } else if missing > BENT_NS {
        piece.0 = learnt.rate;
        base = base.saturating_add(missing);
    }
    let (slope, length) = piece;
    let next = if follows {
        State {
            begin: old.begin.wrapping_add(old.first_length),
            first_ns: old.second_ns,
            first_rate: old.second_rate,
            first_length: old.second_length,
            second_ns: base,
            second_rate: slope,
            second_length: length,
            ..*old
        }
    } else {
        State {
            begin: sample.cycles,
            first_ns: base,
            first_rate: slope,
            first_length: length,
            second_ns: base.wrapping_add(times(length, slope)),
            second_rate: if ahead > BENT_NS { slope } else { learnt.rate },
            second_length: length,
            ..*old
        }
    };
    let next = State { rate: learnt.rate, faults: learnt.faults, ..next };
    finish(next, Some(old), measured)
}

/// A line through a reading, with nothing before it.
fn begin(sample: Sample, rate: u64, remembered: Option<&mut Remembered>) -> State {
    if let Some(remembered) = remembered {
        remembered.begin(sample, rate);
        remembered.step(sample, sample.ns, rate);
    }
    let length = cycles(SHORTEST_NS, rate);
    State {
        begin: sample.cycles,
        first_ns: sample.ns,
        first_rate: rate,
        first_length: length,
        second_ns: sample.ns.wrapping_add(times(length, rate)),
        second_rate: rate,
        second_length: length,
        rate,
        ..State::default()
    }
}

fn finish(state: State, old: Option<&State>, measured: &Measured) -> State {
    State {
        to_realtime: difference(old.map(|old| old.to_realtime), measured.realtime),
        to_boottime: difference(old.map(|old| old.to_boottime), measured.boottime),
        read_at: measured.sample.cycles,
        read_ns: measured.sample.ns,
        ..state
    }
}

/// The information of a reading about the rate.
struct Learnt {
    rate: u64,
    /// Slope and length of the next piece.
    piece: (u64, u64),
    faults: u64,
}

fn learn(old: &State, sample: Sample, line_ns: u64, remembered: Option<&mut Remembered>) -> Learnt {
    let Some(remembered) = remembered else {
        // Another thread holds the remembered rate, or held it when that thread was stopped for
        // ever.
        let length = cycles(LONGEST_NS, old.rate);
        let slope = bent(old.rate, sample.ns.wrapping_sub(line_ns) as i64, length);
        return Learnt { rate: old.rate, piece: (slope, length), faults: old.faults };
    };
    match remembered.step(sample, line_ns, old.rate) {
        Next::Continue(piece) | Next::Anew(piece) => {
            let rate = remembered.rate();
            let length = piece.window.min(cycles(LONGEST_NS, rate));
            Learnt { rate, piece: (piece.slope, length), faults: old.faults.saturating_sub(1) }
        }
        Next::Wait => {
            let rate = guess(old, sample);
            let length = cycles(SHORTEST_NS, rate);
            Learnt { rate, piece: (rate, length), faults: old.faults }
        }
        Next::Disagree => {
            let rate = guess(old, sample);
            remembered.restart(sample);
            let length = cycles(SHORTEST_NS, rate);
            Learnt { rate, piece: (rate, length), faults: old.faults.saturating_add(FAULT) }
        }
    }
}

/// The rate since the last reading, if it is plausible and not the known one; otherwise the known
/// one.
fn guess(old: &State, sample: Sample) -> u64 {
    let dn = sample.ns.saturating_sub(old.read_ns);
    let dc = sample.cycles.wrapping_sub(old.read_at);
    if !(APART_NS..1 << 40).contains(&dn) || dc == 0 || dc > u64::MAX / 2 {
        return old.rate;
    }
    let found = (u128::from(dn) << RATE_SHIFT) / u128::from(dc);
    // A jump of the counter is not a change of its rate.
    let possible = u128::from(old.rate / 4)..u128::from(old.rate) * 4;
    if possible.contains(&found) { found as u64 } else { old.rate }
}

/// A rate that corrects the difference within a piece, by at most a thousandth.
fn bent(rate: u64, missing_ns: i64, length: u64) -> u64 {
    let most = (rate / 1000) as i128;
    let wanted = (i128::from(missing_ns) << RATE_SHIFT) / i128::from(length.max(1));
    (i128::from(rate) + wanted.clamp(-most, most)) as u64
}

//! Our own page: a line in the kernel's form, renewed by whichever reader finds its window over.
//!
//! Readers never wait for a writer that does not go on: the lock is only ever tried, and a reader
//! of a page that stays odd gives up after a while. That is what makes it safe in a signal handler
//! that interrupted the writer, and in a child that was forked while another thread was writing.

use crate::counter::Counter;
use crate::discipline::{Discipline, Next, Piece, RATE_SHIFT, SHORTEST_NS, Sample, times};
use crate::line::{Cells, Line, Word};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use core::cell::UnsafeCell;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The mode that our page has while it can be read.
const MODE: u32 = 1;

/// `state` of a page that nobody has begun: what fresh memory has, and what a forked child finds
/// (`MADV_WIPEONFORK`).
const BLANK: u32 = 0;
/// A first reading has been taken; there is no line yet.
const WAITING: u32 = 1;
/// There is a line.
const RUNNING: u32 = 2;
/// The line was found wrong.
const RETIRED: u32 = 3;

/// The page. Zero bytes are a blank one.
#[repr(C)]
pub(crate) struct Page {
    // In this order the kernel's form without `max_cycles`: `view::Raw` reads it.
    word: AtomicU64,
    cycle_last: AtomicU64,
    mask: AtomicU64,
    scale: AtomicU64,
    realtime: [AtomicU64; 2],
    monotonic: [AtomicU64; 2],

    state: AtomicU32,
    lock: AtomicU32,
    /// The counter when the line was last renewed, and for how many cycles it holds.
    armed: AtomicU64,
    window: AtomicU64,
    /// The kernel's time before which another reading is no use.
    due_ns: AtomicU64,
    /// Touched only by the holder of `lock`.
    discipline: UnsafeCell<Discipline>,
}

// SAFETY: everything is atomic but `discipline`, which only the holder of the lock touches.
unsafe impl Sync for Page {}

/// What became of an attempt to renew the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// There is a line that holds from this counter value on, for so many cycles.
    Until {
        /// The counter at its beginning.
        armed: u64,
        /// Cycles.
        window: u64,
    },
    /// It is too early for a line.
    Waiting,
    /// Somebody else is at it.
    Busy,
    /// The counter and the kernel's clock contradict each other. Nobody reads the line any more;
    /// no reader got more than `floor_ns` from it.
    Wrong {
        /// The latest time that the line may have given, or 0.
        floor_ns: u64,
    },
}

impl Page {
    /// Whether there is a line, or a first reading for one.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self.state.load(Ordering::Acquire), WAITING | RUNNING)
    }

    /// Whether there is a line.
    pub(crate) fn is_running(&self) -> bool {
        self.state.load(Ordering::Acquire) == RUNNING
    }

    /// Whether a first reading is so young, at this time of the kernel's, that a second one would
    /// not give a rate.
    pub(crate) fn is_too_early(&self, now_ns: u64) -> bool {
        self.state.load(Ordering::Acquire) == WAITING
            && now_ns < self.due_ns.load(Ordering::Relaxed)
    }

    /// Takes readings and renews the line. `sample` reads the kernel's clock; it may be called
    /// with the lock held, so it must not read this clock. A line that begins anew does not begin
    /// before `floor_ns`.
    pub(crate) fn renew<C: Counter>(
        &self,
        sample: impl FnOnce() -> Option<Sample>,
        floor_ns: u64,
    ) -> Renewed {
        if self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Renewed::Busy;
        }
        let renewed = self.renew_locked::<C>(sample, floor_ns);
        self.lock.store(0, Ordering::Release);
        renewed
    }

    fn renew_locked<C: Counter>(
        &self,
        sample: impl FnOnce() -> Option<Sample>,
        floor_ns: u64,
    ) -> Renewed {
        let state = self.state.load(Ordering::Relaxed);
        let (armed, window) =
            (self.armed.load(Ordering::Relaxed), self.window.load(Ordering::Relaxed));
        // Another reader may have been quicker.
        if state == RUNNING && C::read().wrapping_sub(armed) <= window / 2 {
            return Renewed::Until { armed, window };
        }
        let Some(sample) = sample() else { return self.retire() };
        // SAFETY: the lock is held, and nobody else has a reference.
        let discipline = unsafe { &mut *self.discipline.get() };
        if state != WAITING && state != RUNNING {
            *discipline = Discipline::new(sample);
            self.due_ns.store(sample.ns.saturating_add(SHORTEST_NS), Ordering::Relaxed);
            self.state.store(WAITING, Ordering::Release);
            return Renewed::Waiting;
        }
        let old = (state == RUNNING).then(|| self.line(1));
        let line_ns = old.map_or(0, |line| line.at(sample.cycles));
        match discipline.step(sample, line_ns) {
            Next::Wait => Renewed::Waiting,
            Next::Disagree => self.retire(),
            Next::Continue(piece) => self.publish::<C>(piece, |line, now| match old {
                Some(old) => continued(line, &old, now),
                None => at(line, sample.ns, now),
            }),
            Next::Anew(piece) => {
                let rate = discipline.rate();
                // Nobody got more than this from the old line, not even while it was being renewed.
                let end = armed.wrapping_add(window.saturating_mul(2));
                let floor = old.map_or(0, |old| old.at(end)).max(floor_ns);
                self.publish::<C>(piece, |line, now| {
                    let since = times(now.wrapping_sub(sample.cycles), rate);
                    at(line, sample.ns.wrapping_add(since).max(floor), now)
                })
            }
        }
    }

    /// Writes a new piece. `begin` completes the line for its beginning.
    ///
    /// The piece begins at a counter value that is read after the sequence number has become odd.
    /// Whoever still got a time from the old piece read the counter before that, so that the old
    /// piece never gives a later time than the new one has at its beginning.
    fn publish<C: Counter>(&self, piece: Piece, begin: impl FnOnce(Line, u64) -> Line) -> Renewed {
        let sequence = Word(self.word.load(Ordering::Relaxed)).sequence() & !1;
        self.word.store(Word::new(sequence | 1, MODE).0, Ordering::Relaxed);
        // Orders the store above before the stores below, and before the read of the counter.
        fence(Ordering::SeqCst);
        let now = C::read_ordered();
        let line = begin(scale(piece.slope), now);
        self.cycle_last.store(line.cycle_last, Ordering::Relaxed);
        self.mask.store(line.mask, Ordering::Relaxed);
        self.scale.store(u64::from(line.shift) << 32 | u64::from(line.mult), Ordering::Relaxed);
        self.monotonic[0].store(line.sec, Ordering::Relaxed);
        self.monotonic[1].store(line.snsec, Ordering::Relaxed);
        self.window.store(piece.window, Ordering::Relaxed);
        self.armed.store(now, Ordering::Relaxed);
        let even = Word::new(sequence.wrapping_add(2), MODE).0;
        self.word.store(even, Ordering::Release);
        self.state.store(RUNNING, Ordering::Release);
        Renewed::Until { armed: now, window: piece.window }
    }

    /// Takes the line out of use.
    fn retire(&self) -> Renewed {
        let was = self.state.swap(RETIRED, Ordering::AcqRel);
        let floor_ns = if was == RUNNING {
            let window = self.window.load(Ordering::Relaxed).saturating_mul(2);
            self.line(1).at(self.armed.load(Ordering::Relaxed).wrapping_add(window))
        } else {
            0
        };
        // Even, with a mode that is no counter: a reader in the middle sees a change.
        let sequence = Word(self.word.load(Ordering::Relaxed)).sequence() & !1;
        self.word.store(Word::new(sequence.wrapping_add(2), 0).0, Ordering::Release);
        Renewed::Wrong { floor_ns }
    }

    /// Takes the line out of use because something better has been found, or the kernel has left
    /// the counter. `false` if somebody is renewing it now.
    pub(crate) fn put_away(&self) -> Option<u64> {
        if self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return None;
        }
        let Renewed::Wrong { floor_ns } = self.retire() else { return None };
        self.state.store(BLANK, Ordering::Release);
        self.lock.store(0, Ordering::Release);
        Some(floor_ns)
    }
}

impl Cells for Page {
    fn word(&self, order: Ordering) -> Word {
        Word(self.word.load(order))
    }

    fn line(&self, _clock: usize) -> Line {
        let scale = self.scale.load(Ordering::Relaxed);
        Line {
            cycle_last: self.cycle_last.load(Ordering::Relaxed),
            mask: u64::MAX,
            mult: scale as u32,
            shift: (scale >> 32) as u32,
            sec: self.monotonic[0].load(Ordering::Relaxed),
            snsec: self.monotonic[1].load(Ordering::Relaxed),
        }
    }
}

/// A line with that slope, in the kernel's form: `mult` with as many bits as the short arithmetic
/// allows (below 2^31, so that 2^32 cycles fit), which is 2^-30 of the rate or better.
fn scale(slope: u64) -> Line {
    // slope = mult / 2^shift * 2^RATE_SHIFT.
    let mut shift = 32;
    while shift > 1 && slope >> (RATE_SHIFT - shift) >= 1 << 31 {
        shift -= 1;
    }
    // Rounded, the error is half of the last of about 31 bits.
    let mult = (slope + (1 << (RATE_SHIFT - shift - 1))) >> (RATE_SHIFT - shift);
    let mult = u32::try_from(mult).unwrap_or(u32::MAX);
    Line { cycle_last: 0, mask: u64::MAX, mult, shift, sec: 0, snsec: 0 }
}

/// That line, beginning at a time.
fn at(line: Line, ns: u64, cycles: u64) -> Line {
    let snsec = (ns % NS_PER_SECOND) << line.shift;
    Line { cycle_last: cycles, sec: ns / NS_PER_SECOND, snsec, ..line }
}

/// That line, beginning where another one is, fractions of a nanosecond included.
fn continued(line: Line, old: &Line, cycles: u64) -> Line {
    let delta = cycles.wrapping_sub(old.cycle_last);
    let delta = if delta > u64::MAX >> 1 { 0 } else { delta };
    let total = u128::from(delta) * u128::from(old.mult) + u128::from(old.snsec);
    let ns = total >> old.shift;
    let fraction = (total & ((1u128 << old.shift) - 1)) as u64;
    let fraction = match line.shift.checked_sub(old.shift) {
        Some(left) => fraction << left,
        None => fraction >> (old.shift - line.shift),
    };
    let seconds = u64::try_from(ns / u128::from(NS_PER_SECOND)).unwrap_or(u64::MAX);
    let rest = (ns % u128::from(NS_PER_SECOND)) as u64;
    Line {
        cycle_last: cycles,
        sec: old.sec.wrapping_add(seconds),
        snsec: (rest << line.shift) + fraction,
        ..line
    }
}

/// Best of some brackets of the kernel's clock between two reads of the counter.
pub(crate) fn sample<C: Counter>(
    brackets: u32,
    mut kernel: impl FnMut() -> Option<u64>,
) -> Option<Sample> {
    let mut best: Option<Sample> = None;
    for _ in 0..brackets {
        let before = C::read_ordered();
        let ns = kernel()?;
        let after = C::read_ordered();
        let width = after.wrapping_sub(before);
        if best.is_none_or(|best| width < best.width) {
            best = Some(Sample { cycles: before.wrapping_add(width / 2), ns, width });
        }
    }
    best
}

/// Cycles in a time, on that line.
pub(crate) fn span(ns: u64, line: &Line) -> u64 {
    let cycles = (u128::from(ns) << (line.shift & 63)) / u128::from(line.mult.max(1));
    u64::try_from(cycles).unwrap_or(u64::MAX)
}

//! A clock that all threads of a process share, and that cannot go back: one function of the
//! counter.
//!
//! # Why it is monotone
//!
//! Every value that is ever given is `f(c)`, where `c` is the counter as the reader read it, and `f`
//! is *one* function that never falls and that is never changed where it may have been used:
//!
//! - `f` is known up to a counter value, its end. It consists of pieces; the state that is published
//!   has two of them: one for now, and the next one.
//! - A reader that finds the first one used up reads the kernel's clock and publishes a new state: the
//!   second piece becomes the first, and a new one is added *after the end*. The new piece corrects
//!   the difference from the kernel's clock.
//! - No reader uses `f` beyond its end. So, if the end has been passed, or the kernel's time is
//!   already later than `f` is at its end, a new piece may begin at once, at the kernel's time: every
//!   value that was given is at most `f(end)`.
//! - If the kernel's time is earlier than that (the counter jumped, or was set back), the new
//!   piece begins at `f(end)`, and rises more slowly until the kernel's time has come up.
//!
//! Counters of different processors agree (that is proven before, see `clocksmith::test_counters`), and an ordered read
//! of the counter is not earlier than the instructions before it. So a read that follows another one, in any thread,
//! has a counter that is not less; hence its value is not less. It does not matter which of several states a reader has
//! seen: they agree where both are defined.
//!
//! No value comes from the kernel directly, not even the first one: that would be a different function, and
//! the two differ by the error of the line. If the line must be given up ([`Answer::Retired`]), it stays
//! unused, and the kernel's time is then not given before it is later than `f(end)`.
//!
//! A counter that is set back is noticed if it is before the beginning of the state. A smaller change (at
//! most 20 ms) is not noticed, and time goes back with the counter, as it does in the kernel's own vDSO.
//!
//! Two exceptions: when the kernel's own CLOCK_MONOTONIC is less than it was (a process has entered
//! another time namespace), `f` follows; and processes do not share `f`, so that an order between
//! processes holds up to the errors of their lines.
//!
//! # Publication
//!
//! A state is in one of several slots, and one word has the number of the slot. A writer takes a free slot, fills it
//! and exchanges the word; if another writer was faster, the word stays as it is. So no reader waits for a writer that
//! has been stopped, or interrupted by a signal handler that reads the clock. A slot that is lost with its writer (a
//! thread that was cancelled in these few instructions) is never used again; there are enough slots.
//!
//! The measured rate (`discipline.rs`) is behind a lock that is only tried, never waited for: without
//! it, the last rate is good enough. It is in memory that a forked child finds empty.

#[cfg(all(test, clocksmith_loom))]
mod model;
mod plan;
mod slots;
#[cfg(all(test, not(clocksmith_loom)))]
mod tests;

use crate::clock_id::ClockId;
use crate::discipline::{Discipline, Sample};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use core::cell::UnsafeCell;
pub(crate) use plan::{Measured, Which};
use slots::Word;
pub use slots::{Shared, State};

/// A clock that the line serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_BOOTTIME`.
    Boottime,
}

impl Clock {
    /// The clock with this number, if the line serves it.
    #[inline(always)]
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        const MONOTONIC: i32 = ClockId::Monotonic.number();
        const REALTIME: i32 = ClockId::Realtime.number();
        const BOOTTIME: i32 = ClockId::Boottime.number();
        match number {
            MONOTONIC => Some(Self::Monotonic),
            REALTIME => Some(Self::Realtime),
            BOOTTIME => Some(Self::Boottime),
            _ => None,
        }
    }

    /// The number of the system call interface.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> i32 {
        match self {
            Self::Monotonic => ClockId::Monotonic.number(),
            Self::Realtime => ClockId::Realtime.number(),
            Self::Boottime => ClockId::Boottime.number(),
        }
    }
}

/// The inputs of the clock. The real ones are the processor and the kernel; tests have others.
pub trait Environment {
    /// The counter, read after all earlier instructions if ordered reads are set.
    fn counter(&self) -> u64;
    /// The kernel's clock by a real system call, in nanoseconds; `None` if it refuses.
    fn kernel(&self, clock: Clock) -> Option<u64>;
    /// Waits for an instant.
    fn relax(&self) {
        core::hint::spin_loop();
    }
}

/// The parameters that are known before the first read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Nanoseconds per cycle, times 2^48.
    pub rate: u64,
    /// By how many cycles a counter may be behind without a fault.
    pub slack: u64,
}

/// The part that a forked child finds empty. Zero bytes are a new one.
#[repr(C)]
#[derive(Default)]
pub struct Local {
    /// 1 once this process has read the kernel's clock itself.
    here: AtomicU64,
    /// The counter when a thread last began to read the kernel's clock.
    measuring: AtomicU64,
    lock: AtomicU32,
    discipline: UnsafeCell<Remembered>,
}

/// The data that only the holder of the lock accesses.
#[derive(Default)]
pub(crate) struct Remembered {
    discipline: Discipline,
    begun: bool,
}

// SAFETY: everything is atomic but `discipline`, which only the holder of the lock touches.
unsafe impl Sync for Local {}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The time in nanoseconds.
    Time(u64),
    /// There is no longer a line: read the kernel's clock, and pass its time to [`not_before`].
    Retired {
        /// The latest time of that clock that the line has given, or more.
        floor: u64,
    },
}

/// A line that is so far ahead of the kernel's clock belongs to another time namespace.
const ANOTHER_NS: u64 = 50_000_000;

/// The kernel's time after a line has been given up: not before the line's last time.
#[must_use]
pub fn not_before(floor: u64, kernel_ns: u64) -> u64 {
    let ahead = floor.saturating_sub(kernel_ns);
    if ahead < ANOTHER_NS { kernel_ns.max(floor) } else { kernel_ns }
}

/// How often a reader looks before it uses the present state.
const LOOKS: u32 = 64;
/// How long another thread may take to read the kernel's clock, in nanoseconds.
const PATIENCE_NS: u64 = 40_000;

/// The clock: the addresses of its memory, and its data from before the first read.
#[derive(Clone, Copy)]
pub struct Timeline<'a> {
    /// The part that a forked child keeps.
    pub shared: &'a Shared,
    /// The part that a forked child finds empty.
    pub local: &'a Local,
    /// The parameters that are known before the first read.
    pub parameters: Parameters,
}

impl Timeline<'_> {
    /// Reads a clock.
    #[inline(always)]
    pub fn read<E: Environment>(&self, env: &E, clock: Clock) -> Answer {
        let word = self.shared.word(Ordering::Acquire);
        let slot = self.shared.slot(word);
        let here = self.local.here.load(Ordering::Relaxed);
        let cycles = env.counter();
        let ahead = cycles.wrapping_sub(slot.begin());
        let ns = slot.first(ahead).wrapping_add(slot.offset(clock));
        if ahead <= slot.first_length() && self.shared.is_still(word) && here == 1 {
            return Answer::Time(ns);
        }
        self.look_after(env, clock)
    }

    /// The first piece is used up, or there is none.
    #[cold]
    #[inline(never)]
    fn look_after<E: Environment>(&self, env: &E, clock: Clock) -> Answer {
        let mut good = None;
        let mut waited = false;
        for _ in 0..LOOKS {
            let word = self.shared.word(Ordering::Acquire);
            let here = self.local.here.load(Ordering::Acquire) == 1;
            let cycles = env.counter();
            let Some(state) = self.shared.read(word) else { continue };
            let offset = state.offset(clock);
            if state.is_retired() {
                return Answer::Retired { floor: state.end().wrapping_add(offset) };
            }
            if word == Word::NONE || !here {
                // Nothing to go by, or another process's.
                self.renew(env, word, &state, !here);
                continue;
            }
            // Not in the future: later times must not be less.
            good = Some(state.end().wrapping_add(offset));
            match state.position(cycles, self.parameters.slack) {
                Which::First(ns) => return Answer::Time(ns.wrapping_add(offset)),
                Which::Second(ns) => {
                    good = Some(ns.wrapping_add(offset));
                    // One reader that notices is enough.
                    if !self.claim(cycles, state.rate) {
                        return Answer::Time(ns.wrapping_add(offset));
                    }
                }
                Which::Beyond => {
                    // Another thread may be reading the kernel's clock. It may also be the code
                    // that this signal handler interrupted.
                    if !self.claim(cycles, state.rate) && !waited {
                        waited = true;
                        self.wait(env, word, cycles, state.rate);
                        continue;
                    }
                }
                Which::Behind => {}
            }
            self.renew(env, word, &state, false);
        }
        // This thread is preempted after each of its attempts, for longer than its published state lasts.
        // The end of an expired state is in order, though late; without a state there was no other time.
        good.map_or(Answer::Retired { floor: 0 }, Answer::Time)
    }

    /// Whether this thread should read the kernel's clock, because no other thread is doing so.
    fn claim(&self, cycles: u64, rate: u64) -> bool {
        let since = self.local.measuring.load(Ordering::Relaxed);
        let patience = crate::discipline::cycles(PATIENCE_NS, rate);
        (since == 0 || cycles.wrapping_sub(since) > patience)
            && self
                .local
                .measuring
                .compare_exchange(since, cycles.max(1), Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    fn wait<E: Environment>(&self, env: &E, word: Word, begun: u64, rate: u64) {
        let patience = crate::discipline::cycles(PATIENCE_NS, rate);
        while self.shared.is_still(word) && env.counter().wrapping_sub(begun) < patience {
            env.relax();
        }
    }

    /// Reads the kernel's clock, and publishes a state that follows the one that was read.
    fn renew<E: Environment>(&self, env: &E, word: Word, state: &State, child: bool) {
        let measured = Measured::take(env);
        let next = match measured {
            None => state.retired(),
            Some(measured) => {
                let blank = word == Word::NONE;
                let old = (!blank).then_some(state);
                self.with_discipline(|remembered| {
                    plan::next(old, &measured, remembered, child, self.parameters.rate)
                })
            }
        };
        self.shared.publish(word, &next);
        self.local.measuring.store(0, Ordering::Relaxed);
        if measured.is_some() {
            self.local.here.store(1, Ordering::Release);
        }
    }

    fn with_discipline<R>(&self, work: impl FnOnce(Option<&mut Remembered>) -> R) -> R {
        let lock = &self.local.lock;
        if lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return work(None);
        }
        // SAFETY: the lock is held, so this is the only reference.
        let result = work(Some(unsafe { &mut *self.local.discipline.get() }));
        lock.store(0, Ordering::Release);
        result
    }
}

impl Remembered {
    /// Takes a reading, as [`Discipline::step`]; begins if there was none.
    pub(crate) fn step(
        &mut self,
        sample: Sample,
        line_ns: u64,
        rate: u64,
    ) -> crate::discipline::Next {
        if !self.begun {
            self.begin(sample, rate);
        }
        self.discipline.step(sample, line_ns)
    }

    /// Begins with a rate that is already known: as if some readings with this rate had been taken.
    pub(crate) fn begin(&mut self, sample: Sample, rate: u64) {
        use crate::discipline::{SHORTEST_NS, cycles, times};
        self.begun = true;
        let step = cycles(SHORTEST_NS, rate);
        let before = |steps: u64| Sample {
            cycles: sample.cycles.wrapping_sub(steps * step),
            ns: sample.ns.wrapping_sub(times(steps * step, rate)),
            ..sample
        };
        if sample.ns < 5 * SHORTEST_NS {
            self.discipline = Discipline::new(sample);
            return;
        }
        self.discipline = Discipline::new(before(4));
        for steps in [3, 2, 1] {
            self.discipline.step(before(steps), 0);
        }
    }

    /// Begins with nothing but a reading.
    pub(crate) fn restart(&mut self, sample: Sample) {
        self.begun = true;
        self.discipline = Discipline::new(sample);
    }

    pub(crate) fn rate(&self) -> u64 {
        self.discipline.rate()
    }
}

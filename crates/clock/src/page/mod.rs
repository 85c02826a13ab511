//! Our own page: a line in the kernel's form, renewed by whichever reader finds its window over.
//!
//! Readers never wait for a writer that has stopped: the lock is only tried, never waited for, and
//! a reader of a page that stays odd gives up after a while. So reads are safe in a signal handler
//! that interrupted the writer, and in a child that was forked while another thread was writing.

#[cfg(all(test, clocksmith_loom))]
mod model;
#[cfg(all(test, not(clocksmith_loom)))]
mod tests;

use crate::line::{self, Cells, Line, Unread, Word};
use crate::view::Form;
use clocksmith_raw::counter::Counter;
use clocksmith_raw::discipline::{
    Discipline, LONGEST_NS, Next, Piece, RATE_SHIFT, SHORTEST_NS, Sample, times,
};
use clocksmith_raw::sync::{AtomicU32, AtomicU64, Ordering, fence};
use core::cell::UnsafeCell;
// Of the engine, which loom does not model.
use core::sync::atomic::AtomicU64 as Floor;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The mode of the library's own page while it can be read.
const MODE: u32 = 1;

/// `state` of a page that has not been started: the value in fresh memory, and in a forked child
/// (`MADV_WIPEONFORK`).
const BLANK: u32 = 0;
/// A first reading has been taken; there is no line yet.
const WAITING: u32 = 1;
/// There is a line.
const RUNNING: u32 = 2;
/// State of a line that was found to be wrong.
const RETIRED: u32 = 3;

/// The page. Zero bytes are a blank one.
#[repr(C)]
pub(crate) struct Page {
    // The kernel's form, which `view::Raw` reads: the word, `cycle_last`, then `tail` words after
    // the word the mask (in front of it), the scale, and two bases.
    word: AtomicU64,
    cycle_last: AtomicU64,
    rest: [AtomicU64; 7],

    /// The form: bytes from the word to the tail; 0 in a blank page.
    tail: AtomicU32,
    state: AtomicU32,
    lock: AtomicU32,
    /// The counter when the line was last renewed, and for how many cycles it holds.
    armed: AtomicU64,
    window: AtomicU64,
    /// The kernel's time before which another reading is useless.
    due_ns: AtomicU64,
    writer: UnsafeCell<Writer>,
}

/// The data that only the holder of `lock` accesses.
#[derive(Default)]
struct Writer {
    /// The sequence number in `word` between writes: even.
    sequence: u32,
    discipline: Discipline,
}

// SAFETY: everything is atomic but `writer`, which only the holder of the lock touches.
unsafe impl Sync for Page {}

/// The result of an attempt to renew the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// There is a line that is valid from this counter value on, for this number of cycles.
    Until {
        /// The counter at its beginning.
        armed: u64,
        /// Cycles.
        window: u64,
    },
    /// It is too early for a line.
    Waiting,
    /// Another thread is renewing the line.
    Busy,
    /// The counter and the kernel's clock contradict each other. The line is no longer read; no
    /// reader got more than the floor from it.
    Wrong,
}

impl Page {
    /// Sets the form in which it will be read: that of the engine, each time before it is renewed
    /// (a child's page is blank).
    pub(crate) fn take_form(&self, form: Form) {
        // The tails are 24 and 32.
        self.tail.store(form.tail() as u32, Ordering::Relaxed);
    }

    /// The form in which it is read.
    pub(crate) fn form(&self) -> Form {
        Form::of_tail(self.tail.load(Ordering::Relaxed) as usize).unwrap_or(Form::SHORT)
    }

    /// Mask, scale, and the seconds and fraction of CLOCK_MONOTONIC.
    fn tail_cells(&self) -> [&AtomicU64; 4] {
        let [word_2, word_3, word_4, _, word_6, word_7, word_8] = &self.rest;
        // The tail is word 3 or 4, and the base of CLOCK_MONOTONIC begins three words after it.
        if self.form() == Form::LONG {
            [word_3, word_4, word_7, word_8]
        } else {
            [word_2, word_3, word_6, word_7]
        }
    }

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

    /// Takes readings and renews the line. `sample` reads the kernel's clock; it may be called with
    /// the lock held, so it must not read this clock. A new line does not begin before `floor`
    /// nanoseconds; a line that ends raises it to the latest time that it gave.
    pub(crate) fn renew<C: Counter>(
        &self,
        sample: impl FnOnce() -> Option<Sample>,
        floor: &Floor,
    ) -> Renewed {
        if self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Renewed::Busy;
        }
        // SAFETY: the lock is held, so this is the only reference.
        let writer = unsafe { &mut *self.writer.get() };
        let renewed = self.renew_locked::<C>(writer, sample, floor);
        self.lock.store(0, Ordering::Release);
        renewed
    }

    fn renew_locked<C: Counter>(
        &self,
        writer: &mut Writer,
        sample: impl FnOnce() -> Option<Sample>,
        floor: &Floor,
    ) -> Renewed {
        let state = self.state.load(Ordering::Relaxed);
        let (armed, window) =
            (self.armed.load(Ordering::Relaxed), self.window.load(Ordering::Relaxed));
        // Another reader may have been quicker.
        if state == RUNNING && C::read().wrapping_sub(armed) <= window / 2 {
            return Renewed::Until { armed, window };
        }
        let Some(sample) = sample() else { return self.retire::<C>(&mut writer.sequence, floor) };
        let Writer { sequence, discipline } = writer;
        if state != WAITING && state != RUNNING {
            *discipline = Discipline::new(sample);
            self.due_ns.store(sample.ns.saturating_add(SHORTEST_NS), Ordering::Relaxed);
            self.state.store(WAITING, Ordering::Release);
            return Renewed::Waiting;
        }
        let old = (state == RUNNING).then(|| self.line(1));
        let line_ns = old.map_or(0, |line| line.at(sample.cycles));
        match discipline.step(sample, line_ns) {
            Next::Wait => {
                self.due_ns.store(sample.ns.saturating_add(SHORTEST_NS), Ordering::Relaxed);
                Renewed::Waiting
            }
            Next::Disagree => self.retire::<C>(sequence, floor),
            Next::Continue(piece) => self.publish::<C>(sequence, piece, |line, now| match old {
                Some(old) => continued(line, &old, now),
                None => at(line, sample.ns, now),
            }),
            Next::Anew(piece) => {
                let rate = discipline.rate();
                let latest = old.map_or(0, |old| self.latest::<C>(&old));
                self.publish::<C>(sequence, piece, |line, now| {
                    let floor = floor.load(Ordering::Relaxed).max(latest);
                    // Farther ahead than a line can be: of another time (a time namespace).
                    let ahead = floor.saturating_sub(sample.ns);
                    let floor = if ahead > 4 * LONGEST_NS { 0 } else { floor };
                    let since = times(now.wrapping_sub(sample.cycles), rate);
                    at(line, sample.ns.wrapping_add(since).max(floor), now)
                })
            }
        }
    }

    /// Writes a new piece. `begin` completes the line for its beginning.
    ///
    /// The piece begins at a counter value that is read after the sequence number has become odd. A
    /// thread that still got a time from the old piece read the counter before that, so the old
    /// piece never gives a later time than the new one has at its beginning.
    fn publish<C: Counter>(
        &self,
        sequence: &mut u32,
        piece: Piece,
        begin: impl FnOnce(Line, u64) -> Line,
    ) -> Renewed {
        self.word.store(Word::new(*sequence | 1, MODE).0, Ordering::Relaxed);
        // Orders the store above before the stores below, and before the read of the counter.
        fence(Ordering::SeqCst);
        let now = C::read_ordered();
        let line = begin(scale(piece.slope), now);
        self.cycle_last.store(line.cycle_last, Ordering::Relaxed);
        let [mask, scale, sec, snsec] = self.tail_cells();
        mask.store(line.mask, Ordering::Relaxed);
        scale.store(u64::from(line.shift) << 32 | u64::from(line.mult), Ordering::Relaxed);
        sec.store(line.sec, Ordering::Relaxed);
        snsec.store(line.snsec, Ordering::Relaxed);
        self.window.store(piece.window, Ordering::Relaxed);
        self.armed.store(now, Ordering::Relaxed);
        *sequence = sequence.wrapping_add(2);
        self.word.store(Word::new(*sequence, MODE).0, Ordering::Release);
        self.state.store(RUNNING, Ordering::Release);
        Renewed::Until { armed: now, window: piece.window }
    }

    /// The latest time that any reader got from the line: readers have read the counter before now,
    /// and use the line for a second window at most, while it is being renewed.
    fn latest<C: Counter>(&self, line: &Line) -> u64 {
        let window = self.window.load(Ordering::Relaxed).saturating_mul(2);
        let end = line.at(self.armed.load(Ordering::Relaxed).wrapping_add(window));
        line.at(C::read_ordered()).min(end)
    }

    /// Takes the line out of use, and raises `floor` to the latest time that a reader got from it.
    ///
    /// As in [`publish`](Self::publish), a thread that still gets a time from the line read the
    /// counter before the sequence number became odd. A thread that finds no line sees the floor.
    fn retire<C: Counter>(&self, sequence: &mut u32, floor: &Floor) -> Renewed {
        let was = self.state.swap(RETIRED, Ordering::AcqRel);
        self.word.store(Word::new(*sequence | 1, MODE).0, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if was == RUNNING {
            floor.fetch_max(self.latest::<C>(&self.line(1)), Ordering::Relaxed);
        }
        // Even, with a mode that is not a counter: a reader in the middle sees a change.
        *sequence = sequence.wrapping_add(2);
        self.word.store(Word::new(*sequence, 0).0, Ordering::Release);
        Renewed::Wrong
    }

    /// Raises the floor to a time that the kernel gave, and returns that. If a line begins meanwhile,
    /// which may not see it, returns the line's time: the thread's later times will be the line's.
    /// `None` if the line is still being written after that many tries.
    ///
    /// The fences here and in [`publish`](Self::publish) let at least one of the two see the other.
    pub(crate) fn raise<C: Counter>(
        &self,
        floor: &Floor,
        kernel_ns: u64,
        tries: u32,
    ) -> Option<u64> {
        floor.fetch_max(kernel_ns, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        for _ in 0..tries {
            match line::read(self, 1, C::read_ordered) {
                Ok((line, cycles)) => {
                    let age = cycles.wrapping_sub(self.armed.load(Ordering::Relaxed));
                    let window = self.window.load(Ordering::Relaxed);
                    if age <= window.saturating_mul(2) {
                        return Some(line.at(cycles));
                    }
                    // Readers do not use it for longer, unless it has been renewed meanwhile.
                    if age <= u64::MAX / 2 {
                        return Some(kernel_ns);
                    }
                }
                Err(Unread::Mode(_)) => return Some(kernel_ns),
                Err(Unread::Changing) => {}
            }
            core::hint::spin_loop();
        }
        None
    }

    /// Takes the line out of use because something better has been found, or the kernel has left
    /// the counter. `false` if another thread is renewing it now.
    pub(crate) fn put_away<C: Counter>(&self, floor: &Floor) -> bool {
        if self.lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        // SAFETY: the lock is held, so this is the only reference.
        let writer = unsafe { &mut *self.writer.get() };
        self.retire::<C>(&mut writer.sequence, floor);
        self.state.store(BLANK, Ordering::Release);
        self.lock.store(0, Ordering::Release);
        true
    }
}

#[cfg(test)]
#[cfg_attr(clocksmith_loom, allow(dead_code))]
impl Page {
    /// A blank page.
    pub(crate) fn new() -> Self {
        let cell = || AtomicU64::new(0);
        Self {
            word: cell(),
            cycle_last: cell(),
            rest: std::array::from_fn(|_| cell()),
            tail: AtomicU32::new(0),
            state: AtomicU32::new(BLANK),
            lock: AtomicU32::new(0),
            armed: cell(),
            window: cell(),
            due_ns: cell(),
            writer: UnsafeCell::new(Writer::default()),
        }
    }

    /// As if a writer had been stopped for good.
    pub(crate) fn lock_for_ever(&self) {
        self.lock.store(1, Ordering::Relaxed);
    }

    /// As if a writer had been stopped in the middle.
    pub(crate) fn stay_odd(&self) {
        self.word.fetch_or(1, Ordering::Relaxed);
    }
}

impl Cells for Page {
    fn word(&self, order: Ordering) -> Word {
        Word(self.word.load(order))
    }

    fn line(&self, _clock: usize) -> Line {
        let [_, scale, sec, snsec] = self.tail_cells();
        let scale = scale.load(Ordering::Relaxed);
        Line {
            cycle_last: self.cycle_last.load(Ordering::Relaxed),
            mask: u64::MAX,
            mult: scale as u32,
            shift: (scale >> 32) as u32,
            sec: sec.load(Ordering::Relaxed),
            snsec: snsec.load(Ordering::Relaxed),
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
            let cycles = before.wrapping_add(width / 2);
            best = Some(Sample { cycles, ns, width, only_width_tells: false });
        }
    }
    best
}

/// Cycles in a time, on that line.
pub(crate) fn span(ns: u64, line: &Line) -> u64 {
    let cycles = (u128::from(ns) << (line.shift & 63)) / u128::from(line.mult.max(1));
    u64::try_from(cycles).unwrap_or(u64::MAX)
}

//! The line from counter to nanoseconds, in the form in which the kernel publishes it, and the
//! sequence lock around it.
//!
//! The kernel's formula (`lib/vdso/gettimeofday.c`, `do_hres()`, since 5.3):
//!
//! ```text
//! ns = (base.nsec + ((cycles - cycle_last) & mask) * mult) >> shift
//! time = base.sec seconds + ns
//! ```
//!
//! where `base.nsec` is already shifted. A counter that is *behind* `cycle_last` is treated as
//! equal to it (x86, `vdso_calc_delta()`; and `vdso_calc_ns()` since 6.10): the counters of two
//! processors may differ by a few cycles, and time must not jump forward by 2^64 cycles because of
//! it.
//!
//! Both the kernel's page and the library's own have this form, so one fast path reads either.

use clocksmith_raw::sync::{Ordering, fence};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The numbers of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The counter at which the line begins.
    pub(crate) cycle_last: u64,
    /// The bits of the counter that count.
    pub(crate) mask: u64,
    /// Nanoseconds per cycle, times 2^shift.
    pub(crate) mult: u32,
    /// See `mult`; below 64.
    pub(crate) shift: u32,
    /// Whole seconds at `cycle_last`.
    pub(crate) sec: u64,
    /// Nanoseconds beyond them, times 2^shift.
    pub(crate) snsec: u64,
}

impl Line {
    /// The time at a counter value, in nanoseconds, for any counter value.
    ///
    /// The vDSO's multiplication is 64 bits wide before 6.10, and wraps when nothing has updated
    /// the page for minutes; this does not.
    pub(crate) fn at(&self, cycles: u64) -> u64 {
        let delta = cycles.wrapping_sub(self.cycle_last) & self.mask;
        // More than half of the range ahead is behind.
        let delta = if delta > self.mask >> 1 { 0 } else { delta };
        let product = u128::from(delta) * u128::from(self.mult) + u128::from(self.snsec);
        // Any plausible line is far below 2^64 ns (584 years) here; an implausible one wraps.
        let ns = (product >> (self.shift & 63)) as u64;
        self.sec.wrapping_mul(NS_PER_SECOND).wrapping_add(ns)
    }

    /// The same for a counter value that is known to be at most `limit()` ahead.
    #[inline(always)]
    pub(crate) fn near(&self, delta: u64) -> u64 {
        let ns = delta.wrapping_mul(u64::from(self.mult)).wrapping_add(self.snsec);
        self.sec.wrapping_mul(NS_PER_SECOND).wrapping_add(ns >> (self.shift & 63))
    }

    /// The same line, with everything done that can be done before the counter is known.
    ///
    /// Modulo 2^64 it is the same: `(cycles - cycle_last) * mult + snsec`, which fits into 64 bits,
    /// is `cycles * mult + (snsec - cycle_last * mult)`.
    #[inline(always)]
    pub(crate) fn ready(&self) -> Ready {
        let mult = u64::from(self.mult);
        Ready {
            mult,
            origin: settle(self.snsec.wrapping_sub(self.cycle_last.wrapping_mul(mult))),
            shift: u64::from(self.shift & 63),
            whole_ns: self.sec.wrapping_mul(NS_PER_SECOND),
        }
    }

    /// How far ahead of `cycle_last` the 64-bit arithmetic of `near` reaches, for `mult` and all
    /// the values that it may take while the kernel steers the clock (up to 11 %,
    /// `timekeeping_adjust()`), and for any fraction of a second.
    pub(crate) fn limit(mult: u32, shift: u32) -> u64 {
        // A fraction below one second, with the additions since the last whole second (the kernel normalises at each
        // update; twice as much is allowed for).
        let fraction = u128::from(2 * NS_PER_SECOND) << (shift & 63);
        let room = (1u128 << 64).saturating_sub(fraction);
        let limit = room / (u128::from(mult.max(1)) * 5 / 4 + 1);
        // Half of the range at most: a value beyond this counts as behind.
        u64::try_from(limit).unwrap_or(u64::MAX).min(u64::MAX >> 1)
    }
}

/// A line without the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ready {
    mult: u64,
    origin: u64,
    shift: u64,
    whole_ns: u64,
}

impl Ready {
    /// The time at a counter value that is at most `limit()` ahead of the line's beginning, on a
    /// 64-bit counter.
    ///
    /// The counter comes in two halves (x86), which are multiplied in parallel: combining them
    /// first would add a wait.
    #[inline(always)]
    pub(crate) fn near(&self, cycles: u64) -> u64 {
        let low = settle((cycles & 0xffff_ffff).wrapping_mul(self.mult)).wrapping_add(self.origin);
        let high = settle((cycles >> 32).wrapping_mul(self.mult)) << 32;
        let ns = low.wrapping_add(high) >> self.shift;
        self.whole_ns.wrapping_add(ns)
    }
}

/// Hides the origin of a value from the compiler, which would otherwise combine the two products above again.
#[inline(always)]
fn settle(value: u64) -> u64 {
    #[cfg(all(target_pointer_width = "64", not(miri)))]
    {
        let mut value = value;
        // SAFETY: no instruction.
        unsafe {
            core::arch::asm!("/* {} */", inout(reg) value,
                options(nomem, nostack, preserves_flags));
        }
        value
    }
    #[cfg(any(not(target_pointer_width = "64"), miri))]
    value
}

/// `clock_mode` of a page whose numbers are offsets of a time namespace, not times
/// (`VDSO_CLOCKMODE_TIMENS` = `INT_MAX`, since 5.6). Its sequence number is always 1.
pub(crate) const MODE_TIMENS: u32 = i32::MAX as u32;

/// Sequence number (low half) and clock mode (high half), as in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    /// The word in place of a page: an odd sequence number, and a mode that is not a counter.
    pub(crate) const NONE: Self = Self((MODE_TIMENS as u64) << 32 | 1);

    pub(crate) const fn new(sequence: u32, mode: u32) -> Self {
        Self((mode as u64) << 32 | sequence as u64)
    }

    #[inline(always)]
    pub(crate) const fn mode(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether the page is being written (or is not a page with times).
    #[inline(always)]
    pub(crate) const fn is_odd(self) -> bool {
        self.0 & 1 == 1
    }

    /// Whether the page can be read, and its clock is the counter.
    #[inline(always)]
    pub(crate) const fn is_counter(self) -> bool {
        if cfg!(target_arch = "aarch64") {
            !self.is_odd() && clocksmith_raw::counter::is_counter_mode(self.mode())
        } else {
            // One comparison for both: the bit that marks odd numbers is put in front of the mode.
            self.0 & 0xffff_ffff_0000_0001 == 1 << 32
        }
    }
}

/// A page of such numbers, read piece by piece.
pub(crate) trait Cells {
    /// Sequence number and mode.
    fn word(&self, order: Ordering) -> Word;
    /// The numbers; torn, if the page is written meanwhile. `clock` is the clock's id.
    fn line(&self, clock: usize) -> Line;
    /// The seconds and the shifted nanoseconds of the line: all that a coarse clock needs.
    #[inline(always)]
    fn times(&self, clock: usize) -> (u64, u64) {
        let line = self.line(clock);
        (line.sec, line.snsec)
    }
}

/// Why a line could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// The page is being written, or has been written meanwhile.
    Changing,
    /// The page's clock is not the counter. The mode, which is [`MODE_TIMENS`] also for no page.
    Mode(u32),
}

/// Reads a line and the counter together: both belong to the same state of the page.
///
/// The counter is read between two looks at the sequence number, if order matters. If it is read
/// before the first look, as an unordered one is, or is executed before it, the line may be a newer
/// one, and the counter behind its beginning; [`Line::at`] counts that as its beginning, which is
/// not earlier than the counter's time and not later than now. If it were executed later than the
/// second look, the line would be continued for a few cycles too many: the kernel's lines
/// meet where one follows another.
#[inline(always)]
pub(crate) fn read_prepared<C: Cells, P>(
    cells: &C,
    clock: usize,
    prepare: impl FnOnce(&Line) -> P,
    counter: impl FnOnce() -> u64,
) -> Result<(Line, P, u64), Unread> {
    let word = cells.word(Ordering::Acquire);
    if !word.is_counter() {
        return Err(unread(word));
    }
    // The counter first: it takes longest, and the following instructions execute meanwhile.
    let cycles = counter();
    let line = cells.line(clock);
    let prepared = prepare(&line);
    // The loads of the line stay before the second look.
    fence(Ordering::Acquire);
    if cells.word(Ordering::Relaxed) != word {
        return Err(Unread::Changing);
    }
    Ok((line, prepared, cycles))
}

/// The same without preparation.
#[inline(always)]
pub(crate) fn read<C: Cells>(
    cells: &C,
    clock: usize,
    counter: impl FnOnce() -> u64,
) -> Result<(Line, u64), Unread> {
    read_prepared(cells, clock, |_| (), counter).map(|(line, (), cycles)| (line, cycles))
}

/// Reads the numbers for any mode but a time namespace's: coarse clocks need no counter.
#[inline(always)]
pub(crate) fn read_coarse<C: Cells>(cells: &C, clock: usize) -> Result<Line, Unread> {
    consistent(cells, |cells| cells.line(clock))
}

/// The same for seconds and nanoseconds only.
#[inline(always)]
pub(crate) fn read_times<C: Cells>(cells: &C, clock: usize) -> Result<(u64, u64), Unread> {
    consistent(cells, |cells| cells.times(clock))
}

/// Loads something between two looks at the sequence number.
#[inline(always)]
fn consistent<C: Cells, T>(cells: &C, load: impl FnOnce(&C) -> T) -> Result<T, Unread> {
    let word = cells.word(Ordering::Acquire);
    if word.is_odd() {
        return Err(unread(word));
    }
    let loaded = load(cells);
    fence(Ordering::Acquire);
    if cells.word(Ordering::Relaxed) != word {
        return Err(Unread::Changing);
    }
    Ok(loaded)
}

#[cold]
fn unread(word: Word) -> Unread {
    let mode = word.mode();
    if word.is_odd() && mode != MODE_TIMENS { Unread::Changing } else { Unread::Mode(mode) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn line(cycle_last: u64, mult: u32, shift: u32, sec: u64, snsec: u64) -> Line {
        Line { cycle_last, mask: u64::MAX, mult, shift, sec, snsec }
    }

    /// A page whose word changes with each look, as scripted.
    struct Script<'a>(Cell<&'a [Word]>);

    impl Cells for Script<'_> {
        fn word(&self, _order: Ordering) -> Word {
            let (first, rest) = self.0.get().split_first().unwrap();
            self.0.set(rest);
            *first
        }

        fn line(&self, clock: usize) -> Line {
            line(100, 1 << 10, 10, clock as u64, 0)
        }
    }

    fn script(words: &[Word]) -> Result<(Line, u64), Unread> {
        read(&Script(Cell::new(words)), 1, || 107)
    }

    #[test]
    fn a_line_is_read_only_if_nothing_changed() {
        let even = Word::new(4, 1);
        let (read, cycles) = script(&[even, even]).unwrap();
        assert_eq!((read.sec, cycles, read.at(cycles)), (1, 107, 1_000_000_007));
        assert_eq!(script(&[even, Word::new(5, 1)]), Err(Unread::Changing));
        assert_eq!(script(&[even, Word::new(6, 1)]), Err(Unread::Changing));
        assert_eq!(script(&[even, Word::new(4, 0)]), Err(Unread::Changing), "the mode counts too");
        assert_eq!(script(&[Word::new(5, 1)]), Err(Unread::Changing));
        assert_eq!(script(&[Word::new(4, 0)]), Err(Unread::Mode(0)));
        assert_eq!(script(&[Word::new(4, 3)]), Err(Unread::Mode(3)));
        assert_eq!(script(&[Word::NONE]), Err(Unread::Mode(MODE_TIMENS)));
        assert_eq!(Word::NONE, Word::new(1, i32::MAX as u32));
    }

    #[test]
    fn coarse_clocks_need_no_counter() {
        let coarse = |words: &[Word]| read_coarse(&Script(Cell::new(words)), 6).map(|l| l.sec);
        let hpet = Word::new(8, 0);
        assert_eq!(coarse(&[hpet, hpet]), Ok(6));
        assert_eq!(coarse(&[hpet, Word::new(10, 0)]), Err(Unread::Changing));
        assert_eq!(coarse(&[Word::NONE]), Err(Unread::Mode(MODE_TIMENS)));
    }

    #[test]
    fn line_counter_behind_gives_begin() {
        let line = line(1_000, 6_462_355, 24, 7, 5 << 24);
        assert_eq!(line.at(1_000), 7_000_000_005);
        assert_eq!(line.at(999), line.at(1_000));
        assert_eq!(line.at(0), line.at(1_000));
        assert!(line.at(1_003) > line.at(1_000));
        // A counter of 56 bits that wraps.
        let arm = Line {
            cycle_last: (1 << 56) - 1,
            mask: (1 << 56) - 1,
            mult: 1,
            shift: 1,
            sec: 0,
            snsec: 0,
        };
        assert_eq!(arm.at(3), 2);
    }

    proptest! {
        /// Against arithmetic without bounds, over the whole range.
        #[test]
        fn near_is_exact_up_to_the_limit(
            delta in any::<u64>(), mult in 1u32.., shift in 1u32..=32, sec in 0u64..1 << 33,
            fraction in 0u64..1_000_000_000, last in any::<u64>()
        ) {
            let limit = Line::limit(mult, shift);
            let delta = if limit == 0 { 0 } else { delta % limit };
            let line = line(last, mult, shift, sec, fraction << shift);
            let exact = u128::from(sec) * 1_000_000_000
                + ((u128::from(delta) * u128::from(mult) + u128::from(fraction << shift)) >> shift);
            prop_assert_eq!(u128::from(line.near(delta)), exact);
            prop_assert_eq!(u128::from(line.at(last.wrapping_add(delta))), exact);
        }

        /// Time on one line does not go backward, wherever the counter is in its range.
        #[test]
        fn a_line_rises(
            last in any::<u64>(), mult in 1u32..1 << 31, shift in 22u32..=32,
            a in 0u64..1 << 40, b in 0u64..1 << 40, behind in 0u64..1 << 62
        ) {
            // Up to 512 ns per cycle.
            let line = line(last, mult, shift, 10, 0);
            let at = |delta: u64| line.at(last.wrapping_add(delta));
            prop_assert!(at(a.min(b)) <= at(a.max(b)));
            prop_assert!(line.at(last.wrapping_sub(behind)) <= at(a));
        }

        #[test]
        fn steering_by_eleven_percent_stays_within_the_limit(mult in 1u32..1 << 31, shift in 1u32..=32) {
            let steered = u128::from(mult) * 111 / 100;
            let room = u128::from(Line::limit(mult, shift)) * steered + (1_000_000_000u128 << shift);
            prop_assert!(room < 1 << 64);
        }
    }
}

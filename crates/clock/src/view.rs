//! Where a hot read looks: a page, and until when it may be read unseen, in one cache line.

use crate::line::{self, Cells, Line, Unread, Word};
use clocksmith_raw::counter::Counter;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// Bytes from the start of `mult` to the first base (`mult`, `shift`).
const TO_BASES: usize = 8;

/// A page with times, in the kernel's form.
///
/// ```text
/// head: u32 seq, s32 clock_mode, u64 cycle_last      [u64 max_cycles,] u64 mask
/// tail: u32 mult, u32 shift, { u64 sec, u64 nsec } base[12]
/// ```
///
/// `struct vdso_data` (`include/vdso/datapage.h`, since 5.3), `struct vdso_clock` since 6.15;
/// `max_cycles` since 6.10 where the architecture enables it (x86). So the tail is 24 or 32 bytes
/// after the head, which is the only difference.
///
/// All pages of one engine have the same form (the library's own page takes the kernel's form), so
/// address and form can be two words of memory, and no reader sees one without the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    head: *const u8,
    form: Form,
}

/// Where the tail begins, in bytes after the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Form(usize);

impl Form {
    /// Without `max_cycles`.
    pub(crate) const SHORT: Self = Self(24);
    /// With `max_cycles`.
    pub(crate) const LONG: Self = Self(32);

    /// Bytes from the head to the tail.
    pub(crate) const fn tail(self) -> usize {
        self.0
    }

    /// Bytes from the head to a clock's base.
    pub(crate) const fn base(self, index: usize) -> usize {
        self.0 + TO_BASES + 16 * index
    }

    /// The form with that tail, if there is one.
    pub(crate) const fn of_tail(tail: usize) -> Option<Self> {
        if tail == Self::SHORT.0 || tail == Self::LONG.0 { Some(Self(tail)) } else { None }
    }
}

impl Raw {
    /// A page at `head`.
    ///
    /// # Safety
    ///
    /// `head` must be aligned to 8 and point into memory that stays readable for as long as this,
    /// or a copy of it, is used: up to the base of the highest clock that is read, in either form.
    pub(crate) const unsafe fn new(head: *const u8, form: Form) -> Self {
        Self { head, form }
    }

    #[inline(always)]
    fn tail(self) -> *const u8 {
        // SAFETY: in the page, by the contract of `new`.
        unsafe { self.head.add(self.form.0) }
    }

    #[inline(always)]
    pub(crate) fn head(self) -> *const u8 {
        self.head
    }

    /// Whether it is `nothing`.
    #[inline(always)]
    pub(crate) fn is_nothing(self) -> bool {
        core::ptr::eq(self.head, nothing().head)
    }

    pub(crate) fn form(self) -> Form {
        self.form
    }

    /// A base, in any state of the page: its seconds and its shifted nanoseconds.
    #[inline(always)]
    pub(crate) fn base(self, index: usize) -> (u64, u64) {
        // SAFETY: by the contract of `new`.
        unsafe {
            let base = self.tail().add(TO_BASES + 16 * index);
            (load64(base), load64(base.add(8)))
        }
    }
}

/// Loads 64 bits that the kernel or another thread may be writing: in one load where a register
/// holds them, otherwise in two, which the sequence lock covers.
///
/// # Safety
///
/// `at` must be aligned to 8 and readable.
#[inline(always)]
pub(crate) unsafe fn load64(at: *const u8) -> u64 {
    if cfg!(target_pointer_width = "64") {
        // SAFETY: by the contract. A relaxed load no wider than a register does not write, so it
        // may read memory that is mapped read-only.
        unsafe { AtomicU64::from_ptr(at as *mut u64) }.load(Ordering::Relaxed)
    } else {
        // SAFETY: by the contract; as above, twice.
        let (low, high) = unsafe {
            (
                AtomicU32::from_ptr(at as *mut u32).load(Ordering::Relaxed),
                AtomicU32::from_ptr(at.add(4) as *mut u32).load(Ordering::Relaxed),
            )
        };
        u64::from(high) << 32 | u64::from(low)
    }
}

impl Cells for Raw {
    /// Loads no further values: the compiler never leaves these loads out.
    #[inline(always)]
    fn times(&self, clock: usize) -> (u64, u64) {
        self.base(clock)
    }

    #[inline(always)]
    fn word(&self, order: Ordering) -> Word {
        // Memory that is mapped read-only allows only relaxed loads, according to the rules of the language;
        // a fence makes up for it.
        let word = if cfg!(target_pointer_width = "64") {
            // SAFETY: by the contract of `new`; see `load64`.
            Word(unsafe { AtomicU64::from_ptr(self.head() as *mut u64) }.load(Ordering::Relaxed))
        } else {
            // The sequence number first: the writer changes it before the mode.
            // SAFETY: by the contract of `new`; see `load64`.
            unsafe {
                let sequence = AtomicU32::from_ptr(self.head() as *mut u32).load(Ordering::Relaxed);
                fence(Ordering::Acquire);
                let mode = self.head().add(4) as *mut u32;
                Word::new(sequence, AtomicU32::from_ptr(mode).load(Ordering::Relaxed))
            }
        };
        if matches!(order, Ordering::Acquire) {
            fence(Ordering::Acquire);
        }
        word
    }

    #[inline(always)]
    fn line(&self, clock: usize) -> Line {
        // SAFETY: by the contract of `new`.
        unsafe {
            let scale = load64(self.tail());
            let base = self.tail().add(TO_BASES + 16 * clock);
            Line {
                cycle_last: load64(self.head().add(8)),
                // The TSC counts in 64 bits; saves a load.
                mask: if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
                    u64::MAX
                } else {
                    load64(self.tail().sub(8))
                },
                mult: scale as u32,
                shift: (scale >> 32) as u32,
                sec: load64(base),
                snsec: load64(base.add(8)),
            }
        }
    }
}

/// Numbers that replace a missing page: they send every read to the slow path. (They are never
/// written, but they are read as atomics.)
#[repr(C, align(64))]
struct Nothing {
    word: AtomicU64,
    rest: [AtomicU64; 5 + 2 * 12],
}

static NOTHING: Nothing =
    Nothing { word: AtomicU64::new(Word::NONE.0), rest: [const { AtomicU64::new(0) }; 5 + 2 * 12] };

/// Contents that no real page has.
pub(crate) const fn nothing() -> Raw {
    // SAFETY: a static of as many words as the longer form has.
    unsafe { Raw::new((&raw const NOTHING).cast::<u8>(), Form::SHORT) }
}

/// The limit of the short arithmetic, in cycles after `cycle_last`. Pages whose arithmetic overflows earlier are not
/// used. At 2.6 GHz it is 1.6 s; the kernel updates `cycle_last` at each tick.
pub(crate) const LIMIT: u64 = 1 << 32;

/// A page that can be exchanged for another of the same form while others read.
#[repr(C, align(64))]
pub(crate) struct View {
    head: AtomicPtr<u8>,
    /// Bytes from the head to the tail: the same for every page but `nothing`, which any form fits.
    tail: AtomicUsize,
    /// The counter value until which the page may be read without a renewal or a proof; 0 without a
    /// page, and then the counter is not read.
    deadline: AtomicU64,
    /// How many cycles it had when that was set.
    span: AtomicU64,
}

impl View {
    /// A view of nothing.
    pub(crate) const fn new() -> Self {
        Self {
            head: AtomicPtr::new(nothing().head as *mut u8),
            tail: AtomicUsize::new(nothing().form.0),
            deadline: AtomicU64::new(0),
            span: AtomicU64::new(0),
        }
    }

    /// The page.
    #[inline(always)]
    pub(crate) fn page(&self) -> Raw {
        let head = self.head.load(Ordering::Acquire);
        Raw { head, form: Form(self.tail.load(Ordering::Relaxed)) }
    }

    /// Shows another page, which was made by `Raw::new`, whose contract covers every later read.
    pub(crate) fn show(&self, page: Raw) {
        if page.is_nothing() {
            self.deadline.store(0, Ordering::Relaxed);
        } else {
            self.tail.store(page.form.0, Ordering::Relaxed);
        }
        self.head.store(page.head as *mut u8, Ordering::Release);
    }

    /// Whether it shows that page.
    pub(crate) fn shows(&self, page: Raw) -> bool {
        core::ptr::eq(self.head.load(Ordering::Acquire), page.head)
    }

    /// Whether it shows any page.
    pub(crate) fn is_empty(&self) -> bool {
        self.page().is_nothing()
    }

    /// Until when the page may be read without looking after it; `None` without a page.
    #[inline(always)]
    pub(crate) fn window(&self) -> Option<Window> {
        let deadline = self.deadline.load(Ordering::Acquire);
        (deadline != 0).then(|| Window { deadline, span: self.span.load(Ordering::Relaxed) })
    }

    /// The page may be read for `span` cycles from `now` on.
    pub(crate) fn arm(&self, now: u64, span: u64) {
        self.span.store(span, Ordering::Relaxed);
        self.deadline.store(now.saturating_add(span), Ordering::Release);
    }

    /// The time of a clock, if there is nothing to look after. This is the whole hot path.
    #[inline(always)]
    pub(crate) fn now<C: Counter, const ORDERED: bool>(&self, clock: usize) -> Option<u64> {
        // The writer of the page sets the deadline last, and a reader that sees the deadline sees
        // the page: so the deadline is not later than the page allows.
        let deadline = self.deadline.load(Ordering::Acquire);
        let mut cycles = 0;
        if !ORDERED {
            // Reads the counter before all loads that follow: the processor does not begin to read it before the load
            // above is done. There is a page, so the counter may be read.
            if deadline == 0 {
                return None;
            }
            cycles = C::read();
        }
        let page = self.page();
        let counter = || if ORDERED { C::read_ordered() } else { cycles };
        let (line, ready, cycles) = line::read_prepared(&page, clock, Line::ready, counter).ok()?;
        let delta = cycles.wrapping_sub(line.cycle_last) & line.mask;
        if delta >= LIMIT || cycles > deadline {
            return None;
        }
        // Elsewhere the counter may have fewer bits, and wrap.
        let whole = cfg!(any(target_arch = "x86_64", target_arch = "x86"));
        Some(if whole { ready.near(cycles) } else { line.near(delta) })
    }

    #[inline(always)]
    pub(crate) fn reading<C: Counter, const ORDERED: bool>(
        &self,
        clock: usize,
    ) -> Result<Reading, Unread> {
        let page = self.page();
        let mut deadline = 0;
        let (line, cycles) = line::read(&page, clock, || {
            deadline = self.deadline.load(Ordering::Acquire);
            if ORDERED { C::read_ordered() } else { C::read() }
        })?;
        let delta = cycles.wrapping_sub(line.cycle_last) & line.mask;
        Ok(Reading { line, cycles, delta, deadline })
    }

    /// Whether it is time to look after the page: its window is over, or the counter has been set
    /// back by more than a window.
    pub(crate) fn is_over(&self, reading: &Reading) -> bool {
        reading.cycles > reading.deadline || reading.behind() > self.span.load(Ordering::Relaxed)
    }

    /// Whether the deadline was exceeded by less than one more window.
    pub(crate) fn is_just_over(&self, reading: &Reading) -> bool {
        let window = self.span.load(Ordering::Relaxed);
        reading.cycles <= reading.deadline.saturating_add(window) && reading.behind() <= window
    }
}

/// A time in which a page may be read, in cycles of the counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    deadline: u64,
    span: u64,
}

impl Window {
    /// Whether a counter value is in it; one that is before its beginning is not.
    #[inline(always)]
    pub(crate) fn holds(self, counter: u64) -> bool {
        self.deadline.wrapping_sub(counter) <= self.span
    }
}

/// A counter value, the line that it belongs to, and until when it may be used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) line: Line,
    pub(crate) cycles: u64,
    delta: u64,
    deadline: u64,
}

impl Reading {
    /// By how many cycles the counter is behind the line's beginning, if it is.
    fn behind(&self) -> u64 {
        if self.delta > self.line.mask >> 1 {
            self.line.cycle_last.wrapping_sub(self.cycles) & self.line.mask
        } else {
            0
        }
    }

    /// The time, at any distance.
    pub(crate) fn time(&self) -> u64 {
        self.line.at(self.cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, Line};

    #[test]
    fn both_ways_to_a_near_time_agree() {
        let (mult, shift) = (6_462_355, 24);
        for cycle_last in [0, 1, 1 << 40, u64::MAX - 5, u64::MAX / 3] {
            for snsec in [0, 7, 999_999_999 << shift] {
                let line = Line { cycle_last, mask: u64::MAX, mult, shift, sec: 1_234, snsec };
                for delta in [0, 1, 26, 10_000_019, LIMIT - 1] {
                    let cycles = cycle_last.wrapping_add(delta);
                    assert_eq!(line.ready().near(cycles), line.near(delta), "{line:?} {delta}");
                    assert_eq!(line.ready().near(cycles), line.at(cycles), "{line:?} {delta}");
                }
            }
        }
    }
}

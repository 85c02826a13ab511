//! The wall clock with its error: the two times between which true time lies.
//!
//! The kernel keeps a bound of its clock's error, `maxerror` of `adjtimex(2)`, which every process may read.
//! The program that disciplines the clock (chrony, ntpd, systemd-timesyncd) sets the bound. From then on the
//! kernel adds 500 us a second, the largest drift that it allows for (`second_overflow()`,
//! `kernel/time/ntp.c`). When the bound reaches 16 s, or the clock is set by hand, the kernel marks the clock
//! unsynchronised (`STA_UNSYNC`).
//!
//! The result is kept for a second, in two words. They belong together if their difference is the difference of the two
//! coarse clocks, the wall clock and the monotonic one, which changes if and only if the wall clock is set. So a bound
//! from before a set is not used, no lock is needed, and a fork does no harm.

use crate::clocks;
use core::sync::atomic::{AtomicU64, Ordering};

/// The result of `adjtimex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Report {
    /// The largest error, in microseconds.
    maxerror_us: u64,
    /// Whether the clock is synchronised, by status and by the call's result.
    synchronised: bool,
    /// Whether a leap second is due or under way.
    leap: bool,
    /// By how much the tick is longer or shorter than it is by itself: a fast slew, in parts per million.
    tick_ppm: u64,
}

/// The unit of the age: 134 ms.
const AGE_SHIFT: u32 = 27;
/// How many of them a result is kept: 1.07 s.
const KEPT: u32 = 8;
/// By how much the error may grow, in parts per million; and a unit of that.
const GROWTH_PPM: u64 = 500;
/// `maxerror` in 24 bits: the kernel's largest is 16 000 000.
const UNKNOWN: u32 = 0xff_ffff;
const SECOND_NS: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;

/// A result, in one word: `taken` (32 bits), the error in microseconds (24), the growth (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    taken: u32,
    error_us: u32,
    /// In units of 500 ppm, at least 1: so that no result is zero.
    growth: u8,
}

impl Kept {
    fn new(report: Option<Report>, monotonic_ns: u64) -> Self {
        let unknown = Self { taken: age(monotonic_ns), error_us: UNKNOWN, growth: 1 };
        let Some(report) = report.filter(|report| report.synchronised) else { return unknown };
        let growth = u8::try_from(1 + report.tick_ppm.div_ceil(GROWTH_PPM));
        let leap = if report.leap { 1_000_000 } else { 0 };
        let error = u32::try_from(report.maxerror_us.saturating_add(leap));
        match (growth, error) {
            (Ok(growth), Ok(error_us)) if error_us < UNKNOWN => {
                Self { error_us, growth, ..unknown }
            }
            _ => unknown,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.taken) << 32 | u64::from(self.error_us) << 8 | u64::from(self.growth)
    }

    fn of_word(word: u64) -> Option<Self> {
        let kept = Self {
            taken: (word >> 32) as u32,
            error_us: (word >> 8) as u32 & UNKNOWN,
            growth: word as u8,
        };
        (kept.growth != 0).then_some(kept)
    }

    fn is_fresh(self, monotonic_ns: u64) -> bool {
        age(monotonic_ns).wrapping_sub(self.taken) < KEPT
    }

    /// The error at that time; `None` if it is not known.
    fn error_ns(self, monotonic_ns: u64) -> Option<u64> {
        if self.error_us == UNKNOWN {
            return None;
        }
        // The growth of the error since the result, plus the growth up to the result since the kernel last added to it:
        // up to a second. The age is rounded up.
        let since = u64::from(age(monotonic_ns).wrapping_sub(self.taken)) + 1;
        let ns = (since << AGE_SHIFT) + SECOND_NS;
        // At most 255 * 500 ppm of a few seconds.
        let grown = ns / 1_000 * (GROWTH_PPM * u64::from(self.growth)) / 1_000;
        Some(u64::from(self.error_us) * 1_000 + grown + 1)
    }
}

fn age(monotonic_ns: u64) -> u32 {
    (monotonic_ns >> AGE_SHIFT) as u32
}

/// The last result, and the last result combined with the offset between both clocks. Two words of different results do
/// not match at that offset, unless both results are equal.
struct Store {
    word: AtomicU64,
    check: AtomicU64,
}

static STORE: Store = Store::new();

impl Store {
    const fn new() -> Self {
        Self { word: AtomicU64::new(0), check: AtomicU64::new(0) }
    }

    fn kept(&self, offset: u64) -> Option<Kept> {
        let word = self.word.load(Ordering::Relaxed);
        let same = word ^ self.check.load(Ordering::Relaxed) == offset;
        Kept::of_word(word).filter(|_| same)
    }

    fn keep(&self, kept: Kept, offset: u64) {
        self.word.store(kept.word(), Ordering::Relaxed);
        self.check.store(kept.word() ^ offset, Ordering::Relaxed);
    }
}

/// How often a time is read again because its bound had to be requested, or because the clock was set
/// meanwhile.
const TRIES: u32 = 4;

/// The two times between which true time lies, in nanoseconds since 1970: `(earliest, latest)`.
///
/// These are [`realtime_ordered_ns`](crate::realtime_ordered_ns) minus and plus the kernel's own bound of its
/// error (`maxerror` of `adjtimex(2)`). The program that disciplines the clock sets this bound, and it grows
/// by 500 ppm (and by the rate of a fast slew) until it is set again. The kernel adds this growth in whole
/// seconds, so half of the interval is `maxerror` and 0.5 to 1.1 ms: even on a machine whose `maxerror` is
/// 20 us. Two events whose intervals do not
/// overlap have happened in that order, on any two machines whose bounds are right.
///
/// **`(0, u64::MAX)` if the error is not known**: the kernel marks its clock unsynchronised, does not answer
/// (a filter; containers often refuse the call), or the system is not Linux. A manual set of the wall clock
/// has this effect at once, and so does a time daemon that does not report to the kernel.
///
/// The bound is requested once a second (a system call of a microsecond or two), and at once after the wall
/// clock was set. Every other call costs an ordered read and some arithmetic. While a leap second is due or
/// under way around midnight UTC the bound is a second wider. Async-signal-safe.
///
/// The bound is only as good as the time daemon. After this machine was migrated or restored from a snapshot, neither
/// it nor the kernel may know yet how wrong the clock is: [`vmclock`](crate::vmclock) reports that event, where the
/// hypervisor does.
///
/// ```
/// let (earliest, latest) = clocksmith::realtime_bounded();
/// if latest == u64::MAX {
///     println!("not synchronised");
/// } else {
///     println!("true to {} ns", (latest - earliest) / 2);
/// }
/// ```
#[must_use]
pub fn realtime_bounded() -> (u64, u64) {
    for _ in 0..TRIES {
        // Reads the time first: if the clock was set before this read, the offset differs.
        let now = clocks::realtime_ordered_ns();
        let monotonic = clocks::monotonic_coarse_ns();
        let offset = clocks::realtime_coarse_ns().wrapping_sub(monotonic);
        match STORE.kept(offset).filter(|kept| kept.is_fresh(monotonic)) {
            Some(kept) => return around(now, kept.error_ns(monotonic)),
            None => ask(monotonic, offset),
        }
    }
    around(0, None)
}

fn around(now: u64, error: Option<u64>) -> (u64, u64) {
    match error {
        Some(error) => (now.saturating_sub(error), now.saturating_add(error)),
        None => (0, u64::MAX),
    }
}

#[cold]
fn ask(monotonic: u64, offset: u64) {
    // Kept with the offset from before the call: if the clock was set meanwhile, the bound is requested
    // again.
    let report = report(monotonic.wrapping_add(offset));
    STORE.keep(Kept::new(report, monotonic), offset);
}

/// Returns whether a leap second can fall into the time for which a result is kept: between the last seconds of a day
/// and the first of the next.
fn is_around_midnight(realtime_ns: u64) -> bool {
    let second = realtime_ns / SECOND_NS % DAY_S;
    !(3..DAY_S - 3).contains(&second)
}

#[cfg(engine)]
fn report(realtime_ns: u64) -> Option<Report> {
    // Miri does not know the call.
    if cfg!(miri) {
        return None;
    }
    // SAFETY: zeros are a request to change nothing (`modes`); the call writes the structure.
    let (state, time) = unsafe {
        let mut time: libc::timex = core::mem::zeroed();
        let state = crate::kernel::keep_errno(|| libc::adjtimex(&raw mut time));
        (state, time)
    };
    // -1 is an error.
    (state >= 0).then(|| Report {
        maxerror_us: u64::try_from(time.maxerror).unwrap_or(u64::MAX),
        synchronised: state != libc::TIME_ERROR && time.status & libc::STA_UNSYNC == 0,
        leap: state != libc::TIME_OK && is_around_midnight(realtime_ns),
        // A tick is 10 ms by itself: USER_HZ is 100 on all of these.
        tick_ppm: u64::try_from(i128::from(time.tick).abs_diff(10_000) * 100).unwrap_or(u64::MAX),
    })
}

#[cfg(not(engine))]
fn report(realtime_ns: u64) -> Option<Report> {
    let _ = is_around_midnight(realtime_ns);
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: Report =
        Report { maxerror_us: 1_500, synchronised: true, leap: false, tick_ppm: 0 };

    fn error_at(report: Report, taken: u64, now: u64) -> Option<u64> {
        Kept::new(Some(report), taken).error_ns(now)
    }

    #[test]
    fn error_is_the_kernels_and_grows() {
        let at_once = error_at(GOOD, 0, 0).unwrap();
        // 1.5 ms, half a millisecond for the kernel's last second, and 67 us for an age that is rounded up.
        assert!((2_000_000..2_100_000).contains(&at_once), "{at_once}");
        let later = error_at(GOOD, 0, SECOND_NS).unwrap();
        assert!(later >= at_once + 440_000 && later <= at_once + 510_000, "{later}");
        let slewed = error_at(Report { tick_ppm: 1_000, ..GOOD }, 0, 0).unwrap();
        assert!(slewed >= at_once + 1_000_000, "{slewed}");
        let leap = error_at(Report { leap: true, ..GOOD }, 0, 0).unwrap();
        assert_eq!(leap, at_once + SECOND_NS);
    }

    #[test]
    fn error_that_is_not_known_is_without_bounds() {
        let unknown = [
            None,
            Some(Report { synchronised: false, ..GOOD }),
            Some(Report { maxerror_us: u64::MAX, ..GOOD }),
            Some(Report { maxerror_us: u64::from(UNKNOWN), ..GOOD }),
            Some(Report { tick_ppm: u64::MAX, ..GOOD }),
        ];
        for report in unknown {
            let kept = Kept::new(report, 5);
            assert_eq!(kept.error_ns(5), None, "{report:?}");
            assert_eq!(Kept::of_word(kept.word()), Some(kept));
        }
        assert_eq!(around(5, None), (0, u64::MAX));
        assert_eq!(around(5, Some(7)), (0, 12));
        assert_eq!(around(u64::MAX - 5, Some(7)), (u64::MAX - 12, u64::MAX));
        assert_eq!(Kept::of_word(0), None, "nothing is kept at first");
    }

    #[test]
    fn midnight_is_where_a_leap_second_falls() {
        for (second, is) in
            [(0, true), (2, true), (3, false), (43_200, false), (86_396, false), (86_399, true)]
        {
            assert_eq!(is_around_midnight((20_000 * DAY_S + second) * SECOND_NS), is, "{second}");
        }
    }

    proptest! {
        /// For every result: the words return it, it is fresh for about a second, and its error is not below the
        /// kernel's error with its growth.
        #[test]
        fn answers_are_kept_and_grow(
            maxerror_us in 0u64..16_000_000, tick_ppm in 0u64..100_000, taken in any::<u64>(), later in 0u64..3_000_000_000
        ) {
            let report = Report { maxerror_us, tick_ppm, ..GOOD };
            let kept = Kept::new(Some(report), taken);
            prop_assert_eq!(Kept::of_word(kept.word()), Some(kept));
            let now = taken.wrapping_add(later);
            if later < 900_000_000 { prop_assert!(kept.is_fresh(now)); }
            if later > 1_100_000_000 { prop_assert!(!kept.is_fresh(now)); }
            let least = u128::from(maxerror_us) * 1_000
                + u128::from(later + SECOND_NS) * u128::from(GROWTH_PPM + tick_ppm) / 1_000_000;
            prop_assert!(u128::from(kept.error_ns(now).unwrap()) + 1 >= least);
        }
    }

    #[test]
    fn words_of_two_answers_are_not_mixed() {
        let one = Kept::new(Some(GOOD), 0);
        let other = Kept::new(Some(Report { maxerror_us: 9, ..GOOD }), 0);
        let store = Store::new();
        assert_eq!(store.kept(0), None);
        store.keep(one, 1_000);
        assert_eq!(store.kept(1_000), Some(one));
        assert_eq!(store.kept(1_001), None, "the clock was set");
        // As if another thread were between its two stores.
        store.word.store(other.word(), Ordering::Relaxed);
        assert_eq!(store.kept(1_000), None);
    }

    #[test]
    fn bounds_hold_the_wall_clock() {
        for _ in 0..100 {
            let before = clocks::realtime_ordered_ns();
            let (earliest, latest) = realtime_bounded();
            let after = clocks::realtime_ordered_ns();
            assert!(earliest <= after && before <= latest && earliest < latest);
        }
    }

    #[cfg(all(engine, not(miri)))]
    #[test]
    fn kernel_that_calls_itself_unsynchronised_is_believed() {
        // SAFETY: zeros change nothing.
        let (state, time) = unsafe {
            let mut time: libc::timex = core::mem::zeroed();
            (libc::adjtimex(&raw mut time), time)
        };
        let unknown = state < 0 || state == libc::TIME_ERROR || time.status & libc::STA_UNSYNC != 0;
        let report = report(1_800_000_000 * SECOND_NS);
        let error = Kept::new(report, 0).error_ns(0);
        assert_eq!(error.is_none(), unknown, "{state} {:x} {error:?}", time.status);
    }
}

//! A clock that remembers: one reading serves many.

use crate::clock::Clock;
use crate::clocks;
use crate::instant::Instant;
#[cfg(feature = "std")]
use crate::slots;
use crate::slots::Slots;
use crate::timestamp::Timestamp;
#[cfg(feature = "std")]
use crate::updater::Updater;
use core::sync::atomic::{AtomicPtr, Ordering, fence};
#[cfg(feature = "std")]
use core::time::Duration;
#[cfg(feature = "std")]
use std::io;

/// A clock that returns the same time until it is updated.
///
/// An event loop calls [`update`](Self::update) once in each turn, and everything in that turn
/// reads the remembered time: a load. If there is no loop, [`spawn_updater`](Self::spawn_updater)
/// starts a thread that does it.
///
/// Before the first update, and after the last [`Updater`] has been dropped, no time is remembered.
/// Reads then use the kernel's coarse clock, which costs a few nanoseconds and is at most one tick
/// old. The monotonic time never goes backward across these changes.
///
/// # Fork
///
/// A forked child does not have its parent's threads. If an updater keeps the time, the kernel
/// clears it in a child (`MADV_WIPEONFORK`), however the child is created, and reads in the child
/// use the kernel's coarse clock. So the time does not freeze, and no read has to call `getpid`.
/// The child may call [`update`](Self::update) or start an updater of its own.
///
/// A time that [`update`](Self::update) has remembered *without* an updater is copied like all
/// other memory: the child has the loop, and continues to update. On systems other than Linux the
/// time that an updater has left freezes in a child until the child updates it.
///
/// # Signals
///
/// [`update`](Self::update) and the reads are async-signal-safe. A signal handler never sees a
/// partly written time.
///
/// ```
/// use clocksmith::CachedClock;
///
/// static NOW: CachedClock = CachedClock::new();
///
/// for _turn in 0..3 {
///     NOW.update();
///     let (first, second) = (NOW.monotonic_ns(), NOW.monotonic_ns());
///     assert_eq!(first, second);
/// }
/// ```
#[derive(Debug)]
pub struct CachedClock {
    /// Where an updater writes, after the first one was started. Never freed.
    kept: AtomicPtr<Slots>,
    /// Where `update` writes; also the last time that was remembered in any way.
    own: Slots,
}

impl CachedClock {
    /// A clock that remembers nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: AtomicPtr::new(core::ptr::null_mut()), own: Slots::new() }
    }

    /// Reads the clocks and remembers their times. Async-signal-safe; may be called by several
    /// threads.
    pub fn update(&self) {
        self.remember(clocks::monotonic_ns(), clocks::realtime_ns());
    }

    pub(crate) fn remember(&self, monotonic: u64, realtime: u64) {
        // The clock's own slots first: a time that a reader has seen in the others is also in these
        // when the others are cleared (in a child) or emptied.
        self.own.fill(monotonic, realtime);
        let slots = self.slots();
        if !core::ptr::eq(slots, &self.own) {
            slots.fill(monotonic, realtime);
        }
    }

    /// The remembered `CLOCK_MONOTONIC` in nanoseconds; the kernel's coarse one if none is
    /// remembered. Never goes backward.
    #[inline]
    #[must_use]
    pub fn monotonic_ns(&self) -> u64 {
        match self.slots().monotonic.load(Ordering::Relaxed) {
            0 => self.unkept_monotonic(),
            ns => ns,
        }
    }

    /// The remembered `CLOCK_REALTIME`, nanoseconds since 1970; the kernel's coarse one if none is
    /// remembered.
    #[inline]
    #[must_use]
    pub fn realtime_ns(&self) -> u64 {
        match self.slots().realtime.load(Ordering::Relaxed) {
            0 => unkept_realtime(),
            ns => ns,
        }
    }

    /// [`monotonic_ns`](Self::monotonic_ns) as an [`Instant`].
    #[inline]
    #[must_use]
    pub fn instant(&self) -> Instant {
        Instant::from_nanos(self.monotonic_ns())
    }

    /// [`realtime_ns`](Self::realtime_ns) as a [`Timestamp`].
    #[inline]
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        Timestamp::from_unix_nanos(self.realtime_ns())
    }

    /// Starts a thread that updates this clock at that interval, until the [`Updater`] is dropped.
    /// The clock is updated once before this returns.
    ///
    /// The thread may run late, as any thread may; the clock is then late by as much. Several updaters
    /// of one clock do no harm.
    ///
    /// # Errors
    ///
    /// Returns an error if the interval is zero (`InvalidInput`), if the thread cannot be started, or if there is no memory that the kernel clears in a child:
    /// `Unsupported` or `InvalidInput` on Linux before 4.14.
    #[cfg(feature = "std")]
    pub fn spawn_updater(&'static self, interval: Duration) -> io::Result<Updater> {
        if interval.is_zero() {
            // The thread would run without a pause.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Updater::spawn(self, interval, Box::new(|| self.update()))
    }

    #[inline(always)]
    fn slots(&self) -> &Slots {
        let kept = self.kept.load(Ordering::Acquire);
        // SAFETY: null, or slots from `wiped_on_fork`, which are never freed.
        unsafe { kept.as_ref() }.unwrap_or(&self.own)
    }

    /// The slots for updaters.
    #[cfg(feature = "std")]
    pub(crate) fn kept(&self) -> io::Result<&'static Slots> {
        let mut there = self.kept.load(Ordering::Acquire);
        if there.is_null() {
            let made = (&raw const *slots::wiped_on_fork()?).cast_mut();
            // If another thread was quicker, these are lost: a page, once.
            let null = core::ptr::null_mut();
            match self.kept.compare_exchange(null, made, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => there = made,
                Err(others) => there = others,
            }
        }
        // SAFETY: from `wiped_on_fork`, and never freed.
        Ok(unsafe { &*there })
    }

    #[cold]
    fn unkept_monotonic(&self) -> u64 {
        // What was filled before a time that this thread has seen: see `Slots::fill`.
        fence(Ordering::Acquire);
        // The tick may be older than the time that was remembered last. (In a child: by the parent.)
        clocks::monotonic_coarse_ns().max(self.own.monotonic.load(Ordering::Relaxed))
    }
}

#[cold]
fn unkept_realtime() -> u64 {
    clocks::realtime_coarse_ns()
}

impl Default for CachedClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for CachedClock {
    #[inline]
    fn now(&self) -> Instant {
        self.instant()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::thread::sleep;

    proptest! {
        #[test]
        fn cached_clock_gives_latest_update(times: Vec<(u64, u64)>) {
            let clock = CachedClock::new();
            let mut latest = (0, 0);
            for (monotonic, realtime) in times {
                clock.remember(monotonic, realtime);
                if monotonic >= latest.0 {
                    latest = (monotonic, realtime);
                }
                if latest.0 != 0 && latest.1 != 0 {
                    prop_assert_eq!((clock.monotonic_ns(), clock.realtime_ns()), latest);
                }
            }
        }
    }

    #[test]
    fn cached_clock_between_updates_does_not_advance() {
        let clock = CachedClock::default();
        // Nothing is remembered: the coarse clock.
        let before = clocks::monotonic_coarse_ns();
        let unkept = clock.monotonic_ns();
        assert!((before..=clocks::monotonic_ns()).contains(&unkept));
        clock.update();
        let (ns, wall) = (clock.monotonic_ns(), clock.realtime_ns());
        sleep(Duration::from_millis(5));
        assert_eq!((clock.monotonic_ns(), clock.realtime_ns()), (ns, wall));
        assert_eq!(clock.now(), Instant::from_nanos(ns));
        assert_eq!(clock.timestamp(), Timestamp::from_unix_nanos(wall));
        clock.update();
        assert!(clock.monotonic_ns() >= ns + 5_000_000);
        assert!(clock.realtime_ns() > wall);
    }

    #[test]
    fn never_goes_backward() {
        let clock = CachedClock::new();
        clock.remember(10, 1000);
        clock.remember(9, 900);
        assert_eq!((clock.monotonic_ns(), clock.realtime_ns()), (10, 1000));
        // The wall clock may be set back.
        clock.remember(11, 500);
        assert_eq!((clock.monotonic_ns(), clock.realtime_ns()), (11, 500));
    }

    #[test]
    fn an_updater_needs_an_interval() {
        static CLOCK: CachedClock = CachedClock::new();
        let error = CLOCK.spawn_updater(Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[cfg(not(miri))]
    #[test]
    fn time_that_was_seen_outlives_the_updater_s_slots() {
        static CLOCK: CachedClock = CachedClock::new();
        let slots = CLOCK.kept().unwrap();
        let over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for ns in 1..500_000 {
                    CLOCK.remember(ns, ns);
                }
                over.store(true, Ordering::Release);
            });
            while !over.load(Ordering::Acquire) {
                let seen = slots.monotonic.load(Ordering::Acquire);
                assert!(seen <= CLOCK.own.monotonic.load(Ordering::Acquire));
            }
        });
    }

    // (Miri does not know MADV_WIPEONFORK.)
    #[cfg(not(miri))]
    #[test]
    fn an_updater_keeps_it_until_it_is_dropped() {
        static CLOCK: CachedClock = CachedClock::new();
        let updater = CLOCK.spawn_updater(Duration::from_millis(1)).unwrap();
        let second = CLOCK.spawn_updater(Duration::from_secs(3600)).unwrap();
        let begin = CLOCK.monotonic_ns();
        let wait = |at_least: u64| {
            for _ in 0..2000 {
                if CLOCK.monotonic_ns() > at_least {
                    return;
                }
                sleep(Duration::from_millis(1));
            }
            panic!("the clock does not advance");
        };
        wait(begin + 20_000_000);
        drop(updater);
        // The second updater has just updated; it does so once an hour.
        let kept = CLOCK.monotonic_ns();
        sleep(Duration::from_millis(30));
        assert_eq!(CLOCK.monotonic_ns(), kept);
        drop(second);
        // No updater is left: reads use the kernel's clock, and do not go backward.
        assert!(CLOCK.monotonic_ns() >= kept);
        wait(kept + 20_000_000);
        // Updated manually again.
        CLOCK.update();
        let by_hand = CLOCK.monotonic_ns();
        sleep(Duration::from_millis(10));
        assert_eq!(CLOCK.monotonic_ns(), by_hand);
    }
}

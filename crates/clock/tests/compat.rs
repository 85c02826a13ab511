//! The same programs with other clocks and with this library in their place.
#![cfg(feature = "compat")]

use std::time::Duration;

/// One test body for a crate and for its replacement.
macro_rules! both {
    ($(#[$meta:meta])* $name:ident: $theirs:path, $ours:path, $body:tt) => {
        $(#[$meta])*
        mod $name {
            mod theirs {
                #[allow(unused_imports)]
                use super::super::*;
                use $theirs as clock;
                #[test]
                fn by_the_original() $body
            }
            mod ours {
                #[allow(unused_imports)]
                use super::super::*;
                use $ours as clock;
                #[test]
                fn by_the_replacement() $body
            }
        }
    };
}

const MS: Duration = Duration::from_millis(1);

both!(minstant_instants: ::minstant, clocksmith::compat::minstant, {
    use clock::{Anchor, Instant};
    let begin = Instant::now();
    std::thread::sleep(2 * MS);
    let end = Instant::now();
    assert!(end > begin && begin > Instant::ZERO);
    assert!(end.duration_since(begin) >= 2 * MS && end - begin < 3_600_000 * MS);
    assert_eq!(begin.saturating_duration_since(end), Duration::ZERO);
    assert_eq!(begin.checked_duration_since(end), None);
    assert!(end.checked_duration_since(begin).is_some());
    assert!(begin.elapsed() >= 2 * MS);
    assert!(begin.checked_add(MS).unwrap() > begin && begin.checked_sub(MS).unwrap() < begin);
    let mut moment = begin + MS;
    moment += MS;
    moment -= MS;
    let moment = moment - MS;
    assert!(moment.saturating_duration_since(begin) < MS);
    let (anchor, default) = (Anchor::new(), Anchor::default());
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    for anchor in [&anchor, &default] {
        let ns = Instant::now().as_unix_nanos(anchor);
        assert!(wall.abs_diff(Duration::from_nanos(ns)) < 2000 * MS);
    }
    let _: bool = clock::is_tsc_available();
    let _ = format!("{begin:?}");
});

both!(fastant_instants: ::fastant, clocksmith::compat::fastant, {
    use clock::{Anchor, Atomic, Instant};
    use std::sync::atomic::Ordering::Relaxed;
    let begin = Instant::now();
    std::thread::sleep(2 * MS);
    assert!(begin.elapsed() >= 2 * MS && Instant::now() > begin && begin > Instant::ZERO);
    let atomic = Atomic::new(begin);
    assert!(atomic.load(Relaxed) == begin);
    let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let ns = Instant::now().as_unix_nanos(&Anchor::new());
    assert!(wall.abs_diff(Duration::from_nanos(ns)) < 2000 * MS);
    let _: bool = clock::is_tsc_available();
});

both!(minstant_atomics: ::minstant, clocksmith::compat::minstant, {
    use clock::{Atomic, Instant};
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};
    let (early, late) = (Instant::now(), Instant::now() + MS);
    let atomic = Atomic::new(early);
    assert_eq!(atomic.load(Relaxed), early);
    assert_eq!(atomic.swap(late, SeqCst), early);
    assert_eq!(atomic.fetch_min(early, SeqCst), late);
    assert_eq!(atomic.fetch_max(late, SeqCst), early);
    assert_eq!(atomic.fetch_max(early, SeqCst), late);
    atomic.store(early, SeqCst);
    assert_eq!(atomic.into_instant(), early);
    assert_eq!(Atomic::from(late).into_instant(), late);
});

both!(quanta_clocks: ::quanta, clocksmith::compat::quanta, {
    use clock::{Clock, Instant};
    let clock = Clock::new();
    let (begin, raw) = (clock.now(), clock.raw());
    std::thread::sleep(2 * MS);
    let (end, raw_end) = (Clock::default().clone().now(), clock.raw());
    assert!(end.duration_since(begin) >= 2 * MS && end - begin < 3_600_000 * MS);
    assert!(clock.delta(raw, raw_end) >= 2 * MS);
    assert!(clock.delta_as_nanos(raw, raw_end) >= 2_000_000);
    assert_eq!(clock.delta(raw_end, raw), Duration::ZERO);
    assert!(clock.scaled(raw) >= begin && clock.scaled(raw) <= end);
    let now = Instant::now();
    assert_eq!(now.checked_duration_since(now + MS), None);
    assert_eq!(now.saturating_duration_since(now + MS), Duration::ZERO);
    assert_eq!(now - (now + MS), Duration::ZERO);
    assert_eq!(now.checked_add(MS), Some(now + MS));
    assert_eq!(now.checked_sub(MS), Some(now - MS));
    let mut moment = now;
    moment += MS;
    moment -= 2 * MS;
    assert_eq!(now - moment, MS);
    assert!(now.elapsed() < 3_600_000 * MS);
    let _ = format!("{now:?} {clock:?}");
});

both!(quanta_mocks: ::quanta, clocksmith::compat::quanta, {
    use clock::{Clock, Instant, with_clock};
    let (clock, mock) = Clock::mock();
    let begin = clock.now();
    mock.increment(5u64);
    mock.increment(Duration::from_nanos(10));
    mock.decrement(1u64);
    assert_eq!(mock.value(), 14);
    assert_eq!(clock.now() - begin, Duration::from_nanos(14));
    assert_eq!(clock.recent(), clock.now());
    assert_eq!(clock.raw(), 14);
    let outside = Instant::now();
    with_clock(&clock, || {
        let inside = Instant::now();
        assert_eq!(inside, clock.now());
        mock.increment(MS);
        assert_eq!(inside.elapsed(), MS);
        assert_eq!(Instant::recent(), clock.now());
        let (other, _mock) = Clock::mock();
        with_clock(&other, || assert_eq!(Instant::now(), other.now()));
        assert_eq!(Instant::now(), clock.now());
        // Other threads have their own.
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(Instant::now() >= outside));
        });
    });
    assert!(Instant::now() >= outside);
});

both!(quanta_upkeep: ::quanta, clocksmith::compat::quanta, {
    use clock::{Clock, Error, Instant, Upkeep, set_recent};
    set_recent(Instant::now());
    let handle = Upkeep::new(MS).start().unwrap();
    assert!(matches!(Upkeep::new(MS).start(), Err(Error::UpkeepRunning)));
    let begin = Clock::new().recent();
    std::thread::sleep(50 * MS);
    assert!(Instant::recent() - begin >= 10 * MS);
    drop(handle);
    drop(Upkeep::new_with_clock(MS, Clock::new()).start().unwrap());
    let error = Error::FailedToSpawnUpkeepThread(std::io::ErrorKind::OutOfMemory.into());
    assert!(!error.to_string().is_empty());
});

both!(coarsetime_instants: ::coarsetime, clocksmith::compat::coarsetime, {
    use clock::{Duration, Instant, Updater};
    let tick = Duration::from_millis(1);
    let begin = Instant::now();
    std::thread::sleep(30 * MS);
    assert!(begin.elapsed() >= Duration::from_millis(15) && begin.elapsed().as_secs() < 10);
    assert!(begin.elapsed_since_recent() >= Duration::from_millis(15));
    Instant::update();
    let (recent, now) = (Instant::recent(), Instant::now_without_cache_update());
    assert!(now >= recent && recent >= begin && Instant::default() >= recent);
    assert!(now.duration_since(begin) >= Duration::from_millis(15));
    assert_eq!(Instant::from_ticks(begin.as_ticks()), begin);
    assert_eq!(begin.checked_add(tick), Some(begin + tick));
    assert_eq!(begin.checked_sub(tick), Some(begin - tick));
    assert_eq!(begin.saturating_add(tick), begin + tick);
    assert_eq!(begin.saturating_sub(tick), begin - tick);
    let mut moment = begin;
    moment += tick;
    moment -= tick;
    assert_eq!(moment, begin);
    assert_eq!((begin + tick) - begin, tick);
    let updater = Updater::new(2).start().unwrap();
    std::thread::sleep(60 * MS);
    assert!(Instant::recent() - now >= Duration::from_millis(10));
    updater.stop().unwrap();
});

both!(coarsetime_durations: ::coarsetime, clocksmith::compat::coarsetime, {
    use clock::{Clock, Duration, UnixTimeStamp};
    let x = Duration::new(90_061, 500_000_000);
    assert_eq!((x.as_days(), x.as_hours(), x.as_mins()), (1, 25, 1501));
    assert_eq!((x.as_secs(), x.as_millis()), (90_061, 90_061_500));
    assert_eq!((x.subsec_nanos() + 500) / 1000, 500_000);
    assert!((x.as_f64() - 90_061.5).abs() < 1e-6);
    assert_eq!(Duration::from_ticks(x.as_ticks()), x);
    assert_eq!(Duration::from_hours(1) * 24, Duration::from_days(1));
    assert_eq!(Duration::from_mins(2) / 2, Duration::from_secs(60));
    let (a, b) = (Duration::from_secs(3), Duration::from_secs(1));
    assert_eq!((a.abs_diff(b), b.saturating_sub(a)), (Duration::from_secs(2), Duration::default()));
    assert_eq!((a.checked_sub(b), b.checked_sub(a)), (Some(Duration::from_secs(2)), None));
    assert_eq!((a.checked_mul(2), a.checked_div(0)), (Some(a + a), None));
    assert_eq!(std::time::Duration::from(a), std::time::Duration::from_secs(3));
    assert_eq!(Duration::from(std::time::Duration::from_secs(3)), a);
    let now: UnixTimeStamp = Clock::now_since_epoch();
    Clock::update();
    assert!(Clock::recent_since_epoch() >= now);
    Clock::set_recent_since_epoch(a);
    assert_eq!(Clock::recent_since_epoch(), a);
});

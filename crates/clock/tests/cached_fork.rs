//! The cached clock in a forked child: its updater is gone, and time continues.
#![cfg(all(target_os = "linux", not(miri)))]

use clocksmith::{CachedClock, Updater, monotonic_ns, realtime_ns};
use std::time::Duration;

/// Runs `child` in a forked process made by `fork`; its result is the exit code.
fn in_child(fork: unsafe extern "C" fn() -> libc::pid_t, child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls only async-signal-safe functions, and then `_exit`.
    let pid = unsafe { fork() };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: ends the process, without destructors.
        unsafe { libc::_exit(child()) };
    }
    let mut status = 0;
    // SAFETY: waits for the child that has just been made.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert!(libc::WIFEXITED(status), "{status:#x}");
    libc::WEXITSTATUS(status)
}

/// Forks without the C library's knowledge.
unsafe extern "C" fn raw_fork() -> libc::pid_t {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "powerpc64"))]
    // SAFETY: as fork(2).
    let pid = unsafe { libc::syscall(libc::SYS_fork) };
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "powerpc64")))]
    // SAFETY: clone(2) with the flags of a fork, and the stack of the parent.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) };
    pid as libc::pid_t
}

/// Sleeps for this time, even if signals come meanwhile. Async-signal-safe.
fn pause(ms: i64) {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: (ms * 1_000_000) as _ };
    // SAFETY: reads and writes `time`.
    while unsafe { libc::nanosleep(&raw const time, &raw mut time) } != 0 {}
}

/// The number of the failed check in a child, or 0.
fn check(clock: &CachedClock, parents: u64, updater: &mut Option<Updater>) -> i32 {
    let near = |a: u64, b: u64| a.abs_diff(b) < 2_000_000_000;
    let begin = clock.monotonic_ns();
    if begin < parents {
        return 1;
    }
    pause(40);
    let end = clock.monotonic_ns();
    if end < begin + 20_000_000 || !near(end, monotonic_ns()) {
        return 2;
    }
    if !near(clock.realtime_ns(), realtime_ns()) {
        return 3;
    }
    // The copy of the handle does not wait for a thread that is not there.
    drop(updater.take());
    let after = clock.monotonic_ns();
    pause(40);
    if clock.monotonic_ns() < after + 20_000_000 {
        return 4;
    }
    // By hand.
    clock.update();
    let by_hand = clock.monotonic_ns();
    pause(10);
    if clock.monotonic_ns() != by_hand || by_hand < after {
        return 5;
    }
    0
}

/// All in one test: children of a program with one thread more, not with several tests.
#[test]
fn time_does_not_freeze_in_a_child() {
    static CLOCK: CachedClock = CachedClock::new();
    let mut updater = Some(CLOCK.spawn_updater(Duration::from_millis(1)).unwrap());
    for fork in [libc::fork as unsafe extern "C" fn() -> libc::pid_t, raw_fork] {
        for _ in 0..3 {
            let parents = CLOCK.monotonic_ns();
            let result = in_child(fork, || check(&CLOCK, parents, &mut updater));
            assert_eq!(result, 0);
        }
    }
    // The parent's updater continues.
    let begin = CLOCK.monotonic_ns();
    pause(100);
    assert!(CLOCK.monotonic_ns() > begin);
    drop(updater.take());

    // Without an updater the child has the time that its parent remembered, and continues from
    // there.
    static LOOP: CachedClock = CachedClock::new();
    LOOP.update();
    let parents = LOOP.monotonic_ns();
    let result = in_child(libc::fork, || {
        if LOOP.monotonic_ns() != parents {
            return 1;
        }
        pause(5);
        LOOP.update();
        i32::from(LOOP.monotonic_ns() < parents + 5_000_000) * 2
    });
    assert_eq!(result, 0);
}

/// A child may start its own thread.
#[test]
fn a_child_can_start_its_own_updater() {
    static CLOCK: CachedClock = CachedClock::new();
    // In a separate program: a child of a program with several threads cannot start any.
    if std::env::var_os("CLOCKSMITH_TEST_ALONE").is_none() {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_child_can_start_its_own_updater", "--test-threads=1"])
            .env("CLOCKSMITH_TEST_ALONE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let parents = CLOCK.spawn_updater(Duration::from_millis(1)).unwrap();
    let result = in_child(libc::fork, || {
        let Ok(own) = CLOCK.spawn_updater(Duration::from_millis(1)) else { return 1 };
        // The copy of the parent's does not stop it.
        drop(parents);
        let begin = CLOCK.monotonic_ns();
        pause(100);
        let end = CLOCK.monotonic_ns();
        drop(own);
        i32::from(end < begin + 50_000_000) * 2
    });
    assert_eq!(result, 0);
}

/// A signal in the middle of updates sees whole times, and updates itself.
#[test]
fn signals_see_whole_times() {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
    static CLOCK: CachedClock = CachedClock::new();
    static HITS: AtomicUsize = AtomicUsize::new(0);
    static WRONG: AtomicUsize = AtomicUsize::new(0);
    static LAST: AtomicU64 = AtomicU64::new(0);
    extern "C" fn handler(_: libc::c_int) {
        if HITS.fetch_add(1, Relaxed).is_multiple_of(2) {
            CLOCK.update();
        }
        let (ns, wall) = (CLOCK.monotonic_ns(), CLOCK.realtime_ns());
        if ns < LAST.swap(ns, Relaxed) || wall.abs_diff(realtime_ns()) > 5_000_000_000 {
            WRONG.fetch_add(1, Relaxed);
        }
    }
    CLOCK.update();
    let handler = handler as extern "C" fn(libc::c_int);
    // SAFETY: the handler calls only async-signal-safe functions. The timer is this process's own.
    unsafe {
        assert_ne!(libc::signal(libc::SIGALRM, handler as libc::sighandler_t), libc::SIG_ERR);
        let every = libc::timeval { tv_sec: 0, tv_usec: 200 };
        let timer = libc::itimerval { it_interval: every, it_value: every };
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, core::ptr::null_mut()), 0);
    }
    let mut last = 0;
    let end = monotonic_ns() + 300_000_000;
    while monotonic_ns() < end {
        CLOCK.update();
        let now = CLOCK.monotonic_ns();
        assert!(now >= last);
        last = now;
    }
    // SAFETY: as above.
    unsafe {
        let none: libc::itimerval = core::mem::zeroed();
        libc::setitimer(libc::ITIMER_REAL, &raw const none, core::ptr::null_mut());
    }
    assert!(HITS.load(Relaxed) > 10);
    assert_eq!(WRONG.load(Relaxed), 0);
}

//! Hostile conditions for a process, with the real kernel. Each case runs in a separate process, because the first read
//! in a process is the critical one.

#![cfg(all(target_os = "linux", not(miri)))]
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith::Source;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

type Clock = (&'static str, fn() -> u64, libc::clockid_t);

const EXACT: [Clock; 7] = [
    ("monotonic", clocksmith::monotonic_ns, libc::CLOCK_MONOTONIC),
    ("monotonic ordered", clocksmith::monotonic_ordered_ns, libc::CLOCK_MONOTONIC),
    ("realtime", clocksmith::realtime_ns, libc::CLOCK_REALTIME),
    ("realtime ordered", clocksmith::realtime_ordered_ns, libc::CLOCK_REALTIME),
    ("boottime", clocksmith::boottime_ns, libc::CLOCK_BOOTTIME),
    ("raw", clocksmith::monotonic_raw_ns, libc::CLOCK_MONOTONIC_RAW),
    ("tai", clocksmith::tai_ns, libc::CLOCK_TAI),
];

const COARSE: [Clock; 2] = [
    ("monotonic coarse", clocksmith::monotonic_coarse_ns, libc::CLOCK_MONOTONIC_COARSE),
    ("realtime coarse", clocksmith::realtime_coarse_ns, libc::CLOCK_REALTIME_COARSE),
];

fn kernel(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a local `timespec`.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The same by a real system call, where the vDSO must not be called.
fn kernel_by_call(clock: libc::clockid_t) -> u64 {
    #[cfg(target_pointer_width = "64")]
    const NUMBER: libc::c_long = libc::SYS_clock_gettime;
    #[cfg(target_pointer_width = "32")]
    const NUMBER: libc::c_long = 403;
    let mut time = [0u64; 2];
    // SAFETY: writes two 64-bit numbers.
    assert_eq!(unsafe { libc::syscall(NUMBER, clock, time.as_mut_ptr()) }, 0);
    time[0] * 1_000_000_000 + time[1]
}

/// Each clock is between two readings of the kernel's, to within `slack`.
fn check(kernel: fn(libc::clockid_t) -> u64, slack: u64, rounds: u32) {
    for round in 0..rounds {
        for (name, ours, id) in EXACT.into_iter().chain(COARSE) {
            let before = kernel(id);
            let now = ours();
            let after = kernel(id);
            // A processor's read of another clock in between may be late; never early.
            assert!(
                before <= now + slack && now <= after + slack,
                "{name}, round {round}: {before} <= {now} <= {after}, by {}",
                clocksmith::source()
            );
        }
    }
}

/// The slack of exact clocks: rounding, when the kernel changes its rate.
const EXACTLY: u64 = 2;

/// Runs a case in a separate process, which must end well within a minute.
fn alone(name: &str, case: impl FnOnce()) {
    const VARIABLE: &str = "CLOCKSMITH_HOSTILE_CASE";
    if std::env::var(VARIABLE).is_ok_and(|running| running == name) {
        return case();
    }
    // An emulator of another architecture's user space does not run the programs that it starts.
    let program = std::env::current_exe().unwrap();
    let mut command = match std::env::var_os("CLOCKSMITH_TEST_RUNNER") {
        Some(runner) => {
            let mut command = std::process::Command::new(runner);
            command.arg(program);
            command
        }
        None => std::process::Command::new(program),
    };
    let mut child = command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, name)
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return assert!(status.success(), "{name}: {status}");
        }
        if Instant::now() > end {
            child.kill().unwrap();
            panic!("{name}: hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Forks; the child runs the case and ends.
fn in_child(case: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child only makes calls that are allowed after a fork of a process with threads:
    // it reads clocks, and ends without unwinding.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(case));
        // SAFETY: ends the child at once, without the parent's exit handlers.
        unsafe { libc::_exit(i32::from(ended.is_err())) };
    }
    pid
}

fn wait(pid: libc::pid_t) {
    let mut status = 0;
    // SAFETY: waits for a child of this process and writes an int.
    assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    assert_eq!(status, 0, "the child ended with {status:#x}");
}

#[test]
fn every_source_gives_the_kernels_time() {
    alone("every_source_gives_the_kernels_time", || {
        check(kernel, EXACTLY, 2_000);
        for best in [Source::Disciplined, Source::Vdso, Source::Syscall, Source::Vvar] {
            clocksmith::restrict(best);
            let slack = if best == Source::Disciplined { 20_000 } else { EXACTLY };
            check(kernel, slack, 2_000);
            assert!(clocksmith::source() >= best, "{best}: {}", clocksmith::source());
        }
    });
}

/// The kernel of this machine uses its counter, and user space has its page (not so in an emulator
/// of user space); otherwise the cases below test only the fallback.
fn kernel_uses_counter() -> bool {
    let current = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(current)
        .is_ok_and(|name| ["tsc", "arch_sys_counter"].contains(&name.trim()))
        && std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains("[vvar"))
        && cfg!(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))
}

#[test]
fn where_the_kernel_uses_the_counter_so_do_we() {
    alone("where_the_kernel_uses_the_counter_so_do_we", || {
        if kernel_uses_counter() {
            assert_eq!(clocksmith::source(), Source::Vvar);
        }
    });
}

#[test]
fn errno_is_left_alone() {
    alone("errno_is_left_alone", || {
        for best in [Source::Vvar, Source::Disciplined, Source::Vdso] {
            clocksmith::restrict(best);
            for _ in 0..100 {
                // SAFETY: this thread's own errno.
                unsafe { *libc::__errno_location() = 1234 };
                for (name, ours, _) in EXACT.into_iter().chain(COARSE) {
                    ours();
                    // SAFETY: as above.
                    assert_eq!(unsafe { *libc::__errno_location() }, 1234, "{name} {best}");
                }
            }
        }
    });
}

static READS: AtomicU64 = AtomicU64::new(0);
static BACKWARD: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_signal(_signal: libc::c_int) {
    let mut before = 0;
    for _ in 0..20 {
        for (_, ours, _) in EXACT {
            ours();
        }
        let now = clocksmith::monotonic_ns();
        BACKWARD.fetch_max(before.max(now) - now, Ordering::Relaxed);
        before = now;
        READS.fetch_add(1, Ordering::Relaxed);
    }
}

fn signals_every(interval: Duration) {
    let every = libc::timeval { tv_sec: 0, tv_usec: interval.as_micros() as libc::suseconds_t };
    let timer = libc::itimerval { it_interval: every, it_value: every };
    // SAFETY: a handler that only reads clocks and adds to atomics; a timer of this process.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, core::ptr::null_mut()), 0);
        assert_eq!(libc::setitimer(libc::ITIMER_REAL, &raw const timer, core::ptr::null_mut()), 0);
    }
}

#[test]
fn signals_in_the_middle_of_everything() {
    alone("signals_in_the_middle_of_everything", || {
        // The first read of the process is in a handler.
        // An emulator needs longer for a handler.
        let emulated = std::env::var_os("CLOCKSMITH_TEST_RUNNER").is_some();
        signals_every(Duration::from_micros(if emulated { 5_000 } else { 150 }));
        while READS.load(Ordering::Relaxed) < 100 {
            std::hint::spin_loop();
        }
        for best in [Source::Disciplined, Source::Vvar] {
            let end = Instant::now() + Duration::from_millis(1_500);
            let mut before = 0;
            while Instant::now() < end {
                // Restarts often, so that handlers also interrupt the first reading of a line.
                clocksmith::restrict(best);
                for _ in 0..30_000 {
                    let now = clocksmith::monotonic_ns();
                    assert!(now >= before, "{best}: backward by {}", before - now);
                    before = now;
                }
            }
        }
        let (reads, backward) = (READS.load(Ordering::Relaxed), BACKWARD.load(Ordering::Relaxed));
        assert!(reads > 500, "{reads} reads in handlers");
        assert_eq!(backward, 0, "backward in a handler");
    });
}

/// Reads until `over` is set; time must not go backward.
fn rises_until(over: &AtomicBool) {
    let mut before = 0;
    while !over.load(Ordering::Relaxed) {
        let now = clocksmith::monotonic_ns();
        assert!(now >= before, "backward by {}", before - now);
        before = now;
    }
}

#[test]
fn a_storm_of_forks() {
    alone("a_storm_of_forks", || {
        clocksmith::restrict(Source::Disciplined);
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| rises_until(&over));
            }
            for round in 0..150 {
                // Some right in the middle of a renewal, with the lock held by another thread.
                let pid = in_child(|| {
                    check(kernel, 20_000, 20);
                    let begin = clocksmith::monotonic_ns();
                    while clocksmith::monotonic_ns() - begin < 3_000_000 {}
                    check(kernel, 20_000, 20);
                    // A grandchild.
                    if round % 10 == 0 {
                        wait(in_child(|| check(kernel, 20_000, 5)));
                    }
                });
                wait(pid);
            }
            over.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn a_line_in_a_child_is_its_own() {
    alone("a_line_in_a_child_is_its_own", || {
        clocksmith::restrict(Source::Disciplined);
        // On a busy machine the first readings may be interrupted; they are taken again a second
        // later.
        let settle = |wanted: Source| {
            let begin = Instant::now();
            let mut now = clocksmith::source();
            while now != wanted && begin.elapsed() < Duration::from_secs(8)
                || begin.elapsed() < Duration::from_millis(50)
            {
                now = clocksmith::source();
            }
            now
        };
        let source = if kernel_uses_counter() {
            settle(Source::Disciplined)
        } else {
            std::thread::sleep(Duration::from_millis(50));
            clocksmith::source()
        };
        wait(in_child(|| assert_eq!(settle(source), source)));
    });
}

/// Makes this thread's children be born in a time namespace with these offsets in seconds; `false`
/// if that is not allowed here.
fn new_time_namespace(monotonic: i64, boottime: i64) -> bool {
    // SAFETY: changes the view of later children of this process.
    if unsafe { libc::unshare(libc::CLONE_NEWTIME) } != 0 {
        eprintln!("skipped: unshare(CLONE_NEWTIME): {}", std::io::Error::last_os_error());
        return false;
    }
    let offsets = format!("monotonic {monotonic} 0\nboottime {boottime} 0\n");
    std::fs::write("/proc/self/timens_offsets", offsets).unwrap();
    true
}

fn time_namespace(best: Source) {
    clocksmith::restrict(best);
    let slack = if best == Source::Disciplined { 20_000 } else { EXACTLY };
    let outside = clocksmith::monotonic_ns();
    check(kernel, slack, 50);
    if !new_time_namespace(86_400, 172_800) {
        return;
    }
    wait(in_child(|| {
        // It was begun outside.
        let inside = clocksmith::monotonic_ns();
        assert!(inside - outside >= 86_400_000_000_000, "{}", inside - outside);
        check(kernel, slack, 500);
        if best == Source::Vvar && kernel_uses_counter() {
            assert_eq!(clocksmith::source(), Source::Vvar);
        }
        // Another namespace in it, which is not before the machine's start (ERANGE).
        let back =
            i64::try_from(kernel(libc::CLOCK_MONOTONIC) / 2_000_000_000).unwrap() - 86_400 / 2;
        let back = back.clamp(1, 1_000);
        assert!(new_time_namespace(86_400 - back, 172_800 - back));
        wait(in_child(|| check(kernel, slack, 500)));
        // Back to the first one, in this very process.
        let path = c"/proc/1/ns/time";
        // SAFETY: opens a file by its name, and enters the namespace that it represents.
        let entered = unsafe {
            let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            libc::setns(file, libc::CLONE_NEWTIME)
        };
        if entered == 0 {
            check(kernel, slack, 500);
            let back = clocksmith::monotonic_ns();
            assert!(back - outside < 86_400_000_000_000, "{}", back - outside);
        } else {
            eprintln!("not entered: {}", std::io::Error::last_os_error());
        }
    }));
}

#[test]
fn a_time_namespace() {
    // The offsets are written by a process with one thread.
    alone("a_time_namespace", || wait(in_child(|| time_namespace(Source::Vvar))));
}

#[test]
fn a_time_namespace_with_the_kernel_alone() {
    alone("a_time_namespace_with_the_kernel_alone", || {
        wait(in_child(|| time_namespace(Source::Vdso)));
    });
}

#[test]
fn a_time_namespace_with_a_line() {
    alone("a_time_namespace_with_a_line", || {
        wait(in_child(|| time_namespace(Source::Disciplined)));
    });
}

#[test]
fn a_process_that_begins_in_a_time_namespace() {
    alone("a_process_that_begins_in_a_time_namespace", || {
        wait(in_child(|| {
            if new_time_namespace(1_000_000, 2_000_000) {
                wait(in_child(|| check(kernel, EXACTLY, 500)));
            }
        }));
    });
}

// --- seccomp ---------------------------------------------------------------------------------

const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Allows only these system calls; the filter returns `otherwise` for the others. `false` if the kernel has no filters.
fn filter(allowed: &[libc::c_long], otherwise: u32) -> bool {
    install(allowed, libc::SECCOMP_RET_ALLOW, otherwise)
}

/// Allows all system calls but these, for which the filter returns `instead`.
fn filter_out(refused: &[libc::c_long], instead: u32) -> bool {
    install(refused, instead, libc::SECCOMP_RET_ALLOW)
}

fn install(listed: &[libc::c_long], result: u32, otherwise: u32) -> bool {
    let mut program = vec![statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0)];
    for (index, call) in listed.iter().enumerate() {
        let left = u8::try_from(listed.len() - index).unwrap();
        program.push(libc::sock_filter {
            code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16,
            jt: left,
            jf: 0,
            k: u32::try_from(*call).unwrap(),
        });
    }
    program.push(statement(libc::BPF_RET | libc::BPF_K, otherwise));
    program.push(statement(libc::BPF_RET | libc::BPF_K, result));
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap(),
        filter: program.as_mut_ptr(),
    };
    // SAFETY: installs a filter for this thread; the kernel copies it.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let installed =
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
        if installed != 0 {
            eprintln!("skipped: PR_SET_SECCOMP: {}", std::io::Error::last_os_error());
        }
        installed == 0
    }
}

const LEAST: [libc::c_long; 5] = [
    libc::SYS_write,
    libc::SYS_exit_group,
    libc::SYS_rt_sigreturn,
    libc::SYS_futex,
    libc::SYS_munmap,
];

#[test]
fn a_filter_that_refuses_nearly_everything() {
    for best in [Source::Vvar, Source::Disciplined] {
        alone("a_filter_that_refuses_nearly_everything", || {
            // The first read is made behind the filter.
            wait(in_child(|| {
                if filter(&LEAST, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32) {
                    clocksmith::restrict(best);
                    check(kernel, 20_000, 500);
                }
            }));
        });
    }
}

#[test]
fn a_filter_that_kills() {
    alone("a_filter_that_kills", || {
        // The calls that the first read may make, besides those that any program needs (see the
        // design notes).
        let mut allowed = LEAST.to_vec();
        allowed.extend([libc::SYS_prctl, libc::SYS_futex, libc::SYS_clock_gettime]);
        wait(in_child(|| {
            if filter(&allowed, libc::SECCOMP_RET_KILL_PROCESS) {
                check(kernel, EXACTLY, 500);
            }
        }));
        // The first read was before the filter: later reads make no call.
        let _ = clocksmith::monotonic_ns();
        if clocksmith::source() == Source::Vvar {
            wait(in_child(|| {
                if filter(&LEAST, libc::SECCOMP_RET_KILL_PROCESS) {
                    check(kernel, EXACTLY, 500);
                    // The first ticks, too.
                    let (first, last) =
                        (clocksmith::TickAnchor::now(), clocksmith::TickAnchor::now());
                    assert!(clocksmith::TickScale::of_kernel().is_some());
                    assert!(first.ticks() <= last.ticks());
                }
            }));
        }
    });
}

/// A program that cannot list its processors cannot test their counters.
#[test]
fn counters_that_cannot_be_tested_are_not_trusted() {
    alone("counters_that_cannot_be_tested_are_not_trusted", || {
        wait(in_child(|| {
            if filter_out(
                &[libc::SYS_sched_getaffinity],
                libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            ) {
                let refused = clocksmith::trust_counter(Duration::from_millis(100)).unwrap_err();
                assert!(!matches!(refused, clocksmith::Refused::TooBusy { .. }), "{refused}");
            }
        }));
    });
}

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[test]
fn a_counter_that_is_forbidden() {
    alone("a_counter_that_is_forbidden", || {
        wait(in_child(|| {
            // SAFETY: from now on this thread must not read its counter. Nor may the vDSO.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) }, 0);
            for best in [Source::Vvar, Source::Disciplined, Source::Vdso] {
                clocksmith::restrict(best);
                check(kernel_by_call, EXACTLY, 200);
                assert_eq!(clocksmith::source(), Source::Syscall);
            }
            assert!(clocksmith::trust_counter(Duration::from_millis(10)).is_err());
            // It would read the clock by the C library, whose vDSO would read the counter.
            let test = clocksmith::is_slow();
            assert_eq!(test.slow, None, "{test}");
        }));
    });
}

// --- files -----------------------------------------------------------------------------------

#[test]
fn files_that_lie_or_are_not_there() {
    alone("files_that_lie_or_are_not_there", || {
        // SAFETY: a mount namespace of this process.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            eprintln!("skipped: unshare(CLONE_NEWNS): {}", std::io::Error::last_os_error());
            return;
        }
        let tried =
            |what: &core::ffi::CStr, on: &core::ffi::CStr, kind: &core::ffi::CStr, flags| {
                // SAFETY: names that end with a zero; changes only this namespace.
                let result = unsafe {
                    libc::mount(what.as_ptr(), on.as_ptr(), kind.as_ptr(), flags, core::ptr::null())
                };
                if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            };
        let mount = |what, on, kind, flags| tried(what, on, kind, flags).unwrap();
        if let Err(error) = tried(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE) {
            // In a chroot `/` is not a mount, and new mounts would be visible outside.
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{error}");
            eprintln!("skipped: / is not a mount of its own: {error}");
            return;
        }
        // An empty /sys and an empty /proc.
        mount(c"none", c"/sys", c"tmpfs", 0);
        mount(c"none", c"/proc", c"tmpfs", 0);
        for best in [Source::Vvar, Source::Disciplined] {
            clocksmith::restrict(best);
            check(kernel, 20_000, 500);
        }
    });
}

// --- neighbours ------------------------------------------------------------------------------

/// Another thread maps and unmaps the pages below the kernel's, where the memory of a static program begins, while the
/// first read is made again and again. For a second, or for `CLOCKSMITH_NEIGHBOUR_SECONDS` (at most 55).
#[test]
fn neighbour_that_unmaps_pages_below_the_vdso_is_not_touched() {
    let seconds = std::env::var("CLOCKSMITH_NEIGHBOUR_SECONDS").ok();
    let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(1).min(55);
    alone("neighbour_that_unmaps_pages_below_the_vdso_is_not_touched", || {
        // SAFETY: reads the auxiliary vector.
        let (vdso, page) = unsafe {
            (
                libc::getauxval(libc::AT_SYSINFO_EHDR) as usize,
                libc::getauxval(libc::AT_PAGESZ) as usize,
            )
        };
        if vdso == 0 {
            return eprintln!("skipped: no vDSO");
        }
        let (over, mapped) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                while !over.load(Ordering::Relaxed) {
                    for back in 3..=8 {
                        let at = std::ptr::without_provenance_mut(vdso - back * page);
                        // SAFETY: new memory where there is none, and only that is unmapped.
                        unsafe {
                            let access = libc::PROT_READ | libc::PROT_WRITE;
                            let made = libc::mmap(at, page, access, flags, -1, 0);
                            if made == at {
                                made.cast::<u8>().write(1);
                                mapped.fetch_add(1, Ordering::Relaxed);
                            }
                            if made != libc::MAP_FAILED {
                                libc::munmap(made, page);
                            }
                        }
                    }
                }
            });
            let end = Instant::now() + Duration::from_secs(seconds);
            let (mut searches, mut backward, mut before) = (0u64, 0, 0);
            while Instant::now() < end {
                for _ in 0..100 {
                    clocksmith::restrict(Source::Vvar);
                    let now = clocksmith::monotonic_ns();
                    backward = backward.max(u64::saturating_sub(before, now));
                    before = now;
                    searches += 1;
                }
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!(backward, 0);
            eprintln!("{searches} searches beside {} pages", mapped.load(Ordering::Relaxed));
        });
        if kernel_uses_counter() {
            assert_eq!(clocksmith::source(), Source::Vvar);
        }
    });
}

// --- threads ---------------------------------------------------------------------------------

/// One thread publishes times, another reads its own clock after having seen one.
fn pairs(clock: fn() -> u64, pairs: u32) -> (u32, u64) {
    let published = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let (steps, largest) = (AtomicU32::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                published.store(clock(), Ordering::Release);
            }
        });
        for _ in 0..pairs {
            let seen = published.load(Ordering::Acquire);
            let now = clock();
            if now < seen {
                steps.fetch_add(1, Ordering::Relaxed);
                largest.fetch_max(seen - now, Ordering::Relaxed);
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    (steps.into_inner(), largest.into_inner())
}

#[test]
fn ordered_reads_never_go_backward_between_threads() {
    alone("ordered_reads_never_go_backward_between_threads", || {
        for best in [Source::Vvar, Source::Disciplined, Source::Vdso] {
            clocksmith::restrict(best);
            let count = if best == Source::Vvar { 5_000_000 } else { 500_000 };
            let kernels = pairs(|| kernel(libc::CLOCK_MONOTONIC), 500_000);
            let ours = pairs(clocksmith::monotonic_ordered_ns, count);
            // (steps, largest): none beyond those of the kernel's own clock here.
            assert!(ours.0 == 0 || kernels.0 > 0, "{best}: {ours:?}; the kernel's {kernels:?}");
            let instants = pairs(|| clocksmith::Instant::now().as_nanos(), count);
            assert!(
                instants.0 == 0 || kernels.0 > 0,
                "{best}: {instants:?}; the kernel's {kernels:?}"
            );
            let wall = pairs(clocksmith::realtime_ordered_ns, 500_000);
            assert!(wall.0 == 0 || kernels.0 > 0, "{best}, wall clock: {wall:?}");
        }
    });
}

#[test]
fn sources_change_under_running_readers() {
    alone("sources_change_under_running_readers", || {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| rises_until(&over));
            }
            for round in 0..400 {
                let best = [Source::Vvar, Source::Disciplined, Source::Vdso][round % 3];
                clocksmith::restrict(best);
                std::thread::sleep(Duration::from_millis(5));
            }
            over.store(true, Ordering::Relaxed);
        });
    });
}

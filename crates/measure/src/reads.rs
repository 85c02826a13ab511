//! The reads that are measured: clocks through the C library, by system call, and the raw counter.

pub use clocksmith_raw::clock_id::ClockId;
use clocksmith_raw::counter::INSTRUCTION;
use std::mem::MaybeUninit;
use std::time::Duration;

/// The clocks of a light measurement, and of `why`.
pub const CLOCKS: [ClockId; 3] = [ClockId::Monotonic, ClockId::Realtime, ClockId::MonotonicCoarse];

/// Reads a clock through the C library, which uses the vDSO where it can; returns whether that succeeded.
#[inline]
#[must_use]
pub fn read(clock: ClockId) -> bool {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
    unsafe { libc::clock_gettime(clock.number(), time.as_mut_ptr()) == 0 }
}

/// Reads a clock by a real system call; returns whether that succeeded.
#[inline]
#[must_use]
pub fn read_by_syscall(clock: ClockId) -> bool {
    // This call writes two longs on every architecture (a 32-bit one has a second call for 64-bit times).
    let mut time = [0 as libc::c_long; 2];
    // SAFETY: the pointer is to two live, exclusively borrowed longs, to which the call writes.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock.number(), time.as_mut_ptr()) == 0 }
}

/// Returns the step in which a clock moves, as the kernel reports it: a whole tick for a coarse clock, and for all of
/// them if the kernel has no high resolution timers.
#[must_use]
pub fn resolution(clock: ClockId) -> Duration {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
    let result = unsafe { libc::clock_getres(clock.number(), &raw mut step) };
    match (result, u64::try_from(step.tv_sec), u32::try_from(step.tv_nsec)) {
        (0, Ok(seconds), Ok(nanoseconds)) if nanoseconds < 1_000_000_000 => {
            Duration::new(seconds, nanoseconds)
        }
        _ => Duration::from_nanos(1),
    }
}

/// Checks that this thread may read the counter.
///
/// # Errors
/// Returns the reason if it may not: the architecture has no counter, or the kernel makes the read fault
/// (`PR_SET_TSC`).
pub fn counter_allowed() -> Result<(), String> {
    const PR_GET_TSC: libc::c_int = 25;
    const PR_TSC_ENABLE: libc::c_int = 1;
    if INSTRUCTION.is_none() {
        return Err("no counter that this program can read on this architecture".to_owned());
    }
    let mut state: libc::c_int = 0;
    // SAFETY: the operation writes one int to the pointer, which is to a live one.
    if unsafe { libc::prctl(PR_GET_TSC, &raw mut state) } == 0 {
        return match state {
            PR_TSC_ENABLE => Ok(()),
            _ => Err("reading the counter faults in this process (PR_SET_TSC)".to_owned()),
        };
    }
    match std::io::Error::last_os_error() {
        // A kernel that does not know the operation cannot make the read fault.
        error if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        error => Err(format!("cannot determine whether reading the counter faults: {error}")),
    }
}

/// CPU time of this thread, user and system.
#[must_use]
pub fn cpu_time() -> Option<(Duration, Duration)> {
    // SAFETY: `rusage` is a C struct of integers, for which all zeros is a valid value.
    let mut usage: libc::rusage = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer is to a live, exclusively borrowed `rusage`, which is written to.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) } != 0 {
        return None;
    }
    let duration = |time: libc::timeval| {
        let seconds = Duration::from_secs(u64::try_from(time.tv_sec).ok()?);
        Some(seconds + Duration::from_micros(u64::try_from(time.tv_usec).ok()?))
    };
    Some((duration(usage.ru_utime)?, duration(usage.ru_stime)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_reads_both_ways() {
        for clock in CLOCKS {
            assert!(read(clock) && read_by_syscall(clock), "{}", clock.name());
            assert_eq!(serde_json::to_value(clock).unwrap(), clock.name());
        }
    }

    #[test]
    fn the_counter_counts_where_it_may_be_read() {
        if counter_allowed().is_ok() {
            let first = clocksmith_raw::counter::read();
            std::thread::sleep(Duration::from_millis(2));
            assert_ne!(clocksmith_raw::counter::read(), first);
        }
        assert!(resolution(ClockId::MonotonicCoarse) >= resolution(ClockId::Monotonic));
        assert!(cpu_time().is_some());
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    #[test]
    fn a_thread_whose_counter_faults_is_reported() {
        const PR_SET_TSC: libc::c_int = 26;
        const PR_TSC_SIGSEGV: libc::c_int = 2;
        let answer = std::thread::spawn(|| {
            // SAFETY: the operation changes only whether this thread may read the counter, and this
            // thread does not read it afterwards.
            let set = unsafe { libc::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) };
            (set, counter_allowed())
        });
        let (set, allowed) = answer.join().unwrap();
        assert!(set != 0 || allowed.unwrap_err().contains("PR_SET_TSC"));
    }
}

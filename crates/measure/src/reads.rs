//! The reads that are measured: clocks through the C library, by system call, and the raw counter.

use serde::Serialize;
use std::mem::MaybeUninit;
use std::time::Duration;

/// A clock of `clock_gettime(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Clock {
    /// Time since boot, slewed.
    #[serde(rename = "CLOCK_MONOTONIC")]
    Monotonic,
    /// Wall clock time.
    #[serde(rename = "CLOCK_REALTIME")]
    Realtime,
    /// Time since boot at the last tick.
    #[serde(rename = "CLOCK_MONOTONIC_COARSE")]
    MonotonicCoarse,
}

impl Clock {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Monotonic, Self::Realtime, Self::MonotonicCoarse];

    /// The name in C.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::Realtime => "CLOCK_REALTIME",
            Self::MonotonicCoarse => "CLOCK_MONOTONIC_COARSE",
        }
    }

    fn id(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
        }
    }

    /// Reads the clock through the C library, which uses the vDSO where it can; says whether that
    /// succeeded.
    #[inline]
    #[must_use]
    pub fn read(self) -> bool {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        unsafe { libc::clock_gettime(self.id(), time.as_mut_ptr()) == 0 }
    }

    /// Reads the clock by a real system call; says whether that succeeded.
    #[inline]
    #[must_use]
    pub fn read_by_syscall(self) -> bool {
        // Two longs are what this call writes on every architecture (a 32-bit one has a second call
        // for 64-bit times).
        let mut time = [0 as libc::c_long; 2];
        // SAFETY: the pointer is to two live, exclusively borrowed longs, which is what the call
        // writes to.
        unsafe { libc::syscall(libc::SYS_clock_gettime, self.id(), time.as_mut_ptr()) == 0 }
    }
}

/// The step in which a clock moves, as the kernel says: a whole tick for a coarse clock, and for all
/// of them where the kernel has no high resolution timers.
#[must_use]
pub fn resolution(clock: Clock) -> Duration {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
    let result = unsafe { libc::clock_getres(clock.id(), &raw mut step) };
    match (result, u64::try_from(step.tv_sec), u32::try_from(step.tv_nsec)) {
        (0, Ok(seconds), Ok(nanoseconds)) if nanoseconds < 1_000_000_000 => {
            Duration::new(seconds, nanoseconds)
        }
        _ => Duration::from_nanos(1),
    }
}

/// The name of the instruction that reads the counter on this architecture, if there is one.
#[must_use]
pub fn counter_name() -> Option<&'static str> {
    if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
        Some("rdtsc")
    } else if cfg!(target_arch = "aarch64") {
        Some("cntvct_el0")
    } else {
        None
    }
}

/// Whether this thread may read the counter.
///
/// # Errors
/// Why not: the architecture has none, or the kernel makes the read fault (`PR_SET_TSC`).
pub fn counter_allowed() -> Result<(), String> {
    const PR_GET_TSC: libc::c_int = 25;
    const PR_TSC_ENABLE: libc::c_int = 1;
    if counter_name().is_none() {
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
        error => Err(format!("cannot tell whether reading the counter faults: {error}")),
    }
}

/// Reads the counter, unordered. Only after [`counter_allowed`] said yes in this thread; 0 where
/// there is no counter.
#[inline]
#[must_use]
pub fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 CPU has the instruction, and it touches no memory.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "x86")]
    {
        // SAFETY: every CPU that this target supports has the instruction; it touches no memory.
        unsafe { std::arch::x86::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: the register is readable from user space under Linux, and reading it has no
        // effect.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack));
        }
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    {
        0
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
        for clock in Clock::ALL {
            assert!(clock.read() && clock.read_by_syscall(), "{}", clock.name());
            assert_eq!(serde_json::to_value(clock).unwrap(), clock.name());
        }
    }

    #[test]
    fn the_counter_counts_where_it_may_be_read() {
        if counter_allowed().is_ok() {
            let first = counter();
            std::thread::sleep(Duration::from_millis(2));
            assert_ne!(counter(), first);
        }
        assert!(resolution(Clock::MonotonicCoarse) >= resolution(Clock::Monotonic));
        assert!(cpu_time().is_some());
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    #[test]
    fn a_thread_whose_counter_faults_is_told() {
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

//! Whether the counters of the processors agree. This must be known before a counter is used that
//! the kernel does not use.
//!
//! Two threads on two processors pass a message in both directions, each time with the counter of
//! its sender. A counter that is read after the message was seen must not be behind the one in the
//! message: that would be a *warp*, and time would go backward between threads. The shortest delays
//! in the two directions bound the offset between the two counters that would remain unseen.

#[cfg(all(engine, feature = "std"))]
mod exchange;

use core::fmt;
#[cfg(all(engine, feature = "std"))]
pub use exchange::test_counters;

/// The result of the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Synchrony {
    /// Processors that took part: those that this thread may run on. If it is bound to some, the counters of the others
    /// are not tested.
    pub processors: usize,
    /// Exchanges in all.
    pub exchanges: u64,
    /// By how many cycles two counters may differ without being detected.
    pub undetectable_cycles: u64,
}

/// Why the counter is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// Not Linux, or an architecture whose counter is not read.
    Unsupported,
    /// The counter must not be read in this thread (`PR_SET_TSC`).
    Forbidden,
    /// The processor does not guarantee that its counter runs at one rate in all states (CPUID
    /// 0x80000007, edx, bit 8). In a virtual machine, the hypervisor does not guarantee it.
    NotInvariant,
    /// The kernel does not list the processors that this thread may run on, so they cannot be tested; the error number of
    /// `sched_getaffinity(2)`.
    NotListed {
        /// The error number.
        error: i32,
    },
    /// A thread could not be bound to a processor; the error number of `sched_setaffinity(2)`.
    NotBound {
        /// The processor.
        processor: usize,
        /// The error number.
        error: i32,
    },
    /// No further thread can be started; the error number of `clone(2)`.
    NoThread {
        /// The error number.
        error: i32,
    },
    /// A counter was behind another one.
    Warp {
        /// The processor whose counter was ahead, and the one whose counter was behind.
        processors: (usize, usize),
        /// By how many cycles, at least.
        cycles: u64,
    },
    /// Too few exchanges in the given time.
    TooBusy {
        /// The processors.
        processors: (usize, usize),
        /// Exchanges that succeeded.
        exchanges: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported => f.write_str("this target has no counter that can be read"),
            Self::Forbidden => f.write_str("reading the counter is forbidden here (PR_SET_TSC)"),
            Self::NotInvariant => f.write_str(
                "the processor does not say that its TSC is invariant (CPUID 0x80000007)",
            ),
            Self::NotListed { error } => write!(
                f,
                "listing the processors of this thread, whose counters are to be tested: error {error}; allow \
                 sched_getaffinity in the filter of system calls"
            ),
            Self::NotBound { processor, error } => {
                write!(f, "binding a thread to processor {processor}: error {error}")
            }
            Self::NoThread { error } => write!(
                f,
                "starting a thread that tests the counters: error {error}; raise the limits of this process \
                 (ulimit -u, ulimit -v, ulimit -d) or of its control group (pids.max)"
            ),
            Self::Warp { processors: (ahead, behind), cycles } => write!(
                f,
                "the counter of processor {behind} is behind that of {ahead} by {cycles} cycles or more"
            ),
            Self::TooBusy { processors: (one, other), exchanges } => write!(
                f,
                "only {exchanges} exchanges between processors {one} and {other} in the time given"
            ),
        }
    }
}

impl core::error::Error for Refused {}

//! Which way the time comes.

use core::fmt;

/// The way by which reads of the clock are served, from the cheapest to the dearest.
///
/// The order is the order of preference: `Source::Vvar < Source::Syscall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Source {
    /// The kernel's own published parameters, which lie beside the vDSO, and one read of the
    /// counter. Exact: the same formula with the same numbers as the vDSO.
    Vvar = 1,
    /// A line of our own through readings of the kernel's clock, renewed every few milliseconds.
    /// Tens of nanoseconds from the kernel's time; see [`crate::guide::design`].
    Disciplined = 2,
    /// `clock_gettime` through the vDSO.
    Vdso = 3,
    /// `clock_gettime` by a system call: there is no vDSO, or it does not serve this clock here.
    Syscall = 4,
    /// The standard library: not Linux, or an architecture without support.
    Std = 5,
}

impl Source {
    /// Its name, in lower case, without spaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vvar => "vvar",
            Self::Disciplined => "disciplined",
            Self::Vdso => "vdso",
            Self::Syscall => "syscall",
            Self::Std => "std",
        }
    }

    /// Whether a read is one read of the processor's counter and some arithmetic.
    #[must_use]
    pub const fn is_counter(self) -> bool {
        matches!(self, Self::Vvar | Self::Disciplined)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

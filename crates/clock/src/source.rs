//! The source of the time.

use core::cmp::Ordering;
use core::fmt;
use core::str::FromStr;

/// The source that serves reads of the clock, from the lowest read cost to the highest.
///
/// The order is the order of preference: `Source::Vvar < Source::Syscall`. The numbers are those of C, and do
/// not change; they are not in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Source {
    /// The kernel's own published parameters, in a page next to the vDSO, and one read of the counter.
    /// Exact: the same formula with the same numbers as the vDSO.
    Vvar = 1,
    /// The library's own line through readings of the kernel's clock, renewed every few
    /// milliseconds. Tens of nanoseconds from the kernel's time; see [`crate::guide::design`].
    Disciplined = 2,
    /// `clock_gettime` through the vDSO.
    Vdso = 3,
    /// `clock_gettime` by a system call: there is no vDSO, or it does not serve this clock here.
    Syscall = 4,
    /// The standard library: not Linux, or an architecture without support.
    Std = 5,
    /// The kernel's parameters over kvm-clock's page and one read of the counter. Exact, as [`Vvar`](Self::Vvar)
    /// is. Preferred to [`Disciplined`](Self::Disciplined).
    Pvclock = 6,
    /// The kernel's parameters over Hyper-V's reference page and one read of the counter. Exact, likewise.
    HypervPage = 7,
}

impl Source {
    /// All of them, in the order of preference.
    const ALL: [Self; 7] = [
        Self::Vvar,
        Self::Pvclock,
        Self::HypervPage,
        Self::Disciplined,
        Self::Vdso,
        Self::Syscall,
        Self::Std,
    ];

    /// Its name, in lower case, without spaces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vvar => "vvar",
            Self::Disciplined => "disciplined",
            Self::Vdso => "vdso",
            Self::Syscall => "syscall",
            Self::Std => "std",
            Self::Pvclock => "pvclock",
            Self::HypervPage => "hyperv-page",
        }
    }

    /// Whether a read is one read of the processor's counter and some arithmetic.
    #[must_use]
    pub const fn is_counter(self) -> bool {
        matches!(self, Self::Vvar | Self::Pvclock | Self::HypervPage | Self::Disciplined)
    }

    /// Whether times are the kernel's own, and not those of a line through them.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        !matches!(self, Self::Disciplined)
    }

    /// Its place in the order of preference.
    pub(crate) const fn rank(self) -> u8 {
        match self {
            Self::Vvar => 1,
            Self::Pvclock => 2,
            Self::HypervPage => 3,
            Self::Disciplined => 4,
            Self::Vdso => 5,
            Self::Syscall => 6,
            Self::Std => 7,
        }
    }

    /// The source by a hypervisor's page.
    #[cfg(engine)]
    pub(crate) const fn of_kind(kind: crate::paravirt::Kind) -> Self {
        match kind {
            crate::paravirt::Kind::Pvclock => Self::Pvclock,
            crate::paravirt::Kind::HypervPage => Self::HypervPage,
        }
    }
}

impl PartialOrd for Source {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Source {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Source {
    type Err = NotASource;

    /// The source with that [`name`](Self::name), for settings such as that of [`restrict`](crate::restrict).
    fn from_str(name: &str) -> Result<Self, NotASource> {
        Self::ALL.into_iter().find(|source| source.name() == name).ok_or(NotASource(()))
    }
}

/// A text is not the name of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotASource(());

impl fmt::Display for NotASource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text is not the name of a source of the time; there are")?;
        for (index, source) in Source::ALL.iter().enumerate() {
            write!(f, "{}{source}", if index == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}

impl core::error::Error for NotASource {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_return_and_the_order_is_that_of_preference() {
        for source in Source::ALL {
            assert_eq!(source.name().parse(), Ok(source));
        }
        assert!(Source::ALL.is_sorted());
        for text in ["", "VVAR", "vvar ", "unknown"] {
            let error = text.parse::<Source>().unwrap_err();
            assert!(
                error.to_string().contains("vvar, pvclock, hyperv-page, disciplined"),
                "{error}"
            );
        }
    }
}

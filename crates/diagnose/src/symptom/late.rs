//! Clocks that the vDSO serves later than `CLOCK_MONOTONIC` and `CLOCK_REALTIME`: on older kernels their reads are
//! system calls on every clocksource, even on tsc.

use clocksmith_facts::{Arch, Facts};
use clocksmith_kernel::feature::Feature;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// `CLOCK_MONOTONIC_RAW` and `CLOCK_BOOTTIME`: with the generic vDSO (`lib/vdso/gettimeofday.c`).
    Generic,
    /// `CLOCK_TAI`: the x86 vDSO served it earlier.
    Tai,
}

impl Late {
    /// By the name of the clock or of a test: `CLOCK_MONOTONIC_RAW`, `clock-gettime-boottime`.
    pub(super) fn of(clock: &str) -> Option<Self> {
        let clock = clock.to_ascii_lowercase().replace('-', "_");
        // An alarm clock is a different clock.
        let is = |name: &str| clock.ends_with(name);
        if is("monotonic_raw") || is("boottime") {
            Some(Self::Generic)
        } else {
            (is("clock_tai") || is("gettime_tai")).then_some(Self::Tai)
        }
    }

    fn feature(self) -> Feature {
        match self {
            Self::Generic => Feature::GenericVdso,
            Self::Tai => Feature::TaiVdso,
        }
    }

    /// The versions whose vDSO serves it on x86.
    pub(super) fn since(self) -> String {
        self.feature().versions()
    }

    /// Whether the vDSO of this kernel serves it; `None` if the evidence does not show it: no version, or a processor
    /// of another kind, whose vDSO has a different history.
    pub(super) fn is_served(self, facts: &Facts) -> Option<bool> {
        let kernel = facts.kernel.value()?;
        let is_x86 = facts.arch.value().is_some_and(|arch: &Arch| arch.is_x86());
        match self.feature().of(kernel) {
            served if is_x86 => Some(served),
            // The generic vDSO came to the others with that version or later.
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_known_by_their_names() {
        for clock in [
            "CLOCK_MONOTONIC_RAW",
            "clock-gettime-monotonic-raw",
            "CLOCK_BOOTTIME",
            "clock-gettime-boottime",
        ] {
            assert_eq!(Late::of(clock), Some(Late::Generic), "{clock}");
        }
        assert_eq!(Late::of("CLOCK_TAI"), Some(Late::Tai));
        for clock in [
            "CLOCK_MONOTONIC",
            "CLOCK_REALTIME",
            "gettimeofday",
            "CLOCK_BOOTTIME_ALARM",
            "CLOCK_MONOTONIC_COARSE",
        ] {
            assert_eq!(Late::of(clock), None, "{clock}");
        }
    }
}

//! The ids of `clock_gettime(2)` (`include/uapi/linux/time.h`).

/// A clock that every supported kernel has. The number is its id, and its place among the bases of the vDSO's
/// data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[repr(u8)]
pub enum ClockId {
    /// Time since boot, slewed by NTP.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_MONOTONIC"))]
    Monotonic = 1,
    /// Time since boot, at the rate of the clocksource.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_MONOTONIC_RAW"))]
    MonotonicRaw = 4,
    /// Time since boot, including suspend.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_BOOTTIME"))]
    Boottime = 7,
    /// Wall clock time.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_REALTIME"))]
    Realtime = 0,
    /// International atomic time.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_TAI"))]
    Tai = 11,
    /// Time since boot at the last tick.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_MONOTONIC_COARSE"))]
    MonotonicCoarse = 6,
    /// Wall clock time at the last tick.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_REALTIME_COARSE"))]
    RealtimeCoarse = 5,
    /// CPU time of the process.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_PROCESS_CPUTIME_ID"))]
    ProcessCputime = 2,
    /// CPU time of the thread.
    #[cfg_attr(feature = "serde", serde(rename = "CLOCK_THREAD_CPUTIME_ID"))]
    ThreadCputime = 3,
}

impl ClockId {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Monotonic,
        Self::MonotonicRaw,
        Self::Boottime,
        Self::Realtime,
        Self::Tai,
        Self::MonotonicCoarse,
        Self::RealtimeCoarse,
        Self::ProcessCputime,
        Self::ThreadCputime,
    ];

    /// The name in C.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            Self::Boottime => "CLOCK_BOOTTIME",
            Self::Realtime => "CLOCK_REALTIME",
            Self::Tai => "CLOCK_TAI",
            Self::MonotonicCoarse => "CLOCK_MONOTONIC_COARSE",
            Self::RealtimeCoarse => "CLOCK_REALTIME_COARSE",
            Self::ProcessCputime => "CLOCK_PROCESS_CPUTIME_ID",
            Self::ThreadCputime => "CLOCK_THREAD_CPUTIME_ID",
        }
    }

    /// The number of the system call interface.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The clock with this number.
    #[must_use]
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.number() == number)
    }

    /// Returns whether the clock can be set, so that it can go back.
    #[must_use]
    pub const fn can_be_set(self) -> bool {
        matches!(self, Self::Realtime | Self::RealtimeCoarse | Self::Tai)
    }

    /// Returns whether it is the time of the last tick.
    #[must_use]
    pub const fn is_coarse(self) -> bool {
        matches!(self, Self::MonotonicCoarse | Self::RealtimeCoarse)
    }

    /// Returns whether the clock counts CPU time: no vDSO serves it.
    #[must_use]
    pub const fn is_cpu_time(self) -> bool {
        matches!(self, Self::ProcessCputime | Self::ThreadCputime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_every_clock_is_that_of_the_c_library() {
        let numbers = [
            libc::CLOCK_MONOTONIC,
            libc::CLOCK_MONOTONIC_RAW,
            libc::CLOCK_BOOTTIME,
            libc::CLOCK_REALTIME,
            libc::CLOCK_TAI,
            libc::CLOCK_MONOTONIC_COARSE,
            libc::CLOCK_REALTIME_COARSE,
            libc::CLOCK_PROCESS_CPUTIME_ID,
            libc::CLOCK_THREAD_CPUTIME_ID,
        ];
        for (id, number) in ClockId::ALL.into_iter().zip(numbers) {
            assert_eq!(id.number(), number, "{}", id.name());
            assert_eq!(ClockId::from_number(number), Some(id));
        }
        assert_eq!(ClockId::from_number(10), None);
    }
}

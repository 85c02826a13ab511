//! The subject of a measurement: a time or a counter, and the path to it.

pub use clocksmith_raw::clock_id::ClockId;
use serde::{Deserialize, Serialize};

/// The clocks, in the order of the rows.
pub const CLOCKS: [ClockId; 9] = [
    ClockId::Realtime,
    ClockId::Monotonic,
    ClockId::MonotonicRaw,
    ClockId::Boottime,
    ClockId::Tai,
    ClockId::RealtimeCoarse,
    ClockId::MonotonicCoarse,
    ClockId::ProcessCputime,
    ClockId::ThreadCputime,
];

/// A read of the processor's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// The bare read, which the processor may move: `rdtsc`, `mrs cntvct_el0`.
    Plain,
    /// `rdtscp`: waits for earlier instructions. x86 only.
    Rdtscp,
    /// The bare read after a fence: `lfence; rdtsc`, `isb; mrs cntvct_el0`.
    Fenced,
}

impl Instruction {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Rdtscp, Self::Fenced];

    /// The instruction on this architecture.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain if cfg!(target_arch = "aarch64") => "cntvct_el0",
            Self::Fenced if cfg!(target_arch = "aarch64") => "isb; cntvct_el0",
            Self::Plain => "rdtsc",
            Self::Rdtscp => "rdtscp",
            Self::Fenced => "lfence; rdtsc",
        }
    }
}

/// A function of the clocksmith library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LibraryRead {
    /// `monotonic_ns`.
    Monotonic,
    /// `monotonic_ordered_ns`.
    MonotonicOrdered,
    /// `monotonic_coarse_ns`.
    MonotonicCoarse,
    /// `realtime_ns`.
    Realtime,
}

impl LibraryRead {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Monotonic, Self::MonotonicOrdered, Self::MonotonicCoarse, Self::Realtime];

    /// The function's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic_ns",
            Self::MonotonicOrdered => "monotonic_ordered_ns",
            Self::MonotonicCoarse => "monotonic_coarse_ns",
            Self::Realtime => "realtime_ns",
        }
    }
}

/// The subject of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A clock, by `clock_gettime`.
    Clock(ClockId),
    /// `gettimeofday`.
    Gettimeofday,
    /// `time`.
    Time,
    /// The counter itself.
    Counter(Instruction),
    /// The clocksmith library.
    Library(LibraryRead),
}

/// How a clock is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The function of the C library.
    Libc,
    /// The function that the kernel maps into the process, called directly.
    Vdso,
    /// The system call.
    Syscall,
    /// An instruction.
    Counter,
    /// A function of the clocksmith library.
    Library,
}

impl Via {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Libc => "libc",
            Self::Vdso => "vdso",
            Self::Syscall => "syscall",
            Self::Counter => "counter",
            Self::Library => "library",
        }
    }
}

/// One line of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    /// The subject of the read.
    pub what: What,
    /// The path to it.
    pub via: Via,
}

impl Row {
    /// A clock by one of the three ways to the kernel.
    #[must_use]
    pub const fn clock(id: ClockId, via: Via) -> Self {
        Self { what: What::Clock(id), via }
    }

    /// An instruction that reads the counter.
    #[must_use]
    pub const fn counter(instruction: Instruction) -> Self {
        Self { what: What::Counter(instruction), via: Via::Counter }
    }

    /// A function of the library.
    #[must_use]
    pub const fn library(read: LibraryRead) -> Self {
        Self { what: What::Library(read), via: Via::Library }
    }

    /// Every row, in the order in which they are shown.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let ways = [Via::Libc, Via::Vdso, Via::Syscall];
        let kernel = CLOCKS.map(What::Clock).into_iter().chain([What::Gettimeofday, What::Time]);
        let mut rows: Vec<Self> =
            kernel.flat_map(|what| ways.map(|via| Self { what, via })).collect();
        rows.extend(Instruction::ALL.map(Self::counter));
        rows.extend(LibraryRead::ALL.map(Self::library));
        rows
    }

    /// The rows that distinguish clocksources, and for which threads are compared.
    #[must_use]
    pub fn few() -> Vec<Self> {
        vec![
            Self::counter(Instruction::Plain),
            Self::library(LibraryRead::Monotonic),
            Self::clock(ClockId::Monotonic, Via::Libc),
            Self::clock(ClockId::Realtime, Via::Libc),
            Self::clock(ClockId::MonotonicCoarse, Via::Libc),
            Self { what: What::Gettimeofday, via: Via::Libc },
            Self::clock(ClockId::Monotonic, Via::Vdso),
            Self::clock(ClockId::Monotonic, Via::Syscall),
        ]
    }

    /// Returns the subject of the read, without the path.
    #[must_use]
    pub fn subject(self) -> &'static str {
        match self.what {
            // Rows have had the short name from the first version on.
            What::Clock(id) => id.name().trim_end_matches("_ID"),
            What::Gettimeofday => "gettimeofday",
            What::Time => "time",
            What::Counter(instruction) => instruction.name(),
            What::Library(read) => read.name(),
        }
    }

    /// A name that no other row has, such as `CLOCK_MONOTONIC/libc`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}/{}", self.subject(), self.via.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_every_way_is_there() {
        let rows = Row::all();
        let names: HashSet<String> = rows.iter().map(|row| row.name()).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), 11 * 3 + 3 + 4);
        assert!(names.contains("CLOCK_TAI/vdso") && names.contains("time/syscall"));
        assert!(Row::few().iter().all(|row| rows.contains(row)));
    }
}

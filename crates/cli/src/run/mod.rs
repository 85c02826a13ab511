//! The decisions of `run` before it starts a program: which clock, by which path, and whether it is allowed. The verb
//! itself is in `verbs/run.rs`.

pub(crate) mod apart;
pub(crate) mod caution;
pub(crate) mod choose;
pub(crate) mod preload;
pub(crate) mod report;
pub(crate) mod slow;

use clap::ValueEnum;

/// How the program gets its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// Through a replaced vDSO: any 64-bit program
    Vdso,
    /// Through a library that is loaded first: programs that use a shared C library
    Preload,
}

/// The source of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Source {
    /// The kernel's own clock, as it is
    Exact,
    /// The counter, corrected against the kernel's clock
    Disciplined,
    /// The kernel's time at its last tick: a few milliseconds old, on any machine
    Coarse,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Disciplined => "disciplined",
            Self::Coarse => "coarse",
        }
    }
}

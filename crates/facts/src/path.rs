//! The path by which a clock is read: one word for measurements and reports.

use serde::{Deserialize, Serialize};

/// How a clock read was served, by behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// In user space.
    Vdso,
    /// By a system call.
    Syscall,
    /// Unknown: not measured, or the measurement is not clear.
    Unknown,
}

impl Path {
    /// As it is written: `vdso`, `syscall`, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vdso => "vdso",
            Self::Syscall => "syscall",
            Self::Unknown => "unknown",
        }
    }
}

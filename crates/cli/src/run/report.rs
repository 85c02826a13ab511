//! The document that `run --json` prints when the program has ended; nothing else is on standard output.

use super::slow::Slow;
use clocksmith_run::Totals;
use serde::Serialize;

/// `clocksmith.run.v1`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RunReport {
    /// `clocksmith.run.v1`.
    pub(crate) schema: &'static str,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// How the program got its clock: `vdso`, `preload`, or `none` where the kernel's clock is as good.
    pub(crate) via: &'static str,
    /// The source of the clock: `exact`, `disciplined`, `coarse`; `null` with `--as`.
    pub(crate) source: Option<&'static str>,
    /// The reason for this clock.
    pub(crate) reason: String,
    /// Whether times of different threads were in order.
    pub(crate) ordered: bool,
    /// With `--as`: the slow clock.
    pub(crate) slow: Option<SlowReport>,
    /// Whether children got the same clock.
    pub(crate) followed: bool,
    /// Number of programs that got the clock until the first one ended, counting each `exec`; `null` where they are not
    /// counted (`preload`, `none`).
    pub(crate) programs: Option<u64>,
    /// Programs that did not get the clock.
    pub(crate) untouched: Option<u64>,
    /// The reasons, for the first of them.
    pub(crate) reasons: Vec<UntouchedReport>,
}

/// The slow clock.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SlowReport {
    /// The name as it was typed.
    pub(crate) name: String,
    /// Whether every read was a system call.
    pub(crate) by_call: bool,
    /// The least time of a read, in nanoseconds.
    pub(crate) least_ns: u64,
    /// The time that was added to each read, in nanoseconds.
    pub(crate) extra_ns: u64,
    /// The source of the figure.
    pub(crate) basis: String,
}

/// A program that did not get the clock.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct UntouchedReport {
    /// The file of the program.
    pub(crate) program: String,
    /// Why.
    pub(crate) reason: String,
}

impl RunReport {
    pub(crate) fn with(mut self, totals: &Totals) -> Self {
        self.programs = Some(totals.programs);
        self.untouched = Some(totals.untouched);
        self.reasons = totals
            .reasons
            .iter()
            .map(|(program, why)| UntouchedReport {
                program: program.clone(),
                reason: why.to_string(),
            })
            .collect();
        self
    }
}

impl From<&Slow> for SlowReport {
    fn from(slow: &Slow) -> Self {
        Self {
            name: slow.name.clone(),
            by_call: slow.by_call,
            least_ns: slow.least_ns,
            extra_ns: slow.extra_ns,
            basis: slow.basis.clone(),
        }
    }
}

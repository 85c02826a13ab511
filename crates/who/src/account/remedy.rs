//! The remedies, by name. Pure.

use super::programs::Setting;
use crate::classify::Path;
use serde::Serialize;

/// A remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RemedyId {
    /// Another clocksource for the whole machine.
    FixClocksource,
    /// This program on the fast clock, unmodified.
    RunOnFastClock,
    /// The library's clock in the program.
    FastClockLibrary,
    /// The vDSO instead of the program's own system call.
    ReadThroughVdso,
    /// A coarse clock, or a cached time.
    CheaperReads,
    /// CPU time less often.
    CpuTimeLess,
    /// A setting of a well-known program.
    ProgramSetting,
}

/// A remedy with its saving here.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// The id of the remedy.
    pub id: RemedyId,
    /// The effect of the remedy.
    pub summary: &'static str,
    /// The risk of the remedy.
    pub risk: &'static str,
    /// A command for the next step, if there is one.
    pub command: Option<&'static str>,
    /// The program that the remedy is for; null for any program.
    pub program: Option<&'static str>,
    /// The page that documents the remedy; null where this project documents it.
    pub source: Option<&'static str>,
    /// CPU seconds that the remedy would have saved in the watched time; null where that is not known.
    pub saves_cpu_seconds: Option<f64>,
}

impl Remedy {
    /// A remedy.
    #[must_use]
    pub(super) fn new(id: RemedyId, saves_cpu_seconds: Option<f64>) -> Self {
        let (summary, risk, command) = match id {
            RemedyId::FixClocksource => (
                "give the machine a clocksource that the vDSO can read: clocksmith why shows why it \
                 has none, and what can be done",
                "that of the remedy that is chosen there",
                Some("clocksmith why"),
            ),
            RemedyId::RunOnFastClock => (
                "run the unmodified program on the fast clock",
                "only where clocksmith verify trusts the counter",
                Some("clocksmith run -- COMMAND"),
            ),
            RemedyId::FastClockLibrary => (
                "read the library's clock in the program: the kernel's time for one counter read",
                "only where clocksmith verify trusts the counter",
                None,
            ),
            RemedyId::ReadThroughVdso => (
                "call clock_gettime(2) of the C library instead of the system call: the vDSO answers \
                 in user space",
                "none",
                None,
            ),
            RemedyId::CheaperReads => (
                "read CLOCK_MONOTONIC_COARSE or a cached time if a tick is precise enough",
                "the time advances once per tick, 1 to 10 ms; a program that waits for or measures less than that \
                 needs the precise clock",
                None,
            ),
            RemedyId::ProgramSetting => ("change a setting of the program", "none", None),
            RemedyId::CpuTimeLess => (
                "read CPU-time clocks less often: no clocksource makes them cheap, each is a system \
                 call",
                "none",
                None,
            ),
        };
        Self { id, summary, risk, command, program: None, source: None, saves_cpu_seconds }
    }

    /// A setting of a program. It saves a part of the reads that is not known.
    #[must_use]
    pub(super) fn setting(setting: &Setting) -> Self {
        Self {
            id: RemedyId::ProgramSetting,
            summary: setting.summary,
            risk: setting.risk,
            command: setting.command,
            program: Some(setting.program),
            source: Some(setting.source),
            saves_cpu_seconds: None,
        }
    }
}

/// The remedy for reads on a path, `in_user_space` if the vDSO serves this clock here.
#[must_use]
pub(super) fn for_reads(
    path: Path,
    cpu_time: bool,
    in_user_space: Option<bool>,
) -> Option<RemedyId> {
    match path {
        _ if cpu_time => Some(RemedyId::CpuTimeLess),
        // The kernel serves the clocks of the time here: these are others, which no clocksource makes fast.
        Path::VdsoFallback if in_user_space == Some(true) => None,
        Path::VdsoFallback => Some(RemedyId::FixClocksource),
        Path::Syscall if in_user_space == Some(true) => Some(RemedyId::ReadThroughVdso),
        Path::Syscall => Some(RemedyId::FixClocksource),
        Path::Vdso => Some(RemedyId::FastClockLibrary),
        // It has the fast clock, or was given a slow one on purpose.
        Path::Counter | Path::ClocksmithRun => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_the_vdso_passes_on_are_no_reason_for_another_clocksource_where_it_serves_the_time()
     {
        assert_eq!(for_reads(Path::VdsoFallback, false, Some(true)), None);
        let slow = for_reads(Path::VdsoFallback, false, Some(false));
        assert_eq!((slow, for_reads(Path::VdsoFallback, false, None)), (slow, slow));
        assert_eq!(slow, Some(RemedyId::FixClocksource));
        assert_eq!(for_reads(Path::VdsoFallback, true, Some(true)), Some(RemedyId::CpuTimeLess));
    }
}

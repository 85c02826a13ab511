//! Exit codes: 0 done; 1 done, with a negative result; 2 wrong usage or unusable input; 3 could not be determined. A
//! verb that runs a command ends with the command's code.

use std::process::ExitCode;

/// An exit code of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Done.
    Done,
    /// Done, with a negative result.
    Bad,
    /// Wrong usage, or input that cannot be used: every error is about the input.
    Usage,
    /// Could not be determined.
    Undetermined,
    /// A code of the monitoring convention, which `check` uses.
    Monitoring(u8),
    /// The exit code of the command that was run.
    #[cfg(feature = "who")]
    Command(u8),
    /// `run` only: the program was not run. The codes are those of `env`, `nohup` and `timeout`.
    NotRun(NotRun),
}

/// Why `run` did not run the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum NotRun {
    /// Refused, or failed before.
    Refused = 125,
    /// The program exists, but cannot be run.
    NotExecutable = 126,
    /// The program was not found.
    NotFound = 127,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(match code {
            Code::Done => 0u8,
            Code::Bad => 1,
            Code::Usage => 2,
            Code::Undetermined => 3,
            Code::Monitoring(code) => code,
            Code::NotRun(why) => why as u8,
            #[cfg(feature = "who")]
            Code::Command(code) => code,
        })
    }
}

/// A change to the machine that could not be reverted. The exit code is 1: the usage was correct.
#[derive(Debug)]
pub(crate) struct NotTakenBack(pub(crate) String);

impl std::fmt::Display for NotTakenBack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotTakenBack {}

/// A measurement that is not possible here: permissions are missing, or the kernel lacks a feature.
/// The usage was correct.
#[cfg(feature = "who")]
#[derive(Debug)]
pub(crate) struct NotSeen(pub(crate) String);

#[cfg(feature = "who")]
impl std::fmt::Display for NotSeen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "who")]
impl std::error::Error for NotSeen {}

/// The exit code of an error.
pub(crate) fn of_error(error: &anyhow::Error) -> Code {
    #[cfg(feature = "who")]
    if error.downcast_ref::<NotSeen>().is_some() {
        return Code::Undetermined;
    }
    if error.downcast_ref::<NotTakenBack>().is_some() { Code::Bad } else { Code::Usage }
}

/// Returns the exit code of an end by a signal while the output was not read, as a shell gives it.
pub(crate) fn of_unread(error: &anyhow::Error) -> Option<ExitCode> {
    let unread = error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        io.is_some_and(|inner| inner.is::<crate::ui::Unread>())
    });
    if !unread {
        return None;
    }
    let signal = clocksmith_measure::interrupt::signal()?;
    Some(ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)))
}

/// Whether the error is a closed standard output.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

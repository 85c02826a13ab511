//! Exit codes: 0 done; 1 done, and the answer is bad; 2 wrong usage or unusable input; 3 could not be
//! determined.

use std::process::ExitCode;

/// An exit code of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Done.
    Done,
    /// Done, and the answer is bad.
    Bad,
    /// Wrong usage, or input that cannot be used: every error is about the input.
    Usage,
    /// Could not be determined.
    Undetermined,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(match code {
            Code::Done => 0u8,
            Code::Bad => 1,
            Code::Usage => 2,
            Code::Undetermined => 3,
        })
    }
}

/// Whether the error is a closed standard output.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

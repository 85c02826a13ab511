//! What a sample of the processor's time was spent on. Pure.
//!
//! The innermost frame alone does not tell: a slow clocksource is found below the system call
//! (`acpi_pm_read`), its reading loop (`ktime_get_ts64`) or in the entry and exit code, which has no
//! clock frame at all. So the system call is looked for in all kernel frames, and the user's
//! instruction pointer says who made it: inside the vDSO it is a read that fell back.

use crate::clock::Api;
use serde::Serialize;

/// By which way the time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// In the vDSO, in user space.
    Vdso,
    /// In the vDSO, which made a system call because it cannot read this clock itself.
    VdsoFallback,
    /// By a system call that the program made, past the vDSO.
    Syscall,
    /// By an instruction of the program that reads the counter.
    Counter,
}

impl Path {
    /// In words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vdso => "vDSO",
            Self::VdsoFallback => "vDSO, fell back to a system call",
            Self::Syscall => "system call",
            Self::Counter => "counter instruction",
        }
    }

    /// In one word, for narrow columns.
    #[must_use]
    pub fn short(self) -> &'static str {
        match self {
            Self::Vdso => "vDSO",
            Self::VdsoFallback => "fallback",
            Self::Syscall => "syscall",
            Self::Counter => "counter",
        }
    }
}

/// Which system call the kernel frames show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelCall {
    /// One that reads a clock.
    Clock(Api),
    /// Another one.
    Other,
    /// None: entry and exit code, or an interrupt.
    None,
}

/// What is known of a sample.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Whether the processor was in the kernel; then by which call.
    pub kernel: Option<KernelCall>,
    /// Whether the user's instruction pointer is inside the vDSO.
    pub in_vdso: bool,
    /// The function of the vDSO around the user's instruction pointer, if it reads a clock.
    pub vdso_function: Option<Api>,
    /// The three bytes before the user's instruction pointer, where they could be read.
    pub before: Option<[u8; 3]>,
}

/// What a sample was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// On reading the time.
    Read(Path, Option<Api>),
    /// On the way into or out of a system call that the frames do not name, made outside of the vDSO.
    Entry,
    /// On something else.
    Other,
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
const SYSENTER: [u8; 2] = [0x0f, 0x34];
const RDTSC: [u8; 2] = [0x0f, 0x31];
const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];

/// Decides. An interrupt that hits the vDSO (kernel frames, no call, no call instruction before the
/// user's instruction pointer) is no read.
#[must_use]
pub fn classify(view: View) -> Class {
    let called = view.before.map(|[_, a, b]| [a, b] == SYSCALL || [a, b] == SYSENTER);
    match view.kernel {
        Some(KernelCall::Clock(api)) if view.in_vdso => Class::Read(Path::VdsoFallback, Some(api)),
        Some(KernelCall::Clock(api)) => Class::Read(Path::Syscall, Some(api)),
        Some(KernelCall::Other) => Class::Other,
        Some(KernelCall::None) => match (view.in_vdso, called) {
            (true, Some(true)) => Class::Read(Path::VdsoFallback, view.vdso_function),
            (false, Some(true)) => Class::Entry,
            _ => Class::Other,
        },
        // A sample of user space alone that stands behind the call instruction is the return from it.
        None if view.in_vdso && called == Some(true) => {
            Class::Read(Path::VdsoFallback, view.vdso_function)
        }
        None if view.in_vdso && view.vdso_function.is_some() => {
            Class::Read(Path::Vdso, view.vdso_function)
        }
        None if view.in_vdso => Class::Other,
        None => match view.before {
            Some(RDTSCP) => Class::Read(Path::Counter, Some(Api::Rdtscp)),
            Some([_, a, b]) if [a, b] == RDTSC => Class::Read(Path::Counter, Some(Api::Rdtsc)),
            _ => Class::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: View = View { kernel: None, in_vdso: false, vdso_function: None, before: None };

    #[test]
    fn user_space() {
        let vdso = View { in_vdso: true, vdso_function: Some(Api::Time), ..USER };
        assert_eq!(classify(vdso), Class::Read(Path::Vdso, Some(Api::Time)));
        // rdtscp inside the vDSO is the vDSO's.
        let vdso = View { before: Some(RDTSCP), ..vdso };
        assert_eq!(classify(vdso), Class::Read(Path::Vdso, Some(Api::Time)));
        let getcpu = View { in_vdso: true, ..USER };
        assert_eq!(classify(getcpu), Class::Other);
        let direct = View { before: Some([0x90, 0x0f, 0x31]), ..USER };
        assert_eq!(classify(direct), Class::Read(Path::Counter, Some(Api::Rdtsc)));
        let direct = View { before: Some(RDTSCP), ..USER };
        assert_eq!(classify(direct), Class::Read(Path::Counter, Some(Api::Rdtscp)));
        assert_eq!(classify(USER), Class::Other);
    }

    #[test]
    fn the_kernel() {
        let call = KernelCall::Clock(Api::ClockGettime);
        let kernel = View { kernel: Some(call), ..USER };
        assert_eq!(classify(kernel), Class::Read(Path::Syscall, Some(Api::ClockGettime)));
        let fallback = View { in_vdso: true, ..kernel };
        assert_eq!(classify(fallback), Class::Read(Path::VdsoFallback, Some(Api::ClockGettime)));
        let before = Some([0x90, 0x0f, 0x05]);
        let entry = View {
            kernel: Some(KernelCall::None),
            in_vdso: true,
            vdso_function: Some(Api::ClockGettime),
            before,
        };
        assert_eq!(classify(entry), Class::Read(Path::VdsoFallback, Some(Api::ClockGettime)));
        // A timer interrupt in the middle of the vDSO.
        assert_eq!(classify(View { before: Some([0; 3]), ..entry }), Class::Other);
        assert_eq!(classify(View { in_vdso: false, ..entry }), Class::Entry);
        assert_eq!(classify(View { kernel: Some(KernelCall::Other), ..entry }), Class::Other);
    }
}

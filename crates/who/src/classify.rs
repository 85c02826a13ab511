//! Classifies samples of the processor's time. Pure.
//!
//! The innermost frame alone is not enough: a slow clocksource is found below the system call (`acpi_pm_read`), in its
//! reading loop (`ktime_get_ts64`) or in the entry and exit code, which has no clock frame at all. So the system call
//! is searched for in all kernel frames, and the user's instruction pointer shows the caller: inside the vDSO, the read
//! fell back to a system call.

use crate::clock::Api;
use serde::Serialize;

/// The path on which the time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Path {
    /// In the vDSO, in user space.
    Vdso,
    /// In the vDSO, which made a system call because it cannot read this clock itself.
    VdsoFallback,
    /// By a system call that the program made, without the vDSO.
    Syscall,
    /// By an instruction of the program that reads the counter.
    Counter,
    /// In the vDSO that `clocksmith run` gave the program.
    ClocksmithRun,
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
            Self::ClocksmithRun => "clocksmith run",
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
            Self::ClocksmithRun => "run",
        }
    }
}

/// The system call that the kernel frames show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelCall {
    /// A call that reads a clock.
    Clock(Api),
    /// Another one.
    Other,
    /// None: entry and exit code, or an interrupt.
    None,
}

/// The known properties of a sample.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// Whether the processor was in the kernel; then by which call.
    pub kernel: Option<KernelCall>,
    /// Whether the clock of `clocksmith run` serves a read there.
    pub own: bool,
    /// Whether the user's instruction pointer is inside the vDSO.
    pub in_vdso: bool,
    /// The function of the vDSO around the user's instruction pointer, if it reads a clock.
    pub vdso_function: Option<Api>,
    /// The three bytes before the user's instruction pointer, where they could be read.
    pub before: Option<[u8; 3]>,
}

/// The activity in which a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// On reading the time.
    Read(Path, Option<Api>),
    /// In the entry or exit code of a system call that the frames do not name, made outside of the
    /// vDSO, or at the instruction after it.
    Entry,
    /// On something else.
    Other,
}

const SYSCALL: [u8; 2] = [0x0f, 0x05];
const SYSENTER: [u8; 2] = [0x0f, 0x34];
const RDTSC: [u8; 2] = [0x0f, 0x31];
const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];

/// Classifies a sample. An interrupt that hits the vDSO (kernel frames, no call, no call
/// instruction before the user's instruction pointer) is not a read.
#[must_use]
pub fn classify(view: View) -> Class {
    let called = view.before.map(|[_, a, b]| [a, b] == SYSCALL || [a, b] == SYSENTER);
    if view.own {
        return match view.kernel {
            Some(KernelCall::Other) => Class::Other,
            Some(KernelCall::None) if called != Some(true) => Class::Other,
            Some(KernelCall::Clock(api)) => Class::Read(Path::ClocksmithRun, Some(api)),
            _ => Class::Read(Path::ClocksmithRun, view.vdso_function),
        };
    }
    match view.kernel {
        Some(KernelCall::Clock(api)) if view.in_vdso => Class::Read(Path::VdsoFallback, Some(api)),
        Some(KernelCall::Clock(api)) => Class::Read(Path::Syscall, Some(api)),
        Some(KernelCall::Other) => Class::Other,
        Some(KernelCall::None) => match (view.in_vdso, called) {
            (true, Some(true)) => Class::Read(Path::VdsoFallback, view.vdso_function),
            (false, Some(true)) => Class::Entry,
            _ => Class::Other,
        },
        // A sample with only user space whose instruction pointer is after the call instruction is
        // the return from the call.
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
            // The end of a system call: the kernel lets no interrupt in on its last instructions.
            Some(_) if called == Some(true) => Class::Entry,
            _ => Class::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: View =
        View { kernel: None, own: false, in_vdso: false, vdso_function: None, before: None };

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
        // An interrupt on the return path from the kernel.
        let behind = View { before: Some([0x90, 0x0f, 0x05]), ..USER };
        assert_eq!(classify(behind), Class::Entry);
    }

    #[test]
    fn classify_of_own_clock_is_a_read_of_it() {
        let own = View { own: true, before: Some([0x90, 0x0f, 0x31]), ..USER };
        assert_eq!(classify(own), Class::Read(Path::ClocksmithRun, None));
        let passed = View { in_vdso: true, vdso_function: Some(Api::ClockGettime), ..own };
        let read = Class::Read(Path::ClocksmithRun, Some(Api::ClockGettime));
        assert_eq!(classify(passed), read);
        let call = Some(KernelCall::Clock(Api::ClockGettime));
        assert_eq!(classify(View { kernel: call, ..own }), read);
        // A timer interrupt, and a page fault.
        let interrupt = Some(KernelCall::None);
        assert_eq!(classify(View { kernel: interrupt, ..own }), Class::Other);
        assert_eq!(classify(View { kernel: Some(KernelCall::Other), ..own }), Class::Other);
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
            own: false,
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

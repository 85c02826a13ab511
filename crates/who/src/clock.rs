//! The names of clock ids, and of the functions through which they are read.

use serde::Serialize;

/// A clock id of `clock_gettime(2)`, as a program passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClockId(pub i32);

impl ClockId {
    /// `CLOCK_REALTIME`.
    pub const REALTIME: Self = Self(0);
    /// `CLOCK_MONOTONIC`.
    pub const MONOTONIC: Self = Self(1);
    /// `CLOCK_PROCESS_CPUTIME_ID`.
    pub const PROCESS_CPUTIME: Self = Self(2);
    /// `CLOCK_THREAD_CPUTIME_ID`.
    pub const THREAD_CPUTIME: Self = Self(3);
    /// `CLOCK_MONOTONIC_RAW`.
    pub const MONOTONIC_RAW: Self = Self(4);
    /// `CLOCK_REALTIME_COARSE`.
    pub const REALTIME_COARSE: Self = Self(5);
    /// `CLOCK_MONOTONIC_COARSE`.
    pub const MONOTONIC_COARSE: Self = Self(6);
    /// `CLOCK_BOOTTIME`.
    pub const BOOTTIME: Self = Self(7);
    /// `CLOCK_TAI`.
    pub const TAI: Self = Self(11);

    /// The clocks whose cost is measured.
    pub const COMMON: [Self; 9] = [
        Self::MONOTONIC,
        Self::REALTIME,
        Self::BOOTTIME,
        Self::MONOTONIC_RAW,
        Self::TAI,
        Self::MONOTONIC_COARSE,
        Self::REALTIME_COARSE,
        Self::THREAD_CPUTIME,
        Self::PROCESS_CPUTIME,
    ];

    /// The name in C; negative ids are made of a process, a thread or a device (`include/linux/
    /// posix-timers.h`, `CPUCLOCK_*` and `FD_TO_CLOCKID`, all versions).
    #[must_use]
    pub fn name(self) -> String {
        let name = match self.0 {
            0 => "CLOCK_REALTIME",
            1 => "CLOCK_MONOTONIC",
            2 => "CLOCK_PROCESS_CPUTIME_ID",
            3 => "CLOCK_THREAD_CPUTIME_ID",
            4 => "CLOCK_MONOTONIC_RAW",
            5 => "CLOCK_REALTIME_COARSE",
            6 => "CLOCK_MONOTONIC_COARSE",
            7 => "CLOCK_BOOTTIME",
            8 => "CLOCK_REALTIME_ALARM",
            9 => "CLOCK_BOOTTIME_ALARM",
            11 => "CLOCK_TAI",
            16..=23 => return format!("CLOCK_AUX{}", self.0 - 16),
            id if id < 0 && id & 7 == 3 => "a device's clock",
            id if id < 0 && id & 4 != 0 => "a thread's CPU time",
            id if id < 0 => "a process's CPU time",
            id => return format!("clock {id}"),
        };
        name.to_owned()
    }

    /// Returns whether the clock counts CPU time: no such clock is served in user space.
    #[must_use]
    pub fn is_cpu_time(self) -> bool {
        matches!(self.0, 2 | 3) || (self.0 < 0 && self.0 & 7 != 3)
    }

    /// Returns whether it is the wall clock, which can be set.
    #[must_use]
    pub fn is_wall(self) -> bool {
        matches!(self.0, 0 | 5 | 8 | 11)
    }

    /// Returns whether it is the time of the last tick.
    #[must_use]
    pub fn is_coarse(self) -> bool {
        matches!(self.0, 5 | 6)
    }
}

/// The function, or the instruction, by which the time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// `clock_gettime(2)`.
    ClockGettime,
    /// `gettimeofday(2)`.
    Gettimeofday,
    /// `time(2)`.
    Time,
    /// The instruction `rdtsc` in the program itself.
    Rdtsc,
    /// The instruction `rdtscp` in the program itself.
    Rdtscp,
}

impl Api {
    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockGettime => "clock_gettime",
            Self::Gettimeofday => "gettimeofday",
            Self::Time => "time",
            Self::Rdtsc => "rdtsc",
            Self::Rdtscp => "rdtscp",
        }
    }

    /// The function that a symbol of the vDSO names, `__vdso_clock_gettime` or the weak name without
    /// prefix; `None` for those that read no clock (`getcpu`, `clock_getres`, `getrandom`).
    #[must_use]
    pub fn of_vdso_symbol(name: &str) -> Option<Self> {
        match name.strip_prefix("__vdso_").or(name.strip_prefix("__kernel_")).unwrap_or(name) {
            "clock_gettime" | "clock_gettime64" => Some(Self::ClockGettime),
            "gettimeofday" => Some(Self::Gettimeofday),
            "time" => Some(Self::Time),
            _ => None,
        }
    }

    /// The system call that a kernel function serves; names as in `/proc/kallsyms` of x86 and
    /// arm64, since 4.17 with a prefix of the architecture
    /// (`arch/x86/include/asm/syscall_wrapper.h`), before as `SyS_` or `sys_`.
    #[must_use]
    pub fn of_kernel_symbol(name: &str) -> Option<Self> {
        let call = syscall_of(name)?;
        match call {
            "clock_gettime" | "clock_gettime32" | "clock_gettime64" => Some(Self::ClockGettime),
            "gettimeofday" => Some(Self::Gettimeofday),
            "time" | "time32" => Some(Self::Time),
            _ => None,
        }
    }
}

/// The system call that a kernel function serves, by its name; `None` if it serves none.
#[must_use]
pub fn syscall_of(symbol: &str) -> Option<&str> {
    const PREFIXES: [&str; 11] = [
        "__x64_sys_",
        "__x32_compat_sys_",
        "__ia32_compat_sys_",
        "__ia32_sys_",
        "__arm64_sys_",
        "__do_sys_",
        "__se_sys_",
        "__do_compat_sys_",
        "__se_compat_sys_",
        "SyS_",
        "sys_",
    ];
    PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(ClockId::MONOTONIC.name(), "CLOCK_MONOTONIC");
        // clock_getcpuclockid() of process 100, and pthread_getcpuclockid() of thread 100.
        assert_eq!(ClockId(!100 << 3 | 2).name(), "a process's CPU time");
        assert_eq!(ClockId(!100 << 3 | 4 | 2).name(), "a thread's CPU time");
        assert_eq!(ClockId(!5 << 3 | 3).name(), "a device's clock");
        assert!(ClockId(!100 << 3 | 2).is_cpu_time() && !ClockId(!5 << 3 | 3).is_cpu_time());
        assert_eq!(ClockId(77).name(), "clock 77");
    }

    #[test]
    fn symbols() {
        assert_eq!(Api::of_vdso_symbol("__vdso_gettimeofday"), Some(Api::Gettimeofday));
        assert_eq!(Api::of_vdso_symbol("__vdso_clock_getres"), None);
        assert_eq!(Api::of_kernel_symbol("__x64_sys_clock_gettime"), Some(Api::ClockGettime));
        assert_eq!(Api::of_kernel_symbol("__x64_sys_timer_create"), None);
        assert_eq!(Api::of_kernel_symbol("SyS_gettimeofday"), Some(Api::Gettimeofday));
        assert_eq!(Api::of_kernel_symbol("acpi_pm_read"), None);
    }
}

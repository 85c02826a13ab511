//! Functions that read one clock only: their name on a stack settles which. Pure.

use crate::clock::{Api, ClockId};
use crate::symbols::{Frame, FrameKind};

/// Functions that read CLOCK_MONOTONIC by `clock_gettime`, on Linux, in all versions that have them.
const MONOTONIC: [&str; 33] = [
    // OpenJDK, os_posix.cpp and os_linux.cpp.
    "os::javaTimeNanos",
    "os::elapsed_counter",
    // CPython, pytime.c and timemodule.c.
    "pymonotonic",
    "py_get_monotonic_clock",
    "_PyTime_GetMonotonicClock",
    "_PyTime_GetMonotonicClockWithInfo",
    "_PyTime_MonotonicUnchecked",
    "_PyTime_MonotonicWithInfo",
    "PyTime_Monotonic",
    "PyTime_MonotonicRaw",
    "_PyTime_GetPerfCounter",
    "_PyTime_GetPerfCounterWithInfo",
    "_PyTime_PerfCounterUnchecked",
    "_PyTime_PerfCounterWithInfo",
    "PyTime_PerfCounter",
    "PyTime_PerfCounterRaw",
    "time_monotonic",
    "time_monotonic_ns",
    "time_perf_counter",
    "time_perf_counter_ns",
    "perf_counter",
    // Go, runtime/sys_linux_amd64.s.
    "runtime.nanotime",
    "runtime.nanotime1",
    // Rust's and C++'s standard libraries.
    "std::time::Instant::now",
    "<std::time::Instant>::now",
    "std::time::Instant::elapsed",
    "std::chrono::_V2::steady_clock::now",
    "std::__1::chrono::steady_clock::now",
    // libuv (`uv_hrtime` reads the precise clock), V8, Ruby, PHP.
    "uv_hrtime",
    "v8::base::TimeTicks::Now",
    "rb_hrtime_now",
    "zend_hrtime",
    "php_hrtime_current",
];

/// The same of CLOCK_REALTIME.
const REALTIME: [&str; 20] = [
    "os::javaTimeMillis",
    "os::javaTimeSystemUTC",
    "pygettimeofday",
    "py_get_system_clock",
    "_PyTime_GetSystemClock",
    "_PyTime_GetSystemClockWithInfo",
    "_PyTime_TimeUnchecked",
    "_PyTime_TimeWithInfo",
    "PyTime_Time",
    "PyTime_TimeRaw",
    "time_time",
    "time_time_ns",
    "runtime.walltime",
    "runtime.walltime1",
    "std::time::SystemTime::now",
    "<std::time::SystemTime>::now",
    "std::chrono::_V2::system_clock::now",
    "std::__1::chrono::system_clock::now",
    "timespec_get",
    "__timespec_get",
];

/// The clock that a call of `clock_gettime` reads, if a function on its stack settles it. Below a function of a script,
/// or one that a virtual machine has compiled, the functions belong to another call.
#[must_use]
pub(super) fn settled(api: Api, frames: &[Frame]) -> Option<ClockId> {
    if api != Api::ClockGettime {
        return None;
    }
    frames
        .iter()
        .take_while(|frame| matches!(frame.kind, FrameKind::Native | FrameKind::Vdso))
        .take(8)
        .find_map(|frame| of_name(&frame.name))
}

fn of_name(name: &str) -> Option<ClockId> {
    // Without parameters, and marks of copies that a compiler made.
    let name = name.split(['(', ' ']).next().unwrap_or(name);
    let name = name.split(".isra.").next().unwrap_or(name);
    let name = name.split(".constprop.").next().unwrap_or(name);
    let name = name.split(".lto_priv.").next().unwrap_or(name);
    let name = name.strip_suffix(".abi0").unwrap_or(name);
    if MONOTONIC.contains(&name) {
        return Some(ClockId::MONOTONIC);
    }
    REALTIME.contains(&name).then_some(ClockId::REALTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(list: &[(&str, FrameKind)]) -> Vec<Frame> {
        let frame = |(name, kind): &(&str, FrameKind)| Frame {
            name: (*name).into(),
            module: "m".into(),
            kind: *kind,
            place: None,
        };
        list.iter().map(frame).collect()
    }

    #[test]
    fn settled_by_the_function_that_reads_one_clock() {
        use FrameKind::{Jit, Native, Vdso};
        let vdso = ("__vdso_clock_gettime", Vdso);
        let libc = ("__GI___clock_gettime", Native);
        let of = |list: &[_]| settled(Api::ClockGettime, &frames(list));
        let java = of(&[vdso, libc, ("os::javaTimeMillis()", Native), ("App.hot", Jit)]);
        assert_eq!(java, Some(ClockId::REALTIME));
        let python = of(&[vdso, libc, ("_PyTime_GetMonotonicClockWithInfo.constprop.0", Native)]);
        assert_eq!(python, Some(ClockId::MONOTONIC));
        let rust = of(&[
            vdso,
            libc,
            ("std::sys::pal::unix::time::Timespec::now", Native),
            ("std::time::SystemTime::now", Native),
        ]);
        assert_eq!(rust, Some(ClockId::REALTIME));
        // The argument of the call decides; the caller of a script is not the reader.
        assert_eq!(of(&[vdso, libc, ("main", Native)]), None);
        assert_eq!(of(&[vdso, libc, ("f", Jit), ("os::javaTimeNanos()", Native)]), None);
        let seconds = [vdso, ("os::javaTimeMillis()", Native)];
        assert_eq!(settled(Api::Gettimeofday, &frames(&seconds)), None);
    }
}

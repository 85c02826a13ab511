//! Functions that read one clock only: their name on a stack settles which. Pure.

use crate::clock::{Api, ClockId};
use crate::recording::Hit;
use crate::symbols::{Frame, FrameKind};
use std::collections::HashMap;

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

/// Names that programs give their own functions as well: they count only in the files of that runtime.
const COMMON: [(&str, &str); 11] = [
    ("perf_counter", "python"),
    ("pymonotonic", "python"),
    ("pygettimeofday", "python"),
    ("py_get_monotonic_clock", "python"),
    ("py_get_system_clock", "python"),
    ("time_monotonic", "python"),
    ("time_monotonic_ns", "python"),
    ("time_perf_counter", "python"),
    ("time_perf_counter_ns", "python"),
    ("time_time", "python"),
    ("time_time_ns", "python"),
];

/// The function on a stack that settles the clock of a call of `clock_gettime`, and the clock. Below a function of a
/// script, or one that a virtual machine has compiled, the functions belong to another call.
#[must_use]
fn settling(api: Api, frames: &[Frame]) -> Option<(&Frame, ClockId)> {
    if api != Api::ClockGettime {
        return None;
    }
    frames
        .iter()
        .take_while(|frame| matches!(frame.kind, FrameKind::Native | FrameKind::Vdso))
        .take(8)
        .find_map(|frame| Some((frame, of_frame(frame)?)))
}

/// The clocks of calls by the functions on their stacks.
///
/// A name is evidence, the argument of a call is proof: a program may have a function of the same name. So a name counts
/// in a process and a file as long as the calls that breakpoints saw there agree with it.
#[derive(Debug, Default)]
pub(super) struct Settled<'a> {
    /// Hits below such a function: those of its clock, and those of others.
    seen: HashMap<(usize, &'a str, &'a str), (u64, u64)>,
}

impl<'a> Settled<'a> {
    /// Looks at the hits.
    pub(super) fn by(hits: &'a [Hit]) -> Self {
        let mut seen: HashMap<(usize, &str, &str), (u64, u64)> = HashMap::new();
        for hit in hits {
            let Some((frame, clock)) = settling(hit.api, &hit.frames) else { continue };
            let (agree, differ) =
                seen.entry((hit.process, &*frame.module, &*frame.name)).or_default();
            if hit.clock == Some(clock) {
                *agree += hit.count;
            } else {
                *differ += hit.count;
            }
        }
        Self { seen }
    }

    /// The clock that a call of `clock_gettime` reads, if a function on its stack settles it.
    #[must_use]
    pub(super) fn clock(&self, process: usize, api: Api, frames: &[Frame]) -> Option<ClockId> {
        let (frame, clock) = settling(api, frames)?;
        let seen = self.seen.get(&(process, &*frame.module, &*frame.name));
        // A stack may be wrong in a few samples, a name in all of them.
        seen.is_none_or(|(agree, differ)| agree >= differ).then_some(clock)
    }
}

fn of_frame(frame: &Frame) -> Option<ClockId> {
    // Without parameters, and marks of copies that a compiler made.
    let name = frame.name.split(['(', ' ']).next().unwrap_or(&frame.name);
    let name = name.split(".isra.").next().unwrap_or(name);
    let name = name.split(".constprop.").next().unwrap_or(name);
    let name = name.split(".lto_priv.").next().unwrap_or(name);
    let name = name.strip_suffix(".abi0").unwrap_or(name);
    let elsewhere = |(common, file): &(&str, &str)| *common == name && !frame.module.contains(file);
    if COMMON.iter().any(elsewhere) {
        return None;
    }
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
        let none = Settled::default();
        let of = |list: &[_]| none.clock(0, Api::ClockGettime, &frames(list));
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
        assert_eq!(none.clock(0, Api::Gettimeofday, &frames(&seconds)), None);
    }

    #[test]
    fn settled_by_a_name_only_where_calls_do_not_show_another_clock() {
        let list = [("__vdso_clock_gettime", FrameKind::Vdso), ("uv_hrtime", FrameKind::Native)];
        let hit = |process, clock, count| Hit {
            process,
            api: Api::ClockGettime,
            clock: Some(clock),
            frames: frames(&list).into(),
            callers: [1].into(),
            count,
            draws: vec![(0, count)],
        };
        let hits = [
            hit(0, ClockId::BOOTTIME, 20),
            // One stack was wrong.
            hit(1, ClockId::MONOTONIC, 20),
            hit(1, ClockId::REALTIME, 1),
        ];
        let settled = Settled::by(&hits);
        let of = |process| settled.clock(process, Api::ClockGettime, &frames(&list));
        assert_eq!(
            (of(0), of(1), of(2)),
            (None, Some(ClockId::MONOTONIC), Some(ClockId::MONOTONIC))
        );
    }

    #[test]
    fn settled_by_a_common_name_only_in_files_of_its_runtime() {
        let none = Settled::default();
        let of = |module: &str| {
            let mut list = frames(&[("perf_counter", FrameKind::Native)]);
            list[0].module = module.into();
            none.clock(0, Api::ClockGettime, &list)
        };
        let monotonic = Some(ClockId::MONOTONIC);
        assert_eq!((of("python3.8"), of("libpython3.11.so.1.0")), (monotonic, monotonic));
        assert_eq!((of("time.cpython-36m-x86_64-linux-gnu.so"), of("bench")), (monotonic, None));
    }
}

//! Functions of libraries that do nothing but read a clock for their caller: the reader is the caller. Pure.

use crate::symbols::{Frame, FrameKind};

/// Paths of Rust crates, namespaces of C++ and prefixes of run-time libraries that are about time.
const PATHS: [&str; 21] = [
    // Rust.
    "chrono::",
    "coarsetime::",
    "fastant::",
    "instant::",
    "jiff::",
    "minstant::",
    "quanta::",
    "time::",
    "tokio::time::instant::",
    "web_time::",
    // C++.
    "absl::GetCurrentTimeNanos",
    "absl::Now",
    "boost::chrono::",
    "boost::posix_time::microsec_clock",
    "QDateTime::current",
    "QDeadlineTimer::",
    "QElapsedTimer::",
    "spdlog::details::os::now",
    // Fortran.
    "_gfortran_cpu_time",
    "_gfortran_date_and_time",
    "_gfortran_system_clock",
];

/// The same of C, in their shared libraries: a program may have its own function of that name.
const NAMES: [&str; 24] = [
    // OpenMP and MPI.
    "omp_get_wtime",
    "omp_get_wtime_",
    "MPI_Wtime",
    "PMPI_Wtime",
    // GLib, libuv, libevent, libev.
    "g_get_current_time",
    "g_get_monotonic_time",
    "g_get_real_time",
    "uv__hrtime",
    "uv_clock_gettime",
    "uv_gettimeofday",
    "uv_hrtime",
    "evutil_gettime_monotonic",
    "evutil_gettime_monotonic_",
    "ev_time",
    // SDL, GLFW, FFmpeg, APR, NSPR.
    "SDL_GetPerformanceCounter",
    "SDL_GetTicks",
    "SDL_GetTicks64",
    "SDL_GetTicksNS",
    "glfwGetTime",
    "av_gettime",
    "av_gettime_relative",
    "apr_time_now",
    "PR_IntervalNow",
    "PR_Now",
];

/// Whether a function only reads a clock for its caller.
pub(super) fn only_reads(frame: &Frame) -> bool {
    if frame.kind != FrameKind::Native {
        return false;
    }
    let name = frame.name.trim_start_matches('<');
    // Abseil's releases have a namespace each.
    let abseil = || {
        let (release, rest) = name.strip_prefix("absl::lts_")?.split_once("::")?;
        release.bytes().all(|digit| digit.is_ascii_digit()).then(|| format!("absl::{rest}"))
    };
    let abseil = abseil();
    let name = abseil.as_deref().unwrap_or(name);
    let in_library = || frame.module.contains(".so");
    PATHS.iter().any(|path| name.starts_with(path)) || NAMES.contains(&name) && in_library()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reads_by_crate_namespace_and_library() {
        let of = |name: &str, module: &str| {
            let (name, module) = (name.into(), module.into());
            only_reads(&Frame { name, module, kind: FrameKind::Native, place: None })
        };
        assert!(of("omp_get_wtime", "libgomp.so.1.0.0"));
        assert!(of("chrono::offset::utc::Utc::now", "app"));
        assert!(of("<chrono::offset::utc::Utc>::now", "app"));
        assert!(of("absl::lts_20240722::Now()", "libabsl_time.so.2407.0.0"));
        assert!(of("boost::chrono::steady_clock::now()", "app"));
        // A program's own functions.
        assert!(!of("uv_hrtime", "app"));
        assert!(!of("app::chrono::now", "app") && !of("timed::now", "app"));
        assert!(!of("absl::lts_20240722::Notification::Notify()", "app"));
        let script =
            Frame { name: "time::f".into(), module: "m".into(), kind: FrameKind::Jit, place: None };
        assert!(!only_reads(&script));
    }
}

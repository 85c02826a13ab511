//! Which function of a stack reads the time: the innermost one that is not of a library or a runtime.
//! Pure.

use crate::symbols::{Frame, FrameKind};

/// Where the time is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Site {
    /// The function.
    pub function: String,
    /// The file that it comes from.
    pub module: String,
    /// The function that it calls to read the time, such as `std::time::Instant::now`; empty where
    /// it reads the clock itself.
    pub via: String,
}

impl Site {
    /// Whether a frame is of its function.
    #[must_use]
    pub fn is(&self, frame: &Frame) -> bool {
        *frame.module == *self.module && plain(&frame.name) == self.function
    }
}

/// Finds the site. Without any function of the program, the site is the outermost known frame.
#[must_use]
pub fn site(frames: &[Frame]) -> Site {
    let mut via: Option<&Frame> = None;
    // Below an interpreter or a virtual machine, its own native functions are not sites.
    for frame in frames {
        if is_library(frame) || is_runtime(frame, frames) {
            if frame.kind != FrameKind::Vdso {
                via = Some(frame);
            }
            continue;
        }
        return of(frame, via);
    }
    match frames.iter().rev().find(|frame| frame.kind != FrameKind::Vdso) {
        Some(frame) => of(frame, None),
        None => Site { function: "?".to_owned(), module: "?".to_owned(), via: String::new() },
    }
}

fn of(frame: &Frame, via: Option<&Frame>) -> Site {
    Site {
        function: plain(&frame.name).to_owned(),
        module: frame.module.to_string(),
        via: via.map_or_else(String::new, |frame| plain(&frame.name).to_owned()),
    }
}

/// A name as its author wrote it: without the marks of copies that the compiler made, and of glibc's
/// names for itself.
fn plain(name: &str) -> &str {
    let name = name.split(" [clone ").next().unwrap_or(name);
    let name = name.split(".isra.").next().unwrap_or(name);
    let name = name.split(".constprop.").next().unwrap_or(name);
    let own = name.strip_prefix("__GI_").unwrap_or(name);
    match own.strip_prefix("__") {
        Some(known) if matches!(known, "clock_gettime" | "clock_gettime64" | "gettimeofday") => {
            known
        }
        _ => own,
    }
}

/// Whether a function belongs to the runtime that every program of its language has.
fn is_library(frame: &Frame) -> bool {
    if frame.kind == FrameKind::Vdso {
        return true;
    }
    if frame.kind == FrameKind::Jit {
        // Node's own library states its scripts so.
        return is_java_library(&frame.name) || frame.module.starts_with("node:");
    }
    if matches!(frame.kind, FrameKind::Unnamed | FrameKind::Interpreted) {
        return false;
    }
    is_library_file(&frame.module) || is_library_function(&frame.name)
}

/// The C and C++ run-time libraries.
fn is_library_file(module: &str) -> bool {
    const FILES: [&str; 11] = [
        "libc.so",
        "libc-2",
        "libc.musl",
        "ld-linux",
        "ld-musl",
        "libpthread",
        "librt",
        "libm.so",
        "libstdc++",
        "libgcc_s",
        "libc++",
    ];
    FILES.iter().any(|file| module.starts_with(file))
}

/// Functions of standard libraries that are linked into programs.
fn is_library_function(name: &str) -> bool {
    const PREFIXES: [&str; 14] = [
        "std::",
        "core::",
        "alloc::",
        "<std::",
        "<core::",
        "<alloc::",
        "runtime.",
        "time.",
        "syscall.",
        "internal/",
        "sync.",
        "__vdso_",
        "__GI_",
        "std::chrono::",
    ];
    const NAMES: [&str; 18] = [
        "clock_gettime",
        "__clock_gettime",
        "__clock_gettime64",
        "clock_gettime64",
        "gettimeofday",
        "__gettimeofday",
        "time",
        "__time",
        "timespec_get",
        "__timespec_get",
        "clock",
        "ftime",
        "cgt_init",
        "__clock_gettime_2",
        "syscall",
        "__syscall",
        "time_syscall",
        "gettimeofday_syscall",
    ];
    NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

fn is_java_library(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["java.", "jdk.", "sun.", "javax."];
    const STUBS: [&str; 6] =
        ["StubRoutines", "Stub Generator", "native nmethod", "I2C", "C2I", "Stub"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || STUBS.iter().any(|stub| name.starts_with(stub))
        || name == "nanoTime"
}

/// Whether a function is the machine's below a function of the language that it runs.
fn is_runtime(frame: &Frame, frames: &[Frame]) -> bool {
    let interprets = |frame: &Frame| {
        matches!(frame.kind, FrameKind::Interpreted | FrameKind::Jit | FrameKind::Unnamed)
    };
    frame.kind == FrameKind::Native && frames.iter().any(interprets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(list: &[(&str, &str, FrameKind)]) -> Vec<Frame> {
        list.iter()
            .map(|(name, module, kind)| Frame {
                name: (*name).into(),
                module: (*module).into(),
                kind: *kind,
                place: None,
            })
            .collect()
    }

    fn found(list: &[(&str, &str, FrameKind)]) -> (String, String) {
        let site = site(&frames(list));
        (site.function, site.via)
    }

    use FrameKind::{Interpreted, Jit, Native, Unnamed, Vdso};

    #[test]
    fn compiled_languages() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let c = found(&[vdso, libc, ("hot_a", "app", Native), ("main", "app", Native)]);
        assert_eq!(c, ("hot_a".into(), "clock_gettime".into()));
        let direct = found(&[vdso, ("hot_b", "app", Native)]);
        assert_eq!(direct, ("hot_b".into(), String::new()));
        let rust = found(&[
            vdso,
            libc,
            ("std::sys::pal::unix::time::Timespec::now", "app", Native),
            ("std::time::Instant::now", "app", Native),
            ("app::hot", "app", Native),
        ]);
        assert_eq!(rust, ("app::hot".into(), "std::time::Instant::now".into()));
        let go = found(&[
            vdso,
            ("runtime.nanotime1", "app", Native),
            ("time.Since", "app", Native),
            ("main.hot", "app", Native),
        ]);
        assert_eq!(go, ("main.hot".into(), "time.Since".into()));
    }

    #[test]
    fn machines_and_interpreters() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let java = [
            vdso,
            ("clock_gettime", "libc.so.6", Native),
            ("os::javaTimeNanos()", "libjvm.so", Native),
            ("App.hot", "", Jit),
            ("Interpreter", "", Jit),
        ];
        assert_eq!(found(&java), ("App.hot".into(), "os::javaTimeNanos()".into()));
        let python = [
            vdso,
            ("python3.11+0x12", "python3.11", Native),
            ("hot (app.py)", "[Python]", Interpreted),
            ("_PyEval_EvalFrameDefault", "python3.11", Native),
        ];
        assert_eq!(found(&python).0, "hot (app.py)");
        let node = [vdso, ("uv__hrtime", "node", Native), ("[unnamed code]", "", Unnamed)];
        assert_eq!(found(&node).0, "[unnamed code]");
    }

    #[test]
    fn names_are_those_of_the_source() {
        assert_eq!(plain("app::R::hot() [clone .isra.0]"), "app::R::hot()");
        assert_eq!(plain("__GI___clock_gettime"), "clock_gettime");
        assert_eq!(plain("hot.constprop.0"), "hot");
        assert_eq!(plain("__mine"), "__mine");
    }

    #[test]
    fn nothing_known() {
        assert_eq!(found(&[]).0, "?");
        assert_eq!(found(&[("clock_gettime", "libc.so.6", Native)]).0, "clock_gettime");
    }
}

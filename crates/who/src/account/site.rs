//! Which function of a stack reads the time: the innermost one that is not of a library or a runtime.
//! Pure.

use super::machine::is_of_machine;
use super::wrappers::only_reads;
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
        *frame.module == *self.module
            && (plain(&frame.name) == self.function
                || callable(&frame.name) == Some(self.function.as_str()))
    }
}

/// Finds the site. Without any function of the program, the site is the innermost function of its files that does more
/// than read the time, otherwise a library's that only reads it, otherwise the outermost known frame.
#[must_use]
pub fn site(frames: &[Frame]) -> Site {
    // Below an interpreter or a virtual machine, its own native functions are not sites.
    let is_site = |at: usize| {
        frames.get(at).is_some_and(|frame| {
            !is_of_machine(at, frames)
                && !is_without_place(at, frames)
                && (!is_library(frame) || holds_code_of_program(frame))
        })
    };
    let in_file_of_program = |at: usize| {
        frames.get(at).is_some_and(|frame| {
            frame.kind == FrameKind::Native
                && !is_library_file(&frame.module)
                && !is_of_time(&frame.name)
                && !only_reads(frame)
                && !is_of_machine(at, frames)
        })
    };
    let found = (0..frames.len()).find(|at| is_site(*at));
    let found = found.or_else(|| (0..frames.len()).find(|at| in_file_of_program(*at)));
    let found = found.or_else(|| frames.iter().position(only_reads));
    if let Some((frame, below)) = found.and_then(|at| Some((frames.get(at)?, frames.get(..at)?))) {
        let mut below = below.iter().rev();
        let mut via = below.find(|frame| frame.kind != FrameKind::Vdso);
        let lambda = via.filter(|frame| is_lambda(&frame.name));
        if lambda.is_some() {
            via = below.find(|frame| frame.kind != FrameKind::Vdso);
        }
        let mut site = of(frame, via);
        // The instance into which a compiler has put a lambda has its whole name.
        if let Some(whole) = lambda.and_then(|_| callable(&frame.name)) {
            whole.clone_into(&mut site.function);
        }
        return site;
    }
    match frames.iter().rev().find(|frame| frame.kind != FrameKind::Vdso) {
        Some(frame) => of(frame, None),
        None => Site { function: "?".to_owned(), module: "?".to_owned(), via: String::new() },
    }
}

/// Whether a name is only that of a lambda or a closure, without the enclosing function. Debugging information has no
/// more than this for those that the compiler has inlined into other functions.
fn is_lambda(name: &str) -> bool {
    name == "operator()" || name.starts_with("{closure") || name.starts_with("{{closure")
}

/// Whether a function has only such a name, and the one that holds its code has another.
fn is_without_place(at: usize, frames: &[Frame]) -> bool {
    let Some([frame, holder]) = frames.get(at..at.saturating_add(2)) else { return false };
    frame.kind == FrameKind::Native && is_lambda(&frame.name) && frame.module == holder.module
}

fn of(frame: &Frame, via: Option<&Frame>) -> Site {
    Site {
        function: plain(&frame.name).to_owned(),
        module: frame.module.to_string(),
        via: via.map_or_else(String::new, |frame| plain(&frame.name).to_owned()),
    }
}

/// A name as its author wrote it: without the marks of copies that the compiler made, and of glibc's
/// names for itself; that of the lambda or closure where a function of the standard library holds its code.
fn plain(name: &str) -> &str {
    if is_caller_of_values(name)
        && let Some(callable) = callable(name)
    {
        return callable;
    }
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
    is_library_file(&frame.module) || is_library_function(&frame.name) || only_reads(frame)
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
    const PREFIXES: [&str; 16] = [
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
        // Of Zig.
        "os.linux.",
        "posix.",
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

/// Whether a function of a standard library is in the program's own file and exists to call what it was given: the
/// compiler puts the code of lambdas and closures into these.
fn holds_code_of_program(frame: &Frame) -> bool {
    frame.kind == FrameKind::Native
        && !is_library_file(&frame.module)
        && is_caller_of_values(&frame.name)
}

/// Whether a function of the C++ or the Rust standard library exists to call a value that it was given: of
/// `std::function`, `std::thread`, `std::async` and `std::invoke`; of closures, and of threads.
fn is_caller_of_values(name: &str) -> bool {
    const CPP: [&str; 7] = [
        ">::_M_invoke(",
        ">::_M_run()",
        "std::__invoke<",
        "std::__invoke_impl<",
        "std::__invoke_r<",
        "std::__1::__invoke",
        "std::__1::__thread_proxy<",
    ];
    let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    name.contains("std::") && any(&CPP)
        || name.starts_with("std::__1::__function::__func<") && name.contains(">::operator()(")
        || name.contains("::__rust_begin_short_backtrace")
        || name.contains("core::ops::function::") && any(&["::call_once", "::call_mut"])
}

/// The lambda or closure in the name of an instance, with the function in which it was written: `main::{lambda()#1}`,
/// `app::main::{closure#0}`.
fn callable(name: &str) -> Option<&str> {
    let found = ["{lambda(", "{closure"].iter().filter_map(|mark| name.find(mark)).min()?;
    // Back to the beginning of this argument of the template.
    let mut depth = 0usize;
    let mut begin = 0;
    for (at, c) in name.get(..found)?.char_indices().rev() {
        match c {
            ')' | '>' | '}' => depth += 1,
            '(' | '<' | '{' if depth > 0 => depth -= 1,
            '(' | '<' | ',' if depth == 0 => {
                begin = at + 1;
                break;
            }
            _ => {}
        }
    }
    // To its end: a lambda may be written in another one.
    let mut depth = 0usize;
    let mut end = None;
    for (at, c) in name.get(found..)?.char_indices() {
        match c {
            '(' | '<' | '{' => depth += 1,
            ')' | '>' | ',' if depth == 0 => break,
            ')' | '>' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == '}' && depth == 0 {
            end = Some(found + at + 1);
        }
    }
    Some(name.get(begin..end?)?.trim_start())
}

/// Whether a function of a standard library does nothing but read the time.
fn is_of_time(name: &str) -> bool {
    const GO: [&str; 4] = ["runtime.nanotime", "runtime.walltime", "time.", "syscall."];
    const PARTS: [&str; 4] = ["::time::", "::chrono::", "clock_gettime", "Timespec"];
    is_library_function(name)
        && (GO.iter().any(|prefix| name.starts_with(prefix))
            || PARTS.iter().any(|part| name.contains(part))
            || !name.contains("::") && !name.contains('.'))
}

fn is_java_library(name: &str) -> bool {
    const PREFIXES: [&str; 4] = ["java.", "jdk.", "sun.", "javax."];
    const STUBS: [&str; 6] =
        ["StubRoutines", "Stub Generator", "native nmethod", "I2C", "C2I", "Stub"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || STUBS.iter().any(|stub| name.starts_with(stub))
        || name == "nanoTime"
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
    fn code_of_program_in_functions_of_a_standard_library() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let now = ("std::chrono::_V2::steady_clock::now()", "libstdc++.so.6.0.30", Native);
        let end = [
            ("libstdc++.so.6.0.30+0xd4490", "libstdc++.so.6.0.30", Native),
            ("start_thread", "libc.so.6", Native),
            ("clone3", "libc.so.6", Native),
        ];
        let run = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<Pool::start(int)::{lambda()#2}, int> > \
                   >::_M_run()";
        let thread = [&[vdso, libc, now, (run, "app", Native)], &end[..]].concat();
        let lambda = "Pool::start(int)::{lambda()#2}".to_owned();
        assert_eq!(found(&thread), (lambda.clone(), now.0.into()));
        // Its caller is another function, whether it is of the program or not.
        let handler = (
            "std::_Function_handler<void (unsigned long), main::{lambda(unsigned long)#1}>::_M_invoke(std::_Any_data \
             const&, unsigned long&&)",
            "app",
            Native,
        );
        let called = [vdso, libc, now, handler, ("Pool::work()", "app", Native)];
        assert_eq!(found(&called).0, "main::{lambda(unsigned long)#1}");
        let value = (
            "void std::__invoke_impl<void, run::{lambda()#1}&>(std::__invoke_other)",
            "app",
            Native,
        );
        assert_eq!(found(&[vdso, libc, value]).0, "run::{lambda()#1}");
        // A lambda that the library itself calls, at the end of a wait, is not the reader.
        let wait = (
            "bool std::condition_variable::wait_until<std::chrono::_V2::steady_clock, run::{lambda()#1}>(int)",
            "app",
            Native,
        );
        assert_eq!(site(&frames(&[vdso, libc, now, wait])).function, wait.0);
        let holds = "std::vector<main::{lambda()#1}>::push_back(int)";
        assert_eq!(plain(holds), holds);
    }

    #[test]
    fn lambda_without_its_place_has_the_name_of_the_instance_that_holds_it() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let bare = ("operator()", "app", Native);
        let of = |holder: &str| {
            let list = [vdso, libc, bare, (holder, "app", Native), ("main", "app", Native)];
            let frames = frames(&list);
            let site = site(&frames);
            assert!(frames.iter().any(|frame| site.is(frame)), "{site:?}");
            (site.function, site.via)
        };
        let via = || "clock_gettime".to_owned();
        let nested = "main::{lambda()#1}::operator()() const::{lambda()#1}";
        assert_eq!(of(&format!("long apart<{nested}>({nested})")), (nested.to_owned(), via()));
        // A function of the program into which the compiler has put it, and one of the standard library.
        assert_eq!(of("Pool::drain()"), ("Pool::drain()".to_owned(), via()));
        let handler = "std::_Function_handler<int (), Pool::Pool()::{lambda()#2}>::_M_invoke(int)";
        assert_eq!(of(handler).0, "Pool::Pool()::{lambda()#2}");
        // Nothing else is known.
        assert_eq!(found(&[vdso, libc, bare]).0, "operator()");
    }

    #[test]
    fn function_that_only_reads_for_its_caller_is_not_the_reader() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let wtime = ("omp_get_wtime", "libgomp.so.1.0.0", Native);
        let region = ("step._omp_fn.0", "app", Native);
        assert_eq!(
            found(&[vdso, libc, wtime, region]),
            ("step._omp_fn.0".to_owned(), wtime.0.to_owned())
        );
        let now = ("chrono::offset::utc::Utc::now", "app", Native);
        let timespec = ("std::sys::pal::unix::time::Timespec::now", "app", Native);
        assert_eq!(found(&[vdso, libc, timespec, now, ("app::row", "app", Native)]).0, "app::row");
        // Without a caller, it is.
        let end = [("start_thread", "libc.so.6", Native), ("clone3", "libc.so.6", Native)];
        assert_eq!(found(&[&[vdso, libc, wtime], &end[..]].concat()).0, wtime.0);
    }

    #[test]
    fn function_of_an_extension_is_the_reader_below_a_script() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let lap = ("meter_lap", "meter.cpython-311-x86_64-linux-gnu.so", Native);
        let call = ("PyObject_Vectorcall", "python3.11", Native);
        let pump = ("pump (app.py)", "[Python]", Interpreted);
        let turn = ("_PyEval_EvalFrameDefault", "python3.11", Native);
        assert_eq!(found(&[vdso, libc, lap, call, pump, turn]).0, lap.0);
        // A function of a script that an extension has called.
        let read = ("time_time", "python3.11", Native);
        assert_eq!(found(&[vdso, libc, read, pump, turn, lap, call]).0, pump.0);
        // Through the interface to C functions, the function of the script has called the C library.
        let ffi = [("ffi_call", "libffi.so.8.1.2", Native), ("call", "_ctypes.so", Native)];
        assert_eq!(found(&[vdso, libc, ffi[0], ffi[1], pump, turn]).0, pump.0);
        let jni = [("quote_time", "libquotes.so", Native), ("App.quote", "", Jit)];
        assert_eq!(found(&[vdso, libc, jni[0], jni[1]]).0, "quote_time");
        let jvm = [("os::javaTimeNanos()", "libjvm.so", Native), jni[1]];
        assert_eq!(found(&[vdso, libc, jvm[0], jvm[1]]).0, "App.quote");
        // Of a machine that is not known, nothing distinguishes its functions from an extension's.
        let made = [("clock_now", "libscript.so", Native), ("[unnamed code]", "", Unnamed)];
        assert_eq!(found(&[vdso, libc, made[0], made[1]]).0, "[unnamed code]");
    }

    #[test]
    fn closures_on_threads() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let libc = ("clock_gettime", "libc.so.6", Native);
        let now = ("std::sys::pal::unix::time::Timespec::now", "app", Native);
        let elapsed = ("std::time::Instant::elapsed", "app", Native);
        let plain = ("std::sys::backtrace::__rust_begin_short_backtrace", "app", Native);
        let end = [
            ("core::ops::function::FnOnce::call_once{{vtable.shim}}", "app", Native),
            ("<std::sys::thread::unix::Thread>::new::thread_start", "app", Native),
            ("start_thread", "libc.so.6", Native),
        ];
        let of = |frame| found(&[&[vdso, libc, now, elapsed, frame], &end[..]].concat());
        assert_eq!(of(plain), (plain.0.to_owned(), elapsed.0.to_owned()));
        let named = (
            "std::sys::backtrace::__rust_begin_short_backtrace::<app::main::{closure#0}, ()>",
            "app",
            Native,
        );
        assert_eq!(of(named).0, "app::main::{closure#0}");
        // A static program also has the thread's first function.
        let start = ("start", "app", Native);
        assert_eq!(found(&[vdso, now, elapsed, plain, start]).0, plain.0);
    }

    #[test]
    fn library_that_reads_for_itself_is_named_by_what_it_does() {
        let vdso = ("__vdso_clock_gettime", "[vdso]", Vdso);
        let go = [
            vdso,
            ("runtime.nanotime1", "app", Native),
            ("runtime.findRunnable", "app", Native),
            ("runtime.mcall", "app", Native),
        ];
        assert_eq!(found(&go), ("runtime.findRunnable".into(), "runtime.nanotime1".into()));
        let zig = [
            vdso,
            ("os.linux.clock_gettime", "app", Native),
            ("app.lease", "app", Native),
            ("app.main", "app", Native),
        ];
        assert_eq!(found(&zig), ("app.lease".into(), "os.linux.clock_gettime".into()));
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

//! Which functions a recording does not show, and how they could be named. Pure, except for the data of processes.

use crate::account::site;
use crate::account::source::is_nameless;
use crate::classify::Path;
use crate::perf::{Breakpoints, thread_ended};
use crate::recording::{Hit, Module, Stack};
use crate::symbols::FrameKind;
use crate::watched::maps::Mapping;
use crate::watched::{Process, Runtime, runtime};
use std::collections::{BTreeMap, BTreeSet};

/// A part of the reads that is worth a line.
const WORTH: f64 = 0.02;

/// The functions of scripts, and of code made at run time, that are not named, by process.
pub(super) fn unseen(processes: &[Process], stacks: &[Stack]) -> Vec<String> {
    let mut gaps = Vec::new();
    for (at, process) in processes.iter().enumerate() {
        let own = || stacks.iter().filter(|stack| stack.process == at);
        let all: u64 = own().map(|stack| stack.tally.samples).sum();
        if all == 0 {
            continue;
        }
        let share = |samples: u64| samples as f64 / all as f64;
        let pid = process.pid;
        // Of reads without a function of the script, those that come from the interpreter.
        let nameless = |interpreter: &dyn Fn(&str) -> bool| -> u64 {
            let no_function = own().filter(|stack| {
                let shown = |kind| matches!(kind, FrameKind::Interpreted | FrameKind::Jit);
                !stack.frames.iter().any(|frame| shown(frame.kind))
                    && stack.frames.iter().any(|frame| interpreter(&frame.module))
            });
            no_function.map(|stack| stack.tally.samples).sum()
        };
        let unnamed = || -> u64 {
            let nameless = |stack: &&Stack| site(&stack.frames).function == crate::symbols::UNNAMED;
            own().filter(nameless).map(|stack| stack.tally.samples).sum()
        };
        match process.runtime {
            Runtime::Python => {
                let samples = nameless(&|module| runtime::is_python_name(module));
                if share(samples) > WORTH {
                    gaps.push(process.no_python.clone().unwrap_or_else(|| {
                        format!(
                            "process {pid}: in {:.0} % of its reads the function of Python is not known, because \
                             the interpreter's loop was not found on the stack",
                            share(samples) * 100.0
                        )
                    }));
                }
            }
            Runtime::Node => {
                let samples = unnamed();
                if share(samples) > WORTH {
                    let way = if is_deno(process) {
                        "deno writes a map of them with \
                         --v8-flags=--perf-basic-prof,--interpreted-frames-native-stack"
                    } else {
                        "node writes a map of them with --perf-basic-prof \
                         --interpreted-frames-native-stack, also in NODE_OPTIONS"
                    };
                    gaps.push(format!(
                        "process {pid}: names of JavaScript functions, in {:.0} % of its reads: {way}",
                        share(samples) * 100.0
                    ));
                }
            }
            Runtime::Ruby | Runtime::Php | Runtime::Perl | Runtime::Lua => {
                let of = |module: &str| runtime::interpreter_name(module) == Some(process.runtime);
                if share(nameless(&of)) > WORTH
                    && let Some((language, way)) = another_way(process.runtime)
                {
                    gaps.push(format!(
                        "process {pid}: functions of {language}; rows show the interpreter's own: {way}"
                    ));
                }
            }
            Runtime::Native | Runtime::Go | Runtime::Jvm => {}
        }
        if is_below_valgrind(&process.maps) {
            gaps.push(format!(
                "process {pid}: functions of the program below valgrind, which reads the clock for it by system calls of its \
                 own: rows show valgrind's functions; without valgrind they show the program's"
            ));
        }
        if let Some(how) = inlining(process.runtime, is_deno(process)) {
            gaps.extend(compiled(how, pid, own(), all));
        }
        // The JVM and Node have their own message, or a known reason.
        let told = matches!(process.runtime, Runtime::Jvm | Runtime::Node);
        if !told && share(unnamed()) > WORTH && process.perf_map.is_empty() {
            let part = share(unnamed()) * 100.0;
            gaps.push(code_without_names(pid, part, process.has_code_without_file()));
        }
    }
    gaps.sort();
    gaps.dedup();
    let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
    gaps.retain(|gap| {
        // Workers of one program get one message.
        let text = gap.split_once(": ").map_or(gap.as_str(), |(_, text)| text).to_owned();
        let seen = by_text.entry(text).or_default();
        *seen += 1;
        *seen == 1
    });
    gaps
}

/// Why code has no names, in this percentage of a process's reads; `made`: the process has code that is not in a file.
fn code_without_names(pid: u32, part: f64, made: bool) -> String {
    if made {
        return format!(
            "process {pid}: names of code that it made at run time, in {part:.0} % of its reads: it has no /tmp/perf-PID.map \
             that can be used, as .NET (DOTNET_PerfMapEnabled=1), Julia, PyPy and others write one for perf; or the program \
             has copied its own code there, as for large pages"
        );
    }
    format!(
        "process {pid}: functions in {part:.0} % of its reads: their code was no longer mapped when \
         they were looked up, because the process had ended, or had unloaded a library"
    )
}

/// Whether valgrind executes a program: the process is a tool of valgrind's.
fn is_below_valgrind(maps: &[Mapping]) -> bool {
    let tool = |mapping: &Mapping| {
        mapping.name.contains("/valgrind/") && mapping.base_name().ends_with("-linux")
    };
    maps.iter().any(|mapping| mapping.executable && tool(mapping))
}

/// Whether a process is Deno.
fn is_deno(process: &Process) -> bool {
    process.maps.iter().any(|mapping| mapping.executable && mapping.base_name() == runtime::DENO)
}

/// The language of a machine that inlines functions at run time, and how it is started so that it does not.
fn inlining(runtime: Runtime, deno: bool) -> Option<(&'static str, &'static str)> {
    match runtime {
        Runtime::Jvm => Some(("Java", "java -XX:-Inline")),
        Runtime::Node if deno => Some(("JavaScript", "deno run --v8-flags=--no-turbo-inlining")),
        Runtime::Node => Some(("JavaScript", "node --no-turbo-inlining")),
        _ => None,
    }
}

/// Which functions of a machine that compiles at run time its names do not show.
fn compiled<'a>(
    (language, without): (&str, &str),
    pid: u32,
    own: impl Iterator<Item = &'a Stack>,
    all: u64,
) -> Vec<String> {
    let (mut interpreted, mut compiled) = (0, 0);
    for stack in own {
        let made = stack.frames.iter().any(|frame| frame.kind == FrameKind::Jit);
        match &*site(&stack.frames).function {
            // HotSpot's name for the code that interprets.
            "Interpreter" => interpreted += stack.tally.samples,
            crate::symbols::UNNAMED => {}
            _ if made => compiled += stack.tally.samples,
            _ => {}
        }
    }
    let share = |samples: u64| samples as f64 / all.max(1) as f64;
    let mut gaps = Vec::new();
    if share(interpreted) > WORTH {
        gaps.push(format!(
            "process {pid}: functions of {language} that are interpreted, in {:.0} % of its reads: \
             the names are those of compiled code, which functions that run often become (not with \
             -Xint)",
            share(interpreted) * 100.0
        ));
    }
    if share(compiled) > WORTH {
        gaps.push(format!(
            "process {pid}: functions of {language} that the compiler has inlined: their reads count for the functions that \
             call them ({without} shows them, and makes the program slower)"
        ));
    }
    gaps
}

/// Returns the files whose functions have no names although they read the time, and the place of the names.
pub(super) fn nameless(modules: &[Module], stacks: &[Stack]) -> Vec<String> {
    let all: u64 = stacks.iter().map(|stack| stack.tally.samples).sum();
    let mut by_module: BTreeMap<String, u64> = BTreeMap::new();
    for stack in stacks {
        let site = site(&stack.frames);
        if is_nameless(&site.function, &site.module) {
            *by_module.entry(site.module).or_default() += stack.tally.samples;
        }
    }
    let worth = by_module.into_iter().filter(|(_, samples)| *samples as f64 > WORTH * all as f64);
    worth
        .map(|(module, _)| {
            let build_id = modules.iter().find(|known| *known.name == *module);
            let build_id = build_id.map_or("", |known| &known.build_id);
            let way = match build_id.split_at_checked(2) {
                Some((first, rest)) => format!(
                    "the package with its debugging symbols has them (Debian, Ubuntu: find-dbgsym-packages FILE; \
                     Fedora: dnf debuginfo-install), or debuginfod-find debuginfo {build_id}, as \
                     /usr/lib/debug/.build-id/{first}/{rest}.debug"
                ),
                None => "it has no build id either; build it with symbols".to_owned(),
            };
            format!("functions of {module} have no names, because it has no symbols: {way}")
        })
        .collect()
}

/// Returns the language of an interpreter that is not examined, and the tool that names its functions.
fn another_way(runtime: Runtime) -> Option<(&'static str, &'static str)> {
    Some(match runtime {
        Runtime::Ruby => (
            "Ruby",
            "rbspy names them (rbspy record --pid PID); from 3.3 on, --yjit-perf those that YJIT compiles",
        ),
        Runtime::Php => ("PHP", "phpspy names them (phpspy --pid PID)"),
        Runtime::Perl => {
            ("Perl", "Devel::NYTProf names them in a program that is started with perl -d:NYTProf")
        }
        Runtime::Lua => (
            "Lua",
            "LuaJIT 2.1 names them in a program that is started with luajit -jp; Lua, by a hook (debug.sethook)",
        ),
        _ => return None,
    })
}

/// Why it is not known which clocks are read, if no breakpoint was hit; `cpu_ns` is the CPU time of a process.
pub(super) fn clocks(
    breakpoints: &Breakpoints,
    stacks: &[Stack],
    hits: &[Hit],
    cpu_ns: impl Fn(usize) -> u64,
    seconds: f64,
) -> Option<String> {
    if !hits.is_empty() {
        return None;
    }
    let by_vdso = |stack: &&Stack| !matches!(stack.path, Path::Syscall | Path::Counter);
    let readers = || stacks.iter().filter(by_vdso);
    let reads: u64 = readers().map(|stack| stack.tally.ns).sum();
    let programs: BTreeSet<usize> = readers().map(|stack| stack.process).collect();
    let ran: u64 = programs.into_iter().map(cpu_ns).sum();
    if reads == 0 {
        return None;
    }
    let why = match breakpoints.refused() {
        Some(error) if thread_ended(error) => {
            "the threads that read the time ended before breakpoints could be set".to_owned()
        }
        Some(error) => format!(
            "breakpoints on the vDSO are refused ({error}); a debugger or another profiler may hold the processor's \
             registers for them"
        ),
        None if breakpoints.should_have_hit(reads, ran, seconds) => format!(
            "breakpoints on the vDSO were armed for {:.1} ms and none was hit, although the programs read the time: \
             this virtual machine may have no debug registers",
            breakpoints.armed().as_secs_f64() * 1e3
        ),
        None if breakpoints.moments() > 0 => format!(
            "breakpoints on the vDSO were armed in {}, in which the programs did not run or did not read; a longer \
             --duration has more moments",
            match breakpoints.moments() {
                1 => "1 moment".to_owned(),
                many => format!("{many} moments"),
            }
        ),
        None => return None,
    };
    Some(format!(
        "which clocks are read is known only if a function that reads only one clock shows it: {why}; numbers of reads assume clocks that read the counter; --exact counts \
         the reads of a command by clock"
    ))
}

/// The processes that had ended before they could be looked at, each with its CPU time, and that of all.
pub(super) fn ended(processes: &[(&str, u64)], all: u64) -> Option<String> {
    let ns: u64 = processes.iter().map(|(_, ns)| ns).sum();
    if ns == 0 {
        return None;
    }
    let mut names: Vec<&str> = processes.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    let more = if names.len() > 4 { ", ..." } else { "" };
    names.truncate(4);
    Some(format!(
        "{} ({}{more}; {:.1} % of the CPU time) ended before {} could be examined: reads of {} are counted, functions \
         and clocks are not known",
        many(processes.len()),
        names.join(", "),
        ns as f64 / all.max(1) as f64 * 100.0,
        if processes.len() == 1 { "it" } else { "they" },
        if processes.len() == 1 { "it" } else { "them" },
    ))
}

/// The processes whose code is 32-bit, each with its name and CPU time, and that of all.
pub(super) fn narrow(processes: &[(u32, &str, u64)], all: u64) -> Option<String> {
    let (pid, name, _) = processes.first()?;
    let ns: u64 = processes.iter().map(|(_, _, ns)| ns).sum();
    let others = match processes.len() {
        1 => String::new(),
        many => format!(" and {}", many_others(many - 1)),
    };
    Some(format!(
        "{name} ({pid}){others} ({:.1} % of the CPU time): reads of 32-bit programs are not seen, and the intervals of the \
         sums allow for that; perf record -p {pid}, then perf report --sort dso shows what their vDSO takes",
        ns as f64 / all.max(1) as f64 * 100.0
    ))
}

fn many_others(others: usize) -> String {
    if others == 1 { "1 other".to_owned() } else { format!("{others} others") }
}

/// The processes of which nothing is known, by their CPU time.
pub(super) fn strangers(processes: &[u64], all: u64) -> Option<String> {
    let ns: u64 = processes.iter().sum();
    (ns > 0).then(|| {
        format!(
            "{} ({:.1} % of the CPU time) could not be examined: ended too soon, or of another user; reads of {} are \
             missing, and the intervals of the sums allow for that",
            many(processes.len()),
            ns as f64 / all.max(1) as f64 * 100.0,
            if processes.len() == 1 { "it" } else { "them" },
        )
    })
}

fn many(processes: usize) -> String {
    if processes == 1 { "1 process".to_owned() } else { format!("{processes} processes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_32_bits_are_named() {
        assert_eq!(narrow(&[], 100), None);
        let said = narrow(&[(7, "old", 30), (9, "old", 10)], 50).unwrap();
        assert!(said.starts_with("old (7) and 1 other (80.0 % of the CPU time): "), "{said}");
    }

    #[test]
    fn program_below_valgrind_is_known_by_the_tool() {
        let of = |name: &str| {
            let line = format!("58000000-58200000 r-xp 00001000 fe:00 7 {name}");
            is_below_valgrind(&crate::watched::maps::parse(&line))
        };
        assert!(of("/usr/libexec/valgrind/memcheck-amd64-linux"));
        assert!(of("/opt/v/lib/valgrind/callgrind-arm64-linux"));
        assert!(!of("/usr/bin/valgrind") && !of("/home/u/valgrind/app"));
    }

    #[test]
    fn code_that_is_gone_is_not_said_to_be_made_at_run_time() {
        let (made, gone) = (code_without_names(7, 45.0, true), code_without_names(7, 45.0, false));
        assert!(made.starts_with("process 7: names of code that it made at run time, in 45 % of"));
        assert!(gone.contains("no longer mapped") && !gone.contains("perf"), "{gone}");
    }

    #[test]
    fn functions_of_a_compiling_machine_that_have_no_rows_are_mentioned() {
        use crate::aggregate::Tally;
        use crate::symbols::Frame;
        let stack = |name: &str, kind, samples| {
            let frame = |name: &str, kind| Frame {
                name: name.into(),
                module: "m".into(),
                kind,
                place: None,
            };
            let frames = [frame("os::javaTimeNanos()", FrameKind::Native), frame(name, kind)];
            Stack {
                process: 0,
                path: Path::Vdso,
                api: None,
                frames: frames.into(),
                callers: [1].into(),
                tally: Tally { samples, ns: samples },
            }
        };
        let of = |runtime, stacks: &[Stack]| {
            let all = stacks.iter().map(|one| one.tally.samples).sum();
            let how = inlining(runtime, false);
            how.map_or_else(Vec::new, |how| compiled(how, 7, stacks.iter(), all))
        };
        let (app, interpreter) =
            (stack("App.main", FrameKind::Jit, 90), stack("Interpreter", FrameKind::Jit, 10));
        let both = of(Runtime::Jvm, &[app.clone(), interpreter]);
        assert!(both[0].contains("that are interpreted, in 10 %"), "{both:?}");
        assert!(both[1].contains("-XX:-Inline") && both.len() == 2, "{both:?}");
        assert_eq!(of(Runtime::Jvm, std::slice::from_ref(&app)).len(), 1);
        let unnamed = stack(crate::symbols::UNNAMED, FrameKind::Unnamed, 9);
        assert_eq!(of(Runtime::Node, &[unnamed]), Vec::<String>::new());
        assert!(of(Runtime::Node, std::slice::from_ref(&app))[0].contains("--no-turbo-inlining"));
        assert_eq!(of(Runtime::Go, &[app]), Vec::<String>::new());
        assert!(inlining(Runtime::Node, true).unwrap().1.starts_with("deno run --v8-flags="));
    }

    #[test]
    fn ended_processes_are_named_and_counted() {
        assert_eq!(ended(&[], 100), None);
        let said = ended(&[("true", 5), ("date", 10), ("true", 5)], 200).unwrap();
        assert!(said.starts_with("3 processes (date, true; 10.0 % of the CPU time)"), "{said}");
        let many: Vec<(&str, u64)> = ["a", "b", "c", "d", "e"].map(|name| (name, 1)).to_vec();
        assert!(ended(&many, 10).unwrap().contains("a, b, c, d, ...;"));
        assert_eq!(strangers(&[0], 100), None);
        assert!(strangers(&[10], 100).unwrap().starts_with("1 process (10.0 %"));
    }
}

//! Which functions a recording does not show, and how they would be named. Pure, except for what is known of processes.

use crate::account::site;
use crate::account::source::is_nameless;
use crate::recording::{Module, Stack};
use crate::symbols::FrameKind;
use crate::watched::{Process, Runtime, runtime};
use std::collections::BTreeMap;

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
                let unnamed = own().filter(|stack| {
                    let site = site(&stack.frames);
                    site.function == crate::symbols::UNNAMED
                });
                let samples: u64 = unnamed.map(|stack| stack.tally.samples).sum();
                if share(samples) > WORTH {
                    gaps.push(format!(
                        "process {pid}: names of JavaScript functions, in {:.0} % of its reads: node writes a map of \
                         them with --perf-basic-prof --interpreted-frames-native-stack, also in NODE_OPTIONS",
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
    }
    gaps.sort();
    gaps.dedup();
    let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
    gaps.retain(|gap| {
        // Workers of one program say it once.
        let text = gap.split_once(": ").map_or(gap.as_str(), |(_, text)| text).to_owned();
        let seen = by_text.entry(text).or_default();
        *seen += 1;
        *seen == 1
    });
    gaps
}

/// The files whose functions have no names although they read the time, and where names are.
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

/// The language of an interpreter that is not looked into, and what names its functions.
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

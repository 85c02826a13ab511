//! The project's checks: `./test.sh` and `.ci/run` call `xtask test`.
//!
//! [`steps`] is the table: each step with its tier, its needs, its duration and its budget. [`plan`] chooses steps from
//! the command line, [`runner`] runs them, [`load`] measures their share of the machine; [`lint`] is the compiler of
//! the workspace.

#![forbid(unsafe_code)]

/// Prints a line, or keeps it: see [`output`].
macro_rules! say {
    () => { $crate::output::write(b"\n") };
    ($($words:tt)+) => {
        $crate::output::write(format!("{}\n", format_args!($($words)+)).as_bytes())
    };
}

mod ask;
mod beside;
mod call;
mod context;
mod flags;
mod git;
mod help;
mod kept;
mod limit;
mod lint;
mod load;
mod may_skip;
mod needs;
mod offline;
mod output;
mod plan;
mod programs;
mod runner;
mod running;
mod scratch;
mod settings;
mod skips;
mod step;
mod steps;

use std::path::Path;
use std::process::ExitCode;

/// Wrong usage, as everywhere in this project.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let code = tests();
    if output::is_lost() { ExitCode::FAILURE } else { code }
}

fn tests() -> ExitCode {
    // Steps are relative to the top, where test.sh is. Cargo's alias works in every directory, and sets the path of the
    // crate that it runs. The path from compile time is not used: another checkout may have compiled this, into a
    // shared directory.
    if let Some(crate_dir) = std::env::var_os("CARGO_MANIFEST_DIR") {
        let top = Path::new(&crate_dir).join("..");
        if let Err(error) = std::env::set_current_dir(&top) {
            eprintln!("xtask: CARGO_MANIFEST_DIR: going to {}: {error}", top.display());
            return ExitCode::from(USAGE);
        }
    }
    if !Path::new("xtask/Cargo.toml").is_file() {
        eprintln!("xtask: this is not the top of the sources: call ./test.sh");
        return ExitCode::from(USAGE);
    }
    let words: Result<Vec<String>, _> =
        std::env::args_os().skip(1).map(|word| word.into_string()).collect();
    let words = match words {
        Ok(words) => words,
        Err(word) => {
            eprintln!("test.sh: {} is no step; see ./test.sh --help", word.display());
            return ExitCode::from(USAGE);
        }
    };
    let Some(("test", words)) = words.split_first().map(|(verb, rest)| (verb.as_str(), rest))
    else {
        eprintln!("xtask: the only verb is `test`; see ./test.sh --help");
        return ExitCode::from(USAGE);
    };
    match plan::parse(words) {
        Ok(plan::Wish::Help) => {
            help::print();
            ExitCode::SUCCESS
        }
        Ok(plan::Wish::Needs(kind, plan)) => {
            // An installer works for minutes; what the run would refuse is refused before.
            if let Err(why) = may_skip::MaySkip::of_environment() {
                eprintln!("test.sh: {why}");
                return ExitCode::from(USAGE);
            }
            needs::print(kind, &plan.all());
            ExitCode::SUCCESS
        }
        Ok(plan::Wish::Run(plan)) => runner::run(&plan),
        Err(why) => {
            eprintln!("test.sh: {why}");
            ExitCode::from(USAGE)
        }
    }
}

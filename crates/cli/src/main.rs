//! The program: verbs, sources of facts, rendering. The crates below make every decision about time.

// Text reaches a terminal by `ui` only.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro, clippy::disallowed_methods)]

mod args;
mod build;
mod exit;
mod gather;
mod machine_id;
mod manual;
mod prose;
mod render;
mod report;
mod run;
mod signals;
mod stack;
mod ui;
mod verbs;
mod verify;
#[cfg(feature = "who")]
mod who;

use clocksmith_facts::memory::Memory;
use std::process::ExitCode;

#[global_allocator]
static MEMORY: Memory = Memory::new(
    "clocksmith",
    "Raise the limit of this process (ulimit -v) or of its control group (memory.max), or read less at once",
);

fn main() -> ExitCode {
    signals::at_start();
    ui::panic::listen();
    stack::run(program)
}

fn program() -> ExitCode {
    let args = match args::parse() {
        Ok(args) => args,
        Err(error) => return verbs::check::wrong_usage(error),
    };
    match verbs::run(args) {
        Ok(code) => code.into(),
        Err(error) => {
            // The reader closed the pipe (`clocksmith why | head`), which is not an error.
            if exit::is_broken_pipe(&error) {
                return ExitCode::SUCCESS;
            }
            if let Some(code) = exit::of_unread(&error) {
                return code;
            }
            ui::err::line(&render::error(&error));
            let mut known = String::new();
            render::known::paragraph(
                &mut known,
                prose::Unread::known(&error),
                render::Style::plain(),
            );
            ui::err::text(&known);
            exit::of_error(&error).into()
        }
    }
}

//! The one place that writes to standard output and standard error, and to files that the command line names ([`mod@file`]).
//!
//! Most of what is printed was written by others: names of processes, kernel logs, files of virtual machines, error
//! messages that quote them. Everything passes [`clocksmith_facts::visible`] here, at the last moment, so that no verb
//! has to remember it: what a terminal would act on is shown by name, and only the colours of [`Ink::of_run`](clocksmith_facts::visible::Ink::of_run) are colours.
//! `crates/cli/clippy.toml` and `main.rs` forbid every other way.

pub(crate) mod err;
pub(crate) mod file;
pub(crate) mod out;
pub(crate) mod panic;
pub(crate) mod screen;

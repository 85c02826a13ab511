//! The one place that writes to standard output and standard error, and to files that the command line names ([`file`]).
//!
//! Most of what is printed was written by others: names of processes, kernel logs, files of virtual machines, error
//! messages that quote them. Everything passes [`clocksmith_facts::visible`] here, at the last moment, so that no verb
//! has to remember it: what a terminal would act on is shown by name, and only the colours of [`ink`] are colours.
//! `crates/cli/clippy.toml` and `main.rs` forbid every other way.

pub(crate) mod err;
pub(crate) mod file;
pub(crate) mod out;
pub(crate) mod panic;
pub(crate) mod screen;

use clocksmith_facts::visible::Ink;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The ink of this run: its number is random, so that nothing from outside can be in our colours.
pub(crate) fn ink() -> Ink {
    static INK: OnceLock<Ink> = OnceLock::new();
    // The keys of the standard library's hash tables are random in each process.
    *INK.get_or_init(|| Ink::new(RandomState::new().build_hasher().finish()))
}

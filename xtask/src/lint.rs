//! The compiler of the checks: rustc with the lints of clippy.
//!
//! `cargo clippy` checks all crates again, dependencies included, which takes as long as compiling half of them. Here
//! cargo calls clippy's driver as `RUSTC_WORKSPACE_WRAPPER`, as `cargo clippy` does, so that the crates of this workspace
//! are compiled and linted in one pass. Warnings do not stop it; cargo keeps them and shows them again as long as the
//! crate does not change, so that the step `clippy` finds them.
//!
//! The driver optimises less (no optimisations of MIR), which makes a difference only to crates that the dev profile
//! optimises. Programs for users and for benchmarks are made without it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the variable that makes cargo compile with the lints of clippy, if it is installed.
pub(crate) fn environment() -> Option<(&'static str, PathBuf)> {
    let asked = crate::ask::ask(Command::new("rustc").args(["--print", "sysroot"])).ok()?;
    let driver = Path::new(asked.out.trim_end()).join("bin/clippy-driver");
    driver.is_file().then_some(("RUSTC_WORKSPACE_WRAPPER", driver))
}

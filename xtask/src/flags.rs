//! The flags of compilers that an environment has: with `-Awarnings`, `--cap-lints` or another set of lints there are no warnings
//! to judge, and cargo prefers `CARGO_ENCODED_RUSTFLAGS` to the `RUSTFLAGS` that a step sets.

use std::ffi::{OsStr, OsString};

/// Whether a variable has flags for rustc, rustdoc or clippy, or says what cargo makes of warnings.
pub(crate) fn is_flags(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // `RUSTFLAGS`, and that of an encoding, of the configuration (`CARGO_BUILD_`) or of a target (`CARGO_TARGET_`).
    let is_compilers = name.ends_with("RUSTFLAGS") || name.ends_with("RUSTDOCFLAGS");
    is_compilers || ["CLIPPY_ARGS", "CLIPPY_CONF_DIR", "CARGO_BUILD_WARNINGS"].contains(&&*name)
}

/// Those of the environment that have a value.
pub(crate) fn inherited() -> Vec<OsString> {
    let flags = std::env::vars_os().filter(|(name, value)| is_flags(name) && !value.is_empty());
    flags.map(|(name, _)| name).collect()
}

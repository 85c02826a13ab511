//! The flags of compilers that an environment has: with `-Awarnings`, `--cap-lints` or another set of lints there are no warnings
//! to judge, and cargo prefers `CARGO_ENCODED_RUSTFLAGS` to the `RUSTFLAGS` that a step sets.

use std::ffi::{OsStr, OsString};

/// Variables by which the flags in a `config.toml` of cargo do not count.
pub(crate) const OF_NO_CONFIGURATION: [(&str, &str); 2] = [("RUSTFLAGS", ""), ("RUSTDOCFLAGS", "")];

/// Whether a variable has flags for rustc, rustdoc or clippy, or says what cargo makes of warnings.
pub(crate) fn is_flags(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    // `RUSTFLAGS`, and that of an encoding, of the configuration (`CARGO_BUILD_`) or of a target (`CARGO_TARGET_`).
    let is_compilers = name.ends_with("RUSTFLAGS") || name.ends_with("RUSTDOCFLAGS");
    is_compilers || ["CLIPPY_ARGS", "CLIPPY_CONF_DIR", "CARGO_BUILD_WARNINGS"].contains(&&*name)
}

/// The names of those that the environment has; cargo also obeys an empty one.
pub(crate) fn inherited() -> Vec<OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| is_flags(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_compilers_however_they_are_passed() {
        for name in [
            "RUSTFLAGS",
            "RUSTDOCFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_ENCODED_RUSTDOCFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_BUILD_RUSTDOCFLAGS",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "CLIPPY_ARGS",
            "CLIPPY_CONF_DIR",
            "CARGO_BUILD_WARNINGS",
        ] {
            assert!(is_flags(name.as_ref()), "{name}");
        }
        for name in ["MIRIFLAGS", "CFLAGS", "CARGO_TARGET_DIR", "RUSTC_WRAPPER", "RUSTFLAGS_OLD"] {
            assert!(!is_flags(name.as_ref()), "{name}");
        }
    }
}

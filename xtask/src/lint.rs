//! The compiler of the checks: rustc with the lints of clippy, and after each crate rustdoc with its lints.
//!
//! `cargo clippy` and `cargo doc` each check all crates again, dependencies included, which takes as long as compiling
//! half of them. Here cargo calls this program as `RUSTC_WORKSPACE_WRAPPER`, so that the crates of this workspace are
//! compiled, linted and documented in one pass. Warnings do not stop it; cargo keeps them and shows them again as long
//! as the crate does not change, so that the step `clippy` finds them.
//!
//! clippy-driver optimises less (no optimisations of MIR), which makes a difference only to crates that the dev profile
//! optimises. Programs for users and for benchmarks are made without it.

use crate::context::Context;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Set for this program as wrapper: clippy's driver, and the directory for the documentation.
const DRIVER: &str = "CLOCKSMITH_LINT_DRIVER";
const DOCUMENTATION: &str = "CLOCKSMITH_LINT_DOC";

/// Returns the variables that make cargo call this program; none if clippy is not installed, or if this program cannot
/// be copied.
pub(crate) fn environment(context: &Context) -> Vec<(&'static str, OsString)> {
    let wrapper = || {
        let driver = clippy_driver()?;
        let target = std::path::absolute(&context.target).ok()?;
        // Cargo replaces the program in target/debug while it compiles this crate.
        let copy = target.join("xtask-lint");
        let present = std::env::current_exe().ok()?;
        if std::fs::read(&copy).ok() != std::fs::read(&present).ok() {
            let new = target.join(format!("xtask-lint.{}", std::process::id()));
            std::fs::copy(&present, &new).ok()?;
            std::fs::rename(&new, &copy).ok()?;
        }
        Some(vec![
            ("RUSTC_WORKSPACE_WRAPPER", copy.into_os_string()),
            (DRIVER, driver.into_os_string()),
            (DOCUMENTATION, target.join("xtask-doc").into_os_string()),
        ])
    };
    wrapper().unwrap_or_default()
}

/// Runs the compiler and rustdoc if cargo called this program as its wrapper, with the compiler as first word.
pub(crate) fn as_wrapper() -> Option<ExitCode> {
    let driver = std::env::var_os(DRIVER)?;
    let documentation = PathBuf::from(std::env::var_os(DOCUMENTATION)?);
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (compiler, arguments) = words.split_first()?;
    if Path::new(compiler).file_stem() != Some(OsStr::new("rustc")) {
        return None;
    }
    let compiled = run(Command::new(driver).args(&words));
    if compiled != 0 {
        return Some(ExitCode::from(compiled));
    }
    Some(ExitCode::from(match rustdoc(arguments, &documentation) {
        Some(arguments) => run(Command::new("rustdoc").args(arguments)),
        None => 0,
    }))
}

fn run(command: &mut Command) -> u8 {
    match command.status() {
        Ok(status) => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
        Err(error) => {
            eprintln!("xtask: starting {}: {error}", command.get_program().display());
            1
        }
    }
}

/// Returns the compiler with clippy's lints, if it is installed.
fn clippy_driver() -> Option<PathBuf> {
    let asked = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = String::from_utf8(asked.stdout).ok()?;
    Some(Path::new(sysroot.trim_end()).join("bin/clippy-driver")).filter(|path| path.is_file())
}

/// Returns the arguments of rustdoc for a crate that `cargo doc` documents: a library or a program, no test, example or
/// build script.
fn rustdoc(arguments: &[OsString], documentation: &Path) -> Option<Vec<OsString>> {
    let text: Vec<&str> = arguments.iter().map(|word| word.to_str()).collect::<Option<_>>()?;
    let after = |name: &str| {
        text.iter().position(|word| *word == name).and_then(|at| text.get(at + 1)).copied()
    };
    let source = text.iter().find(|word| !word.starts_with('-') && word.ends_with(".rs"))?;
    let in_src = Path::new(source).components().any(|part| part.as_os_str() == "src");
    let kind = after("--crate-type")?;
    if !in_src || !matches!(kind, "lib" | "bin" | "rlib") || text.contains(&"--test") {
        return None;
    }
    // A library and a program may have the same name.
    let place = documentation.join(format!("{}-{kind}", after("--crate-name")?));
    let mut kept: Vec<OsString> = Vec::new();
    let mut words = text.iter();
    while let Some(word) = words.next() {
        match *word {
            "--out-dir" => drop(words.next()),
            word if word.starts_with("--emit=") => {}
            word => kept.push(word.into()),
        }
    }
    kept.extend(["--out-dir".into(), place.into_os_string()]);
    if kind == "bin" {
        // As cargo does.
        kept.push("--document-private-items".into());
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn documented(line: &str) -> Option<String> {
        let found = rustdoc(&words(line), Path::new("/t/doc"))?;
        Some(found.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn rustdoc_library_is_documented_with_its_features_and_crates() {
        let line = "--crate-name a --edition=2024 crates/a/src/lib.rs --crate-type lib --emit=dep-info,link -C opt-level=1 --cfg feature=\"x\" --out-dir /t/deps --extern b=/t/libb.rmeta";
        assert_eq!(
            documented(line).unwrap(),
            "--crate-name a --edition=2024 crates/a/src/lib.rs --crate-type lib -C opt-level=1 --cfg feature=\"x\" --extern b=/t/libb.rmeta --out-dir /t/doc/a-lib"
        );
    }

    #[test]
    fn rustdoc_private_items_of_a_program_are_documented() {
        let found = documented("--crate-name a src/main.rs --crate-type bin --out-dir /t").unwrap();
        assert!(found.ends_with("/t/doc/a-bin --document-private-items"), "{found}");
    }

    #[test]
    fn rustdoc_tests_examples_and_build_scripts_are_not_documented() {
        for line in [
            "--crate-name a src/lib.rs --test --out-dir /t",
            "--crate-name a src/lib.rs --crate-type lib --test",
            "--crate-name b examples/b.rs --crate-type bin",
            "--crate-name build_script_build build.rs --crate-type bin",
            "--crate-name d src/lib.rs --crate-type proc-macro",
            "-vV",
            "- --crate-name ___ --print=file-names --crate-type bin",
        ] {
            assert_eq!(documented(line), None, "{line}");
        }
    }
}

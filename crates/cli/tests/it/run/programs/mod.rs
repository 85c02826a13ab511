//! Building the programs, once for each run of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    C,
    StaticC,
    Go,
    Java,
}

static ONE: Mutex<()> = Mutex::new(());

/// The directory of the programs: made again for each run, since process ids are reused, and with them programs of an
/// older source.
fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let out =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("run-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&out);
        std::fs::create_dir_all(&out).unwrap();
        out
    })
}

/// Builds a program; `None`, with a message, if the tool is missing.
pub(crate) fn build(program: Program) -> Option<PathBuf> {
    let _one = ONE.lock().unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/run/programs");
    let out = directory();
    let (name, mut command) = match program {
        Program::C => ("clocks", Command::new("cc")),
        Program::StaticC => ("clocks-static", Command::new("cc")),
        Program::Go => ("clocks-go", Command::new("go")),
        Program::Java => ("clocks-java", Command::new("javac")),
    };
    let path = out.join(name);
    if path.exists() {
        return Some(path);
    }
    match program {
        Program::C | Program::StaticC => {
            command.args(["-O1", "-pthread", "-o"]).arg(&path);
            if program == Program::StaticC {
                command.arg("-static");
            }
            command.arg(sources.join("clocks.c"));
        }
        Program::Go => {
            command.env("CGO_ENABLED", "0").arg("build").arg("-o").arg(&path);
            command.arg(sources.join("clocks.go"));
        }
        Program::Java => {
            command.arg("-d").arg(out).arg(sources.join("Clocks.java"));
        }
    }
    match command.output() {
        Ok(done) if done.status.success() => {}
        Ok(done) => panic!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)),
        Err(error) => {
            eprintln!("skipped: {program:?}: {error}");
            return None;
        }
    }
    if program == Program::Java {
        let script = format!("#!/bin/sh\nexec java -cp '{}' Clocks\n", out.display());
        crate::executable::make(&path, script);
    }
    Some(path)
}

//! The pages of the book that are made from the program are there, and are what would be made now.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::CauseId;
use std::path::Path;
use std::process::Command;

fn book() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book")
}

#[test]
fn every_cause_has_a_page_which_the_summary_lists() {
    let summary = std::fs::read_to_string(book().join("src/SUMMARY.md")).unwrap();
    for id in CauseId::ALL {
        let page = format!("causes/{}.md", id.name());
        let text = std::fs::read_to_string(book().join("src").join(&page)).unwrap_or_default();
        assert!(text.contains(&format!("# {}\n", id.name())), "{page}: run book/make.py");
        assert!(summary.contains(&format!("({page})")), "{page} is not in book/src/SUMMARY.md");
    }
}

/// Runs `book/make.py --check`, which also feeds the kernel's lines of every era to `why`. With
/// `UPDATE_BOOK=1` it writes the pages.
#[test]
fn made_pages_are_up_to_date() {
    // tomllib is there since Python 3.11.
    let python = Command::new("python3").args(["-c", "import tomllib"]).output();
    if !python.is_ok_and(|out| out.status.success()) {
        eprintln!("skipped: no Python 3.11");
        return;
    }
    let mut command = Command::new("python3");
    command.arg(book().join("make.py"));
    if std::env::var_os("UPDATE_BOOK").is_none() {
        command.arg("--check");
    }
    let out = command.args(["--clocksmith", env!("CARGO_BIN_EXE_clocksmith")]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

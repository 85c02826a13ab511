//! `why --html`: one page with the content of the document of `--json`, and where it is written.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn clocksmith(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(args).output().unwrap()
}

/// The recorded boots of the kernel model's tests.
fn boots() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures/boots")
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

#[test]
fn the_page_of_every_recorded_boot_has_its_causes_and_remedies() {
    let mut sources: Vec<Vec<String>> = vec![vec![
        "--log".to_owned(),
        fixtures().join("logs/warp.log").to_str().unwrap().to_owned(),
    ]];
    for boot in std::fs::read_dir(boots()).unwrap() {
        let root = boot.unwrap().path().join("root");
        sources.push(vec!["--root".to_owned(), root.to_str().unwrap().to_owned()]);
    }
    let (mut causes, mut remedies, mut moments) = (0, 0, 0);
    for source in &sources {
        let source: Vec<&str> = source.iter().map(String::as_str).collect();
        let page = clocksmith(&[&["why", "--html", "-"], &source[..]].concat());
        let page = String::from_utf8(page.stdout).unwrap();
        let document = clocksmith(&[&["why", "--json"], &source[..]].concat());
        let document: serde_json::Value = serde_json::from_slice(&document.stdout).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{source:?}");
        let list = |key: &str| document[key].as_array().unwrap().clone();
        for cause in list("causes") {
            let id = cause["id"].as_str().unwrap();
            assert!(page.contains(&format!("</span> <code>{id}</code>")), "{source:?}: {id}");
            causes += 1;
        }
        for remedy in list("remedies") {
            let id = remedy["id"].as_str().unwrap();
            assert!(page.contains(&format!("<code>{id}</code></")), "{source:?}: {id}");
            remedies += 1;
        }
        moments += list("timeline").len();
        assert_eq!(list("timeline").len(), page.matches("<time>").count() - 2, "{source:?}");
    }
    assert!(causes >= 10 && remedies >= 10 && moments >= 3, "{causes} {remedies} {moments}");
}

#[test]
fn a_file_that_is_not_ours_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("why.html");
    let name = path.to_str().unwrap();
    let log = fixtures().join("logs/warp.log");
    let args = ["why", "--log", log.to_str().unwrap(), "--html", name];
    for _ in 0..2 {
        let out = clocksmith(&args);
        assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
        // The text is printed as well.
        assert!(String::from_utf8(out.stdout).unwrap().contains("tsc-warp"));
        assert!(std::fs::read_to_string(&path).unwrap().contains("tsc-warp"));
    }
    std::fs::write(&path, "notes").unwrap();
    let out = clocksmith(&args);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("not overwritten"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "notes");
    assert_eq!(clocksmith(&["why", "--json", "--html", "-"]).status.code(), Some(2));
}

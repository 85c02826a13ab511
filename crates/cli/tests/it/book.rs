//! The pages of the book that are made from the program exist, and are up to date.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::CauseId;
use std::path::Path;

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

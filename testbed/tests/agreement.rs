//! The committed agreement page lists the subset for continuous integration as the case files have it.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::case::file::load_directory;
use clocksmith_testbed::kernel::catalogue::Catalogue;
use clocksmith_testbed::report::page::CI;
use std::collections::BTreeSet;
use std::path::Path;

/// The cells of a table's line.
fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// `case@kernel` of every cell that is not a dash. A table with a column called `kernel` has one
/// boot a line, the other kind one kernel a column.
fn booted(section: &str) -> BTreeSet<String> {
    let mut boots = BTreeSet::new();
    let mut header: Vec<&str> = Vec::new();
    for line in section.lines().filter(|line| line.starts_with('|') && !line.starts_with("|-")) {
        let cells = cells(line);
        if cells[0] == "case" {
            header = cells;
        } else if header[1] == "kernel" {
            boots.insert(format!("{}@{}", cells[0], cells[1]));
        } else {
            let full = header.iter().zip(&cells).skip(1).filter(|(_, cell)| **cell != "–");
            boots.extend(full.map(|(kernel, _)| format!("{}@{kernel}", cells[0])));
        }
    }
    boots
}

#[test]
fn the_page_lists_exactly_the_cases_for_continuous_integration() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cases = root.join("cases");
    let boots = load_directory(&cases, &Catalogue::load(&cases).unwrap()).unwrap();
    let page = std::fs::read_to_string(root.join("../docs/agreement.md")).unwrap();
    let section = page.split_once(CI).unwrap().1;
    let listed = booted(section.split("\n## ").next().unwrap());
    let case = |id: &String| id.split('@').next().unwrap().to_string();
    let wanted: BTreeSet<String> = boots.iter().filter(|b| b.ci).map(|b| b.id.clone()).collect();
    assert_eq!(
        listed.iter().map(case).collect::<BTreeSet<_>>(),
        wanted.iter().map(case).collect::<BTreeSet<_>>(),
        "write the page again: testbed run, then testbed report DIR --output docs/agreement.md"
    );
    let missing: Vec<_> = wanted.difference(&listed).collect();
    assert!(missing.is_empty(), "the page lacks {missing:?}");
}

//! Every rule of the registry is found in some file: a rule that nothing reports is a promise that nothing keeps.

use super::*;
use std::collections::BTreeSet;

/// Files, each behind a line `=== KIND NAME: IDS`.
const SAMPLES: &str = include_str!("samples.txt");

#[test]
fn rules_every_one_is_found_in_a_sample() {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for sample in SAMPLES.split("\n=== ").skip(1) {
        let (head, text) = sample.split_once('\n').unwrap();
        let (file, wanted) = head.split_once(": ").unwrap();
        let (kind, name) = file.split_once(' ').unwrap();
        let kind = Kind::of_name(kind).unwrap_or_else(|| panic!("{kind}"));
        let document = Document::of_kind(name, format!("{text}\n").as_bytes(), kind).unwrap();
        let report = lint(&document).unwrap_or_else(|error| panic!("{error}\n{sample}"));
        let ids: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule.id).collect();
        for id in wanted.split(' ') {
            assert!(ids.contains(id), "{id} not in {ids:?} of\n{sample}");
        }
        found.extend(ids);
    }
    let missing: Vec<&str> =
        clocksmith_vm::rules().map(|rule| rule.id).filter(|id| !found.contains(id)).collect();
    assert!(missing.is_empty(), "no sample has {missing:?}");
}

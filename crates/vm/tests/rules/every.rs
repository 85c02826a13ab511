//! Every rule of the registry is found in some file: each rule must be reported at least once.

use super::*;
use std::collections::BTreeSet;

/// Files, each after a line `=== KIND NAME: IDS`.
const SAMPLES: &str = include_str!("samples.txt");

#[test]
fn rules_every_one_is_found_in_a_sample() {
    let mut found: BTreeSet<&str> = BTreeSet::new();
    for sample in SAMPLES.split("\n=== ").skip(1) {
        let (head, text) = sample.split_once('\n').unwrap();
        let (file, wanted) = head.split_once(": ").unwrap();
        let (kind, name) = file.split_once(' ').unwrap();
        let kind = Kind::of_name(kind).unwrap_or_else(|| panic!("{kind}"));
        let mut document = Document::of_kind(name, format!("{text}\n").as_bytes(), kind).unwrap();
        document.models = (name == "node.conf").then(|| "cpu-model: other\n".to_owned());
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

/// A setting that an administrator may have made because of a fault is not removed; the text to write by hand is
/// reported.
#[test]
fn fix_setting_with_a_reason_is_left_and_said() {
    let qemu = |rest: &str| {
        format!("#!/bin/sh\nqemu-system-x86_64 -enable-kvm -machine q35,hpet=off -m 64 {rest}\n")
    };
    let kernel = |word: &str| qemu(&format!("-cpu host -kernel k -append \"quiet {word}\""));
    for (kind, text, id, word) in [
        (Kind::Qemu, kernel("notsc"), "q-guest-notsc", "remove notsc"),
        (Kind::Qemu, kernel("tsc=unstable"), "q-guest-notsc", "remove tsc=unstable"),
        (
            Kind::Qemu,
            qemu("-cpu host,-rdtscp -kernel k -append quiet"),
            "q-rdtscp-off",
            "remove -rdtscp",
        ),
    ] {
        mended(kind, &text, &text);
        let report = lint(&document(kind, &text)).unwrap();
        let finding = report.findings.iter().find(|finding| finding.rule.id == id).unwrap();
        let left = finding.left.as_deref().unwrap_or_default();
        let by_hand = finding.fix.as_deref().unwrap_or_default();
        assert!(left.contains("reason") && by_hand.contains(word), "{id}: {left}; {by_hand}");
    }
}

//! Files with pieces removed, doubled and moved: checks end, changes can be made, and a second fix changes nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use clocksmith_vm::{Choices, Document, Kind, edit, fix, lint};
use proptest::prelude::*;

const SEEDS: [(Kind, &str); 4] = [
    (
        Kind::Libvirt,
        "<!-- a -->\n<domain type='kvm'>\n  <name>win10</name>\n  <os><type arch='x86_64'>hvm</type><cmdline>notsc a</cmdline></os>\n  <features><hyperv><relaxed state='on'/></hyperv><kvm><hidden state='on'/></kvm></features>\n  <cpu mode='host-passthrough'><feature policy='disable' name='rdtscp'/></cpu>\n  <clock offset='utc'>\n    <timer name='tsc' present='yes' mode='native'/>\n    <timer name=\"hpet\" present=\"yes\"/>\n    <timer name='kvmclock' present='no'/>\n  </clock>\n  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:arg value='-cpu'/><qemu:arg value='host,kvm=off'/></qemu:commandline>\n</domain>\n",
    ),
    (
        Kind::Qemu,
        "CPU=\"host\"; A=(-m 1G \"-smp\" 2)\nif grep -q invtsc /proc/cpuinfo; then CPU=\"$CPU,+invtsc\"; fi\nA+=(-cpu \"${CPU:-max}\",kvm=off,-tsc_deadline) # x\nsudo qemu-system-x86_64 -no-hpet \"${A[@]}\" -M q35,accel=kvm \\\n  -append 'notsc a' && cat <<EOF\nqemu-system-i386 -m 1 -cpu IvyBridge,migratable=off,-kvmclock\nEOF\n",
    ),
    (
        Kind::Proxmox,
        "args: -cpu 'host,+invtsc,kvm=off' -no-hpet -machine hpet=on\ncpu: host,hidden=1\nostype: l26\nname: win10\n[snap]\nkvm: 0\n",
    ),
    (
        Kind::Kubevirt,
        "apiVersion: kubevirt.io/v1\nmetadata: {name: windows}\nspec:\n  domain:\n    cpu: {features: [{name: invtsc}]}\n    clock:\n      timer:\n        hpet: {}\n        kvm: {present: false}\n        rtc:\n          tickPolicy: catchup\n",
    ),
];

fn check(document: &Document) {
    let Ok(report) = lint(document) else {
        return;
    };
    for finding in &report.findings {
        edit::apply(document.text.as_str(), &finding.edits).expect("changes of one finding");
    }
    for choices in
        [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }]
    {
        let once = fix(document, &choices).unwrap();
        let twice = fix(&once.document, &choices).unwrap();
        assert_eq!(once.document.text, twice.document.text);
    }
}

/// The files above, and the sample of every kind.
fn seeds() -> Vec<(Kind, &'static str)> {
    SEEDS.into_iter().chain(Kind::all().map(|kind| (kind, kind.sample().1))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn mutated_files(seed in any::<prop::sample::Index>(), of_all in any::<bool>(), cuts in proptest::collection::vec((0usize..900, 0usize..60, 0usize..900, any::<bool>()), 0..4)) {
        let seeds = seeds();
        let (kind, text) = if of_all { *seed.get(&seeds) } else { *seed.get(&SEEDS) };
        let mut text = text.to_owned();
        for (from, length, to, keep) in cuts {
            let from = from % (text.len() + 1);
            let end = (from + length).min(text.len());
            let piece = text[from..end].to_owned();
            if !keep {
                text.replace_range(from..end, "");
            }
            let to = to % (text.len() + 1);
            text.insert_str(to, &piece);
        }
        if let Ok(document) = Document::of_kind("file", text.as_bytes(), kind) {
            check(&document);
        }
    }
}

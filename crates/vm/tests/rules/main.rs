//! Each rule both ways: a small file that has it, and the same file without. Each problem that `fix` fixes is gone
//! afterwards, and a second fix changes nothing.
#![allow(clippy::unwrap_used, clippy::panic)]

mod branches;
mod choices;
mod comments;
mod declared;
mod every;
mod files;
mod hidden;
mod kubevirt;
mod libvirt;
mod lists;
mod made;
mod old_windows;
mod other_systems;
mod proxmox;
mod python;
mod qemu;
mod qemu_guest;
mod saved;
mod versions;
mod written;

use clocksmith_vm::{Choices, Document, Kind, Severity, fix, lint};

fn document(kind: Kind, text: &str) -> Document {
    Document::of_kind("file", text.as_bytes(), kind).unwrap()
}

fn ids(kind: Kind, text: &str) -> Vec<(&'static str, Severity)> {
    let report = lint(&document(kind, text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    report.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect()
}

/// Asserts that `with` has the finding, and `without` does not.
#[track_caller]
fn both(kind: Kind, id: &str, severity: Severity, with: &str, without: &str) {
    assert!(
        ids(kind, with).contains(&(id, severity)),
        "{id} not in {:?} of\n{with}",
        ids(kind, with)
    );
    assert!(!ids(kind, without).iter().any(|found| found.0 == id), "{id} in\n{without}");
    for text in [with, without] {
        mends(kind, text);
    }
}

/// Asserts that a fix leaves nothing that it could fix, after one run.
#[track_caller]
fn mends(kind: Kind, text: &str) {
    let document = document(kind, text);
    let once = fix(&document, &Choices::default()).unwrap();
    let twice = fix(&once.document, &Choices::default()).unwrap();
    assert_eq!(once.document.text, twice.document.text);
    assert!(twice.mended.is_empty(), "{:?}", twice.mended);
    for finding in &once.report.findings {
        assert!(
            finding.edits.is_empty(),
            "{} is left with a change in\n{}",
            finding.rule.id,
            once.document.text.as_str()
        );
    }
}

#[track_caller]
fn mended(kind: Kind, before: &str, after: &str) {
    let fixed = fix(&document(kind, before), &Choices::default()).unwrap();
    assert_eq!(fixed.document.text.as_str(), after);
}

fn domain(name: &str, features: &str, cpu: &str, clock: &str, rest: &str) -> String {
    format!(
        "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  \
         </os>\n  <features>\n    <acpi/>\n{features}  </features>\n{cpu}{clock}{rest}</domain>\n"
    )
}

const PLAIN_CPU: &str = "  <cpu mode='host-passthrough' migratable='on'>\n    <topology sockets='1' cores='2' threads='1'/>\n  </cpu>\n";
const QUIET_CLOCK: &str =
    "  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n  </clock>\n";

fn clock(timers: &str) -> String {
    format!("  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n{timers}  </clock>\n")
}

fn feature(feature: &str) -> String {
    format!("  <cpu mode='host-passthrough' migratable='on'>\n    {feature}\n  </cpu>\n")
}

fn arguments(cpu: &str) -> String {
    format!(
        "  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n    <qemu:arg value='-cpu'/>\n    <qemu:arg value='{cpu}'/>\n  </qemu:commandline>\n"
    )
}

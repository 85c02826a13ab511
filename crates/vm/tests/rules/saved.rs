//! Machines whose state is saved, loaded or received: no device and no property of the processor is edited.

use super::*;

/// Asserts that nothing is edited, and that a finding has the reason.
#[track_caller]
fn left(kind: Kind, name: &str, text: &str, why: &str) {
    let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
    let choices = Choices { invtsc: false, tsc_frequency: None };
    let fixed = fix(&document, &choices).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
    let said = |left: &Option<String>| left.as_deref().is_some_and(|it| it.contains(why));
    let all: Vec<_> = fixed.report.findings.iter().map(|it| (it.rule.id, &it.left)).collect();
    assert!(all.iter().any(|(_, left)| said(left)), "{all:?}\n{text}");
}

/// Asserts that the same is edited where no saved state is mentioned.
#[track_caller]
fn edited(kind: Kind, text: &str) {
    let fixed = fix(&document(kind, text), &Choices::default()).unwrap();
    assert_ne!(fixed.document.text.as_str(), text);
}

const RUN: &str =
    "qemu-system-x86_64 -enable-kvm -machine q35,hpet=on -cpu EPYC,-kvmclock -append ro";

#[test]
fn qemu_that_receives_or_loads_a_state_is_left() {
    edited(Kind::Qemu, &format!("{RUN}\n"));
    edited(Kind::Qemu, &format!("# not with -incoming or -loadvm\n\n{RUN}\n"));
    edited(Kind::Qemu, &format!("{RUN} -name migrate\nrake db:migrate\n"));
    for (text, why) in [
        (format!("{RUN} -incoming tcp:0:4444\n"), "line 1: -incoming"),
        (format!("{RUN} --incoming defer -S\n"), "line 1: --incoming"),
        (format!("{RUN} -loadvm booted\n"), "line 1: -loadvm"),
        (
            format!("IN=\n[ \"$1\" = to ] && IN=\"-incoming tcp:0:4444\"\n{RUN} $IN\n"),
            "line 2: -incoming",
        ),
        (format!("ssh one {RUN}\n{RUN} -incoming tcp:0:4444\n"), "line 2: -incoming"),
        (
            format!("{RUN} -monitor unix:m,server &\necho savevm a | socat - unix:m\n"),
            "line 2: savevm",
        ),
        (
            format!("{RUN} -monitor unix:m,server &\necho 'loadvm a' | socat - unix:m\n"),
            "line 2: loadvm",
        ),
        (
            format!("{RUN} -monitor unix:m,server &\necho 'migrate -d tcp:b:1' | nc -U m\n"),
            "line 2: migrate",
        ),
        (
            format!("{RUN} -qmp unix:q,server &\necho '{{\"execute\": \"migrate\"}}' | nc -U q\n"),
            "line 2: migrate",
        ),
    ] {
        left(Kind::Qemu, "run.sh", &text, why);
    }
    let text = format!("{RUN} -incoming defer\n").replace(",-kvmclock", "");
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) };
    let fixed = fix(&document(Kind::Qemu, &text), &choices).unwrap();
    assert_eq!((fixed.document.text.as_str(), fixed.chosen), (text.as_str(), 0));
    assert!(fixed.undecided.iter().any(|it| it.contains("-incoming")), "{:?}", fixed.undecided);
    // The machine does not change.
    let old = "qemu-system-x86_64 -enable-kvm -no-hpet -cpu host -m 1G -incoming defer\n";
    mended(Kind::Qemu, old, &old.replace("-no-hpet", "-machine hpet=off"));
}

#[test]
fn libvirt_with_memory_is_left() {
    let domain = domain("debian", "", PLAIN_CPU, "", "").replace("<acpi/>", "<acpi/>\n    <pae/>");
    let domain = domain.replace(
        "  <cpu",
        "  <clock offset='utc'>\n    <timer name='hpet' present='yes'/>\n  </clock>\n  <cpu",
    );
    let snapshot = |head: &str| {
        format!("<domainsnapshot>\n  <name>a</name>\n{head}  {domain}</domainsnapshot>\n")
    };
    edited(Kind::Libvirt, &domain);
    edited(Kind::Libvirt, &snapshot("  <state>shutoff</state>\n"));
    edited(Kind::Libvirt, &snapshot("  <state>running</state>\n  <memory snapshot='no'/>\n"));
    let why = "has the memory of the machine";
    for head in [
        "  <memory snapshot='internal'/>\n",
        "  <memory snapshot='external' file='/m'/>\n",
        "  <state>running</state>\n",
    ] {
        left(Kind::Libvirt, "a.xml", &snapshot(head), why);
    }
    left(Kind::Libvirt, "/var/lib/libvirt/qemu/save/web.save", &domain, "of a saved machine");
    let status =
        format!("<domstatus state='running' reason='booted' pid='7'>\n{domain}</domstatus>\n");
    left(Kind::Libvirt, "web.xml", &status, "running machine");
    let argument = "  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>\n    <qemu:arg value='-incoming'/>\n    <qemu:arg value='defer'/>\n  </qemu:commandline>\n</domain>";
    left(Kind::Libvirt, "a.xml", &domain.replace("</domain>", argument), "line 17: -incoming");
}

#[test]
fn other_files_with_a_state_are_left() {
    let pve = "args: -machine hpet=on\ncores: 2\nostype: l26\nname: a\n";
    edited(Kind::Proxmox, pve);
    let before = format!("{pve}\n[before]\nvmstate: local:100/a.raw\n");
    left(Kind::Proxmox, "100.conf", &before, "a snapshot has the memory");
    left(Kind::Proxmox, "100.conf", &format!("{pve}vmstate: local:100/a.raw\n"), "suspended");
    left(Kind::Proxmox, "100.conf", &format!("lock: suspended\n{pve}"), "suspended");
    let ch = "{\"payload\": {\"kernel\": \"k\", \"cmdline\": \"console=hvc0\"}, \"cpus\": {\"boot_vcpus\": 1, \"kvm_hyperv\": true}}\n";
    edited(Kind::CloudHypervisor, ch);
    let dump =
        ch.replace("\"payload\"", "\"fs\": null, \"pmem\": null, \"vdpa\": null, \"payload\"");
    left(Kind::CloudHypervisor, "config.json", &dump, "beside a snapshot");
    let packer = "source \"qemu\" \"debian\" {\n  qemuargs = [[\"-machine\", \"q35,accel=kvm,hpet=on\"]]\n}\n";
    edited(Kind::Packer, packer);
    let loads = packer.replace("]]", "], [\"-loadvm\", \"base\"]]");
    left(Kind::Packer, "a.pkr.hcl", &loads, "line 2: -loadvm");
}

//! A guest from which KVM, or its clock, is hidden.

use super::*;

/// Such a guest does not find kvm-clock, so no finding states that it stays on it.
#[test]
fn hidden_kvm_is_no_clock_to_stay_on() {
    let qemu = |cpu: &str| {
        format!("qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -m 1G -cpu {cpu}\n")
    };
    for flag in ["kvm=off", "-hypervisor", "-kvmclock"] {
        let hides = qemu(&format!("host,{flag}"));
        both(Kind::Qemu, "q-no-invtsc", Severity::Info, &qemu("host"), &hides);
    }

    let plain = domain("debian", "", PLAIN_CPU, QUIET_CLOCK, "");
    let hidden = "    <kvm>\n      <hidden state='on'/>\n    </kvm>\n";
    let bit = feature("<feature policy='disable' name='hypervisor'/>");
    for hides in [
        domain("debian", hidden, PLAIN_CPU, QUIET_CLOCK, ""),
        domain("debian", "", &bit, QUIET_CLOCK, ""),
        domain("debian", "", PLAIN_CPU, &clock("    <timer name='kvmclock' present='no'/>\n"), ""),
    ] {
        both(Kind::Libvirt, "lv-no-invtsc", Severity::Info, &plain, &hides);
    }

    let machine = "bios: ovmf\ncores: 2\ncpu: host\nostype: l26\n";
    let hides = machine.replace("host", "host,hidden=1");
    both(Kind::Proxmox, "pve-host-no-invtsc", Severity::Info, machine, &hides);

    let manifest = |clock: &str, features: &str, cpu: &str| {
        format!(
            "kind: VirtualMachineInstance\nmetadata:\n  name: fedora\nspec:\n  domain:\n    cpu:\n      cores: 2\n{cpu}{clock}{features}    \
             devices: {{}}\n"
        )
    };
    let timer = "    clock:\n      timer:\n        kvm:\n          present: false\n";
    let state = "    features:\n      kvm:\n        hidden: true\n";
    let bit = "      features:\n      - name: hypervisor\n        policy: disable\n";
    let plain = manifest("", "", "");
    for hides in [manifest(timer, "", ""), manifest("", state, ""), manifest("", "", bit)] {
        both(Kind::Kubevirt, "kv-no-invtsc", Severity::Info, &plain, &hides);
    }
}

/// A model of the node may hide KVM, too.
#[test]
fn hidden_by_the_model_of_the_node() {
    let mut machine =
        document(Kind::Proxmox, "bios: ovmf\ncores: 2\ncpu: custom-mine\nostype: l26\n");
    let of = |machine: &Document| -> Vec<&str> {
        lint(machine).unwrap().findings.iter().map(|finding| finding.rule.id).collect()
    };
    let model = "cpu-model: mine\n\treported-model host\n";
    machine.models = Some(model.to_owned());
    assert_eq!(of(&machine), ["pve-host-no-invtsc"]);
    machine.models = Some(format!("{model}\thidden 1\n"));
    assert_eq!(of(&machine), ["pve-kvm-hidden"]);
}

#[test]
fn hidden_kvm_harms_no_linux_with_an_invariant_tsc_of_a_fixed_frequency() {
    let line = |flags: &str, disk: &str| {
        let text = format!(
            "qemu-system-x86_64 -accel kvm -machine q35,hpet=off -cpu host,kvm=off{flags} -drive file={disk}\n"
        );
        let all = ids(Kind::Qemu, &text);
        all.iter().find(|it| it.0 == "q-kvm-off").unwrap().1
    };
    let both = ",+invtsc,tsc-frequency=2400000000";
    assert_eq!(line(both, "debian12.qcow2"), Severity::Info);
    assert!(line(both, "a.qcow2") > Severity::Info);
    assert!(line(",+invtsc", "debian12.qcow2") > Severity::Info);
    let domain = |timer: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>debian12</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  \
             <features><kvm><hidden state='on'/></kvm></features>\n  <cpu mode='host-passthrough'>\
             <feature policy='require' name='invtsc'/></cpu>\n  <clock offset='utc'>{timer}</clock>\n</domain>\n"
        );
        ids(Kind::Libvirt, &text).iter().find(|it| it.0 == "lv-kvm-hidden").unwrap().1
    };
    assert_eq!(domain("<timer name='tsc' frequency='2400000000'/>"), Severity::Info);
    assert!(domain("") > Severity::Info);
}

/// DOS, Haiku and similar systems use no clock of a hypervisor, so nothing is lost.
#[test]
fn hidden_hypervisor_of_a_system_that_looks_for_none() {
    let of = |kind: Kind, id: &str, text: &str| {
        let all = ids(kind, text);
        all.iter().find(|it| it.0 == id).unwrap_or_else(|| panic!("{id} in {all:?} of\n{text}")).1
    };
    let qemu = |disk: &str| {
        format!(
            "qemu-system-i386 -enable-kvm -machine pc,hpet=off -cpu pentium,hypervisor=off,kvm=off -hda {disk}\n"
        )
    };
    for disk in ["freedos.img", "haiku.qcow2", "winxp.img", "os2.img"] {
        assert_eq!(of(Kind::Qemu, "q-hypervisor-hidden", &qemu(disk)), Severity::Info, "{disk}");
        assert_eq!(of(Kind::Qemu, "q-kvm-off", &qemu(disk)), Severity::Info, "{disk}");
    }
    for disk in ["a.img", "debian.img", "win10.img", "redox.img"] {
        assert_eq!(of(Kind::Qemu, "q-hypervisor-hidden", &qemu(disk)), Severity::Error, "{disk}");
    }
    let bit = feature("<feature policy='disable' name='hypervisor'/>");
    let libvirt = |name: &str| domain(name, "", &bit, QUIET_CLOCK, "");
    let proxmox =
        |name: &str| format!("name: {name}\ncores: 1\ncpu: host,hidden=1\nostype: other\n");
    let kubevirt = |name: &str| {
        format!(
            "kind: VirtualMachineInstance\nmetadata:\n  name: {name}\nspec:\n  domain:\n    cpu:\n      features:\n      \
             - name: hypervisor\n        policy: disable\n    features:\n      kvm:\n        hidden: true\n    devices: {{}}\n"
        )
    };
    let vmware = |name: &str| {
        format!(
            "config.version = \"8\"\nguestOS = \"{name}\"\nhypervisor.cpuid.v0 = \"FALSE\"\nmonitor_control.restrict_backdoor = \"TRUE\"\n"
        )
    };
    let xen = |name: &str| {
        format!("name = \"{name}\"\ntype = \"hvm\"\nvcpus = 1\ncpuid = \"host,hypervisor=0\"\n")
    };
    for (kind, id, before, text) in [
        (
            Kind::Libvirt,
            "lv-hypervisor-hidden",
            Severity::Error,
            &libvirt as &dyn Fn(&str) -> String,
        ),
        (Kind::Proxmox, "pve-kvm-hidden", Severity::Warn, &proxmox),
        (Kind::Kubevirt, "kv-hypervisor-hidden", Severity::Error, &kubevirt),
        (Kind::Kubevirt, "kv-kvm-hidden", Severity::Warn, &kubevirt),
        (Kind::Xen, "xen-hypervisor-hidden", Severity::Error, &xen),
    ] {
        assert_eq!(of(kind, id, &text("haiku")), Severity::Info, "{}", text("haiku"));
        assert_eq!(of(kind, id, &text("debian")), before, "{}", text("debian"));
    }
    assert_eq!(of(Kind::Vmware, "vmx-hypervisor-hidden", &vmware("dos")), Severity::Info);
    assert_eq!(of(Kind::Vmware, "vmx-hypervisor-hidden", &vmware("solaris11-64")), Severity::Warn);
    let quickemu = |system: &str| {
        format!(
            "guest_os=\"{system}\"\ndisk_img=\"a/disk.qcow2\"\nextra_args=\"-cpu host,-hypervisor\"\n"
        )
    };
    assert_eq!(of(Kind::Quickemu, "q-hypervisor-hidden", &quickemu("haiku")), Severity::Info);
    assert_eq!(of(Kind::Quickemu, "q-hypervisor-hidden", &quickemu("solaris")), Severity::Error);
}

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

//! Texts of which the kind or a setting is only visible to a reader who knows the tool.

use crate::Kind;
use crate::document::Document;
use crate::lint::lint;

fn ids(name: &str, text: &str) -> Vec<(&'static str, crate::Severity)> {
    let report = lint(&Document::new(name, text.as_bytes()).unwrap()).unwrap();
    report.findings.iter().map(|it| (it.rule.id, it.severity)).collect()
}

#[test]
fn words_of_an_array_are_joined_as_ifs_is_at_that_line() {
    let of = |before: &str, after: &str| {
        let text = format!(
            "#!/bin/bash\nCPU=(\nIvyBridge\nmigratable=off\nkvm=off\n)\n{before}\nOPTS+=(\n -cpu \"${{CPU[*]}}\"\n \
             -smp 2\n -no-hpet\n)\n{after}\n"
        );
        ids("a.sh", &text).iter().any(|(id, _)| id.contains("migratable"))
    };
    for (before, after, joined) in [
        ("IFS=,", "", true),
        ("IFS=,", "IFS=\"$OIFS\"", true),
        ("OIFS=\"$IFS\"; IFS=\",\"", "IFS=\"$OIFS\"", true),
        ("OIFS=$IFS\nIFS=,", "unset IFS", true),
        ("", "IFS=,", false),
        ("IFS=, read -r a b <x", "", false),
        ("OIFS=$IFS\nIFS=,\nIFS=$OIFS", "", false),
        ("IFS=,\nunset IFS", "", false),
    ] {
        assert_eq!(of(before, after), joined, "{before:?} {after:?}");
    }
}

#[test]
fn kind_of_parts_and_of_commands_whose_program_is_a_variable() {
    for (name, text, kind) in [
        ("a.sh", "$QEMU_I386 -M pc,acpi=off -m 512 -drive file=a\n", Some(Kind::Qemu)),
        ("a.sh", "\"${QEMU}\" -machine q35 -m 1G\n", Some(Kind::Qemu)),
        ("a.sh", "QEMU=x\necho $QEMU\n", None),
        ("a.mk", "vm:\n\t$(VBM) modifyvm A --memory 2048\n", Some(Kind::Virtualbox)),
        ("a.bat", "%VBM% createvm --name A --register\n", Some(Kind::Virtualbox)),
        ("a.txt", "run modifyvm A --memory 1\n", None),
        (
            "a.json",
            "{\"kernel_image_path\": \"k\", \"boot_args\": \"notsc\"}",
            Some(Kind::Firecracker),
        ),
        (
            "a.cfg",
            "name = \"a\"\nmemory = 1\nvcpus = 2\nbootloader = \"/usr/lib/xen/bin/pygrub\"\nvif = [ '' ]\n\
             disk = [ 'file:a,xvda,w' ]\n#VBoxManage clonehd a b\n",
            Some(Kind::Xen),
        ),
        (
            "compose.yml",
            "services:\n  a:\n    image: b/qemu-vm\n    devices:\n      - /dev/kvm\n",
            Some(Kind::Container),
        ),
        (
            "vm.nix",
            "{\n  testScript = ''\n    machine.succeed(\n      \"qm create 101 --kvm 0 --bios seabios\",\n    )\n  '';\n}\n",
            Some(Kind::Proxmox),
        ),
    ] {
        assert_eq!(Kind::detect(name, text), kind, "{text}");
    }
}

#[test]
fn pinned_cpus_do_not_keep_a_domain_on_its_host() {
    let of = |more: &str| {
        let text = format!(
            "<domain type='kvm'><name>a</name><vcpu>2</vcpu>{more}<os><type arch='x86_64' machine='q35'>hvm</type></os>\
             <cpu mode='host-passthrough' migratable='on'><feature policy='require' name='invtsc'/></cpu></domain>"
        );
        let all = ids("a.xml", &text);
        all.into_iter().find(|(id, _)| *id == "lv-invtsc-no-freq").map(|(_, it)| it)
    };
    let plain = of("");
    assert!(plain.is_some());
    for pins in [
        "<vcpupin vcpu='0' cpuset='1'/>",
        "<emulatorpin cpuset='1'/>",
        "<iothreadpin iothread='1' cpuset='1'/>",
    ] {
        assert_eq!(of(&format!("<cputune>{pins}</cputune>")), plain);
    }
    assert_ne!(
        of("<devices><hostdev mode='subsystem' type='pci'><source/></hostdev></devices>"),
        plain
    );
}

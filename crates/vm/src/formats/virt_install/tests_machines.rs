//! Which machine a command line makes: one of QEMU with more arguments, one of another hypervisor, or none.

use crate::finding::Severity;
use crate::formats::Kind;
use crate::testing;

fn line(options: &str) -> String {
    format!("#!/bin/sh\nvirt-install --name a --memory 1 --import {options}\n")
}

fn found(text: &str) -> Vec<(&'static str, Severity)> {
    assert_eq!(Kind::detect("vm.sh", text), Some(Kind::VirtInstall), "{text}");
    testing::ids(Kind::VirtInstall, "vm.sh", text)
}

fn has(text: &str, id: &str) -> bool {
    found(text).iter().any(|(found, _)| *found == id)
}

#[test]
fn arguments_for_qemu_count_as_in_a_domain() {
    let passed = |options: &str, os: &str| line(&format!("--osinfo {os} {options}"));
    for (os, options, id) in [
        ("debian12", "--qemu-commandline=\"-cpu host,kvm=off\"", "lv-kvm-hidden"),
        ("debian12", "--qemu-commandline \"-cpu host,-kvmclock\"", "lv-kvmclock-off-no-invtsc"),
        ("debian12", "--qemu-commandline='args=-cpu host,+invtsc'", "q-invtsc-migblock"),
        ("debian12", "--qemu-commandline=\"-cpu 'host,-rdtscp'\"", "lv-rdtscp-off"),
        ("debian12", "--qemu-commandline=-no-hpet", "q-no-hpet-removed"),
        ("debian12", "--qemu-commandline='-append \"quiet notsc\"'", "q-guest-notsc"),
        ("win11", "--qemu-commandline=\"-cpu host\"", "lv-cpu-override"),
    ] {
        assert!(has(&passed(options, os), id), "{options}: {:?}", found(&passed(options, os)));
    }
    let text = passed("--qemu-commandline=\"-cpu host\"", "win11");
    assert!(found(&text).contains(&("lv-cpu-override", Severity::Error)));
    // Several of them are one command line.
    let several =
        "--qemu-commandline=-cpu --qemu-commandline=host,+invtsc,tsc-frequency=2500000000";
    assert!(has(&passed(several, "debian12"), "q-invtsc-freq-ok"));
    // Others leave the processor of libvirt.
    for other in ["-smbios type=2", "env=A=-cpu host,kvm=off", "-device x,y=1"] {
        let text = passed(&format!("--qemu-commandline=\"{other}\""), "debian12");
        assert_eq!(found(&text), found(&passed("", "debian12")), "{other}");
    }
    let edit = "virt-xml db1 --edit --qemu-commandline=\"-cpu host,-kvmclock\" --confirm\n";
    assert!(has(edit, "lv-kvmclock-off-no-invtsc"));
    // What a variable passes is not known, and so neither is the processor.
    let open = passed("--qemu-commandline=\"-cpu $CPU\"", "debian12");
    assert!(found(&open).iter().all(|(_, severity)| *severity < Severity::Error), "{open}");
}

#[test]
fn machine_of_another_hypervisor_has_no_rules_of_qemu() {
    let options = "--osinfo win11 --cpu host-passthrough,require=invtsc --clock hpet_present=yes";
    let with = |more: &str| line(&format!("{more} {options}"));
    for more in [
        "--connect lxc:///",
        "--connect=bhyve:///system",
        "--connect vbox:///session",
        "--connect test:///default",
        "--connect lxc+ssh://host/",
        "--connect esx://host",
        "--connect vz:///system",
        "-c lxc:///",
        "--virt-type lxc",
        "--container",
    ] {
        assert_eq!(found(&with(more)), [], "{more}");
    }
    // Xen's own rules hold.
    for more in ["--connect xen:///", "--connect xen+ssh://host/", "--paravirt"] {
        assert_eq!(found(&with(more)), [("lv-hpet-on", Severity::Info)], "{more}");
    }
    let native = "--connect xen:///system --clock timer0.name=tsc,timer0.mode=native";
    assert!(has(&line(native), "xen-native-no-invtsc"));
    for more in [
        "",
        "--connect qemu:///system",
        "--connect qemu+ssh://root@host/system",
        "--connect \"$URI\"",
        "--virt-type kvm",
    ] {
        assert!(has(&with(more), "lv-invtsc-no-freq"), "{more}");
    }
    let all = |uri: &str| {
        with("").replace("virt-install", &format!("export LIBVIRT_DEFAULT_URI={uri}\nvirt-install"))
    };
    assert_eq!(found(&all("lxc:///")), []);
    assert!(has(&all("qemu:///system"), "lv-invtsc-no-freq"));
    let edit = "virt-xml -c bhyve:///system a --edit --clock hpet_present=yes\n";
    assert_eq!(found(edit), []);
    assert!(has(&edit.replace("bhyve", "qemu"), "lv-hpet-on"));
}

#[test]
fn command_that_only_prints_makes_no_machine() {
    for options in [
        "--version",
        "--help",
        "--osinfo list",
        "--osinfo=list",
        "--os-variant list",
        "--cpu help",
        "--cpu=help",
        "--network=?",
        "--clock help --cpu host-passthrough,require=invtsc",
        "--name a --disk ? --clock hpet_present=yes",
    ] {
        assert_eq!(found(&format!("#!/bin/sh\nvirt-install {options}\n")), [], "{options}");
    }
    // A machine with the name of a word that asks.
    for options in ["--name help", "--name list --osinfo debian12", "--description help"] {
        let text = format!("virt-install {options} --import --clock hpet_present=yes\n");
        assert!(has(&text, "lv-hpet-on"), "{options}");
    }
    // A check before the machine is made leaves the machine.
    let both = format!("virt-install --version || exit 1\n{}", line("--clock hpet_present=yes"));
    assert!(has(&both, "lv-hpet-on"));
}

//! Settings that are left because the guest may be another system, or has a saved state.

use super::tests::{ID, left};
use crate::formats::Kind;
use crate::lint::lint;
use crate::testing::document;

#[test]
fn guest_is_linux_only_by_words_of_linux() {
    let of = |rest: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -cpu host -machine q35,hpet=on {rest}\n"
        );
        let report = lint(&document(Kind::Qemu, "run.sh", &text)).unwrap();
        let edits = report.findings.iter().any(|it| !it.edits.is_empty());
        (report.guest.name(), edits)
    };
    for rest in [
        "-kernel disk/boot/runtime -append snapshot",
        "-kernel build/loader-stripped.elf -append '--rootfs=zfs /hello'",
        "-kernel xen.gz -initrd vmlinuz -append 'dom0_mem=512M console=ttyS0'",
        "-kernel build/kernel.elf -append root=/dev/vda",
        "-hda toyos.img",
    ] {
        assert_eq!(of(rest), ("unknown", false), "{rest}");
    }
    for rest in [
        "-kernel build/boot/runtime -append root=/dev/vda",
        "-kernel $K -append 'console=ttyS0 panic=1'",
        "-kernel arch/x86/boot/bzImage",
        "-kernel /boot/vmlinuz-6.1 -append snapshot",
    ] {
        assert_eq!(of(rest), ("linux", true), "{rest}");
    }
    assert_eq!(of("-hda haiku.qcow2"), ("other", false));
    let xml = |name: &str, os: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n    {os}\n  </os>\n  \
             <clock>\n    <timer name='hpet' present='yes'/>\n  </clock>\n</domain>\n"
        );
        let report = lint(&document(Kind::Libvirt, "a.xml", &text)).unwrap();
        (report.guest.name(), report.findings.iter().any(|it| !it.edits.is_empty()))
    };
    assert_eq!(xml("a", "<kernel>/srv/app.elf</kernel>"), ("unknown", false));
    assert_eq!(
        xml("a", "<kernel>/srv/l.elf</kernel><cmdline>--rootfs=zfs /hello</cmdline>"),
        ("unknown", false)
    );
    assert_eq!(xml("a", "<kernel>/boot/vmlinuz</kernel>"), ("linux", true));
    assert_eq!(
        xml("a", "<kernel>/boot/k</kernel><cmdline>console=ttyS0 ro</cmdline>"),
        ("linux", true)
    );
}

#[test]
fn flags_of_hyperv_beside_the_name_of_another_system_tell_no_system() {
    let of = |file: &str, rest: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -machine q35,hpet=on -cpu \
             host,hv-relaxed,hv-time,hv-vpindex,hv-synic,hv-stimer,kvmclock=off {rest}\n"
        );
        let report = lint(&document(Kind::Qemu, file, &text)).unwrap();
        (report.guest.name(), report.guessed, report.findings.iter().any(|it| !it.edits.is_empty()))
    };
    assert_eq!(of("run.sh", "-hda a.qcow2"), ("windows", false, true));
    assert_eq!(of("win10.sh", "-hda a.qcow2"), ("windows", false, true));
    assert_eq!(of("arch.sh", "-hda a.qcow2"), ("unknown", false, false));
    assert_eq!(of("haiku.sh", "-hda a.qcow2"), ("other", true, false));
    assert_eq!(of("run.sh", "-hda haiku.qcow2"), ("other", true, false));
    assert_eq!(of("run.sh", "-hda archlinux.qcow2"), ("linux", true, false));
    let xml = |name: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
             <features>\n    <hyperv>\n      <relaxed state='on'/>\n      <stimer state='on'/>\n    </hyperv>\n  </features>\n  \
             <clock>\n    <timer name='hpet' present='yes'/>\n    <timer name='hypervclock' present='yes'/>\n  \
             </clock>\n</domain>\n"
        );
        let report = lint(&document(Kind::Libvirt, "a.xml", &text)).unwrap();
        (report.guest.name(), report.findings.iter().any(|it| !it.edits.is_empty()))
    };
    assert_eq!(xml("a"), ("windows", true));
    assert_eq!(xml("haiku"), ("other", false));
    assert_eq!(xml("arch"), ("unknown", false));
}

#[test]
fn kvmclock_stays_off_for_a_guest_that_may_be_any_system() {
    let of = |rest: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -cpu host,kvmclock=off -m 1G {rest}\n"
        );
        let report = lint(&document(Kind::Qemu, "run.sh", &text)).unwrap();
        report.findings.iter().any(|it| !it.edits.is_empty())
    };
    for rest in [
        "-hda disk.qcow2",
        "-kernel target/x86_64-myos/debug/kernel",
        "-hda haiku.img",
        "-hda reactos.img",
    ] {
        assert!(!of(rest), "{rest}");
    }
    assert!(of("-hda debian.img") && of("-kernel k -append root=/dev/vda"));
    let text =
        "#!/bin/sh\nqemu-system-x86_64 -accel kvm -cpu host,kvmclock=off -m 1G -hda disk.qcow2\n";
    let why = left(Kind::Qemu, "run.sh", text, ID);
    assert!(why.is_some_and(|why| why.contains("does not state which system")));
    // The user specifies it.
    let known = document(Kind::Qemu, "run.sh", text).with_guest(Some(crate::Guest::Linux));
    assert!(lint(&known).unwrap().findings.iter().any(|it| !it.edits.is_empty()));
    let xml = |name: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
             <clock>\n    <timer name='kvmclock' present='no'/>\n  </clock>\n</domain>\n"
        );
        let report = lint(&document(Kind::Libvirt, "a.xml", &text)).unwrap();
        report.findings.iter().any(|it| !it.edits.is_empty())
    };
    assert!(xml("debian") && !xml("a") && !xml("haiku"));
}

#[test]
fn hpet_whose_properties_are_set_stays() {
    let why = |rest: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -machine q35,hpet=on -cpu host -hda debian.img {rest}\n"
        );
        left(Kind::Qemu, "run.sh", &text, "q-hpet-on")
    };
    assert!(why("-global hpet.msi=on").is_some_and(|why| why.contains("-global")));
    assert_eq!(why("-global kvm-pit.lost_tick_policy=delay"), None);
}

#[test]
fn snapshot_with_memory_or_a_description_of_the_option_leaves_a_machine_of_proxmox() {
    let of = |args: &str, head: &str, tail: &str, id: &str| {
        let text =
            format!("{head}args: {args}\ncores: 2\nmemory: 512\nname: a\nostype: l26\n{tail}");
        left(Kind::Proxmox, "100.conf", &text, id)
    };
    let hpet = "-machine q35,hpet=on";
    assert_eq!(of(hpet, "", "", "q-hpet-on"), None);
    let snapshot = |state: &str| {
        format!("parent: s\n\n[s]\nargs: {hpet}\ncores: 2\n{state}snaptime: 1700000000\n")
    };
    assert_eq!(of(hpet, "", &snapshot(""), "q-hpet-on"), None);
    let why = of(hpet, "", &snapshot("vmstate: local:100/vm-100-state-s.raw\n"), "q-hpet-on");
    assert!(why.is_some_and(|why| why.contains("a snapshot has the memory")));
    assert_eq!(of("-no-hpet", "", "", "q-no-hpet-removed"), None);
    assert!(of("-no-hpet", "#started with -no-hpet\n", "", "q-no-hpet-removed").is_some());
}

#[test]
fn clock_that_the_guests_command_line_refuses_or_asks_for_is_left() {
    let qemu = |cpu: &str, machine: &str, append: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -machine q35{machine} -cpu {cpu} -kernel vmlinuz -append \"root=/dev/vda{append}\"\n"
        );
        let report = lint(&document(Kind::Qemu, "run.sh", &text)).unwrap();
        report.findings.iter().any(|it| !it.edits.is_empty())
    };
    for word in ["clocksource=kvm-clock", "clocksource=acpi_pm", "clocksource=tsc"] {
        assert!(qemu("host,kvmclock=off", "", &format!(" {word}")), "{word}");
    }
    for word in ["no-kvmclock", "nopv"] {
        assert!(!qemu("host,kvmclock=off", "", &format!(" {word}")), "{word}");
    }
    assert!(qemu("host", ",hpet=on", " hpet=disable"));
    for word in ["hpet=force", "hpet=verbose", "clocksource=hpet"] {
        assert!(!qemu("host", ",hpet=on", &format!(" {word}")), "{word}");
    }
    let xml = |cmdline: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>a</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n    \
             <kernel>/boot/vmlinuz</kernel>\n    <cmdline>{cmdline}</cmdline>\n  </os>\n  <clock offset='utc'>\n    \
             <timer name='kvmclock' present='no'/>\n    <timer name='hpet' present='no'/>\n  </clock>\n</domain>\n"
        );
        let report = lint(&document(Kind::Libvirt, "a.xml", &text)).unwrap();
        report.findings.iter().any(|it| !it.edits.is_empty())
    };
    assert!(xml("root=/dev/vda"));
    assert!(!xml("root=/dev/vda no-kvmclock"));
}

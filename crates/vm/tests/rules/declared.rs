//! A file's declaration of the guest's system takes precedence over that of the command line.

use super::*;
use clocksmith_vm::Guest;

fn said(kind: Kind, text: &str, guest: Guest) -> clocksmith_vm::Fixed {
    fix(&document(kind, text).with_guest(Some(guest)), &Choices::default()).unwrap()
}

#[test]
fn declaration_counts_for_more_than_what_is_said() {
    let os = |id: &str| {
        format!(
            "<domain type='kvm'>\n  <name>a</name>\n  <metadata><x:libosinfo xmlns:x='http://libosinfo.org/xmlns/libvirt/domain/1.0'>\
             <x:os id='{id}'/></x:libosinfo></metadata>\n  <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  \
             <features><acpi/></features>\n  <cpu mode='host-passthrough'/>\n  <clock offset='utc'>\n    \
             <timer name='hpet' present='no'/>\n  </clock>\n</domain>\n"
        )
    };
    let vm = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  preference:\n    name: fedora\n  \
              template:\n    spec:\n      domain:\n        clock:\n          timer:\n            hpet:\n              present: false\n";
    let apple = "qemu-system-x86_64 -enable-kvm -cpu Penryn,kvm=on,vendor=GenuineIntel -machine q35,hpet=off \\\n  \
                 -device isa-applesmc,osk=\"x\" -m 4G\n";
    let vbox = "<?xml version=\"1.0\"?>\n<VirtualBox version=\"1.19-linux\">\n  <Machine uuid=\"{1}\" name=\"a\" \
                OSType=\"MacOS_64\">\n    <Hardware><CPU count=\"2\"/></Hardware>\n  </Machine>\n</VirtualBox>\n";
    for (kind, text, declared) in [
        (Kind::Libvirt, os("http://fedoraproject.org/fedora/40"), Guest::Linux),
        (Kind::Libvirt, os("http://freebsd.org/freebsd/14"), Guest::Bsd),
        (Kind::Proxmox, "ostype: l26\ncpu: host\nname: a\ncores: 2\n".to_owned(), Guest::Linux),
        (Kind::Kubevirt, vm.to_owned(), Guest::Linux),
        (
            Kind::Vmware,
            "config.version = \"8\"\nguestOS = \"darwin19-64\"\n".to_owned(),
            Guest::Macos,
        ),
        (Kind::Virtualbox, vbox.to_owned(), Guest::Macos),
        (Kind::Qemu, apple.to_owned(), Guest::Macos),
        (Kind::Qemu, apple.replace("Penryn", "host"), Guest::Macos),
    ] {
        let fixed = said(kind, &text, Guest::Windows);
        assert_eq!(fixed.report.guest, declared, "{text}");
        assert!(fixed.report.overruled && !fixed.report.guessed, "{text}");
        let new = fixed.document.text.as_str();
        assert!(!new.contains("hv-time") && !new.contains("hypervclock"), "{new}");
        assert_eq!(
            new,
            fix(&document(kind, &text), &Choices::default()).unwrap().document.text.as_str()
        );
        assert!(!said(kind, &text, declared).report.overruled);
    }
}

#[test]
fn impossible_frequency_is_not_carried_over() {
    let of = |timers: &str| {
        let text = domain(
            "win10",
            "",
            PLAIN_CPU,
            &clock(timers),
            &arguments("host,kvm=on,hv-vapic,hv-time"),
        );
        text.replace(
            "<domain type='kvm'>",
            "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>",
        )
    };
    for hertz in ["3000", "9999999999999", "0", "3 GHz"] {
        let tsc = format!("    <timer name='tsc' frequency='{hertz}'/>\n");
        let text = of(&tsc);
        let new = said(Kind::Libvirt, &text, Guest::Windows);
        assert_eq!(new.document.text.as_str(), text, "{hertz}");
        let words: Vec<_> = new
            .report
            .findings
            .iter()
            .filter(|it| it.rule.id == "lv-override-loses-clock")
            .collect();
        assert!(words.iter().all(|it| it.left.is_some()), "{words:?}");
        let text = of(&format!("{tsc}    <timer name='hypervclock' present='yes'/>\n"))
            .replace(",hv-time'", "'");
        let new = said(Kind::Libvirt, &text, Guest::Windows).document;
        assert!(new.text.as_str().contains(",hv-vapic,hv-time=on'"), "{}", new.text.as_str());
    }
    let text = of("    <timer name='tsc' frequency='3000000000'/>\n");
    let new = said(Kind::Libvirt, &text, Guest::Windows).document;
    assert!(new.text.as_str().contains(",tsc-frequency=3000000000'"), "{}", new.text.as_str());
    let choices = Choices { tsc_frequency: Some(3000), ..Choices::default() };
    for (kind, text) in
        [(Kind::Libvirt, text.as_str()), (Kind::Qemu, "qemu-system-x86_64 -enable-kvm -cpu host\n")]
    {
        let fixed = fix(&document(kind, text), &choices).unwrap();
        assert_eq!((fixed.chosen, fixed.undecided.len()), (0, 1), "{text}");
    }
}

#[test]
fn hpet_that_the_line_contradicts_is_left() {
    for line in [
        "-no-hpet -M pc,hpet=on",
        "-machine q35,hpet=on -no-hpet",
        "-M pc -machine hpet=on -no-hpet",
    ] {
        let text = format!("qemu-system-x86_64 -enable-kvm -cpu host {line} -hda debian.img\n");
        for guest in [Guest::Linux, Guest::Windows, Guest::Unknown] {
            let fixed = said(Kind::Qemu, &text, guest);
            assert!(fixed.document.text.as_str().contains(line), "{line}");
            let left = fixed.report.findings.iter().find(|it| it.rule.id == "q-no-hpet-removed");
            assert!(left.unwrap().left.as_ref().unwrap().contains("hpet=on"));
        }
    }
    mended(
        Kind::Qemu,
        "qemu-system-x86_64 -enable-kvm -cpu host -no-hpet -M pc,hpet=off\n",
        "qemu-system-x86_64 -enable-kvm -cpu host  -M pc,hpet=off\n",
    );
}

#[test]
fn what_is_said_counts_where_nothing_is_declared() {
    for (kind, text) in [
        (Kind::Qemu, "qemu-system-x86_64 -enable-kvm -cpu host -m 4G\n"),
        (Kind::Qemu, "qemu-system-x86_64 -enable-kvm -cpu host,hv-relaxed -m 4G\n"),
        (Kind::Vmware, "config.version = \"8\"\nguestOS = \"other-64\"\n"),
        (Kind::Proxmox, "ostype: other\ncpu: host\n"),
    ] {
        let report = said(kind, text, Guest::Bsd).report;
        assert_eq!((report.guest, report.overruled), (Guest::Bsd, false), "{text}");
    }
}

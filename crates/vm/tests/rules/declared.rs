//! What a file declares of the guest's system counts for more than what the command line says.

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

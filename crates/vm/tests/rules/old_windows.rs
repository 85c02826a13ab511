//! A Windows older than Vista does not use Hyper-V's page, so its absence is not reported.

use super::*;

/// Each text with the name of a Windows at `NAME`, and the finding for a new one.
const CASES: [(Kind, &str, &str); 9] = [
    (
        Kind::Libvirt,
        "lv-hypervclock-missing",
        "<domain type='kvm'><name>windowsNAME-install</name><os><type>hvm</type></os><clock offset='localtime'/></domain>",
    ),
    (
        Kind::Libvirt,
        "lv-hypervclock-missing",
        "<domain type='kvm'><name>a</name><metadata><os id='http://microsoft.com/win/NAME'/></metadata><os><type>hvm</type></os><clock offset='localtime'/></domain>",
    ),
    (
        Kind::VirtInstall,
        "lv-hypervclock-missing",
        "virt-install --name a --os-variant winNAME --clock hypervclock_present=no\n",
    ),
    (
        Kind::Nova,
        "lv-hypervclock-missing",
        "| properties | hw_machine_type='pc', os_distro='windows', os_version='NAME' |\n",
    ),
    (
        Kind::Kubevirt,
        "kv-hyperv-timer-missing",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: winNAME\nspec:\n  template:\n    spec:\n      domain:\n        devices: {}\n",
    ),
    (
        Kind::Kubevirt,
        "kv-hyperv-timer-missing",
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\n  labels:\n    kubevirt.io/os: winNAME\nspec:\n  template:\n    spec:\n      domain:\n        devices: {}\n",
    ),
    (Kind::Xen, "xen-viridian-off", "name = \"winNAME\"\ntype = \"hvm\"\nvcpus = 1\n"),
    (
        Kind::Quickemu,
        "q-hv-time-missing",
        "guest_os=\"windows\"\ndisk_img=\"windows-NAME/disk.qcow2\"\nextra_args=\"-cpu host\"\n",
    ),
    (
        Kind::Container,
        "q-hv-time-missing",
        "services:\n  vm:\n    image: dockurr/windows\n    environment:\n      VERSION: \"NAME\"\n      HV: \"N\"\n",
    ),
];

#[test]
fn old_windows_lacks_nothing_of_hyperv() {
    for (kind, id, text) in CASES {
        let says = |name: &str| {
            let text = text.replace("NAME", name);
            ids(kind, &text).iter().any(|(found, _)| *found == id)
        };
        for name in ["10", "7", "2k8"] {
            assert!(says(name), "{id} of {name} in\n{text}");
        }
        for name in ["2003", "2k3", "xp", "2000"] {
            assert!(!says(name), "{id} of {name} in\n{text}");
        }
    }
}

#[test]
fn old_windows_loses_no_page_by_a_cpu_of_its_own() {
    let text = |system: &str| format!("args: -cpu host\ncores: 2\nostype: {system}\n");
    let of = |system: &str| {
        let all = ids(Kind::Proxmox, &text(system));
        all.into_iter().find(|(id, _)| *id == "pve-args-cpu-override").unwrap().1
    };
    for (system, severity) in [
        ("win11", Severity::Error),
        ("w2k8", Severity::Error),
        ("w2k3", Severity::Warn),
        ("w2k", Severity::Warn),
        ("wxp", Severity::Warn),
    ] {
        assert_eq!(of(system), severity, "{system}");
    }
}

#[test]
fn old_windows_with_a_timer_of_hyperv_does_not_start() {
    let text = domain(
        "winxp",
        "    <hyperv><synic state='on'/><stimer state='on'/></hyperv>\n",
        PLAIN_CPU,
        QUIET_CLOCK,
        "",
    );
    assert!(ids(Kind::Libvirt, &text).contains(&("lv-hypervclock-missing", Severity::Error)));
}

use crate::formats::Kind;
use crate::lint::lint;
use crate::testing::document;

/// Returns the reason why a finding that an edit could fix is left; `None` if it is fixed.
pub(super) fn left(kind: Kind, name: &str, text: &str, id: &str) -> Option<String> {
    let report = lint(&document(kind, name, text)).unwrap();
    let finding = report.findings.iter().find(|it| it.rule.id == id);
    let finding = finding.unwrap_or_else(|| panic!("{id}: {:#?}", report.findings));
    assert_eq!(finding.edits.is_empty(), finding.left.is_some(), "{finding:#?}");
    finding.left.clone()
}

pub(super) const RUN: &str =
    "qemu-system-x86_64 -enable-kvm -machine q35 -hda debian.img -cpu host,kvmclock=off";
pub(super) const ID: &str = "q-kvmclock-off-no-invtsc";

pub(super) fn script(before: &str, options: &str) -> Option<String> {
    left(Kind::Qemu, "run.sh", &format!("#!/bin/sh\n{before}{RUN}{options}\n"), ID)
}

pub(super) fn domain(head: &str, clock: &str, attributes: &str) -> Option<String> {
    let text = format!(
        "<domain type='kvm'>\n  <name>debian</name>\n{head}  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
         <cpu mode='host-passthrough'/>\n  <clock {attributes}>\n{clock}    <timer name='kvmclock' present='no'/>\n  \
         </clock>\n</domain>\n"
    );
    left(Kind::Libvirt, "a.xml", &text, "lv-kvmclock-off-no-invtsc")
}

#[test]
fn comment_that_speaks_of_the_option_leaves_it() {
    for before in [
        "# kvmclock=off: workaround for lockups after resume\n",
        "# no kvm-clock here, see the wiki\nset -eu\n",
        "# kvmclock is read by guests of Linux\necho a\necho b\necho c\necho d\n",
        "# kvmclock: leave as it is\n\nset -eu\n\n",
        "# kvmclock bleibt abgeschaltet\n\nset -eu\necho a\necho b\necho c\n\n",
        "# 请勿改动 kvmclock\n\nset -eu\necho a\necho b\necho c\n\n",
        "# Паравиртуальные часы выключены\n\nset -eu\n\n",
        "# zegar parawirtualny wyłączony\n\nset -eu\n\n",
        "# ohne paravirtuelle Uhr\n\nset -eu\n\n",
        "# counts the TSC of a guest\n\nset -eu\n\n",
        "# a guest without the paravirtual\n# clock\n\nset -eu\n\n",
        "# -cpu host,kvmclock=off is needed by the old kernel\n",
        "# The KVM clock hangs after suspend, so it must stay off.\n\nset -eu\necho a\necho b\necho c\necho d\n",
    ] {
        let why = script(before, "");
        assert!(why.is_some_and(|why| why.contains("a comment mentions it")), "{before}");
    }
    assert!(script("", " # without kvmclock").is_some());
    assert!(script("", "\necho a\necho b\n# never give it KVM's clock again\n").is_some());
    let why = domain("", "    <!-- kvmclock must stay off: guest hangs -->\n", "offset='utc'");
    assert!(why.unwrap().starts_with("line 8: a comment"));
}

#[test]
fn comment_of_something_else_changes_nothing() {
    for before in [
        "# starts the machine\n",
        "# qemu-system-x86_64 -cpu host,kvmclock=off -m 2G\nset -eu\n",
        "# starts both routers of the lab\n",
        "# Mail machine of the office\nMEM=1G   # of 64\n",
        "# kvm-clock\nset -eu\n",
    ] {
        assert_eq!(script(before, ""), None, "{before}");
    }
    assert_eq!(domain("", "", "offset='utc'"), None);
    assert_eq!(domain("  <!-- from a template -->\n", "", "offset='utc'"), None);
}

#[test]
fn machine_that_says_what_it_is_stays() {
    for name in ["guest=debian-nokvmclock", "'debian without kvmclock'"] {
        assert!(script("", &format!(" -name {name} -m 1G")).is_some(), "{name}");
    }
    assert!(script("NAME=debian-no-kvmclock\n", " -name $NAME").is_some());
    for (before, options) in [
        ("NAME=debian\n", " -name $NAME"),
        ("exec nice -n 5 ", " -name guest=debian"),
        ("", " -name debian -smbios type=1"),
    ] {
        assert_eq!(script(before, options), None, "{before}{options}");
    }
    let why = script("", " -name guest=debian-nokvmclock");
    assert!(why.unwrap().contains("a name or a description of the machine"));
    for head in [
        "  <title>regression test: boot without kvm-clock</title>\n",
        "  <description>no kvmclock,\n  on purpose</description>\n",
    ] {
        assert!(domain(head, "", "offset='utc'").is_some(), "{head}");
    }
    let unit = format!(
        "[Unit]\nDescription=Debian without kvm-clock\n[Service]\nExecStart=/usr/bin/{RUN}\n"
    );
    assert!(left(Kind::Qemu, "a.service", &unit, ID).is_some());
    let unit = unit.replace(" without kvm-clock", "");
    assert_eq!(left(Kind::Qemu, "a.service", &unit, ID), None);
    assert!(left(Kind::Qemu, "no-kvmclock.sh", &format!("#!/bin/sh\n{RUN}\n"), ID).is_some());
}

#[test]
fn guest_with_a_date_of_its_own_keeps_its_clock() {
    for options in [" -rtc base=2019-06-01T00:00:00,clock=vm", " -rtc base=2019-06-01"] {
        assert!(script("", options).is_some_and(|why| why.contains("a date of its own")));
    }
    for options in [" -rtc base=utc,driftfix=slew", " -rtc base=localtime", " -rtc clock=host"] {
        assert_eq!(script("", options), None, "{options}");
    }
    assert!(domain("", "", "offset='absolute' start='1560000000'").is_some());
    assert!(domain("", "", "offset='variable' adjustment='-100000000'").is_some());
    assert_eq!(domain("", "", "offset='variable' adjustment='0'"), None);
    let text = "args: -cpu host,kvmclock=off\ncores: 2\nostype: l26\nname: a\n";
    assert_eq!(left(Kind::Proxmox, "100.conf", text, ID), None);
    let text = format!("{text}startdate: 2016-12-31T23:55:00\n");
    assert!(left(Kind::Proxmox, "100.conf", &text, ID).is_some());
}

#[test]
fn clock_that_is_taken_away_with_others_of_its_kind_stays_off() {
    let with = |flags: &str| {
        let text = format!("#!/bin/sh\n{}{flags}\n", RUN.replace(",kvmclock=off", ",-kvmclock"));
        left(Kind::Qemu, "run.sh", &text, ID)
    };
    assert!(
        with(",-kvm-pv-eoi,-kvm-steal-time").unwrap().starts_with("kvm-pv-eoi is also disabled")
    );
    assert!(with(",kvm_asyncpf=off").is_some());
    assert_eq!(with(",+kvm-pv-eoi,kvm-hint-dedicated=off,-vmx"), None);
    let features = "  <features><kvm><pv-ipi state='off'/></kvm></features>\n";
    assert!(domain(features, "", "offset='utc'").unwrap().starts_with("<pv-ipi>"));
}

#[test]
fn hpet_that_is_asked_for_stays_where_the_guest_may_be_any_system() {
    let of = |rest: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -accel kvm -cpu host -machine q35,hpet=on {rest}\n"
        );
        left(Kind::Qemu, "run.sh", &text, "q-hpet-on")
    };
    for rest in
        ["-cdrom myos.iso", "-kernel build/kernel.elf", "-kernel k.elf -append a", "-hda a.img"]
    {
        assert!(of(rest).is_some_and(|why| why.contains("which system the guest runs")), "{rest}");
    }
    for rest in ["-hda debian.qcow2", "-kernel vmlinuz -append quiet"] {
        assert_eq!(of(rest), None, "{rest}");
    }
    let xml = |name: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  </os>\n  \
             <clock>\n    <timer name='hpet' present='yes'/>\n  </clock>\n</domain>\n"
        );
        left(Kind::Libvirt, "a.xml", &text, "lv-hpet-on")
    };
    assert!(xml("vxWorks7").is_some());
    assert_eq!(xml("debian"), None);
    let vm = |name: &str| {
        let text = format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n  name: {name}\nspec:\n  domain:\n    \
             clock:\n      timer:\n        hpet:\n          present: true\n    devices: {{}}\n"
        );
        left(Kind::Kubevirt, "a.yaml", &text, "kv-hpet-on")
    };
    assert!(vm("vxworks7").is_some());
    assert_eq!(vm("ubuntu"), None);
}

/// Returns the ids of the findings that are at least a warning.
fn bad(kind: Kind, name: &str, text: &str) -> Vec<&'static str> {
    crate::testing::bad(kind, name, text)
}

#[test]
fn rules_of_x86_are_none_of_other_architectures() {
    let xml = |kind: &str, rest: &str| {
        let text = format!(
            "<domain type='kvm'>\n  <name>debian</name>\n  <os>\n    <type {kind}>hvm</type>\n  </os>\n  <features>\n    \
             <kvm><hidden state='on'/></kvm>\n  </features>\n  <cpu mode='host-passthrough'/>\n  <clock>\n    <timer \
             name='kvmclock' present='no'/>\n    <timer name='hpet' present='yes'/>\n  </clock>\n{rest}</domain>\n"
        );
        bad(Kind::Libvirt, "a.xml", &text)
    };
    let emulator = "  <devices><emulator>/usr/bin/qemu-system-riscv64</emulator></devices>\n";
    for (kind, rest) in [
        ("arch='aarch64' machine='virt'", ""),
        ("arch='s390x'", ""),
        ("arch='ppc64le' machine='pseries'", ""),
        ("machine='virt-8.2'", ""),
        ("", emulator),
    ] {
        assert_eq!(xml(kind, rest), [""; 0], "{kind}{rest}");
    }
    assert!(xml("arch='x86_64'", emulator).contains(&"lv-kvmclock-off-no-invtsc"));
    let vm = |of_spec: &str, of_domain: &str| {
        let text = format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata:\n  name: a\nspec:\n{of_spec}  domain:\n\
             {of_domain}    clock:\n      timer:\n        hpet: {{present: true}}\n        kvm: {{present: false}}\n    \
             devices: {{}}\n"
        );
        bad(Kind::Kubevirt, "a.yaml", &text)
    };
    for (of_spec, of_domain) in [
        ("  architecture: arm64\n", ""),
        ("  nodeSelector:\n    kubernetes.io/arch: s390x\n", ""),
        (
            "  affinity: {nodeAffinity: {a: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, \
             values: [arm64]}]}]}}}\n",
            "",
        ),
        ("", "    machine: {type: virt}\n"),
    ] {
        assert_eq!(vm(of_spec, of_domain), [""; 0], "{of_spec}{of_domain}");
    }
    assert_eq!(vm("  architecture: amd64\n", "").len(), 2);
    let pve = "arch: aarch64\nargs: -machine hpet=on -cpu host,-kvmclock\ncores: 2\nmemory: 512\nname: a\nostype: l26\n";
    assert_eq!(bad(Kind::Proxmox, "100.conf", pve), [""; 0]);
    assert!(bad(Kind::Proxmox, "100.conf", &pve.replace("arch: aarch64\n", "")).len() > 1);
    let run = "#!/bin/sh\n$QEMU -M virt -cpu host,kvmclock=off -enable-kvm -hda debian.img\n";
    assert_eq!(bad(Kind::Qemu, "run.sh", run), [""; 0]);
    let acpi = "#!/bin/sh\nqemu-system-aarch64 -M virt -cpu host -no-acpi -kernel Image\n";
    assert_eq!(bad(Kind::Qemu, "run.sh", acpi), ["q-no-acpi-removed"]);
}

#[test]
fn emulator_has_no_leaves_of_kvm_that_could_be_taken_away() {
    for options in [
        "-accel tcg -cpu qemu64,kvmclock=off",
        "-accel tcg -cpu max,kvm=off",
        "-cpu max,kvmclock=off",
    ] {
        let text = format!("#!/bin/sh\nqemu-system-x86_64 -m 1G -hda debian.img {options}\n");
        let found = bad(Kind::Qemu, "run.sh", &text);
        assert!(!found.iter().any(|id| id.contains("kvm")), "{options}: {found:?}");
    }
}

#[test]
fn file_that_is_no_script_of_a_shell_is_left() {
    for name in [".justfile", "README", "README.vm", "vm.desktop", "vm.just"] {
        let why = left(Kind::Qemu, name, &format!("{RUN}\n"), ID);
        assert!(why.is_some_and(|why| why.contains("strings are not edited")), "{name}");
    }
}

#[test]
fn name_of_the_hosts_system_is_none_of_the_guests() {
    let of = |file: &str, options: &str| {
        let text = format!("#!/bin/sh\nqemu-system-x86_64 -enable-kvm -cpu host {options}\n");
        bad(Kind::Qemu, file, &text).contains(&"q-hv-time-missing")
    };
    assert!(of("start_linux.sh", "-name 'My Windows VM' -hda a.qcow2"));
    assert!(of("start_linux.sh", "-drive file=windows11.qcow2 -cdrom virtio-win.iso"));
    assert!(!of("start_linux.sh", "-hda a.qcow2 -cdrom virtio-win.iso"));
    assert!(!of("start_debian.sh", "-hda windows11.qcow2"));
}

#[test]
fn metadata_of_a_domain_is_a_description() {
    let of = |said: &str| {
        let head = format!("  <metadata>\n    {said}\n  </metadata>\n");
        domain(&head, "", "offset='utc'")
    };
    assert!(of("<a:b xmlns:a='http://example.org/a'>boots without kvmclock</a:b>").is_some());
    assert!(of("<a:b xmlns:a='http://example.org/a' text='no kvm-clock in it'/>").is_some());
    assert!(of("<a:b>please do not touch the clock of it</a:b>").is_some());
    assert_eq!(of("<a:b xmlns:a='http://example.org/a'>mail server of the office</a:b>"), None);
    assert_eq!(of("<a:os id='http://debian.org/debian/12'/>"), None);
}

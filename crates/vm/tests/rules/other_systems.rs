//! Systems and drivers that are easily mistaken for others.

use super::*;

fn linted(kind: Kind, text: &str) -> Vec<&'static str> {
    ids(kind, text).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn dos_is_no_windows() {
    let of = |id: &str| {
        let metadata = format!(
            "  <metadata><libosinfo:libosinfo xmlns:libosinfo=\"http://libosinfo.org/xmlns/libvirt/domain/1.0\"><libosinfo:os \
             id=\"{id}\"/></libosinfo:libosinfo></metadata>\n"
        );
        domain("a", "", PLAIN_CPU, QUIET_CLOCK, &metadata)
    };
    let missing = "lv-hypervclock-missing";
    assert!(linted(Kind::Libvirt, &of("http://microsoft.com/win/11")).contains(&missing));
    for id in ["http://microsoft.com/msdos/6.22", "http://freedos.org/freedos/1.2"] {
        assert!(!linted(Kind::Libvirt, &of(id)).contains(&missing), "{id}");
        mended(Kind::Libvirt, &of(id), &of(id));
    }
}

#[test]
fn domain_of_the_test_driver_is_none_of_qemu() {
    let clock =
        clock("    <timer name='kvmclock' present='no'/>\n    <timer name='tsc' present='no'/>\n");
    let text = domain("debian", "", PLAIN_CPU, &clock, "");
    assert!(!linted(Kind::Libvirt, &text).is_empty());
    let test = text.replace("type='kvm'", "type='test'");
    assert_eq!(linted(Kind::Libvirt, &test), [""; 0]);
}

#[test]
fn all_that_the_host_has_of_hyperv_contains_its_clock() {
    let with = |hyperv: &str| domain("win10", hyperv, "", QUIET_CLOCK, "");
    let passes = "    <hyperv mode='passthrough'/>\n";
    both(Kind::Libvirt, "lv-hypervclock-missing", Severity::Warn, &with(""), &with(passes));
    let pve = |flags: &str| {
        format!("args: -cpu host,{flags}\ncores: 4\nmemory: 4096\nname: a\nostype: win11\n")
    };
    let id = "pve-args-cpu-override";
    assert!(ids(Kind::Proxmox, &pve("kvm=off")).contains(&(id, Severity::Error)));
    assert!(ids(Kind::Proxmox, &pve("hv_passthrough,kvm=off")).contains(&(id, Severity::Warn)));
}

#[test]
fn deprecated_name_of_the_clocksource_goes_and_not_the_other_one() {
    let of = |line: &str| {
        let document = Document::of_kind("grub", line.as_bytes(), Kind::Persistence).unwrap();
        fix(&document, &Choices::default()).unwrap().document.text.as_str().to_owned()
    };
    let after = "GRUB_CMDLINE_LINUX=\"quiet clocksource=tsc\"\n";
    assert_eq!(of("GRUB_CMDLINE_LINUX=\"quiet clocksource=tsc clock=tsc\"\n"), after);
    assert_eq!(of("GRUB_CMDLINE_LINUX=\"quiet clock=tsc clocksource=tsc\"\n"), after);
}

#[test]
fn capabilities_of_a_host_are_no_machine() {
    for text in [
        "<capabilities>\n  <host><cpu><arch>x86_64</arch><counter name='tsc' frequency='1' scaling='no'/></cpu></host>\n</capabilities>\n",
        "<domainCapabilities>\n  <cpu><mode name='host-model' supported='yes'/></cpu>\n</domainCapabilities>\n",
    ] {
        for name in ["caps.xml", "virsh.out"] {
            let document = Document::new(name, text.as_bytes()).unwrap();
            let error = lint(&document).unwrap_err().to_string();
            assert!(error.contains("capabilities of a host") && error.contains("--to"), "{error}");
        }
    }
}

#[test]
fn what_is_only_looked_for_is_no_setting() {
    let of = |name: &str, text: &str| {
        let document = Document::of_kind(name, text.as_bytes(), Kind::Persistence).unwrap();
        let report = lint(&document).unwrap();
        report.findings.iter().filter(|it| it.severity > Severity::Info).count()
    };
    for (name, text) in [
        ("a.sh", "#!/bin/sh\nsed -i 's/ clocksource=tsc//' /etc/default/grub\nupdate-grub\n"),
        ("a.sh", "#!/bin/sh\nsed -i 's/clocksource=hpet/clocksource=tsc/' /etc/default/grub\n"),
        ("a.sh", "#!/bin/sh\ngrep -q 'tsc=reliable' /proc/cmdline && exit 1\n"),
        ("a.sh", "#!/bin/sh\necho \"please remove tsc=reliable from /etc/default/grub\" >&2\n"),
        (
            "a.yml",
            "- hosts: all\n  tasks:\n    - ansible.builtin.replace:\n        path: /etc/default/grub\n        regexp: ' tsc=reliable'\n        replace: ''\n",
        ),
    ] {
        assert_eq!(of(name, text), 0, "{text}");
    }
    assert_ne!(
        of("a.sh", "#!/bin/sh\nsed -i 's/quiet/quiet tsc=reliable/' /etc/default/grub\n"),
        0
    );
    assert_ne!(of("grub", "GRUB_CMDLINE_LINUX=\"no-kvmclock\"\n"), 0);
}

#[test]
fn words_of_a_script_that_set_gives_are_read() {
    let text = "#!/bin/sh\nset -- -accel kvm -m 1G -drive file=debian.qcow2\n[ -n \"$FAST\" ] && set -- \"$@\" -S\n\
                set -- \"$@\" -cpu host,kvmclock=off\nqemu-system-x86_64 -machine q35,hpet=off \"$@\"\n";
    assert!(linted(Kind::Qemu, text).contains(&"q-kvmclock-off-no-invtsc"));
    let other = text.replace(",kvmclock=off", "");
    assert!(!linted(Kind::Qemu, &other).contains(&"q-kvmclock-off-no-invtsc"));
}

#[test]
fn branch_that_gives_the_program_and_its_options_is_read() {
    let text = "#!/bin/bash\nif [ \"$ARCH\" = x86_64 ]; then\n  QEMU=qemu-system-x86_64\n  OPTS=\"-machine q35,accel=kvm -no-hpet -cpu \
                host,kvmclock=off\"\nelse\n  QEMU=qemu-system-aarch64\n  OPTS=\"-machine virt -cpu host\"\nfi\n$QEMU $OPTS -m 1G -drive \
                file=debian.qcow2\n";
    let found = linted(Kind::Qemu, text);
    for id in ["q-no-hpet-removed", "q-kvmclock-off-no-invtsc"] {
        assert!(found.contains(&id), "{found:?}");
    }
    mended(Kind::Qemu, text, text);
}

#[test]
fn domains_of_several_steps_are_all_read() {
    let one = domain("debian", "", PLAIN_CPU, QUIET_CLOCK, "");
    let two =
        domain("debian", "", PLAIN_CPU, &clock("    <timer name='kvmclock' present='no'/>\n"), "");
    let id = "lv-kvmclock-off-no-invtsc";
    assert!(linted(Kind::Libvirt, &format!("{one}{two}")).contains(&id));
    assert!(!linted(Kind::Libvirt, &format!("{one}{one}")).contains(&id));
    mended(
        Kind::Libvirt,
        &format!("{one}{two}"),
        &format!("{one}{}", two.replace("='no'/>\n  </clock>", "='yes'/>\n  </clock>")),
    );
    let network = "<network><name>a</name></network>\n";
    assert!(lint(&document(Kind::Libvirt, &format!("{one}{network}"))).is_err());
}

#[test]
fn script_without_a_machine_is_said_to_have_none() {
    for text in [
        "#!/bin/sh\necho \"usage: $0 <domain>\"\nvirsh start \"$1\" <<EOFF\n<a\nEOFF\n",
        "#!/bin/bash\n# attach <domain\nxl create \"$1\"\n",
    ] {
        let error = lint(&document(Kind::Libvirt, text)).unwrap_err().to_string();
        assert!(error.contains("no machine was recognised"), "{error}");
    }
}

#[test]
fn provider_that_sets_a_mode_twice_has_the_last_one() {
    let text = "Vagrant.configure(\"2\") do |config|\n  config.vm.provider :libvirt do |v|\n    v.cpu_mode = \"custom\"\n    \
                v.cpu_mode = \"host-passthrough\"\n    v.clock_timer :name => \"hpet\", :present => \"yes\"\n  end\nend\n";
    assert!(linted(Kind::VagrantLibvirt, text).contains(&"lv-hpet-on"));
}

#[test]
fn invariant_tsc_that_a_domain_cannot_have_is_said() {
    let invtsc = Choices { invtsc: true, tsc_frequency: None };
    let left = |cpu: &str| {
        let text = domain("debian", "", cpu, QUIET_CLOCK, "");
        fix(&document(Kind::Libvirt, &text), &invtsc).unwrap().undecided
    };
    assert!(left("").iter().any(|why| why.contains("no <cpu>")), "{:?}", left(""));
    assert_eq!(left(PLAIN_CPU), [""; 0]);
}

#[test]
fn text_that_another_command_has_is_named_as_a_whole() {
    let text = "#!/bin/sh\npgrep -f kvmclock=off && exit\nqemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu host,kvmclock=off \
                -hda debian.img\n";
    let report = lint(&document(Kind::Qemu, text)).unwrap();
    let left = report.findings.iter().find_map(|it| it.left.clone()).unwrap();
    assert!(left.contains("line 2 also has kvmclock=off"), "{left}");
    let unit = "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu host,kvmclock=off -hda \
                debian-%i.img\n";
    let report = lint(&document(Kind::Qemu, unit)).unwrap();
    assert!(report.findings.iter().any(|it| !it.edits.is_empty()));
    let unit = unit.replace("host,kvmclock", "host,%i,kvmclock").replace("-%i.img", ".img");
    let report = lint(&document(Kind::Qemu, &unit)).unwrap();
    // A part that only systemd fills in may have any flag.
    assert!(report.findings.iter().all(|it| it.edits.is_empty()));
    assert!(report.findings.iter().all(|it| it.rule.id != "q-kvmclock-off-no-invtsc"));
    // A unit's description names the guest's system, too.
    let unit = "[Unit]\nDescription=ReactOS test\n[Service]\nExecStart=/usr/bin/qemu-system-x86_64 -enable-kvm -machine \
                pc,hpet=on -cpu host,kvmclock=off -hda a.img\n";
    mended(Kind::Qemu, unit, unit);
    let debian = unit.replace("ReactOS test", "Debian");
    assert_ne!(
        fix(&document(Kind::Qemu, &debian), &Choices::default()).unwrap().document.text.as_str(),
        debian
    );
}

//! Scripts that create machines of other kinds: by commands, or by files that they write.

use super::*;

fn detected(text: &str) -> Vec<(&'static str, Severity)> {
    let document = Document::new("make.sh", text.as_bytes()).unwrap();
    let report = lint(&document).unwrap_or_else(|error| panic!("{error}\n{text}"));
    // Nothing is changed in them.
    let fixed = fix(&document, &Choices { invtsc: true, ..Choices::default() }).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
    report.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect()
}

#[test]
fn commands_of_proxmox_are_read() {
    let script = |options: &str, more: &str| {
        format!(
            "#!/bin/bash\nvmid=$1\nsystem=l26\nqm create $vmid \\\n  --name vm --memory 4096 \\\n  --cores 2 --machine q35 \\\n  {options}\n{more}\n"
        )
    };
    let args = "qm set \"$vmid\" --args \"-cpu host,kvmclock=off -uuid $U\"";
    for (options, more, expected) in [
        ("--cpu host --ostype $system", "", vec![("pve-host-no-invtsc", Severity::Info)]),
        ("--cpu host,hidden=1 --ostype=l26", "", vec![("pve-kvm-hidden", Severity::Warn)]),
        ("--cpu $CPU --ostype win11", "qm start $vmid", vec![]),
        ("--ostype l26 -kvm 0", "", vec![("pve-kvm-disabled", Severity::Warn)]),
        (
            "--cpu x86-64-v3 --ostype l26",
            args,
            vec![
                ("pve-args-cpu-override", Severity::Warn),
                ("q-kvmclock-off-no-invtsc", Severity::Error),
            ],
        ),
        (
            "--ostype l26",
            "sudo qm set $vmid -args '-no-hpet -machine hpet=on' || exit 1",
            vec![("q-no-hpet-removed", Severity::Error), ("q-hpet-on", Severity::Warn)],
        ),
        // Only a run shows which of the two applies.
        ("--cpu host --ostype l26", "if x; then qm set $vmid --cpu kvm64; fi", vec![]),
        ("--ostype l26", "# qm set $vmid --kvm 0", vec![]),
        // Another machine.
        (
            "--cpu kvm64 --ostype l26",
            "ssh pve qm set 9000 --kvm 0",
            vec![("pve-kvm-disabled", Severity::Warn)],
        ),
    ] {
        let text = script(options, more);
        assert_eq!(Kind::detect("make.sh", &text), Some(Kind::Proxmox), "{text}");
        assert_eq!(detected(&text), expected, "{text}");
        assert_eq!(ids(Kind::Proxmox, &text), expected, "{text}");
    }
}

#[test]
fn command_of_proxmox_that_always_runs_has_the_last_word() {
    let create = "qm create 100 --cpu x86-64-v3 --ostype l26 --args '-machine hpet=on'\n";
    let both = || vec![("q-hpet-on", Severity::Warn), ("q-no-hpet-removed", Severity::Error)];
    for (more, expected) in [
        ("qm set 100 --args '-no-hpet'\n", vec![("q-no-hpet-removed", Severity::Error)]),
        (
            "sudo pvesh set /nodes/$(hostname)/qemu/100/config -args '-no-hpet'\n",
            vec![("q-no-hpet-removed", Severity::Error)],
        ),
        ("qm set 100 --args '-no-hpet'\nqm set 100 -delete args,tags\n", vec![]),
        // Only a run shows which of them applies: each is judged as if it were the only one.
        ("old() {\n  qm set 100 --args '-no-hpet'\n}\n", both()),
        ("for i in $list; do\n  qm set 100 --args '-no-hpet'\ndone\n", both()),
        ("if old; then\nqm set 100 --args '-no-hpet'\nfi\n", both()),
    ] {
        let text = format!("{create}{more}");
        assert_eq!(detected(&text), expected, "{text}");
    }
    // A variable that is set again names another machine.
    let two = |name: &str| {
        format!("ID=100\n{create}ID=101\nqm set {name} --args '-no-hpet'\n")
            .replace("create 100", "create $ID")
    };
    assert_eq!(detected(&two("${ID}")), both());
    let made = "#!/bin/sh\npvesh create /nodes/pve/qemu --vmid 101 --kvm 0 --ostype l26\n";
    assert_eq!(detected(made), [("pve-kvm-disabled", Severity::Warn)]);
    let other = "#!/bin/sh\npvesh set /nodes/pve/lxc/101/config --cores 2\n";
    assert!(Document::new("make.sh", other.as_bytes()).is_err());
}

#[test]
fn script_without_such_a_command_is_no_machine_of_proxmox() {
    for text in [
        "#!/bin/bash\nname: vm\nostype: l26\n",
        "#!/bin/bash\necho qm set 100 --kvm 0\nqm start 100\n",
    ] {
        let error = lint(&document(Kind::Proxmox, text)).unwrap_err().to_string();
        assert!(error.contains("it is a script"), "{error}");
    }
    let text = "# qm set 100 --kvm 0\ncores: 2\nostype: l26\nname: vm\n";
    assert_eq!(Kind::detect("100.conf", text), Some(Kind::Proxmox));
    assert_eq!(ids(Kind::Proxmox, text), []);
}

#[test]
fn cloud_hypervisor_may_be_called_by_a_variable() {
    let options =
        "--kernel k \\\n  --cmdline \"console=hvc0 notsc\" \\\n  --cpus boot=1,kvm_hyperv=on\n";
    for call in [
        "ch=${ch:-/opt/bin/cloud-hypervisor}\ntime $ch",
        "CH=/usr/bin/cloud-hypervisor-static\n\"$CH\"",
        "hype=\"./bin/cloud-hypervisor\"\ncmd=\"$hype\"\nif x; then cmd=\"strace -o a $hype\"; fi\n$cmd",
    ] {
        let text = format!("#!/bin/bash\n{call} {options}");
        assert_eq!(Kind::detect("make.sh", &text), Some(Kind::CloudHypervisor), "{text}");
        let expected =
            [("cmdline-notsc", Severity::Error), ("ch-kvm-hyperv-linux", Severity::Warn)];
        let all: Vec<_> = detected(&text).into_iter().map(|(id, _)| id).collect();
        assert_eq!(all, expected.map(|(id, _)| id), "{text}");
    }
    for text in [
        "#!/bin/bash\nsrc=/src/cloud-hypervisor\ncd $src\n$other --kernel k --cpus boot=1\n",
        "#!/bin/bash\nch=/usr/bin/cloud-hypervisor\necho $ch --kernel k\n",
    ] {
        assert_eq!(Kind::detect("make.sh", text), None, "{text}");
    }
}

#[test]
fn files_that_a_script_writes_are_read() {
    let json = "{\n  \"cpus\": {\"boot_vcpus\": 1, \"max_vcpus\": 1, \"kvm_hyperv\": true},\n  \"payload\": {\"kernel\": \"$K\", \"cmdline\": \"console=hvc0 clocksource=TSC\"}\n}";
    let ovf = "<?xml version=\"1.0\"?>\n<Envelope xmlns=\"http://schemas.dmtf.org/ovf/envelope/1\" xmlns:vbox=\"v\">\n<VirtualSystem><VirtualHardwareSection><System><VirtualSystemType>virtualbox-2.2</VirtualSystemType></System></VirtualHardwareSection>\n<vbox:Machine name=\"${NAME}\" OSType=\"Linux26_64\"><ExtraData><ExtraDataItem name=\"VBoxInternal/TM/TSCTiedToExecution\" value=\"1\"/></ExtraData><Hardware version=\"2\"><CPU count=\"2\"/></Hardware></vbox:Machine></VirtualSystem>\n</Envelope>";
    let vagrant = "Vagrant.configure(\"2\") do |config|\n  config.vm.provider :libvirt do |v|\n    v.clock_timer :name => 'hpet', :present => 'yes'\n  end\nend";
    for (kind, file, name) in [
        (Kind::CloudHypervisor, json, "vm.json"),
        (Kind::Ovf, ovf, "a.ovf"),
        (Kind::VagrantLibvirt, vagrant, "Vagrantfile"),
    ] {
        let alone = lint(&Document::of_kind(name, file.as_bytes(), kind).unwrap()).unwrap();
        let alone: Vec<_> = alone.findings.iter().map(|it| (it.rule.id, it.severity)).collect();
        assert!(alone.iter().any(|(_, severity)| *severity > Severity::Info), "{alone:?}");
        let text =
            format!("#!/bin/bash\necho a\ncat >\"$dir/{name}\" <<EOF\n{file}\nEOF\nrun \"$dir\"\n");
        assert_eq!(Kind::detect("make.sh", &text), Some(kind), "{text}");
        assert_eq!(detected(&text), alone, "{text}");
    }
}

#[test]
fn domain_whose_hypervisor_a_program_fills_in_is_not_said_to_have_kvm() {
    let text = |kind: &str| {
        format!(
            "<domain type='{kind}'><name>a</name><os><type arch='x86_64'>hvm</type></os><clock offset='utc'/></domain>"
        )
    };
    let says = |text: &str| ids(Kind::Libvirt, text).iter().any(|(id, _)| *id == "lv-no-invtsc");
    for kind in ["{}", "{0}", "{type}", "%s", "${type}", "$TYPE", "@TYPE@", "#{type}", "%(type)s"] {
        assert!(!says(&text(kind)), "{kind}");
    }
    assert!(says(&text("kvm")));
}

#[test]
fn image_of_another_processor_shows_that_of_the_machine() {
    let line = |disk: &str| {
        format!(
            "#!/bin/sh\nvirt-install --name a --memory 2048 --disk path={disk} --import --os-variant ubuntu20.04\n"
        )
    };
    let says =
        |text: &str| ids(Kind::VirtInstall, text).iter().any(|(id, _)| *id == "lv-no-invtsc");
    assert!(!says(&line("ubuntu-arm64.qcow2")) && !says(&line("a.aarch64.img")));
    assert!(says(&line("ubuntu-amd64.qcow2")));
}

#[test]
fn emulation_of_an_open_command_is_stated_with_its_condition() {
    let of = |head: &str, options: &str| {
        let text = format!("#!/bin/sh\n{head}qemu-system-x86_64 -machine q35 -m 1G {options}\n");
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        let one = report.findings.into_iter().find(|it| it.rule.id == "q-emulated");
        one.map(|it| it.summary.is_some_and(|it| it.contains("unless words")))
    };
    assert_eq!(of("", ""), Some(false));
    assert_eq!(of("", "$@"), Some(true));
    assert_eq!(of("", "$MORE -hda a.img"), Some(true));
    for (head, options) in [
        ("", "-enable-kvm $@"),
        ("# MORE=-enable-kvm for a fast machine\n", "$MORE"),
        ("", "-cpu host $@"),
        ("", "-cpu qemu64,hv-time $@"),
    ] {
        assert_eq!(of(head, options), None, "{head}{options}");
    }
}

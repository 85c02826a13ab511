//! Scripts that make machines of other kinds: by commands, or by files that they write.

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
        (
            "--cpu host,hidden=1 --ostype=l26",
            "",
            vec![("pve-host-no-invtsc", Severity::Info), ("pve-kvm-hidden", Severity::Warn)],
        ),
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
        // Only a run tells which of the two it is.
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

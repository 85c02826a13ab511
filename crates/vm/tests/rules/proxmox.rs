//! Proxmox VE machines.

use super::*;

#[test]
fn proxmox_rules() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Proxmox;
    let plain = "bios: ovmf\ncores: 2\ncpu: host\nostype: l26\n";
    let args = |args: &str| format!("args: {args}\n{plain}");
    // An error only if the guest loses its clock.
    both(kind, "pve-args-cpu-override", Warn, &args("-cpu 'host,+pcid'"), plain);
    let windows = args("-cpu 'host,+pcid'").replace("l26", "win11");
    both(kind, "pve-args-cpu-override", Error, &windows, plain);
    let vfio = format!("{}hostpci0: 01:00\n", args("-cpu host,+invtsc"));
    both(kind, "q-invtsc-migblock", Info, &vfio, plain);
    both(kind, "q-invtsc-migblock", Warn, &args("-cpu host,+invtsc"), plain);
    both(kind, "pve-host-no-invtsc", Info, plain, &plain.replace("host", "kvm64"));
    both(kind, "pve-kvm-hidden", Warn, &plain.replace("host", "host,hidden=1"), plain);
    both(kind, "pve-kvm-disabled", Warn, &format!("{plain}kvm: 0\n"), plain);
    both(kind, "pve-ostype-missing", Info, &plain.replace("ostype: l26\n", ""), plain);
    both(
        kind,
        "pve-ostype-windows-unset",
        Warn,
        &format!("{}name: win11\n", plain.replace("l26", "other")),
        plain,
    );
    both(kind, "pve-tdf", Info, &format!("{plain}tdf: 1\n"), plain);
    both(kind, "q-no-hpet-removed", Error, &args("-no-hpet"), plain);
    both(kind, "q-hpet-on", Warn, &args("-machine hpet=on"), plain);
    for (rest, edited) in [
        ("", true),
        ("cpu: host,hidden=1\n", false),
        ("cpu: custom-mine\n", false),
        ("kvm: 0\n", false),
    ] {
        let text = format!("{}{rest}", args("-machine hpet=on"));
        let after = if edited { text.replace("hpet=on", "hpet=off") } else { text.clone() };
        mended(kind, &text, &after);
    }
    // The flags that Proxmox VE gives to Windows are lost with another -cpu.
    let windows = |rest: &str| args(&format!("-machine hpet=on {rest}")).replace("l26", "win10");
    mended(kind, &windows(""), &windows("").replace("hpet=on", "hpet=off"));
    let lost = windows("-cpu host,hypervisor=off,+invtsc,tsc-frequency=2600000000");
    mended(kind, &lost, &lost);
    both(kind, "q-no-acpi-removed", Error, &args("-no-acpi"), plain);
    let stray = args("-smbios type=2 Skylake-Server,vendor=GenuineIntel,+invtsc");
    both(kind, "q-cpu-without-option", Error, &stray, plain);
    // macOS does not use Hyper-V's reference TSC page, whatever `ostype` is.
    let apple = args("-device isa-applesmc,osk=x -cpu host,+invtsc").replace("l26", "win10");
    both(kind, "pve-args-cpu-override", Warn, &apple, plain);
    mended(kind, &apple, &apple);
    // A snapshot is an earlier state.
    assert_eq!(
        ids(kind, &format!("{plain}\n[before]\nargs: -cpu host,kvm=off\n")),
        ids(kind, plain)
    );
}

#[test]
fn proxmox_name_of_windows_contradicts_an_ostype_of_linux() {
    let conf = |name: &str, rest: &str| {
        format!("cores: 2\ncpu: host\nmemory: 4096\nname: {name}\nostype: l26\n{rest}")
    };
    let id = "pve-ostype-contradicts-name";
    let iso = "ide2: local:iso/win11.iso,media=cdrom,size=5G\n";
    both(Kind::Proxmox, id, Severity::Warn, &conf("Windows", ""), &conf("web", ""));
    both(Kind::Proxmox, id, Severity::Warn, &conf("vm7", iso), &conf("debian", iso));
    let text = conf("Win11-desk", iso);
    assert_eq!(ids(Kind::Proxmox, &text), [(id, Severity::Warn)]);
    mended(Kind::Proxmox, &text, &text);
    let said = document(Kind::Proxmox, &text).with_guest(Some(clocksmith_vm::Guest::Linux));
    assert!(!lint(&said).unwrap().findings.iter().any(|finding| finding.rule.id == id));
}

/// A container has some keys of a machine, and no clock of its own.
#[test]
fn proxmox_container_is_no_machine() {
    let text = "arch: amd64\ncores: 2\nhostname: web\nmemory: 512\nnet0: name=eth0,bridge=vmbr0\nostype: debian\nrootfs: local:100/disk.raw,size=8G\n\
                swap: 512\nlxc.mount.entry: /dev/dri dev/dri none bind\n";
    let error = lint(&document(Kind::Proxmox, text)).unwrap_err().to_string();
    assert!(error.contains("container") && error.contains("host"), "{error}");
    let machine = "cores: 2\nmemory: 512\nnet0: virtio=1,bridge=vmbr0\nostype: l26\nname: web\n";
    assert!(lint(&document(Kind::Proxmox, machine)).is_ok());
}

/// A script of `qm` is one, whether or not an option of it affects a clock.
#[test]
fn proxmox_script_without_a_clock_has_no_findings() {
    for text in [
        "#!/bin/sh\nqm create 100 --memory 2048 --cores 2\n",
        "#!/bin/bash\nqm clone 9000 \"$1\" --name \"$2\"\nqm set \"$1\" --memory 1024\n",
        "qm set $ID --scsihw virtio-scsi-pci --scsi0 local:0,import-from=$IMG\n",
        "#!/bin/sh\nsudo qm importdisk 100 a.qcow2 local-lvm\nqm start 100\n",
    ] {
        let document = Document::new("vm.sh", text.as_bytes()).unwrap();
        assert_eq!(document.kind, Kind::Proxmox, "{text}");
        assert_eq!(lint(&document).unwrap().findings.len(), 0, "{text}");
    }
    for text in ["#!/bin/sh\nqm list\n", "read the qm start page\n", "#!/bin/sh\necho qm start 1\n"]
    {
        assert!(Document::new("vm.sh", text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn proxmox_lines_that_a_script_writes_to_the_file_of_a_machine() {
    let has = |text: &str, id: &str| {
        let document = Document::new("vm.sh", text.as_bytes()).unwrap();
        assert_eq!(document.kind, Kind::Proxmox, "{text}");
        let report = lint(&document).unwrap();
        assert!(report.findings.iter().all(|finding| finding.edits.is_empty()), "{text}");
        report.findings.iter().any(|finding| finding.rule.id == id)
    };
    for text in [
        "#!/bin/sh\nqm create 101 --name a --cores 4\necho \"args: -cpu host,+invtsc\" >> /etc/pve/qemu-server/101.conf\n",
        "#!/bin/sh\nid=7\nqm create $id --cores 4\necho 'args: -cpu host' >>/etc/pve/qemu-server/$id.conf\n",
        "echo args: -cpu host,+invtsc >> \"/etc/pve/qemu-server/${ID}.conf\"\n",
        "#!/bin/sh\nprintf 'args: -cpu host,-kvm\\n' >> /etc/pve/nodes/n/qemu-server/101.conf\n",
        "#!/bin/sh\ncat >> /etc/pve/qemu-server/101.conf <<E\nargs: -cpu host,+invtsc $MORE\ncores: 4\nE\n",
        "cat <<E | tee -a /etc/pve/qemu-server/$ID.conf\nargs: -cpu host\nE\n",
        "#!/bin/sh\nqm create 7 --cpu host\nF=/etc/pve/qemu-server/7.conf\necho \"args: -cpu host,-kvm\" >> \"$F\"\n",
        "#!/bin/sh\nF=\"/etc/pve/qemu-server/${ID}.conf\"\nqm create $ID --cpu host\necho 'args: -cpu host' >> ${F}\n",
        "#!/bin/sh\nqm create 7 --cpu host\necho \"args: -cpu host\" | sudo tee -a /etc/pve/qemu-server/7.conf\n",
        "#!/bin/sh\nA=\"-cpu host,-kvm\"\nqm create 7 --cpu host\nsed -i \"1i args: ${A}\" /etc/pve/qemu-server/7.conf\n",
        "#!/bin/sh\nqm create 7 --cpu host\nsed -i '$ a args: -cpu host' /etc/pve/qemu-server/7.conf\n",
        "#!/bin/sh\nqm create 7 --cpu host\n{\n  echo \"args: -cpu host\"\n  cat /etc/pve/qemu-server/7.conf\n} > /tmp/new && cp /tmp/new /etc/pve/qemu-server/7.conf\n",
    ] {
        assert!(has(text, "pve-args-cpu-override"), "{text}");
    }
    for text in [
        "#!/bin/sh\necho \"cores: 4\" >> /etc/pve/qemu-server/101.conf\n",
        "#!/bin/sh\necho 'args: -cpu host' >> /etc/pve/qemu-server/1.conf\necho 'args: -vga std' >> /etc/pve/qemu-server/1.conf\n",
    ] {
        assert!(!has(text, "pve-args-cpu-override"), "{text}");
    }
    // A container has no such settings, and other files are none of a machine.
    for text in [
        "#!/bin/sh\necho 'lxc.apparmor.profile: unconfined' >> /etc/pve/lxc/101.conf\n",
        "#!/bin/sh\necho 'see /etc/pve/qemu-server/101.conf'\n",
        "#!/bin/sh\nF=/etc/pve/qemu-server/7.conf\necho 'args: none' >> /tmp/log\nsed -i '/^args:/d' \"$F\"\n",
    ] {
        assert!(Document::new("vm.sh", text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn proxmox_machine_without_kvm_has_nothing_of_kvm() {
    use Severity::Warn;
    let conf = |kvm: &str, rest: &str| format!("cores: 2\nkvm: {kvm}\nostype: l26\n{rest}");
    let emulated = ("pve-kvm-disabled", Warn);
    for kvm in ["0", "off", "no"] {
        assert_eq!(ids(Kind::Proxmox, &conf(kvm, "")), [emulated], "{kvm}");
        let hidden = conf(kvm, "cpu: x86-64-v3,hidden=1\n");
        assert_eq!(ids(Kind::Proxmox, &hidden), [emulated], "{kvm}");
        let host = conf(kvm, "cpu: host\n");
        assert_eq!(ids(Kind::Proxmox, &host), [emulated, ("pve-host-emulated", Warn)], "{kvm}");
    }
    assert_eq!(ids(Kind::Proxmox, &conf("0", "cpu: max\n")), [emulated]);
    let invtsc = ids(Kind::Proxmox, &conf("0", "args: -cpu max,+invtsc,-kvmclock\n"));
    assert!(invtsc.contains(&("q-invtsc-tcg", Warn)), "{invtsc:?}");
    assert!(invtsc.iter().all(|(id, _)| !id.contains("kvmclock") && !id.contains("migblock")));
    let with = ids(Kind::Proxmox, &conf("1", "cpu: host\n"));
    assert_eq!(with, [("pve-host-no-invtsc", Severity::Info)]);
}

#[test]
fn proxmox_each_value_of_args_is_judged_as_if_it_were_the_only_one() {
    use Severity::{Error, Warn};
    let kind = Kind::Proxmox;
    let file = "/etc/pve/qemu-server/101.conf";
    let of = |one: &str, other: &str| {
        format!(
            "#!/bin/bash\nqm create 101 --name mac --ostype other --cpu host\nif lscpu | grep -q AMD; then\n  {one}\n\
             elif lscpu | grep -q Intel; then\n  {other}\nfi\n"
        )
    };
    let echo = |cpu: &str| format!("echo \"args: -cpu {cpu}\" >> \"{file}\"");
    let set = |cpu: &str| format!("qm set 101 --args '-cpu {cpu}'");
    let written = |cpu: &str| format!("cat >> {file} <<EOF\nargs: -cpu {cpu}\nEOF");
    let (invtsc, clock) = ("Haswell,+invtsc,kvm=on", "host,kvmclock=off");
    for write in [&echo as &dyn Fn(&str) -> String, &set, &written] {
        let found = ids(kind, &of(&write(invtsc), &write("host,+invtsc,kvm=on")));
        let number = |id: &str| found.iter().filter(|it| **it == (id, Warn)).count();
        assert_eq!(number("q-invtsc-migblock"), 2, "{found:?}");
        assert!(number("pve-args-cpu-override") > 0, "{found:?}");
        let linux = |one: &str, other: &str| of(one, other).replace("ostype other", "ostype l26");
        for text in [linux(&write(clock), &write("host")), linux(&write("host"), &write(clock))] {
            let found = ids(kind, &text);
            let wanted = ("q-kvmclock-off-no-invtsc", Error);
            assert_eq!(found.iter().filter(|it| **it == wanted).count(), 1, "{found:?}\n{text}");
        }
    }
    // A later command that always runs has the last word.
    let last = format!("{}qm set 101 --args '-cpu host'\n", of(&set(clock), &set("host,kvm=off")));
    assert!(!ids(kind, &last).iter().any(|it| it.1 == Error), "{:?}", ids(kind, &last));
    // What does not depend on args is reported once.
    let disabled = of(&set("host"), &set("Haswell")).replace("--cpu host", "--kvm 0");
    let found = ids(kind, &disabled);
    assert_eq!(found.iter().filter(|it| it.0 == "pve-kvm-disabled").count(), 1, "{found:?}");
}

#[test]
fn proxmox_machine_without_an_ostype_is_of_another_system() {
    let kind = Kind::Proxmox;
    let unset = ("pve-ostype-windows-unset", Severity::Warn);
    for (name, options, found) in [
        ("windowsServer", "", true),
        ("win11", "--cpu host", true),
        ("win11", "--ostype other", true),
        ("win11", "--ostype win11", false),
        ("web1", "", false),
    ] {
        let text = format!(
            "#!/bin/bash\nqm create 101 -name {name} -localtime 1 --memory 4096 {options}\n"
        );
        assert_eq!(ids(kind, &text).contains(&unset), found, "{text}");
        // A command of another script may have created it, with an ostype.
        let text = text.replace("qm create", "qm set");
        let said = found && options.contains("other");
        assert_eq!(ids(kind, &text).contains(&unset), said, "{text}");
    }
    let conf = "bios: ovmf\ncores: 2\ncpu: host\nname: win11\n";
    assert!(ids(kind, conf).contains(&unset));
    assert!(!ids(kind, &conf.replace("win11", "web1")).contains(&unset));
}

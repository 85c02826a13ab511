use crate::formats::Kind;
use crate::testing;

fn bad(text: &str) -> Vec<&'static str> {
    assert_eq!(Kind::detect("a.pkr.hcl", text), Some(Kind::Packer), "{text}");
    testing::bad(Kind::Packer, "a.pkr.hcl", text)
}

fn source(builder: &str, inside: &str) -> String {
    format!("source \"{builder}\" \"a\" {{\n{inside}\n}}\n")
}

#[test]
fn qemu_is_judged_as_the_command_line_that_packer_makes() {
    let qemu = |inside: &str| bad(&source("qemu", inside));
    let emulated = |inside: &str| {
        let all = testing::ids(Kind::Packer, "a.pkr.hcl", &source("qemu", inside));
        all.iter().any(|(id, _)| *id == "q-emulated")
    };
    assert_eq!(qemu(""), [""; 0]);
    assert_eq!(qemu("qemuargs = [[\"-machine\", \"type=q35,accel=kvm,hpet=off\"]]"), [""; 0]);
    // The -machine of qemuargs replaces the accelerator, too.
    assert!(emulated("accelerator = \"kvm\"\n qemuargs = [[\"-machine\", \"q35,hpet=off\"]]"));
    assert_eq!(qemu("qemuargs = [[\"-machine\", \"q35,hpet=off\"], [\"-enable-kvm\"]]"), [""; 0]);
    assert!(emulated("accelerator = \"none\"") && !emulated(""));
    assert_eq!(
        qemu(
            "communicator = \"winrm\"\n cpu_model = \"host\"\n qemuargs = [[\"-machine\", \"q35,accel=kvm,hpet=off\"]]"
        ),
        ["q-hv-time-missing"]
    );
    // Without a model it is QEMU's own one, which has no page either.
    assert_eq!(qemu("communicator = \"winrm\"\n machine_type = \"q35\""), ["q-hv-time-missing"]);
    assert_eq!(
        qemu(
            "communicator = \"winrm\"\n qemuargs = [[\"-machine\", \"q35,accel=kvm,hpet=off\"], [\"-cpu\", \"host,hv-passthrough\"]]"
        ),
        [""; 0]
    );
    assert_eq!(qemu("qemu_binary = \"qemu-system-aarch64\"\n machine_type = \"virt\""), [""; 0]);
    assert_eq!(
        qemu("qemuargs = var.unknown ? [] : [[\"-machine\", \"q35\"]]\n machine_type = var.m"),
        [""; 0]
    );
}

#[test]
fn qemu_value_that_is_wrong_is_mended_where_it_is() {
    let text = source(
        "qemu",
        "iso_url = \"debian.iso\"\nqemuargs = [\n  [\"-machine\", \"type=q35,accel=kvm,hpet=on\"],\n]",
    );
    assert_eq!(bad(&text), ["q-hpet-on"]);
    assert_eq!(
        testing::mended(Kind::Packer, "a.pkr.hcl", &text),
        text.replace("hpet=on", "hpet=off")
    );
    // These are no placeholders of JSON.
    let text = format!("# a note by <us>, for ${{var.x}}\n{text}");
    assert_eq!(
        testing::mended(Kind::Packer, "a.pkr.hcl", &text),
        text.replace("hpet=on", "hpet=off")
    );
    // The value of a variable is left.
    let text = format!(
        "variable \"m\" {{\n  default = \"q35,accel=kvm,hpet=on\"\n}}\n{}",
        source("qemu", "qemuargs = [[\"-machine\", var.m]]")
    );
    assert_eq!(testing::mended(Kind::Packer, "a.pkr.hcl", &text), text);
}

#[test]
fn other_builders_are_judged_as_their_machines() {
    let rows = "guest_os_type = \"Ubuntu_64\"\n cpus = 2\n vboxmanage = [[\"modifyvm\", \"{{.Name}}\", \"--paravirtprovider\", \"none\"]]";
    let found = bad(&source("virtualbox-iso", rows));
    assert!(found.iter().any(|id| id.starts_with("vb-")), "{found:?}");
    assert_eq!(
        bad(&source(
            "vmware-iso",
            "guest_os_type = \"ubuntu-64\"\n vmx_data = {\n \"monitor_control.virtual_rdtsc\" = \"FALSE\"\n}"
        )),
        ["vmx-rdtsc-not-virtualised"]
    );
    assert_eq!(
        bad(&source(
            "proxmox-iso",
            "os = \"win11\"\n cpu_type = \"host\"\n qemu_additional_args = \"-cpu host\""
        )),
        ["pve-args-cpu-override"]
    );
    assert_eq!(bad(&source("proxmox-clone", "cpu_type = \"host\"")), [""; 0]);
}

/// The type of a machine that is imported, or that exists already, is not in the template.
#[test]
fn machine_that_another_tool_made_has_no_known_default() {
    let cpus = "vboxmanage = [[\"modifyvm\", \"{{.Name}}\", \"--cpus\", \"2\"]]";
    assert_eq!(bad(&source("virtualbox-iso", cpus)), ["vb-smp-tsc-emulated"]);
    for builder in ["virtualbox-ovf", "virtualbox-vm"] {
        let text = source(builder, cpus);
        assert_eq!(bad(&text), [""; 0], "{builder}");
        assert!(testing::report(Kind::Packer, "a.pkr.hcl", &text).partial);
        let tied = format!(
            "{}, [\"setextradata\", \"{{{{.Name}}}}\", \"VBoxInternal/TM/TSCTiedToExecution\", \"1\"]]",
            cpus.trim_end_matches(']').to_owned() + "]"
        );
        assert!(bad(&source(builder, &tied)).contains(&"vb-tied-smp"), "{builder}");
    }
}

/// A label of a block may be without quotes.
#[test]
fn labels_without_quotes() {
    let rows = "{\n cd_files = [\"Autounattend.xml\"]\n qemuargs = [[\"-machine\", \"q35,accel=kvm,hpet=off\"], [\"-cpu\", \"host\"]]\n}\n";
    for labels in ["qemu server", "\"qemu\" server", "qemu \"server\""] {
        assert_eq!(bad(&format!("source {labels} {rows}")), ["q-hv-time-missing"], "{labels}");
    }
    assert_eq!(Kind::detect("a.sh", "#!/bin/sh\nsource qemu\n"), None);
}

#[test]
fn json_is_read_with_its_variables() {
    let text = "{\"variables\": {\"accel\": \"none\"}, \"builders\": [{\"type\": \"qemu\", \"accelerator\": \"{{user `accel`}}\"}, {\"type\": \"amazon-ebs\"}]}";
    assert_eq!(Kind::detect("a.json", text), Some(Kind::Packer));
    let all = testing::ids(Kind::Packer, "a.json", text);
    assert!(all.iter().any(|(id, _)| *id == "q-emulated"), "{all:?}");
    testing::broken(Kind::Packer, "source \"qemu\" {");
    testing::broken(Kind::Packer, "{\"builders\": [");
}

#[test]
fn windows_is_told_by_what_only_it_has() {
    let virtualbox = |inside: &str| {
        let rows = "vboxmanage = [[\"modifyvm\", \"{{.Name}}\", \"--cpus\", \"2\"]]";
        let text =
            source("virtualbox-iso", &format!("guest_os_type = var.system\n {inside}\n {rows}"));
        assert_eq!(bad(&text), [""; 0], "{inside}");
        let report = testing::report(Kind::Packer, "a.pkr.hcl", &text);
        let found = report.findings.iter().find(|it| it.rule.id == "vb-smp-tsc-emulated").unwrap();
        found.summary.as_ref().is_some_and(|said| said.contains("until Windows turns on"))
    };
    assert!(!virtualbox(""));
    for inside in [
        "shutdown_command = \"C:/Windows/System32/sysprep/sysprep.exe /generalize\"",
        "shutdown_command = \"shutdown /s /t 10\"",
        "floppy_files = [\"answers/${var.name}/Autounattend.xml\"]",
        "cd_content = { \"autounattend.xml\" = file(\"a.xml\") }",
        "winrm_username = \"vagrant\"",
        "communicator = \"winrm\"",
    ] {
        assert!(virtualbox(inside), "{inside}");
    }
    for inside in [
        "shutdown_command = \"sudo shutdown -P now\"",
        "shutdown_command = \"virt-sysprep -a a.img\"",
        "floppy_files = [\"ks.cfg\"]",
    ] {
        assert!(!virtualbox(inside), "{inside}");
    }
    // A known type decides, and nothing is changed for a Windows that is only inferred.
    let typed = "guest_os_type = \"Other_64\"\n cpus = 2\n shutdown_command = \"shutdown /s\"";
    assert!(bad(&source("virtualbox-iso", typed)).contains(&"vb-smp-tsc-emulated"));
    let text = source(
        "qemu",
        "shutdown_command = \"shutdown /s\"\n qemuargs = [[\"-machine\", \"q35,accel=kvm,hpet=off\"], [\"-cpu\", \"host\"]]",
    );
    assert_eq!(bad(&text), ["q-hv-time-missing"]);
    assert_eq!(testing::mended(Kind::Packer, "a.pkr.hcl", &text), text);
}

#[test]
fn a_key_of_virtualbox_is_shown_at_its_row() {
    let text = source(
        "virtualbox-iso",
        "guest_os_type = \"Ubuntu_64\"\n vboxmanage = [\n  [\"setextradata\", \"{{.Name}}\", \"VBoxInternal/TM/TSCTiedToExecution\", \"1\"]\n ]",
    );
    let report = testing::report(Kind::Packer, "a.pkr.hcl", &text);
    let tied = report.findings.iter().find(|finding| finding.rule.id == "vb-tied").unwrap();
    assert_eq!(text.get(tied.span.clone()), Some("\"setextradata\""));
}

#[test]
fn machines_of_vcenter_and_of_hyper_v() {
    let text = source(
        "vsphere-iso",
        "guest_os_type = \"ubuntu64Guest\"\n tools_sync_time = true\n configuration_parameters = { \"monitor_control.virtual_rdtsc\" = \"FALSE\" }",
    );
    assert_eq!(bad(&text), ["vmx-sync-on", "vmx-rdtsc-not-virtualised"]);
    let report = testing::report(Kind::Packer, "a.pkr.hcl", &text);
    let fix = report
        .findings
        .iter()
        .find_map(|it| it.fix.clone().filter(|_| it.rule.id == "vmx-sync-on"));
    assert_eq!(
        fix.as_deref(),
        Some("tools_sync_time = false, once NTP or chrony runs in the guest")
    );
    for builder in ["hyperv-iso", "hyperv-vmcx"] {
        let text = source(builder, "cpus = 2");
        assert_eq!(Kind::detect("a.pkr.hcl", &text), Some(Kind::Packer), "{builder}");
        assert_eq!(bad(&text), [""; 0], "{builder}");
        let json = format!("{{\"builders\": [{{\"type\": \"{builder}\", \"generation\": 2}}]}}");
        assert_eq!(Kind::detect("a.json", &json), Some(Kind::Packer), "{builder}");
    }
}

#[test]
fn default_that_names_no_system_is_for_the_caller() {
    let ids = |system: &str, default: &str| {
        let text = format!(
            "variable \"os\" {{\n  type    = string\n  default = \"{default}\"\n}}\nsource \"virtualbox-iso\" \"a\" {{\n  guest_os_type = {system}\n  cpus = 2\n}}\n"
        );
        bad(&text)
    };
    assert_eq!(ids("var.os", "Other_64"), [""; 0]);
    assert_eq!(ids("\"Other_64\"", ""), ["vb-paravirt-default-other", "vb-smp-tsc-emulated"]);
    assert_eq!(ids("var.os", "FreeBSD_64"), ["vb-smp-tsc-emulated"]);
    let arm =
        "vboxmanage = [[\"modifyvm\", \"{{.Name}}\", \"--chipset\", \"armv8virtual\"]]\n cpus = 2";
    for system in ["Other_arm64", "Debian12_arm64"] {
        let text = source("virtualbox-iso", &format!("guest_os_type = \"{system}\"\n {arm}"));
        assert_eq!(testing::ids(Kind::Packer, "a.pkr.hcl", &text), [], "{system}");
    }
}

#[test]
fn accelerator_that_packer_chooses_is_not_known() {
    let found = |accelerator: &str, arguments: &str| {
        let text = format!(
            "source \"qemu\" \"a\" {{\n{accelerator}  iso_url = \"debian-12.iso\"\n  qemuargs = [{arguments}]\n}}\n"
        );
        testing::report(Kind::Packer, "a.pkr.hcl", &text).findings
    };
    let stays = |accelerator: &str| {
        let all = found(accelerator, "[\"-cpu\", \"host\"]").into_iter();
        let mut all = all.filter(|finding| finding.rule.id == "q-no-invtsc");
        all.next().and_then(|finding| finding.summary)
    };
    assert!(stays("").is_some_and(|it| it.contains("where KVM runs the guest")));
    assert_eq!(stays("  accelerator = \"kvm\"\n"), None);
    let emulated = |accelerator: &str| {
        found(accelerator, "").iter().any(|finding| finding.rule.id == "q-emulated")
    };
    assert!(!emulated(""));
    assert!(emulated("  accelerator = \"none\"\n"));
    // The emulator has nothing of KVM that could be missing.
    let off = |accelerator: &str| {
        let all = found(accelerator, "[\"-cpu\", \"max,-kvmclock\"]");
        all.iter().any(|finding| finding.rule.id == "q-kvmclock-off-no-invtsc")
    };
    assert!(off("") && off("  accelerator = \"kvm\"\n"));
    assert!(!off("  accelerator = \"tcg\"\n") && !off("  accelerator = \"hvf\"\n"));
}

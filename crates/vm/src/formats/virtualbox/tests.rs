//! Machines and scripts, one for each rule, both ways.

use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::lint::LintError;
use crate::testing;
use proptest::prelude::*;

fn vbox(os: &str, extra: &[(&str, &str)], hardware: &str) -> String {
    let items: String = extra
        .iter()
        .map(|(name, value)| format!("      <ExtraDataItem name=\"{name}\" value=\"{value}\"/>\n"))
        .collect();
    let extra = if items.is_empty() {
        String::new()
    } else {
        format!("    <ExtraData>\n{items}    </ExtraData>\n")
    };
    format!(
        "<?xml version=\"1.0\"?>\n<!-- text -->\n<VirtualBox xmlns=\"http://www.virtualbox.org/\" version=\"1.19-linux\">\n  \
         <Machine uuid=\"{{1}}\" name=\"m\" OSType=\"{os}\">\n{extra}    <Hardware>\n{hardware}    </Hardware>\n  </Machine>\n</VirtualBox>\n"
    )
}

fn bad(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::Virtualbox, "m.vbox", text)
}

fn ids(text: &str) -> Vec<(&'static str, Severity)> {
    testing::ids(Kind::Virtualbox, "m.vbox", text)
}

fn tm(key: &str) -> String {
    format!("VBoxInternal/TM/{key}")
}

const TWO: &str = "      <CPU count=\"2\"/>\n";

#[test]
fn a_linux_with_the_default_provider_is_well() {
    let text = vbox("Ubuntu_64", &[], TWO);
    let expected =
        [("vb-paravirt-default-linux-ok", Severity::Info), ("vb-smp-tsc-emulated", Severity::Info)];
    assert_eq!(ids(&text), expected);
    let text = vbox("Debian_64", &[], "      <CPU/>\n      <Paravirt provider=\"KVM\"/>\n");
    let expected = [("vb-up-dynamic-tsc", Severity::Info), ("vb-paravirt-kvm-ok", Severity::Info)];
    assert_eq!(ids(&text), expected);
}

/// The sign at the end of a line that continues is no machine's name.
#[test]
fn command_over_several_lines_names_its_machine() {
    let of = |text: &str| testing::ids(Kind::Virtualbox, "vm.sh", text);
    let one = "VBoxManage createvm --name $m --ostype Ubuntu_64 --register\nVBoxManage modifyvm $m --cpus 2\n";
    for (name, mark) in [("a.sh", "\\"), ("a.sh", "\\ "), ("a.bat", "^"), ("a.ps1", "`")] {
        let several = one.replace("modifyvm ", &format!("modifyvm {mark}\n    "));
        let found = testing::ids(Kind::Virtualbox, name, &several);
        assert_eq!(found, of(one), "{several}");
    }
    assert!(of(one).iter().all(|(id, _)| *id != "vb-up-dynamic-tsc"));
}

#[test]
fn several_vcpus_of_others_trap() {
    // The default for Windows is Hyper-V's interface, which disables the trapping like KVM's.
    assert!(
        ids(&vbox("Windows10_64", &[], TWO)).contains(&("vb-smp-tsc-emulated", Severity::Info))
    );
    // A Windows before Vista has no page to enable, and so the trapping stays.
    let said = |os: &str| {
        let report = testing::report(Kind::Virtualbox, "m.vbox", &vbox(os, &[], TWO));
        let all = report.findings.iter().filter(|it| it.rule.id == "vb-smp-tsc-emulated");
        all.filter_map(|it| it.summary.clone()).collect::<String>()
    };
    assert!(said("Windows10_64").contains("until Windows turns on"));
    assert!(!said("Windows2003_64").contains("until Windows turns on"));
    let none = "      <CPU count=\"2\"/>\n      <Paravirt provider=\"None\"/>\n";
    assert!(
        ids(&vbox("Windows10_64", &[], none)).contains(&("vb-smp-tsc-emulated", Severity::Warn))
    );
    for os in ["MacOS1013_64", "FreeBSD_64"] {
        let text = vbox(os, &[], TWO);
        assert_eq!(bad(&text), ["vb-smp-tsc-emulated"], "{os}");
        // The file does not show whether the host's TSCs are synchronised.
        assert_eq!(testing::mended(Kind::Virtualbox, "m.vbox", &text), text);
    }
    let text = vbox("FreeBSD_64", &[("GUI/X", "1"), (&tm("TSCMode"), "Dynamic")], TWO);
    assert_eq!(bad(&text), ["vb-tscmode-dynamic-smp"]);
    assert_eq!(testing::mended(Kind::Virtualbox, "m.vbox", &text), text);
    assert_eq!(bad(&vbox("Windows10_64", &[], "      <CPU count=\"1\"/>\n")), [""; 0]);
    assert_eq!(bad(&vbox("Windows10_64", &[(&tm("TSCMode"), "RealTSCOffset")], TWO)), [""; 0]);
    assert_eq!(bad(&vbox("Windows10_64", &[("VBoxInternal/NEM/Enabled", "1")], TWO)), [""; 0]);
}

#[test]
fn the_keys_of_4() {
    let text = vbox(
        "Ubuntu_64",
        &[
            (&tm("TSCVirtualized"), "0"),
            (&tm("UseRealTSC"), "1"),
            (&tm("MaybeUseOffsettedHostTSC"), "1"),
        ],
        TWO,
    );
    assert_eq!(bad(&text), ["vb-key-refuses-start"; 3]);
    let mended = testing::mended(Kind::Virtualbox, "m.vbox", &text);
    assert_eq!(
        mended,
        text.lines().filter(|l| !l.contains("/TM/")).map(|l| format!("{l}\n")).collect::<String>()
    );
    // An old file may be read by an old version, and both are reported.
    let old = text.replace("1.19-linux", "1.14-linux");
    let report = testing::report(Kind::Virtualbox, "m.vbox", &old);
    let said: Vec<_> = report.findings.iter().filter_map(|f| f.summary.as_deref()).collect();
    assert!(said.iter().any(|said| said.contains("4.x accepts it")), "{said:?}");
}

#[test]
fn values_that_do_not_start() {
    let one = |key: &str, value: &str| bad(&vbox("Ubuntu_64", &[(&tm(key), value)], TWO));
    assert_eq!(one("TSCTicksPerSecond", "999999"), ["vb-ticks-out-of-range"]);
    assert_eq!(one("TSCTicksPerSecond", "4294967296"), ["vb-ticks-out-of-range"]);
    assert_eq!(one("TSCTicksPerSecond", "2.4GHz"), ["vb-ticks-out-of-range"]);
    assert_eq!(one("TSCTicksPerSecond", "1000000"), ["vb-tsc-forced-emulated"]);
    assert_eq!(one("TSCMode", "realtscoffset"), ["vb-tscmode-unknown"]);
    assert_eq!(one("TSCMode", "Native"), ["vb-tscmode-unknown"]);
    assert_eq!(one("TSCmode", "RealTSCOffset"), ["vb-key-unknown"]);
    assert_eq!(one("WarpDrivePercentage", "1"), ["vb-warpdrive-out-of-range"]);
    assert_eq!(one("WarpDrivePercentage", "200"), ["vb-warpdrive"]);
    assert_eq!(one("WarpDrivePercentage", "100"), [""; 0]);
    assert_eq!(one("CatchUpPrecentage0", "5"), [""; 0]);
}

#[test]
fn modes() {
    let one = |key: &str, value: &str| bad(&vbox("Ubuntu_64", &[(&tm(key), value)], TWO));
    assert_eq!(one("TSCMode", "VirtTSCEmulated"), ["vb-tsc-forced-emulated"]);
    assert_eq!(one("TSCMode", "Dynamic"), ["vb-tscmode-dynamic-smp"]);
    assert_eq!(one("TSCModeSwitchAllowed", "0"), ["vb-mode-switch-off"]);
    assert_eq!(one("TSCTiedToExecution", "1"), ["vb-tied-smp"]);
    assert_eq!(one("TSCTiedToExecution", "0"), [""; 0]);
    let up =
        vbox("Ubuntu_64", &[(&tm("TSCTiedToExecution"), "1"), (&tm("TSCMode"), "Dynamic")], "");
    assert_eq!(bad(&up), ["vb-tied", "vb-key-overridden"]);
    let nem = vbox(
        "Ubuntu_64",
        &[(&tm("TSCTiedToExecution"), "1"), ("VBoxInternal/NEM/Enabled", "1")],
        "",
    );
    assert_eq!(bad(&nem), ["vb-tied-nem"]);
    let nem =
        vbox("Ubuntu_64", &[(&tm("TSCMode"), "Dynamic"), ("VBoxInternal/NEM/Enabled", "1")], TWO);
    assert_eq!(bad(&nem), ["vb-key-overridden"]);
    let ticks = [(&*tm("TSCTicksPerSecond"), "2000000000"), (&*tm("TSCMode"), "RealTSCOffset")];
    assert_eq!(
        bad(&vbox("Ubuntu_64", &ticks, "")),
        ["vb-tsc-forced-emulated", "vb-key-overridden"]
    );
}

#[test]
fn providers_and_types() {
    let provider = |os: &str, provider: &str| {
        bad(&vbox(os, &[], &format!("      <Paravirt provider=\"{provider}\"/>\n")))
    };
    assert_eq!(provider("Other_64", "Default"), ["vb-paravirt-default-other"]);
    for os in ["OpenSolaris_64", "Solaris11_64", "Haiku_64", "DOS"] {
        assert_eq!(provider(os, "Default"), [""; 0], "{os}");
    }
    assert_eq!(provider("Other_64", "KVM"), [""; 0]);
    assert_eq!(provider("Ubuntu_64", "None"), ["vb-paravirt-not-kvm"]);
    assert_eq!(provider("Ubuntu_64", "HyperV"), ["vb-paravirt-not-kvm"]);
    assert_eq!(provider("Windows10_64", "HyperV"), [""; 0]);
    assert_eq!(provider("Windows 11", "Default"), ["vb-ostype-unknown"]);
    let hpet = vbox("Ubuntu_64", &[], "      <HPET enabled=\"true\"/>\n");
    assert!(ids(&hpet).contains(&("vb-hpet-on", Severity::Info)));
}

#[test]
fn each_snapshot_is_judged() {
    let text = vbox("Windows10_64", &[], TWO).replace(
        "    <Hardware>",
        "    <Snapshot uuid=\"{2}\" name=\"before &amp; after\">\n      <Hardware>\n        <CPU count=\"4\"/>\n      </Hardware>\n    </Snapshot>\n    <Hardware>",
    );
    let report = testing::report(Kind::Virtualbox, "m.vbox", &text);
    let said: Vec<_> = report.findings.iter().filter_map(|f| f.summary.clone()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("snapshot \"before & after\": 4 vCPUs"), "{said:?}");
    assert!(said[1].starts_with("2 vCPUs"), "{said:?}");
}

#[test]
fn what_is_no_machine() {
    let broken = |text| testing::broken(Kind::Virtualbox, text);
    for text in [
        "<",
        "<a/>",
        "<VirtualBox>",
        "<VirtualBox><Machine></VirtualBox>",
        "<?xml version=\"1.0\"?>",
    ] {
        assert!(matches!(broken(text), LintError::Syntax { .. }), "{text}");
    }
    // Text after the end does not prevent findings, but the file is left as it is.
    for behind in ["</x> junk <", "junk", "<", "<a/>"] {
        let text = format!("{}{behind}", vbox("Ubuntu_64", &[], ""));
        assert_eq!(bad(&text), [""; 0]);
        let document = testing::document(Kind::Virtualbox, "m.vbox", &text);
        assert!(crate::fix(&document, &crate::Choices::default()).is_err(), "{behind}");
    }
    let deep = format!("<VirtualBox>{}", "<a>".repeat(100_000));
    assert!(matches!(broken(&deep), LintError::Syntax { .. }));
}

fn script(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::Virtualbox, "make.sh", text)
}

#[test]
fn scripts() {
    let mode = "VBoxManage setextradata \"a b\" \"VBoxInternal/TM/TSCMode\" \"RealTSCOffset\"\n";
    let report = testing::report(Kind::Virtualbox, "x.sh", mode);
    assert_eq!(report.findings[0].rule.id, "vb-tscmode-real-ok");
    assert!(report.partial);
    let old = "#!/bin/sh\n VBoxManage.exe setextradata $VM VBoxInternal/TM/UseRealTSC 1\nvboxmanage setextradata $VM VBoxInternal/TM/TSCVirtualized 0\n# VBoxManage setextradata $VM VBoxInternal/TM/UseRealTSC 1\n";
    assert_eq!(script(old), ["vb-key-refuses-start"; 2]);
    let mended = testing::mended(Kind::Virtualbox, "x.sh", old);
    assert_eq!(mended, old, "the last command of a script gives it its status");
    let more = format!("{old}VBoxManage startvm $VM\n");
    let mended = testing::mended(Kind::Virtualbox, "x.sh", &more);
    assert!(mended.contains("UseRealTSC 1\n#"), "only what stands by itself goes: {mended}");
    // A key without a value is removed.
    let gone = "VBoxManage setextradata vm VBoxInternal/TM/UseRealTSC 1\nVBoxManage setextradata vm VBoxInternal/TM/UseRealTSC\n";
    assert_eq!(script(gone), [""; 0]);
    let tied = "VBoxManage modifyvm vm --cpus 4 --hpet on\nVBoxManage setextradata vm \"VBoxInternal/TM/TSCTiedToExecution\" 1\n";
    assert_eq!(script(tied), ["vb-tied-smp"]);
}

#[test]
fn scripts_that_make_a_machine() {
    let text = "VBoxManage createvm --name vm --ostype FreeBSD_64 --register\nVBoxManage modifyvm vm \\\n  --cpus 4 --memory 2048\n";
    assert_eq!(script(text), ["vb-smp-tsc-emulated"]);
    let text = "& $VBoxManager createvm --name vm --ostype \"Ubuntu_64\"\n& $VBoxManager modifyvm vm `\n  --paravirtprovider=none\n";
    assert_eq!(script(text), ["vb-paravirt-not-kvm"]);
    assert_eq!(testing::mended(Kind::Virtualbox, "x.ps1", text), text);
    let shell = "VBoxManage modifyvm vm --ostype Ubuntu_64 \\\n  --paravirtprovider=none\n";
    let mended = testing::mended(Kind::Virtualbox, "x.sh", shell);
    assert!(mended.ends_with("--paravirtprovider=kvm\n"), "{mended}");
    let report = testing::report(Kind::Virtualbox, "x.ps1", text);
    assert_eq!(report.guest, Guest::Linux);
}

#[test]
fn vagrant_and_packer() {
    let text = "config.vm.provider \"virtualbox\" do |vb|\n  vb.cpus = 4\n  vb.customize [\"modifyvm\", :id, \"--paravirtprovider\", \"kvm\"]\n  vb.customize ['setextradata', :id, 'VBoxInternal/TM/TSCTiedToExecution', 1]\nend\n";
    assert_eq!(script(text), ["vb-tied-smp"]);
    let text = "config.vm.box = 'ubuntu/bionic64'\nvb.customize [\n  'modifyvm', :id,\n  # '--vram', '16',\n  '--paravirtprovider', 'minimal',\n]\n";
    assert_eq!(script(text), ["vb-paravirt-not-kvm"]);
    let text = "guest_os_type = \"Ubuntu_64\"\nvboxmanage = [[\"modifyvm\", \"{{.Name}}\", \"--paravirtprovider\", \"minimal\"]]\n";
    assert_eq!(script(text), ["vb-paravirt-not-kvm"]);
}

proptest! {
    #[test]
    fn any_script(lines in proptest::collection::vec(
        "(VBoxManage |vb.customize \\[\")?(modifyvm|setextradata|createvm)?[\" ,]{1,3}(vm|:id)?[\" ,]{1,3}(--cpus|--hpet|VBoxInternal/TM/TSCMode|VBoxInternal/TM/UseRealTSC)?[ =\",]{0,3}[0-9a-zA-Z]{0,6}[\"\\]]{0,2}", 0..6)) {
        testing::report(Kind::Virtualbox, "x.sh", &(lines.join("\n") + "\n"));
    }

    #[test]
    fn any_machine(
        os in "(Ubuntu_64|Windows10|Other|x y)",
        count in 0u32..4,
        keys in proptest::collection::vec(("(TSCMode|UseRealTSC|TSCTicksPerSecond|TSCTiedToExecution|WarpDrivePercentage|x)", "(0|1|RealTSCOffset|realtscoffset|Dynamic|2000000000)"), 0..5),
    ) {
        let keys: Vec<_> = keys.iter().map(|(key, value)| (tm(key), value.clone())).collect();
        let keys: Vec<_> = keys.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let text = vbox(&os, &keys, &format!("      <CPU count=\"{count}\"/>\n"));
        testing::report(Kind::Virtualbox, "m.vbox", &text);
    }
}

#[test]
fn info_of_a_living_virtualbox_is_read() {
    let info = |name: &str, os: &str, hpet: &str, provider: &str| {
        format!(
            "name=\"{name}\"\ngroups=\"/\"\nostype=\"{os}\"\nCfgFile=\"/vm/{name}.vbox\"\ncpus=4\nhpet=\"{hpet}\"\nparavirtprovider=\"{provider}\"\nVMState=\"poweroff\"\n"
        )
    };
    let text = info("a", "Ubuntu (64-bit)", "off", "default")
        + &info("b", "Windows 11 (64-bit)", "on", "default");
    assert_eq!(Kind::detect("vms.txt", &text), Some(Kind::Virtualbox));
    let report = testing::report(Kind::Virtualbox, "vms.txt", &text);
    assert!(report.partial, "extra data is not in it");
    let hpet = report.findings.iter().find(|finding| finding.rule.id == "vb-hpet-on").unwrap();
    assert_eq!(&text[hpet.span.clone()], "on");
    let old = text + "Key: VBoxInternal/TM/TSCVirtualized, Value: 0\n";
    let found = testing::bad(Kind::Virtualbox, "vms.txt", &old);
    assert!(found.contains(&"vb-key-refuses-start"), "{found:?}");
}

#[test]
fn snapshot_is_never_edited() {
    let snapshot = "    <Snapshot uuid=\"{2}\" name=\"s\">\n      <Hardware>\n        <CPU count=\"4\"/>\n        \
                    <Paravirt provider=\"None\"/>\n      </Hardware>\n    </Snapshot>\n";
    let text =
        vbox("Ubuntu_64", &[], "      <CPU count=\"4\"/>\n      <Paravirt provider=\"None\"/>\n")
            .replacen("    <Hardware>", &format!("{snapshot}    <Hardware>"), 1);
    let mended = testing::mended(Kind::Virtualbox, "m.vbox", &text);
    assert!(mended.contains(snapshot), "{mended}");
    assert_eq!(mended.matches("provider=\"None\"").count(), 1, "{mended}");
}

#[test]
fn script_of_one_machine_is_one() {
    let ids = |text: &str| testing::ids(Kind::Virtualbox, "a.sh", text).len();
    let plain = "VBoxManage createvm --name vm --ostype Ubuntu_64 --register\nVBoxManage modifyvm vm --cpus 2\n";
    for text in [
        plain.replace("--name vm", "--name=vm"),
        plain.replace("--name vm", "--name \"$VM\"").replace("modifyvm vm", "modifyvm \"${VM}\""),
        plain.replace("--name vm", "--name=\"$VM\"").replace("modifyvm vm", "modifyvm $VM"),
        format!("createVM() {{\n{plain}}}\ncreateVM\n"),
        format!("function createvm {{\n{plain}}}\ncreatevm new\n"),
    ] {
        assert_eq!(ids(&text), ids(plain), "{text}");
    }
}

/// The box or the type of the machine decides whether reads trap.
#[test]
fn machine_with_settings_elsewhere_gets_no_definite_mode() {
    let of = |more: &str| {
        let text = format!(
            "Vagrant.configure(\"2\") do |config|\n  config.vm.provider \"virtualbox\" do |v|\n    v.customize [\"modifyvm\", :id, \"--cpus\", 2]\n\
             {more}  end\nend\n"
        );
        let report = testing::report(Kind::Virtualbox, "Vagrantfile", &text);
        let found = report.findings.iter().find(|it| it.rule.id == "vb-smp-tsc-emulated");
        found.map(|it| it.summary.clone().unwrap_or_default())
    };
    assert!(of("").unwrap().contains("unless other settings"));
    let none = "    v.customize [\"modifyvm\", :id, \"--paravirtprovider\", \"none\"]\n";
    assert!(of(none).unwrap().ends_with("VirtTSCEmulated: every read traps"));
}

#[test]
fn machine_of_arm_has_no_tsc() {
    let text = |os: &str, more: &str| {
        format!(
            "VBoxManage createvm --name a --ostype {os} --register\nVBoxManage modifyvm a --cpus 2 {more}\n"
        )
    };
    for (os, more) in [
        ("Debian12_arm64", ""),
        ("Other_arm64", ""),
        ("Debian12_64", "--chipset armv8virtual"),
        ("Debian12_64", "--chipset=armv8virtual"),
    ] {
        assert_eq!(testing::ids(Kind::Virtualbox, "a.sh", &text(os, more)), [], "{os} {more}");
    }
    assert_eq!(script(&text("Other_64", "--chipset ich9")).len(), 2);
}

#[test]
fn type_in_a_variable_leaves_it_open_whether_reads_trap() {
    let text = "OS=$1\nVBoxManage createvm --name a --ostype \"$OS\" --register\nVBoxManage modifyvm a --cpus 2\n";
    let info = ("vb-smp-tsc-emulated", crate::finding::Severity::Info);
    assert_eq!(testing::ids(Kind::Virtualbox, "a.sh", text), [info]);
    assert_eq!(script(&text.replace("\"$OS\"", "FreeBSD_64")), ["vb-smp-tsc-emulated"]);
    assert_eq!(script(text), [""; 0]);
}

#[test]
fn type_of_a_script_that_virtualbox_does_not_know() {
    let text = "VBoxManage createvm --name a --ostype ubuntu-64 --register\nVBoxManage modifyvm a --cpus 2\n";
    assert_eq!(script(text), ["vb-ostype-unknown"]);
    // No provider is chosen for it, so nothing is said of a paravirtual clock.
    let report = testing::report(Kind::Virtualbox, "a.sh", text);
    assert!(
        report.findings.iter().all(|it| !it
            .summary
            .as_deref()
            .unwrap_or("")
            .contains("Linux turns on"))
    );
    for other in ["{{os}}", "@OS@", "%OS%", "<type>", "$1", "\"\""] {
        assert_eq!(script(&text.replace("ubuntu-64", other)), [""; 0], "{other}");
    }
}

#[test]
fn program_of_a_batch_file_is_known_in_any_case() {
    let text = "VboxManage createvm --name x --register --ostype FreeBSD_64\nVBOXMANAGE modifyvm x --cpus 2\n";
    assert_eq!(Kind::detect("make.bat", text), Some(Kind::Virtualbox));
    assert_eq!(script(text), ["vb-smp-tsc-emulated"]);
}

#[test]
fn processors_of_a_vagrantfile_without_commands_are_said() {
    let of = |block: &str| {
        let text = format!("Vagrant.configure(\"2\") do |config|\n{block}end\n");
        testing::ids(Kind::Virtualbox, "Vagrantfile", &text)
    };
    let block = |name: &str, cpus: &str| {
        format!(
            "  config.vm.provider {name} do |v|\n    v.memory = 2048\n    v.cpus = {cpus}\n  end\n"
        )
    };
    let info = [("vb-smp-tsc-emulated", crate::finding::Severity::Info)];
    assert_eq!(of(&block("\"virtualbox\"", "2")), info);
    let one = [("vb-up-dynamic-tsc", crate::finding::Severity::Info)];
    assert_eq!(of(&block(":virtualbox", "1")), one);
    assert_eq!(of(&block(":virtualbox", "CPUS")), []);
    let other = block(":vmware_desktop", "4");
    assert_eq!(of(&format!("{other}{}", block(":virtualbox", "1"))), one);
}

#[test]
fn the_system_in_a_variable_is_its_value() {
    let of = |set: &str, os: &str| {
        let text = format!("{set}\nVBoxManage createvm --name a --ostype {os} --register\n");
        testing::ids(crate::Kind::Virtualbox, "a.sh", &text)
            .iter()
            .any(|found| found.0 == "vb-paravirt-default-other")
    };
    for (set, os) in [
        ("os=Other_64", "$os"),
        ("OS=\"Other_64\"", "\"${OS}\""),
        ("  local os='Other_64' # any", "$os"),
        ("set OS=Other_64", "%OS%"),
        ("$os = 'Other_64'", "$os"),
    ] {
        assert!(of(set, os), "{set}");
    }
    for set in [
        "os=$1",
        "os=Other_64\nos=Debian_64",
        "for os in Other_64 Debian_64; do",
        "os=Other_64\nread -r os",
        "oss=Other_64",
    ] {
        assert!(!of(set, "$os"), "{set}");
    }
}

#[test]
fn number_of_processors_in_a_variable_is_read() {
    let with = |set: &str| {
        testing::bad(
            Kind::Virtualbox,
            "a.sh",
            &format!(
                "#!/bin/sh\n{set}VBoxManage createvm --name b --register --ostype FreeBSD_64\nVBoxManage modifyvm b --cpus \"$C\"\n"
            ),
        )
    };
    assert_eq!(with("C=2\n"), ["vb-smp-tsc-emulated"]);
    assert_eq!(with("C=1\n"), [""; 0]);
    assert_eq!(with(""), [""; 0]);
    assert_eq!(with("C=1\nC=2\n"), [""; 0]);
}

#[test]
fn provider_without_an_interface_for_windows() {
    let of = |os: &str, provider: &str| {
        script(&format!("VBoxManage modifyvm \"$1\" {os} --paravirtprovider {provider}\n"))
    };
    let windows = "--ostype Windows10_64";
    for provider in ["none", "legacy", "minimal", "kvm"] {
        assert_eq!(of(windows, provider), ["vb-paravirt-not-hyperv"], "{provider}");
    }
    assert_eq!(of(windows, "hyperv"), [""; 0]);
    assert_eq!(of("--ostype WindowsXP", "none"), [""; 0]);
    assert_eq!(
        (of("", "none"), of("", "legacy")),
        (vec!["vb-paravirt-none"], vec!["vb-paravirt-none"])
    );
    assert_eq!((of("", "minimal"), of("", "hyperv")), (vec![], vec![]));
    assert_eq!(of("--ostype MacOS_64", "legacy"), [""; 0]);
}

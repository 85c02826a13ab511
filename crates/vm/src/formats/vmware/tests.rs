//! Files for each rule, both ways.

use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::testing;

fn ids(text: &str) -> Vec<(&'static str, Severity)> {
    let text = format!(".encoding = \"UTF-8\"\nconfig.version = \"8\"\n{text}");
    testing::ids(Kind::Vmware, "m.vmx", &text)
}

fn bad(text: &str) -> Vec<&'static str> {
    ids(text).into_iter().filter(|(_, s)| *s > Severity::Info).map(|(id, _)| id).collect()
}

#[test]
fn the_default_is_well() {
    let all = ids("guestOS = \"ubuntu-64\"\ntools.syncTime = \"FALSE\"\nvcpu.hotadd = \"TRUE\"\n");
    let info = Severity::Info;
    assert_eq!(
        all,
        [("vmx-default-tsc-ok", info), ("vmx-sync-off", info), ("vmx-vcpu-hotadd", info)]
    );
    assert!(ids("guestOS = \"other-64\"\n").contains(&("vmx-guestos-other", info)));
    assert!(
        !ids("guestOS = \"other5xlinux-64\"\n").iter().any(|(id, _)| *id == "vmx-guestos-other")
    );
}

#[test]
fn keys_have_no_case() {
    assert_eq!(bad("TOOLS.SYNCTIME = \"true\"\n"), ["vmx-sync-on"]);
    assert_eq!(bad("tools.synctime=TRUE\n"), ["vmx-sync-on"]);
    assert_eq!(bad("tools.syncTime = \"1\"\n"), ["vmx-sync-on"]);
    assert_eq!(bad("# tools.syncTime = \"1\"\n"), [""; 0]);
    assert_eq!(bad("tools.syncTime = \"1\"\ntools.syncTime = \"0\"\n"), [""; 0]);
}

#[test]
fn the_hosts_counter() {
    let text = "config.version = \"8\"\r\nmonitor_control.virtual_rdtsc = \"FALSE\"\r\nnumvcpus = \"2\"\r\n";
    assert_eq!(testing::bad(Kind::Vmware, "m.vmx", text), ["vmx-rdtsc-not-virtualised"]);
    // It has only the purpose for which it was written.
    assert_eq!(testing::mended(Kind::Vmware, "m.vmx", text), text);
    assert_eq!(bad("monitor_control.virtual_rdtsc = \"TRUE\"\n"), [""; 0]);
    // A setting without documentation has no finding.
    assert_eq!(
        bad("monitor_control.disable_tsc_offsetting = \"TRUE\"\ntimeTracker.x = \"1\"\n"),
        [""; 0]
    );
}

#[test]
fn hidden() {
    let hidden = "hypervisor.cpuid.v0 = \"FALSE\"\n";
    assert_eq!(bad(hidden), [""; 0], "Linux still finds it by its BIOS");
    let both = format!("{hidden}monitor_control.restrict_backdoor = \"TRUE\"\n");
    assert_eq!(bad(&both), ["vmx-hypervisor-hidden"]);
    assert_eq!(bad(&format!("guestOS = \"windows9-64\"\n{both}")), [""; 0]);
}

#[test]
fn guests_and_other_files() {
    for (os, guest) in [
        ("rhel8-64", Guest::Linux),
        ("windows9-64", Guest::Windows),
        ("winNetEnterprise", Guest::Windows),
        ("darwin19-64", Guest::Macos),
        ("freebsd12-64", Guest::Bsd),
        ("other-64", Guest::Other),
    ] {
        let text = format!("config.version = \"8\"\nguestOS = \"{os}\"\n");
        assert_eq!(testing::report(Kind::Vmware, "m.vmx", &text).guest, guest, "{os}");
    }
    testing::broken(Kind::Vmware, "");
    testing::broken(Kind::Vmware, "\u{0}\u{1}not a file\n");
    let part = testing::report(Kind::Vmware, "x", "tools.syncTime = \"TRUE\"\n");
    assert!(part.partial);
}

#[test]
fn placeholder_is_no_system() {
    for os in ["__OS__", "{{ guest_os }}", "${OS}", "@OS@", "<%= os %>"] {
        let text = format!("config.version = \"8\"\nguestOS = \"{os}\"\n");
        let report = testing::report(Kind::Vmware, "m.vmx", &text);
        assert_eq!(report.guest, Guest::Unknown, "{os}");
        assert!(report.findings.iter().all(|it| it.rule.id != "vmx-guestos-other"), "{os}");
    }
}

#[test]
fn script_that_adds_settings_is_read() {
    let document = "#!/bin/sh\nF=vm/a.vmx\ncat << END >> $F\nguestOS = \"$OS\"\nnumvcpus = \"2\"\ntools.syncTime = \"TRUE\"\nEND\n";
    let echo = "#!/bin/sh\necho 'tools.syncTime = \"TRUE\"' >> /vmfs/volumes/d/a/a.vmx\n";
    let escaped = "#!/bin/sh\necho \"tools.syncTime = \\\"TRUE\\\"\" | tee -a \"$DIR/a.vmx\"\n";
    for text in [document, echo, escaped] {
        assert_eq!(Kind::detect("a.sh", text), Some(Kind::Vmware), "{text}");
        assert_eq!(testing::bad(Kind::Vmware, "a.sh", text), ["vmx-sync-on"], "{text}");
    }
    for text in [
        "#!/bin/sh\nvmrun start a.vmx\nnumvcpus=2\n",
        "#!/bin/sh\necho 'a' >> a.vmx\n",
        "#!/bin/sh\ncat a.vmx > b.txt\ndisplayName=a\n",
    ] {
        assert_eq!(Kind::detect("a.sh", text), None, "{text}");
    }
}

#[test]
fn systems_of_arm_have_no_tsc_and_esxi_is_specific() {
    let of = |os: &str| {
        let text = format!("config.version = \"8\"\nguestOS = \"{os}\"\n");
        let report = testing::report(Kind::Vmware, "m.vmx", &text);
        (report.guest, report.findings.iter().map(|it| it.rule.id).collect::<Vec<_>>())
    };
    for (os, guest) in [
        ("arm-ubuntu-64", Guest::Linux),
        ("arm-debian12-64", Guest::Linux),
        ("arm-windows11-64", Guest::Windows),
        ("arm-freebsd14-64", Guest::Bsd),
        ("arm-other6xlinux-64", Guest::Linux),
        ("arm-other-64", Guest::Other),
    ] {
        assert_eq!(of(os), (guest, Vec::new()), "{os}");
    }
    for os in ["vmkernel65", "vmkernel8", "solaris11-64"] {
        assert_eq!(of(os), (Guest::Other, vec!["vmx-default-tsc-ok"]), "{os}");
    }
    assert!(of("other-64").1.contains(&"vmx-guestos-other"));
}

#[test]
fn guest_of_arm_has_no_tsc_whatever_names_it() {
    for line in ["architecture = \"arm64\"", "guestOS = \"arm-ubuntu-64\""] {
        let text = format!(
            "virtualHW.version = \"20\"\nguestOS = \"vmware-photon-64\"\n{line}\nmonitor_control.virtual_rdtsc = \"FALSE\"\n"
        );
        assert_eq!(crate::testing::ids(crate::formats::Kind::Vmware, "a.vmx", &text), [], "{line}");
    }
}

use crate::finding::Severity;
use crate::formats::Kind;
use crate::{Document, Guest, testing};

fn bad(text: &str) -> Vec<&'static str> {
    testing::bad(Kind::VirtInstall, "vm.sh", text)
}

#[test]
fn virt_install_options_are_judged_as_the_domain_they_make() {
    let line = |options: &str| {
        format!("#!/bin/sh\nvirt-install --name db1 --memory 1024 --import \\\n  {options}\n")
    };
    // virt-install's defaults: no HPET, and Hyper-V's page for Windows.
    for options in [
        "",
        "--os-variant win11",
        "--virt-type qemu",
        "--cpu host-model --clock offset=utc",
        "--clock hpet_present=$HPET",
    ] {
        assert_eq!(bad(&line(options)), [""; 0], "{options}");
    }
    for (options, id) in [
        ("--clock hpet_present=yes", "lv-hpet-on"),
        (
            "--clock offset=utc,kvmclock_present=no --os-variant debian12",
            "lv-kvmclock-off-no-invtsc",
        ),
        ("--cpu host-passthrough,require=invtsc", "lv-invtsc-no-freq"),
        (
            "--cpu=host-passthrough,feature0.name=invtsc,feature0.policy=require",
            "lv-invtsc-no-freq",
        ),
        ("--features kvm_hidden=on", "lv-kvm-hidden"),
        ("--features kvm.hidden.state=on", "lv-kvm-hidden"),
        ("--cpu host,disable=hypervisor", "lv-hypervisor-hidden"),
        ("--os-variant win11 --clock hypervclock_present=no", "lv-hypervclock-missing"),
        (
            "--cpu host-passthrough,require=invtsc --clock timer0.name=tsc,timer0.frequency=2400",
            "lv-frequency-impossible",
        ),
    ] {
        assert_eq!(bad(&line(options)), [id], "{options}");
    }
    let report = testing::report(
        Kind::VirtInstall,
        "vm.sh",
        &line("--os-variant win11 --clock hpet_present=yes"),
    );
    assert_eq!((report.guest, report.guessed), (Guest::Windows, false));
    let text = line("--os-variant win11 --clock hpet_present=yes");
    let hpet = report.findings.iter().find(|finding| finding.rule.id == "lv-hpet-on").unwrap();
    assert_eq!(text.get(hpet.span.clone()), Some("hpet_present=yes"));
    let text = line("--cpu host-passthrough,require=invtsc --hostdev 01:00.0");
    let found = testing::ids(Kind::VirtInstall, "vm.sh", &text);
    assert!(found.contains(&("lv-invtsc-no-freq", Severity::Info)), "{found:?}");
    for usb in ["001.003", "0x1234:0x5678", "usb_1_1", "1-1,type=usb"] {
        let text = line(&format!("--cpu host-passthrough,require=invtsc --hostdev {usb}"));
        let found = testing::ids(Kind::VirtInstall, "vm.sh", &text);
        assert!(found.contains(&("lv-invtsc-no-freq", Severity::Warn)), "{usb}: {found:?}");
    }
}

#[test]
fn timers_of_a_command_replace_those_that_the_program_adds() {
    let of = |options: &str| {
        let text = format!("#!/bin/sh\nvirt-install --name db1 --memory 1024 --import {options}\n");
        let found = testing::ids(Kind::VirtInstall, "vm.sh", &text).into_iter();
        found.filter(|(id, _)| id.contains("-hpet-") || id.contains("-missing")).collect::<Vec<_>>()
    };
    let hpet = ("lv-hpet-default-on", Severity::Info);
    for options in [
        "--os-variant win11 --clock hypervclock_present=yes",
        "--os-variant debian12 --clock kvmclock_present=yes",
        "--os-variant debian12 --clock offset=utc,timer0.name=tsc,timer0.frequency=2994372000",
        "--clock rtc_tickpolicy=catchup",
    ] {
        assert_eq!(of(options), [hpet], "{options}");
    }
    for options in [
        "--os-variant win11",
        "--os-variant win11 --clock offset=localtime",
        "--os-variant debian12 --clock kvmclock_present=yes,hpet_present=no",
        "--os-variant win11 --clock hypervclock_present=yes,hpet_present=no",
        "--os-variant debian12 --arch aarch64 --machine virt --clock rtc_tickpolicy=catchup",
    ] {
        assert_eq!(of(options), [], "{options}");
    }
    // For Windows it adds the page of Hyper-V in the same place.
    assert_eq!(
        of("--os-variant win11 --clock hpet_present=no"),
        [("lv-hypervclock-missing", Severity::Warn)]
    );
}

#[test]
fn virt_xml_changes_a_part() {
    let report = testing::report(
        Kind::VirtInstall,
        "vm.sh",
        "virt-xml db1 --edit --cpu host-passthrough,require=invtsc\n",
    );
    assert!(report.partial && report.findings.iter().any(|f| f.rule.id == "lv-invtsc-no-freq"));
    assert!(
        testing::report(Kind::VirtInstall, "vm.sh", "virt-xml db1 --add-device --disk size=1\n")
            .findings
            .is_empty()
    );
    for text in ["", "virt-install\n", "echo virt-install --name a\n"] {
        testing::broken(Kind::VirtInstall, text);
    }
}

#[test]
fn virt_install_in_a_string_that_is_run_is_a_command() {
    let script = |run: &str| {
        format!(
            "#!/bin/bash\nCMD=\"virt-install \\\n  --name $1 \\\n  --clock hpet_present=yes --import \\\n  --metadata title=\\\"$T\\\" $@\"\n{run}\n"
        )
    };
    for run in ["eval ${CMD}", "$CMD", "if [ $dry ]; then echo $CMD; else eval \"$CMD\"; fi"] {
        let text = script(run);
        assert_eq!(Kind::detect("vm.sh", &text), Some(Kind::VirtInstall), "{text}");
        assert_eq!(bad(&text), ["lv-hpet-on"], "{text}");
        assert_eq!(testing::mended(Kind::VirtInstall, "vm.sh", &text), text);
    }
    for run in ["echo $CMD", "", "$OTHER"] {
        assert_eq!(Kind::detect("vm.sh", &script(run)), None, "{run}");
    }
    let sudo = script("$CMD").replace("=\"virt", "=\"sudo virt");
    assert_eq!(bad(&sudo), ["lv-hpet-on"]);
    // A word in brackets of a message is no domain.
    let usage =
        "echo \"usage: $0 <domain>\"\nvirt-install --name a --clock hpet_present=yes --import\n";
    assert_eq!(Kind::detect("vm.sh", usage), Some(Kind::VirtInstall));
}

#[test]
fn virt_install_name_of_a_package_is_no_machine() {
    for text in [
        "sudo pacman -S --needed libvirt virt-install virt-viewer\n",
        "apt-get install -y --no-install-recommends \\\n  qemu-utils virt-install \\\n  libosinfo-bin --quiet\n",
        "dnf -y install virt-install --setopt=x=y\n",
    ] {
        assert_eq!(Kind::detect("setup.sh", &format!("#!/bin/sh\n{text}")), None, "{text}");
        testing::broken(Kind::VirtInstall, text);
    }
    let both = "apt install -y virt-install\nsudo virt-install --name a --clock hpet_present=yes --import\n";
    assert_eq!(Kind::detect("setup.sh", both), Some(Kind::VirtInstall));
    assert_eq!(bad(both), ["lv-hpet-on"]);
}

#[test]
fn timer_that_the_program_adds_for_windows_is_not_missing() {
    let missing = |options: &str, guest: Option<Guest>| {
        let text =
            format!("#!/bin/sh\nvirt-install --name w {options} --memory 4096 --cdrom a.iso\n");
        let document = Document::new("win-vm.sh", text.as_bytes()).unwrap().with_guest(guest);
        let report = crate::lint::lint(&document).unwrap();
        report.findings.iter().any(|it| it.rule.id == "lv-hypervclock-missing")
    };
    for options in
        ["--os-variant $V", "--osinfo \"$V\"", "--os-variant=${V}", "--osinfo detect=on", ""]
    {
        assert!(!missing(options, None), "{options}");
        assert!(!missing(options, Some(Guest::Windows)), "{options}");
    }
    assert!(missing("--os-variant generic", Some(Guest::Windows)));
    assert!(missing("--os-variant $V --clock hypervclock_present=no", Some(Guest::Windows)));
}

#[test]
fn xml_paths_are_put_in() {
    let found = |os: &str, options: &str| {
        let text = format!(
            "#!/bin/sh\nvirt-install --name a --os-variant {os} --memory 1 --import --cpu host-passthrough {options}\n"
        );
        let document = Document::new("a.sh", text.as_bytes()).unwrap();
        let report = crate::lint::lint(&document).unwrap();
        let severe = report.findings.iter().filter(|it| it.severity != Severity::Info);
        severe.map(|it| it.rule.id).collect::<Vec<_>>()
    };
    let off = vec!["lv-kvmclock-off-no-invtsc"];
    for options in [
        "--xml \"./clock/timer[@name='kvmclock']/@present=no\"",
        "--xml=\"xpath.set=./clock/timer[@name='kvmclock']/@present,xpath.value=no\"",
        "--clock kvmclock_present=yes --xml \"./clock/timer[@name='kvmclock']/@present=no\"",
        "--xml ./devices/audio/@id=1 --clock kvmclock_present=no",
    ] {
        assert_eq!(found("debian12", options), off, "{options}");
    }
    for options in [
        "",
        "--clock kvmclock_present=no --xml \"./clock/timer[@name='kvmclock']/@present=yes\"",
        "--clock kvmclock_present=no --xml \"xpath.delete=./clock/timer[@name='kvmclock']\"",
        // A path that is not understood may set anything.
        "--clock kvmclock_present=no --xml \"./clock/timer[1]/@present=$P\"",
        "--clock kvmclock_present=no --xml xpath.delete=./clock",
    ] {
        assert_eq!(found("debian12", options), Vec::<&str>::new(), "{options}");
    }
    let invtsc =
        "--clock kvmclock_present=no --xml \"./cpu/feature[@name='invtsc']/@policy=require\"";
    assert_eq!(found("debian12", invtsc), vec!["lv-invtsc-no-freq"]);
    let nested = "--xml ./features/hyperv/reenlightenment/@state=on";
    assert_eq!(found("win10", nested), vec!["lv-reenlightenment-no-freq"]);
    assert!(found("win10", &nested.replace("=on", "=off")).is_empty());
}

#[test]
fn variables_that_the_script_sets_are_put_in() {
    let found = |set: &str, options: &str| {
        let text = format!("#!/bin/bash\n{set}\nvirt-install --name a --import {options}\n");
        let report = testing::report(Kind::VirtInstall, "vm.sh", &text);
        let severe = report.findings.iter().filter(|it| it.severity != Severity::Info);
        (report.guest, report.guessed, severe.map(|it| it.rule.id).collect::<Vec<_>>())
    };
    let os = |set: &str, options: &str| {
        let (guest, guessed, _) = found(set, options);
        (guest, guessed)
    };
    for (set, options) in [
        ("OS=win10", "--os-variant $OS"),
        ("OS='win10'", "--os-variant \"${OS}\""),
        ("readonly OS=win10", "--osinfo=$OS"),
        ("OPTS=(--os-variant win10)", "\"${OPTS[@]}\""),
        ("OPTS=\"--os-variant win10\"", "$OPTS"),
    ] {
        assert_eq!(os(set, options), (Guest::Windows, false), "{set} {options}");
    }
    for (set, options) in [
        ("OS=${OS:-win10}", "--os-variant $OS"),
        ("OS=win10\n[ \"$1\" ] && OS=$1", "--os-variant $OS"),
        ("if [ $1 ]; then OS=win10; else OS=win11; fi", "--os-variant $OS"),
        ("OS=win10\nread -r OS", "--os-variant $OS"),
        ("", "--os-variant ${OS:-win10}"),
        ("", "--os-variant \"${1:-win10}\""),
        ("OS=${1:-win10}", "--os-variant $OS"),
    ] {
        assert_eq!(os(set, options), (Guest::Windows, true), "{set} {options}");
    }
    for (set, options) in [
        ("OS=$1", "--os-variant $OS"),
        ("if [ $1 ]; then OS=win10; else OS=debian12; fi", "--os-variant $OS"),
        ("for OS in \"$@\"; do echo; done", "--os-variant $OS"),
        ("", "--os-variant $1"),
    ] {
        assert_eq!(os(set, options), (Guest::Unknown, false), "{set} {options}");
    }
    // virt-install adds Hyper-V's clock for Windows, whatever gives the name.
    for set in ["OS=win10", "OS=${1:-win10}", "OS=${OS:-win10}"] {
        assert_eq!(found(set, "--os-variant $OS").2, Vec::<&str>::new(), "{set}");
    }
    assert_eq!(found("C=hpet_present=yes", "--clock $C").2, ["lv-hpet-on"]);
    assert_eq!(found("C=(--clock hpet_present=yes)", "\"${C[@]}\"").2, ["lv-hpet-on"]);
    assert_eq!(found("P=yes\nif a; then P=no; fi", "--clock hpet_present=$P").2, [""; 0]);
    assert_eq!(found("V=virt-install", "--clock hpet_present=yes").2, ["lv-hpet-on"]);
    let text = "V=/usr/bin/virt-install\nsudo $V --name a --import --clock hpet_present=yes\n";
    assert_eq!(bad(text), ["lv-hpet-on"]);
}

#[test]
fn device_that_only_some_runs_have_is_not_certain() {
    let severity = |before: &str| {
        let text = format!(
            "#!/bin/bash\nO=(--import)\n{before}\nvirt-install --name a --os-variant debian12 \
             --cpu host-passthrough,require=invtsc \"${{O[@]}}\"\n"
        );
        let found = testing::ids(Kind::VirtInstall, "vm.sh", &text).into_iter();
        found.filter(|(id, _)| *id == "lv-invtsc-no-freq").map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(severity("O+=(--hostdev 01:00.0)"), [Severity::Info]);
    assert_eq!(severity("[[ $1 ]] && O+=(--hostdev 01:00.0)"), [Severity::Warn]);
    assert_eq!(severity("for d in \"$@\"; do O+=(--hostdev \"$d\"); done"), [Severity::Warn]);
}

#[test]
fn name_of_a_container_is_no_command() {
    let run = |rest: &str| format!("#!/bin/sh\nsudo docker run --name virt-install --rm {rest}\n");
    testing::broken(Kind::VirtInstall, &run("virt-install"));
    assert_eq!(
        bad(&run("image virt-install --name a --import --clock hpet_present=yes")),
        ["lv-hpet-on"]
    );
}

#[test]
fn short_forms_of_policies_are_read() {
    let of = |cpu: &str| {
        bad(&format!("virt-install --name a --os-variant debian12 --import --cpu {cpu}\n"))
    };
    assert_eq!(of("host-passthrough,-hypervisor"), ["lv-hypervisor-hidden"]);
    assert_eq!(of("host-model,+x2apic,-rdtscp"), ["lv-rdtscp-off"]);
    assert_eq!(of("host-passthrough,+invtsc"), ["lv-invtsc-no-freq"]);
    assert_eq!(of("host-passthrough,+x2apic"), [""; 0]);
}

#[test]
fn command_in_a_folded_value_of_yaml_is_one_line() {
    let task = |sign: &str| {
        format!(
            "- hosts: all\n  tasks:\n    - command: {sign}\n        virt-install --name x --memory 1024 --import\n        --clock hpet_present=yes --osinfo debian12\n"
        )
    };
    assert_eq!(testing::bad(Kind::VirtInstall, "a.yml", &task(">")), ["lv-hpet-on"]);
    assert_eq!(testing::bad(Kind::VirtInstall, "a.yml", &task(">-")), ["lv-hpet-on"]);
}

#[test]
fn a_remark_about_qemu_and_a_type_of_kvm_leave_the_command() {
    for kind in ["--virt-type kvm", "--virt-type=kvm", "--virt-type qemu --import"] {
        let text = format!(
            "#!/bin/bash\n# qemu-system-x86_64 -cpu help | grep host\nvirt-install {kind} --name a --features kvm_hidden=on \
             --memory 2048 --os-variant=debian12 --machine q35\n"
        );
        assert_eq!(Kind::detect("a.sh", &text), Some(Kind::VirtInstall), "{kind}");
    }
}

#[test]
fn type_alone_does_not_give_windows_its_clock() {
    let of = |options: &str| {
        let text = format!(
            "#!/bin/sh\nvirt-install --name g {options} --memory 2048 --disk d.qcow2 --import\n"
        );
        let all = testing::ids(Kind::VirtInstall, "a.sh", &text).into_iter();
        all.map(|(id, _)| id).filter(|id| id.starts_with("lv-hyperv")).collect::<Vec<_>>()
    };
    assert_eq!(of("--os-type windows"), [""; 0]);
    assert_eq!(of("--os-type windows --os-variant win10"), ["lv-hypervclock-ok"]);
    assert_eq!(of("--os-variant win10"), ["lv-hypervclock-ok"]);
}

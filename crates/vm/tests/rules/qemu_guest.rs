//! QEMU command lines: options that affect only some guests, and options that only a run determines.

use super::*;

#[test]
fn qemu_hpet_by_default_is_never_edited() {
    for rest in [
        "",
        "-cpu host -name debian",
        "-cpu host,+invtsc,-kvmclock -append quiet",
        "-cpu host,kvm=off -append quiet",
        "-cpu host,-hypervisor",
        "-cpu host -name freebsd",
        "-cpu host,hv_time",
        "-cpu host,hv_time,hv_vpindex,hv_synic,hv_stimer",
        "-cpu Penryn -device isa-applesmc,osk=x",
    ] {
        let text = format!("qemu-system-x86_64 -enable-kvm -machine q35 -m 1G {rest}\n");
        assert!(ids(Kind::Qemu, &text).contains(&("q-hpet-default-on", Severity::Info)), "{rest}");
        mended(Kind::Qemu, &text, &text);
    }
}

#[test]
fn qemu_hpet_goes_only_beside_a_better_clock() {
    let run = |rest: &str| format!("qemu-system-x86_64 -machine q35,hpet=on -m 1G {rest}\n");
    for rest in [
        "-enable-kvm",
        "-accel kvm -cpu EPYC",
        "-accel kvm -accel tcg -cpu host",
        "-enable-kvm -cpu host,-kvmclock,+invtsc",
        "-enable-kvm -cpu host,-hypervisor,+invtsc",
        "-enable-kvm -cpu host,kvm=off,hv_time,hv_vpindex,hv_synic,hv_stimer",
        "-enable-kvm -cpu host,hv_passthrough",
        "-enable-kvm -cpu host,+invtsc -name freebsd",
    ] {
        // The guest's system must be known.
        let text = if rest.contains("-name") || rest.contains("hv_") {
            run(rest)
        } else {
            run(&format!("{rest} -name debian"))
        };
        mended(Kind::Qemu, &text, &text.replace("hpet=on", "hpet=off"));
    }
    for rest in [
        "",
        "-enable-kvm",
        "-accel tcg -cpu max",
        "-accel kvm:tcg -cpu EPYC",
        "-accel kvm -accel tcg -cpu EPYC",
        "-enable-kvm -cpu host,kvm=off",
        "-enable-kvm -cpu host,-hypervisor",
        "-enable-kvm -cpu host,-hypervisor,hv_time",
        "-enable-kvm -cpu host,kvmclock=$C",
        "-enable-kvm -cpu $C",
        "-enable-kvm -cpu host,$C",
        "-enable-kvm -cpu host -append 'quiet clocksource=hpet'",
        "-enable-kvm -cpu host -append 'quiet no-kvmclock'",
        "-enable-kvm -cpu host,hv_time",
        "-enable-kvm -cpu host -name freebsd",
    ] {
        let text = run(rest);
        mended(Kind::Qemu, &text, &text);
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        let hpet = report.findings.iter().find(|it| it.rule.id == "q-hpet-on").unwrap();
        assert!(hpet.left.is_some(), "{rest}");
    }
    // In the emulator it is the best clock, and so not a warning.
    assert!(ids(Kind::Qemu, &run("")).contains(&("q-hpet-on", Severity::Info)));
}

#[test]
fn qemu_hpet_goes_only_when_kvmclock_is_really_back() {
    let run =
        "qemu-system-x86_64 -enable-kvm -machine q35,hpet=on -cpu host,-kvmclock -name debian\n";
    let both = run.replace("hpet=on", "hpet=off").replace(",-kvmclock", "");
    mended(Kind::Qemu, run, &both);
    // The change of the processor is left, and so the HPET is needed.
    for text in [
        format!("C=host,-kvmclock\n{}export C\n", run.replace("host,-kvmclock", "$C")),
        format!("C=host,-kvmclock\necho $C\n{}", run.replace("host,-kvmclock", "$C")),
        // One of two processors has no kvm-clock.
        format!(
            "if [ \"$1\" ]; then C=host,kvm=off; else C=host; fi\n{}",
            run.replace("host,-kvmclock", "$C")
        ),
        format!(
            "if [ \"$1\" ]; then C=host; else C=host,kvm=off; fi\n{}",
            run.replace("host,-kvmclock", "$C")
        ),
    ] {
        mended(Kind::Qemu, &text, &text);
    }
}

#[test]
fn qemu_invtsc_is_nothing_only_in_the_emulator() {
    let run = |accel: &str| format!("qemu-system-x86_64 {accel} -cpu host,+invtsc -m 1G\n");
    let says =
        |accel: &str| ids(Kind::Qemu, &run(accel)).iter().any(|(id, _)| *id == "q-invtsc-tcg");
    assert!(says("-accel tcg") && says("-M q35,accel=tcg") && says("-accel tcg,thread=multi"));
    for accel in
        ["-accel hvf", "-M q35,accel=hvf", "-accel whpx", "-accel nvmm", "-accel hvf -accel tcg"]
    {
        assert!(!says(accel), "{accel}");
    }
}

#[test]
fn qemu_windows_without_a_cpu_has_no_page() {
    let run =
        |rest: &str| format!("qemu-system-x86_64 -machine q35 -m 1G -cdrom Win11.iso {rest}\n");
    let says = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-hv-time-missing");
    assert!(says(&run("-enable-kvm")));
    mended(Kind::Qemu, &run("-enable-kvm"), &run("-enable-kvm"));
    for rest in
        ["-enable-kvm -cpu host,hv_time", "-accel tcg", "-enable-kvm $MORE", "-enable-kvm \"$@\""]
    {
        assert!(!says(&run(rest)), "{rest}");
    }
    assert!(!says(&run("-enable-kvm").replace("Win11", "debian")));
}

#[test]
fn qemu_options_that_only_a_run_tells_are_never_silent() {
    let run = "qemu-system-x86_64 -enable-kvm -m 1G";
    let off = "-cpu host,-kvmclock";
    let told = |text: &str| {
        let report = lint(&document(Kind::Qemu, text)).unwrap();
        let all = report.findings.iter().filter(|it| it.rule.id == "q-value-unknown");
        all.map(|it| it.summary.clone().unwrap_or_default()).collect::<Vec<_>>()
    };
    for (text, word) in [
        (
            format!(
                "M=(\"q35,hpet=on\" pc)\nfor i in 0 1; do {run} -machine \"${{M[$i]}}\" -cpu host; done\n"
            ),
            "${M[$i]}",
        ),
        (format!("O[1]=\"-machine q35,hpet=on\"\n{run} -cpu host ${{O[1]}}\n"), "hpet=on"),
        (format!("go() {{ m=$1; {run} -machine \"$m\" -cpu host; }}\ngo q35,hpet=on\n"), "hpet=on"),
        (format!("go() {{ {run} -cpu \"$1\"; }}\ngo host,-kvmclock\n"), "what $1 contains"),
        (
            format!("read -r M <<E\nq35,hpet=on\nE\n{run} -machine \"$M\" -cpu host\n"),
            "what $M contains",
        ),
        (
            format!("a=q35,hpet=on\neval \"m=\\$a\"\n{run} -machine \"$m\" -cpu host\n"),
            "what $m contains",
        ),
        (
            format!("for t in hpet=on hpet=off; do {run} -machine q35,$t -cpu host; done\n"),
            "which command line hpet=on",
        ),
        (
            format!(
                "M=q35,hpet=on\na() {{ local M=pc; {run} -machine $M; }}\nb() {{ {run} -machine $M; }}\n"
            ),
            "where $M with hpet=on",
        ),
    ] {
        let all = told(&text);
        assert!(all.iter().any(|it| it.contains(word)), "{word}: {all:?}\n{text}");
        mends(Kind::Qemu, &text);
    }
    for text in [
        format!("{run} {off}\n"),
        format!("# not hpet=on\n{run} -machine q35,hpet=off\n"),
        format!("echo 'no hpet=on here'\n{run} -machine q35,hpet=off -cpu host -name $N\n"),
        format!("C=host,-kvmclock\n{run} -cpu $C\n"),
    ] {
        assert_eq!(told(&text), [""; 0], "{text}");
    }
    // A value that is assigned to a variable at its use is read.
    let text = format!("{run} -machine q35,hpet=off -cpu \"${{C:=host,-kvmclock}}\"\necho $C\n");
    assert!(ids(Kind::Qemu, &text).iter().any(|(id, _)| *id == "q-kvmclock-off-no-invtsc"));
    mended(Kind::Qemu, &text, &text);
}

#[test]
fn qemu_branch_for_windows_makes_no_windows_of_the_guest() {
    let text = "G=${1:-linux}\nC=host,-kvmclock\nif [ $G = windows ]; then C=$C,hv_time,hv_relaxed; fi\n\
                qemu-system-x86_64 -enable-kvm -name $G -machine q35 -cpu $C -drive file=$G.img\n";
    let document = Document::of_kind("windows-and-linux.sh", text.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap();
    assert_eq!(report.guest, clocksmith_vm::Guest::Unknown);
    let all: Vec<_> = report.findings.iter().map(|it| (it.rule.id, it.severity)).collect();
    assert!(all.contains(&("q-kvmclock-off-no-invtsc", Severity::Error)), "{all:?}");
    assert!(!all.iter().any(|(id, _)| *id == "q-hv-time-missing"), "{all:?}");
}

#[test]
fn qemu_options_that_another_command_looks_for_are_left() {
    let run =
        "qemu-system-x86_64 -enable-kvm -machine q35,hpet=on -cpu host,kvmclock=off -name debian\n";
    let after = run.replace("hpet=on", "hpet=off").replace(",kvmclock=off", "");
    mended(Kind::Qemu, run, &after);
    let comment = "# kvmclock=off, hpet=on\n";
    // A setting that a comment next to it mentions may be intended.
    mended(Kind::Qemu, &format!("{comment}{run}"), &format!("{comment}{run}"));
    for looks in [
        "pgrep -f 'qemu.*kvmclock=off'\n",
        "pgrep -f 'qemu-system-x86_64 .*kvmclock=off'\n",
        "ps ax | grep kvmclock=off\n",
        "[[ $A == *kvmclock=off* ]] && echo y\n",
        "case $A in *kvmclock=off*) echo y;; esac\n",
    ] {
        let text = format!("{run}{looks}");
        // Without kvm-clock the HPET stays, too.
        mended(Kind::Qemu, &text, &text);
    }
    let hpet = format!("{run}pkill -f hpet=on\n");
    mended(Kind::Qemu, &hpet, &hpet.replace(",kvmclock=off", ""));
}

#[test]
fn qemu_words_about_the_tsc_are_of_x86() {
    let run = |arch: &str| format!("qemu-system-{arch} -M virt -append 'tsc=reliable notsc'\n");
    assert!(ids(Kind::Qemu, &run("aarch64")).is_empty(), "{:?}", ids(Kind::Qemu, &run("aarch64")));
    assert!(ids(Kind::Qemu, &run("x86_64")).len() > 1);
    let domain =
        domain("a", "", "", "", "").replace("</os>", "<cmdline>tsc=reliable</cmdline></os>");
    let bad =
        |text: &str| ids(Kind::Libvirt, text).iter().any(|(id, _)| *id == "q-guest-tsc-reliable");
    assert!(bad(&domain));
    assert!(!bad(&domain.replace("x86_64", "aarch64").replace("q35", "virt")));
}

#[test]
fn qemu_macos_needs_no_kvmclock() {
    let run = |cpu: &str| {
        format!(
            "qemu-system-x86_64 -enable-kvm -machine q35 -device isa-applesmc,osk=x -cpu {cpu} -m 4G\n"
        )
    };
    for cpu in ["Penryn,kvm=off", "Penryn,-hypervisor"] {
        let found = ids(Kind::Qemu, &run(cpu));
        assert!(found.iter().all(|(_, severity)| *severity == Severity::Info), "{found:?}");
    }
}

#[test]
fn qemu_name_of_a_linux_is_believed_beside_flags_of_hyperv() {
    let text = "qemu-system-x86_64 -enable-kvm -name debian -cpu host,hv_relaxed -m 1G\n";
    let report = lint(&document(Kind::Qemu, text)).unwrap();
    assert_eq!((report.guest, report.guessed), (clocksmith_vm::Guest::Linux, true));
}

#[test]
fn qemu_choices_leave_the_emulator() {
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_100_000_000) };
    let text = "qemu-system-x86_64 -M q35 -cpu qemu64 -m 1G\nqemu-system-x86_64 -accel tcg -cpu max -m 1G\n";
    let fixed = fix(&document(Kind::Qemu, text), &choices).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
    assert_eq!(fixed.undecided.len(), 2, "{:?}", fixed.undecided);
    let kvm = text
        .replace("qemu-system-x86_64", "qemu-system-x86_64 -enable-kvm")
        .replace("-accel tcg ", "");
    let fixed = fix(&document(Kind::Qemu, &kvm), &choices).unwrap();
    assert_eq!(fixed.document.text.as_str().matches("+invtsc,tsc-frequency=2100000000").count(), 2);
}

#[test]
fn qemu_devices_of_the_host_that_can_move() {
    let with = |device: &str| {
        let line = format!("qemu-system-x86_64 -enable-kvm -cpu host,+invtsc -device {device}\n");
        ids(Kind::Qemu, &line)
    };
    for (device, severity) in [
        ("vfio-pci,host=01:00.0", Severity::Info),
        ("vfio-pci,host=01:00.0,failover_pair_id=net0", Severity::Warn),
        ("vfio-pci,host=01:00.0,enable-migration=on", Severity::Warn),
        ("usb-host,vendorid=0x1234", Severity::Warn),
    ] {
        assert!(with(device).contains(&("q-invtsc-migblock", severity)), "{device}");
    }
}

#[test]
fn branch_without_kvm_wants_no_clock_of_hyper_v() {
    let of = |yes: &str, no: &str| {
        format!(
            "#!/bin/bash\nargs=(-m 2G -M q35,hpet=off -drive file=win10.qcow2)\nif [ -w /dev/kvm ]; then\n  args+=({yes})\nelse\n  \
             args+=({no})\nfi\nqemu-system-x86_64 \"${{args[@]}}\"\n"
        )
    };
    let missing = |text: &str| ids(Kind::Qemu, text).iter().any(|it| it.0 == "q-hv-time-missing");
    assert!(!missing(&of("-accel kvm -cpu host,hv-time", "-cpu max")));
    assert!(!missing(&of("-enable-kvm -cpu host,hv-time", "-cpu qemu64 -smp 1")));
    assert!(missing(&of("-accel kvm -cpu host,hv-relaxed", "-cpu max")));
    assert!(missing(&of("-accel kvm -cpu host,hv-time", "-accel kvm -cpu max,hv-relaxed")));
}

/// Numbers and disks that only a run shows choose no hypervisor.
#[test]
fn emulated_windows_wants_no_clock_of_hyper_v() {
    let of = |words: &str| {
        format!(
            "#!/bin/sh\nqemu-system-x86_64 {words} -M q35,hpet=off -cpu max -drive file=win10.qcow2\n"
        )
    };
    let missing = |text: &str| ids(Kind::Qemu, text).iter().any(|it| it.0 == "q-hv-time-missing");
    for words in ["-m \"${1}M\"", "-smp cores=$(nproc)", "-drive file=\"$2\",if=virtio"] {
        assert!(!missing(&of(words)), "{words}");
        assert!(missing(&of(&format!("-enable-kvm {words}"))), "{words}");
    }
    for words in ["\"$@\"", "$ACCEL", "-accel \"$1\"", "-$1"] {
        assert!(missing(&of(words)), "{words}");
    }
}

#[test]
fn qemu_machine_that_is_said_to_stay_is_no_warning() {
    let of = |cpu: &str| {
        ids(
            Kind::Qemu,
            &format!("qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu {cpu}\n"),
        )
    };
    assert!(of("host,migratable=off").contains(&("q-invtsc-migblock", Severity::Info)));
    assert!(of("host,+invtsc,migratable=no").contains(&("q-invtsc-migblock", Severity::Warn)));
    assert!(of("host,+invtsc").contains(&("q-invtsc-migblock", Severity::Warn)));
}

#[test]
fn parameters_for_init_are_not_of_the_kernel() {
    let of = |append: &str| {
        ids(Kind::Qemu, &format!("qemu-system-x86_64 -enable-kvm -cpu host -append \"{append}\"\n"))
    };
    let notsc = ("q-guest-notsc", Severity::Warn);
    assert!(of("root=/dev/vda notsc --").contains(&notsc));
    assert!(!of("root=/dev/vda -- notsc").contains(&notsc));
}

#[test]
fn clocksource_that_no_kernel_has_is_found_in_append() {
    let with = |words: &str| {
        let text = format!(
            "qemu-system-x86_64 -enable-kvm -cpu host -m 1G -machine hpet=off -kernel k -append \"console=ttyS0 {words}\"\n"
        );
        let all = ids(Kind::Qemu, &text).into_iter();
        let bad = all.filter(|(_, severity)| *severity > Severity::Info).map(|(id, _)| id);
        bad.collect::<Vec<_>>()
    };
    assert_eq!(with("clocksource=tcs"), ["cmdline-unknown-clocksource"]);
    assert_eq!(
        with("clocksource=kvm-clock no-kvmclock"),
        ["cmdline-contradicted", "q-guest-no-kvmclock"]
    );
    for fine in
        ["clocksource=tsc", "clocksource=kvm-clock", "clocksource=$CLOCK", "-- clocksource=tcs"]
    {
        assert_eq!(with(fine), [""; 0], "{fine}");
    }
}

#[test]
fn bracket_at_which_a_shell_stops_is_told() {
    let with = |smc: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu Penryn \\\n -device isa-applesmc,osk={smc} \\\n -cpu host,-kvmclock\n"
        );
        ids(Kind::Qemu, &text)
    };
    let told = with("a(c)b");
    assert!(told.contains(&("q-value-unknown", Severity::Info)), "{told:?}");
    let quoted = with("\"a(c)b\"");
    assert!(!quoted.iter().any(|(id, _)| *id == "q-value-unknown"), "{quoted:?}");
}

#[test]
fn another_accelerator_in_the_variable_is_a_condition() {
    let told = |set: &str, option: &str| {
        let text =
            format!("#!/bin/bash\n{set}\nqemu-system-x86_64 {option} -cpu host -m 1G d.qcow2\n");
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        let found = report.findings.into_iter().find(|it| it.rule.id == "q-no-invtsc");
        found.and_then(|it| it.summary).is_some_and(|it| it.contains("where KVM runs the guest"))
    };
    for set in [
        "case $(uname -s) in Darwin) A=hvf;; Linux) A=kvm;; esac",
        "A=kvm\n[ \"$(uname)\" = Darwin ] && A=hvf",
        "A=kvm\nif [ ! -w /dev/kvm ]; then A=tcg; fi",
        "if [ -w /dev/kvm ]; then A=kvm; else A=\"tcg\"; fi",
    ] {
        for option in ["-machine q35,accel=$A", "-accel $A", "-accel \"${A}\""] {
            assert!(told(set, option), "{set} {option}");
        }
    }
    assert!(!told("A=kvm", "-accel $A"));
    assert!(!told("B=hvf", "-accel kvm"));
}

#[test]
fn variables_of_a_batch_file_have_their_values() {
    let bad = |text: &str| {
        let document = Document::new("run.bat", text.as_bytes()).unwrap();
        let report = lint(&document).unwrap();
        let all = report.findings.iter().filter(|it| it.severity > Severity::Info);
        all.map(|it| it.rule.id).collect::<Vec<_>>()
    };
    for set in ["set A=-no-hpet", "set \"A=-no-hpet\"", "set A=-smp 2\nset A=%A% -no-hpet"] {
        let text = format!("@echo off\n{set}\nqemu-system-x86_64.exe -m 1G %A% -hda d.qcow2\n");
        assert_eq!(bad(&text), ["q-no-hpet-removed"], "{text}");
    }
    let text =
        "@echo off\nif exist x set A=-no-hpet\nqemu-system-x86_64.exe -m 1G %A% -hda d.qcow2\n";
    assert_eq!(bad(text), [""; 0]);
}

#[test]
fn slow_clocksource_is_not_written_in_place_of_one_that_is_ignored() {
    let text = "{\"boot-source\": {\"kernel_image_path\": \"k\", \"boot_args\": \"console=ttyS0 clocksource=hpett\"}}";
    let found = ids(Kind::Firecracker, text);
    assert!(found.iter().any(|(id, _)| *id == "cmdline-unknown-clocksource"), "{found:?}");
    mended(Kind::Firecracker, text, text);
    let meant = text.replace("hpett", "kvmclock");
    mended(Kind::Firecracker, &meant, &text.replace("hpett", "kvm-clock"));
    let write = "#!/bin/sh\necho hpett > /sys/devices/system/clocksource/clocksource0/current_clocksource\n";
    mended(Kind::Persistence, write, write);
}

#[test]
fn description_is_no_command() {
    let text = "name: Boot with qemu-system-x86_64 -nographic\nsteps:\n  - run: qemu-system-x86_64 -enable-kvm -cpu host -machine hpet=off d.qcow2\n";
    let document = Document::new("a.yml", text.as_bytes()).unwrap();
    let report = lint(&document).unwrap();
    let all: Vec<_> = report.findings.iter().map(|it| it.rule.id).collect();
    assert_eq!(all, ["q-no-invtsc"]);
}

#[test]
fn accelerators_in_a_list_are_tried_in_their_order() {
    use Severity::{Error, Warn};
    let found = |options: &str, cpu: &str| {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 {options} -cpu {cpu} -m 1G -kernel vmlinuz -append root=/dev/sda a.img\n"
        );
        lint(&document(Kind::Qemu, &text)).unwrap().findings
    };
    let severity = |options: &str, cpu: &str, id: &str| {
        let all = found(options, cpu);
        let one = all.iter().find(|finding| finding.rule.id == id);
        one.map(|finding| (finding.severity, finding.summary.clone().unwrap_or_default()))
    };
    let off = "q-kvmclock-off-no-invtsc";
    // KVM first: not the emulator, but it may be.
    for options in ["-accel kvm -accel tcg", "-machine accel=kvm:tcg", "-M q35,accel=kvm:hvf:tcg"] {
        assert_eq!(severity(options, "max,-kvmclock", off).unwrap().0, Error, "{options}");
        let (_, stays) = severity(options, "host", "q-no-invtsc").unwrap();
        assert!(stays.contains("where KVM runs the guest"), "{options}: {stays}");
        assert_eq!(severity(options, "max,+invtsc", "q-invtsc-tcg"), None, "{options}");
    }
    // The emulator works everywhere.
    for options in ["-machine accel=tcg:kvm", "-accel tcg", "-M q35,accel=tcg"] {
        assert_eq!(severity(options, "max,-kvmclock", off), None, "{options}");
        assert_eq!(severity(options, "max,+invtsc", "q-invtsc-migblock"), None, "{options}");
        assert_eq!(severity(options, "max,+invtsc", "q-invtsc-tcg").unwrap().0, Warn, "{options}");
    }
    // Linux has no HVF, and takes the next one.
    for options in ["-machine accel=hvf:kvm:tcg", "-M q35,accel=whpx:kvm", "-accel hvf:kvm"] {
        let (severity_off, words) = severity(options, "max,-kvmclock", off).unwrap();
        assert_eq!(severity_off, Warn, "{options}");
        assert!(words.starts_with("where KVM runs the guest"), "{options}: {words}");
        let (_, stays) = severity(options, "host", "q-no-invtsc").unwrap();
        assert!(stays.contains("where KVM runs the guest"), "{options}: {stays}");
        assert_eq!(severity(options, "max,+invtsc", "q-invtsc-tcg"), None, "{options}");
        assert_eq!(severity(options, "max", "q-emulated"), None, "{options}");
    }
    // Another hypervisor alone has nothing of KVM.
    for options in ["-accel hvf", "-accel whpx -accel tcg", "-machine accel=nvmm:tcg"] {
        for cpu in ["max,-kvmclock", "host,kvm=off"] {
            assert_eq!(severity(options, cpu, off), None, "{options}");
            assert_eq!(severity(options, cpu, "q-kvm-off"), None, "{options}");
        }
        assert_eq!(severity(options, "max,+invtsc", "q-invtsc-tcg"), None, "{options}");
    }
}

#[test]
fn device_of_kvm_in_front_of_a_container_is_no_program() {
    for device in
        ["--device /dev/kvm", "--device=/dev/kvm", "--device=/dev/kvm:/dev/kvm", "--group-add kvm"]
    {
        let text = |options: &str| {
            format!(
                "#!/bin/sh\ndocker run -it {device} image qemu-system-x86_64 {options} -m 1G a.img\n"
            )
        };
        // QEMU does not use the device by itself.
        assert!(ids(Kind::Qemu, &text("")).iter().any(|(id, _)| *id == "q-emulated"), "{device}");
        let kvm = ids(Kind::Qemu, &text("-enable-kvm -cpu host,-kvmclock"));
        assert!(kvm.iter().any(|(id, _)| *id == "q-kvmclock-off-no-invtsc"), "{device}: {kvm:?}");
        assert!(kvm.iter().all(|(id, _)| *id != "q-emulated"), "{device}: {kvm:?}");
    }
}

#[test]
fn disks_of_another_system_tell_more_than_apples_smc() {
    let of = |disks: &str| {
        let text = format!(
            "qemu-system-x86_64 -enable-kvm -cpu host,+invtsc -device isa-applesmc,osk=x \\\n -drive \
             id=OpenCoreBoot,if=none,file=OpenCore/OpenCore.qcow2 {disks}\n"
        );
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        (report.guest.name(), report.guessed)
    };
    let drive =
        |id: &str, file: &str| format!("-drive id={id},if=none,file=\"{file}\",format=raw ");
    let linux = drive("InstallMedia", "./linux.iso");
    assert_eq!(of(&(linux.clone() + &drive("MacHDD", "./linux_hdd.img"))), ("linux", true));
    for others in ["", &drive("MacHDD", "mac_hdd_ng.img"), &drive("Base", "BaseSystem.img")] {
        assert_eq!(of(others), ("macos", false), "{others}");
    }
    // One disk that may be of macOS is enough.
    assert_eq!(of(&(linux + &drive("MacHDD", "./mac_hdd_ng.img"))), ("macos", false));
}

//! Options that only some runs of a script have: they lower no severity for the others.

use super::*;

const LINE: &str = "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -m 4G -cpu host,+invtsc";
const DEVICE: &str = "-device vfio-pci,host=01:00.0";

fn migration(text: &str) -> Vec<Severity> {
    let found = ids(Kind::Qemu, text).into_iter();
    found.filter(|(id, _)| *id == "q-invtsc-migblock").map(|(_, severity)| severity).collect()
}

#[test]
fn device_that_only_some_runs_have_keeps_no_machine_at_its_host() {
    for body in [
        format!("if [[ $1 == gpu ]]; then O+=({DEVICE}); fi"),
        format!("[[ -n $GPU ]] && O+=({DEVICE})"),
        format!("[[ -n $GPU ]] && {{\n  O+=({DEVICE})\n}}"),
        format!("[[ -z $GPU ]] || O+=({DEVICE})"),
        format!("case $1 in\n  gpu) O+=({DEVICE}) ;;\nesac"),
        "for d in \"$@\"; do\n  O+=(-device \"vfio-pci,host=$d\")\ndone".to_owned(),
        "for d in /sys/bus/pci/*; do O+=(-device \"vfio-pci,host=$d\"); done".to_owned(),
        "while read -r d; do O+=(-device \"vfio-pci,host=$d\"); done <devices".to_owned(),
        format!("gpu() {{\n  O+=({DEVICE})\n}}\nif [[ $1 ]]; then gpu; fi"),
        format!("function gpu {{\n  O+=({DEVICE})\n}}\n[[ $1 ]] && gpu"),
        "d=virtio-vga\n[[ $1 ]] && d=vfio-pci,host=01:00.0\nO+=(-device $d)".to_owned(),
    ] {
        let text = format!("#!/bin/bash\nO=(-nographic)\n{body}\n{LINE} \"${{O[@]}}\"\n");
        assert_eq!(migration(&text), [Severity::Warn], "{text}");
    }
    for body in [
        format!("O+=({DEVICE})"),
        format!("gpu() {{\n  O+=({DEVICE})\n}}\ngpu"),
        format!("gpu() {{\n  O+=({DEVICE})\n}}\nmain() {{ gpu; }}\nmain \"$@\""),
        "for d in 01:00.0 01:00.1; do\n  O+=(-device vfio-pci,host=$d)\ndone".to_owned(),
        format!("if true; then echo a; fi\nO+=({DEVICE})"),
    ] {
        let text = format!("#!/bin/bash\nO=(-nographic)\n{body}\n{LINE} \"${{O[@]}}\"\n");
        assert_eq!(migration(&text), [Severity::Info], "{text}");
    }
}

#[test]
fn device_beside_its_machine_stays_there() {
    for text in [
        format!("if [ -e /dev/kvm ]; then\n  {LINE} {DEVICE}\nfi\n"),
        format!("for n in \"$@\"; do\n  {LINE} {DEVICE} -name $n\ndone\n"),
        format!("start() {{\n  O=\"{DEVICE}\"\n  {LINE} $O\n}}\n"),
        format!("cd /vm && {LINE} {DEVICE}\n"),
    ] {
        assert_eq!(migration(&format!("#!/bin/sh\n{text}")), [Severity::Info], "{text}");
    }
}

#[test]
fn python_adds_a_device_to_some_machines() {
    let text = |more: &str| {
        format!(
            "import subprocess, sys\nc = [\"qemu-system-x86_64\", \"-enable-kvm\", \"-m\", \"1G\", \"-cpu\", \"host,+invtsc\"]\n\
             {more}subprocess.run(c)\n"
        )
    };
    let device = "c += [\"-device\", \"vfio-pci,host=01:00.0\"]\n";
    let python = |text: &str| {
        let document = Document::new("vm.py", text.as_bytes()).unwrap();
        let findings = lint(&document).unwrap().findings.into_iter();
        let mut of = findings.filter(|it| it.rule.id == "q-invtsc-migblock");
        of.next().map(|it| it.severity)
    };
    assert_eq!(python(&text(device)), Some(Severity::Info));
    let some = format!("if len(sys.argv) > 1:\n    {device}");
    assert_eq!(python(&text(&some)), Some(Severity::Warn));
}

#[test]
fn guest_that_is_protected_in_one_branch_may_migrate_in_another() {
    let object = "-object sev-guest,id=s,cbitpos=47 -machine confidential-guest-support=s";
    let text = |before: &str| format!("#!/bin/sh\nO=-nographic\n{before}\n{LINE} $O\n");
    assert_eq!(migration(&text(&format!("O=\"{object}\""))), []);
    assert_eq!(migration(&text(&format!("O=\"$O {object}\""))), []);
    let some = text(&format!("if [ \"$SEV\" ]; then\n  O=\"$O {object}\"\nfi"));
    assert_eq!(migration(&some), [Severity::Warn]);
    // One of its runs is of such a guest.
    let rtc = some.replace("+invtsc", "kvmclock=off").replace("nographic", "kernel vmlinuz");
    assert!(ids(Kind::Qemu, &rtc).contains(&("q-kvmclock-off-no-invtsc", Severity::Error)));
    mended(Kind::Qemu, &rtc, &rtc);
}

#[test]
fn flag_of_one_branch_is_not_in_the_other() {
    let text = |more: &str| {
        format!(
            "#!/bin/bash\nCPU=host,-hypervisor\n{more}\nqemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu $CPU -kernel vmlinuz\n"
        )
    };
    let found = |more: &str| ids(Kind::Qemu, &text(more));
    for more in ["if [ $1 ]; then CPU+=,+invtsc; fi", "if [ $1 ]; then CPU=\"$CPU,+invtsc\"; fi"] {
        assert!(found(more).contains(&("q-hypervisor-hidden", Severity::Error)), "{more}");
    }
    assert!(found("CPU+=,+invtsc").contains(&("q-hypervisor-hidden", Severity::Warn)));
}

/// The script of a choice, before a command line of Windows.
fn chosen(choice: &str, command: &str) -> Vec<(&'static str, Severity)> {
    ids(
        Kind::Qemu,
        &format!("#!/bin/bash\n{choice}\n{command} -enable-kvm -drive file=win11.qcow2\n"),
    )
}

#[test]
fn values_of_two_branches_are_no_command_line() {
    let missing = |choice: &str, command: &str| {
        let found = chosen(choice, command);
        found.iter().any(|(id, _)| *id == "q-hv-time-missing")
    };
    let plain = "$QEMU -cpu $CPU";
    let x86 = "QEMU=qemu-system-x86_64; CPU=host,hv-time";
    let arm = "QEMU=qemu-system-aarch64; CPU=host";
    let case = |arms: &[&str]| {
        let arms: String =
            arms.iter().enumerate().map(|(n, arm)| format!("  {n}) {arm};;\n")).collect();
        format!("case $ARCH in\n{arms}esac")
    };
    for choice in [
        case(&[x86, arm]),
        case(&[arm, x86]),
        case(&[x86, arm, "QEMU=qemu-system-riscv64; CPU=rv64"]),
        case(&[x86, "QEMU=qemu-system-riscv64", arm]),
        format!("CPU=max\n{}", case(&[x86, arm])),
        format!("if [ $A ]; then {arm}; else {x86}; fi"),
        format!("if [ $A ]; then {x86}; elif [ $B ]; then {arm}; fi"),
        // The last branch has no -cpu of its own.
        case(&[x86, "QEMU=qemu-system-aarch64"]),
        format!("CPU=host\n{}", case(&["QEMU=qemu-system-aarch64", x86])),
    ] {
        assert!(!missing(&choice, plain), "{choice}");
        // Each branch without it is still seen.
        let without = choice.replace(",hv-time", "");
        assert!(missing(&without, plain), "{without}");
    }
    let options = case(&[
        "QEMU=qemu-system-x86_64; O=\"-M q35 -cpu host,hv-time\"",
        "QEMU=qemu-system-aarch64; O=\"-M virt -cpu host\"",
    ]);
    assert!(!missing(&options, "$QEMU $O"));
    assert!(missing(&options.replace(",hv-time", ""), "$QEMU $O"));
    // A value that contains another one has its place too.
    let inside = format!("{}\nA=(-cpu $CPU)", case(&[x86, arm]));
    assert!(!missing(&inside, "$QEMU \"${A[@]}\""));
    // An emulated machine of one branch does not get the -cpu of the other.
    let accel = case(&["K=kvm; CPU=host,+invtsc,tsc-frequency=2500000000", "K=tcg; CPU=max"]);
    let found = chosen(&accel, "qemu-system-x86_64 -accel $K -cpu $CPU");
    assert!(!found.iter().any(|(id, _)| *id == "q-invtsc-tcg"), "{found:?}");
}

#[test]
fn options_of_two_branches_that_decide_nothing_hide_nothing() {
    let text = "if [ $A ]; then\n  IN=\"-device virtio-keyboard-pci\"\nelse\n  KEY=\"-device usb-tablet\"\nfi\n\
                if [ $B ]; then SPICE=\"-spice port=1\"; else SPICE=\"\"; fi";
    let document = document(
        Kind::Qemu,
        &format!(
            "#!/bin/bash\n{text}\nqemu-system-x86_64 -enable-kvm -cpu host,hv-time -M q35 $IN $KEY $SPICE -hda win11.qcow2\n"
        ),
    );
    let findings = lint(&document).unwrap().findings;
    let hpet = findings.iter().find(|it| it.rule.id == "q-hpet-default-on").unwrap();
    assert_eq!(hpet.summary, None, "nothing says that a run may disable it");
}

#[test]
fn values_without_branches_are_combined() {
    // The conditions may both be true.
    let both = "CPU=host\nQEMU=qemu-system-aarch64\nif [ $A ]; then CPU=max; fi\nif [ $B ]; then QEMU=qemu-system-x86_64; fi";
    let found = chosen(both, "$QEMU -cpu $CPU");
    assert!(found.contains(&("q-hv-time-missing", Severity::Warn)), "{found:?}");
    let pair = "CPU=host\nM=q35\n[ $A ] && { CPU=host,hv-time; M=pc; }";
    let found = chosen(pair, "qemu-system-x86_64 -M $M -cpu $CPU");
    assert!(found.contains(&("q-hv-time-missing", Severity::Warn)), "{found:?}");
}

#[test]
fn template_may_leave_a_device_out() {
    let cpu = feature("<feature policy='require' name='invtsc'/>");
    let file = |open: &str, close: &str| {
        let device = "<hostdev mode='subsystem' type='pci' managed='yes'/>";
        let devices = format!("  <devices>\n{open}\n    {device}\n{close}\n  </devices>\n");
        domain("{{ name }}", "", &cpu, QUIET_CLOCK, &devices)
    };
    let severity = |text: &str| {
        let found = ids(Kind::Libvirt, text).into_iter();
        found.filter(|(id, _)| *id == "lv-invtsc-no-freq").map(|it| it.1).collect::<Vec<_>>()
    };
    for (open, close) in [
        ("{% if gpu %}", "{% endif %}"),
        ("{%- for d in devices -%}", "{%- endfor -%}"),
        ("{{ range .Devices }}", "{{ end }}"),
        ("{{#gpu}}", "{{/gpu}}"),
        ("<% if @gpu -%>", "<% end -%>"),
        ("<% @devices.each do |d| %>", "<% end %>"),
        ("%{ if gpu }", "%{ endif }"),
    ] {
        assert_eq!(severity(&file(open, close)), [Severity::Warn], "{open}");
    }
    assert_eq!(severity(&file("", "")), [Severity::Info]);
    let whole = format!("{{% for vm in vms %}}\n{}{{% endfor %}}\n", file("", ""));
    assert_eq!(severity(&whole), [Severity::Info]);
}

#[test]
fn frequency_of_a_machine_that_never_migrates_is_no_warning() {
    let qemu = |flags: &str| {
        let text = format!(
            "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu host{flags},hv_time,hv_reenlightenment -hda win11.qcow2\n"
        );
        let found = ids(Kind::Qemu, &text).into_iter();
        found
            .filter(|(id, _)| *id == "q-reenlightenment-no-freq")
            .map(|it| it.1)
            .collect::<Vec<_>>()
    };
    assert_eq!(qemu(""), [Severity::Warn]);
    assert_eq!(qemu(",migratable=off"), [Severity::Info]);
    assert_eq!(qemu(",migratable=off,+invtsc"), [Severity::Warn]);
    let libvirt = |attribute: &str, mode: &str| {
        let cpu = format!("  <cpu mode='{mode}'{attribute}/>\n");
        let hyperv = "    <hyperv>\n      <reenlightenment state='on'/>\n    </hyperv>\n";
        let clock = clock("    <timer name='hypervclock' present='yes'/>\n");
        let found = ids(Kind::Libvirt, &domain("win11", hyperv, &cpu, &clock, "")).into_iter();
        found
            .filter(|(id, _)| *id == "lv-reenlightenment-no-freq")
            .map(|it| it.1)
            .collect::<Vec<_>>()
    };
    assert_eq!(libvirt("", "host-passthrough"), [Severity::Warn]);
    assert_eq!(libvirt(" migratable='on'", "host-passthrough"), [Severity::Warn]);
    assert_eq!(libvirt(" migratable='off'", "host-passthrough"), [Severity::Info]);
}

#[test]
fn program_that_a_command_looks_up_is_known() {
    let flags = "-kernel vmlinuz -cpu host,kvmclock=off -accel kvm";
    for (set, run) in [
        ("Q=$(command -v qemu-system-x86_64)", "\"$Q\""),
        ("Q=$(which qemu-system-x86_64 2>/dev/null)", "$Q"),
        ("Q=`which qemu-system-x86_64`", "$Q"),
        ("Q=$(command -v qemu-system-x86_64 || command -v qemu-kvm)", "exec $Q"),
        ("", "$(which qemu-system-x86_64)"),
        ("V=$(qemu-img --version | cut -d')' -f1)", "qemu-system-x86_64"),
    ] {
        let text = format!("#!/bin/sh\n{set}\n{run} {flags}\n");
        let found = ids(Kind::Qemu, &text);
        assert!(found.contains(&("q-kvmclock-off-no-invtsc", Severity::Error)), "{text} {found:?}");
    }
    let short = "#!/bin/sh\nQ=$(command -v qemu-system-i386)\n\"$Q\" -kernel kernel.elf\n";
    assert_eq!(Kind::detect("run.sh", short), Some(Kind::Qemu));
    let asks = "#!/bin/sh\nif [ -z \"$(command -v qemu-system-x86_64)\" ]; then\n  apt install -y qemu-system-x86\nfi\n";
    assert_eq!(Kind::detect("setup.sh", asks), None);
}

#[test]
fn query_of_what_the_emulator_knows_starts_no_machine() {
    for text in [
        "qemu-system-x86_64 -cpu help\n",
        "\"qemu-system-${A}\" -machine help | grep q35\n",
        "$Q -device help\n$Q -accel help\n",
    ] {
        assert!(lint(&document(Kind::Qemu, &format!("#!/bin/sh\n{text}"))).is_err(), "{text}");
    }
    let nix =
        "#!/bin/sh\nnix run nixpkgs#qemu -- -enable-kvm -cpu host,kvmclock=off -kernel vmlinuz\n";
    assert_eq!(Kind::detect("run.sh", nix), Some(Kind::Qemu));
    assert!(ids(Kind::Qemu, nix).contains(&("q-kvmclock-off-no-invtsc", Severity::Error)));
}

#[test]
fn machine_in_a_comment_of_json_is_none() {
    let text = "// {\n//   \"program\": \"qemu-system-x86_64\",\n//   \"args\": [\"-machine\", \"q35\", \"-m\", \"1G\"]\n// }\n{}\n";
    let of = |text: &str| Document::of_kind("launch.json", text.as_bytes(), Kind::Qemu).unwrap();
    assert!(lint(&of(text)).is_err());
    assert!(lint(&of(&text.replace("// ", ""))).is_ok());
}

/// Returns what is said of a guest without an invariant TSC.
fn of_clock(name: &str, text: &str) -> Option<String> {
    let document = Document::new(name, text.as_bytes()).unwrap();
    let found = lint(&document).unwrap().findings;
    let finding = found.into_iter().find(|finding| finding.rule.id == "q-no-invtsc")?;
    Some(finding.summary.unwrap_or_else(|| finding.rule.summary.to_owned()))
}

#[test]
fn guest_that_only_some_runs_give_kvm_to_stays_on_its_clock_only_there() {
    let start = "qemu-system-x86_64 -m 1G -cpu max";
    for (name, text) in [
        ("a.sh", format!("#!/bin/sh\nif [ -w /dev/kvm ]; then K=-enable-kvm; fi\n{start} $K\n")),
        ("a.sh", format!("#!/bin/sh\nif [ -w /dev/kvm ]; then\n  K=\"-accel kvm\"\nelse\n  K=\"-accel tcg\"\nfi\n{start} $K\n")),
        ("a.sh", format!("#!/bin/sh\nK=\n[ -w /dev/kvm ] && K=-enable-kvm\n{start} $K\n")),
        ("a.sh", format!("#!/bin/sh\n{start} -machine accel=kvm:tcg\n")),
        ("a.sh", format!("#!/bin/sh\n{start} -accel kvm -accel tcg\n")),
        ("a.py", "import subprocess\ncmd = [\"qemu-system-x86_64\", \"-m\", \"1G\", \"-cpu\", \"host\"]\nif kvm:\n    cmd.extend([\"-enable-kvm\"])\nsubprocess.run(cmd)\n".to_owned()),
        ("a.py", "import subprocess\ncmd = [\"qemu-system-x86_64\", \"-m\", \"1G\", \"-cpu\", \"host\"]\ncmd += [\"-enable-kvm\"] if kvm else []\nsubprocess.run(cmd)\n".to_owned()),
    ] {
        let said = of_clock(name, &text);
        assert!(said.as_ref().is_none_or(|said| said.contains("where KVM runs")), "{text}{said:?}");
    }
    for (name, text) in [
        ("a.sh", format!("#!/bin/sh\n{start} -enable-kvm\n")),
        ("a.sh", format!("#!/bin/sh\nif [ $1 = a ]; then\n  {start} \\\n    -accel kvm\nfi\n")),
        ("a.sh", format!("#!/bin/sh\nK=-enable-kvm\nif [ $1 ]; then\n  {start} $K\nfi\n")),
        ("a.py", "import subprocess\ncmd = [\n    \"qemu-system-x86_64\",\n    \"-cpu\", \"host\",\n    \"-enable-kvm\",\n]\nsubprocess.run(cmd)\n".to_owned()),
    ] {
        let said = of_clock(name, &text).unwrap();
        assert!(!said.contains("where KVM runs"), "{text}");
    }
}

/// The ids of a script that starts Windows with the words of `args`.
fn listed(before: &str) -> Vec<(&'static str, Severity)> {
    ids(Kind::Qemu, &format!("#!/bin/bash\n{before}\nqemu-system-x86_64 \"${{args[@]}}\"\n"))
}

#[test]
fn list_to_which_a_call_adds_is_not_known() {
    let args = "args=(-enable-kvm -machine q35 -drive file=win10.qcow2)";
    let missing = |before: &str| listed(before).iter().any(|it| it.0 == "q-hv-time-missing");
    assert!(missing(args));
    for before in [
        format!("add() {{ args+=(-cpu host,hv-time); }}\n{args}\nadd"),
        format!("add() {{ args+=(-cpu \"$1\"); }}\n{args}\nadd host,hv-time"),
        format!("add() {{ args=(\"${{args[@]}}\" -cpu \"$1\"); }}\n{args}\nadd host,hv-time"),
        format!(
            "add() {{\n  echo a\n  args+=(-cpu host,hv-time)\n}}\n{args}\nif [ $A ]; then add; fi"
        ),
        format!("function add {{\n  args+=(-cpu host,hv-time)\n}}\n{args}\nadd"),
        format!("add() {{ args+=(-cpu host,hv-time); }}\nall() {{ add; }}\n{args}\nall"),
        format!("{args}\nadd() {{ local -n ref=$1; ref+=(-cpu host,hv-time); }}\nadd args"),
        format!("{args}\n. ./cpu.sh"),
        format!("{args}\n[ -f cpu.sh ] && source cpu.sh"),
    ] {
        assert!(!missing(&before), "{before}");
    }
    for before in [
        // The function is not called after the assignment, or adds to another list.
        format!("add() {{ args+=(-cpu host,hv-time); }}\nadd\n{args}"),
        format!("add() {{ others+=(-cpu host,hv-time); }}\n{args}\nadd"),
        format!("add() {{ local -n ref=$1; ref+=(-S); }}\n{args}\nadd others"),
        format!(". ./cpu.sh\n{args}"),
        format!("{args}\n. /etc/os-release"),
    ] {
        assert!(missing(&before), "{before}");
    }
    // What the list has is still judged.
    let old = format!("{}\n. ./cpu.sh", args.replace("q35", "q35 -no-hpet"));
    assert!(listed(&old).iter().any(|it| it.0 == "q-no-hpet-removed"));
    let twice = format!("{args}\nadd() {{ args+=(-cpu host,hv-time); }}\nadd");
    assert!(!listed(&twice).iter().any(|it| it.0 == "q-cpu-repeated"));
    // A string.
    let text = |call: &str| {
        let text = format!(
            "#!/bin/sh\nadd() {{ echo; O=\"$O -cpu host,hv-time\"; }}\nO=\"-enable-kvm -m 2G -name win11\"\n{call}\nqemu-system-x86_64 $O\n"
        );
        ids(Kind::Qemu, &text).iter().any(|it| it.0 == "q-hv-time-missing")
    };
    assert!(text("") && !text("add"));
}

#[test]
fn words_that_are_removed_from_a_list_are_not_judged() {
    let gone = |text: &str| {
        let text = format!("#!/bin/bash\n{text}\n");
        let document = document(Kind::Qemu, &text);
        let findings = lint(&document).map(|it| it.findings).unwrap_or_default();
        findings.iter().any(|it| it.rule.id == "q-no-hpet-removed")
    };
    let list = "A=(qemu-system-x86_64 -no-hpet -enable-kvm -machine q35 -cpu host)";
    let set = "set -- -no-hpet -enable-kvm -machine q35 -cpu host";
    let run = "qemu-system-x86_64 \"$@\"";
    let chosen = "for a in -enable-kvm -machine q35 -no-hpet -cpu host; do\n  [ \"$a\" = -no-hpet ] && continue\n  args+=(\"$a\")\ndone\n\
                  qemu-system-x86_64 \"${args[@]}\"";
    for text in [
        format!("{list}\nunset \"A[1]\"\n\"${{A[@]}}\""),
        format!("{list}\nunset A[$N]\n\"${{A[@]}}\""),
        format!("{set}\nshift\n{run}"),
        format!("{set}\nshift 2\nexec {run} -S"),
        format!("{set}\nwhile [ $1 = x ]; do shift; done\n{run}"),
        format!("args=()\n{chosen}"),
    ] {
        assert!(!gone(&text), "{text}");
    }
    for text in [
        format!("{list}\n\"${{A[@]}}\""),
        format!("{list}\nunset \"B[1]\"\n\"${{A[@]}}\""),
        format!("{set}\n{run}"),
        format!("while [ $1 = x ]; do shift; done\n{set}\n{run}"),
    ] {
        assert!(gone(&text), "{text}");
    }
}

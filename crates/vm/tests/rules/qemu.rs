//! QEMU command lines.

use super::*;

fn qemu(options: &str) -> String {
    format!(
        "#!/bin/sh\nexec qemu-system-x86_64 -enable-kvm -machine q35,hpet=off {options} -m 4G\n"
    )
}

#[test]
fn qemu_rules() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Qemu;
    let plain = qemu("-cpu host");
    let cpu = |cpu: &str| qemu(&format!("-cpu {cpu}"));
    both(kind, "q-hpet-default-on", Info, &plain.replace(",hpet=off", ""), &plain);
    both(
        kind,
        "q-hpet-default-on",
        Info,
        &plain.replace("-machine q35,hpet=off ", ""),
        &plain.replace("x86_64", "aarch64"),
    );
    both(kind, "q-hpet-on", Warn, &plain.replace("hpet=off", "hpet=on"), &plain);
    both(kind, "q-no-hpet-removed", Error, &qemu("-no-hpet").replace(",hpet=off", ""), &plain);
    both(kind, "q-kvm-off", Warn, &cpu("host,kvm=off"), &plain);
    both(
        kind,
        "q-hypervisor-hidden",
        Error,
        &cpu("host,hypervisor=off"),
        &cpu("host,hypervisor=on"),
    );
    both(
        kind,
        "q-kvmclock-off-no-invtsc",
        Error,
        &cpu("host,-kvmclock"),
        &cpu("host,-kvmclock,+invtsc"),
    );
    both(kind, "q-kvmclock-off", Info, &cpu("host,-kvmclock,+invtsc"), &plain);
    both(kind, "q-rdtscp-off", Warn, &cpu("host,rdtscp=off"), &plain);
    both(kind, "q-tsc-deadline-off", Warn, &cpu("host,-tsc_deadline"), &cpu("host,tsc_deadline"));
    both(
        kind,
        "q-invtsc-migblock",
        Warn,
        &cpu("host,migratable=no,+invtsc"),
        &cpu("host,+invtsc,tsc-frequency=2200000000"),
    );
    both(kind, "q-invtsc-migblock", Info, &cpu("host,migratable=off"), &plain);
    both(kind, "q-invtsc-freq-ok", Info, &cpu("host,+invtsc,tsc-frequency=2200000000"), &plain);
    both(kind, "q-invtsc-disabled", Warn, &cpu("host,migratable=off,-invtsc"), &plain);
    // None of these has an invariant TSC without the flag either.
    for it in ["host,-invtsc", "host,migratable=on,invtsc=off", "max,-invtsc", "EPYC,-invtsc"] {
        both(kind, "q-invtsc-disabled", Info, &cpu(it), &plain);
    }
    let windows = cpu("host,migratable=off,hv-time,-invtsc").replace("-cpu", "-name win11 -cpu");
    both(kind, "q-invtsc-disabled", Info, &windows, &plain);
    let page = windows.replace("hv-time,", "hv-relaxed,");
    both(kind, "q-invtsc-disabled", Warn, &page, &plain);
    both(
        kind,
        "q-invtsc-tcg",
        Warn,
        &cpu("max,+invtsc").replace("-enable-kvm", "-accel tcg"),
        &cpu("max,+invtsc"),
    );
    both(
        kind,
        "q-migratable-named-model",
        Error,
        &cpu("IvyBridge,migratable=off"),
        &cpu("host,migratable=off"),
    );
    both(kind, "q-frequency-without-invtsc", Info, &cpu("host,tsc-frequency=2200000000"), &plain);
    both(kind, "q-cpu-repeated", Warn, &cpu("host,hv_time -cpu host"), &plain);
    both(
        kind,
        "q-hv-time-missing",
        Warn,
        &cpu("host,hv_relaxed -name win10"),
        &cpu("host,hv_relaxed,hv_time -name win10"),
    );
    let append = |words: &str| qemu(&format!("-kernel k -append \"root=/dev/vda {words} quiet\""));
    both(kind, "q-guest-notsc", Warn, &append("notsc"), &append(""));
    both(
        kind,
        "q-guest-clocksource",
        Warn,
        &append("clocksource=acpi_pm"),
        &append("clocksource=tsc"),
    );
    both(kind, "q-guest-tsc-reliable", Warn, &append("tsc=reliable"), &append(""));
}

#[test]
fn qemu_scripts_join_arrays_by_ifs_and_have_commands_in_strings() {
    let kind = Kind::Qemu;
    let joined = "CPU=(Penryn kvm=off migratable=off)\nF=(+invtsc -tsc-deadline)\nIFS=,\nqemu-system-x86_64 -enable-kvm -machine q35 -m 1 -cpu \"${CPU[*]}\",\"${F[*]}\"\n";
    let found = ids(kind, joined);
    for id in ["q-kvm-off", "q-migratable-named-model", "q-invtsc-migblock", "q-tsc-deadline-off"] {
        assert!(found.iter().any(|(known, _)| *known == id), "{id} {found:?}");
    }
    mends(kind, joined);
    for text in [
        "export CMD=\"qemu-system-x86_64 -enable-kvm -cpu host,kvm=off -m 1G\"\n",
        "sh -c 'qemu-system-x86_64 -enable-kvm -cpu host,kvm=off -m 1G'\n",
        "sudo eval \"exec qemu-system-x86_64 -enable-kvm --cpu host,kvm=off -m 1G\"\n",
    ] {
        assert!(ids(kind, text).iter().any(|(id, _)| *id == "q-kvm-off"), "{text}");
        mended(kind, text, text);
    }
    assert_eq!(Kind::detect("a", "qemu-system-x86_64 --cpu host --smp 2\n"), Some(kind));
}

#[test]
fn qemu_clocks_that_are_lost() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Qemu;
    let plain = qemu("-cpu host");
    let cpu = |cpu: &str| qemu(&format!("-cpu {cpu}"));
    both(kind, "q-stable-bit-off", Error, &cpu("host,kvmclock-stable-bit=off"), &plain);
    both(kind, "q-stable-bit-off", Info, &cpu("host,kvmclock-stable-bit=off,+invtsc"), &plain);
    both(
        kind,
        "q-reenlightenment-no-freq",
        Warn,
        &cpu("host,hv_time,hv_reenlightenment"),
        &cpu("host,hv_time,hv_reenlightenment,tsc-frequency=2500000000"),
    );
    both(
        kind,
        "q-invtsc-migblock",
        Info,
        &qemu("-cpu host,+invtsc -device vfio-pci,host=01:00.0"),
        &plain,
    );
    for bad in ["2400", "2.5G", "x"] {
        both(
            kind,
            "q-frequency-impossible",
            Error,
            &cpu(&format!("host,+invtsc,tsc-frequency={bad}")),
            &cpu("host,+invtsc,tsc-frequency=0x9502f900"),
        );
    }
    both(
        kind,
        "q-frequency-impossible",
        Error,
        &cpu("host,tsc-freq=2.5"),
        &cpu("host,tsc-freq=2.5G"),
    );
    both(kind, "q-kvm-off", Info, &cpu("host,kvm=off,hv_time"), &plain);
    both(kind, "q-emulated", Info, &plain.replace("-enable-kvm ", ""), &plain);
    let restored = plain.replace("-enable-kvm ", "-enable-kvm -loadvm warm ");
    both(kind, "q-loadvm-wall-clock", Info, &restored, &plain);
    let maybe = plain.replace("-enable-kvm", "$ACCEL");
    assert!(!ids(kind, &maybe).iter().any(|found| found.0 == "q-emulated"));
}

#[test]
fn qemu_scripts() {
    use Severity::{Info, Warn};
    let kind = Kind::Qemu;
    let has = |text: &str, id: &str, severity: Severity| {
        let found = ids(kind, text);
        assert!(found.contains(&(id, severity)), "{id} not in {found:?} of\n{text}");
        mends(kind, text);
    };
    has(
        "OPTS=\"+pcid,+invtsc\"\nqemu-system-x86_64 -m 1G -cpu Penryn,kvm=on,$OPTS\\\n  -machine q35\n",
        "q-invtsc-migblock",
        Warn,
    );
    has(
        "CPU=host\nargs=(\n  -enable-kvm -cpu \"$CPU\",kvm=off # x\n  -machine q35\n)\nargs+=(-m 1G)\nqemu-system-x86_64 \"${args[@]}\"\n",
        "q-kvm-off",
        Warn,
    );
    has(
        "cat > run.sh <<'EOF'\nqemu-system-x86_64 -m 1G -cpu host,kvm=off\nEOF\n",
        "q-kvm-off",
        Warn,
    );
    has(
        "[Service]\nExecStart=/usr/bin/qemu-system-x86_64 \\\n  -m 1G \\\n  -cpu host,kvm=off\n",
        "q-kvm-off",
        Warn,
    );
    has(
        "QEMU = qemu-system-x86_64\nFLAGS := -cpu host,kvm=off\nrun:\n\t$(QEMU) $(FLAGS) -m 1G -nographic\n",
        "q-kvm-off",
        Warn,
    );
    has("start qemu-system-x86_64.exe ^\r\n -m 1G ^\r\n -cpu host,kvm=off\r\n", "q-kvm-off", Warn);
    has(
        "cmd = [\n  \"-enable-kvm\", \"-machine\", \"q35\",\n  \"-cpu\", \"host,kvm=off\",\n]\n",
        "q-kvm-off",
        Warn,
    );
    let asks = "CPU=host\nif grep -q constant_tsc /proc/cpuinfo; then\n  CPU=\"$CPU,+invtsc\"\nfi\nqemu-system-x86_64 -m 1G -cpu $CPU\n";
    has(asks, "q-invtsc-conditional-ok", Info);
    assert!(!ids(kind, asks).iter().any(|found| found.0 == "q-invtsc-migblock"));
    // Both possible values of a variable are judged.
    has(
        "CPU=host,kvm=off\nif [ \"$1\" ]; then CPU=qemu64; fi\nqemu-system-x86_64 -m 1G -cpu $CPU\n",
        "q-kvm-off",
        Warn,
    );
    // An unknown value is not guessed.
    let quiet = "qemu-system-aarch64 -M virt -m 1G -cpu max\n";
    assert!(ids(kind, quiet).is_empty(), "{quiet}: {:?}", ids(kind, quiet));
    mended(
        kind,
        "qemu-system-x86_64 -no-hpet -m 1G\n",
        "qemu-system-x86_64 -machine hpet=off -m 1G\n",
    );
    mended(
        kind,
        "M=q35\nqemu-system-x86_64 -M $M,accel=kvm,hpet=on -cpu max -name debian\n",
        "M=q35\nqemu-system-x86_64 -M $M,accel=kvm,hpet=off -cpu max -name debian\n",
    );
}

#[test]
fn qemu_options_that_do_not_start() {
    use Severity::{Error, Info};
    let kind = Kind::Qemu;
    let plain = qemu("-cpu host");
    for option in ["-no-acpi", "--no-acpi"] {
        both(kind, "q-no-acpi-removed", Error, &qemu(option), &plain);
        mended(kind, &qemu(option), &qemu("-machine acpi=off"));
    }
    both(
        kind,
        "q-cpu-without-option",
        Error,
        &qemu("-smbios type=2 Skylake-Client,+invtsc,kvm=on"),
        &plain,
    );
    for value in ["-smbios type=1,vendor=GenuineIntel", "disk.img", "-x host,+invtsc"] {
        assert!(
            !ids(kind, &qemu(value)).iter().any(|found| found.0 == "q-cpu-without-option"),
            "{value}"
        );
    }
    let stimer = qemu("-cpu host,hv_vpindex,hv_synic,hv_stimer");
    both(
        kind,
        "q-hv-time-missing",
        Error,
        &stimer,
        &qemu("-cpu host,hv_vpindex,hv_synic,hv_stimer,hv_time"),
    );
    both(kind, "q-no-invtsc", Info, &plain, &qemu("-cpu host,+invtsc"));
}

#[test]
fn qemu_flags_of_hyperv_are_for_windows() {
    use Severity::{Info, Warn};
    let kind = Kind::Qemu;
    let windows = qemu("-cpu host -name win10");
    both(kind, "q-hv-time-missing", Warn, &windows, &qemu("-cpu host,hv_time -name win10"));
    // Windows is only inferred here, and Windows 2000 does not use it.
    mended(kind, &windows, &windows);
    for name in ["win2000", "winxp-sp3", "debian"] {
        let text = qemu(&format!("-cpu host -name {name}"));
        assert!(!ids(kind, &text).iter().any(|found| found.0 == "q-hv-time-missing"), "{name}");
    }
    let both_flags = qemu("-cpu host,hv_relaxed,+invtsc,vmware-cpuid-freq=on");
    both(
        kind,
        "q-vmware-frequency-lost",
        Info,
        &both_flags,
        &qemu("-cpu host,+invtsc,vmware-cpuid-freq=on"),
    );
    mended(kind, &both_flags, &both_flags);
    let guessed =
        "qemu-system-x86_64 -enable-kvm -cpu core2duo,vendor=GenuineIntel -machine q35 -m 4G\n";
    mended(kind, guessed, guessed);
}

#[test]
fn qemu_confidential_guests_are_left() {
    for object in [
        "-object tdx-guest,id=c0",
        "-object '{\"qom-type\":\"tdx-guest\",\"id\":\"c0\"}'",
        "-object sev-snp-guest,id=c0",
    ] {
        let text = format!(
            "qemu-system-x86_64 -accel kvm -machine q35,confidential-guest-support=c0 {object} -cpu host,-kvmclock -m 4G\n"
        );
        let found = ids(Kind::Qemu, &text);
        assert!(found.iter().all(|(_, severity)| *severity < Severity::Error), "{found:?}");
        mended(Kind::Qemu, &text, &text);
    }
}

#[test]
fn words_of_a_guest_whose_tsc_its_host_cannot_change_are_right() {
    use Severity::{Info, Warn};
    let append = "-kernel bz -append 'console=hvc0 no-kvmclock tsc=reliable'";
    let of = |object: &str, support: &str| {
        let text = format!(
            "qemu-system-x86_64 -accel kvm -cpu host {object} -machine q35,hpet=off{support} {append}\n"
        );
        let mut found = ids(Kind::Qemu, &text);
        found.retain(|(id, _)| id.starts_with("q-guest"));
        found
    };
    let both =
        |severity| vec![("q-guest-no-kvmclock", severity), ("q-guest-tsc-reliable", severity)];
    let support = ",confidential-guest-support=c0";
    for (object, expected) in [
        ("-object tdx-guest,id=c0", vec![]),
        ("-object '{\"qom-type\":\"tdx-guest\",\"id\":\"c0\"}'", vec![]),
        ("-object sev-snp-guest,id=c0,secure-tsc=on", vec![]),
        ("-object '{\"qom-type\":\"sev-snp-guest\",\"id\":\"c0\",\"secure-tsc\":true}'", vec![]),
        ("-object sev-snp-guest,id=c0", both(Info)),
        ("-object sev-snp-guest,id=c0,secure-tsc=off", both(Info)),
        // The object is elsewhere.
        ("$OBJECT", both(Info)),
        ("-object sev-guest,id=c0", both(Warn)),
    ] {
        assert_eq!(of(object, support), expected, "{object}");
    }
    assert_eq!(of("", ""), both(Warn));
    // Only one branch protects the guest.
    let support = "-object tdx-guest,id=c0 -machine confidential-guest-support=c0";
    for more in [
        format!("O=(-nographic)\n[[ $1 ]] && O+=({support})"),
        format!("O=-nographic\nif [ $1 ]; then O=\"$O {support}\"; fi"),
    ] {
        let text = format!(
            "#!/bin/bash\n{more}\nqemu-system-x86_64 -accel kvm -cpu host -machine q35,hpet=off {append} \"${{O[@]}}\"\n"
        );
        let text = if more.contains('(') { text } else { text.replace("\"${O[@]}\"", "$O") };
        let mut found = ids(Kind::Qemu, &text);
        found.retain(|(id, _)| id.starts_with("q-guest"));
        assert!(!found.is_empty() && found.iter().all(|it| it.1 == Info), "{found:?}\n{text}");
    }
    let support = ",confidential-guest-support=c0";
    // What forbids the TSC is wrong there too.
    let text = format!(
        "qemu-system-x86_64 -accel kvm -cpu host -object tdx-guest,id=c0 -machine q35{support} -kernel bz -append notsc\n"
    );
    assert!(ids(Kind::Qemu, &text).contains(&("q-guest-notsc", Warn)));
    for (conf, expected) in
        [("intel-tdx: type=tdx\n", vec![]), ("amd-sev: type=snp\n", both(Info)), ("", both(Warn))]
    {
        let text = format!("ostype: l26\ncores: 2\n{conf}args: {append}\n");
        let mut found = ids(Kind::Proxmox, &text);
        found.retain(|(id, _)| id.starts_with("q-guest"));
        assert_eq!(found, expected, "{conf}");
    }
}

#[test]
fn qemu_hpet_is_claimed_only_where_it_is_certain() {
    let claims = |text: &str| {
        let found = ids(Kind::Qemu, text);
        found.iter().any(|(id, _)| *id == "q-hpet-default-on")
    };
    let run = "qemu-system-x86_64 -enable-kvm -machine q35 -cpu host -m 1G";
    assert!(claims(&format!("{run}\n")));
    assert!(!claims(&format!("{}\n", run.replace("q35", "q35,hpet=off"))));
    for text in [
        format!(
            "P=(-no-hpet -S)\na=()\nfor o in \"${{P[@]}}\"; do a+=(\"$o\"); done\n{run} \"${{a[@]}}\"\n"
        ),
        format!(": \"${{H:=-no-hpet}}\"\n{run} $H\n"),
        format!("declare -A O=([h]=-no-hpet)\n{run} ${{O[h]}}\n"),
    ] {
        assert!(!claims(&text), "{text}");
    }
    let asked = run.replace("q35", "q35,hpet=on");
    let off = run.replace("q35", "q35,hpet=off");
    mended(Kind::Qemu, &format!("{asked} -name debian\n"), &format!("{off} -name debian\n"));
    let wanted = format!("{asked} # a game needs the HPET\n");
    mended(Kind::Qemu, &wanted, &wanted);
}

#[test]
fn qemu_plain_commands_are_recognised() {
    for (name, text) in [
        (
            "run.sh",
            "#!/bin/sh\nqemu-system-x86_64 -kernel bzImage -nographic -m 2048 -append quiet\n",
        ),
        ("run.sh", "qemu-system-x86_64 -m 1G -hda a.img\n"),
        (
            "vm.service",
            "[Service]\nEnvironmentFile=/etc/vm/%i\nExecStart=/usr/bin/qemu-system-x86_64 -name %i -nographic $args\n",
        ),
        (
            "vm.conf",
            "type=\"x\"\nargs=\"-enable-kvm -M q35 -m 6000 \\\n-cpu host,hv-time -smp 4 \\\n-drive file=a\"\n",
        ),
    ] {
        let document = Document::new(name, text.as_bytes()).unwrap();
        assert_eq!(document.kind, Kind::Qemu, "{text}");
        assert!(lint(&document).is_ok(), "{text}");
    }
    let template = "{\n \"cpuid_modifiers\": [{\"leaf\": \"0x80000007\", \"subleaf\": \"0x0\", \"flags\": 0, \"modifiers\": [{\"register\": \"edx\", \"bitmap\": \"0bxxxxxxxxxxxxxxxxxxxxxxx0xxxxxxxx\"}]}]\n}";
    let document = Document::new("t.json", template.as_bytes()).unwrap();
    assert_eq!(document.kind, Kind::Firecracker);
    assert!(lint(&document).unwrap().findings.iter().any(|f| f.rule.id == "fc-invtsc-masked"));
    assert!(Document::new("notes.txt", b"apt install qemu-system-x86 and read on\n").is_err());
}

/// One branch of an `if` or a `case` runs: each is judged together with the options outside the branches.
#[test]
fn qemu_cpu_in_branches_is_not_repeated() {
    let kind = Kind::Qemu;
    let script = |body: &str| {
        format!(
            "#!/bin/bash\nA=(-machine q35,hpet=off -m 1G)\n{body}qemu-system-x86_64 \"${{A[@]}}\"\n"
        )
    };
    let kvm = "A+=(-accel kvm -cpu host,migratable=no,+invtsc)";
    for body in [
        format!("if [ \"$K\" = 1 ]; then\n  {kvm}\nelse\n  A+=(-cpu Haswell)\nfi\n"),
        format!(
            "if [ \"$K\" = 1 ]; then {kvm}; elif x; then A+=(-cpu Nehalem); else A+=(-cpu Haswell); fi\n"
        ),
        format!(
            "case $K in\n  a) {kvm} ;;\n  b|c)\n    A+=(-cpu Haswell)\n    ;;\n  *) A+=(-cpu max) ;;\nesac\n"
        ),
        format!("case $K in a) A+=(-cpu Haswell);; b) {kvm};; esac\n"),
        format!(
            "if y; then\n  if x; then\n    {kvm}\n  else\n    A+=(-cpu Haswell)\n  fi\nelse\n  A+=(-cpu max)\nfi\n"
        ),
        format!("A+=(-cpu Haswell)\nif x; then\n  {kvm}\nfi\n"),
        format!("[ \"$K\" ] && A+=(-cpu Haswell) || {kvm}\n"),
        format!("A+=(-cpu Haswell)\n[ \"$K\" ] && {kvm}\n"),
        format!("M=Haswell\n[ \"$K\" ] && A+=(-cpu $M,vendor=GenuineIntel) || {kvm}\n"),
    ] {
        let found = ids(kind, &script(&body));
        assert!(!found.iter().any(|(id, _)| *id == "q-cpu-repeated"), "{found:?}\n{body}");
        assert!(found.contains(&("q-invtsc-migblock", Severity::Warn)), "{found:?}\n{body}");
        mends(kind, &script(&body));
    }
    // One straight path, also inside a branch.
    for body in [
        format!("A+=(-cpu Haswell)\n{kvm}\n"),
        format!("if x; then\n  A+=(-cpu Haswell)\n  {kvm}\nelse\n  A+=(-cpu max)\nfi\n"),
    ] {
        let found = ids(kind, &script(&body));
        assert!(found.contains(&("q-cpu-repeated", Severity::Warn)), "{found:?}\n{body}");
    }
    // A branch for another architecture does not apply to this program.
    let other = "#!/bin/bash\nA=(-m 1G)\nif [ $X = arm64 ]; then Q=qemu-system-aarch64; A+=(-machine virt -cpu cortex-a53); else \
        Q=qemu-system-x86_64; A+=(-machine q35,hpet=off -enable-kvm -cpu host,+invtsc,tsc-frequency=2600000000); fi\n\"$Q\" \"${A[@]}\"\n";
    let found = ids(kind, other);
    assert!(found.iter().all(|(_, severity)| *severity == Severity::Info), "{found:?}");
    assert!(!found.iter().any(|(id, _)| *id == "q-no-invtsc"), "{found:?}");
}

/// A value whose text is in a variable above the condition goes with its option.
#[test]
fn qemu_value_in_a_variable_goes_with_its_branch() {
    let kind = Kind::Qemu;
    let script = |value: &str| {
        format!(
            "#!/bin/bash\nmodel=\"Skylake-Client\"\nflags=vendor=GenuineIntel\nA=(-enable-kvm -machine q35,hpet=off -m 1G)\n\
             if [ -n \"$S\" ]; then\n  A+=(-cpu {value} -device ahci)\nelse\n  A+=(-cpu host)\nfi\nqemu-system-x86_64 \"${{A[@]}}\"\n"
        )
    };
    for value in
        ["\"$model\",vendor=GenuineIntel,kvm=on", "\"$model,$flags\"", "Nehalem,\"$flags\""]
    {
        let found = ids(kind, &script(value));
        assert!(
            found.iter().all(|(_, severity)| *severity == Severity::Info),
            "{found:?}\n{value}"
        );
        assert!(found.iter().any(|(id, _)| *id == "q-no-invtsc"), "{found:?}\n{value}");
        mends(kind, &script(value));
    }
    both(
        kind,
        "q-hypervisor-hidden",
        Severity::Error,
        &script("\"$model\",-hypervisor"),
        &script("\"$model\",+hypervisor"),
    );
}

/// A hidden clock is a lesser problem where another clock is available.
#[test]
fn qemu_hidden_beside_another_clock_matters_less() {
    let cpu = |flags: &str| qemu(&format!("-cpu host{flags}"));
    let fast = ",+invtsc,tsc-frequency=2600000000";
    let severity = |kind: Kind, id: &str, text: &str| {
        let found = ids(kind, text).into_iter().find(|(known, _)| *known == id);
        found.unwrap_or_else(|| panic!("{id} not in\n{text}")).1
    };
    let args = |flags: &str| format!("name: a\nmemory: 1024\nargs: -cpu host{flags}\n");
    for (text, wanted) in [
        (args(&format!(",hv_time,hv_relaxed,kvm=off{fast}")), Severity::Info),
        (args(&format!(",kvm=off{fast}")), Severity::Warn),
        (args(",kvm=off"), Severity::Warn),
    ] {
        assert_eq!(severity(Kind::Proxmox, "q-kvm-off", &text), wanted, "{text}");
    }
    for name in ["win10", "debian", "a"] {
        let hidden = cpu(&format!(",-hypervisor{fast} -name {name}"));
        assert_eq!(severity(Kind::Qemu, "q-hypervisor-hidden", &hidden), Severity::Warn, "{name}");
        let slow = cpu(&format!(",-hypervisor -name {name}"));
        assert_eq!(severity(Kind::Qemu, "q-hypervisor-hidden", &slow), Severity::Error, "{name}");
        let domain = |invtsc: &str| {
            let features = format!("<feature policy='disable' name='hypervisor'/>{invtsc}");
            domain(name, "", &feature(&features), QUIET_CLOCK, "")
        };
        let with = domain("<feature policy='require' name='invtsc'/>");
        assert_eq!(
            severity(Kind::Libvirt, "lv-hypervisor-hidden", &with),
            Severity::Warn,
            "{name}"
        );
        let error = severity(Kind::Libvirt, "lv-hypervisor-hidden", &domain(""));
        assert_eq!(error, Severity::Error, "{name}");
    }
}

#[test]
fn qemu_default_is_for_an_empty_variable_too() {
    let run = "qemu-system-x86_64 -enable-kvm -m 1G -cpu";
    let id = "q-kvmclock-off-no-invtsc";
    for (with, without) in [
        ("C=\"\"\nRUN ${C:-host,-kvmclock}\n", "C=\"\"\nRUN ${C-host,-kvmclock}\n"),
        ("C=\nRUN \"${C:-host,-kvmclock}\"\n", "C=host\nRUN \"${C:-host,-kvmclock}\"\n"),
        ("C=\nRUN \"${C:=host,-kvmclock}\"\n", "C=max\nRUN \"${C:=host,-kvmclock}\"\n"),
    ] {
        both(
            Kind::Qemu,
            id,
            Severity::Error,
            &with.replace("RUN", run),
            &without.replace("RUN", run),
        );
    }
}

#[test]
fn qemu_typographic_quotes_around_a_value_are_letters() {
    let of = |rest: &str| {
        ids(Kind::Qemu, &format!("#!/bin/sh\nqemu-system-x86_64 -enable-kvm {rest} -m 1G\n"))
    };
    let found = ("q-typographic-quote", Severity::Error);
    assert!(of("-cpu \u{201c}host,kvmclock=off\u{201d}").contains(&found));
    assert!(of("-machine \u{2018}q35\u{2019}").contains(&found));
    assert!(!of("-cpu \"host\" -name \u{201c}a\u{201d}").contains(&found));
}

/// The rules that a text has.
fn names(text: &str) -> Vec<&'static str> {
    ids(Kind::Qemu, text).into_iter().map(|(id, _)| id).collect()
}

#[test]
fn options_of_other_programs_are_none_of_qemu() {
    let told =
        "#!/bin/sh\nseq 3 | xargs -L1 ./go.sh -b ../bin/qemu-system-x86_64 -r disk -c 2 -m 256\n";
    assert_eq!(Kind::detect("run.sh", told), Some(Kind::Qemu));
    assert_eq!(names(told), ["q-value-unknown"]);
    let shrinks = "#!/bin/sh\nv=`qemu-system-aarch64 --version | head -1`\nresize2fs -M fs.img\n";
    let document = Document::new("shrink.sh", shrinks.as_bytes());
    assert!(document.is_err() || lint(&document.unwrap()).is_err());
    let real = "#!/bin/sh\nif [ \"$1\" = fast ]; then\n  ./wrap.sh -- qemu-system-x86_64 -m 1G -cpu host,kvm=off -accel kvm\nfi\n";
    assert!(names(real).contains(&"q-kvm-off"));
}

#[test]
fn values_of_keyed_arrays_and_variables_are_options() {
    let keyed = |machine: &str, cpu: &str| {
        format!(
            "#!/bin/bash\ndeclare -A PART=(\n  [\"cpu\"]=\"-cpu {cpu}\"\n  [\"machine\"]=\"-machine {machine}\"\n  [\"mem\"]=\"-m 2048\"\n)\n\
             go \"${{PART[@]}}\"\n# qemu-system-aarch64, qemu-system-x86_64\n"
        )
    };
    assert_eq!(names(&keyed("virt", "cortex-a57")), [""; 0]);
    assert!(names(&keyed("q35", "host,kvm=off")).contains(&"q-kvm-off"));
    // Settings of several machines, of which one is chosen elsewhere.
    let several = "QEMU=qemu-system-x86_64\none() {\n  KVM=\"-enable-kvm -cpu host\"\n  MACHINE=\"-machine q35\"\n}\n\
                   other() {\n  QEMU=qemu-system-aarch64\n  MACHINE=\"-machine virt -bios a.fd\"\n}\n";
    assert!(!names(several).contains(&"q-hpet-default-on"));
    let windows = several.replace("-cpu host", "-cpu host,hv_time");
    assert_eq!(lint(&document(Kind::Qemu, &windows)).unwrap().guest, clocksmith_vm::Guest::Unknown);
}

#[test]
fn program_whose_processor_is_in_a_variable_is_qemu() {
    let unit = |options: &str| {
        format!(
            "[Service]\nEnvironmentFile=/etc/vm/%i.conf\nExecStart=/bin/sh -c 'exec /usr/bin/qemu-system-$ARCH -name %i {options}$OPTIONS'\n"
        )
    };
    assert_eq!(Kind::detect("vm@.service", &unit("")), Some(Kind::Qemu));
    assert_eq!(names(&unit("")), [""; 0]);
    assert!(names(&unit("-machine q35 ")).contains(&"q-hpet-default-on"));
    let later = |options: &str| {
        unit(options).replace("'exec", "'TAP=/dev/tap$(cat /sys/class/net/$DEV/ifindex); exec")
    };
    assert_eq!(Kind::detect("vm@.service", &later("")), Some(Kind::Qemu));
    assert_eq!(names(&later("")), [""; 0]);
    assert!(names(&later("-machine q35 ")).contains(&"q-hpet-default-on"));
}

#[test]
fn command_line_that_a_makefile_writes_is_read() {
    let text = |options: &str| {
        format!(
            "run.sh: disk.img\n\techo \"#!/bin/sh\" > run.sh\n\t[ \"$${{NET}}\" = a ] && echo \"qemu-system-x86_64 -m 32 {options} -hda disk.img\" >> run.sh || true\n\
             \t[ \"$${{NET}}\" = b ] && echo \"qemu-system-x86_64 -m 32 {options} -nic none -hda disk.img\" >> run.sh || true\n"
        )
    };
    assert_eq!(Kind::detect("Makefile", &text("")), Some(Kind::Qemu));
    assert!(names(&text("-accel kvm -cpu host,kvm=off")).contains(&"q-kvm-off"));
    assert!(!names(&text("")).contains(&"q-kvm-off"));
    let report = lint(&document(Kind::Qemu, &text(""))).unwrap();
    let first = report.findings.first().unwrap();
    assert!(text("").get(first.span.clone()).unwrap().contains("qemu-system-x86_64"), "{first:?}");
}

#[test]
fn words_that_only_a_run_tells_may_disable_the_hpet() {
    let summary = |more: &str| {
        let text = format!("#!/bin/sh\nexec qemu-system-x86_64 -accel kvm -cpu host -m 1G{more}\n");
        let report = lint(&document(Kind::Qemu, &text)).unwrap();
        let finding = report.findings.into_iter().find(|it| it.rule.id == "q-hpet-default-on");
        finding.unwrap().summary.unwrap_or_default()
    };
    assert!(summary(" $OPTIONS").contains("unless words that only a run shows"));
    assert_eq!(summary(" -smp \"$CPUS\" -hda $DISK"), "");
}

fn all(name: &str, text: &str) -> Vec<&'static str> {
    let document = Document::of_kind(name, text.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap_or_else(|error| panic!("{error}\n{text}"));
    report.findings.iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn printed_command_line_starts_no_machine() {
    let id = "q-no-hpet-removed";
    for (name, print) in [
        (
            "a.ps1",
            "Write-Host \"Run: qemu-system-x86_64 -no-hpet -m 1G\"\n& qemu-system-x86_64 -m 128M",
        ),
        ("a.ps1", "write-output \"qemu-system-x86_64 -no-hpet\"\n& qemu-system-x86_64 -m 128M"),
        (
            "a.py",
            "print(\"Run: qemu-system-x86_64 -no-hpet -m 1G\")\nrun([\"qemu-system-x86_64\", \"-m\", \"1G\"])",
        ),
        (
            "a.js",
            "console.log(\"try qemu-system-x86_64 -no-hpet -m 1G\");\nspawn(\"qemu-system-x86_64\", [\"-m\", \"1G\", \"-smp\", \"2\", \"-hda\", \"a\"]);",
        ),
    ] {
        assert!(!all(name, &format!("{print}\n")).contains(&id), "{print}");
    }
    for (name, run) in [
        ("a.ps1", "Invoke-Expression \"qemu-system-x86_64 -no-hpet -m 1G\""),
        ("a.py", "os.system(\"qemu-system-x86_64 -no-hpet -m 1G\")"),
    ] {
        assert!(all(name, &format!("{run}\n")).contains(&id), "{run}");
    }
}

#[test]
fn variable_that_may_request_kvm_does_not_show_that_nothing_does() {
    let text = |set: &str, options: &str| {
        format!("#!/bin/sh\n{set}\nqemu-system-x86_64 $A -m 1G {options} -hda a.img\n")
    };
    for set in [
        "A=\"\"\nif [ -w /dev/kvm ]; then\n  A=\"-enable-kvm\"\nfi",
        "A=\"\"\n[ -w /dev/kvm ] && A=\"-accel kvm\"",
        "A='-nographic'\nif grep -q vmx /proc/cpuinfo; then A='-machine accel=kvm'; fi",
    ] {
        for options in ["", "-cpu max"] {
            let text = text(set, options);
            assert!(!all("a.sh", &text).contains(&"q-emulated"), "{text}");
        }
    }
    // The values of a variable about something else change nothing.
    let net = text("A=\"\"\nif $net; then\n  A=\"-nic user\"\nfi", "-cpu max");
    assert!(all("a.sh", &net).contains(&"q-emulated"));
}

#[test]
fn line_ends_of_powershell_are_no_commands_of_a_shell() {
    let text = "$a = \"x`n\"\n& qemu-system-x86_64 -m 1G -cpu host,-hypervisor -accel kvm\n$b = @(1) -join \"`n\"\n";
    assert!(all("a.ps1", text).contains(&"q-hypervisor-hidden"));
    // A name of a command is longer.
    let shell = "#!/bin/sh\nqemu-system-x86_64 -m 1G -smp \"`nproc`\" -no-hpet -name \"`name`\"\n";
    assert!(all("a.sh", shell).contains(&"q-no-hpet-removed"));
}

#[test]
fn program_whose_name_a_branch_completes_has_a_place() {
    let text = "#!/bin/sh\nA=\"$1\"\nif [ $A = x86 ]; then A=i386; fi\nqemu-system-${A} $*\n";
    let report = lint(&document(Kind::Qemu, text)).unwrap();
    for finding in report.findings {
        assert!(!finding.span.is_empty(), "{finding:?}");
        assert!(!finding.summary.unwrap_or_default().contains("function  "));
    }
}

#[test]
fn program_that_is_chosen_by_the_processor_shows_no_clock_of_a_pc() {
    let python = "q = {\"x86_64\": \"qemu-system-x86_64\", \"arm64\": \"qemu-system-aarch64\"}[machine()]\nrun([q, \"-accel\", \"kvm\", \"-cpu\", \"host\", \"-m\", \"1G\"])\n";
    let script = "const q = arm ? \"qemu-system-aarch64\" : \"qemu-system-x86_64\";\nspawn(q, [\"-accel\", \"kvm\", \"-cpu\", \"host\", \"-m\", \"1G\"]);\n";
    let shell = "#!/bin/sh\nqemu-system-$1 -accel kvm -cpu host -m 1G -hda a.img\n";
    for (name, text) in [("a.py", python), ("a.ts", script), ("a.sh", shell)] {
        for id in ["q-no-invtsc", "q-hpet-default-on"] {
            assert!(!all(name, text).contains(&id), "{name} {id}");
        }
    }
    // The machine type says it.
    let pc = shell.replace("-m 1G", "-m 1G -machine q35");
    assert!(all("a.sh", &pc).contains(&"q-no-invtsc"));
}

#[test]
fn machine_type_of_an_unknown_name_may_have_no_hpet() {
    let has = |machine: &str| {
        let text = format!("qemu-system-x86_64 -machine {machine},accel=kvm -m 1G\n");
        ids(Kind::Qemu, &text).iter().any(|found| found.0 == "q-hpet-default-on")
    };
    for machine in ["pc", "q35", "pc-q35-8.1", "pc-i440fx-rhel7.6.0", "pc-1.3", "ubuntu-q35"] {
        assert!(has(machine), "{machine}");
    }
    for machine in ["pc-lite", "foo", "microvm"] {
        assert!(!has(machine), "{machine}");
    }
}

#[test]
fn variables_of_a_batch_file_are_unknown() {
    let of = |line: &str| {
        let text = format!("@echo off\r\nset \"A=-accel whpx\"\r\nqemu-system-x86_64 {line}\r\n");
        ids(Kind::Qemu, &text).iter().any(|found| found.0 == "q-emulated")
    };
    assert!(of("-m 2G"));
    for line in
        ["%A% -m 2G", "%* -m 2G", "-m 2G %1", "-m 2G %~2", "-machine q35,accel=%ACCEL% -m 2G"]
    {
        assert!(!of(line), "{line}");
    }
    // A mark in the name of a disk is no variable.
    assert!(of("-m 2G -drive file=a%20b%20c.img"));
}

#[test]
fn value_that_only_begins_another_one_is_no_machine() {
    let has = |text: &str, id: &str| ids(Kind::Qemu, text).iter().any(|found| found.0 == id);
    for rest in [
        "S=\"$Q \"\nS+=\" -enable-kvm -machine hpet=off\"\neval $S\n",
        "S=\"${Q} -enable-kvm -machine hpet=off\"\n$S\n",
    ] {
        let text = format!("#!/bin/bash\nQ=\"qemu-system-x86_64 -m 1G\"\n{rest}");
        assert!(!has(&text, "q-emulated"), "{text}");
        assert!(!has(&text, "q-hpet-default-on"), "{text}");
    }
    // One that runs itself is a machine.
    let text = "#!/bin/bash\nQ=\"qemu-system-x86_64 -m 1G\"\nS=\"$Q -enable-kvm\"\n$Q\n$S\n";
    assert!(has(text, "q-emulated"), "{text}");
}

#[test]
fn number_of_processors_alone_shows_no_machine() {
    let text = "SMP=\"-smp 4\"\nQEMU_BIN=/usr/bin/qemu-system-x86_64\n";
    assert!(ids(Kind::Qemu, text).iter().all(|found| found.0 != "q-hpet-default-on"));
}

#[test]
fn the_program_kvm_with_its_directory_is_qemu() {
    for program in ["kvm", "/usr/bin/kvm", "/bin/kvm"] {
        let text = format!("#!/bin/sh\n{program} -cpu host,-hypervisor -m 1G -hda d.qcow2\n");
        assert_eq!(Kind::detect("a.sh", &text), Some(Kind::Qemu), "{program}");
    }
    assert_eq!(Kind::detect("a.sh", "#!/bin/sh\ntest -c /dev/kvm -cpu\n"), None);
}

#[test]
fn option_of_the_hpet_is_removed_where_the_machine_has_none() {
    for machine in ["microvm", "none", "xenpvh", "isapc", "microvm,rtc=on"] {
        let text =
            format!("qemu-system-x86_64 -enable-kvm -M {machine} -no-hpet -cpu host -kernel k\n");
        let found = lint(&document(Kind::Qemu, &text)).unwrap().findings;
        let found = found.iter().find(|it| it.rule.id == "q-no-hpet-removed").unwrap();
        let fix = found.fix.as_deref().unwrap();
        assert!(fix.starts_with("remove it") && !fix.contains("hpet=off"), "{fix}");
        assert!(found.left.is_some() && found.edits.is_empty());
        mended(Kind::Qemu, &text, &text);
    }
    let pc = "qemu-system-x86_64 -enable-kvm -M q35 -no-hpet -cpu host -kernel k\n";
    mended(Kind::Qemu, pc, &pc.replace("-no-hpet", "-machine hpet=off"));
}

#[test]
fn list_of_what_a_machine_has_starts_none() {
    for line in ["-M q35,help", "-cpu host,help", "-device virtio-net-pci,help -enable-kvm -m 1G"] {
        let text = format!(
            "#!/bin/bash\nqemu-system-x86_64 {line} | grep -q hpet && echo yes\nqemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu host,+invtsc -m 1G\n"
        );
        let found = ids(Kind::Qemu, &text);
        assert!(
            found.iter().all(|it| !matches!(it.0, "q-emulated" | "q-hpet-default-on")),
            "{line}: {found:?}"
        );
    }
}

#[test]
fn list_of_strings_without_blanks_is_a_command_line() {
    for text in [
        "FROM debian\nCMD [\"qemu-system-x86_64\",\"-enable-kvm\",\"-cpu\",\"host,kvmclock=off\",\"-m\",\"2G\",\"-hda\",\"debian.img\"]\n",
        "FROM debian\nENTRYPOINT [\"sh\",\"-c\",\"exec qemu-system-x86_64 -enable-kvm -cpu host,kvmclock=off -m 2G -hda debian.img\"]\n",
    ] {
        let document = Document::of_kind("Dockerfile", text.as_bytes(), Kind::Qemu).unwrap();
        let report = lint(&document).unwrap();
        let found: Vec<_> = report.findings.iter().map(|it| it.rule.id).collect();
        assert!(found.contains(&"q-kvmclock-off-no-invtsc"), "{found:?}");
        assert!(report.findings.iter().all(|it| it.edits.is_empty()));
    }
    let json = "{\"cmd\":[\"qemu-system-x86_64\",\"-enable-kvm\",\"-cpu\",\"host,kvmclock=off\",\"-m\",\"2G\",\"-hda\",\"debian.img\"]}\n";
    let document = Document::of_kind("a.json", json.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap();
    assert!(report.findings.iter().any(|it| it.rule.id == "q-kvmclock-off-no-invtsc"));
    // A string that is only a comma is no separator.
    let joined = "a := [][\"\"]\nrun(strings.Join([\"qemu-system-x86_64\", \"-enable-kvm\", \"-m\", \"1G\", \"-cpu\", \"host\" + \",\" + \"kvmclock=off\"]))\n";
    let document = Document::of_kind("a.go", joined.as_bytes(), Kind::Qemu).unwrap();
    assert!(lint(&document).is_ok());
}

#[test]
fn placeholder_of_another_language_in_a_cpu_is_not_known() {
    for (name, filled) in [
        ("a.rb", "#{cpu}"),
        ("a.sh", "%s"),
        ("a.sh", "__CPU__"),
        ("a.tmpl", "@CPU@"),
        ("a.sh", "{}"),
        ("a.bat", "!CPU!"),
        ("a.erb", "<%= @cpu %>"),
        ("a.kdl", "$[cpu]"),
        ("a.sh", "host,%s"),
        ("a.sh", "'$$CPU'"),
    ] {
        let text = format!(
            "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu {filled} -m 8G -drive file=DISK.qcow2\n"
        );
        for disk in ["windows11", "debian12"] {
            let text = text.replace("DISK", disk);
            let document = Document::of_kind(name, text.as_bytes(), Kind::Qemu).unwrap();
            let found: Vec<_> =
                lint(&document).unwrap().findings.iter().map(|it| it.rule.id).collect();
            assert!(found.iter().all(|id| *id == "q-value-unknown"), "{name} {filled}: {found:?}");
            mended(Kind::Qemu, &text, &text);
        }
    }
    let text = "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu %s -m 8G -drive file=a.qcow2\n";
    let report = lint(&document(Kind::Qemu, text)).unwrap();
    let unknown = report.findings.iter().find(|it| it.rule.id == "q-value-unknown").unwrap();
    assert_eq!(text.get(unknown.span.clone()), Some("%s"));
    // What the other parts state is still known.
    let text = "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu host,kvm=off,#{more} -m 8G -drive file=debian.qcow2\n";
    assert!(ids(Kind::Qemu, text).iter().any(|it| it.0 == "q-kvm-off"));
    // The name that the guest sees may have any letters.
    let text = "qemu-system-x86_64 -enable-kvm -M q35,hpet=off -cpu 'host,kvmclock=off,model-id=CPU @ 2.4GHz' -m 8G -drive file=debian.qcow2\n";
    assert!(ids(Kind::Qemu, text).iter().any(|it| it.0 == "q-kvmclock-off-no-invtsc"));
}

#[test]
fn option_that_a_later_query_takes_out_is_no_error() {
    use Severity::{Error, Info};
    let of = |rest: &str| {
        let text = format!(
            "#!/bin/bash\nA=(-no-hpet -enable-kvm -machine q35 -cpu host)\n{rest}\nqemu-system-x86_64 \"${{A[@]}}\" -kernel k\n"
        );
        let found = ids(Kind::Qemu, &text);
        mended(Kind::Qemu, &text, &text);
        found.into_iter().find(|it| it.0 == "q-no-hpet-removed").map(|it| it.1)
    };
    let old = "[ \"$(qemu-system-x86_64 --version | grep -c 'version [0-8]')\" -gt 0 ]";
    for taken in ["A=(\"${A[@]:1}\")", "A=(\"${A[@]/-no-hpet}\")", "A=(\"${A[@]/#-no-hpet/}\")"] {
        assert_eq!(of(&format!("{old} || {taken}")), Some(Info), "{taken}");
        assert_eq!(of(&format!("if ! {old}; then\n  {taken}\nfi")), Some(Info), "{taken}");
    }
    assert_ne!(of(&format!("{old} || unset 'A[0]'")), Some(Error));
    let new = "VER=$(qemu-system-x86_64 --version | sed -n 's/.*version \\([0-9]*\\).*/\\1/p')";
    for rest in [
        "if (( VER >= 9 )); then A=(\"${A[@]/#-no-hpet/-nodefaults}\"); fi",
        "if [ \"$VER\" -ge 9 ]; then\n  N=(); for o in \"${A[@]}\"; do [ \"$o\" = -no-hpet ] || N+=(\"$o\"); done; A=(\"${N[@]}\")\nfi",
        "if [ \"$VER\" -ge 9 ]; then\n  # without hpet\n  A=(-enable-kvm -cpu host -machine q35,hpet=off)\nfi",
    ] {
        assert_eq!(of(&format!("{new}\n{rest}")), Some(Info), "{rest}");
    }
    let asks = "qemu-system-x86_64 -M q35,help | grep -q hpet && A=(-enable-kvm -cpu host -M q35,hpet=off)";
    assert_eq!(of(asks), Some(Info));
    // The new value is about something else.
    let other = "if [ \"$VER\" -ge 9 ]; then A=(-cpu host); fi";
    assert_eq!(of(&format!("{new}\n{other}")), Some(Error));
    // Another array, no query, and a query that adds something.
    for rest in [
        format!("{old} || B=(\"${{B[@]:1}}\")"),
        format!("{old} || A+=(-S)"),
        format!("{old} || echo new"),
    ] {
        assert_eq!(of(&rest), Some(Error), "{rest}");
    }
    let text = format!(
        "#!/bin/bash\nH=-no-hpet\n{old} || H=\nqemu-system-x86_64 -enable-kvm -M q35 -cpu host $H -kernel k\n"
    );
    assert!(
        ids(Kind::Qemu, &text).contains(&("q-no-hpet-removed", Info)),
        "{:?}",
        ids(Kind::Qemu, &text)
    );
}

//! Command lines of QEMU.

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
    both(kind, "q-hpet-default-on", Warn, &plain.replace(",hpet=off", ""), &plain);
    both(
        kind,
        "q-hpet-default-on",
        Warn,
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
    both(kind, "q-invtsc-migblock", Warn, &cpu("host,migratable=off"), &plain);
    both(kind, "q-invtsc-freq-ok", Info, &cpu("host,+invtsc,tsc-frequency=2200000000"), &plain);
    both(kind, "q-invtsc-disabled", Warn, &cpu("host,-invtsc"), &plain);
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
    has(
        "start qemu-system-x86_64.exe ^\r\n -m 1G ^\r\n -cpu qemu64,kvm=off\r\n",
        "q-kvm-off",
        Warn,
    );
    has(
        "cmd = [\n  \"-enable-kvm\", \"-machine\", \"q35\",\n  \"-cpu\", \"host,kvm=off\",\n]\n",
        "q-kvm-off",
        Warn,
    );
    let asks = "CPU=host\nif grep -q constant_tsc /proc/cpuinfo; then\n  CPU=\"$CPU,+invtsc\"\nfi\nqemu-system-x86_64 -m 1G -cpu $CPU\n";
    has(asks, "q-invtsc-conditional-ok", Info);
    assert!(!ids(kind, asks).iter().any(|found| found.0 == "q-invtsc-migblock"));
    // Both ways that a variable may go are looked at.
    has(
        "CPU=host,kvm=off\nif [ \"$1\" ]; then CPU=qemu64; fi\nqemu-system-x86_64 -m 1G -cpu $CPU\n",
        "q-kvm-off",
        Warn,
    );
    // What is not known is not guessed.
    for quiet in [
        "qemu-system-x86_64 -M q35,hpet=off -m 1G -cpu $1\n",
        "qemu-system-aarch64 -M virt -m 1G -cpu max\n",
    ] {
        assert!(ids(kind, quiet).is_empty(), "{quiet}: {:?}", ids(kind, quiet));
    }
    mended(
        kind,
        "qemu-system-x86_64 -no-hpet -m 1G\n",
        "qemu-system-x86_64 -machine hpet=off -m 1G\n",
    );
    mended(
        kind,
        "M=q35\nqemu-system-x86_64 -M $M,accel=kvm -m 1G\n",
        "M=q35\nqemu-system-x86_64 -M $M,accel=kvm,hpet=off -m 1G\n",
    );
}

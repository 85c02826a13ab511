//! Each rule both ways: a small file that has it, and the same file without. Whatever `fix` mends is
//! gone afterwards, and mending twice is mending once.
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_vm::{Choices, Document, Guest, Kind, Severity, fix, lint};

fn document(kind: Kind, text: &str) -> Document {
    Document::of_kind("file", text.as_bytes(), kind).unwrap()
}

fn ids(kind: Kind, text: &str) -> Vec<(&'static str, Severity)> {
    let report = lint(&document(kind, text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    report.findings.iter().map(|finding| (finding.rule.id, finding.severity)).collect()
}

/// `with` has the finding, `without` has not.
#[track_caller]
fn both(kind: Kind, id: &str, severity: Severity, with: &str, without: &str) {
    assert!(
        ids(kind, with).contains(&(id, severity)),
        "{id} not in {:?} of\n{with}",
        ids(kind, with)
    );
    assert!(!ids(kind, without).iter().any(|found| found.0 == id), "{id} in\n{without}");
    for text in [with, without] {
        mends(kind, text);
    }
}

/// Mending leaves nothing that it could mend, and does so at once.
#[track_caller]
fn mends(kind: Kind, text: &str) {
    let document = document(kind, text);
    let once = fix(&document, &Choices::default()).unwrap();
    let twice = fix(&once.document, &Choices::default()).unwrap();
    assert_eq!(once.document.text, twice.document.text);
    assert!(twice.mended.is_empty(), "{:?}", twice.mended);
    for finding in &once.report.findings {
        assert!(
            finding.edits.is_empty(),
            "{} is left with a change in\n{}",
            finding.rule.id,
            once.document.text.as_str()
        );
    }
}

#[track_caller]
fn mended(kind: Kind, before: &str, after: &str) {
    let fixed = fix(&document(kind, before), &Choices::default()).unwrap();
    assert_eq!(fixed.document.text.as_str(), after);
}

fn domain(name: &str, features: &str, cpu: &str, clock: &str, rest: &str) -> String {
    format!(
        "<domain type='kvm'>\n  <name>{name}</name>\n  <os>\n    <type arch='x86_64' machine='q35'>hvm</type>\n  \
         </os>\n  <features>\n    <acpi/>\n{features}  </features>\n{cpu}{clock}{rest}</domain>\n"
    )
}

const PLAIN_CPU: &str = "  <cpu mode='host-passthrough' migratable='on'>\n    <topology sockets='1' cores='2' threads='1'/>\n  </cpu>\n";
const QUIET_CLOCK: &str =
    "  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n  </clock>\n";

fn clock(timers: &str) -> String {
    format!("  <clock offset='utc'>\n    <timer name='hpet' present='no'/>\n{timers}  </clock>\n")
}

fn feature(feature: &str) -> String {
    format!("  <cpu mode='host-passthrough' migratable='on'>\n    {feature}\n  </cpu>\n")
}

fn arguments(cpu: &str) -> String {
    format!(
        "  <qemu:commandline>\n    <qemu:arg value='-cpu'/>\n    <qemu:arg value='{cpu}'/>\n  </qemu:commandline>\n"
    )
}

#[test]
fn libvirt_timers() {
    use Severity::{Error, Info, Warn};
    let with = |name: &str, timers: &str| domain(name, "", PLAIN_CPU, &clock(timers), "");
    let kind = Kind::Libvirt;
    let plain = with("debian", "");
    both(
        kind,
        "lv-hpet-default-on",
        Warn,
        &domain("x", "", PLAIN_CPU, "  <clock offset='utc'/>\n", ""),
        &plain,
    );
    both(kind, "lv-hpet-default-on", Warn, &domain("x", "", PLAIN_CPU, "", ""), &plain);
    both(kind, "lv-hpet-on", Warn, &plain.replace("present='no'", "present='yes'"), &plain);
    let tsc = with("debian", "    <timer name='tsc' present='yes' mode='native'/>\n");
    both(kind, "lv-tsc-timer-noop", Warn, &tsc, &plain);
    let native = with("debian", "    <timer name='tsc' frequency='2000000000' mode='native'/>\n");
    both(kind, "lv-tsc-timer-noop", Warn, &native, &plain);
    both(
        kind,
        "lv-rtc-pit-present-noop",
        Info,
        &with("debian", "    <timer name='pit' present='no'/>\n"),
        &plain,
    );
    let catchup = "    <timer name='rtc' tickpolicy='catchup'/>\n";
    both(
        kind,
        "lv-tickpolicy-catchup-linux",
        Info,
        &with("debian", catchup),
        &with("win10", catchup),
    );
    let off = "    <timer name='kvmclock' present='no'/>\n";
    both(kind, "lv-kvmclock-off-no-invtsc", Error, &with("debian", off), &with("win10", off));
    both(kind, "lv-kvmclock-off", Warn, &with("win10", off), &plain);
    let reference = "    <timer name='hypervclock' present='yes'/>\n";
    both(kind, "lv-hypervclock-missing", Warn, &with("win10", ""), &with("win10", reference));
    both(kind, "lv-hypervclock-ok", Info, &with("win10", reference), &with("win10", ""));
    let twice =
        "    <timer name='pit' tickpolicy='delay'/>\n    <timer name='pit' tickpolicy='delay'/>\n";
    both(kind, "lv-duplicate-timer", Warn, &with("debian", twice), &plain);
    both(
        kind,
        "lv-frequency-without-invtsc",
        Info,
        &with("x", "    <timer name='tsc' frequency='2000000000'/>\n"),
        &plain,
    );
}

#[test]
fn libvirt_cpus() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Libvirt;
    let with = |cpu: &str| domain("debian", "", cpu, QUIET_CLOCK, "");
    let plain = with(PLAIN_CPU);
    let policy = |policy: &str, name: &str| {
        with(&feature(&format!("<feature policy='{policy}' name='{name}'/>")))
    };
    both(kind, "lv-hypervisor-hidden", Error, &policy("disable", "hypervisor"), &plain);
    both(kind, "lv-rdtscp-off", Warn, &policy("forbid", "rdtscp"), &plain);
    both(kind, "lv-tsc-deadline-off", Warn, &policy("disable", "tsc-deadline"), &plain);
    both(kind, "lv-invtsc-disabled", Warn, &policy("disable", "invtsc"), &plain);
    both(kind, "lv-invtsc-no-freq", Warn, &policy("require", "invtsc"), &plain);
    both(
        kind,
        "lv-invtsc-no-freq",
        Warn,
        &plain.replace("migratable='on'", "migratable='off'"),
        &plain,
    );
    both(kind, "lv-no-invtsc", Info, &plain, &policy("require", "invtsc"));
    both(kind, "lv-migratable-default", Info, &plain.replace(" migratable='on'", ""), &plain);
    let fixed = domain(
        "debian",
        "",
        &feature("<feature policy='require' name='invtsc'/>"),
        &clock("    <timer name='tsc' frequency='2000000000'/>\n"),
        "",
    );
    both(kind, "lv-invtsc-freq-ok", Info, &fixed, &plain);
    let hidden = "    <kvm>\n      <hidden state='on'/>\n    </kvm>\n";
    let reference = clock("    <timer name='hypervclock' present='yes'/>\n");
    both(
        kind,
        "lv-kvm-hidden",
        Warn,
        &domain("debian", hidden, PLAIN_CPU, QUIET_CLOCK, ""),
        &plain,
    );
    let windows = ids(kind, &domain("win11", hidden, PLAIN_CPU, &reference, ""));
    assert!(windows.contains(&("lv-kvm-hidden", Info)), "{windows:?}");
    let again = "    <hyperv>\n      <reenlightenment state='on'/>\n    </hyperv>\n";
    both(
        kind,
        "lv-reenlightenment-no-freq",
        Info,
        &domain("win11", again, PLAIN_CPU, &reference, ""),
        &plain,
    );
}

#[test]
fn libvirt_overrides() {
    use Severity::{Error, Warn};
    let kind = Kind::Libvirt;
    let reference = clock("    <timer name='hypervclock' present='yes'/>\n");
    let with = |cpu: &str| domain("win10", "", PLAIN_CPU, &reference, &arguments(cpu));
    let plain = domain("win10", "", PLAIN_CPU, &reference, "");
    both(kind, "lv-cpu-override", Error, &with("host"), &plain);
    both(kind, "lv-override-loses-clock", Warn, &with("host"), &with("host,hv_time"));
    both(kind, "lv-kvm-hidden", Warn, &with("host,kvm=off"), &with("host"));
    both(kind, "lv-hypervisor-hidden", Error, &with("host,-hypervisor"), &with("host,+hypervisor"));
    both(
        kind,
        "q-invtsc-migblock",
        Warn,
        &with("Penryn,+invtsc"),
        &with("Penryn,+invtsc,tsc-frequency=5000000"),
    );
    // The same is not said twice.
    assert!(!ids(kind, &with("host")).iter().any(|found| found.0 == "lv-hypervclock-ok"));
    let fixed = fix(&document(kind, &with("host,kvm=off")), &Choices::default()).unwrap();
    assert!(fixed.document.text.as_str().contains("value='host,kvm=off,hv-time=on'"));
}

#[test]
fn libvirt_on_xen_and_elsewhere() {
    use Severity::{Info, Warn};
    let native = domain("x", "", PLAIN_CPU, &clock("    <timer name='tsc' mode='native'/>\n"), "");
    let native = native.replace("type='kvm'", "type='xen'");
    let invtsc = native.replace(
        "<topology sockets='1' cores='2' threads='1'/>",
        "<feature policy='require' name='invtsc'/>",
    );
    both(Kind::Libvirt, "xen-native-no-invtsc", Warn, &native, &invtsc);
    both(Kind::Libvirt, "xen-invtsc-native-ok", Info, &invtsc, &native);
    both(Kind::Libvirt, "lv-xen-tsc-emulated", Warn, &native.replace("native", "emulate"), &native);
    assert!(ids(Kind::Libvirt, &native.replace("type='xen'", "type='bhyve'")).is_empty());
    let arm =
        domain("x", "", PLAIN_CPU, "", "").replace("x86_64", "aarch64").replace("q35", "virt");
    assert!(!ids(Kind::Libvirt, &arm).iter().any(|found| found.1 >= Warn));
}

#[test]
fn libvirt_mends_in_the_files_own_style() {
    let kind = Kind::Libvirt;
    mended(
        kind,
        "<clock offset=\"utc\"/>",
        "<clock offset=\"utc\">\n  <timer name=\"hpet\" present=\"no\"/>\n</clock>",
    );
    mended(
        kind,
        "\t<clock offset='utc'>\r\n\t\t<timer name='pit' tickpolicy='delay'/> <!-- stays -->\r\n\t</clock>\r\n",
        "\t<clock offset='utc'>\r\n\t\t<timer name='pit' tickpolicy='delay'/>\r\n\t\t<timer name='hpet' present='no'/> <!-- stays -->\r\n\t</clock>\r\n",
    );
    mended(
        kind,
        "<clock>\n  <timer name='hpet' present='yes' />\n  <timer name='tsc' mode='native'/>\n</clock>\n",
        "<clock>\n  <timer name='hpet' present='no' />\n</clock>\n",
    );
    let macos = domain("macOS", "", PLAIN_CPU, "  <clock offset='utc'/>\n", "");
    mended(kind, &macos, &macos);
}

#[test]
fn choices() {
    let file = domain("debian", "", PLAIN_CPU, QUIET_CLOCK, "");
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_100_000_000) };
    let fixed = fix(&document(Kind::Libvirt, &file), &choices).unwrap();
    let text = fixed.document.text.as_str();
    assert!(
        text.contains("threads='1'/>\n    <feature policy='require' name='invtsc'/>\n  </cpu>"),
        "{text}"
    );
    assert!(text.contains("    <timer name='tsc' frequency='2100000000'/>\n  </clock>"), "{text}");
    assert_eq!(fixed.chosen, 2);
    let again = fix(&fixed.document, &choices).unwrap();
    assert_eq!((again.document.text, again.chosen), (fixed.document.text, 0));

    let script = "qemu-system-x86_64 -machine q35,hpet=off -cpu host,-invtsc -m 1G\n";
    let fixed = fix(&document(Kind::Qemu, script), &choices).unwrap();
    let text = fixed.document.text.as_str();
    assert_eq!(
        text,
        "qemu-system-x86_64 -machine q35,hpet=off -cpu host,+invtsc,tsc-frequency=2100000000 -m 1G\n"
    );
}

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

#[test]
fn proxmox_rules() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Proxmox;
    let plain = "bios: ovmf\ncores: 2\ncpu: host\nostype: l26\n";
    let args = |args: &str| format!("args: {args}\n{plain}");
    both(kind, "pve-args-cpu-override", Error, &args("-cpu 'host,+pcid'"), plain);
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
    // A snapshot is what it was.
    assert_eq!(
        ids(kind, &format!("{plain}\n[before]\nargs: -cpu host,kvm=off\n")),
        ids(kind, plain)
    );
}

fn manifest(clock: &str, rest: &str, name: &str) -> String {
    format!(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: {name}\nspec:\n  template:\n    spec:\n      \
         domain:\n        cpu:\n          cores: 1\n{rest}        clock:\n          timer:\n{clock}        devices: {{}}\n"
    )
}

#[test]
fn kubevirt_rules() {
    use Severity::{Error, Info, Warn};
    let kind = Kind::Kubevirt;
    let off = "            hpet:\n              present: false\n";
    let on = "            hpet:\n              present: true\n";
    let hyperv = "            hyperv: {}\n";
    let plain = manifest(off, "", "fedora");
    both(kind, "kv-hpet-on", Warn, &manifest(on, "", "fedora"), &plain);
    both(kind, "kv-hpet-on", Warn, &manifest("            hpet: {}\n", "", "fedora"), &plain);
    let windows = manifest(&format!("{off}{hyperv}"), "", "windows");
    both(kind, "kv-windows-clock-ok", Info, &windows, &plain);
    both(kind, "kv-hyperv-timer-missing", Warn, &manifest(off, "", "windows"), &windows);
    let no_kvm = "            kvm:\n              present: false\n";
    let feature = |name: &str, policy: &str| {
        format!("          features:\n          - name: {name}\n            policy: {policy}\n")
    };
    both(
        kind,
        "kv-kvmclock-off-no-invtsc",
        Error,
        &manifest(no_kvm, "", "fedora"),
        &manifest(no_kvm, &feature("invtsc", "require"), "fedora"),
    );
    both(
        kind,
        "kv-kvmclock-off",
        Info,
        &manifest(no_kvm, &feature("invtsc", "require"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-invtsc-node-frequency",
        Info,
        &manifest(off, &feature("invtsc", "require"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-invtsc-disabled",
        Warn,
        &manifest(off, &feature("invtsc", "disable"), "fedora"),
        &plain,
    );
    both(
        kind,
        "kv-hypervisor-hidden",
        Error,
        &manifest(off, &feature("hypervisor", "disable"), "fedora"),
        &plain,
    );
    let hidden = "        features:\n          kvm:\n            hidden: true\n";
    both(kind, "kv-kvm-hidden", Warn, &manifest(off, hidden, "fedora"), &plain);
    let again = "        features:\n          hyperv:\n            reenlightenment: {}\n";
    both(
        kind,
        "kv-reenlightenment-frequency",
        Info,
        &manifest(&format!("{off}{hyperv}"), again, "win"),
        &plain,
    );
    let catchup = "            rtc:\n              tickPolicy: catchup\n";
    both(
        kind,
        "kv-tickpolicy-catchup-linux",
        Info,
        &manifest(catchup, "", "fedora"),
        &manifest(catchup, "", "windows"),
    );
    both(kind, "kv-no-invtsc", Info, &plain, &windows);
}

#[test]
fn templates_are_parts_and_no_errors() {
    let cases = [
        (
            Kind::Libvirt,
            "{% if x %}\n<domain type='{{ t }}'>\n  <name><%= n %></name>\n  {% for d in ds if d < 3 %}<cpu mode='host-passthrough'/>{% endfor %}\n  <clock offset='utc'>\n    <timer name='hpet' present='{{ hpet }}'/>\n  </clock>\n</domain>\n{% endif %}\n",
        ),
        (
            Kind::Libvirt,
            "<domain type='%s'><name>%s</name><clock offset='utc'><timer name='hpet' present='%s'/></clock></domain>",
        ),
        (
            Kind::Kubevirt,
            "{{- if .Values.vm }}\napiVersion: kubevirt.io/v1\nspec:\n  domain:\n    clock:\n      timer:\n        hpet:\n          present: {{ .Values.hpet }}\n{{- end }}\n",
        ),
        (Kind::Proxmox, "cores: {{ cores }}\ncpu: {{ cpu }}\n"),
        (Kind::Qemu, "qemu-system-x86_64 -M q35,hpet=off -m 1G $EXTRA\n"),
    ];
    for (kind, text) in cases {
        let report = lint(&document(kind, text)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(report.partial, "{text}");
        assert!(
            report.findings.iter().all(|f| f.severity < Severity::Warn),
            "{:?}\n{text}",
            report.findings
        );
    }
}

#[test]
fn broken_files_are_refused_with_a_place() {
    let cases = [
        (Kind::Libvirt, "<domain>\n  <clock>\n", "2:3"),
        (Kind::Libvirt, "<domain>\n  <clock></cpu>\n</domain>", "2:10"),
        (Kind::Libvirt, "words", "1:1"),
        (Kind::Kubevirt, "a: [1\nb: 2\n", ""),
        (Kind::Qemu, "echo nothing\n", "1:1"),
        (Kind::Proxmox, "nothing\n", "1:1"),
    ];
    for (kind, text, place) in cases {
        let error = lint(&document(kind, text)).unwrap_err();
        let clocksmith_vm::LintError::Syntax { line, column, .. } = &error;
        assert!(place.is_empty() || format!("{line}:{column}") == place, "{error}\n{text}");
    }
    let deep = "<a>".repeat(100_000);
    assert!(lint(&document(Kind::Libvirt, &format!("<domain>{deep}"))).is_err());
    assert!(lint(&document(Kind::Kubevirt, &"[".repeat(100_000))).is_err());
}

#[test]
fn guests_are_found() {
    let guest = |text: &str| lint(&document(Kind::Libvirt, text)).unwrap().guest;
    assert_eq!(
        guest(&domain(
            "w",
            "    <hyperv>\n      <vapic state='on'/>\n    </hyperv>\n",
            "",
            QUIET_CLOCK,
            ""
        )),
        Guest::Windows
    );
    assert_eq!(
        guest(&domain(
            "vm1",
            "",
            "",
            QUIET_CLOCK,
            "  <metadata><os id='http://ubuntu.com/ubuntu/22.04'/></metadata>\n"
        )),
        Guest::Linux
    );
    let apple = "  <qemu:commandline><qemu:arg value='-device'/><qemu:arg value='isa-applesmc,osk=x'/></qemu:commandline>\n";
    assert_eq!(guest(&domain("win10", "", "", QUIET_CLOCK, apple)), Guest::Macos);
    assert_eq!(guest(&domain("vm1", "", "", QUIET_CLOCK, "")), Guest::Unknown);
}

#[test]
fn snapshots_and_states_hold_domains() {
    let inner = domain("debian", "", PLAIN_CPU, &QUIET_CLOCK.replace("'no'", "'yes'"), "");
    for (open, close) in [
        ("<domainsnapshot><name>a</name>", "</domainsnapshot>"),
        ("<domstatus state='running'>", "</domstatus>"),
    ] {
        assert!(
            ids(Kind::Libvirt, &format!("{open}{inner}{close}"))
                .contains(&("lv-hpet-on", Severity::Warn))
        );
    }
}

/// A change that nothing reads, because the file's parts are not where they seem to be, is not made again
/// and again.
#[test]
fn torn_files_are_mended_once_at_most() {
    let torn = "{% if x %}<domac\"/></ffsain>{% \"><c<!-- virsh edit x -->\n<domain type='kvm'>\n  \
                <name>win10</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type><cmeline>notsc</cmdline></os>\n  \
                <features><hyperv><reenlightenment state='on'/></hyperv></features>\n  <cpu mode='host-passthrough'/>\n  \
                <clock offset='lock offset=\"utc\"/></domutc'>\n    <timer name='tsc' present='yes' main>{% e0difo\n    \
                <timer name=\"hpet\" present=\"yes\"/>\n  </clock>\n  <qemu:commandline><q";
    for choices in
        [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }]
    {
        let document = Document::of_kind("torn.xml", torn.as_bytes(), Kind::Libvirt).unwrap();
        let once = fix(&document, &choices).unwrap();
        let twice = fix(&once.document, &choices).unwrap();
        assert_eq!(once.document.text.as_str(), twice.document.text.as_str());
        assert!(once.document.text.as_str().matches("hypervclock").count() <= 1);
    }
}

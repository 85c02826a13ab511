//! libvirt domains.

use super::*;

#[test]
fn libvirt_timers() {
    use Severity::{Error, Info, Warn};
    let with = |name: &str, timers: &str| domain(name, "", PLAIN_CPU, &clock(timers), "");
    let kind = Kind::Libvirt;
    let plain = with("debian", "");
    both(
        kind,
        "lv-hpet-default-on",
        Info,
        &domain("x", "", PLAIN_CPU, "  <clock offset='utc'/>\n", ""),
        &plain,
    );
    both(kind, "lv-hpet-default-on", Info, &domain("x", "", PLAIN_CPU, "", ""), &plain);
    let hidden = "    <kvm>\n      <hidden state='on'/>\n    </kvm>\n";
    let timers = "    <timer name='hpet' present='no'/>\n";
    let quiet = domain("x", hidden, PLAIN_CPU, &clock(""), "");
    both(kind, "lv-hpet-default-on", Info, &quiet.replace(timers, ""), &quiet);
    let hyperv =
        "    <hyperv>\n      <relaxed state='on'/>\n      <stimer state='on'/>\n    </hyperv>\n";
    let page = clock("    <timer name='hypervclock' present='yes'/>\n").replace(timers, "");
    let all = domain("x", hyperv, PLAIN_CPU, &page, "");
    both(kind, "lv-hpet-default-on", Info, &all, &plain);
    mended(kind, &all, &all);
    let ticks = all.replace("      <stimer state='on'/>\n", "");
    assert!(ids(kind, &ticks).contains(&("lv-hpet-default-on", Info)));
    let asked =
        ticks.replace("'hypervclock'", "'hpet' present='yes'/>\n    <timer name='hypervclock'");
    mended(kind, &asked, &asked);
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
    let off = policy("disable", "invtsc");
    let passed = off.replace("migratable='on'", "migratable='off'");
    both(kind, "lv-invtsc-disabled", Warn, &passed, &plain);
    // None of these CPUs has an invariant TSC without the feature either.
    both(kind, "lv-invtsc-disabled", Info, &off, &plain);
    for cpu in ["mode='host-passthrough'", "mode='maximum'", "mode='host-model'", "mode='custom'"] {
        let other = off.replace("mode='host-passthrough' migratable='on'", cpu);
        assert_ne!(other, off);
        both(kind, "lv-invtsc-disabled", Info, &other, &plain);
    }
    let page = "<timer name='hypervclock' present='yes'/>\n  </clock>";
    let windows = passed.replace("debian", "win11").replace("</clock>", page);
    both(kind, "lv-invtsc-disabled", Info, &windows, &plain);
    both(kind, "lv-invtsc-disabled", Warn, &windows.replace("'yes'", "'no'"), &plain);
    for name in
        ["vmware-cpuid-freq", "tsc-frequency", "kvmclock", "hv-time", "hv_relaxed", "nonstop_tsc"]
    {
        for it in ["require", "optional", "disable"] {
            both(kind, "lv-feature-unknown", Error, &policy(it, name), &policy(it, "tsc_adjust"));
        }
    }
    both(kind, "lv-invtsc-no-freq", Warn, &policy("require", "invtsc"), &plain);
    both(
        kind,
        "lv-invtsc-no-freq",
        Info,
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
        Warn,
        &domain("win11", again, PLAIN_CPU, &reference, ""),
        &plain,
    );
    // A guest that cannot migrate anyway.
    let stays = "  <devices>\n    <hostdev mode='subsystem' type='pci'/>\n  </devices>\n";
    both(
        kind,
        "lv-reenlightenment-no-freq",
        Info,
        &domain("win11", again, PLAIN_CPU, &reference, stays),
        &plain,
    );
    let invtsc = feature("<feature policy='require' name='invtsc'/>");
    both(kind, "lv-invtsc-no-freq", Warn, &domain("debian", "", &invtsc, QUIET_CLOCK, ""), &plain);
    both(
        kind,
        "lv-invtsc-no-freq",
        Info,
        &domain("debian", "", &invtsc, QUIET_CLOCK, stays),
        &plain,
    );
    // 2400 is intended as MHz.
    for hertz in ["2400", "2.5G", "-1", "x"] {
        let timer = clock(&format!("    <timer name='tsc' frequency='{hertz}'/>\n"));
        both(
            kind,
            "lv-frequency-impossible",
            Error,
            &domain("debian", "", &invtsc, &timer, ""),
            &fixed,
        );
    }
}

#[test]
fn libvirt_emulated_domains_have_no_clock_of_kvm() {
    use Severity::{Error, Info};
    let kind = Kind::Libvirt;
    let emulated = |text: &str| text.replace("type='kvm'", "type='qemu'");
    let plain = domain("debian", "", PLAIN_CPU, QUIET_CLOCK, "");
    both(kind, "lv-emulated", Info, &emulated(&plain), &plain);
    let timers = clock(
        "    <timer name='kvmclock' present='no'/>\n    <timer name='hypervclock' present='yes'/>\n",
    );
    let found = ids(kind, &emulated(&domain("debian", "", PLAIN_CPU, &timers, "")));
    let ids: Vec<&str> = found.iter().map(|(id, _)| *id).collect();
    assert_eq!(ids, ["lv-emulated"]);
    // Of another accelerator beside it, only a start shows which one QEMU takes.
    let said = |arguments: &[&str]| {
        let arguments: String =
            arguments.iter().map(|it| format!("<qemu:arg value='{it}'/>")).collect();
        let line = format!(
            "  <qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>{arguments}</qemu:commandline>\n</domain>"
        );
        let text = emulated(&plain).replace("</domain>", &line);
        let found = lint(&document(kind, &text)).unwrap().findings;
        found.into_iter().find(|it| it.rule.id == "lv-emulated").and_then(|it| it.summary)
    };
    for other in [&["-accel", "kvm"][..], &["-machine", "q35,accel=hvf"], &["-enable-kvm"]] {
        assert!(said(other).is_some_and(|it| it.contains("refuses both")), "{other:?}");
    }
    for same in [&["-accel", "tcg,thread=multi"][..], &["-smp", "2"]] {
        assert_eq!(said(same), None, "{same:?}");
    }
    let invtsc = domain(
        "debian",
        "",
        &feature("<feature policy='require' name='invtsc'/>"),
        QUIET_CLOCK,
        "",
    );
    both(kind, "lv-invtsc-emulated", Error, &emulated(&invtsc), &invtsc);
    // Neither is added to a domain that would not start with it.
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_500_000_000) };
    let fixed = fix(&document(kind, &emulated(&plain)), &choices).unwrap();
    assert_eq!(fixed.document.text.as_str(), emulated(&plain));
    assert!(!fixed.undecided.is_empty());
    let arm = plain.replace("x86_64", "aarch64").replace("q35", "virt");
    assert!(super::ids(kind, &arm).is_empty(), "{:?}", super::ids(kind, &arm));
}

#[test]
fn guests_names_are_guesses_and_change_nothing() {
    let kind = Kind::Libvirt;
    let named = |name: &str| domain(name, "", PLAIN_CPU, QUIET_CLOCK, "");
    let report = lint(&document(kind, &named("my-win10"))).unwrap();
    assert!(report.guessed && report.guest == clocksmith_vm::Guest::Windows);
    let missing = report.findings.iter().find(|f| f.rule.id == "lv-hypervclock-missing").unwrap();
    assert!(
        missing.edits.is_empty()
            && missing.left.as_ref().is_some_and(|why| why.contains("--guest"))
    );
    let fixed = fix(&document(kind, &named("my-win10")), &Choices::default()).unwrap();
    assert_eq!(fixed.document.text.as_str(), named("my-win10"));
    // If the caller specifies Windows, it is edited; with another system, findings about Windows are absent.
    let said = |guest| lint(&document(kind, &named("my-win10")).with_guest(Some(guest))).unwrap();
    let windows = said(clocksmith_vm::Guest::Windows);
    assert!(
        !windows.guessed
            && windows
                .findings
                .iter()
                .any(|f| f.rule.id == "lv-hypervclock-missing" && !f.edits.is_empty())
    );
    assert!(
        said(clocksmith_vm::Guest::Linux)
            .findings
            .iter()
            .all(|f| f.rule.id != "lv-hypervclock-missing")
    );
    // A directory is not evidence of the system, nor is a part of a word.
    for (name, file) in [("edwin-db1", "a.xml"), ("db1", "/srv/win10-vms/a.xml")] {
        let document = Document::of_kind(file, named(name).as_bytes(), kind).unwrap();
        assert_eq!(lint(&document).unwrap().guest, clocksmith_vm::Guest::Unknown, "{name} {file}");
    }
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
    let linux = |cpu: &str| domain("debian", "", PLAIN_CPU, &clock(""), &arguments(cpu));
    both(kind, "lv-kvm-hidden", Warn, &linux("host,kvm=off"), &linux("host"));
    both(kind, "lv-hypervisor-hidden", Error, &with("host,-hypervisor"), &with("host,+hypervisor"));
    both(
        kind,
        "q-invtsc-migblock",
        Warn,
        &with("Penryn,+invtsc"),
        &with("Penryn,+invtsc,tsc-frequency=5000000000"),
    );
    // The topology of the vCPUs is not lost, but what is written to <cpu> later has no effect.
    let arranged = "  <cpu>\n    <topology sockets='1' cores='4' threads='1'/>\n  </cpu>\n";
    let debian = |cpu: &str| ids(kind, &domain("debian", "", cpu, QUIET_CLOCK, &arguments("host")));
    assert!(debian(arranged).contains(&("lv-cpu-override", Warn)));
    assert!(debian(PLAIN_CPU).contains(&("lv-cpu-override", Warn)));
    // The same is not reported twice.
    assert!(!ids(kind, &with("host")).iter().any(|found| found.0 == "lv-hypervclock-ok"));
    let named = document(kind, &with("host,kvm=off,hv-vendor-id=a"));
    let fixed = fix(&named, &Choices::default()).unwrap();
    assert!(
        fixed.document.text.as_str().contains("value='host,kvm=off,hv-vendor-id=a,hv-time=on'")
    );
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
        "<domain type='kvm'><name>debian</name><clock offset=\"utc\"><timer name=\"kvmclock\" present=\"no\"/><timer name=\"hpet\" present=\"yes\"/></clock></domain>",
        "<domain type='kvm'><name>debian</name><clock offset=\"utc\"><timer name=\"kvmclock\" present=\"yes\"/><timer name=\"hpet\" present=\"no\"/></clock></domain>",
    );
    mended(
        kind,
        "<domain type='kvm'>\r\n\t<features><hyperv><stimer state='on'/></hyperv></features>\r\n\t<clock offset='utc'>\r\n\t\t<timer name='pit' tickpolicy='delay'/> <!-- stays -->\r\n\t</clock>\r\n</domain>\r\n",
        "<domain type='kvm'>\r\n\t<features><hyperv><stimer state='on'/></hyperv></features>\r\n\t<clock offset='utc'>\r\n\t\t<timer name='pit' tickpolicy='delay'/> <!-- stays -->\r\n\t\t<timer name='hypervclock' present='yes'/>\r\n\t</clock>\r\n</domain>\r\n",
    );
    mended(
        kind,
        "<domain type='kvm'><name>debian</name><clock>\n  <timer name='hpet' present='yes' />\n  <timer name='tsc' mode='native'/>\n</clock>\n</domain>\n",
        "<domain type='kvm'><name>debian</name><clock>\n  <timer name='hpet' present='no' />\n</clock>\n</domain>\n",
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

#[test]
fn libvirt_domain_without_a_clock_gets_one() {
    let hyperv =
        "    <hyperv>\n      <relaxed state='on'/>\n      <stimer state='on'/>\n    </hyperv>\n";
    let bare = domain("pc1", hyperv, PLAIN_CPU, "", "");
    for before in [bare.clone(), bare.replace("\n", "").replace("  ", "")] {
        let fixed = fix(&document(Kind::Libvirt, &before), &Choices::default()).unwrap();
        let text = fixed.document.text.as_str();
        assert_eq!(text.matches("<clock").count(), 1, "{text}");
        assert_eq!(text.matches("<timer name='hypervclock' present='yes'/>").count(), 1, "{text}");
        assert_eq!(fixed.mended.len(), 1);
    }
    // An inferred system changes nothing.
    let guessed = domain("win10", "", PLAIN_CPU, "", "");
    mended(Kind::Libvirt, &guessed, &guessed);
}

#[test]
fn libvirt_macos_gets_no_flags_of_hyperv() {
    let clock = clock("    <timer name='hypervclock' present='yes'/>\n");
    let hyperv = "    <hyperv>\n      <relaxed state='on'/>\n    </hyperv>\n";
    let apple = "    <qemu:arg value='-device'/>\n    <qemu:arg value='isa-applesmc,osk=x'/>\n";
    let freq = "Penryn,vendor=GenuineIntel,+invtsc,vmware-cpuid-freq=on";
    for (cpu, osk) in [(freq, true), (freq, false), ("Penryn,+invtsc", true)] {
        let mut text = domain("vm1", hyperv, PLAIN_CPU, &clock, &arguments(cpu));
        if osk {
            text = text.replace("  </qemu:commandline>", &format!("{apple}  </qemu:commandline>"));
        }
        mended(Kind::Libvirt, &text, &text);
    }
}

#[test]
fn libvirt_confidential_guests_are_left() {
    let off = "  <clock offset='utc'>\n    <timer name='kvmclock' present='no'/>\n  </clock>\n";
    for kind in ["tdx", "sev", "sev-snp"] {
        let security = format!(
            "  <launchSecurity type='{kind}'>\n    <policy>0x1</policy>\n  </launchSecurity>\n"
        );
        let text = domain("debian", "", PLAIN_CPU, off, &security);
        assert!(ids(Kind::Libvirt, &text).iter().all(|(_, severity)| *severity < Severity::Error));
        mended(Kind::Libvirt, &text, &text);
    }
}

#[test]
fn words_of_a_domain_whose_tsc_its_host_cannot_change_are_right() {
    let of = |security: &str| {
        let os = "<os><type arch='x86_64' machine='q35'>hvm</type><kernel>/b/vmlinuz</kernel>\
                  <cmdline>console=hvc0 tsc=reliable no-kvmclock</cmdline></os>";
        let text = format!(
            "<domain type='kvm'><name>td</name>{os}<cpu mode='host-passthrough'/>{security}</domain>\n"
        );
        let mut found = ids(Kind::Libvirt, &text);
        found.retain(|(id, _)| id.starts_with("q-guest"));
        found.into_iter().map(|(_, severity)| severity).collect::<Vec<_>>()
    };
    for (kind, expected) in [
        ("tdx", vec![]),
        ("sev-snp", vec![Severity::Info; 2]),
        ("{{ kind }}", vec![Severity::Info; 2]),
        ("sev", vec![Severity::Warn; 2]),
    ] {
        assert_eq!(of(&format!("<launchSecurity type='{kind}'/>")), expected, "{kind}");
    }
    assert_eq!(of(""), [Severity::Warn; 2]);
}

#[test]
fn placeholder_of_the_architecture_states_none() {
    let text = |arch: &str, machine: &str| {
        format!(
            "<domain type='kvm'>\n  <name>a</name>\n  <os><type arch='{arch}'{machine}>hvm</type></os>\n  \
             <cpu mode='host-passthrough'/>\n  <clock offset='utc'/>\n</domain>\n"
        )
    };
    let of = |arch: &str, machine: &str| {
        let found = ids(Kind::Libvirt, &text(arch, machine)).into_iter().map(|(id, _)| id);
        found.collect::<Vec<_>>()
    };
    let marks = [
        "%ARCH%",
        "__ARCH__",
        "ARCH",
        "ARCH_PLACEHOLDER",
        "{{ arch }}",
        "$ARCH",
        "${ARCH}",
        "@ARCH@",
        "&lt;%= arch %&gt;",
    ];
    for machine in [" machine='pc'", " machine='q35'", " machine='pc-q35-8.2'"] {
        let stated = of("x86_64", machine);
        assert!(stated.contains(&"lv-hpet-default-on"), "{stated:?}");
        for arch in marks {
            assert_eq!(of(arch, machine), stated, "{arch}{machine}");
        }
    }
    for arch in marks {
        // Nothing shows the processor.
        assert_eq!(of(arch, ""), [""; 0], "{arch}");
        assert_eq!(of(arch, " machine='virt'"), [""; 0], "{arch}");
        for machine in ["", " machine='pc'"] {
            let guest = clocksmith_vm::migrate::guest::parse(&text(arch, machine)).unwrap();
            assert_eq!(guest.invtsc, Some(false), "{arch}");
        }
    }
    assert_eq!(of("aarch64", " machine='pc'"), [""; 0]);
}

#[test]
fn libvirt_hpet_goes_only_beside_a_better_clock() {
    let kind = Kind::Libvirt;
    let hpet = "    <timer name='hpet' present='yes'/>\n";
    let clock = |more: &str| format!("  <clock offset='utc'>\n{hpet}{more}  </clock>\n");
    let hidden = "    <kvm>\n      <hidden state='on'/>\n    </kvm>\n";
    let invtsc = feature("<feature policy='require' name='invtsc'/>");
    let bit = feature("<feature policy='disable' name='hypervisor'/>");
    let plain = domain("debian", "", PLAIN_CPU, &clock(""), "");
    for text in [plain.clone(), domain("debian", hidden, &invtsc, &clock(""), "")] {
        mended(kind, &text, &text.replace("'hpet' present='yes'", "'hpet' present='no'"));
    }
    for text in [
        domain("debian", hidden, PLAIN_CPU, &clock(""), ""),
        domain("debian", "", &bit, &clock(""), ""),
        plain.replace("type='kvm'", "type='qemu'"),
        plain.replace("<domain type='kvm'>", "<domain>"),
        // A part does not have the rest.
        clock(""),
    ] {
        mended(kind, &text, &text);
        let report = lint(&document(kind, &text)).unwrap();
        let hpet = report.findings.iter().find(|it| it.rule.id == "lv-hpet-on").unwrap();
        assert!(hpet.left.is_some(), "{text}");
    }
    // kvm-clock is restored in the same run.
    let lost = clock("    <timer name='kvmclock' present='no'/>\n");
    let text = domain("debian", "", PLAIN_CPU, &lost, "");
    let after = text
        .replace("'hpet' present='yes'", "'hpet' present='no'")
        .replace("'kvmclock' present='no'", "'kvmclock' present='yes'");
    mended(kind, &text, &after);
}

#[test]
fn libvirt_hpet_with_a_comment_is_left() {
    for inside in [
        "<!-- keep the HPET --><timer name='hpet' present='yes'/>",
        "<timer name='hpet' present='yes'/><!-- a game asks for the HPET -->",
    ] {
        let text = domain(
            "debian",
            "",
            PLAIN_CPU,
            &format!("  <clock offset='utc'>\n    {inside}\n  </clock>\n"),
            "",
        );
        mended(Kind::Libvirt, &text, &text);
        let report = lint(&document(Kind::Libvirt, &text)).unwrap();
        assert!(
            report.findings.iter().any(|f| f.rule.id.starts_with("lv-hpet") && f.left.is_some())
        );
    }
}

#[test]
fn libvirt_clocks_that_do_not_start_or_do_no_harm() {
    use Severity::{Error, Info};
    let stimer = "    <hyperv>\n      <vpindex state='on'/>\n      <synic state='on'/>\n      <stimer state='on'/>\n    </hyperv>\n";
    let with = domain("a", stimer, PLAIN_CPU, QUIET_CLOCK, "");
    let reference = clock("    <timer name='hypervclock' present='yes'/>\n");
    both(
        Kind::Libvirt,
        "lv-hypervclock-missing",
        Error,
        &with,
        &domain("a", stimer, PLAIN_CPU, &reference, ""),
    );
    let invtsc = feature("<feature policy='require' name='invtsc'/>");
    let off = clock("    <timer name='kvmclock' present='no'/>\n");
    both(Kind::Libvirt, "lv-kvmclock-off", Info, &domain("win10", "", &invtsc, &off, ""), &with);
}

/// Returns the result of `virt-xml-validate`, if it is installed.
fn valid(text: &str) -> Option<bool> {
    let file = tempfile::NamedTempFile::with_suffix(".xml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    let mut command = std::process::Command::new("virt-xml-validate");
    Some(command.arg(file.path()).arg("domain").output().ok()?.status.success())
}

/// An element that may occur once never occurs twice, and a valid file stays valid.
#[test]
fn libvirt_mended_domains_have_each_element_once() {
    let hyperv = "    <hyperv>\n      <relaxed state='on'/>\n    </hyperv>\n";
    let mut validated = 0;
    for clock in
        ["", "  <clock offset='utc'/>\n", "  <clock offset='utc'>\n  </clock>\n", QUIET_CLOCK]
    {
        for cpu in ["", PLAIN_CPU, "  <cpu mode='host-passthrough'/>\n"] {
            for features in ["", hyperv] {
                for choices in [
                    Choices::default(),
                    Choices { invtsc: true, tsc_frequency: Some(2_400_000_000) },
                ] {
                    let before = domain("vm1", features, cpu, clock, "")
                        .replace("<os>", "<memory unit='GiB'>1</memory>\n  <os>");
                    let fixed = fix(&document(Kind::Libvirt, &before), &choices).unwrap();
                    let after = fixed.document.text.as_str();
                    for one in [
                        "<clock",
                        "<cpu",
                        "<features",
                        "name='hpet'",
                        "name='hypervclock'",
                        "name='tsc'",
                    ] {
                        assert!(after.matches(one).count() <= 1, "{one}\n{after}");
                    }
                    // The validator is slow: it runs only if a clock is created.
                    if clock.is_empty() && valid(&before) == Some(true) {
                        assert_eq!(valid(after), Some(true), "{after}");
                        validated += 1;
                    }
                }
            }
        }
    }
    assert!(validated == 12 || valid("<domain/>").is_none(), "{validated}");
}

#[test]
fn devices_of_the_host_that_keep_a_domain_there() {
    let invtsc = feature("<feature policy='require' name='invtsc'/>");
    let with = |device: &str| {
        let devices = format!("  <devices>{device}</devices>\n");
        ids(Kind::Libvirt, &domain("debian", "", &invtsc, QUIET_CLOCK, &devices))
    };
    let teaming = "<teaming type='transient' persistent='a'/>";
    for (device, stays) in [
        ("<hostdev mode='subsystem' type='usb'/>".to_owned(), false),
        ("<hostdev type='usb'/><hostdev mode='subsystem' type='scsi'/>".to_owned(), false),
        (format!("<hostdev mode='subsystem' type='pci'>{teaming}</hostdev>"), false),
        (format!("<interface type='hostdev'>{teaming}</interface>"), false),
        ("<interface type='network'/>".to_owned(), false),
        ("<hostdev type='usb'/><hostdev mode='subsystem' type='pci'/>".to_owned(), true),
        ("<hostdev mode='subsystem' type='mdev'/>".to_owned(), true),
        ("<hostdev mode='subsystem' type='scsi_host'/>".to_owned(), true),
        ("<hostdev mode='capabilities' type='misc'/>".to_owned(), true),
        ("<interface type='hostdev'/>".to_owned(), true),
    ] {
        let severity = if stays { Severity::Info } else { Severity::Warn };
        assert!(with(&device).contains(&("lv-invtsc-no-freq", severity)), "{device}");
    }
}

#[test]
fn libvirt_features_alone_hide_no_clock_of_another_part() {
    let features = "<features>\n <hyperv><relaxed state='on'/></hyperv>\n <kvm><hidden state='on'/></kvm>\n</features>\n";
    let found = ids(Kind::Libvirt, features);
    assert!(found.contains(&("lv-kvm-hidden", Severity::Info)), "{found:?}");
    // Windows has no kvm-clock, with or without a Hyper-V clock.
    let clock = "<clock offset='utc'/>\n";
    let found = ids(Kind::Libvirt, &format!("{features}{clock}"));
    assert!(found.contains(&("lv-kvm-hidden", Severity::Info)), "{found:?}");
    let features = features.replace(" <hyperv><relaxed state='on'/></hyperv>\n", "");
    let found = ids(Kind::Libvirt, &format!("{features}{clock}"));
    assert!(found.contains(&("lv-kvm-hidden", Severity::Warn)), "{found:?}");
}

#[test]
fn override_gets_no_flags_that_show_a_hidden_hypervisor_and_none_but_those_of_the_clock() {
    let features =
        "    <hyperv>\n      <relaxed state='on'/>\n      <vapic state='on'/>\n    </hyperv>\n";
    let reference = clock("    <timer name='hypervclock' present='yes'/>\n");
    let of = |cpu: &str, features: &str| {
        let text = domain("win10", features, PLAIN_CPU, &reference, &arguments(cpu));
        let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
        let report = lint(&document).unwrap();
        let found = report.findings.into_iter().find(|it| it.rule.id == "lv-override-loses-clock");
        let found = found.unwrap();
        (found.edits.first().map(|edit| edit.with.clone()), found.left.unwrap_or_default())
    };
    assert_eq!(of("host", features).0.as_deref(), Some(",hv-time=on"));
    assert_eq!(of("host,kvm=off,hv-vendor-id=a", features).0.as_deref(), Some(",hv-time=on"));
    let (edit, why) = of("host,kvm=off", features);
    assert!(edit.is_none() && why.contains("hidden"), "{why}");
    let hidden = "    <kvm><hidden state='on'/></kvm>\n";
    assert!(of("host", hidden).0.is_none());
}

#[test]
fn each_of_several_excerpts_is_read_and_none_is_changed() {
    let clock = |present: &str| {
        format!("<clock offset='utc'>\n  <timer name='hpet' present='{present}'/>\n</clock>\n")
    };
    let text = format!("{}\nto:\n\n{}", clock("no"), clock("yes"));
    let document = Document::of_kind("a.txt", text.as_bytes(), Kind::Libvirt).unwrap();
    let document = document.with_guest(Some(clocksmith_vm::Guest::Linux));
    let report = lint(&document).unwrap();
    let on = report.findings.iter().find(|finding| finding.rule.id == "lv-hpet-on").unwrap();
    assert_eq!(document.text.place(on.span.start).line, 8);
    let choices = Choices { invtsc: false, tsc_frequency: Some(2_994_372_000) };
    let fixed = fix(&document, &choices).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
    assert!(fixed.undecided[0].contains("several parts"), "{:?}", fixed.undecided);
    // Different parts belong to one domain.
    let parts = format!("<cpu mode='host-passthrough'/>\n{}", clock("no"));
    let document = Document::of_kind("a.xml", parts.as_bytes(), Kind::Libvirt).unwrap();
    assert!(fix(&document, &choices).unwrap().chosen > 0);
}

#[test]
fn guest_that_sees_no_hypervisor_has_no_page_of_one() {
    let reference = clock("    <timer name='hypervclock' present='yes'/>\n");
    let hidden = "  <cpu mode='host-passthrough'>\n    <feature policy='disable' name='hypervisor'/>\n  </cpu>\n";
    let has = |cpu: &str| {
        let all = ids(Kind::Libvirt, &domain("win10", "", cpu, &reference, ""));
        all.iter().any(|found| found.0 == "lv-hypervclock-ok")
    };
    assert!(has("  <cpu mode='host-passthrough'/>\n"));
    assert!(!has(hidden));
}

#[test]
fn domain_that_is_said_to_stay_is_no_warning() {
    let of = |cpu: &str| {
        let all = ids(Kind::Libvirt, &domain("a", "", cpu, &clock(""), ""));
        all.iter().find(|it| it.0 == "lv-invtsc-no-freq").unwrap().1
    };
    assert_eq!(of("  <cpu mode='host-passthrough' migratable='off'/>\n"), Severity::Info);
    let asked = "  <cpu mode='host-passthrough'>\n    <feature policy='require' name='invtsc'/>\n  </cpu>\n";
    assert_eq!(of(asked), Severity::Warn);
}

#[test]
fn arguments_without_a_namespace_are_ignored_as_libvirt_ignores_them() {
    let text = |space: &str, kind: &str| {
        format!(
            "<domain type='{kind}'{space}>\n  <name>w</name>\n  <os><type arch='x86_64' machine='q35'>hvm</type></os>\n  \
             <cpu mode='host-passthrough'/>\n  <qemu:commandline>\n    <qemu:arg value='-cpu'/>\n    \
             <qemu:arg value='host,kvm=off'/>\n  </qemu:commandline>\n</domain>\n"
        )
    };
    let space = " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'";
    let has = |text: &str| {
        ids(Kind::Libvirt, text)
            .iter()
            .any(|it| ["lv-cpu-override", "lv-kvm-hidden"].contains(&it.0))
    };
    assert!(has(&text(space, "kvm")));
    assert!(!has(&text("", "kvm")));
    // What replaces a placeholder may add it, and a part does not show it.
    assert!(has(&text(" {{ space }}", "kvm")));
    let part = "<qemu:commandline><qemu:arg value='-cpu'/><qemu:arg value='host,kvm=off'/></qemu:commandline>";
    assert!(has(part));
}

#[test]
fn what_fills_the_type_of_a_template_may_be_another_hypervisor() {
    let has = |kind: &str| {
        let text = format!(
            "<domain type='{kind}'>\n  <name>a</name>\n  <os><type arch='x86_64'>hvm</type></os>\n  \
             <cpu mode='host-passthrough'/>\n</domain>\n"
        );
        ids(Kind::Libvirt, &text).iter().any(|it| it.0 == "lv-no-invtsc")
    };
    assert!(has("kvm"));
    for kind in ["{{ type }}", "{{.Type}}", "<%= type %>", "{% if k %}kvm{% else %}qemu{% endif %}"]
    {
        assert!(!has(kind), "{kind}");
    }
}

#[test]
fn libvirt_domain_of_hvf_has_no_clock_of_kvm() {
    let text = domain("a", "", PLAIN_CPU, QUIET_CLOCK, "");
    let summary = |text: &str| {
        let found = lint(&document(Kind::Libvirt, text)).unwrap().findings;
        let found = found.into_iter().find(|it| it.rule.id == "lv-no-invtsc").unwrap();
        found.summary.unwrap_or_else(|| found.rule.summary.to_owned())
    };
    assert!(summary(&text).contains("stays on kvm-clock"));
    let hvf = summary(&text.replace("type='kvm'", "type='hvf'"));
    assert!(hvf.contains("no kvm-clock"), "{hvf}");
}

#[test]
fn domain_that_kvm_does_not_run_has_no_clock_of_kvm() {
    let off = "  <clock offset='utc'><timer name='kvmclock' present='no'/></clock>\n";
    let text = domain("debian", "", PLAIN_CPU, off, "").replace("type='kvm'", "type='hvf'");
    let report = lint(&document(Kind::Libvirt, &text)).unwrap();
    let found: Vec<_> = report.findings.iter().map(|it| it.rule.id).collect();
    assert!(!found.iter().any(|id| id.starts_with("lv-kvmclock")), "{found:?}");
    mended(Kind::Libvirt, &text, &text);
    let kvm = text.replace("type='hvf'", "type='kvm'");
    let report = lint(&document(Kind::Libvirt, &kvm)).unwrap();
    assert!(report.findings.iter().any(|it| it.rule.id == "lv-kvmclock-off-no-invtsc"));
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_500_000_000) };
    let fixed = fix(&document(Kind::Libvirt, &text), &choices).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
    assert!(
        fixed.undecided.iter().any(|why| why.contains("other clocks")),
        "{:?}",
        fixed.undecided
    );
    // Windows gets no page there either.
    let windows = text.replace("debian", "win11");
    let windows = document(Kind::Libvirt, &windows).with_guest(Some(clocksmith_vm::Guest::Windows));
    assert!(lint(&windows).unwrap().findings.iter().all(|it| it.edits.is_empty()));
}

#[test]
fn domain_without_a_type_is_judged_in_part_and_never_changed() {
    let clock = "  <clock offset='utc'><timer name='kvmclock' present='no'/></clock>\n";
    let text =
        domain("debian", "", PLAIN_CPU, clock, "").replace("<domain type='kvm'>", "<domain>");
    let report = lint(&document(Kind::Libvirt, &text)).unwrap();
    assert!(report.partial);
    for id in ["lv-no-invtsc", "lv-hpet-default-on"] {
        assert!(report.findings.iter().all(|it| it.rule.id != id), "{id}");
    }
    let off = report.findings.iter().find(|it| it.rule.id == "lv-kvmclock-off-no-invtsc").unwrap();
    assert!(off.left.as_deref().is_some_and(|why| why.contains("no type=")), "{:?}", off.left);
    mended(Kind::Libvirt, &text, &text);
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_500_000_000) };
    assert_eq!(
        fix(&document(Kind::Libvirt, &text), &choices).unwrap().document.text.as_str(),
        text
    );
    let windows = document(Kind::Libvirt, &text).with_guest(Some(clocksmith_vm::Guest::Windows));
    assert_eq!(fix(&windows, &Choices::default()).unwrap().document.text.as_str(), text);
    assert!(clocksmith_vm::migrate::guest::parse(&text).is_err());
    // A container.
    for kind in ["<domain>", "<domain type='kvm'>"] {
        let text = format!(
            "{kind}\n  <name>c1</name>\n  <memory>1024</memory>\n  <os><type>exe</type><init>/bin/sh</init></os>\n</domain>\n"
        );
        assert!(lint(&document(Kind::Libvirt, &text)).unwrap().findings.is_empty());
        let windows =
            document(Kind::Libvirt, &text).with_guest(Some(clocksmith_vm::Guest::Windows));
        assert_eq!(fix(&windows, &Choices::default()).unwrap().document.text.as_str(), text);
        assert!(clocksmith_vm::migrate::guest::parse(&text).is_err());
    }
}

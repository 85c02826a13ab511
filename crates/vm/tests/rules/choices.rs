//! A choice (`--invtsc`, `--tsc-frequency`) that a file does not follow is reported, with the text to write.

use super::*;

const HZ: u64 = 2_994_372_000;

fn undecided(kind: Kind, name: &str, text: &str, invtsc: bool) -> Vec<String> {
    let document = Document::of_kind(name, text.as_bytes(), kind).unwrap();
    let fixed = fix(&document, &Choices { invtsc, tsc_frequency: Some(HZ) }).unwrap();
    assert_eq!(fixed.chosen, 0, "{}", fixed.document.text.as_str());
    fixed.undecided
}

#[test]
fn nothing_edited_names_why_and_what_to_write() {
    let flags = ",+invtsc,tsc-frequency=2994372000";
    for (name, text) in [
        ("a.sh", "qemu-system-x86_64 -enable-kvm -m 4G\n"),
        ("a.sh", "qemu-system-x86_64 -enable-kvm -cpu \"$CPU\" -m 4G\n"),
        ("a.sh", "qemu-system-x86_64 -enable-kvm -cpu $(cpu) -m 4G\n"),
        ("a.py", "run([\"qemu-system-x86_64\", \"-enable-kvm\", \"-cpu\", \"host\"])\n"),
        ("a.go", "var a = []string{\"qemu-system-x86_64\", \"-enable-kvm\", \"-cpu\", \"host\"}\n"),
        ("a.yml", "a:\n  - qemu-system-x86_64\n  - -enable-kvm\n  - -cpu\n  - host\n"),
    ] {
        let why = undecided(Kind::Qemu, name, text, true);
        assert!(!why.is_empty() && why.iter().all(|it| it.contains(flags)), "{text}: {why:?}");
    }
    let why = undecided(Kind::Proxmox, "100.conf", "ostype: l26\ncpu: host\ncores: 2\n", true);
    assert!(why[0].contains(flags) && why[0].contains("args:"), "{why:?}");
    let why = undecided(Kind::Proxmox, "100.conf", "ostype: l26\nkvm: 0\ncores: 2\n", true);
    assert!(why[0].contains("emulat") && !why[0].contains(flags), "{why:?}");
    let part = "<cpu mode='host-passthrough'/>\n";
    let lost = domain("a", "", PLAIN_CPU, QUIET_CLOCK, &arguments("&#104;ost"));
    for text in [part, &lost] {
        let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
        let fixed = fix(&document, &Choices { invtsc: true, tsc_frequency: Some(HZ) }).unwrap();
        assert!(
            fixed.chosen > 0 || fixed.undecided[0].contains("frequency='2994372000'"),
            "{:?}",
            fixed.undecided
        );
    }
    for text in [
        "qemu-system-x86_64 -accel tcg -cpu max -m 4G\n",
        "qemu-system-aarch64 -enable-kvm -M virt -cpu host -m 4G\n",
    ] {
        let why = undecided(Kind::Qemu, "a.sh", text, true);
        assert!(why.len() == 1 && !why[0].contains("; write"), "{why:?}");
    }
}

#[test]
fn file_that_has_what_is_chosen_needs_no_reason() {
    let text = "qemu-system-x86_64 -enable-kvm -cpu host,+invtsc,tsc-frequency=2994372000 -m 4G\n";
    assert!(undecided(Kind::Qemu, "a.sh", text, true).is_empty());
    assert!(undecided(Kind::Qemu, "a.sh", text, false).is_empty());
    let conf = "ostype: l26\nargs: -cpu host,+invtsc,tsc-frequency=2994372000\ncores: 2\n";
    assert!(undecided(Kind::Proxmox, "100.conf", conf, true).is_empty());
    let cpu = feature("<feature policy='require' name='invtsc'/>");
    let xml = domain("a", "", &cpu, &clock("    <timer name='tsc' frequency='2994372000'/>\n"), "");
    assert!(undecided(Kind::Libvirt, "a.xml", &xml, true).is_empty());
}

#[test]
fn choice_that_a_machine_can_have_only_half_of_changes_nothing() {
    let bare = domain("a", "", "", QUIET_CLOCK, "");
    let why = undecided(Kind::Libvirt, "a.xml", &bare, true);
    assert!(why.len() == 1 && why[0].contains("no <cpu> with a mode"), "{why:?}");
    // Without the requested invariant TSC, the frequency would only bind the guest to its hosts.
    let part = "<clock offset='utc'>\n  <timer name='hpet' present='no'/>\n</clock>\n";
    let why = undecided(Kind::Libvirt, "a.xml", part, true);
    assert!(why.len() == 1 && why[0].contains("part of a domain"), "{why:?}");
    let alone =
        fix(&document(Kind::Libvirt, &bare), &Choices { invtsc: false, tsc_frequency: Some(HZ) });
    assert_eq!(alone.unwrap().chosen, 1);
}

#[test]
fn second_machine_that_cannot_follow_is_named_beside_one_that_does() {
    let text = "qemu-system-x86_64 -enable-kvm -cpu host -m 1G -name a\n\
                qemu-system-x86_64 -enable-kvm -m 2G -name b\n";
    let document = Document::of_kind("a.sh", text.as_bytes(), Kind::Qemu).unwrap();
    let fixed = fix(&document, &Choices { invtsc: true, tsc_frequency: Some(HZ) }).unwrap();
    assert!(fixed.chosen > 0);
    assert!(fixed.undecided.iter().any(|it| it.starts_with("line 2")), "{:?}", fixed.undecided);
}

#[test]
fn choice_for_a_confidential_guest_is_refused_with_the_reason() {
    for kind in ["sev", "sev-snp", "tdx"] {
        let security = format!(
            "  <launchSecurity type='{kind}'>\n    <policy>0x1</policy>\n  </launchSecurity>\n"
        );
        let text = domain("a", "", PLAIN_CPU, QUIET_CLOCK, &security);
        let why = undecided(Kind::Libvirt, "a.xml", &text, true);
        assert!(why.len() == 1 && why[0].contains("confidential"), "{kind}: {why:?}");
    }
    for object in ["sev-guest", "sev-snp-guest", "tdx-guest"] {
        let text = format!(
            "qemu-system-x86_64 -enable-kvm -machine q35,confidential-guest-support=c0 -object {object},id=c0 -cpu host -m 1G\n"
        );
        let why = undecided(Kind::Qemu, "a.sh", &text, true);
        assert!(why.len() == 1 && why[0].contains("confidential"), "{object}: {why:?}");
    }
    let conf = "ostype: l26\namd-sev: type=snp\nargs: -cpu host\ncores: 2\n";
    let why = undecided(Kind::Proxmox, "100.conf", conf, true);
    assert!(why.len() == 1 && why[0].contains("confidential"), "{why:?}");
}

#[test]
fn invariant_tsc_that_tdx_fixes_needs_no_reason() {
    let tdx = "  <launchSecurity type='tdx'/>\n";
    let text = domain("a", "", PLAIN_CPU, QUIET_CLOCK, tdx);
    for (kind, text) in [
        (Kind::Libvirt, text.as_str()),
        (
            Kind::Qemu,
            "qemu-system-x86_64 -enable-kvm -machine q35,confidential-guest-support=c0 -object tdx-guest,id=c0 -cpu host -m 1G\n",
        ),
    ] {
        let fixed =
            fix(&document(kind, text), &Choices { invtsc: true, tsc_frequency: None }).unwrap();
        assert_eq!((fixed.chosen, fixed.undecided.len()), (0, 0), "{:?}", fixed.undecided);
    }
}

#[test]
fn cpu_that_a_confidential_guest_has_too_is_left_for_the_other_one() {
    let text = "#!/bin/bash\nCPU=host\nqemu-system-x86_64 -enable-kvm -cpu \"$CPU\" -m 1G\nqemu-system-x86_64 -enable-kvm -machine \
                q35,confidential-guest-support=c0 -object tdx-guest,id=c0 -cpu \"$CPU\" -m 1G\n";
    let why = undecided(Kind::Qemu, "a.sh", text, true);
    assert!(why.iter().any(|it| it.contains("confidential")), "{why:?}");
}

#[test]
fn feature_that_the_host_decides_is_replaced_and_not_repeated() {
    let domain = |features: &str, arch: &str| {
        format!(
            "<domain type='kvm'><name>a</name><os><type arch='{arch}' machine='q35'>hvm</type></os>\n<cpu mode='host-model'>{features}</cpu>\n<clock offset='utc'/></domain>\n"
        )
    };
    let feature = |policy: &str| format!("<feature policy='{policy}' name='invtsc'/>");
    let choices = Choices { invtsc: true, tsc_frequency: None };
    let of = |text: &str| {
        let document = Document::of_kind("a.xml", text.as_bytes(), Kind::Libvirt).unwrap();
        let lacks = lint(&document).unwrap().findings.iter().any(|it| it.rule.id == "lv-no-invtsc");
        let fixed = fix(&document, &choices).unwrap();
        (fixed.document.text.as_str().to_owned(), lacks)
    };
    let (optional, required) =
        (domain(&feature("optional"), "x86_64"), domain(&feature("require"), "x86_64"));
    assert_eq!(of(&optional), (required, false));
    let twice = domain(&feature("require").repeat(2), "x86_64");
    assert_eq!(of(&twice), (twice.clone(), false));
    // Of a template, only a run shows the architecture.
    for arch in ["@ARCH@", "{{ arch }}", "${ARCH}"] {
        let open = domain("", arch).replace(" machine='q35'", "");
        assert_eq!(of(&open), (open.clone(), false), "{arch}");
    }
    // Only x86 has such a machine.
    let asked = domain("\n  <feature policy='require' name='invtsc'/>\n", "@ARCH@");
    assert_eq!(of(&domain("", "@ARCH@")), (asked, true));
}

/// The remedy of a finding, and why it is to be made by hand.
fn remedy(kind: Kind, text: &str, id: &str) -> (String, Option<String>) {
    let found = lint(&document(kind, text)).unwrap().findings;
    let found = found.into_iter().find(|it| it.rule.id == id);
    let found = found.unwrap_or_else(|| panic!("{id}: {text}"));
    (found.fix.unwrap_or_default(), found.left)
}

#[test]
fn remedy_promises_only_what_fix_does() {
    let id = "q-invtsc-migblock";
    let line = "qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu CPU -m 1G\n";
    let (fix, left) = remedy(Kind::Qemu, &line.replace("CPU", "host,+invtsc"), id);
    assert!(fix.contains("`vm fix --tsc-frequency HERTZ` does it"), "{fix}");
    assert_eq!(left, None);
    let branch =
        format!("if a; then C=host,+invtsc; else C=max,+invtsc; fi\n{}", line.replace("CPU", "$C"));
    let written = "FROM a\nRUN tee -a a.sh <<< 'exec qemu-system-x86_64 -m 2G -accel kvm \\' && tee -a a.sh <<< '-cpu host,+invtsc \\' && tee -a a.sh <<< '-S'\n";
    for text in [branch.as_str(), written] {
        let (fix, left) = remedy(Kind::Qemu, text, id);
        assert!(!fix.contains("vm fix") && fix.contains("tsc-frequency=HERTZ"), "{fix}");
        let left = left.unwrap();
        assert!(!left.is_empty() && !left.contains("; write "), "{left}");
    }
    let off = "<hyperv><reenlightenment state='on'/></hyperv>";
    let whole = domain("a", off, PLAIN_CPU, QUIET_CLOCK, "");
    let (fix, _) = remedy(Kind::Libvirt, &whole, "lv-reenlightenment-no-freq");
    assert!(fix.contains("vm fix --tsc-frequency"), "{fix}");
    let template = whole.replace("x86_64", "{{ arch }}");
    let (fix, left) = remedy(Kind::Libvirt, &template, "lv-reenlightenment-no-freq");
    assert!(!fix.contains("vm fix") && left.is_some(), "{fix}");
}

#[test]
fn advice_does_not_repeat_what_is_there() {
    let choices = Choices { invtsc: true, tsc_frequency: Some(2_994_372_000) };
    let advice = |text: &str| {
        let undecided = fix(&document(Kind::Qemu, text), &choices).unwrap().undecided;
        undecided.join("\n")
    };
    let line = "qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu $C -m 1G\n";
    let with = format!("if a; then C=host,+invtsc; else C=max,+invtsc; fi\n{line}");
    let said = advice(&with);
    assert!(said.contains("write ,tsc-frequency=2994372000 after"), "{said}");
    let said = advice(&with.replacen(",+invtsc", "", 1));
    assert!(said.contains("write ,+invtsc,tsc-frequency=2994372000 after"), "{said}");
}

#[test]
fn option_of_several_parts_has_a_reason() {
    for cpu in ["host,\\\nkvmclock=off", "\"host,\"'kvmclock=off'"] {
        let text = format!(
            "#!/bin/sh\nqemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu {cpu} -kernel vmlinuz -append root=/dev/vda\n"
        );
        let (_, left) = remedy(Kind::Qemu, &text, "q-kvmclock-off-no-invtsc");
        assert!(left.is_some(), "{cpu}");
        mended(Kind::Qemu, &text, &text);
    }
}

#[test]
fn reason_fits_the_guest() {
    let of = |features: &str| {
        let cpu = format!("  <cpu mode='host-passthrough'>{features}</cpu>\n");
        let text = domain("win10", "", &cpu, QUIET_CLOCK, "");
        remedy(Kind::Libvirt, &text, "lv-hypervisor-hidden").0
    };
    let hidden = "<feature policy='disable' name='hypervisor'/>";
    assert!(of(hidden).contains("the only fast clock left"));
    let there = of(&format!("{hidden}<feature policy='require' name='invtsc'/>"));
    assert!(there.contains("which the file has"), "{there}");
    let line = |cpu: &str| {
        let text =
            format!("qemu-system-x86_64 -enable-kvm -machine q35,hpet=off -cpu {cpu} -m 1G\n");
        remedy(Kind::Qemu, &text, "q-hypervisor-hidden").0
    };
    assert!(line("host,-hypervisor").contains("only fast clock left"));
    assert!(line("host,-hypervisor,+invtsc").contains("which is there"));
    // Windows has no vDSO.
    let rule = clocksmith_vm::rules::rule("lv-rdtscp-off").unwrap();
    assert!(rule.why.contains("Linux's vDSO"), "{}", rule.why);
}

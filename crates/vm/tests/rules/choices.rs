//! What a file does not take over of `--invtsc` and `--tsc-frequency` is said, with what to write.

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

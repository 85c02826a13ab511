//! Command lines in lists of other languages, and in YAML.

use super::*;
use clocksmith_vm::{Guest, Report};

fn read(name: &str, text: &str) -> Report {
    let document = Document::of_kind(name, text.as_bytes(), Kind::Qemu).unwrap();
    let fixed = fix(&document, &Choices { invtsc: true, ..Choices::default() }).unwrap();
    assert_eq!(fixed.document.text.as_str(), text, "nothing is edited in {name}");
    lint(&document).unwrap()
}

/// The ids of warnings and errors with their lines.
fn bad(name: &str, text: &str) -> Vec<(&'static str, u32)> {
    let document = Document::of_kind(name, text.as_bytes(), Kind::Qemu).unwrap();
    let severe = read(name, text).findings.into_iter().filter(|it| it.severity > Severity::Info);
    severe.map(|it| (it.rule.id, document.text.place(it.span.start).line)).collect()
}

const LISTS: [(&str, &str); 8] = [
    (
        "a.go",
        "package main\n\nvar args = []string{\"-accel\", \"kvm\", \"-M\", \"q35,hpet=off\", \"-cpu\", \"host,VALUE\"}\n",
    ),
    (
        "b.go",
        "package main\n\nfunc a() []string {\n\treturn []string{\"qemu-system-x86_64\", \"-enable-kvm\", \"-M\", \"q35\", \"-cpu\", \"host,VALUE\"}\n}\n",
    ),
    (
        "a.lua",
        "local args =\n\n{\"qemu-system-x86_64\", \"-accel\", \"kvm\", \"-M\", \"q35\", \"-cpu\", \"host,VALUE\"}\n",
    ),
    (
        "a.ex",
        "# a\n\ncmd = {\"qemu-system-x86_64\", [\"-accel\", \"kvm\", \"-M\", \"q35\", \"-cpu\", \"host,VALUE\"]}\n",
    ),
    (
        "A.java",
        "class A {\n\n  String[] a = new String[]{\"-cpu\", \"host,VALUE\"}, b = {\"-enable-kvm\", \"-M\", \"q35\"};\n}\n",
    ),
    (
        "a.yaml",
        "a:\n\n  {b: {c: [\"qemu-system-x86_64\", \"-accel\", \"kvm\", \"-cpu\", \"host,VALUE\"]}}\n",
    ),
    ("b.yaml", "a:\n\n  {b: {run: 'qemu-system-x86_64 -accel kvm -cpu host,VALUE'}}\n"),
    ("c.yaml", "a:\n\n  {b: {run: [\"qemu-system-x86_64 -accel kvm -cpu host,VALUE\"]}}\n"),
];

#[test]
fn what_closes_a_list_is_no_part_of_its_last_value() {
    for (name, text) in LISTS {
        let found = bad(name, &text.replace("VALUE", "+invtsc,tsc-frequency=2500000000"));
        assert_eq!(found, [], "{name}");
        let found = bad(name, &text.replace("VALUE", "-hypervisor"));
        assert!(found.iter().any(|(id, _)| *id == "q-hypervisor-hidden"), "{name}: {found:?}");
        let found = bad(name, &text.replace("VALUE", "tsc-frequency=3000"));
        assert!(found.iter().any(|(id, _)| *id == "q-frequency-impossible"), "{name}: {found:?}");
    }
}

#[test]
fn folded_values_are_one_line() {
    let of = |head: &str, indent: &str, begin: &str| {
        format!(
            "job:\n  script:\n    - {head}\n{indent}timeout 9 qemu-system-x86_64 -accel kvm -m 4G -name win11\n{begin}-cpu \
             host,-hypervisor -append \"a\n{begin}notsc\" -M q35,hpet=off\n    - true\n"
        )
    };
    for (head, indent) in [
        (">", "      "),
        (">-", "      "),
        (">+", "      "),
        (">2-", "      "),
        (">-2 # why", "      "),
        ("!!str >-", "       "),
    ] {
        let text = of(head, indent, indent);
        let found = bad("a.yml", &text);
        assert!(found.contains(&("q-hypervisor-hidden", 5)), "{text}: {found:?}");
        assert!(found.contains(&("q-guest-notsc", 6)), "{text}: {found:?}");
        assert!(bad("a.yml", &text.replace('\n', "\r\n")).contains(&("q-hypervisor-hidden", 5)));
    }
    // A line with more indentation, and one after an empty line, belong to another command; `|` folds nothing.
    let text = "a:\n  - >-\n    qemu-system-x86_64 -accel kvm -m 4G\n    -cpu host,-hypervisor\n";
    assert!(bad("a.yml", text).iter().any(|it| it.0 == "q-hypervisor-hidden"));
    for other in [
        text.replace("    -cpu", "      -cpu"),
        text.replace("    -cpu", "\n    -cpu"),
        text.replace(">-", "|"),
    ] {
        assert_eq!(bad("a.yml", &other), [], "{other}");
    }
    for text in [
        "a:\n  command: >\n    qemu-system-x86_64 -m 1G -drive file=a.img\n    -enable-kvm -cpu host,-hypervisor\n",
        "a:\n  - qemu-system-x86_64 -m 1G -enable-kvm\n    -drive file=a.img\n    -cpu host,-hypervisor\n  - b\n",
        "a: \"qemu-system-x86_64 -m 1G -enable-kvm\n  -drive file=a.img\n  -cpu host,-hypervisor\"\n",
        "- - run: >-\n      qemu-system-x86_64 -m 1G -drive file=a.img\n      -enable-kvm -cpu host,-hypervisor\n",
    ] {
        let found = bad("compose.yml", text);
        assert_eq!(
            found.iter().filter(|it| it.0 == "q-hypervisor-hidden").count(),
            1,
            "{text}: {found:?}"
        );
        assert!(found.iter().all(|it| it.1 >= 2), "{found:?}");
    }
}

#[test]
fn items_of_a_list_are_one_command_line() {
    for text in [
        "spec:\n  containers:\n    - command:\n        - qemu-system-x86_64\n        - -enable-kvm\n        - -cpu\n        - host,-hypervisor\n",
        "spec:\n  containers:\n    - command: [qemu-system-x86_64]\n      args:\n        - -enable-kvm\n        - -cpu\n        - 'host,-hypervisor'\n",
        "services:\n  a:\n    entrypoint: /usr/bin/qemu-system-x86_64\n    command:\n      - -enable-kvm\n      - -cpu\n      - \"host,-hypervisor\"\n",
        "job:\n  args:\n    - -M\n    - q35\n    - -enable-kvm\n    - -cpu\n    - host,-hypervisor\n",
    ] {
        let found = bad("a.yml", text);
        let line =
            u32::try_from(text.lines().position(|it| it.contains("-hypervisor")).unwrap() + 1);
        assert_eq!(found, [("q-hypervisor-hidden", line.unwrap())], "{text}");
    }
    // Each item of a script is a separate command.
    let text = "job:\n  script:\n    - echo qemu-system-x86_64\n    - apt install qemu-system-x86\n    - run -cpu host,-hypervisor\n";
    assert!(
        bad("a.yml", &format!("{text}    - qemu-system-x86_64 -enable-kvm -cpu host\n")).is_empty()
    );
    let report = read(
        "a.yml",
        "a:\n  - qemu-system-x86_64\n  - -enable-kvm\n  - -name\n  - win11\n  - -cpu\n  - host,hv-relaxed\n",
    );
    assert_eq!(report.guest, Guest::Windows);
    assert!(
        report.findings.iter().any(|it| it.rule.id == "q-hv-time-missing" && it.edits.is_empty())
    );
}

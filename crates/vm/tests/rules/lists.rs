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

/// Options beside the name of an emulator of another processor are not of a PC.
#[test]
fn options_of_another_processor_have_no_hpet() {
    let make = |target: &str| {
        format!(
            "SIM = qemu-system-{target}\nSIMFLAGS = -M q35 -nographic -cpu x -m 64 -kernel\n\ncheck: test.elf\n\t$(SIM) $(SIMFLAGS) $<\n"
        )
    };
    let hpet = |target: &str| {
        ids(Kind::Qemu, &make(target)).iter().any(|(id, _)| *id == "q-hpet-default-on")
    };
    for target in ["lm32", "mips64el", "or1k", "riscv64", "aarch64"] {
        assert!(!hpet(target), "{target}");
    }
    assert!(hpet("x86_64") && hpet("$(ARCH)"));
    let both = format!("{}OTHER = qemu-system-i386\n", make("lm32"));
    assert!(ids(Kind::Qemu, &both).iter().any(|(id, _)| *id == "q-hpet-default-on"));
}

/// A QEMU whose options another script sets is one, though nothing of it is known.
#[test]
fn options_in_variables_of_another_script() {
    let of = |rest: &str| format!("#!/bin/bash\n. ./config.sh\n{rest}\n");
    for rest in [
        "exec qemu-system-x86_64 $ARGS",
        "Q=qemu-system-x86_64\nexec $Q ${ARGS:+ $ARGS}",
        "if [ -z \"$D\" ]; then sudo qemu-system-x86_64 $A $B; fi",
    ] {
        let text = of(rest);
        assert_eq!(Kind::detect("vm.sh", &text), Some(Kind::Qemu), "{text}");
        assert_eq!(ids(Kind::Qemu, &text), [("q-value-unknown", Severity::Info)], "{text}");
    }
    for rest in [
        "apt-get install -y qemu-system-x86 $MORE",
        "qemu-system-x86_64 --version",
        "for q in qemu-system-x86_64 $OTHER; do which $q; done",
        "echo qemu-system-x86_64 $ARGS",
        "qemu-system-x86_64",
    ] {
        assert_eq!(Kind::detect("vm.sh", &of(rest)), None, "{rest}");
    }
}

/// NixOS writes the command line, and a list of options is a part of it.
#[test]
fn options_of_nixos_are_a_part() {
    let own =
        |list: &str| format!("{{ ... }}:\n{{\n  virtualisation.qemu.options = [ {list} ];\n}}\n");
    let micro = |list: &str| {
        format!(
            "{{\n  microvm = {{\n    vcpu = 2;\n    mem = 512;\n    qemu.extraArgs = [ {list} ];\n  }};\n}}\n"
        )
    };
    let files: [&dyn Fn(&str) -> String; 2] = [&own, &micro];
    for file in files {
        let text = file("\"-acpitable\" \"file=a.aml\"");
        assert_eq!(Kind::detect("vm.nix", &text), Some(Kind::Qemu), "{text}");
        assert_eq!(ids(Kind::Qemu, &text), [("q-value-unknown", Severity::Info)], "{text}");
        let text = file("\"-cpu\" \"host,kvmclock=off\"");
        assert_eq!(Kind::detect("vm.nix", &text), Some(Kind::Qemu), "{text}");
        let found = ids(Kind::Qemu, &text);
        assert!(found.contains(&("q-kvmclock-off-no-invtsc", Severity::Error)), "{found:?}");
        assert!(found.contains(&("q-value-unknown", Severity::Info)), "{found:?}");
    }
}

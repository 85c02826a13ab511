//! KubeVirt manifests.

use super::*;

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
    let hidden = manifest(on, "", "fedora").replace(
        "        clock:",
        "        features:\n          kvm:\n            hidden: true\n        clock:",
    );
    assert!(hidden.contains("hidden: true"));
    mended(kind, &hidden, &hidden);
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
        Info,
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
fn kubevirt_preferences_say_what_a_machine_leaves_out() {
    let kind = Kind::Kubevirt;
    let alone = manifest("            hpet:\n              present: false\n", "", "x");
    let with = alone.replace(
        "spec:\n  template",
        "spec:\n  preference:\n    name: windows.11.virtio\n  template",
    );
    let report = lint(&document(kind, &with)).unwrap();
    assert_eq!(
        (report.guest, report.guessed, report.partial),
        (clocksmith_vm::Guest::Windows, false, true)
    );
    assert!(report.findings.iter().all(|finding| finding.rule.id != "kv-hyperv-timer-missing"));
    let preference = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterPreference\nmetadata:\n  name: windows.11\nspec:\n  clock:\n    preferredTimer:\n      hpet:\n        present: true\n      kvm:\n        present: false\n  cpu:\n    preferredCPUFeatures:\n    - name: invtsc\n      policy: require\n";
    let found = ids(kind, preference);
    for id in ["kv-hpet-on", "kv-invtsc-node-frequency", "kv-kvmclock-off"] {
        assert!(found.iter().any(|(known, _)| *known == id), "{id} {found:?}");
    }
}

#[test]
fn kubevirt_lists_name_their_objects() {
    let one = |name: &str| {
        let text = manifest("            hpet:\n              present: true\n", "", name);
        text.replace("metadata:\n", "metadata:\n  namespace: shop\n").replace('\n', "\n  ")
    };
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}\n- {}\n",
        one("fedora-web").trim_end(),
        one("windows-db").trim_end()
    );
    let report = lint(&document(Kind::Kubevirt, &list)).unwrap();
    let objects: Vec<&str> = report
        .findings
        .iter()
        .filter(|f| f.rule.id == "kv-hpet-on")
        .filter_map(|f| f.object.as_deref())
        .collect();
    assert_eq!(objects, ["VirtualMachine shop/fedora-web", "VirtualMachine shop/windows-db"]);
    // Each has a different system.
    let missing: Vec<_> =
        report.findings.iter().filter(|f| f.rule.id == "kv-hyperv-timer-missing").collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].object.as_deref(), Some("VirtualMachine shop/windows-db"));
}

#[test]
fn kubevirt_kind_is_known_by_its_name_alone() {
    for kind in [
        "VirtualMachineClusterInstancetype",
        "VirtualMachineInstancetype",
        "VirtualMachineClusterPreference",
    ] {
        let text =
            format!("---\nkind: {kind}\nmetadata:\n  name: big\nspec:\n  cpu:\n    guest: 2\n");
        assert_eq!(Kind::detect("a.yaml", &text), Some(Kind::Kubevirt), "{kind}");
        assert!(lint(&document(Kind::Kubevirt, &text)).is_ok());
    }
    assert_eq!(Kind::detect("a.yaml", "kind: Deployment\nspec:\n  cpu: 1\n"), None);
}

#[test]
fn kubevirt_clock_by_an_alias_is_that_of_each_machine() {
    let object = |name: &str, clock: &str| {
        format!(
            "- kind: VirtualMachine\n  apiVersion: kubevirt.io/v1\n  metadata: {{name: {name}}}\n  spec:\n    template:\n      \
             spec:\n        domain:\n          devices: {{}}\n          clock: {clock}\n"
        )
    };
    let anchor = object("fedora", "&c {timer: {kvm: {present: false}}}");
    let merged = object("debian", "{<<: *c, utc: {}}");
    let text =
        format!("apiVersion: v1\nkind: List\nitems:\n{anchor}{}{merged}", object("centos", "*c"));
    let document = Document::of_kind("vms.yaml", text.as_bytes(), Kind::Kubevirt).unwrap();
    let findings = lint(&document).unwrap().findings;
    let named = findings.iter().filter(|it| it.severity == Severity::Error);
    let named: Vec<String> = named.map(|it| format!("{:?}", it.object)).collect();
    assert_eq!(named.len(), 3, "{named:?}");
    for name in ["fedora", "centos", "debian"] {
        assert!(named.iter().any(|it| it.contains(name)), "{name}: {named:?}");
    }
    // A text that three machines share is not edited.
    let fixed = fix(&document, &Choices::default()).unwrap();
    assert_eq!(fixed.document.text.as_str(), text);
}

#[test]
fn kubevirt_annotation_that_goes_on_in_the_column_of_its_key() {
    let text = |indent: &str, present: &str| {
        format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: win11\n  annotations:\n    hooks.kubevirt.io/hookSidecars: '[{{\"args\": [\"--version\"],\n{indent}\"image\": \"a:1\"}}]'\nspec:\n  template:\n    spec:\n      domain:\n        clock:\n          timer:\n            hyperv: {{present: {present}}}\n            hpet: {{present: false}}\n"
        )
    };
    for indent in ["    ", "      ", ""] {
        let before = text(indent, "false");
        assert!(
            ids(Kind::Kubevirt, &before).contains(&("kv-hyperv-timer-missing", Severity::Warn))
        );
        // Only the value is changed, wherever the annotation continues.
        let declared =
            document(Kind::Kubevirt, &before).with_guest(Some(clocksmith_vm::Guest::Windows));
        let fixed = fix(&declared, &Choices::default()).unwrap();
        assert_eq!(fixed.document.text.as_str(), text(indent, "true"));
    }
}

#[test]
fn kubevirt_key_that_stands_twice_is_named_and_the_last_one_counts() {
    let text = |first: &str, last: &str| {
        format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      domain:\n        clock:\n          timer:\n            hpet: {{present: {first}}}\n            hpet: {{present: {last}}}\n        devices: {{}}\n"
        )
    };
    let on = ("kv-hpet-on", Severity::Warn);
    let twice = ("kv-duplicate-key", Severity::Warn);
    let all = ids(Kind::Kubevirt, &text("false", "true"));
    assert!(all.contains(&on) && all.contains(&twice), "{all:?}");
    let all = ids(Kind::Kubevirt, &text("true", "false"));
    assert!(!all.contains(&on) && all.contains(&twice), "{all:?}");
    // Branches of a template, and keys that do not affect a clock.
    let branches = text("false", "true").replace(
        "            hpet: {present: true}",
        "{{ else }}\n            hpet: {present: true}",
    );
    assert!(!ids(Kind::Kubevirt, &branches).contains(&twice));
    let labels = text("true", "true")
        .replace("            hpet: {present: true}\n        devices", "        devices");
    let labels = labels.replace("  name: a\n", "  name: a\n  labels: {b: c, b: d}\n");
    assert!(!ids(Kind::Kubevirt, &labels).contains(&twice));
}

/// A no-break space looks like indentation, but is not.
#[test]
fn kubevirt_no_break_spaces_are_refused() {
    let text = manifest("            hpet:\n              present: true\n", "", "fedora");
    let copied: String = text
        .lines()
        .map(|line| {
            let inside = line.trim_start();
            format!("{}{inside}\n", "\u{a0}".repeat(line.len() - inside.len()))
        })
        .collect();
    let error = lint(&document(Kind::Kubevirt, &copied)).unwrap_err().to_string();
    assert!(error.contains("no-break space") && error.contains("line 4"), "{error}");
    // In a text that the manifest contains they are what they are.
    let held = text.replace(
        "  name: fedora\n",
        "  name: fedora\n  annotations:\n    a: |\n      x\n      \u{a0}b: c\n",
    );
    assert_eq!(ids(Kind::Kubevirt, &held), ids(Kind::Kubevirt, &text));
}

#[test]
fn key_that_is_twice_with_the_same_content_loses_nothing() {
    let text = |second: &str| {
        format!(
            "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: a\nspec:\n  template:\n    spec:\n      domain:\n        \
             features:\n          smm:\n            enabled: true\n        features:\n          smm:\n            enabled: {second}\n        devices: {{}}\n"
        )
    };
    let severity = |text: &str| {
        let found = ids(Kind::Kubevirt, text).into_iter();
        found.filter(|(id, _)| *id == "kv-duplicate-key").map(|it| it.1).collect::<Vec<_>>()
    };
    assert_eq!(severity(&text("true")), [Severity::Info]);
    assert_eq!(severity(&text("false")), [Severity::Warn]);
}

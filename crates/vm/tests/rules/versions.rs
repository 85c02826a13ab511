//! Options that newer versions of QEMU removed, and scripts that a file writes line by line.

use super::*;

const RUN: &str = "qemu-system-x86_64 -enable-kvm -machine q35 -cpu host $TWEAKS -m 1G\n";

/// Returns the severity of `-no-hpet` and `-no-acpi` in a script.
fn gone(text: &str) -> Severity {
    let of = |text: &str, id: &str| {
        let found = ids(Kind::Qemu, text);
        let found: Vec<_> = found.into_iter().filter(|(rule, _)| *rule == id).collect();
        let [(_, severity)] = found.as_slice() else { panic!("{found:?}\n{text}") };
        *severity
    };
    let severity = of(text, "q-no-hpet-removed");
    assert_eq!(of(&text.replace("no-hpet", "no-acpi"), "q-no-acpi-removed"), severity);
    severity
}

#[test]
fn an_option_that_is_gone_is_a_warning_where_no_version_is_asked_for() {
    use Severity::{Error, Info, Warn};
    let script = |inside: &str| {
        format!(
            "#!/bin/bash\nVER=$(qemu-system-x86_64 --version | head -n1)\nTWEAKS=\"-S\"\n{inside}{RUN}"
        )
    };
    let set = "TWEAKS=\"-no-hpet\"\n";
    assert_eq!(gone(&script(set)), Error);
    assert_eq!(
        gone(&script(&format!("case $os in\n windows)\n {set} ;;\n *) A=1 ;;\nesac\n"))),
        Warn
    );
    assert_eq!(gone(&script(&format!("if [ $os = windows ]; then\n{set}fi\n"))), Warn);
    // A condition on the version beside it, or within the same branch, does not apply to it.
    assert_eq!(
        gone(&script(&format!(
            "if [ $os = a ]; then\nif [ $VER -lt 81 ]; then A=1; fi\n{set}fi\n"
        ))),
        Warn
    );
    for inside in [
        format!("if [ $VER -lt 81 ]; then\n{set}fi\n"),
        format!("if [ $VER -gt 81 ]; then\nA=1\nelse\n{set}fi\n"),
        format!("if [ $VER -lt 81 ]; then\nif [ $os = a ]; then\n{set}fi\nfi\n"),
        format!("SHORT=${{VER:0:2}}\ncase $SHORT in\n 80)\n {set};;\nesac\n"),
        format!("if [ $VER -lt 81 ]; then\nOLD=y\nfi\nif [ $OLD = y ]; then\n{set}fi\n"),
        format!(
            "is_old() {{\n qemu-system-x86_64 --version | grep -q 7\n}}\nif is_old; then\n{set}fi\n"
        ),
        format!("[ $VER -lt 81 ] && {set}"),
        format!("if [ $VER -ge 81 ]; then\nexit 1\nfi\nif [ $os = windows ]; then\n{set}fi\n"),
    ] {
        assert_eq!(gone(&script(&inside)), Info, "{inside}");
    }
    // A script that ends with an older version continues with a newer one.
    assert_eq!(
        gone(&script(&format!(
            "if [ $VER -lt 60 ]; then\nexit 1\nfi\nif [ $os = windows ]; then\n{set}fi\n"
        ))),
        Warn
    );
}

#[test]
fn a_script_that_is_written_line_by_line_is_read() {
    let dockerfile = |flags: &str| {
        format!(
            "FROM archlinux\nRUN touch Start.sh \\\n    && tee -a Start.sh <<< '#!/bin/bash' \\\n    && tee -a Start.sh <<< 'exec qemu-system-x86_64 -m 1G \\' \\\n    && tee -a Start.sh <<< '-cpu ${{CPU:-max}},${{FLAGS:-check}} \\' \\\n    && tee -a Start.sh <<< '-machine q35,hpet=off,accel=kvm'\nENV CPU=host\nENV FLAGS='{flags}'\n"
        )
    };
    let bad = |text: &str| {
        let found = ids(Kind::Qemu, text).into_iter();
        let bad: Vec<_> = found.filter(|(_, it)| *it > Severity::Info).map(|it| it.0).collect();
        bad
    };
    assert_eq!(bad(&dockerfile("+invtsc,check")), ["q-invtsc-migblock"]);
    assert_eq!(bad(&dockerfile("check")), [""; 0]);
    // A line by itself is not a command: another one requests KVM.
    assert!(!ids(Kind::Qemu, &dockerfile("check")).iter().any(|(id, _)| *id == "q-emulated"));
    // Lines of another file do not belong to it, and nothing is changed.
    let text = dockerfile("check").replace("FLAGS:-check", "FLAGS:-check},-kvmclock,${A:-check");
    assert_eq!(
        bad(&text.replace("ENV FLAGS='check'\n", "")).first(),
        Some(&"q-kvmclock-off-no-invtsc")
    );
    mended(Kind::Qemu, &text, &text);
    let echo = "#!/bin/sh\necho '#!/bin/sh' >> run.sh\necho 'qemu-system-x86_64 -enable-kvm -m 1G \\' >> run.sh\necho ' -cpu host,+invtsc -machine q35,hpet=off' >> run.sh\n";
    assert_eq!(bad(echo), ["q-invtsc-migblock"]);
    assert_eq!(
        bad(&echo.replace("+invtsc -machine q35,hpet=off' >> run.sh", "+invtsc' >> note")),
        [""; 0]
    );
}

#[test]
fn scripts_in_two_documents_are_two_commands() {
    let document = |cpu: &str| {
        format!(
            "cat > a.sh <<EOF\nqemu-system-x86_64 \\\\\n  -enable-kvm \\\\\n  -cpu {cpu} \\\\\n  -m 1G\nEOF\n"
        )
    };
    let twice = format!("#!/bin/bash\n{}{}", document("host"), document("host"));
    assert!(!ids(Kind::Qemu, &twice).iter().any(|it| it.0 == "q-cpu-repeated"));
    let off = format!("#!/bin/bash\n{}{}", document("host,-kvmclock"), document("host"));
    let found = ids(Kind::Qemu, &off);
    assert!(found.contains(&("q-kvmclock-off-no-invtsc", Severity::Error)), "{found:?}");
    // In a document without expansion, two backslashes are two.
    let plain = twice.replace("<<EOF", "<<'EOF'").replace("\\\\\n", "\\\n");
    assert!(!ids(Kind::Qemu, &plain).iter().any(|it| it.0 == "q-cpu-repeated"));
}

#[test]
fn option_beside_one_that_was_removed_before_is_a_warning() {
    let of = |more: &str| gone(&format!("qemu-system-x86_64 -accel kvm -m 1G {more} -no-hpet\n"));
    assert_eq!(of(""), Severity::Error);
    for former in ["-realtime mlock=off", "-soundhw hda", "-net nic,vlan=0", "-M pc-1.3"] {
        assert_eq!(of(former), Severity::Warn, "{former}");
    }
    assert_eq!(of("-M pc-i440fx-3.0"), Severity::Error);
}

//! Command lines of QEMU: what matters only to some guests, and what only a run tells.

use super::*;

/// How much the HPET of a machine matters that says nothing of it.
fn hpet_by_default(text: &str) -> Option<Severity> {
    let all = ids(Kind::Qemu, text);
    all.into_iter().find(|(id, _)| *id == "q-hpet-default-on").map(|(_, severity)| severity)
}

#[test]
fn qemu_hpet_matters_only_where_the_guest_may_use_it() {
    use Severity::{Info, Warn};
    let run = |rest: &str| format!("qemu-system-x86_64 -enable-kvm -machine q35 -m 1G {rest}\n");
    for (rest, severity) in [
        ("", Info),
        ("-cpu host", Info),
        ("-cpu host -name debian", Info),
        ("-cpu host,+invtsc -append quiet", Info),
        ("-cpu host,kvm=off -append quiet", Warn),
        ("-cpu host,-kvmclock,+invtsc", Warn),
        ("-cpu host,-hypervisor", Warn),
        ("-cpu host -name freebsd", Warn),
        ("-cpu host,hv_relaxed", Warn),
        ("-cpu host,hv_relaxed,hv_time", Warn),
        ("-cpu host,hv_vpindex,hv_synic,hv_time,hv_stimer", Info),
        ("-cpu host,hv_passthrough", Info),
        ("-cpu Penryn -device isa-applesmc,osk=x", Info),
    ] {
        assert_eq!(hpet_by_default(&run(rest)), Some(severity), "{rest}");
        if severity == Info {
            // An info is not edited.
            mended(Kind::Qemu, &run(rest), &run(rest));
        }
    }
    // With kvm-clock back it does not matter.
    let lost = run("-cpu host,-kvmclock");
    assert_eq!(hpet_by_default(&lost), Some(Warn));
    mended(Kind::Qemu, &lost, &lost.replace(",-kvmclock", ""));
    let hidden = run("-cpu host,kvm=off");
    mended(Kind::Qemu, &hidden, &hidden.replace("q35", "q35,hpet=off"));
    // Windows that was given one takes its ticks from it, unless it has the timers of Hyper-V.
    let asked = |flags: &str| {
        format!(
            "qemu-system-x86_64 -enable-kvm -machine q35,hpet=on -cpu host,hv_time{flags} -m 1G\n"
        )
    };
    mended(Kind::Qemu, &asked(""), &asked(""));
    let default = asked("").replace(",hpet=on", "");
    assert_eq!(hpet_by_default(&default), Some(Warn));
    mended(Kind::Qemu, &default, &default);
    let all = ",hv_vpindex,hv_synic,hv_stimer";
    mended(Kind::Qemu, &asked(all), &asked(all).replace("hpet=on", "hpet=off"));
}

#[test]
fn qemu_invtsc_is_nothing_only_in_the_emulator() {
    let run = |accel: &str| format!("qemu-system-x86_64 {accel} -cpu host,+invtsc -m 1G\n");
    let says =
        |accel: &str| ids(Kind::Qemu, &run(accel)).iter().any(|(id, _)| *id == "q-invtsc-tcg");
    assert!(says("-accel tcg") && says("-M q35,accel=tcg") && says("-accel tcg,thread=multi"));
    for accel in
        ["-accel hvf", "-M q35,accel=hvf", "-accel whpx", "-accel nvmm", "-accel hvf -accel tcg"]
    {
        assert!(!says(accel), "{accel}");
    }
}

#[test]
fn qemu_windows_without_a_cpu_has_no_page() {
    let run =
        |rest: &str| format!("qemu-system-x86_64 -machine q35 -m 1G -cdrom Win11.iso {rest}\n");
    let says = |text: &str| ids(Kind::Qemu, text).iter().any(|(id, _)| *id == "q-hv-time-missing");
    assert!(says(&run("-enable-kvm")));
    mended(Kind::Qemu, &run("-enable-kvm"), &run("-enable-kvm"));
    for rest in
        ["-enable-kvm -cpu host,hv_time", "-accel tcg", "-enable-kvm $MORE", "-enable-kvm \"$@\""]
    {
        assert!(!says(&run(rest)), "{rest}");
    }
    assert!(!says(&run("-enable-kvm").replace("Win11", "debian")));
}

#[test]
fn qemu_options_that_only_a_run_tells_are_never_silent() {
    let run = "qemu-system-x86_64 -enable-kvm -m 1G";
    let off = "-cpu host,-kvmclock";
    let told = |text: &str| {
        let report = lint(&document(Kind::Qemu, text)).unwrap();
        let all = report.findings.iter().filter(|it| it.rule.id == "q-value-unknown");
        all.map(|it| it.summary.clone().unwrap_or_default()).collect::<Vec<_>>()
    };
    for (text, word) in [
        (
            format!(
                "M=(\"q35,hpet=on\" pc)\nfor i in 0 1; do {run} -machine \"${{M[$i]}}\" -cpu host; done\n"
            ),
            "${M[$i]}",
        ),
        (format!("O[1]=\"-machine q35,hpet=on\"\n{run} -cpu host ${{O[1]}}\n"), "hpet=on"),
        (format!("go() {{ m=$1; {run} -machine \"$m\" -cpu host; }}\ngo q35,hpet=on\n"), "hpet=on"),
        (format!("go() {{ {run} -cpu \"$1\"; }}\ngo host,-kvmclock\n"), "what $1 holds"),
        (
            format!("read -r M <<E\nq35,hpet=on\nE\n{run} -machine \"$M\" -cpu host\n"),
            "what $M holds",
        ),
        (
            format!("a=q35,hpet=on\neval \"m=\\$a\"\n{run} -machine \"$m\" -cpu host\n"),
            "what $m holds",
        ),
        (
            format!("for t in hpet=on hpet=off; do {run} -machine q35,$t -cpu host; done\n"),
            "which command line hpet=on",
        ),
        (
            format!(
                "M=q35,hpet=on\na() {{ local M=pc; {run} -machine $M; }}\nb() {{ {run} -machine $M; }}\n"
            ),
            "where $M with hpet=on",
        ),
    ] {
        let all = told(&text);
        assert!(all.iter().any(|it| it.contains(word)), "{word}: {all:?}\n{text}");
        mends(Kind::Qemu, &text);
    }
    for text in [
        format!("{run} {off}\n"),
        format!("# not hpet=on\n{run} -machine q35,hpet=off\n"),
        format!("echo 'no hpet=on here'\n{run} -machine q35,hpet=off -cpu host -name $N\n"),
        format!("C=host,-kvmclock\n{run} -cpu $C\n"),
    ] {
        assert_eq!(told(&text), [""; 0], "{text}");
    }
    // A value that a variable gets where it is used is read.
    let text = format!("{run} -machine q35,hpet=off -cpu \"${{C:=host,-kvmclock}}\"\necho $C\n");
    assert!(ids(Kind::Qemu, &text).iter().any(|(id, _)| *id == "q-kvmclock-off-no-invtsc"));
    mended(Kind::Qemu, &text, &text);
}

#[test]
fn qemu_branch_for_windows_makes_no_windows_of_the_guest() {
    let text = "G=${1:-linux}\nC=host,-kvmclock\nif [ $G = windows ]; then C=$C,hv_time,hv_relaxed; fi\n\
                qemu-system-x86_64 -enable-kvm -name $G -machine q35 -cpu $C -drive file=$G.img\n";
    let document = Document::of_kind("windows-and-linux.sh", text.as_bytes(), Kind::Qemu).unwrap();
    let report = lint(&document).unwrap();
    assert_eq!(report.guest, clocksmith_vm::Guest::Unknown);
    let all: Vec<_> = report.findings.iter().map(|it| (it.rule.id, it.severity)).collect();
    assert!(all.contains(&("q-kvmclock-off-no-invtsc", Severity::Error)), "{all:?}");
    assert!(!all.iter().any(|(id, _)| *id == "q-hv-time-missing"), "{all:?}");
}

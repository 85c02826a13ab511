//! Machines, wishes, and the resulting proposals.

use super::*;
use crate::accept::{BACKWARD, UNVERIFIED};
use crate::plan::Action;
use clocksmith_diagnose::{Assessment, Measured, Path, Read, Verdict, assess};
use clocksmith_facts::Origin;
use clocksmith_facts::collect;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::tree::MemoryTree;

const SYSFS: &str = "sys/devices/system/clocksource/clocksource0";

/// A machine by its clocksources, command line and log.
struct Case {
    facts: Facts,
    report: Report,
    system: System,
}

fn machine(available: &str, current: &str, cmdline: &str, log: &str) -> Case {
    let mut tree = MemoryTree::new("memory");
    tree.insert(&format!("{SYSFS}/available_clocksource"), format!("{available} \n").into_bytes());
    tree.insert(&format!("{SYSFS}/current_clocksource"), format!("{current}\n").into_bytes());
    tree.insert("proc/cmdline", format!("{cmdline}\n").into_bytes());
    tree.insert("proc/version", b"Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP\n".to_vec());
    tree.insert(
        "proc/cpuinfo",
        b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: x\nflags\t\t: fpu tsc constant_tsc nonstop_tsc\n"
            .to_vec(),
    );
    let mut facts = collect::collect(&tree, Origin::Root("memory".into()));
    if !log.is_empty() {
        let log = format!("[    0.000000] Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP\n{log}");
        let log = KernelLog::scan(log.as_bytes(), "dmesg").unwrap();
        facts.log = Facts::from_log(log).log;
    }
    let slow = ["hpet", "acpi_pm", "xen"].contains(&current);
    let path = if slow { Path::Syscall } else { Path::Vdso };
    let read = Read {
        clock: "CLOCK_MONOTONIC".into(),
        path,
        ns: Some(if slow { 900.0 } else { 20.0 }),
        syscall_ns: Some(950.0),
    };
    let measured = Measured { reads: vec![read], counter_ns: None };
    let Assessment { facts, report, .. } = assess(facts, measured);
    let mut system = System { live: true, systemd: true, ..System::default() };
    system.os.id = "debian".into();
    system.programs.insert("update-grub".into());
    let line = format!("BOOT_IMAGE=/vmlinuz {cmdline}\n");
    let settings = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{cmdline}\"\nGRUB_CMDLINE_LINUX=\"\"\n");
    system = system.with("/proc/cmdline", &line).with("/etc/default/grub", &settings);
    Case { facts, report, system }
}

impl Case {
    fn propose(&self, checked: Checked, wish: &Wish) -> Proposal {
        let situation =
            Situation { report: &self.report, facts: &self.facts, system: &self.system, checked };
        propose(&situation, wish)
    }
}

fn passed() -> Checked {
    Checked::Passed("verify passed".into())
}

/// The steps in short.
fn short(proposal: &Proposal) -> Vec<String> {
    let steps = proposal.plan.steps.iter();
    steps
        .map(|step| match &step.action {
            Action::Write { path, .. } => path.file_name().unwrap().to_string_lossy().into_owned(),
            Action::Link { .. } => "link".to_owned(),
            Action::Run { command, .. } => command.join(" "),
            Action::Clocksource { name } => name.clone(),
            Action::Remove { .. } => "remove".to_owned(),
        })
        .collect()
}

fn to(name: &str) -> Wish {
    Wish { to: Some(name.into()), ..Wish::default() }
}

fn param(word: &str) -> Wish {
    Wish { add: vec![word.into()], ..Wish::default() }
}

const UNIT: [&str; 4] = [
    "clocksmith-clocksource.service",
    "link",
    "systemctl daemon-reload",
    "systemctl restart clocksmith-clocksource.service",
];

#[test]
fn nothing_is_done_where_nothing_is_wrong() {
    let good = machine("tsc hpet acpi_pm", "tsc", "quiet", "");
    let proposal = good.propose(passed(), &Wish::default());
    assert_eq!(
        (proposal.outcome, short(&proposal).len()),
        (Outcome::NothingToDo, 0),
        "{proposal:?}"
    );
}

#[test]
fn a_usable_tsc_is_chosen_now_and_at_each_boot() {
    for (available, current) in [("xen tsc hpet acpi_pm", "xen"), ("tsc hpet acpi_pm", "hpet")] {
        let slow = machine(available, current, "quiet", "");
        let proposal = slow.propose(passed(), &Wish::default());
        assert_eq!(proposal.outcome, Outcome::Planned, "{proposal:?}");
        let mut expected = vec!["tsc"];
        expected.extend(UNIT);
        assert_eq!(short(&proposal), expected);
        assert!(!proposal.reboot && !proposal.verify_first);
        // Not verified in this boot: that is done before.
        assert!(slow.propose(Checked::NotYet, &Wish::default()).verify_first);
        let wish = Wish { boot: Boot::None, ..Wish::default() };
        let proposal_now = slow.propose(passed(), &wish);
        assert_eq!(short(&proposal_now), ["tsc"]);
        // The words with which a later boot must be compared.
        assert_eq!(proposal.plan.each_boot.as_deref(), Some("tsc"));
        assert_eq!(proposal_now.plan.each_boot, None);
    }
}

#[test]
fn propose_with_failed_verify_is_refused() {
    let slow = machine("tsc hpet acpi_pm", "hpet", "quiet", "");
    let failed = Checked::Failed("the counters of two CPUs are apart".into());
    let proposal = slow.propose(failed.clone(), &Wish::default());
    assert_eq!((proposal.outcome, short(&proposal).len()), (Outcome::Refused, 0), "{proposal:?}");
    assert_eq!(proposal.refused[0].accept.as_deref(), Some(BACKWARD));
    let unknown = slow.propose(Checked::Unknown("too busy".into()), &Wish::default());
    assert_eq!(unknown.outcome, Outcome::Refused);
    assert_eq!(unknown.refused[0].accept.as_deref(), Some(UNVERIFIED));
    // Accepted by name, and recorded.
    let accept = Accept { backward: true, unverified: false };
    let proposal = slow.propose(failed, &Wish { accept, ..Wish::default() });
    assert_eq!(proposal.outcome, Outcome::Planned);
    assert!(
        proposal.plan.accepted[0].starts_with("--accept-time-may-go-backward: verify measured")
    );
}

#[test]
fn the_words_in_the_way_go() {
    let slow = machine("tsc hpet acpi_pm", "hpet", "quiet clocksource=hpet", "");
    let wish = Wish { boot: Boot::Cmdline, ..Wish::default() };
    let proposal = slow.propose(passed(), &wish);
    assert_eq!(proposal.cmdline.remove, ["clocksource=hpet"], "{proposal:?}");
    assert_eq!(short(&proposal).first().map(String::as_str), Some("tsc"));
    assert_eq!(proposal.plan.cmdline, proposal.cmdline);
    assert_eq!(proposal.plan.each_boot, None);
    assert!(proposal.reboot);
    let off = machine(
        "hpet acpi_pm",
        "hpet",
        "quiet notsc",
        "[    0.1] tsc: Kernel compiled with CONFIG_X86_TSC, cannot disable TSC completely\n",
    );
    let proposal = off.propose(passed(), &Wish::default());
    assert_eq!(proposal.cmdline.remove, ["notsc"], "{:?}", off.report.causes);
    assert_eq!(short(&proposal), ["grub", "update-grub"]);
}

const WARP: &str = "[    0.180000] TSC synchronization [CPU#0 -> CPU#1]:\n\
                    [    0.180000] Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.\n\
                    [    0.180000] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n";

#[test]
fn a_measured_warp_is_not_switched_off() {
    let warped = machine("hpet acpi_pm", "hpet", "quiet", WARP);
    for wish in [Wish::default(), param("tsc=reliable")] {
        let proposal = warped.propose(passed(), &wish);
        assert_eq!(
            (proposal.outcome, short(&proposal).len()),
            (Outcome::Refused, 0),
            "{proposal:?}"
        );
        assert_eq!(proposal.refused[0].what, "tsc=reliable");
        assert!(proposal.refused[0].because.contains("backwards"), "{proposal:?}");
        let accept = Accept { backward: true, unverified: false };
        let proposal = warped.propose(passed(), &Wish { accept, ..wish });
        assert_eq!(proposal.cmdline.add, ["tsc=reliable"]);
        assert_eq!(short(&proposal), ["90-clocksmith.cfg", "update-grub"]);
        assert!(proposal.plan.accepted[0].starts_with(BACKWARD));
    }
    let proposal = warped.propose(passed(), &to("tsc"));
    assert_eq!(proposal.outcome, Outcome::Refused);
    assert_eq!(proposal.refused[0].accept, None, "the kernel does not offer it");
}

#[test]
fn a_wish_that_makes_no_sense_is_refused() {
    let slow = machine("tsc hpet acpi_pm", "hpet", "quiet", "");
    for (wish, word) in [
        (to("kvmclock"), "perhaps kvm-clock was intended"),
        (to("kvm-clock"), "does not offer"),
        (to("jiffies"), "not advance"),
        (to("a b"), "not the name"),
        (param("tsc=reliable,nowatchdog"), "compared as a whole"),
        (param("clocksource=tcs"), "no clocksource"),
        (param("x\"; reboot #"), "cannot be written"),
    ] {
        let proposal = slow.propose(passed(), &wish);
        assert_eq!((proposal.outcome, short(&proposal).len()), (Outcome::Refused, 0), "{wish:?}");
        assert!(proposal.refused[0].because.contains(word), "{:?}", proposal.refused);
    }
    let proposal = slow.propose(passed(), &param("notsc"));
    assert_eq!(short(&proposal), ["90-clocksmith.cfg", "update-grub"]);
}

#[test]
fn an_unknown_boot_loader_says_first_what_to_do() {
    let mut bare = machine("tsc hpet acpi_pm", "hpet", "quiet", "");
    bare.system = System { live: true, systemd: true, ..System::default() };
    let proposal = bare.propose(passed(), &param("tsc=reliable"));
    assert_eq!(proposal.outcome, Outcome::Refused);
    assert!(proposal.summary.ends_with("By hand, on its kernel command line: add tsc=reliable"));
    assert_eq!(proposal.plan.cmdline, Change::default(), "no step does it");
    // If a choice cannot be kept, the manual steps are given too.
    bare.system.systemd = false;
    let proposal = bare.propose(passed(), &to("hpet"));
    assert_eq!(proposal.outcome, Outcome::ByHand);
    assert!(proposal.by_hand[1].contains("--to hpet --boot cmdline"));
}

#[test]
fn just_now_gives_finding_of_verify() {
    use crate::trial::Verified;
    let not = || Verified::NotTrusted("apart".to_owned());
    assert_eq!(Checked::just_now(None, not()), Checked::Failed("apart".to_owned()));
    assert!(matches!(Checked::just_now(None, Verified::Trusted), Checked::Passed(_)));
    let unknown = Verified::Unknown("busy".to_owned());
    assert_eq!(Checked::just_now(None, unknown), Checked::Unknown("busy".to_owned()));
    let slow = machine("tsc hpet acpi_pm", "hpet", "quiet", "");
    let checked = Checked::just_now(None, not());
    let proposal = slow.propose(checked, &Wish::default());
    assert_eq!((proposal.outcome, short(&proposal).len()), (Outcome::Refused, 0));
}

#[test]
fn a_container_changes_nothing() {
    let mut inside = machine("tsc hpet", "hpet", "quiet", "");
    inside.facts.environment.container =
        clocksmith_facts::Fact::known(Some("docker".into()), clocksmith_facts::Source::new("x"));
    let proposal = inside.propose(passed(), &to("tsc"));
    assert_eq!(proposal.outcome, Outcome::Refused);
    assert!(proposal.refused[0].because.contains("host"));
}

#[test]
fn a_system_in_a_directory_has_no_running_kernel() {
    let mut root = machine("tsc hpet acpi_pm", "hpet", "quiet", "");
    root.system.live = false;
    let proposal = root.propose(Checked::NotYet, &to("tsc"));
    assert_eq!(proposal.refused[0].accept.as_deref(), Some(UNVERIFIED));
    let accept = Accept { backward: false, unverified: true };
    let proposal = root.propose(Checked::NotYet, &Wish { accept, ..to("tsc") });
    assert_eq!(short(&proposal), ["clocksmith-clocksource.service", "link"]);
}

#[test]
fn verdicts_of_verify_are_read() {
    assert_eq!(Checked::of(None), Checked::NotYet);
    let result = |cpus: &[u32], confidence: &str| {
        serde_json::from_value::<VerifyResult>(serde_json::json!({
            "schema": clocksmith_facts::verified::SCHEMA, "version": "0", "boot_id": "b",
            "uptime_s": 1, "time_s": 1, "kernel": null, "machine": null, "clocksource": "hpet",
            "cpus": cpus, "machine_cpus": [0, 1], "verdict": "trusted", "confidence": confidence,
            "counter": "trusted", "clocks": "trusted", "detectable_offset_ns": null,
            "detectable_rate_ppm": null, "detectable_jump_ns": null, "findings": [],
        }))
        .unwrap()
    };
    assert!(matches!(Checked::of(Some(&result(&[0, 1], "high"))), Checked::Passed(_)));
    // Only some of the CPUs, or low confidence: it is verified again, and that result is final if it is no better.
    for weak in [result(&[0], "medium"), result(&[0, 1], "low")] {
        assert_eq!(Checked::of(Some(&weak)), Checked::NotYet);
        let just_now = Checked::just_now(Some(&weak), crate::trial::Verified::Trusted);
        assert!(matches!(just_now, Checked::Unknown(_)), "{just_now:?}");
    }
    assert_eq!(machine("tsc", "tsc", "", "").report.verdict, Verdict::Ok);
}

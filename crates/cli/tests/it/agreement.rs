//! The verbs agree: on the recorded machines, with each clocksource in use, with faults in the log, measured and not,
//! no verb contradicts another. `why` and `fix`: they do not propose to a person what `propose` refuses, and do not
//! advise the TSC if the evidence is against it. `check`: its state is that of the verdict. `watch`: it judges as
//! `check` does, and reports a demotion where `why` found one and sysfs does not disprove it. `fleet`: the values that
//! it reads from the document are those that `why` wrote, and the change that it advises is one that `fix` makes.
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_change::accept::UNVERIFIED;
use clocksmith_change::propose::{Boot, Checked, Situation, Wish, propose};
use clocksmith_change::system::System;
use clocksmith_diagnose::remedies::Layer;
use clocksmith_diagnose::timeline::Step;
use clocksmith_diagnose::{
    Assessment, Measured, Path as Way, Read, Remedy, Report, Severity, Verdict, against_tsc, assess,
};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::tree::DirTree;
use clocksmith_facts::verified::VerifyResult;
use clocksmith_facts::{Fact, Facts, Origin, collect, log, names};
use clocksmith_fleet::{parse, row};
use clocksmith_kernel::{Machine, predict};
use clocksmith_watch::event::Kind;
use clocksmith_watch::history::History;
use clocksmith_watch::state::{Observation, Watch};
use clocksmith_watch::{State, Thresholds, judge};
use std::path::{Path, PathBuf};

const VERIFIED: &str = r#"{"schema": "clocksmith.verify-result.v1", "version": "0", "boot_id": "b",
    "uptime_s": 100, "time_s": 100, "kernel": null, "machine": null, "clocksource": "hpet",
    "cpus": [0, 1], "machine_cpus": [0, 1], "verdict": "not-trusted", "confidence": "high",
    "counter": "not-trusted", "clocks": "trusted", "detectable_offset_ns": null,
    "detectable_rate_ppm": null, "detectable_jump_ns": null,
    "findings": [{"id": "counter-offset", "fault": true, "summary": "the counters are 35 us apart"}]}"#;

/// Lines that are added to a machine's log.
const FAULTS: [&str; 7] = [
    "",
    "[   90.000000] TSC synchronization [CPU#0 -> CPU#1]:\n\
     [   90.000000] Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.\n\
     [   90.000000] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n",
    "[   90.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because \
     the skew is too large:\n\
     [   90.000000] clocksource:                       'hpet' wd_now: 2fbd7d8f wd_last: 2f1f7d33 mask: ffffffff\n\
     [   90.000000] clocksource:                       'tsc' cs_now: 4cbc36d4a28 cs_last: 4cb92b6c1a8 mask: \
     ffffffffffffffff\n\
     [   90.000000] tsc: Marking TSC unstable due to clocksource watchdog\n",
    "[   90.000000] tsc: Marking TSC unstable due to cpufreq changes on SMP\n",
    "[   90.000000] clocksource: timekeeping watchdog on CPU0: hpet wd-wd read-back delay of 239000ns\n\
     [   90.000000] clocksource: wd-tsc-wd read-back delay of 240000ns, clock-skew test skipped!\n",
    "[   90.000000] tsc: Marking TSC unstable due to running on Hyper-V\n",
    // RHEL 6: the kernel finds the TSC to differ, and keeps it.
    "[   90.000000] Clocksource tsc unstable (delta = 6824818792 ns).  Enable clocksource failover by adding \
     clocksource_failover kernel parameter.\n",
];

fn boots() -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures/boots");
    let mut boots: Vec<PathBuf> =
        std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path().join("root")).collect();
    boots.retain(|path| path.is_dir());
    boots.sort();
    assert!(boots.len() > 5, "{boots:?}");
    boots
}

fn facts(boot: &Path) -> Facts {
    let tree = DirTree::new(boot).unwrap();
    let mut facts = collect::collect(&tree, Origin::Root("root".into()));
    log::complete(&mut facts);
    facts
}

/// A machine, and the lines that were added to its log.
struct Variant {
    facts: Facts,
    fault: &'static str,
    reads: Vec<Read>,
}

/// Returns the measurement that this clocksource would give.
fn read_of(current: &str) -> Vec<Read> {
    let slow = names::is_slow_by_nature(current);
    let (path, ns) = if slow { (Way::Syscall, 1_100.0) } else { (Way::Vdso, 25.0) };
    let clock = "CLOCK_MONOTONIC".to_owned();
    vec![Read { clock, path, ns: Some(ns), syscall_ns: Some(1_000.0) }]
}

/// The recorded machine with another clocksource in use, with and without the TSC on its list, and with a fault
/// in its log.
fn variants(boot: &Path) -> Vec<Variant> {
    let plain = facts(boot);
    let text = std::fs::read_to_string(boot.join("dmesg")).unwrap_or_default();
    let expected = predict(&Machine::of(&plain)).available.unwrap_or_default();
    let without: Vec<String> = expected.iter().filter(|name| *name != "tsc").cloned().collect();
    let mut all = Vec::new();
    for fault in FAULTS {
        for verified in [false, true] {
            let scanned = KernelLog::scan(format!("{text}\n{fault}").as_bytes(), "dmesg").unwrap();
            let mut bare = plain.clone();
            bare.log = Fact::known(scanned, "dmesg");
            if verified {
                let result: VerifyResult = serde_json::from_str(VERIFIED).unwrap();
                bare.verified = Fact::known(result, "verify.json");
            }
            let mut lists = vec![&expected];
            if without != expected {
                lists.push(&without);
            }
            for available in lists {
                for current in available {
                    let mut facts = bare.clone();
                    let (current, available) = (current.clone(), available.clone());
                    let device = ClocksourceDevice { index: 0, current, available };
                    let reads = read_of(&device.current);
                    facts.clocksources =
                        Fact::known(vec![device], "sys/devices/system/clocksource");
                    all.push(Variant { facts: facts.clone(), fault, reads: Vec::new() });
                    all.push(Variant { facts, fault, reads });
                }
            }
            all.push(Variant { facts: bare, fault, reads: Vec::new() });
        }
    }
    all
}

/// Every variant of every recorded machine, judged.
fn each(mut look: impl FnMut(&Assessment, &'static str, &str)) -> usize {
    let mut machines = 0;
    for boot in boots() {
        for Variant { facts, fault, reads } in variants(&boot) {
            machines += 1;
            let seen = assess(facts, Measured { reads, counter_ns: None });
            let ids: Vec<_> = seen.report.causes.iter().map(|c| c.id.name()).collect();
            let list = seen.report.clocksource.available.as_deref().unwrap_or_default().join(" ");
            let what = format!(
                "{}: {:?} of \"{list}\" {:?} {ids:?} after {fault:?}",
                boot.display(),
                seen.report.clocksource.current,
                seen.report.verdict,
            );
            look(&seen, fault, &what);
        }
    }
    machines
}

/// Returns the objections of `fix` to a remedy; empty if it makes the change.
fn refusals(seen: &Assessment, wish: &Wish) -> Vec<String> {
    let system = system(&seen.facts);
    let situation = Situation {
        report: &seen.report,
        facts: &seen.facts,
        system: &system,
        checked: Checked::of(seen.facts.verified.value()),
    };
    let refused = propose(&situation, wish).refused;
    let refused = refused.iter().filter(|r| r.accept.as_deref() != Some(UNVERIFIED));
    refused.map(|refused| format!("{}: {}", refused.what, refused.because)).collect()
}

fn system(facts: &Facts) -> System {
    let mut system = System { live: true, systemd: true, ..System::default() };
    system.os.id = "debian".into();
    system.programs.insert("update-grub".into());
    let line = facts.cmdline.value().map(|line| line.text()).unwrap_or_default();
    let settings = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{line}\"\nGRUB_CMDLINE_LINUX=\"\"\n");
    system.with("/proc/cmdline", &format!("{line}\n")).with("/etc/default/grub", &settings)
}

/// Returns the request to `clocksmith fix` for a remedy; `None` if it is not made by `fix`.
fn wish(remedy: &Remedy) -> Option<Wish> {
    let parameters = &remedy.parameters;
    if !parameters.add.is_empty() || !parameters.remove.is_empty() {
        return Some(Wish {
            add: parameters.add.clone(),
            remove: parameters.remove.clone(),
            ..Wish::default()
        });
    }
    let to = Some("tsc".to_owned());
    match remedy.id.as_str() {
        "switch-to-tsc-now" => Some(Wish { to, boot: Boot::None, ..Wish::default() }),
        "keep-tsc-at-boot" => Some(Wish { to, ..Wish::default() }),
        _ => None,
    }
}

fn advised(report: &Report) -> impl Iterator<Item = &Remedy> {
    report.remedies.iter().filter(|remedy| remedy.refused_because.is_none())
}

#[test]
fn advice_of_why_is_never_refused_by_fix() {
    let mut wishes = 0;
    let machines = each(|seen, _, what| {
        for remedy in advised(&seen.report) {
            let Some(wish) = wish(remedy) else { continue };
            wishes += 1;
            assert_eq!(refusals(seen, &wish), [] as [String; 0], "{what}: {}", remedy.id);
        }
        if against_tsc(&seen.report.causes).is_some() {
            for remedy in advised(&seen.report) {
                assert!(
                    !matches!(remedy.layer, Layer::Runtime | Layer::Boot)
                        || wish(remedy).is_none_or(|wish| wish.to.is_none()
                            && !wish.add.iter().any(|word| word.starts_with("tsc="))),
                    "{what}: {}",
                    remedy.id
                );
                assert!(!remedy.commands.iter().any(|c| c.contains("echo tsc")), "{what}");
            }
        }
    });
    assert!(machines > 400 && wishes > 20, "{machines} machines, {wishes} advices tried");
}

#[test]
fn what_why_refuses_fix_does_not_do_without_an_accepted_risk() {
    let mut refused = std::collections::BTreeMap::new();
    each(|seen, _, what| {
        for remedy in seen.report.remedies.iter().filter(|r| r.refused_because.is_some()) {
            let Some(wish) = wish(remedy) else { continue };
            // A clocksource in use need not be chosen.
            if wish.to.is_some() && seen.report.clocksource.current.as_deref() == Some("tsc") {
                continue;
            }
            *refused.entry(remedy.id.clone()).or_insert(0) += 1;
            assert_ne!(refusals(seen, &wish), [] as [String; 0], "{what}: {}", remedy.id);
        }
    });
    for id in ["switch-to-tsc-now", "keep-tsc-at-boot"] {
        assert!(refused.get(id).is_some_and(|times| *times > 10), "{id}: {refused:?}");
    }
}

#[test]
fn state_of_check_is_that_of_the_verdict() {
    let mut states = std::collections::HashSet::new();
    each(|seen, _, what| {
        let report = &seen.report;
        let judgement = judge(report, &Thresholds::default());
        let state = |id: &str| judgement.points.iter().find(|p| p.id == id).map(|p| p.state);
        states.insert(judgement.state);
        let what = format!("{what}: {judgement:?}");
        if report.clocksource.current.is_none() {
            assert_eq!(
                (report.verdict, judgement.state),
                (Verdict::Unknown, State::Unknown),
                "{what}"
            );
            return;
        }
        let critical = report.causes.iter().any(|cause| cause.severity == Severity::Critical);
        assert_eq!(critical, report.verdict == Verdict::Untrustworthy, "{what}");
        let trust = if critical { State::Critical } else { State::Ok };
        assert_eq!(state("trust"), Some(trust), "{what}");
        match report.verdict {
            Verdict::Ok => assert_eq!(state("reads"), Some(State::Ok), "{what}"),
            Verdict::Slow => assert_eq!(state("reads"), Some(State::Warning), "{what}"),
            Verdict::Unknown => assert_eq!(state("reads"), Some(State::Unknown), "{what}"),
            Verdict::Untrustworthy => assert_eq!(judgement.state, State::Critical, "{what}"),
        }
        let demoted = report.causes.iter().any(|cause| cause.is_demotion());
        // A demotion whose cause is not known is a demotion.
        let marked = report.timeline.iter().any(|moment| moment.step == Step::Unstable);
        let warned = state("demotion") == Some(State::Warning);
        assert!(if demoted { warned } else { !warned || marked }, "{what}");
        // A healthy state has no remedy against a demotion.
        if judgement.state == State::Ok {
            assert_eq!(report.verdict, Verdict::Ok, "{what}");
            let wanted = advised(report).filter(|remedy| {
                report.causes.iter().any(|cause| {
                    cause.severity > Severity::Info
                        && cause.id.is_demotion()
                        && remedy.causes.contains(&cause.id)
                })
            });
            assert_eq!(wanted.count(), 0, "{what}");
        }
    });
    assert_eq!(states.len(), 4, "{states:?}");
}

#[test]
fn watch_judges_as_check_and_reports_what_why_found() {
    let (mut told, mut contradicted) = (0, 0);
    each(|seen, fault, what| {
        let Some(devices) = seen.facts.clocksources.value().cloned() else { return };
        // The kernel prints that only at boot, before there is a TSC to demote: nothing happens under watch.
        if fault.contains("running on Hyper-V") {
            return;
        }
        // Kernels of other architectures have no TSC to demote, and `why` does not attribute such a line to them.
        if !fault.is_empty() && seen.facts.arch.value().is_some_and(|arch| !arch.is_x86()) {
            return;
        }
        let expected = judge(&seen.report, &Thresholds::default());
        let demoted = seen.report.causes.iter().any(|cause| cause.is_demotion());
        let disproved = !seen.report.contradictions.is_empty();

        // The fault happens under watch: the TSC is in use and listed, if the machine has one.
        let mut before = devices.clone();
        let device = before.first_mut().unwrap();
        if !device.available.iter().any(|name| name == "tsc") && !fault.is_empty() {
            device.available.insert(0, "tsc".to_owned());
            device.current = "tsc".to_owned();
        }
        let mut watch = Watch::new(100.0, Thresholds::default(), true, History::default());
        watch.observe(100.0, Observation::Clocksources(before));
        watch.started(100.0, Some("boot"));
        watch.take_events();
        watch.observe(200.0, Observation::KernelSaid(fault));
        for time in [200.1, 201.0, 205.0] {
            watch.observe(time, Observation::Clocksources(devices.clone()));
        }
        let report = Box::new(seen.report.clone());
        watch.observe(205.1, Observation::Assessed { report, log: true });
        assert_eq!(watch.latest().unwrap().judgement, expected, "{what}");

        let events = watch.take_events();
        let has = |kind: Kind| events.iter().any(|event| event.kind == kind);
        let what = format!("{what}: {events:?}");
        if has(Kind::Demotion) {
            told += 1;
            assert!(!disproved, "a demotion that sysfs disproves: {what}");
            assert!(demoted, "a demotion that `why` does not know: {what}");
        }
        if has(Kind::ContradictedEvidence) {
            contradicted += 1;
            assert!(disproved, "a contradiction that `why` does not know: {what}");
        }
        if disproved && !fault.is_empty() {
            assert!(!has(Kind::Demotion), "{what}");
        }
        // Reasons are causes of the report, or changes by hand, which leave none.
        for event in &events {
            let cause = event.reason.as_ref().and_then(|reason| reason.cause.as_deref());
            let known = |id: &str| seen.report.causes.iter().any(|cause| cause.id.name() == id);
            assert!(cause.is_none_or(|id| known(id) || id == "runtime-override"), "{what}");
        }
    });
    assert!(told > 20 && contradicted > 20, "{told} told, {contradicted} contradicted");
}

#[test]
fn fleet_reads_what_why_wrote_and_advises_what_fix_does() {
    let mut changes = 0;
    each(|seen, _, what| {
        let report = &seen.report;
        let text = serde_json::to_vec(report).unwrap();
        let document = parse::parse(&text).unwrap();
        let rows = row::Rows::of(&document, "machine");
        let host = &rows.host;
        assert_eq!((host.verdict, host.confidence), (report.verdict, report.confidence), "{what}");
        assert_eq!(host.clocksource, report.clocksource.current, "{what}");
        assert_eq!(host.expected, report.expected.current, "{what}");
        let ids: Vec<&str> = report.causes.iter().map(|cause| cause.id.name()).collect();
        let told: Vec<&str> = rows.causes.iter().map(|cause| cause.cause.as_str()).collect();
        assert_eq!(told, ids, "{what}");
        assert_eq!(host.severity, report.causes.iter().map(|cause| cause.severity).max(), "{what}");
        let Some(change) = &host.remedy else { return };
        changes += 1;
        assert!(matches!(report.verdict, Verdict::Slow | Verdict::Untrustworthy), "{what}");
        let remedy = advised(report).find(|remedy| remedy.id == *change);
        let Some(remedy) = remedy else { panic!("{change} is not advised by `why`: {what}") };
        if let Some(wish) = wish(remedy) {
            assert_eq!(refusals(seen, &wish), [] as [String; 0], "{what}: {change}");
        }
    });
    assert!(changes > 20, "{changes} changes advised");
}

#[test]
fn every_command_is_a_command_of_the_shell() {
    let mut seen = std::collections::BTreeSet::new();
    each(|machine, _, _| {
        seen.extend(advised(&machine.report).flat_map(|remedy| remedy.commands.clone()));
    });
    assert!(seen.len() > 3, "{seen:?}");
    for command in seen {
        let out = std::process::Command::new("sh").args(["-n", "-c", &command]).output().unwrap();
        assert!(out.status.success(), "{command}");
        let first = command.split_whitespace().next().unwrap();
        assert!(["sudo", "echo", "cat", "grep"].contains(&first), "{command}");
    }
}

/// The clocksource that the printed rules end with, and the title above them.
fn decided(text: &str) -> Option<(String, bool)> {
    const TITLES: [(&str, bool); 3] = [
        ("How Linux decided", true),
        ("How Linux decided, with the assumptions listed below", true),
        ("How Linux would decide by its rules, which do not explain the clocksource in use", false),
    ];
    let (from, explains) = TITLES.iter().find_map(|(title, explains)| {
        let at = text.find(&format!("\n{title}\n"))?;
        Some((at + title.len(), *explains))
    })?;
    let words: Vec<&str> = text[from..].split_whitespace().collect();
    let rules = words.join(" ");
    let chosen = rules.split(" - ").find_map(|rule| {
        let name = || rule.split(' ').next().map(str::to_owned);
        if rule.contains("has the highest rating of") || rule.contains("is the only eligible") {
            return name();
        }
        let (asked, _) =
            rule.strip_prefix("the command line requests ")?.split_once(", which is registered")?;
        Some(asked.to_owned())
    })?;
    Some((chosen, explains))
}

#[test]
fn what_why_prints_as_decided_is_what_is_in_use() {
    let mut printed = 0;
    for boot in boots() {
        let root = boot.display().to_string();
        let log = boot.join("dmesg");
        let mut ways = vec![vec!["--root", root.as_str()]];
        let log_name = log.display().to_string();
        if log.is_file() {
            ways.push(vec!["--log", log_name.as_str()]);
        }
        for way in ways {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_clocksmith"));
            let out = command.args(["why", "--no-measure", "-v"]).args(&way).output().unwrap();
            let text = String::from_utf8(out.stdout).unwrap();
            let Some((chosen, explains)) = decided(&text) else { continue };
            printed += 1;
            let row = text.lines().find_map(|line| line.strip_prefix("  in use "));
            let in_use = row.and_then(|row| row.split_whitespace().next());
            assert_eq!(in_use == Some(chosen.as_str()), explains, "{way:?}\n{text}");
        }
    }
    assert!(printed > 10, "{printed}");
}

/// Faults in the log, and clocksources that the rules do not end with: the last rule names the expected clocksource.
#[test]
fn rules_of_every_variant_end_with_what_they_expect() {
    let seen = each(|seen, _, what| {
        let Some(expected) = &seen.expectation.current else { return };
        let last = seen.expectation.reasons.iter().rev().find(|reason| {
            matches!(reason.rule.as_str(), "highest rating wins" | "override honoured")
        });
        let Some(last) = last else { return };
        assert!(
            last.because.split([' ', ',']).any(|word| word == expected),
            "{what}: {}",
            last.because
        );
    });
    assert!(seen > 100, "{seen}");
}

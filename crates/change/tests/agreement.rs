//! `why` and `fix` agree: over the recorded machines, with each clocksource in use and with faults added,
//! nothing is proposed to a person that `propose` refuses, and nothing advises the TSC where the evidence is
//! against it.
#![allow(clippy::unwrap_used)]

use clocksmith_change::accept::UNVERIFIED;
use clocksmith_change::propose::{Boot, Checked, Situation, Wish, propose};
use clocksmith_change::system::System;
use clocksmith_diagnose::remedies::Layer;
use clocksmith_diagnose::{Diagnosis, Remedy, against_tsc, diagnose};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::tree::DirTree;
use clocksmith_facts::verified::VerifyResult;
use clocksmith_facts::{Fact, Facts, Origin, collect, log};
use clocksmith_kernel::{Machine, predict};
use std::path::{Path, PathBuf};

const VERIFIED: &str = r#"{"schema": "clocksmith.verify-result.v1", "version": "0", "boot_id": "b",
    "uptime_s": 100, "time_s": 100, "kernel": null, "machine": null, "clocksource": "hpet",
    "cpus": [0, 1], "machine_cpus": [0, 1], "verdict": "not-trusted", "confidence": "high",
    "counter": "not-trusted", "clocks": "trusted", "detectable_offset_ns": null,
    "detectable_rate_ppm": null, "detectable_jump_ns": null,
    "findings": [{"id": "counter-offset", "fault": true, "summary": "the counters are 35 us apart"}]}"#;

/// Lines that are added to a machine's log.
const FAULTS: [&str; 6] = [
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
];

fn boots() -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/tests/fixtures/boots");
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

/// The recorded machine with another clocksource in use, words on its command line and a fault in its log.
fn variants(boot: &Path) -> Vec<Facts> {
    let plain = facts(boot);
    let text = std::fs::read_to_string(boot.join("dmesg")).unwrap_or_default();
    let expected = predict(&Machine::of(&plain)).available.unwrap_or_default();
    let mut all = Vec::new();
    for fault in FAULTS {
        for verified in [false, true] {
            for current in &expected {
                let mut facts = plain.clone();
                let scanned =
                    KernelLog::scan(format!("{text}\n{fault}").as_bytes(), "dmesg").unwrap();
                facts.log = Fact::known(scanned, "dmesg");
                let device = ClocksourceDevice {
                    index: 0,
                    current: current.clone(),
                    available: expected.clone(),
                };
                facts.clocksources = Fact::known(vec![device], "sysfs");
                if verified {
                    let result: VerifyResult = serde_json::from_str(VERIFIED).unwrap();
                    facts.verified = Fact::known(result, "verify.json");
                }
                all.push(facts);
            }
            let mut bare = plain.clone();
            let scanned = KernelLog::scan(format!("{text}\n{fault}").as_bytes(), "dmesg").unwrap();
            bare.log = Fact::known(scanned, "dmesg");
            all.push(bare);
        }
    }
    all
}

fn system(facts: &Facts) -> System {
    let mut system = System { live: true, systemd: true, ..System::default() };
    system.os.id = "debian".into();
    system.programs.insert("update-grub".into());
    let line = facts.cmdline.value().map(|line| line.text()).unwrap_or_default();
    let settings = format!("GRUB_CMDLINE_LINUX_DEFAULT=\"{line}\"\nGRUB_CMDLINE_LINUX=\"\"\n");
    system.with("/proc/cmdline", &format!("{line}\n")).with("/etc/default/grub", &settings)
}

/// What `clocksmith fix` is asked to do for an advice; `None`: it is not done by it.
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

fn advised(diagnosis: &Diagnosis) -> impl Iterator<Item = &Remedy> {
    diagnosis.remedies.iter().filter(|remedy| remedy.refused_because.is_none())
}

#[test]
fn advice_of_why_is_never_refused_by_fix() {
    let (mut machines, mut wishes) = (0, 0);
    for boot in boots() {
        for facts in variants(&boot) {
            machines += 1;
            let machine = Machine::of(&facts);
            let diagnosis = diagnose(&facts, &machine, &predict(&machine), Vec::new());
            let system = system(&facts);
            let situation = Situation {
                diagnosis: &diagnosis,
                facts: &facts,
                system: &system,
                checked: Checked::of(facts.verified.value()),
            };
            let what = || {
                let ids: Vec<_> = diagnosis.causes.iter().map(|c| c.id.name()).collect();
                format!("{}: {:?} {ids:?}", boot.display(), diagnosis.current.name)
            };
            for remedy in advised(&diagnosis) {
                let Some(wish) = wish(remedy) else { continue };
                wishes += 1;
                let proposal = propose(&situation, &wish);
                let refused: Vec<_> = proposal
                    .refused
                    .iter()
                    .filter(|refused| refused.accept.as_deref() != Some(UNVERIFIED))
                    .collect();
                assert!(refused.is_empty(), "{}: {}: {refused:?}", what(), remedy.id);
            }
            if against_tsc(&diagnosis.causes).is_some() {
                for remedy in advised(&diagnosis) {
                    assert!(
                        !matches!(remedy.layer, Layer::Runtime | Layer::Boot)
                            || wish(remedy).is_none_or(|wish| wish.to.is_none()
                                && !wish.add.iter().any(|word| word.starts_with("tsc="))),
                        "{}: {}",
                        what(),
                        remedy.id
                    );
                    assert!(!remedy.commands.iter().any(|c| c.contains("echo tsc")), "{}", what());
                }
            }
        }
    }
    assert!(machines > 200 && wishes > 20, "{machines} machines, {wishes} advices tried");
}

#[test]
fn every_command_is_a_command_of_the_shell() {
    let mut seen = std::collections::BTreeSet::new();
    for boot in boots() {
        for facts in variants(&boot) {
            let machine = Machine::of(&facts);
            let diagnosis = diagnose(&facts, &machine, &predict(&machine), Vec::new());
            seen.extend(advised(&diagnosis).flat_map(|remedy| remedy.commands.clone()));
        }
    }
    assert!(seen.len() > 3, "{seen:?}");
    for command in seen {
        let out = std::process::Command::new("sh").args(["-n", "-c", &command]).output().unwrap();
        assert!(out.status.success(), "{command}");
        let first = command.split_whitespace().next().unwrap();
        assert!(["sudo", "echo", "cat", "grep"].contains(&first), "{command}");
    }
}

use super::*;
use clocksmith_diagnose::{Measured, assess};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Fact, Facts, clockdev::ClocksourceDevice};
use proptest::prelude::*;

const WATCHDOG: &str = "\
[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n\
[    0.100000] tsc: Detected 3000.000 MHz processor\n\
[    1.000000] clocksource: Switched to clocksource tsc\n\
[   60.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
[   60.000001] clocksource:                       'hpet' wd_nsec: 512000000 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff\n\
[   60.000002] clocksource:                       'tsc' cs_nsec: 522000000 cs_now: 2000000000 cs_last: 1fa2c7a680 mask: ffffffffffffffff\n\
[   60.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
[   60.000009] clocksource: Switched to clocksource hpet\n";

pub(crate) fn report(
    current: &str,
    available: &str,
    log: Option<&str>,
    reads: Vec<Read>,
) -> Report {
    let mut facts = Facts::empty(clocksmith_facts::Origin::Stated);
    let device = ClocksourceDevice::parse("clocksource0", current, available).unwrap();
    facts.clocksources = Fact::known(vec![device], "/sys/devices/system/clocksource");
    if let Some(text) = log {
        facts.log = Fact::known(KernelLog::scan(text.as_bytes(), "dmesg").unwrap(), "dmesg");
    }
    assess(facts, Measured { reads, counter_ns: Some(8.0) }).report
}

use clocksmith_diagnose::{Path, Read};

fn read(ns: f64, path: Path) -> Vec<Read> {
    let clock = "CLOCK_MONOTONIC".to_owned();
    vec![Read { clock, path, ns: Some(ns), syscall_ns: Some(200.0) }]
}

fn point<'a>(judgement: &'a Judgement, id: &str) -> Option<&'a Point> {
    judgement.points.iter().find(|point| point.id == id)
}

#[test]
fn a_fast_clock_is_ok() {
    let healthy = report("tsc", "tsc hpet acpi_pm", None, read(23.4, Path::Vdso));
    let judgement = judge(&healthy, &Thresholds::default());
    assert_eq!(judgement.state, State::Ok);
    assert_eq!(judgement.line, "CLOCKSMITH OK - tsc, 23 ns a read");
    // Its log was not read: the point reports that, and does not count.
    let demotion = point(&judgement, "demotion").unwrap();
    assert!(!demotion.looked_at && demotion.state == State::Unknown);
    assert!(demotion.text.contains("the kernel log could not be read"), "{}", demotion.text);
    let trust = point(&judgement, "trust").unwrap();
    assert_eq!(trust.text, "counter and clocksource: no fault found");
}

#[test]
fn a_clocksource_that_was_not_read_is_not_ok() {
    let mut listed = report("tsc", "tsc hpet acpi_pm", None, Vec::new());
    listed.settles = vec![clocksmith_diagnose::report::Settle {
        fact: clocksmith_kernel::open::OpenInput::Choice.name().to_owned(),
        how: String::new(),
    }];
    let judgement = judge(&listed, &Thresholds::default());
    let point = point(&judgement, "clocksource").unwrap();
    assert_eq!(point.state, State::Unknown, "{}", point.text);
    assert!(point.text.contains("unless another clocksource was chosen"), "{}", point.text);
}

#[test]
fn the_first_of_a_list_is_not_ok_if_all_of_it_are_as_slow() {
    let mut listed = report("hpet", "hpet acpi_pm", None, Vec::new());
    let expect = Thresholds { expect: vec!["hpet".to_owned()], ..Thresholds::default() };
    let state = |report: &Report, id: &str| point(&judge(report, &expect), id).unwrap().state;
    assert_eq!(["clocksource", "expected"].map(|id| state(&listed, id)), [State::Ok; 2]);
    listed.clocksource.is_from_list = true;
    assert_eq!(["clocksource", "expected"].map(|id| state(&listed, id)), [State::Unknown; 2]);
}

#[test]
fn with_ntp_says_it_and_does_not_judge() {
    let healthy = report("tsc", "tsc hpet acpi_pm", None, read(23.4, Path::Vdso));
    let judgement = judge(&healthy, &Thresholds::default());
    let state = |status| {
        let timex = clocksmith_facts::ntp::Timex { status, ..Default::default() };
        let judgement = judgement.clone().with_ntp(Some(&timex.into()));
        assert_eq!((judgement.state, &judgement.line), (State::Ok, &judgement.line));
        point(&judgement, "ntp").unwrap().clone()
    };
    // STA_UNSYNC.
    assert!(state(0x40).text.contains("not synchronised"));
    assert_eq!(state(0).text, "the wall clock is synchronised");
    assert!(point(&judgement.with_ntp(None), "ntp").is_none());
}

/// The diagnosis decides how a fault of the counter affects the time.
#[test]
fn judge_keeps_the_severity_of_a_cause() {
    let mut slow = report("hpet", "tsc hpet acpi_pm", None, read(1_300.0, Path::Syscall));
    slow.causes.push(Cause {
        id: CauseId::VerifyFoundFault,
        severity: Severity::Info,
        confidence: clocksmith_diagnose::Confidence::High,
        summary: "clocksmith verify found a fault, which does not concern hpet".to_owned(),
        evidence: Vec::new(),
    });
    let judgement = judge(&slow, &Thresholds::default());
    assert_eq!(judgement.state, State::Warning, "{judgement:?}");
    assert_eq!(point(&judgement, "trust").unwrap().state, State::Ok);
    slow.causes.last_mut().unwrap().severity = Severity::Critical;
    assert_eq!(judge(&slow, &Thresholds::default()).state, State::Critical);
}

#[test]
fn line_shortens_the_name_and_not_the_word() {
    let name = "hyperv_clocksource_tsc_page";
    let mut doubtful = report(name, name, None, read(722.0, Path::Unknown));
    doubtful.verdict = Verdict::Unknown;
    let judgement = judge(&doubtful, &Thresholds::default());
    assert_eq!(
        judgement.line,
        "CLOCKSMITH UNKNOWN - not known whether hyperv_clocksou.. is fast, 722 ns a read"
    );
    assert!(judgement.line.chars().count() <= LINE);
}

#[test]
fn a_silent_fallback_is_a_warning_with_its_cause() {
    let fallen = report("hpet", "hpet acpi_pm", Some(WATCHDOG), read(1_300.0, Path::Syscall));
    let judgement = judge(&fallen, &Thresholds::default());
    assert_eq!(judgement.state, State::Warning, "{judgement:?}");
    assert_eq!(judgement.line, "CLOCKSMITH WARNING - hpet is slow, 1.3 us a read (tsc-skew)");
    assert_eq!(point(&judgement, "demotion").unwrap().state, State::Warning);
    let strict = Thresholds { demoted: State::Critical, ..Thresholds::default() };
    let judgement = judge(&fallen, &strict);
    assert_eq!(judgement.line, "CLOCKSMITH CRITICAL - the kernel demoted a clocksource (tsc-skew)");
    let lax = Thresholds { demoted: State::Ok, slow: State::Ok, ..Thresholds::default() };
    assert_eq!(judge(&fallen, &lax).state, State::Ok);
}

#[test]
fn a_cost_is_held_against_its_bounds() {
    let healthy = report("tsc", "tsc hpet", None, read(80.0, Path::Vdso));
    let with = |warn_ns, critical_ns| {
        let thresholds = Thresholds { warn_ns, critical_ns, ..Thresholds::default() };
        judge(&healthy, &thresholds)
    };
    assert_eq!(with(Some(100.0), None).state, State::Ok);
    assert_eq!(with(Some(80.0), None).state, State::Warning);
    assert_eq!(with(Some(50.0), Some(60.0)).state, State::Critical);
    assert!(with(Some(50.0), None).line.contains("a read costs 80 ns, the bound is 50 ns"));
    let ranges = |warn: &str, critical: &str| {
        let parse = |text: &str| text.parse().ok();
        let (warn_range, critical_range) = (parse(warn), parse(critical));
        judge(&healthy, &Thresholds { warn_range, critical_range, ..Thresholds::default() })
    };
    assert_eq!(ranges("100", "1000").state, State::Ok);
    assert_eq!(ranges("@10:80", "1000").state, State::Warning);
    assert_eq!(
        ranges("50", "~:70").line,
        "CLOCKSMITH CRITICAL - a read costs 80 ns, the range is ~:70 ns"
    );
    let blind = report("tsc", "tsc hpet", None, Vec::new());
    let thresholds = Thresholds { warn_ns: Some(50.0), ..Thresholds::default() };
    assert_eq!(judge(&blind, &thresholds).state, State::Unknown);
}

#[test]
fn what_is_expected_is_held_against_what_is() {
    let healthy = report("kvm-clock", "kvm-clock tsc", None, read(30.0, Path::Vdso));
    let expect = |names: &[&str]| {
        let expect = names.iter().map(|name| (*name).to_owned()).collect();
        judge(&healthy, &Thresholds { expect, ..Thresholds::default() })
    };
    assert_eq!(expect(&["tsc", "kvm-clock"]).state, State::Ok);
    let judgement = expect(&["tsc"]);
    assert_eq!(judgement.state, State::Critical);
    assert_eq!(judgement.line, "CLOCKSMITH CRITICAL - kvm-clock is in use, expected tsc");
}

#[test]
fn a_jump_is_critical_and_a_gap_is_unknown() {
    let jump = "[    1.0] Linux version 6.1.0-13-amd64\n\
[1346249.931484] clocksource: timekeeping watchdog on CPU17: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
[1346249.931486] clocksource: 'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff\n\
[1346249.931487] clocksource: 'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: ffffffffffffffff\n\
[1346249.931490] clocksource: Switched to clocksource hpet\n";
    let broken = report("hpet", "hpet acpi_pm", Some(jump), read(900.0, Path::Syscall));
    let judgement = judge(&broken, &Thresholds::default());
    let named = judgement.points.iter().any(|point| point.text.contains("tsc-jump"));
    assert!(judgement.state != State::Ok && named, "{judgement:?}");
    let facts = Facts::empty(clocksmith_facts::Origin::Stated);
    let nothing = assess(facts, Measured::default()).report;
    assert_eq!(judge(&nothing, &Thresholds::default()).state, State::Unknown);
}

#[test]
fn known_trouble_outweighs_the_unknown() {
    assert_eq!(State::Unknown.worse(State::Warning), State::Warning);
    assert_eq!(State::Warning.worse(State::Unknown), State::Warning);
    assert_eq!(State::Ok.worse(State::Unknown), State::Unknown);
    assert_eq!(State::ALL.map(State::code), [0, 1, 2, 3]);
}

proptest! {
    #[test]
    fn the_line_is_one_short_line(text in "\\PC{0,200}", more in any::<String>()) {
        for text in [text.clone(), more.clone()] {
            let line = Judgement::unknown(&text).line;
            prop_assert!(line.chars().count() <= LINE && !line.contains(['\n', '|']));
            prop_assert!(line.starts_with("CLOCKSMITH UNKNOWN - "));
        }
    }
}

#[test]
fn machine_that_is_not_as_a_vendor_asks_is_a_warning() {
    use clocksmith_diagnose::policy::{self, Vendor};
    use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
    use clocksmith_facts::{Arch, Origin};
    let mut facts = Facts::empty(Origin::Stated);
    let device = ClocksourceDevice::parse("clocksource0", "kvm-clock", "kvm-clock tsc acpi_pm");
    facts.clocksources = Fact::known(vec![device.unwrap()], "/sys/devices/system/clocksource");
    facts.arch = Fact::known(Arch::X86_64, "uname");
    facts.hypervisor = Fact::known(Some(Hypervisor::named(HypervisorKind::Kvm)), "cpuid");
    let point = |vendor: &str| {
        let mut seen = assess(facts.clone(), Measured::default());
        let vendor = Vendor::find(vendor).unwrap();
        seen.report.policy = Some(policy::answer(vendor, &seen.facts, &seen.report));
        let judged = judge(&seen.report, &Thresholds::default());
        let point = judged.points.iter().find(|point| point.id == "policy").cloned().unwrap();
        (judged.state, point)
    };
    let (state, oracle) = point("oracle");
    assert_eq!((state, oracle.state), (State::Warning, State::Warning));
    assert!(oracle.text.contains("asks for tsc for Oracle Database"), "{}", oracle.text);
    assert_eq!(point("scylladb").1.state, State::Ok);
    // For an unknown processor SAP's rules cannot be checked; the judgement does not depend on them.
    let (_, sap) = point("sap");
    assert!(!sap.looked_at, "{}", sap.text);
    let without = assess(facts.clone(), Measured::default());
    let points = judge(&without.report, &Thresholds::default()).points;
    assert!(points.iter().all(|point| point.id != "policy"));
}

#[test]
fn demotion_to_a_paravirtual_clock_is_one_though_its_cause_is_not_known() {
    let log = "\
[  283.247200] TSC ADJUST compensate: CPU3 observed 867529151959 warp. Adjust: 867529151959\n\
[  572.495181] clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
[  572.495181] clocksource:                       'kvm-clock' wd_now: 86ab1286a2 wd_last: 4344b44d09 mask: ffffffffffffffff\n\
[  572.495181] clocksource:                       'tsc' cs_now: ca313c563b cs_last: c9d88b54d2 mask: ffffffffffffffff\n\
[  572.495181] tsc: Marking TSC unstable due to clocksource watchdog\n\
[  572.495181] clocksource: Switched to clocksource kvm-clock\n";
    let demoted = report("kvm-clock", "kvm-clock acpi_pm", Some(log), read(40.0, Path::Vdso));
    let judgement = judge(&demoted, &Thresholds::default());
    let point = point(&judgement, "demotion").unwrap();
    assert_eq!(point.state, State::Warning, "{point:?}");
    assert!(point.text.contains("demoted"), "{}", point.text);
}

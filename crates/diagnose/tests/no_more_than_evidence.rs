//! What a line proves, and what it leaves open: complaints that any program can write, and counters of which the evidence
//! does not show how they are read.

#![allow(clippy::unwrap_used)]

mod common;

use clocksmith_diagnose::{CauseId, Confidence, Measured, Report, Severity, Verdict, assess};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Fact, Facts, Origin};
use common::why;

const READ: &str = "[81344.120033] clocksource/1: Time went backwards: ret=4a2c8f1bd702 delta=-17038114227 shadow=4a28d3c0117f offset=2db51a\n";
const INTERRUPT: &str = "[   77.310004] Timer ISR/0: Time went backwards: delta=-21450817 delta_cpu=8549183 shadow=77288120045 off=430122 processed=77310000000 cpu_processed=77280000000\n";

fn severity(report: &Report, id: CauseId) -> Option<Severity> {
    report.causes.iter().find(|cause| cause.id == id).map(|cause| cause.severity)
}

/// The machine itself, with a log into which somebody wrote.
fn live(current: &str, kind: Option<HypervisorKind>, log: &str) -> Report {
    let mut facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "dmesg").unwrap());
    facts.origin = Origin::Live;
    let available = vec![current.to_owned(), "hpet".to_owned()];
    let device = ClocksourceDevice { index: 0, current: current.to_owned(), available };
    facts.clocksources = Fact::known(vec![device], "/sys/devices/system/clocksource");
    facts.hypervisor = Fact::known(kind.map(Hypervisor::named), "cpuid");
    assess(facts, Measured::default()).report
}

#[test]
fn complaints_of_xen_guests_name_their_clock_and_its_fault() {
    for (line, current) in [
        (READ, Some("xen")),
        (
            "clocksource/4: Time went backwards: delta=-9223012646229940943 shadow=1 offset=2\n",
            Some("xen"),
        ),
        (INTERRUPT, None),
        (
            "Timer ISR/3: Time went backwards: delta=-12000133/-12000133 shadow=a1 off=b2 processed=c3/d4\n",
            None,
        ),
    ] {
        let seen = why(line);
        assert_eq!(seen.clocksource.current.as_deref(), current, "{line}");
        assert_eq!(
            severity(&seen, CauseId::ParavirtClockBroken),
            Some(Severity::Critical),
            "{line}"
        );
        assert_eq!(seen.verdict, Verdict::Untrustworthy, "{line}");
        assert_eq!(seen.machine.hypervisor.as_deref(), Some("Xen PV"), "{line}");
        // Such a kernel has no clocksource of this name.
        let tsc = seen.remedies.iter().any(|r| r.refused_because.is_none() && r.id.contains("tsc"));
        assert!(!tsc, "{line} {:?}", seen.remedies);
    }
    // Words that no kernel prints, and what people write of it.
    for other in [
        "[    9.000000] tsc: Time went backwards: delta=-5\n",
        "[    9.000000] xen: Time went backwards\n",
        "clocksource/0: Time went backwards is what the guest says before it hangs\n",
        "[    9.000000] usb 1-1: Product: Timer ISR/0: Time went backwards: delta=-5\n",
    ] {
        let seen = why(&format!("[    8.0] clocksource: Switched to clocksource hpet\n{other}"));
        assert_eq!(severity(&seen, CauseId::ParavirtClockBroken), None, "{other}");
    }
}

#[test]
fn write_behind_the_complaint_leaves_open_what_is_in_use() {
    let log = format!(
        "{READ}# echo jiffies > /sys/devices/system/clocksource/clocksource0/current_clocksource\n"
    );
    let seen = why(&log);
    assert_eq!(seen.clocksource.current, None);
    assert!(seen.clocksource.source.contains("it was xen"), "{}", seen.clocksource.source);
}

#[test]
fn complaint_alone_is_no_alarm_on_the_machine_itself() {
    for line in [READ, INTERRUPT] {
        for (current, kind) in [
            ("tsc", None),
            ("tsc", Some(HypervisorKind::Xen)),
            ("kvm-clock", Some(HypervisorKind::Kvm)),
            ("xen", Some(HypervisorKind::XenPv)),
        ] {
            let quiet = live(current, kind, "[    0.1] x\n");
            let seen = live(current, kind, line);
            assert_eq!(seen.verdict, quiet.verdict, "{current} {line}");
            let cause = seen.causes.iter().find(|c| c.id == CauseId::ParavirtClockBroken).unwrap();
            assert_eq!((cause.severity, cause.confidence), (Severity::Info, Confidence::Low));
            assert!(cause.summary.contains("a program can write such a line"), "{}", cause.summary);
            assert!(!cause.is_demotion());
            assert!(!seen.headline.contains("hypervisor's clock is wrong"), "{}", seen.headline);
            let remedy = seen.remedies.iter().any(|r| r.id == "host-clock-interface");
            assert!(!remedy, "{current} {line}");
        }
    }
}

#[test]
fn complaint_in_a_log_that_shows_another_machine_is_only_named() {
    for before in [
        "[    1.2] clocksource: Switched to clocksource tsc\n",
        "[    0.0] Booting paravirtualized kernel on KVM\n",
        "[    0.0] Hypervisor detected: VMware\n",
        "[    0.0] Linux version 6.1.0-13-amd64 (x@y) (gcc 12) #1 SMP\n[    0.1] Booting paravirtualized kernel on Xen HVM\n",
    ] {
        for line in [READ, INTERRUPT] {
            let seen = why(&format!("{before}{line}"));
            assert_eq!(
                severity(&seen, CauseId::ParavirtClockBroken),
                Some(Severity::Info),
                "{before}"
            );
            assert_ne!(seen.clocksource.current.as_deref(), Some("xen"), "{before}");
        }
    }
}

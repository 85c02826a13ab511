//! Invariants of every cause of the registry.

#![allow(clippy::unwrap_used)]

use super::definition::Blame;
use super::{CauseId, against_tsc};
use crate::remedies::table::ADVICE;
use crate::{Measured, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

#[test]
fn registry_names_are_unique_and_written_alike_everywhere() {
    for id in CauseId::ALL {
        assert_eq!(CauseId::parse(id.name()), Some(id));
        assert_eq!(serde_json::to_value(id).ok(), Some(id.name().into()), "serde");
        assert!(id.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", id.name());
    }
    assert_eq!(CauseId::parse("tsc"), None);
}

#[test]
fn registry_remedies_are_in_the_table_and_each_advice_answers_a_cause() {
    for id in CauseId::ALL {
        for advice in id.definition().remedies {
            assert!(ADVICE.iter().any(|a| a.id == advice.id), "{}: {}", id.name(), advice.id);
        }
    }
    for advice in ADVICE {
        let answers = |id: CauseId| id.definition().remedies.iter().any(|a| a.id == advice.id);
        assert!(CauseId::ALL.into_iter().any(answers), "{} answers nothing", advice.id);
    }
}

#[test]
fn cause_that_blames_the_tsc_says_why_reliable_is_wrong() {
    for id in CauseId::ALL {
        let definition = id.definition();
        if definition.blame != Blame::Never {
            assert!(definition.against_reliable.is_some(), "{}", id.name());
            assert!(id.blames_tsc());
        }
        if let Some(clause) = id.clause() {
            assert!(!clause.ends_with('.') && clause.len() < 90, "{clause}");
        }
    }
}

/// Every reason with which the kernel marks the TSC unstable leads to a cause by which the kernel demoted it,
/// and only the watchdog's reason allows the advice to reboot.
#[test]
fn reason_for_an_unstable_tsc_is_a_cause_and_the_tsc_is_not_advised() {
    let reasons = [
        "TSCs unsynchronized",
        "check_tsc_sync_source failed",
        "could not calculate TSC khz",
        "cpufreq changes on SMP",
        "boot parameter",
        "boot parameter notsc",
        "clocksource watchdog",
        "TSC halts in idle",
        "running on Hyper-V",
        "KVM discovered backwards TSC",
        "UV BIOS",
        "a reason of the future",
    ];
    for reason in reasons {
        let log = format!(
            "[    0.000000] Linux version 6.1.0\n[    1.000000] tsc: Marking TSC unstable due to {reason}\n\
             [    2.000000] clocksource: Switched to clocksource hpet\n"
        );
        let log = KernelLog::scan(log.as_bytes(), "dmesg").unwrap();
        let facts = Facts::from_log(log);
        let seen = assess(facts, Measured::default()).report;
        assert!(!seen.causes.is_empty(), "{reason}");
        let advised =
            |id: &str| seen.remedies.iter().any(|r| r.id == id && r.refused_because.is_none());
        assert!(!advised("switch-to-tsc-now") && !advised("reboot-to-restore"), "{reason}");
        let gave_up = seen.causes.iter().any(|cause| cause.id.kernel_gave_up_tsc());
        let refused = seen.remedies.iter().any(|r| r.id == "switch-to-tsc-now");
        assert_eq!(gave_up, refused, "{reason}: {:?}", seen.causes);
        if against_tsc(&seen.causes).is_some() {
            assert!(!advised("tsc-nowatchdog") && !advised("tsc-reliable"), "{reason}");
        }
    }
}

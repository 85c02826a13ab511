//! Facts about clocksources that must not be chosen.

use crate::switch::Known;
use clocksmith_diagnose::demotion::{demoted_by, disproved_by_sysfs};
use clocksmith_facts::Facts;

/// The known facts before one of `available` is chosen. Pure.
#[must_use]
pub fn known(facts: &Facts, available: Vec<String>) -> Known {
    let mut demoted = Vec::new();
    if let Some(log) = facts.kernel_log() {
        let entries = log.all(|event| demoted_by(event).is_some());
        for entry in entries {
            // The log can be written by any user; sysfs cannot.
            if let Some(name) = demoted_by(&entry.event)
                && !disproved_by_sysfs(facts, name)
            {
                demoted.push((name.to_owned(), log.source(entry).0));
            }
        }
    }
    Known { available, demoted, log_is_complete: facts.kernel_log().is_some_and(|l| l.from_boot) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::refuse;
    use clocksmith_facts::log::KernelLog;

    #[test]
    fn known_demotion_that_sysfs_disproves_does_not_count() {
        let lines = "[    0.000000] Linux version 6.1.0\n\
             [    9.000000] tsc: Marking TSC unstable due to clocksource watchdog\n";
        let mut facts = Facts::from_log(KernelLog::scan(lines.as_bytes(), "dmesg").unwrap());
        let mut refused = |listed: &[&str]| {
            let available: Vec<String> = listed.iter().map(|&name| name.to_owned()).collect();
            let device = clocksmith_facts::clockdev::ClocksourceDevice {
                index: 0,
                current: "hpet".to_owned(),
                available: available.clone(),
            };
            facts.clocksources = clocksmith_facts::Fact::known(vec![device], "sysfs");
            refuse("tsc", &known(&facts, available)).is_some()
        };
        // With a periodic tick the list has jiffies, and demoted clocksources after it.
        assert!(refused(&["hpet", "jiffies", "tsc"]));
        assert!(!refused(&["tsc", "hpet", "jiffies"]));
        assert!(!refused(&["tsc", "hpet"]));
    }

    #[test]
    fn clocksource_demoted_in_log_is_refused() {
        let lines = "[    0.000000] Linux version 6.1.0\n\
             [    0.180000] Marking TSC unstable due to check_tsc_sync_source failed\n\
             [   99.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'hpet' as \
             unstable because the skew is too large:\n";
        let log = KernelLog::scan(lines.as_bytes(), "dmesg").unwrap();
        let facts = Facts::from_log(log);
        let names = ["tsc", "hpet", "acpi_pm"].map(str::to_owned).to_vec();
        let known = known(&facts, names);
        assert!(known.log_is_complete);
        assert!(refuse("tsc", &known).unwrap().to_string().contains("dmesg:2"));
        assert!(refuse("hpet", &known).unwrap().to_string().contains("dmesg:3"));
        assert_eq!(refuse("acpi_pm", &known), None);
    }
}

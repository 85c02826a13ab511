//! A TSC that the kernel has marked unstable cannot be chosen, whatever a list in the same text contains.
#![allow(clippy::unwrap_used)]

use crate::common::{Story, why};
use clocksmith_diagnose::{CauseId, Verdict};

const READ: &str = "$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n\
                    $ cat /sys/devices/system/clocksource/clocksource0/available_clocksource\n";

#[test]
fn choice_of_a_marked_tsc_is_not_advised() {
    let kvm = "[  712.202195] kvm: SMP vm created on host with unstable TSC; guest TSC will not be reliable\n";
    let watchdog = "[  712.202195] tsc: Marking TSC unstable due to clocksource watchdog\n";
    for list in ["tsc hpet acpi_pm", "hpet acpi_pm", "hpet acpi_pm jiffies tsc"] {
        for line in [kvm, watchdog] {
            for text in [format!("{READ}{list}\n{line}"), format!("{line}{READ}{list}\n")] {
                let report = why(&text);
                assert_eq!(report.verdict, Verdict::Slow, "{text}: {}", report.headline);
                assert!(
                    report.causes.iter().all(|cause| cause.id != CauseId::RuntimeOverride),
                    "{text}"
                );
                for remedy in &report.remedies {
                    let writes = remedy.commands.iter().any(|command| command.starts_with("echo"));
                    assert!(!writes || remedy.refused_because.is_some(), "{text}: {remedy:?}");
                }
            }
        }
        let report = why(&format!("{READ}{list}\n{kvm}"));
        assert!(
            report.headline.contains("the kernel marked the TSC unstable"),
            "{list}: {}",
            report.headline
        );
        assert!(
            report
                .remedies
                .iter()
                .any(|one| one.id == "switch-to-tsc-now" && one.refused_because.is_some()),
            "{list}: {:?}",
            report.remedies
        );
    }
    // No evidence is against the TSC.
    let report = why(&format!("{READ}tsc hpet acpi_pm\n"));
    assert!(report.causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride));
    assert!(
        report.remedies.iter().any(|one| one.commands.iter().any(|c| c.starts_with("echo tsc")))
    );
}

/// KVM's message is not a figure of the watchdog, and the lack of another capability is not a mark.
#[test]
fn message_of_kvm_tells_of_the_mark_alone() {
    let report = why("[    1.000000] clocksource: Switched to clocksource hpet\n\
         [  712.202195] kvm: SMP vm created on host with unstable TSC; guest TSC will not be reliable\n");
    assert!(!report.headline.contains("watchdog"), "{}", report.headline);
    let scaling = why(&format!(
        "{READ}tsc hpet acpi_pm\n[  712.202195] kvm: host TSC scaling unavailable; guests run at the host's rate\n"
    ));
    assert!(scaling.causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride));
}

/// Any user can write such a line, but only the kernel writes sysfs.
#[test]
fn directory_that_lists_the_tsc_counts_more_than_the_message() {
    let report = Story::new("6.1.0-9-amd64")
        .sysfs("hpet", &["tsc", "hpet", "acpi_pm"])
        .log("[  712.2] kvm: SMP vm created on host with unstable TSC; guest TSC will not be reliable\n")
        .diagnose()
        .report;
    assert!(!report.headline.contains("marked"), "{}", report.headline);
    assert!(report.causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride));
}

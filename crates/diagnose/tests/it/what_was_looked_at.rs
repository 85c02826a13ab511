//! A missing item is reported as missing only if a part of the evidence would show it.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Measured, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

/// The explanation of `why` for Linux's choice.
fn said(text: &str) -> String {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    let expectation = assess(Facts::from_log(log), Measured::default()).expectation;
    expectation.reasons.iter().map(|reason| format!("{}\n", reason.because)).collect()
}

/// Lines that do not concern clocks.
const OTHERS: &str = "[   12.000000] systemd[1]: Reached target Multi-User System.\n\
                      [   12.100000] e1000e: eth0 up\n[   12.200000] sd 0:0:0:0: attached\n\
                      [   12.300000] random: crng init done\n[   12.400000] loop: module loaded\n";

/// A boot of 5.12, with or without the list of its ACPI tables.
fn boot(tables: &str) -> String {
    format!(
        "[    0.000000] Linux version 5.12.0 (b@h) (gcc 10.2.1) #303 SMP Tue May 4 05:07:27 UTC 2021\n\
         [    0.000000] DMI: System manufacturer System Product Name/A-BOARD, BIOS 6601 11/25/2014\n\
         [    0.000000] tsc: Fast TSC calibration using PIT\n\
         [    0.000000] tsc: Detected 3900.267 MHz processor\n\
         {tables}\
         [    0.013975] smpboot: Allowing 2 CPUs, 0 hotplug CPUs\n\
         [    0.013994] clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1910969940391419 ns\n\
         [    0.210000] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x70705e6a3f6, max_idle_ns: 881590591483 ns\n\
         [    0.520000] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1911260446275000 ns\n\
         [    0.800000] clocksource: Switched to clocksource tsc-early\n\
         [    1.900000] tsc: Refined TSC clocksource calibration: 3900.265 MHz\n\
         [    1.900100] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x70702f8b3aa, max_idle_ns: 881590770563 ns\n\
         [    1.900200] clocksource: Switched to clocksource tsc\n\
         [    2.500000] Freeing unused kernel image (initmem) memory: 2048K\n\
         [   12.000000] systemd[1]: Reached target Multi-User System.\n"
    )
}

const TABLES: &str = "[    0.004000] ACPI: RSDP 0x00000000000F0490 000024 (v02 ALASKA)\n\
     [    0.004010] ACPI: FACP 0x000000008DE6A100 00010C (v05 ALASKA A M I    01072009 AMI  00010013)\n";

#[test]
fn tables_that_no_line_lists_are_not_said_to_be_missing() {
    let text = said(&boot(""));
    assert!(!text.contains("firmware describes no"), "{text}");
    assert!(text.contains("no line about ACPI tables"), "{text}");
}

#[test]
fn table_that_is_not_in_the_list_is_missing() {
    let text = said(&boot(TABLES));
    assert!(text.contains("firmware describes no HPET"), "{text}");
    assert!(text.contains("firmware describes no PM timer"), "{text}");
    // Either of the two lines shows that the kernel searched.
    let port = "[    0.004100] ACPI: PM-Timer IO Port: 0x808\n";
    let text = said(&boot(port));
    assert!(text.contains("firmware describes no HPET"), "{text}");
    let old = "[    0.004100] ACPI: RSDP (v000 VENDOR ) @ 0x000f7560\n";
    assert!(said(&boot(old)).contains("firmware describes no HPET"));
}

#[test]
fn clocks_that_are_left_over_name_what_is_not_registered() {
    let report = why(&boot("").replace(
        "[    1.900200] clocksource: Switched to clocksource tsc\n",
        "[    2.200000] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    2.300000] clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns\n\
         [    2.400000] clocksource: Switched to clocksource acpi_pm\n",
    ));
    let only = report.causes.iter().find(|cause| cause.id == CauseId::OnlyChoice).unwrap();
    assert!(only.summary.contains("no HPET is registered"), "{}", only.summary);
}

#[test]
fn page_of_hyperv_is_denied_only_by_its_privilege_flags() {
    let text = |flags: &str| {
        let report = why(&format!(
            "[    0.000000] Linux version 5.10.0 (b@h) (gcc 10) #1 SMP\n\
             [    0.000000] Hypervisor detected: Microsoft Hyper-V\n{flags}\
             [    0.000000] tsc: Marking TSC unstable due to running on Hyper-V\n\
             [    0.900000] clocksource: Switched to clocksource hyperv_clocksource_msr\n{OTHERS}"
        ));
        let found = report.causes.iter().find(|cause| cause.id == CauseId::VdsoBypassed).unwrap();
        found.summary.clone()
    };
    let open = text("");
    assert!(open.contains("probably not granted"), "{open}");
    let flags = |low: &str| {
        format!(
            "[    0.000000] Hyper-V: privilege flags low {low}, high 0x3b8030, hints 0x64e24, misc 0xbed7b2\n"
        )
    };
    let denied = text(&flags("0xac7f"));
    assert!(denied.contains("does not grant"), "{denied}");
    let granted = text(&flags("0xae7f"));
    assert!(granted.contains("chosen by hand"), "{granted}");
}

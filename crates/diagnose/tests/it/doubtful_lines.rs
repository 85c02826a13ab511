//! Lines that prove less than they seem to: damaged copies, names that other architectures also have, logs without time
//! stamps.

#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Measured, Report, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use std::fmt::Write;

fn report(text: &str) -> Report {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    assess(Facts::from_log(log), Measured::default()).report
}

#[test]
fn timer_of_tegra_is_not_a_tsc_of_x86() {
    let report = report(
        "[    0.138781] clocksource: Switched to clocksource arch_sys_counter\n\
         [    0.553383] clocksource: tsc: mask: 0xffffffffffffff max_cycles: 0xe6a171046, max_idle_ns: 881590405314 ns\n",
    );
    assert_ne!(report.verdict, Verdict::Slow);
    assert_eq!(report.clocksource.current.as_deref(), Some("arch_sys_counter"));
    assert!(report.causes.iter().all(|cause| cause.id != CauseId::TscMiscalibrated));
    assert_eq!(report.machine.arch.as_deref(), Some("arm64"));
}

#[test]
fn torn_copy_of_a_line_is_not_a_reading() {
    for (text, current) in [
        (
            "clocksource: hpet\n\
             clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484873504 ns\n\
             clocksource: Switched to clocksource tsc-early\nclocksource: Switched to clocksource tsc\n",
            Some("tsc"),
        ),
        ("clocksource: jiffies\nclocksource: Switched to clocksource timebase\n", Some("timebase")),
        ("clocksource: hpet\n", Some("hpet")),
    ] {
        assert_eq!(report(text).clocksource.current.as_deref(), current, "{text}");
    }
}

const GIC: &str = "Linux version 6.12.0-rc4 (a@b) (mips-img-linux-gnu-gcc 11.2.0) #386 SMP Fri Oct 25 16:52:48 CEST 2024\n\
                   clocksource: GIC: mask: 0xffffffffffffffff max_cycles: 0x39a85c9bff6, max_idle_ns: 881590591483 ns\n\
                   clocksource: Switched to clocksource GIC\n";

#[test]
fn clusters_that_nothing_counts_leave_the_vdso_of_mips_open() {
    assert_eq!(report(GIC).verdict, Verdict::Unknown);
    let one = GIC.replace("clocksource: GIC", "VP topology {2,2} total 4\nclocksource: GIC");
    assert_eq!(report(&one).verdict, Verdict::Ok);
    // A whole log without that line.
    let whole = GIC.replace("clocksource: Sw", "Brought up 1 CPUs\nclocksource: Sw");
    let rest = "usb x\nNET: Registered\nTCP: y\nVFS: z\nserial a\nrandom: b\n";
    assert_eq!(report(&format!("{whole}{rest}")).verdict, Verdict::Ok);
}

/// A log that chooses the TSC and then has this many lines, with stamps up to `end`, or without.
fn tsc(lines: u32, end: Option<f64>) -> String {
    let at = |at: f64| end.map_or_else(String::new, |_| format!("[{at:12.6}] "));
    let mut text = format!(
        "{}clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484873504 ns\n\
         {}clocksource: Switched to clocksource tsc\n",
        at(0.5),
        at(2.1)
    );
    for line in 0..lines {
        writeln!(text, "{}pci 0000:00:1f.{line}: a device", at(2.2)).unwrap();
    }
    text + &format!("{}EXT4-fs (sda1): mounted filesystem\n", at(end.unwrap_or_default()))
}

#[test]
fn log_without_stamps_says_no_more_than_with_them() {
    assert_eq!(report(&tsc(20, None)).verdict, Verdict::Unknown);
    assert_eq!(report(&tsc(150, None)).verdict, Verdict::Unknown);
    assert_eq!(report(&tsc(150, Some(4.1))).verdict, Verdict::Unknown);
    // The driver of idle states may not be loaded yet, and the processor may be an old one.
    assert_eq!(report(&tsc(150, Some(9.3))).verdict, Verdict::Unknown);
    assert_eq!(report(&tsc(150, Some(31.3))).verdict, Verdict::Ok);
    let recent = format!("[    0.400000] TSC deadline timer available\n{}", tsc(150, Some(9.3)));
    assert_eq!(report(&recent).verdict, Verdict::Ok);
    let recent = format!("TSC deadline timer available\n{}", tsc(150, None));
    assert_eq!(report(&recent).verdict, Verdict::Ok);
    // The configuration of a kernel is no user space.
    let config = tsc(150, None).replace("EXT4-fs (sda1): mounted filesystem", "CONFIG_BTRFS_FS=m");
    assert_eq!(report(&config).verdict, Verdict::Unknown);
}

#[test]
fn choices_of_one_moment_are_the_kernels() {
    let text = |then: &str| {
        format!(
            "[   {then}] Time: tsc clocksource has been installed.\n\
             [   34.993526] Switched to high resolution mode on CPU 0\n\
             [   35.008720] Time: pit clocksource has been installed.\n"
        )
    };
    let by_hand =
        |text: &str| report(text).causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride);
    assert!(!by_hand(&text("34.942639")));
    assert!(by_hand(&text(" 4.942639")));
}

#[test]
fn unknown_cost_of_a_guests_clock_is_not_a_reason_to_leave_it() {
    let report = report(
        "[    0.000000] Linux version 4.4.0-97-generic (a@b) (gcc version 5.4.0) #120-Ubuntu SMP Tue Sep 19 17:28:18 UTC 2017\n\
         [    0.000000] Hypervisor detected: KVM\n\
         [    0.180626] clocksource: Switched to clocksource kvm-clock\n\
         [    1.520456] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x2563f526845, max_idle_ns: 440795261895 ns\n\
         [   33.000000] EXT4-fs (vda1): mounted filesystem\n",
    );
    assert_eq!(report.verdict, Verdict::Unknown);
    let offered =
        |id: &str| report.remedies.iter().any(|one| one.id == id && one.refused_because.is_none());
    assert!(!offered("switch-to-tsc-now") && !offered("keep-tsc-at-boot"));
}

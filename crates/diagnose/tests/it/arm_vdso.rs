//! Whether the vDSO of a 32-bit Arm kernel reads the architected counter: `cntvct_functional()` in `arch/arm/kernel/vdso.c`.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::Verdict;

/// A whole boot of a 32-bit board: version, main ID register, mode of the timer, mode of the CPUs.
fn boot(version: &str, midr: &str, timer: &str, cpus: &str) -> String {
    format!(
        "[    0.000000] Booting Linux on physical CPU 0x0\n\
         [    0.000000] Linux version {version} (b@h) (gcc version 9.2.0) #1 SMP Fri May 15 12:00:00 UTC 2020\n\
         [    0.000000] CPU: ARMv7 Processor [{midr}] revision 5 (ARMv7), cr=10c5387d\n\
         [    0.000000] arch_timer: cp15 timer(s) running at 24.00MHz ({timer}).\n\
         [    0.000000] clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x588fe9dc0, max_idle_ns: 440795202592 ns\n\
         [    0.016125] CPU: All CPU(s) started in {cpus} mode.\n\
         [    0.027537] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604462750000 ns\n\
         [    0.114979] clocksource: Switched to clocksource arch_sys_counter\n\
         [    2.500000] Freeing unused kernel memory: 1024K\n\
         [    2.600000] Run /init as init process\n\
         [   12.000000] systemd[1]: Reached target Multi-User System.\n"
    )
}

/// Without a switch in the log, the kernel's version decides on the path of the reads.
#[test]
fn kernel_before_the_vdso_of_its_architecture_is_slow_whatever_the_clocksource() {
    let log = |release: &str, more: &str| {
        why(&format!(
            "[    0.000000] Linux version {release} (x@y) (gcc version 4.6) #1 SMP PREEMPT\n\
             [    0.000000] CPU: ARMv7 Processor [413fc082] revision 2 (ARMv7), cr=10c53c7d\n\
             {more}[    9.500000] eth0: link up\n"
        ))
    };
    let report = log("3.4.43", "");
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    assert_eq!(report.clocksource.current, None);
    assert!(report.headline.contains("no vDSO"), "{}", report.headline);
    for release in ["4.1.0", "4.19.0"] {
        assert_eq!(log(release, "").verdict, Verdict::Unknown, "{release}");
    }
    // The last switch of the log names a clocksource that does not stay.
    let passing = "[    0.100000] Switching to clocksource jiffies\n";
    assert_ne!(log("3.4.43", passing).verdict, Verdict::Ok);
}

#[test]
fn physical_timer_on_32_bit_arm_is_open_and_names_the_device_tree() {
    for cpus in ["SVC", "HYP"] {
        let report = why(&boot("5.6.11", "410fc075", "phys", cpus));
        assert_eq!(report.verdict, Verdict::Unknown, "{cpus}: {}", report.headline);
        assert!(report.headline.contains("device tree's timer"), "{}", report.headline);
        assert!(report.settles.iter().any(|settle| settle.how.contains("not-fw-configured")));
    }
}

#[test]
fn virtual_timer_on_32_bit_arm_is_fast() {
    for timer in ["virt", "virt/virt"] {
        let report = why(&boot("5.6.11", "410fc075", timer, "SVC"));
        assert_eq!(report.verdict, Verdict::Ok, "{}", report.headline);
    }
}

#[test]
fn timer_of_armv8_on_32_bit_arm_is_open_before_5_6() {
    assert_eq!(why(&boot("4.14.98", "410fc075", "virt", "SVC")).verdict, Verdict::Ok);
    assert_eq!(why(&boot("4.14.98", "410fd034", "virt", "SVC")).verdict, Verdict::Unknown);
    assert_eq!(why(&boot("5.10.63", "410fd034", "virt", "SVC")).verdict, Verdict::Ok);
}

#[test]
fn no_vdso_on_32_bit_arm_before_4_1_is_slow_with_either_timer() {
    for timer in ["phys", "virt"] {
        let report = why(&boot("3.18.20", "410fc075", timer, "SVC"));
        assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    }
}

#[test]
fn physical_timer_on_64_bit_arm_is_fast() {
    let text = boot("5.10.0", "410fc075", "phys", "x")
        .replace(
            "CPU: ARMv7 Processor [410fc075] revision 5 (ARMv7), cr=10c5387d",
            "CPU features: none",
        )
        .replace("physical CPU 0x0\n", "physical CPU 0x0000000000 [0x410fd034]\n")
        .replace("started in x mode", "started at EL2");
    let report = why(&text);
    assert_eq!(report.verdict, Verdict::Ok, "{}", report.headline);
}

#[test]
fn counter_of_unknown_arm_with_physical_timer_is_open() {
    // 32 bits are possible, and the line of the CPUs is not there.
    let text = "[    0.000000] arch_timer: cp15 timer(s) running at 19.20MHz (phys).\n\
                [    0.100000] clocksource: Switched to clocksource arch_sys_counter\n";
    assert_eq!(why(text).verdict, Verdict::Unknown);
}

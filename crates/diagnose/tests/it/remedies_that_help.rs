//! A remedy is offered where it can help: by the hypervisor, and by the version of the running kernel.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::Report;

fn all_settings(report: &Report) -> String {
    report
        .remedies
        .iter()
        .flat_map(|remedy| &remedy.settings)
        .map(|s| format!("{}\n", s.text))
        .collect()
}

#[test]
fn guest_without_kvm_is_not_told_to_use_what_kvm_alone_has() {
    let log = |more: &str| {
        format!(
            "[    0.000000] Linux version 5.12.0-rc4 (a@b) (gcc 9.3.0) #21 SMP\n\
             [    0.000000] BIOS-e820: [mem 0x0000000000000000-0x000000000009fbff] usable\n\
             [    0.000000] DMI: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.13.0-1ubuntu1.1 04/01/2014\n{more}\
             [    0.000401] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
             [    0.184259] smpboot: CPU0: AMD QEMU Virtual CPU version 2.5+ (family: 0x6, model: 0x6, stepping: 0x3)\n\
             [    0.200000] NET: Registered protocol family 16\n[    0.300000] SCSI subsystem initialized\n\
             [    0.400000] pid_max: default: 32768\n[    0.500000] VFS: Disk quotas dquot_6.6.0\n\
             [    1.000000] clocksource: Switched to clocksource hpet\n[   20.000000] systemd[1]: Started.\n"
        )
    };
    let offer = |text: &str| {
        why(text).remedies.into_iter().find(|remedy| remedy.id == "expose-invariant-tsc").unwrap()
    };
    let emulated = offer(&log(""));
    assert!(emulated.summary.contains("TCG"), "{}", emulated.summary);
    let alone = |remedy: &clocksmith_diagnose::Remedy| {
        remedy
            .settings
            .iter()
            .filter(|s| s.text.contains("-cpu host"))
            .all(|s| s.text.contains("-accel kvm"))
    };
    assert!(alone(&emulated), "{:?}", emulated.settings);
    assert!(
        emulated.settings.iter().any(|s| s.text.contains("-cpu max,x-force-features=on,+invtsc"))
    );
    assert!(emulated.settings.iter().all(|s| !s.text.contains("host-passthrough")));
    let kvm = offer(&log("[    0.000000] Hypervisor detected: KVM\n"));
    assert!(kvm.settings.iter().any(|s| s.text.contains("host-passthrough")), "{:?}", kvm.settings);
    assert!(
        all_settings(&why(&log("[    0.000000] Hypervisor detected: KVM\n"))).contains("-cpu host")
    );
}

#[test]
fn newer_kernel_is_offered_where_the_running_one_watches_for_its_age() {
    let log = |release: &str| {
        format!(
            "[    0.000000] Linux version {release} (a@b) (gcc 9.3.0) #21 SMP\n\
             [    1.000000] clocksource: Switched to clocksource tsc\n\
             [   60.000000] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 152680ns, attempt 4, marking unstable\n\
             [   60.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [   60.000004] clocksource: Switched to clocksource hpet\n"
        )
    };
    let offered = |release: &str| {
        why(&log(release)).remedies.iter().any(|remedy| remedy.id == "newer-kernel-watchdog")
    };
    assert!(offered("5.15.0"), "{:?}", why(&log("5.15.0")).causes);
    for release in ["5.16.0", "6.3.0", "6.6.0", "6.12.0"] {
        assert!(!offered(release), "{release}");
    }
}

#[test]
fn vdso_of_32_bits_does_not_read_xen_before_its_own_path() {
    let log = |clock: &str, hypervisor: &str| {
        format!(
            "[    0.000000] Linux version 2.6.32.43-0.4.1.i686 (a@b) (gcc version 4.1.2) #1 SMP\n\
             [    0.000000] 885MB LOWMEM available.\n\
             [    0.000000] Booting paravirtualized kernel on {hypervisor}\n\
             [    1.000000] Switching to clocksource {clock}\n[    2.000000] VFS: Mounted root (ext3 filesystem).\n\
             [   40.000000] input: Power Button\n[   41.000000] eth0: link up\n[   42.000000] a\n[   43.000000] b\n"
        )
    };
    for (clock, hypervisor) in [("xen", "Xen"), ("kvm-clock", "KVM")] {
        let report = why(&log(clock, hypervisor));
        let newer: Vec<_> =
            report.remedies.iter().filter(|remedy| remedy.id == "newer-kernel").collect();
        assert!(!newer.is_empty(), "{clock}: {}", report.headline);
        for remedy in newer {
            assert!(!remedy.summary.contains("3.15"), "{clock}: {}", remedy.summary);
        }
    }
}

const RECENT: &str =
    "Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz (family: 0x6, model: 0x8e, stepping: 0xa)";

#[test]
fn watchdog_is_kept_where_nothing_else_finds_a_tsc_that_stops() {
    let log = |processor: &str, more: &str| {
        format!(
            "[    0.000000] Linux version 5.6.0-2-amd64 (a@b) (gcc 9.3.0) #1 SMP Debian 5.6.14-2\n\
             [    0.000000] tsc: Detected 2294.218 MHz processor\n\
             [    0.040000] Booting paravirtualized kernel on bare hardware\n\
             [    0.100000] smpboot: CPU0: {processor}\n{more}\
             [    0.200000] hpet0: 4 comparators, 64-bit 14.318180 MHz counter\n\
             [    0.700000] clocksource: Switched to clocksource tsc-early\n\
             [    1.600653] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc-early' as unstable because the skew is too large:\n\
             [    1.600655] clocksource:                       'hpet' wd_now: 3f49d046 wd_last: 11deedd mask: ffffffff\n\
             [    1.600657] clocksource:                       'tsc-early' cs_now: 220211f6de cs_last: 21b68bbb1f mask: ffffffffffffffff\n\
             [    1.600659] tsc: Marking TSC unstable due to clocksource watchdog\n\
             [    1.600700] clocksource: Switched to clocksource hpet\n\
             [   40.000000] systemd[1]: Started Daily apt download activities.\n"
        )
    };
    let nowatchdog = |text: &str| {
        let report = why(text);
        report.remedies.into_iter().find(|remedy| remedy.id == "tsc-nowatchdog").unwrap()
    };
    let old = nowatchdog(&log(
        "Intel Pentium(R) Dual-Core CPU       T4500  @ 2.30GHz (family: 0x6, model: 0x17, stepping: 0xa)",
        "",
    ));
    assert!(old.refused_because.unwrap().contains("the watchdog is the only check"));
    let recent = nowatchdog(&log(RECENT, ""));
    assert_eq!(recent.refused_because, None);
    // An earlier boot found that the TSCs differ, before that one or before lines that only look like it.
    let faults = [
        "checking TSC synchronization [CPU#0 -> CPU#1]:\n[    0.300100] Measured 7420 cycles TSC warp between CPUs, turning off TSC clock.\n",
        "tsc: Marking TSC unstable due to check_tsc_sync_source failed\n",
        "tsc: Marking TSC unstable due to TSC halts in idle\n",
    ];
    for fault in faults {
        let earlier = format!(
            "[    0.000000] Linux version 5.6.0-1-amd64 (a@b) (gcc 9.3.0) #1 SMP\n[    0.300000] {fault}"
        );
        let after = nowatchdog(&(earlier + &log(RECENT, "")));
        assert!(after.refused_because.unwrap().contains("an earlier boot"), "{fault}");
    }
    assert!(!recent.instructions.iter().any(|text| text.contains("nonstop_tsc")));
    let unknown = log("x", "").replace("[    0.100000] smpboot: CPU0: x\n", "");
    let unknown = nowatchdog(&unknown);
    assert_eq!(unknown.refused_because, None);
    assert!(unknown.instructions.iter().any(|text| text.contains("nonstop_tsc")), "{unknown:?}");
}

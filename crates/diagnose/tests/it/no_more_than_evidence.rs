//! The limits of single lines as evidence: messages that any program can write, and counters whose read path the
//! evidence does not show.

#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Confidence, Measured, Report, Severity, Verdict, assess};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Fact, Facts, Origin};

const READ: &str = "[81344.120033] clocksource/1: Time went backwards: ret=4a2c8f1bd702 delta=-17038114227 shadow=4a28d3c0117f offset=2db51a\n";
const INTERRUPT: &str = "[   77.310004] Timer ISR/0: Time went backwards: delta=-21450817 delta_cpu=8549183 shadow=77288120045 off=430122 processed=77310000000 cpu_processed=77280000000\n";

fn severity(report: &Report, id: CauseId) -> Option<Severity> {
    report.causes.iter().find(|cause| cause.id == id).map(|cause| cause.severity)
}

/// A live machine, with a log into which a user wrote.
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
    // Text that no kernel prints, and users' descriptions of it.
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
fn complaint_alone_is_not_an_alarm_on_the_machine_itself() {
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
            assert!(
                cause.summary.contains("a program can also write such a line"),
                "{}",
                cause.summary
            );
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

/// Each of these is a line that sysfs neither confirms nor disproves, or the details of a demotion that it disproves.
#[test]
fn no_line_alone_is_an_alarm_while_sysfs_shows_the_tsc_in_its_place() {
    for line in [
        "[ 9000.1] timekeeping: Adjusting tsc more than 11% (1234567 vs 2345678)\n",
        "[ 9000.1] timekeeping: Adjusting kvm-clock more than 11% (1234567 vs 2345678)\n",
        "[ 9000.1] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 12379876540000 wd_nsec: 1337654321\n",
        "[ 9000.1] clocksource:                       Clocksource 'tsc' skewed -5868123 ns (-5 ms) over watchdog 'hpet' interval of 503845123 ns (503 ms)\n",
        "[ 9000.1] tsc: Warning: TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer, please check with vendor!!\n",
        "[ 9000.1] Measured 7122 cycles TSC warp between CPUs, turning off TSC clock.\n",
    ] {
        let seen = live("tsc", None, line);
        assert_eq!(seen.verdict, Verdict::Ok, "{line}");
        assert!(
            seen.causes.iter().all(|cause| cause.severity == Severity::Info),
            "{line} {:?}",
            seen.causes
        );
        let calm = ["but:", "slow", "trusted"].iter().all(|word| !seen.headline.contains(word));
        assert!(calm, "{line} {}", seen.headline);
        // Without sysfs the log is the only evidence.
        let log = why(&format!("[    1.2] clocksource: Switched to clocksource tsc\n{line}"));
        assert!(
            line.contains("kvm-clock")
                || log.causes.iter().any(|c| c.severity >= Severity::Warning),
            "{line} {:?}",
            log.causes
        );
    }
    // The list of sysfs confirms the demotion.
    let seen = live(
        "hpet",
        None,
        "[ 9000.1] Measured 7122 cycles TSC warp between CPUs, turning off TSC clock.\n",
    );
    assert_ne!(severity(&seen, CauseId::TscWarp), Some(Severity::Info));
}

fn riscv(firmware: &str, more: &str) -> Report {
    why(&format!(
        "{firmware}[    0.000000] Linux version 6.6.31 (a@b) (riscv64-linux-gnu-gcc 13.2.0) #1 SMP\n{more}\
         [    0.000000] clocksource: riscv_clocksource: mask: 0xffffffffffffffff max_cycles: 0x1d854df40, max_idle_ns: 3526361616960 ns\n\
         [    0.310000] clocksource: Switched to clocksource riscv_clocksource\n"
    ))
}

#[test]
fn time_csr_of_riscv_is_open_unless_firmware_or_an_extension_shows_it() {
    let seen = riscv("", "");
    assert_eq!(seen.verdict, Verdict::Unknown);
    assert!(seen.headline.contains("time CSR, which firmware may emulate"), "{}", seen.headline);
    assert!(
        seen.settles.iter().any(|one| one.how.contains("clocksmith bench")),
        "{:?}",
        seen.settles
    );
    let sstc =
        "[    0.000000] riscv-timer: Timer interrupt in S-mode is available via sstc extension\n";
    for seen in [
        riscv("", sstc),
        riscv("OpenSBI v1.2\nBoot HART ISA Extensions  : time,sstc\n", ""),
        riscv("OpenSBI v1.6\nBoot HART ISA Extensions    : zicntr,zihpm\n", ""),
        riscv("OpenSBI v0.9\nBoot HART Features        : scounteren,mcounteren,time\n", ""),
    ] {
        assert_eq!(seen.verdict, Verdict::Ok, "{}", seen.headline);
        assert!(!seen.headline.contains("CSR"), "{}", seen.headline);
    }
    for firmware in [
        "OpenSBI v1.2\nBoot HART ISA Extensions  : none\n",
        "OpenSBI v0.9\nBoot HART Features        : scounteren,mcounteren\n",
        "BOOT HART Features     : none\n",
    ] {
        let seen = riscv(firmware, "");
        assert_eq!(seen.verdict, Verdict::Slow, "{firmware}");
        assert!(seen.headline.contains("firmware emulates the counter"), "{}", seen.headline);
        let ids: Vec<&str> = seen.causes.iter().map(|cause| cause.id.name()).collect();
        assert_eq!(ids, ["counter-emulated"], "{firmware}");
    }
    // Since 1.7 the word needs more than that register; an unknown version may be one of these.
    for firmware in [
        "OpenSBI v1.7\nBoot HART ISA Extensions    : zihpm\n",
        "Boot HART ISA Extensions  : none\n",
    ] {
        assert_eq!(riscv(firmware, "").verdict, Verdict::Unknown, "{firmware}");
    }
}

#[test]
fn counter_of_a_mips_processor_is_fast_where_user_space_reads_it() {
    let text = |release: &str, processor: &str, line: &str| {
        format!(
            "[    0.000000] Linux version {release} (a@b) (mips-openwrt-linux-musl-gcc 8.4.0) #0 Thu Jun 24 2021\n\
             [    0.000000] CPU0 revision is: {processor}\n\
             [    0.000000] MIPS: machine is TP-Link Archer C7 v2\n\
             [    0.000000] Determined physical RAM map:\n\
             [    0.000000] Zone ranges:\n\
             [    0.000000] NR_IRQS: 51\n{line}\
             [    0.000000] CPU clock: 720.000 MHz\n\
             [    0.000000] clocksource: MIPS: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 5309056796 ns\n\
             [    0.000005] sched_clock: 32 bits at 360MHz, resolution 2ns, wraps every 5965232126ns\n\
             [    0.080000] clocksource: Switched to clocksource MIPS\n\
             [    1.200000] init: Console is alive\n"
        )
    };
    let boot = |release: &str, processor: &str, line: &str| why(&text(release, processor, line));
    let broken = "[    0.000000] Not using R4K clocksource in VDSO due to broken RDHWR\n";
    for (release, processor, line, verdict) in [
        ("5.4.124", "00019750 (MIPS 74Kc)", "", Verdict::Ok),
        ("4.4.14", "00019374 (MIPS 24Kc)", "", Verdict::Ok),
        // Before 4.4 the vDSO does not read the time.
        ("4.1.23", "00019374 (MIPS 24Kc)", "", Verdict::Slow),
        ("5.4.124", "00019374 (MIPS 24Kc)", broken, Verdict::Slow),
        // Its release is not known, or is older than the second one.
        ("5.4.124", "00029007 (Broadcom BMIPS3300)", "", Verdict::Unknown),
        ("6.1.0", "00000f24 (R14000)", "", Verdict::Slow),
    ] {
        let seen = boot(release, processor, line);
        assert_eq!(seen.verdict, verdict, "{release} {processor} {line} {}", seen.headline);
    }
    // The counters of the cores are not synchronised with each other: they do not replace the GIC.
    let clusters = "[    0.000000] VP topology {4,4},{4,4} total 16\n\
                    [    0.000000] SLUB: HWalign=128, Order=0-3, MinObjects=0, CPUs=16, Nodes=1\n\
                    [    0.000000] clocksource: GIC: mask: 0xffffffffffffffff max_cycles: 0x2e2049cda, max_idle_ns: 440795202628 ns\n";
    let gic = text("6.18.0", "0001b031 (MIPS I6500)", clusters);
    let seen = why(&gic.replace("Switched to clocksource MIPS", "Switched to clocksource GIC"));
    assert_eq!(seen.verdict, Verdict::Slow, "{}", seen.headline);
    assert!(!seen.headline.contains("rated above"), "{}", seen.headline);
    let chosen = seen.remedies.iter().any(|it| it.commands.iter().any(|c| c.contains("MIPS")));
    assert!(!chosen, "{}", seen.headline);
}

fn gic(release: &str, topology: &str, up: &str) -> Report {
    why(&format!(
        "[    0.000000] Linux version {release} (a@b) (mips-img-linux-gnu-gcc 12.2.0) #1 SMP\n\
         [    0.000000] CPU0 revision is: 0001a920 (MIPS I6500)\n{topology}\
         [    0.000000] clocksource: GIC: mask: 0xffffffffffffffff max_cycles: 0x2e2049cda, max_idle_ns: 440795202628 ns\n{up}\
         [    0.200000] clocksource: Switched to clocksource GIC\n"
    ))
}

#[test]
fn gic_of_several_clusters_is_never_fast() {
    let one = "[    0.000000] VP topology {2,2} total 4\n";
    let two = "[    0.000000] VP topology {4,4},{4,4} total 16\n";
    let older = "[    0.000000] VPE topology {2,2} total 4\n";
    let all = "[    0.190000] smp: Brought up 1 node, 16 CPUs\n";
    let first = "[    0.190000] smp: Brought up 1 node, 8 CPUs\n";
    let ids_all = "[    0.000000] SLUB: HWalign=128, Order=0-3, MinObjects=0, CPUs=16, Nodes=1\n";
    let ids_first = "[    0.000000] SLUB: HWalign=128, Order=0-3, MinObjects=0, CPUs=8, Nodes=1\n";
    for (release, topology, up, verdict) in [
        ("6.18.0-rc7", two, all, Verdict::Slow),
        ("6.11.0", two, all, Verdict::Slow),
        // The processors of the second cluster may be usable and have failed to start, or may not be usable.
        ("6.18.0", two, first, Verdict::Unknown),
        ("6.18.0", two, "", Verdict::Unknown),
        ("6.11.0", two, "", Verdict::Unknown),
        ("6.1.0", two, first, Verdict::Unknown),
        ("6.18.0", two, &format!("{ids_all}{first}"), Verdict::Slow),
        ("6.11.0", two, ids_all, Verdict::Slow),
        ("6.18.0", two, ids_first, Verdict::Ok),
        ("6.1.0", two, &format!("{ids_first}{first}"), Verdict::Ok),
        ("4.3.0", two, ids_first, Verdict::Slow),
        ("6.18.0", one, "", Verdict::Ok),
        ("6.18.0", older, "", Verdict::Ok),
        ("6.18.0", "", all, Verdict::Unknown),
        ("4.3.0", one, "", Verdict::Slow),
    ] {
        let seen = gic(release, topology, up);
        assert_eq!(seen.verdict, verdict, "{release} {topology} {up} {}", seen.headline);
        let clusters = seen.causes.iter().any(|c| c.summary.contains("clusters of processors"));
        let shown = verdict == Verdict::Slow && topology == two && release != "4.3.0";
        assert_eq!(clusters, shown, "{release} {topology}");
    }
    // Without the version in the text, the number of processors decides.
    let cut = |up: &str| {
        why(&format!(
            "{two}[    0.000000] clocksource: GIC: mask: 0xffffffffffffffff max_cycles: 0x2e2049cda, max_idle_ns: 440795202628 ns\n{up}[    0.200000] clocksource: Switched to clocksource GIC\n"
        ))
    };
    assert_eq!(cut(all).verdict, Verdict::Slow);
    assert_eq!(cut(ids_all).verdict, Verdict::Slow);
    assert_eq!(cut("").verdict, Verdict::Unknown);
}

#[test]
fn name_with_a_blank_is_a_clocksource_where_a_kernel_has_it() {
    let switched = |name: &str| {
        why(&format!(
            "[    0.000000] Linux version 4.19.0-17-loongson-3 (a@b) (gcc 8.3.0) #1 SMP\n\
             [    0.881832] clocksource: Switched to clocksource {name}\n\
             [   20.000000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n"
        ))
    };
    let seen = switched("stable counter");
    assert!(seen.headline.contains("stable counter"), "{}", seen.headline);
    assert_eq!(seen.verdict, Verdict::Unknown);
    assert!(!switched("whole counter").headline.contains("whole counter"));
}

#[test]
fn nodes_that_came_up_are_read() {
    let watched = |nodes: &str| {
        let text = format!(
            "[    0.000000] Linux version 6.1.0-13-amd64 (x@y) (gcc 12) #1 SMP\n[    0.300000] smp: Brought up {nodes}\n"
        );
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        Facts::from_log(log).cpu.nodes.value().copied()
    };
    assert_eq!(watched("8 nodes, 384 CPUs"), Some(8));
    assert_eq!(watched("1 node, 4 CPUs"), Some(1));
    assert_eq!(watched("4 CPUs"), None);
    assert_eq!(watched("two nodes, 4 CPUs"), None);
}

#[test]
fn tsc_that_may_be_of_a_32_bit_kernel_says_what_would_settle_it() {
    let seen = why("# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n");
    assert_eq!((seen.verdict, seen.confidence), (Verdict::Ok, Confidence::Medium));
    let facts: Vec<&str> = seen.settles.iter().map(|one| one.fact.as_str()).collect();
    assert_eq!(facts, ["architecture", "kernel version"]);
    let seen = why(
        "[    0.0] Linux version 6.1.0-13-amd64 (x@y) (gcc 12) #1 SMP\n# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\n",
    );
    assert!(seen.settles.is_empty(), "{:?}", seen.settles);
}

#[test]
fn remedies_of_hypervisors_come_behind_those_of_hardware_where_nothing_shows_a_guest() {
    let warp = "[    0.311764] TSC synchronization [CPU#0 -> CPU#1]:\n\
                [    0.317235] Measured 17445924 cycles TSC warp between CPUs, turning off TSC clock.\n\
                [    0.326013] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
                [    0.900000] clocksource: Switched to clocksource hpet\n";
    let ids = |text: &str| {
        let advised = why(text).remedies.into_iter().filter(|one| one.refused_because.is_none());
        advised.map(|one| one.id).collect::<Vec<_>>()
    };
    let of = |ids: &[String], id: &str| ids.iter().position(|one| one == id);
    let open = ids(warp);
    assert!(of(&open, "update-firmware") < of(&open, "equal-tsc-offsets"), "{open:?}");
    let guest = ids(&format!("[    0.000000] Hypervisor detected: KVM\n{warp}"));
    assert_eq!(of(&guest, "equal-tsc-offsets"), Some(0), "{guest:?}");
}

//! Kernel logs of every era and the answer to each: hand-written, one short log a cause.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{
    CauseId, Confidence, Measured, Path, Read, Report, Severity, Verdict, assess,
};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Fact, Facts};

fn read(text: &str) -> Report {
    let facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "dmesg").unwrap());
    assess(facts, Measured::default()).report
}

struct Row {
    name: &'static str,
    log: &'static str,
    current: Option<&'static str>,
    cause: Option<CauseId>,
    /// `tsc=reliable` must not be advised.
    never_reliable: bool,
}

const fn row(
    name: &'static str,
    log: &'static str,
    current: Option<&'static str>,
    cause: CauseId,
    never_reliable: bool,
) -> Row {
    Row { name, log, current, cause: Some(cause), never_reliable }
}

const fn healthy(name: &'static str, log: &'static str, current: Option<&'static str>) -> Row {
    Row { name, log, current, cause: None, never_reliable: false }
}

const TABLE: &[Row] = &[
    row(
        "warp, 5.x",
        "[    0.470000] TSC synchronization [CPU#0 -> CPU#1]:\n\
         [    0.470000] Measured 212 cycles TSC warp between CPUs, turning off TSC clock.\n\
         [    0.470000] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
         [    0.900000] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::TscWarp,
        true,
    ),
    row(
        "unsynchronized, wrapped by a mailer",
        "> [    0.005000] tsc: Marking TSC unstable due to TSCs\n\
         > unsynchronized\n\
         > [    1.000000] clocksource: Switched to clocksource\n\
         > acpi_pm\n",
        Some("acpi_pm"),
        CauseId::TscUnsynchronized,
        true,
    ),
    row(
        "halts in idle, 2.6.35",
        "[    0.400000] Marking TSC unstable due to TSC halts in idle\n\
         [    0.700000] Switching to clocksource hpet\n",
        Some("hpet"),
        CauseId::TscHaltsInIdle,
        true,
    ),
    row(
        "cpufreq, 2.6.2x",
        "[   40.100000] Marking TSC unstable due to cpufreq changes\n\
         [   40.200000] Time: acpi_pm clocksource has been installed.\n",
        Some("acpi_pm"),
        CauseId::TscFrequencyChanges,
        true,
    ),
    row(
        "skew with CPUs ahead, 5.15",
        "[  100.000000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [  100.000001] clocksource:                       'hpet' wd_nsec: 503845 wd_now: 10000000 wd_last: f920000 mask: ffffffff\n\
         [  100.000002] clocksource:                       'tsc' cs_nsec: 504845 cs_now: 5000000000 cs_last: 4fb0000000 mask: ffffffffffffffff\n\
         [  100.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [  100.000004] clocksource: Checking clocksource tsc synchronization from CPU 3 to CPUs 0-2.\n\
         [  100.000005] clocksource:         CPUs 1 ahead of CPU 3 for clocksource tsc.\n\
         [  100.000006] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::TscSkew,
        true,
    ),
    row(
        "inter-CPU skew, 7.1",
        "[   20.000000] clocksource: Marking clocksource tsc unstable due to inter CPU skew\n\
         [   20.000001] clocksource: CPU3              1000 < CPU0              2000 (cycles)\n\
         [   20.000002] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [   20.000003] clocksource: Switched to clocksource acpi_pm\n",
        Some("acpi_pm"),
        CauseId::TscSkew,
        true,
    ),
    row(
        "jump of hours",
        "[90000.000000] tsc: Detected 3000.000 MHz processor\n\
         [90001.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [90001.000001] clocksource: 'hpet' wd_now: 20000000 wd_last: 1f920000 mask: ffffffff\n\
         [90001.000002] clocksource: 'tsc' cs_now: 700000000000 cs_last: 100000000000 mask: ffffffffffffffff\n\
         [90001.000003] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::TscJump,
        true,
    ),
    row(
        "jump hidden in a skipped check, 6.8",
        "[    2.000000] clocksource: Switched to clocksource tsc\n\
         [   90.000000] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 19668374583 wd_nsec: 416680800\n",
        Some("tsc"),
        CauseId::TscJump,
        true,
    ),
    row(
        "TSC_ADJUST after resume",
        "[  327.000000] [Firmware Bug]: TSC ADJUST differs: CPU5 0 --> 1234567. Restoring\n",
        None,
        CauseId::TscAdjustChanged,
        true,
    ),
    row(
        "impossible frequency",
        "[    1.258777] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1266f82e1c73, max_idle_ns: 440795386830 ns\n\
         [    1.258788] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
        CauseId::TscMiscalibrated,
        true,
    ),
    row(
        "refinement off, counters agree with the first figure",
        "[    0.000000] tsc: Detected 2096.060 MHz processor\n\
         [    1.300000] tsc: Refined TSC clocksource calibration: 2112.070 MHz\n\
         [    1.310000] clocksource: Switched to clocksource tsc\n\
         [    2.100000] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [    2.100001] clocksource:                       'hpet' wd_nsec: 499779371 wd_now: 1b89f6a wd_last: 14b6e8f mask: ffffffff\n\
         [    2.100002] clocksource:                       'tsc' cs_nsec: 495991580 cs_now: 69bd43440 cs_last: 65d6391ef mask: ffffffffffffffff\n\
         [    2.200000] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::TscMiscalibrated,
        true,
    ),
    row(
        "a frequency stated wrongly, without a watchdog",
        "[    0.010000] Kernel command line: tsc_early_khz=2000000 tsc=nowatchdog\n\
         [    0.300000] APIC calibration not consistent with PM-Timer: 77ms instead of 100ms\n\
         [    2.300000] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
        CauseId::TscMiscalibrated,
        true,
    ),
    row(
        "slow reference, 5.14",
        "[   60.000000] clocksource: timekeeping watchdog on CPU6: hpet read-back delay of 152680ns, attempt 4, marking unstable\n\
         [   60.000001] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [   60.100000] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::WatchdogAtFault,
        false,
    ),
    row(
        "PM timer wrapped, 4.1",
        "[  384.258940] timekeeping watchdog: Marking clocksource 'tsc' as unstable, because the skew is too large:\n\
         [  384.261201] \t'acpi_pm' wd_now: 8d5199 wd_last: 60e92e mask: ffffff\n\
         [  384.263168] \t'tsc' cs_now: 1981c973dc9 cs_last: 1940283c820 mask: ffffffffffffffff\n",
        Some("acpi_pm"),
        CauseId::WatchdogAtFault,
        false,
    ),
    row(
        "PM timer wrapped, 2.6.32",
        "[  100.000000] Clocksource tsc unstable (delta = 4687200000 ns)\n\
         [  100.100000] Switching to clocksource acpi_pm\n",
        Some("acpi_pm"),
        CauseId::WatchdogAtFault,
        false,
    ),
    row(
        "jiffies as the reference",
        "[    3.000000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc-early' as unstable because the skew is too large:\n\
         [    3.000001] clocksource:                       'refined-jiffies' wd_nsec: 512032000 wd_now: fffedb58 wd_last: fffedb38 mask: ffffffff\n\
         [    3.000002] clocksource:                       'tsc-early' cs_nsec: 616124938 cs_now: 600000000 cs_last: 5a0000000 mask: ffffffffffffffff\n\
         [    3.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    3.100000] clocksource: Switched to clocksource refined-jiffies\n\
         [   61.000000] eth0: Link is up\n",
        Some("refined-jiffies"),
        CauseId::WatchdogAtFault,
        false,
    ),
    row(
        "the machine did not run",
        "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 2897344852 wd_nsec: 2897356996\n",
        None,
        CauseId::ReadoutStall,
        true,
    ),
    row(
        "remote time-out, 7.1",
        "[   12.000000] clocksource: Watchdog remote CPU 9 read timed out\n",
        None,
        CauseId::WatchdogRemoteTimeout,
        true,
    ),
    row(
        "Hyper-V without the invariant TSC",
        "[    0.000000] Hyper-V: privilege flags low 0x2e7f, high 0x3b8030, hints 0x24e24, misc 0xe0bed7b2\n\
         [    0.000001] tsc: Marking TSC unstable due to running on Hyper-V\n\
         [    1.100000] clocksource: Switched to clocksource hyperv_clocksource_tsc_page\n",
        Some("hyperv_clocksource_tsc_page"),
        CauseId::InvariantTscWithheld,
        true,
    ),
    row(
        "Xen",
        "[    0.000000] Linux version 4.4.0-1022-aws (buildd@x) (Ubuntu 4.4.0-1022.31-aws 4.4.70)\n\
         [    1.783096] clocksource: Switched to clocksource xen\n",
        Some("xen"),
        CauseId::ParavirtClockPreferred,
        false,
    ),
    row(
        "a paravirtual clock that goes backwards",
        "[   12.000000] Timer ISR/0: Time went backwards: delta=-118088543 delta_cpu=25911457\n",
        None,
        CauseId::ParavirtClockBroken,
        true,
    ),
    row(
        "notsc",
        "[    0.086633] Kernel command line: console=ttyS0 notsc\n\
         [    0.087635] tsc: Marking TSC unstable due to boot parameter notsc\n\
         [    1.021038] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::CmdlineNotsc,
        true,
    ),
    row(
        "tsc=unstable",
        "[    0.086633] Kernel command line: console=ttyS0 tsc=unstable\n\
         [    0.087635] tsc: Marking TSC unstable due to boot parameter\n\
         [    1.021038] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::CmdlineTscUnstable,
        true,
    ),
    row(
        "the command line chooses",
        "[    0.000000] Linux version 6.1.0-13-amd64 (x) Debian 6.1.55-1 (2023-09-29)\n\
         [    0.086633] Kernel command line: clocksource=acpi_pm\n\
         [    1.021038] clocksource: Switched to clocksource tsc-early\n\
         [    1.121038] clocksource: Switched to clocksource acpi_pm\n",
        Some("acpi_pm"),
        CauseId::CmdlineClocksourceOverride,
        false,
    ),
    row(
        "a name that does not exist",
        "[    0.103728] Kernel command line: console=ttyS0 clocksource=tcs\n\
         [    2.590153] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
        CauseId::CmdlineClocksourceUnknown,
        false,
    ),
    row(
        "a comma that the kernel does not parse",
        "[    0.103728] Kernel command line: console=ttyS0 tsc=reliable,nowatchdog\n\
         [    2.590153] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
        CauseId::CmdlineParameterIgnored,
        false,
    ),
    row(
        "an unstable choice is refused",
        "[  500.000000] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [  500.100000] clocksource: Switched to clocksource hpet\n\
         [  900.000000] clocksource: Override clocksource tsc is unstable and not HRT compatible - cannot switch while in HRT/NOHZ mode\n",
        Some("hpet"),
        CauseId::OverrideRefused,
        true,
    ),
    row(
        "written by hand",
        "[Wed Dec 22 08:37:21 2021] clocksource: Switched to clocksource hpet\n\
         [Wed Dec 22 19:23:30 2021] clocksource: Switched to clocksource acpi_pm\n",
        Some("acpi_pm"),
        CauseId::RuntimeOverride,
        false,
    ),
    row(
        "arm64, trapped",
        "[    0.000000] arch_timer: Enabling local workaround for ARM erratum 858921\n\
         [    0.000000] arch_timer: CPU0: Trapping CNTVCT access\n\
         [    0.000000] arch_timer: cp15 timer(s) running at 24.00MHz (phys).\n",
        Some("arch_sys_counter"),
        CauseId::CounterTrapped,
        false,
    ),
    row(
        "arm64, 32-bit programs only",
        "[    0.000000] arch_timer: Enabling local workaround for ARM erratum 1418040\n\
         [    0.000000] arch_timer: CPU0: Trapping CNTVCT access\n\
         [    0.000000] arch_timer: cp15 timer(s) running at 25.00MHz (virt).\n",
        Some("arch_sys_counter"),
        CauseId::CounterTrappedCompat,
        false,
    ),
    row(
        "no frequency",
        "[    0.000000] tsc: Unable to calibrate against PIT\n\
         [    0.000000] tsc: No reference (HPET/PMTIMER) available\n\
         [    0.000000] tsc: Marking TSC unstable due to could not calculate TSC khz\n\
         [    0.500000] clocksource: Switched to clocksource refined-jiffies\n",
        None,
        CauseId::NoTsc,
        false,
    ),
    row(
        "no reason in the excerpt",
        "[  900.000000] clocksource: Switched to clocksource hpet\n",
        Some("hpet"),
        CauseId::InsufficientEvidence,
        true,
    ),
    healthy(
        "bare metal, 6.x",
        "[    0.000000] tsc: Detected 3000.000 MHz processor\n\
         [    0.700000] clocksource: Switched to clocksource tsc-early\n\
         [    1.800000] tsc: Refined TSC clocksource calibration: 3000.011 MHz\n\
         [    1.800100] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
    ),
    healthy(
        "bare metal, 3.x: hpet first is no fallback",
        "[    0.628901] Switching to clocksource hpet\n\
         [    2.093533] Refined TSC clocksource calibration: 3602.055 MHz.\n\
         [    2.093541] Switching to clocksource tsc\n",
        Some("tsc"),
    ),
    healthy(
        "Firecracker",
        "[    0.000000] [Firmware Bug]: TSC doesn't count with P0 frequency!\n\
         [    0.000000] kvm-clock: Using msrs 4b564d01 and 4b564d00\n\
         [    0.314944] clocksource: Switched to clocksource kvm-clock\n\
         [    0.387529] clocksource: Switched to clocksource tsc\n",
        Some("tsc"),
    ),
    healthy(
        "arm64",
        "[    0.000000] arch_timer: cp15 timer(s) running at 25.00MHz (virt).\n\
         [    0.100000] clocksource: Switched to clocksource arch_sys_counter\n",
        Some("arch_sys_counter"),
    ),
    healthy(
        "an excerpt that shows nothing wrong",
        "[    0.076904] hpet: HPET dysfunctional in PC10. Force disabled.\n",
        None,
    ),
];

#[test]
fn every_row() {
    let mut wrong = Vec::new();
    for row in TABLE {
        let seen = read(row.log);
        let mut note = |what: String| wrong.push(format!("{}: {what}", row.name));
        if seen.clocksource.current.as_deref() != row.current {
            note(format!("current {:?}, expected {:?}", seen.clocksource.current, row.current));
        }
        match row.cause {
            Some(id) if !seen.causes.iter().any(|c| c.id == id) => {
                let ids: Vec<_> = seen.causes.iter().map(|c| c.id.name()).collect();
                note(format!("{} is not among {ids:?}", id.name()));
            }
            None => {
                for cause in seen.causes.iter().filter(|c| c.severity > Severity::Info) {
                    note(format!("{} is {:?}", cause.id.name(), cause.severity));
                }
            }
            Some(_) => {}
        }
        for cause in &seen.causes {
            if cause.evidence.is_empty() && cause.id != CauseId::InsufficientEvidence {
                note(format!("{} quotes no evidence", cause.id.name()));
            }
        }
        let advised =
            seen.remedies.iter().any(|r| r.id == "tsc-reliable" && r.refused_because.is_none());
        if advised && row.never_reliable {
            note("tsc=reliable is advised".to_owned());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tsc_reliable_is_refused_with_the_reason_wherever_the_evidence_is_against_it() {
    for row in TABLE.iter().filter(|row| row.never_reliable && row.cause.is_some()) {
        let seen = read(row.log);
        let refusal = seen.remedies.iter().find(|r| r.id == "tsc-reliable");
        let because = refusal.and_then(|r| r.refused_because.as_deref());
        assert!(because.is_some_and(|b| b.len() > 20), "{}: {refusal:?}", row.name);
    }
}

#[test]
fn what_is_in_use_is_not_said_to_be_missing() {
    let only = |log: &str| {
        let seen = read(log);
        let cause = seen.causes.into_iter().find(|c| c.id == CauseId::OnlyChoice);
        cause.map(|c| c.summary)
    };
    let hpet = "[    0.000000] Linux version 5.10.0-28-amd64 (x)\n\
                [    0.000000] Hypervisor detected: KVM\n\
                [    0.230000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns\n\
                [    0.270000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
                [    0.980000] clocksource: Switched to clocksource hpet\n";
    let said = only(hpet).unwrap();
    assert!(said.contains("no paravirtual clock") && !said.contains("no HPET"), "{said}");
    // A hypervisor's clock is not a last resort, least of all beside a usable TSC.
    let xen = "[    0.000000] Linux version 4.14.77-70.59.amzn1.x86_64 (x)\n\
               [    0.000000] Hypervisor detected: Xen HVM\n\
               [    0.420000] clocksource: xen: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, max_idle_ns: 881590591483 ns\n\
               [    1.790000] clocksource: Switched to clocksource xen\n\
               [    2.800000] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x21275a0a5d4, max_idle_ns: 440795233714 ns\n";
    assert_eq!(only(xen), None);
}

#[test]
fn sequence_of_the_reference_page_is_named_as_not_looked_at() {
    let page = "[    0.000000] Linux version 5.15.0-1050-azure (x) (gcc 11.4.0) #57-Ubuntu SMP\n\
                [    0.000000] Hypervisor detected: Microsoft Hyper-V\n\
                [    0.310000] clocksource: Switched to clocksource hyperv_clocksource_tsc_page\n";
    let names = |report: &clocksmith_diagnose::Report| {
        report.missing.iter().filter(|missing| missing.fact.starts_with("sequence number")).count()
    };
    // A log never shows it.
    assert_eq!(names(&read(&format!("{page}[   30.000000] EXT4-fs (sda1): mounted\n"))), 1);
    assert_eq!(names(&read(&page.replace("hyperv_clocksource_tsc_page", "hpet"))), 0);
    // A measured read does.
    let log = KernelLog::scan(page.as_bytes(), "dmesg").unwrap();
    let mut facts = Facts::from_log(log);
    let device = ClocksourceDevice::parse(
        "clocksource0",
        "hyperv_clocksource_tsc_page",
        "hyperv_clocksource_tsc_page",
    );
    facts.clocksources = Fact::known(vec![device.unwrap()], "sysfs");
    let measured = |path, ns| Measured {
        reads: vec![Read {
            clock: "CLOCK_MONOTONIC".to_owned(),
            path,
            ns: Some(ns),
            syscall_ns: Some(640.0),
        }],
        counter_ns: Some(10.0),
    };
    for (path, ns, named) in
        [(Path::Vdso, 30.0, 0), (Path::Syscall, 661.0, 0), (Path::Unknown, 450.0, 1)]
    {
        assert_eq!(names(&assess(facts.clone(), measured(path, ns)).report), named, "{path:?}");
    }
}

#[test]
fn an_unknown_clocksource_is_never_a_confident_verdict() {
    for row in TABLE.iter().filter(|row| row.current.is_none()) {
        let seen = read(row.log);
        if seen.verdict == Verdict::Unknown {
            assert_eq!(seen.confidence, Confidence::Low, "{}", row.name);
        }
    }
}

#[test]
fn a_frequency_stated_wrongly_is_not_blamed_on_the_reference() {
    let seen = read(
        "[    0.010000] Kernel command line: tsc_early_khz=2000000\n\
         [    0.300000] APIC calibration not consistent with PM-Timer: 77ms instead of 100ms\n\
         [    1.300000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc-early' as unstable because the skew is too large:\n\
         [    1.300001] clocksource:                       'hpet' wd_nsec: 500000000 wd_now: 3445782 wd_last: 479782 mask: ffffffff\n\
         [    1.300002] clocksource:                       'tsc-early' cs_nsec: 649000000 cs_now: 528b2f68 cs_last: 52b2f68 mask: ffffffffffffffff\n\
         [    1.300003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [    2.500000] clocksource: Switched to clocksource hpet\n",
    );
    assert_eq!(seen.verdict, Verdict::Slow);
    assert_eq!(seen.causes[0].id, CauseId::TscMiscalibrated);
    assert!(seen.causes.iter().all(|c| c.id != CauseId::WatchdogAtFault), "{:?}", seen.causes);
}

#[test]
fn the_last_boot_counts_and_the_log_says_so() {
    let log = "[    0.000000] Linux version 6.1.0-13-amd64 (x)\n\
               [    0.000000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
               [    1.000000] clocksource: Switched to clocksource hpet\n\
               [  900.000000] something else\n\
               [    0.000000] Linux version 6.1.0-14-amd64 (x)\n\
               [    1.000000] clocksource: Switched to clocksource tsc\n";
    let log = KernelLog::scan(log.as_bytes(), "kern.log").unwrap();
    assert_eq!(log.boots, 2);
    let facts = Facts::from_log(log);
    let seen = assess(facts, Measured::default()).report;
    assert_eq!(seen.clocksource.current.as_deref(), Some("tsc"));
    assert!(seen.causes.iter().all(|c| c.id != CauseId::TscUnsynchronized));
}

#[test]
fn every_cause_id_is_written_as_it_is_parsed() {
    for id in CauseId::ALL {
        assert_eq!(CauseId::parse(id.name()), Some(id));
        assert_eq!(serde_json::to_value(id).unwrap(), id.name());
    }
}

#[test]
fn report_is_read_as_it_was_written() {
    for row in TABLE {
        let report = read(row.log);
        let text = serde_json::to_string(&report).unwrap();
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(back, report, "{}", row.name);
        // With ids as text, as `fleet` reads it.
        let back: Report<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), text, "{}", row.name);
    }
}

//! Published machines as facts: the clocksources that the kernel listed and chose, the reasons, and
//! the correct advice.
//!
//! The machines: a VirtualBox guest and a VMware guest of 2013 on Debian 7, an EC2 instance on Xen, a
//! KVM guest with and without an invariant TSC, and a server on Linux 2.6.32.

use crate::common::{Story, strings};
use clocksmith_diagnose::{CauseId, Verdict};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::HypervisorKind;

/// V1: VirtualBox 4.3.4, PIIX3 board, 8 virtual CPUs, Debian 7 (3.2, 32-bit).
fn virtualbox() -> Story {
    Story::new("Linux version 3.2.0-4-686-pae (debian-kernel@lists.debian.org)")
        .vendor(CpuVendor::Intel)
        .flags("fpu tsc msr constant_tsc pni hypervisor")
        .cpus(8)
        .hypervisor(HypervisorKind::VirtualBox)
        .hpet(false)
        .pm_timer(true)
        .log(
            "[    0.180000] TSC synchronization [CPU#0 -> CPU#1]:\n\
             [    0.180000] Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.\n\
             [    0.180000] Marking TSC unstable due to check_tsc_sync_source failed\n\
             [    1.200000] Switching to clocksource acpi_pm\n",
        )
}

#[test]
fn v1_virtualbox_warp_leaves_acpi_pm() {
    let seen = virtualbox().diagnose();
    assert_eq!(seen.available(), strings(&["acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("acpi_pm"));
    assert_eq!(seen.expectation.vdso, Some(false));
    assert_eq!(seen.report.verdict, Verdict::Slow);
    seen.has_cause(CauseId::TscWarp);
    seen.advises("virtualbox-paravirt");
    let refused = seen.remedy("tsc-reliable");
    let because = refused.refused_because.as_deref().unwrap();
    assert!(because.contains("3.3"), "before 3.3 the parameter does not skip the test: {because}");
}

#[test]
fn v2_ich9_brings_an_hpet_and_it_is_still_slow() {
    let seen = virtualbox()
        .hpet(true)
        .log(
            "[    0.180000] Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.\n\
             [    0.180000] Marking TSC unstable due to check_tsc_sync_source failed\n\
             [    1.200000] Switching to clocksource hpet\n",
        )
        .diagnose();
    assert_eq!(seen.available(), strings(&["hpet", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("hpet"));
    assert_eq!(seen.report.verdict, Verdict::Slow);
}

#[test]
fn v3_one_cpu_has_nothing_to_compare() {
    let seen = virtualbox().cpus(1).hpet(true).log("").diagnose();
    assert_eq!(seen.available(), strings(&["tsc", "hpet", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
    for remedy in &seen.report.remedies {
        assert!(!remedy.summary.contains("one CPU"), "{}", remedy.summary);
    }
}

#[test]
fn v4_tsc_reliable_does_nothing_for_the_warp_before_3_3() {
    let seen = virtualbox().cmdline("quiet tsc=reliable").diagnose();
    assert_eq!(seen.available(), strings(&["acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("acpi_pm"));
    let because = seen.remedy("tsc-reliable").refused_because.clone().unwrap();
    assert!(because.contains("3.3"));
    // A kernel that honours the parameter would change the result.
    let mut machine = seen.machine.clone();
    machine.set_kernel("3.8").unwrap();
    let later = clocksmith_kernel::predict(&machine);
    assert_eq!(later.current.as_deref(), Some("tsc"));
}

#[test]
fn v5_ubuntu_3_8_honours_tsc_reliable() {
    let seen = virtualbox()
        .kernel("3.8.0-19-generic")
        .cmdline("ro tsc=reliable")
        .log(
            "[    0.200000] Skipped synchronization checks as TSC is reliable.\n\
             [    2.300000] Switching to clocksource tsc\n",
        )
        .diagnose();
    assert!(seen.available().contains(&"tsc".to_owned()));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
}

#[test]
fn v6_backported_3_11_honours_it_too() {
    let seen = virtualbox()
        .kernel("3.11-0.bpo.2-686-pae")
        .cmdline("ro tsc=reliable")
        .log("[    0.200000] Skipped synchronization checks as TSC is reliable.\n")
        .diagnose();
    assert_eq!(seen.available(), strings(&["tsc", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
}

#[test]
fn the_risk_of_tsc_reliable_is_named_wherever_it_comes_up() {
    let seen = virtualbox().diagnose();
    let risk = &seen.remedy("tsc-reliable").risk;
    assert!(risk.contains("backwards"), "{risk}");
}

#[test]
fn w1_vmware_gives_the_frequency_and_vouches_for_the_tsc() {
    let seen = Story::new("Linux version 3.2.0-4-686-pae (debian-kernel@lists.debian.org)")
        .vendor(CpuVendor::Intel)
        .flags("fpu tsc msr constant_tsc tsc_reliable hypervisor")
        .cpus(4)
        .hypervisor(HypervisorKind::Vmware)
        .hpet(true)
        .pm_timer(true)
        .log(
            "[    0.000000] TSC freq read from hypervisor : 2394.000 MHz\n\
             [    0.200000] Skipped synchronization checks as TSC is reliable.\n\
             [    2.000000] Switching to clocksource tsc\n",
        )
        .diagnose();
    assert_eq!(seen.available(), strings(&["tsc", "hpet", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
    // The TSC is a good choice; the 32-bit kernel serves its reads by system calls.
    let advised: Vec<&str> = seen.report.remedies.iter().map(|remedy| remedy.id.as_str()).collect();
    assert_eq!(advised, ["newer-kernel", "cheaper-reads"]);
    assert_eq!(seen.report.verdict, Verdict::Slow);
}

#[test]
fn x1_ec2_on_xen_prefers_xen_and_tsc_can_be_chosen_now() {
    let seen = Story::new(
        "Linux version 4.4.0-1022-aws (buildd@lgw01-amd64) (Ubuntu 4.4.0-1022.31-aws 4.4.70)",
    )
    .vendor(CpuVendor::Intel)
    .flags("fpu tsc msr constant_tsc nonstop_tsc hypervisor")
    .cpus(8)
    .hypervisor(HypervisorKind::XenHvm)
    .hpet(true)
    .pm_timer(true)
    .sysfs("xen", &["xen", "tsc", "hpet", "acpi_pm"])
    .diagnose();
    assert_eq!(seen.available(), strings(&["xen", "tsc", "hpet", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("xen"));
    assert_eq!(seen.report.verdict, Verdict::Slow);
    seen.has_cause(CauseId::ParavirtClockPreferred);
    let now = seen.advises("switch-to-tsc-now");
    assert!(now.commands.iter().any(|c| c.contains("echo tsc")));
    assert!(now.commands.iter().any(|c| c.contains("read it back")));
    let boot = seen.advises("keep-tsc-at-boot");
    assert!(boot.settings.iter().any(|s| s.text == "clocksource=tsc"));
}

#[test]
fn x1_from_a_log_alone_chooses_tsc_and_asks_no_tenant_to_configure_the_host() {
    let seen = Story::new(
        "Linux version 4.4.0-1022-aws (buildd@lgw01-amd64) (Ubuntu 4.4.0-1022.31-aws 4.4.70)",
    )
    .hypervisor(HypervisorKind::XenHvm)
    .log("[    1.000000] clocksource: Switched to clocksource xen\n")
    .diagnose();
    let first = &seen.report.remedies[0];
    assert_eq!(first.id, "switch-to-tsc-now");
    assert!(first.commands[0].starts_with("grep -qw tsc "), "{:?}", first.commands);
    assert!(first.risk.contains("TSC mode"), "{}", first.risk);
    assert!(seen.report.remedies.iter().all(|r| r.id != "xen-native-tsc"));
}

#[test]
fn u_a_pvclock_that_is_read_by_system_call_is_cured_at_the_host_first() {
    let read = clocksmith_diagnose::Read {
        clock: "CLOCK_MONOTONIC".into(),
        path: clocksmith_diagnose::Path::Syscall,
        ns: Some(640.0),
        syscall_ns: Some(650.0),
    };
    let guest = |banner: &str| {
        Story::new(banner)
            .vendor(CpuVendor::Intel)
            .flags("fpu tsc msr constant_tsc hypervisor")
            .cpus(2)
            .hypervisor(HypervisorKind::Kvm)
            .hpet(false)
            .pm_timer(true)
            .sysfs("kvm-clock", &["kvm-clock", "acpi_pm"])
            .diagnose_with(vec![read.clone()])
    };
    let own = guest("Linux version 6.1.0-13-amd64 (Debian 6.1.55-1)");
    assert_eq!(own.report.causes[0].id, CauseId::VdsoBypassed);
    let ids: Vec<&str> = own.report.remedies.iter().map(|r| r.id.as_str()).collect();
    assert_eq!(&ids[..2], ["host-on-tsc", "expose-invariant-tsc"], "{ids:?}");
    assert!(!ids.contains(&"newer-kernel"));
    // Linux 6.12 treats the CPUs of this guest as synchronised, and kvm-clock still outranks the TSC.
    let amd = |current: &str, available: &[&str]| {
        let log = "[    0.270000] tsc: Marking TSC unstable due to TSCs unsynchronized\n";
        let story = Story::new("Linux version 6.1.0-13-amd64 (Debian 6.1.55-1)")
            .vendor(CpuVendor::Amd)
            .flags("fpu tsc msr hypervisor")
            .cpus(2)
            .packages(1)
            .hypervisor(HypervisorKind::Kvm)
            .hpet(true)
            .pm_timer(true)
            .log(log)
            .sysfs(current, available);
        let seen = story.diagnose_with(vec![read.clone()]);
        seen.has_cause(CauseId::TscUnsynchronized);
        seen.report.remedies.iter().any(|r| r.id == "newer-kernel" && r.refused_because.is_none())
    };
    assert!(amd("hpet", &["hpet", "acpi_pm"]));
    assert!(!amd("kvm-clock", &["kvm-clock", "hpet", "acpi_pm"]));
    let rented = guest("Linux version 6.1.0-13-cloud-amd64-aws (x@y)");
    let ids: Vec<&str> = rented.report.remedies.iter().map(|r| r.id.as_str()).collect();
    assert!(ids.contains(&"ask-the-operator") && !ids.contains(&"expose-invariant-tsc"), "{ids:?}");
}

#[test]
fn p6_after_the_fix_the_choice_is_a_runtime_override() {
    let seen = Story::new("Linux version 6.1.0-13-amd64 (Debian 6.1.55-1)")
        .vendor(CpuVendor::Intel)
        .flags("fpu tsc msr constant_tsc nonstop_tsc")
        .bare_metal()
        .cmdline("ro clocksource=hpet")
        .sysfs("tsc", &["tsc", "hpet", "acpi_pm"])
        .diagnose();
    seen.has_cause(CauseId::RuntimeOverride);
    let unknown = CauseId::CmdlineClocksourceUnknown;
    assert!(seen.report.causes.iter().all(|cause| cause.id != unknown));
}

#[test]
fn v5_tsc_reliable_in_use_names_its_risk() {
    let seen = virtualbox()
        .kernel("3.8.0-19-generic")
        .cmdline("ro tsc=reliable")
        .sysfs("tsc", &["tsc", "acpi_pm"])
        .diagnose();
    let cause = seen.report.causes.iter().find(|c| c.id == CauseId::CmdlineTscReliable).unwrap();
    assert!(
        cause.summary.contains("backwards") && cause.summary.contains("VirtualBox"),
        "{}",
        cause.summary
    );
}

#[test]
fn n1_nitro_on_kvm_clock_is_not_urgent() {
    let seen = Story::new("Linux version 5.10.109-104.500.amzn2.x86_64")
        .vendor(CpuVendor::Intel)
        .flags("fpu tsc msr constant_tsc hypervisor")
        .cpus(8)
        .hypervisor(HypervisorKind::Kvm)
        .hpet(false)
        .pm_timer(true)
        .sysfs("kvm-clock", &["kvm-clock", "tsc", "acpi_pm"])
        .diagnose();
    assert_eq!(seen.available(), strings(&["kvm-clock", "tsc", "acpi_pm"]));
    // Only the host, or a measurement, shows whether the vDSO reads it.
    assert_eq!(seen.report.verdict, Verdict::Unknown);
    assert_eq!(seen.report.settles.len(), 1, "{:?}", seen.report.settles);
    seen.is_calm();
}

/// K1 to K3: a KVM guest with host-passthrough.
fn kvm(flags: &str) -> Story {
    Story::new(
        "Linux version 5.15.0-52-generic (buildd@lcy02) (Ubuntu 5.15.0-52.58-generic 5.15.60)",
    )
    .vendor(CpuVendor::Intel)
    .flags(flags)
    .cpus(4)
    .hypervisor(HypervisorKind::Kvm)
    .hpet(false)
    .pm_timer(true)
}

#[test]
fn k1_intel_idle_stops_the_tsc_without_invtsc() {
    let seen = kvm("fpu tsc msr constant_tsc hypervisor")
        .log(
            "[    0.900000] tsc: Marking TSC unstable due to TSC halts in idle states deeper than C2\n\
             [    1.000000] clocksource: Switched to clocksource kvm-clock\n",
        )
        .diagnose();
    assert_eq!(seen.available(), strings(&["kvm-clock", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("kvm-clock"));
    seen.has_cause(CauseId::TscHaltsInIdle);
    // The host can offer an invariant TSC.
    let mut machine = seen.machine.clone();
    machine.set("invtsc", "yes").unwrap();
    let better = clocksmith_kernel::predict(&machine);
    assert_eq!(better.current.as_deref(), Some("tsc"));
    assert_eq!(better.available, Some(strings(&["tsc", "kvm-clock", "acpi_pm"])));
}

#[test]
fn k2_without_invtsc_kvm_clock_keeps_its_rating() {
    let seen = kvm("fpu tsc msr constant_tsc hypervisor").diagnose();
    assert_eq!(seen.available(), strings(&["kvm-clock", "tsc", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("kvm-clock"));
}

#[test]
fn k3_invtsc_lets_tsc_win() {
    let seen = kvm("fpu tsc msr constant_tsc nonstop_tsc hypervisor")
        .sysfs("tsc", &["tsc", "kvm-clock", "acpi_pm"])
        .diagnose();
    assert_eq!(seen.available(), strings(&["tsc", "kvm-clock", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
    assert!(seen.report.remedies.is_empty());
    seen.is_calm();
}

#[test]
fn m1_the_advice_of_an_invariant_tsc_names_the_migration_blocker() {
    let advice = clocksmith_diagnose::remedies::table::find("expose-invariant-tsc").unwrap();
    assert!(advice.risk.contains("non-migratable CPU device (invtsc flag)"));
    // For a KVM guest without any fast clocksource, the advice explains how to keep migration possible.
    let seen = Story::new("Linux version 6.1.0-13-amd64 (Debian 6.1.55-1)")
        .vendor(CpuVendor::Amd)
        .flags("fpu tsc msr hypervisor")
        .cpus(4)
        .hypervisor(HypervisorKind::Kvm)
        .cmdline("no-kvmclock")
        .hpet(false)
        .pm_timer(true)
        .sysfs("acpi_pm", &["acpi_pm"])
        .diagnose();
    seen.has_cause(CauseId::TscUnsynchronized);
    let advice = seen.advises("expose-invariant-tsc");
    assert!(advice.settings.iter().any(|s| s.text.contains("frequency=")), "{:?}", advice.settings);
}

/// H1, H2: a bare-metal server of 2011 on RHEL 6.
fn bare_metal_2011() -> Story {
    Story::new("Linux version 2.6.32-220.el6.x86_64 (mockbuild@x86-004.build.bos.redhat.com)")
        .vendor(CpuVendor::Intel)
        .flags("fpu tsc msr constant_tsc nonstop_tsc")
        .cpus(12)
        .bare_metal()
        .hpet(true)
        .pm_timer(true)
}

#[test]
fn h1_bare_metal_2_6_32_reads_tsc_in_user_space() {
    let seen = bare_metal_2011().sysfs("tsc", &["tsc", "hpet", "acpi_pm"]).diagnose();
    assert_eq!(seen.available(), strings(&["tsc", "hpet", "acpi_pm"]));
    assert_eq!(seen.expectation.current.as_deref(), Some("tsc"));
    assert_eq!(seen.expectation.vdso, Some(true));
    let raw = seen.expectation.clocks.iter().find(|c| c.clock == "CLOCK_MONOTONIC_RAW").unwrap();
    assert_eq!(raw.vdso, Some(false), "a system call before 5.3");
    seen.is_calm();
}

#[test]
fn h2_switched_to_hpet_the_hardware_read_dominates() {
    let seen = bare_metal_2011().sysfs("hpet", &["tsc", "hpet", "acpi_pm"]).diagnose();
    assert_eq!(seen.report.verdict, Verdict::Slow);
    seen.has_cause(CauseId::RuntimeOverride);
    seen.advises("switch-to-tsc-now");
}

#[test]
fn one_shot_and_periodic_ticks_change_the_choice() {
    // A clocksource that cannot do high resolution is current only in periodic mode.
    let line = CommandLine::parse("hpet=disable pmtmr=0 clocksource=jiffies");
    assert_eq!(line.clocksource_override().as_deref(), Some("jiffies"));
    let seen = bare_metal_2011().kernel("6.1.0").cmdline("clocksource=jiffies").diagnose();
    assert_eq!(seen.expectation.current.as_deref(), Some("jiffies"));
    assert!(!seen.expectation.tick_oneshot);
    assert_eq!(
        seen.available(),
        strings(&["tsc", "hpet", "acpi_pm", "refined-jiffies", "jiffies"])
    );
}

//! Boots with rare parameters and processors. The kernel's choices were determined in emulated
//! machines (`testbed/cases/x86-unusual.toml`, `i386.toml`); the facts are written out here.

use crate::common::{Seen, Story, strings, why};
use clocksmith_diagnose::{CauseId, Verdict};
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind, Signature};

/// A PC without an HPET whose PM timer the command line disables, on a 32-bit kernel.
fn small(cmdline: &str) -> Vec<String> {
    Story::new("Linux version 6.1.0-56-686-pae (builder@example)")
        .vendor(CpuVendor::Amd)
        .flags("fpu tsc msr apic")
        .cpus(1)
        .bare_metal()
        .hpet(false)
        .pm_timer(true)
        .cmdline(cmdline)
        .diagnose()
        .available()
}

#[test]
fn pit_without_local_apic_timer_registers() {
    let pit = strings(&["pit", "refined-jiffies", "jiffies"]);
    for word in ["nolapic", "disableapic", "noapictimer", "nolapic_timer"] {
        assert_eq!(small(&format!("notsc pmtmr=0 {word}")), pit, "{word}");
    }
    assert_eq!(small("notsc pmtmr=0"), strings(&["refined-jiffies", "jiffies"]));
}

#[test]
fn pit_on_a_processor_without_local_apic_registers_with_empty_slots_too() {
    let boot = |flags: &str, cpus: u32| {
        Story::new("Linux version 6.1.0-56-686-pae (builder@example)")
            .vendor(CpuVendor::Amd)
            .flags(flags)
            .cpus(cpus)
            .bare_metal()
            .hpet(false)
            .pm_timer(true)
            .cmdline("notsc pmtmr=0")
            .diagnose()
            .available()
    };
    assert_eq!(boot("fpu tsc msr", 2), strings(&["pit", "refined-jiffies", "jiffies"]));
    assert_eq!(boot("fpu tsc msr apic", 1), strings(&["refined-jiffies", "jiffies"]));
}

#[test]
fn disableapic_leaves_one_processor_like_nolapic() {
    let boot = |cmdline: &str| {
        let story = Story::new("Linux version 6.1.0-56-cloud-amd64 (builder@example)");
        story
            .vendor(CpuVendor::Amd)
            .flags("fpu tsc msr apic hypervisor")
            .cpus(2)
            .hpet(true)
            .pm_timer(true)
            .cmdline(cmdline)
            .diagnose()
            .available()
    };
    assert_eq!(boot("quiet"), strings(&["hpet", "acpi_pm"]));
    for word in ["nolapic", "disableapic"] {
        assert_eq!(boot(word), strings(&["tsc", "hpet", "acpi_pm"]), "{word}");
    }
}

#[test]
fn transmeta_constant_tsc_comes_too_late_for_the_test() {
    let boot = |vendor| {
        let story = Story::new("Linux version 6.1.0-56-686-pae (builder@example)");
        story
            .vendor(vendor)
            .flags("fpu tsc msr apic constant_tsc")
            .cpus(2)
            .bare_metal()
            .hpet(true)
            .pm_timer(true)
            .diagnose()
            .available()
    };
    // GenuineTMx86.
    assert_eq!(boot(CpuVendor::OtherX86), strings(&["hpet", "acpi_pm"]));
    assert_eq!(boot(CpuVendor::Centaur), strings(&["tsc", "hpet", "acpi_pm"]));
}

/// A guest with two processors on kvm-clock, without an invariant TSC, by its log.
fn kvm_guest(release: &str, kind: Hypervisor, log: &str) -> Seen {
    Story::new(&format!("Linux version {release} (builder@example)"))
        .vendor(CpuVendor::Amd)
        .flags("fpu tsc msr apic hypervisor")
        .cpus(2)
        .presents(kind)
        .hpet(false)
        .pm_timer(true)
        .sysfs("kvm-clock", &["kvm-clock", "acpi_pm"])
        .log(log)
        .diagnose()
}

const OFFSET: &str = "[    0.000000] kvm-clock: using sched offset of 476583903 cycles\n";

#[test]
fn sched_offset_since_4_19_says_nothing_of_the_stable_bit() {
    let kvm = || {
        let mut kvm = Hypervisor::named(HypervisorKind::Kvm);
        kvm.kvm_features = Some(1 << 24 | 0b1001);
        kvm
    };
    let global =
        "[    2.0] Unstable clock detected, switching default tracing clock to \"global\"\n";
    let stable = "[    2.0] sched_clock: Marking stable (4552076526, 159530792)->(5987207395, -1275600077)\n";
    for (release, more, verdict) in [
        ("6.1.0-56-cloud-amd64", "", Verdict::Unknown),
        ("6.1.0-56-cloud-amd64", global, Verdict::Slow),
        ("6.1.0-56-cloud-amd64", stable, Verdict::Ok),
        ("4.15.0-213-generic", "", Verdict::Ok),
        ("3.10.0-862.11.6.el7.x86_64", "", Verdict::Ok),
    ] {
        let seen = kvm_guest(release, kvm(), &format!("{OFFSET}{more}"));
        assert_eq!(seen.report.verdict, verdict, "{release}: {more}");
    }
}

#[test]
fn stable_bit_is_read_where_kvm_stands_behind_hyper_v() {
    // As KVM presents itself with hv-* enlightenments.
    let mut both = Hypervisor::named(HypervisorKind::Hyperv);
    both.kvm_features = Some(1 << 24 | 0b1001);
    both.hyperv_privileges = Some(0x0a62);
    let signature =
        |base, kind| Signature { base, max_leaf: base + 1, text: String::new(), kind: Some(kind) };
    both.signatures = vec![
        signature(0x4000_0000, HypervisorKind::Hyperv),
        signature(0x4000_0100, HypervisorKind::Kvm),
    ];
    let stable = "[    2.0] sched_clock: Marking stable (4552076526, 159530792)->(5987207395, -1275600077)\n";
    let seen = kvm_guest("6.1.0-56-cloud-amd64", both.clone(), stable);
    assert_eq!(seen.report.verdict, Verdict::Ok);
    both.kvm_features = Some(0b1001);
    let seen = kvm_guest("6.1.0-56-cloud-amd64", both, "");
    assert_eq!(seen.report.verdict, Verdict::Slow);
}

/// An AMD-like processor with an invariant TSC.
const INVARIANT: &str = "CPU:
   0x00000000 0x00: eax=0x0000000d ebx=0x68747541 ecx=0x444d4163 edx=0x69746e65
   0x00000001 0x00: eax=0x00060fb1 ebx=0x00020800 ecx=0xfed8320b edx=0x1fcbfbfd
   0x80000000 0x00: eax=0x80000008 ebx=0x00000000 ecx=0x00000000 edx=0x00000000
   0x80000007 0x00: eax=0x00000000 ebx=0x00000000 ecx=0x00000000 edx=0x00000100
";

#[test]
fn clearcpuid_takes_the_invariant_tsc_out_of_what_is_shown_alone() {
    // The flags are what /proc/cpuinfo shows after the option.
    let boot = |cmdline: &str, flags: &str| {
        let mut kvm = Hypervisor::named(HypervisorKind::Kvm);
        kvm.kvm_features = Some(1 << 24 | 0b1001);
        Story::new("Linux version 6.1.0-56-cloud-amd64 (builder@example)")
            .vendor(CpuVendor::Amd)
            .flags(&format!("fpu tsc msr apic hypervisor {flags}"))
            .cpuid(INVARIANT)
            .cpus(2)
            .presents(kvm)
            .hpet(false)
            .pm_timer(true)
            .cmdline(cmdline)
            .diagnose()
            .available()
    };
    let tsc_first = strings(&["tsc", "kvm-clock", "acpi_pm"]);
    assert_eq!(boot("quiet", "constant_tsc nonstop_tsc"), tsc_first);
    assert_eq!(boot("clearcpuid=nonstop_tsc", "constant_tsc"), tsc_first);
    assert_eq!(boot("clearcpuid=120", "constant_tsc"), tsc_first);
    assert_eq!(boot("clearcpuid=104", "nonstop_tsc"), tsc_first);
    // Without the option, a flag that is not shown is absent.
    assert_eq!(boot("quiet", "constant_tsc"), strings(&["kvm-clock", "tsc", "acpi_pm"]));
}

#[test]
fn clearcpuid_of_the_hypervisor_bit_hides_kvm() {
    let boot = |cmdline: &str| {
        let kvm = Hypervisor::named(HypervisorKind::Kvm);
        Story::new("Linux version 6.1.0-56-cloud-amd64 (builder@example)")
            .vendor(CpuVendor::Amd)
            .flags("fpu tsc msr apic")
            .cpus(2)
            .presents(kvm)
            .hpet(false)
            .pm_timer(true)
            .cmdline(cmdline)
            .diagnose()
            .available()
    };
    assert_eq!(boot("quiet"), strings(&["kvm-clock", "acpi_pm"]));
    for word in ["clearcpuid=hypervisor", "clearcpuid=159"] {
        assert_eq!(boot(word), strings(&["acpi_pm"]), "{word}");
    }
}

#[test]
fn hpet_word_is_compared_as_far_as_the_kernels_goes() {
    let boot = |cmdline: &str| {
        Story::new("Linux version 6.1.0-56-cloud-amd64 (builder@example)")
            .vendor(CpuVendor::Amd)
            .flags("fpu tsc msr apic")
            .cpus(1)
            .bare_metal()
            .hpet(true)
            .pm_timer(true)
            .cmdline(cmdline)
            .diagnose()
            .available()
    };
    for word in ["hpet=disable", "hpet=disabled", "hpet=verbose,disable"] {
        assert_eq!(boot(word), strings(&["tsc", "acpi_pm"]), "{word}");
    }
    assert_eq!(boot("hpet=dis"), strings(&["tsc", "hpet", "acpi_pm"]));
}

/// One processor without an invariant TSC, HPET and PM timer there.
fn one_cpu(release: &str, cmdline: &str, khz: Option<u64>) -> Story {
    let story = Story::new(&format!("Linux version {release} (builder@example)"))
        .vendor(CpuVendor::Amd)
        .flags("fpu tsc msr apic")
        .cpus(1)
        .bare_metal()
        .hpet(true)
        .pm_timer(true)
        .cmdline(cmdline);
    match khz {
        Some(khz) => story.measured_khz(khz),
        None => story,
    }
}

#[test]
fn initcall_that_is_skipped_registers_nothing() {
    let boot = |cmdline: &str| {
        let seen = one_cpu("6.1.0-56-cloud-amd64", cmdline, None).diagnose();
        assert_eq!(seen.expectation.vdso, Some(true), "{cmdline}");
        seen.available()
    };
    let skip = |name: &str| format!("initcall_blacklist=acpi_cpufreq_init,{name}");
    assert_eq!(boot(&skip("init_acpi_pm_clocksource")), strings(&["tsc", "hpet"]));
    assert_eq!(boot(&skip("init_tsc_clocksource")), strings(&["tsc-early", "hpet", "acpi_pm"]));
}

#[test]
fn wrong_early_frequency_is_found_by_ticks_until_7_0() {
    let boot = |release: &str, reference: &str| {
        let line = format!("tsc_early_khz=1500000 {reference}");
        one_cpu(release, &line, Some(1_000_000)).diagnose().available()
    };
    let jiffies = strings(&["refined-jiffies", "jiffies"]);
    assert_eq!(boot("6.1.0-56-cloud-amd64", "hpet=disable pmtmr=0"), jiffies);
    assert_eq!(boot("6.1.0-56-cloud-amd64", ""), strings(&["hpet", "acpi_pm"]));
    let later = boot("7.2.0", "hpet=disable pmtmr=0");
    assert_eq!(later.first().map(String::as_str), Some("tsc"));
}

#[test]
fn time_stamps_that_step_back_where_other_cpus_come_up_begin_no_boot() {
    let boot = |last: &str| {
        why(&format!(
            "[    0.000000] Linux version 4.18.20 (a@b) (gcc version 9.1.0) #4 SMP\n\
             [    0.000000] Command line: root=/dev/sda1\n\
             [    0.000000] tsc: Detected 2600.000 MHz processor\n\
             [    0.097808] smp: Bringing up secondary CPUs ...\n\
             [   14.264095] Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.\n\
             [   14.264150] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n\
             [    {last}] smp: Brought up 1 node, 2 CPUs\n\
             [    {last}] clocksource: jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604462750000 ns\n\
             [    2.065551] clocksource: Switched to clocksource hpet\n"
        ))
    };
    let report = boot("0.234195");
    assert_eq!(report.machine.boots_in_log, Some(1));
    assert!(report.causes.iter().any(|cause| cause.id == CauseId::TscWarp), "{}", report.headline);
    // A time that begins again is another boot's.
    assert_eq!(boot("0.000000").machine.boots_in_log, Some(2));
}

#[test]
fn clocksources_of_one_architecture_name_it() {
    for name in ["timer_cs", "HEART", "jcore_pit_cs"] {
        let report = why(&format!(
            "[    0.000000] Linux version 5.7.0 (a@b) (gcc version 6.5.0) #1\n\
             [    2.065551] clocksource: Switched to clocksource {name}\n"
        ));
        assert_eq!(report.verdict, Verdict::Slow, "{name}: {}", report.headline);
        assert_eq!(report.expected.current, None, "{name}");
    }
}

#[test]
fn expectation_for_an_assumed_architecture_is_not_stated() {
    let report = why("[    0.000000] Linux version 5.7.0 (a@b) (gcc version 6.5.0) #1\n\
         [    2.065551] clocksource: Switched to clocksource ambarella-cs-timer\n");
    assert_eq!((report.expected.current, report.expected.vdso), (None, None));
}

//! Boots with parameters and processors that are seldom seen. What the kernel chose was found out in emulated
//! machines (`testbed/cases/*-unusual.toml`); the facts are written out here.

mod common;

use clocksmith_diagnose::Verdict;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind, Signature};
use common::{Seen, Story, strings};

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
    ] {
        let seen = kvm_guest(release, kvm(), &format!("{OFFSET}{more}"));
        assert_eq!(seen.diagnosis.verdict, verdict, "{release}: {more}");
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
    assert_eq!(seen.diagnosis.verdict, Verdict::Ok);
    both.kvm_features = Some(0b1001);
    let seen = kvm_guest("6.1.0-56-cloud-amd64", both, "");
    assert_eq!(seen.diagnosis.verdict, Verdict::Slow);
}

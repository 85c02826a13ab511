//! Boots with parameters and processors that are seldom seen. What the kernel chose was found out in emulated
//! machines (`testbed/cases/*-unusual.toml`); the facts are written out here.

mod common;

use clocksmith_facts::cpu::CpuVendor;
use common::{Story, strings};

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

//! Questions about a machine that does not exist: observations stay, unless the question removes their basis.
#![allow(clippy::unwrap_used)]

use clocksmith_facts::log::KernelLog;
use clocksmith_facts::{Facts, Origin};
use clocksmith_kernel::{Machine, predict};

#[test]
fn set_cmdline_of_unsynchronized_machine_keeps_the_reason() {
    let log = "[    0.000000] Linux version 5.10.0-28-amd64 (build@example.org) (gcc-10 10.2.1) #1 SMP Debian 5.10.209-2\n\
               [    0.000000] Command line: quiet no-kvmclock\n\
               [    0.000000] Hypervisor detected: KVM\n\
               [    0.012000] smpboot: Allowing 4 CPUs, 0 hotplug CPUs\n\
               [    0.210000] smpboot: CPU0: AMD EPYC-Rome Processor (family: 0x17, model: 0x31, stepping: 0x0)\n\
               [    0.230000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns\n\
               [    0.270000] tsc: Marking TSC unstable due to TSCs unsynchronized\n\
               [    0.980000] clocksource: Switched to clocksource hpet\n";
    let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "dmesg").unwrap());
    let mut machine = Machine::of(&facts);
    machine.set_cmdline("quiet no-kvmclock panic=5");
    assert_eq!(predict(&machine).current.as_deref(), Some("hpet"));
    machine.set("constant_tsc", "yes").unwrap();
    assert_eq!(predict(&machine).current.as_deref(), Some("tsc"));
}

/// A guest of a hypervisor without a paravirtual clock, whose TSC is watched: it has no TSC_ADJUST.
fn watched_guest(changes: &[(&str, &str)]) -> Machine {
    let mut machine = Machine::of(&Facts::empty(Origin::Stated));
    let facts = [
        ("arch", "x86_64"),
        ("vendor", "Intel"),
        ("hypervisor", "virtualbox"),
        ("invtsc", "yes"),
        ("tsc_adjust", "no"),
        ("hpet", "no"),
        ("pm_timer", "yes"),
    ];
    for (fact, value) in facts.iter().chain(changes) {
        machine.set(fact, value).unwrap();
    }
    machine.set_kernel("6.1").unwrap();
    machine
}

#[test]
fn predict_of_tsc_watched_by_a_poor_reference_is_at_risk() {
    for (changes, reference) in [
        (&[][..], "acpi_pm"),
        (&[("hpet", "yes")], "hpet"),
        (&[("pm_timer", "no")], "refined-jiffies"),
        (&[("pm_timer", "no"), ("hypervisor", "none")], "refined-jiffies"),
    ] {
        let seen = predict(&watched_guest(changes));
        assert_eq!(seen.current.as_deref(), Some("tsc"), "{changes:?}");
        assert_eq!(seen.at_risk.len(), 1, "{changes:?}");
        let because = &seen.at_risk[0].because;
        assert!(because.contains(&format!("its reference is {reference}")), "{because}");
    }
}

#[test]
fn predict_of_unwatched_tsc_or_of_real_reference_is_not_at_risk() {
    let mut unwatched = watched_guest(&[]);
    unwatched.set_cmdline("+tsc=nowatchdog");
    assert!(predict(&unwatched).at_risk.is_empty());
    for changes in [
        // The same reference on bare metal is a device, not an emulation.
        &[("hypervisor", "none")][..],
        &[("tsc_adjust", "yes")],
        &[("hypervisor", "vmware")],
    ] {
        assert!(predict(&watched_guest(changes)).at_risk.is_empty(), "{changes:?}");
    }
}

/// The host may invalidate Hyper-V's page at any time, and no file shows whether it has.
#[test]
fn predict_on_hyperv_page_leaves_its_sequence_open() {
    let sequence = |changes: &[(&str, &str)]| {
        let seen = predict(&watched_guest(changes));
        (seen.current.unwrap(), seen.undecided.iter().any(|item| item.contains("sequence number")))
    };
    let page = "hyperv_clocksource_tsc_page".to_owned();
    assert_eq!(sequence(&[("hypervisor", "hyperv"), ("invtsc", "no")]), (page, true));
    assert_eq!(
        sequence(&[("hypervisor", "kvm"), ("invtsc", "no")]),
        ("kvm-clock".to_owned(), false)
    );
    assert_eq!(sequence(&[]), ("tsc".to_owned(), false));
}

#[test]
fn hypervisor_is_not_called_absent_where_the_firmware_names_a_guest() {
    let why = |dmi: &str| {
        let log = format!(
            "[    0.000000] Linux version 5.15.0-91-generic (build@example.org)\n\
             [    0.000000] DMI: {dmi}\n\
             [    1.000000] clocksource: Switched to clocksource tsc\n"
        );
        let facts = Facts::from_log(KernelLog::scan(log.as_bytes(), "dmesg").unwrap());
        let assumed = predict(&Machine::of(&facts)).assumed;
        let found = assumed.into_iter().find(|one| one.fact == "hypervisor");
        found.map(|one| one.why).unwrap_or_default()
    };
    let named = why("QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.14.0-2 04/01/2014");
    assert!(named.contains("of a virtual machine"), "{named}");
    assert_eq!(
        why("Dell Inc. PowerEdge R640/0H28RR, BIOS 2.10.2 02/24/2021"),
        "no sign of a hypervisor"
    );
}

//! HPET and ACPI PM timer.

use crate::input::Basis;
use crate::{Expectation, Machine};
use clocksmith_facts::hypervisor::HypervisorKind;

fn acpi_off(machine: &Machine) -> bool {
    machine.cmdline.value.last("acpi") == Some("off")
}

/// Whether the list of a parameter has this word. The kernel compares only as many letters as the word has:
/// `hpet_setup()` in arch/x86/kernel/hpet.c, all versions.
fn list_has(machine: &Machine, name: &str, word: &str) -> bool {
    machine.cmdline.value.values(name).any(|v| v.split(',').any(|part| part.starts_with(word)))
}

/// Whether the HPET registers.
pub(super) fn hpet(machine: &Machine, out: &mut Expectation) -> bool {
    const SOURCE: &str = "hpet_enable() in arch/x86/kernel/hpet.c, all versions";
    let line = &machine.cmdline.value;
    let pv = machine.hypervisor.value.as_ref().is_some_and(|h| h.kind == HypervisorKind::XenPv);
    let mut no = |because: String| {
        out.reason("no hpet", because, SOURCE);
        false
    };
    if line.has("nohpet") || list_has(machine, "hpet", "disable") {
        return no(format!("the command line disables the HPET{}", machine.cmdline.cite()));
    }
    if acpi_off(machine) && machine.hpet.is_assumed() {
        return no(format!("acpi=off hides the HPET table{}", machine.cmdline.cite()));
    }
    if pv {
        return no("a Xen PV kernel does not see the platform's HPET".to_owned());
    }
    if !machine.hpet.value {
        return no(match &machine.hpet.basis {
            Basis::Assumed(why) => {
                format!("whether there is an HPET is not known, and none is assumed: {why}")
            }
            _ => format!("firmware describes no HPET{}", machine.hpet.cite()),
        });
    }
    if let Some(text) = &machine.hpet_disabled
        && !list_has(machine, "hpet", "force")
    {
        return no(format!("the kernel disabled the HPET: {text}"));
    }
    out.reason(
        "hpet registers",
        format!("firmware describes an HPET, rating 250{}", machine.hpet.cite()),
        SOURCE,
    );
    true
}

/// The PM timer's rating, if it registers.
pub(super) fn acpi_pm(machine: &Machine, out: &mut Expectation) -> Option<i32> {
    const SOURCE: &str =
        "init_acpi_pm_clocksource() in drivers/clocksource/acpi_pm.c, all versions";
    let line = &machine.cmdline.value;
    // `pmtmr=HEX` is a port, read as hexadecimal with or without 0x; 0 disables the timer.
    let port =
        line.last("pmtmr").and_then(|v| u64::from_str_radix(v.trim_start_matches("0x"), 16).ok());
    let pv = machine.hypervisor.value.as_ref().is_some_and(|h| h.kind == HypervisorKind::XenPv);
    let mut no = |because: String| {
        out.reason("no acpi_pm", because, SOURCE);
        None
    };
    if machine.skips_initcall("init_acpi_pm_clocksource") {
        return no(format!("initcall_blacklist skips its registration{}", machine.cmdline.cite()));
    }
    if port == Some(0) {
        return no(format!("pmtmr=0 disables the PM timer{}", machine.cmdline.cite()));
    }
    if port.is_none() {
        if acpi_off(machine) && machine.pm_timer.is_assumed() {
            return no(format!("acpi=off hides the FADT{}", machine.cmdline.cite()));
        }
        if pv && machine.pm_timer.is_assumed() {
            return no("a Xen PV domain has no PM timer".to_owned());
        }
        if !machine.pm_timer.value {
            return no(match &machine.pm_timer.basis {
                Basis::Assumed(why) => {
                    format!("whether there is a PM timer is not known, and none is assumed: {why}")
                }
                _ => {
                    let cite = machine.pm_timer.cite();
                    format!("firmware describes no PM timer, or it failed its check{cite}")
                }
            });
        }
    }
    // A port at which no timer counts fails the check at start-up; firmware's own port is the one that works.
    if let (Some(given), Some(real)) = (port, machine.pm_timer_port)
        && given != real
    {
        return no(format!(
            "pmtmr={given:#x} is not the port that firmware states ({real:#x}), so the timer fails its \
             check{}",
            machine.cmdline.cite()
        ));
    }
    let quirk = machine.pm_timer_bug && !line.has("acpi_pm_good");
    let rating = if quirk { 120 } else { 200 };
    out.reason(
        "acpi_pm registers",
        format!("firmware describes a PM timer, rating {rating}{}", machine.pm_timer.cite()),
        SOURCE,
    );
    Some(rating)
}

//! x86: the clocksources that register, in the order of the calls at boot.
//!
//! One file for each subject: the TSC's trustworthiness ([`tsc`]), paravirtual clocks ([`paravirt`]), the
//! platform timers ([`timers`]), the risks to a TSC in use ([`risk`]).

mod paravirt;
mod risk;
mod timers;
mod tsc;

pub(crate) use paravirt::presented;

use crate::expectation::TscState;
use crate::feature::Feature;
use crate::select::{Registered, select};
use crate::{Expectation, Input, Machine};
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::HypervisorKind;

/// Places in the order of registration at boot: the calls of `setup_arch()`, `late_time_init()` and
/// the initcalls. Decides between equal ratings.
mod order {
    pub(super) const PARAVIRT: u8 = 0;
    pub(super) const REFINED_JIFFIES: u8 = 1;
    pub(super) const HPET: u8 = 2;
    pub(super) const TSC_EARLY: u8 = 3;
    pub(super) const PIT: u8 = 4;
    pub(super) const JIFFIES: u8 = 5;
    pub(super) const ACPI_PM: u8 = 6;
    pub(super) const TSC: u8 = 7;
}

pub(crate) fn predict(machine: &Machine, out: &mut Expectation) {
    let kernel = &machine.kernel.value;
    let hypervisor = paravirt::effective(machine, out);
    let mut sources = vec![Registered::new("jiffies", 1, false, false, order::JIFFIES)];
    if Feature::RefinedJiffies.of(kernel) {
        sources.push(Registered::new("refined-jiffies", 2, false, false, order::REFINED_JIFFIES));
    }
    sources.extend(paravirt::clocks(machine, hypervisor, out));
    let hpet = timers::hpet(machine, out);
    if hpet {
        let vdso = Feature::HpetVdso.of(kernel);
        sources.push(Registered::new("hpet", 250, true, vdso, order::HPET));
    }
    if let Some(rating) = timers::acpi_pm(machine, out) {
        sources.push(Registered::new("acpi_pm", rating, true, false, order::ACPI_PM));
    }
    // The PIT is still ticking only if no local APIC timer has taken over: `parse_disable_apic_timer()` and
    // `parse_nolapic_timer()` in arch/x86/kernel/apic/apic.c, all versions.
    let line = &machine.cmdline.value;
    let no_apic_timer = machine.no_local_apic
        || machine.local_apic_off()
        || line.has("noapictimer")
        || line.has("nolapic_timer");
    // Without a local APIC the kernel drops the other CPUs, after it judged the TSC: `disable_smp()` in
    // arch/x86/kernel/smpboot.c, all versions.
    let one_cpu = machine.effective_possible_cpus() == 1 || machine.no_local_apic;
    if machine.arch.value == Arch::X86 && one_cpu && !hpet && no_apic_timer {
        sources.push(Registered::new("pit", 110, false, false, order::PIT));
        out.reason(
            "pit on 32-bit",
            "a 32-bit kernel on one CPU without HPET and local APIC timer registers the PIT, which is not \
             continuous",
            "init_pit_clocksource() in arch/x86/kernel/i8253.c, all versions",
        );
    }

    let verdict = tsc::judge(machine, hypervisor, &sources, out);
    out.tsc = verdict.state.clone();
    let mut refused = None;
    match &verdict.state {
        TscState::Usable { watched } => {
            let hres = tsc::valid_for_hres(machine, *watched, &sources);
            if !hres {
                let open = |timer: &Input<bool>| timer.is_assumed() && !timer.value;
                let none = match open(&machine.hpet) || open(&machine.pm_timer) {
                    true => "none is known here (HPET, PM timer, paravirtual clock)",
                    false => "there is none (no HPET, no PM timer, no paravirtual clock)",
                };
                out.reason(
                    "tsc never verified",
                    format!("the watchdog verifies the TSC only against a continuous reference, and {none}"),
                    "clocksource_watchdog() in kernel/time/clocksource.c; the flag is preset from \
                     4.16 until 7.0",
                );
            }
            // 4.8 and older forget a choice that is not yet verified when it registers.
            let wants_tsc = machine.cmdline.value.clocksource_override().as_deref() == Some("tsc");
            let fast_rival = sources.iter().any(|s| s.rating > 300);
            if wants_tsc && fast_rival && *watched && !Feature::OverrideDeferred.of(kernel) {
                refused = Some(
                    "tsc is not yet verified by the watchdog when it registers, and kernels up to \
                     4.8 then forget the choice (\"Override clocksource tsc is not HRT compatible\")"
                        .to_owned(),
                );
            }
            if machine.skips_initcall("init_tsc_clocksource") {
                out.reason(
                    "tsc not registered",
                    format!(
                        "initcall_blacklist skips the registration of tsc, so tsc-early stays{}",
                        machine.cmdline.cite()
                    ),
                    "init_tsc_clocksource() in arch/x86/kernel/tsc.c; tsc-early since 4.16",
                );
                if Feature::TscEarly.of(kernel) {
                    sources.push(Registered::new("tsc-early", 299, hres, true, order::TSC_EARLY));
                }
            } else {
                sources.push(Registered::new("tsc", 300, hres, true, order::TSC));
            }
        }
        TscState::Unstable { reason, .. }
            if !Feature::TscEarly.of(kernel) && reason != "could not calculate TSC khz" =>
        {
            sources.push(Registered::new("tsc", 0, false, false, order::TSC));
        }
        _ => {}
    }
    select(machine, sources, refused, out);
    risk::of_watchdog(machine, out);
}

/// Whether the kernel runs under a hypervisor that it has code for, of this kind.
pub(crate) fn is(hypervisor: Option<HypervisorKind>, kind: HypervisorKind) -> bool {
    hypervisor == Some(kind)
}

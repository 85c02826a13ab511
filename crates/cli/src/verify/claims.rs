//! The facts' claims about the counter's frequency, each with its possible error.

use clocksmith_facts::log::{Event, rates};
use clocksmith_facts::{Facts, log::KernelLog};
use clocksmith_measure::verify::Frequency;

/// The accuracy of a calibration against another timer, in millionths: refined over a second, and
/// the quick one at boot (`quick_pit_calibrate()` aims at 500, and misses on emulated hardware).
const REFINED_PPM: f64 = 500.0;
const QUICK_PPM: f64 = 2_000.0;
/// A hypervisor names its host's own calibration.
const HYPERVISOR_PPM: f64 = 600.0;
/// CPUID 0x15 names the nominal crystal, 0x16 a rounded frequency of the processor.
const CRYSTAL_PPM: f64 = 1_000.0;
const BASE_PPM: f64 = 10_000.0;
/// A delay loop of a processor that may have been busy.
const LOOP_PPM: f64 = 20_000.0;

/// Every claim.
pub(crate) fn of(facts: &Facts) -> Vec<Frequency> {
    let mut claims = Vec::new();
    let mut claim = |source: String, hz: f64, doubt_ppm: f64, decisive: bool, independent: bool| {
        claims.push(Frequency {
            source,
            hz,
            doubt_ppm,
            decisive,
            steered: false,
            independent,
            measured_ppm: None,
        });
    };
    if let Some(log) = facts.kernel_log() {
        if let Some((entry, hz)) = rates::tsc_hz(log) {
            let refined = matches!(entry.event, Event::Refined { .. });
            let doubt = if refined { REFINED_PPM } else { QUICK_PPM };
            let said = log.source(entry);
            // A refined figure was measured against the HPET or the PM timer. An unrefined figure is the kernel's
            // assumption itself, unless the hypervisor stated it.
            if stated_by_pvclock(facts) && !refined {
                let source = format!("the hypervisor in the page of kvm-clock, {said}");
                claim(source, hz, HYPERVISOR_PPM, true, true);
            } else {
                claim(format!("the kernel, {said}"), hz, doubt, true, refined);
            }
        }
        if let Some((source, hz)) = arm(log) {
            claim(source, hz, QUICK_PPM, true, false);
        }
    }
    let hypervisor = facts.hypervisor.value().and_then(Option::as_ref);
    if let Some(khz) = hypervisor.and_then(|hypervisor| hypervisor.timing_leaf_khz) {
        claim("CPUID 0x40000010".to_owned(), f64::from(khz) * 1e3, HYPERVISOR_PPM, true, true);
    }
    if let Some(dump) = facts.cpuid.value() {
        if let Some(hz) = dump.tsc_ratio().and_then(|ratio| ratio.tsc_hz()) {
            claim("CPUID 0x15".to_owned(), hz as f64, CRYSTAL_PPM, false, true);
        }
        if let Some(base) = dump.base_frequency().filter(|base| base.base_mhz > 0) {
            claim("CPUID 0x16".to_owned(), f64::from(base.base_mhz) * 1e6, BASE_PPM, false, true);
        }
    }
    // The measured rate of a second processor's delay loop; the first one's is computed. A hypervisor may have
    // descheduled that processor meanwhile.
    if facts.hypervisor.value() == Some(&None)
        && let Some(khz) = facts.cpu.measured_khz.value().filter(|khz| **khz > 0)
        && cfg!(any(target_arch = "x86", target_arch = "x86_64"))
    {
        claim(
            "bogomips of the second processor".to_owned(),
            *khz as f64 * 1e3,
            LOOP_PPM,
            false,
            false,
        );
    }
    claims
}

/// Whether the kernel's figure is the one that the hypervisor publishes in the page of kvm-clock: `kvmclock_init()` in
/// arch/x86/kernel/kvmclock.c sets `x86_platform.calibrate_tsc` to `kvm_get_tsc_khz()`, which computes it from that
/// page. `tsc_early_khz=` replaces it (`determine_cpu_tsc_frequencies()` in arch/x86/kernel/tsc.c): then an
/// administrator chose the figure.
fn stated_by_pvclock(facts: &Facts) -> bool {
    let registered = facts
        .available_clocksources()
        .is_some_and(|names| names.iter().any(|name| name == "kvm-clock"));
    // A command line that cannot be read may have the parameter.
    registered && facts.cmdline.value().is_some_and(|line| !line.has("tsc_early_khz"))
}

fn arm(log: &KernelLog) -> Option<(String, f64)> {
    let (entry, hz) = log.last(|event| match event {
        Event::ArchTimer { hz, .. } => Some(*hz),
        _ => None,
    })?;
    Some((format!("the kernel, {}", log.source(entry)), hz as f64))
}

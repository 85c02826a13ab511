//! Lines about features that no x86 processor has whose TSC stops in deep idle states: those are older than Intel's
//! Nehalem and AMD's family 16, or the first Atoms; AVX, the deadline mode of the local APIC's timer and `intel_pstate`
//! came with Sandy Bridge or later. The drivers of the idle states and of the performance counters name the processor.

use super::super::event::Event;
use super::{after, hex};

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "AVX registers",
    "xstate",
    "deadline timer",
    "P-state driver",
    "intel_idle: v",
    "Performance Events: ",
];

/// The names that the driver of the performance counters gives to processors from Nehalem on, without Atoms.
const NEHALEM_AND_LATER: [&str; 10] = [
    "Nehalem",
    "Westmere",
    "SandyBridge",
    "IvyBridge",
    "Haswell",
    "Broadwell",
    "Skylake",
    "Icelake",
    "Sapphire Rapids",
    "Alderlake Hybrid",
];

/// Models of family 6 above Nehalem's first that are Atoms of the first two designs.
const ATOMS: [u64; 5] = [0x1c, 0x26, 0x27, 0x35, 0x36];

/// The bit of AVX in the mask of XSAVE features.
const AVX: u64 = 1 << 2;

/// `m` is the whole message, `b` the part after the kernel's prefixes.
///
/// Sources: `print_xstate_feature()` and `fpu__init_system_xstate()` in arch/x86/kernel/fpu/xstate.c (4.2 and later),
/// `xstate_enable_boot_cpu()` in arch/x86/kernel/xsave.c (2.6.30 to 4.1), `__setup_APIC_LVTT()` in
/// arch/x86/kernel/apic/apic.c (3.8 and later), `intel_pstate_init()` in drivers/cpufreq/intel_pstate.c (3.9 and later),
/// `intel_idle_probe()` in drivers/idle/intel_idle.c (2.6.35 and later), `intel_pmu_init()` in
/// arch/x86/events/intel/core.c (2.6.35 and later).
pub(super) fn parse(m: &str, b: &str) -> Option<Event> {
    let mask = [
        "x86/fpu: Enabled xstate features ",
        "xsave: enabled xstate_bv ",
        "xsave/xstate: enabled xstate_bv ",
    ];
    let kept = mask.iter().find_map(|head| hex(m.strip_prefix(head)?));
    let model = m.strip_prefix("intel_idle: v").and_then(|rest| hex(after(rest, " model ")?));
    let is_named = |name: &str| after(m, &format!("{name} events, ")).is_some();
    let shows = model.is_some_and(|model| model >= 0x1a && !ATOMS.contains(&model))
        || m.starts_with("Performance Events: ")
            && NEHALEM_AND_LATER.iter().any(|name| is_named(name))
        || kept.is_some_and(|mask| mask & AVX != 0)
        || m.starts_with("x86/fpu: Supporting XSAVE feature ")
            && after(m, "'AVX registers'").is_some()
        || b.starts_with("TSC deadline timer enabled")
        || b.starts_with("TSC deadline timer available")
        || m.to_ascii_lowercase().starts_with("intel_pstate: intel p-state driver init")
        || m.starts_with("Intel P-state driver init");
    shows.then_some(Event::RecentProcessor)
}

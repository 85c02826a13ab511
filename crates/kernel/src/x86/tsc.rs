//! Whether the kernel trusts the TSC: the decision chain of `tsc_init()`, the warp test, idle, the
//! watchdog. Only the first reason is printed, and the order here is the order of the calls at boot.

use super::is;
use super::paravirt::tsc_invariant;
use crate::expectation::TscState;
use crate::feature::Feature;
use crate::select::Registered;
use crate::{Basis, Expectation, Machine};
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::event::UnstableReason;

pub(super) struct Verdict {
    pub(super) state: TscState,
}

/// Judges the TSC.
pub(super) fn judge(
    machine: &Machine,
    kind: Option<HypervisorKind>,
    sources: &[Registered],
    out: &mut Expectation,
) -> Verdict {
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    if !machine.tsc.value || machine.clears_cpuid("tsc", 4) {
        out.reason(
            "no tsc",
            format!("the CPU shows no TSC to this kernel{}", machine.tsc.cite()),
            "tsc_init() in arch/x86/kernel/tsc.c, all versions",
        );
        return Verdict { state: TscState::NotPresent };
    }
    if line.has("notsc") && !Feature::NotscMarks.of(kernel) {
        out.reason(
            "notsc",
            format!("notsc prevents the registration of the TSC{}", machine.cmdline.cite()),
            "notsc_setup() in arch/x86/kernel/tsc.c, until 4.18",
        );
        return Verdict { state: TscState::NotRegistered };
    }
    let trust = Trust::of(machine, kind);
    let watched = trust.watched(machine);
    if let Some(state) = unstable(machine, kind, &trust, watched, sources, out) {
        return Verdict { state };
    }
    let how = if watched { "watched by the watchdog" } else { trust.unwatched_because };
    out.reason(
        "tsc usable",
        format!("nothing marks the TSC unstable; it is rated 300 and {how}"),
        "init_tsc_clocksource() in arch/x86/kernel/tsc.c, all versions",
    );
    Verdict { state: TscState::Usable { watched } }
}

/// The reasons for which the kernel trusts the TSC without checking it.
struct Trust {
    /// `tsc_clocksource_reliable`.
    reliable: bool,
    /// Constant TSC, as the kernel sees it.
    constant: bool,
    unwatched_because: &'static str,
}

impl Trust {
    fn of(machine: &Machine, kind: Option<HypervisorKind>) -> Self {
        let vmware = is(kind, HypervisorKind::Vmware);
        let hyperv = is(kind, HypervisorKind::Hyperv)
            && machine.hypervisor.value.as_ref().is_some_and(|h| tsc_invariant(machine, h));
        let parameter = machine.cmdline.value.has_value("tsc", "reliable");
        let reliable = vmware || hyperv || parameter || machine.tsc_reliable_flag;
        let unwatched_because = if vmware {
            "not watched: VMware vouches for it (TSC_RELIABLE)"
        } else if hyperv {
            "not watched: Hyper-V grants the invariant TSC (TSC_RELIABLE)"
        } else if parameter {
            "not watched: tsc=reliable"
        } else if machine.tsc_reliable_flag {
            "not watched: the kernel knows it as reliable (TSC_RELIABLE)"
        } else if machine.cmdline.value.has_value("tsc", "nowatchdog") {
            "not watched: tsc=nowatchdog"
        } else if machine.kernel.is_assumed()
            || machine.nonstop_tsc.is_assumed()
            || machine.tsc_adjust.is_assumed()
        {
            "presumably not watched: it is assumed to be constant and nonstop, with TSC_ADJUST, on \
             a small machine (since 5.16)"
        } else {
            "not watched: it is constant, nonstop and has TSC_ADJUST, on a small machine (since 5.16)"
        };
        let constant = machine.constant_tsc.value || vmware || constant_by_model(machine);
        Self { reliable, constant, unwatched_because }
    }

    /// Whether the watchdog watches the TSC.
    fn watched(&self, machine: &Machine) -> bool {
        let kernel = &machine.kernel.value;
        let line = &machine.cmdline.value;
        if line.has_value("tsc", "nowatchdog") && Feature::TscNowatchdog.of(kernel) {
            return false;
        }
        if self.reliable {
            return false;
        }
        if line.has_value("tsc", "watchdog") && Feature::WatchdogRewrite.of(kernel) {
            return true;
        }
        let small = (Feature::UnwatchedNodes2.of(kernel) && machine.nodes.value <= 2)
            || (Feature::UnwatchedNodes4.of(kernel) && machine.nodes.value <= 4)
            || (Feature::UnwatchedPackages4.of(kernel) && machine.packages.value <= 4);
        !(small && self.constant && machine.nonstop_tsc.value && machine.tsc_adjust.value)
    }
}

/// Constant TSC by Intel family and model. `/proc/cpuinfo` already shows the result; this serves
/// raw CPUID and what-if questions. Source: `early_init_intel()` in
/// `arch/x86/kernel/cpu/intel.c`: family 15 from model 3, family 6 from model 0x0e, until 6.14;
/// then only Yonah to Ivy Bridge
/// (0x0e to 0x3a) and, from 6.17, Prescott to Cedar Mill.
fn constant_by_model(machine: &Machine) -> bool {
    if machine.vendor.value != CpuVendor::Intel
        || matches!(&machine.constant_tsc.basis, Basis::Fact(s) if s.0.contains("flags"))
        || matches!(machine.constant_tsc.basis, Basis::WhatIf)
    {
        return false;
    }
    let Some((family, model)) = machine.model else { return false };
    if Feature::IntelConstantByModel.of(&machine.kernel.value) {
        (family == 15 && model >= 3) || (family == 6 && model >= 0x0e)
    } else {
        // The Pentium 4 range was empty by mistake in 6.15 and 6.16.
        let pentium4 = Feature::Pentium4Range.of(&machine.kernel.value);
        (pentium4 && family == 15 && (3..=6).contains(&model))
            || (family == 6 && (0x0e..=0x3a).contains(&model))
    }
}

/// The reason why the TSC is marked unstable, if it is.
fn unstable(
    machine: &Machine,
    kind: Option<HypervisorKind>,
    trust: &Trust,
    watched: bool,
    sources: &[Registered],
    out: &mut Expectation,
) -> Option<TscState> {
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    let mut marked = |reason: &UnstableReason, because: String, source: &str, observed: bool| {
        out.reason("tsc unstable", because, source);
        Some(TscState::Unstable { reason: reason.text().to_owned(), observed })
    };
    // The kernel's message is conclusive.
    if let Some(seen) = &machine.observed
        && stands(machine, &seen.reason, trust, watched)
    {
        let because = format!(
            "the kernel marked the TSC unstable: \"{}\" [{}]",
            seen.reason.text(),
            seen.source
        );
        return marked(&seen.reason, because, "mark_tsc_unstable() in arch/x86/kernel/tsc.c", true);
    }
    if is(kind, HypervisorKind::Hyperv) && Feature::HypervPage.of(kernel) {
        let granted = machine.hypervisor.value.as_ref().is_some_and(|h| tsc_invariant(machine, h));
        if !granted {
            return marked(
                &UnstableReason::HyperV,
                without_grant(machine),
                "ms_hyperv_init_platform() in arch/x86/kernel/cpu/mshyperv.c, since 4.3; spared with \
                 the invariant TSC since 5.5",
                false,
            );
        }
    }
    if line.has("notsc") {
        return marked(
            &UnstableReason::BootParameterNotsc,
            format!("notsc on the command line{}", machine.cmdline.cite()),
            "notsc_setup() in arch/x86/kernel/tsc.c, since 4.19",
            false,
        );
    }
    if line.has_value("tsc", "unstable") && Feature::TscUnstableParameter.of(kernel) {
        return marked(
            &UnstableReason::BootParameter,
            format!("tsc=unstable on the command line{}", machine.cmdline.cite()),
            "tsc_setup() in arch/x86/kernel/tsc.c, since 4.13",
            false,
        );
    }
    if let Some(shows) = &machine.no_frequency
        && !(asked_what_if(machine) && line.has("tsc_early_khz"))
        && machine.observed.is_none()
    {
        return marked(
            &UnstableReason::NoFrequency,
            format!("the kernel determined no TSC frequency: {shows}"),
            "tsc_init() in arch/x86/kernel/tsc.c; cpu_khz in /proc/cpuinfo, lpj_fine in \
             calibrate_delay()",
            false,
        );
    }
    if let Some(because) = unsynchronized(machine, trust) {
        return marked(
            &UnstableReason::Unsynchronized,
            because,
            "unsynchronized_tsc() in arch/x86/kernel/tsc.c; counts possible CPUs until 6.11, \
             packages since 6.12",
            false,
        );
    }
    if let Some(because) = wrong_early_khz(machine, watched, sources) {
        return marked(
            &UnstableReason::Watchdog,
            because,
            "determine_cpu_tsc_frequencies() in arch/x86/kernel/tsc.c, since 5.8",
            false,
        );
    }
    None
}

/// The reason why a kernel on Hyper-V marks the TSC unstable.
fn without_grant(machine: &Machine) -> String {
    let known = machine.hypervisor.value.as_ref().is_some_and(|h| h.hyperv_privileges.is_some());
    if !Feature::HypervInvariant.of(&machine.kernel.value) {
        format!(
            "on Hyper-V this kernel marks the TSC unstable by design (a grant of the invariant TSC counts {})",
            Feature::HypervInvariant.versions()
        )
    } else if known {
        format!(
            "Hyper-V does not grant the invariant TSC (AccessTscInvariant), so the kernel marks the TSC unstable by \
             design{}",
            machine.hypervisor.cite()
        )
    } else {
        "without a grant of the invariant TSC (AccessTscInvariant), which is not in this evidence, the kernel marks \
         the TSC unstable by design on Hyper-V"
            .to_owned()
    }
}

/// Whether a recorded reason still holds for this machine (what-if changes may have removed it).
fn stands(machine: &Machine, reason: &UnstableReason, trust: &Trust, watched: bool) -> bool {
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    match reason {
        // A what-if question recomputes what static facts decide.
        UnstableReason::Unsynchronized
        | UnstableReason::BootParameter
        | UnstableReason::BootParameterNotsc
        | UnstableReason::HyperV => !asked_what_if(machine),
        UnstableReason::SyncFailed => !(trust.reliable && Feature::ReliableSkipsSync.of(kernel)),
        UnstableReason::Watchdog => {
            watched
                || !asked_what_if(machine)
                || (Feature::TscEarly.of(kernel) && !Feature::ReliableProtectsTscEarly.of(kernel))
        }
        UnstableReason::HaltsInIdle => {
            let shallow =
                |name: &str, deepest: u64| line.number(name).is_some_and(|n| n <= deepest);
            let avoided = line.last("idle") == Some("poll")
                || shallow("processor.max_cstate", 1)
                || shallow("intel_idle.max_cstate", 1);
            !(machine.nonstop_what_if() || avoided && asked_what_if(machine))
        }
        UnstableReason::NoFrequency => {
            !(line.has("tsc_early_khz") && Feature::TscEarlyKhz.of(kernel))
        }
        _ => true,
    }
}

fn asked_what_if(machine: &Machine) -> bool {
    machine.cmdline.basis == Basis::WhatIf
        || machine.kernel.basis == Basis::WhatIf
        || machine.hypervisor.basis == Basis::WhatIf
        || machine.possible_cpus.basis == Basis::WhatIf
        || machine.constant_tsc.basis == Basis::WhatIf
        || machine.packages.basis == Basis::WhatIf
        || machine.vendor.basis == Basis::WhatIf
}

/// `unsynchronized_tsc()`: the kernel does not run the warp test.
fn unsynchronized(machine: &Machine, trust: &Trust) -> Option<String> {
    let kernel = &machine.kernel.value;
    // Code for Transmeta sets the flag after this test (`init_transmeta()`, called by `identify_cpu()`), and further
    // vendors have no such code; that of the others sets the flag before the test (`early_cpu_init()`).
    let constant = trust.constant && machine.vendor.value != CpuVendor::OtherX86;
    if constant || machine.vendor.value == CpuVendor::Intel {
        return None;
    }
    if trust.reliable && Feature::ReliableSparesUnsynchronized.of(kernel) {
        return None;
    }
    let head = format!(
        "the CPU is not Intel ({}{}) and has no constant TSC{}",
        machine.vendor.value,
        machine.vendor.cite(),
        machine.constant_tsc.cite()
    );
    if Feature::UnsynchronizedByPackages.of(kernel) {
        let n = machine.packages.value;
        let n = if machine.effective_possible_cpus() == 1 { 1 } else { n };
        (n > 1).then(|| format!("{head}, and there are {n} packages{}", machine.packages.cite()))
    } else {
        let n = machine.effective_possible_cpus();
        (n > 1)
            .then(|| format!("{head}, and {n} CPUs are possible{}", machine.possible_cpus.cite()))
    }
}

/// A wrong frequency on the command line (`tsc_early_khz=`) that makes the watchdog demote the TSC.
fn wrong_early_khz(machine: &Machine, watched: bool, sources: &[Registered]) -> Option<String> {
    if !Feature::TscEarlyKhz.of(&machine.kernel.value) || !watched {
        return None;
    }
    let given = machine.cmdline.value.number("tsc_early_khz").filter(|khz| *khz > 0)?;
    // The local APIC timer is calibrated over 100 ms of TSC time: the time that the PM timer counted during the
    // calibration shows the error of the frequency (`calibrate_APIC_clock()`, since 5.3).
    let by_apic = machine
        .apic_calibration_ms
        .filter(|ms| (1..=10_000).contains(ms))
        .map(|ms| given.saturating_mul(100) / ms);
    let real = machine.tsc_khz.or(by_apic)?;
    // The margin of tsc-early is 32 ms in an interval of 500 ms. Until 7.0 ticks serve as a reference too, with two of
    // them more (`clocksource_select_watchdog()`); later it must be continuous.
    let margin = if sources.iter().any(|s| s.hres && s.rating > 2) {
        64
    } else if Feature::WatchdogRewrite.of(&machine.kernel.value) {
        return None;
    } else {
        104
    };
    let off = given.abs_diff(real).saturating_mul(1000) / real.max(1);
    (off > margin).then(|| {
        format!(
            "the kernel uses tsc_early_khz={given} without a check, but the TSC runs at {real} kHz: the \
             watchdog demotes it within a second{}",
            machine.cmdline.cite()
        )
    })
}

/// Whether `tsc` becomes valid for high resolution.
pub(super) fn valid_for_hres(machine: &Machine, watched: bool, sources: &[Registered]) -> bool {
    let kernel = &machine.kernel.value;
    if !watched || Feature::TscPresetHres.of(kernel) {
        return true;
    }
    // The watchdog uses the best source that is not watched; it marks `tsc` valid only if that source is continuous.
    sources.iter().any(|s| s.hres)
}

impl Machine {
    fn nonstop_what_if(&self) -> bool {
        self.nonstop_tsc.basis == Basis::WhatIf && self.nonstop_tsc.value
    }
}

//! Remedies after the watchdog demoted the TSC.

use super::offer::Offer;
use super::{Plan, boot};
use crate::CauseId as C;
use crate::causes::cmdline_tsc_reliable;
use crate::causes::refinement::is_systematic;
use crate::current::idle::may_halt;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::version::Version;
use clocksmith_kernel::Machine;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

/// Whether the watchdog demoted the TSC, and the TSC is not at fault by the evidence.
fn innocent(plan: &Plan<'_>) -> bool {
    // With these causes it is open whether the TSC is at fault.
    let suspected = plan.warns(C::TscJump) || plan.warns(C::TscHaltsInIdle);
    plan.warns(C::WatchdogAtFault)
        && plan.likely(C::WatchdogAtFault)
        && plan.against_tsc().is_none()
        && !suspected
}

/// Whether `tsc=reliable` or `tsc=nowatchdog` is already on the command line.
fn unwatched_by_parameter(plan: &Plan<'_>) -> bool {
    let line = &plan.case.machine.cmdline.value;
    line.has_value("tsc", "reliable") || line.has_value("tsc", "nowatchdog")
}

/// Whether the kernel refined the frequency in this boot, and probably wrongly.
pub(super) fn bad_refinement(plan: &Plan<'_>) -> bool {
    let refined = |event: &Event| matches!(event, Event::Refined { .. });
    plan.likely(C::TscMiscalibrated)
        && plan.case.log().is_some_and(|log| log.any(refined) && !is_systematic(log))
        && !plan.case.machine.cmdline.value.has("tsc_early_khz")
}

/// Whether a test of the watchdog made the kernel demote the TSC.
fn tested(plan: &Plan<'_>) -> bool {
    plan.case.log().is_some_and(|log| log.any(|event| matches!(event, Event::DelayInjected)))
}

pub(super) fn reboot(plan: &Plan<'_>) -> Option<Offer> {
    if bad_refinement(plan) && plan.case.tsc_is_given_up() {
        let says = "a reboot measures the TSC's frequency again: a different figure proves that \
                    this one was wrong, and the TSC is available again";
        return Some(Offer::saying(says).command("sudo reboot"));
    }
    let no_frequency =
        |event: &Event| matches!(event, Event::TscUnstable(UnstableReason::NoFrequency));
    if plan.case.in_guest() && plan.case.log().is_some_and(|log| log.any(no_frequency)) {
        let says = "a reboot calibrates the TSC again: if the host was busy, the next boot may find its frequency";
        return Some(
            Offer::saying(says)
                .command("sudo reboot")
                .citing("Linux arch/x86/kernel/tsc.c, native_calibrate_cpu() (all versions)"),
        );
    }
    // With such a parameter the same tsc-early is demoted again.
    let again = unwatched_by_parameter(plan);
    if innocent(plan) && plan.case.tsc_is_given_up() && tested(plan) {
        let says = "a demoted TSC stays demoted until the next boot; a reboot without that test \
                    makes it available again";
        return Some(Offer::saying(says).command("sudo reboot"));
    }
    if innocent(plan) && plan.case.tsc_is_given_up() && !again {
        return Some(Offer::default().command("sudo reboot"));
    }
    (is_open(plan) && plan.case.tsc_is_given_up() && !again).then(|| {
        Offer::saying(
            "a reboot (of a virtual machine: a restart of it) makes the TSC available again, until the watchdog demotes it the next time",
        )
        .risking("the cause of the demotion remains: it may happen again within minutes, as after each sleep of the host")
        .command("sudo reboot")
    })
}

/// Whether the watchdog demoted the TSC, and it is open which of the two clocks was wrong.
fn is_open(plan: &Plan<'_>) -> bool {
    plan.has(C::WatchdogAtFault)
        && plan.against_tsc().is_none()
        && plan.case.slow == Some(true)
        && !tested(plan)
}

/// The reason against the parameters that disable the watchdog.
const GUARD: &str = "the TSC of this processor may stop in idle states or change its rate, and the watchdog is the only check of it";

/// The reason against them if an earlier boot found a fault of the TSC.
const EARLIER: &str = "the log of an earlier boot reports a fault of the TSC (a warp between CPUs, or a reason for which the kernel gives \
     it up): without the watchdog only the tests at boot would find it again";

/// Whether the log of another boot reports a fault of the TSC. A user can write lines that look like a boot to system logs, and so
/// hide the kernel's messages before them.
fn had_fault(plan: &Plan<'_>) -> bool {
    plan.case.log().is_some_and(|log| log.had_tsc_fault)
}

/// Whether the watchdog is the only check of a TSC that may stop in idle states or change its rate: on hardware, the kernel marks
/// such a TSC by itself only if it drives the idle states by ACPI's or its own tables (`tsc_check_state()` in
/// drivers/acpi/processor_idle.c; intel_idle marks states of ACPI's tables since 6.14).
fn is_guard(plan: &Plan<'_>) -> bool {
    let machine = plan.case.machine;
    !plan.case.in_guest() && (!machine.nonstop_tsc.value || !machine.constant_tsc.value)
}

/// Adds the condition on the processor, if the evidence does not show which one it is.
fn on_condition(plan: &Plan<'_>, offer: Offer) -> Offer {
    let is_open = plan.case.log().is_some_and(|log| may_halt(plan.case.machine, log));
    match is_open {
        true => offer.instruction(
            "only if `grep -ow 'constant_tsc\\|nonstop_tsc' /proc/cpuinfo | sort -u` prints both flags: without them the TSC may stop \
             in idle states, and the watchdog is the only check of it",
        ),
        false => offer,
    }
}

/// The reason against disabling the watchdog, if there is one besides the causes.
pub(crate) fn against_nowatchdog(plan: &Plan<'_>) -> Option<&'static str> {
    if is_guard(plan) {
        return Some(GUARD);
    }
    had_fault(plan).then_some(EARLIER)
}

pub(super) fn nowatchdog(plan: &Plan<'_>) -> Option<Offer> {
    if !innocent(plan)
        || unwatched_by_parameter(plan)
        || tested(plan)
        || against_nowatchdog(plan).is_some()
    {
        return None;
    }
    let word = "tsc=nowatchdog";
    (boot::knows(plan.case.machine, word) != Some(false))
        .then(|| on_condition(plan, boot::add(plan.case, &[word])))
}

pub(super) fn reliable(plan: &Plan<'_>) -> Option<Offer> {
    let kernel = &plan.case.machine.kernel;
    let newer = kernel.is_assumed() || Feature::TscNowatchdog.of(&kernel.value);
    let hyperv = plan.case.hypervisor() == Some(HypervisorKind::Hyperv);
    let is_needed =
        unwatched_by_parameter(plan) || tested(plan) || against_nowatchdog(plan).is_some();
    if !innocent(plan) || newer || hyperv || is_needed {
        return None;
    }
    Some(on_condition(plan, boot::add(plan.case, &["tsc=reliable"])))
}

pub(super) fn hide_hpet(plan: &Plan<'_>) -> Option<Offer> {
    let emulated = matches!(
        plan.case.hypervisor(),
        Some(HypervisorKind::Kvm | HypervisorKind::Tcg | HypervisorKind::XenHvm)
    );
    if !plan.warns(C::WatchdogAtFault) || !emulated || !plan.owns_host() {
        return None;
    }
    Some(
        Offer::default()
            .setting(
                "the libvirt domain XML",
                "<clock offset='utc'><timer name='hpet' present='no'/></clock>",
            )
            .setting("the QEMU command line", "-machine hpet=off")
            .instruction("QEMU before 9.0 also accepts -no-hpet; restart the guest"),
    )
}

pub(super) fn newer_kernel(plan: &Plan<'_>) -> Option<Offer> {
    let machine = plan.case.machine;
    let kernel = &machine.kernel.value;
    // If a kernel that exempts a TSC with all flags, on a machine of this size, watched this TSC, the TSC lacks a flag.
    let watches = |m: &Machine| watches_with_all_flags(m);
    let old = open::ask_over(machine, &[OpenInput::KernelVersion], watches).same == Some(true);
    let helps = machine.with_newest_kernel().is_some_and(|newer| !watches_with_all_flags(&newer));
    if !innocent(plan) || !old || !helps || tested(plan) {
        return None;
    }
    // Few processors with all three flags, which date from 2013 and later, ran such kernels.
    let old = Version::new(4, 1, 0);
    let is_old = machine.kernel_bounds.1.is_some_and(|below| below <= old)
        || !machine.kernel.is_assumed() && kernel.version < Version::new(3, 10, 0);
    if is_old && machine.tsc_adjust.is_assumed() {
        return None;
    }
    let flags = [&machine.constant_tsc, &machine.nonstop_tsc, &machine.tsc_adjust];
    if flags.iter().any(|flag| !flag.value && !flag.is_assumed()) {
        return None;
    }
    if flags.iter().all(|flag| !flag.is_assumed()) {
        return Some(Offer::default());
    }
    // Most AMD processors have no TSC_ADJUST.
    let amd = matches!(machine.vendor.value, CpuVendor::Amd | CpuVendor::Hygon)
        && !machine.vendor.is_assumed();
    (!amd).then(|| {
        Offer::default()
            .command("grep -ow 'constant_tsc\\|nonstop_tsc\\|tsc_adjust' /proc/cpuinfo | sort -u")
            .instruction("it helps only if the processor has all three flags")
    })
}

/// Whether a kernel watches a TSC that is constant, nonstop and adjustable on a machine of this size.
fn watches_with_all_flags(machine: &Machine) -> bool {
    let kernel = &machine.kernel.value;
    let few = |feature: Feature, count: u32, most: u32| feature.of(kernel) && count <= most;
    !(few(Feature::UnwatchedNodes2, machine.nodes.value, 2)
        || few(Feature::UnwatchedNodes4, machine.nodes.value, 4)
        || few(Feature::UnwatchedPackages4, machine.packages.value, 4))
}

pub(super) fn newer_kernel_reliable(plan: &Plan<'_>) -> Option<Offer> {
    let kernel = &plan.case.machine.kernel;
    let watched_early = !kernel.is_assumed()
        && Feature::TscEarly.of(&kernel.value)
        && !Feature::ReliableProtectsTscEarly.of(&kernel.value);
    let demoted = plan.causes.iter().any(crate::Cause::is_demotion);
    let shown = cmdline_tsc_reliable::early_demoted(plan.case);
    // The guard must not be disabled for a doubted TSC.
    ((watched_early && demoted || shown) && innocent(plan)).then(Offer::default)
}

//! Firmware, idle states, a newer kernel, and the program that reads the time.

use super::offer::Offer;
use super::watchdog::bad_refinement;
use super::{Plan, boot, table};
use crate::causes::refinement::is_systematic;
use crate::causes::vdso_bypassed::{is_before_vdso32, lacks_path, vdso_path};
use crate::current::is_paravirtual;
use crate::{Cause, CauseId as C, Confidence};
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_kernel::Machine;
use clocksmith_kernel::arch_vdso::serves_coarse;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

pub(super) fn update_firmware(plan: &Plan<'_>) -> Option<Offer> {
    let case = plan.case;
    if case.in_guest() {
        return None;
    }
    // Neither a stated frequency nor a disturbed measurement is a fault of the firmware.
    let stated = case.machine.cmdline.value.has("tsc_early_khz") || bad_refinement(plan);
    let concerns = |cause: &Cause| match cause.id {
        C::TscMiscalibrated if stated => false,
        // A rate that is wrong on all CPUs is not a fault of the firmware either.
        C::TscSkew => case.cpus_are_apart(),
        id => id.definition().remedies.iter().any(|advice| advice.id == table::UPDATE_FIRMWARE.id),
    };
    let likely = |cause: &Cause| cause.confidence >= Confidence::Medium && concerns(cause);
    plan.causes.iter().any(likely).then(|| {
        let repeats = plan.likely(C::TscMiscalibrated) && case.log().is_some_and(is_systematic);
        match repeats {
            true => Offer::saying(
                "on bare metal: update the firmware (BIOS), because in each boot the refinement finds a \
                 frequency of the TSC that the later checks do not confirm",
            )
            .citing(
                "Linux arch/x86/kernel/tsc.c, tsc_refine_calibration_work() (2.6.38 and later)",
            ),
            false => Offer::default(),
        }
    })
}

pub(super) fn shallow_idle(plan: &Plan<'_>) -> Option<Offer> {
    let case = plan.case;
    if !plan.likely(C::TscHaltsInIdle) {
        return None;
    }
    // intel_idle supports processors from Nehalem on.
    let vendor = &case.machine.vendor;
    let served = !vendor.is_assumed()
        && vendor.value == CpuVendor::Intel
        && case.machine.model.is_none_or(|(family, model)| family == 6 && model >= 0x1a);
    // Messages of intel_idle (`intel_idle_verify_cstate()` and similar functions): it drives the idle states here, and
    // ignores processor.max_cstate.
    let drives = case.log().is_some_and(|log| {
        log.all(|event| matches!(event, Event::TscUnstable(UnstableReason::HaltsInIdle)))
            .any(|entry| entry.text.contains("states deeper than C"))
    });
    let mut words = vec!["intel_idle.max_cstate=1", "processor.max_cstate=1"];
    words.retain(|word| match word.starts_with("intel_idle") {
        true => boot::knows(case.machine, word) != Some(false) && (served || drives),
        false => boot::knows(case.machine, word) != Some(false) && !drives,
    });
    let mut offer = boot::add(case, &words);
    if !drives
        && vendor.is_assumed()
        && boot::knows(case.machine, "intel_idle.max_cstate") != Some(false)
    {
        offer = offer.instruction("on an Intel processor, also intel_idle.max_cstate=1");
    }
    Some(if case.in_guest() {
        offer.instruction(
            "in a guest the remedy is an invariant TSC from the host; this is a workaround",
        )
    } else {
        offer
    })
}

pub(super) fn early_khz(plan: &Plan<'_>) -> Option<Offer> {
    let machine = plan.case.machine;
    let there = !machine.tsc.is_assumed() && machine.tsc.value;
    let unset = !machine.cmdline.value.has("tsc_early_khz");
    let known = boot::knows(machine, "tsc_early_khz") != Some(false);
    (plan.has(C::NoTsc) && there && unset && known).then(|| {
        Offer::default()
            .setting("the kernel command line", "tsc_early_khz=KHZ")
            .instruction("KHZ is the frequency in kHz: 2400000 for 2.4 GHz")
    })
}

pub(super) fn newer_kernel(plan: &Plan<'_>) -> Option<Offer> {
    let case = plan.case;
    let machine = case.machine;
    let kernel = &machine.kernel.value;
    let current = case.current_name().unwrap_or_default();
    // The name of the clocksource shows the age of the kernel.
    if current == "hyperv_clocksource" && case.slow == Some(true) {
        let since = Feature::HypervPageVdso.versions();
        return Some(Offer::saying(format!(
            "use a newer kernel: the reference TSC page takes the place of {current}, and has a vDSO path {since}"
        ))
        .citing(vdso_source("hyperv_clocksource_tsc_page")));
    }
    if case.slow == Some(false) {
        return None;
    }
    if case.outranked_counter() == Some("riscv_clocksource") && !Feature::RiscvRating400.of(kernel)
    {
        let since = Feature::RiscvRating400.versions();
        return Some(
            Offer::saying(format!("use a newer kernel: riscv_clocksource is rated 400 {since}"))
                .citing("Linux drivers/clocksource/timer-riscv.c, riscv_clocksource (rating 300 until 6.2)"),
        );
    }
    // Reads of xen stay system calls if the host does not set the stable bit: the TSC is the better choice.
    let better = plan.remedies.iter().any(|r| r.id == super::table::SWITCH_TO_TSC_NOW.id);
    // A feature that only 64-bit kernels have is not in any newer 32-bit kernel; and the 32-bit vDSO reads the TSC
    // first.
    if is_before_vdso32(machine) && case.tsc_is_current() {
        let since = Feature::Vdso32.versions();
        return Some(
            Offer::saying(format!(
                "use a 64-bit kernel, or a newer one: the 32-bit vDSO reads the clock {since}"
            ))
            .citing("Linux arch/x86/vdso/vclock_gettime.c, __vdso_clock_gettime() (32 bits: 3.15, 2014)"),
        );
    }
    if plan.is_32_bit_kvm() {
        return (!better).then(|| {
            Offer::saying("use a 64-bit kernel: kvm-clock has a vDSO path only there".to_owned())
                .citing("Linux arch/x86/kernel/kvmclock.c, kvm_setup_vsyscall_timeinfo() (all versions)")
        });
    }
    if let Some(feature) = vdso_path(current).filter(|_| lacks_path(machine, current))
        && !better
    {
        let since = feature.versions();
        return Some(
            Offer::saying(format!("use a newer kernel: {current} has a vDSO path {since}"))
                .citing(vdso_source(current)),
        );
    }
    if machine.kernel.is_assumed() {
        return None;
    }
    // The processor has the register, according to its flags or its model.
    let adjusts = machine.tsc_adjust.value
        && (!machine.tsc_adjust.is_assumed()
            || machine.model.is_some() && !machine.vendor.is_assumed());
    if plan.has(C::TscWarp) && adjusts && !case.in_guest() && !Feature::TscAdjustChecks.of(kernel) {
        let since = Feature::TscAdjustChecks.versions();
        return Some(
            Offer::saying(format!(
                "use a newer kernel: {since} it corrects TSC offsets that firmware left in the \
                 register TSC_ADJUST, and tests again"
            ))
            .instruction("it helps if the offset is in that register; otherwise the test fails \
                          again")
            .citing("Linux commits 8b223bc7abe0, a36f5136814b and cc4db26899dc (4.10, 2016), arch/x86/kernel/tsc_sync.c"),
        );
    }
    let invariant = machine.constant_tsc.value && machine.nonstop_tsc.value;
    if current == "kvm-clock"
        && plan.has(C::ParavirtClockPreferred)
        && invariant
        && !Feature::KvmClockYields.of(kernel)
    {
        let since = Feature::KvmClockYields.versions();
        return Some(Offer::saying(format!(
            "use a newer kernel: kvm-clock has a lower rating than an invariant TSC {since}"
        )));
    }
    let one_package = machine.packages.value == 1 && !machine.packages.is_assumed();
    // A hypervisor's clock outranks a synchronised TSC that is not invariant.
    if plan.has(C::TscUnsynchronized)
        && one_package
        && !is_paravirtual(current)
        && !Feature::UnsynchronizedByPackages.of(kernel)
    {
        let since = Feature::UnsynchronizedByPackages.versions();
        return Some(Offer::saying(format!(
            "use a newer kernel: the CPUs of one package count as synchronised {since}"
        )));
    }
    None
}

/// The code that added the vDSO path of a paravirtual clock.
fn vdso_source(clocksource: &str) -> &'static str {
    match clocksource {
        "kvm-clock" => "Linux arch/x86/vdso/vclock_gettime.c, vread_pvclock() (3.8, 2013)",
        "xen" => "Linux arch/x86/xen/time.c, xen_setup_vsyscall_time_info() (4.15, 2018)",
        _ => "Linux arch/x86/entry/vdso/vclock_gettime.c, vread_hvclock() (4.12, 2017)",
    }
}

/// Advice that helps whatever the cause: fewer or cheaper reads.
pub(super) fn cheaper_reads(plan: &Plan<'_>) -> Option<Offer> {
    const INPUTS: [OpenInput; 2] = [OpenInput::KernelVersion, OpenInput::Architecture];
    if plan.case.slow != Some(true) && !plan.has(C::CounterTrapped) {
        return None;
    }
    // The evidence shows that no program reads the time.
    if crate::symptom::programs_do_not_show(&plan.case.facts.symptoms) {
        return None;
    }
    let machine = plan.case.machine;
    let exist = |m: &Machine| Feature::CoarseClocks.of(&m.kernel.value);
    let coarse = open::ask_over(machine, &INPUTS, exist).same;
    if coarse == Some(false) {
        return Some(
            Offer::saying(
                "read the time less often: cache it in the program if that is precise enough",
            )
            .risking("the cached time is the time of the last read"),
        );
    }
    let clock = match coarse {
        None => format!("CLOCK_MONOTONIC_COARSE ({})", Feature::CoarseClocks.versions()),
        _ => "CLOCK_MONOTONIC_COARSE".to_owned(),
    };
    let cost = match open::ask_over(machine, &INPUTS, serves_coarse).same {
        Some(Some(true)) => "it costs no system call on any clocksource".to_owned(),
        Some(Some(false)) => {
            "it is also a system call on this kernel, but reads no counter".to_owned()
        }
        _ if machine.arch.value.is_x86() => format!(
            "it reads no counter, and costs no system call on 64-bit kernels or, {}, on 32-bit kernels",
            Feature::Vdso32.versions()
        ),
        _ => "it reads no counter".to_owned(),
    };
    Some(Offer::saying(format!(
        "read the time less often: use {clock} or a cached time if a tick (1 to 10 ms) is precise enough; \
         {cost}"
    )))
}

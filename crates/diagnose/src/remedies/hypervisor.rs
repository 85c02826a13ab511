//! Changes in the hypervisor or in the host, for those who administer them.

use super::Plan;
use super::offer::Offer;
use super::watchdog::bad_refinement;
use crate::CauseId as C;
use clocksmith_facts::hypervisor::HypervisorKind;

/// Whether the host does not run on its TSC, according to the evidence in the guest.
fn host_off_tsc(plan: &Plan<'_>) -> bool {
    plan.warns(C::VdsoBypassed)
        && matches!(
            plan.case.current_name(),
            Some("kvm-clock" | "xen" | "hyperv_clocksource_tsc_page")
        )
        && !plan.old_pvclock()
}

pub(super) fn host_on_tsc(plan: &Plan<'_>) -> Option<Offer> {
    let pvclock = match plan.case.current_name() {
        Some("kvm-clock") => true,
        Some("hyperv_clocksource_tsc_page" | "xen") => false,
        _ => return None,
    };
    if !host_off_tsc(plan) || !plan.owns_host() {
        return None;
    }
    let offer = Offer::default().instruction(
        "on the host: cat /sys/devices/system/clocksource/clocksource0/current_clocksource; if it \
         is not tsc, run clocksmith why there to see why",
    );
    Some(if pvclock {
        offer
    } else {
        offer
            .instruction("the host is not Linux with KVM: its own tools show which counter it uses")
    })
}

pub(super) fn hyperv_tsc_page(plan: &Plan<'_>) -> Option<Offer> {
    let msr = plan.case.current_name() == Some("hyperv_clocksource_msr");
    if !msr || !plan.owns_host() {
        return None;
    }
    Some(
        Offer::default()
            .setting(
                "the libvirt domain XML, in <clock>",
                "<timer name='hypervclock' present='yes'/>",
            )
            .setting("the QEMU command line", "-cpu host,hv-time"),
    )
}

pub(super) fn expose_invariant_tsc(plan: &Plan<'_>) -> Option<Offer> {
    let wanted = [C::InvariantTscWithheld, C::TscUnsynchronized, C::TscHaltsInIdle];
    let named = |text: &String| {
        ["QEMU", "KVM", "Bochs", "Standard PC ("].iter().any(|name| text.contains(name))
    };
    let kvm = match plan.case.hypervisor() {
        Some(kind) => matches!(kind, HypervisorKind::Kvm | HypervisorKind::Tcg),
        // A kernel without the code for KVM, or a guest from which KVM is hidden.
        None => plan.case.in_guest() && plan.case.facts.dmi.value().is_some_and(named),
    };
    let idle = plan.warns(C::TscHaltsInIdle) && plan.likely(C::TscHaltsInIdle);
    if !kvm
        || plan.old_pvclock()
        || !wanted.into_iter().any(|id| plan.likely(id) || plan.has(id) && id != C::TscHaltsInIdle)
        || (plan.case.slow == Some(false) && !idle)
        || !plan.owns_host()
    {
        return None;
    }
    if shows_no_kvm(plan) {
        return Some(emulated(plan));
    }
    let offer = Offer::default()
        .setting(
            "the libvirt domain XML",
            "<cpu mode='host-passthrough' migratable='off'><feature policy='require' \
             name='invtsc'/></cpu>",
        )
        .setting("the QEMU command line", "-cpu host,migratable=off,+invtsc")
        .setting(
            "the libvirt domain XML, in <clock>, to keep migration",
            "<timer name='tsc' frequency='HZ'/>",
        )
        .setting("the QEMU command line, to keep migration", "-cpu host,+invtsc,tsc-frequency=HZ")
        .instruction("HZ is a frequency in Hz that all hosts of the guest can provide");
    Some(if host_off_tsc(plan) {
        offer.instruction(
            "only if the host itself uses its TSC: otherwise the guest trusts a counter that the host does not trust",
        )
    } else {
        offer
    })
}

/// QEMU emulates the processor in software, or KVM is hidden from the kernel: a kernel names the hypervisor in each
/// boot.
fn shows_no_kvm(plan: &Plan<'_>) -> bool {
    let case = plan.case;
    match case.hypervisor() {
        Some(kind) => kind == HypervisorKind::Tcg,
        None => case.log().is_some_and(|log| log.from_boot && log.extent.is_ordinary()),
    }
}

/// An invariant TSC for a processor that QEMU emulates: `-cpu host` needs KVM, and TCG treats `invtsc` as a feature
/// that it lacks (`tcg_feature_word_info` in target/i386/cpu.c, `x86_cpu_filter_features()`).
fn emulated(plan: &Plan<'_>) -> Offer {
    let says = match plan.case.hypervisor() {
        Some(_) => {
            "give the guest an invariant TSC: QEMU emulates this processor in software (TCG), so each read is \
             slow"
        }
        None => {
            "give the guest an invariant TSC: the kernel names no hypervisor, so QEMU probably emulates this \
             processor in software (TCG), and each read is slow"
        }
    };
    Offer::saying(says)
        .setting(
            "the QEMU command line, on a host with KVM",
            "-accel kvm -cpu host,migratable=off,+invtsc",
        )
        .setting("the QEMU command line, without KVM", "-cpu max,x-force-features=on,+invtsc")
        .instruction("-cpu host exists only with KVM; without KVM each +invtsc needs \
                      x-force-features=on")
        .risking("with KVM the guest is tied to hosts that can provide this TSC frequency; the guest must be restarted")
        .citing("QEMU target/i386/cpu.c, invtsc and x-force-features (10.0)")
}

pub(super) fn xen_native_tsc(plan: &Plan<'_>) -> Option<Offer> {
    let hvm = matches!(
        plan.case.hypervisor(),
        Some(HypervisorKind::Xen | HypervisorKind::XenHvm | HypervisorKind::XenPvh)
    );
    if !hvm || plan.is_dom0() || plan.case.slow == Some(false) || !plan.owns_host() {
        return None;
    }
    Some(
        Offer::default().setting("xl.cfg of the domain, on the host", "tsc_mode=\"native\"").instruction(
            "for an HVM or PVH domain; Xen shows the invariant TSC only to a domain that cannot migrate: nomigrate=1 in the same file",
        ),
    )
}

pub(super) fn virtualbox(plan: &Plan<'_>) -> Option<Offer> {
    let here = plan.case.hypervisor() == Some(HypervisorKind::VirtualBox);
    if !here || (plan.case.slow == Some(false) && !plan.has(C::TscWarp)) {
        return None;
    }
    Some(
        Offer::default()
            .setting(
                "a shell on the host, for VirtualBox 5.0 and later; VM is the guest's name",
                "VBoxManage modifyvm VM --paravirtprovider kvm",
            )
            .setting(
                "a shell on the host, for VirtualBox 4.x only",
                "VBoxManage setextradata VM VBoxInternal/TM/MaybeUseOffsettedHostTSC 1\n\
                 VBoxManage setextradata VM VBoxInternal/TM/UseRealTSC 1",
            )
            .instruction("clocksmith vm lint reads the guest's .vbox file and shows which keys have no effect there")
            .instruction(
                "VirtualBox traps each read of the TSC in a guest with several CPUs; an HPET (--chipset ich9) is \
                 better than acpi_pm, and still slow",
            ),
    )
}

pub(super) fn give_a_timer(plan: &Plan<'_>) -> Option<Offer> {
    let tick = plan.case.current_name().is_some_and(|name| name.contains("jiffies"));
    if !tick || !plan.has(C::OnlyChoice) || !plan.may_be_guest() || plan.is_tenant() {
        return None;
    }
    Some(
        Offer::default()
            .setting(
                "the libvirt domain XML, in <clock>, for KVM; this is the default unless another setting disables it",
                "<timer name='kvmclock' present='yes'/>",
            )
            .setting("the libvirt domain XML, in <features>, which adds the PM timer", "<acpi/>")
            .instruction(
                "the guest's kernel needs the code: CONFIG_KVM_GUEST for kvm-clock, CONFIG_X86_PM_TIMER for acpi_pm, \
                 CONFIG_HPET_TIMER for hpet",
            ),
    )
}

pub(super) fn equal_offsets(plan: &Plan<'_>) -> Option<Offer> {
    let apart = plan.has(C::TscWarp) || plan.has(C::TscSkew) && plan.case.cpus_are_apart();
    (plan.may_be_guest() && apart && !plan.is_tenant()).then(Offer::default)
}

pub(super) fn clock_interface(plan: &Plan<'_>) -> Option<Offer> {
    // A guest that gets the frequency from the hypervisor does not measure it.
    let told = plan.case.machine.cmdline.value.has("tsc_early_khz") || bad_refinement(plan);
    let frequency = plan.may_be_guest() && plan.likely(C::TscMiscalibrated) && !told;
    let broken = plan.warns(C::ParavirtClockBroken) && plan.may_be_guest();
    (broken || frequency).then(Offer::default)
}

/// Advice for a fault that only the operator of a cloud's hosts can repair.
pub(super) fn ask_the_operator(plan: &Plan<'_>) -> Option<Offer> {
    let unhelped = !plan.remedies.iter().any(|r| r.id == super::table::SWITCH_TO_TSC_NOW.id);
    (plan.is_tenant()
        && plan.case.in_guest()
        && plan.case.slow != Some(false)
        && unhelped
        && !plan.old_pvclock())
    .then(Offer::default)
}

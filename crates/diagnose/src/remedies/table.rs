//! The advice table: summary, risk, source with its date, and the condition of each advice.
//!
//! Clouds and vendors contradict each other and change their recommendations, which are in [`crate::policy`].

use super::offer::Offer;
use super::{Layer, Plan, boot, hardware, hypervisor, runtime, wall, watchdog};

/// One advice.
#[derive(Clone, Copy)]
pub struct Advice {
    /// Stable id.
    pub id: &'static str,
    /// The layer of the change.
    pub layer: Layer,
    /// The effect.
    pub summary: &'static str,
    /// The risk.
    pub risk: &'static str,
    /// The source and its date.
    pub source: &'static str,
    /// Returns how the change is made here, if its conditions hold.
    pub(crate) offer: fn(&Plan<'_>) -> Option<Offer>,
}

/// Every advice, best first.
pub(crate) const ADVICE: &[&Advice] = &[
    &SWITCH_TO_TSC_NOW,
    &KEEP_TSC_AT_BOOT,
    &SWITCH_TO_COUNTER,
    &REMOVE_PARAMETER,
    &CLEAR_OVERRIDE,
    &REBOOT_TO_RESTORE,
    &TSC_NOWATCHDOG,
    &TSC_RELIABLE,
    &HIDE_HPET,
    &NEWER_KERNEL_WATCHDOG,
    &NEWER_KERNEL_RELIABLE,
    &HOST_ON_TSC,
    &HYPERV_TSC_PAGE,
    &EXPOSE_INVARIANT_TSC,
    &XEN_NATIVE_TSC,
    &VIRTUALBOX_PARAVIRT,
    &GIVE_A_TIMER,
    &EQUAL_TSC_OFFSETS,
    &HOST_CLOCK_INTERFACE,
    &ASK_THE_OPERATOR,
    &UPDATE_FIRMWARE,
    &SHALLOW_IDLE,
    &EARLY_KHZ,
    &NEWER_KERNEL,
    &CHEAPER_READS,
    &wall::STEP_NOW,
    &wall::ONE_MASTER,
    &wall::COUNTER_RATE,
    &wall::ASK_THE_DAEMON,
    &wall::START_A_DAEMON,
    &wall::WSL_CLOCK,
    &wall::HYPERV_CLOCK,
    &wall::HOST_CLOCK,
    &wall::STEP_ALWAYS,
    &wall::VMWARE_TOOLS,
    &wall::FIRECRACKER_LOAD,
    &wall::GUEST_AGENT,
    &wall::DESKTOP_VM,
];

/// Finds an advice by its id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Advice> {
    ADVICE.iter().copied().find(|advice| advice.id == id)
}

/// Switch to tsc now.
pub const SWITCH_TO_TSC_NOW: Advice = Advice {
    id: "switch-to-tsc-now",
    layer: Layer::Runtime,
    summary: "choose tsc in the running kernel",
    risk: "if the TSCs of two CPUs differ, time goes backwards between them: run a cross-CPU check \
           first; the choice is lost at reboot; a guest that is restored or moved keeps a stale wall \
           clock until NTP steps it",
    source: "Linux Documentation/timers/timekeeping.rst; EC2 advice in awslabs/amazon-eks-ami PR 2144 \
             (2025)",
    offer: runtime::switch_to_tsc,
};

/// Keep tsc at boot.
pub const KEEP_TSC_AT_BOOT: Advice = Advice {
    id: "keep-tsc-at-boot",
    layer: Layer::Boot,
    summary: "choose tsc at every boot",
    risk: "if the TSCs of two CPUs differ, time goes backwards between them: run clocksmith verify first; the kernel \
           ignores an unknown name without a message, so check current_clocksource after the boot",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, clocksource= (7.1, 2026)",
    offer: runtime::keep_tsc,
};

/// Switch to a counter that the vDSO reads.
pub(crate) const SWITCH_TO_COUNTER: Advice = Advice {
    id: "switch-to-counter",
    layer: Layer::Runtime,
    summary: "choose the counter that the vDSO reads",
    risk: "the choice is lost at reboot; if firmware emulates the counter, its reads are also slow: measure them with \
           clocksmith bench",
    source: "Linux kernel/time/clocksource.c, current_clocksource_store() (all versions)",
    offer: runtime::switch_to_counter,
};

/// Remove parameter.
pub const REMOVE_PARAMETER: Advice = Advice {
    id: "remove-parameter",
    layer: Layer::Boot,
    summary: "remove the parameter from the kernel command line",
    risk: "the parameter was set for a reason: find out why before the next boot",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt (7.1, 2026)",
    offer: boot::remove_parameter,
};

/// Clear override.
pub(crate) const CLEAR_OVERRIDE: Advice = Advice {
    id: "clear-override",
    layer: Layer::Runtime,
    summary: "let the kernel choose again, and find what writes the choice",
    risk: "none for the time: the kernel switches to the best source that it trusts",
    source: "kernel/time/clocksource.c, current_clocksource_store(): an empty write clears the choice \
             (all versions)",
    offer: runtime::clear_override,
};

/// Reboot to restore.
pub(crate) const REBOOT_TO_RESTORE: Advice = Advice {
    id: "reboot-to-restore",
    layer: Layer::Runtime,
    summary: "a demoted TSC stays demoted until the next boot; a reboot makes it available again",
    risk: "the machine is not available during the reboot; without another change the demotion can happen again",
    source: "kernel/time/clocksource.c, __clocksource_unstable() (all versions)",
    offer: watchdog::reboot,
};

/// Tsc nowatchdog.
pub const TSC_NOWATCHDOG: Advice = Advice {
    id: "tsc-nowatchdog",
    layer: Layer::Boot,
    summary: "boot with tsc=nowatchdog: the watchdog no longer checks the TSC, and the warp test between CPUs remains",
    risk: "the kernel no longer detects a later drift of the TSC: check it with clocksmith verify, and keep NTP \
           running",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc=nowatchdog, since 5.2 (7.1, \
             2026)",
    offer: watchdog::nowatchdog,
};

/// Tsc reliable.
pub const TSC_RELIABLE: Advice = Advice {
    id: "tsc-reliable",
    layer: Layer::Boot,
    summary: "boot with tsc=reliable: it disables the watchdog and, in 3.3 and later, the warp test between CPUs",
    risk: "if the TSCs of two CPUs differ, time goes backwards between them and nothing reports it",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc=reliable (7.1, 2026); \
             arch/x86/kernel/tsc_sync.c",
    offer: watchdog::reliable,
};

/// Hide hpet.
pub(crate) const HIDE_HPET: Advice = Advice {
    id: "hide-hpet",
    layer: Layer::Hypervisor,
    summary: "remove the emulated HPET from the guest: it is a slow reference and a slow clock",
    risk: "a guest without TSC and paravirtual clock then uses acpi_pm, which is even slower",
    source: "libvirt domain format, timer element (11.3); QEMU pc machine option hpet=off (10.0)",
    offer: watchdog::hide_hpet,
};

/// Newer kernel watchdog.
pub(crate) const NEWER_KERNEL_WATCHDOG: Advice = Advice {
    id: "newer-kernel-watchdog",
    layer: Layer::Boot,
    summary: "use a newer kernel: since 5.16 a TSC that is constant, nonstop and adjustable is not \
              watched on small machines (4 nodes since 6.6, 4 packages since 6.12)",
    risk: "the usual risk of a kernel update",
    source: "Linux commits b50db7095fe0 (5.16, 2021), 233756a640be and b4bac279319d (x86/tsc; 6.6, 6.12)",
    offer: watchdog::newer_kernel,
};

/// Newer kernel reliable.
pub(crate) const NEWER_KERNEL_RELIABLE: Advice = Advice {
    id: "newer-kernel-reliable",
    layer: Layer::Boot,
    summary: "use a kernel 5.4 or later, with tsc=nowatchdog, which keeps the warp test between CPUs: from 4.16 to 5.3 \
              the watchdog still checks tsc-early although tsc=reliable is on the command line, so it can be demoted \
              before tsc is registered",
    risk: "the usual risk of a kernel update; without the watchdog a fault of the TSC is not reported",
    source: "Linux arch/x86/kernel/tsc.c, clocksource_tsc_early (4.16, 2018; 5.4, 2019)",
    offer: watchdog::newer_kernel_reliable,
};

/// Host on tsc.
pub(crate) const HOST_ON_TSC: Advice = Advice {
    id: "host-on-tsc",
    layer: Layer::Hypervisor,
    summary: "the host itself must run on its TSC (or on Hyper-V's page): only then does it publish \
              the stable bit that the guest's vDSO needs; run clocksmith why on the host",
    risk: "see the diagnosis of the host (clocksmith why)",
    source: "arch/x86/kvm/x86.c, pvclock_update_vm_gtod_copy() (3.8 and later)",
    offer: hypervisor::host_on_tsc,
};

/// Hyperv tsc page.
pub(crate) const HYPERV_TSC_PAGE: Advice = Advice {
    id: "hyperv-tsc-page",
    layer: Layer::Hypervisor,
    summary: "give the guest Hyper-V's reference TSC page",
    risk: "none known for a Linux guest; the guest must be restarted",
    source: "QEMU docs/system/i386/hyperv.rst, hv-time (10.0); libvirt domain format, timer \
             hypervclock (11.3)",
    offer: hypervisor::hyperv_tsc_page,
};

/// Expose invariant tsc.
pub(crate) const EXPOSE_INVARIANT_TSC: Advice = Advice {
    id: "expose-invariant-tsc",
    layer: Layer::Hypervisor,
    summary: "give the guest an invariant TSC",
    risk: "the guest is tied to hosts that can provide this TSC frequency: without a pinned frequency \
           live migration is refused (\"non-migratable CPU device (invtsc flag)\")",
    source: "QEMU target/i386/cpu.c, invtsc and tsc-frequency (10.0); libvirt CPU feature invtsc \
             (11.3)",
    offer: hypervisor::expose_invariant_tsc,
};

/// Xen native tsc.
pub(crate) const XEN_NATIVE_TSC: Advice = Advice {
    id: "xen-native-tsc",
    layer: Layer::Hypervisor,
    summary: "give the domain a native TSC: Linux 6.3 and later then prefers it",
    risk: "after a migration to a host with another TSC frequency the clock runs at the wrong rate",
    source: "xl.cfg(5), tsc_mode; Linux commit 99a7bcafbd0d (6.3, 2023)",
    offer: hypervisor::xen_native_tsc,
};

/// Virtualbox paravirt.
pub(crate) const VIRTUALBOX_PARAVIRT: Advice = Advice {
    id: "virtualbox-paravirt",
    layer: Layer::Hypervisor,
    summary: "have VirtualBox offer a paravirtual clock, or the real TSC with an offset",
    risk: "TSCVirtualized, UseRealTSC and MaybeUseOffsettedHostTSC stop a VM of VirtualBox 5.0 and \
           later from starting",
    source: "VirtualBox manual, paravirtualization providers (7.2); VirtualBox TM.cpp (4.x to 7)",
    offer: hypervisor::virtualbox,
};

/// Give a timer.
pub(crate) const GIVE_A_TIMER: Advice = Advice {
    id: "give-a-timer",
    layer: Layer::Hypervisor,
    summary: "in a virtual machine: give the guest a second clock, either the hypervisor's own or \
              an emulated PM timer",
    risk: "none for the time; the guest must be restarted",
    source: "libvirt domain format, timer and acpi elements (11.3); Linux drivers/clocksource/Kconfig and \
             arch/x86/Kconfig (7.1, 2026)",
    offer: hypervisor::give_a_timer,
};

/// Equal tsc offsets.
pub(crate) const EQUAL_TSC_OFFSETS: Advice = Advice {
    id: "equal-tsc-offsets",
    layer: Layer::Hypervisor,
    summary: "in a virtual machine: the hypervisor must give all virtual CPUs the same TSC offset; \
              only its operator can fix it; until then a paravirtual clock is the right clocksource",
    risk: "none for the guest",
    source: "oxidecomputer/propolis issues 427 and 455 (2023); KVM_VCPU_TSC_OFFSET (Linux 5.16)",
    offer: hypervisor::equal_offsets,
};

/// Host clock interface.
pub(crate) const HOST_CLOCK_INTERFACE: Advice = Advice {
    id: "host-clock-interface",
    layer: Layer::Hypervisor,
    summary: "in a virtual machine: the hypervisor must state the TSC's frequency or provide a correct clock \
              page; until then let NTP step the clock",
    risk: "steps of the wall clock",
    source: "Linux arch/x86/kernel/tsc.c, calibration order (7.1, 2026)",
    offer: hypervisor::clock_interface,
};

/// Ask the operator.
pub(crate) const ASK_THE_OPERATOR: Advice = Advice {
    id: "ask-the-operator",
    layer: Layer::Hypervisor,
    summary: "in this cloud only the operator of the host can change the guest's hardware: try another \
              instance type, or ask the operator's support",
    risk: "none for the time",
    source: "the cloud by DMI or by the kernel's release; its operator configures the hypervisor",
    offer: hypervisor::ask_the_operator,
};

/// Update firmware.
pub(crate) const UPDATE_FIRMWARE: Advice = Advice {
    id: "update-firmware",
    layer: Layer::Firmware,
    summary: "on bare metal: update the firmware (BIOS, SMM, microcode), because it sets or changes the TSC of \
              single CPUs; no kernel parameter makes such a TSC safe",
    risk: "the usual risk of a firmware update",
    source: "Linux arch/x86/kernel/tsc_sync.c, TSC_ADJUST checks (4.10 and later)",
    offer: hardware::update_firmware,
};

/// Shallow idle.
pub(crate) const SHALLOW_IDLE: Advice = Advice {
    id: "shallow-idle",
    layer: Layer::Boot,
    summary: "keep the CPU out of the idle states in which the TSC stops",
    risk: "more power and heat, less turbo and, on a laptop, a shorter battery life; accepting the \
           slower clock may be the better choice",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, processor.max_cstate, \
             intel_idle.max_cstate (7.1, 2026)",
    offer: hardware::shallow_idle,
};

/// Early khz.
pub(crate) const EARLY_KHZ: Advice = Advice {
    id: "early-khz",
    layer: Layer::Boot,
    summary: "state the TSC's frequency by hand: tsc_early_khz= (5.8 and later), from the host or the \
              data sheet",
    risk: "a wrong figure makes the clock run at the wrong rate, without a message",
    source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc_early_khz= (7.1, 2026)",
    offer: hardware::early_khz,
};

/// Newer kernel.
pub(crate) const NEWER_KERNEL: Advice = Advice {
    id: "newer-kernel",
    layer: Layer::Boot,
    summary: "use a newer kernel: xen has a vDSO path since 4.15, kvm-clock has a lower rating than an invariant TSC \
              since 5.1, one package of AMD CPUs counts as synchronised since 6.12",
    risk: "the usual risk of a kernel update",
    source: "Linux commits 7539b174aef4 (5.1, 2019) and the x86 topology rework (6.12, 2024)",
    offer: hardware::newer_kernel,
};

/// Cheaper reads.
pub(crate) const CHEAPER_READS: Advice = Advice {
    id: "cheaper-reads",
    layer: Layer::Program,
    summary: "read the time less often: use CLOCK_MONOTONIC_COARSE or a cached time if a tick (1 to 10 ms) is \
              precise enough; both cost no system call on any clocksource",
    risk: "the resolution is that of the tick",
    source: "clock_gettime(2); nginx's cached time; Linux vDSO, COARSE clocks (2.6.32 and later)",
    offer: hardware::cheaper_reads,
};

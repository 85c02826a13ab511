//! The advice table: what, risk, and who says so as of when.
//!
//! Clouds and vendors contradict each other and change their minds; [`POLICIES`] records what each
//! says, with the date of the text that was read.

use super::Layer;

/// Version of the table; it changes with every change of its content.
pub const TABLE_VERSION: &str = "2026-11-21";

/// One advice.
#[derive(Clone, Copy, Debug)]
pub struct Advice {
    /// Stable id.
    pub id: &'static str,
    /// Where it acts.
    pub layer: Layer,
    /// What it does.
    pub summary: &'static str,
    /// What it risks.
    pub risk: &'static str,
    /// Who says so, and as of when.
    pub source: &'static str,
}

/// Every advice.
pub const ADVICE: &[Advice] = &[
    Advice {
        id: "switch-to-tsc-now",
        layer: Layer::Runtime,
        summary: "choose tsc in the running kernel",
        risk: "if the TSCs of two CPUs differ, time goes backwards between them: run a cross-CPU check \
               first; the choice is lost at reboot; a guest that is restored or moved keeps a stale wall \
               clock until NTP steps it",
        source: "Linux Documentation/timers/timekeeping.rst; EC2 advice in awslabs/amazon-eks-ami PR 2144 \
                 (2025)",
    },
    Advice {
        id: "keep-tsc-at-boot",
        layer: Layer::Boot,
        summary: "make tsc the choice of every boot",
        risk: "as above; a name that does not exist is ignored without a message, so check after the boot",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt, clocksource= (7.1, 2026)",
    },
    Advice {
        id: "remove-parameter",
        layer: Layer::Boot,
        summary: "take the parameter off the kernel command line",
        risk: "somebody put it there: find out why before the next boot",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (7.1, 2026)",
    },
    Advice {
        id: "clear-override",
        layer: Layer::Runtime,
        summary: "let the kernel choose again, and find what writes the choice",
        risk: "none for the time: the kernel switches to the best source that it trusts",
        source: "kernel/time/clocksource.c, current_clocksource_store(): an empty write clears the choice \
                 (all versions)",
    },
    Advice {
        id: "reboot-to-restore",
        layer: Layer::Runtime,
        summary: "a demoted TSC stays demoted until the next boot; a reboot brings it back",
        risk: "the outage of a reboot; without another change it can happen again",
        source: "kernel/time/clocksource.c, __clocksource_unstable() (all versions)",
    },
    Advice {
        id: "tsc-nowatchdog",
        layer: Layer::Boot,
        summary: "boot with tsc=nowatchdog: the reference no longer judges the TSC, the test between CPUs \
                  stays",
        risk: "a TSC that really drifts later is no longer noticed: check it with clocksmith verify, and \
               keep NTP running",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc=nowatchdog, since 5.2 (7.1, \
                 2026)",
    },
    Advice {
        id: "tsc-reliable",
        layer: Layer::Boot,
        summary: "boot with tsc=reliable: no watchdog, and no test between CPUs (3.3 and later)",
        risk: "if the TSCs of two CPUs differ, time goes backwards between them and nothing reports it",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc=reliable (7.1, 2026); \
                 arch/x86/kernel/tsc_sync.c",
    },
    Advice {
        id: "hide-hpet",
        layer: Layer::Hypervisor,
        summary: "take the emulated HPET away from the guest: it is a slow reference and a worse clock",
        risk: "a guest without TSC and paravirtual clock then falls to acpi_pm, which is slower still",
        source: "libvirt domain format, timer element (11.3); QEMU pc machine option hpet=off (10.0)",
    },
    Advice {
        id: "newer-kernel-watchdog",
        layer: Layer::Boot,
        summary: "use a newer kernel: since 5.16 a TSC that is constant, nonstop and adjustable is not \
                  watched on small machines (4 nodes since 6.6, 4 packages since 6.12)",
        risk: "that of any kernel update",
        source: "Linux commit b50db7095fe0 (5.16, 2021); 2ed08e4bc532 area, x86/tsc (6.6, 6.12)",
    },
    Advice {
        id: "newer-kernel",
        layer: Layer::Boot,
        summary: "use a newer kernel: xen has a vDSO path since 4.15, kvm-clock steps back behind an \
                  invariant TSC since 5.1, one package of AMD CPUs counts as synchronised since 6.12",
        risk: "that of any kernel update",
        source: "Linux commits 7539b174aef4 (5.1, 2019) and the x86 topology rework (6.12, 2024)",
    },
    Advice {
        id: "expose-invariant-tsc",
        layer: Layer::Hypervisor,
        summary: "give the guest an invariant TSC",
        risk: "the guest is tied to hosts that can give this TSC frequency: without a pinned frequency \
               live migration is refused (\"non-migratable CPU device (invtsc flag)\")",
        source: "QEMU target/i386/cpu.c, invtsc and tsc-frequency (10.0); libvirt CPU feature invtsc \
                 (11.3)",
    },
    Advice {
        id: "xen-native-tsc",
        layer: Layer::Hypervisor,
        summary: "give the domain a native TSC: Linux 6.3 and later then prefers it",
        risk: "after a migration to a host with another TSC frequency the clock runs wrong",
        source: "xl.cfg(5), tsc_mode; Linux commit 99a7bcafbd0d (6.3, 2023)",
    },
    Advice {
        id: "virtualbox-paravirt",
        layer: Layer::Hypervisor,
        summary: "let VirtualBox offer a paravirtual clock, or the real TSC with an offset",
        risk: "TSCVirtualized, UseRealTSC and MaybeUseOffsettedHostTSC stop a VM of VirtualBox 5.0 and \
               later from starting",
        source: "VirtualBox manual, paravirtualization providers (7.2); VirtualBox TM.cpp (4.x to 7)",
    },
    Advice {
        id: "equal-tsc-offsets",
        layer: Layer::Hypervisor,
        summary: "in a virtual machine: the hypervisor must give all virtual CPUs the same TSC offset; \
                  only its operator can fix it, and a paravirtual clock is the way around",
        risk: "none for the guest",
        source: "oxidecomputer/propolis issues 427 and 455 (2023); KVM_VCPU_TSC_OFFSET (Linux 5.16)",
    },
    Advice {
        id: "host-on-tsc",
        layer: Layer::Hypervisor,
        summary: "the host itself must run on its TSC (or on Hyper-V's page): only then does it publish \
                  the stable bit that the guest's vDSO needs; run clocksmith why on the host",
        risk: "see the host's own diagnosis",
        source: "arch/x86/kvm/x86.c, pvclock_update_vm_gtod_copy() (3.8 and later)",
    },
    Advice {
        id: "host-clock-interface",
        layer: Layer::Hypervisor,
        summary: "in a virtual machine: the hypervisor must state the TSC's frequency or a right clock \
                  page; until then let NTP step the clock",
        risk: "steps of the wall clock",
        source: "Linux arch/x86/kernel/tsc.c, calibration order (7.1, 2026)",
    },
    Advice {
        id: "update-firmware",
        layer: Layer::Firmware,
        summary: "on bare metal: update firmware (BIOS, SMM, microcode), which sets or changes the TSC of \
                  single CPUs; no kernel parameter is safe for that",
        risk: "that of any firmware update",
        source: "Linux arch/x86/kernel/tsc_sync.c, TSC_ADJUST checks (4.10 and later)",
    },
    Advice {
        id: "shallow-idle",
        layer: Layer::Boot,
        summary: "keep the CPU out of the idle states in which the TSC stops",
        risk: "more power and heat, less turbo; on a laptop, battery life. Accepting the slower clock may \
               be the better choice",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt, processor.max_cstate, \
                 intel_idle.max_cstate (7.1, 2026)",
    },
    Advice {
        id: "early-khz",
        layer: Layer::Boot,
        summary: "state the TSC's frequency by hand: tsc_early_khz= (5.8 and later), from the host or the \
                  data sheet",
        risk: "a wrong figure makes the clock run at the wrong rate, without a message",
        source: "Linux Documentation/admin-guide/kernel-parameters.txt, tsc_early_khz= (7.1, 2026)",
    },
    Advice {
        id: "cheaper-reads",
        layer: Layer::Program,
        summary: "read the time less: CLOCK_MONOTONIC_COARSE or a cached time where a tick (1 to 10 ms) \
                  is precise enough; it costs no system call on any clocksource",
        risk: "the resolution is that of the tick",
        source: "clock_gettime(2); nginx's cached time; Linux vDSO, COARSE clocks (2.6.32 and later)",
    },
];

/// Looks an advice up.
#[must_use]
pub fn find(id: &str) -> Option<&'static Advice> {
    ADVICE.iter().find(|advice| advice.id == id)
}

/// What a cloud or vendor recommends.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Who.
    pub who: &'static str,
    /// For which machines.
    pub machines: &'static str,
    /// What they recommend.
    pub says: &'static str,
    /// Where, and as of when.
    pub source: &'static str,
}

/// Recommendations that were read, oldest first for each vendor.
pub const POLICIES: &[Policy] = &[
    Policy {
        who: "AWS",
        machines: "EC2 Nitro",
        says: "kvm-clock",
        source: "awslabs/amazon-eks-ami PR 1328 (2023), bottlerocket issue 3881",
    },
    Policy {
        who: "AWS",
        machines: "EC2, all x86",
        says: "tsc (the EKS image adds tsc=reliable, which switches every check off)",
        source: "awslabs/amazon-eks-ami PR 2144 (2025)",
    },
    Policy {
        who: "ScyllaDB",
        machines: "KVM, EC2, GCE",
        says: "kvm-clock, else tsc; the machine image sets clocksource=tsc tsc=reliable",
        source: "seastar perftune.py and scylla-machine-image (2026)",
    },
    Policy {
        who: "SAP",
        machines: "bare metal and AWS",
        says: "tsc",
        source: "SAP/arp142-hana checks 0300 to 0310 (2026)",
    },
    Policy {
        who: "SAP",
        machines: "GCE; other KVM; Hyper-V; POWER",
        says: "tsc or kvm-clock; kvm-clock; hyperv_clocksource_tsc_page; timebase",
        source: "SAP/arp142-hana checks 0300 to 0310 (2026)",
    },
    Policy {
        who: "Microsoft",
        machines: "Azure",
        says: "tsc where the invariant TSC is granted, else hyperv_clocksource_tsc_page; both are fast",
        source: "docs.kernel.org virt/hyperv/clocks (2025)",
    },
];

//! The rules about manifests of KubeVirt.

use crate::finding::{Rule, Severity};

pub(crate) static WINDOWS_OK: Rule = Rule {
    id: "kv-windows-clock-ok",
    severity: Severity::Info,
    summary: "the clock of a Windows guest as it should be",
    why: "no HPET, the reference TSC page, the RTC catches up",
    risk: "None.",
    source: "KubeVirt examples/vmi-windows.yaml (d923fdb8)",
};

pub(crate) static HPET_ON: Rule = Rule {
    id: "kv-hpet-on",
    severity: Severity::Warn,
    summary: "an HPET is asked for",
    why: "each read of it leaves the guest, and it becomes the clocksource as soon as the TSC \
        is distrusted",
    risk: "None for Linux, Windows and the BSDs.",
    source: "KubeVirt pkg/virt-launcher/virtwrap/converter; QEMU hw/timer/hpet.c",
};

pub(crate) static HYPERV_MISSING: Rule = Rule {
    id: "kv-hyperv-timer-missing",
    severity: Severity::Warn,
    summary: "a Windows guest without the timer hyperv",
    why: "its clock becomes the ACPI PM timer or the HPET, each read of which leaves the guest",
    risk: "None; every Windows since Vista knows it.",
    source: "KubeVirt user guide, Windows; QEMU docs/system/i386/hyperv.rst",
};

pub(crate) static INVTSC_PINS: Rule = Rule {
    id: "kv-invtsc-node-frequency",
    severity: Severity::Info,
    summary: "invtsc: the machine starts only on nodes whose TSC frequency fits",
    why: "KubeVirt fixes the frequency of the guest to that of its first node; migration goes \
        to nodes with TSC scaling or within 250 ppm. \"must have tsc frequency defined in \
        order to boot\" where no node tells its frequency",
    risk: "Fewer nodes to migrate to.",
    source: "KubeVirt pkg/virt-controller/watch/topology (d923fdb8)",
};

pub(crate) static INVTSC_OFF: Rule = Rule {
    id: "kv-invtsc-disabled",
    severity: Severity::Warn,
    summary: "the invariant TSC is taken away",
    why: "without it kvm-clock stays the clocksource, and a guest without kvm-clock ends at \
        hpet or acpi_pm",
    risk: "With invtsc the machine needs a node whose TSC frequency fits.",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init()",
};

pub(crate) static REENLIGHTENMENT: Rule = Rule {
    id: "kv-reenlightenment-frequency",
    severity: Severity::Info,
    summary: "reenlightenment: migration needs a fixed TSC frequency",
    why: "KubeVirt then asks for nodes with a TSC frequency that fits",
    risk: "Fewer nodes to migrate to.",
    source: "KubeVirt pkg/virt-controller/watch/topology (d923fdb8)",
};

pub(crate) static KVM_OFF: Rule = Rule {
    id: "kv-kvm-hidden",
    severity: Severity::Warn,
    summary: "KVM is hidden from the guest",
    why: "the guest finds no kvm-clock; a Linux guest without an invariant TSC ends at hpet or \
        acpi_pm",
    risk: "Some drivers refuse to work in a guest that sees KVM.",
    source: "KubeVirt api-reference, FeatureKVM.hidden; Linux kvm_detect()",
};

pub(crate) static KVMTIMER_OFF: Rule = Rule {
    id: "kv-kvmclock-off-no-invtsc",
    severity: Severity::Error,
    summary: "the timer kvm is taken away, and the TSC is not invariant",
    why: "a Linux guest has no clock left but a TSC that it may distrust; then it reads hpet \
        or acpi_pm",
    risk: "None.",
    source: "KubeVirt api-reference, KVMTimer; Linux kvmclock_init()",
};

pub(crate) static KVMTIMER_OFF_OK: Rule = Rule {
    id: "kv-kvmclock-off",
    severity: Severity::Info,
    summary: "the timer kvm is taken away",
    why: "right for Windows, and harmless with an invariant TSC",
    risk: "None.",
    source: "KubeVirt api-reference, KVMTimer",
};

pub(crate) static CATCHUP: Rule = Rule {
    id: "kv-tickpolicy-catchup-linux",
    severity: Severity::Info,
    summary: "lost ticks are caught up",
    why: "that is for guests that count ticks; Linux does not",
    risk: "None for Linux; Windows wants it for the RTC.",
    source: "KubeVirt api-reference, RTCTimer, PITTimer",
};

pub(crate) static NO_INVTSC: Rule = Rule {
    id: "kv-no-invtsc",
    severity: Severity::Info,
    summary: "no invariant TSC: a Linux guest stays on kvm-clock",
    why: "that is well: kvm-clock is read without a system call",
    risk: "invtsc needs a node whose TSC frequency fits.",
    source: "KubeVirt docs; Linux kvmclock_init()",
};

pub(crate) static HYPERVISOR_HIDDEN: Rule = Rule {
    id: "kv-hypervisor-hidden",
    severity: Severity::Error,
    summary: "the hypervisor bit is hidden from the guest",
    why: "without it a guest looks for no paravirtual clock at all; only an invariant TSC is \
        left, and else hpet or acpi_pm",
    risk: "Programs that refuse to run in a virtual machine see that it is one.",
    source: "Linux arch/x86/kernel/cpu/hypervisor.c detect_hypervisor_vendor()",
};

/// All of them.
pub(crate) static RULES: [&Rule; 12] = [
    &WINDOWS_OK,
    &HPET_ON,
    &HYPERV_MISSING,
    &INVTSC_PINS,
    &INVTSC_OFF,
    &REENLIGHTENMENT,
    &KVM_OFF,
    &KVMTIMER_OFF,
    &KVMTIMER_OFF_OK,
    &CATCHUP,
    &NO_INVTSC,
    &HYPERVISOR_HIDDEN,
];

//! The rules about machines of Proxmox VE.

use crate::finding::{Rule, Severity};

pub(crate) static ARGS_CPU: Rule = Rule {
    id: "pve-args-cpu-override",
    severity: Severity::Error,
    summary: "a -cpu in args replaces the one that Proxmox VE makes",
    why: "QEMU keeps the last -cpu whole: cpu:, its flags, and the hv- properties for Windows \
        never reach it",
    risk: "The CPU that the guest sees may change.",
    source: "qemu-server, PVE/QemuServer.pm config_to_command(): args come last; tried with QEMU \
        7.2",
};

pub(crate) static HOST_NO_INVTSC: Rule = Rule {
    id: "pve-host-no-invtsc",
    severity: Severity::Info,
    summary: "no invariant TSC: a Linux guest stays on kvm-clock",
    why: "QEMU leaves invtsc out of a machine that may migrate; kvm-clock is read without a \
        system call, so that is well",
    risk: "invtsc forbids migration, snapshots with memory and hibernation unless a frequency \
        is fixed.",
    source: "qemu-server, PVE/QemuServer.pm get_cpu_options(); QEMU target/i386/cpu.c, \
        unmigratable_flags",
};

pub(crate) static KVM_HIDDEN: Rule = Rule {
    id: "pve-kvm-hidden",
    severity: Severity::Warn,
    summary: "hidden=1 hides KVM from the guest",
    why: "the guest finds no kvm-clock; a Linux guest without an invariant TSC ends at hpet or \
        acpi_pm. Windows is well: it gets hv-time",
    risk: "Some drivers (old NVIDIA ones) refuse to work in a guest that sees KVM.",
    source: "qemu-server, PVE/QemuServer.pm get_cpu_options(), hidden; Linux kvm_detect()",
};

pub(crate) static KVM_DISABLED: Rule = Rule {
    id: "pve-kvm-disabled",
    severity: Severity::Warn,
    summary: "kvm: 0: the machine is emulated",
    why: "every instruction is slow, the TSC is emulated, and there is no kvm-clock",
    risk: "None, where the host has hardware virtualisation.",
    source: "qm.conf(5), kvm",
};

pub(crate) static OSTYPE_MISSING: Rule = Rule {
    id: "pve-ostype-missing",
    severity: Severity::Info,
    summary: "no ostype: defaults for a Windows or Linux guest are not applied",
    why: "Proxmox VE chooses the HPET, hv-time and the RTC's policy by it",
    risk: "None.",
    source: "qemu-server, PVE/QemuServer.pm config_to_command()",
};

pub(crate) static OSTYPE_WRONG: Rule = Rule {
    id: "pve-ostype-windows-unset",
    severity: Severity::Warn,
    summary: "a Windows guest whose ostype does not say so",
    why: "Proxmox VE gives hv-time and the other hv- properties to ostype win7 and later only",
    risk: "Windows may find new hardware at the next start.",
    source: "qemu-server, PVE/QemuServer.pm add_hyperv_enlightenments()",
};

pub(crate) static TDF: Rule = Rule {
    id: "pve-tdf",
    severity: Severity::Info,
    summary: "tdf is for guests that count ticks",
    why: "it does nothing for Linux, and an ostype of Windows sets what Windows needs",
    risk: "None.",
    source: "qm.conf(5), tdf",
};

/// All of them.
pub(crate) static RULES: [&Rule; 7] =
    [&ARGS_CPU, &HOST_NO_INVTSC, &KVM_HIDDEN, &KVM_DISABLED, &OSTYPE_MISSING, &OSTYPE_WRONG, &TDF];

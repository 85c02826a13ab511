//! The rules about command lines of QEMU.

use crate::finding::{Rule, Severity};

pub(crate) static HPET_ON: Rule = Rule {
    id: "q-hpet-on",
    severity: Severity::Warn,
    summary: "an HPET is asked for",
    why: "each read of it leaves the guest (memory-mapped I/O, about a microsecond and more), \
        and it becomes the clocksource as soon as the TSC is distrusted",
    risk: "None for Linux, Windows and the BSDs; a saved state of this machine does not load \
        without it.",
    source: "QEMU hw/timer/hpet.c and hw/i386/pc.c pc_machine_set_hpet(), since 5.2",
};

pub(crate) static HPET_DEFAULT: Rule = Rule {
    id: "q-hpet-default-on",
    severity: Severity::Warn,
    summary: "the machine has an HPET, because QEMU gives one to pc and q35 unless told otherwise",
    why: "each read of it leaves the guest, and it becomes the clocksource as soon as the TSC \
        is distrusted",
    risk: "None for Linux, Windows and the BSDs; a saved state of this machine does not load \
        without it.",
    source: "QEMU hw/i386/pc.c pc_machine_initfn(), hpet_enabled = true; -machine hpet= since 5.2",
};

pub(crate) static NO_HPET: Rule = Rule {
    id: "q-no-hpet-removed",
    severity: Severity::Error,
    summary: "-no-hpet is no option of QEMU any more, so the machine does not start",
    why: "QEMU 9.0 removed it, with -no-acpi",
    risk: "Before QEMU 5.2 there is no -machine hpet=off.",
    source: "QEMU docs/about/removed-features.rst, -no-hpet (removed in 9.0)",
};

pub(crate) static NO_ACPI: Rule = Rule {
    id: "q-no-acpi-removed",
    severity: Severity::Error,
    summary: "-no-acpi is no option of QEMU any more, so the machine does not start",
    why: "QEMU 9.0 removed it; without ACPI a guest has neither the ACPI PM timer nor a table \
        of its HPET",
    risk: "None.",
    source: "QEMU docs/about/removed-features.rst, -no-acpi (removed in 9.0)",
};

pub(crate) static CPU_REPEATED: Rule = Rule {
    id: "q-cpu-repeated",
    severity: Severity::Warn,
    summary: "there is more than one -cpu, and only the last one counts",
    why: "QEMU keeps the last -cpu whole; properties of the others (hv-time, invtsc, kvmclock) \
        are lost without a word",
    risk: "None: the others do nothing today.",
    source: "tried with QEMU 7.2; system/vl.c, QEMU_OPTION_cpu",
};

pub(crate) static KVM_OFF: Rule = Rule {
    id: "q-kvm-off",
    severity: Severity::Warn,
    summary: "kvm=off hides KVM from the guest",
    why: "the guest finds no kvm-clock; a Linux guest without an invariant TSC ends at hpet or \
        acpi_pm. Windows is well if it has hv-time",
    risk: "Some drivers (old NVIDIA ones) refuse to work in a guest that sees KVM; hv-vendor-id \
        hides as much of it as they look at.",
    source: "QEMU target/i386/cpu.c x86_cpu_realizefn(), expose_kvm; Linux arch/x86/kernel/kvm.c \
        kvm_detect()",
};

pub(crate) static HYPERVISOR_OFF: Rule = Rule {
    id: "q-hypervisor-hidden",
    severity: Severity::Error,
    summary: "the hypervisor bit is hidden from the guest",
    why: "without CPUID 1 ECX[31] a guest looks for no paravirtual clock at all: neither \
        kvm-clock nor the reference page of Hyper-V; only an invariant TSC is left, and else \
        hpet or acpi_pm",
    risk: "Programs that refuse to run in a virtual machine see that it is one.",
    source: "Linux arch/x86/kernel/cpu/hypervisor.c detect_hypervisor_vendor() and kvm.c \
        kvm_cpuid_base()",
};

pub(crate) static KVMCLOCK_OFF_NO_INVTSC: Rule = Rule {
    id: "q-kvmclock-off-no-invtsc",
    severity: Severity::Error,
    summary: "kvm-clock is taken away, and the TSC is not invariant",
    why: "a Linux guest has no clock left but a TSC that it may distrust; then it reads hpet \
        or acpi_pm, each time with a system call and an exit",
    risk: "None, for a guest that may see KVM.",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init(); QEMU target/i386/kvm/kvm-cpu.c",
};

pub(crate) static KVMCLOCK_OFF: Rule = Rule {
    id: "q-kvmclock-off",
    severity: Severity::Info,
    summary: "kvm-clock is taken away",
    why: "right for Windows, and harmless with an invariant TSC",
    risk: "After a migration or a restored snapshot, the wall clock of a Linux guest on tsc is \
        late by the pause.",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init()",
};

pub(crate) static RDTSCP_OFF: Rule = Rule {
    id: "q-rdtscp-off",
    severity: Severity::Warn,
    summary: "RDTSCP is taken away",
    why: "the vDSO must use lfence and rdtsc, and a program that uses rdtscp without asking \
        ends with an illegal instruction",
    risk: "Programs that time RDTSCP to find out that they are in a virtual machine may find \
        out.",
    source: "Linux arch/x86/include/asm/msr.h rdtsc_ordered()",
};

pub(crate) static TSC_DEADLINE_OFF: Rule = Rule {
    id: "q-tsc-deadline-off",
    severity: Severity::Warn,
    summary: "the TSC deadline timer is taken away",
    why: "the guest sets its timers by the count register of the APIC, which is coarser and \
        must be calibrated",
    risk: "None; a guest with the feature cannot migrate to a machine without it.",
    source: "Linux arch/x86/kernel/apic/apic.c __setup_APIC_LVTT()",
};

pub(crate) static INVTSC_MIGBLOCK: Rule = Rule {
    id: "q-invtsc-migblock",
    severity: Severity::Warn,
    summary: "invtsc without tsc-frequency: this machine can neither migrate nor be saved",
    why: "QEMU refuses both: \"State blocked by non-migratable CPU device (invtsc flag)\"",
    risk: "With tsc-frequency the machine starts only where the frequency can be given: within \
        250 ppm of the host, or with TSC scaling.",
    source: "QEMU target/i386/cpu.c x86_cpu_definitions, unmigratable_flags; \
        target/i386/kvm/kvm.c kvm_arch_init_vcpu(), invtsc_mig_blocker; since 2.0, \
        tsc-frequency since 2.9",
};

pub(crate) static INVTSC_FREQ_OK: Rule = Rule {
    id: "q-invtsc-freq-ok",
    severity: Severity::Info,
    summary: "invtsc with a fixed frequency",
    why: "the one way to an invariant TSC that can migrate",
    risk: "The machine starts only where the frequency can be given: within 250 ppm of the \
        host, or with TSC scaling.",
    source: "QEMU target/i386/kvm/kvm.c kvm_arch_set_tsc_khz(), since 2.9",
};

pub(crate) static INVTSC_CONDITIONAL: Rule = Rule {
    id: "q-invtsc-conditional-ok",
    severity: Severity::Info,
    summary: "invtsc is asked for only where the host has it",
    why: "the script looks first; a machine that has it can still neither migrate nor be saved \
        without tsc-frequency",
    risk: "None.",
    source: "QEMU target/i386/cpu.c unmigratable_flags",
};

pub(crate) static INVTSC_OFF: Rule = Rule {
    id: "q-invtsc-disabled",
    severity: Severity::Warn,
    summary: "the invariant TSC is taken away",
    why: "without it kvm-clock stays the clocksource, and a guest without kvm-clock ends at \
        hpet or acpi_pm",
    risk: "With invtsc and no tsc-frequency the machine can neither migrate nor be saved.",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init(), since 5.1",
};

pub(crate) static INVTSC_TCG: Rule = Rule {
    id: "q-invtsc-tcg",
    severity: Severity::Warn,
    summary: "invtsc does nothing without KVM",
    why: "the emulator does not offer it: \"TCG doesn't support requested feature: \
        CPUID.80000007H:EDX.invtsc\"",
    risk: "None.",
    source: "QEMU target/i386/cpu.c TCG_APM_FEATURES = 0",
};

pub(crate) static MIGRATABLE_NAMED: Rule = Rule {
    id: "q-migratable-named-model",
    severity: Severity::Error,
    summary: "migratable= is a property of the models host and max only: the machine does not \
        start",
    why: "\"Property IvyBridge-x86_64-cpu.migratable not found\"",
    risk: "None.",
    source: "QEMU target/i386/cpu.c max_x86_cpu_initfn(); tried with QEMU 7.2",
};

pub(crate) static NO_INVTSC: Rule = Rule {
    id: "q-no-invtsc",
    severity: Severity::Info,
    summary: "no invariant TSC: a Linux guest stays on kvm-clock",
    why: "that is well: kvm-clock is read without a system call. tsc is a little faster, and \
        needs invtsc",
    risk: "invtsc without tsc-frequency forbids migration and saving.",
    source: "QEMU target/i386/cpu.c unmigratable_flags; Linux kvmclock_init()",
};

pub(crate) static FREQ_ALONE: Rule = Rule {
    id: "q-frequency-without-invtsc",
    severity: Severity::Info,
    summary: "a TSC frequency without invtsc",
    why: "the guest has a TSC of that frequency, and stays on kvm-clock all the same",
    risk: "The machine starts only where the frequency can be given.",
    source: "QEMU target/i386/kvm/kvm.c kvm_arch_set_tsc_khz()",
};

pub(crate) static HV_TIME_MISSING: Rule = Rule {
    id: "q-hv-time-missing",
    severity: Severity::Warn,
    summary: "Windows without hv-time: no reference TSC page",
    why: "its clock becomes the ACPI PM timer or the HPET, each read of which leaves the guest",
    risk: "None; hv-time is in every Windows since Vista.",
    source: "QEMU docs/system/i386/hyperv.rst, hv-time",
};

pub(crate) static GUEST_NOTSC: Rule = Rule {
    id: "q-guest-notsc",
    severity: Severity::Warn,
    summary: "the guest's own command line forbids the TSC",
    why: "\"Marking TSC unstable due to boot parameter notsc\": with kvm-clock it is only a \
        pity, without it the clock is hpet or acpi_pm",
    risk: "Whoever wrote it had a reason once, such as a host whose TSC stopped.",
    source: "Linux arch/x86/kernel/tsc.c notsc_setup(); Linux 6.1 tried",
};

pub(crate) static GUEST_CLOCKSOURCE: Rule = Rule {
    id: "q-guest-clocksource",
    severity: Severity::Warn,
    summary: "the guest's own command line chooses a slow clocksource",
    why: "each read is a system call that leaves the guest",
    risk: "None, if the TSC or kvm-clock is sound: the kernel chooses by itself.",
    source: "Linux kernel/time/clocksource.c boot_override_clocksource()",
};

pub(crate) static GUEST_RELIABLE: Rule = Rule {
    id: "q-guest-tsc-reliable",
    severity: Severity::Warn,
    summary: "the guest's own command line says tsc=reliable",
    why: "it turns the watchdog off for good, and on several processors the test of their \
        synchronism",
    risk: "A TSC that is faulty goes unseen; without the parameter the kernel may fall back to \
        a slower clock.",
    source: "Linux arch/x86/kernel/tsc.c tsc_setup()",
};

/// All of them.
pub(crate) static RULES: [&Rule; 23] = [
    &HPET_ON,
    &HPET_DEFAULT,
    &NO_HPET,
    &NO_ACPI,
    &CPU_REPEATED,
    &KVM_OFF,
    &HYPERVISOR_OFF,
    &KVMCLOCK_OFF_NO_INVTSC,
    &KVMCLOCK_OFF,
    &RDTSCP_OFF,
    &TSC_DEADLINE_OFF,
    &INVTSC_MIGBLOCK,
    &INVTSC_FREQ_OK,
    &INVTSC_CONDITIONAL,
    &INVTSC_OFF,
    &INVTSC_TCG,
    &MIGRATABLE_NAMED,
    &NO_INVTSC,
    &FREQ_ALONE,
    &HV_TIME_MISSING,
    &GUEST_NOTSC,
    &GUEST_CLOCKSOURCE,
    &GUEST_RELIABLE,
];

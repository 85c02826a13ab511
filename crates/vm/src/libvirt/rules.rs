//! The rules about domains of libvirt. What is true of QEMU's option as well has its words from there.

use crate::finding::{Rule, Severity};
use crate::qemu::rules as qemu;

pub(crate) static CPU_OVERRIDE: Rule = Rule {
    id: "lv-cpu-override",
    severity: Severity::Error,
    summary: "a -cpu in qemu:commandline replaces the one that libvirt makes",
    why: "QEMU keeps the last -cpu whole: <cpu>, hv-time of <timer name='hypervclock'>, \
        <hyperv>, kvmclock and the TSC frequency never reach it, and libvirt still believes \
        in them",
    risk: "The CPU that the guest sees may change: Windows may ask to be activated anew.",
    source: "tried with QEMU 7.2; libvirt src/qemu/qemu_command.c (11.3.0) \
        qemuBuildCommandLine(): the arguments come last",
};

pub(crate) static OVERRIDE_LOSES: Rule = Rule {
    id: "lv-override-loses-clock",
    severity: Severity::Warn,
    summary: "what the file asks for the clock is lost by the -cpu in qemu:commandline",
    why: "the last -cpu counts whole, and this is not in it",
    risk: "None: it is what the file says elsewhere.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0) qemuBuildCpuCommandLine()",
};

pub(crate) static HPET_ON: Rule = Rule {
    id: "lv-hpet-on",
    severity: Severity::Warn,
    summary: "an HPET is asked for",
    why: "each read of it leaves the guest (memory-mapped I/O), it costs the host timers, and \
        it becomes the clocksource as soon as the TSC is distrusted",
    risk: "None for Linux, Windows and the BSDs; a saved state of this machine does not load \
        without it.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0) qemuBuildMachineCommandLine(); QEMU \
        hw/timer/hpet.c",
};

pub(crate) static HPET_DEFAULT: Rule = Rule {
    id: "lv-hpet-default-on",
    severity: Severity::Warn,
    summary: "nothing is said of the HPET, so the guest has one",
    why: "QEMU gives one to pc and q35 unless told otherwise; each read of it leaves the \
        guest, and it becomes the clocksource as soon as the TSC is distrusted",
    risk: "None for Linux, Windows and the BSDs; a saved state of this machine does not load \
        without it.",
    source: "QEMU hw/i386/pc.c pc_machine_initfn(); libvirt src/qemu/qemu_command.c (11.3.0): \
        hpet only where present= stands",
};

pub(crate) static HYPERVCLOCK_OK: Rule = Rule {
    id: "lv-hypervclock-ok",
    severity: Severity::Info,
    summary: "the reference TSC page of Hyper-V",
    why: "right for Windows, harmless for Linux",
    risk: "None.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0) qemuBuildCpuCommandLine(), hv-time=on",
};

pub(crate) static HYPERVCLOCK_MISSING: Rule = Rule {
    id: "lv-hypervclock-missing",
    severity: Severity::Warn,
    summary: "a Windows guest without the reference TSC page",
    why: "its clock becomes the ACPI PM timer or the HPET, each read of which leaves the guest",
    risk: "None; every Windows since Vista knows it. Programs that look for a virtual machine \
        see Hyper-V.",
    source: "QEMU docs/system/i386/hyperv.rst, hv-time; libvirt src/qemu/qemu_command.c (11.3.0)",
};

pub(crate) static HYPERVISOR_HIDDEN: Rule = Rule {
    id: "lv-hypervisor-hidden",
    severity: Severity::Error,
    summary: "the hypervisor bit is hidden from the guest",
    why: "without it a guest looks for no paravirtual clock at all: neither kvm-clock nor the \
        reference page of Hyper-V; only an invariant TSC is left, and else hpet or acpi_pm",
    risk: "Programs that refuse to run in a virtual machine see that it is one.",
    source: "Linux arch/x86/kernel/cpu/hypervisor.c detect_hypervisor_vendor()",
};

pub(crate) static KVM_HIDDEN: Rule = Rule {
    id: "lv-kvm-hidden",
    severity: Severity::Warn,
    summary: "KVM is hidden from the guest",
    why: "the guest finds no kvm-clock; a Linux guest without an invariant TSC ends at hpet or \
        acpi_pm. Windows is well with hypervclock",
    risk: "Some drivers (old NVIDIA ones) refuse to work in a guest that sees KVM; <vendor_id> \
        hides as much of it as they look at.",
    source: "Linux arch/x86/kernel/kvm.c kvm_detect(); libvirt src/qemu/qemu_command.c (11.3.0), \
        kvm=off",
};

pub(crate) static INVTSC_DISABLED: Rule = Rule {
    id: "lv-invtsc-disabled",
    severity: Severity::Warn,
    summary: "the invariant TSC is taken away",
    why: "without it kvm-clock stays the clocksource, and a guest without kvm-clock ends at \
        hpet or acpi_pm",
    risk: "With invtsc and no frequency the machine can neither migrate nor be saved.",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init(), since 5.1",
};

pub(crate) static INVTSC_FREQ_OK: Rule = Rule {
    id: "lv-invtsc-freq-ok",
    severity: Severity::Info,
    summary: "an invariant TSC with a fixed frequency",
    why: "the one way to an invariant TSC that can migrate",
    risk: "The machine starts only where the frequency can be given: within 250 ppm of the \
        host, or with TSC scaling.",
    source: "libvirt src/qemu/qemu_process.c, TSC_TOLERANCE (11.3.0)",
};

pub(crate) static INVTSC_NO_FREQ: Rule = Rule {
    id: "lv-invtsc-no-freq",
    severity: Severity::Warn,
    summary: "an invariant TSC without a fixed frequency: this machine can neither migrate nor be \
        saved",
    why: "libvirt and QEMU refuse: \"domain has 'invtsc' CPU feature but TSC frequency is not \
        specified\"",
    risk: "With a frequency the machine starts only where it can be given: within 250 ppm of \
        the host, or with TSC scaling.",
    source: "libvirt src/qemu/qemu_migration.c qemuMigrationSrcIsAllowed() (11.3.0); QEMU \
        target/i386/cpu.c, unmigratable_flags",
};

pub(crate) static KVMCLOCK_OFF: Rule = Rule {
    id: "lv-kvmclock-off",
    source: "libvirt src/qemu/qemu_command.c (11.3.0), kvmclock=off",
    ..qemu::KVMCLOCK_OFF
};

pub(crate) static KVMCLOCK_OFF_NO_INVTSC: Rule = Rule {
    id: "lv-kvmclock-off-no-invtsc",
    source: "Linux arch/x86/kernel/kvmclock.c kvmclock_init(); libvirt src/qemu/qemu_command.c \
        (11.3.0)",
    ..qemu::KVMCLOCK_OFF_NO_INVTSC
};

pub(crate) static MIGRATABLE_DEFAULT: Rule = Rule {
    id: "lv-migratable-default",
    severity: Severity::Info,
    summary: "host-passthrough without migratable=: on, so invtsc is filtered out",
    why: "libvirt says migratable=on to QEMU, which then leaves out what cannot migrate",
    risk: "migratable='off' gives invtsc and forbids migration and saving.",
    source: "libvirt tests, cpu-host-passthrough; QEMU target/i386/cpu.c \
        x86_cpu_get_supported_feature_word()",
};

pub(crate) static NO_INVTSC: Rule = Rule {
    id: "lv-no-invtsc",
    severity: Severity::Info,
    summary: "no invariant TSC: a Linux guest stays on kvm-clock",
    why: "that is well: kvm-clock is read without a system call. tsc is a little faster, and \
        needs invtsc",
    risk: "invtsc without a frequency forbids migration and saving.",
    source: "libvirt src/cpu_map/x86_features.xml, invtsc migratable=no; Linux kvmclock_init()",
};

pub(crate) static RDTSCP_OFF: Rule = Rule { id: "lv-rdtscp-off", ..qemu::RDTSCP_OFF };

pub(crate) static TSC_DEADLINE_OFF: Rule =
    Rule { id: "lv-tsc-deadline-off", ..qemu::TSC_DEADLINE_OFF };

pub(crate) static REENLIGHTENMENT: Rule = Rule {
    id: "lv-reenlightenment-no-freq",
    severity: Severity::Info,
    summary: "reenlightenment without a fixed TSC frequency",
    why: "it helps only where the host scales the TSC, or the frequency is fixed",
    risk: "None.",
    source: "QEMU docs/system/i386/hyperv.rst, hv-reenlightenment",
};

pub(crate) static RTC_PIT_NOOP: Rule = Rule {
    id: "lv-rtc-pit-present-noop",
    severity: Severity::Info,
    summary: "present= of this timer does nothing",
    why: "the QEMU driver looks at present= of hpet, kvmclock and hypervclock only",
    risk: "None.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0) qemuBuildClockCommandLine()",
};

pub(crate) static CATCHUP: Rule = Rule {
    id: "lv-tickpolicy-catchup-linux",
    severity: Severity::Info,
    summary: "lost ticks are caught up",
    why: "that is for guests that count ticks; Linux does not, and after a pause it gets a \
        storm of interrupts",
    risk: "None for Linux; Windows wants it for the RTC.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0), driftfix=slew, kvm-pit.lost_tick_policy",
};

pub(crate) static TSC_NOOP: Rule = Rule {
    id: "lv-tsc-timer-noop",
    severity: Severity::Warn,
    summary: "this setting of the tsc timer does nothing",
    why: "the QEMU driver ignores present=, mode= and tickpolicy= of it; only frequency= has \
        an effect. Whoever wrote it wanted an invariant TSC: <feature policy='require' \
        name='invtsc'/>",
    risk: "None: it does nothing today.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0) qemuBuildCpuCommandLine(): \
        VIR_DOMAIN_TIMER_NAME_TSC, frequency only",
};

pub(crate) static DUPLICATE_TIMER: Rule = Rule {
    id: "lv-duplicate-timer",
    severity: Severity::Warn,
    summary: "a timer stands twice",
    why: "libvirt takes both and gives both to QEMU, where the last one counts",
    risk: "None: the first one does nothing today.",
    source: "libvirt src/conf/domain_conf.c, timers are not compared (11.3.0)",
};

pub(crate) static FREQ_ALONE: Rule = Rule {
    id: "lv-frequency-without-invtsc",
    severity: Severity::Info,
    summary: "a TSC frequency without invtsc",
    why: "the guest has a TSC of that frequency, and stays on kvm-clock all the same",
    risk: "The machine starts only where the frequency can be given.",
    source: "libvirt src/qemu/qemu_command.c (11.3.0), tsc-frequency",
};

pub(crate) static XEN_NATIVE_NO_INVTSC: Rule = Rule {
    id: "xen-native-no-invtsc",
    severity: Severity::Warn,
    summary: "a native TSC without ITSC: Linux does not trust it",
    why: "Xen shows an invariant TSC only to a domain that cannot migrate; the guest stays on \
        clocksource xen",
    risk: "A domain with a native TSC and ITSC must never migrate.",
    source: "libvirt src/libxl/libxl_conf.c (11.3.0); xl.cfg(5), nomigrate; xen-tscmode(7)",
};

pub(crate) static XEN_EMULATED: Rule = Rule {
    id: "lv-xen-tsc-emulated",
    severity: Severity::Warn,
    summary: "every read of the TSC is emulated",
    why: "each costs a trap into Xen, fifteen to twenty times a native read",
    risk: "A native TSC changes its rate when the domain migrates to another machine.",
    source: "xen-tscmode(7), always_emulate; libvirt src/libxl/libxl_conf.c (11.3.0)",
};

/// All of them.
pub(crate) static RULES: [&Rule; 25] = [
    &CPU_OVERRIDE,
    &OVERRIDE_LOSES,
    &HPET_ON,
    &HPET_DEFAULT,
    &HYPERVCLOCK_OK,
    &HYPERVCLOCK_MISSING,
    &HYPERVISOR_HIDDEN,
    &KVM_HIDDEN,
    &INVTSC_DISABLED,
    &INVTSC_FREQ_OK,
    &INVTSC_NO_FREQ,
    &KVMCLOCK_OFF,
    &KVMCLOCK_OFF_NO_INVTSC,
    &MIGRATABLE_DEFAULT,
    &NO_INVTSC,
    &RDTSCP_OFF,
    &TSC_DEADLINE_OFF,
    &REENLIGHTENMENT,
    &RTC_PIT_NOOP,
    &CATCHUP,
    &TSC_NOOP,
    &DUPLICATE_TIMER,
    &FREQ_ALONE,
    &XEN_NATIVE_NO_INVTSC,
    &XEN_EMULATED,
];

//! The rules for VirtualBox.

use crate::finding::{Rule, Severity};

const TM: &str = "VirtualBox, src/VBox/VMM/VMMR3/TM.cpp, TMR3Init() (5.0 to 7.x)";
const MANUAL: &str = "VirtualBox manual 7.2, Paravirtualization Providers";

pub(super) const KEY_REFUSED: Rule = Rule {
    id: "vb-key-refuses-start",
    severity: Severity::Error,
    summary: "a TSC key of VirtualBox 4.x: from 5.0 on the machine does not start",
    why: "TSCVirtualized, UseRealTSC and MaybeUseOffsettedHostTSC are one setting since 5.0, TSCMode; 5.0 and later refuse them with VERR_CFGM_CONFIG_UNKNOWN_VALUE, \"no longer supported\"",
    risk: "without the key 4.x traps every read of the TSC on a machine with several vCPUs",
    source: TM,
};

pub(super) const KEY_UNKNOWN: Rule = Rule {
    id: "vb-key-unknown",
    severity: Severity::Error,
    summary: "no such key below VBoxInternal/TM/: the machine does not start",
    why: "TM validates its keys, with their case, and refuses to start with one that it does not know",
    risk: "none in mending it",
    source: TM,
};

pub(super) const TICKS: Rule = Rule {
    id: "vb-ticks-out-of-range",
    severity: Severity::Error,
    summary: "TSCTicksPerSecond is out of range: the machine does not start",
    why: "it is a number of ticks a second, from 1000000 to 4294967295; anything else is a start error, in 4.x as well",
    risk: "a value in the range makes every read of the TSC trap",
    source: TM,
};

pub(super) const MODE_UNKNOWN: Rule = Rule {
    id: "vb-tscmode-unknown",
    severity: Severity::Error,
    summary: "TSCMode has no such value: the machine does not start",
    why: "the value is VirtTSCEmulated, RealTSCOffset or Dynamic, compared with its case; another one is \"Unrecognized TM TSC mode value\"",
    risk: "none in mending it",
    source: TM,
};

pub(super) const WARP_RANGE: Rule = Rule {
    id: "vb-warpdrive-out-of-range",
    severity: Severity::Error,
    summary: "WarpDrivePercentage is out of range: the machine does not start",
    why: "it is a percentage from 2 to 20000",
    risk: "none in mending it",
    source: TM,
};

pub(super) const TIED_SMP: Rule = Rule {
    id: "vb-tied-smp",
    severity: Severity::Error,
    summary: "TSCTiedToExecution with more than one vCPU",
    why: "each vCPU's TSC then stands still while that vCPU does not run, so they drift apart, and time goes backward between vCPUs; it is made for one vCPU only, and it makes every read trap",
    risk: "without it the TSC counts the time in which the guest did not run, as on any other machine",
    source: TM,
};

pub(super) const TIED: Rule = Rule {
    id: "vb-tied",
    severity: Severity::Warn,
    summary: "TSCTiedToExecution: the TSC stands still while the guest does not run",
    why: "it is a setting for measurements; every read of the TSC traps, the guest's clock by TSC falls behind, and on Windows hosts with Hyper-V the machine does not start (\"not supported in NEM mode\")",
    risk: "without it the TSC counts the time in which the guest did not run",
    source: TM,
};

pub(super) const TIED_NEM: Rule = Rule {
    id: "vb-tied-nem",
    severity: Severity::Error,
    summary: "TSCTiedToExecution with the host's hypervisor: the machine does not start",
    why: "\"/TM/TSCTiedToExecution is not supported in NEM mode!\"",
    risk: "none in mending it",
    source: TM,
};

pub(super) const OVERRIDDEN: Rule = Rule {
    id: "vb-key-overridden",
    severity: Severity::Warn,
    summary: "a TSC key that does nothing, since another one overrides it",
    why: "TSCTiedToExecution and TSCTicksPerSecond override the other TSC keys, the warp drive overrides TSCMode, and the host's hypervisor (NEM) overrides them all",
    risk: "what was wanted by the key is not so",
    source: TM,
};

pub(super) const EMULATED: Rule = Rule {
    id: "vb-tsc-forced-emulated",
    severity: Severity::Warn,
    summary: "every read of the TSC traps",
    why: "the setting turns every rdtsc of the guest into an exit of about a microsecond",
    risk: "without it the TSC has the host's own rate",
    source: TM,
};

pub(super) const WARP: Rule = Rule {
    id: "vb-warpdrive",
    severity: Severity::Warn,
    summary: "the warp drive: the guest's time runs at another speed",
    why: "the guest's clocks are wrong by intention, and every read of the TSC traps",
    risk: "what relies on the other speed changes",
    source: TM,
};

pub(super) const SMP: Rule = Rule {
    id: "vb-smp-tsc-emulated",
    severity: Severity::Warn,
    summary: "more than one vCPU without TSCMode: every read of the TSC traps",
    why: "the default with more than one vCPU is VirtTSCEmulated, until the guest turns on a paravirtual TSC (KVM for Linux); on a host whose hypervisor serves the TSC (Hyper-V under Windows) it is not so",
    risk: "RealTSCOffset needs a host whose CPUs' TSCs agree; a saved state restored on another host sees another TSC",
    source: TM,
};

pub(super) const UP: Rule = Rule {
    id: "vb-up-dynamic-tsc",
    severity: Severity::Info,
    summary: "one vCPU: the TSC is the host's with an offset, most of the time",
    why: "the default with one vCPU and a TSC of fixed rate is Dynamic",
    risk: "none",
    source: TM,
};

pub(super) const MODE_REAL: Rule = Rule {
    id: "vb-tscmode-real-ok",
    severity: Severity::Info,
    summary: "the TSC is the host's with an offset: no read traps",
    why: "TSCMode RealTSCOffset; where the host's hypervisor serves the TSC (Hyper-V under Windows), it is ignored",
    risk: "a saved state restored on another host sees another TSC",
    source: TM,
};

pub(super) const MODE_DYNAMIC_SMP: Rule = Rule {
    id: "vb-tscmode-dynamic-smp",
    severity: Severity::Warn,
    summary: "TSCMode Dynamic with more than one vCPU: the TSC can go backward between them",
    why: "the vCPUs switch between the offset and trapped reads without any coordination, which is why it is not the default for them",
    risk: "RealTSCOffset needs a host whose CPUs' TSCs agree",
    source: TM,
};

pub(super) const SWITCH_OFF: Rule = Rule {
    id: "vb-mode-switch-off",
    severity: Severity::Warn,
    summary: "TSCModeSwitchAllowed is off: the guest cannot ask for the real TSC",
    why: "a guest with a paravirtual clock would end the trapping of TSC reads; this forbids it",
    risk: "none known in leaving it at its default",
    source: TM,
};

pub(super) const HPET: Rule = Rule {
    id: "vb-hpet-on",
    severity: Severity::Info,
    summary: "the machine has an HPET",
    why: "macOS needs it; to Linux it is a slow clocksource, taken when the TSC is distrusted",
    risk: "without it Linux falls back to acpi_pm, which is slower still",
    source: "VirtualBox manual 7.2, VBoxManage modifyvm --hpet",
};

pub(super) const KVM_OK: Rule = Rule {
    id: "vb-paravirt-kvm-ok",
    severity: Severity::Info,
    summary: "the guest gets the interface of KVM",
    why: "recommended for Linux: it brings kvm-clock, and lets the guest end the trapping of TSC reads",
    risk: "none",
    source: MANUAL,
};

pub(super) const DEFAULT_LINUX: Rule = Rule {
    id: "vb-paravirt-default-linux-ok",
    severity: Severity::Info,
    summary: "the default provider is KVM for this type of Linux",
    why: "Default depends on the type of the operating system",
    risk: "none",
    source: MANUAL,
};

pub(super) const DEFAULT_OTHER: Rule = Rule {
    id: "vb-paravirt-default-other",
    severity: Severity::Warn,
    summary: "the default provider for an unspecific operating system is none",
    why: "a Linux that is typed \"Other\" gets no KVM interface, so no kvm-clock, and every read of the TSC traps with several vCPUs",
    risk: "none in stating the provider",
    source: MANUAL,
};

pub(super) const NOT_KVM: Rule = Rule {
    id: "vb-paravirt-not-kvm",
    severity: Severity::Warn,
    summary: "a Linux guest without the interface of KVM",
    why: "the manual recommends KVM for Linux; without it there is no kvm-clock, and every read of the TSC traps with several vCPUs",
    risk: "none in stating it",
    source: MANUAL,
};

pub(super) const OS_UNKNOWN: Rule = Rule {
    id: "vb-ostype-unknown",
    severity: Severity::Warn,
    summary: "no type of operating system that VirtualBox knows",
    why: "the default provider depends on the type; an unknown one gets none. Types look like Ubuntu_64, Windows11_64 (VBoxManage list ostypes)",
    risk: "another type changes other defaults, too",
    source: "VirtualBox, src/VBox/Main/src-all/Global.cpp, sOSTypes",
};

/// All of them.
pub(super) const ALL: &[&Rule] = &[
    &KEY_REFUSED,
    &KEY_UNKNOWN,
    &TICKS,
    &MODE_UNKNOWN,
    &WARP_RANGE,
    &TIED_SMP,
    &TIED,
    &TIED_NEM,
    &OVERRIDDEN,
    &EMULATED,
    &WARP,
    &SMP,
    &UP,
    &MODE_REAL,
    &MODE_DYNAMIC_SMP,
    &SWITCH_OFF,
    &HPET,
    &KVM_OK,
    &DEFAULT_LINUX,
    &DEFAULT_OTHER,
    &NOT_KVM,
    &OS_UNKNOWN,
];

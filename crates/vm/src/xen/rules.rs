//! The rules for Xen.

use crate::finding::{Rule, Severity};

const TSCMODE: &str = "Xen, xen-tscmode(7) and xl.cfg(5), 4.20";
const CFG: &str = "Xen, xl.cfg(5), 4.20";

pub(super) const TSC_DEFAULT: Rule = Rule {
    id: "xen-tsc-default",
    severity: Severity::Info,
    summary: "the default TSC mode",
    why: "native when the host's TSC is safe; emulated after a migration to a host of another frequency without scaling",
    risk: "none",
    source: TSCMODE,
};
pub(super) const NUMERIC: Rule = Rule {
    id: "xen-tsc-mode-numeric",
    severity: Severity::Warn,
    summary: "tsc_mode as a number",
    why: "numbers are deprecated; xl warns about them",
    risk: "none in writing the name",
    source: CFG,
};
pub(super) const REMOVED: Rule = Rule {
    id: "xen-tsc-mode-removed",
    severity: Severity::Error,
    summary: "tsc_mode native_paravirt (3) was removed: the domain does not start",
    why: "libxl refuses it since the hypervisor dropped PVRDTSCP",
    risk: "default does what was wanted on a host whose TSC is safe",
    source: TSCMODE,
};
pub(super) const MODE_UNKNOWN: Rule = Rule {
    id: "xen-tsc-mode-unknown",
    severity: Severity::Error,
    summary: "no such tsc_mode: xl refuses the file",
    why: "it is default, always_emulate or native",
    risk: "none in mending it",
    source: CFG,
};
pub(super) const EMULATE: Rule = Rule {
    id: "xen-tsc-always-emulate",
    severity: Severity::Warn,
    summary: "every read of the TSC traps",
    why: "always_emulate costs 15 to 20 times a native read, for the guest's kernel as for its programs",
    risk: "with default, the TSC's rate can change over a migration where the host cannot scale it",
    source: TSCMODE,
};
pub(super) const NATIVE_NO_NOMIGRATE: Rule = Rule {
    id: "xen-native-no-nomigrate",
    severity: Severity::Warn,
    summary: "a native TSC in a domain that may migrate",
    why: "after a migration the TSC has another rate; and Linux does not choose the TSC, since Xen shows an invariant TSC only to a domain that cannot migrate",
    risk: "with nomigrate=1 the domain cannot migrate any more; with tsc_mode=\"default\" the TSC may become emulated after a migration",
    source: TSCMODE,
};
pub(crate) static NATIVE_OK: Rule = Rule {
    id: "xen-invtsc-native-ok",
    severity: Severity::Info,
    summary: "a native, invariant TSC: Linux may use it",
    why: "right for a domain that never migrates",
    risk: "not for a domain that migrates",
    source: TSCMODE,
};
pub(super) const NO_NOMIGRATE: Rule = Rule {
    id: "xen-no-nomigrate",
    severity: Severity::Info,
    summary: "a Linux guest keeps the clocksource xen",
    why: "without nomigrate=1 Xen shows no invariant TSC; xen is read without a system call where the host's TSC is stable",
    risk: "with nomigrate=1 the domain cannot migrate any more",
    source: CFG,
};
pub(super) const NOMIGRATE_OK: Rule = Rule {
    id: "xen-nomigrate-ok",
    severity: Severity::Info,
    summary: "the domain cannot migrate, so it gets an invariant TSC",
    why: "Linux from 6.3 on lets its own TSC serve then",
    risk: "none for a domain that never migrates",
    source: CFG,
};
pub(super) const INVTSC_OFF: Rule = Rule {
    id: "xen-invtsc-masked",
    severity: Severity::Warn,
    summary: "the invariant TSC is taken from the guest",
    why: "without it Linux does not trust the TSC in deep idle, and keeps the clocksource xen",
    risk: "with it the domain should not migrate",
    source: CFG,
};
pub(super) const RDTSCP_OFF: Rule = Rule {
    id: "xen-rdtscp-off",
    severity: Severity::Warn,
    summary: "the guest has no rdtscp",
    why: "the vDSO then reads the TSC with a fence, and programs that use rdtscp die of SIGILL",
    risk: "a domain that migrates to a processor without it",
    source: CFG,
};
pub(super) const HIDDEN: Rule = Rule {
    id: "xen-hypervisor-hidden",
    severity: Severity::Error,
    summary: "the guest cannot see the hypervisor",
    why: "Linux finds no clocksource xen then, and falls back to tsc, hpet or acpi_pm",
    risk: "programs that refuse to run under a hypervisor will see it again",
    source: CFG,
};
pub(super) const HPET_DEFAULT: Rule = Rule {
    id: "xen-hpet-default-on",
    severity: Severity::Info,
    summary: "the guest has an HPET",
    why: "hpet=1 is the default; a slow clocksource, taken when nothing better is trusted",
    risk: "without it acpi_pm is what is left, which is slower still",
    source: CFG,
};
pub(super) const HPET_ON: Rule = Rule {
    id: "xen-hpet-on",
    severity: Severity::Info,
    summary: "the HPET is turned on, which is the default",
    why: "a slow clocksource, taken when nothing better is trusted",
    risk: "without it acpi_pm is what is left, which is slower still",
    source: CFG,
};
pub(super) const VIRIDIAN: Rule = Rule {
    id: "xen-viridian-off",
    severity: Severity::Warn,
    summary: "a Windows guest without Hyper-V's interface",
    why: "Windows then has no reference TSC page, and reads the HPET or the ACPI timer, each with an exit",
    risk: "Windows notices other hardware when it is turned on",
    source: CFG,
};
pub(super) const VIRIDIAN_LINUX: Rule = Rule {
    id: "xen-viridian-linux",
    severity: Severity::Warn,
    summary: "Hyper-V's interface for a Linux guest",
    why: "Linux then takes the machine for Hyper-V, and does not use Xen's clock",
    risk: "none known",
    source: CFG,
};
pub(super) const TIMER_DELAY: Rule = Rule {
    id: "xen-timer-mode-delay",
    severity: Severity::Warn,
    summary: "missed timer interrupts hold the guest's time back",
    why: "delay_for_missed_ticks stops a vCPU's time while it does not run and steps it afterwards; it is for old guests that count ticks",
    risk: "with the default, an old guest that counts ticks loses time",
    source: CFG,
};
pub(super) const TIMER_UNKNOWN: Rule = Rule {
    id: "xen-timer-mode-unknown",
    severity: Severity::Error,
    summary: "no such timer_mode: xl refuses the file",
    why: "it is delay_for_missed_ticks, no_delay_for_missed_ticks, no_missed_ticks_pending or one_missed_tick_pending",
    risk: "none in mending it",
    source: CFG,
};

/// All of them.
pub(super) const ALL: &[&Rule] = &[
    &TSC_DEFAULT,
    &NUMERIC,
    &REMOVED,
    &MODE_UNKNOWN,
    &EMULATE,
    &NATIVE_NO_NOMIGRATE,
    &NATIVE_OK,
    &NO_NOMIGRATE,
    &NOMIGRATE_OK,
    &INVTSC_OFF,
    &RDTSCP_OFF,
    &HIDDEN,
    &HPET_DEFAULT,
    &HPET_ON,
    &VIRIDIAN,
    &VIRIDIAN_LINUX,
    &TIMER_DELAY,
    &TIMER_UNKNOWN,
];

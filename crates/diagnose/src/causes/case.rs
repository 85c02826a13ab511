//! The input of a rule, and the list of causes that the rules fill.

use super::{CauseId, paravirt_clock_preferred, unconfirmed};
use crate::assess::is_before_clocksources;
use crate::cause::{Cause, Confidence, Evidence, Severity};
use crate::current::Current;
use crate::demotion;
use crate::reconcile::Contradiction;
use clocksmith_facts::Facts;
use clocksmith_facts::hypervisor::{HypervisorKind, names_guest};
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_kernel::expectation::TscState;
use clocksmith_kernel::open::OpenInput;
use clocksmith_kernel::vdso;
use clocksmith_kernel::{Expectation, Machine};

/// The input of a rule.
pub(crate) struct Case<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) machine: &'a Machine,
    pub(crate) expectation: &'a Expectation,
    pub(crate) current: &'a Current,
    /// Reads of the current clocksource are system calls (by measurement, otherwise by its nature);
    /// `None`: the current clocksource is not known.
    pub(crate) slow: Option<bool>,
    /// Measured: reads are system calls although the clocksource has a vDSO mode.
    pub(crate) vdso_bypassed: bool,
    /// The inputs that decide whether reads are fast.
    pub(crate) open: &'a [OpenInput],
    /// Evidence that stronger evidence contradicts.
    pub(crate) contradictions: &'a [Contradiction],
}

impl Case<'_> {
    pub(crate) fn log(&self) -> Option<&KernelLog> {
        self.facts.kernel_log()
    }

    /// No word of the text says whose machine printed its lines.
    pub(crate) fn is_ownerless(&self) -> bool {
        self.log().is_some_and(|log| log.extent.ownerless)
    }

    pub(crate) fn current_name(&self) -> Option<&str> {
        self.current.name.as_deref()
    }

    /// The kernel has no clocksource directory in sysfs: it is too old.
    pub(crate) fn lacks_sysfs(&self) -> bool {
        is_before_clocksources(self.machine)
    }

    /// The clocksource in use is known, and the evidence shows that it stayed in use.
    pub(crate) fn current_is_settled(&self) -> bool {
        self.current_name().is_some() && !self.current.may_have_changed
    }

    pub(crate) fn tsc_is_current(&self) -> bool {
        self.current_name().is_some_and(|name| name.starts_with("tsc"))
    }

    /// The hypervisor of the kernel, where known.
    pub(crate) fn hypervisor(&self) -> Option<HypervisorKind> {
        self.facts.hypervisor.value().and_then(Option::as_ref).map(|h| h.kind)
    }

    /// The kernel runs as a guest, according to the facts: the hypervisor, or the name that the firmware
    /// gives the machine.
    pub(crate) fn in_guest(&self) -> bool {
        matches!(self.facts.hypervisor.value(), Some(Some(_)))
            || self.facts.dmi.value().is_some_and(|text| names_guest(text))
    }

    /// The architecture is x86, or the evidence does not exclude it.
    pub(crate) fn may_be_x86(&self) -> bool {
        self.machine.arch.value.is_x86()
    }

    /// The kernel certainly runs on hardware.
    pub(crate) fn is_bare_metal(&self) -> bool {
        matches!(self.facts.hypervisor.value(), Some(None)) && !self.in_guest()
    }

    /// A check in the running system found that the TSCs of CPUs differ.
    pub(crate) fn cpus_are_apart(&self) -> bool {
        self.log().is_some_and(|log| {
            log.any(|event| {
                matches!(
                    event,
                    Event::CrossCheckSkew { .. }
                        | Event::WatchdogCpuOrder
                        | Event::WatchdogVerdict { inter_cpu: true, .. }
                )
            })
        })
    }

    /// Whether sysfs lists the TSC; `None` without sysfs.
    pub(crate) fn tsc_listed(&self) -> Option<bool> {
        self.facts.available_clocksources().map(|list| list.iter().any(|name| name == "tsc"))
    }

    /// The log registers the TSC and does not demote it.
    pub(crate) fn tsc_is_registered(&self) -> bool {
        self.log().is_some_and(|log| {
            log.any(|event| matches!(event, Event::Registered { name, .. } if name == "tsc"))
                && !log.any(|event| matches!(event, Event::TscUnstable(_)))
        })
    }

    /// The model, with what was observed, has the TSC marked unstable.
    pub(crate) fn tsc_is_unstable(&self) -> bool {
        matches!(self.expectation.tsc, TscState::Unstable { .. })
    }

    /// A Xen guest whose kernel has Xen's patches, proved by a message that only such kernels print: its
    /// clocksources are xen and jiffies (`time_init()` in arch/x86/kernel/time-xen.c), and not the TSC.
    fn has_xens_patches(&self) -> bool {
        let says =
            |event: &Event| matches!(event, Event::TimeWentBackwards | Event::XenReadBackwards);
        self.hypervisor() == Some(HypervisorKind::XenPv)
            && self.tsc_listed() != Some(true)
            && !self.tsc_is_registered()
            && self.log().is_some_and(|log| log.any(says))
    }

    /// The kernel does not offer the TSC until the next boot, according to the log or the model, and sysfs does
    /// not list it.
    pub(crate) fn tsc_is_given_up(&self) -> bool {
        if self.has_xens_patches() {
            return true;
        }
        let state = &self.expectation.tsc;
        let by_model = matches!(
            state,
            TscState::Unstable { .. } | TscState::NotPresent | TscState::NotRegistered
        );
        let by_log = self.log().is_some_and(demotion::demotes_tsc);
        match self.tsc_listed() {
            // With a periodic tick a demoted clocksource stays on the list; a list in a pasted text may be older than
            // the message, or of another boot.
            Some(true) => {
                by_log
                    && !(demotion::reads_directory(self.facts)
                        && demotion::disproved_by_sysfs(self.facts, "tsc"))
            }
            _ => by_log || by_model,
        }
    }

    /// KVM reports that the TSC is marked unstable, and the evidence does not contradict it: the TSC is not in use, and
    /// the kernel does not offer it. The message does not state the time or the reason of the mark.
    pub(crate) fn tsc_is_marked(&self) -> bool {
        !self.tsc_is_current()
            && self.tsc_is_given_up()
            && self.log().is_some_and(|log| log.any(demotion::shows_marked_tsc))
    }

    /// The watchdog found that the TSC differs, and this kernel demotes nothing: the presence of the TSC in its list
    /// proves nothing.
    pub(crate) fn tsc_differed_and_kept(&self) -> bool {
        self.log().is_some_and(demotion::differed_and_kept)
    }

    /// Whether the running kernel can select the TSC; `None`: the evidence does not show it.
    pub(crate) fn tsc_selectable(&self) -> Option<bool> {
        if self.tsc_is_given_up() {
            return Some(false);
        }
        self.tsc_listed().or_else(|| self.tsc_is_registered().then_some(true))
    }

    /// On architectures other than x86: a counter that the vDSO reads registered, but a slower clocksource is in use,
    /// without a choice of the administrator.
    pub(crate) fn outranked_counter(&self) -> Option<&str> {
        let (current, log) = (self.current_name()?, self.log());
        let arch = &self.machine.arch;
        let chosen = self.machine.cmdline.value.clocksource_override().is_some()
            || log.is_some_and(|log| log.any(|event| matches!(event, Event::WroteCurrent(_))));
        if self.slow != Some(true) || chosen || arch.is_assumed() || arch.value.is_x86() {
            return None;
        }
        let registered =
            log.into_iter().flat_map(|log| &log.entries).filter_map(|entry| match &entry.event {
                Event::Registered { name, .. } => Some(name.as_str()),
                _ => None,
            });
        let listed = self.facts.available_clocksources().unwrap_or_default();
        listed
            .iter()
            .map(String::as_str)
            .chain(registered)
            // Each core of MIPS has a counter of its own, which the kernel only aligns when the core starts
            // (arch/mips/kernel/sync-r4k.c): the GIC is above it for that reason.
            .filter(|name| *name != "MIPS")
            .find(|name| *name != current && vdso::serves(self.machine, name) == Some(true))
    }

    /// A paravirtual clock with a vDSO mode is in use: nothing is lost by not using the TSC.
    pub(crate) fn served_by_fast_paravirt(&self) -> bool {
        self.slow != Some(true)
            && self.current_name().is_some_and(|name| {
                matches!(name, "kvm-clock" | "xen" | "hyperv_clocksource_tsc_page")
            })
    }

    /// Severity of a cause that prevents the use of the TSC: harmless while an equally fast
    /// clocksource is used.
    pub(crate) fn loss(&self) -> Severity {
        if self.served_by_fast_paravirt() { Severity::Info } else { Severity::Warning }
    }
}

/// A list of causes, with one entry for each id.
#[derive(Default)]
pub(crate) struct Causes(pub(crate) Vec<Cause>);

impl Causes {
    /// Adds a cause, or strengthens the one with the same id.
    pub(crate) fn add(
        &mut self,
        id: CauseId,
        severity: Severity,
        confidence: Confidence,
        summary: impl Into<String>,
        evidence: Vec<Evidence>,
    ) {
        if let Some(known) = self.0.iter_mut().find(|cause| cause.id == id) {
            if (severity, confidence) > (known.severity, known.confidence) {
                known.summary = summary.into();
                known.severity = known.severity.max(severity);
                known.confidence = known.confidence.max(confidence);
            }
            for item in evidence {
                if !known.evidence.contains(&item) && known.evidence.len() < 8 {
                    known.evidence.push(item);
                }
            }
            return;
        }
        self.0.push(Cause { id, severity, confidence, summary: summary.into(), evidence });
    }

    pub(crate) fn has(&self, id: CauseId) -> bool {
        self.0.iter().any(|cause| cause.id == id)
    }
}

/// Finds every cause that the evidence shows, sorted by severity and confidence; a cause that follows from another one
/// is listed after it.
pub(crate) fn find(case: &Case<'_>) -> Vec<Cause> {
    let mut causes = Causes::default();
    for id in CauseId::ALL {
        (id.definition().find)(case, &mut causes);
    }
    if !case.may_be_x86() {
        causes.0.retain(|cause| !cause.id.is_of_x86());
    }
    unconfirmed::lower(case, &mut causes.0);
    // The first cause explains why the clocksource in use is in use; a later demotion of the TSC does not.
    let later = paravirt_clock_preferred::demoted_behind_it(case);
    causes.0.sort_by_key(|cause| {
        let follows = cause.id.is_consequence() || later && cause.is_demotion();
        std::cmp::Reverse((cause.severity, !follows, cause.confidence))
    });
    causes.0
}

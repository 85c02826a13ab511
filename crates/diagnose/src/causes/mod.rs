//! The rules that find causes. One file a subject; each rule quotes its evidence.
//!
//! A rule states what the evidence shows. Where two readings fit, both are given, the less likely one
//! with low confidence and with what would settle it.

mod choice;
mod platform;
mod reference;
mod skew;
mod skipped;
mod tsc;
mod verified;
mod watchdog;

use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use crate::current::Current;
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_kernel::open::OpenInput;
use clocksmith_kernel::{Expectation, Machine};

/// Everything that a rule may look at.
pub(crate) struct Case<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) machine: &'a Machine,
    pub(crate) expectation: &'a Expectation,
    pub(crate) current: &'a Current,
    /// Reads of the current clocksource are system calls (by measurement, else by its nature);
    /// `None`: the current clocksource is not known.
    pub(crate) slow: Option<bool>,
    /// Measured: reads are system calls although the clocksource has a vDSO mode.
    pub(crate) vdso_bypassed: bool,
    /// The inputs on which it depends whether reads are fast.
    pub(crate) open: &'a [OpenInput],
}

impl Case<'_> {
    pub(crate) fn log(&self) -> Option<&KernelLog> {
        self.facts.kernel_log()
    }

    pub(crate) fn current_name(&self) -> Option<&str> {
        self.current.name.as_deref()
    }

    pub(crate) fn tsc_is_current(&self) -> bool {
        self.current_name().is_some_and(|name| name.starts_with("tsc"))
    }

    /// The kernel runs as a guest, as far as the facts tell.
    pub(crate) fn in_guest(&self) -> bool {
        matches!(self.facts.hypervisor.value(), Some(Some(_)))
    }

    /// A paravirtual clock with a vDSO mode is in use: nothing is lost by not using the TSC.
    pub(crate) fn served_by_fast_paravirt(&self) -> bool {
        self.slow != Some(true)
            && self.current_name().is_some_and(|name| {
                matches!(name, "kvm-clock" | "xen" | "hyperv_clocksource_tsc_page")
            })
    }

    /// Severity of a cause that keeps the TSC from being used: harmless while something as fast
    /// serves.
    pub(crate) fn loss(&self) -> Severity {
        if self.served_by_fast_paravirt() { Severity::Info } else { Severity::Warning }
    }
}

/// A growing list of causes, one entry for an id.
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

/// Finds every cause that the evidence shows, gravest and surest first.
pub(crate) fn find(case: &Case<'_>) -> Vec<Cause> {
    let mut causes = Causes::default();
    tsc::find(case, &mut causes);
    watchdog::find(case, &mut causes);
    choice::find(case, &mut causes);
    platform::find(case, &mut causes);
    verified::find(case, &mut causes);
    nothing_explains(case, &mut causes);
    causes.0.sort_by_key(|cause| std::cmp::Reverse((cause.severity, cause.confidence)));
    causes.0
}

/// Slow, or unknown, and no cause found: say so, and what would settle it.
fn nothing_explains(case: &Case<'_>, causes: &mut Causes) {
    let explained = causes.0.iter().any(|c| {
        c.severity >= Severity::Warning && c.confidence >= Confidence::Medium
            || matches!(c.id, CauseId::RuntimeOverride | CauseId::CmdlineClocksourceOverride)
    });
    let unstable_without_reason = case.log().is_some_and(|log| {
        use clocksmith_facts::log::Event;
        log.any(|e| matches!(e, Event::FoundUnstableAfterBoot | Event::SchedClockUnstable))
            && !log.any(|e| matches!(e, Event::TscUnstable(_)))
    });
    let anything = !causes.0.is_empty();
    // What is in use is known, and whether it is fast, or stayed, is not.
    if case.slow.is_none() && case.current_name().is_some() && !case.open.is_empty() && !explained {
        let names: Vec<&str> = case.open.iter().map(|input| input.name()).collect();
        let how: Vec<&str> = case.open.iter().map(|input| input.settled_by()).collect();
        causes.add(
            CauseId::InsufficientEvidence,
            Severity::Info,
            Confidence::High,
            format!("not in this evidence: {}; on that machine: {}", names.join(", "), how.join("; ")),
            Vec::new(),
        );
    }
    let needed = match case.slow {
        Some(true) => !explained,
        Some(false) => unstable_without_reason && !explained,
        // What is in use is known, and only whether it is fast is not: the headline says that.
        None if case.current_name().is_some() => unstable_without_reason && !explained,
        None => !explained && (unstable_without_reason || !anything),
    };
    if !needed {
        return;
    }
    let log_reaches_boot = case.log().is_some_and(|log| log.from_boot);
    let settle = if case.log().is_none() {
        "the kernel log from the beginning of the boot would settle it: sudo dmesg, or journalctl -k -b"
    } else if !log_reaches_boot {
        "this log does not reach back to the boot, where the kernel says why; journalctl -k -b, \
         /var/log/dmesg or /var/log/kern.log would settle it"
    } else {
        "sudo clocksmith collect on that machine would bring CPUID, the command line and sysfs"
    };
    let gvisor = case.facts.environment.gvisor.value() == Some(&true);
    let what = match (case.current_name(), case.slow) {
        (None, _) if gvisor => {
            "this is gVisor, a kernel in user space without Linux's clocksources; the host's clock is \
             what counts: run clocksmith on the host"
                .to_owned()
        }
        (Some(name), Some(true)) => format!("nothing in this evidence says why {name} is in use"),
        (Some(name), _) => {
            format!("the TSC was found unstable while {name} is in use, and no line says why")
        }
        (None, _) => "this evidence does not say which clocksource is in use, or why".to_owned(),
    };
    let evidence = match case.current_name() {
        Some(name) => vec![Evidence::new(case.current.source.clone(), format!("current: {name}"))],
        None => Vec::new(),
    };
    // An excerpt that shows nothing wrong is no reason to worry.
    let harmless = case.slow.is_none() && !unstable_without_reason && !anything;
    causes.add(
        CauseId::InsufficientEvidence,
        if harmless { Severity::Info } else { Severity::Warning },
        Confidence::High,
        format!("{what}; {settle}"),
        evidence,
    );
}

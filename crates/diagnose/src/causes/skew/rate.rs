//! The rates of the TSC and its reference differ: which of the two frequencies is wrong, according to the evidence.

use super::{Judge, amount, confidence};
use crate::cause::{CauseId, Confidence};
use crate::causes::reference::{is_paravirt, third_clock};
use crate::causes::refinement::{confirmed_before, is_unconfirmed, refinement_wrong};
use clocksmith_facts::log::incident::reading::{Fit, RATE_ERROR_MAX};
use clocksmith_facts::log::rates::Rates;

/// The evidence that distinguishes a wrong TSC from a wrong reference.
const BY_DAEMON: &str = "the frequency that chronyc tracking or ntpq shows";
const BY_OTHERS: &str = "the frequency that another boot finds (\"Refined TSC\"), or by a check against another reference";

impl Judge<'_, '_> {
    /// The evidence that would settle it, or the figure of a time daemon in the same text that already does.
    pub(super) fn settle(&self) -> String {
        match self.steered() {
            Some((name, ppm)) => format!(
                "a time daemon shows a correction of {ppm:+.1} ppm; this is the rate of {name} if {name} was in use \
                 then; the rest is shown by {BY_OTHERS}"
            ),
            None => format!("this is settled by {BY_DAEMON}, by {BY_OTHERS}"),
        }
    }

    /// The clocksource in use, and the correction of its rate that a time daemon shows in this text.
    fn steered(&self) -> Option<(&str, f64)> {
        let told = self.case.facts.wall.source.value()?.rate_ppm();
        let kernel = self.case.facts.ntp.value().and_then(|state| state.frequency_ppm);
        Some((self.case.current_name()?, told.or(kernel)?))
    }

    /// The rates differ. The clock in use paces the check, so the figures are the same whichever of
    /// the two is wrong.
    pub(super) fn rate(&mut self, ppm: Option<f64>, fit: Fit, best: Fit, rates: &Rates) {
        let (case, reference) = (self.case, self.reference);
        let sure = confidence(fit).min(Confidence::Medium);
        let stated = case.machine.cmdline.value.has("tsc_early_khz");
        let credible = ppm.is_some_and(|ppm| ppm.abs() <= RATE_ERROR_MAX * 1e6);
        if ppm.is_some() && !credible && !stated {
            // The figures allow a wrong rate, but a jump is the better explanation.
            return;
        }
        // Without the frequency that the kernel assumed, the difference does not give a rate.
        let told = self.decoded.wd_rate_known && rates.hz(&self.incident.clocksource).is_some();
        let differ = match ppm.filter(|_| told) {
            Some(ppm) => format!("{} ({})", self.figures, amount(ppm)),
            None => self.figures.clone(),
        };
        if fit == best
            && let Some(ppm) = ppm
            && let Some((sure, summary)) = refinement_wrong(self.log, self.incident, ppm, rates)
        {
            self.add(CauseId::TscMiscalibrated, sure, summary);
            if sure == Confidence::High {
                return;
            }
        }
        let early = self.incident.clocksource == "tsc-early";
        if let Some(ppm) = ppm
            && (stated || early && fit >= Fit::Likely)
        {
            let why = if stated {
                "tsc_early_khz= is probably wrong"
            } else {
                "its first calibration was disturbed, or the figure of CPUID or the hypervisor is wrong"
            };
            self.add(
                CauseId::TscMiscalibrated,
                Confidence::Medium,
                format!("{differ}: the kernel's figure for the TSC is {} off; {why}", amount(ppm)),
            );
            self.other_suspect(&differ, Confidence::Low);
            return;
        }
        if let Some(third) = third_clock(self.log, self.incident) {
            let summary = format!(
                "{differ}, and {third} agreed with the TSC's frequency: {reference} runs at the wrong rate"
            );
            let id = if is_paravirt(reference) {
                CauseId::ParavirtClockBroken
            } else {
                CauseId::WatchdogAtFault
            };
            self.add(id, sure, summary);
            self.add(CauseId::TscSkew, Confidence::Low, format!("{differ}; {}", self.settle()));
            return;
        }
        if !is_paravirt(reference)
            && let Some(rest) = confirmed_before(self.log, self.incident, ppm)
        {
            let summary = format!("{differ}{rest}");
            self.add(CauseId::TscSkew, Confidence::Low, summary.clone());
            self.add(CauseId::WatchdogAtFault, Confidence::Low, summary);
            return;
        }
        // With the frequency that the kernel detected first, the same figures may exclude a wrong rate; without it they
        // prove less.
        let unconfirmed = !is_paravirt(reference) && is_unconfirmed(self.log);
        let sure = if unconfirmed { sure.min(Confidence::Low) } else { sure };
        let moved = if is_paravirt(reference) {
            ": a move to a host with a different TSC frequency causes that"
        } else {
            // Without a frequency, or below the smallest rate that one interval can show.
            match fit {
                Fit::Possible => {
                    ": a single disturbance, a wrong TSC frequency and a wrong reference can all \
                     cause that"
                }
                _ => ": a wrong TSC frequency and a wrong reference can both cause that",
            }
        };
        self.add(CauseId::TscSkew, sure, format!("{differ}{moved}; {}", self.settle()));
        self.moved_once(&differ);
        self.other_suspect(&differ, Confidence::Low);
    }

    /// A virtual machine that is stopped, restored or moved regains its TSC and its clock page one after the other: one
    /// check shows a difference, and the next ones do not.
    fn moved_once(&mut self, differ: &str) {
        let Some((wd, cs)) = self.decoded.wd_seconds.zip(self.decoded.cs_seconds) else { return };
        if !is_paravirt(self.reference) {
            return;
        }
        let way = if cs < wd { "stopped, or was set back" } else { "went ahead" };
        let summary = format!(
            "{differ}; or the guest's TSC {way} once, by {} compared with {}, as happens when the virtual machine is \
             stopped, restored or moved; one check does not distinguish this from a wrong rate",
            self.size(cs - wd),
            self.reference
        );
        self.add(CauseId::TscJump, Confidence::Low, summary);
    }

    fn other_suspect(&mut self, differ: &str, sure: Confidence) {
        let reference = self.reference;
        let settle = self.settle();
        if is_paravirt(reference) {
            let summary = format!("{differ}: or the hypervisor's scale is wrong; {settle}");
            self.add(CauseId::ParavirtClockBroken, sure, summary);
        } else {
            let summary = format!("{differ}: or {reference} runs at a wrong rate; {settle}");
            self.add(CauseId::WatchdogAtFault, sure, summary);
        }
    }
}

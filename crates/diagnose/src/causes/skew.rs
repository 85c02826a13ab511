//! The TSC and its reference disagreed: the possible meanings of the figures, and the causes that follow.
//!
//! The hypotheses are enumerated in `clocksmith_facts::log::incident::reading`. Here the rest of the
//! evidence is added: guest or bare metal, a stated frequency, a refinement, a third clock.

mod rate;

use super::narrow::narrow;
use super::reference::{is_paravirt, second_witness};
use super::refinement::{is_systematic, refinement_wrong};
use super::tsc::{overflow_text, seconds_text, times};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use clocksmith_facts::log::incident::reading::{
    Fit, Hypothesis, MEASURABLE_S, OVERFLOW_S, RATE_ERROR_MAX, Reading,
};
use clocksmith_facts::log::incident::{Decoded, INTERVAL_S, Incident};
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_kernel::feature::Feature;

/// Seconds between two checks that run on time.
const DUE: std::ops::RangeInclusive<f64> = 0.9 * INTERVAL_S..=1.1 * INTERVAL_S;

/// Judges one demotion by its figures.
pub(super) fn judge(
    case: &Case<'_>,
    log: &KernelLog,
    incident: &Incident,
    rates: &Rates,
    evidence: &[Evidence],
    causes: &mut Causes,
) {
    let mut decoded = incident.decode(rates);
    narrow(case, log, incident, rates, &mut decoded);
    let mut judge = Judge {
        case,
        log,
        incident,
        reference: incident.watchdog.as_deref().unwrap_or("its reference"),
        figures: figures(&decoded, incident),
        decoded: &decoded,
        evidence,
        causes,
        surest: None,
    };
    if incident.cpus_differ {
        judge.add(CauseId::TscSkew, Confidence::High, super::tsc_skew::CROSS_CHECK.to_owned());
        let small = decoded.wd_seconds.zip(decoded.cs_seconds);
        if small.is_some_and(|(wd, cs)| (cs - wd).abs() < MEASURABLE_S) {
            let summary =
                format!("{}: {} may be wrong by the same amount", judge.figures, judge.reference);
            judge.add(CauseId::WatchdogAtFault, Confidence::Low, summary);
        }
        return;
    }
    if let Some((second, with_tsc)) = second_witness(incident, judge.decoded) {
        judge.by_second(&second, with_tsc);
        return;
    }
    judge.readings(rates);
    judge.undecided();
}

/// The machine was suspended in this boot.
pub(super) fn slept(log: &KernelLog) -> bool {
    log.any(|event| matches!(event, Event::Suspend | Event::Resume))
}

/// The TSC's second read is lower than its first one.
pub(super) fn went_back(incident: &Incident) -> bool {
    incident.cs.is_some_and(|cs| cs.mask == u64::MAX && cs.cycles >> 63 == 1)
}

/// Both intervals in words.
fn figures(decoded: &Decoded, incident: &Incident) -> String {
    let reference = incident.watchdog.as_deref().unwrap_or("its reference");
    let overflowed =
        decoded.readings.iter().any(|r| matches!(r.hypothesis, Hypothesis::Overflow { .. }));
    match (decoded.wd_seconds, decoded.cs_seconds) {
        (Some(_), Some(cs)) if !decoded.wd_rate_known => {
            let cycles = incident.wd.map_or(0, |wd| wd.cycles);
            format!(
                "the TSC counted {} where {reference} counted {cycles} cycles, at a rate that is \
                 not in this evidence",
                seconds_text(cs)
            )
        }
        (Some(wd), Some(cs)) => {
            let (ours, theirs) = (seconds_text(cs), seconds_text(wd));
            // If rounding makes the two texts equal, the difference is stated separately.
            let apart = if ours == theirs {
                format!(", {} apart", seconds_text((cs - wd).abs()))
            } else {
                String::new()
            };
            format!("the TSC counted {ours} where {reference} counted {theirs}{apart}")
        }
        (Some(wd), None) if decoded.wd_rate_known && is_paravirt(reference) => format!(
            "{reference} counted {} in an interval that should be {}; the TSC's rate is not in this \
             evidence",
            seconds_text(wd),
            seconds_text(INTERVAL_S)
        ),
        (None, None) if of_ticks(decoded, incident) => format!(
            "the TSC counted {} cycles where {reference} counted {} ticks, and the rates of both are not in this evidence",
            incident.cs.map_or(0, |cs| cs.cycles),
            incident.wd.map_or(0, |wd| wd.cycles)
        ),
        _ => match incident.skew_ns {
            Some(ns) if overflowed => {
                format!(
                    "the difference of {ns} ns in the message is the result of an overflow, not an interval"
                )
            }
            #[allow(clippy::cast_precision_loss)]
            Some(ns) => format!(
                "the TSC counted {} {} than its reference in an interval of unknown length",
                seconds_text((ns as f64 / 1e9).abs()),
                if ns < 0 { "less" } else { "more" }
            ),
            None => format!("the TSC and {reference} disagreed"),
        },
    }
}

/// Cycles and ticks of unknown rates: the sizes are the smallest that the possible rates allow.
fn of_ticks(decoded: &Decoded, incident: &Incident) -> bool {
    incident.counts_ticks() && decoded.wd_seconds.is_none() && !decoded.readings.is_empty()
}

fn amount(ppm: f64) -> String {
    if ppm.abs() >= 10_000.0 { format!("{:.1} %", ppm / 1e4) } else { format!("{ppm:.0} ppm") }
}

fn confidence(fit: Fit) -> Confidence {
    match fit {
        Fit::Possible => Confidence::Low,
        Fit::Likely => Confidence::Medium,
        Fit::Shown => Confidence::High,
    }
}

struct Judge<'a, 'b> {
    case: &'a Case<'b>,
    log: &'a KernelLog,
    incident: &'a Incident,
    reference: &'a str,
    figures: String,
    decoded: &'a Decoded,
    evidence: &'a [Evidence],
    causes: &'a mut Causes,
    /// The highest confidence among the added causes.
    surest: Option<Confidence>,
}

impl Judge<'_, '_> {
    fn add(&mut self, id: CauseId, confidence: Confidence, summary: String) {
        self.surest = self.surest.max(Some(confidence));
        self.causes.add(id, self.case.loss(), confidence, summary, self.evidence.to_vec());
    }

    fn readings(&mut self, rates: &Rates) {
        let decoded = self.decoded;
        let Some(best) = decoded.readings.first().map(|reading| reading.fit) else { return };
        // A frequency on the command line explains any difference of rates.
        let stated = self.case.machine.cmdline.value.has("tsc_early_khz")
            && decoded.readings.iter().any(|r| matches!(r.hypothesis, Hypothesis::Rate { .. }));
        for reading in &decoded.readings {
            let covered =
                stated && matches!(reading.hypothesis, Hypothesis::ClocksourceJumped { .. });
            // A proved reading needs no alternatives.
            if covered || best == Fit::Shown && reading.fit < best {
                continue;
            }
            self.reading(reading, best, rates);
        }
    }

    /// Whether the refinement is wrong, and was equally wrong in another boot.
    fn repeats(&self, rates: &Rates) -> bool {
        is_systematic(self.log)
            && self.decoded.readings.iter().any(|reading| match reading.hypothesis {
                Hypothesis::Rate { ppm: Some(ppm) } => {
                    refinement_wrong(self.log, self.incident, ppm, rates)
                        .is_some_and(|(sure, _)| sure == Confidence::High)
                }
                _ => false,
            })
    }

    fn reading(&mut self, reading: &Reading, best: Fit, rates: &Rates) {
        let reference = self.reference;
        let sure = confidence(reading.fit);
        let fault = CauseId::WatchdogAtFault;
        let clear = best > Fit::Possible;
        match reading.hypothesis {
            Hypothesis::TooSmall { seconds } => {
                let sure =
                    if self.check_at_fault(seconds) { Confidence::Medium } else { Confidence::Low };
                self.too_small(seconds, sure);
            }
            Hypothesis::Rate { ppm } => self.rate(ppm, reading.fit, best, rates),
            // A small step within one interval is covered by the text about the rate.
            Hypothesis::ClocksourceJumped { seconds } => {
                let small =
                    self.decoded.wd_seconds.is_some_and(|wd| seconds.abs() <= RATE_ERROR_MAX * wd);
                if reading.fit == best && (!small || clear) {
                    self.jumped(seconds, sure);
                }
            }
            // A difference that repeats in another boot is not a jump.
            Hypothesis::ReferenceJumped { .. } | Hypothesis::LateRead { .. }
                if self.repeats(rates) => {}
            Hypothesis::ReferenceJumped { seconds } => {
                let settle = self.settle();
                let words =
                    if seconds < 0.0 { "stopped, lost time or went back" } else { "jumped ahead" };
                let id = if is_paravirt(reference) { CauseId::ParavirtClockBroken } else { fault };
                let other = if clear && reading.fit < best { "the other reading: " } else { "" };
                let summary = format!(
                    "{other}{}: {reference} may have {words} by {}; {settle}",
                    self.figures,
                    self.size(seconds)
                );
                self.add(id, sure, summary);
            }
            Hypothesis::StoodStill { wraps, wraps_most, seconds } => {
                let summary = self.stood_still(wraps, wraps_most, seconds);
                self.add(fault, sure, summary);
            }
            Hypothesis::LateRead { seconds } => {
                let settle = self.settle();
                let summary = format!(
                    "{}: one late read of {reference} by {} explains it, and so does a rate error; {settle}",
                    self.figures,
                    self.size(seconds)
                );
                self.add(fault, sure, summary);
            }
            Hypothesis::HeldUp { seconds } => {
                let settle = self.settle();
                let summary = format!(
                    "{}: a virtual CPU that was descheduled for {} between the two reads explains it, and \
                     so does a rate error or a jump; {settle}",
                    self.figures,
                    self.size(seconds)
                );
                self.add(fault, sure, summary);
            }
            Hypothesis::TicksLost { seconds } if of_ticks(self.decoded, self.incident) => {
                let summary = format!(
                    "{}: with a tick of 100 Hz or more and a TSC of 4.8 GHz or less, the two differ by at least {}. \
                     {reference} counts ticks, and may have lost that much while interrupts or a virtual CPU were \
                     delayed",
                    self.figures,
                    seconds_text(seconds)
                );
                self.add(fault, sure, summary);
            }
            Hypothesis::TicksLost { seconds } => {
                let settle = self.settle();
                let summary = format!(
                    "{}: {reference} counts ticks and may have lost {} of them while interrupts or \
                     a virtual CPU were delayed; a wrong TSC frequency looks the same; {settle}",
                    self.figures,
                    seconds_text(seconds)
                );
                self.add(fault, sure, summary);
            }
            Hypothesis::ClocksourceStuck => {
                let summary = format!(
                    "in one comparison with {reference} the TSC did not advance at all: a read was wrong, the TSC \
                     stopped, or it went back (the kernel counts that as zero, too)"
                );
                self.add(fault, sure, summary.clone());
                self.add(CauseId::TscHaltsInIdle, sure.min(self.may_halt()), summary);
            }
            Hypothesis::ClocksourceHalted { seconds } => {
                let summary = format!(
                    "two reads of the TSC are equal, while {reference} counted {}: this TSC stopped, as happens to a \
                     TSC that halts in deep idle states of its core",
                    self.size(seconds)
                );
                self.add(CauseId::TscHaltsInIdle, sure.min(self.may_halt()), summary);
            }
            Hypothesis::Overflow { below, size } => {
                let figure = overflow_text(below, size);
                let summary = if size == OVERFLOW_S {
                    format!(
                        "the figure is {figure}: the kernel's conversion of cycles overflows at 2^42 ns, so the \
                         figure is not an interval, and neither clock jumped by that much; this evidence does not \
                         show which clock was wrong"
                    )
                } else {
                    format!(
                        "the figure is {figure}: the kernel's conversion of cycles overflows there, so the check came \
                         that much too late, and the clocks agree"
                    )
                };
                self.add(fault, sure, summary);
            }
            Hypothesis::ReferenceStuck => {
                let summary =
                    format!("{reference} did not move while the TSC did: the reference failed");
                self.add(fault, sure, summary);
            }
            Hypothesis::PlausibleRate { hz } => {
                let summary = self.plausible(hz);
                self.add(fault, Confidence::Low, summary.clone());
                self.add(CauseId::TscSkew, Confidence::Low, summary.clone());
                self.add(CauseId::TscJump, Confidence::Low, summary);
            }
        }
    }

    /// The implications of the two counters if the evidence does not show the TSC's rate. The check is due every half
    /// second, so a rate of the reference is plausible if it makes the interval about half a second.
    fn plausible(&self, hz: f64) -> String {
        let reference = self.reference;
        let ticks = || self.incident.counts_ticks().then_some(self.incident.cs?.cycles);
        #[allow(clippy::cast_precision_loss)]
        let interval = self.decoded.wd_seconds.or_else(|| Some(ticks()? as f64 / hz));
        let due = interval.is_some_and(|interval| DUE.contains(&interval));
        let implied = match (self.decoded.wd_rate_known, due) {
            (true, _) => format!("imply a TSC of {:.1} MHz, a rate that processors have", hz / 1e6),
            (false, true) => format!(
                "imply a TSC of about {:.1} GHz if {reference} runs at the rate at which the interval is half a \
                 second, as it should be",
                hz / 1e9
            ),
            (false, false) => format!(
                "agree at rates that processors and {reference} can have, but at none of those rates of {reference} is \
                 the interval half a second, as it should be"
            ),
        };
        format!(
            "the two counters {implied}. If this TSC has that rate, neither of them jumped; otherwise the TSC or \
             {reference} jumped. The rates that the kernel used decide this (\"Detected ... MHz\", \"Refined ...\")"
        )
    }

    /// A second reference took part in the check.
    fn by_second(&mut self, second: &str, with_tsc: bool) {
        let (figures, reference) = (self.figures.clone(), self.reference);
        let (id, summary) = if with_tsc {
            let id = match is_paravirt(reference) {
                true => CauseId::ParavirtClockBroken,
                false => CauseId::WatchdogAtFault,
            };
            (id, format!("{figures}, and {second} agrees with the TSC: {reference} was wrong"))
        } else {
            let words =
                format!("{figures}, and {second} agrees with {reference}: the TSC was wrong");
            (CauseId::TscSkew, words)
        };
        self.add(id, Confidence::High, summary);
    }

    /// A size that depends on the reference's rate, in words.
    fn size(&self, seconds: f64) -> String {
        if of_ticks(self.decoded, self.incident) {
            format!("{} or more", seconds_text(seconds.abs()))
        } else if self.decoded.wd_rate_known {
            seconds_text(seconds.abs())
        } else {
            format!("a time that depends on the rate of {}", self.reference)
        }
    }

    fn stood_still(&self, least: u32, most: u32, seconds: f64) -> String {
        let reference = self.reference;
        let long = seconds_text(seconds);
        let basis = if self.incident.old_style || most == least {
            ""
        } else {
            " (the TSC's rate is not in this evidence: any of these gives a rate that processors have)"
        };
        let tail = "no check ran for that long (the CPU with the watchdog's timer, or the whole machine, was \
                    stalled), and nothing is wrong with the TSC";
        if let (true, Some(ns)) = (self.incident.old_style, self.incident.skew_ns) {
            // The message states only the difference: the interval was half a second or more longer.
            #[allow(clippy::cast_precision_loss)]
            let difference = seconds_text(ns as f64 / 1e9);
            return format!(
                "the difference of {difference} equals {least} {} of a reference with that range; if such a reference \
                 wrapped, both clocks agree on more than {difference}, and {tail}",
                if least == 1 { "wrap" } else { "wraps" }
            );
        }
        match (least, most) {
            (0, 0) => format!(
                "both clocks agree on {long}; this is longer than the range of {reference}, so the kernel counts zero \
                 for it: {tail}"
            ),
            (least, most) if least == most => format!(
                "both clocks agree on {long} if {reference} wrapped {}: {tail}",
                times(least)
            ),
            (least, most) => format!(
                "both clocks can agree, on {long} or longer, if {reference} wrapped {least} to {most} \
                 times{basis}: then {tail}"
            ),
        }
    }

    /// A check whose figures prove nothing.
    fn check_at_fault(&self, difference: f64) -> bool {
        let interval =
            self.decoded.wd_seconds.unwrap_or(0.0).max(self.decoded.cs_seconds.unwrap_or(0.0));
        let version = self.case.machine.kernel.value.version;
        let narrow = !self.case.machine.kernel.is_assumed()
            && Feature::ReadbackRetries.of(&self.case.machine.kernel.value)
            && version.major == 5
            && (14..=15).contains(&version.minor);
        interval < 0.1 || difference.abs() < 50e-6 || narrow
    }

    fn too_small(&mut self, difference: f64, sure: Confidence) {
        let summary = format!(
            "{}: a difference of {} is within what delayed reads cause, so neither clock is at fault; a \
             rate error of that size would show in chronyc tracking",
            self.figures,
            self.size(difference)
        );
        self.add(CauseId::WatchdogAtFault, sure, summary);
    }

    /// The confidence that a TSC with a low count halts in idle states: a nonstop TSC does not halt.
    fn may_halt(&self) -> Confidence {
        let nonstop = &self.case.machine.nonstop_tsc;
        if nonstop.value && !nonstop.is_assumed() { Confidence::Low } else { Confidence::Medium }
    }

    fn jumped(&mut self, seconds: f64, sure: Confidence) {
        let (size, figures) = (self.size(seconds), self.figures.clone());
        if went_back(self.incident) {
            let summary = format!(
                "the TSC went back: it reads less than at the previous check, on another CPU or on the same one{}",
                self.occasions()
            );
            return self.add(CauseId::TscJump, sure, summary);
        }
        // A paravirtual clock is software and can also step.
        let paravirt = is_paravirt(self.reference);
        let sure = if paravirt { sure.min(Confidence::Medium) } else { sure };
        let summary = if seconds < 0.0 {
            format!(
                "{figures}: the TSC stopped for about {size}, as one that halts in deep idle states \
                 does, or was set back{}",
                self.occasions()
            )
        } else if sure > Confidence::Low {
            format!(
                "the TSC jumped ahead by about {size} within one watchdog interval{}: {figures}",
                self.occasions()
            )
        } else {
            format!(
                "{figures}: the TSC jumped ahead by about {size}{}, or it continued while {} \
                 stopped (a guest that was paused, a machine that slept)",
                self.occasions(),
                self.reference
            )
        };
        self.add(CauseId::TscJump, sure, summary.clone());
        if seconds < 0.0 && self.may_halt() > Confidence::Low {
            self.add(CauseId::TscHaltsInIdle, Confidence::Low, summary);
        }
        if paravirt {
            self.add(
                CauseId::ParavirtClockBroken,
                Confidence::Low,
                "the other possibility: the hypervisor's clock jumped, and the TSC is correct; the host's log would \
                 show it"
                    .to_owned(),
            );
        }
    }

    /// The events that make a TSC jump on such a machine.
    fn occasions(&self) -> &'static str {
        if slept(self.log) {
            " (the machine was suspended and resumed)"
        } else if self.case.in_guest() {
            " (the virtual machine was stopped, restored or moved, or its host slept)"
        } else {
            " (suspend and resume, firmware, or a tool that wrote the counter's registers)"
        }
    }

    /// If no cause is likely, adds a cause that states what is open and how it is settled.
    fn undecided(&mut self) {
        if self.surest >= Some(Confidence::Medium) {
            return;
        }
        if self.decoded.readings.is_empty() {
            let summary = format!(
                "the watchdog saw the TSC and {} disagree; the figures that would show which one was \
                 wrong are not in this evidence",
                self.reference
            );
            self.add(CauseId::WatchdogAtFault, Confidence::Low, summary.clone());
            self.add(CauseId::TscSkew, Confidence::Low, summary);
        }
        let settle = self.settle();
        let summary = format!(
            "the watchdog demoted the TSC: {}; these figures do not show which clock was wrong; {settle}",
            self.figures
        );
        self.add(CauseId::InsufficientEvidence, Confidence::High, summary);
    }
}

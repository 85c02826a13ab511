//! Figures of a text that contradict a synchronised wall clock: a daemon's measurements, findings in its log,
//! a real-time clock that differs widely.

use super::difference::{Other, text};
use super::judge::View;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Source;
use clocksmith_facts::wall::{Correction, TimeSource};

/// An offset from which on a clock is not called synchronised, in seconds: a daemon keeps it far lower.
const OFFSET_S: f64 = 0.5;
/// The kernel's largest correction of the rate in parts per million (`MAXFREQ` in `include/linux/timex.h`); crystals are
/// off by less than a hundred.
const RATE_PPM: f64 = 500.0;
/// The largest correction of chronyd on Linux, which also changes the length of the tick: 10 % (`max_tick_bias` in
/// chrony's sys_linux.c, `maxslewrate` in chrony.conf(5)).
const CHRONYD_PPM: f64 = 100_000.0;

/// The largest correction of the rate by a daemon, in parts per million. ntpd and systemd-timesyncd only use the
/// kernel's frequency.
fn most_ppm(daemon: &str) -> f64 {
    if daemon == "chronyd" { CHRONYD_PPM } else { RATE_PPM }
}

/// A rate that the daemon corrects, although no crystal has it: the rate by which the clock would be slow, in parts
/// per million, and the line. The clock may be right.
pub(super) fn corrected_rate(told: &TimeSource, source: &Source) -> Option<(f64, Evidence)> {
    let (ppm, place) = wrong_rate(told, source)?;
    let can = told.drift_ppm.is_none() && ppm.abs() < most_ppm(told.daemon);
    can.then(|| (ppm, Evidence::new(place.0.clone(), format!("frequency {}", slow(ppm)))))
}

/// The text for a rate that the daemon corrects.
pub(super) fn words_corrected(daemon: &str, ppm: f64) -> String {
    format!(
        "{daemon} corrects the rate of a counter that is {}, which it can (on Linux up to {:.0} ppm, by the length of the tick). A \
         crystal is off by at most 100 ppm: the kernel's figure for the frequency of the counter is wrong by about as \
         much (see tsc-miscalibrated), or the machine is stopped again and again, as a guest may be",
        slow(ppm),
        most_ppm(daemon)
    )
}

/// `505 ppm slow`.
fn slow(ppm: f64) -> String {
    format!("{:.0} ppm {}", ppm.abs(), if ppm > 0.0 { "slow" } else { "fast" })
}

/// Figures that contradict a synchronised clock, as clauses, and the evidence.
pub(super) struct Contrary {
    pub(super) clauses: Vec<String>,
    pub(super) evidence: Vec<Evidence>,
    /// Whether they are only bounds of an error: the clock may be right.
    pub(super) only_bounds: bool,
    /// The rate by which the clock is slow, in parts per million, if no crystal has it, and the line.
    pub(super) rate: Option<(f64, Evidence)>,
}

/// Returns the rate by which the clock is slow (negative: fast), in parts per million, and the line that shows it, if
/// no crystal has the rate and it is known well enough. It exceeds the correction of every daemon except chronyd.
pub(crate) fn wrong_rate<'a>(
    told: &'a TimeSource,
    source: &'a Source,
) -> Option<(f64, &'a Source)> {
    let grows = told.drift_ppm.zip(Some(&told.places.drift));
    // A rate whose uncertainty is half of its value or more is ignored.
    let known = |ppm: &f64| told.skew_ppm.is_none_or(|skew| skew < ppm.abs() / 2.0);
    let steered = told.rate_ppm().filter(known).zip(Some(&told.places.frequency));
    let (ppm, place) =
        [grows, steered].into_iter().flatten().find(|(ppm, _)| ppm.abs() >= RATE_PPM)?;
    Some((ppm, place.as_ref().unwrap_or(source)))
}

/// The smallest offset of sources that answer and are not followed, in seconds, if all offsets have one sign and about
/// the same size.
fn offered(told: &TimeSource) -> Option<f64> {
    if told.follows == Some(true) || told.sources_disagree() || told.offered_s.is_empty() {
        return None;
    }
    let least = told.offered_s.iter().copied().min_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    let most = told.offered_s.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()))?;
    (least.abs() >= OFFSET_S && (most - least).abs() <= most.abs() / 4.0).then_some(least)
}

/// An offset that ntpd does not set without -g, in seconds (`CLOCK_PANIC` in ntp_loopfilter.c).
const PANIC_S: f64 = 1000.0;

/// The offset of the one source that ntpd could follow besides the one that it follows, if it is beyond that limit:
/// with more sources, the one that is far off is wrong.
fn beyond_panic(told: &TimeSource) -> Option<f64> {
    let few = told.sources.is_some_and(|(all, _)| all <= 2);
    let is_it =
        told.daemon == "ntpd" && told.follows == Some(true) && few && !told.sources_disagree();
    let offset = *told.offered_s.first().filter(|_| is_it)?;
    (offset.abs() >= PANIC_S).then_some(offset)
}

/// The uncertainty of the rate, in parts per million, if it exceeds any correction: after the first update of
/// chronyd, which begins with 1000000 ppm. The time itself may be right.
pub(super) fn vague_rate(told: &TimeSource) -> Option<f64> {
    told.skew_ppm.filter(|ppm| *ppm >= RATE_PPM)
}

/// Figures of a daemon that contradict a synchronised clock.
pub(super) fn of_figures(told: &TimeSource, source: &Source) -> Option<Contrary> {
    let daemon = if told.daemon.is_empty() { "the time daemon" } else { told.daemon };
    let mut clauses = Vec::new();
    let mut shown = Vec::new();
    let mut corrected = None;
    if let Some(ahead) = told.ahead_s.filter(|ahead| ahead.abs() >= OFFSET_S) {
        let way = if ahead < 0.0 { "slow" } else { "fast" };
        clauses.push(format!("according to {daemon} it is {} {way} of its source", text(ahead)));
        shown.push((&told.places.ahead, format!("offset {ahead:+.3} s")));
    } else if let Some(ahead) = offered(told) {
        let way = if ahead < 0.0 { "slow" } else { "fast" };
        clauses.push(format!(
            "according to a source that answers {daemon} it is {} {way}, but {daemon} does not \
             follow that source",
            text(ahead)
        ));
        shown.push((&told.places.offered, format!("offset {ahead:+.3} s")));
        if let Some((moves, takes)) = told.unsteady_s {
            clauses.push(format!(
                "that offset changes by about {} between polls, although a round trip takes only {}: one of the \
                 two clocks runs at a wrong rate, or is set again and again",
                text(moves),
                text(takes)
            ));
        }
    }
    if let Some(ppm) = told.drift_ppm.filter(|ppm| ppm.abs() >= RATE_PPM) {
        let way = if ppm > 0.0 { "slow" } else { "fast" };
        clauses.push(format!(
            "its offset grows from poll to poll, like that of a clock that is {:.0} ppm {way}, but \
             {daemon} and the kernel correct at most 500 ppm: the counter runs at a wrong rate",
            ppm.abs()
        ));
        shown.push((&told.places.drift, format!("the offset grows by {:.0} ppm", ppm.abs())));
    }
    let most = told.asked_ppm.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
    if let Some(ppm) = most.filter(|_| told.asks_by_offset()) {
        clauses.push(format!(
            "{daemon} asks for a correction of the rate by up to {:.0} ppm, and may make one of 500 ppm. Its loop \
             requests this if the offset is larger than it may step (`tinker step 0`, -x), or is large again and \
             again. The rate of the counter may also be wrong. Set the clock once (`ntpd -gq`), and see whether the \
             offset comes back",
            ppm.abs()
        ));
        shown.push((&told.places.frequency, format!("asks for {:.0} ppm", ppm.abs())));
    } else if let Some(ppm) = told.frequency_ppm.filter(|ppm| ppm.abs() >= most_ppm(daemon)) {
        clauses.push(format!(
            "{daemon} finds the counter {}, but it corrects at most {:.0} ppm: \
             the counter runs at a wrong rate, or the machine is disturbed",
            slow(ppm),
            most_ppm(daemon)
        ));
        shown.push((&told.places.frequency, format!("frequency {}", slow(ppm))));
    }
    let errors = clauses.len();
    if let Some(ppm) = vague_rate(told).filter(|_| told.follows != Some(true)) {
        clauses.push(format!("{daemon} knows the rate only to within {ppm:.0} ppm"));
        shown.push((&told.places.skew, format!("skew {ppm:.0} ppm")));
    }
    if let Some(seconds) = told.dispersion_s.filter(|seconds| *seconds >= OFFSET_S) {
        clauses.push(dispersion(told, seconds));
        shown.push((&told.places.dispersion, format!("root dispersion up to {seconds:.3} s")));
    }
    // A rate that the daemon corrects is not an error, but it may be the reason of one.
    if let Some((ppm, evidence)) = corrected_rate(told, source).filter(|_| !clauses.is_empty()) {
        clauses.push(words_corrected(daemon, ppm));
        corrected = Some(evidence);
    }
    let rate = wrong_rate(told, source).map(|(ppm, place)| {
        (ppm, Evidence::new(place.0.clone(), format!("the clock is {}", slow(ppm))))
    });
    (!clauses.is_empty()).then(|| Contrary {
        rate,
        only_bounds: errors == 0,
        clauses,
        evidence: shown
            .into_iter()
            .map(|(place, words)| Evidence::new(place.as_ref().unwrap_or(source).0.clone(), words))
            .chain(corrected)
            .collect(),
    })
}

/// The bound above which the kernel reports the clock as unsynchronised, in seconds (`NTP_PHASE_LIMIT` in
/// `include/linux/timex.h`).
const KERNEL_S: f64 = 16.0;

/// The text for a root dispersion, which bounds an error and is none.
fn dispersion(told: &TimeSource, seconds: f64) -> String {
    let by = text(seconds);
    let mut words = match vague_rate(told) {
        Some(ppm) => format!(
            "it may be off by up to {by}, because the rate of the clock is known only to within {ppm:.0} ppm, as after a first \
             measurement; more measurements make the bound smaller"
        ),
        None => format!(
            "it may be off by up to {by}: its source has not answered for a long time, or is itself uncertain"
        ),
    };
    if seconds > KERNEL_S {
        words.push_str(
            ". With a bound above 16 s the kernel reports the clock as unsynchronised, and so does timedatectl",
        );
    }
    words
}

/// The corrections of a log that are too large for a synchronised clock.
fn large(told: &TimeSource) -> Vec<&Correction> {
    told.corrections.iter().filter(|one| one.by_s.abs() >= OFFSET_S).collect()
}

/// Number of equal steps from which on they are not an accident.
const STEPS: usize = 3;

/// Whether a daemon set the clock by about the same amount again and again.
fn again(large: &[&Correction]) -> bool {
    let Some(first) = large.first() else { return false };
    let alike = |one: &&Correction| {
        let ratio = one.by_s / first.by_s;
        one.set && one.program == first.program && (0.5..2.0).contains(&ratio)
    };
    large.len() >= STEPS && large.iter().all(alike)
}

/// What a daemon found after it had set the clock, if that is of the same sign and no small part of the step.
fn back_again(large: &[&Correction]) -> Option<f64> {
    let at = large.iter().rposition(|one| one.set)?;
    let step = large[at];
    let later = large[at + 1..].iter().find(|one| one.program == step.program)?;
    let ratio = later.by_s / step.by_s;
    (ratio > PART).then_some(later.by_s)
}

/// Whether two steps in a row have opposite signs and about the same amount.
fn undone(large: &[&Correction]) -> bool {
    large.windows(2).any(|pair| {
        let same = pair[0].program == pair[1].program && pair[0].set && pair[1].set;
        same && (pair[0].by_s + pair[1].by_s).abs() < pair[0].by_s.abs() * PART
    })
}

/// Part of a step from which on an offset after it is the same fault.
const PART: f64 = 0.05;

/// The findings in the log of a daemon, and whether the clock was set since, or the daemon followed a source.
///
/// `start`: the reason why the clock was wrong from the start, if it was.
fn of_corrections(
    told: &TimeSource,
    start: Option<(String, Evidence)>,
) -> Option<(String, Vec<Evidence>, bool)> {
    let large = large(told);
    let last = *large.last()?;
    let worst = large.iter().copied().max_by(|a, b| a.by_s.abs().total_cmp(&b.by_s.abs()))?;
    let way = |one: &Correction| if one.by_s > 0.0 { "behind" } else { "ahead" };
    let mut words =
        format!("{} found the wall clock {} {}", worst.program, text(worst.by_s), way(worst));
    if large.len() > 1 {
        words.push_str(&format!(", the worst of {} such findings", large.len()));
    }
    // Each finding has a separate line which shows that the clock was set.
    if worst.set {
        words.push_str(", and set it");
    }
    if !last.set {
        let which = match worst.set {
            true => {
                format!("; the last one found {} {}, and no line says", text(last.by_s), way(last))
            }
            false => "; no line says".to_owned(),
        };
        words.push_str(&format!("{which} that it was set since"));
        if last.followed {
            words.push_str(", and it follows a source");
        }
    } else if !worst.set {
        words.push_str(", and set it since");
    }
    words.push_str(": ");
    if again(&large) {
        let rate = if last.by_s > 0.0 { "slow" } else { "fast" };
        words.push_str(&format!(
            "it was wrong again after each step, by about as much: the clock runs so {rate} that no \
             daemon can keep it synchronised, or something else sets it back each time. The \
             clocksource in use and the kernel's log show more"
        ));
    } else if let Some(by_s) = back_again(&large) {
        let (way, rate) = if by_s > 0.0 { ("behind", "slow") } else { ("ahead", "fast") };
        words.push_str(&format!(
            "after the step it was {} {way} again: the clock runs so {rate} that {} cannot keep it synchronised (more than {:.0} \
             ppm), or something else sets it back. The clocksource in use and the kernel's log show more",
            text(by_s),
            last.program,
            most_ppm(last.program)
        ));
    } else if undone(&large) {
        words.push_str(
            "a step of the opposite sign undid another one, by the same amount. So the rate of the clock is not wrong: \
             the source was wrong for a time, or another program set the clock and the daemon set it back. With four \
             sources a daemon detects a wrong one",
        );
    } else if told.sources_disagree() {
        words.push_str("its sources disagree, so the figure is that of one of them, and may be that source's own error");
    } else {
        words.push_str(&why(worst.by_s, start.as_ref().map(|(why, _)| why.as_str())));
    }
    let evidence = large
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|one| {
            let set = if one.set { ", set" } else { "" };
            Evidence::new(one.source.0.clone(), format!("{}: {:+.3} s{set}", one.program, one.by_s))
        })
        .chain(start.map(|(_, evidence)| evidence))
        .collect();
    Some((words, evidence, last.set || last.followed))
}

/// The reason for an error of this size; `start`: the evidence that the clock was wrong from the start.
fn why(by_s: f64, start: Option<&str>) -> String {
    // A wrong rate would be noticed before it causes a larger difference.
    let drifts = by_s.abs() < DRIFTS_S;
    let zone = (by_s / HOUR_S).round();
    let is_zone = zone != 0.0 && zone.abs() <= 14.0 && (by_s - zone * HOUR_S).abs() < 60.0;
    if let (true, Some(start)) = (by_s > 0.0, start) {
        return format!("it was wrong from the start: {start}");
    }
    let zone = match is_zone {
        true => "whole hours point to a real-time clock that keeps local time; otherwise ",
        false => "",
    };
    let words = match (by_s > 0.0, drifts) {
        (true, true) => {
            "soon after a boot its real-time clock was missing, wrong or without a battery; later the machine or its host had \
             slept, a guest had been paused, or the clock runs too slow"
        }
        (true, false) => {
            "soon after a boot its real-time clock was missing, wrong or without a battery; later the machine or its host had \
             slept, or a guest had been paused"
        }
        (false, true) => {
            "it had been set wrong, by hand, by its real-time clock or by a source, or the clock runs too fast"
        }
        (false, false) => "it had been set wrong, by hand, by its real-time clock or by a source",
    };
    format!("{zone}{words}")
}

/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;
/// Seconds from which on an error is not explained by a wrong rate.
const DRIFTS_S: f64 = 86_400.0;

/// The text for a real-time clock that no time zone explains, on a machine whose source of that clock is unknown.
fn words_apart(other: &Other) -> String {
    let by = text(other.behind_s);
    if other.behind_s > 0.0 {
        format!(
            "the wall clock is {by} behind {}: one of the two is wrong. A guest that was paused, saved or restored is \
             behind until something sets it, and so is a machine that was set by hand",
            other.words
        )
    } else {
        format!(
            "the wall clock is {by} ahead of {}: one of the two is wrong. A real-time clock without a battery is behind, \
             and a wall clock that was set by hand may be ahead",
            other.words
        )
    }
}

impl View<'_> {
    /// A real-time clock that differs widely, on a machine that may not be a guest.
    pub(super) fn apart(
        &self,
        other: &Other,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let mut summary = words_apart(other);
        if self.synchronised() == Some(true) {
            report.state = WallState::Unknown;
            summary.push_str("; nevertheless it is reported as synchronised");
        }
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        let mut evidence = vec![other.evidence.clone()];
        evidence.extend(self.kernel_evidence());
        let id = match other.behind_s > 0.0 {
            true => CauseId::WallClockStaleAfterRestore,
            false => CauseId::WallClockUnsynchronised,
        };
        causes.push(cause(id, Severity::Warning, Confidence::Low, summary, evidence));
    }

    /// A rate of the TSC that no crystal has: the kernel uses a wrong frequency.
    fn wrong_rate(
        &self,
        (ppm, evidence): (f64, Evidence),
        report: &mut WallClockReport,
        causes: &mut Vec<Cause>,
    ) {
        let tsc = self.current.filter(|name| name.starts_with("tsc"));
        let Some(name) = tsc else { return };
        let daemon = self.told.map_or("", |(told, _)| told.daemon);
        let can = ppm.abs() < most_ppm(daemon);
        let (severity, clock, than) = match can {
            true => (
                Severity::Info,
                "without its correction the wall clock would be",
                "a crystal is off by".to_owned(),
            ),
            false => {
                let than = if daemon.is_empty() { "ntpd".to_owned() } else { daemon.to_owned() };
                (Severity::Warning, "the wall clock is", format!("{than} can correct"))
            }
        };
        let summary = format!(
            "{clock} {} while {name} is in use, more than {than}: the kernel's figure for the \
             frequency of the TSC is wrong by as much, unless this machine is stopped again and again, as a guest may be",
            slow(ppm)
        );
        report
            .settles
            .push(settle("the frequency that the kernel uses", "sudo dmesg | grep -i 'tsc.*MHz'"));
        let id = CauseId::TscMiscalibrated;
        causes.push(cause(id, severity, Confidence::Medium, summary, vec![evidence]));
    }

    /// A rate that the daemon corrects, of a clock that is right.
    pub(super) fn corrected(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let Some((told, source)) = self.told else { return };
        let Some((ppm, evidence)) = corrected_rate(told, source) else { return };
        words.push(sentence(&words_corrected(told.daemon, ppm)));
        self.wrong_rate((ppm, evidence), report, causes);
    }

    /// Two sources of ntpd that answer and are far apart; returns whether there are.
    pub(super) fn far_apart(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) -> bool {
        let Some((told, source)) = self.told else { return false };
        let Some(ahead) = beyond_panic(told) else { return false };
        report.state = WallState::Unknown;
        let way = if ahead < 0.0 { "slow" } else { "fast" };
        let summary = format!(
            "ntpd follows a source, but according to another one that answers the wall clock is {} \
             {way}, more than ntpd corrects without -g: one of the two is wrong, or the one that it \
             follows is this machine's own clock (127.127.1.0)",
            text(ahead)
        );
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        let place = told.places.offered.as_ref().unwrap_or(source);
        let evidence = vec![Evidence::new(place.0.clone(), format!("offset {ahead:+.3} s"))];
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, evidence));
        true
    }

    /// Figures of a daemon that contradict a synchronised clock.
    pub(super) fn against(
        &self,
        found: Contrary,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        if let Some(rate) = found.rate.clone() {
            self.wrong_rate(rate, report, causes);
        }
        let follows = self.synchronised() == Some(true);
        let although = if follows { ", although a source is followed" } else { "" };
        let clauses = found.clauses.join("; ");
        let (state, sure, summary) = match (found.only_bounds, follows) {
            (true, true) => (
                WallState::Unknown,
                Confidence::Medium,
                format!(
                    "a source is followed, and no figure says that the wall clock is wrong, but {clauses}"
                ),
            ),
            (true, false) => (
                WallState::Unsynchronised,
                Confidence::High,
                format!("it is not known whether the wall clock is correct: {clauses}"),
            ),
            (false, _) => (
                WallState::Unsynchronised,
                Confidence::High,
                format!("the wall clock is wrong{although}: {clauses}"),
            ),
        };
        report.state = state;
        words.push(sentence(&summary));
        report
            .settles
            .push(settle("whether it gets better", "the same command again, minutes later"));
        let mut evidence = found.evidence;
        evidence.extend(self.kernel_evidence());
        causes.push(cause(
            CauseId::WallClockUnsynchronised,
            Severity::Warning,
            sure,
            summary,
            evidence,
        ));
    }

    /// Adds the findings that daemons wrote to their logs; returns whether there are any.
    pub(super) fn found_wrong(&self, words: &mut Vec<String>, causes: &mut Vec<Cause>) -> bool {
        let Some((summary, evidence, set)) =
            self.told.and_then(|(told, _)| of_corrections(told, self.wrong_from_the_start()))
        else {
            return false;
        };
        words.push(sentence(&summary));
        // An error that was found, and corrected since, is past; the log does not show the present state.
        let (severity, sure) = match set {
            true => (Severity::Info, Confidence::Low),
            false => (Severity::Warning, Confidence::Medium),
        };
        causes.push(cause(CauseId::WallClockUnsynchronised, severity, sure, summary, evidence));
        true
    }
}

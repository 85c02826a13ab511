//! The judgement that monitoring needs: one state, one line, and the points that it rests on. Pure: from a report and
//! thresholds.

use crate::range::Range;
use clocksmith_diagnose::demotion::demoted_by;
use clocksmith_diagnose::policy::{Conformity, PolicyAnswer};
use clocksmith_diagnose::timeline::Step;
use clocksmith_diagnose::wall::WallState;
use clocksmith_diagnose::{Cause, CauseId, Report, Severity, Verdict};
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::names;
use clocksmith_facts::ntp::NtpState;
use clocksmith_facts::visible;
use serde::{Deserialize, Serialize};

/// The largest number of characters of the first line: monitoring systems cut at 80 with the end of the line.
pub const LINE: usize = 79;

/// A state of the monitoring convention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// No problem.
    Ok,
    /// A problem that an administrator should examine.
    Warning,
    /// A problem that an administrator should examine now.
    Critical,
    /// The state could not be determined.
    #[default]
    Unknown,
}

impl State {
    /// All of them, by exit code.
    pub const ALL: [Self; 4] = [Self::Ok, Self::Warning, Self::Critical, Self::Unknown];

    /// The exit code of the convention: 0, 1, 2, 3.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Warning => 1,
            Self::Critical => 2,
            Self::Unknown => 3,
        }
    }

    /// The word of the convention: `OK`, `WARNING`, `CRITICAL`, `UNKNOWN`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Warning => "WARNING",
            Self::Critical => "CRITICAL",
            Self::Unknown => "UNKNOWN",
        }
    }

    /// The word in small letters, as in JSON and in labels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Critical => "critical",
            Self::Unknown => "unknown",
        }
    }

    /// The order of states, for combining points: a known fault outweighs an unknown state.
    fn rank(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unknown => 1,
            Self::Warning => 2,
            Self::Critical => 3,
        }
    }

    /// The worse of two.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }
}

/// The states that are given to problems, and the thresholds of the read cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thresholds {
    /// State for slow reads: system calls, and usually device accesses.
    pub slow: State,
    /// State for a clocksource that the kernel demoted in this boot.
    pub demoted: State,
    /// State for time that may be wrong or go backwards.
    pub untrustworthy: State,
    /// State for a wall clock that is stale, not synchronised although a program should correct it, or set by two
    /// masters.
    pub wall_clock: State,
    /// State for a clocksource that is not in `expect`.
    pub unexpected: State,
    /// Clocksources of which one should be in use; empty means any.
    pub expect: Vec<String>,
    /// Read cost of CLOCK_MONOTONIC in nanoseconds from which the state is a warning.
    pub warn_ns: Option<f64>,
    /// Read cost of CLOCK_MONOTONIC in nanoseconds from which the state is critical.
    pub critical_ns: Option<f64>,
    /// Read costs in nanoseconds that are a warning, as a range of monitoring plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warn_range: Option<Range>,
    /// The same, critical.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_range: Option<Range>,
}

impl Thresholds {
    /// Returns whether there are thresholds for the cost of a read.
    #[must_use]
    pub fn of_cost(&self) -> bool {
        let figures = self.warn_ns.is_some() || self.critical_ns.is_some();
        figures || self.warn_range.is_some() || self.critical_range.is_some()
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            slow: State::Warning,
            demoted: State::Warning,
            untrustworthy: State::Critical,
            wall_clock: State::Warning,
            unexpected: State::Critical,
            expect: Vec::new(),
            warn_ns: None,
            critical_ns: None,
            warn_range: None,
            critical_range: None,
        }
    }
}

/// One point of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// `clocksource`, `expected`, `trust`, `reads`, `demotion`, `wall-clock`, `policy`, `cost` or `ntp`.
    pub id: &'static str,
    /// The state of the point; `unknown` where it could not be checked.
    pub state: State,
    /// The result in a few words.
    pub text: String,
    /// Whether the point was checked. The state of the report depends on checked points only.
    pub looked_at: bool,
}

impl Point {
    fn new(id: &'static str, state: State, text: String) -> Self {
        Self { id, state, text, looked_at: true }
    }

    /// The word of its state, or that it was not looked at.
    #[must_use]
    pub fn word(&self) -> &'static str {
        if self.looked_at { self.state.word() } else { "SKIPPED" }
    }

    fn not_looked_at(id: &'static str, why: String) -> Self {
        Self { id, state: State::Unknown, text: why, looked_at: false }
    }
}

/// The judgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The worst state of the checked points.
    pub state: State,
    /// `CLOCKSMITH WARNING - acpi_pm is slow ...`, under 80 characters.
    pub line: String,
    /// The checked points, in a fixed order; points that were not requested are absent.
    pub points: Vec<Point>,
}

impl Judgement {
    /// A judgement that could not be reached, with the reason.
    #[must_use]
    pub fn unknown(reason: &str) -> Self {
        let text = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            state: State::Unknown,
            line: line(State::Unknown, &text),
            points: vec![Point::new("clocksource", State::Unknown, text)],
        }
    }

    /// Adds the kernel's flag for a synchronised wall clock, if that is known: for information. The point
    /// `wall-clock` judges its meaning.
    #[must_use]
    pub fn with_ntp(mut self, ntp: Option<&NtpState>) -> Self {
        if let Some(ntp) = ntp {
            let text = if ntp.synchronized {
                "the wall clock is synchronised".to_owned()
            } else {
                "the kernel reports the wall clock as not synchronised (STA_UNSYNC)".to_owned()
            };
            self.points.push(Point::new("ntp", State::Ok, text));
        }
        self
    }
}

/// Returns whether a cause means that the kernel demoted a clocksource.
#[must_use]
pub fn is_demotion(cause: &Cause) -> bool {
    cause.is_demotion()
}

/// Judges.
#[must_use]
pub fn judge(report: &Report, thresholds: &Thresholds) -> Judgement {
    let Some(name) = report.clocksource.current.as_deref() else {
        return Judgement::unknown("the clocksource in use is not known");
    };
    let ns = report.monotonic_ns();
    let mut points = vec![in_use(report, name)];
    if !thresholds.expect.is_empty() {
        points.push(expected(report, name, thresholds));
    }
    points.push(trust(report, thresholds));
    points.push(reads(report, name, ns, thresholds));
    points.push(demotion(report, thresholds));
    points.extend(wall_clock(report, thresholds));
    points.extend(report.policy.as_ref().map(policy));
    if thresholds.of_cost() {
        points.push(cost(ns, thresholds));
    }
    let looked_at = || points.iter().filter(|point| point.looked_at);
    let state = looked_at().fold(State::Ok, |state, point| state.worse(point.state));
    let text = match looked_at().find(|point| point.state == state) {
        Some(point) if state != State::Ok => point.text.clone(),
        _ => format!("{name}{}", cost_text(ns, ", ", " a read")),
    };
    Judgement { state, line: line(state, &shortened(state, &text, name)), points }
}

fn in_use(report: &Report, name: &str) -> Point {
    if report.is_clocksource_open() {
        let text = format!("{name}, unless another clocksource was chosen: it was not read");
        return Point::new("clocksource", State::Unknown, text);
    }
    Point::new("clocksource", State::Ok, format!("{name} is in use"))
}

fn expected(report: &Report, name: &str, thresholds: &Thresholds) -> Point {
    let wanted = thresholds.expect.join(" or ");
    if report.is_clocksource_open() {
        let text = format!("perhaps {name} is in use, expected {wanted}: it was not read");
        return Point::new("expected", State::Unknown, text);
    }
    if thresholds.expect.iter().any(|expected| expected == name) {
        return Point::new("expected", State::Ok, format!("{name} is expected"));
    }
    let text = format!("{name} is in use, expected {wanted}");
    Point::new("expected", thresholds.unexpected, text)
}

/// The diagnosis decides the severity of a fault: a fault of the TSC does not affect a time that is made of another
/// clocksource.
fn trust(report: &Report, thresholds: &Thresholds) -> Point {
    let fault = report.causes.iter().find(|cause| cause.severity == Severity::Critical);
    let (state, text) = match fault {
        Some(cause) => {
            (thresholds.untrustworthy, format!("the time cannot be trusted ({})", cause.id.name()))
        }
        None => (State::Ok, "counter and clocksource: no fault found".to_owned()),
    };
    Point::new("trust", state, text)
}

fn reads(report: &Report, name: &str, ns: Option<f64>, thresholds: &Thresholds) -> Point {
    let cost = cost_text(ns, ", ", " a read");
    let slow = report
        .read("CLOCK_MONOTONIC")
        .is_some_and(|read| read.path == clocksmith_diagnose::Path::Syscall);
    let (state, text) = match report.verdict {
        Verdict::Slow => {
            let why = lead(report).map_or_else(String::new, |id| format!(" ({})", id.name()));
            (thresholds.slow, format!("{name} is slow{cost}{why}"))
        }
        Verdict::Untrustworthy if slow => (thresholds.slow, format!("{name} is slow{cost}")),
        Verdict::Untrustworthy | Verdict::Ok => {
            (State::Ok, format!("reads of {name} are fast{cost}"))
        }
        Verdict::Unknown => (State::Unknown, format!("not known whether {name} is fast{cost}")),
    };
    Point::new("reads", state, text)
}

/// The cause that is named next to a slow clocksource.
fn lead(report: &Report) -> Option<CauseId> {
    report.causes.iter().map(|cause| cause.id).find(|id| !id.concerns_wall_clock())
}

fn demotion(report: &Report, thresholds: &Thresholds) -> Point {
    if let Some(cause) = report.causes.iter().find(|cause| is_demotion(cause)) {
        let text = format!("the kernel demoted a clocksource ({})", cause.id.name());
        return Point::new("demotion", thresholds.demoted, text);
    }
    if let Some((name, source)) = demoted(report) {
        let text = format!("the kernel demoted {name} ({source})");
        return Point::new("demotion", thresholds.demoted, text);
    }
    // Without its log the kernel's silence means nothing.
    match report.missing.iter().find(|missing| missing.fact == "kernel log") {
        Some(_) => Point::not_looked_at(
            "demotion",
            "not checked: the kernel log could not be read (on a live machine, that needs root or CAP_SYSLOG)"
                .to_owned(),
        ),
        None => Point::new("demotion", State::Ok, "the kernel log has no demotion".to_owned()),
    }
}

/// Returns the clocksource that the watchdog demoted in this boot, and the line that reports it, even if the cause is
/// not known or its replacement is as good.
fn demoted(report: &Report) -> Option<(String, &str)> {
    // A demotion of the TSC in the log of another architecture is of another machine.
    let current = report.clocksource.current.as_deref().and_then(names::find);
    let x86 = current.is_none_or(|known| known.x86);
    let available = report.clocksource.available.as_deref().unwrap_or_default();
    report.timeline.iter().filter(|moment| moment.step == Step::Unstable).find_map(|moment| {
        let said = KernelLog::message(&moment.text)?;
        let by_watchdog = matches!(
            said,
            Event::WatchdogMarked { .. }
                | Event::WatchdogOld { .. }
                | Event::TscUnstable(UnstableReason::Watchdog)
        );
        let name = demoted_by(&said).filter(|name| {
            by_watchdog
                && (x86 || !name.starts_with("tsc"))
                && !available.iter().any(|listed| listed == name)
        })?;
        Some((name.to_owned(), moment.source.as_str()))
    })
}

/// Returns whether the wall clock is correct, if there is evidence about it. Read costs do not
/// matter here.
fn wall_clock(report: &Report, thresholds: &Thresholds) -> Option<Point> {
    let wall = report.wall_clock.as_ref()?;
    let grave = report
        .causes
        .iter()
        .find(|cause| cause.id.concerns_wall_clock() && cause.severity >= Severity::Warning);
    let (state, text) = match grave {
        Some(cause) => {
            let what = match (cause.id, wall.behind_s) {
                (CauseId::WallClockStaleAfterRestore, Some(behind)) => {
                    format!("wall clock {} behind", seconds_text(behind))
                }
                (CauseId::TwoMasters, _) => "wall clock".to_owned(),
                (_, Some(behind)) if behind < -0.5 => {
                    format!("wall clock {} ahead", seconds_text(-behind))
                }
                _ => "wall clock not synchronised".to_owned(),
            };
            (thresholds.wall_clock, format!("{what} ({})", cause.id.name()))
        }
        None => {
            let text = match wall.state {
                WallState::Synchronised => "the wall clock is synchronised",
                WallState::Unsynchronised => {
                    "the kernel reports the wall clock as not synchronised; whether a program corrects it is not known"
                }
                WallState::Stale | WallState::Unknown => {
                    "whether the wall clock is correct is not known"
                }
            };
            (State::Ok, text.to_owned())
        }
    };
    Some(Point::new("wall-clock", state, text))
}

/// Returns whether the machine conforms to the vendor that `--policy` names: a warning at most, because the time of a
/// machine that does not conform to a contract may be right.
fn policy(answer: &PolicyAnswer) -> Point {
    let text = answer.summary.trim_end_matches('.').to_owned();
    match answer.conforms {
        Conformity::Yes | Conformity::AsksNothing => Point::new("policy", State::Ok, text),
        Conformity::Tolerated | Conformity::No => Point::new("policy", State::Warning, text),
        Conformity::Unknown => Point::not_looked_at("policy", text),
    }
}

fn seconds_text(seconds: f64) -> String {
    if seconds < 600.0 { format!("{seconds:.1} s") } else { format!("{:.0} min", seconds / 60.0) }
}

fn cost(ns: Option<f64>, thresholds: &Thresholds) -> Point {
    let Some(ns) = ns else {
        let text = "what a read costs could not be measured".to_owned();
        return Point::new("cost", State::Unknown, text);
    };
    let over = |bound: Option<f64>, range: Option<Range>| {
        let bound = bound
            .filter(|bound| ns >= *bound)
            .map(|bound| format!("the bound is {}", ns_text(bound)));
        bound.or_else(|| {
            let range = range.filter(|range| range.alerts(ns))?;
            Some(format!("the range is {} ns", range.text(|figure| figure.to_string())))
        })
    };
    let critical = over(thresholds.critical_ns, thresholds.critical_range);
    let bad = critical
        .map(|bound| (State::Critical, bound))
        .or_else(|| Some((State::Warning, over(thresholds.warn_ns, thresholds.warn_range)?)));
    let (state, bound) =
        bad.map_or((State::Ok, String::new()), |(state, bound)| (state, format!(", {bound}")));
    Point::new("cost", state, format!("a read costs {}{bound}", ns_text(ns)))
}

fn cost_text(ns: Option<f64>, before: &str, after: &str) -> String {
    ns.map_or_else(String::new, |ns| format!("{before}{}{after}", ns_text(ns)))
}

/// Formats a duration: `26 ns`, `1.3 us`, `2.0 ms`.
#[must_use]
pub fn ns_text(ns: f64) -> String {
    match ns {
        ns if ns < 10.0 => format!("{ns:.1} ns"),
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

/// Returns the text with as much of the clocksource's name as the first line has room for: the rest of the text matters
/// more than the end of the name.
fn shortened(state: State, text: &str, name: &str) -> String {
    let length = "CLOCKSMITH  - ".len() + state.word().len() + text.chars().count();
    let whole = name.chars().count();
    let over = length.saturating_sub(LINE);
    if over == 0 || !text.contains(name) || whole <= SHORT {
        return text.to_owned();
    }
    let kept: String = name.chars().take((whole.saturating_sub(over + 2)).max(SHORT)).collect();
    text.replacen(name, &format!("{kept}.."), 1)
}

/// Characters of a clocksource's name that are kept in any case.
const SHORT: usize = 8;

/// Returns the first line, cut to [`LINE`] characters, without characters that would end it early: `|` begins the
/// performance data of monitoring plugins.
fn line(state: State, text: &str) -> String {
    let text = visible::line(text).replace('|', " ");
    let whole = format!("CLOCKSMITH {} - {text}", state.word());
    if whole.chars().count() <= LINE {
        return whole;
    }
    let cut: String = whole.chars().take(LINE - 2).collect();
    format!("{}..", cut.trim_end())
}

#[cfg(test)]
pub(crate) mod tests;

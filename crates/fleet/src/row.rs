//! Rows: the content of one machine's document, flat and typed.

use crate::newest::Moment;
use crate::parse::Document;
use clocksmith_diagnose::remedies::Layer;
use clocksmith_diagnose::{Confidence, Path, Severity, Verdict};
use clocksmith_facts::{utc, visible};

type Cause = clocksmith_diagnose::Cause<String>;
type Remedy = clocksmith_diagnose::Remedy<String>;

/// Characters of a text that are kept. A longer text is not a name.
pub const MAX_TEXT: usize = 256;

/// A machine.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The confidence of the verdict.
    pub confidence: Confidence,
    /// The clocksource in use.
    pub clocksource: Option<String>,
    /// The list of sysfs, with spaces between.
    pub available: Option<String>,
    /// The clocksource that the model expects.
    pub expected: Option<String>,
    /// Whether the vDSO serves CLOCK_MONOTONIC, by the model.
    pub expected_vdso: Option<bool>,
    /// Whether it does, as measured.
    pub vdso: Option<bool>,
    /// Nanoseconds a read of CLOCK_REALTIME.
    pub cost_ns: Option<f64>,
    /// Nanoseconds a read of CLOCK_MONOTONIC.
    pub monotonic_ns: Option<f64>,
    /// Nanoseconds a read of CLOCK_REALTIME by a system call.
    pub syscall_ns: Option<f64>,
    /// Nanoseconds a read of the bare counter.
    pub counter_ns: Option<f64>,
    /// The gravest cause.
    pub cause: Option<String>,
    /// How much that matters.
    pub severity: Option<Severity>,
    /// How many causes there are.
    pub causes: i64,
    /// The change that is advised first: see [`change`].
    pub remedy: Option<String>,
    /// Whether that remedy removes every cause above the severity "info".
    pub remedy_alone: Option<bool>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Its first two numbers.
    pub kernel_series: Option<String>,
    /// Architecture.
    pub arch: Option<String>,
    /// Hypervisor, `none` on bare metal.
    pub hypervisor: Option<String>,
    /// Processor.
    pub cpu: Option<String>,
    /// Frequency of the TSC in kHz.
    pub tsc_khz: Option<i64>,
    /// The possible error of that frequency, in kHz.
    pub tsc_slack_khz: Option<i64>,
    /// Whether guests' TSCs can be scaled.
    pub tsc_scaling: Option<bool>,
    /// In which way.
    pub tsc_hardware: Option<String>,
    /// Whether the TSC is invariant.
    pub tsc_invariant: Option<bool>,
    /// The result of `verify`.
    pub verified: Option<String>,
    /// When the facts were taken, in UTC.
    pub taken_at: Option<String>,
    /// The input that it was read from.
    pub taken_from: String,
    /// The id of the machine, from which its machine-id(5) cannot be found.
    pub machine_id: Option<String>,
}

/// A cause on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CauseRow {
    /// The machine.
    pub host: String,
    /// Its place in the list, from 1, gravest first.
    pub place: i64,
    /// The id.
    pub cause: String,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// Whether it is the gravest one of the machine.
    pub gravest: bool,
    /// When the facts were taken.
    pub taken_at: Option<String>,
    /// The id of the machine.
    pub machine_id: Option<String>,
}

/// A remedy for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemedyRow {
    /// The machine.
    pub host: String,
    /// Its place in the list, from 1, in order of preference.
    pub place: i64,
    /// The id.
    pub remedy: String,
    /// Where it acts.
    pub layer: Layer,
    /// Whether it is refused here.
    pub refused: bool,
    /// Why.
    pub refused_because: Option<String>,
    /// Whether it removes the gravest cause.
    pub answers_gravest: bool,
    /// Whether it removes every cause above the severity "info".
    pub answers_all: bool,
    /// Whether it is the change that is advised first: see [`change`].
    pub chosen: bool,
    /// When the facts were taken.
    pub taken_at: Option<String>,
    /// The id of the machine.
    pub machine_id: Option<String>,
}

/// All rows of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The machine.
    pub host: HostRow,
    /// Its causes.
    pub causes: Vec<CauseRow>,
    /// Its remedies.
    pub remedies: Vec<RemedyRow>,
}

/// Returns the place of the change that is advised first for a fault: the first remedy that is not refused, removes the
/// gravest cause, and changes the machine (a program that reads more cheaply leaves it as it is). `None` without a
/// fault, without a known cause, or without advice.
#[must_use]
pub fn change(why: &Document) -> Option<usize> {
    if !matches!(why.verdict, Verdict::Slow | Verdict::Untrustworthy) {
        return None;
    }
    why.remedies.iter().position(|remedy| {
        remedy.refused_because.is_none()
            && remedy.layer != Layer::Program
            && answers_gravest(remedy, why)
    })
}

/// The gravest cause; of equal ones the first.
fn gravest(why: &Document) -> Option<&Cause> {
    why.causes.iter().rev().max_by_key(|cause| cause.severity)
}

fn answers_gravest(remedy: &Remedy, why: &Document) -> bool {
    gravest(why).is_some_and(|cause| remedy.causes.contains(&cause.id))
}

/// Returns whether the remedy removes the gravest cause and every cause above the severity "info".
fn answers_all(remedy: &Remedy, why: &Document) -> bool {
    answers_gravest(remedy, why)
        && why
            .causes
            .iter()
            .filter(|cause| cause.severity > Severity::Info)
            .all(|cause| remedy.causes.contains(&cause.id))
}

impl Rows {
    /// From a document. `place` is where it was read, and names a machine that has no name of its own.
    #[must_use]
    pub fn of(why: &Document, place: &str) -> Self {
        let chosen = change(why);
        let name = why.host.as_deref().map(text).filter(|name| is_name(name));
        let name = name.unwrap_or_else(|| text(place));
        let gravest = gravest(why);
        let tsc = why.machine.as_host.tsc;
        let (monotonic, realtime) = (why.read("CLOCK_MONOTONIC"), why.read("CLOCK_REALTIME"));
        let remedy = chosen.and_then(|place| why.remedies.get(place));
        let host = HostRow {
            verdict: why.verdict,
            confidence: why.confidence,
            clocksource: optional(&why.clocksource.current),
            available: why.clocksource.available.as_ref().map(|list| text(&list.join(" "))),
            expected: optional(&why.expected.current),
            expected_vdso: why.expected.vdso,
            vdso: monotonic.and_then(|read| match read.path {
                Path::Vdso => Some(true),
                Path::Syscall => Some(false),
                Path::Unknown => None,
            }),
            cost_ns: realtime.and_then(|read| cost(read.ns)),
            monotonic_ns: monotonic.and_then(|read| cost(read.ns)),
            syscall_ns: realtime.and_then(|read| cost(read.syscall_ns)),
            counter_ns: cost(why.counter_ns),
            cause: gravest.map(|cause| text(&cause.id)),
            severity: gravest.map(|cause| cause.severity),
            causes: count(why.causes.len()),
            remedy: remedy.map(|remedy| text(&remedy.id)),
            remedy_alone: remedy.map(|remedy| answers_all(remedy, why)),
            kernel: optional(&why.machine.kernel),
            kernel_series: why.machine.kernel.as_deref().and_then(series),
            arch: optional(&why.machine.arch),
            hypervisor: optional(&why.machine.hypervisor),
            cpu: optional(&why.machine.cpu),
            tsc_khz: tsc.map(|tsc| i64::from(tsc.khz)),
            tsc_slack_khz: tsc.map(|tsc| i64::from(tsc.slack_khz)),
            tsc_scaling: why.machine.as_host.scaling,
            tsc_hardware: why.machine.as_host.hardware.map(|way| way.name().to_owned()),
            tsc_invariant: why.machine.as_host.invariant,
            verified: why.verified.as_ref().map(|verified| verified.verdict.name().to_owned()),
            taken_at: why.taken_at.as_deref().and_then(moment).map(|at| utc::text(u64::from(at))),
            taken_from: text(place),
            machine_id: optional(&why.machine_id),
            host: name,
        };
        // A cause of several counts once, as its first one.
        let first = |at: usize, id: &str| why.causes.iter().position(|c| c.id == id) == Some(at);
        let causes = why.causes.iter().enumerate().filter(|(at, cause)| first(*at, &cause.id));
        let causes = causes.map(|(at, cause)| CauseRow {
            host: host.host.clone(),
            place: count(at + 1),
            cause: text(&cause.id),
            severity: cause.severity,
            confidence: cause.confidence,
            gravest: gravest.is_some_and(|gravest| gravest.id == cause.id),
            taken_at: host.taken_at.clone(),
            machine_id: host.machine_id.clone(),
        });
        let remedies = why.remedies.iter().enumerate().map(|(at, remedy)| RemedyRow {
            host: host.host.clone(),
            place: count(at + 1),
            remedy: text(&remedy.id),
            layer: remedy.layer,
            refused: remedy.refused_because.is_some(),
            refused_because: optional(&remedy.refused_because),
            answers_gravest: answers_gravest(remedy, why),
            answers_all: answers_all(remedy, why),
            chosen: chosen == Some(at),
            taken_at: host.taken_at.clone(),
            machine_id: host.machine_id.clone(),
        });
        let (causes, remedies) = (causes.collect(), remedies.collect());
        Self { host, causes, remedies }
    }

    /// When the facts were taken; 0 without a date.
    #[must_use]
    pub fn taken(&self) -> Moment {
        self.host.taken_at.as_deref().and_then(moment).unwrap_or(0)
    }

    /// Sets or removes the date.
    pub fn date(&mut self, taken_at: Option<&str>) {
        let taken_at = taken_at.and_then(moment).map(|at| utc::text(u64::from(at)));
        self.causes.iter_mut().for_each(|row| row.taken_at.clone_from(&taken_at));
        self.remedies.iter_mut().for_each(|row| row.taken_at.clone_from(&taken_at));
        self.host.taken_at = taken_at;
    }
}

/// The moment of a date, if it is one: `2026-01-02T03:04:05Z`, or the beginning of `2026-01-02`. 1970 is that of a clock that
/// was not set.
#[must_use]
pub fn moment(date: &str) -> Option<Moment> {
    let seconds = utc::seconds(date)?;
    Moment::try_from(seconds).ok().filter(|seconds| *seconds >= 365 * 86_400)
}

/// Names that every second machine has name none.
fn is_name(name: &str) -> bool {
    !matches!(
        name,
        "" | "(none)" | "localhost" | "localhost.localdomain" | "localhost4" | "localhost6"
    )
}

/// A text of one line, short enough for a table. Other programs also show the tables, so
/// it is made visible here.
fn text(text: &str) -> String {
    visible::line(text).chars().take(MAX_TEXT).collect::<String>().trim().to_owned()
}

fn optional(value: &Option<String>) -> Option<String> {
    value.as_deref().map(text).filter(|value| !value.is_empty())
}

/// A cost is a number of nanoseconds.
fn cost(ns: Option<f64>) -> Option<f64> {
    ns.filter(|ns| ns.is_finite() && *ns > 0.0)
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The first two numbers of a release: `6.1` of `6.1.0-50-cloud-amd64`, `7.3` of `7.3-cloud-amd64`.
fn series(release: &str) -> Option<String> {
    let mut numbers = release.splitn(3, '.').map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part.get(..end).unwrap_or_default()
    });
    let (major, minor) = (numbers.next()?, numbers.next()?);
    let good = |part: &str| !part.is_empty() && part.len() <= 5;
    (good(major) && good(minor)).then(|| format!("{major}.{minor}"))
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;

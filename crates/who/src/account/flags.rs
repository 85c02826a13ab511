//! Suspicious reads. Each flag has a confidence; all are based on observations from outside. Pure.

use super::cells::Cell;
use super::waits::{self, Confidence};
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::recording::Recording;
use crate::watched::OwnClock;
use serde::Serialize;
use std::collections::BTreeMap;

/// A suspicious use of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// The wall clock in a function that waits or measures: it may be set at any time.
    WallClockForIntervals,
    /// Reads so close together that a coarse clock would return the same time for most of them.
    CoarseCandidate,
    /// CPU-time clocks, which are always a system call, in a hot path.
    CpuTimeInHotPath,
    /// System calls for a clock that the vDSO serves.
    AvoidableSystemCall,
}

/// A suspicious use of a clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flag {
    /// The kind.
    pub kind: FlagKind,
    /// The process.
    pub pid: u32,
    /// The function.
    pub function: String,
    /// The confidence that the use is wrong.
    pub confidence: Confidence,
    /// The evidence.
    pub evidence: String,
    /// The limits of the evidence.
    pub doubt: &'static str,
}

/// Words in names of functions that wait or measure.
const WAITING: [&str; 14] = [
    "wait",
    "timeout",
    "time_out",
    "timedout",
    "deadline",
    "sleep",
    "poll",
    "elapsed",
    "interval",
    "duration",
    "expire",
    "retry",
    "backoff",
    "remaining",
];
/// Least share of the CPU time for a hot path.
const HOT: f64 = 0.005;
/// The smallest number of samples for a rate: a single sample would represent a hundred thousand reads.
const FEW: f64 = 10.0;
/// Least share of the CPU time that a coarse clock must save.
const WORTH: f64 = 0.02;
/// Least share of reads that are closer together than a tick.
const CLOSE: f64 = 0.9;

/// The part of reads that must be closer together than a tick: a thread that reads `rate` times a
/// second can have at most one read in each tick that is a whole tick after the last.
pub(super) fn closer_than_tick(rate: f64, tick_ns: f64) -> f64 {
    if rate <= 0.0 || tick_ns <= 0.0 { 0.0 } else { (1.0 - 1e9 / tick_ns / rate).max(0.0) }
}

/// Finds the flags of a recording.
pub(super) fn flags(recording: &Recording, cells: &[Cell], costs: &Costs) -> Vec<Flag> {
    let cpu = recording.all.ns as f64 * 1e-9;
    let mut flags = Vec::new();
    let pid = |process: usize| recording.processes.get(process).map_or(0, |seen| seen.pid);
    let mut rates: BTreeMap<(usize, &str), (f64, f64, f64)> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.samples > 0.0) {
        let share = if cpu > 0.0 { cell.seconds / cpu } else { 0.0 };
        let function = cell.site.function.clone();
        let flag = |kind, confidence, evidence: String, doubt| Flag {
            kind,
            pid: pid(cell.process),
            function: function.clone(),
            confidence,
            evidence,
            doubt,
        };
        let clock = cell.clock;
        if share > HOT && clock.is_some_and(crate::clock::ClockId::is_cpu_time) {
            flags.push(flag(
                FlagKind::CpuTimeInHotPath,
                Confidence::High,
                format!("{:.1} % of the CPU time", share * 100.0),
                "a profiler or an accounting needs it",
            ));
        }
        if cell.path == Path::Syscall
            && share > HOT
            && costs.of(cell.api, clock).in_user_space() == Some(true)
        {
            flags.push(flag(
                FlagKind::AvoidableSystemCall,
                Confidence::Medium,
                format!("{:.1} % of the CPU time, without the vDSO", share * 100.0),
                "which clock it reads is not seen, but --syscalls counts it; CPU-time clocks need \
                 the call",
            ));
        }
        let lower = function.to_lowercase();
        let wall = clock.is_some_and(crate::clock::ClockId::is_wall)
            || cell.api == crate::clock::Api::Gettimeofday;
        if wall && let Some(word) = WAITING.iter().find(|word| lower.contains(*word)) {
            flags.push(flag(
                FlagKind::WallClockForIntervals,
                Confidence::Low,
                format!(
                    "reads {}, and its name says \"{word}\"",
                    clock.map_or_else(|| cell.api.name().to_owned(), crate::clock::ClockId::name)
                ),
                "only its name suggests waiting; a wait for a time of day should use the wall \
                 clock",
            ));
        }
        let fine = clock.is_none_or(|clock| !clock.is_coarse() && !clock.is_cpu_time())
            && !(cell.path == Path::ClocksmithRun && cell.own == Some(OwnClock::Coarse));
        // A coarse clock measures an interval below a tick as 0. So it does not replace a clock
        // that measures intervals, unless each read is a system call.
        let slow = matches!(cell.path, Path::VdsoFallback | Path::Syscall);
        if fine
            && (wall || slow)
            && cell.path != Path::Counter
            && cell.api != crate::clock::Api::Time
        {
            let rate = rates.entry((cell.process, &cell.site.function)).or_default();
            rate.0 += cell.calls.map_or(0.0, |calls| calls.behind);
            rate.1 += cell.seconds;
            rate.2 += cell.samples;
        }
    }
    if let Some(tick) = costs.tick_ns {
        for ((process, function), (calls, seconds, samples)) in rates {
            // All threads together can have a tick each; the number of reading threads is not counted, so the number
            // that could have run is used.
            let threads = recording.processes.get(process).map_or(1.0, |seen| {
                (seen.tally.ns as f64 * 1e-9 / recording.seconds.max(1e-9)).ceil().max(1.0)
            });
            let close = closer_than_tick(calls / recording.seconds.max(1e-9) / threads, tick);
            let coarse = costs.coarse_ns.unwrap_or(0.0) * 1e-9 * calls;
            let saves = if cpu > 0.0 { (seconds - coarse).max(0.0) / cpu } else { 0.0 };
            if close > CLOSE && samples >= FEW && saves > WORTH {
                flags.push(Flag {
                    kind: FlagKind::CoarseCandidate,
                    pid: pid(process),
                    function: function.to_owned(),
                    confidence: Confidence::Medium,
                    evidence: format!(
                        "at least {:.1} % of its reads are less than a tick ({:.0} ms) after the one \
                         before; saves up to {:.1} % of the CPU time",
                        (close * 1000.0).floor() / 10.0,
                        tick * 1e-6,
                        saves * 100.0
                    ),
                    doubt: "only its author knows whether a time that is a tick old is enough",
                });
            }
        }
    }
    for waiting in &recording.waits {
        let Some((confidence, evidence, doubt)) = waits::judge(waiting) else { continue };
        flags.push(Flag {
            kind: FlagKind::WallClockForIntervals,
            pid: pid(waiting.process),
            function: super::site(&waiting.frames).function,
            confidence,
            evidence,
            doubt,
        });
    }
    // The surest flag of a function represents it.
    flags.sort_by(|a, b| {
        let place = (a.kind, &a.function, a.pid).cmp(&(b.kind, &b.function, b.pid));
        place.then(b.confidence.cmp(&a.confidence))
    });
    flags.dedup_by(|a, b| (a.kind, a.pid, &a.function) == (b.kind, b.pid, &b.function));
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_must_be_close() {
        assert!((closer_than_tick(1e6, 4e6) - 0.99975).abs() < 1e-9);
        assert_eq!(closer_than_tick(100.0, 4e6), 0.0);
        assert_eq!(closer_than_tick(0.0, 4e6), 0.0);
    }

    #[test]
    fn coarse_candidate_only_where_a_tick_may_be_precise_enough() {
        use crate::account::calls::Calls;
        use crate::account::cells::Cell;
        use crate::account::site::Site;
        use crate::clock::{Api, ClockId};
        let mut made = crate::output::made::recording();
        made.all.ns = 1_000_000_000;
        let costs = Costs { tick_ns: Some(4e6), coarse_ns: Some(7.0), ..Costs::default() };
        let kinds = |clock, path, seconds: f64| {
            let cell = Cell {
                process: 0,
                site: Site { function: "f".into(), module: "m".into(), via: String::new() },
                path,
                api: Api::ClockGettime,
                clock: Some(clock),
                samples: 100.0,
                seconds,
                calls: Some(Calls {
                    value: seconds * 5e7,
                    low: seconds * 5e7,
                    high: seconds * 5e7,
                    behind: seconds * 5e7,
                    near: seconds * 5e7,
                }),
                own: None,
                ns: Some(20.0),
                splits: Vec::new(),
                uneven: (0.0, 0.0),
            };
            flags(&made, &[cell], &costs).into_iter().map(|flag| flag.kind).collect::<Vec<_>>()
        };
        let flagged = vec![FlagKind::CoarseCandidate];
        assert_eq!(kinds(ClockId::REALTIME, Path::Vdso, 0.3), flagged);
        assert_eq!(kinds(ClockId::MONOTONIC, Path::Vdso, 0.3), []);
        assert_eq!(kinds(ClockId::MONOTONIC, Path::VdsoFallback, 0.3), flagged);
        // A saving that is not worth it.
        assert_eq!(kinds(ClockId::REALTIME, Path::Vdso, 0.01), []);
    }
}

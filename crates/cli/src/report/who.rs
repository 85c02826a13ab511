//! `who --json`.

use crate::render::figures::{count, percent, share_range};
use clocksmith_diagnose::report::{Clocksource, MachineReport};
use clocksmith_facts::Facts;
use clocksmith_who::account::Profile;
use clocksmith_who::calibrate::Costs;
use clocksmith_who::exact::{self, Counter, ExactRow, ExactSummary, SystemCalls};
use clocksmith_who::recording::Recording;
use serde::Serialize;

/// `who --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WhoReport {
    /// Always `clocksmith.who.v1`.
    schema: &'static str,
    /// The result in one sentence.
    pub(crate) headline: String,
    /// The processes that were watched.
    pub(crate) target: String,
    /// The machine in short.
    pub(crate) machine: MachineReport,
    /// The clocksource in use.
    pub(crate) clocksource: Clocksource,
    /// How it was watched.
    pub(crate) method: WhoMethod,
    /// The account.
    #[serde(flatten)]
    pub(crate) profile: Profile,
    /// Exact counts, where they were requested and are available.
    pub(crate) exact: Option<Vec<ExactRow>>,
    /// The source of the exact counts, and the intervals between reads.
    pub(crate) exact_summary: Option<ExactSummary>,
    /// Exact counts of the reads by system call, where they were requested and are available.
    pub(crate) system_calls: Option<SystemCalls>,
    /// Missing parts, and how to get them.
    pub(crate) gaps: Vec<String>,
}

/// How it was watched.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WhoMethod {
    /// Seconds of wall time.
    pub(crate) seconds: f64,
    /// Samples for each second of CPU time.
    pub(crate) frequency: u64,
    /// Whether time in the kernel was seen.
    pub(crate) kernel_seen: bool,
    /// Breakpoint hits.
    pub(crate) hits: u64,
    /// For how many milliseconds breakpoints were armed.
    pub(crate) armed_ms: f64,
    /// Records that the kernel could not deliver.
    pub(crate) lost: u64,
    /// The cost of a read of the counter here, in nanoseconds.
    pub(crate) counter_ns: Option<f64>,
    /// The read cost of the fast clock here, in nanoseconds.
    pub(crate) fast_ns: Option<f64>,
    /// Whether that is concluded from the counter's cost, because no fast clock is served here.
    pub(crate) fast_assumed: bool,
    /// The read cost of a coarse clock here, in nanoseconds.
    pub(crate) coarse_ns: Option<f64>,
    /// The length of a tick, in nanoseconds.
    pub(crate) tick_ns: Option<f64>,
    /// The least confidence of the intervals, 0 to 1. They allow for the sampling error, and for the variation of the
    /// read cost with the instructions around a read.
    pub(crate) confidence: f64,
}

impl WhoReport {
    /// Builds the document.
    pub(crate) fn new(
        facts: &Facts,
        target: String,
        recording: &Recording,
        costs: &Costs,
        profile: Profile,
    ) -> Self {
        Self {
            schema: "clocksmith.who.v1",
            headline: headline(&target, &profile, recording.seconds),
            target,
            machine: MachineReport::of(facts),
            clocksource: Clocksource::of(facts),
            method: WhoMethod {
                seconds: recording.seconds,
                frequency: recording.frequency,
                kernel_seen: recording.kernel_seen,
                hits: recording.hits.iter().map(|hit| hit.count).sum(),
                armed_ms: recording.armed_ms,
                lost: recording.lost,
                counter_ns: costs.counter_ns,
                fast_ns: costs.fast_ns,
                fast_assumed: costs.fast_assumed,
                coarse_ns: costs.coarse_ns,
                tick_ns: costs.tick_ns,
                confidence: 0.95,
            },
            profile,
            exact: None,
            exact_summary: None,
            system_calls: None,
            gaps: recording.gaps.iter().cloned().chain(assumed(costs)).collect(),
        }
    }
}

impl WhoReport {
    /// Adds exact counts, or why there are none.
    pub(crate) fn count(&mut self, counter: &mut dyn Counter) {
        match counter.counts() {
            Ok(counted) => {
                self.exact = Some(exact::rows(&counted.counts, self.method.seconds));
                let tick = self.method.tick_ns;
                self.exact_summary = Some(exact::summary(counter.method(), &counted, tick));
                self.gaps.extend(counted.lost);
            }
            Err(why) => self.gaps.push(format!("no exact counts: {why}")),
        }
    }

    /// Adds exact counts of system calls, or why there are none.
    pub(crate) fn count_system_calls(&mut self, counter: &mut dyn Counter) {
        match counter.counts() {
            Ok(counted) => {
                let seconds = self.method.seconds;
                self.system_calls = Some(exact::system_calls(counter.method(), &counted, seconds));
                self.gaps.extend(counted.lost);
            }
            Err(why) => self.gaps.push(why),
        }
    }
}

/// The part of the CPU time from which on an examination without it shows nothing of the whole.
const MOST: f64 = 0.5;

/// Returns the result in one sentence, for a run of this many seconds.
pub(crate) fn headline(target: &str, profile: &Profile, seconds: f64) -> String {
    let totals = &profile.totals;
    if totals.samples == 0 && totals.cpu_seconds > 0.0 {
        return format!(
            "{target} used {:.2} s of CPU time in {seconds:.1} s, and no sample hit it: whether it reads the \
             time is not known.",
            totals.cpu_seconds
        );
    }
    if totals.samples == 0 {
        return format!(
            "No sample hit {target} in {seconds:.1} s: it used less CPU time than one sample represents, so it \
             is not known whether it reads the time."
        );
    }
    let unknown = profile.processes.iter().filter(|row| row.runtime.is_none());
    let unknown = unknown.map(|row| row.cpu_seconds).sum::<f64>() / totals.cpu_seconds.max(1e-9);
    if totals.read_samples == 0 && unknown > MOST {
        return format!(
            "Whether {target} reads the time is not known: {} of its CPU time could not be examined, and no reads were \
             seen in {seconds:.1} s.",
            percent(unknown.min(1.0))
        );
    }
    if totals.read_samples == 0 {
        let little = format!(
            "under {} of its CPU time ({} sample{}, {:.2} s).",
            percent(totals.cpu_share.high.max(0.001)),
            totals.samples,
            if totals.samples == 1 { "" } else { "s" },
            totals.cpu_seconds
        );
        return if profile.rows.is_empty() {
            format!(
                "No reads of the time were seen in {target} in {seconds:.1} s: if there are any, they take \
                     {little}"
            )
        } else {
            format!(
                "Breakpoints saw reads of the time in {target}, but no sample did in {seconds:.1} s: the reads \
                 take {little}"
            )
        };
    }
    let rate = totals.reads_per_second_interval.map_or_else(String::new, |rate| {
        format!(
            ", about {} reads a second ({} to {})",
            count(rate.value),
            count(rate.low),
            count(rate.high)
        )
    });
    let saving = match totals.saving_cpu_seconds {
        Some(saving) if saving > 0.1 * totals.read_cpu_seconds => format!(
            "; a fast clock would save {:.1} % of its CPU time",
            saving / totals.cpu_seconds.max(1e-9) * 100.0
        ),
        _ => String::new(),
    };
    format!(
        "Reading the time takes {} ({}) of the CPU time of {target}{rate}{saving}.",
        percent(totals.cpu_share.value),
        share_range(Some(totals.cpu_share)),
    )
}

/// Returns the assumption behind the savings if no fast clock can be measured.
fn assumed(costs: &Costs) -> Option<String> {
    costs.fast_assumed.then(|| {
        "a fast clock cannot be measured here: savings assume one on this machine's counter, if that \
         could be trusted (clocksmith verify)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_who::account::profile;
    use clocksmith_who::aggregate::Tally;
    use clocksmith_who::recording::Seen;
    use clocksmith_who::watched::Runtime;

    #[test]
    fn program_that_cannot_be_examined_is_not_said_to_read_nothing() {
        let of = |runtime, samples| Seen {
            pid: 7,
            name: "app".to_owned(),
            runtime,
            tally: Tally { samples, ns: samples * 1_000_000 },
            own: None,
        };
        let said = |unknown: u64| {
            let processes = vec![of(None, unknown), of(Some(Runtime::Native), 100 - unknown)];
            let all = Tally { samples: 100, ns: 100_000_000 };
            let recording = Recording { processes, all, seconds: 1.0, ..Recording::default() };
            headline("app", &profile(&recording, &Costs::default()), 1.0)
        };
        assert!(
            said(0).starts_with("No reads of the time were seen in app in 1.0 s"),
            "{}",
            said(0)
        );
        assert!(said(10).contains("they take under 14 %"), "{}", said(10));
        let unknown = "Whether app reads the time is not known: 100 % of its CPU time";
        assert!(said(100).starts_with(unknown), "{}", said(100));
    }

    #[test]
    fn reads_that_only_breakpoints_saw_are_not_said_to_be_none() {
        use clocksmith_who::calibrate::Cost;
        use clocksmith_who::clock::{Api, ClockId};
        use clocksmith_who::recording::Hit;
        let tally = Tally { samples: 100, ns: 100_000_000 };
        let app = Seen {
            pid: 7,
            name: "app".to_owned(),
            runtime: Some(Runtime::Native),
            tally,
            own: None,
        };
        let hit = Hit {
            process: 0,
            api: Api::ClockGettime,
            clock: Some(ClockId::MONOTONIC),
            frames: [].into(),
            callers: [1].into(),
            count: 20,
            draws: vec![(0, 20)],
        };
        let recording = Recording {
            processes: vec![app],
            hits: vec![hit],
            all: tally,
            seconds: 1.0,
            ..Recording::default()
        };
        let cost = Cost { library_ns: Some(20.0), syscall_ns: Some(200.0), ..Cost::default() };
        let costs = Costs { clocks: vec![(ClockId::MONOTONIC, cost)], ..Costs::default() };
        let said = headline("app", &profile(&recording, &costs), 1.0);
        let wanted = "Breakpoints saw reads of the time in app, but no sample did in 1.0 s: the reads take under";
        assert!(said.starts_with(wanted), "{said}");
    }
}

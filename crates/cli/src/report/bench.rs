//! `bench --json`.

use clocksmith_diagnose::report::{Clocksource, MachineReport};
use clocksmith_measure::bench::compare::{Comparison, Control};
use clocksmith_measure::bench::distribution::{Distribution, Timer};
use clocksmith_measure::bench::gain::Saved;
use clocksmith_measure::bench::like::{Preset, Timed};
use clocksmith_measure::bench::row::{ClockId, Instruction, Row, Via};
use clocksmith_measure::bench::served::{Served, Shares};
use clocksmith_measure::bench::shape::{self, Shape};
use clocksmith_measure::bench::starts::Start;
use clocksmith_measure::bench::stats::{self, Estimate, Ratio};
use clocksmith_measure::bench::timers::Late;
use clocksmith_measure::bench::{Bench, RowResult};
use clocksmith_measure::noise::Noise;
use serde::Serialize;

/// `bench --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BenchReport {
    /// Always `clocksmith.bench.v1`.
    schema: &'static str,
    /// Whether everything that was asked for was measured; false after Ctrl-C.
    pub(crate) complete: bool,
    /// The machine in short.
    pub(crate) machine: MachineReport,
    /// The clocksource that was measured.
    pub(crate) clocksource: Clocksource,
    /// How it was measured.
    pub(crate) method: Method,
    /// Every way to read the time.
    pub(crate) rows: Vec<RowReport>,
    /// The same in several threads at once.
    pub(crate) scaling: Vec<ScalingReport>,
    /// The same with other clocksources: only with `--every-clocksource`.
    pub(crate) clocksources: Vec<SourceReport>,
    /// A loop of old: only with `--like`.
    pub(crate) like: Option<LikeReport>,
    /// What other ways would save: only with `--gain`.
    pub(crate) gain: Option<GainReport>,
    /// Compared with a former run: only with `--baseline`.
    pub(crate) baseline: Option<BaselineReport>,
    /// What each process measured: only with `--starts` or `--baseline`. A later `--baseline` compares with these.
    pub(crate) starts: Vec<Start>,
    /// Why there are fewer of them than were asked for; null where there are all.
    pub(crate) starts_missing: Option<String>,
    /// How late waits ended: only with `--timers`.
    pub(crate) timers: Vec<Late>,
    /// What else the machine did meanwhile; null where it was not looked at.
    pub(crate) noise: Option<Noise>,
}

/// How it was measured.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Method {
    /// The CPU that it was bound to; null if it could not be bound.
    pub(crate) cpu: Option<u32>,
    /// Why it could not be bound.
    pub(crate) not_bound_because: Option<String>,
    /// Rounds of batches; in each round every loop of every row had one batch.
    pub(crate) rounds: usize,
    /// What timing a batch takes, in nanoseconds; already subtracted.
    pub(crate) timing_ns: f64,
    /// What a turn of the empty loop takes; already subtracted.
    pub(crate) loop_ns: Costs,
    /// What separates the reads of the loop `serialised`.
    pub(crate) fence: &'static str,
    /// Additions between the reads of the loop `in_work`.
    pub(crate) additions: u32,
    /// How single calls are timed.
    pub(crate) single_timer: Timer,
    /// What timing a single call takes (median), in nanoseconds; already subtracted.
    pub(crate) single_timing_ns: Option<f64>,
    /// The step of what times single calls, in nanoseconds: no figure of them is finer.
    pub(crate) single_step_ns: f64,
    /// Frequency of the counter against CLOCK_MONOTONIC during the run, in MHz.
    pub(crate) counter_mhz: Option<f64>,
    /// The least confidence of the intervals, 0 to 1.
    pub(crate) confidence: f64,
    /// Consecutive parts of the run whose medians make the intervals.
    pub(crate) parts: usize,
    /// Numbers of threads that were compared.
    pub(crate) threads: Vec<usize>,
    /// What serves the library's clock: `vvar`, `disciplined`, `vdso`, `syscall`, `std`.
    pub(crate) library_source: &'static str,
    /// How long it all took, in seconds.
    pub(crate) elapsed_s: f64,
}

/// The three costs in nanoseconds; null where the batches took less time than timing them.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Costs {
    /// Back to back.
    pub(crate) throughput: Option<Estimate>,
    /// With a fence before and after.
    pub(crate) serialised: Option<Estimate>,
    /// Added to a loop of additions.
    pub(crate) in_work: Option<Estimate>,
}

impl Costs {
    fn of(costs: &[Option<Estimate>; 3]) -> Self {
        let [throughput, serialised, in_work] = *costs;
        Self { throughput, serialised, in_work }
    }
}

/// One way to read the time.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RowReport {
    /// `CLOCK_MONOTONIC/libc` and so on.
    pub(crate) name: String,
    /// What is read.
    pub(crate) clock: &'static str,
    /// The way that was taken.
    pub(crate) via: Via,
    /// What served it, by behaviour: cost against the system call, and where the CPU time went.
    pub(crate) path: Served,
    /// The costs.
    pub(crate) costs: Costs,
    /// Batches of each loop.
    pub(crate) batches: usize,
    /// Calls in each batch of the first loop.
    pub(crate) calls_per_batch: u32,
    /// Where the CPU time went; null where the kernel did not account enough of it.
    pub(crate) cpu_shares: Option<Shares>,
    /// Why that is not known; null where it is.
    pub(crate) cpu_shares_missing: Option<String>,
    /// Single calls, in nanoseconds, outliers and all.
    pub(crate) distribution: Option<Distribution>,
    /// The smallest step that was seen, in nanoseconds; null where none was.
    pub(crate) resolution_ns: Option<f64>,
    /// The step that the kernel claims (`clock_getres`), in nanoseconds; null where it claims none for this row.
    pub(crate) claimed_resolution_ns: Option<u64>,
    /// The share of batches that took a quarter longer than the lower quartile: something else ran, or the processor was
    /// slower. 0 to 1.
    pub(crate) disturbed_share: Option<f64>,
    /// Throughput as a multiple of the raw counter read's.
    pub(crate) ratio_to_counter: Option<Ratio>,
    /// Throughput as a multiple of CLOCK_MONOTONIC's through the vDSO.
    pub(crate) ratio_to_vdso_monotonic: Option<Ratio>,
    /// Why there is no such read here.
    pub(crate) missing: Option<String>,
}

/// The raw counter.
pub(crate) const COUNTER: Row = Row::counter(Instruction::Plain);
/// The measure of all vDSO reads.
pub(crate) const VDSO_MONOTONIC: Row = Row::clock(ClockId::Monotonic, Via::Vdso);

fn throughput(bench: &Bench, row: Row) -> Option<Estimate> {
    bench.row(row)?.cost(Shape::Throughput)
}

/// The rows of a measurement.
pub(crate) fn rows(bench: &Bench) -> Vec<RowReport> {
    let [counter, vdso] = [COUNTER, VDSO_MONOTONIC].map(|row| throughput(bench, row));
    bench.rows.iter().map(|result| row(result, counter, vdso)).collect()
}

fn row(result: &RowResult, counter: Option<Estimate>, vdso: Option<Estimate>) -> RowReport {
    let cost = result.cost(Shape::Throughput);
    let ratio = |other: Option<Estimate>| cost?.ratio_to(&other?);
    RowReport {
        name: result.row.name(),
        clock: result.row.subject(),
        via: result.row.via,
        path: result.served,
        costs: Costs::of(&result.costs),
        batches: result.batches,
        calls_per_batch: result.calls,
        cpu_shares: result.shares,
        cpu_shares_missing: result.no_shares.clone(),
        distribution: result.distribution.clone(),
        resolution_ns: result.resolution_ns,
        claimed_resolution_ns: result.claimed_step_ns,
        disturbed_share: result.disturbed,
        ratio_to_counter: ratio(counter),
        ratio_to_vdso_monotonic: ratio(vdso),
        missing: result.missing.clone(),
    }
}

/// One row with one number of threads.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ScalingReport {
    /// The row.
    pub(crate) name: String,
    /// Number of threads.
    pub(crate) threads: usize,
    /// Throughput of one thread, in nanoseconds a read; the loop is included.
    pub(crate) cost: Option<Estimate>,
    /// As a multiple of the smallest number of threads.
    pub(crate) ratio: Option<Ratio>,
    /// Reads of all threads together in a second.
    pub(crate) reads_per_second: f64,
}

fn scaling(bench: &Bench) -> Vec<ScalingReport> {
    let report = |one: &clocksmith_measure::bench::scaling::Scaling| {
        let first = bench.scaling.iter().find(|other| other.row == one.row)?;
        Some(ScalingReport {
            name: one.row.name(),
            threads: one.threads,
            cost: one.cost,
            ratio: one.cost.zip(first.cost).and_then(|(cost, first)| cost.ratio_to(&first)),
            reads_per_second: one.reads_per_second,
        })
    };
    bench.scaling.iter().filter_map(report).collect()
}

/// Another clocksource.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct SourceReport {
    /// Its name.
    pub(crate) name: String,
    /// Why it was not measured.
    pub(crate) not_measured_because: Option<String>,
    /// A few ways to read the time.
    pub(crate) rows: Vec<RowReport>,
    /// CLOCK_MONOTONIC through the C library, as a multiple of the same with the original clocksource.
    pub(crate) ratio_to_original: Option<Ratio>,
}

/// A loop of old.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LikeReport {
    /// Its short name.
    pub(crate) code: &'static str,
    /// Its name.
    pub(crate) name: &'static str,
    /// Reads in each loop of the original.
    pub(crate) original_count: u64,
    /// Its loops.
    pub(crate) loops: Vec<LoopReport>,
}

/// One loop.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LoopReport {
    /// The clocksource in use.
    pub(crate) clocksource: Option<String>,
    /// What it read.
    pub(crate) clock: &'static str,
    /// The thread, from 0.
    pub(crate) thread: usize,
    /// Reads.
    pub(crate) count: u64,
    /// Elapsed seconds.
    pub(crate) real_s: f64,
    /// CPU seconds of the thread in user space.
    pub(crate) user_s: f64,
    /// CPU seconds of the thread in the kernel.
    pub(crate) system_s: f64,
    /// Nanoseconds a read, as the loop gives them, by CPU time (P1, P3) or elapsed time (P2, P4): with
    /// the loop, and with whatever disturbed it.
    pub(crate) ns_per_read: f64,
    /// The same by CPU time of the thread, whatever the loop takes; null where the kernel accounted none.
    pub(crate) cpu_ns_per_read: Option<f64>,
    /// The same by elapsed time.
    pub(crate) wall_ns_per_read: f64,
}

impl LoopReport {
    pub(crate) fn new(preset: Preset, timed: &Timed, clocksource: Option<&str>) -> Self {
        let by_cpu = matches!(preset, Preset::ClockIds | Preset::ClockTiming);
        let took = if by_cpu { timed.cpu() } else { timed.real };
        Self {
            clocksource: clocksource.map(str::to_owned),
            clock: timed.row.subject(),
            thread: timed.thread,
            count: timed.count,
            real_s: timed.real.as_secs_f64(),
            user_s: timed.user.as_secs_f64(),
            system_s: timed.system.as_secs_f64(),
            ns_per_read: took.as_secs_f64() * 1e9 / (timed.count.max(1) as f64),
            cpu_ns_per_read: Some(timed.cpu())
                .filter(|cpu| !cpu.is_zero())
                .map(|cpu| cpu.as_secs_f64() * 1e9 / (timed.count.max(1) as f64)),
            wall_ns_per_read: timed.real.as_secs_f64() * 1e9 / (timed.count.max(1) as f64),
        }
    }
}

impl LikeReport {
    pub(crate) fn new(preset: Preset) -> Self {
        Self {
            code: preset.code(),
            name: preset.name(),
            original_count: preset.original_count(),
            loops: Vec::new(),
        }
    }
}

/// What other ways would save.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct GainReport {
    /// Reads in a second.
    pub(crate) reads_per_second: f64,
    /// Which cost counts: `in_work`, or `throughput` where that was not measured.
    pub(crate) cost: &'static str,
    /// What CLOCK_MONOTONIC through the C library costs now, in nanoseconds.
    pub(crate) now: Estimate,
    /// CPU seconds in each second that this program spends on it.
    pub(crate) spent: f64,
    /// Other ways, measured here.
    pub(crate) ways: Vec<WayReport>,
    /// The remedies of `why`, and what they would save.
    pub(crate) remedies: Vec<RemedyGain>,
}

/// Another way.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WayReport {
    /// Its name.
    pub(crate) name: String,
    /// What it gives up.
    pub(crate) gives_up: String,
    /// Its cost in nanoseconds.
    pub(crate) cost: Estimate,
    /// CPU seconds saved in each second.
    pub(crate) saved: Saved,
}

/// A remedy.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RemedyGain {
    /// Its id.
    pub(crate) id: String,
    /// What it does.
    pub(crate) summary: String,
    /// CPU seconds saved in each second; null where nothing measured here tells.
    pub(crate) saved: Option<Saved>,
    /// What the figure rests on.
    pub(crate) by: String,
}

/// Compared with a former run.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BaselineReport {
    /// The file.
    pub(crate) file: String,
    /// What is not the same, so that the comparison is not one of like with like.
    pub(crate) unlike: Vec<String>,
    /// Throughput of the rows that both have, over the starts.
    pub(crate) rows: Vec<Comparison>,
    /// Starts of the former run; 1 where it kept none, and its medians were taken.
    pub(crate) starts_before: usize,
    /// Starts of this run.
    pub(crate) starts_now: usize,
    /// What was taken for the change of the whole machine.
    pub(crate) control: Control,
    /// The change of the whole machine, by that; rows are compared without it.
    pub(crate) machine: Option<Ratio>,
    /// The change from which on a row is called different, in percent: half of the rows would have been called so, or
    /// by less.
    pub(crate) smallest_percent: Option<f64>,
    /// The confidence of the intervals, 0 to 1.
    pub(crate) confidence: f64,
    /// With `--fail-over`: the limit in percent; null without.
    pub(crate) fail_over_percent: Option<f64>,
    /// Rows that are slower by more than that.
    pub(crate) failed: Vec<String>,
    /// The answer, in one sentence.
    pub(crate) summary: String,
}

impl BenchReport {
    /// Builds the document, without what was not asked for.
    pub(crate) fn new(machine: MachineReport, clocksource: Clocksource, bench: &Bench) -> Self {
        let mut threads: Vec<usize> = bench.scaling.iter().map(|one| one.threads).collect();
        threads.dedup();
        Self {
            schema: "clocksmith.bench.v1",
            complete: bench.complete,
            machine,
            clocksource,
            method: Method {
                cpu: bench.cpu.clone().ok(),
                not_bound_because: bench.cpu.clone().err(),
                rounds: bench.rounds,
                timing_ns: bench.timing_ns,
                loop_ns: Costs::of(&bench.loops_ns),
                fence: shape::fence_name(),
                additions: shape::ADDS,
                single_timer: bench.timer,
                single_timing_ns: bench.single_timing_ns,
                single_step_ns: bench.single_step_ns,
                counter_mhz: bench.ticks_per_ns.map(|ticks| ticks * 1e3),
                confidence: stats::CONFIDENCE,
                parts: stats::PARTS,
                threads,
                library_source: clocksmith::source().name(),
                elapsed_s: bench.elapsed.as_secs_f64(),
            },
            rows: rows(bench),
            scaling: scaling(bench),
            clocksources: Vec::new(),
            like: None,
            gain: None,
            baseline: None,
            starts: Vec::new(),
            starts_missing: None,
            timers: Vec::new(),
            noise: None,
        }
    }

    /// A row by its name.
    pub(crate) fn row(&self, row: Row) -> Option<&RowReport> {
        let name = row.name();
        self.rows.iter().find(|other| other.name == name)
    }
}

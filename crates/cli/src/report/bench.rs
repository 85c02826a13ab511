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
    /// Whether all requested parts were measured; false after Ctrl-C.
    pub(crate) complete: bool,
    /// A summary of the machine.
    pub(crate) machine: MachineReport,
    /// The clocksource that was measured.
    pub(crate) clocksource: Clocksource,
    /// How the run was measured.
    pub(crate) method: Method,
    /// One row for each path of reading the time.
    pub(crate) rows: Vec<RowReport>,
    /// The same rows in several threads at once.
    pub(crate) scaling: Vec<ScalingReport>,
    /// The same rows with other clocksources; only with `--every-clocksource`.
    pub(crate) clocksources: Vec<SourceReport>,
    /// The loop of a known benchmark; only with `--like`.
    pub(crate) like: Option<LikeReport>,
    /// The saving by faster paths; only with `--gain`.
    pub(crate) gain: Option<GainReport>,
    /// The comparison with an earlier run; only with `--baseline`.
    pub(crate) baseline: Option<BaselineReport>,
    /// The measurement of each process; only with `--starts` or `--baseline`. A later `--baseline` compares with these.
    pub(crate) starts: Vec<Start>,
    /// Why there are fewer starts than `--starts` requests; null where there are all.
    pub(crate) starts_missing: Option<String>,
    /// By how much waits ended late; only with `--timers`.
    pub(crate) timers: Vec<Late>,
    /// Other activity of the machine during the run; null where it was not observed.
    pub(crate) noise: Option<Noise>,
}

/// How it was measured.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Method {
    /// The CPU that the run was bound to; null if it could not be bound.
    pub(crate) cpu: Option<u32>,
    /// Why the run could not be bound to a CPU.
    pub(crate) not_bound_because: Option<String>,
    /// Rounds of batches; in each round every loop of every row had one batch.
    pub(crate) rounds: usize,
    /// Cost of timing a batch, in nanoseconds; already subtracted.
    pub(crate) timing_ns: f64,
    /// Duration of an iteration of the empty loop; already subtracted.
    pub(crate) loop_ns: Costs,
    /// The instruction that separates the reads of the loop `serialised`.
    pub(crate) fence: &'static str,
    /// Additions between the reads of the loop `in_work`.
    pub(crate) additions: u32,
    /// How single calls are timed.
    pub(crate) single_timer: Timer,
    /// Median cost of timing a single call, in nanoseconds; already subtracted.
    pub(crate) single_timing_ns: Option<f64>,
    /// The resolution of the timer of single calls, in nanoseconds.
    pub(crate) single_step_ns: f64,
    /// Frequency of the counter against CLOCK_MONOTONIC during the run, in MHz.
    pub(crate) counter_mhz: Option<f64>,
    /// The least confidence of the intervals, 0 to 1.
    pub(crate) confidence: f64,
    /// Number of consecutive parts of the run; their medians give the intervals.
    pub(crate) parts: usize,
    /// The largest number of threads at the same time.
    pub(crate) threads: Vec<usize>,
    /// The source of the library's clock: `vvar`, `disciplined`, `vdso`, `syscall`, `std`.
    pub(crate) library_source: &'static str,
    /// Duration of the run, in seconds.
    pub(crate) elapsed_s: f64,
}

/// The three costs in nanoseconds; null where the batches took less time than timing them.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Costs {
    /// The cost of reads back to back.
    pub(crate) throughput: Option<Estimate>,
    /// The cost with a fence before and after the read.
    pub(crate) serialised: Option<Estimate>,
    /// The cost that a read adds to a loop of additions.
    pub(crate) in_work: Option<Estimate>,
}

impl Costs {
    fn of(costs: &[Option<Estimate>; 3]) -> Self {
        let [throughput, serialised, in_work] = *costs;
        Self { throughput, serialised, in_work }
    }
}

/// One path of reading the time.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RowReport {
    /// The name of the row, such as `CLOCK_MONOTONIC/libc`.
    pub(crate) name: String,
    /// The clock or counter that is read.
    pub(crate) clock: &'static str,
    /// The function or instruction by which the clock was read.
    pub(crate) via: Via,
    /// The path that served the read, by its cost against the system call and by its CPU time.
    pub(crate) path: Served,
    /// The costs of a read.
    pub(crate) costs: Costs,
    /// Batches of each loop.
    pub(crate) batches: usize,
    /// Calls in each batch of the first loop.
    pub(crate) calls_per_batch: u32,
    /// The shares of CPU time in user space and in the kernel; null where the kernel did not account enough of it.
    pub(crate) cpu_shares: Option<Shares>,
    /// Why `cpu_shares` is null; null where it is not.
    pub(crate) cpu_shares_missing: Option<String>,
    /// Costs of single calls, in nanoseconds, including outliers.
    pub(crate) distribution: Option<Distribution>,
    /// The smallest step that was seen, in nanoseconds; null where none was.
    pub(crate) resolution_ns: Option<f64>,
    /// The step that the kernel claims (`clock_getres`), in nanoseconds; null where it claims none for this row.
    pub(crate) claimed_resolution_ns: Option<u64>,
    /// The share of batches that took a quarter longer than the lower quartile, 0 to 1: another program ran, or the
    /// processor was slower.
    pub(crate) disturbed_share: Option<f64>,
    /// Throughput as a multiple of the raw counter read.
    pub(crate) ratio_to_counter: Option<Ratio>,
    /// Throughput as a multiple of CLOCK_MONOTONIC through the vDSO.
    pub(crate) ratio_to_vdso_monotonic: Option<Ratio>,
    /// Why this read does not exist on this machine.
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
    /// The name of the row.
    pub(crate) name: String,
    /// Number of threads.
    pub(crate) threads: usize,
    /// Throughput of one thread, in nanoseconds a read, including the loop.
    pub(crate) cost: Option<Estimate>,
    /// The cost as a multiple of that with the smallest number of threads.
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
    /// The name of the clocksource.
    pub(crate) name: String,
    /// Why the clocksource was not measured.
    pub(crate) not_measured_because: Option<String>,
    /// A few paths of reading the time.
    pub(crate) rows: Vec<RowReport>,
    /// CLOCK_MONOTONIC through the C library, as a multiple of that with the original clocksource.
    pub(crate) ratio_to_original: Option<Ratio>,
}

/// The loop of a known benchmark.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LikeReport {
    /// The short name of the loop.
    pub(crate) code: &'static str,
    /// The name of the loop.
    pub(crate) name: &'static str,
    /// Reads in each loop of the original.
    pub(crate) original_count: u64,
    /// The measured loops.
    pub(crate) loops: Vec<LoopReport>,
}

/// One measured loop.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LoopReport {
    /// The clocksource in use.
    pub(crate) clocksource: Option<String>,
    /// The clock that the loop read.
    pub(crate) clock: &'static str,
    /// The thread, from 0.
    pub(crate) thread: usize,
    /// Reads in the loop.
    pub(crate) count: u64,
    /// Elapsed seconds.
    pub(crate) real_s: f64,
    /// CPU seconds of the thread in user space.
    pub(crate) user_s: f64,
    /// CPU seconds of the thread in the kernel.
    pub(crate) system_s: f64,
    /// Nanoseconds a read as the original loop reports them, by CPU time (P1, P3) or elapsed time (P2, P4); includes
    /// the loop and every disturbance.
    pub(crate) ns_per_read: f64,
    /// Nanoseconds a read by CPU time of the thread, in any loop; null where the kernel accounted none.
    pub(crate) cpu_ns_per_read: Option<f64>,
    /// Nanoseconds a read by elapsed time.
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

/// The saving by faster paths.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct GainReport {
    /// Reads a second.
    pub(crate) reads_per_second: f64,
    /// The cost that is used: `in_work`, or `throughput` where that was not measured.
    pub(crate) cost: &'static str,
    /// The cost of CLOCK_MONOTONIC through the C library now, in nanoseconds.
    pub(crate) now: Estimate,
    /// CPU seconds that this program spends on reads in each second.
    pub(crate) spent: f64,
    /// Other paths that were measured on this machine.
    pub(crate) ways: Vec<WayReport>,
    /// The remedies of `why`, and their savings.
    pub(crate) remedies: Vec<RemedyGain>,
}

/// Another path.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WayReport {
    /// The name of the path.
    pub(crate) name: String,
    /// The disadvantage of this path.
    pub(crate) gives_up: String,
    /// The cost of a read, in nanoseconds.
    pub(crate) cost: Estimate,
    /// CPU seconds saved in each second.
    pub(crate) saved: Saved,
}

/// A remedy.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RemedyGain {
    /// The id of the remedy.
    pub(crate) id: String,
    /// The effect of the remedy.
    pub(crate) summary: String,
    /// CPU seconds saved in each second; null where no measurement on this machine shows it.
    pub(crate) saved: Option<Saved>,
    /// The basis of the figure.
    pub(crate) by: String,
}

/// A comparison with an earlier run.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct BaselineReport {
    /// The file of the earlier run.
    pub(crate) file: String,
    /// Differences between the two runs that make the comparison less reliable.
    pub(crate) unlike: Vec<String>,
    /// Throughput of the rows that both runs have, over the starts.
    pub(crate) rows: Vec<Comparison>,
    /// Starts of the earlier run; 1 where it saved none, and its medians were used.
    pub(crate) starts_before: usize,
    /// Starts of this run.
    pub(crate) starts_now: usize,
    /// The measurement that represents the whole machine.
    pub(crate) control: Control,
    /// The change of the whole machine, by the control; rows are compared without it.
    pub(crate) machine: Option<Ratio>,
    /// The smallest change that is reported as a difference, in percent: for half of the rows it would have been
    /// smaller.
    pub(crate) smallest_percent: Option<f64>,
    /// The confidence of the intervals, 0 to 1.
    pub(crate) confidence: f64,
    /// With `--fail-over`: the limit in percent; null without.
    pub(crate) fail_over_percent: Option<f64>,
    /// Rows that are slower by more than `fail_over_percent`.
    pub(crate) failed: Vec<String>,
    /// The result in one sentence.
    pub(crate) summary: String,
}

impl BenchReport {
    /// Builds the document, without parts that were not requested.
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

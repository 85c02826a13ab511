//! The result of `verify`: findings with their evidence, a verdict, and how small a fault it could have detected.

use super::source::ClockId;
pub use clocksmith_facts::Confidence;
pub use clocksmith_facts::verified::Trust;
use serde::Serialize;

/// The id of a finding. Part of the public interface: ids are added, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingId {
    /// The counters of two processors differ.
    CounterOffset,
    /// A later read of the counter on another processor returned a smaller value.
    CounterWarp,
    /// A later read of the counter in one thread returned a smaller value.
    CounterBackward,
    /// The counter jumped against the kernel's clock.
    CounterJump,
    /// The counter runs at a wrong rate.
    CounterRate,
    /// The rate of the counter changed while it was watched.
    CounterRateChanged,
    /// A clock went backwards.
    ClockBackward,
    /// A clock that is read in user space differs from the same clock in the kernel.
    ClockDisagrees,
    /// Two sources name different frequencies for the counter.
    FrequenciesDiffer,
    /// Nothing was read for a while, and clock and counter continued together.
    Stall,
    /// The machine was suspended while it was watched.
    Suspended,
    /// The wall clock was set.
    WallClockSet,
    /// A CPU-time clock went backwards.
    CpuTimeBackward,
}

impl FindingId {
    /// The id as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CounterOffset => "counter-offset",
            Self::CounterWarp => "counter-warp",
            Self::CounterBackward => "counter-backward",
            Self::CounterJump => "counter-jump",
            Self::CounterRate => "counter-rate",
            Self::CounterRateChanged => "counter-rate-changed",
            Self::ClockBackward => "clock-backward",
            Self::ClockDisagrees => "clock-disagrees",
            Self::FrequenciesDiffer => "frequencies-differ",
            Self::Stall => "stall",
            Self::Suspended => "suspended",
            Self::WallClockSet => "wall-clock-set",
            Self::CpuTimeBackward => "cpu-time-backward",
        }
    }
}

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Information; not a fault.
    Note,
    /// The counter is at fault. Clocks that are based on another counter are not.
    Counter,
    /// A clock that programs read is at fault.
    Clock,
}

/// A finding with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable id.
    pub id: FindingId,
    /// The subject of the finding.
    pub weight: Weight,
    /// The finding in one sentence.
    pub summary: String,
    /// The evidence, one line each.
    pub evidence: Vec<String>,
}

/// The smallest faults that this run would have found; null where it would have found none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detectable {
    /// Offset between the counters of any two processors that were tested, in nanoseconds.
    pub offset_ns: Option<f64>,
    /// Constant error of the counter's rate, in millionths; null where only the kernel's own clock shows the rate.
    pub rate_ppm: Option<f64>,
    /// Constant error of the counter's rate against the kernel's own clock, which is based on the same counter, in
    /// millionths.
    pub rate_against_kernel_ppm: Option<f64>,
    /// Jump of the counter against the kernel's clock, in nanoseconds.
    pub jump_ns: Option<f64>,
    /// Step of the counter of one processor against the others before the last fifth of the run, in nanoseconds; it is seen
    /// when the processors are compared again.
    pub cpu_step_ns: Option<f64>,
    /// Drift of the counter of one processor against the others, in millionths.
    pub cpu_drift_ppm: Option<f64>,
    /// A single wrong read of the counter, back or forward, in nanoseconds.
    pub glitch_ns: Option<f64>,
    /// The frequency of wrong reads at which 95 of 100 runs found one: one in this many reads.
    pub glitch_one_in: Option<f64>,
    /// A temporary stop of the counter, in nanoseconds.
    pub stop_ns: Option<f64>,
}

/// The reference with which the rate of the clocks was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateReference {
    /// The reference; null where there is none: then the rate was compared only with the kernel's own clock, which is
    /// based on the same counter.
    pub source: Option<String>,
    /// The error of the rate that the reference would have shown, in millionths; null without a reference.
    pub error_ppm: Option<f64>,
    /// Whether the missing reference is the only reason why the clocks are not called trusted.
    pub only_gap: bool,
}

/// The time in which a processor was compared with others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    /// The number of the processor.
    pub cpu: u32,
    /// Seconds from the beginning of the run to the first comparison with another processor; null if there was none.
    pub first_s: Option<f64>,
    /// Seconds from the beginning of the run to the end of the last comparison.
    pub last_s: Option<f64>,
    /// Comparisons whose messages arrived.
    pub comparisons: u64,
    /// The longest time without a comparison, in seconds.
    pub longest_gap_s: Option<f64>,
}

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Whether the value is in it.
    #[must_use]
    pub fn has(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The distance from zero of its nearer end; 0 if zero is in it.
    #[must_use]
    pub fn beyond_zero(&self) -> f64 {
        self.low.max(-self.high).max(0.0)
    }
}

/// Two processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairOutcome {
    /// The processors.
    pub cpus: (u32, u32),
    /// The interval of the offset by which the second counter is ahead of the first, in nanoseconds (in cycles if the
    /// counter's frequency is not known). Null if no message arrived.
    pub offset: Option<Interval>,
    /// Round trips of messages.
    pub exchanges: u64,
    /// Reads under the lock.
    pub locked_reads: u64,
    /// Reads under the lock that follow a read of the other processor.
    pub handovers: u64,
    /// Handovers whose read returned less than the read before.
    pub warps: u64,
    /// The largest warp, in cycles.
    pub largest_warp: u64,
    /// A problem of the measurement.
    pub trouble: Option<String>,
}

/// A stated or measured frequency of the counter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frequency {
    /// The source of the frequency.
    pub source: String,
    /// Ticks in a second.
    pub hz: f64,
    /// The uncertainty of the frequency, in millionths.
    pub doubt_ppm: f64,
    /// Whether a larger difference is a fault of the counter; otherwise it is a note.
    pub decisive: bool,
    /// Whether it is about `CLOCK_MONOTONIC`, which NTP steers, and not about `CLOCK_MONOTONIC_RAW`.
    pub steered: bool,
    /// Whether the frequency is independent of the kernel's own clock; then the rate is compared with it.
    pub independent: bool,
    /// How much faster than this the counter runs, in millionths; null if that was not measured.
    pub measured_ppm: Option<Interval>,
}

/// The counter against the kernel's clock over the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Points in time at which counter and clock were read.
    pub points: usize,
    /// Points that were left out because their readings were too wide.
    pub left_out: usize,
    /// Seconds from the first point to the last.
    pub seconds: f64,
    /// Width of the median reading, in nanoseconds.
    pub width_ns: f64,
    /// Ticks in a second of `CLOCK_MONOTONIC_RAW` (robust regression).
    pub hz: f64,
    /// The interval of `hz` that the readings allow.
    pub hz_interval: Interval,
    /// Ticks in a second of `CLOCK_MONOTONIC`, which NTP steers.
    pub monotonic_hz: f64,
    /// How much faster `CLOCK_MONOTONIC` runs than `CLOCK_MONOTONIC_RAW`, in millionths.
    pub steering_ppm: Interval,
    /// How much faster `CLOCK_MONOTONIC` runs in user space than in the kernel, in millionths.
    pub user_ppm: Interval,
    /// How much faster the counter ran in the second half than in the first, in millionths.
    pub change_ppm: Option<Interval>,
}

/// The steps of a clock, or of the counter, in threads on all processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// The clock; null for the counter.
    pub clock: Option<ClockId>,
    /// Reads.
    pub reads: u64,
    /// Steps back within a thread.
    pub back_within: u64,
    /// Steps back from one thread to another.
    pub back_across: u64,
    /// The largest step back, in nanoseconds (cycles for the counter).
    pub largest_back: u64,
    /// The smallest step forward that was seen, which is the observed resolution, in the same unit.
    pub smallest_step: Option<u64>,
    /// The step that the kernel claims, in nanoseconds.
    pub claimed_step: Option<i64>,
    /// Share of reads that returned the same value as the read before, 0 to 1.
    pub same_share: f64,
}

/// How it was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// The instruction that reads the counter; null where it was not read.
    pub counter: Option<String>,
    /// Why the counter was not read.
    pub counter_gap: Option<String>,
    /// The processors that were tested.
    pub cpus: Vec<u32>,
    /// The processors of the machine that were online; empty where that is not known.
    pub machine_cpus: Vec<u32>,
    /// Whether processors were left out: the verdict is valid for the tested ones.
    pub partial: bool,
    /// Processors to which no thread could be pinned, with the reason.
    pub unpinned: Vec<Unpinned>,
    /// The largest number of threads at the same time.
    pub threads: usize,
    /// Round trips of messages, over all pairs.
    pub exchanges: u64,
    /// Reads under a lock, over all pairs and clocks.
    pub locked_reads: u64,
    /// The processor of the readings over time; null means any.
    pub drift_cpu: Option<u32>,
    /// Duration of the run, in seconds.
    pub seconds: f64,
}

/// A processor to which no thread could be pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpinned {
    /// The number of the processor.
    pub cpu: u32,
    /// Why.
    pub why: String,
}

/// The whole result.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The worse of `counter` and `clocks`; `clocks` alone on a machine without a counter.
    pub verdict: Trust,
    /// The confidence of the verdict.
    pub confidence: Confidence,
    /// Whether the counter that programs may read can be trusted.
    pub counter: Trust,
    /// Whether the kernel's clocks, as programs read them, can be trusted.
    pub clocks: Trust,
    /// The smallest faults that this run would have found.
    pub detectable: Detectable,
    /// Faults first, then notes.
    pub findings: Vec<Finding>,
    /// The reference with which the rate of the clocks was compared.
    pub rate_reference: RateReference,
    /// The time in which each processor was compared with others.
    pub watched: Vec<Watched>,
    /// Whether the run lasted as long as planned; false after Ctrl-C.
    pub complete: bool,
    /// Tests that were not possible.
    pub untested: Vec<String>,
    /// The offsets of every pair of processors.
    pub pairs: Vec<PairOutcome>,
    /// Unit of the offsets: `ns`, or `cycles` where the frequency is not known.
    pub offset_unit: &'static str,
    /// The counter over time; null where it was not read often enough.
    pub drift: Option<Drift>,
    /// Frequencies of the counter, and their sources.
    pub frequencies: Vec<Frequency>,
    /// The steps of every clock and of the counter.
    pub steps: Vec<StepOutcome>,
    /// How it was measured.
    pub method: Method,
}

//! What `verify` says: findings with their evidence, a verdict, and how small a fault it could have
//! seen.

use super::source::ClockId;
pub use clocksmith_facts::Confidence;
pub use clocksmith_facts::verified::Trust;
use serde::Serialize;

/// The id of a finding. Part of the public interface: ids are added, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingId {
    /// The counters of two processors are apart.
    CounterOffset,
    /// A later read of the counter on another processor gave less.
    CounterWarp,
    /// A later read of the counter in one thread gave less.
    CounterBackward,
    /// The counter jumped against the kernel's clock.
    CounterJump,
    /// The counter runs at another rate than it should.
    CounterRate,
    /// The rate of the counter changed while it was watched.
    CounterRateChanged,
    /// A clock went back.
    ClockBackward,
    /// A clock that is read in user space differs from the same clock in the kernel.
    ClockDisagrees,
    /// Two sources name different frequencies for the counter.
    FrequenciesDiffer,
    /// Nothing was read for a while, and clock and counter went on together.
    Stall,
    /// The machine was suspended while it was watched.
    Suspended,
    /// Somebody set the wall clock.
    WallClockSet,
    /// A clock of CPU time went back.
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

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Worth knowing; no fault.
    Note,
    /// The counter is at fault. Clocks that the kernel makes of something else are not.
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
    /// What it says against.
    pub weight: Weight,
    /// One sentence.
    pub summary: String,
    /// What it rests on, a line each.
    pub evidence: Vec<String>,
}

/// The smallest faults that this run would have seen; null where it would have seen none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Detectable {
    /// Offset between the counters of any two processors that were tested, in nanoseconds.
    pub offset_ns: Option<f64>,
    /// Constant error of the counter's rate, in millionths; null where nothing but the kernel's own belief tells the rate.
    pub rate_ppm: Option<f64>,
    /// The same against the kernel's own belief: the counter in user space against the clock that the kernel makes of it.
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
    /// That such a read happens once in so many was found in 95 of 100 runs.
    pub glitch_one_in: Option<f64>,
    /// A stop of the counter after which it is right again, in nanoseconds.
    pub stop_ns: Option<f64>,
}

/// Against what the rate of the clocks was held.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateReference {
    /// What the reference is; null where there is none: then the rate was held only against the kernel's own belief,
    /// which is made of the same counter.
    pub source: Option<String>,
    /// The error of the rate that it would have shown, in millionths; null without a reference.
    pub error_ppm: Option<f64>,
    /// Whether the missing reference is the only reason why the clocks are not called trusted.
    pub only_gap: bool,
}

/// How long a processor was watched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watched {
    /// Its number.
    pub cpu: u32,
    /// Seconds from the beginning of the run to the first comparison with another processor; null: never.
    pub first_s: Option<f64>,
    /// Seconds from the beginning of the run to the end of the last comparison.
    pub last_s: Option<f64>,
    /// Comparisons in which messages came through.
    pub comparisons: u64,
    /// The longest time without one, in seconds.
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
    /// By how much the counter of the second one is ahead of that of the first: it lies in this
    /// interval, in nanoseconds (in cycles if the counter's frequency is not known). Null if no
    /// message came through.
    pub offset: Option<Interval>,
    /// Messages to and fro.
    pub exchanges: u64,
    /// Reads under the lock.
    pub locked_reads: u64,
    /// Of those, reads after one of the other processor.
    pub handovers: u64,
    /// Of those, reads that gave less than the one before.
    pub warps: u64,
    /// The largest of them, in cycles.
    pub largest_warp: u64,
    /// What went wrong.
    pub trouble: Option<String>,
}

/// A claim about the counter's frequency, or a measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Frequency {
    /// Who says so.
    pub source: String,
    /// Ticks in a second.
    pub hz: f64,
    /// How far off it may be and still be right, in millionths.
    pub doubt_ppm: f64,
    /// Whether a counter that differs by more than that is at fault; otherwise it is a note.
    pub decisive: bool,
    /// Whether it holds for `CLOCK_MONOTONIC`, which NTP steers, and not for `CLOCK_MONOTONIC_RAW`.
    pub steered: bool,
    /// Whether it does not come from the kernel's own clock: the rate of that is held against it.
    pub independent: bool,
    /// How much faster the counter really runs, in millionths; null if that was not measured.
    pub measured_ppm: Option<Interval>,
}

/// The counter against the kernel's clock over the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drift {
    /// Points in time at which both were read.
    pub points: usize,
    /// Points that were too wide and left out.
    pub left_out: usize,
    /// Seconds from the first to the last.
    pub seconds: f64,
    /// Width of the median reading, in nanoseconds.
    pub width_ns: f64,
    /// Ticks in a second of `CLOCK_MONOTONIC_RAW` (robust regression).
    pub hz: f64,
    /// The same, with what the readings allow.
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

/// A clock, or the counter, in threads on all processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepOutcome {
    /// The clock; null is the counter.
    pub clock: Option<ClockId>,
    /// Reads.
    pub reads: u64,
    /// Steps back within a thread.
    pub back_within: u64,
    /// Steps back from one thread to another.
    pub back_across: u64,
    /// The largest of both, in nanoseconds (cycles for the counter).
    pub largest_back: u64,
    /// The smallest step forward that was seen: the observed resolution, in the same unit.
    pub smallest_step: Option<u64>,
    /// The step that the kernel claims, in nanoseconds.
    pub claimed_step: Option<i64>,
    /// Share of reads that gave the same as the one before, 0 to 1.
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
    /// Whether some of them were left out: the verdict holds for those that were tested.
    pub partial: bool,
    /// Processors that no thread could be tied to, with the reason.
    pub unpinned: Vec<Unpinned>,
    /// Threads at the same time, at most.
    pub threads: usize,
    /// Messages to and fro, over all pairs.
    pub exchanges: u64,
    /// Reads under a lock, over all pairs and clocks.
    pub locked_reads: u64,
    /// The processor of the readings over time; null: on any.
    pub drift_cpu: Option<u32>,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// A processor that no thread could be tied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unpinned {
    /// Its number.
    pub cpu: u32,
    /// Why.
    pub why: String,
}

/// The whole answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outcome {
    /// The worse of the two below; the clocks' alone on a machine without a counter.
    pub verdict: Trust,
    /// How sure it is.
    pub confidence: Confidence,
    /// The counter that programs may read themselves.
    pub counter: Trust,
    /// The clocks of the kernel, as programs read them.
    pub clocks: Trust,
    /// The smallest faults that would have been seen.
    pub detectable: Detectable,
    /// Faults first, then notes.
    pub findings: Vec<Finding>,
    /// Against what the rate of the clocks was held.
    pub rate_reference: RateReference,
    /// How long each processor was watched.
    pub watched: Vec<Watched>,
    /// Whether the run lasted as long as it was to; false after Ctrl-C.
    pub complete: bool,
    /// What could not be tested.
    pub untested: Vec<String>,
    /// Every pair of processors: the matrix of offsets.
    pub pairs: Vec<PairOutcome>,
    /// Unit of the offsets: `ns`, or `cycles` where the frequency is not known.
    pub offset_unit: &'static str,
    /// The counter over time; null where it was not read often enough.
    pub drift: Option<Drift>,
    /// Who says what about the counter's frequency.
    pub frequencies: Vec<Frequency>,
    /// Every clock, and the counter.
    pub steps: Vec<StepOutcome>,
    /// How it was measured.
    pub method: Method,
}

//! The rows of the account, as the JSON document has them.

use super::estimate::Estimate;
use super::flags::Flag;
use super::remedy::Remedy;
use super::source::{CallerRow, LineRow};
use crate::classify::Path;
use crate::clock::Api;
use crate::watched::{OwnClock, Runtime};
use serde::Serialize;
use std::cmp::Ordering;

/// Sums over everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// CPU seconds of the watched processes.
    pub cpu_seconds: f64,
    /// Samples.
    pub samples: u64,
    /// Samples of reads.
    pub read_samples: u64,
    /// Share of the CPU time that reading the time takes, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds that reading the time uses.
    pub read_cpu_seconds: f64,
    /// Reads in a second of wall time; null where the cost of a read is not known.
    pub reads_per_second: Option<f64>,
    /// The same with its interval; null where no read was seen, or the cost of one is not known.
    pub reads_per_second_interval: Option<Estimate>,
    /// CPU seconds that would be saved on a fast clock.
    pub saving_cpu_seconds: Option<f64>,
}

/// Reads of one clock, by one function, on one path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The function.
    pub api: Api,
    /// The clock's name; null where the function takes none, or it is not known.
    pub clock: Option<String>,
    /// The path.
    pub path: Path,
    /// Samples.
    pub samples: f64,
    /// Breakpoint hits that the row is based on.
    pub hits: u64,
    /// Share of all reads, 0 to 1.
    pub share_of_reads: Option<Estimate>,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Reads in a second of wall time.
    pub per_second: Option<Estimate>,
    /// The read cost here, in nanoseconds, as measured on this machine.
    pub ns: Option<f64>,
    /// The read cost on a fast clock.
    pub fast_ns: Option<f64>,
    /// Cost as a multiple of a counter read.
    pub ratio_to_counter: Option<f64>,
    /// Cost as a multiple of a read of CLOCK_MONOTONIC through the library.
    pub ratio_to_monotonic: Option<f64>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
}

/// The reads of one function.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionReads {
    /// The functions that it calls to read the time; empty where it reads the clock itself.
    pub via: Vec<String>,
    /// The paths of its reads.
    pub paths: Vec<Path>,
    /// Clocks that it reads, where known.
    pub clocks: Vec<String>,
    /// Samples.
    pub samples: f64,
    /// Share of all reads, 0 to 1.
    pub share_of_reads: Option<Estimate>,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Reads in a second of wall time.
    pub per_second: Option<Estimate>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
    /// The lines from which it reads the time, where known; most samples first.
    pub lines: Vec<LineRow>,
    /// For a function without a name: the nearest callers that differ; most samples first.
    pub callers: Vec<CallerRow>,
}

/// Reads from one function.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionRow {
    /// The function.
    pub function: String,
    /// The file that contains the function.
    pub module: String,
    /// The process.
    pub pid: u32,
    /// Its reads.
    #[serde(flatten)]
    pub reads: FunctionReads,
}

/// Reads from one function of all processes of one program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramRow {
    /// The program: the short name of its processes.
    pub program: String,
    /// The function.
    pub function: String,
    /// The file that contains the function.
    pub module: String,
    /// How many processes read there.
    pub processes: u64,
    /// Their ids, most expensive first, the first hundred.
    pub pids: Vec<u32>,
    /// Its reads.
    #[serde(flatten)]
    pub reads: FunctionReads,
}

/// One stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackRow {
    /// The process.
    pub pid: u32,
    /// The path.
    pub path: Path,
    /// Samples.
    pub samples: u64,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: f64,
    /// Functions, innermost first.
    pub frames: Vec<String>,
    /// For each of them the file and the line, `FILE:LINE`; null where it is not known.
    pub places: Vec<Option<String>>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRow {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The runtime that runs it; null where it could not be examined.
    pub runtime: Option<Runtime>,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Share of the CPU time that reading the time uses, 0 to 1.
    pub read_share: Estimate,
    /// Reads in a second of wall time.
    pub per_second: Option<f64>,
    /// The same with its interval.
    pub per_second_interval: Option<Estimate>,
    /// The path that uses most of this time.
    pub path: Option<Path>,
    /// The function that uses most of this time.
    pub function: Option<String>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
    /// The clock that `clocksmith run` gave the process; null for a process with the kernel's clock.
    pub own_clock: Option<OwnClock>,
}

/// Where in the kernel reads are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelRow {
    /// The function.
    pub function: String,
    /// Share of the reads' kernel samples, 0 to 1.
    pub share: f64,
}

/// The whole account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Sums.
    pub totals: Totals,
    /// By clock, function and path; most expensive first.
    pub rows: Vec<Row>,
    /// By function of the program; most expensive first.
    pub functions: Vec<FunctionRow>,
    /// The same over all processes of one program (servers with workers, shells); most expensive first.
    pub programs: Vec<ProgramRow>,
    /// By stack; most expensive first, the first hundred.
    pub stacks: Vec<StackRow>,
    /// By process; most expensive first.
    pub processes: Vec<ProcessRow>,
    /// Where in the kernel the reads' time goes.
    pub kernel: Vec<KernelRow>,
    /// Suspicious uses of clocks.
    pub flags: Vec<Flag>,
    /// Remedies, the most helpful first.
    pub remedies: Vec<Remedy>,
}

/// The order of two rows by their CPU seconds and reads per second, most expensive first.
pub(super) fn by_cost(a: (f64, Option<Estimate>), b: (f64, Option<Estimate>)) -> Ordering {
    let rate = |rate: Option<Estimate>| rate.map_or(0.0, |rate| rate.value);
    b.0.total_cmp(&a.0).then(rate(b.1).total_cmp(&rate(a.1)))
}

//! What was recorded, with names. Pure: the input of the account and of the files for other tools.

use crate::account::waits::Waiting;
use crate::aggregate::Tally;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::symbols::Frame;
use crate::watched::Runtime;
use std::sync::Arc;

/// A process that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its id.
    pub pid: u32,
    /// Its short name.
    pub name: String,
    /// What runs it; `None` where it could not be looked at.
    pub runtime: Option<Runtime>,
    /// All its samples.
    pub tally: Tally,
}

/// Reads with one stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Which of [`Recording::processes`].
    pub process: usize,
    /// By which way.
    pub path: Path,
    /// By which function.
    pub api: Option<Api>,
    /// Functions, innermost first.
    pub frames: Arc<[Frame]>,
    /// Samples.
    pub tally: Tally,
}

/// Calls that breakpoints saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Which of [`Recording::processes`].
    pub process: usize,
    /// Which function was called.
    pub api: Api,
    /// For which clock.
    pub clock: Option<ClockId>,
    /// Functions, innermost first.
    pub frames: Arc<[Frame]>,
    /// How often.
    pub count: u64,
}

/// A sample on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the first sample.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// Which of [`Recording::stacks`].
    pub stack: usize,
    /// CPU time that it stands for, in nanoseconds.
    pub ns: u64,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Processes.
    pub processes: Vec<Seen>,
    /// Reads.
    pub stacks: Vec<Stack>,
    /// Calls.
    pub hits: Vec<Hit>,
    /// Samples of reads, in order of time.
    pub moments: Vec<Moment>,
    /// Innermost kernel functions of reads, with their samples.
    pub kernel: Vec<(Arc<str>, u64)>,
    /// All samples.
    pub all: Tally,
    /// Records that were lost.
    pub lost: u64,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// Samples for each second of CPU time.
    pub frequency: u64,
    /// Whether the kernel's part was seen.
    pub kernel_seen: bool,
    /// How long breakpoints were armed, in milliseconds.
    pub armed_ms: f64,
    /// Waits that may be by the wall clock.
    pub waits: Vec<Waiting>,
    /// What is missing, and what would give it.
    pub gaps: Vec<String>,
}

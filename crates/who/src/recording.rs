//! A recording, with names. Pure: the input of the account and of the files for other tools.

use crate::account::waits::Waiting;
use crate::aggregate::Tally;
use crate::calibrate::Span;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::symbols::Frame;
use crate::watched::{OwnClock, Runtime};
use std::sync::Arc;

/// A process that was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its id.
    pub pid: u32,
    /// Its short name.
    pub name: String,
    /// The runtime that runs it; `None` if it could not be examined.
    pub runtime: Option<Runtime>,
    /// All its samples.
    pub tally: Tally,
    /// The clock that `clocksmith run` gave it.
    pub own: Option<Own>,
}

/// The clock that `clocksmith run` gave a program, and the cost of its reads here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Own {
    /// The kind of clock.
    pub clock: OwnClock,
    /// The cost of `clock_gettime`.
    pub clock_gettime: Option<Span>,
    /// The cost of `gettimeofday`.
    pub gettimeofday: Option<Span>,
}

impl Own {
    /// The cost of a read, if this clock serves it.
    #[must_use]
    pub fn cost(&self, api: Api, clock: Option<ClockId>) -> Option<Span> {
        let span = if api == Api::Gettimeofday { self.gettimeofday } else { self.clock_gettime };
        span.filter(|_| self.clock.serves(api, clock))
    }
}

/// Reads with one stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// The index of the process in [`Recording::processes`].
    pub process: usize,
    /// The path of the read.
    pub path: Path,
    /// The function that reads.
    pub api: Option<Api>,
    /// Functions, innermost first.
    pub frames: Arc<[Frame]>,
    /// The innermost addresses of the program on the stack, outside of the vDSO.
    pub callers: Arc<[u64]>,
    /// Samples.
    pub tally: Tally,
}

/// Calls that breakpoints saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The index of the process in [`Recording::processes`].
    pub process: usize,
    /// The function that was called.
    pub api: Api,
    /// For which clock.
    pub clock: Option<ClockId>,
    /// Functions, innermost first.
    pub frames: Arc<[Frame]>,
    /// The innermost addresses of the program on the stack, outside of the vDSO.
    pub callers: Arc<[u64]>,
    /// The number of calls.
    pub count: u64,
    /// The same by draw: the calls of one thread in one moment.
    pub draws: Vec<(u32, u64)>,
}

/// A sample on the time line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds since the first sample.
    pub time: u64,
    /// Thread.
    pub tid: u32,
    /// The index of the stack in [`Recording::stacks`].
    pub stack: usize,
    /// The CPU time that it represents, in nanoseconds.
    pub ns: u64,
}

/// A file with code that stacks go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its name in frames.
    pub name: Arc<str>,
    /// The file, as the process sees it.
    pub path: String,
    /// Where it is mapped in the first process that has it: begin, end, and the offset in the file.
    pub mapped: (u64, u64, u64),
    /// Its build id, in hexadecimal digits; empty if it has none.
    pub build_id: String,
}

/// A recording.
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
    /// The length of the recording, in seconds.
    pub seconds: f64,
    /// Samples for each second of CPU time.
    pub frequency: u64,
    /// Whether the kernel's part was seen.
    pub kernel_seen: bool,
    /// How long breakpoints were armed, in milliseconds.
    pub armed_ms: f64,
    /// Files with code that stacks go through; the program of the first process first.
    pub modules: Vec<Module>,
    /// Waits that may be by the wall clock.
    pub waits: Vec<Waiting>,
    /// Missing data, and how to get it.
    pub gaps: Vec<String>,
}

/// Samples due for the CPU time, at which a check of their number begins.
const DUE: f64 = 20.0;
/// The share of them below which whole threads are missing: frequent switches alone cost less.
const FEW: f64 = 0.2;

impl Recording {
    /// Sets the CPU time from the events' own counts, in nanoseconds: samples give the shares, but represent too little
    /// time if some were not taken.
    pub fn take_time(&mut self, counted: u64) {
        let due = counted as f64 * 1e-9 * self.frequency as f64;
        if due >= DUE && (self.all.samples as f64) < FEW * due {
            self.gaps.push(format!(
                "{} of about {due:.0} samples were taken: its threads end or wait before the next one is due, and reads of \
                 such threads are missing; `clocksmith who --all` samples each CPU, and sees them",
                self.all.samples
            ));
        }
        if self.all.ns == 0 {
            self.all.ns = counted;
        }
        if counted == 0 || self.all.ns == 0 {
            return;
        }
        let factor = counted as f64 / self.all.ns as f64;
        let scale = |ns: &mut u64| *ns = (*ns as f64 * factor) as u64;
        scale(&mut self.all.ns);
        self.processes.iter_mut().for_each(|seen| scale(&mut seen.tally.ns));
        self.stacks.iter_mut().for_each(|stack| scale(&mut stack.tally.ns));
        self.moments.iter_mut().for_each(|moment| scale(&mut moment.ns));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn take_time_keeps_shares() {
        let mut made = crate::output::made::recording();
        let before: Vec<f64> =
            made.stacks.iter().map(|s| s.tally.ns as f64 / made.all.ns as f64).collect();
        made.take_time(3 * made.all.ns);
        assert_eq!(made.all.ns, 30_000_000);
        assert_eq!(made.processes[0].tally.ns, 30_000_000);
        let after: Vec<f64> =
            made.stacks.iter().map(|s| s.tally.ns as f64 / made.all.ns as f64).collect();
        assert_eq!(before, after);
        // Threads without a sample.
        let mut none = crate::recording::Recording { frequency: 400, ..Default::default() };
        none.take_time(800_000_000);
        assert_eq!((none.all.ns, none.all.samples), (800_000_000, 0));
        assert!(none.gaps[0].starts_with("0 of about 320 samples were taken"), "{:?}", none.gaps);
        // Not counted.
        let same = made.clone();
        made.take_time(0);
        assert_eq!(made, same);
    }
}

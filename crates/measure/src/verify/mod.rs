//! Whether the counter and the clocks can be trusted.
//!
//! Threads take samples (`samples`); afterwards functions of the samples alone (`analyse`) evaluate them. Each reports
//! how small a fault it would have detected, so that "nothing found" is worth something.
//!
//! - Every pair of processors exchanges messages with their counters, which bounds how far apart the two counters are
//!   (`exchange`), and reads the counter in turn under a lock, as the kernel
//!   does when a processor comes up (`locked`).
//! - One thread reads the counter and the kernel's clocks all the time (`series`): rate, jumps, stalls. The kernel's
//!   clocks are read by system call, so a counter that is wrong in user space is seen even where the kernel derives its
//!   clocks from the same counter.
//! - All threads read every clock in turn: steps back, step size.
//!
//! Every wait has a deadline. Nothing here changes the machine.

mod abi;
mod analyse;
#[cfg(test)]
mod calibration;
mod counter;
mod deadline;
mod exchange;
mod locked;
mod outcome;
mod rtc;
mod run;
mod samples;
mod series;
#[cfg(test)]
mod sim;
mod source;
#[cfg(test)]
mod tests;
mod tour;

pub use abi::{AbiCase, Ended, abi};
pub use outcome::{
    Confidence, Detectable, Drift, Finding, FindingId, Frequency, Interval, Method, Outcome,
    PairOutcome, RateReference, StepOutcome, Trust, Unpinned, Watched, Weight,
};
#[cfg(test)]
pub(crate) use sim::Random;

pub use run::{History, Options, run, run_here};
pub use source::{ClockId, Real, Source};

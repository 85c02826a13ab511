//! The real read cost of a clock, and the path of the read.
//!
//! This crate has the [`sampler`], which measures any operation in interleaved batches, the reads
//! that are measured ([`reads`]), the [`mod@light`] measurement that accompanies a diagnosis, the
//! whole one ([`mod@bench`]), and the check of counter and clocks ([`verify`]).
//!
//! It must not have facts about the machine, rules of the kernel, or verdicts on the numbers, and
//! must not print. It does not change the machine: no clocksource is switched, and the caller's CPU
//! affinity is kept.

pub mod bench;
pub mod interrupt;
pub mod light;
pub mod loops;
pub mod noise;
pub mod pin;
pub mod program;
pub mod reads;
pub mod sampler;
pub mod verify;

pub use clocksmith_facts::path::Path;
pub use light::{LightMeasurement, light};
pub use sampler::{Sampler, Samples, Subject};

//! What reading a clock really costs, and by which way it is read.
//!
//! What lives here: the [`sampler`] that measures any operation in interleaved batches, the reads
//! that are measured ([`reads`]), the [`mod@light`] measurement that accompanies a diagnosis, the
//! whole one ([`mod@bench`]), and whether counter and clocks can be trusted ([`verify`]).
//!
//! What must not live here: facts about the machine, rules of the kernel, judgement about the
//! numbers, any printing. Nothing here changes the machine: no clocksource is switched, and the
//! caller's CPU affinity stays as it is.

pub mod bench;
pub mod interrupt;
pub mod light;
pub mod pin;
pub mod reads;
pub mod sampler;
pub mod verify;

pub use clocksmith_facts::path::Path;
pub use light::{LightMeasurement, light};
pub use sampler::{Sampler, Samples, Subject};

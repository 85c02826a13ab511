//! The whole measurement: every way to read the time, three costs each, their distribution, several
//! threads.
//!
//! [`read`], [`shape`] and [`vdso`] read the time; [`mod@run`] puts the parts together. The modules that evaluate
//! figures ([`stats`], [`distribution`], [`compare`], [`gain`]) are pure.

pub mod compare;
pub mod distribution;
pub mod gain;
pub mod like;
pub mod plan;
pub mod read;
mod resolution;
pub mod row;
pub mod run;
pub mod scaling;
pub mod served;
pub mod shape;
pub mod starts;
pub mod stats;
pub mod timers;
mod together;
pub mod vdso;

pub use plan::Plan;
pub use run::{Bench, RowResult, Stage, run};

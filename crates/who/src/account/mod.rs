//! The sums of samples and hits: reads by clock, function and path, with their cost, their cost on a
//! fast clock, and how certain these are. Pure.

mod calls;
mod cells;
mod clocks;
mod draws;
mod estimate;
mod flags;
mod functions;
mod groups;
mod machine;
mod price;
mod processes;
mod profile;
mod programs;
mod remedy;
mod rows;
mod saving;
mod settled;
mod site;
pub(crate) mod source;
mod sum;
mod unsampled;
pub mod waits;
mod whole;
mod wrappers;

pub use estimate::Estimate;
pub use flags::{Flag, FlagKind};
pub use profile::profile;
pub use remedy::{Remedy, RemedyId};
pub use rows::{
    FunctionReads, FunctionRow, KernelRow, ProcessRow, Profile, ProgramRow, Row, StackRow, Totals,
};
pub use site::{Site, site};
pub use source::{CallerRow, LineRow};
pub use waits::Confidence;

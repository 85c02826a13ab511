//! What samples and hits add up to: reads by clock, function and way, with what they cost, what they
//! would cost on a fast clock, and how sure that is. Pure.

mod cells;
mod estimate;
mod flags;
mod profile;
mod remedy;
mod site;
pub mod waits;

pub use estimate::Estimate;
pub use flags::{Flag, FlagKind};
pub use profile::{FunctionRow, KernelRow, ProcessRow, Profile, Row, StackRow, Totals, profile};
pub use remedy::{Remedy, RemedyId};
pub use site::{Site, site};
pub use waits::Confidence;

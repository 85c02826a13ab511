//! Diagnosis: from facts and the kernel model's expectation to a verdict, causes and remedies.
//!
//! Contents: [`cause`] ids (public, stable), the rules that find them ([`causes`]), the cited
//! advice table ([`remedies`]) and the words of [`explain`]. Pure: no I/O, no clock, no environment.
//! Not in this crate: kernel rules (`clocksmith-kernel`), parsing (`clocksmith-facts`),
//! rendering (`clocksmith-cli`).

#![forbid(unsafe_code)]

pub mod assess;
pub mod cause;
pub mod causes;
mod current;
pub mod demotion;
pub mod diagnosis;
mod elsewhere;
pub mod explain;
mod headline;
mod outlived;
pub mod policy;
pub use clocksmith_kernel::names;
pub mod reconcile;
pub mod remedies;
pub mod report;
pub mod symptom;
pub mod timeline;
pub mod wall;

pub use assess::{Assessment, Measured, assess};
pub use cause::{Cause, CauseId, Confidence, Evidence, Severity};
pub use causes::against_tsc;
pub use clocksmith_facts::path::Path;
pub use diagnosis::{Read, Verdict};
pub use reconcile::Contradiction;
pub use remedies::Remedy;
pub use report::Report;

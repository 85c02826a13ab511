//! Hypervisor configuration: the effect of a virtual machine's file on its guest's clock, and how to fix it in place.
//!
//! A file becomes a [`Document`] (a name, a text with positions, a [`Kind`]); one folder for each kind of hypervisor
//! checks it and returns [`Finding`]s, each by a [`Rule`] that cites its source; a finding may carry [`Edit`]s, byte
//! ranges of the text with their replacements, so that everything else stays byte for byte the same.
//!
//! All of it is pure: text in, findings out. The program reads files, prints and writes. The kernel's use of a clock is
//! in `clocksmith-kernel`, not here.

#![forbid(unsafe_code)]

#[macro_use]
pub mod rules;

pub mod choice;
pub mod document;
pub mod edit;
pub mod finding;
pub mod fix;
pub mod guest;
pub mod lint;
pub mod migrate;
pub mod predict;
pub mod text;

mod certain;
mod comments;
mod dated;
mod detect;
mod formats;
mod hcl;
mod inner;
mod json;
mod limits;
mod meant;
mod named;
mod other;
mod parameters;
mod placed;
mod promised;
#[cfg(test)]
mod readers_tests;
mod saved;
mod sh;
mod shell;
mod template;
#[cfg(test)]
mod testing;
mod unchosen;
mod unread;
mod versions;
mod wished;
mod words;
mod xml;
mod yaml;

pub use choice::Choices;
pub use document::{Document, DocumentError};
pub use edit::Edit;
pub use finding::{Finding, Rule, Severity};
pub use fix::{Fixed, fix};
pub use formats::Kind;
pub use guest::Guest;
pub use lint::{LintError, Report, lint};
pub use predict::{Prediction, predict};
pub use rules::rules;
pub use text::{Place, Text};

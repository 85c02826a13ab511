//! Hypervisor configuration: what a virtual machine's file does to its guest's clock, and how to
//! mend it in place.
//!
//! A file becomes a [`Document`] (a name, a text with positions, a [`Kind`]); one folder for each
//! kind of hypervisor looks at it and returns [`Finding`]s, each by a [`Rule`] that cites why; a
//! finding may carry [`Edit`]s, byte ranges of the text with what to put there, so that everything
//! else stays byte for byte what it was.
//!
//! All of it is pure: text in, findings out. Reading files, printing and writing are the program's.
//! What must not live here: what a kernel does with a clock (`clocksmith-kernel`).

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
mod meant;
mod parameters;
mod placed;
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

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

pub mod document;
pub mod edit;
pub mod finding;
pub mod guest;
pub mod kind;
pub mod lint;
pub mod migrate;
pub mod text;

pub use document::Document;
pub use edit::Edit;
pub use finding::{Finding, Rule, Severity};
pub use guest::Guest;
pub use kind::Kind;
pub use lint::{Report, lint};
pub use text::{Place, Text};

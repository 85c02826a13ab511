//! Whose lines they are: the machine of the writer, no machine, or one that the text does not name.
//!
//! The rules in their order, each for what the ones above it left: source code, changelogs and outputs that the text
//! calls examples are of no machine (`literal`, by the words of `examples`), nor are documents under review (`documents`)
//! and results of which the text only says what they would mean (`conditions`); a sentence about kernels and machines of a
//! kind (`general`, by the habits in `habits`), or one that leaves it uncertain (`uncertain`), shows none of the
//! writer's; a few lines below any other sentence without a word of the writer about himself have an open owner
//! (`whose`), and the report is then on that condition. Not in this module: text that another user chose (`foreign`),
//! and headings of several machines (`headings`).

mod conditions;
mod documents;
mod examples;
mod general;
mod habits;
mod literal;
mod uncertain;
mod whose;

use crate::log::is_record;

pub(super) use conditions::is_guide;
pub(super) use documents::find as of_documents;
pub(super) use examples::{before_change, imagined};
pub(super) use literal::{find as of_no_machine, is_changelog};
pub(super) use whose::open;

/// Which lines a log's writer wrote; see [`is_record`].
pub(super) fn records(lines: &[String]) -> Vec<bool> {
    lines.iter().map(|line| is_record(line)).collect()
}

//! Messages: which text belongs to which event of the log parser.
//!
//! The page of a message lists its events under `## Events`; `build.rs` makes a match of these lists, so that an event
//! without a page does not compile.

use super::entry::Entry;
use super::knowledge::MESSAGES;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::{Calibration, LostTicks, Refusal, TscAdjust, UnstableReason};

/// The text of an event; `None` for an id without a text (a test forbids it).
pub(super) fn of_event(event: &Event) -> Option<&'static Entry> {
    let id = id(event);
    MESSAGES.iter().find(|entry| entry.id == id)
}

/// The id of the text that explains an event.
// The pages name a variant without its fields, whether it has any or not.
#[allow(clippy::unneeded_struct_pattern)]
fn id(event: &Event) -> &'static str {
    include!(concat!(env!("OUT_DIR"), "/events.rs"))
}

//! `readout-stall`: a check was late by both clocks alike. Found by the detector in `skipped`.

use super::definition::{Definition, PLAIN};
use clocksmith_facts::log::Event;

pub(super) const CAUSE: Definition = Definition {
    against_reliable: Some(|plan, _| {
        let whole = |event: &Event| matches!(event, Event::LongReadout { .. });
        let all_cut = plan.case.log().is_some_and(|log| !log.any(whole));
        let why = if all_cut {
            "the figures of the skipped check are cut off, so a fault of a clock is not excluded"
        } else {
            "the check was late, and both clocks agree: no clock is at fault"
        };
        Some(why.to_owned())
    }),
    ..PLAIN
};

//! `readout-stall`: a check was late by both clocks alike. Found by the detector in `skipped`.

use super::definition::{Definition, PLAIN};

pub(super) const CAUSE: Definition = Definition {
    against_reliable: Some(|_, _| {
        Some("the check was late, and both clocks agree: there is no fault to silence".to_owned())
    }),
    ..PLAIN
};

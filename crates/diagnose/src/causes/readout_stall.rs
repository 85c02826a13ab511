//! `readout-stall`: both clocks agree that nothing ran for a while. Found by the detector in `skipped`.

use super::definition::{Definition, PLAIN};

pub(super) const CAUSE: Definition = Definition {
    against_reliable: Some(|_, _| Some("nothing is wrong with the clocksource".to_owned())),
    ..PLAIN
};

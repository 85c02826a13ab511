//! `wall-clock-unsynchronised`: nothing synchronises the wall clock. Found by [`crate::wall`], apart from the verdict.

use super::definition::{Definition, PLAIN};
use crate::remedies::wall;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the wall clock is not synchronised"),
    remedies: &[
        &wall::STEP_NOW,
        &wall::COUNTER_RATE,
        &wall::ASK_THE_DAEMON,
        &wall::START_A_DAEMON,
        &wall::HYPERV_CLOCK,
        &wall::HOST_CLOCK,
    ],
    any_architecture: true,
    ..PLAIN
};

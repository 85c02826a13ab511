//! `two-masters`: several programs steer the wall clock at once. Found by [`crate::wall`], apart from the verdict.

use super::definition::{Definition, PLAIN};
use crate::remedies::wall;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("several programs steer the wall clock"),
    remedies: &[&wall::ONE_MASTER],
    any_architecture: true,
    ..PLAIN
};

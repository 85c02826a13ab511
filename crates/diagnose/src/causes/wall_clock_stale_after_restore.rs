//! `wall-clock-stale-after-restore`: the wall clock was left behind while this guest did not run. Found by
//! [`crate::wall`], apart from the verdict.

use super::definition::{Definition, PLAIN};
use crate::remedies::wall;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the wall clock is behind"),
    remedies: &[
        &wall::STEP_NOW,
        &wall::HYPERV_CLOCK,
        &wall::HOST_CLOCK,
        &wall::STEP_ALWAYS,
        &wall::WSL_CLOCK,
        &wall::DESKTOP_VM,
        &wall::VMWARE_TOOLS,
        &wall::FIRECRACKER_LOAD,
        &wall::GUEST_AGENT,
    ],
    any_architecture: true,
    ..PLAIN
};

//! The prediction: one entry for every architecture.

use crate::{Expectation, Machine, other, vdso, x86};

/// Predicts the behaviour of Linux on a machine from static facts and recorded events.
#[must_use]
pub fn predict(machine: &Machine) -> Expectation {
    let mut out = Expectation::empty();
    if machine.arch.value.is_x86() {
        x86::predict(machine, &mut out);
    } else {
        other::predict(machine, &mut out);
    }
    vdso::decide(machine, &mut out);
    out.assumed = machine.assumptions();
    out
}

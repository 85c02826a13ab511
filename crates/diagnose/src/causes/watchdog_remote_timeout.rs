//! `watchdog-remote-timeout`: a check across CPUs was skipped. Found by the detector in `skipped`.

use super::definition::{Definition, PLAIN};

pub(super) const CAUSE: Definition = Definition {
    against_reliable: Some(|_, _| {
        Some(
            "a CPU that did not answer in time proves no fault of the TSC; the parameter disables the checks, and a \
             wrong TSC stays in use"
                .to_owned(),
        )
    }),
    ..PLAIN
};

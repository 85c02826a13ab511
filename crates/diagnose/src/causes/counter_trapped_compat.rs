//! `counter-trapped-compat`: only 32-bit programs lose the vDSO. Found by the detector in
//! `counter_trapped`.

use super::definition::{Definition, PLAIN};

pub(super) const CAUSE: Definition = Definition { returns: true, any_architecture: true, ..PLAIN };

//! `contradicted-evidence`: two sources contradict each other. Instances come with the diagnosis, which
//! ranks the sources.

use super::definition::{Definition, PLAIN};

pub(super) const CAUSE: Definition = PLAIN;

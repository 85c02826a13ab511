//! `contradicted-evidence`: two sources contradict each other; the stronger one serves.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};

pub(super) const CAUSE: Definition = Definition { find, ..PLAIN };

fn find(case: &Case<'_>, causes: &mut Causes) {
    for contradiction in case.contradictions {
        causes.add(
            CauseId::ContradictedEvidence,
            Severity::Info,
            Confidence::High,
            "the kernel log says that the kernel gave up a clocksource which sysfs still offers: any user can \
             write such a line into the log, and only the kernel writes sysfs, so the line is left out",
            vec![contradiction.weaker.clone(), contradiction.stronger.clone()],
        );
    }
}

//! `contradicted-evidence`: two sources contradict each other; the stronger one is used.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::elsewhere;

pub(super) const CAUSE: Definition = Definition { any_architecture: true, find, ..PLAIN };

fn find(case: &Case<'_>, causes: &mut Causes) {
    for contradiction in case.contradictions {
        causes.add(
            CauseId::ContradictedEvidence,
            Severity::Info,
            Confidence::High,
            if contradiction.fact == elsewhere::FACT {
                "the watchdog's reference in these lines, or the clock of their guest, is not among the clocksources that \
                 this machine lists: they are of another machine or of another boot, and are left out"
            } else {
                "the kernel log says that the kernel gave up a clocksource which sysfs still offers: any user can \
                 write such a line into the log, and only the kernel writes sysfs, so the line is left out"
            },
            vec![contradiction.weaker.clone(), contradiction.stronger.clone()],
        );
    }
}

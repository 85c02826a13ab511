//! `contradicted-evidence`: two sources contradict each other; the stronger one is used.

use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::{elsewhere, outlived};

pub(super) const CAUSE: Definition = Definition { any_architecture: true, find, ..PLAIN };

fn find(case: &Case<'_>, causes: &mut Causes) {
    for contradiction in case.contradictions {
        causes.add(
            CauseId::ContradictedEvidence,
            Severity::Info,
            Confidence::High,
            match contradiction.fact.as_str() {
                elsewhere::FACT => {
                    "this machine does not list the watchdog's reference in these lines, or the clock of the guest \
                     that they are from, as a clocksource: the lines are from another machine or another boot, and are \
                     ignored"
                }
                outlived::FACT => {
                    "a later reading shows the TSC in use, and a kernel that has demoted the TSC does not \
                     use it again before the next boot: these lines are from another boot or another \
                     machine, and are ignored"
                }
                _ => {
                    "the kernel log says that the kernel demoted a clocksource that sysfs still offers: \
                     any user can write such a line into the log, but only the kernel writes sysfs, so \
                     the line is ignored"
                }
            },
            vec![contradiction.weaker.clone(), contradiction.stronger.clone()],
        );
    }
}

//! Claims of the kernel log about a clocksource that sysfs does not confirm. Any user can write into the log, so such a
//! line is reported as information and not as an alarm.

use super::Case;
use crate::cause::{Cause, CauseId, Confidence, Severity};
use crate::demotion::listed_as_healthy;
use clocksmith_facts::Origin;

/// Lowers the causes by which the kernel would have demoted a clocksource, if only the log supports them and the list
/// in sysfs still has that clocksource. Without the machine, the log is the only evidence.
pub(super) fn lower(case: &Case<'_>, causes: &mut [Cause]) {
    if matches!(case.facts.origin, Origin::Log(_) | Origin::Stated) {
        return;
    }
    let (Some(log), Some(healthy)) = (case.log(), listed_as_healthy(case.facts)) else { return };
    let is_line = |source: &str| {
        source.strip_prefix(log.name.as_str()).is_some_and(|rest| rest.starts_with(':'))
    };
    for cause in causes.iter_mut().filter(|cause| cause.is_demotion()) {
        let name = match cause.id {
            CauseId::ParavirtClockBroken => case.current_name().unwrap_or_default(),
            _ => "tsc",
        };
        let by_log = cause.evidence.iter().all(|evidence| is_line(&evidence.source));
        if by_log && !cause.evidence.is_empty() && healthy.iter().any(|listed| listed == name) {
            cause.severity = Severity::Info;
            cause.confidence = Confidence::Low;
            cause.summary = format!(
                "{}. Only the log says so, and sysfs shows {name} in its place: a program can also \
                 write such a line",
                cause.summary.trim_end_matches('.')
            );
        }
    }
}

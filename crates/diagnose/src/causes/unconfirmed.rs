//! What nothing but the kernel log says of a clocksource that sysfs shows in its place. Any user can write into the log, so
//! that such a line is worth knowing, and no alarm.

use super::Case;
use crate::cause::{Cause, CauseId, Confidence, Severity};
use crate::demotion::listed_as_healthy;
use clocksmith_facts::Origin;

/// Lowers the causes by which the kernel would have given up a clocksource, where they rest on the log alone and the list of
/// sysfs still has that clocksource. In a log without its machine the log is all there is.
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
                "{}. Only the log says so, and sysfs shows {name} in its place: a program can write such a line, too",
                cause.summary.trim_end_matches('.')
            );
        }
    }
}

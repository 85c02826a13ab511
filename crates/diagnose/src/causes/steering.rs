//! The message `Adjusting NAME more than 11%`, for any clocksource: each cause selects the clocksources that it covers.

use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::Event;

/// Adds the cause if the kernel had to speed up the time of a clocksource selected by `is_of` by more than 11 %.
///
/// `timekeeping_adjust()` in `kernel/time/timekeeping.c` prints the message if the multiplier exceeds that of the
/// clocksource by more than `maxadj`, which is 11 %.
pub(super) fn too_far(
    case: &Case<'_>,
    causes: &mut Causes,
    id: CauseId,
    confidence: Confidence,
    is_of: impl Fn(&str) -> bool,
) {
    let Some(log) = case.log() else { return };
    let found = log.first(|event| match event {
        Event::SteeredTooFar(name) if is_of(name) => Some(name.clone()),
        _ => None,
    });
    let Some((entry, name)) = found else { return };
    // A message about a clocksource other than the one in sysfs shows nothing about the present
    // state of this machine.
    let in_use = case.facts.current_clocksource();
    if in_use.value().is_some_and(|current| *current != name) {
        return;
    }
    let summary = format!(
        "the kernel had to speed {name} up by more than 11 % to follow its steering: {name} runs \
         slower than the kernel assumes, the program that steers the time (NTP, PTP, adjtimex) \
         requested too much, or the machine did not run for a long time; chronyc tracking or ntpq \
         shows whether it continues"
    );
    causes.add(id, Severity::Warning, confidence, summary, vec![Evidence::line(log, entry)]);
}

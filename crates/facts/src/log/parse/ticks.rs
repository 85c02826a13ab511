//! Messages about ticks that, according to another counter, were lost: x86 before the clocksource
//! framework.
//!
//! Sources: `handle_lost_ticks()` and `cpufreq_delayed_get()` in `arch/x86_64/kernel/time.c` (up to 2.6.20), `mark_offset_tsc()`
//! in `arch/i386/kernel/timers/timer_tsc.c` (up to 2.6.17).

use super::super::event::{Event, LostTicks};
use super::{after, number};

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "lost ticks",
    "time source seems",
    "Losing ",
    " timer tick(s)!",
    "back to HPET",
    " timesource",
];

/// `b`: the message, after the kernel's own prefixes.
pub(super) fn parse(b: &str) -> Option<Event> {
    let lost = |kind| Some(Event::LostTicks(kind));
    if b.starts_with("warning: many lost ticks")
        || b.starts_with("Your time source seems to be instable or some driver is hogging")
    {
        return lost(LostTicks::Many);
    }
    if b.starts_with("Losing some ticks... checking if CPU frequency changed") {
        return lost(LostTicks::Some);
    }
    // Three lines of one message, each of which people quote alone.
    let given_up = [
        "Losing too many ticks!",
        "TSC cannot be used as a timesource",
        "Falling back to a sane timesource",
    ];
    if given_up.iter().any(|words| b.starts_with(words)) {
        return lost(LostTicks::TooMany);
    }
    // With the parameter report_lost_ticks; `time.c: ` is a prefix that may be gone.
    let counted = b.strip_prefix("time.c: ").unwrap_or(b);
    if let Some(rest) = counted.strip_prefix("Lost ")
        && after(rest, " timer tick(s)!").is_some()
    {
        return lost(LostTicks::Counted(u64::try_from(number(rest)?).ok()?));
    }
    (b.trim_end().trim_end_matches('.') == "Falling back to HPET").then_some(Event::HpetFallback)
}

//! A clocksource other than the TSC that the watchdog marks: the kernel leaves it, if it has another one that high
//! resolution timers can use.

use clocksmith_facts::log::{Event, KernelLog};

/// The reason why a clocksource in use at this line is not the answer, as the end of a sentence.
///
/// `clocksource_find_best()` passes over a marked clocksource with high resolution timers, and the kernel stays
/// with it if nothing is left (kernel/time/clocksource.c); a log rarely shows which of the two is true.
pub(super) fn marked(log: &KernelLog, line: u64, name: &str) -> Option<String> {
    let (mark, _) = log.last(|event| match event {
        Event::WatchdogMarked { name: marked, .. }
        | Event::WatchdogVerdict { name: marked, .. }
            if marked == name =>
        {
            Some(())
        }
        _ => None,
    })?;
    (mark.line >= line && !name.starts_with("tsc")).then(|| {
        format!(
            "the watchdog marked {name} unstable ({}), and no line shows which clocksource the kernel used then",
            log.source(mark)
        )
    })
}

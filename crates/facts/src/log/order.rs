//! Boots without a banner between them, told apart by what one boot cannot do: choose the TSC again that it gave up.

use super::event::Event;
use super::{Entry, KernelLog, wall};

/// Keeps the entries of the last boot, where dates tell which one that is. Stamps that go back behind a demotion are of
/// another boot, or of another machine, and alone they do not tell which is the later one.
pub(super) fn part_boots(log: &mut KernelLog) {
    if log.newest_first {
        return;
    }
    let Some((given_up, chosen)) = impossible(&log.entries) else { return };
    let (given_up, chosen) = (&log.entries[given_up], &log.entries[chosen]);
    let dated = wall::seconds(&given_up.text).zip(wall::seconds(&chosen.text));
    let later = dated.is_some_and(|(then, now)| now > then);
    if !later && given_up.at.is_some() && chosen.at.is_some() {
        log.mixed = Some(format!(
            "the kernel gave the TSC up ({}), and what stands behind it has an earlier stamp and chooses the TSC ({}): \
             two boots, or two machines, and not which of them is the present one",
            log.source(given_up),
            log.source(chosen)
        ));
        return;
    }
    let back = |entry: &&Entry| match entry.at.zip(given_up.at) {
        Some((at, then)) => at < then,
        None => matches!(&entry.event, Event::Switched(name) if name.starts_with("tsc")),
    };
    let begin = log.entries.iter().filter(|entry| entry.line > given_up.line).find(back);
    let begin = begin.map_or(chosen.line, |entry| entry.line);
    // What a transcript tells of the processor is not of a boot.
    log.entries.retain(|entry| {
        entry.line >= begin || matches!(entry.event, Event::ReadFlags(_) | Event::CpuModel { .. })
    });
    log.boots = log.boots.saturating_add(1);
    log.from_boot = false;
}

/// The last demotion of the TSC in front of the last choice, where that is the TSC, and both are not of one boot.
fn impossible(entries: &[Entry]) -> Option<(usize, usize)> {
    let chosen = entries.iter().rposition(|entry| matches!(entry.event, Event::Switched(_)))?;
    let Event::Switched(name) = &entries[chosen].event else { return None };
    if !matches!(name.as_str(), "tsc" | "tsc-early") {
        return None;
    }
    let given_up = entries[..chosen].iter().rposition(|entry| gives_up(&entry.event))?;
    let written =
        entries[given_up..chosen].iter().any(|entry| matches!(entry.event, Event::WroteCurrent(_)));
    let again = entries[chosen..].iter().any(|entry| gives_up(&entry.event));
    let apart = match entries[given_up].at.zip(entries[chosen].at) {
        Some((then, now)) => now < then,
        // Without stamps, what is chosen only in the first seconds of a boot.
        None => {
            name == "tsc-early" || {
                let between = &entries[given_up..chosen];
                between.iter().any(
                    |entry| matches!(&entry.event, Event::Switched(name) if name == "tsc-early"),
                )
            }
        }
    };
    (apart && !written && !again).then_some((given_up, chosen))
}

/// Whether a message takes the TSC away until the next boot.
fn gives_up(event: &Event) -> bool {
    match event {
        Event::TscUnstable(_) => true,
        Event::WatchdogMarked { name, .. } | Event::WatchdogOld { name, .. } => {
            name.starts_with("tsc")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn scan(text: &str) -> KernelLog {
        KernelLog::scan(text.as_bytes(), "log").unwrap()
    }

    fn switches(log: &KernelLog) -> Vec<&str> {
        let names = log.entries.iter().filter_map(|entry| match &entry.event {
            Event::Switched(name) => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    const GIVEN_UP: &str = "[    3.700000] tsc: Marking TSC unstable due to clocksource watchdog\n\
                            [    3.710000] clocksource: Switched to clocksource hpet\n";

    #[test]
    fn boots_whose_stamps_go_back_have_no_order_without_dates() {
        let log = scan(&format!(
            "{GIVEN_UP}and\n[    1.810000] clocksource: Switched to clocksource tsc\n[   45.100000] x\n"
        ));
        assert!(log.mixed.is_some());
        for text in [
            format!("{GIVEN_UP}[  500.000000] clocksource: Switched to clocksource tsc\n"),
            format!("[    1.810000] clocksource: Switched to clocksource tsc\n{GIVEN_UP}"),
        ] {
            assert_eq!(scan(&text).mixed, None, "{text}");
        }
    }

    #[test]
    fn last_boot_of_dated_lines_is_the_present_one() {
        let text = "Nov 20 10:00:03 box kernel: clocksource: Switched to clocksource tsc\n\
                    Nov 20 18:30:11 box kernel: tsc: Marking TSC unstable due to clocksource watchdog\n\
                    Nov 20 18:30:11 box kernel: clocksource: Switched to clocksource hpet\n\
                    Nov 21 09:00:01 box kernel: clocksource: Switched to clocksource tsc-early\n\
                    Nov 21 09:00:03 box kernel: clocksource: Switched to clocksource tsc\n";
        let log = scan(text);
        assert_eq!((log.boots, log.mixed.as_deref()), (2, None));
        assert_eq!(switches(&log), ["tsc-early", "tsc"]);
        assert!(!log.any(gives_up));
        // The same with stamps.
        let stamped = text.replace("09:00:01 box kernel: ", "09:00:01 box kernel: [    0.700000] ");
        let stamped =
            stamped.replace("09:00:03 box kernel: ", "09:00:03 box kernel: [    1.700000] ");
        let stamped =
            stamped.replace("18:30:11 box kernel: ", "18:30:11 box kernel: [ 9000.100000] ");
        let log = scan(&stamped);
        assert_eq!((switches(&log), log.boots), (vec!["tsc-early", "tsc"], 2));
    }
}

//! Separates boots without a banner between them by events that one boot cannot have: choosing the TSC again after it
//! was demoted, demoting it twice, or booting again days later.

use super::event::Event;
use super::{Entry, KernelLog, again, once, wall};

/// Keeps the entries of the last boot, if dates show which one that is. Time stamps that go back after a demotion are
/// of another boot, or of another machine, and do not show which one is later.
pub(super) fn part_boots(log: &mut KernelLog, prompted: bool) {
    if log.newest_first {
        return;
    }
    again::part(log, prompted);
    if let Some(why) = of_one_moment(log).or_else(|| once::marked_twice(log)) {
        log.mixed = log.mixed.take().or(Some(why));
    }
    leave_quoted(log);
    part_by_dates(log);
    part_by_marks(log);
    let Some((given_up, chosen)) = impossible(&log.entries) else { return };
    let (given_up, chosen) = (&log.entries[given_up], &log.entries[chosen]);
    let dated = wall::seconds(&given_up.text).zip(wall::seconds(&chosen.text));
    let later = dated.is_some_and(|(then, now)| now > then);
    if !later && given_up.at.is_some() && chosen.at.is_some() {
        let how = match chosen.at < given_up.at {
            true => "has an earlier stamp and chooses",
            false => "chooses",
        };
        let why = format!(
            "the kernel demoted the TSC ({}), and what follows {how} the TSC ({}): these are two boots or \
             two machines, and nothing shows which of them is the present one",
            log.source(given_up),
            log.source(chosen)
        );
        log.mixed = log.mixed.take().or(Some(why));
        return;
    }
    let back = |entry: &&Entry| match entry.at.zip(given_up.at) {
        Some((at, then)) => at < then,
        None => matches!(&entry.event, Event::Switched(name) if name.starts_with("tsc")),
    };
    let begin = log.entries.iter().filter(|entry| entry.line > given_up.line).find(back);
    let begin = begin.map_or(chosen.line, |entry| entry.line);
    keep_from(log, begin);
}

/// The reason why choices are of several machines, or examples, if two different ones have the same time stamp. Clocks
/// that tick in milliseconds are left out: with them a boot may have both. A counter that registers replaces jiffies at
/// once, and the log's own clock may stand still meanwhile.
fn of_one_moment(log: &KernelLog) -> Option<String> {
    let mut former: Option<(&Entry, f64, &str)> = None;
    for entry in &log.entries {
        let Event::Switched(name) = &entry.event else { continue };
        let at = entry.at.filter(|at| (at * 1e6).round() % 1000.0 != 0.0);
        if let Some((first, then, one)) = former
            && at.is_some_and(|at| (at - then).abs() < 1e-7)
            && one != name
            && !(one == "jiffies" && entry.line == first.line + 1)
        {
            return Some(format!(
                "the choices of {one} ({}) and of {name} ({}) have the same time stamp: these are examples, or lines of \
                 several machines",
                log.source(first),
                log.source(entry)
            ));
        }
        former = at.map(|at| (entry, at, name.as_str()));
    }
    None
}

/// Seconds between two lines with dates beyond which boot messages are of another boot.
const APART_S: f64 = 86_400.0;
/// Months without a year: the step from December to January goes back.
const NEW_YEAR_S: f64 = 300.0 * 86_400.0;
/// Seconds within which the lines of one boot, or of one demotion, follow each other.
const TOGETHER_S: f64 = 60.0;

/// Removes the entries with dates before the first line of a boot, if days lie between one of them and that line, and
/// none is of a later day: a mail that sends the log of a boot shows and quotes older lines above it.
fn leave_quoted(log: &mut KernelLog) {
    if log.is_diff || !log.turned.is_empty() {
        return;
    }
    let banner = log.entries.iter().rposition(|entry| matches!(entry.event, Event::Banner(_)));
    let Some(banner) = banner else { return };
    let Some(begun) = wall::seconds(&log.entries[banner].text) else { return };
    let dated = || log.entries[..banner].iter().filter_map(|entry| wall::seconds(&entry.text));
    if dated().any(|then| then < begun - APART_S) && dated().all(|then| then < begun + APART_S) {
        let line = log.entries[banner].line;
        log.entries.retain(|entry| entry.line >= line || wall::seconds(&entry.text).is_none());
    }
}

/// Keeps the entries of the last boot, if days lie between lines that have dates and no stamps.
fn part_by_dates(log: &mut KernelLog) {
    if log.is_diff || !log.turned.is_empty() {
        return;
    }
    let date = |entry: &Entry| if entry.at.is_none() { wall::seconds(&entry.text) } else { None };
    let dated: Vec<(usize, f64)> = log
        .entries
        .iter()
        .enumerate()
        .filter_map(|(index, entry)| Some((index, date(entry)?)))
        .collect();
    let mut begin = None;
    for pair in dated.windows(2) {
        let ((before, then), (behind, now)) = (pair[0], pair[1]);
        let step = now - then;
        if (-NEW_YEAR_S..-APART_S).contains(&step) {
            let (before, behind) = (&log.entries[before], &log.entries[behind]);
            log.mixed = log.mixed.take().or_else(|| {
                Some(format!(
                    "the dates of this text go back from {} to {}: these are lines of several boots or machines, and not \
                     in the order of time",
                    log.source(before),
                    log.source(behind)
                ))
            });
            return;
        }
        if !(-NEW_YEAR_S..=APART_S).contains(&step) && boots_behind(&log.entries[behind..], now) {
            begin = Some(log.entries[behind].line);
        }
    }
    if let Some(begin) = begin {
        keep_from(log, begin);
    }
}

/// Whether lines of one time are of a boot: events that a kernel has only once, or a choice without an explaining line.
fn boots_behind(entries: &[Entry], now: f64) -> bool {
    let mut together = entries
        .iter()
        .take_while(|entry| wall::seconds(&entry.text).is_none_or(|date| date - now <= TOGETHER_S));
    together.find_map(|entry| match &entry.event {
        event if gives_up(event) || matches!(event, Event::WroteCurrent(_)) => Some(false),
        Event::Registered { .. }
        | Event::CommandLine(_)
        | Event::Hypervisor(_)
        | Event::PossibleCpus(_)
        | Event::AcpiTables
        | Event::PmTimer(_)
        | Event::HpetTable { .. }
        | Event::HpetCounter { .. }
        | Event::Detected { .. }
        | Event::Refined { .. } => Some(true),
        Event::Switched(name) if name == "tsc-early" || name.contains("jiffies") => Some(true),
        // `dmesg -T` shows only one boot, in which another one may have been chosen.
        Event::Switched(_) => Some(!entry.text.trim_start_matches(['>', ' ']).starts_with('[')),
        _ => None,
    }) == Some(true)
}

/// Keeps the entries from this line on. The processor in a transcript does not belong to a boot.
fn keep_from(log: &mut KernelLog, begin: u64) {
    log.entries.retain(|entry| {
        entry.line >= begin || matches!(entry.event, Event::ReadFlags(_) | Event::CpuModel { .. })
    });
    log.boots = log.boots.saturating_add(1);
    log.from_boot = false;
}

/// The watchdog demotes the TSC only once per boot (`clocksource_watchdog()` skips a marked clocksource): two demotions
/// with different figures are two boots or two machines.
fn part_by_marks(log: &mut KernelLog) {
    let marks: Vec<usize> =
        (0..log.entries.len()).filter(|at| is_mark(&log.entries[*at].event)).collect();
    let twice = marks.iter().enumerate().rev().find_map(|(number, second)| {
        let first = marks[..number].iter().rev().find(|first| {
            let (first, second) = (&log.entries[**first].event, &log.entries[*second].event);
            first.kind() == second.kind() && first != second
        })?;
        Some((*first, *second))
    });
    let Some((first, second)) = twice else { return };
    let date = |at: usize| wall::seconds(&log.entries[at].text);
    if date(first).zip(date(second)).is_some_and(|(then, now)| now > then) {
        // The lines of the later boot are apart from those of the demotion.
        let gap = (first + 1..second).find(|at| {
            date(*at).zip(date(at - 1)).is_some_and(|(now, then)| now - then > TOGETHER_S)
        });
        let begin = log.entries[gap.unwrap_or(second)].line;
        keep_from(log, begin);
        return;
    }
    // All of them then chose the same.
    let mut chosen = log.entries.iter().filter_map(|entry| match &entry.event {
        Event::Switched(name) => Some(name.as_str()),
        _ => None,
    });
    if let Some(name) = chosen.next()
        && !name.starts_with("tsc")
        && chosen.all(|other| other == name)
    {
        return;
    }
    log.mixed = log.mixed.take().or_else(|| {
        Some(format!(
            "the watchdog demotes the TSC twice in this text ({} and {}), which it does only once \
             in a boot: these are lines of several boots or machines",
            log.source(&log.entries[first]),
            log.source(&log.entries[second])
        ))
    });
}

/// Whether the watchdog demotes the TSC with a line that contains figures.
fn is_mark(event: &Event) -> bool {
    match event {
        Event::ReadbackDelay { marks: true, name, tested, .. } => {
            !tested || name.starts_with("tsc")
        }
        Event::WatchdogMarked { name, .. }
        | Event::WatchdogOld { name, .. }
        | Event::WatchdogVerdict { name, .. } => name == "tsc",
        _ => false,
    }
}

/// Seconds since boot within which no program has written to `current_clocksource` yet.
const BOOTED_S: f64 = 5.0;

/// Whether the command line asks for the TSC: older kernels registered it although it was marked, and obeyed.
fn asks_for_tsc(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| {
        matches!(&entry.event, Event::CommandLine(_)) && entry.text.contains("clocksource=tsc")
    })
}

/// Whether other choices or a calibration of the TSC are between its demotion and its choice, or the text has nothing else: the
/// message of a switch alone may be written by any user.
fn switches(entries: &[Entry], given_up: usize, chosen: usize) -> bool {
    let between = &entries[given_up + 1..chosen];
    between.is_empty()
        || between
            .iter()
            .any(|entry| matches!(entry.event, Event::Switched(_) | Event::Refined { .. }))
}

/// The last demotion of the TSC before the last choice, if that is the TSC, and both cannot be of one boot.
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
        // By itself a kernel does not choose a TSC that it has marked, and while it boots no program does.
        Some((then, now)) => {
            now < then
                || now < BOOTED_S && !asks_for_tsc(entries) && switches(entries, given_up, chosen)
        }
        // Without time stamps, a clocksource that is chosen only in the first seconds of a boot.
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

/// The name that the last choice of some entries has.
fn last_choice<'a>(
    mut entries: impl DoubleEndedIterator<Item = &'a Entry>,
) -> Option<(&'a Entry, &'a str)> {
    entries.rfind(|entry| matches!(entry.event, Event::Switched(_))).and_then(|entry| {
        let Event::Switched(name) = &entry.event else { return None };
        Some((entry, name.as_str()))
    })
}

/// The reason why choices are of several boots or machines, if the time stamps before this line are higher than its
/// own.
pub(super) fn switch_goes_back(log: &KernelLog, line: u64) -> Option<String> {
    let (first, one) = last_choice(log.entries.iter().filter(|entry| entry.line < line))?;
    let (second, two) = last_choice(log.entries.iter().filter(|entry| entry.line >= line))?;
    (one != two).then(|| {
        format!(
            "the stamps go back between the choice of {one} ({}) and that of {two} ({}): these are lines of several boots \
             or machines, or not in the order of time",
            log.source(first),
            log.source(second)
        )
    })
}

/// The reason why choices are of several boots or machines, if some have a header with a host and no time stamp, and
/// others a time stamp and no header: the text does not show which of them is later.
pub(super) fn forms(log: &KernelLog) -> Option<String> {
    let headed = |entry: &&Entry| {
        entry.at.is_none() && super::host_of(&entry.text).is_some_and(|host| host.of_kernel)
    };
    let stamped = |entry: &&Entry| entry.at.is_some() && super::host_of(&entry.text).is_none();
    let (first, one) = last_choice(log.entries.iter().filter(headed))?;
    let (second, two) = last_choice(log.entries.iter().filter(stamped))?;
    (one != two).then(|| {
        format!(
            "the choice of {one} ({}) has a host and no stamp before it, and that of {two} ({}) has \
             a stamp and no host: these may be lines of several machines, and nothing shows which \
             one is the later one",
            log.source(first),
            log.source(second)
        )
    })
}

/// Whether a message makes the TSC unavailable until the next boot.
pub(super) fn gives_up(event: &Event) -> bool {
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
    fn choices_of_one_moment_are_of_no_single_machine() {
        let text = |stamp: &str, name: &str| {
            format!(
                "[    1.730021] clocksource: Switched to clocksource hpet\nA healthy machine prints\n\
                 [    {stamp}] clocksource: Switched to clocksource {name}\n"
            )
        };
        assert!(scan(&text("1.730021", "tsc")).mixed.is_some());
        assert_eq!(scan(&text("1.730021", "hpet")).mixed, None);
        assert_eq!(scan(&text("2.730021", "tsc")).mixed, None);
        // A board's counter replaces jiffies in the moment in which it registers.
        let board = "[    8.191129] Switching to clocksource jiffies\n\
                     [    8.191129] Switching to clocksource board-timer\n";
        assert_eq!(scan(board).mixed, None);
        let apart = board.replace("jiffies\n", "jiffies\n[    8.191130] usb 1-1: x\n");
        assert!(scan(&apart).mixed.is_some());
    }

    #[test]
    fn switch_whose_stamp_goes_back_is_of_no_known_boot() {
        let text = |between: &str, name: &str| {
            format!(
                "[    0.300000] clocksource: Switched to clocksource hpet\n[  900.000000] usb 1-2: USB disconnect\n{between}\
                 [    1.378178] clocksource: Switched to clocksource {name}\n[ 1900.000000] usb 1-2: USB disconnect\n"
            )
        };
        for between in ["", "\nweb2:\n"] {
            assert!(scan(&text(between, "tsc")).mixed.is_some(), "{between}");
            assert_eq!(scan(&text(between, "hpet")).mixed, None);
        }
        // Commands print parts of one boot.
        assert_eq!(scan(&text("$ dmesg | grep tsc\n", "tsc")).mixed, None);
        let in_order = text("", "tsc").replace("900.000000", "  0.900000");
        assert_eq!(scan(&in_order).mixed, None);
    }

    #[test]
    fn lines_with_a_host_and_lines_with_a_stamp_have_no_order() {
        let headed = |name: &str| {
            format!("Nov  3 10:00:01 web1 kernel: clocksource: Switched to clocksource {name}\n")
        };
        let stamped = "[    1.378178] clocksource: Switched to clocksource tsc\n[  900.000000] usb 1-2: USB disconnect\n";
        for text in [
            format!("{}and the other:\n{stamped}", headed("hpet")),
            format!("{stamped}{}", headed("hpet")),
        ] {
            assert!(scan(&text).mixed.is_some(), "{text}");
        }
        assert_eq!(scan(&format!("{stamped}{}", headed("tsc"))).mixed, None);
        let goes_on = headed("hpet").replace("kernel: ", "kernel: [ 1900.000000] ");
        assert_eq!(scan(&format!("{stamped}{goes_on}")).mixed, None);
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

    #[test]
    fn older_lines_above_the_log_of_a_boot_are_left_out() {
        let name = |day: &str, time: &str| {
            format!(
                "[Mon {day} {time} 2021] CPU: 2 PID: 143 Comm: kworker/2:2 Tainted: G 5.15.0-rc6-1-amd64 #1\n"
            )
        };
        let boot = "[Mon Nov  1 09:20:37 2021] Linux version 5.15.0 (a@b) #1 SMP\n\
                    [Mon Nov  1 09:20:38 2021] clocksource: Switched to clocksource tsc\n";
        let (new, old) = (name("Nov  1", "09:24:01"), name("Oct 18", "12:35:47"));
        for text in
            [format!("{new}{old}{boot}"), format!("{old}{boot}"), format!("{new}> {old}{boot}")]
        {
            let log = scan(&text);
            assert_eq!((log.mixed.as_deref(), log.from_boot), (None, true), "{text}");
            assert_eq!(switches(&log), ["tsc"]);
        }
        // A later line than the boot: it may be of another one.
        let later = name("Nov 20", "09:24:01");
        assert!(scan(&format!("{later}{old}{boot}")).mixed.is_some());
    }

    #[test]
    fn boot_days_later_is_another_one() {
        let first = "Mar  2 05:00:01 pc kernel: clocksource: Switched to clocksource tsc-early\n\
                     Mar  2 05:00:02 pc kernel: clocksource: Switched to clocksource tsc\n";
        let later = "Mar  9 11:00:02 pc kernel: clocksource: Switched to clocksource hpet\n";
        let log = scan(&format!("{first}{later}"));
        assert_eq!((switches(&log), log.boots), (vec!["hpet"], 2));
        // The kernel explains the reason, or the choice is of the same day.
        let why =
            "Mar  9 11:00:01 pc kernel: tsc: Marking TSC unstable due to clocksource watchdog\n";
        let same = later.replace("Mar  9", "Mar  2");
        for text in [format!("{first}{why}{later}"), format!("{first}{same}")] {
            assert_eq!(switches(&scan(&text)), ["tsc-early", "tsc", "hpet"], "{text}");
        }
        let new_year =
            format!("{}{later}", first.replace("Mar  2", "Dec 30")).replace("Mar  9", "Jan  2");
        assert_eq!((switches(&scan(&new_year)), scan(&new_year).mixed), (vec!["hpet"], None));
        assert!(scan(&format!("{later}{first}")).mixed.is_some());
        // One boot by `dmesg -T`, and two in one text.
        let dated =
            |line: &str, day| format!("[Sat Mar  {day} 05:00:01 2024] clocksource: {line}\n");
        let boot = format!(
            "{}{}",
            dated("Switched to clocksource tsc-early", 2),
            dated("Switched to clocksource tsc", 2)
        );
        let switch = dated("Switched to clocksource hpet", 9);
        assert_eq!(switches(&scan(&format!("{boot}{switch}"))), ["tsc-early", "tsc", "hpet"]);
        let registers =
            dated("hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns", 9);
        assert_eq!(switches(&scan(&format!("{boot}{registers}{switch}"))), ["hpet"]);
    }

    #[test]
    fn watchdog_that_gives_the_tsc_up_twice_is_of_several_boots() {
        let mark = |at: &str, cpu: u32, ns: u32| {
            format!(
                "{at}clocksource: timekeeping watchdog on CPU{cpu}: hpet wd-tsc-wd excessive read-back delay of {ns}ns \
                 vs. limit of 125000ns, wd-wd read-back delay only 27000ns, attempt 3, marking tsc unstable\n"
            )
        };
        for [one, two] in [["", ""], ["[  112.300000] ", "[   19.300000] "]] {
            let log = scan(&format!("{}and:\n{}", mark(one, 3, 164_000), mark(two, 7, 260_000)));
            assert!(log.mixed.is_some(), "{one}");
            // A console writes it twice; a read-back by itself demotes nothing.
            let log = scan(&format!("{}{}", mark(one, 3, 164_000), mark(one, 3, 164_000)));
            assert_eq!(log.mixed, None, "{one}");
        }
        let log = scan(
            "clocksource: timekeeping watchdog on CPU3: wd-tsc-wd read-back delay of 110000ns\n\
             clocksource: timekeeping watchdog on CPU9: wd-tsc-wd read-back delay of 96000ns\n",
        );
        assert_eq!(log.mixed, None);
        let hpet = "clocksource: Switched to clocksource hpet\n";
        let log = scan(&format!("{}{hpet}and:\n{}", mark("", 3, 164_000), mark("", 7, 260_000)));
        assert_eq!(log.mixed, None);
        let day = |n: u32| format!("2024-03-0{n}T10:00:00+00:00 pc kernel: ");
        let switch = "clocksource: Switched to clocksource acpi_pm\n";
        let log =
            scan(&format!("{}{}{switch}{}", mark(&day(1), 1, 9), day(1), mark(&day(3), 2, 8)));
        assert_eq!((log.mixed.as_deref(), switches(&log)), (None, vec![]));
    }
}

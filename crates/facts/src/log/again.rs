//! Separates boots without a banner between them by events that happen once, in the first seconds of a boot: a
//! clocksource registers (`__clocksource_register_scale()`), and the kernel switches to it, but not from it to itself
//! (`clocksource_select()`). A line that was printed twice has the same time stamp, or the same date.

use super::event::Event;
use super::{Entry, KernelLog, wall};
use crate::names;

/// Seconds by which the time stamps of one line differ if a tool truncated digits.
const SAME_S: f64 = 0.001;
/// Seconds after the start of a kernel by which it has made its first choice.
const FIRST_CHOICE_BY: f64 = 60.0;
/// Seconds between two dates that exceed the gap between lines of a boot's first seconds.
const APART_S: f64 = 120.0;
/// Maximum seconds by which dates advance more than the time stamps of one boot: for a logger that starts late.
const OUTRUN_S: f64 = 60.0;
/// Seconds before a switch in which lines explain it.
const TOLD_BEFORE_S: f64 = 60.0;

/// Keeps the entries of the last boot. `prompted`: commands print the lines, so that some may be repeated, in another
/// order.
pub(super) fn part(log: &mut KernelLog, prompted: bool) {
    if log.is_diff || !log.turned.is_empty() {
        return;
    }
    let mut begin = 0;
    let mut boots = 0;
    for at in 1..log.entries.len() {
        if begins(&log.entries[begin..at], &log.entries[at], prompted) {
            begin = begin_of(&log.entries, begin, at);
            boots += 1;
        }
    }
    if boots > 0 {
        let line = log.entries[begin].line;
        log.entries.retain(|entry| {
            entry.line >= line
                || matches!(entry.event, Event::ReadFlags(_) | Event::CpuModel { .. })
        });
        log.boots = log.boots.saturating_add(boots);
        log.from_boot = false;
    }
}

/// The date before a line without a time stamp. `dmesg -T` computes another date each time.
fn date(entry: &Entry) -> Option<f64> {
    let computed = entry.text.trim_start_matches(['>', ' ', '|']).starts_with('[');
    if entry.at.is_some() || computed { None } else { wall::seconds(&entry.text) }
}

/// Seconds from one entry to another, by their time stamps or else by their dates.
fn between(first: &Entry, second: &Entry) -> Option<f64> {
    match first.at.zip(second.at) {
        Some((then, now)) => Some(now - then),
        None => Some(date(second)? - date(first)?),
    }
}

/// Whether this entry is from a different boot than the entries before it.
fn begins(boot: &[Entry], entry: &Entry, prompted: bool) -> bool {
    is_of_a_boot(&entry.event) && (outruns(boot, entry) || is_late(boot, entry))
        || match &entry.event {
            Event::Registered { name, .. } => {
                outruns(boot, entry) || registers_again(boot, entry, name, prompted)
            }
            Event::Switched(name) => outruns(boot, entry) || switches_again(boot, entry, name),
            _ => false,
        }
}

/// Whether a kernel prints an event only in its first seconds. The TSC and modules may register later.
fn is_of_a_boot(event: &Event) -> bool {
    match event {
        Event::Registered { name, .. } => {
            matches!(
                name.as_str(),
                "refined-jiffies" | "jiffies" | "hpet" | "tsc-early" | "acpi_pm"
            )
        }
        Event::Switched(name) => name == "tsc-early" || name.contains("jiffies"),
        Event::CommandLine(_)
        | Event::PossibleCpus(_)
        | Event::AcpiTables
        | Event::PmTimer(_)
        | Event::HpetTable { .. }
        | Event::HpetCounter { .. }
        | Event::Detected { .. } => true,
        _ => false,
    }
}

/// Whether dates advance by more than the time stamps next to them, in the first minute: a boot is not suspended so
/// early.
fn outruns(boot: &[Entry], entry: &Entry) -> bool {
    let both = |entry: &Entry| Some((entry.at?, wall::seconds(&entry.text)?));
    let Some((at, now)) = both(entry).filter(|(at, _)| *at < FIRST_CHOICE_BY) else { return false };
    boot.iter()
        .rev()
        .find_map(both)
        .is_some_and(|(before, then)| at >= before && now - then > at - before + OUTRUN_S)
}

/// Whether the line is one of a boot's first seconds, and others of this boot are much earlier.
fn is_late(boot: &[Entry], entry: &Entry) -> bool {
    let Some(now) = date(entry) else { return false };
    let last = boot.iter().rev().filter(|before| before.event.is_printed()).find_map(date);
    last.is_some_and(|then| (APART_S..).contains(&(now - then)))
}

fn registers_again(boot: &[Entry], entry: &Entry, name: &str, prompted: bool) -> bool {
    let registers = |other: &&Entry| matches!(&other.event, Event::Registered { name: other, .. } if other == name);
    if !names::is_known(name) {
        return false;
    }
    if let Some(first) = boot.iter().rev().find(registers) {
        return match between(first, entry) {
            // Other code handles lines in another order.
            Some(passed) if first.at.is_some() => passed > SAME_S,
            Some(passed) => passed > APART_S,
            None => false,
        };
    }
    // It registers first of all (`register_refined_jiffies()` in `setup_arch()`).
    let bare = entry.at.is_none() && wall::seconds(&entry.text).is_none();
    name == "refined-jiffies"
        && bare
        && !prompted
        && boot.iter().any(|before| matches!(before.event, Event::Switched(_)))
}

fn switches_again(boot: &[Entry], entry: &Entry, name: &str) -> bool {
    let Some(place) = boot.iter().rposition(|before| matches!(before.event, Event::Switched(_)))
    else {
        return false;
    };
    if !matches!(&boot[place].event, Event::Switched(other) if other == name) {
        return false;
    }
    // Kernels for Arm up to 4.19 print it twice for their counter.
    if !matches!(name, "tsc" | "tsc-early" | "hpet" | "acpi_pm" | "kvm-clock" | "xen") {
        return false;
    }
    // The switch in between was removed, and the line that explains this one was not.
    let told = boot[place + 1..].iter().any(|before| {
        let near = between(before, entry).is_none_or(|passed| passed <= TOLD_BEFORE_S);
        near && (matches!(before.event, Event::WroteCurrent(_))
            || super::order::gives_up(&before.event))
    });
    !told
        && match between(&boot[place], entry) {
            Some(passed) if entry.at.is_some_and(|at| at < FIRST_CHOICE_BY) => passed > SAME_S,
            Some(passed) if entry.at.is_none() => passed > APART_S,
            _ => false,
        }
}

/// The beginning of the boot of an entry: the first of the earlier entries of the same minute.
fn begin_of(entries: &[Entry], boot: usize, at: usize) -> usize {
    let Some(now) = wall::seconds(&entries[at].text) else { return at };
    let same = |entry: &Entry| {
        wall::seconds(&entry.text).is_some_and(|then| (0.0..=OUTRUN_S).contains(&(now - then)))
            && entry.at.zip(entries[at].at).is_none_or(|(then, now)| then <= now)
    };
    (boot + 1..at).rev().take_while(|place| same(&entries[*place])).last().unwrap_or(at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::{Event, KernelLog};

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

    const JIFFIES: &str = "clocksource: refined-jiffies: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 7645519600211568 ns";
    const HPET: &str =
        "clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635855245 ns";
    const TSC: &str = "clocksource: Switched to clocksource tsc";

    #[test]
    fn registration_that_comes_again_begins_a_boot() {
        let dated = |time: &str, message: &str| format!("Jan {time} pc kernel: {message}\n");
        let first = format!("{}{}", dated("05 17:29:44", HPET), dated("05 17:29:44", TSC));
        // A few minutes, and hours, later.
        for time in ["05 17:34:10", "06 07:37:15"] {
            let log = scan(&format!("{first}{}", dated(time, HPET)));
            assert_eq!((log.boots, switches(&log)), (2, vec![]), "{time}");
            let log = scan(&format!("{first}{}{}", dated(time, HPET), dated(time, TSC)));
            assert_eq!((log.boots, switches(&log)), (2, vec!["tsc"]), "{time}");
        }
        // Printed twice.
        let log = scan(&format!("{first}{first}"));
        assert_eq!((log.boots, switches(&log).len()), (1, 2));
        let stamped = |at: &str, message: &str| format!("[    {at}] {message}\n");
        let first = format!("{}{}", stamped("0.100000", HPET), stamped("1.910000", TSC));
        let log = scan(&format!("{first}{}", stamped("2.100000", HPET)));
        assert_eq!((log.boots, switches(&log)), (2, vec![]));
        let log = scan(&format!("{first}{}", stamped("0.100000", HPET)));
        assert_eq!(log.boots, 1);
    }

    #[test]
    fn first_lines_of_a_boot_behind_a_choice_begin_another_one() {
        let dated = |time: &str, message: &str| format!("Jan {time} pc kernel: {message}\n");
        for message in [JIFFIES, HPET, "tsc: Detected 3600.000 MHz processor"] {
            let text = format!("{}{}", dated("05 17:29:44", TSC), dated("05 19:02:01", message));
            let log = scan(&text);
            assert_eq!((log.boots, switches(&log)), (2, vec![]), "{message}");
            let text = format!("{}{}", dated("05 17:29:44", TSC), dated("05 17:29:45", message));
            assert_eq!(scan(&text).boots, 1, "{message}");
        }
        assert_eq!(scan(&format!("{TSC}\n{JIFFIES}\n{HPET}\n")).boots, 2);
        assert_eq!(scan(&format!("{TSC}\n{HPET}\n")).boots, 1);
        let printed = format!("$ dmesg | grep tsc\n{TSC}\n$ dmesg | grep jiffies\n{JIFFIES}\n");
        assert_eq!(scan(&printed).boots, 1);
    }

    #[test]
    fn same_switch_again_begins_a_boot_unless_a_line_tells_why_it_comes() {
        let hpet = "clocksource: Switched to clocksource hpet";
        let dated = |time: &str, message: &str| format!("Jan 05 {time} pc kernel: {message}\n");
        let two = |between: &str| {
            format!("{}{between}{}", dated("17:00:00", hpet), dated("18:00:00", hpet))
        };
        assert_eq!(scan(&two("")).boots, 2);
        let lost = dated("17:59:59", "tsc: Marking TSC unstable due to clocksource watchdog");
        assert_eq!(scan(&two(&lost)).boots, 1);
        let stamped = |at: &str| format!("[    0.300000] {hpet}\n[{at}] {hpet}\n");
        assert_eq!(scan(&stamped("    0.670000")).boots, 2);
        assert_eq!(scan(&stamped("    0.300000")).boots, 1);
        let arm = stamped("    0.670000").replace("hpet", "arch_sys_counter");
        assert_eq!(scan(&arm).boots, 1);
        // A search for a word has omitted the lines in between.
        assert_eq!(scan(&stamped(" 5000.300000")).boots, 1);
    }

    #[test]
    fn dates_that_outrun_stamps_begin_a_boot() {
        let line = |date: &str, at: &str, name: &str| {
            format!("Jan 13 {date} pc kernel: [    {at}] Switching to clocksource {name}\n")
        };
        let jiffies =
            |date: &str, at: &str| format!("Jan 13 {date} pc kernel: [    {at}] {HPET}\n");
        let first = line("01:10:37", "0.387569", "tsc");
        let log = scan(&format!(
            "{first}{}{}",
            jiffies("10:19:37", "0.500000"),
            line("10:19:37", "0.670801", "hpet")
        ));
        assert_eq!((log.boots, switches(&log)), (2, vec!["hpet"]));
        let log = scan(&format!(
            "{first}{}{}",
            jiffies("01:10:38", "0.500000"),
            line("01:10:38", "0.670801", "hpet")
        ));
        assert_eq!((log.boots, switches(&log)), (1, vec!["tsc", "hpet"]));
    }
}

//! Truncated messages: the first line of an excerpt, a line that a console interrupted, the end
//! of a truncated text. The remaining part must not be read as more than the kernel printed.

use super::columns::Columns;
use super::event::{Event, UnstableReason};
use super::parse::PREFIXES;
use super::rates::{hertz, recovered_hz};
use super::{Entry, KernelLog, bounds};
use crate::names;
use crate::version::Kernel;

/// The message of an excerpt's first line, which may begin inside a time stamp or inside the kernel's prefix: the
/// message follows the rest of it (`rce: Clocksource 'tsc' skewed ...`, `3456] clocksource: ...`).
pub(super) fn without_cut_prefix(line: &str) -> Option<&str> {
    if let Some((stamp, rest)) = line.split_once(']')
        && (1..=14).contains(&stamp.len())
        && stamp.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Some(rest.trim_start());
    }
    let end = line.find(':').filter(|end| (1..24).contains(end))?;
    let (left, rest) = (&line[..=end], &line[end + 1..]);
    let is_part = |prefix: &&str| prefix.len() > left.len() && prefix.ends_with(left);
    let whole = PREFIXES.contains(&left);
    (!whole && rest.starts_with([' ', '\t']) && PREFIXES.iter().any(is_part))
        .then(|| rest.trim_start())
}

/// Whether only empty lines and headers precede a line.
pub(super) fn is_first(before: &[u8]) -> bool {
    before.len() < 4096
        && before.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).all(|line| {
            line.is_empty() || [&b"#"[..], b"```", b"---"].iter().any(|sign| line.starts_with(sign))
        })
}

/// Whether a message at the very end of a text, without a line end, may lack a part that
/// would change its meaning.
pub(super) fn may_be_cut(event: &Event) -> bool {
    match event {
        // `Linux version 5.1` may be the beginning of 5.15.
        Event::Banner(text) => !text.trim_start().contains(char::is_whitespace),
        Event::Packages(_) => true,
        _ => false,
    }
}

/// Whether the last figure of `Long readout interval, ... cs_nsec: N wd_nsec: M`, at the end of the text,
/// may lack digits: its digits agree with the other figure.
pub(super) fn may_lack_digits(whole: i64, part: i64) -> bool {
    let (whole, part) = (whole.unsigned_abs().to_string(), part.unsigned_abs().to_string());
    let Some(missing) = whole.len().checked_sub(part.len()).filter(|missing| *missing > 0) else {
        return false;
    };
    let (Ok(whole), Ok(part)) = (whole.parse::<f64>(), part.parse::<f64>()) else { return false };
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap
    )]
    let scale = 10f64.powi(missing as i32);
    // The range that missing digits can add, and the thousandth by which clocks that agree may differ.
    let (least, most) = (part * scale, (part + 1.0) * scale);
    (least * 0.999..most * 1.001).contains(&whole)
}

/// Whether a name is the beginning of a longer one.
fn is_part(name: &str, of: &str) -> bool {
    of.len() > name.len() && of.starts_with(name)
}

/// Whether no kernel is known to have a clocksource of this name, and the log does not list it.
fn is_new(name: &str, listed: &[String]) -> bool {
    !names::is_known(name) && !listed.iter().any(|known| known == name)
}

/// Removes switches with a truncated name: the line is visibly truncated, and the rest of the name is the beginning of
/// a name that a kernel has, or that this log registers. A complete known name is that clocksource: `tsc` is not a
/// truncated `tsc-early`, even if the text lacks the line that registers it. Only a name that the log's kernel no
/// longer has is the beginning of a longer one: `hyperv_clocksource` since 4.11. So is a name that ends at the text's
/// truncation column.
pub(super) fn take_out_cut_names(log: &mut KernelLog, columns: Columns) {
    let registered: Vec<String> = log
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Registered { name, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    let may_be_part = |name: &str| {
        is_new(name, &registered)
            && (registered.iter().any(|known| is_part(name, known)) || names::begins_another(name))
    };
    let limit = column_limit(&log.entries);
    // A name that this kernel no longer has is the beginning of a longer one.
    let kernel = log.entries.iter().rev().find_map(|entry| match &entry.event {
        Event::Banner(text) => Kernel::parse(text),
        _ => None,
    });
    let gone = |name: &str| {
        kernel.as_ref().is_some_and(|kernel| bounds::is_gone(&kernel.version, name))
            && names::begins_another(name)
    };
    let last = log.lines;
    let unfinished = log.extent.is_unfinished;
    // No kernel has two clocksources whose names begin like this and registers only the longer one.
    let is_begun = |name: &str| {
        is_new(name, &registered) && registered.iter().any(|known| is_part(name, known))
    };
    let is_cut = |entry: &Entry| {
        entry.line >= last
            || entry.text.ends_with(['\u{2026}', '>', '$'])
            || entry.text.ends_with("..")
            || limit == Some(entry.text.chars().count())
            || columns.wrapped == Some(entry.text.chars().count())
    };
    // No kernel has a clocksource of this name, and boards use other names.
    let is_begin = |name: &str| {
        is_new(name, &registered) && !names::may_be_of_a_board(name) && names::begins_another(name)
    };
    // At the truncation column, a name that no other line contains may continue.
    let at_an_end = |entry: &Entry, name: &str| {
        let width = Some(entry.text.chars().count());
        is_new(name, &registered) && [columns.cut, columns.wrapped, columns.ends].contains(&width)
    };
    // A kernel that has both clocksources registers both.
    let is_of_the_page = |name: &str| {
        name == "hyperv_clocksource"
            && registered.iter().any(|known| is_part(name, known))
            && !registered.iter().any(|known| known == name)
    };
    let at_the_limit = |entry: &Entry, name: &str| {
        let width = Some(entry.text.chars().count());
        (columns.cut == width || columns.ends == width && name != "tsc")
            && (registered.iter().any(|known| is_part(name, known)) || names::begins_another(name))
    };
    let cut = |entry: &Entry| {
        matches!(&entry.event, Event::Switched(name)
            if may_be_part(name) && is_cut(entry)
                || is_begun(name)
                || is_begin(name)
                || at_the_limit(entry, name)
                || at_an_end(entry, name)
                || is_of_the_page(name)
                || unfinished && entry.line >= last && is_new(name, &registered)
                || gone(name))
    };
    let (cut, kept): (Vec<Entry>, _) = std::mem::take(&mut log.entries).into_iter().partition(cut);
    log.entries = kept;
    log.change_cut = log.change_cut.max(cut.last().map(|entry| entry.line));
    take_out_cut_readings(log, &registered);
}

/// Removes figures of the TSC's registration that are far from the rates in other lines: digits are missing.
pub(super) fn take_out_cut_rates(log: &mut KernelLog) {
    /// The factor of a difference: a missing digit changes a hexadecimal figure by more.
    const FAR: f64 = 10.0;
    let stated: Vec<f64> = log
        .entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Refined { khz } | Event::Detected { khz, .. } | Event::VmwareTscKhz(khz) => {
                Some(hertz(*khz) * 1e3).filter(|hz| *hz > 0.0)
            }
            _ => None,
        })
        .collect();
    for entry in &mut log.entries {
        if let Event::Registered { name, max_cycles, max_idle_ns, .. } = &mut entry.event
            && name.starts_with("tsc")
            && let Some(hz) = recovered_hz(*max_cycles, *max_idle_ns)
            && !stated.is_empty()
            && stated.iter().all(|known| !(known / FAR..known * FAR).contains(&hz))
        {
            (*max_cycles, *max_idle_ns) = (0, 0);
        }
    }
}

/// Completes the reason of a demotion that the watchdog announced, if the line is truncated inside it: `due to clocks`.
/// Without the announcement so few letters may belong to another reason.
pub(super) fn complete_cut_reasons(log: &mut KernelLog) {
    let announced = |event: &Event| matches!(event, Event::WatchdogMarked { name, .. } if name.starts_with("tsc"));
    let Some(first) = log.all(announced).map(|entry| entry.line).next() else { return };
    for entry in log.entries.iter_mut().filter(|entry| entry.line > first) {
        if let Event::TscUnstable(reason) = &mut entry.event
            && reason.may_be_cut_watchdog()
        {
            *reason = UnstableReason::Watchdog;
        }
    }
}

/// The same for a reading of `current_clocksource`. Its presence is kept: it shows that the list is not sufficient.
fn take_out_cut_readings(log: &mut KernelLog, registered: &[String]) {
    let mut whole = registered.to_vec();
    for entry in &log.entries {
        if let Event::ReadAvailable(list) = &entry.event {
            whole.extend_from_slice(list);
        }
    }
    let (last, unfinished) = (log.lines, log.extent.is_unfinished);
    let cut = |entry: &Entry| {
        let Event::ReadCurrent(name) = &entry.event else { return false };
        is_new(name, &whole)
            && (unfinished && entry.line + 1 >= last
                || whole.iter().any(|known| is_part(name, known))
                || !names::may_be_of_a_board(name) && names::begins_another(name))
    };
    log.reading_cut = log.entries.iter().any(cut);
    log.entries.retain(|entry| !cut(entry));
}

/// Messages about a change of the clocksource, up to their figures and names.
const OF_A_CHANGE: [&str; 10] = [
    "clocksource: Switched to clocksource ",
    "clocksource: timekeeping watchdog on CPU",
    "clocksource: timekeeping watchdog: ",
    "clocksource: Override clocksource ",
    "Switched to clocksource ",
    "Switching to clocksource ",
    "timekeeping watchdog on CPU",
    "Clocksource tsc unstable",
    "tsc: Marking TSC unstable due to ",
    "TSC found unstable after boot",
];

/// Whether the last message of a text is the beginning of a message about another clocksource, and ends before its
/// name.
pub(super) fn ends_inside(message: &str) -> bool {
    let message = message.trim();
    let is_begin = |whole: &str| {
        whole.trim_end().starts_with(message)
            || whole.contains("watchdog on CPU")
                && message.starts_with(whole)
                && !["unstable", "retried", "read-back", "skewed"]
                    .iter()
                    .any(|word| message.contains(word))
    };
    !message.is_empty() && OF_A_CHANGE.iter().any(|whole| is_begin(whole))
}

/// The shortest beginning of a message about another clocksource: a shorter one may be the beginning of any message.
const LEAST_OF_A_CHANGE: usize = "Clocksource ts".len();

/// Most words of a name.
const WORDS: usize = 3;

/// Whether a message that is not a complete event is about another clocksource, and is truncated before the name: a
/// terminal, or `cut`, removed the ends of the lines.
pub(super) fn ends_inside_change(message: &str) -> bool {
    let message = message.trim_end_matches(['>', '$', '\u{2026}', '.']).trim();
    let figures = message.strip_prefix("clocksource:").map(str::trim_start).unwrap_or_default();
    // The lines that the kernel prints after the line of a demotion: without the figures, they still show a demotion.
    let below = || {
        let name = figures.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
        name.is_some_and(|(_, rest)| rest.is_empty() || rest.starts_with([' ']))
    };
    // A name whose last character cannot end a name: `acpi_`.
    let named = [
        "clocksource: Switched to clocksource ",
        "Switched to clocksource ",
        "Switching to clocksource ",
    ];
    // Makers' kernels have names of several words: `aw 64bits couter`.
    let is_word =
        |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b));
    let part_of_a_name = |rest: &str| {
        let mut words = rest.split(' ');
        let first = words.next().unwrap_or_default();
        !rest.is_empty() && !rest.contains(char::is_whitespace)
            || !names::is_known(first) && rest.split(' ').all(is_word) && words.count() < WORDS
    };
    message.len() >= LEAST_OF_A_CHANGE && ends_inside(message)
        || named.iter().any(|head| message.strip_prefix(head).is_some_and(part_of_a_name))
        || message.starts_with("Clocksource tsc unstable")
        || message.starts_with("clocksource: Clocksource tsc unstable")
        || figures.starts_with('\'') && below()
}

/// The length of truncated lines: several lines have it, and none is longer.
fn column_limit(entries: &[Entry]) -> Option<usize> {
    let lengths = || entries.iter().map(|entry| entry.text.chars().count());
    let longest = lengths().max()?;
    (lengths().filter(|length| *length == longest).count() >= 2).then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_a_prefix_is_taken_off_the_first_line() {
        let skewed = "Clocksource 'tsc' skewed 1 ns";
        for left in ["rce:        ", "keeping watchdog: ", "3456] ", "0.123456] "] {
            assert_eq!(without_cut_prefix(&format!("{left}{skewed}")), Some(skewed), "{left}");
        }
        for other in ["clocksource: x", "host: x", "Re: tsc: x", "a] x", "x"] {
            assert_eq!(without_cut_prefix(other), None, "{other}");
        }
    }

    #[test]
    fn figures_that_agree_as_far_as_they_go_may_lack_digits() {
        for part in [8, 80, 8_020, 8_020_123, 802_012_345] {
            assert!(may_lack_digits(8_020_123_456, part), "{part}");
        }
        assert!(!may_lack_digits(57_471_994_482, 502_738_831));
        assert!(!may_lack_digits(8_020_123_456, 8_020_123_449));
    }

    fn switches(text: &str) -> Vec<String> {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = |entry: &Entry| match &entry.event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        };
        log.entries.iter().filter_map(name).collect()
    }

    #[test]
    fn switch_to_a_known_name_counts_where_a_longer_one_is_registered() {
        let early = "[    0.070000] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x2c00000000, max_idle_ns: 440795200000 ns\n";
        let log = format!(
            "{early}[    0.300000] clocksource: Switched to clocksource tsc-early\n[    1.600000] clocksource: Switched to clocksource tsc\n"
        );
        assert_eq!(switches(&log), ["tsc-early", "tsc"]);
        let log = "[    0.000100] clocksource: timer1: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1911260446275 ns\n\
                   [    0.090000] clocksource: Switched to clocksource timer\n";
        assert_eq!(switches(log), ["timer"]);
    }

    #[test]
    fn switch_to_part_of_a_name_is_left_out_where_the_line_is_visibly_cut() {
        let first = "[    0.300000] clocksource: Switched to clocksource hpet\n";
        for last in [
            "[    1.600000] clocksource: Switched to clocksource tsc-ea",
            "[    1.600000] clocksource: Switched to clocksource kvm-cl...\n[    1.700000] x\n",
        ] {
            assert_eq!(switches(&format!("{first}{last}")), ["hpet"], "{last}");
        }
    }

    #[test]
    fn switch_to_the_begin_of_a_registered_name_is_cut() {
        let log = "[    0.000000] clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x46d987e47, max_idle_ns: 440795202767 ns\n\
                   [    1.134653] clocksource: Switched to clocksource arch_sys\n";
        assert!(switches(log).is_empty());
        // At the end of a text, any unknown name may be truncated.
        let log = "[    1.000000] x\n[    1.060653] Switching to clocksource Timer-E";
        assert!(switches(log).is_empty());
        assert_eq!(switches(&format!("{log}\n")), ["Timer-E"]);
    }

    #[test]
    fn name_that_ends_where_lines_end_may_go_on() {
        let other = "[    0.000000] Memory: 1024K of 2048K available, some";
        for name in ["orion_clock", "some_timer0"] {
            let line = format!("[    0.0437] clocksource: Switched to clocksource {name}");
            let other = format!("{other:x<width$}", width = line.len());
            assert!(switches(&format!("{other}\n{line}\n[    1.0] x\n")).is_empty(), "{name}");
            let longer = format!("{other}and more");
            assert_eq!(switches(&format!("{longer}\n{line}\n[    1.0] x\n")), [name]);
        }
        // Another name of the same text is longer.
        let log = "[    0.0] clocksource: hyperv_clocksource_tsc_page: mask: 0xffffffffffffffff max_cycles: 0x24e6a1710, max_idle_ns: 440795202120 ns\n\
                   [    0.1] clocksource: Switched to clocksource hyperv_clocksource\n[    9.0] x\n";
        assert!(switches(log).is_empty());
    }

    #[test]
    fn known_name_that_this_kernel_no_longer_has_is_cut() {
        let log = |version: &str| {
            format!(
                "[    0.000000] Linux version {version} (a@b) (gcc 10.2.0) #1 SMP\n\
                 [    0.300000] clocksource: Switched to clocksource hyperv_clocksource\n[    9.000000] x\n"
            )
        };
        assert_eq!(switches(&log("4.4.0-21-generic")), ["hyperv_clocksource"]);
        assert_eq!(switches(&log("5.12.0-rc2+")), [""; 0]);
    }
}

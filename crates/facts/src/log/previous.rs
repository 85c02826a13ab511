//! Boots that a text names itself, with the previous one after the present one: by the command that printed them
//! (`journalctl -b -1`), by their file (`dmesg.0`, `/proc/last_kmsg`), or by a heading (`The previous boot:`).

use super::lines::text;
use super::moments::last_choice;
use super::prefix::strip;
use super::transcript;
use memchr::memmem;
use std::ops::Range;

/// Maximum number of words in a heading.
const WORDS: usize = 8;
/// Maximum number of marks; a text with more is read unchanged.
const MARKS: usize = 64;
/// Words in a text that names a boot.
const NAMES: [&[u8]; 12] = [
    b"journalctl",
    b"dmesg",
    b"kmsg",
    b"KMSG",
    b"pstore",
    b"ramoops",
    b"boot",
    b"Boot",
    b"kern.log",
    b"syslog",
    b"messages",
    b"crash> ",
];
/// Logs that are kept over rotations, the newest one without a number.
const ROTATED: [&str; 4] = ["kern.log", "kernel.log", "syslog", "messages"];

/// The meaning of the lines after a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The boot of this number: 0 is the present one, -1 the one before it.
    Boot(i32),
    /// The output of another command.
    Other,
    /// The machine boots again, so that the earlier numbers are relative to a different boot.
    Restart,
}

/// A line that determines the meaning of the lines after it.
struct Mark {
    of: Of,
    /// Whether the mark is a heading: it describes the output of a later command.
    is_heading: bool,
    /// The lines after it.
    lines: Range<usize>,
}

/// A text without the lines of older boots after the newest one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The text, and the number of boots that were removed.
    Newest(Vec<u8>, u32),
    /// An older boot follows lines without a mark; the text is the end of a sentence.
    Open(String),
}

/// Reads the order of the boots that the text names; `name` is that of the text.
pub(super) fn order(window: &[u8], name: &str) -> Option<Order> {
    if !NAMES.iter().any(|word| memmem::find(window, word).is_some()) {
        return None;
    }
    let marks = marks(window)?;
    let boot =
        |mark: &&Mark| matches!(mark.of, Of::Boot(_)) && last_choice(window, &mark.lines).is_some();
    let number = |mark: &Mark| match mark.of {
        Of::Boot(number) => Some(number),
        _ => None,
    };
    let newest = marks.iter().filter(boot).filter_map(number).max()?;
    let place = marks.iter().position(|mark| mark.of == Of::Boot(newest) && boot(&mark))?;
    if newest < 0 {
        // Lines without a mark may be of the present boot.
        let front = last_choice(window, &(0..marks.first()?.lines.start));
        let older = marks.iter().rfind(|mark| boot(mark))?;
        let line = memchr::memchr_iter(b'\n', &window[..older.lines.start]).count();
        let choice = last_choice(window, &older.lines)?;
        if front.is_some_and(|front| front != choice) {
            return Some(Order::Open(format!(
                "the lines after {name}:{line} are from an earlier boot, and nothing shows from \
                 which boot those before it are: give the log of one"
            )));
        }
    }
    let older: Vec<Range<usize>> = marks[place..]
        .iter()
        .filter(|mark| number(mark).is_some_and(|number| number < newest))
        .filter_map(|mark| of_kernel(window, &mark.lines))
        .collect();
    if older.is_empty() {
        return None;
    }
    let mut out = window.to_vec();
    for lines in older.iter().rev() {
        let ends = memchr::memchr_iter(b'\n', &window[lines.clone()]).count();
        out.splice(lines.clone(), std::iter::repeat_n(b'\n', ends));
    }
    Some(Order::Newest(out, u32::try_from(older.len()).unwrap_or(u32::MAX)))
}

/// The marks of a text; none if they are not relative to one boot of one machine.
fn marks(window: &[u8]) -> Option<Vec<Mark>> {
    let mut found: Vec<Mark> = Vec::new();
    let mut host: Option<String> = None;
    let mut folder: Option<String> = None;
    let mut at = 0;
    while at < window.len() {
        let end = memchr::memchr(b'\n', &window[at..]).map_or(window.len(), |end| at + end + 1);
        let line = text(window, at, end);
        let line = line.trim();
        // Marks are short.
        let of = if line.len() < 200 { mark(line) } else { None };
        if let Some((of, is_heading)) = of {
            if of == Of::Restart && !found.is_empty() || found.len() == MARKS {
                return None;
            }
            if let Some(name) = transcript::host_of_prompt(line) {
                if host.as_deref().is_some_and(|known| known != name) {
                    return None;
                }
                host = Some(name.to_owned());
            }
            if let Some(name) = line.split([' ', '\'', '"']).find_map(rotated_in) {
                // The logs of two folders may be those of two machines.
                if folder.as_deref().is_some_and(|known| known != name) {
                    return None;
                }
                folder = Some(name.to_owned());
            }
            let before = found.last_mut();
            let of = match before {
                // The heading determines the boot whose lines the command prints.
                Some(before)
                    if before.is_heading
                        && !is_heading
                        && of_kernel(window, &(before.lines.start..at)).is_none() =>
                {
                    before.of
                }
                _ => of,
            };
            if let Some(before) = found.last_mut() {
                before.lines.end = at;
            }
            found.push(Mark { of, is_heading, lines: end..window.len() });
        }
        at = end;
    }
    Some(found)
}

/// The meaning of the lines after this one, and whether it is a heading.
fn mark(line: &str) -> Option<(Of, bool)> {
    if let Some(path) = line.strip_prefix("==> ").and_then(|rest| rest.strip_suffix(" <==")) {
        return Some((of_file(path).map_or(Of::Other, Of::Boot), false));
    }
    if transcript::is_prompt(line) {
        let command = line.find(['$', '#']).and_then(|at| line.get(at + 1..))?;
        let restarts = command.split_ascii_whitespace().any(|word| word == "reboot");
        let of = if restarts { Of::Restart } else { of_command(command) };
        return Some((of, false));
    }
    if line.starts_with("journalctl -") {
        return Some((of_command(line.trim_end_matches(':')), false));
    }
    // The machine has booted since it saved this dump.
    if let Some(command) = line.strip_prefix("crash> ") {
        let of = match command.split([' ', '|']).next() {
            Some("log" | "dmesg") => Of::Boot(-1),
            _ => Of::Other,
        };
        return Some((of, false));
    }
    heading(line).map(|number| (Of::Boot(number), true))
}

/// The boot whose log a command prints.
fn of_command(command: &str) -> Of {
    let mut words = command
        .split(['|', ';', '>'])
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(|word| word.trim_matches(['\'', '"']))
        .skip_while(|word| *word == "sudo");
    let number = match words.next() {
        Some("journalctl") => of_journal(&words.collect::<Vec<&str>>()),
        // A file that it is given may be of any boot.
        Some("dmesg") => (!words.any(|word| matches!(word, "-F" | "--file"))).then_some(0),
        Some("cat" | "zcat" | "grep" | "egrep" | "zgrep" | "less" | "more" | "head" | "tail") => {
            let files: Vec<Option<i32>> = words
                .filter(|word| {
                    word.contains('/') || word.contains("dmesg") || rotated_in(word).is_some()
                })
                .map(of_file)
                .collect();
            match files.as_slice() {
                [one] => *one,
                _ => None,
            }
        }
        _ => None,
    };
    number.map_or(Of::Other, Of::Boot)
}

/// The boot that `journalctl` shows: the present one with `-b` or `-k`, an earlier one with a number after `-b`.
fn of_journal(words: &[&str]) -> Option<i32> {
    let number = |word: &str| word.parse::<i32>().ok().filter(|number| *number <= 0);
    let mut kernel = false;
    for (at, word) in words.iter().enumerate() {
        if let Some(value) = word.strip_prefix("--boot=") {
            return number(value);
        }
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let value = match short.and_then(|rest| rest.split_once('b')) {
            Some((front, value)) if front.bytes().all(|byte| b"kxaqrel".contains(&byte)) => value,
            _ if *word == "--boot" => "",
            _ => {
                kernel |= *word == "--dmesg" || *word == "-k";
                continue;
            }
        };
        let value = if value.is_empty() { words.get(at + 1).copied().unwrap_or("") } else { value };
        let is_option = value.starts_with('-') && number(value).is_none();
        return if value.is_empty() || is_option || value.contains('=') {
            Some(0)
        } else {
            number(value)
        };
    }
    kernel.then_some(0)
}

/// The boot of a log file, by the file's name.
fn of_file(path: &str) -> Option<i32> {
    let name = unpacked(path.rsplit('/').next()?);
    if let Some(number) = rotated(name) {
        return Some(number);
    }
    let name = name.trim_end_matches(".log");
    let saved = ["last_kmsg", "vmcore-dmesg"].contains(&name);
    if saved || path.contains("/pstore/") || name.starts_with("console-ramoops") {
        return Some(-1);
    }
    match name {
        "dmesg" | "kmsg" => Some(0),
        "dmesg.0" | "dmesg.old" => Some(-1),
        _ => {
            let number = name.strip_prefix("boot")?;
            // A series of boots counts up, and 0 and -1 count back.
            matches!(number, "0" | "-0" | "-1").then(|| if number == "-1" { -1 } else { 0 })
        }
    }
}

/// Ends of the names of compressed logs.
pub(crate) const PACKED: [&str; 4] = [".gz", ".xz", ".zst", ".bz2"];

/// The name of a file without that of its compression.
fn unpacked(name: &str) -> &str {
    let packed = PACKED.iter().find_map(|end| name.strip_suffix(end));
    packed.unwrap_or(name).trim_end_matches(".txt")
}

/// The place of a log in its rotation: 0 is the newest, and a date counts as far back as it is.
fn rotated(name: &str) -> Option<i32> {
    let rest = ROTATED.iter().find_map(|base| name.strip_prefix(base))?;
    if rest.is_empty() {
        return Some(0);
    }
    let digits = rest.strip_prefix(['.', '-'])?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse::<i32>().ok()?;
    match digits.len() {
        1..=3 => Some(-number),
        8 => number.checked_sub(100_000_000),
        _ => None,
    }
}

/// The folder of a rotated log that a word names.
fn rotated_in(word: &str) -> Option<&str> {
    let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
    rotated(unpacked(name)).map(|_| folder)
}

/// The boot that a heading names: `This boot:`, `## Previous boot`, and those of Android's bug reports.
fn heading(line: &str) -> Option<i32> {
    let marked =
        line.starts_with(['#', '=', '*']) || line.starts_with("--") && line.ends_with("--");
    let bare = line.trim_matches(|c: char| "#=*-_ ".contains(c));
    let name = bare.strip_suffix(':').or_else(|| marked.then_some(bare))?.to_ascii_lowercase();
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.len() > WORDS {
        return None;
    }
    let follows = |first: &[&str]| {
        words.windows(2).any(|pair| first.contains(&pair[0]) && matches!(pair[1], "boot" | "boots"))
    };
    let saved = words.windows(2).any(|pair| pair == ["last", "kmsg"]);
    if saved || follows(&["previous", "prior", "earlier", "preceding"]) {
        return Some(-1);
    }
    if words == ["kernel", "log", "dmesg"] {
        return Some(0);
    }
    follows(&["this", "current", "present"]).then_some(0)
}

/// The lines up to the last one that the kernel printed, if there is one.
fn of_kernel(window: &[u8], lines: &Range<usize>) -> Option<Range<usize>> {
    let mut at = lines.start;
    let mut last = None;
    while at < lines.end {
        let end =
            memchr::memchr(b'\n', &window[at..lines.end]).map_or(lines.end, |end| at + end + 1);
        let line = text(window, at, end);
        let line = strip(line.trim_end_matches('\n'));
        if line.kernel == Some(true) || line.is_message() {
            last = Some(end);
        }
        at = end;
    }
    Some(lines.start..last?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::log::{Event, KernelLog};

    fn log(name: &str) -> String {
        format!(
            "[    0.000000] Linux version 6.8.0 (a@b) #1 SMP\n\
             [    1.630000] clocksource: Switched to clocksource {name}\n\
             [   31.630000] usb 1-2: USB disconnect\n"
        )
    }

    fn last(text: &str) -> (Option<String>, bool) {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = |event: &Event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        };
        (log.last(name).map(|(_, name)| name), log.mixed.is_some())
    }

    #[test]
    fn boot_that_a_command_calls_the_present_one_serves() {
        for (present, earlier) in [
            ("$ journalctl -k -b 0 -o short-monotonic", "$ journalctl -k -b -1 -o short-monotonic"),
            ("$ journalctl -kb", "$ journalctl -kb-1"),
            ("$ journalctl -k", "$ sudo journalctl --dmesg --boot=-1 | grep clock"),
            ("$ dmesg", "$ journalctl -b -2"),
            ("user@db1:~$ sudo dmesg", "user@db1:~$ cat /sys/fs/pstore/console-ramoops-0"),
            ("# cat /proc/kmsg", "# cat /proc/last_kmsg"),
            ("==> dmesg <==", "==> dmesg.0 <=="),
            ("==> boot0.txt <==", "==> boot-1.txt <=="),
            ("This boot:", "The previous boot was fine:"),
            ("$ dmesg", "Previous boot:"),
            ("$ dmesg", "Previous boot:\n$ dmesg"),
            ("------ KERNEL LOG (dmesg) ------", "------ LAST KMSG (/proc/last_kmsg) ------"),
            ("adb shell dmesg:\nThis boot:", "adb shell cat /proc/last_kmsg:"),
            ("==> kern.log <==", "==> kern.log.1 <=="),
            ("==> /var/log/syslog.2.gz <==", "==> /var/log/syslog.10.gz <=="),
            ("==> /var/log/messages <==", "==> /var/log/messages-20240428 <=="),
            ("==> /var/log/messages-20240505 <==", "==> /var/log/messages-20240428 <=="),
            ("$ grep kernel /var/log/syslog", "$ zcat /var/log/syslog.2.gz | grep kernel"),
            ("$ dmesg", "$ cat /var/crash/127.0.0.1-2024-05-01/vmcore-dmesg.txt"),
            ("$ dmesg", "crash> log"),
            ("journalctl -b -0:", "journalctl -b -1:"),
        ] {
            let (hpet, tsc) = (log("hpet"), log("tsc"));
            let text = format!("{present}\n{hpet}{earlier}\n{tsc}");
            assert_eq!(last(&text), (Some("hpet".to_owned()), false), "{text}");
            let in_order = format!("{earlier}\n{tsc}{present}\n{hpet}");
            assert_eq!(last(&in_order), (Some("hpet".to_owned()), false), "{in_order}");
        }
    }

    #[test]
    fn earlier_boot_behind_lines_without_a_name_leaves_the_order_open() {
        let text = format!("{}$ journalctl -b -1\n{}", log("hpet"), log("tsc"));
        assert!(last(&text).1);
        let same = format!("{}$ journalctl -b -1\n{}", log("tsc"), log("tsc"));
        assert_eq!(last(&same), (Some("tsc".to_owned()), false));
        let alone = format!("$ journalctl -b -1\n{}", log("tsc"));
        assert_eq!(last(&alone), (Some("tsc".to_owned()), false));
    }

    #[test]
    fn numbers_that_count_from_different_boots_tell_no_order() {
        for between in ["$ sudo reboot\n$ journalctl -b -1\n", "root@b:~# journalctl -b -1\n"] {
            let text = format!("root@a:~# dmesg\n{}{between}{}", log("hpet"), log("tsc"));
            assert_eq!(order(text.as_bytes(), "log"), None, "{text}");
        }
        for (present, earlier) in [("a/kern.log", "b/kern.log.1"), ("a/messages", "messages.1")] {
            let text =
                format!("==> {present} <==\n{}==> {earlier} <==\n{}", log("hpet"), log("tsc"));
            assert_eq!(order(text.as_bytes(), "log"), None, "{text}");
        }
        let file = format!("$ dmesg\n{}$ dmesg -F old.txt\n{}", log("hpet"), log("tsc"));
        assert_eq!(order(file.as_bytes(), "log"), None);
    }
}

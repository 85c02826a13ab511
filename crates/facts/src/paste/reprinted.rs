//! The end of a kernel's log before its beginning: `dmesg | tail` and then `dmesg | head` of one session.
//! The time stamps of a log without dates show the order within one boot, and not whether another boot begins.

use super::prompt;
use crate::log::{Event, KernelLog, banner, times};

/// Lines before a banner that are searched for the command or the sentence that leads to it.
const WITHIN: usize = 4;
/// Seconds after which a kernel is no longer at its beginning.
const LATE_S: f64 = 60.0;
/// Commands that print a log from its beginning on.
const PRINTS: [&str; 4] = ["dmesg", "journalctl", "/var/log/", "kern.log"];

/// Why it is open which part of a text is the later one, as the end of a sentence.
pub(super) fn open(lines: &[String]) -> Option<String> {
    let begin = lines.iter().position(|line| begins(line))?;
    if !leads(lines, begin) {
        return None;
    }
    let before = &lines[..begin];
    let restarts = |line: &String| {
        prompt::read(line).is_some_and(|found| found.command.contains("reboot"))
            || line.starts_with("-- Reboot")
            || line.starts_with("-- Boot ")
    };
    // Dates before lines show which of them are later.
    let dated = lines.iter().any(|line| times(line).1.is_some());
    let late = before.iter().filter_map(|line| times(line).0).any(|at| at > LATE_S);
    if dated || !late || before.iter().any(restarts) {
        return None;
    }
    let (first, one) = chosen(before, 0)?;
    let (second, two) = chosen(lines, begin)?;
    (one != two).then(|| {
        format!(
            "the choice of {one} (line {first}) is shown before the beginning of a log that chooses \
             {two} (line {second}): if both are of one boot, the first one is the later, and \
             nothing shows that"
        )
    })
}

fn begins(line: &str) -> bool {
    super::has(line, "Linux version ")
        && times(line).0.is_some_and(|at| at < 1.0)
        && banner::is(crate::log::strip_prefix(line).0)
}

/// Whether a command that prints a log, or a sentence that announces it, is above a line.
fn leads(lines: &[String], at: usize) -> bool {
    for line in lines[..at].iter().rev().take(WITHIN) {
        let text = line.trim();
        if text.is_empty() || text.starts_with("```") || text.starts_with("~~~") {
            continue;
        }
        if let Some(found) = prompt::read(line) {
            return PRINTS.iter().any(|word| found.command.contains(word));
        }
        let stamped = times(line).0.is_some();
        if stamped && crate::log::strip_prefix(line).0.starts_with("Booting Linux on") {
            continue;
        }
        return !stamped && text.ends_with(':') && text.contains(' ');
    }
    false
}

/// The last choice from a line on, by its number from 1.
fn chosen(lines: &[String], from: usize) -> Option<(usize, String)> {
    lines.iter().enumerate().skip(from).rev().find_map(|(number, line)| {
        match super::has(line, "to clocksource ").then(|| KernelLog::message(line)).flatten()? {
            Event::Switched(name) => Some((number + 1, name)),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(text: &str) -> bool {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        open(&lines).is_some()
    }

    const END: &str = "[260000.520000] clocksource: Switched to clocksource hpet\n";
    const HEAD: &str = "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n\
                        [    1.910000] clocksource: Switched to clocksource tsc\n";

    #[test]
    fn end_of_a_log_in_front_of_its_beginning_has_no_known_order() {
        let prompts = format!("a@db:~$ dmesg | tail -2\n{END}a@db:~$ dmesg | head -4\n{HEAD}");
        assert!(is_open(&prompts));
        assert!(is_open(&format!("```\n{END}```\n\nThe beginning of it:\n\n```\n{HEAD}```\n")));
        assert!(is_open(&prompts.replace("dmesg | head -4", "cat /var/log/dmesg")));
        // A console continues with the next boot.
        assert!(!is_open(&format!("{END}{HEAD}")));
        assert!(!is_open(&format!("{END}GRUB loading\n{HEAD}")));
        assert!(!is_open(
            &prompts.replace("a@db:~$ dmesg | head", "a@db:~# reboot\na@db:~$ dmesg | head")
        ));
        assert!(!is_open(&prompts.replace("hpet", "tsc")));
        assert!(!is_open(&prompts.replace("[260000", "[     9")));
    }
}

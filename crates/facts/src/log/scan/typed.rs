//! Messages that the kernel prints on a console after text of a shell: after a command that a person types, or after
//! the output of a test that begins with `#`. The kernel's part is a message of its own; if a person may have typed it,
//! the clocksource after it is not known.

use super::Scanner;
use crate::log::event::Event;
use crate::log::inline;
use crate::log::lines::{is_comment, text};
use crate::log::parse::{self, Groups};
use crate::log::prefix::{printk_stamp, strip};
use crate::log::transcript;

/// A line of a shell in two parts.
struct Typed<'a> {
    /// The text of the shell.
    head: &'a str,
    /// The text from the kernel's time stamp on.
    tail: &'a str,
}

/// Divides a line of a shell before the first time stamp of the kernel in it.
fn divide(raw: &str) -> Option<Typed<'_>> {
    let at = raw
        .match_indices('[')
        .map(|(at, _)| at)
        .find(|at| *at > 0 && printk_stamp(&raw[*at..]).is_some())?;
    let (head, tail) = raw.split_at(at);
    // With nothing but the sign of a prompt before the time stamp, the line is the kernel's alone.
    let is_shell = is_comment(raw) || transcript::is_prompt(raw);
    is_shell.then_some(Typed { head, tail })
}

/// The place of a quotation mark that is not closed in a command.
fn open_quote(head: &str) -> Option<char> {
    let mut open = None;
    for sign in head.chars().filter(|sign| ['"', '\'', '`'].contains(sign)) {
        match open {
            None => open = Some(sign),
            Some(begin) if begin == sign => open = None,
            Some(_) => {}
        }
    }
    open
}

impl Scanner {
    /// Handles the line `start..end`, in one part or in two; returns the offset up to which text was used.
    pub(super) fn line_at(
        &mut self,
        window: &[u8],
        start: usize,
        end: usize,
        complete: usize,
        groups: Groups,
    ) -> usize {
        let raw = text(window, start, end);
        let typed = divide(&raw).filter(|_| !inline::is_of_records(&self.log.name));
        let part = typed.as_ref().map_or(&*raw, |typed| typed.head);
        let used_to = self.line_of(window, start, end, complete, groups, part);
        if let Some(typed) = typed {
            self.keep_typed(&typed);
        }
        used_to
    }

    /// Keeps the events of the kernel's messages after text of a shell.
    fn keep_typed(&mut self, typed: &Typed<'_>) {
        let line = strip(typed.tail);
        let (first, others) =
            inline::split(line.message, line.at, false).unwrap_or((line.message, Vec::new()));
        let event = parse::parse(first, Groups::of(first));
        let is_boot = matches!(event, Some(Event::Banner(_)));
        let is_known = !is_boot && line.at.is_some_and(|at| self.store.has_line(at, line.message));
        // The command has the whole message between quotation marks, as a pattern or as a text to print. Names in a
        // message are in a pair of them.
        let open = open_quote(typed.head);
        let closes = |sign: char| typed.tail.matches(sign).count() % 2 == 1;
        if open.is_some_and(closes) || is_known {
            return;
        }
        // A command or a comment may repeat a message after a blank; the kernel prints wherever the cursor is.
        // The first line of another boot follows the command that restarted the machine.
        let follows = is_boot || line.at.zip(self.last_at).is_none_or(|(at, last)| at >= last);
        let believed = follows && open.is_none() && !typed.head.ends_with(char::is_whitespace);
        if !believed {
            if event.as_ref().is_some_and(Event::changes_clocksource) {
                self.log.change_cut = Some(self.line);
            }
            return;
        }
        self.stamp(line.at);
        if let Some(event) = event {
            let shown =
                typed.tail.find(first).map_or(typed.tail, |at| &typed.tail[..at + first.len()]);
            self.keep(event, shown, line.at);
        }
        self.keep_others(&others, line.at);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;
    use crate::log::event::Event;

    const FRONT: &str =
        "[    1.910000] clocksource: Switched to clocksource tsc\n[   40.000000] sd: x\n";
    const BEHIND: &str = "[ 7001.250000] clocksource: Switched to clocksource hpet";

    fn read(line: &str) -> (Option<String>, bool) {
        let text = format!("{FRONT}{line}\n[ 7100.000000] sd: y\n");
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = log.last(|event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        });
        (name.map(|(_, name)| name), log.change_cut.is_some())
    }

    #[test]
    fn message_behind_a_command_or_a_comment_is_read() {
        for head in [
            "/ # echo all",
            "root@board:~# make",
            "[root@board ~]# make",
            "user@board:~$ make # all",
            "user@board:~$ echo \"all\"",
            "# subtest done",
            "#",
            "# not ok 4 - timer",
        ] {
            assert_eq!(
                read(&format!("{head}{BEHIND}")),
                (Some("hpet".to_owned()), false),
                "{head}"
            );
        }
    }

    #[test]
    fn message_that_a_person_may_have_typed_leaves_the_clocksource_open() {
        for line in [
            format!("# it said {BEHIND}"),
            format!("root@board:~# echo {BEHIND}"),
            format!("root@board:~# echo \"{BEHIND}"),
            "# it's done[ 7001.250000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:".to_owned(),
            "# done[    1.250000] clocksource: Switched to clocksource hpet".to_owned(),
        ] {
            assert_eq!(read(&line), (Some("tsc".to_owned()), true), "{line}");
        }
        for line in [
            format!("root@board:~# dmesg | grep '{BEHIND}'"),
            format!("root@board:~# echo \"{BEHIND}\" >> notes"),
            "# done[ 7001.250000] usb 1-1: new device".to_owned(),
            // A line of this log.
            "# see [    1.910000] clocksource: Switched to clocksource tsc".to_owned(),
        ] {
            assert_eq!(read(&line), (Some("tsc".to_owned()), false), "{line}");
        }
    }

    #[test]
    fn boot_behind_a_command_is_another_one() {
        let boot = "[    0.000000] Linux version 6.1.0 (a@b) (gcc 12) #1 SMP\n";
        for (head, boots) in [("/ # restart now", 2), ("# restart", 2), ("# it was ", 1)] {
            let text = format!("{boot}{FRONT}{head}{boot}[    3.000000] sd: y\n");
            assert_eq!(KernelLog::scan(text.as_bytes(), "log").unwrap().boots, boots, "{head}");
        }
    }

    #[test]
    fn command_before_a_message_is_read_itself() {
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let text = format!("{FRONT}/ # echo hpet > {path}{BEHIND}\n[ 7100.000000] sd: y\n");
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        assert!(log.any(|event| *event == Event::WroteCurrent("hpet".to_owned())));
        assert!(log.any(|event| *event == Event::Switched("hpet".to_owned())));
    }
}

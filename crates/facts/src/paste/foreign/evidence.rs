//! What a text has besides the outputs of other commands: lines of the kernel's own log, and the content of the file of
//! sysfs. Without either, a log below any command is the evidence that its author gives. Also the prompts of a text: signs
//! before a known command are those before an unknown one.

use super::logs::Prints;
use super::readings::{self, Reads};
use super::{commands, files, labels, logs};
use crate::log::{is_record, line_text, strip_prefix};
use crate::names;
use files::Heading;

/// Commands that show a prompt, whatever is before them.
const SHOWING: [&[u8]; 4] =
    [b"cat /sys/devices/system/clocksource", b"dmesg", b"journalctl ", b"cat /proc/"];
/// Maximum number of different prompts, and of bytes of one.
const PROMPTS: usize = 8;
const LONGEST: usize = 60;
/// Words of sentences, which a comment has and a command seldom.
const OF_SENTENCES: [&str; 26] = [
    "the", "a", "an", "is", "are", "was", "were", "then", "it", "this", "that", "now", "after",
    "before", "and", "or", "with", "to", "for", "we", "you", "i", "my", "not", "output", "should",
];

/// The prompts of a text, with a zero for each number: a time of day changes.
#[derive(Clone, Debug, Default)]
pub(in crate::paste) struct Prompts(Vec<String>);

impl Prompts {
    /// Finds the prompts of a text.
    pub(in crate::paste) fn of(text: &[u8]) -> Self {
        let mut found = Self::default();
        for word in SHOWING {
            for at in memchr::memmem::find_iter(text, word) {
                let begin = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
                if at - begin <= LONGEST
                    && let Ok(front) = std::str::from_utf8(&text[begin..at])
                {
                    found.add(front);
                }
                if found.0.len() == PROMPTS {
                    return found;
                }
            }
        }
        found
    }

    fn add(&mut self, front: &str) {
        let front = front.trim_start_matches(['>', ' ', '\t']);
        let front = front.strip_suffix("sudo ").unwrap_or(front);
        let sign = front.trim_end().chars().next_back();
        // Not the sign of a list, a table, a comment or a sentence; nor what precedes a message about a program of that name.
        let is_one = front.ends_with(' ')
            && !is_record(&format!("{front}x"))
            && sign.is_some_and(|sign| {
                !sign.is_alphanumeric() && !"-*:,;.\"'`(|&={\u{2022}".contains(sign)
            });
        let front = without_numbers(front);
        if is_one && !self.0.contains(&front) && !front.starts_with("//") {
            self.0.push(front);
        }
    }

    /// The command behind such a prompt.
    pub(in crate::paste) fn command<'a>(&self, line: &'a str) -> Option<&'a str> {
        let begins = |front: &String| {
            let first = front.chars().next();
            first == Some('0') || first == line.chars().next()
        };
        if !self.0.iter().any(begins) {
            return None;
        }
        let shape = without_numbers(line.get(..line.len().min(2 * LONGEST)).unwrap_or_default());
        let front = self
            .0
            .iter()
            .find(|front| shape.starts_with(front.as_str()) || shape == front.trim_end())?;
        // A prompt does not end in digits.
        let (mut at, mut left) = (0, front.chars().filter(|c| *c != '0').count());
        for (place, c) in line.char_indices() {
            if left == 0 {
                break;
            }
            left -= usize::from(!c.is_ascii_digit());
            at = place + c.len_utf8();
        }
        let command = line[at..].trim();
        let mut words = command.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        let begins = first.starts_with(|c: char| c.is_ascii_lowercase() || "./~_".contains(c))
            && first.chars().all(|c| c.is_ascii_alphanumeric() || "./~_-+=$>".contains(c));
        let is_sentence = command.ends_with([':', '.', '?', '!'])
            || command.split_ascii_whitespace().take(6).any(|word| OF_SENTENCES.contains(&word));
        (command.is_empty() || begins && !is_sentence).then_some(command)
    }
}

fn without_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}

/// Whether a text has lines of the kernel's own log, or a reading of sysfs, outside of the outputs of other commands.
pub(super) fn has_some(text: &[u8], prompts: &Prompts) -> bool {
    let (mut is_foreign, mut is_inside, mut is_read) = (false, false, false);
    let mut is_blank = false;
    for line in text.split(|byte| *byte == b'\n') {
        if line.trim_ascii().is_empty() {
            is_blank = true;
            continue;
        }
        let after_blank = std::mem::take(&mut is_blank);
        let text = line_text(line);
        let bare = text.trim_matches(['>', ' ', '\t', '\r']);
        if let Some(command) = commands::command(bare, prompts) {
            is_foreign = commands::listing(command).is_some_and(|it| it.may_have_stamps())
                || logs::of(command) > Prints::Log;
            is_read = readings::at(bare, command, &mut is_inside) == Reads::Sysfs;
            continue;
        }
        if let Some(heading) = files::heading(bare, after_blank) {
            is_foreign = heading == Heading::Other;
            is_read = !is_foreign && bare.contains("current_clocksource");
            continue;
        }
        if std::mem::take(&mut is_read)
            && !bare.is_empty()
            && bare.split_ascii_whitespace().all(names::is_known)
        {
            return true;
        }
        let labelled = || {
            bare.starts_with("/sys/devices/system/clocksource/") && labels::of_file(bare).is_some()
        };
        if !is_foreign && (strip_prefix(bare).1 || labelled()) {
            return true;
        }
    }
    false
}

/// Whether a text ends at a login with what looks like a message of the kernel, or asks for a password behind it: then a
/// person typed it as a name. Behind a message of the kernel the text continues.
pub(super) fn has_typed_name(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b" login: [").any(|at| {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |length| at + length);
        let rest = text[end..].trim_ascii_start();
        rest.is_empty() || rest.starts_with(b"Password") || rest.starts_with(b"Login incorrect")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str) -> bool {
        has_some(text.as_bytes(), &Prompts::of(text.as_bytes()))
    }

    #[test]
    fn log_below_a_command_is_no_other_evidence() {
        let message = "[    1.900000] clocksource: Switched to clocksource hpet\n";
        let file = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        for text in [
            format!("$ cat out.txt\n{message}"),
            format!("$ uname -r\n6.1.0\n$ strings f | grep clocksource\n{message}"),
            format!("==> /tmp/x <==\n{message}"),
            format!("$ cat /tmp{file}\nhpet\n"),
            format!("$ cat {file}\n"),
        ] {
            assert!(!has(&text), "{text}");
        }
        for text in [
            message.to_owned(),
            format!("$ dmesg\n{message}"),
            format!("$ cat out.txt\nx\n$ dmesg | tail\n{message}"),
            format!("$ cat {file}\nhpet\n"),
            format!("$ cat out.txt\n{message}$ cat {file}\nhpet\n"),
            format!("{file}:hpet\n"),
            format!("==> /tmp/x <==\ny\n==> {file} <==\nhpet\n"),
            "Nov 30 10:00:00 db1 kernel: usb 1-1: new\n".to_owned(),
        ] {
            assert!(has(&text), "{text}");
        }
    }

    #[test]
    fn name_that_a_person_typed_at_a_login_is_told_from_the_kernels_message() {
        let line = "db1 login: [    1.900000] x\n";
        for behind in ["", "\n", "Password: \n", "\nLogin incorrect\n"] {
            assert!(has_typed_name(format!("{line}{behind}").as_bytes()), "{behind}");
        }
        assert!(!has_typed_name(format!("{line}[    2.000000] y\n").as_bytes()));
    }

    #[test]
    fn prompt_of_one_command_is_that_of_others() {
        for front in [
            "# ",
            "\u{279c}  ~ ",
            "09:31:02 root@db1 /root # ",
            "+ ",
            "\u{2514}\u{2500}# ",
            "db1# ",
        ] {
            let text = format!(
                "{front}cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n"
            );
            let prompts = Prompts::of(text.as_bytes());
            for command in ["getent group", "./app", "journalctl -u app -o cat", ""] {
                let line = format!("{front}{command}").replace("09:31:02", "10:4:59");
                assert_eq!(prompts.command(&line), Some(command), "{line}");
                assert_eq!(prompts.command(line.trim_end()), Some(command), "{line}");
            }
            for other in ["Then it says:", "the clock", "[    1.900000] x", "A heading"] {
                assert_eq!(prompts.command(&format!("{front}{other}")), None, "{front}{other}");
            }
        }
        for front in ["- ", "I ran ", "* ", "Output: ", "\"", ""] {
            let prompts =
                Prompts::of(format!("{front}cat /sys/devices/system/clocksource\n").as_bytes());
            assert_eq!(prompts.command(&format!("{front}id bob")), None, "{front}");
        }
    }
}

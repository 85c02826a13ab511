//! The output of a shell around the current line: wrapped commands, and sentences that describe a
//! reading.

use super::{Scanner, Stripped};
use crate::log::configured;
use crate::log::continuation::Place;
use crate::log::event::Event;
use crate::log::lines::{line_before, next_line, text};
use crate::log::{intended, refused, transcript};
use std::borrow::Cow;

/// The lines above one, the nearest first.
fn above(place: Place<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    let mut start = place.start;
    std::iter::from_fn(move || {
        let before = line_before(place.window, start)?;
        start = before.start;
        Some(text(place.window, before.start, before.end))
    })
}

/// Maximum number of lines that are searched for the beginning of a comment in source code.
const COMMENT: usize = 64;

/// Whether a line is in a comment of source code, or in a patch of it: each line has an asterisk, up to the line that
/// opens the comment.
pub(super) fn is_comment_of_source(place: Place<'_>, raw: &str) -> bool {
    fn bare(line: &str) -> &str {
        line.trim_start_matches(['+', '-', '>', ' ', '\t'])
    }
    let opens = |line: &str| line.starts_with("/*");
    let line = bare(raw);
    // A log that was pasted into a comment has its time stamps.
    if crate::log::strip_prefix(line.trim_start_matches(['*', ' '])).1 {
        return false;
    }
    if opens(line) {
        return true;
    }
    line.starts_with('*')
        && above(place).take(COMMENT).find(|line| !bare(line).starts_with('*')).is_some_and(
            |line| line.starts_with("@@ ") || opens(bare(&line)) && !line.contains("*/"),
        )
}

/// Whether a reading shows an expected value, not a real one.
pub(super) fn is_expected(place: Place<'_>, read: &Event) -> bool {
    let value = match read {
        Event::ReadCurrent(name) => Cow::Borrowed(name.as_str()),
        Event::ReadAvailable(names) => Cow::Owned(names.join(" ")),
        _ => return false,
    };
    transcript::is_expected(above(place), &value)
}

/// Lines above a message that are searched for the command which caused it.
const COMMAND: usize = 4;

/// Whether a write, or a choice without a prefix, is of a command that a person suggests to another one.
pub(super) fn is_suggested(place: Place<'_>, line: &Stripped<'_>, event: &Event) -> bool {
    let is_of_nobody =
        |line: &str| transcript::host_of_prompt(line.trim_start_matches(['>', ' '])).is_none();
    let is_of_command = match event {
        Event::WroteCurrent(_) => is_of_nobody(line.message),
        Event::Switched(_) => above(place)
            .take(COMMAND)
            .find(|line| line.contains("echo "))
            .is_some_and(|command| is_of_nobody(&command)),
        _ => false,
    };
    let is_intended = || {
        matches!(event, Event::WroteCurrent(_)) && intended::is_intended(line.message, above(place))
    };
    line.kernel.is_none()
        && is_of_command
        && (transcript::is_suggested(above(place)) || is_intended())
}

/// The lines below one, the nearest first.
fn below(place: Place<'_>) -> impl Iterator<Item = Cow<'_, str>> {
    let mut end = place.end;
    std::iter::from_fn(move || {
        let (line, to) = next_line(place.window, end, place.complete)?;
        end = to;
        Some(line)
    })
}

/// Whether the output below a write says that it failed.
pub(super) fn is_refused(place: Place<'_>, event: &Event) -> bool {
    matches!(event, Event::WroteCurrent(_))
        && below(place)
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| refused::is_refusal(&line))
}

/// Whether a reading is an entry of a program's configuration.
pub(super) fn is_configured(place: Place<'_>, raw: &str, read: &Event) -> bool {
    matches!(read, Event::ReadCurrent(_)) && configured::is_entry(raw, above(place), below(place))
}

/// Whether one name after a command that lists the clocksources may be the output of the command above it: two commands
/// were pasted one after the other, and both outputs follow. The reader of transcripts assigns them.
pub(super) fn is_of_command_above(place: Place<'_>, read: &Event) -> bool {
    let Event::ReadAvailable(names) = read else { return false };
    names.len() == 1
        && above(place).next().is_some_and(|line| {
            let line = line.trim_end();
            line.contains("cat ") && line.ends_with("current_clocksource")
        })
}

impl Scanner {
    /// A write whose command ends or begins on this line, with its text, and its end.
    pub(super) fn broken_write(
        &self,
        place: Place<'_>,
        raw: &str,
    ) -> Option<((Event, String), usize)> {
        let event = |(name, command)| (Event::WroteCurrent(name), command);
        if raw.contains("echo ") && !raw.contains("_clocksource") {
            let (next, to) = next_line(place.window, place.end, place.complete)?;
            return transcript::broken_write(&[raw, &next]).map(|found| (event(found), to));
        }
        if !raw.trim_end().trim_end_matches(['\'', '"']).ends_with("_clocksource") {
            return None;
        }
        let mut before = above(place);
        let (first, second) = (before.next()?, before.next());
        let found = transcript::broken_write(&[&first, raw]);
        let found = found.or_else(|| transcript::broken_write(&[second.as_deref()?, &first, raw]));
        found.map(|found| (event(found), place.end))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;

    #[test]
    fn command_that_a_person_suggests_is_not_run() {
        let entries = |sentence: &str, prompt: &str| {
            let text = format!(
                "> {sentence}\n>\n>   {prompt} echo jiffies > /sys/devices/system/clocksource/clocksource0/current_clocksource\n\
                 >   Time: jiffies clocksource has been installed.\n"
            );
            KernelLog::scan(text.as_bytes(), "log").unwrap().entries.len()
        };
        for sentence in [
            "You should be able to switch by something like:",
            "Could you try another one:",
            "between all of them. You can change it with",
        ] {
            assert_eq!(entries(sentence, "#"), 0, "{sentence}");
        }
        for sentence in
            ["I did something like:", "Then:", "You can see it here:", "Please find the log:"]
        {
            assert_eq!(entries(sentence, "#"), 2, "{sentence}");
        }
        assert_eq!(entries("You can change it with", "root@web1:~#"), 2);
    }

    #[test]
    fn write_that_failed_changes_nothing() {
        const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let entries = |command: &str, output: &str| {
            let text = format!("$ cat {FILE}\nhpet\n$ {command}\n{output}\n$ uptime\n");
            KernelLog::scan(text.as_bytes(), "log").unwrap().entries.len()
        };
        for (command, output) in [
            (format!("echo tsc > {FILE}"), format!("-bash: {FILE}: Permission denied")),
            (format!("sudo echo tsc > {FILE}"), format!("bash: {FILE}: Permission denied")),
            (format!("echo tsc | sudo tee {FILE}"), format!("tee: {FILE}: Invalid argument\ntsc")),
            (format!("echo tsc > {FILE}"), "sh: write error: Invalid argument".to_owned()),
            (format!("echo tsc > {FILE}"), format!("sh: 1: cannot create {FILE}: x")),
        ] {
            assert_eq!(entries(&command, &output), 1, "{command} {output}");
        }
        let command = format!("echo tsc | sudo tee {FILE}");
        assert_eq!(entries(&command, "tsc"), 2);
        assert_eq!(entries(&command, "[    9.000000] write error: Invalid argument"), 2);
    }

    #[test]
    fn source_of_a_program_is_no_log() {
        for text in [
            "/*\n * The kernel says:\n * clocksource: Switched to clocksource hpet\n */\n",
            "@@ -1,3 +1,3 @@ void f(void)\n  * clocksource: Switched to clocksource hpet\n  */\n",
            "/* clocksource: Switched to clocksource hpet */\n",
            "\tpr_info(\"Switched to clocksource hpet\", x);\n",
            "+\tpr_warn(\"timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is too large:\\n\",\n",
            "-\tprintk(KERN_WARNING \"Marking TSC unstable due to clocksource watchdog\"\n",
            "\tmark_tsc_unstable(\"TSCs unsynchronized\");\n",
        ] {
            let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
            assert!(log.entries.is_empty(), "{text}: {:?}", log.entries);
        }
        // In a list of a mail.
        let list = "It says:\n * clocksource: Switched to clocksource hpet\n";
        assert_eq!(KernelLog::scan(list.as_bytes(), "log").unwrap().entries.len(), 1);
        let stamped = "/*\n * [    0.800000] clocksource: Switched to clocksource hpet\n */\n";
        assert_eq!(KernelLog::scan(stamped.as_bytes(), "log").unwrap().entries.len(), 1);
    }
}

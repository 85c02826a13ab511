//! Lines of a guest's console in the log of its host: a program prints them after its own label, between the
//! host's lines.

use super::boots::BACK_S;
use super::{STAMPED, Scanner, Stripped};
use crate::log::continuation::Place;
use crate::log::lines::next_line;
use crate::log::prefix::{printk_stamp, strip};

/// Maximum length of a label.
const LABEL: usize = 96;
/// Maximum number of labels that are kept.
const LABELS: usize = 16;
/// Lines after a labelled one in which the next one with a time stamp is looked for.
const NEXT_WITHIN: usize = 32;

/// The labels of other kernels in a log.
#[derive(Default)]
pub(super) struct Forwarded {
    /// Number of lines that begin with their time stamp.
    plain: u32,
    /// Labels of other kernels.
    labels: Vec<String>,
    /// Number of lines of other kernels, and the line of the first one.
    lines: u32,
    first: u64,
}

impl Scanner {
    /// Whether a line is from a kernel other than that of the log's own lines, which begin with
    /// their time stamp.
    ///
    /// A label alone proves nothing: consoles print the prompt of a login, or a part of another message, before a line.
    /// The time stamps after that continue; those of a guest begin again, and its next line has the same label.
    pub(super) fn is_forwarded(
        &mut self,
        place: Place<'_>,
        raw: &str,
        line: &Stripped<'_>,
    ) -> bool {
        if line.at.is_none() {
            return false;
        }
        let label = label(raw);
        if label.is_none() && !line.program {
            self.forwarded.plain += u32::from(raw.trim_start().starts_with(['[', '<']));
            return false;
        }
        if self.forwarded.plain < STAMPED {
            return false;
        }
        let begins = line.message.starts_with("Linux version ")
            || line.at.zip(self.last_at).is_some_and(|(at, last)| at + BACK_S < last);
        let other = match label {
            Some(label) => {
                let known = self.forwarded.labels.iter().any(|known| known == label);
                let is_other = known || is_of_a_domain(label) || begins && continues(place, label);
                if is_other && !known && self.forwarded.labels.len() < LABELS {
                    self.forwarded.labels.push(label.to_owned());
                }
                is_other
            }
            // A date and the name of a program, beside the log's own lines.
            None => true,
        };
        if other {
            self.forwarded.lines += 1;
            if self.forwarded.lines == 1 {
                self.forwarded.first = self.line;
            }
        }
        other
    }
}

impl Forwarded {
    /// The reason why the answer is open where most lines are of another kernel, as the end of a sentence.
    pub(super) fn mostly(&self, log: &str) -> Option<String> {
        (self.lines > self.plain).then(|| {
            format!(
                "a program prints the console of another kernel in this log ({log}:{}), and most lines are of that one: \
                 give the lines of one",
                self.first
            )
        })
    }
}

/// The text before the time stamp of a line, if it is a label: `guest7: `, `web-1  | `, `[vm-a] `, `(d1) `, `guest> `.
fn label(raw: &str) -> Option<&str> {
    let line = raw.trim_start();
    if line.starts_with(['<', '>']) || printk_stamp(line).is_some() {
        return None;
    }
    let at = line
        .match_indices('[')
        .map(|(at, _)| at)
        .take_while(|at| *at < LABEL)
        .find(|at| printk_stamp(&line[*at..]).is_some())?;
    let label = line[..at].trim_end();
    let bracketed = label.starts_with('[') && label.ends_with(']') && !label.contains(' ');
    let ends = bracketed || !label.starts_with('[') && label.ends_with([':', '|', '>', ')']);
    // The headers of syslog and journald, and `dmesg -x`, are of the log's own kernel.
    let own = strip(line).named
        || label.ends_with("kernel:")
        || label.starts_with("kern")
        || is_numbered(label);
    (ends && !own && label.contains(char::is_alphanumeric)).then_some(label)
}

/// `12:`, as `grep -n` and editors print it, and times of day.
fn is_numbered(label: &str) -> bool {
    label
        .trim_matches(['[', ']', ':', '|', '>', ')'])
        .bytes()
        .all(|byte| !byte.is_ascii_alphabetic())
}

/// The label that Xen puts before the console of a guest: `(d1)`.
fn is_of_a_domain(label: &str) -> bool {
    let number = label.strip_prefix("(d").and_then(|rest| rest.strip_suffix(')'));
    number.is_some_and(|number| {
        number != "0" && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether the next line with a time stamp has the same label.
fn continues(place: Place<'_>, wanted: &str) -> bool {
    let mut end = place.end;
    for _ in 0..NEXT_WITHIN {
        let Some((line, to)) = next_line(place.window, end, place.complete) else { return false };
        if line.contains('[') && strip(&line).at.is_some() {
            return label(&line) == Some(wanted);
        }
        end = to;
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;
    use crate::log::event::Event;

    const HOST: &str = "[    0.000000] Linux version 6.8.0 (a@b) #1 SMP\n\
                        [    0.310000] clocksource: Switched to clocksource tsc-early\n\
                        [    1.350000] clocksource: Switched to clocksource tsc\n\
                        [   40.100000] vnet0: entered promiscuous mode\n";
    const GUEST: [&str; 3] = [
        "[    0.000000] Linux version 5.4.0 (c@d) #2 SMP",
        "[    0.410000] tsc: Marking TSC unstable due to TSCs unsynchronized",
        "[    0.610000] clocksource: Switched to clocksource acpi_pm",
    ];

    fn last(text: &str) -> (Option<String>, Option<String>) {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = log.last(|event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        });
        (name.map(|(_, name)| name), log.mixed)
    }

    fn labelled(front: &str) -> String {
        GUEST.map(|line| format!("{front}{line}\n")).concat()
    }

    #[test]
    fn console_of_a_guest_between_the_lines_of_its_host_is_left_out() {
        for front in [
            "virtqemud[2210]: console vm-a: ",
            "libvirtd[1]: guest7: ",
            "(d1) ",
            "vm-a: ",
            "vm-a | ",
            "[vm-a] ",
            "web-1  | ",
            "guest> ",
            "May 01 10:00:00 host1 qemu-console[77]: ",
        ] {
            let text =
                format!("{HOST}{}[  140.200000] vnet0: left promiscuous mode\n", labelled(front));
            assert_eq!(last(&text), (Some("tsc".to_owned()), None), "{front}");
        }
        let one = format!("{HOST}(d1) [    0.120000] clocksource: Switched to clocksource xen\n");
        assert_eq!(last(&one).0.as_deref(), Some("tsc"));
    }

    #[test]
    fn boot_behind_the_prompt_of_a_console_is_the_hosts() {
        let [banner, mark, switch] = GUEST;
        let text =
            format!("{HOST}host1 login: {banner}\n{mark}\n{switch}\n[   50.100000] eth0: up\n");
        assert_eq!(last(&text).0.as_deref(), Some("acpi_pm"));
        // Time stamps that continue.
        let text = format!(
            "{HOST}host1 login: [   55.000000] clocksource: Switched to clocksource hpet\n[   56.000000] x\n"
        );
        assert_eq!(last(&text).0.as_deref(), Some("hpet"));
    }

    #[test]
    fn labelled_lines_alone_are_a_log() {
        assert_eq!(last(&labelled("(d1) ")).0.as_deref(), Some("acpi_pm"));
        assert_eq!(last(&labelled("vm-a: ")).0.as_deref(), Some("acpi_pm"));
    }

    #[test]
    fn mostly_a_guests_lines_are_of_no_known_machine() {
        let short = "[    0.310000] clocksource: Switched to clocksource tsc-early\n\
                     [    1.350000] clocksource: Switched to clocksource tsc\n";
        assert!(last(&format!("{short}{}", labelled("vm-a: "))).1.is_some());
    }
}

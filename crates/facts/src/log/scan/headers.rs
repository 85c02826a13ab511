//! How many words the headers of a system log have before the name of the writer. Any user can begin the name of a program
//! with other words (`logger -t '10.1.2.3 kernel'`); a syslog daemon writes the host before it, as in all lines of that host.

use crate::log::line_text;
use crate::log::prefix::{Stripped, strip};
use std::collections::BTreeMap;

/// Number of headers in a window that are read before its lines.
const READ: usize = 1024;
/// Number of hosts that are kept.
const HOSTS: usize = 64;

/// The fewest words before the name of the writer, by the first of them; empty where there is none.
#[derive(Debug, Default)]
pub(super) struct Headers(BTreeMap<String, usize>);

impl Headers {
    /// The headers at the beginning of a text.
    pub(super) fn of(window: &[u8]) -> Self {
        let mut all = Self::default();
        // The lines of `dmesg` have no header, and begin with a bracket, perhaps behind the number of the line.
        let has_date = |line: &&[u8]| {
            let first = line.iter().find(|byte| byte.is_ascii_alphanumeric() || **byte == b'[');
            first.is_some_and(|byte| *byte != b'[')
        };
        let lines = window.split(|byte| *byte == b'\n').filter(has_date).take(READ);
        lines.for_each(|line| all.note(&strip(&line_text(line))));
        all
    }

    /// Adds the header of a line, if it has one.
    pub(super) fn note(&mut self, line: &Stripped<'_>) {
        if !(line.named && line.dated) {
            return;
        }
        let host = line.host.unwrap_or_default();
        // That of another program has a host: a word without one may be a part of a message.
        if host.is_empty() && line.kernel != Some(true) {
            return;
        }
        if let Some(words) = self.0.get_mut(host) {
            *words = line.words.min(*words);
        } else if self.0.len() < HOSTS {
            self.0.insert(host.to_owned(), line.words);
        }
    }

    /// Whether other lines that begin alike have fewer words before the name of their writer.
    pub(super) fn has_fewer(&self, line: &Stripped<'_>) -> bool {
        let of = |host: &str| self.0.get(host).is_some_and(|words| *words < line.words);
        of("") || of(line.host.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;
    use crate::log::event::Event;

    #[test]
    fn name_of_the_host_before_that_of_the_kernel_is_a_programs_beside_the_kernels_own_lines() {
        let line = |host: &str, name: &str| {
            format!(
                "Nov 30 09:00:00 {host} kernel: [    9.000000] clocksource: Switched to clocksource {name}\n"
            )
        };
        let last = |text: &str| {
            let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
            log.entries.last().map(|entry| entry.event.clone())
        };
        let switched = |name: &str| Some(Event::Switched(name.to_owned()));
        assert_eq!(last(&(line("db1", "tsc") + &line("db1 db1", "hpet"))), switched("tsc"));
        assert_eq!(last(&(line("db1 db1", "tsc") + &line("db1 db1", "hpet"))), switched("hpet"));
        for name in [
            "127.0.0.1",
            "fe80::1",
            "kern.warning",
            "(kern.info)",
            "[kern]",
            "<6>",
            "(none)",
            "30 Nov 09:00:01 db1",
            "Nov 30 11:00:00 [db1]",
            "message repeated 2 times: [",
        ] {
            let other = line(&format!("db1 {name}"), "hpet");
            assert_eq!(last(&(line("db1", "tsc") + &other)), switched("tsc"), "{name}");
            assert_eq!(last(&(other.clone() + &line("db1", "tsc"))), switched("tsc"), "{name}");
            let program = "Nov 30 09:00:00 db1 sshd[812]: Accepted\n".to_owned();
            assert_eq!(last(&(program + &other)), None, "{name}");
            // Its colon is not that of a header.
            if name.ends_with('[') {
                continue;
            }
            let numbered = |text: &str| {
                text.lines().map(|line| format!("    12\t{line}\n")).collect::<String>()
            };
            assert_eq!(last(&numbered(&(line("db1", "tsc") + &other))), switched("tsc"), "{name}");
        }
        // A relay's own lines have one host, and those of other machines its address before theirs.
        let own = "Nov 30 09:00:00 relay rsyslogd[1]: action resumed\n";
        let relayed = line("10.0.0.5 db1", "tsc") + own + &line("10.0.0.5 db1", "hpet");
        assert_eq!(last(&relayed), switched("hpet"));
        let iso = |front: &str, name: &str| {
            format!(
                "2026-11-30T09:00:00+00:00 {front}kernel: [    9.000000] clocksource: Switched to clocksource {name}\n"
            )
        };
        assert_eq!(last(&(iso("", "tsc") + &iso("x ", "hpet"))), switched("tsc"));
    }
}

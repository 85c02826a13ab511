//! Where the log of an entry ends: by the time stamps, or the dates, of the lines that belong to it.
//!
//! A text may continue after a log with lines of other machines, programs and people, which show nothing about it. So
//! sentences end a part of a text, each depth of quotation has parts of its own, and a line with a host counts only for
//! this host.

use super::dated::{Form, Step};
use super::last_stamp::LastStamp;
use super::parse::begins_like_kernel;
use super::prefix::Stripped;
use super::{Entry, dated, extent, host_of, mail, quoted, transcript, wall};
use crate::paste::is_general_host;

/// Depths of quotation that are separated.
const DEPTHS: usize = 32;
/// Maximum number of hosts that are compared.
const HOSTS: usize = 64;
/// Seconds within which a log continues after a sentence: the console of a boot greets its user.
const NEXT_S: f64 = 5.0;
/// The same once the first program runs: the programs of a boot print sentences while they wait for devices and networks.
const NEXT_IN_USER_SPACE_S: f64 = 60.0;
/// The kernel's message about that, the name of the program removed (`run_init_process()` in init/main.c).
const RUNS_INIT: &str = " as init process";
/// Lines on each side of a step of the dates that are searched for a message about it.
const AROUND: usize = 4;
/// Words of the messages of programs that set the clock.
const SETS: [&str; 10] = [
    "applying delta of",
    "advancing clock",
    "ynchronized to time server",
    "nitial clock synchronization",
    "System clock wrong by",
    "System clock was stepped",
    "setting system clock to",
    "time reset",
    "step time server",
    "Time has been changed",
];

/// What is between a line of a log and the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    Nothing,
    Blank,
    Sentence,
}

/// The writer of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writer {
    Kernel,
    Program,
    Unknown,
}

/// A line with a time stamp or a date.
#[derive(Debug)]
struct Line {
    number: u64,
    depth: usize,
    gap: Gap,
    at: Option<f64>,
    /// Whether it may begin another boot, or concerns clocks.
    tells: bool,
    date: Option<(f64, String)>,
    host: Option<String>,
    writer: Writer,
    /// Whether it can only be a message of a kernel, or names the kernel.
    is_sure: bool,
    /// Whether a program reports that it sets the clock.
    sets: bool,
    /// Whether the kernel starts the first program.
    runs_init: bool,
}

/// The lines of a text that show where its logs end, as they are read.
#[derive(Debug, Default)]
pub(super) struct Gather {
    lines: Vec<Line>,
    read: u64,
    is_blank: bool,
    /// Whether nothing follows the last end of a line.
    is_empty: bool,
    /// Whether a console prompted for a login, after which programs print sentences.
    is_console: bool,
    gaps: [Gap; DEPTHS],
}

/// A part of a text, with lines of one depth of quotation.
#[derive(Clone, Debug, Default, PartialEq)]
struct Part {
    depth: usize,
    begin: u64,
    last_at: Option<f64>,
    forms: Vec<Form>,
}

/// Where the logs of a text end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ends {
    parts: Vec<Part>,
    /// The dates of lines that name their machine, in all parts.
    named: Vec<Form>,
    /// The hosts whose dates count.
    hosts: Vec<String>,
    /// Number of lines that were read: the last ones of the text.
    lines: u64,
    is_whole: bool,
}

impl Gather {
    /// Adds the next line.
    pub(super) fn take(&mut self, line: &str, stripped: &Stripped<'_>, tells: bool) {
        self.read += 1;
        self.is_empty = line.is_empty();
        // The rest of a line of a mail.
        if line.as_bytes() == mail::SKIPPED {
            return;
        }
        let (depth, bare) = unquoted(line);
        if bare.trim().is_empty() {
            self.widen(DEPTHS - 1, Gap::Blank);
            self.is_blank = true;
            return;
        }
        let behind_blank = std::mem::replace(&mut self.is_blank, false);
        let date =
            if dated::has_time(bare) { wall::seconds(line).zip(dated::form(bare)) } else { None };
        let at = stripped.at.filter(|_| date.is_some() || !is_inside(stripped.front(bare)));
        if at.is_none() && date.is_none() {
            if extent::is_login(bare) {
                self.is_console = true;
                self.gaps = self.gaps.map(|gap| gap.min(Gap::Blank));
            }
            if self.is_console {
                return;
            }
            if stripped.at.is_some() || stripped.kernel.is_none() && parts(bare, behind_blank) {
                self.widen(depth, Gap::Sentence);
            }
            return;
        }
        let host = if date.is_some() { host_of(bare) } else { None };
        let writer = match stripped.kernel {
            Some(true) => Writer::Kernel,
            Some(false) => Writer::Program,
            None => Writer::Unknown,
        };
        self.lines.push(Line {
            number: self.read - 1,
            depth,
            gap: std::mem::take(&mut self.gaps[depth]),
            at,
            tells,
            host: host.map(|host| host.name.to_owned()),
            writer,
            is_sure: date.is_some()
                && (stripped.named && writer == Writer::Kernel || is_of_kernel(stripped.message)),
            runs_init: stripped.at.is_some() && stripped.message.ends_with(RUNS_INIT),
            sets: date.is_some() && SETS.iter().any(|words| line.contains(words)),
            date,
        });
    }

    /// Notes what follows the last line of the log at this depth of quotation, and at the lesser ones.
    fn widen(&mut self, depth: usize, gap: Gap) {
        for known in &mut self.gaps[..=depth] {
            *known = gap.max(*known);
        }
    }

    /// Evaluates the lines.
    pub(super) fn finish(self, is_whole: bool) -> Ends {
        let lines = self.read - u64::from(self.is_empty);
        let mut out = Ends { lines, is_whole, ..Ends::default() };
        out.hosts = hosts(&self.lines);
        // In some texts a blank line follows each line.
        let blank = self.lines.iter().filter(|line| line.gap == Gap::Blank).count();
        let is_spaced = blank * 2 > self.lines.len();
        let mut open: [Option<Open>; DEPTHS] = Default::default();
        for (place, line) in self.lines.iter().enumerate() {
            let gap = if is_spaced && line.gap == Gap::Blank { Gap::Nothing } else { line.gap };
            let part = match &mut open[line.depth] {
                Some(open) if gap != Gap::Sentence || open.is_next(line) => open,
                slot => {
                    if let Some(closed) = slot.take() {
                        out.parts.push(closed.part());
                    }
                    slot.insert(Open::new(line))
                }
            };
            part.last = (line.at, line.date.as_ref().map(|(date, _)| *date));
            part.in_user_space |= line.runs_init;
            if let Some(at) = line.at {
                part.stamps.take(at, line.tells);
            }
            let Some((date, form)) = &line.date else { continue };
            let own = line.host.as_ref().is_some_and(|host| out.hosts.contains(host));
            if line.host.is_some() && !own {
                continue;
            }
            if line.host.is_none() && !part.goes_on(line, gap) {
                continue;
            }
            let from = place.saturating_sub(AROUND);
            let around = &self.lines[from..self.lines.len().min(place + AROUND)];
            let step =
                Step { is_set: around.iter().any(|line| line.sets), is_next: gap == Gap::Nothing };
            dated::take(&mut part.forms, form, *date, step);
            if line.host.as_ref().is_some_and(|host| !is_general_host(host)) {
                dated::take(&mut out.named, form, *date, step);
            }
        }
        out.parts.extend(open.into_iter().flatten().map(Open::part));
        out.parts.sort_by_key(|part| part.begin);
        out
    }
}

/// A part whose end was not reached.
struct Open {
    depth: usize,
    begin: u64,
    stamps: LastStamp,
    forms: Vec<Form>,
    /// The time stamp and the date of its last line.
    last: (Option<f64>, Option<f64>),
    /// Whether a blank line came, and no line after it that is certainly of the log.
    is_open: bool,
    /// Whether the first program runs.
    in_user_space: bool,
}

impl Open {
    fn new(line: &Line) -> Self {
        Self {
            depth: line.depth,
            begin: line.number,
            stamps: LastStamp::default(),
            forms: Vec::new(),
            last: (None, None),
            is_open: false,
            in_user_space: false,
        }
    }

    fn part(self) -> Part {
        Part { depth: self.depth, begin: self.begin, last_at: self.stamps.end(), forms: self.forms }
    }

    /// Whether a line follows the last one by seconds.
    fn is_next(&self, line: &Line) -> bool {
        let date = line.date.as_ref().map(|(date, _)| *date);
        if let Some((then, now)) = self.last.0.zip(line.at) {
            let most = if self.in_user_space { NEXT_IN_USER_SPACE_S } else { NEXT_S };
            return (0.0..=most).contains(&(now - then));
        }
        let passed = self.last.1.zip(date);
        passed.is_some_and(|(then, now)| (0.0..=NEXT_S).contains(&(now - then)))
    }

    /// Whether a line without a host continues the log.
    fn goes_on(&mut self, line: &Line, gap: Gap) -> bool {
        self.is_open |= gap == Gap::Blank && !self.forms.is_empty();
        self.is_open &= !line.is_sure;
        line.is_sure || !self.is_open && line.writer != Writer::Unknown
    }
}

impl Ends {
    /// Whether a host may be the machine of the kernel's lines.
    pub(super) fn is_own(&self, host: &str) -> bool {
        self.hosts.is_empty() || self.hosts.iter().any(|known| known == host)
    }

    /// The last time stamp of the log with this entry; `lines` is the number of lines in the text.
    pub(super) fn last_at(&self, entry: &Entry, lines: u64) -> Option<f64> {
        entry.at.and(self.part(entry, lines)?.last_at)
    }

    /// Seconds from an entry to the end of its log, by the dates.
    pub(super) fn seconds_behind(&self, entry: &Entry, lines: u64) -> Option<f64> {
        let (_, bare) = unquoted(&entry.text);
        let (form, date) = (dated::form(bare)?, wall::seconds(&entry.text)?);
        let forms = match host_of(bare) {
            Some(host) if !self.hosts.iter().any(|known| known == host.name) => return None,
            Some(host) if !is_general_host(host.name) => &self.named,
            _ => &self.part(entry, lines)?.forms,
        };
        dated::seconds_behind(forms, &form, date, self.is_whole)
    }

    fn part(&self, entry: &Entry, lines: u64) -> Option<&Part> {
        let (depth, _) = unquoted(&entry.text);
        let mut of = self.parts.iter().filter(|part| part.depth == depth);
        // The lines that were read are the last ones.
        match (entry.line + self.lines).checked_sub(lines + 1) {
            Some(number) => of.rfind(|part| part.begin <= number),
            None => of.next(),
        }
    }
}

/// The hosts with lines of the kernel: a text with two such machines is not read as one. A machine with a general name
/// takes its own during the boot. In the end of a text that has no lines of the kernel, its only host.
fn hosts(lines: &[Line]) -> Vec<String> {
    let mut of_kernel: Vec<String> = Vec::new();
    let mut others: Vec<(&String, Gap)> = Vec::new();
    for line in lines {
        let Some(host) = &line.host else { continue };
        if line.writer == Writer::Kernel && !of_kernel.contains(host) {
            of_kernel.push(host.clone());
        } else if others.len() < HOSTS && !others.iter().any(|(other, _)| *other == host) {
            others.push((host, line.gap));
        }
    }
    others.retain(|(host, _)| !of_kernel.contains(host));
    let is_unnamed = of_kernel.iter().all(|host| is_general_host(host));
    if let [(only, gap)] = others.as_slice()
        && is_unnamed
        && (of_kernel.is_empty() || *gap == Gap::Nothing)
    {
        of_kernel.push((*only).clone());
    }
    of_kernel
}

/// A line without the signs of quotation, and their number.
fn unquoted(line: &str) -> (usize, &str) {
    let bare = line.trim_start_matches(['>', ' ', '\t']);
    (quoted::depth(line).min(DEPTHS - 1), bare)
}

/// Whether a line without a prefix parts two logs: a sentence, or a heading.
fn parts(line: &str, behind_blank: bool) -> bool {
    let text = line.trim();
    let words = text.split_ascii_whitespace().count();
    let begins = text
        .trim_start_matches(|c: char| c.is_ascii_digit() || "#*-_=~.) ".contains(c))
        .starts_with(char::is_alphabetic);
    begins
        && (behind_blank && (words > 1 || text.ends_with(':')) || words > 2 && text.ends_with(':'))
        && !transcript::is_prompt(text)
}

/// Whether a time stamp is inside a sentence, by the text before its message: words without a date precede it.
fn is_inside(front: Option<&str>) -> bool {
    let Some(words) = front.and_then(|front| front.split('[').next()) else { return false };
    words.split_ascii_whitespace().filter(|word| word.starts_with(char::is_alphabetic)).count() > 2
}

/// Whether only a kernel prints a message: it is about clocks, or names a device as drivers do.
fn is_of_kernel(message: &str) -> bool {
    let message = message.trim_start();
    if begins_like_kernel(message) {
        return true;
    }
    let Some((head, _)) = message.split_once(": ") else { return false };
    let mut words = head.split(' ');
    let (Some(driver), Some(device), None) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let is_driver = driver.len() > 1
        && driver.starts_with(|c: char| c.is_ascii_alphabetic())
        && driver.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let inside = device.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let device = inside.unwrap_or(device);
    is_driver
        && device.bytes().any(|byte| byte.is_ascii_digit())
        && device.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::event::Event;
    use crate::log::{Entry, KernelLog};

    fn switch(log: &KernelLog) -> &Entry {
        log.last(|event| matches!(event, Event::Switched(_)).then_some(())).unwrap().0
    }

    fn behind(text: &str) -> Option<f64> {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        log.seconds_behind(switch(&log))
    }

    fn ends_at(text: &str) -> Option<f64> {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        log.ends_at(switch(&log))
    }

    const HEADED: &str = "Oct 10 23:51:01 lap kernel: tsc: Fast TSC calibration using PIT\n\
                          Oct 10 23:51:02 lap kernel: clocksource: Switched to clocksource tsc\n";
    const DATED: &str = "[Wed Aug 21 01:46:41 2024] tsc: Fast TSC calibration using PIT\n\
                         [Wed Aug 21 01:46:42 2024] clocksource: Switched to clocksource tsc\n";
    const STAMPED: &str = "[    0.100000] tsc: Fast TSC calibration using PIT\n\
                           [    1.400000] clocksource: Switched to clocksource tsc\n";

    #[test]
    fn dates_of_the_same_machine_show_where_its_log_ends() {
        for (more, wanted) in [
            ("Oct 10 23:52:02 lap sshd[811]: Accepted publickey\n", 60.0),
            ("\nand later\nOct 10 23:52:02 lap kernel: usb 1-1: x\n", 60.0),
            ("Oct 11 09:12:40 srv sshd[811]: Accepted publickey\n", 0.0),
            ("\nOn the other box\nOct 11 09:12:40 srv sshd[811]: Accepted publickey\n", 0.0),
            ("2024-10-11T09:12:40 finished\n", 0.0),
        ] {
            assert_eq!(behind(&format!("{HEADED}{more}")), Some(wanted), "{more}");
        }
        let later = "Oct 10 23:52:02 lap kernel: usb 1-1: x\n";
        for undated in
            ["undated\n".repeat(40), "# CONFIG_X is not set\nCONFIG_Y=y\n".repeat(20_000)]
        {
            assert_eq!(behind(&format!("{HEADED}{later}{undated}")), Some(60.0));
        }
    }

    #[test]
    fn host_that_gets_its_name_is_the_same_machine() {
        let log = HEADED.replace(" lap ", " localhost ");
        let later = "Oct 10 23:52:02 lap systemd[1]: Reached target Basic System.\n";
        assert_eq!(behind(&format!("{log}{later}")), Some(60.0));
        assert_eq!(behind(&format!("{log}\nOn my server:\n{later}")), Some(0.0));
        let two = later.replace(" lap ", " srv ");
        assert_eq!(behind(&format!("{log}{later}{two}")), Some(0.0));
    }

    #[test]
    fn clock_that_is_set_leaves_the_time_between_unknown() {
        let said = "Oct 10 23:51:04 lap systemd[1]: RTC configured in localtime, applying delta of 120 minutes to system time.\n";
        for (more, wanted) in [
            (format!("{said}Oct 11 01:51:05 lap kernel: usb 1-1: x\n"), 2.0),
            (
                format!(
                    "{}Oct 10 21:51:07 lap kernel: usb 1-1: x\nOct 10 21:53:07 lap kernel: usb 1-1: y\n",
                    said.replace("23:51:04", "21:51:06")
                ),
                121.0,
            ),
            // Another boot, or another machine.
            ("Oct 10 21:51:06 lap kernel: x\nOct 10 22:51:06 lap kernel: x\n".to_owned(), 0.0),
        ] {
            assert_eq!(behind(&format!("{HEADED}{more}")), Some(wanted), "{more}");
        }
        let unset = HEADED.replace("Oct 10 23:51", "Jan  1 00:00");
        assert_eq!(behind(&format!("{unset}Oct 11 09:12:40 lap kernel: x\n")), Some(0.0));
        assert_eq!(behind(&format!("{unset}Jan  1 00:01:02 lap kernel: x\n")), Some(60.0));
        let new_year = HEADED.replace("Oct 10", "Dec 31");
        let more = "Jan  1 00:00:10 lap kernel: x\nJan  1 00:00:50 lap kernel: x\n";
        assert_eq!(behind(&format!("{new_year}{more}")), Some(40.0));
    }

    #[test]
    fn dates_without_a_host_belong_to_the_log_in_front_of_them_alone() {
        let usb = "[Wed Aug 21 01:47:42 2024] usb 1-1: new device\n";
        let chat = "[Wed Aug 21 05:50:29 2024] someone says: a line\n";
        for (more, wanted) in [
            (usb.to_owned(), 60.0),
            (format!("\n{usb}"), 60.0),
            (format!("[...]\n{usb}"), 60.0),
            (format!("\n{chat}"), 0.0),
            (format!("\nfrom the chat:\n{chat}{chat}"), 0.0),
            (format!("\nMy second laptop prints\n\n{usb}"), 0.0),
            (format!("> {usb}"), 0.0),
        ] {
            assert_eq!(behind(&format!("{DATED}{more}")), Some(wanted), "{more}");
        }
        let job = "2024-08-21 01:46:41 tsc: Fast TSC calibration using PIT\n\
                   2024-08-21 01:46:42 clocksource: Switched to clocksource tsc\n\
                   2024-08-21 01:52:42 the emulator has ended\n";
        assert_eq!(behind(job), Some(0.0));
    }

    #[test]
    fn stamps_behind_a_sentence_are_of_another_log() {
        let usb = "[ 4711.123456] usb 1-1: reset device\n";
        for (more, wanted) in [
            (usb.to_owned(), 4_711.123_456),
            (format!("\n{usb}"), 4_711.123_456),
            (format!("\nThe other box says:\n\n{usb}"), 1.4),
            (format!("\nA friend wrote:\n> {usb}> {usb}"), 1.4),
            (format!("\nPeople often see {usb}"), 1.4),
            // A console.
            (format!("\nWelcome to Debian!\n\n[    2.100000] systemd[1]: x\n{usb}"), 4_711.123_456),
            (
                format!("\nDebian 12 deb tty1\n\ndeb login: root\n\nThe programs are free.\n{usb}"),
                4_711.123_456,
            ),
        ] {
            assert_eq!(ends_at(&format!("{STAMPED}{more}")), Some(wanted), "{more}");
        }
        // Programs of a boot wait for a device.
        let waits = "Configuring the network:\nAll addresses of eth0 are:\n";
        let init = "[    1.500000] Run /init as init process\n";
        let later = "[   13.000000] usb 1-1: reset device\n";
        assert_eq!(ends_at(&format!("{STAMPED}{init}{waits}{later}")), Some(13.0));
        assert_eq!(ends_at(&format!("{STAMPED}{waits}{later}")), Some(1.4));
        assert_eq!(ends_at(&format!("{STAMPED}{init}{waits}{usb}")), Some(1.5));
        // Lines above the log.
        assert_eq!(ends_at(&format!("{usb}\nThe whole log is\n\n{STAMPED}")), Some(1.4));
        // A reply between the lines of a quoted log.
        let quoted = STAMPED.replace('[', "> [");
        assert_eq!(ends_at(&format!("{quoted}\nThis is fine.\n\n> {usb}")), Some(4_711.123_456));
    }

    #[test]
    fn user_space_of_another_host_is_not_that_of_the_log() {
        let reaches = |more: &str| {
            let text = format!("{HEADED}{more}");
            KernelLog::scan(text.as_bytes(), "log").unwrap().extent.reaches_user_space
        };
        assert!(reaches("Oct 10 23:51:09 lap systemd[1]: Started x.\n"));
        assert!(!reaches("Oct 10 23:51:09 srv systemd[1]: Started x.\n"));
    }
}

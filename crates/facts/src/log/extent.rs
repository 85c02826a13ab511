//! The extent of a log: its last time stamp, and whether it was filtered, so that an absent line may have
//! been removed.
//!
//! The head and the tail of the text are examined line by line; the rest only as bytes.

use super::afterwards::{self, Later};
use super::behind_switch::BehindSwitch;
use super::cut;
use super::ends::{self, Ends};
use super::last_stamp::{LastStamp, last_stamp};
use super::lines::text;
use super::prefix::strip;
use serde::Serialize;

/// Bytes of the end that are kept.
const TAIL: usize = 256 << 10;
/// Bytes of the beginning that are kept.
const HEAD: usize = 8 << 10;
/// Lines without a word about clocks from which on a log was not made by searching for such words.
const ORDINARY: u32 = 5;

/// Lines without a time stamp for each one with it, above which a text is prose that quotes a log, not a log with some
/// wrapped lines.
const BARE_PER_STAMP: u32 = 2;

/// Lines with a time stamp from which on a text is a log with time stamps.
const STAMPED: usize = 2;

/// Common search words that the line `clocksource: Switched to clocksource tsc` does not contain.
const SEARCHED: [&str; 20] = [
    "hpet", "acpi", "kvm", "xen", "hyper", "timer", "jiffies", "vmware", "apic", "unstable",
    "watchdog", "mhz", "smp", "pm", "mask", "register", "idle", "cpu", "boot", "delta",
];

/// Words of lines that concern clocks.
const CLOCK_WORDS: [&str; 12] = [
    "clock", "tsc", "hpet", "acpi_pm", "pm-timer", "timer", "jiffies", "kvm", "xen", "hyper-v",
    "watchdog", "calibrat",
];

/// Words of messages that come after the kernel has settled on its clocksource: user space, and the file systems
/// that it mounts.
const LATE: [&str; 15] = [
    "systemd[1]",
    "systemd-journald[",
    "systemd-udevd[",
    "[  ok  ] ",
    "] reached target ",
    "freeing unused kernel",
    "run /init",
    "run /sbin/init",
    "ext4-fs",
    "xfs (",
    "btrfs: ",
    "btrfs info (",
    "remounted",
    "link is up",
    "link becomes ready",
];

/// Messages that nearly every boot prints after its first choice of a clocksource, of unrelated subsystems: a search
/// for some words leaves few of these kinds.
const KINDS: [&[u8]; 40] = [
    b"NET: Registered ",
    b"TCP: ",
    b"UDP hash",
    b"UDP-Lite",
    b"io scheduler ",
    b"Serial: 8250",
    b"Key type ",
    b"Freeing initrd",
    b"Freeing unused",
    b"Trying to unpack rootfs",
    b"Unpacking initramfs",
    b"i8042",
    b"Block layer SCSI",
    b"VFS: ",
    b"usbcore: ",
    b"input: ",
    b"random: ",
    b"squashfs",
    b"fuse init",
    b"fuse: init",
    b"msgmni",
    b"audit: ",
    b"workingset: ",
    b"zbud: ",
    b"HugeTLB",
    b"loop: ",
    b"mousedev: ",
    b"rtc_cmos",
    b"scsi host",
    b"scsi0",
    b"ata1",
    b"registered taskstats",
    b"Registered taskstats",
    b"Magic number",
    b"Run /",
    b"systemd[1]",
    b"Switched to NOHz",
    b"futex hash",
    b"Linux agpgart",
    b"Non-volatile memory driver",
];
/// Minimum number of kinds that a whole log has after the choice: such logs have 18 to 31, those that were searched for
/// up to six words have ten or fewer.
const KINDS_OF_A_BOOT: usize = 12;

/// The beginning of the line that names the chosen clocksource.
const CHOICE: &str = "clocksource: Switched to clocksource ";

/// The number of the first block of indented code: those between fences have lower ones.
const INDENTED: u32 = 1 << 20;

/// The extent of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Extent {
    /// The last time stamp of the text, in seconds since boot.
    pub last_at: Option<f64>,
    /// Where the logs of the text end.
    #[serde(skip)]
    pub(super) ends: Ends,
    /// Whether the last lines of the text were left out.
    #[serde(skip)]
    pub(super) is_left: bool,
    /// Separate blocks of code (between fences, or indented below sentences) without time stamps name different chosen
    /// clocksources, or lines with placeholder time stamps name a different one from the other lines: the text has
    /// examples, or is of several machines.
    #[serde(skip)]
    pub examples: bool,
    /// Whether all lines about clocks are below sentences that do not say whose machine printed them, in a text that
    /// has no other sign of its writer's machine.
    #[serde(skip)]
    pub ownerless: bool,
    /// Lines that were examined.
    pub sampled: u32,
    /// Lines among them that do not concern clocks.
    pub ordinary: u32,
    /// A word that each of them contains: the text was probably made by searching for it.
    pub common: Option<String>,
    /// Names in lines with the word `clocksource`.
    named: Vec<String>,
    /// Whether the messages after the last switch, if that is to a clocksource other than tsc, are
    /// of so many kinds that none can have been removed.
    #[serde(skip)]
    shows_all: bool,
    /// Whether a message of user space or of a mounted file system is among the last lines.
    pub reaches_user_space: bool,
    /// Lines between the last such message and the end of the text.
    user_space_before_end: u64,
    /// Whether lines without a time stamp prevail in a text that has time stamps: prose that quotes single lines.
    pub quotes_lines: bool,
    /// Whether the text has a login prompt.
    pub reaches_login: bool,
    /// Whether the text ends inside a message about another clocksource, before its name or its outcome.
    #[serde(skip)]
    pub ends_inside: bool,
    /// Characters of the longest line that is not a list of flags.
    #[serde(skip)]
    pub(super) longest: usize,
    /// Whether the last line has no line end.
    #[serde(skip)]
    pub(super) is_unfinished: bool,
}

impl Extent {
    /// Whether a message of user space, or of a mounted file system, follows a line of a text with this number of
    /// lines.
    #[must_use]
    pub fn reaches_user_space_behind(&self, line: u64, lines: u64) -> bool {
        self.reaches_user_space && lines.saturating_sub(self.user_space_before_end) > line
    }

    /// Whether enough lines do not concern clocks to show that the text was not made by searching for clocks.
    #[must_use]
    pub fn is_ordinary(&self) -> bool {
        self.common.is_none() && self.ordinary >= ORDINARY
    }

    /// Whether the text seems to contain all kernel messages after the last switch.
    #[must_use]
    pub fn shows_all_behind_switch(&self) -> bool {
        self.shows_all
    }

    /// Whether this text would contain a later switch to the TSC, if `name` is the clocksource of its last switch.
    #[must_use]
    pub fn would_show_switch_after(&self, name: &str) -> bool {
        if self.sampled == 0 || self.common.is_some() {
            return false;
        }
        self.ordinary >= ORDINARY || self.named.iter().any(|line| !line.contains(name))
    }
}

/// The message after a placeholder time stamp: `[    X.XXXXXX] clocksource: ...`, `[  123.456789] ...`.
fn behind_form(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['>', ' ', '\t']);
    let (inside, message) = line.strip_prefix('[')?.split_once(']')?;
    let (whole, fraction) = inside.trim().split_once(['.', ','])?;
    let is_form =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| b"XxNn#?*".contains(&byte));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let is_open = is_form(fraction) && (is_form(whole) || is_number(whole));
    let counts_up = is_number(fraction) && format!("{whole}{fraction}").starts_with("1234567");
    (is_open || counts_up).then(|| message.trim_start())
}

/// Stores the clocksource that a message in a block names as chosen, once.
fn note_choice(names: &mut Vec<(u32, String)>, block: u32, message: &str) {
    let name = message.strip_prefix(CHOICE).and_then(|rest| rest.split_whitespace().next());
    if let Some(name) = name
        && !names.iter().any(|(of, known)| *of == block && known == name)
    {
        names.push((block, name.to_owned()));
    }
}

/// `debian login: `, `(none) login: root`.
pub(super) fn is_login(line: &str) -> bool {
    line.trim_end().split_once(" login:").is_some_and(|(host, name)| {
        !host.trim().contains(' ') && host.len() < 64 && !name.trim().contains(' ')
    })
}

/// Some lines with those of a kernel's configuration empty: thousands of them after a log would leave no room for its
/// end.
fn without_configuration(lines: &[u8]) -> Option<Vec<u8>> {
    memchr::memmem::find(lines, b"\nCONFIG_")?;
    let mut out = Vec::with_capacity(lines.len());
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let is_setting = line.starts_with(b"CONFIG_") || line.starts_with(b"# CONFIG_");
        let kept = if is_setting && line.ends_with(b"\n") { b"\n" } else { line };
        out.extend_from_slice(kept);
    }
    Some(out)
}

/// Gathers the head and the tail of a text that is read in windows.
#[derive(Debug, Default)]
pub(super) struct Gather {
    head: Vec<u8>,
    tail: Vec<u8>,
    whole: bool,
    seen: u64,
    /// The last time stamp before the tail.
    at_before_tail: Option<f64>,
}

impl Gather {
    /// Stores complete lines.
    pub(super) fn lines(&mut self, lines: &[u8]) {
        match without_configuration(lines) {
            Some(lines) => self.store(&lines),
            None => self.store(lines),
        }
    }

    fn store(&mut self, lines: &[u8]) {
        self.seen += lines.len() as u64;
        if self.head.len() < HEAD {
            let room = HEAD - self.head.len();
            self.head.extend_from_slice(&lines[..lines.len().min(room)]);
        }
        if lines.len() >= TAIL {
            let (dropped, kept) = lines.split_at(lines.len() - TAIL);
            let at = last_stamp(dropped).or_else(|| last_stamp(&self.tail));
            self.at_before_tail = at.or(self.at_before_tail);
            self.tail.clear();
            self.tail.extend_from_slice(kept);
        } else {
            let keep = TAIL - lines.len();
            let cut = self.tail.len().saturating_sub(keep);
            self.at_before_tail = last_stamp(&self.tail[..cut]).or(self.at_before_tail);
            self.tail.drain(..cut);
            self.tail.extend_from_slice(lines);
        }
        self.whole = self.seen <= TAIL as u64;
    }

    /// Discards the earlier lines: a new boot begins.
    pub(super) fn restart(&mut self) {
        self.head.clear();
        self.at_before_tail = None;
    }

    /// Whether the lines without a time stamp are a log, which quotes others with time stamps.
    fn is_bare_log(&self) -> bool {
        let begins =
            |kind: &[u8]| memchr::memmem::find(&self.tail, &[b"\n", kind].concat()).is_some();
        KINDS.iter().filter(|kind| begins(kind)).take(KINDS_OF_A_BOOT).count() == KINDS_OF_A_BOOT
    }

    fn shows_all(&self) -> bool {
        let switch = [&b"to clocksource "[..], b" clocksource has been installed"]
            .iter()
            .filter_map(|words| memchr::memmem::rfind(&self.tail, words))
            .max();
        // The switch is in the head of a text that is too long to be kept.
        let Some(at) = switch else { return !self.whole };
        let behind = &self.tail[at..];
        let kinds = KINDS.iter().filter(|kind| memchr::memmem::find(behind, kind).is_some());
        kinds.take(KINDS_OF_A_BOOT).count() == KINDS_OF_A_BOOT
    }

    /// The lines below the last record of the kernel after which another clocksource may be in use, in a text with this
    /// number of lines.
    pub(super) fn later(&self, lines: u64) -> Vec<Later> {
        afterwards::find(&self.tail, lines)
    }

    /// Evaluates the lines.
    pub(super) fn finish(&self) -> Extent {
        let mut out = Extent::default();
        let mut common: Option<Vec<&str>> = None;
        let mut last = 0;
        // The last message of user space from each host.
        let mut late: Vec<(Option<String>, usize)> = Vec::new();
        let (mut with_stamp, mut bare) = (0, 0);
        let mut run = BehindSwitch::default();
        let mut of_tail = false;
        let (mut fences, mut prose) = (0, 0);
        let mut last_at = LastStamp::default();
        let mut ends = ends::Gather::default();
        let mut chosen: Vec<(u32, String)> = Vec::new();
        // Names that are chosen after a placeholder time stamp, and after others.
        let (mut in_form, mut in_fact, mut facts) = (Vec::new(), Vec::new(), 0);
        let cut = usize::from(!self.whole);
        // The first line of a truncated tail, and the last one of a truncated head, may be incomplete.
        let tail = || self.tail.split(|byte| *byte == b'\n').skip(cut);
        let head = || self.head.split(|byte| *byte == b'\n');
        let heads = if self.whole { 0 } else { head().count().saturating_sub(1) };
        let stamp = |line: &&[u8]| strip(&text(line, 0, line.len())).is_of_a_log();
        let stamped = head().take(heads).chain(tail()).filter(stamp).take(STAMPED).count()
            == STAMPED
            && !self.is_bare_log();
        for (number, line) in head().take(heads).chain(tail()).enumerate() {
            let line = text(line, 0, line.len());
            last = number;
            let stripped = strip(&line);
            let head = stripped.message.get(..5).unwrap_or_default();
            if !head.eq_ignore_ascii_case("flags") {
                out.longest = out.longest.max(line.len());
            }
            let said = |word: &str| stripped.message.contains(word);
            let tells = stripped.at.is_some_and(|at| {
                at < 0.5
                    || ["Linux version ", "clock", "TSC", "tsc"].into_iter().any(said)
                    || super::wall::seconds(&line).is_some()
            });
            if let Some(at) = stripped.at {
                last_at.take(at, tells);
                of_tail |= number >= heads;
            }
            if number >= heads {
                ends.take(&line, &stripped, tells);
            }
            fences += u32::from(line.trim_start().starts_with("```"));
            if stripped.kernel.is_none()
                && stripped.message.trim_start().starts_with(CHOICE)
                && let Some(name) = stripped.message.split_whitespace().last()
            {
                let indented = fences % 2 == 0 && is_indented(&line);
                let block = if indented { 2 * prose + 1 + INDENTED } else { fences };
                chosen.push((block, name.to_owned()));
            } else if stripped.kernel.is_none() && !is_indented(&line) && is_prose(&line) {
                prose += 1;
            }
            if let Some(message) = behind_form(&line) {
                note_choice(&mut in_form, fences, message);
            } else {
                note_choice(&mut in_fact, fences, stripped.message);
                facts += u32::from(stripped.at.is_some());
            }
            out.reaches_login |= number >= heads && is_login(&line);
            // In a log with time stamps or headers, lines without a prefix are parts of others, or text of the sender.
            with_stamp += u32::from(stripped.is_of_a_log());
            run.take(&stripped);
            if stamped && stripped.kernel.is_none() {
                bare += u32::from(!stripped.message.trim().is_empty());
                continue;
            }
            let lower = line.to_lowercase();
            if number >= heads && LATE.iter().any(|word| lower.contains(word)) {
                let host = super::host_of(&line).map(|host| host.name.to_owned());
                match late.iter_mut().find(|(known, _)| *known == host) {
                    Some((_, last)) => *last = number,
                    None => late.push((host, number)),
                }
            }
            // Lines of other programs are not part of a kernel log, and bundles leave them out.
            if stripped.kernel == Some(false) {
                continue;
            }
            let message = stripped.message.trim().to_lowercase();
            if message.is_empty() || message.starts_with('#') {
                continue;
            }
            out.sampled += 1;
            if !CLOCK_WORDS.iter().any(|word| message.contains(word)) {
                out.ordinary += 1;
            }
            if message.contains("clocksource") {
                out.named.push(message.clone());
            }
            let left = common.get_or_insert_with(|| SEARCHED.to_vec());
            left.retain(|word| message.contains(word));
        }
        out.ends = ends.finish(self.whole);
        late.retain(|(host, _)| host.as_ref().is_none_or(|host| out.ends.is_own(host)));
        let late = late.iter().map(|(_, number)| *number).max();
        out.reaches_user_space = late.is_some();
        // The log ends before the tail, which is of something else.
        let before = self.at_before_tail.filter(|_| !of_tail);
        out.last_at = before.or_else(|| last_at.end());
        out.shows_all = self.shows_all();
        out.is_unfinished = self.tail.last().is_some_and(|byte| *byte != b'\n');
        let mut lines =
            self.tail.rsplit(|byte| *byte == b'\n').map(|line| text(line, 0, line.len()));
        out.ends_inside = lines.find(|line| !line.trim().is_empty()).is_some_and(|line| {
            let stripped = strip(&line);
            let is_kernels = stripped.kernel == Some(true) || stripped.at.is_some();
            is_kernels && cut::ends_inside(stripped.message)
        });
        // Placeholders that contradict those of another block, or a few lines, are examples. In a text with a log, the
        // log is the sender's evidence.
        let shows_forms = in_form.iter().any(|(block, name)| {
            let is_other = |(of, other): &(u32, String)| of != block && other != name;
            in_form.iter().any(is_other)
                || facts < ORDINARY && in_fact.iter().any(|(_, other)| other != name)
        });
        out.examples = shows_forms
            || chosen.iter().any(|(block, name)| {
                block % 2 == 1
                    && chosen
                        .iter()
                        .any(|(other, second)| other % 2 == 1 && other != block && name != second)
            });
        out.quotes_lines = bare > BARE_PER_STAMP * with_stamp && !run.is_of_log();
        out.user_space_before_end = u64::try_from(last - late.unwrap_or(0)).unwrap_or(u64::MAX);
        out.common = common.and_then(|words| words.first().map(|word| (*word).to_owned()));
        out
    }
}

/// Whether a line is indented like a block of code.
fn is_indented(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with('\t')
}

/// Whether a line is a sentence, or a part of one.
fn is_prose(line: &str) -> bool {
    line.starts_with(char::is_alphabetic) && line.split_ascii_whitespace().count() >= 3
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::KernelLog;

    #[test]
    fn indented_blocks_that_differ_are_examples() {
        let examples =
            |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap().extent.examples;
        let block = |name: &str| format!("    clocksource: Switched to clocksource {name}\n\n");
        let (hpet, tsc) = (block("hpet"), block("tsc"));
        let text = format!(
            "If the kernel prints\n\n{hpet}reads are slow. If it prints\n\n{tsc}all is well.\n"
        );
        assert!(examples(&text));
        assert!(!examples(&format!("My log says this:\n\n{hpet}{tsc}That is all.\n")));
        assert!(!examples(&format!("My log says this:\n\n{tsc}and again it says\n\n{tsc}")));
    }

    #[test]
    fn a_log_with_other_output_behind_it_quotes_no_single_lines() {
        let quotes =
            |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap().extent.quotes_lines;
        let mut log = "[    0.000000] Linux version 6.11.0\n".to_owned();
        log += "[    1.400000] clocksource: Switched to clocksource tsc\n";
        for at in 0..100 {
            log += &format!("[    {}.500000] usb 1-{at}: new device\n", 2 + at);
        }
        let output = "a row of a table\n".repeat(600);
        assert!(!quotes(&log));
        assert!(!quotes(&format!("{log}{output}")));
        // A line that is quoted below them is of any boot.
        let quoted = "[    1.400000] clocksource: Switched to clocksource tsc\n[    1.500000] x\n";
        assert!(quotes(&format!("{log}{output}{quoted}")));
        assert!(quotes(&format!("{quoted}{output}")));
        // Lines of one boot beside the switch of another.
        let other = log.split_inclusive('\n').skip(2).collect::<String>();
        assert!(quotes(&format!("{quoted}{output}{other}")));
    }

    #[test]
    fn a_log_ends_at_its_last_stamp_whatever_follows_it() {
        let end = |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap().extent.last_at;
        let mut log = String::new();
        for at in 0..500 {
            log += &format!("[    {at}.000000] usb 1-{at}: new device\n");
        }
        for rows in [10, 20_000, 60_000] {
            let output = "a row of a table [x] [1]\n".repeat(rows);
            assert_eq!(end(&format!("{log}{output}")), Some(499.0), "{rows}");
            assert_eq!(end(&format!("{log}{output}[  800.000000] x\n")), Some(800.0), "{rows}");
        }
    }

    #[test]
    fn forms_of_lines_that_differ_are_examples() {
        let examples =
            |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap().extent.examples;
        let switched = |stamp: &str, name: &str| {
            format!("[{stamp}] clocksource: Switched to clocksource {name}\n")
        };
        let hpet = switched("  612.400000", "hpet");
        for form in ["    X.XXXXXX", "x.xxx", "    0.######", "  NNN.NNNNNN", "  123.456791"] {
            let tsc = switched(form, "tsc");
            assert!(examples(&format!("{tsc}or\n{hpet}")), "{form}");
            assert!(examples(&format!("> {tsc}or\n> {hpet}")), "{form}");
            let other = switched("1234.567890", "hpet");
            assert!(examples(&format!("```\n{tsc}```\nor\n```\n{other}```\n")), "{form}");
            // Its time stamps were removed, it has the same meaning, or it is next to a log.
            assert!(!examples(&format!("{tsc}{}", switched(form, "hpet"))), "{form}");
            assert!(!examples(&format!("{}{hpet}", switched(form, "hpet"))), "{form}");
            let log = "[  611.100000] usb 1-1: new high-speed USB device\n".repeat(5);
            assert!(!examples(&format!("Look for {tsc}{tsc}Mine:\n{log}{hpet}")), "{form}");
        }
        let tsc = switched("    1.600000", "tsc");
        assert!(!examples(&format!("{tsc}{hpet}")));
        assert!(!examples(&format!("[x] ok {tsc}{hpet}")));
    }

    #[test]
    fn prose_beside_lines_with_headers_is_no_part_of_the_log() {
        let log = "Dec 24 21:07:06 kernel: tsc: Detected 3293.790 MHz processor\n\
                   Dec 24 21:07:07 kernel: clocksource: Switched to clocksource tsc\n\
                   Dec 24 21:07:28 kernel: kvm_amd: TSC scaling supported\n";
        let prose = "Hello,\nthis is what\nmy laptop\nof last year\nsays:\n";
        for text in [log.to_owned(), format!("{prose}{log}"), format!("{log}{prose}")] {
            let extent = KernelLog::scan(text.as_bytes(), "log").unwrap().extent;
            assert_eq!((extent.sampled, extent.ordinary), (3, 0), "{text}");
        }
    }
}

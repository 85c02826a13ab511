//! Logs whose newest line comes first (`journalctl -r` and `-e -r`, `tac`, the consoles of log stores): blocks of lines
//! whose stamps fall are put in the order of time.

use super::banner;
use super::lines::text;
use super::prefix::strip;
use super::{journal, transcript, wall};

/// Falling stamps from which on a block without dates is taken for a reversed one only because of its stamps: in fewer,
/// each line may be of another boot.
const FALLS: usize = 8;
/// A block of this many falls may have one rise: where one boot ends and the next one begins.
const FALLS_PER_RISE: usize = 8;

/// A text with its blocks in the order of time.
pub(super) struct Ordered {
    pub(super) text: Vec<u8>,
    /// The first and the last line of each block that was turned round, from 1.
    pub(super) turned: Vec<(u64, u64)>,
}

/// Bytes at the beginning of a line in which its stamp is.
const FRONT: usize = 256;

/// When a line was written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    /// By its date.
    wall: Option<f64>,
    /// Since the boot.
    boot: Option<f64>,
}

impl Stamp {
    fn of(raw: &[u8]) -> Option<Self> {
        // Records of journals may have it anywhere; in other lines it is at the beginning.
        let is_record = is_record(raw);
        let front = if is_record { raw } else { &raw[..raw.len().min(FRONT)] };
        let may_have = is_record
            || memchr::memchr(b'[', front).is_some()
            || memchr::memchr_iter(b':', front).nth(1).is_some();
        if !may_have {
            return None;
        }
        let line = text(front, 0, front.len());
        let stamp = match journal::message(&line) {
            Some(record) => Self { wall: wall::seconds(&line).or(record.written), boot: record.at },
            None => Self { wall: wall::seconds(&line), boot: strip(&line).at },
        };
        (stamp.wall.is_some() || stamp.boot.is_some()).then_some(stamp)
    }

    /// Both have a date, or neither has.
    fn is_like(self, other: Self) -> bool {
        self.wall.is_some() == other.wall.is_some()
    }

    fn compare(self, next: Self) -> std::cmp::Ordering {
        let order = |a: Option<f64>, b: Option<f64>| {
            a.zip(b).map_or(std::cmp::Ordering::Equal, |(a, b)| a.total_cmp(&b))
        };
        order(self.wall, next.wall).then_with(|| order(self.boot, next.boot))
    }
}

/// Whether a line may be a record in JSON, alone or in a list.
fn is_record(raw: &[u8]) -> bool {
    raw.trim_ascii_start().starts_with(b"{")
}

/// Rising time stamps from which on a block is in order, whatever follows: the rest of it is skipped.
const IN_ORDER: usize = 32;

/// Lines with stamps of one kind.
struct Block {
    first: usize,
    last: usize,
    stamp: Stamp,
    falls: usize,
    rises: usize,
}

impl Block {
    fn new(line: usize, stamp: Stamp) -> Self {
        Self { first: line, last: line, stamp, falls: 0, rises: 0 }
    }

    fn add(&mut self, line: usize, stamp: Stamp) {
        match self.stamp.compare(stamp) {
            std::cmp::Ordering::Greater => self.falls += 1,
            std::cmp::Ordering::Less => self.rises += 1,
            std::cmp::Ordering::Equal => {}
        }
        (self.last, self.stamp) = (line, stamp);
    }

    fn is_in_order(&self) -> bool {
        self.rises >= IN_ORDER && self.rises > self.falls
    }
}

/// The text with every block that is reversed turned round; `None` if there is none.
pub(super) fn ordered(text: &[u8]) -> Option<Ordered> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    let turned: Vec<Block> =
        blocks(&lines).into_iter().filter(|block| is_reversed(block, &lines)).collect();
    if turned.is_empty() {
        return None;
    }
    let number = |index: usize| u64::try_from(index).unwrap_or(u64::MAX) + 1;
    for block in &turned {
        lines[block.first..=block.last].reverse();
    }
    let mut out = lines.join(&b"\n"[..]);
    out.push(b'\n');
    let turned = turned.iter().map(|block| (number(block.first), number(block.last))).collect();
    Some(Ordered { text: out, turned })
}

fn blocks(lines: &[&[u8]]) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, raw) in lines.iter().enumerate() {
        let may_end = raw.starts_with(b"```") || memchr::memchr2(b'$', b'#', raw).is_some();
        if open && !may_end && found.last().is_some_and(Block::is_in_order) {
            continue;
        }
        if let Some(stamp) = Stamp::of(raw) {
            match found.last_mut() {
                Some(block) if open && block.stamp.is_like(stamp) => block.add(index, stamp),
                _ => found.push(Block::new(index, stamp)),
            }
            open = true;
        } else if may_end
            && (raw.starts_with(b"```") || transcript::is_prompt(&text(raw, 0, raw.len())))
        {
            open = false;
        }
    }
    found
}

/// Whether the time stamps of a block fall line by line. A clock that was set, and a boot without a banner, cause one
/// fall; the kernel's first messages must not come first in that case.
fn is_reversed(block: &Block, lines: &[&[u8]]) -> bool {
    let (falls, rises) = (block.falls, block.rises);
    if falls == 0 || falls < rises * FALLS_PER_RISE {
        return false;
    }
    let (forward, backward) = order_of_messages(&lines[block.first..=block.last]);
    let dated = block.stamp.wall.is_some();
    forward == 0 && (dated || backward > 0 || falls >= FALLS)
        || falls >= FALLS && backward >= forward
}

/// How many pairs of messages that a boot writes in a fixed order are in that order, and how many in the opposite
/// order.
fn order_of_messages(lines: &[&[u8]]) -> (usize, usize) {
    let mut said: Vec<(usize, Said)> = Vec::new();
    for (index, raw) in lines.iter().enumerate() {
        let line = text(raw, 0, raw.len());
        let record = if is_record(raw) { journal::message(&line) } else { None };
        let line = record.map_or(line, |record| record.message.into());
        let message = strip(&line).message;
        said.extend(Said::of(message).map(|said| (index, said)));
    }
    let (mut forward, mut backward) = (0, 0);
    // Lines that concern clocks are few; more than these are many boots.
    said.truncate(256);
    for (at, this) in &said {
        for (_, later) in said.iter().filter(|(other, _)| other > at) {
            forward += usize::from(this.comes_before(later));
            backward += usize::from(later.comes_before(this));
        }
    }
    (forward, backward)
}

/// Lines at the end of a text among which the first message of a boot is, if its newest line comes first.
const LAST_LINES: usize = 3;

/// Why a text without any stamp seems to have its newest line first, as the end of a sentence.
pub(super) fn doubt(text: &[u8]) -> Option<String> {
    let words = [&b"to clocksource "[..], b"Linux version "];
    if words.iter().all(|words| memchr::memmem::find(text, words).is_none()) {
        return None;
    }
    let lines: Vec<&[u8]> =
        text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    let mut said: Vec<(usize, Said)> = Vec::new();
    for (index, raw) in lines.iter().enumerate() {
        if Stamp::of(raw).is_some() {
            return None;
        }
        let line = super::lines::text(raw, 0, raw.len());
        if transcript::is_prompt(&line) {
            return None;
        }
        // A run that makes the TSC unavailable may choose the other clocksources again.
        let older = line
            .strip_prefix("Switching to clocksource ")
            .map(|name| Said::Chose(name.trim().to_owned()));
        said.extend(older.or_else(|| Said::of(strip(&line).message)).map(|said| (index, said)));
    }
    let banners = said.iter().filter(|(_, said)| *said == Said::Banner).count();
    let is_last = said
        .last()
        .is_some_and(|(index, said)| *said == Said::Banner && index + LAST_LINES >= lines.len());
    let of_switch = |said: &Said| matches!(said, Said::Switched(_) | Said::Chose(_));
    let ends_with_banner = banners == 1 && is_last && said.iter().any(|(_, said)| of_switch(said));
    if banners == 1 && !is_last {
        return None;
    }
    said.truncate(256);
    let unstable = memchr::memmem::find(text, b"nstable").is_some();
    let (mut forward, mut backward) = (0, 0);
    for (at, (_, this)) in said.iter().enumerate() {
        for (_, later) in &said[at + 1..] {
            // The older words explain the reason in another message.
            let chose = matches!((this, later), (Said::Chose(_), Said::Chose(_)));
            forward += usize::from(this.comes_before(later));
            backward += usize::from(later.comes_before(this) && !(chose && unstable));
        }
    }
    (ends_with_banner || banners == 0 && backward > 0 && forward == 0).then(|| {
        "messages that a kernel prints first come after later ones, and no line has a stamp: the \
         newest line may come first (tac reverses it), or these are lines of several boots"
            .to_owned()
    })
}

/// Messages that a boot writes once and in order.
#[derive(Debug, PartialEq)]
enum Said {
    Banner,
    Detected,
    Refined,
    Registered(String),
    Switched(String),
    /// In the words of kernels up to 3.10.
    Chose(String),
}

impl Said {
    fn of(message: &str) -> Option<Self> {
        let name = |text: &str| text.split_whitespace().next().map(str::to_owned);
        if banner::is(message) {
            return Some(Self::Banner);
        }
        if let Some((_, rest)) = message.split_once("Switched to clocksource ") {
            return name(rest).map(Self::Switched);
        }
        if let Some((head, _)) = message.split_once(": mask: ") {
            return head.rsplit(' ').next().map(|name| Self::Registered(name.to_owned()));
        }
        match message {
            _ if message.contains("Refined TSC") => Some(Self::Refined),
            _ if message.contains("tsc: Detected") => Some(Self::Detected),
            _ => None,
        }
    }

    fn comes_before(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::Banner, later) => *later != Self::Banner,
            (Self::Detected, Self::Refined | Self::Switched(_)) => true,
            (Self::Registered(this), Self::Switched(other)) => this == other,
            (Self::Refined, Self::Switched(other)) => other == "tsc",
            (Self::Switched(this), Self::Switched(other)) => this == "tsc-early" && other == "tsc",
            (Self::Chose(this), Self::Chose(other)) => {
                matches!(this.as_str(), "hpet" | "acpi_pm" | "jiffies") && other == "tsc"
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::{Event, KernelLog};

    const BOOT: [&str; 6] = [
        "kernel: clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns",
        "kernel: clocksource: Switched to clocksource tsc-early",
        "kernel: clocksource: acpi_pm: mask: 0xffffff max_cycles: 0xffffff, max_idle_ns: 2085701024 ns",
        "kernel: tsc: Refined TSC clocksource calibration: 2494.334 MHz",
        "kernel: clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x23f45126d86, max_idle_ns: 440795256522 ns",
        "kernel: clocksource: Switched to clocksource tsc",
    ];

    #[test]
    fn text_without_stamps_that_ends_with_the_first_message_has_no_order() {
        let mixed = |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap().mixed.is_some();
        for text in [
            "Switching to clocksource tsc\nSwitching to clocksource hpet\n",
            "usb 1-2: USB disconnect\nclocksource: Switched to clocksource hpet\nCommand line: ro\nLinux version 6.8.0 (x) x\n",
            "clocksource: Switched to clocksource tsc\nclocksource: Switched to clocksource tsc-early\n",
        ] {
            assert!(mixed(text), "{text}");
            let turned: Vec<&str> = text.lines().rev().collect();
            assert!(!mixed(&turned.join("\n")), "{text}");
        }
        assert!(!mixed(
            "Switching to clocksource tsc\nMarking TSC unstable due to TSC halts in idle\nSwitching to clocksource hpet\n"
        ));
    }

    /// The boot with these stamps, its newest line first.
    fn reversed(stamps: [&str; 6]) -> String {
        let lines = BOOT.iter().zip(stamps).map(|(line, stamp)| format!("{stamp}{line}\n"));
        lines.rev().collect()
    }

    fn switches(text: &str) -> Vec<(String, String)> {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let read = |entry: &crate::log::Entry| match &entry.event {
            Event::Switched(name) => Some((name.clone(), log.source(entry).0)),
            _ => None,
        };
        log.entries.iter().filter_map(read).collect()
    }

    fn shown(switches: &[(String, String)]) -> Vec<(&str, &str)> {
        switches.iter().map(|(name, source)| (name.as_str(), source.as_str())).collect()
    }

    #[test]
    fn reversed_journal_is_read_in_the_order_of_its_stamps() {
        let early = "apr 09 08:49:25 pc ";
        let late = "apr 09 08:49:26 pc ";
        let text = reversed([early, early, early, late, late, late]);
        assert_eq!(shown(&switches(&text)), [("tsc-early", "log:5"), ("tsc", "log:1")]);
        let iso = |second: u8| format!("2024-04-09T08:49:{second}.5+02:00 pc ");
        let stamps: Vec<String> = (20..26).map(iso).collect();
        let stamps: Vec<&str> = stamps.iter().map(String::as_str).collect();
        let text = reversed(stamps.try_into().unwrap());
        assert_eq!(shown(&switches(&text)), [("tsc-early", "log:5"), ("tsc", "log:1")]);
    }

    #[test]
    fn reversed_records_are_read_in_the_order_of_their_dates() {
        let lines = ["Switched to clocksource tsc", "Switched to clocksource hpet"];
        for dates in [
            [
                "\"__REALTIME_TIMESTAMP\":\"1700100002000000\"",
                "\"__REALTIME_TIMESTAMP\":\"1700100900000000\"",
            ],
            [
                "\"@timestamp\":\"2024-03-05T10:00:02.1Z\"",
                "\"@timestamp\":\"2024-03-05T10:15:00.1Z\"",
            ],
        ] {
            let record = |at: usize| {
                format!(
                    "{{{},\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"clocksource: {}\"}}\n",
                    dates[at], lines[at]
                )
            };
            let last = |text: &str| switches(text).last().map(|(name, _)| name.clone());
            assert_eq!(last(&format!("{}{}", record(1), record(0))).as_deref(), Some("hpet"));
            assert_eq!(last(&format!("{}{}", record(0), record(1))).as_deref(), Some("hpet"));
        }
    }

    #[test]
    fn reversed_dmesg_is_read_in_the_order_of_its_stamps() {
        let text = reversed([
            "[    0.100000] ",
            "[    0.300000] ",
            "[    0.400000] ",
            "[    2.700000] ",
            "[    2.700010] ",
            "[    3.700000] ",
        ])
        .replace("kernel: ", "");
        assert_eq!(shown(&switches(&text)), [("tsc-early", "log:5"), ("tsc", "log:1")]);
    }

    #[test]
    fn reversed_block_behind_another_one_alone_is_turned() {
        let head = "[    2.748006] tsc: Refined TSC clocksource calibration: 2494.334 MHz\n\
                    [    3.774156] clocksource: Switched to clocksource tsc\n\
                    me@pc:~$ journalctl -b -err --no-pager | grep clocksource\n";
        let (early, late) = ("apr 09 08:49:25 pc ", "apr 09 08:49:26 pc ");
        let text = format!("{head}{}", reversed([early, early, early, late, late, late]));
        let seen = switches(&text);
        assert_eq!(seen.last().map(|(name, _)| name.as_str()), Some("tsc"), "{seen:?}");
    }

    #[test]
    fn log_in_order_is_left_alone() {
        // A clock that was set back while the machine booted, and boots from each of which one line was selected.
        let set_back = "Apr 09 08:49:26 pc kernel: clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x23f45126d86, max_idle_ns: 440795256522 ns\n\
                        Apr 09 08:49:20 pc kernel: clocksource: Switched to clocksource tsc\n";
        let selected = "[    3.9] x\n[    3.700000] clocksource: Switched to clocksource tsc\n\
                        [    3.600000] clocksource: Switched to clocksource hpet\n";
        for text in [set_back, selected] {
            let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
            assert!(log.turned.is_empty() && !log.newest_first, "{text}");
        }
    }

    #[test]
    fn reversed_log_that_is_too_long_is_named() {
        let line = |n: u32| {
            format!(
                "2024-04-09T{:02}:{:02}:{:02}.5 pc kernel: usb 1-1: new device number {n}\n",
                n / 3600,
                n / 60 % 60,
                n % 60
            )
        };
        let text: String = (0..20_000).rev().map(line).collect();
        assert!(KernelLog::scan(text.as_bytes(), "log").unwrap().newest_first);
    }
}

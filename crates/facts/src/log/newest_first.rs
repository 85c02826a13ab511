//! Logs whose newest line comes first (`journalctl -r` and `-e -r`, `tac`, the consoles of log stores): blocks of lines
//! whose stamps fall are put in the order of time.

use super::lines::text;
use super::prefix::strip;
use super::{journal, transcript, wall};

/// Falling stamps from which on a block without dates is taken for a reversed one by its stamps alone: in fewer, each
/// line may be of another boot.
const FALLS: usize = 8;
/// A block of so many falls may have one rise: where one boot ends and the next one begins.
const FALLS_PER_RISE: usize = 8;

/// A text with its blocks in the order of time.
pub(super) struct Ordered {
    pub(super) text: Vec<u8>,
    /// The first and the last line of each block that was turned round, from 1.
    pub(super) turned: Vec<(u64, u64)>,
}

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
        let line = text(raw, 0, raw.len());
        let boot = journal::message(&line).map_or_else(|| strip(&line).at, |record| record.at);
        let stamp = Self { wall: wall::seconds(&line), boot };
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

/// Lines with stamps of one kind.
struct Block {
    first: usize,
    last: usize,
    stamps: Vec<Stamp>,
}

/// The text with every block that is reversed turned round; `None` where there is none.
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
        if let Some(stamp) = Stamp::of(raw) {
            match found.last_mut() {
                Some(block)
                    if open && block.stamps.last().is_some_and(|last| last.is_like(stamp)) =>
                {
                    block.stamps.push(stamp);
                    block.last = index;
                }
                _ => found.push(Block { first: index, last: index, stamps: vec![stamp] }),
            }
            open = true;
        } else if raw.starts_with(b"```") || transcript::is_prompt(&text(raw, 0, raw.len())) {
            open = false;
        }
    }
    found
}

/// Whether the stamps of a block fall line by line. A clock that was set, and a boot without a banner, make one fall;
/// what the kernel says first must not come first then.
fn is_reversed(block: &Block, lines: &[&[u8]]) -> bool {
    let mut pairs = block.stamps.iter().zip(block.stamps.iter().skip(1));
    let (mut falls, mut rises) = (0, 0);
    for (this, next) in pairs.by_ref() {
        match this.compare(*next) {
            std::cmp::Ordering::Greater => falls += 1,
            std::cmp::Ordering::Less => rises += 1,
            std::cmp::Ordering::Equal => {}
        }
    }
    if falls == 0 || falls < rises * FALLS_PER_RISE {
        return false;
    }
    let (forward, backward) = order_of_messages(&lines[block.first..=block.last]);
    let dated = block.stamps.iter().all(|stamp| stamp.wall.is_some());
    forward == 0 && (dated || backward > 0 || falls >= FALLS)
        || falls >= FALLS && backward >= forward
}

/// How many pairs of messages, of which a boot writes one before the other, are in that order, and in the other one.
fn order_of_messages(lines: &[&[u8]]) -> (usize, usize) {
    let mut said: Vec<(usize, Said)> = Vec::new();
    for (index, raw) in lines.iter().enumerate() {
        let line = text(raw, 0, raw.len());
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

/// Messages that a boot writes once and in order.
#[derive(Debug, PartialEq)]
enum Said {
    Banner,
    Detected,
    Refined,
    Registered(String),
    Switched(String),
}

impl Said {
    fn of(message: &str) -> Option<Self> {
        let name = |text: &str| text.split_whitespace().next().map(str::to_owned);
        if message.starts_with("Linux version ") {
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
            _ => false,
        }
    }
}

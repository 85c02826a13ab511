//! The data that is written into a program's memory.

use crate::original::Original;
use clocksmith_raw::IMAGE;
use clocksmith_raw::layout::{
    BY_CALL, Config, Counts, FRONT, FSGSBASE, MAGIC, Mode, ORDERED, PAGE, SHARDS, Shard,
};

/// By how much a counter may be behind: 5 us.
const SLACK_NS: u64 = 5_000;

/// The behaviour of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// They are counted, and served by the kernel's vDSO.
    Count,
    /// They are served from the line.
    Line {
        /// Whether they are in order with other threads' reads.
        ordered: bool,
    },
    /// They are served by the kernel's coarse clocks.
    Coarse,
    /// They take longer.
    Slow {
        /// Whether each is a system call.
        by_call: bool,
        /// The least time of each read, in nanoseconds.
        least_ns: u64,
        /// The additional time of each read, in nanoseconds.
        extra_ns: u64,
    },
}

/// The pages that a program gets.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// The behaviour of reads.
    pub act: Act,
    /// Nanoseconds per cycle, times 2^48.
    pub rate: u64,
}

/// Offsets of the parts, from the beginning of the mapped memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Bytes in all.
    pub(crate) length: usize,
    /// Where the image begins, and its bytes in whole pages.
    pub(crate) image: (usize, usize),
    /// Where the counts begin, and their bytes in whole pages; if there are any.
    pub(crate) counts: Option<(usize, usize)>,
}

fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE)
}

impl Image {
    /// Offsets of the parts; `None` if there is no image.
    pub(crate) fn parts(&self) -> Option<Parts> {
        let image = pages(IMAGE?.len());
        let counts = match self.act {
            Act::Count => Some((FRONT + image, pages(size_of::<Counts>()))),
            _ => None,
        };
        let length = FRONT + image + counts.map_or(0, |(_, length)| length);
        Some(Parts { length, image: (FRONT, image), counts })
    }

    /// The settings, for memory that begins at `base`.
    pub(crate) fn config(&self, base: u64, original: &Original, fsgsbase: bool) -> Config {
        let cycles = |ns: u64| {
            let cycles = (u128::from(ns) << 48) / u128::from(self.rate.max(1));
            u64::try_from(cycles).unwrap_or(u64::MAX)
        };
        let (mode, flags, least, extra) = match self.act {
            Act::Count => (Mode::Count, 0, 0, 0),
            Act::Line { ordered } => (Mode::Line, if ordered { ORDERED } else { 0 }, 0, 0),
            Act::Coarse => (Mode::Coarse, 0, 0, 0),
            Act::Slow { by_call, least_ns, extra_ns } => {
                let flags = if by_call { BY_CALL } else { 0 };
                (Mode::Slow, flags, cycles(least_ns), cycles(extra_ns))
            }
        };
        let counts = self.parts().and_then(|parts| parts.counts);
        Config {
            magic: MAGIC,
            mode: mode as u32,
            flags: flags | if fsgsbase { FSGSBASE } else { 0 },
            original: original.functions,
            rate: self.rate,
            slack: cycles(SLACK_NS),
            least,
            extra,
            counts: counts.map_or(0, |(offset, _)| base.wrapping_add(offset as u64)),
        }
    }
}

/// The settings, as in memory.
pub(crate) fn bytes(config: &Config) -> [u8; size_of::<Config>()] {
    let mut bytes = [0; size_of::<Config>()];
    // SAFETY: `Config` is made of numbers without padding (all of them 64 bits wide but two, which
    // are side by side), and both have the same size.
    unsafe {
        core::ptr::copy_nonoverlapping(
            (&raw const *config).cast::<u8>(),
            bytes.as_mut_ptr(),
            bytes.len(),
        );
    }
    bytes
}

/// Bytes of all shards, and of one.
pub(crate) const COUNTS: (usize, usize) = (SHARDS * size_of::<Shard>(), size_of::<Shard>());

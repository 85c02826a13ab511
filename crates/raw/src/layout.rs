//! The memory of a program next to the image, byte by byte, for programs that write it there or read
//! it from outside.
//!
//! ```text
//! [Config: read-only][Local: empty in a child][Shared: the clock][the image: read and execute]
//! ```

/// Bytes in a page. The image is for x86-64 only, which has no other size.
pub const PAGE: usize = 4096;
/// Bytes from the settings to the image: the three pages in front of it.
pub const FRONT: usize = 3 * PAGE;
/// Offset of the page that is empty in a child, from the settings on.
pub const LOCAL: usize = PAGE;
/// Offset of the clock's page, from the settings on.
pub const SHARED: usize = 2 * PAGE;

/// The value of [`Config::magic`]: "clksmit", and a digit that changes with this layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"clksmit1");

/// The image's action for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Passes the read to the kernel's own vDSO.
    Pass = 0,
    /// The same, and counts it ([`Counts`]).
    Count = 1,
    /// Serves MONOTONIC, REALTIME and BOOTTIME from the line, and passes the others.
    Line = 2,
    /// Serves MONOTONIC and REALTIME from the kernel's coarse clocks: as old as a tick.
    Coarse = 3,
    /// Delays the read: see [`Config::least`] and [`Config::extra`].
    Slow = 4,
}

/// The counter is read after all earlier instructions.
pub const ORDERED: u32 = 1;
/// In [`Mode::Slow`]: reads are real system calls.
pub const BY_CALL: u32 = 2;
/// Programs may read the base of FS (`AT_HWCAP2` has the kernel's flag for it): it identifies a thread.
pub const FSGSBASE: u32 = 4;

/// Addresses of the functions of the kernel's own vDSO; 0 for one that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Original {
    /// `__vdso_clock_gettime`.
    pub clock_gettime: u64,
    /// `__vdso_gettimeofday`.
    pub gettimeofday: u64,
    /// `__vdso_time`.
    pub time: u64,
    /// `__vdso_getcpu`.
    pub getcpu: u64,
    /// `__vdso_clock_getres`, since 5.3.
    pub clock_getres: u64,
    /// `__vdso_getrandom`, since 6.11.
    pub getrandom: u64,
}

/// The settings: written before the program's first instruction, and read-only from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Config {
    /// [`MAGIC`].
    pub magic: u64,
    /// A [`Mode`].
    pub mode: u32,
    /// [`ORDERED`], [`BY_CALL`], [`FSGSBASE`].
    pub flags: u32,
    /// The functions that calls are passed to.
    pub original: Original,
    /// Nanoseconds per cycle of the counter, times 2^48, as known before the program began.
    pub rate: u64,
    /// By how many cycles a counter may be behind without a fault.
    pub slack: u64,
    /// In [`Mode::Slow`]: the cycles that a read takes at least.
    pub least: u64,
    /// In [`Mode::Slow`]: the cycles that a read takes more than it does by itself.
    pub extra: u64,
    /// In [`Mode::Count`]: the address of [`Counts`].
    pub counts: u64,
}

/// Kinds of reads that are counted: clock ids 0 to 11, then those below.
pub const KINDS: usize = 16;
/// Any other clock id (clocks of processes, threads and devices).
pub const OTHER: usize = 12;
/// `gettimeofday`.
pub const GETTIMEOFDAY: usize = 13;
/// `time`.
pub const TIME: usize = 14;
/// Classes of intervals: one for each power of two.
pub const INTERVALS: usize = 64;
/// Shards: threads are spread over them.
pub const SHARDS: usize = 64;

/// The counts of one shard. Its totals are the sums over all shards; each is exact.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Shard {
    /// Calls of each kind: by clock id, or [`OTHER`], [`GETTIMEOFDAY`], [`TIME`].
    pub calls: [u64; KINDS],
    /// Reads by the time since their thread's previous read: class `n` is from 2^n cycles of the
    /// counter up to 2^(n+1). A thread's first read is not in any class, and neither is a read before
    /// which another thread of the same shard has read.
    pub intervals: [u64; INTERVALS],
    /// The thread that read last (the base of its FS, or a part of its stack pointer).
    pub thread: u64,
    /// The counter at that read.
    pub previous: u64,
    /// So that a shard fills cache lines.
    pub unused: [u64; 6],
}

/// All counts of one process, in memory that a forked child finds empty: the counts of several
/// processes are added up.
pub type Counts = [Shard; SHARDS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_parts_fit_into_pages() {
        assert!(size_of::<Config>() <= PAGE);
        assert!(size_of::<crate::timeline::Local>() <= PAGE);
        assert!(size_of::<crate::timeline::Shared>() <= PAGE);
        assert_eq!(size_of::<Shard>() % 64, 0);
        assert_eq!(size_of::<Counts>(), SHARDS * 704);
    }
}

//! Processors without a counter that this crate reads.

/// The instruction that reads the counter.
pub(super) const INSTRUCTION: Option<&str> = None;

/// The kernel's name for the clocksource that is this counter: no clocksource has this one.
pub(super) const CLOCKSOURCE: &str = "none";

#[inline(always)]
pub(super) const fn is_mode(mode: u32) -> bool {
    mode == 1
}

pub(super) fn read() -> u64 {
    0
}

pub(super) fn read_ordered() -> u64 {
    0
}

pub(super) fn read_rdtscp() -> u64 {
    0
}

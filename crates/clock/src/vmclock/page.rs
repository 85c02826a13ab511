//! The page of a VMCLOCK device: the only definition of its layout, and reads whose fields all belong to one state.
//!
//! `struct vmclock_abi` in `include/uapi/linux/vmclock-abi.h` (since Linux 6.13), little-endian; here as 64-bit
//! words:
//!
//! ```text
//! word  byte
//!  0      0  u32 magic "VCLK", u32 size of the region
//!  1      8  u16 version 1, u8 counter_id, u8 time_type, u32 seq_count
//!  2     16  u64 disruption_marker
//!  3     24  u64 flags
//!  4     32  u8 pad[2], u8 clock_status, u8 leap_second_smearing_hint, s16 tai_offset_sec, u8 leap_indicator,
//!            u8 counter_period_shift
//!  5     40  u64 counter_value
//!  6     48  u64 counter_period_frac_sec                in 1/2^(64 + shift) of a second
//!  7     56  u64 counter_period_esterror_rate_frac_sec  likewise
//!  8     64  u64 counter_period_maxerror_rate_frac_sec  likewise
//!  9     72  u64 time_sec
//! 10     80  u64 time_frac_sec                          in 1/2^64 of a second
//! 11     88  u64 time_esterror_nanosec
//! 12     96  u64 time_maxerror_nanosec
//! 13    104  u64 vm_generation_counter
//! ```
//!
//! `seq_count` is odd while the hypervisor writes. A field that the size does not reach is absent;
//! the flags are always present (`VMCLOCK_MIN_SIZE`, `drivers/ptp/ptp_vmclock.c`).

use super::{Leap, MARKER, Maintenance, State, Status};
use crate::paravirt::Words;
use clocksmith_raw::sync::{Ordering, fence};

/// Words of the structure.
pub(super) const WORDS: usize = 14;
/// "VCLK".
pub(super) const MAGIC: u32 = 0x4b4c_4356;
pub(super) const VERSION: u16 = 1;
/// The size of a page that has the flags, and no field after them.
pub(super) const LEAST: u32 = 32;
/// Where `vm_generation_counter` is.
const GENERATION: usize = 13;

pub(super) const TAI_OFFSET_VALID: u64 = 1 << 0;
pub(super) const DISRUPTION_SOON: u64 = 1 << 1;
pub(super) const DISRUPTION_IMMINENT: u64 = 1 << 2;
pub(super) const PERIOD_MAXERROR_VALID: u64 = 1 << 4;
pub(super) const TIME_ESTERROR_VALID: u64 = 1 << 5;
pub(super) const TIME_MAXERROR_VALID: u64 = 1 << 6;
pub(super) const TIME_MONOTONIC: u64 = 1 << 7;
pub(super) const GENERATION_PRESENT: u64 = 1 << 8;

/// `time_type` of UTC. TAI is not used: which sign its offset has is not documented.
const UTC: u8 = 0;
/// `counter_id` of the counter that this target reads.
pub(super) const COUNTER: u8 = if cfg!(target_arch = "aarch64") { 0 } else { 1 };

/// How often a page that is being written is read again. The kernel waits for 100 ms; a clock does not wait.
const TRIES: u32 = if cfg!(clocksmith_loom) { 2 } else { 64 };
const SECOND_NS: u64 = 1_000_000_000;

/// The whole structure, as it was in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copied([u64; WORDS]);

/// Reads the values of one state; `None` if the page is being written for all that time.
#[inline]
pub(super) fn consistent<W: Words, T>(page: &W, take: impl Fn(&W) -> T) -> Option<T> {
    for _ in 0..TRIES {
        let before = sequence(page);
        // The loads of `take` stay after the first look, and before the second one.
        fence(Ordering::Acquire);
        if before & 1 == 0 {
            let taken = take(page);
            fence(Ordering::Acquire);
            if sequence(page) == before {
                return Some(taken);
            }
        }
        core::hint::spin_loop();
    }
    None
}

/// `seq_count`: the upper half of a word, each half of which is loaded in one piece.
#[inline(always)]
fn sequence<W: Words>(page: &W) -> u32 {
    (page.word(1) >> 32) as u32
}

/// The structure, without regard to the sequence number.
pub(super) fn copy<W: Words>(page: &W) -> Copied {
    Copied(core::array::from_fn(|index| page.word(index)))
}

impl Copied {
    #[cfg(all(test, not(clocksmith_loom)))]
    pub(super) fn new(words: [u64; WORDS]) -> Self {
        Self(words)
    }

    fn word(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    fn byte(&self, at: usize) -> u8 {
        self.word(at / 8).to_le_bytes()[at % 8]
    }

    pub(super) fn magic(&self) -> u32 {
        self.word(0) as u32
    }

    pub(super) fn size(&self) -> u32 {
        (self.word(0) >> 32) as u32
    }

    pub(super) fn version(&self) -> u16 {
        self.word(1) as u16
    }

    /// Whether the size reaches the end of a word.
    fn has(&self, index: usize) -> bool {
        self.size() as usize >= 8 * (index + 1)
    }

    /// The flags whose fields are present.
    fn flags(&self) -> u64 {
        let with = |word, flags| if self.has(word) { flags } else { 0 };
        let fields = TAI_OFFSET_VALID
            | PERIOD_MAXERROR_VALID
            | TIME_ESTERROR_VALID
            | TIME_MAXERROR_VALID
            | GENERATION_PRESENT;
        let there = with(4, TAI_OFFSET_VALID)
            | with(8, PERIOD_MAXERROR_VALID)
            | with(11, TIME_ESTERROR_VALID)
            | with(12, TIME_MAXERROR_VALID)
            | with(GENERATION, GENERATION_PRESENT);
        self.word(3) & (!fields | there)
    }

    fn if_flag<T>(&self, flag: u64, value: T) -> Option<T> {
        (self.flags() & flag != 0).then_some(value)
    }

    fn status(&self) -> Status {
        if self.has(4) { Status::of(self.byte(34)) } else { Status::Unknown }
    }

    fn leap(&self) -> Leap {
        if self.has(4) { Leap::of(self.byte(38)) } else { Leap::None }
    }

    /// Returns the state in the form that programs see.
    pub(super) fn state(&self) -> State {
        let flags = self.flags();
        let maintenance = if flags & DISRUPTION_IMMINENT != 0 {
            Some(Maintenance::Imminent)
        } else {
            self.if_flag(DISRUPTION_SOON, Maintenance::Soon)
        };
        State {
            disruption_marker: self.word(MARKER),
            vm_generation: self.if_flag(GENERATION_PRESENT, self.word(GENERATION)),
            status: self.status(),
            leap: self.leap(),
            tai_offset_seconds: self
                .if_flag(TAI_OFFSET_VALID, i16::from_le_bytes([self.byte(36), self.byte(37)])),
            maintenance,
            is_monotonic: flags & TIME_MONOTONIC != 0,
            esterror_ns: self.if_flag(TIME_ESTERROR_VALID, self.word(11)),
            maxerror_ns: self.if_flag(TIME_MAXERROR_VALID, self.word(12)),
        }
    }

    /// The two times between which UTC lies at that value of the counter, in nanoseconds since 1970, if the hypervisor
    /// states one.
    pub(super) fn utc(&self, counter: u64) -> Option<(u64, u64)> {
        const BOTH: u64 = PERIOD_MAXERROR_VALID | TIME_MAXERROR_VALID;
        let (id, time_type) = (self.byte(10), self.byte(11));
        if self.status() != Status::Synchronised
            || self.flags() & BOTH != BOTH
            || id != COUNTER
            || time_type != UTC
        {
            return None;
        }
        let leap_ns = match self.leap() {
            // The page may not have been written since the second was inserted or left out.
            Leap::BeforeInserted | Leap::BeforeDeleted | Leap::Inserted => SECOND_NS,
            Leap::None | Leap::AfterInserted | Leap::AfterDeleted => 0,
            Leap::Other(_) => return None,
        };
        // As a signed number: the reference may be a little ahead.
        let distance = counter.wrapping_sub(self.word(5)) as i64;
        let shift = u32::from(self.byte(39));
        let cycles = |rate: u64| {
            (u128::from(distance.unsigned_abs()) * u128::from(rate)).checked_shr(shift).unwrap_or(0)
        };
        let base = u128::from(self.word(9)) << 64 | u128::from(self.word(10));
        let since = cycles(self.word(6));
        let time = if distance < 0 { base.checked_sub(since) } else { base.checked_add(since) }?;
        // Both cut off: up to a unit of 2^-64 s, and up to a nanosecond. The drift is rounded up.
        let ns = nanoseconds(time)?;
        let drift = nanoseconds(cycles(self.word(8)))?.checked_add(1)?;
        let error = self.word(12).checked_add(drift)?.checked_add(leap_ns)?.checked_add(2)?;
        Some((ns.saturating_sub(error), ns.checked_add(error)?))
    }
}

/// Nanoseconds of a time in units of 2^-64 s, cut off.
fn nanoseconds(time: u128) -> Option<u64> {
    let (seconds, fraction) = ((time >> 64) as u64, time as u64);
    let below = (u128::from(fraction) * u128::from(SECOND_NS)) >> 64;
    seconds.checked_mul(SECOND_NS)?.checked_add(below as u64)
}

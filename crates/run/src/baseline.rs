//! The rate of the counter, by the kernel's clock.

use clocksmith_raw::counter;
use std::time::Duration;

/// The shortest time over which a rate is measured. Half of the bracket of a reading over it is the
/// error of the rate: 0.1 % for a clock that takes 2 us to read, and for the first millisecond only.
const SHORTEST_NS: u64 = 1_000_000;

/// A rate that differs so much from the one known is one across a suspend or a migration.
const SUSPECT: u64 = 2_000;

/// A reading of both, with which others are compared.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    cycles: u64,
    ns: u64,
}

impl Baseline {
    /// Begins the baseline. The earlier this is called, the better the rate.
    #[must_use]
    pub fn begin() -> Self {
        let (cycles, ns) = reading();
        Self { cycles, ns }
    }

    /// The rate, compared with the one that is already known. A longer baseline gives a better rate, but
    /// a baseline in which the counter or the kernel's clock stopped or jumped is restarted.
    pub(crate) fn better(&mut self, known: u64) -> Option<u64> {
        match self.rate() {
            Some(rate) if known == 0 || rate.abs_diff(known) < known / SUSPECT => Some(rate),
            _ => {
                *self = Self::begin();
                self.rate()
            }
        }
    }

    /// Nanoseconds per cycle, times 2^48, over the time since the beginning; waits if that is under
    /// a millisecond. `None` if the counter does not advance.
    #[must_use]
    pub fn rate(&self) -> Option<u64> {
        let (mut cycles, mut ns) = reading();
        let passed = ns.saturating_sub(self.ns);
        if passed < SHORTEST_NS {
            std::thread::sleep(Duration::from_nanos(SHORTEST_NS - passed));
            (cycles, ns) = reading();
        }
        let cycles = cycles.checked_sub(self.cycles).filter(|cycles| *cycles > 0)?;
        let passed = ns.checked_sub(self.ns)?;
        let rate = (u128::from(passed) << 48) / u128::from(cycles);
        // 1 MHz to 100 GHz, as in the library.
        let possible = (1u128 << 41)..=(1_100u128 << 48);
        possible.contains(&rate).then_some(rate as u64)
    }
}

/// The best of some readings.
fn reading() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..4 {
        // The caller has checked that the counter may be read.
        let begin = counter::read_ordered();
        let ns = kernel_ns();
        let width = counter::read_ordered().wrapping_sub(begin);
        if width < best.0 {
            best = (width, begin.wrapping_add(width / 2), ns);
        }
    }
    (best.1, best.2)
}

fn kernel_ns() -> u64 {
    let mut time = [0i64; 2];
    // SAFETY: the call writes two 64-bit numbers.
    unsafe {
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, time.as_mut_ptr());
    }
    (time[0] as u64).wrapping_mul(1_000_000_000).wrapping_add(time[1] as u64)
}

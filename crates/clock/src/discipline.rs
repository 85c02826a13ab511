//! The arithmetic of a clock that follows another: readings of the kernel's clock in, the next
//! piece of a continuous line out. Pure: no clock, no memory but its own.
//!
//! One piece lasts for a *window*. At its end the kernel's clock is read again, and the next piece
//! begins where the last one ended (so time never steps), with the rate of the kernel's clock, and
//! what is missing spread over the next window. The rate comes from a baseline of up to two
//! seconds while the kernel's clock goes straight on; when it changes its rate (NTP), the baseline
//! begins anew.

/// A rate is nanoseconds per cycle, times 2^48: 2^-48 ns over the 2^32 cycles of a long window is
/// far below a nanosecond, and counters from 1 MHz (1000 ns) to 100 GHz fit into 64 bits.
pub(crate) const RATE_SHIFT: u32 = 48;

/// The shortest window: the first, and the one after something unexpected.
pub(crate) const SHORTEST_NS: u64 = 1_000_000;
/// The longest window. The kernel's clock can be slewed by 500 ppm from one moment to the next
/// (`adjtimex(2)`): 8 us over such a window, before it is noticed.
pub(crate) const LONGEST_NS: u64 = 16_000_000;
/// The baseline of the rate.
const BASELINE_NS: u64 = 1_000_000_000;

/// What a rate may change by within a window without being an error, in parts per million: the
/// kernel's frequency correction reaches 500, its offset correction (`ADJ_OFFSET`) another 500.
const SLEW_PPM: u64 = 1_500;
/// How much steeper or flatter than the rate a piece may be, to take in what is missing.
const CORRECTION_PPM: u64 = 1_000;
/// What one reading may be off beyond half of its bracket.
const NOISE_NS: u64 = 12;

/// A reading of the kernel's clock between two readings of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Sample {
    /// The counter in the middle of the bracket.
    pub(crate) cycles: u64,
    /// The kernel's clock, in nanoseconds.
    pub(crate) ns: u64,
    /// The width of the bracket in cycles.
    pub(crate) width: u64,
}

/// A piece of the line, at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Nanoseconds per cycle, times 2^[`RATE_SHIFT`], corrections included.
    pub(crate) slope: u64,
    /// Cycles for which it may be used.
    pub(crate) window: u64,
}

/// What to do after a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Go on from where the line is, with this piece.
    Continue(Piece),
    /// The line has been left alone for so long that nobody used it: begin at the kernel's time.
    Anew(Piece),
    /// Too early to know a rate.
    Wait,
    /// The counter and the kernel's clock do not belong together, or not any more.
    Disagree,
}

/// What is remembered from reading to reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Discipline {
    /// Where the rate is measured from.
    base: Sample,
    /// Where it will be measured from when `base` is too old.
    next_base: Sample,
    /// The last reading.
    last: Sample,
    /// 0 until it is known.
    rate: u64,
    window_ns: u64,
    /// The narrowest bracket so far.
    narrowest: u64,
}

impl Discipline {
    /// Begins with a reading.
    pub(crate) fn new(first: Sample) -> Self {
        Self {
            base: first,
            next_base: first,
            last: first,
            rate: 0,
            window_ns: SHORTEST_NS,
            narrowest: first.width,
        }
    }

    /// Nanoseconds per cycle, times 2^[`RATE_SHIFT`]; 0 if unknown.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// Takes a reading, where the line says `line_ns` (ignored as long as there is no line).
    pub(crate) fn step(&mut self, sample: Sample, line_ns: u64) -> Next {
        let dt = sample.cycles.wrapping_sub(self.last.cycles);
        let Some(dn) = sample.ns.checked_sub(self.last.ns).filter(|_| dt < u64::MAX / 2) else {
            return Next::Disagree;
        };
        if self.rate == 0 {
            if dn < SHORTEST_NS / 2 || dt == 0 {
                return Next::Wait;
            }
            let Some(rate) = ratio(dn, dt) else { return Next::Disagree };
            self.rate = rate;
            self.next_base = sample;
            self.last = sample;
            return Next::Anew(self.piece(rate, 0));
        }
        let uncertainty = self.uncertainty(sample);
        let predicted = times(dt, self.rate);
        let error = i128::from(dn) - i128::from(predicted);
        let tolerated = parts(dn, SLEW_PPM) + 2 * uncertainty + 1_000;
        if error.unsigned_abs() > u128::from(tolerated) {
            return Next::Disagree;
        }
        self.narrowest = self.narrowest.min(sample.width);
        // A rate that was measured over a baseline is good to the noise of its ends over its
        // length; what exceeds that (on the scale of this step) is a change of rate.
        let straight = error.unsigned_abs() <= u128::from(uncertainty);
        if !straight {
            self.base = self.last;
            self.next_base = self.last;
        } else if sample.ns.saturating_sub(self.next_base.ns) > BASELINE_NS {
            self.base = self.next_base;
            self.next_base = sample;
        }
        let gap = dn > 4 * self.window_ns;
        self.last = sample;
        let baseline = sample.cycles.wrapping_sub(self.base.cycles);
        let Some(rate) = ratio(sample.ns.saturating_sub(self.base.ns), baseline) else {
            return Next::Disagree;
        };
        self.rate = rate;
        self.window_ns = if straight {
            (self.window_ns * 2).min(LONGEST_NS)
        } else {
            (self.window_ns / 4).max(SHORTEST_NS)
        };
        if gap {
            return Next::Anew(self.piece(rate, 0));
        }
        let missing = i128::from(sample.ns) - i128::from(line_ns);
        Next::Continue(self.piece(rate, missing))
    }

    /// What a reading may be off by, in nanoseconds.
    fn uncertainty(&self, sample: Sample) -> u64 {
        let excess = sample.width.saturating_sub(self.narrowest);
        NOISE_NS + times(excess / 2 + self.narrowest / 8, self.rate)
    }

    fn piece(&self, rate: u64, missing_ns: i128) -> Piece {
        let window = cycles(self.window_ns, rate);
        let most = parts(rate, CORRECTION_PPM);
        let wanted = (missing_ns << RATE_SHIFT) / i128::from(window.max(1));
        let most = i128::from(most);
        // Within `CORRECTION_PPM` of the rate, so positive, and 64 bits are enough.
        let slope = (i128::from(rate) + wanted.clamp(-most, most)) as u64;
        Piece { slope, window }
    }
}

/// `ns / cycles` as a rate, if it is one that a counter can have (1 MHz to 100 GHz).
fn ratio(ns: u64, cycles: u64) -> Option<u64> {
    let rate = (u128::from(ns) << RATE_SHIFT) / u128::from(cycles.max(1));
    let fastest = 1u128 << (RATE_SHIFT - 7);
    let slowest = 1_100u128 << RATE_SHIFT;
    (fastest..=slowest).contains(&rate).then_some(rate as u64)
}

/// Cycles at a rate, in nanoseconds.
pub(crate) fn times(cycles: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(cycles) * u128::from(rate)) >> RATE_SHIFT).unwrap_or(u64::MAX)
}

/// Nanoseconds at a rate, in cycles.
pub(crate) fn cycles(ns: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(ns) << RATE_SHIFT) / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

fn parts(of: u64, ppm: u64) -> u64 {
    // At most 2000 ppm: fits.
    (u128::from(of) * u128::from(ppm) / 1_000_000) as u64
}

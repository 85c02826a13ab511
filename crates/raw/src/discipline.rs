//! The arithmetic of a clock that follows another: readings of the kernel's clock in, the next
//! piece of a continuous line out. Pure: no clock, no memory but its own.
//!
//! One piece lasts for a *window*. At its end the kernel's clock is read again, and the next piece
//! begins where the last one ended (so time never steps), with the rate of the kernel's clock; the
//! difference from the kernel's clock is spread over the next window. The rate comes from a
//! baseline of up to two seconds while the kernel's clock keeps its rate; when the rate changes
//! (NTP), the baseline starts again.

/// A rate is nanoseconds per cycle, times 2^48: 2^-48 ns over the 2^32 cycles of a long window is
/// far below a nanosecond, and counters from 1 MHz (1000 ns) to 100 GHz fit into 64 bits.
pub const RATE_SHIFT: u32 = 48;

/// The shortest window: the first, and the one after something unexpected.
pub const SHORTEST_NS: u64 = 1_000_000;
/// The longest window. The kernel's clock can be slewed by 500 ppm from one moment to the next
/// (`adjtimex(2)`): 8 us over such a window, before it is noticed.
pub const LONGEST_NS: u64 = 16_000_000;
/// The baseline of the rate.
const BASELINE_NS: u64 = 1_000_000_000;

/// The change of a rate within a window that is not an error, in parts per million: the kernel's
/// frequency correction reaches 500, its offset correction (`ADJ_OFFSET`) another 500.
const SLEW_PPM: u64 = 1_500;
/// How much steeper or flatter than the rate a piece may be, to correct the difference from the
/// kernel's clock.
const CORRECTION_PPM: u64 = 1_000;
/// The error of one reading beyond half of its bracket.
const NOISE_NS: u64 = 12;

/// Readings, beside the first, before there is a line.
const FIRST_READINGS: u32 = 3;
/// A bracket that is this many times wider than the narrowest one is of little use ...
const VAGUE: u64 = 3;
/// ... unless this many in a row were.
const MOST_VAGUE: u32 = 8;

/// A reading of the kernel's clock between two readings of the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sample {
    /// The counter in the middle of the bracket.
    pub cycles: u64,
    /// The kernel's clock, in nanoseconds.
    pub ns: u64,
    /// The width of the bracket in cycles.
    pub width: u64,
    /// Whether only the width of the brackets can show that the kernel has left the counter: then
    /// brackets that stay wide show it.
    pub only_width_tells: bool,
}

/// A piece of the line, at its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Nanoseconds per cycle, times 2^[`RATE_SHIFT`], corrections included.
    pub slope: u64,
    /// Cycles for which it may be used.
    pub window: u64,
}

/// The action after a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Continue from the end of the line, with this piece.
    Continue(Piece),
    /// The line has not been renewed for so long that it was not used: begin at the kernel's time.
    Anew(Piece),
    /// No line for now: it is too early to know a rate, or the reading is too vague for a start.
    Wait,
    /// The counter and the kernel's clock do not match, or no longer match.
    Disagree,
}

/// The state that is kept from reading to reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Discipline {
    /// The beginning of the baseline of the rate.
    base: Sample,
    /// The next beginning, for when `base` is too old.
    next_base: Sample,
    /// A reading a few steps ago.
    recent: Sample,
    /// The last reading.
    last: Sample,
    steps: u32,
    /// The recent error of the predictions, in sixteenths of a nanosecond.
    bias: i64,
    /// 0 until it is known.
    rate: u64,
    window_ns: u64,
    /// The narrowest bracket so far.
    narrowest: u64,
    /// Readings in a row with brackets much wider than that.
    vague: u32,
}

impl Discipline {
    /// Begins with a reading.
    pub fn new(first: Sample) -> Self {
        Self {
            base: first,
            next_base: first,
            recent: first,
            last: first,
            steps: 0,
            bias: 0,
            rate: 0,
            window_ns: SHORTEST_NS,
            narrowest: first.width,
            vague: 0,
        }
    }

    /// Nanoseconds per cycle, times 2^[`RATE_SHIFT`]; 0 if unknown.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Takes a reading, at which the line's time is `line_ns` (ignored as long as there is no line).
    pub fn step(&mut self, sample: Sample, line_ns: u64) -> Next {
        let dt = sample.cycles.wrapping_sub(self.last.cycles);
        let Some(dn) = sample.ns.checked_sub(self.last.ns).filter(|_| dt < u64::MAX / 2) else {
            return Next::Disagree;
        };
        if self.rate == 0 {
            return self.begin(sample);
        }
        let uncertainty = self.uncertainty(sample);
        let predicted = times(dt, self.rate);
        let error = i128::from(dn) - i128::from(predicted);
        let tolerated =
            parts(dn, SLEW_PPM).saturating_add(uncertainty.saturating_mul(2)).saturating_add(1_000);
        if error.unsigned_abs() > u128::from(tolerated) {
            return Next::Disagree;
        }
        self.narrowest = self.narrowest.min(sample.width);
        if sample.width > self.narrowest.saturating_mul(VAGUE) && self.vague < MOST_VAGUE {
            // The reader was interrupted in each of its brackets. This does not mean that the line
            // is wrong: only the difference beyond the doubt is corrected.
            self.vague += 1;
            let doubt = i128::from(times((sample.width - self.narrowest) / 2, self.rate));
            let missing = i128::from(sample.ns) - i128::from(line_ns);
            let missing = missing.signum() * (missing.abs() - doubt).max(0);
            return if dn > 4 * self.window_ns {
                // Too vague for a new start.
                Next::Wait
            } else {
                Next::Continue(self.piece(self.rate, missing))
            };
        }
        if self.vague == MOST_VAGUE {
            if sample.only_width_tells && sample.width > self.narrowest.saturating_mul(VAGUE) {
                return Next::Disagree;
            }
            // The wider bracket is the normal width from now on.
            self.narrowest = sample.width;
        }
        self.vague = 0;
        // The error of one step is the noise of two readings, and a change of rate if it exceeds
        // that. From step to step noise cancels itself out; a small change of rate adds up.
        self.bias = (self.bias * 3 + error.clamp(-1_000_000, 1_000_000) as i64 * 16) / 4;
        let leapt = error.unsigned_abs() > u128::from(uncertainty.saturating_mul(2));
        let strayed = self.bias.unsigned_abs() / 16 > uncertainty / 2;
        let straight = !leapt && !strayed;
        if !straight {
            self.base = if leapt { self.last } else { self.recent };
            self.next_base = self.last;
            self.bias = 0;
        } else if sample.ns.saturating_sub(self.next_base.ns) > BASELINE_NS {
            self.base = self.next_base;
            self.next_base = sample;
        }
        self.steps = self.steps.wrapping_add(1);
        if leapt || self.steps & 3 == 0 {
            self.recent = self.last;
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
        // Normally most of the apparent difference is the noise of one reading.
        let missing = if straight { missing / 2 } else { missing };
        Next::Continue(self.piece(rate, missing))
    }

    /// Takes readings until two good ones are far enough apart for a rate. A good reading has a
    /// bracket that is about as narrow as the narrowest one.
    fn begin(&mut self, sample: Sample) -> Next {
        self.steps = self.steps.wrapping_add(1);
        self.narrowest = self.narrowest.min(sample.width);
        let good = self.narrowest.saturating_mul(2);
        if self.base.width > good {
            self.base = sample;
            self.last = sample;
            return Next::Wait;
        }
        let dt = sample.cycles.wrapping_sub(self.base.cycles);
        let dn = sample.ns.saturating_sub(self.base.ns);
        if sample.width > good || dn < SHORTEST_NS / 2 || dt == 0 || self.steps < FIRST_READINGS {
            return Next::Wait;
        }
        let Some(rate) = ratio(dn, dt) else { return Next::Disagree };
        self.rate = rate;
        self.next_base = sample;
        self.recent = sample;
        self.last = sample;
        Next::Anew(self.piece(rate, 0))
    }

    /// The possible error of a reading, in nanoseconds.
    fn uncertainty(&self, sample: Sample) -> u64 {
        let excess = sample.width.saturating_sub(self.narrowest);
        NOISE_NS
            .saturating_add(times((excess / 2 + self.narrowest / 8).saturating_add(1), self.rate))
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
pub fn times(cycles: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(cycles) * u128::from(rate)) >> RATE_SHIFT).unwrap_or(u64::MAX)
}

/// Nanoseconds at a rate, in cycles.
pub fn cycles(ns: u64, rate: u64) -> u64 {
    u64::try_from((u128::from(ns) << RATE_SHIFT) / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}

fn parts(of: u64, ppm: u64) -> u64 {
    // At most 2000 ppm: fits.
    (u128::from(of) * u128::from(ppm) / 1_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_of_real_counters_fit() {
        for (hz, right) in [
            (2_596_145_832u64, true),
            (24_000_000, true),
            (1_000_000_000, true),
            (99_000_000_000, true),
            (1_000_000, true),
            (100_000, false),
        ] {
            let rate = ratio(1_000_000_000, hz);
            assert_eq!(rate.is_some(), right, "{hz}");
            if let Some(rate) = rate {
                assert!(cycles(1_000_000_000, rate).abs_diff(hz) <= hz >> 30, "{hz}");
                assert!(times(hz, rate).abs_diff(1_000_000_000) <= 1, "{hz}");
            }
        }
        assert_eq!(ratio(0, 1), None);
        assert_eq!(ratio(u64::MAX, 0), None);
    }

    /// A kernel's clock over a counter, and a line that follows it.
    struct World {
        hz: f64,
        /// The kernel's rate against the counter's nominal one, in ppm, and where it was set.
        ppm: f64,
        base: (f64, f64),
        noise: u64,
        seed: u64,
        cycles: u64,
        /// The line: where it begins, and its slope.
        line: Option<(u64, f64, u64)>,
    }

    impl World {
        fn new(hz: f64, noise: u64) -> Self {
            Self { hz, ppm: 0.0, base: (0.0, 5e9), noise, seed: 1, cycles: 1 << 40, line: None }
        }

        fn kernel(&self) -> f64 {
            let passed = (self.cycles - (1 << 40)) as f64 - self.base.0;
            self.base.1 + passed * 1e9 / self.hz * (1.0 + self.ppm / 1e6)
        }

        fn set_ppm(&mut self, ppm: f64) {
            self.base = ((self.cycles - (1 << 40)) as f64, self.kernel());
            self.ppm = ppm;
        }

        fn pass(&mut self, ns: u64) {
            self.cycles += (ns as f64 * self.hz / 1e9) as u64;
        }

        fn random(&mut self, below: u64) -> u64 {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            if below == 0 { 0 } else { self.seed % below }
        }

        fn sample(&mut self) -> Sample {
            let noise = self.random(2 * self.noise + 1) as f64 - self.noise as f64;
            let width = (60.0 * self.hz / 1e9) as u64;
            Sample {
                cycles: self.cycles,
                ns: (self.kernel() + noise) as u64,
                width,
                only_width_tells: false,
            }
        }
    }

    /// Follows the kernel's clock for some time, with a reading at the end of each window. Returns
    /// the largest error after `settle`, and the number of disagreements.
    fn follow(
        world: &mut World,
        discipline: &mut Discipline,
        seconds: f64,
        settle: f64,
    ) -> (f64, u32) {
        let (mut largest, mut disagreed) = (0.0f64, 0);
        let begin = world.kernel();
        let at = |line: (u64, f64, u64), cycles: u64| {
            line.1 + (cycles - line.0) as f64 * line.2 as f64 / 2f64.powi(RATE_SHIFT as i32)
        };
        while world.kernel() - begin < seconds * 1e9 {
            let sample = world.sample();
            let now = world.line.map(|line| at(line, world.cycles));
            let (piece, ns) = match discipline.step(sample, now.unwrap_or_default() as u64) {
                Next::Continue(piece) => (piece, now.unwrap()),
                Next::Anew(piece) => (piece, sample.ns as f64),
                Next::Wait => {
                    world.pass(SHORTEST_NS);
                    continue;
                }
                Next::Disagree => {
                    disagreed += 1;
                    *discipline = Discipline::new(sample);
                    world.line = None;
                    world.pass(SHORTEST_NS);
                    continue;
                }
            };
            let line = (world.cycles, ns, piece.slope);
            assert!(piece.slope > 0);
            world.line = Some(line);
            for _ in 0..4 {
                world.cycles += piece.window / 4;
                if world.kernel() - begin > settle * 1e9 {
                    largest = largest.max((at(line, world.cycles) - world.kernel()).abs());
                }
            }
        }
        (largest, disagreed)
    }

    fn begin(world: &mut World) -> Discipline {
        let discipline = Discipline::new(world.sample());
        world.pass(SHORTEST_NS);
        discipline
    }

    #[test]
    fn a_steady_clock_is_followed_to_the_noise() {
        for (hz, noise) in [(2.596e9, 5), (24e6, 40), (1e9, 5), (5.1e9, 10)] {
            let mut world = World::new(hz, noise);
            let mut discipline = begin(&mut world);
            let (largest, disagreed) = follow(&mut world, &mut discipline, 20.0, 3.0);
            assert_eq!(disagreed, 0, "{hz}");
            assert!(largest <= 15.0 + 2.0 * noise as f64, "{hz}: {largest} ns");
        }
    }

    #[test]
    fn discipline_slew_is_followed() {
        for ppm in [500.0, -500.0, 10.0, -1.0, 100.0] {
            let mut world = World::new(2.596e9, 5);
            let mut discipline = begin(&mut world);
            follow(&mut world, &mut discipline, 5.0, 5.0);
            world.set_ppm(ppm);
            // The moment of the change: one window of the old rate.
            let (largest, disagreed) = follow(&mut world, &mut discipline, 1.0, 0.0);
            assert_eq!(disagreed, 0, "{ppm}");
            let bound = ppm.abs() * 1e-6 * LONGEST_NS as f64 + 40.0;
            assert!(largest <= bound, "{ppm}: {largest} > {bound}");
            let (largest, disagreed) = follow(&mut world, &mut discipline, 5.0, 0.5);
            assert_eq!(disagreed, 0, "{ppm}");
            assert!(largest <= 40.0, "{ppm}: {largest} ns afterwards");
        }
    }

    #[test]
    fn jumps_of_the_counter_and_wrong_rates_are_disagreements() {
        let broken = |break_it: &dyn Fn(&mut World)| {
            let mut world = World::new(2.596e9, 5);
            let mut discipline = begin(&mut world);
            follow(&mut world, &mut discipline, 2.0, 2.0);
            break_it(&mut world);
            let sample = world.sample();
            discipline.step(sample, sample.ns)
        };
        // The counter jumps: the kernel's time stays.
        assert_eq!(
            broken(&|w| {
                w.pass(5_000_000);
                let at = w.kernel();
                w.cycles += 1 << 20;
                w.base = ((w.cycles - (1 << 40)) as f64, at)
            }),
            Next::Disagree
        );
        // The counter is set back.
        assert_eq!(
            broken(&|w| {
                let at = w.kernel();
                w.cycles -= 1 << 30;
                w.base = ((w.cycles - (1 << 40)) as f64, at + 1e6)
            }),
            Next::Disagree
        );
        // The counter's rate is off by 1 %.
        assert_eq!(
            broken(&|w| {
                w.set_ppm(10_000.0);
                w.pass(16_000_000)
            }),
            Next::Disagree
        );
        // The kernel's clock goes backward.
        assert_eq!(
            broken(&|w| {
                w.base.1 -= 1e6;
                w.pass(100_000)
            }),
            Next::Disagree
        );
        // Nothing at all is wrong.
        assert!(matches!(broken(&|w| w.pass(16_000_000)), Next::Continue(_)));
    }

    #[test]
    fn a_reading_that_was_interrupted_does_not_spoil_the_line() {
        let mut world = World::new(2.596e9, 3);
        let mut discipline = begin(&mut world);
        follow(&mut world, &mut discipline, 5.0, 5.0);
        let rate = discipline.rate();
        for late_ns in [8_000u64, -8_000i64 as u64] {
            world.pass(2_000_000);
            // The reading is 8 us late or early, in a bracket of 20 us.
            let exact = world.sample();
            let width = 52_000;
            let sample = Sample { ns: exact.ns.wrapping_add(late_ns), width, ..exact };
            let Next::Continue(piece) = discipline.step(sample, exact.ns) else { panic!() };
            assert_eq!((piece.slope, discipline.rate()), (rate, rate));
        }
        let (largest, disagreed) = follow(&mut world, &mut discipline, 1.0, 0.0);
        assert!(largest < 40.0 && disagreed == 0, "{largest} ns, {disagreed}");
        // But brackets that stay wide are the new normal width.
        for _ in 0..20 {
            world.pass(10_000_000);
            let sample = Sample { width: 5_000, ..world.sample() };
            assert!(!matches!(discipline.step(sample, sample.ns), Next::Disagree));
        }
        assert_eq!(discipline.narrowest, 5_000);
        // Unless that is the only sign that the kernel now reads another device.
        for only_width_tells in [false, true] {
            let mut disagreed = false;
            let mut discipline = discipline;
            for _ in 0..20 {
                world.pass(10_000_000);
                let sample = Sample { width: 50_000, only_width_tells, ..world.sample() };
                disagreed |= discipline.step(sample, sample.ns) == Next::Disagree;
            }
            assert_eq!(disagreed, only_width_tells);
        }
    }

    #[test]
    fn discipline_after_long_gap_starts_again() {
        let mut world = World::new(2.596e9, 5);
        let mut discipline = begin(&mut world);
        follow(&mut world, &mut discipline, 2.0, 2.0);
        world.pass(100_000_000_000);
        let sample = world.sample();
        // 100 s at a rate that is off by the noise over the baseline.
        assert!(matches!(discipline.step(sample, sample.ns + 700), Next::Anew(_)));
    }

    proptest! {
        /// For any readings: no overflow, and a piece that rises.
        #[test]
        fn any_readings_at_all(
            readings in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 1..20),
            small in any::<bool>()
        ) {
            let scale = |value: u64| if small { value % (1 << 34) } else { value };
            let mut discipline = Discipline::new(Sample::default());
            for (cycles, ns, width, line) in readings {
                let sample = Sample {
                    cycles: scale(cycles),
                    ns: scale(ns),
                    width: scale(width),
                    only_width_tells: width & 1 == 1,
                };
                if let Next::Continue(piece) | Next::Anew(piece) = discipline.step(sample, scale(line)) {
                    prop_assert!(piece.slope > 0 && piece.window > 0, "{piece:?}");
                }
            }
        }
    }
}

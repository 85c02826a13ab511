//! The possible meanings of a pair of intervals: every hypothesis is tried, and those that fit are returned.
//!
//! # Premises
//!
//! `clocksource_watchdog()` in `kernel/time/clocksource.c` reads two counters, the clocksource under
//! test (`cs`) and a reference (`wd`), and compares how far each went since its last run.
//!
//! * The timer that starts a check is due every [`INTERVAL_S`] of *jiffies*, and jiffies follow the
//!   clocksource in use, which usually is the TSC under test. So the clock in use shows about half a
//!   second whether it is right or not. A fast TSC shows half a second and a *short* reference, a slow
//!   one half a second and a *long* reference; a reference that is slow or fast shows the same.
//!   Two intervals alone never show which of the two rates is wrong.
//! * The timer's due times are fixed. A check that comes late makes its interval long and the next one
//!   short: an interval under half a second is not a fault of either clock. 7.1 adds checks after
//!   microseconds.
//! * A guest that was paused, and a machine that was suspended, can continue with a TSC that advanced and a
//!   reference that did not. A TSC that stops in deep idle states shows less than the reference. So one
//!   interval does not distinguish a jump of the TSC from either.
//! * A machine that stopped (interrupts off, a stopped virtual CPU) shows a long interval on both.
//! * A reference of few bits wraps: its interval is then too short by whole periods (PM timer, 24 bits:
//!   4.69 s; HPET, 32 bits: 300 s at 14.318 MHz). The comparison is modulo that period.
//! * `clocksource_delta()` returns zero for a difference that it treats as negative: since 4.5
//!   from half the range on, since 6.13 (and 6.12.5) from seven eighths on. A reference that advanced
//!   that far counts as zero, and so does a TSC that went back.
//! * Between the two reads anything can take time. One read takes microseconds, an emulated one up to
//!   hundreds; SMIs and contention delay it by less than [`LATE_READ_S`]. A virtual CPU can lose its
//!   turn between them for longer; since 5.14 the kernel reads the reference again and repeats a check
//!   that was held up.
//! * `jiffies` and `refined-jiffies` count ticks. They lose time when ticks are delayed, and the length
//!   of a tick depends on a calibration.
//! * A paravirtual clock is the host's TSC with a scale: both the scale and an offset can be wrong.

use super::super::rates::TICK_RATES;
use serde::Serialize;

/// Nominal length of a watchdog interval in seconds (`WATCHDOG_INTERVAL`, `HZ >> 1`).
pub const INTERVAL_S: f64 = 0.5;
/// A difference below this many seconds is not attributed to either clock: one delayed read has the same effect.
/// `CLOCKSOURCE_WATCHDOG_MAX_SKEW_US` can be set up to 1000 us for the same reason.
pub const MEASURABLE_S: f64 = 1e-3;
/// The same since 5.14, in seconds: a check whose bracketed read took longer than 50 to 125 us is repeated
/// (`WATCHDOG_MAX_SKEW`), and an interval has two.
pub(crate) const MEASURABLE_BRACKETED_S: f64 = 250e-6;
/// The old message's figure if the conversion of cycles overflows: 2^64 cycles, multiplied and shifted by the 22 bits
/// of the TSC's scale, in seconds.
pub const OVERFLOW_S: f64 = 4_398.046_511_104;
/// Seconds below the overflow of a figure from a counter that is lower than at the previous check, by less than a
/// period of the PM timer.
const OVERFLOW_REACH_S: f64 = 5.0;
/// The same if the scale has 31 bits, the most that a TSC of 2 to 4 GHz gets (`clocks_calc_mult_shift()`, whose callers
/// asked for an interval of 5 s in 2.6.36 to 2.6.39): the interval of a check that came later than this is too short by
/// a multiple of it. Scales of fewer bits overflow at a multiple of it.
pub const OVERFLOW_LEAST_S: f64 = 8.589_934_592;
/// The longest read of a reference, because of an SMI or bus contention, in seconds. The longest
/// known read-back in a log is 7.2 ms.
pub const LATE_READ_S: f64 = 10e-3;
/// The longest time for which a virtual CPU is not scheduled between two reads, in seconds.
const HELD_UP_S: f64 = 1.0;
/// The largest rate error that is reported without further evidence: 30 %. It covers the ratio of
/// boost to base frequency of a mobile processor, and a move between hosts of 2.0 and 2.6 GHz;
/// calibrations with which a boot completes have smaller errors.
pub const RATE_ERROR_MAX: f64 = 0.30;
/// Frequencies of TSCs, in Hz.
pub(crate) const TSC_HZ: std::ops::RangeInclusive<f64> = 0.6e9..=4.8e9;
/// Frequencies that a late read or a wrong rate can produce from those, in Hz.
const NEAR_TSC_HZ: std::ops::RangeInclusive<f64> = 0.4e9..=6.5e9;
/// More wraps than this, or a longer stall, need more than two matching figures.
const WRAPS_BELIEVED: u32 = 6;
/// The longest stall of a running machine that is assumed, in seconds.
const STALL_BELIEVED_S: f64 = 60.0;

/// The event that may have happened in the interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hypothesis {
    /// The rates differ, clocksource against reference. Which of the two is wrong is open.
    Rate {
        /// Difference in parts per million, where the length of the interval is known.
        ppm: Option<f64>,
    },
    /// The clocksource stepped by this many seconds (negative: it stopped or was set back).
    ClocksourceJumped {
        /// Size in seconds.
        seconds: f64,
    },
    /// The reference stepped by this many seconds (negative: it stopped, lost time or went back).
    ReferenceJumped {
        /// Size in seconds.
        seconds: f64,
    },
    /// Both clocks agree: the machine stopped, and the reference wrapped or advanced so far that the
    /// kernel counts zero.
    StoodStill {
        /// Fewest wraps that fit; 0: the reference advanced over half its range and counts as zero.
        wraps: u32,
        /// Most wraps that fit; more than `wraps` where the clocksource's rate is not known.
        wraps_most: u32,
        /// Length of the interval with the fewest wraps, in seconds.
        seconds: f64,
    },
    /// The reference was read late (or the clocksource, at the previous check).
    LateRead {
        /// The delay in seconds.
        seconds: f64,
    },
    /// A virtual CPU was not scheduled between the two reads. Kernels before 5.14 do not notice.
    HeldUp {
        /// The duration in seconds.
        seconds: f64,
    },
    /// The kernel counted no progress of the clocksource: it did not advance, it went back, or one read was
    /// wrong.
    ClocksourceStuck,
    /// Two reads of the clocksource returned the same cycles: it stopped meanwhile.
    ClocksourceHalted {
        /// The duration according to the reference, in seconds.
        seconds: f64,
    },
    /// The figure is not an interval: the kernel's conversion of cycles overflowed.
    Overflow {
        /// The distance of the figure below the size of the overflow, in seconds.
        below: f64,
        /// The size of the overflow in seconds, or a multiple of it.
        size: f64,
    },
    /// The reference did not advance.
    ReferenceStuck,
    /// The reference counts ticks, and some were lost.
    TicksLost {
        /// The lost time in seconds.
        seconds: f64,
    },
    /// The frequency of the TSC is not in the evidence, and the implied rate is one of real
    /// processors.
    PlausibleRate {
        /// Rate implied by the two counters, in Hz.
        hz: f64,
    },
    /// The difference is smaller than the effect of one delayed read.
    TooSmall {
        /// Clocksource minus reference in seconds.
        seconds: f64,
    },
}

/// The fit of a hypothesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The figures allow it.
    Possible,
    /// The figures are typical of it; the others need a rarer event.
    Likely,
    /// The other hypotheses need a coincidence of less than one in a hundred.
    Shown,
}

/// A hypothesis that fits the figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The hypothesis.
    pub hypothesis: Hypothesis,
    /// Its fit.
    pub fit: Fit,
}

/// A pair of intervals, where known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// By the reference, in seconds, from its cycles (0 to its period).
    pub wd: f64,
    /// By the clocksource, in seconds, at the rate that the kernel uses; negative: it went back.
    pub cs: Option<f64>,
    /// The clocksource's cycles, for an unknown rate.
    pub cs_cycles: Option<f64>,
    /// The rate that the kernel uses, in Hz.
    pub cs_hz: Option<f64>,
    /// Period of the reference's counter in seconds, if it is short enough to wrap.
    pub period: Option<f64>,
    /// The kernel counted the reference's interval as zero, or may have.
    pub wd_zero: bool,
    /// The kernel repeats checks that were delayed between their reads (5.14 and later).
    pub repeats: bool,
    /// The reference counts ticks.
    pub ticks: bool,
    /// The reference's rate is stated by the evidence or fixed by its standard.
    pub wd_rate_known: bool,
}

/// Every hypothesis that fits, the most plausible first.
#[must_use]
pub fn readings(pair: &Pair) -> Vec<Reading> {
    let mut found = match (pair.cs, pair.cs_cycles) {
        (Some(cs), _) => with_rate(pair, cs),
        (None, Some(cycles)) => without_rate(pair, cycles),
        (None, None) => Vec::new(),
    };
    if !pair.wd_rate_known {
        for reading in &mut found {
            // A counter that went back did so at any rate; figures that agree within a read at one of the few rates
            // agree.
            let most = match reading.hypothesis {
                Hypothesis::ClocksourceJumped { .. } if pair.went_back() => Fit::Shown,
                Hypothesis::StoodStill { seconds, .. } if pair.agrees_on(seconds) => Fit::Likely,
                _ => Fit::Possible,
            };
            reading.fit = reading.fit.min(most);
        }
    }
    found.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
    found
}

/// The old one-line message contains only the difference: the interval was half a second or longer,
/// and the reference is not named. `periods` are those of the references that the machine may have.
#[must_use]
pub(crate) fn readings_of_difference(difference: f64, periods: &[f64]) -> Vec<Reading> {
    let mut found = Vec::new();
    let mut add = |hypothesis, fit| found.push(Reading { hypothesis, fit });
    if let Some(overflow @ Hypothesis::Overflow { size, .. }) = overflow(difference) {
        if size == OVERFLOW_S {
            add(overflow, Fit::Possible);
            return found;
        }
        add(overflow, Fit::Likely);
    }
    // The kernels of this message tolerate a difference of 62.5 ms.
    let threshold = INTERVAL_S / 8.0;
    for period in periods {
        let turns = (difference / period).round();
        let rest = (difference - turns * period).abs();
        if rest > threshold + 1e-3 * difference.abs() {
            continue;
        }
        match count(turns) {
            Some(wraps @ 1..=WRAPS_BELIEVED) => {
                let seconds = difference + INTERVAL_S;
                add(Hypothesis::StoodStill { wraps, wraps_most: wraps, seconds }, Fit::Likely);
            }
            // A reference that reads slightly less than at the previous check has advanced nearly a whole period.
            None if (turns + 1.0).abs() < 0.5 => {
                add(Hypothesis::ReferenceJumped { seconds: -rest }, Fit::Likely);
            }
            _ => {}
        }
    }
    let mut add = |hypothesis, fit| found.push(Reading { hypothesis, fit });
    let size = difference.abs();
    add(Hypothesis::ClocksourceJumped { seconds: difference }, Fit::Possible);
    add(Hypothesis::ReferenceJumped { seconds: -difference }, Fit::Possible);
    if size <= HELD_UP_S {
        add(Hypothesis::HeldUp { seconds: size }, Fit::Possible);
    }
    if size <= RATE_ERROR_MAX * INTERVAL_S {
        add(Hypothesis::Rate { ppm: None }, Fit::Possible);
    }
    found.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
    found
}

/// The overflow that gives the figure of the old one-line message, in seconds.
#[must_use]
pub fn overflow(difference: f64) -> Option<Hypothesis> {
    let below = OVERFLOW_S - difference.abs();
    if below.abs() < OVERFLOW_REACH_S {
        return Some(Hypothesis::Overflow { below, size: OVERFLOW_S });
    }
    // An interval that is too short: the difference is negative.
    let size = (-difference / OVERFLOW_LEAST_S).round() * OVERFLOW_LEAST_S;
    let below = size - difference.abs();
    (size > 0.0 && below.abs() < MEASURABLE_S).then_some(Hypothesis::Overflow { below, size })
}

impl Pair {
    /// Whether the clocksource counted this duration, within the time of one read.
    fn agrees_on(&self, seconds: f64) -> bool {
        self.cs.is_some_and(|cs| (cs - seconds).abs() <= MEASURABLE_S)
    }

    fn went_back(&self) -> bool {
        self.cs.or(self.cs_cycles).is_some_and(|cs| cs < 0.0)
    }
}

fn with_rate(pair: &Pair, cs: f64) -> Vec<Reading> {
    let mut found = Vec::new();
    let mut add = |hypothesis, fit| found.push(Reading { hypothesis, fit });
    let wd = pair.wd;
    let difference = cs - wd;
    if cs < 0.0 {
        // The two reads of the counter went back: that needs no reference as evidence.
        add(Hypothesis::ClocksourceJumped { seconds: difference }, Fit::Shown);
        return found;
    }
    let stall = stall(pair, cs);
    if let Some(reading) = stall {
        add(reading.hypothesis, reading.fit);
        if reading.fit == Fit::Shown {
            return found;
        }
    } else if difference.abs() < if pair.repeats { MEASURABLE_BRACKETED_S } else { MEASURABLE_S } {
        add(Hypothesis::TooSmall { seconds: difference }, Fit::Shown);
        return found;
    }
    if cs == 0.0 {
        if pair.cs_cycles == Some(0.0) && wd > 0.0 {
            add(Hypothesis::ClocksourceHalted { seconds: wd }, Fit::Likely);
            return found;
        }
        add(Hypothesis::ClocksourceStuck, Fit::Possible);
        // A TSC that went back counts as zero, and its figures are not in every line.
        add(Hypothesis::ClocksourceJumped { seconds: difference }, Fit::Possible);
        return found;
    }
    if wd <= 0.0 {
        let nominal = (0.8 * INTERVAL_S..1.5 * INTERVAL_S).contains(&cs);
        if pair.wd_zero {
            // The kernel's zero: the evidence does not show how far the reference advanced.
            let seconds = cs;
            add(Hypothesis::StoodStill { wraps: 0, wraps_most: 0, seconds }, Fit::Likely);
            add(Hypothesis::ReferenceJumped { seconds: difference }, Fit::Possible);
        } else {
            let fit = if nominal && !pair.ticks { Fit::Shown } else { Fit::Likely };
            add(Hypothesis::ReferenceStuck, fit);
        }
        if !nominal {
            add(Hypothesis::ClocksourceJumped { seconds: difference }, Fit::Possible);
        }
        return found;
    }
    differing(pair, cs, stall.is_some(), &mut found);
    found
}

/// The clocks differ by more than the time of a read, and no number of wraps makes them agree.
fn differing(pair: &Pair, cs: f64, stalled: bool, found: &mut Vec<Reading>) {
    let wd = pair.wd;
    let difference = cs - wd;
    let size = difference.abs();
    let mut add = |hypothesis, fit| found.push(Reading { hypothesis, fit });
    let unless_stalled = |fit: Fit| if stalled { Fit::Possible } else { fit };
    let ratio = difference / wd;
    let implied = pair.cs_hz.map(|hz| hz * cs / wd);
    let small_rate = ratio.abs() <= RATE_ERROR_MAX;
    // What delays a read also delays ticks, and a tick that is lost explains more.
    let lost = pair.ticks && difference > 0.0;
    let late = size <= LATE_READ_S && !pair.repeats && !lost;
    let held = size <= HELD_UP_S && !pair.repeats && !lost;
    if lost {
        add(Hypothesis::TicksLost { seconds: difference }, Fit::Possible);
    }
    if small_rate {
        let fit = if late || held || pair.ticks { Fit::Possible } else { Fit::Likely };
        add(Hypothesis::Rate { ppm: Some(ratio * 1e6) }, unless_stalled(fit));
    } else if implied.is_some_and(|hz| TSC_HZ.contains(&hz)) {
        add(Hypothesis::Rate { ppm: Some(ratio * 1e6) }, Fit::Possible);
    }
    if late {
        add(Hypothesis::LateRead { seconds: size }, Fit::Possible);
    } else if held {
        add(Hypothesis::HeldUp { seconds: size }, Fit::Possible);
    }
    // It counted less than the reference: it halted, it was set back, or the reference is wrong.
    let no_rate = implied.map_or(cs / wd > 10.0, |hz| !TSC_HZ.contains(&hz));
    let ahead = difference > 1.0 && cs > 1.5 * INTERVAL_S && no_rate && !pair.ticks;
    let fit = if ahead { Fit::Likely } else { Fit::Possible };
    add(Hypothesis::ClocksourceJumped { seconds: difference }, unless_stalled(fit));
    add(Hypothesis::ReferenceJumped { seconds: -difference }, Fit::Possible);
}

/// A stop of the machine, if some number of wraps makes the clocks agree.
fn stall(pair: &Pair, cs: f64) -> Option<Reading> {
    let period = pair.period?;
    let turns = ((cs - pair.wd) / period).round();
    if (turns + 1.0).abs() < 0.5 && cs < INTERVAL_S {
        // The reference reads less than at the previous check: nearly a whole period, modulo its range.
        let back = period - pair.wd + cs;
        return (back.abs() <= LATE_READ_S).then_some(Reading {
            hypothesis: Hypothesis::ReferenceJumped { seconds: -back },
            fit: Fit::Likely,
        });
    }
    let wraps = count(turns)?;
    let overran = pair.wd > period / 2.0;
    if wraps == 0 && !overran {
        return None;
    }
    let seconds = pair.wd + turns * period;
    let rest = (cs - seconds).abs();
    let close = MEASURABLE_S + 1e-3 * seconds;
    let loose = LATE_READ_S + 0.01 * seconds;
    if rest > loose {
        return None;
    }
    // A jump does not end within the time of a read of a whole number of periods.
    let believed =
        wraps <= WRAPS_BELIEVED && (seconds <= STALL_BELIEVED_S || pair.agrees_on(seconds));
    let fit = match (rest <= close, believed) {
        // A jump that ends within 1 % of the period at a whole number of periods is a coincidence.
        (true, true) if 2.0 * close <= 0.01 * period => Fit::Shown,
        (true, true) => Fit::Likely,
        _ => Fit::Possible,
    };
    Some(Reading { hypothesis: Hypothesis::StoodStill { wraps, wraps_most: wraps, seconds }, fit })
}

/// The implications of the two counters if the rate that the kernel uses is unknown.
fn without_rate(pair: &Pair, cycles: f64) -> Vec<Reading> {
    let mut found = Vec::new();
    let mut add = |hypothesis, fit| found.push(Reading { hypothesis, fit });
    // 3 GHz replaces the rate: sizes are approximate.
    let rough = cycles / 3e9;
    if cycles < 0.0 {
        add(Hypothesis::ClocksourceJumped { seconds: rough - pair.wd }, Fit::Shown);
        return found;
    }
    if cycles == 0.0 && pair.wd > 0.0 {
        add(Hypothesis::ClocksourceHalted { seconds: pair.wd }, Fit::Likely);
        return found;
    }
    let fits = |wraps: u32| {
        let seconds = pair.wd + pair.period.unwrap_or(0.0) * f64::from(wraps);
        seconds > 0.0 && TSC_HZ.contains(&(cycles / seconds))
    };
    let overran = pair.period.is_some_and(|period| pair.wd > period / 2.0);
    let first = if overran { 0 } else { 1 };
    let wraps: Vec<u32> = match pair.period {
        Some(_) => (first..=WRAPS_BELIEVED).filter(|wraps| fits(*wraps)).collect(),
        None => Vec::new(),
    };
    let direct = fits(0) && !overran;
    if direct {
        add(Hypothesis::PlausibleRate { hz: cycles / pair.wd }, Fit::Possible);
    }
    let mut stalled = false;
    if let (Some(least), Some(most), Some(period)) = (wraps.first(), wraps.last(), pair.period)
        && !direct
    {
        let seconds = pair.wd + period * f64::from(*least);
        stalled = seconds <= STALL_BELIEVED_S;
        // If several numbers of wraps fit, any figures would: the fit proves nothing.
        let fit = if stalled && least == most { Fit::Likely } else { Fit::Possible };
        add(Hypothesis::StoodStill { wraps: *least, wraps_most: *most, seconds }, fit);
    }
    if direct {
        return found;
    }
    if pair.wd <= 0.0 && !pair.wd_zero {
        add(Hypothesis::ReferenceStuck, Fit::Possible);
    }
    let seconds = rough - pair.wd;
    let near = pair.wd > 0.0 && NEAR_TSC_HZ.contains(&(cycles / pair.wd));
    if near && !stalled {
        // The size of the error is unknown without the rate.
        add(Hypothesis::Rate { ppm: None }, Fit::Possible);
        return found;
    }
    let fit = if stalled || pair.ticks { Fit::Possible } else { Fit::Likely };
    add(Hypothesis::ClocksourceJumped { seconds }, if seconds < 0.0 { Fit::Possible } else { fit });
    if !(seconds > 0.0 && pair.wd > 0.5 * INTERVAL_S && !pair.ticks) {
        add(Hypothesis::ReferenceJumped { seconds: -seconds }, Fit::Possible);
    }
    found
}

/// Cycles of a TSC and ticks, both of rates that are not in the evidence.
#[must_use]
pub(crate) fn readings_of_ticks(cycles: f64, ticks: f64) -> Vec<Reading> {
    let possible = |hypothesis| Reading { hypothesis, fit: Fit::Possible };
    if cycles <= 0.0 || ticks <= 0.0 {
        return Vec::new();
    }
    let plausible = |rate: &&f64| TSC_HZ.contains(&(cycles * **rate / ticks));
    let due = |rate: &&f64| (0.9 * INTERVAL_S..=1.1 * INTERVAL_S).contains(&(ticks / **rate));
    let fitting = || TICK_RATES.iter().filter(plausible);
    if let Some(rate) = fitting().find(due).or_else(|| fitting().next()) {
        return vec![possible(Hypothesis::PlausibleRate { hz: cycles * rate / ticks })];
    }
    // The fastest TSC and the slowest tick.
    let slowest = TICK_RATES.iter().copied().fold(f64::MAX, f64::min);
    let least = cycles / TSC_HZ.end() - ticks / slowest;
    if least <= 0.0 {
        return Vec::new();
    }
    vec![
        possible(Hypothesis::TicksLost { seconds: least }),
        possible(Hypothesis::ClocksourceJumped { seconds: least }),
    ]
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn count(turns: f64) -> Option<u32> {
    (turns >= 0.0 && turns <= f64::from(u32::MAX)).then_some(turns as u32)
}

#[cfg(test)]
mod tests;

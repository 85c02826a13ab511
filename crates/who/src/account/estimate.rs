//! A value with its statistical interval. Pure.

use serde::Serialize;

/// A value, and an interval that contains the true one with 95 % confidence, for the sampling error and the variation
/// of the read cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The whole, without uncertainty.
pub(super) const WHOLE: Estimate = Estimate { value: 1.0, low: 1.0, high: 1.0 };

/// Standard deviations on either side that hold 95 %.
const Z: f64 = 1.96;

/// Student's t for 95 %, for 1 to 30 degrees of freedom.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

fn student(freedom: usize) -> f64 {
    let after = || Z + 2.5 / freedom.max(1) as f64;
    freedom.checked_sub(1).and_then(|at| T.get(at)).copied().unwrap_or_else(after)
}

/// Draws with fewer of the rarer kind do not show how much draws differ.
const FEW: usize = 4;
/// Fewer draws than this do not show it either.
const MANY: usize = 10;

impl Estimate {
    /// A share, `count` of `all` (Wilson's interval: correct even for few).
    #[must_use]
    pub fn share(count: f64, all: f64) -> Self {
        if all.is_nan() || all <= 0.0 {
            return Self { value: 0.0, low: 0.0, high: 1.0 };
        }
        let p = (count / all).clamp(0.0, 1.0);
        let z2 = Z * Z / all;
        let middle = (p + z2 / 2.0) / (1.0 + z2);
        let half = Z / (1.0 + z2) * (p * (1.0 - p) / all + z2 / (4.0 * all)).sqrt();
        Self { value: p, low: (middle - half).clamp(0.0, p), high: (middle + half).clamp(p, 1.0) }
    }

    /// The share in draws of several items each: `count` of `all` items in each draw. The items of one draw resemble
    /// each other, so the interval follows from the number of draws and from how much they differ (Korn and Graubard's
    /// effective number, which also allows for the few draws from which the difference is estimated).
    #[must_use]
    pub fn clustered(draws: &[(f64, f64)]) -> Self {
        let draws: Vec<(f64, f64)> = draws.iter().copied().filter(|(_, all)| *all > 0.0).collect();
        let all: f64 = draws.iter().map(|(_, all)| all).sum();
        let count: f64 = draws.iter().map(|(count, all)| count.clamp(0.0, *all)).sum();
        let squares: f64 = draws.iter().map(|(_, all)| all * all).sum();
        if draws.is_empty() {
            return Self::share(0.0, 0.0);
        }
        let p = (count / all).clamp(0.0, 1.0);
        // As many draws of one size would be as good, if the items of one draw were identical.
        let whole = all * all / squares;
        let number = draws.len() as f64;
        let spread: f64 = draws.iter().map(|(count, all)| (count - p * all).powi(2)).sum();
        let variance = number / (number - 1.0).max(1.0) * spread / (all * all);
        let rarer = draws
            .iter()
            .filter(|(count, all)| if p < 0.5 { *count > 0.0 } else { count < all })
            .count();
        if p <= 0.0 || p >= 1.0 {
            // The exact bound (Clopper and Pearson): Wilson's is too narrow if there are few draws, all of them alike.
            let away = 1.0 - 0.025f64.powf(1.0 / whole);
            return match p <= 0.0 {
                true => Self { value: 0.0, low: 0.0, high: away },
                false => Self { value: 1.0, low: 1.0 - away, high: 1.0 },
            };
        }
        let effective = match draws.len() {
            1 => 1.0,
            many => {
                let by_spread = if variance > 0.0 { p * (1.0 - p) / variance } else { all };
                // A loop that one of the draws in number has meets none of them in one case of three.
                let unseen = whole * (number / 4.0).max(1.0);
                let most = if rarer < FEW || many < MANY { whole } else { all.min(unseen) };
                by_spread.min(most) * (Z / student(many - 1)).powi(2)
            }
        };
        Self { value: p, ..Self::share(p * effective, effective) }.holding(p)
    }

    /// The same, with the value inside.
    fn holding(self, value: f64) -> Self {
        Self { value, low: self.low.min(value), high: self.high.max(value) }
    }

    /// The interval of a share as that of another share of the same things that are `value` of all in another unit, such
    /// as calls instead of samples: all ends stay between 0 and 1.
    #[must_use]
    pub fn as_share(self, value: f64) -> Self {
        let value = value.clamp(0.0, 1.0);
        let odds = |share: f64| share / (1.0 - share);
        let inside = |share: f64| share > 0.0 && share < 1.0;
        if !inside(value) || !inside(self.value) {
            let low = if value >= 1.0 { self.low } else { 0.0 };
            let high = if value <= 0.0 { self.high } else { 1.0 };
            return Self { value, low: low.min(value), high: high.max(value) };
        }
        let factor = odds(value) / odds(self.value);
        let end = |share: f64| {
            if inside(share) {
                let odds = factor * odds(share);
                odds / (1.0 + odds)
            } else {
                share.clamp(0.0, 1.0)
            }
        };
        Self { value, low: end(self.low).min(value), high: end(self.high).max(value) }
    }

    /// Widened by independent uncertainties: relative to the value, down and up.
    #[must_use]
    pub fn widened(self, down: f64, up: f64) -> Self {
        if self.value <= 0.0 {
            return self;
        }
        let below = ((self.value - self.low) / self.value).hypot(down).min(1.0);
        let above = ((self.high - self.value) / self.value).hypot(up);
        // Factors, if they are large: three times as much and three times as much are more than four.
        let factor = (self.high / self.value).ln().hypot(up.ln_1p()).exp();
        let above = above.max(factor - 1.0);
        Self {
            value: self.value,
            low: self.value * (1.0 - below),
            high: self.value * (1.0 + above),
        }
    }

    /// With both ends between 0 and 1.
    #[must_use]
    pub fn within_one(self) -> Self {
        let clamp = |end: f64| end.clamp(0.0, 1.0);
        Self { value: clamp(self.value), low: clamp(self.low), high: clamp(self.high) }
    }

    /// The same in other units.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_intervals() {
        // 50 of 100: Wilson's interval is 0.404 to 0.596.
        let half = Estimate::share(50.0, 100.0);
        assert!((half.low - 0.404).abs() < 1e-3 && (half.high - 0.596).abs() < 1e-3, "{half:?}");
        let none = Estimate::share(0.0, 10.0);
        assert!(none.low == 0.0 && (none.high - 0.278).abs() < 1e-3, "{none:?}");
        assert_eq!(Estimate::share(0.0, 0.0).high, 1.0);
    }

    /// Numbers that look random, the same each time.
    struct Dice(u64);

    impl Dice {
        fn throw(&mut self) -> f64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Hits of one moment are consecutive calls of one loop. `loops` are its loops: how often each was seen, and the
    /// share of calls of one clock in it.
    fn coverage(loops: &[(f64, f64)], moments: usize, hits: usize, cases: usize) -> f64 {
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let truth: f64 = loops.iter().map(|(often, share)| often * share).sum();
        let mut held = 0;
        for _ in 0..cases {
            let draws: Vec<(f64, f64)> = (0..moments)
                .map(|_| {
                    let mut at = dice.throw();
                    let met = loops.iter().find(|(often, _)| {
                        at -= often;
                        at < 0.0
                    });
                    let share = met.or(loops.last()).map_or(0.0, |(_, share)| *share);
                    let all = hits / 2 + (dice.throw() * hits as f64) as usize;
                    let count = (0..all).filter(|_| dice.throw() < share).count();
                    (count as f64, all as f64)
                })
                .collect();
            let found = Estimate::clustered(&draws);
            assert!(0.0 <= found.low && found.high <= 1.0 && found.low <= found.value, "{found:?}");
            held += usize::from((found.low..=found.high).contains(&truth));
        }
        held as f64 / cases as f64
    }

    #[test]
    fn clustered_hits_intervals_hold_in_93_of_100_cases() {
        // Loops of one clock each; mixed loops; one loop; a rare loop.
        let programs: [&[(f64, f64)]; 6] = [
            &[(0.5, 0.0), (0.5, 1.0)],
            &[(0.7, 1.0), (0.3, 0.0)],
            &[(0.4, 0.9), (0.6, 0.2)],
            &[(1.0, 0.3)],
            &[(0.9, 0.5), (0.1, 0.0)],
            &[(0.85, 1.0), (0.15, 0.1)],
        ];
        for program in programs {
            for moments in [5, 12, 25, 60, 300] {
                for hits in [4, 30] {
                    let held = coverage(program, moments, hits, 1000);
                    assert!(held >= 0.93, "{program:?} {moments} moments of {hits}: {held}");
                }
            }
        }
    }

    #[test]
    fn clustered_is_not_wider_than_needed_where_moments_agree() {
        let alike: Vec<(f64, f64)> = (0..25).map(|n| (f64::from(14 + n % 3), 30.0)).collect();
        let found = Estimate::clustered(&alike);
        assert!(found.high - found.low < 0.2, "{found:?}");
        // The same hits, each moment of one clock.
        let apart: Vec<(f64, f64)> = (0..25).map(|n| (f64::from(n % 2) * 30.0, 30.0)).collect();
        let found = Estimate::clustered(&apart);
        assert!(found.high - found.low > 0.3, "{found:?}");
        assert_eq!(Estimate::clustered(&[]), Estimate::share(0.0, 0.0));
    }

    #[test]
    fn as_share_stays_between_0_and_1() {
        let samples = Estimate::share(90.0, 100.0);
        // Of the calls it is less, since each takes longer.
        let calls = samples.as_share(0.5);
        assert!(calls.low > 0.3 && calls.high < 0.7 && calls.value == 0.5, "{calls:?}");
        let calls = samples.as_share(0.99);
        assert!(calls.high < 1.0 && calls.low > 0.9, "{calls:?}");
        assert_eq!(Estimate::share(5.0, 5.0).as_share(1.0).high, 1.0);
        assert_eq!(samples.widened(0.1, 9.0).within_one().high, 1.0);
        let rare = Estimate { value: 1.0, low: 0.2, high: 3.6 };
        assert!((5.0..6.0).contains(&rare.widened(0.7, 2.0).high), "{:?}", rare.widened(0.7, 2.0));
    }

    proptest! {
        #[test]
        fn the_value_lies_inside(
            draws in proptest::collection::vec((0u32..40, 0u32..40), 0..40),
            value in 0f64..=1.0, down in 0f64..3.0, up in 0f64..3.0,
        ) {
            let draws: Vec<(f64, f64)> = draws
                .into_iter()
                .map(|(count, more)| (f64::from(count), f64::from(count + more)))
                .collect();
            let share = Estimate::clustered(&draws);
            let other = share.as_share(value).widened(down, up).within_one();
            for estimate in [share, share.scaled(1e9), other] {
                prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
                prop_assert!(estimate.low >= 0.0 && estimate.high.is_finite());
            }
        }
    }
}

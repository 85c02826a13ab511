//! A value with what chance allows around it. Pure.

use serde::Serialize;

/// A value, and an interval that holds the true one with 95 % confidence as far as chance in sampling
/// goes.
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

/// Standard deviations on either side that hold 95 %.
const Z: f64 = 1.96;

impl Estimate {
    /// A share, `count` of `all` (Wilson's interval: right also for few).
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

    /// The same in other units.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    /// Split by another share: the uncertainties of both add, as independent ones do.
    #[must_use]
    pub fn split(self, share: Self) -> Self {
        let relative = |estimate: Self, end: f64| {
            if estimate.value > 0.0 { (end - estimate.value) / estimate.value } else { 0.0 }
        };
        let value = self.value * share.value;
        let down = relative(self, self.low).hypot(relative(share, share.low)).min(1.0);
        let up = relative(self, self.high).hypot(relative(share, share.high));
        Self { value, low: value * (1.0 - down), high: value * (1.0 + up) }
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

    proptest! {
        #[test]
        fn the_value_lies_inside(count in 0u32..10_000, more in 0u32..10_000, other in 1u32..1000) {
            let all = f64::from(count) + f64::from(more);
            let share = Estimate::share(f64::from(count), all);
            let split = share.split(Estimate::share(1.0, f64::from(other)));
            for estimate in [share, share.scaled(1e9), split] {
                prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
                prop_assert!(estimate.low >= 0.0 && estimate.high.is_finite());
            }
        }
    }
}

//! Medians with intervals, and comparisons of two of them. Pure.
//!
//! The interval is that of order statistics: it assumes nothing about the distribution of the figures. Disturbances of
//! a machine last for some time, so neighbouring batches are similar, and counting each as independent would promise
//! too much. Therefore the run is cut into [`PARTS`] consecutive parts, and the interval goes from the smallest to the
//! largest of their medians.

use serde::{Deserialize, Serialize};

/// Parts of a run. The smallest and the largest of eight independent figures enclose the median of their distribution
/// in all but 2 of 2^8 cases.
pub const PARTS: usize = 8;

/// The confidence that intervals have at least, if there are enough figures for it.
pub const CONFIDENCE: f64 = 0.99;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The median, in nanoseconds.
    pub ns: f64,
    /// The lower end of its interval, in nanoseconds.
    pub low: f64,
    /// The upper end, in nanoseconds.
    pub high: f64,
}

impl Estimate {
    /// The median of figures in the order in which they were taken; `None` without any.
    #[must_use]
    pub fn of(in_order: &[f64]) -> Option<Self> {
        let ns = median(in_order)?;
        let mut parts = parts(in_order);
        parts.sort_unstable_by(f64::total_cmp);
        let (low, high, _) = median_interval(&parts, CONFIDENCE)?;
        // The median of all lies between those of the parts where these are equally long.
        Some(Self { ns, low: low.min(ns), high: high.max(ns) })
    }

    /// Returns this cost less another one, both measured in turns in one run: part by part, so that a disturbance of
    /// both cancels out.
    #[must_use]
    pub fn beyond(in_order: &[f64], baseline: &[f64]) -> Option<Self> {
        let ns = median(in_order)? - median(baseline)?;
        let mut differences: Vec<f64> =
            parts(in_order).iter().zip(parts(baseline)).map(|(cost, less)| cost - less).collect();
        differences.sort_unstable_by(f64::total_cmp);
        let (low, high, _) = median_interval(&differences, CONFIDENCE)?;
        // A cost of zero sometimes comes out a little below zero.
        let [ns, low, high] = [ns, low.min(ns), high.max(ns)].map(|ns| ns.max(0.0));
        Some(Self { ns, low, high })
    }

    /// Returns how many times this is of another one; `None` if that one may be zero.
    #[must_use]
    pub fn ratio_to(&self, other: &Self) -> Option<Ratio> {
        let usable = other.low > 0.0 && other.high.is_finite() && self.low >= 0.0;
        (usable && self.high.is_finite()).then(|| Ratio {
            ratio: self.ns / other.ns,
            low: self.low / other.high,
            high: self.high / other.low,
        })
    }
}

/// A ratio and its interval, which combines the intervals of both values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// The ratio of the medians.
    pub ratio: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// No difference: the interval contains 1.
    NoDifference,
    /// Faster: the whole interval is below 1.
    Less,
    /// Slower: the whole interval is above 1.
    More,
}

impl Ratio {
    /// Returns the result of the comparison.
    #[must_use]
    pub fn difference(&self) -> Difference {
        if self.high < 1.0 {
            Difference::Less
        } else if self.low > 1.0 {
            Difference::More
        } else {
            Difference::NoDifference
        }
    }
}

/// The median; `None` without figures.
#[must_use]
pub fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some((sorted.get(last / 2)? + sorted.get(last.div_ceil(2))?) / 2.0)
}

/// The medians of up to [`PARTS`] consecutive parts that differ in length by one at most.
fn parts(in_order: &[f64]) -> Vec<f64> {
    let parts = PARTS.min(in_order.len());
    (0..parts)
        .filter_map(|part| {
            let [from, to] = [part, part + 1].map(|part| part * in_order.len() / parts);
            median(in_order.get(from..to)?)
        })
        .collect()
}

/// Returns the interval of the median of the distribution from which the figures (sorted) are a
/// sample: its ends and its confidence, which is the least that is at least `wanted`, or the most
/// that so few figures give.
#[must_use]
pub fn median_interval(sorted: &[f64], wanted: f64) -> Option<(f64, f64, f64)> {
    let n = sorted.len();
    let last = n.checked_sub(1)?;
    let mut chosen = (0, 1.0 - 2.0 * below(n, 0));
    for k in 1..=last / 2 {
        let confidence = 1.0 - 2.0 * below(n, k);
        if confidence < wanted {
            break;
        }
        chosen = (k, confidence);
    }
    let (k, confidence) = chosen;
    Some((*sorted.get(k)?, *sorted.get(last - k)?, confidence.clamp(0.0, 1.0)))
}

/// Returns the probability that at most `k` of `n` figures lie below the median.
fn below(n: usize, k: usize) -> f64 {
    // Far fewer than 2^52 figures.
    let mut term = 0.5f64.powf(n as f64);
    let mut sum = term;
    for i in 0..k.min(n) {
        term *= (n - i) as f64 / (i + 1) as f64;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn estimate(ns: f64, low: f64, high: f64) -> Estimate {
        Estimate { ns, low, high }
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn eight_parts_enclose_the_median_in_99_of_100_cases() {
        let sorted: Vec<f64> = (0..8).map(f64::from).collect();
        let (low, high, confidence) = median_interval(&sorted, CONFIDENCE).unwrap();
        assert_eq!((low, high), (0.0, 7.0));
        assert!((confidence - (1.0 - 2.0 / 256.0)).abs() < 1e-12);
        // Textbook: n = 100 and 95 % give the 40th and the 61st.
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        let (low, high, confidence) = median_interval(&sorted, 0.95).unwrap();
        assert_eq!((low, high), (40.0, 61.0));
        assert!((confidence - 0.9648).abs() < 1e-4);
    }

    #[test]
    fn slow_spells_widen_the_interval() {
        // Seven parts at 20, one at 30: independent batches would have hidden it.
        let mut batches = vec![20.0; 700];
        batches.extend(vec![30.0; 100]);
        let estimate = Estimate::of(&batches).unwrap();
        assert_eq!((estimate.ns, estimate.low, estimate.high), (20.0, 20.0, 30.0));
        // A single outlier does not.
        let mut batches = vec![20.0; 800];
        batches[5] = 1e6;
        assert_eq!(
            Estimate::of(&batches).unwrap(),
            super::Estimate { ns: 20.0, low: 20.0, high: 20.0 }
        );
    }

    #[test]
    fn what_disturbs_both_cancels() {
        let noise = |i: usize| if i < 100 { 5.0 } else { 0.0 };
        let cost: Vec<f64> = (0..800).map(|i| 23.0 + noise(i)).collect();
        let empty: Vec<f64> = (0..800).map(|i| 1.0 + noise(i)).collect();
        assert_eq!(Estimate::beyond(&cost, &empty), Some(estimate(22.0, 22.0, 22.0)));
        assert_eq!(Estimate::beyond(&empty, &cost), Some(estimate(0.0, 0.0, 0.0)));
        assert_eq!(Estimate::beyond(&cost, &[]), None);
    }

    #[test]
    fn ratios_say_when_they_say_nothing() {
        let a = estimate(10.0, 9.0, 11.0);
        let overlapping = estimate(10.5, 10.0, 12.0);
        let ratio = a.ratio_to(&overlapping).unwrap();
        assert_eq!(ratio.difference(), Difference::NoDifference);
        assert!(ratio.low < 0.76 && ratio.high == 1.1);
        let more = estimate(20.0, 19.0, 21.0).ratio_to(&a).unwrap();
        assert_eq!(more.difference(), Difference::More);
        assert_eq!(a.ratio_to(&estimate(20.0, 19.0, 21.0)).unwrap().difference(), Difference::Less);
        assert_eq!(a.ratio_to(&estimate(1.0, 0.0, 2.0)), None);
    }

    proptest! {
        #[test]
        fn an_estimate_lies_in_its_interval(figures in proptest::collection::vec(0.0f64..1e6, 1..200)) {
            let e = Estimate::of(&figures).unwrap();
            let (least, most) = figures.iter().fold((f64::MAX, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
            prop_assert!(least <= e.low && e.low <= e.ns && e.ns <= e.high && e.high <= most);
        }

        #[test]
        fn more_confidence_is_never_narrower(
            mut figures in proptest::collection::vec(0.0f64..1e6, 1..60), a in 0.0f64..1.0, b in 0.0f64..1.0
        ) {
            figures.sort_unstable_by(f64::total_cmp);
            let (less, more) = (a.min(b), a.max(b));
            let narrow = median_interval(&figures, less).unwrap();
            let wide = median_interval(&figures, more).unwrap();
            prop_assert!(wide.0 <= narrow.0 && narrow.1 <= wide.1);
        }

        #[test]
        fn a_ratio_and_its_inverse_agree(
            a in 1.0f64..1e3, b in 1.0f64..1e3, wa in 0.0f64..0.5, wb in 0.0f64..0.5
        ) {
            let make = |ns: f64, w: f64| estimate(ns, ns * (1.0 - w), ns * (1.0 + w));
            let (x, y) = (make(a, wa), make(b, wb));
            let (there, back) = (x.ratio_to(&y).unwrap(), y.ratio_to(&x).unwrap());
            prop_assert!((there.low * back.high - 1.0).abs() < 1e-9);
            prop_assert_eq!(
                there.difference() == Difference::NoDifference,
                back.difference() == Difference::NoDifference
            );
            prop_assert_eq!(x.ratio_to(&x).unwrap().difference(), Difference::NoDifference);
        }

        #[test]
        fn parts_are_of_the_whole(figures in proptest::collection::vec(0.0f64..1e6, 0..100)) {
            prop_assert_eq!(parts(&figures).len(), figures.len().min(PARTS));
        }
    }
}

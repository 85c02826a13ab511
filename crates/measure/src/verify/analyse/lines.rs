//! Straight lines through bars: at each `x` the value is known to lie between `low` and `high`.

use crate::verify::outcome::Interval;

/// A value that is known to lie in an interval, at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) x: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Bar {
    pub(super) fn middle(&self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    pub(super) fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// A slope, and the interval in which it must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub(super) best: f64,
    pub(super) interval: Interval,
    /// Whether there is a straight line through all bars.
    pub(super) is_line: bool,
}

/// The value in the middle; reorders.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// A slope that a single jump, or a few bad bars, do not move much: the median of the slopes between
/// bars that are a part (1 / `part`) of all bars apart. `None` if time does not advance.
pub(super) fn robust(bars: &[Bar], part: usize) -> Option<f64> {
    let apart = (bars.len() / part.max(1)).max(1);
    let mut slopes: Vec<f64> = bars
        .iter()
        .zip(bars.get(apart..)?)
        .filter(|(a, b)| b.x > a.x)
        .map(|(a, b)| (b.middle() - a.middle()) / (b.x - a.x))
        .filter(|slope| slope.is_finite())
        .collect();
    median(&mut slopes)
}

/// Returns the slopes of all lines through all bars, each bar being `slack` longer at both ends. If there is no such
/// line, the interval reaches from the steepest to the flattest that some two bars require.
pub(super) fn slope(bars: &[Bar], slack: f64) -> Option<Slope> {
    let mut low = f64::NEG_INFINITY;
    let mut high = f64::INFINITY;
    for (index, a) in bars.iter().enumerate() {
        for b in bars.iter().skip(index + 1).filter(|b| b.x > a.x) {
            let run = b.x - a.x;
            low = low.max((b.low - a.high - 2.0 * slack) / run);
            high = high.min((b.high - a.low + 2.0 * slack) / run);
        }
    }
    if !low.is_finite() || !high.is_finite() {
        return None;
    }
    let is_line = low <= high;
    let interval = Interval { low: low.min(high), high: low.max(high) };
    let best = robust(bars, 2)?.clamp(interval.low, interval.high);
    Some(Slope { best, interval, is_line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The true slope is in the interval, for any ends of the bars.
        #[test]
        fn the_true_slope_is_found(
            slope in -1e3f64..1e3,
            noise in proptest::collection::vec((0.0f64..50.0, 0.0f64..50.0), 2..60),
        ) {
            let bars: Vec<Bar> = noise.iter().enumerate().map(|(i, (below, above))| {
                let x = i as f64 * 100.0;
                Bar { x, low: slope * x - below, high: slope * x + above }
            }).collect();
            let found = super::slope(&bars, 1e-3).unwrap();
            prop_assert!(found.is_line);
            prop_assert!(found.interval.has(slope) && found.interval.has(found.best), "{found:?}");
        }

        #[test]
        fn any_bars(values in proptest::collection::vec(any::<(f64, f64, f64)>(), 0..12)) {
            let bars: Vec<Bar> =
                values.into_iter().map(|(x, low, high)| Bar { x, low, high }).collect();
            if let Some(found) = super::slope(&bars, 1.0) {
                prop_assert!(found.interval.low <= found.interval.high);
            }
        }
    }
}

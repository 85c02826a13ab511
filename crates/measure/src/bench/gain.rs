//! The savings of another path to the time. Pure.

use super::stats::Estimate;
use serde::Serialize;

/// CPU seconds that are saved in each second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saved {
    /// The saving by the medians; negative where the other path is slower.
    pub cpu: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns the savings if this many reads a second cost `then` instead of `now`.
#[must_use]
pub fn saved(calls_per_second: f64, now: Estimate, then: Estimate) -> Saved {
    let cpu = |nanoseconds: f64| calls_per_second * nanoseconds / 1e9;
    Saved {
        cpu: cpu(now.ns - then.ns),
        low: cpu(now.low - then.high),
        high: cpu(now.high - then.low),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_million_reads_of_a_microsecond_are_a_cpu() {
        let exact = |ns| Estimate { ns, low: ns, high: ns };
        let saved = saved(1e6, exact(1000.0), exact(20.0));
        assert!((saved.cpu - 0.98).abs() < 1e-12 && saved.low == saved.cpu);
    }

    proptest! {
        #[test]
        fn the_interval_encloses_and_grows_with_the_calls(
            a in 0.0f64..1e4, b in 0.0f64..1e4, w in 0.0f64..100.0, calls in 0.0f64..1e8
        ) {
            let make = |ns: f64| Estimate { ns, low: ns - w, high: ns + w };
            let one = saved(calls, make(a), make(b));
            prop_assert!(one.low <= one.cpu && one.cpu <= one.high);
            let two = saved(2.0 * calls, make(a), make(b));
            prop_assert!((two.cpu - 2.0 * one.cpu).abs() <= 1e-6 * one.cpu.abs().max(1.0));
        }
    }
}

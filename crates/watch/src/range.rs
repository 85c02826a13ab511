//! Ranges of monitoring plugins: `10` (outside of 0 to 10 is bad), `10:` (below 10), `~:10` (above 10), `10:20` (outside) and
//! `@10:20` (inside). Source: Monitoring Plugins Development Guidelines, "Threshold and Ranges". Pure.

use serde::Serialize;
use std::str::FromStr;

/// A range of values, and whether the values inside it or outside of it are bad.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Range {
    /// The least value; null means no limit.
    pub low: Option<f64>,
    /// The greatest value; null means no limit.
    pub high: Option<f64>,
    /// True if the values in the range, ends included, are bad; false if those outside are.
    pub inside: bool,
}

impl Range {
    /// Whether a value is bad.
    #[must_use]
    pub fn alerts(&self, value: f64) -> bool {
        let below = self.low.is_some_and(|low| value < low);
        let above = self.high.is_some_and(|high| value > high);
        (below || above) != self.inside
    }

    /// Returns the range as plugins write it, each figure by `number`.
    #[must_use]
    pub fn text(&self, number: impl Fn(f64) -> String) -> String {
        let at = if self.inside { "@" } else { "" };
        let low = self.low.map_or_else(|| "~".to_owned(), &number);
        match self.high.map(&number) {
            Some(high) if self.low == Some(0.0) => format!("{at}{high}"),
            high => format!("{at}{low}:{}", high.unwrap_or_default()),
        }
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a range of monitoring plugins: 100, 10:, ~:100, 10:100 or @10:100"
            )
        };
        let figure = |text: &str| {
            let figure = text.parse::<f64>().ok().filter(|figure| figure.is_finite());
            figure.ok_or_else(wrong)
        };
        let (inside, range) = text.strip_prefix('@').map_or((false, text), |range| (true, range));
        let (low, high) = match range.split_once(':') {
            None => (Some(0.0), Some(figure(range)?)),
            Some((low, high)) => {
                let low = match low {
                    "" => Some(0.0),
                    "~" => None,
                    low => Some(figure(low)?),
                };
                (low, if high.is_empty() { None } else { Some(figure(high)?) })
            }
        };
        match (low, high) {
            (Some(low), Some(high)) if low > high => Err(wrong()),
            // Such a range has every value or none.
            (None, None) => Err(wrong()),
            _ => Ok(Self { low, high, inside }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(text: &str) -> Range {
        text.parse().unwrap()
    }

    #[test]
    fn ranges_of_the_guidelines() {
        // The table of the guidelines.
        for (text, bad, good) in [
            ("10", &[-1.0, 10.1][..], &[0.0, 10.0][..]),
            ("10:", &[9.9], &[10.0, 1e9]),
            ("~:10", &[10.1], &[-1e9, 10.0]),
            ("10:20", &[9.9, 20.1], &[10.0, 20.0]),
            ("@10:20", &[10.0, 20.0], &[9.9, 20.1]),
            (":10", &[-1.0, 11.0], &[5.0]),
        ] {
            let range = range(text);
            assert!(bad.iter().all(|value| range.alerts(*value)), "{text}");
            assert!(!good.iter().any(|value| range.alerts(*value)), "{text}");
        }
    }

    #[test]
    fn other_words_are_not_ranges() {
        for text in ["", "@", "~:", "20:10", "a", "1:b", "nan", "inf", "1:2:3", "@@1", "10ns"] {
            assert!(text.parse::<Range>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_range_or_an_error(text in "\\PC*") {
            let _ = text.parse::<Range>();
        }

        #[test]
        fn written_range_is_the_same_one(low in proptest::option::of(0u32..1000), more in proptest::option::of(0u32..1000), inside: bool) {
            prop_assume!(low.is_some() || more.is_some());
            let low = low.map(f64::from);
            let high = more.map(|more| low.unwrap_or_default() + f64::from(more));
            let made = Range { low, high, inside };
            prop_assert_eq!(range(&made.text(|figure| figure.to_string())), made);
        }
    }
}

//! Two runs compared. Pure.

use super::stats::{Difference, Estimate, Ratio};
use serde::Serialize;

/// One row of two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the row.
    pub name: String,
    /// The former run.
    pub before: Estimate,
    /// This one.
    pub now: Estimate,
    /// This one divided by the former; null where the former may be zero.
    pub ratio: Option<Ratio>,
    /// What that says: nothing, where the interval contains 1.
    pub difference: Difference,
}

/// Compares the rows that both runs have, in the order of this one.
#[must_use]
pub fn compare(now: &[(String, Estimate)], before: &[(String, Estimate)]) -> Vec<Comparison> {
    now.iter()
        .filter_map(|(name, now)| {
            let (_, before) = before.iter().find(|(other, _)| other == name)?;
            let ratio = now.ratio_to(before);
            Some(Comparison {
                name: name.clone(),
                before: *before,
                now: *now,
                ratio,
                difference: ratio.map_or(Difference::NoDifference, |ratio| ratio.difference()),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(ns: f64, half: f64) -> Estimate {
        Estimate { ns, low: ns - half, high: ns + half }
    }

    #[test]
    fn only_what_the_intervals_carry_is_a_difference() {
        let row = |name: &str, ns, half| (name.to_owned(), estimate(ns, half));
        let before =
            [row("a", 20.0, 1.0), row("b", 20.0, 1.0), row("gone", 1.0, 0.1), row("z", 0.1, 0.1)];
        let now =
            [row("new", 1.0, 0.1), row("b", 30.0, 1.0), row("a", 21.0, 1.0), row("z", 9.0, 1.0)];
        let compared = compare(&now, &before);
        let names: Vec<&str> = compared.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "z"]);
        assert_eq!(compared[0].difference, Difference::More);
        assert_eq!(compared[1].difference, Difference::NoDifference);
        assert_eq!((compared[2].ratio, compared[2].difference), (None, Difference::NoDifference));
    }
}

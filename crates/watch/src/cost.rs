//! Whether a read costs clearly more or less than before. Pure.
//!
//! Another program may have the processor during one sample, so a change is reported when several samples in a
//! row show it. The usual cost is the median of the last ordinary samples.

use std::collections::VecDeque;

/// A change by less than this factor does not count.
pub const FACTOR: f64 = 2.0;
/// Ordinary samples that are remembered.
const USUAL: usize = 15;
/// Ordinary samples that are needed to report a change.
const ENOUGH: usize = 3;
/// Samples in a row that make a change.
pub const IN_A_ROW: usize = 3;

/// The meaning of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// As before, or there is nothing to compare with.
    Usual,
    /// Unlike before; another sample soon would settle it.
    Suspicious,
    /// Changed, from and to nanoseconds.
    Changed {
        /// The usual cost until now.
        from: f64,
        /// The usual cost from now on.
        to: f64,
    },
}

/// The usual cost of a read.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    usual: VecDeque<f64>,
    unlike: Vec<f64>,
}

impl Cost {
    /// The usual cost in nanoseconds, if there is one already.
    #[must_use]
    pub fn usual(&self) -> Option<f64> {
        (self.usual.len() >= ENOUGH).then(|| median(self.usual.iter().copied()))?
    }

    /// Forgets everything: another clocksource is in use.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Takes note of a sample in nanoseconds.
    pub fn sample(&mut self, ns: f64) -> Seen {
        if !(ns.is_finite() && ns > 0.0) {
            return Seen::Usual;
        }
        let Some(usual) = self.usual() else {
            self.usual.push_back(ns);
            return Seen::Usual;
        };
        let dearer = ns / usual >= FACTOR;
        let cheaper = ns / usual <= 1.0 / FACTOR;
        if !dearer && !cheaper {
            self.unlike.clear();
            if self.usual.len() == USUAL {
                self.usual.pop_front();
            }
            self.usual.push_back(ns);
            return Seen::Usual;
        }
        // All in the same direction.
        if self.unlike.first().is_some_and(|first| (*first > usual) != dearer) {
            self.unlike.clear();
        }
        self.unlike.push(ns);
        if self.unlike.len() < IN_A_ROW {
            return Seen::Suspicious;
        }
        self.usual = std::mem::take(&mut self.unlike).into();
        match median(self.usual.iter().copied()) {
            Some(to) => Seen::Changed { from: usual, to },
            None => Seen::Usual,
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settled(ns: f64) -> Cost {
        let mut cost = Cost::default();
        for _ in 0..5 {
            assert_eq!(cost.sample(ns), Seen::Usual);
        }
        cost
    }

    #[test]
    fn one_disturbed_sample_is_not_a_change_and_three_are() {
        let mut cost = settled(25.0);
        assert_eq!(cost.sample(900.0), Seen::Suspicious);
        assert_eq!(cost.sample(26.0), Seen::Usual);
        assert_eq!(cost.sample(900.0), Seen::Suspicious);
        assert_eq!(cost.sample(910.0), Seen::Suspicious);
        assert_eq!(cost.sample(905.0), Seen::Changed { from: 25.0, to: 905.0 });
        assert_eq!(cost.usual(), Some(905.0));
        for _ in 0..2 {
            assert_eq!(cost.sample(25.0), Seen::Suspicious);
        }
        assert_eq!(cost.sample(25.0), Seen::Changed { from: 905.0, to: 25.0 });
    }

    #[test]
    fn up_and_down_is_not_a_change() {
        let mut cost = settled(100.0);
        for _ in 0..20 {
            assert_eq!(cost.sample(300.0), Seen::Suspicious);
            assert_eq!(cost.sample(30.0), Seen::Suspicious);
        }
    }

    proptest! {
        #[test]
        fn small_changes_and_nonsense_are_none(values in proptest::collection::vec(0.75f64..1.45, 1..200)) {
            let mut cost = settled(1.0);
            for value in values {
                prop_assert_eq!(cost.sample(value), Seen::Usual);
                prop_assert_eq!(cost.sample(f64::NAN), Seen::Usual);
            }
            prop_assert!(cost.usual.len() <= USUAL);
        }
    }
}

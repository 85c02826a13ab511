//! Numbers of calls, with the bounds that the span of a call's cost gives. Pure.

/// A number of calls, with the bounds that the span of a call's cost gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Calls {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The least, if each of the reads waits for instructions before it.
    pub(super) behind: f64,
    /// The least, if each of the reads waits a little for them, as reads in order do in any program.
    pub(super) near: f64,
}

impl Calls {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
            behind: self.behind + other.behind,
            near: self.near + other.near,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        let less = |a: f64, b: f64| (a - b).max(0.0);
        Self {
            value: less(self.value, other.value),
            low: less(self.low, other.low),
            high: less(self.high, other.high),
            behind: less(self.behind, other.behind),
            near: less(self.near, other.near),
        }
    }

    /// Returns the possible error of the number by the cost of a call, relative to it: down and up.
    pub(super) fn relative(self) -> (f64, f64) {
        if self.value <= 0.0 {
            return (0.0, 0.0);
        }
        (1.0 - self.behind.min(self.low) / self.value, self.high / self.value - 1.0)
    }

    /// The relative uncertainty, down and up, of the share of these calls among all, where `rest` is the others. The
    /// cost of one call may be higher or lower than assumed for both, independently. Reads of one kind wait equally
    /// long for the instructions before them; for a read in user space the wait is a larger part than for a system
    /// call.
    pub(super) fn beside(self, rest: Self) -> (f64, f64) {
        if self.value <= 0.0 || rest.value <= 0.0 {
            return (0.0, 0.0);
        }
        let factor = |of: f64, to: f64| if of > 0.0 && to > 0.0 { (of / to).ln() } else { 0.0 };
        let waits = factor(self.low, self.near) - factor(rest.low, rest.near);
        let up = factor(self.high, self.value).hypot(factor(rest.value, rest.low));
        let down = factor(self.value, self.low).hypot(factor(rest.high, rest.value));
        let (up, down) = (up.hypot(waits.min(0.0)), down.hypot(waits.max(0.0)));
        let share = |odds: f64| odds / (1.0 + odds);
        let odds = self.value / rest.value;
        let of = share(odds);
        (1.0 - share(odds * (-down).exp()) / of, share(odds * up.exp()) / of - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn calls(value: f64, factor: f64) -> Calls {
        let low = value / factor;
        Calls { value, low, high: value * factor, behind: low, near: low }
    }

    #[test]
    fn share_beside_calls_of_another_cost_is_as_uncertain_as_either() {
        let (cheap, fine) = (calls(50.0, 3.0), calls(50.0, 1.1));
        let (down, up) = cheap.beside(fine);
        // A third of the calls instead of a half is a share of a quarter; three times as many are three quarters.
        assert!((down - 0.5).abs() < 0.02 && (up - 0.5).abs() < 0.02, "{down} {up}");
        let other = fine.beside(cheap);
        assert!((other.0 - down).abs() < 1e-9 && (other.1 - up).abs() < 1e-9, "{other:?}");
        // Of fine reads it is a few percent, and without others there is nothing to be off.
        assert!(fine.beside(fine).1 < 0.07);
        assert_eq!(fine.beside(Calls::default()), (0.0, 0.0));
        // Waits make the number smaller, and leave shares as they are.
        let waiting = Calls { behind: 20.0, ..fine };
        assert!(
            (waiting.relative().0 - 0.6).abs() < 1e-9 && waiting.beside(fine) == fine.beside(fine)
        );
        // If they are a larger part of these reads than of the others, these may be fewer, and the others more.
        let (slow, quick) = (Calls { near: 44.0, ..fine }, Calls { near: 33.0, ..fine });
        let (plain, shifted) = (fine.beside(fine), quick.beside(slow));
        assert!(shifted.0 > 2.0 * plain.0 && shifted.1 <= plain.1 + 1e-9, "{shifted:?}");
        assert!(slow.beside(quick).1 > 2.0 * plain.1 && quick.beside(quick).0 <= plain.0 + 1e-9);
        let (down, up) = cheap.relative();
        assert!((down - 2.0 / 3.0).abs() < 1e-9 && (up - 2.0).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn shares_stay_between_0_and_1(
            a in 0f64..1e9, b in 0f64..1e9, wide in 1f64..50.0, narrow in 1f64..2.0,
        ) {
            let (a, b) = (calls(a, wide), calls(b, narrow));
            let (down, up) = a.beside(b);
            prop_assert!((0.0..=1.0).contains(&down) && up >= -1e-9, "{} {}", down, up);
            prop_assert!(a.value / (a.value + b.value).max(1e-9) * (1.0 + up) <= 1.0 + 1e-9);
            prop_assert_eq!(a.plus(b).minus(b).value >= 0.0, true);
        }
    }
}

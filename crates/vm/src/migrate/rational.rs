//! A small exact fraction, for errors of a rate: decided and rounded without floats.

use std::cmp::Ordering;

/// `negative ? -num/den : num/den`. `den` is not 0 and below 2^126, and so is `num`.
#[derive(Clone, Copy, Debug)]
pub struct Rational {
    negative: bool,
    num: u128,
    den: u128,
}

const LIMIT: u128 = 1 << 126;

impl Rational {
    /// `(real - nominal) / nominal`. `None` when `nominal` is 0, or one is 2^126 or more.
    #[must_use]
    pub fn difference(real: u128, nominal: u128) -> Option<Self> {
        if nominal == 0 || nominal >= LIMIT || real >= LIMIT {
            return None;
        }
        Some(Self { negative: real < nominal, num: real.abs_diff(nominal), den: nominal })
    }

    /// Whether it is 0.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.num == 0
    }

    /// Returns the product with `factor`, rounded to the nearest integer, half away from 0; a product that does not fit
    /// saturates.
    #[must_use]
    pub fn times(self, factor: u64) -> i128 {
        let (quotient, remainder) = mul_div(self.num, factor, self.den);
        let up = remainder >= self.den - remainder;
        let rounded = quotient.saturating_add(u128::from(up));
        let value = i128::try_from(rounded).unwrap_or(i128::MAX);
        if self.negative { -value } else { value }
    }

    /// In parts per billion.
    #[must_use]
    pub fn ppb(self) -> i128 {
        self.times(1_000_000_000)
    }

    /// Returns the deviation of a clock after this time, in ns: positive when it is fast.
    #[must_use]
    pub fn ns_after(self, seconds: u32) -> i128 {
        self.times(u64::from(seconds) * 1_000_000_000)
    }

    /// Compares the sizes, without the signs, exactly.
    #[must_use]
    pub fn cmp_size(self, other: Self) -> Ordering {
        // Euclid's algorithm: whole parts first, then the remainders' reciprocals. No product can overflow.
        let (mut a, mut b) = ((self.num, self.den), (other.num, other.den));
        let mut flipped = false;
        loop {
            let whole = (a.0 / a.1).cmp(&(b.0 / b.1));
            let rest = (a.0 % a.1, b.0 % b.1);
            let decided = match whole {
                Ordering::Equal if rest.0 == 0 || rest.1 == 0 => Some(rest.0.cmp(&rest.1)),
                Ordering::Equal => None,
                unequal => Some(unequal),
            };
            if let Some(order) = decided {
                return if flipped { order.reverse() } else { order };
            }
            (a, b) = ((a.1, rest.0), (b.1, rest.1));
            flipped = !flipped;
        }
    }
}

/// Returns `a * b / c` and the remainder. `a` and `c` are below 2^126, and `c` is not 0; the quotient saturates.
fn mul_div(a: u128, b: u64, c: u128) -> (u128, u128) {
    let (whole, part) = (a / c, a % c);
    let (mut quotient, mut remainder) = (0u128, 0u128);
    // The product of part and b needs up to 190 bits, so it is not computed: bit by bit from the top, each multiple of
    // c is moved to the quotient at once.
    for bit in (0..u64::BITS).rev() {
        quotient <<= 1;
        remainder <<= 1;
        if b >> bit & 1 == 1 {
            remainder += part;
        }
        while remainder >= c {
            remainder -= c;
            quotient += 1;
        }
    }
    (whole.saturating_mul(u128::from(b)).saturating_add(quotient), remainder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    fn size() -> impl Strategy<Value = u128> {
        // Numbers of every length, not only the longest.
        (0u32..126, any::<u128>()).prop_map(|(bits, value)| value >> (127 - bits))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn rounds_as_big_integers_do(real in size(), nominal in size(), factor in any::<u64>()) {
            prop_assume!(nominal > 0);
            let rational = Rational::difference(real, nominal).unwrap();
            let num = (BigInt::from(real) - BigInt::from(nominal)) * BigInt::from(factor);
            // Half away from zero: (2|n| + d) / 2d.
            let den = BigInt::from(nominal);
            let half: BigInt = (num.magnitude().clone() * 2u32 + den.magnitude()).into();
            let half: BigInt = half / (den * 2);
            let expected = if real < nominal { -half } else { half };
            let saturated = i128::try_from(&expected)
                .unwrap_or(if real < nominal { -i128::MAX } else { i128::MAX });
            prop_assert_eq!(rational.times(factor), saturated);
        }

        #[test]
        fn compares_as_big_integers_do(a in size(), b in size(), c in size(), d in size()) {
            prop_assume!(b > 0 && d > 0);
            let (x, y) = (Rational::difference(a, b).unwrap(), Rational::difference(c, d).unwrap());
            let cross = |n: u128, m: u128| BigInt::from(n) * BigInt::from(m);
            let expected = cross(a.abs_diff(b), d).cmp(&cross(c.abs_diff(d), b));
            prop_assert_eq!(x.cmp_size(y), expected);
            prop_assert_eq!(x.cmp_size(x), Ordering::Equal);
        }
    }
}

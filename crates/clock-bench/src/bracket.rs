//! The difference between a clock and the kernel's, finer than either can be read once.
//!
//! A clock is read between two reads of the kernel's. Undisturbed brackets have (nearly) the least
//! width. The mean over them is far finer than the steps of the counter, and its constant part (the
//! place of the read in the bracket) cancels in differences.

use crate::system::{fence, vdso_ns};

/// The allowed excess over the narrowest width: one step of a counter that moves every 10 ns.
const SLACK_NS: u64 = 11;

/// A comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offset {
    /// The kernel's time of it.
    pub at_ns: u64,
    /// The clock less the kernel's clock, in nanoseconds, the mean over the narrow brackets.
    pub mean_ns: f64,
}

/// Compares a clock, which gives nanoseconds from any origin.
#[inline(always)]
pub fn offset(brackets: usize, clock: impl Fn() -> u64) -> Offset {
    let mut taken = Vec::with_capacity(brackets);
    // The first ones warm up.
    for _ in 0..brackets + 4 {
        let before = vdso_ns();
        fence();
        let here = clock();
        fence();
        let after = vdso_ns();
        taken.push((after.wrapping_sub(before), before, here));
    }
    let taken = taken.get(4..).unwrap_or_default();
    let Some(&(narrowest, origin, zero)) = taken.iter().min() else { return Offset::default() };
    let (mut sum, mut number) = (0.0, 0u32);
    for (width, before, here) in taken {
        if *width <= narrowest + SLACK_NS {
            // From the narrowest bracket on: small numbers, which a float holds exactly.
            let theirs = before.wrapping_sub(origin) as i64 as f64 + *width as f64 / 2.0;
            sum += here.wrapping_sub(zero) as i64 as f64 - theirs;
            number += 1;
        }
    }
    let mean = sum / f64::from(number);
    Offset { at_ns: origin, mean_ns: zero.wrapping_sub(origin) as i64 as f64 + mean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_constant_difference_is_found() {
        let zero = offset(200, vdso_ns).mean_ns;
        let ahead = offset(200, || vdso_ns() + 5_000_000).mean_ns;
        let behind = offset(200, || vdso_ns() - 5_000_000).mean_ns;
        assert!((ahead - zero - 5e6).abs() < 1e3, "{ahead} {zero}");
        assert!((behind - zero + 5e6).abs() < 1e3, "{behind} {zero}");
    }

    #[test]
    fn no_brackets_no_offset() {
        assert_eq!(offset(0, vdso_ns).at_ns, 0);
    }
}

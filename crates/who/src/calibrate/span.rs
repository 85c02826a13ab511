//! The cost of a read, as samples see it: a span, since it depends on the instructions around the call. A read of a few
//! nanoseconds overlaps with them as far as the processor allows; a read of hundreds of nanoseconds is unaffected.

/// The least and the most that one read takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The least.
    pub low: f64,
    /// The value to calculate with.
    pub ns: f64,
    /// The most.
    pub high: f64,
}

/// The relative variation of a read's cost by the code around it: a read waits for the instructions before it.
const SURROUNDINGS: f64 = 0.15;
/// The nanoseconds of a read that overlap with the instructions before it, so that samples attribute them to those
/// instructions: 0.8 to 2 ns of 3 on processors of 2024. A loop of reads alone does not show this overlap, because each
/// read follows a read.
pub(super) const OVERLAP: f64 = 2.0;
/// Samples find at least this part of a read: 0.25 ns or more of `time` (of 3), a tenth to a half of a read of a
/// coarse clock.
const LEAST: f64 = 0.07;
/// The longest wait of an ordered read, in nanoseconds. The read waits for all earlier instructions that the processor
/// has begun; slow ones take 30 ns or more on processors of 2024. Samples attribute the wait to the read.
const WAIT: f64 = 40.0;
/// Nanoseconds that a read may wait even in a program that does almost nothing else: an atomic addition next to each
/// read, such as a counter of events, runs while the read waits for it, so that samples attribute all of it to the
/// read.
pub const BESIDE: f64 = 10.0;
/// The most that a call itself takes, in nanoseconds; a loop of empty calls that takes longer does so for its own sake.
pub(super) const CALL: f64 = 3.0;

impl Span {
    /// Around a cost that was measured with everything that belongs to it.
    #[must_use]
    pub fn around(ns: f64) -> Self {
        Self { low: ns / (1.0 + SURROUNDINGS), ns, high: ns * (1.0 + SURROUNDINGS) }
    }

    /// Anything between these two.
    #[must_use]
    pub fn among(low: f64, high: f64) -> Self {
        Self { low, ns: (low * high).sqrt(), high }
    }

    /// From a loop of calls, one of empty calls, and one in which each call waits for the result of the one before.
    /// Samples see the part of a call that does not overlap with the instructions before it; at most the whole call, if
    /// the calls run one after the other.
    #[must_use]
    pub fn of_loops(apart: f64, empty: f64, chained: f64) -> Self {
        let high = apart.max(chained) - (empty - CALL).max(0.0);
        let high = high.max(LEAST * apart);
        let low = (apart.min(chained) - empty - OVERLAP).max(LEAST * high);
        let least = Self::around((low * high).sqrt());
        Self { low: low.min(least.low), ns: least.ns, high: high.max(least.high) }
    }

    /// The same of a read that takes `factor` times as long.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, ns: self.ns * factor, high: self.high * factor }
    }

    /// The same of a read that takes this many times as long in one moment as in another.
    #[must_use]
    pub fn uneven(self, factor: f64) -> Self {
        let side = factor.max(1.0).sqrt();
        Self { low: self.low / side, ns: self.ns, high: self.high * side }
    }

    /// How much longer a read in order may take, if the program does `others` times as much besides its reads.
    #[must_use]
    pub fn wait(self, others: f64) -> f64 {
        (self.ns * others).clamp(BESIDE, WAIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_wide_for_cheap_reads_only() {
        let width = |span: Span| span.high / span.low;
        let cheap = Span::of_loops(2.6, 1.6, 3.5);
        assert!(cheap.high == 3.5 && width(cheap) > 5.0, "{cheap:?}");
        // A call that costs almost nothing compared with an empty one still takes some time.
        let free = Span::of_loops(1.5, 1.6, 1.6);
        assert!(free.low > 0.1 && width(free) > 5.0, "{free:?}");
        let fine = Span::of_loops(20.0, 1.6, 21.0);
        assert!(width(fine) < 1.5 && fine.low > 15.0, "{fine:?}");
        // Without optimisation the loop itself takes long.
        let loose = Span::of_loops(29.4, 11.0, 30.4);
        assert!(width(loose) < 1.5 && loose.high < 23.0, "{loose:?}");
        let slow = Span::of_loops(700.0, 1.6, 700.0);
        assert!(width(slow) > 1.3 && width(slow) < 1.35, "{slow:?}");
        for span in [cheap, free, fine, loose, slow] {
            assert!(span.low < span.ns && span.ns < span.high, "{span:?}");
        }
        // A read on its own waits for the instructions before it; the wait is bounded.
        assert_eq!((fine.wait(1000.0), fine.wait(0.0)), (WAIT, BESIDE));
        assert_eq!(Span::around(10.0).scaled(2.0), Span::around(20.0));
        assert_eq!(Span::around(10.0).uneven(0.0), Span::around(10.0));
        let uneven = Span::around(640.0).uneven(1.6);
        assert!(uneven.low < 445.0 && uneven.ns == 640.0 && uneven.high > 920.0, "{uneven:?}");
    }
}

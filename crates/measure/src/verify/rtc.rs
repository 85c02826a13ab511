//! The real-time clock of the board as a reference: its seconds, counted by the counter. It has a separate crystal (in
//! a virtual machine it is its host's time), so it can show that the kernel has a wrong rate.

use super::deadline::Deadline;
use super::outcome::Frequency;
use super::source::Source;
use std::time::Duration;

/// Intervals that are needed: two distinguish a clock that was set from a rate error.
const LEAST: usize = 2;
/// An RTC is right to that, in millionths; an emulated one follows its host's clock, which NTP steers.
const DOUBT_PPM: f64 = 2_000.0;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The moment at which the RTC advanced to the next second: the counter before and after.
pub(super) type Edge = (u64, u64);

/// Looks until the time is up.
pub(super) fn take<S: Source>(source: &S, end: Deadline) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut before: Option<(i64, u64)> = None;
    while !end.is_over(source) {
        let begun = source.counter();
        let Some(second) = source.rtc_seconds() else { return edges };
        let ended = source.counter();
        if let Some((known, at)) = before
            && second == known.saturating_add(1)
        {
            edges.push((at, ended));
        } else if before.is_some_and(|(known, _)| second != known) {
            // The clock was set.
            edges.clear();
        }
        before = Some((second, begun));
        std::thread::sleep(PAUSE);
    }
    edges
}

/// Returns the counter's frequency by the edges; `None` with too few, or where they do not agree.
pub(super) fn claim(edges: &[Edge]) -> Option<Frequency> {
    let count = edges.len().checked_sub(1).filter(|count| *count >= LEAST)?;
    let between = |a: &Edge, b: &Edge| {
        (b.0.wrapping_sub(a.1) as i64 as f64, b.1.wrapping_sub(a.0) as i64 as f64)
    };
    let (low, high) = between(edges.first()?, edges.last()?);
    let (low, high) = (low / count as f64, high / count as f64);
    let hz = f64::midpoint(low, high);
    if !(low > 0.0 && hz.is_finite()) {
        return None;
    }
    let agree = edges.windows(2).all(|two| {
        let &[a, b] = two else { return false };
        let (least, most) = between(&a, &b);
        least <= high * (1.0 + DOUBT_PPM / 1e6) && most >= low * (1.0 - DOUBT_PPM / 1e6)
    });
    agree.then(|| Frequency {
        source: format!("the real-time clock, by {count} seconds of it"),
        hz,
        doubt_ppm: DOUBT_PPM + (high - low) / 2.0 / hz * 1e6,
        decisive: true,
        steered: false,
        independent: true,
        measured_ppm: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim_is_the_counter_between_edges() {
        let edges: Vec<Edge> =
            (0..5).map(|n| (n * 2_000_000_000, n * 2_000_000_000 + 4_000_000)).collect();
        let claim = claim(&edges).unwrap();
        assert!((claim.hz / 2e9 - 1.0).abs() < 1e-6, "{claim:?}");
        // Four seconds, each end known to two milliseconds.
        assert!((claim.doubt_ppm - 2_500.0).abs() < 1.0, "{claim:?}");
        assert!(claim.independent && claim.decisive);
    }

    #[test]
    fn claim_of_few_or_odd_edges_is_none() {
        assert_eq!(claim(&[(0, 1), (10, 11)]), None);
        assert_eq!(claim(&[]), None);
        // A second that took half as long: the clock was set, or its host slept.
        assert_eq!(claim(&[(0, 10), (1_000, 1_010), (1_500, 1_510), (2_500, 2_510)]), None);
        assert_eq!(claim(&[(30, 40), (20, 30), (10, 20)]), None);
    }
}

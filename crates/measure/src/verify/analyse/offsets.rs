//! How far apart the counters of processors are.

use super::{Found, shown};
use crate::verify::outcome::{FindingId, Interval, PairOutcome, Weight};
use crate::verify::samples::{Pair, Samples};
use std::collections::BTreeMap;

/// The results from the pairs.
pub(super) struct Offsets {
    pub(super) pairs: Vec<PairOutcome>,
    pub(super) unit: &'static str,
    /// The largest offset that is not excluded, over all pairs; `None` if a pair was not tested, or
    /// there is none.
    pub(super) largest: Option<f64>,
}

pub(super) fn find(samples: &Samples, hz: Option<f64>, found: &mut Found) -> Offsets {
    let hz = hz.filter(|hz| hz.is_finite() && *hz > 0.0);
    let (scale, unit) = hz.map_or((1.0, "cycles"), |hz| (1e9 / hz, "ns"));
    let show = |value: f64| if unit == "ns" { shown(value) } else { format!("{value:.0} cycles") };
    let early = hz.map_or(0.0, |_| samples.early_ns);
    let mut pairs = Vec::new();
    let (mut apart, mut warps) = (Vec::new(), Vec::new());
    let mut blamed: BTreeMap<u32, usize> = BTreeMap::new();
    let mut largest: Option<f64> = None;
    let mut farthest = 0.0f64;
    let mut complete = !samples.pairs.is_empty();
    for pair in &samples.pairs {
        let offset = offset(pair, scale).map(|Interval { low, high }| {
            // An early read makes a message look quicker than it was.
            Interval { low: low - early, high: high + early }
        });
        let (one, other) = (pair.one, pair.other);
        match offset {
            None => {
                complete = false;
                let why = pair.trouble.as_deref().unwrap_or("no message came through in time");
                found.untested.push(format!("processors {one} and {other}: {why}"));
            }
            Some(Interval { low, high }) => {
                // An offset adds to one direction as much as it takes from the other, so a fault does not inflate the
                // sum of both.
                let healthy = low <= 0.0 && high >= 0.0;
                let bound = if healthy { high.max(-low) } else { high - low };
                if bound >= 0.0 {
                    largest = Some(largest.map_or(bound, |largest| largest.max(bound)));
                }
                if low > 0.0 || high < 0.0 || low > high {
                    *blamed.entry(one).or_default() += 1;
                    *blamed.entry(other).or_default() += 1;
                    let least = low.max(-high);
                    farthest = farthest.max(least);
                    apart.push(if low > high {
                        format!(
                            "processors {one} and {other}: messages arrive before they were sent, \
                             in both directions, so the offset changes"
                        )
                    } else if low > 0.0 {
                        format!(
                            "processor {other} is ahead of {one} by {} to {}, by {} messages",
                            show(low),
                            show(high),
                            pair.exchanges
                        )
                    } else {
                        format!(
                            "processor {other} is behind {one} by {} to {}, by {} messages",
                            show(-high),
                            show(-low),
                            pair.exchanges
                        )
                    });
                }
            }
        }
        if pair.locked.back > 0 && pair.locked.largest as f64 * scale > early {
            warps.push(format!(
                "processors {one} and {other}: {} of {} reads under a lock, by {} at most",
                pair.locked.back,
                pair.locked.reads,
                show(pair.locked.largest as f64 * scale)
            ));
        }
        pairs.push(PairOutcome {
            cpus: (one, other),
            offset: offset
                .map(|Interval { low, high }| Interval { low: low.min(high), high: low.max(high) }),
            exchanges: pair.exchanges,
            locked_reads: pair.locked.reads,
            handovers: pair.locked.handovers,
            warps: pair.locked.back,
            largest_warp: pair.locked.largest,
            trouble: pair.trouble.clone(),
        });
    }
    if !apart.is_empty() {
        let most = blamed.values().copied().max().unwrap_or(0);
        let who: Vec<String> = blamed
            .iter()
            .filter(|(_, times)| **times == most)
            .map(|(cpu, _)| cpu.to_string())
            .collect();
        let who = if most > 1 && who.len() == 1 {
            format!("The counter of processor {} differs from the others", who.join(""))
        } else {
            "The counters of the processors differ".to_owned()
        };
        let summary = format!("{who}, by {} or more", show(farthest));
        found.add(FindingId::CounterOffset, Weight::Counter, summary, apart);
    }
    if !warps.is_empty() {
        let summary =
            "A later read of the counter on another processor returned a smaller value (a warp)"
                .to_owned();
        found.add(FindingId::CounterWarp, Weight::Counter, summary, warps);
    }
    Offsets { pairs, unit, largest: largest.filter(|_| complete) }
}

/// Returns by how much the second counter is ahead of the first: at most the time of the quickest message there, and at
/// least the negative time of the quickest one back.
fn offset(pair: &Pair, scale: f64) -> Option<Interval> {
    let (there, back) = (pair.there? as f64, pair.back? as f64);
    Some(Interval { low: -back * scale, high: there * scale })
}

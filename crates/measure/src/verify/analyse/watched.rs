//! How long each processor was compared with others, and which faults that would have shown: steps, drift, glitches,
//! stops.

use super::drift::Course;
use crate::verify::outcome::{Detectable, Watched};
use crate::verify::samples::Samples;

/// After this share of the run every processor must have been compared: a step before that is then seen.
pub(super) const TO_THE_END: f64 = 0.8;
/// An event that happens with that many expected occurrences in a run is missed in fewer than 5 of 100.
const EXPECTED: f64 = 4.0;
/// By how much the quickest message of another run may take longer than this one's.
pub(super) const MARGIN: f64 = 1.3;
/// Reads in turn are that many times as far apart as on average, at most, in nearly all cases.
const FAR: f64 = 5.0;

/// Each processor of the run.
pub(super) fn list(samples: &Samples) -> Vec<Watched> {
    let seconds = |ns: i64| ns as f64 / 1e9;
    let of = |cpu: u32| {
        let heard = samples
            .pairs
            .iter()
            .filter(|pair| pair.one == cpu || pair.other == cpu)
            .filter_map(|pair| pair.heard);
        let (first, last, times, gap) = heard.fold(
            (None::<i64>, None::<i64>, 0u64, None::<i64>),
            |(first, last, times, gap), heard| {
                (
                    Some(first.map_or(heard.first, |first| first.min(heard.first))),
                    last.max(Some(heard.last)),
                    times.saturating_add(heard.times),
                    // Of several pairs, the one with the shortest of the longest gaps.
                    Some(gap.map_or(heard.longest, |gap| gap.min(heard.longest))),
                )
            },
        );
        Watched {
            cpu,
            first_s: first.map(seconds),
            last_s: last.map(seconds),
            comparisons: times,
            longest_gap_s: gap.map(seconds),
        }
    };
    samples.cpus.iter().map(|cpu| of(*cpu)).collect()
}

/// Processors that were not compared to the end of the run.
pub(super) fn not_to_the_end(samples: &Samples, watched: &[Watched]) -> Vec<u32> {
    if samples.cpus.len() < 2 || samples.seconds <= 0.0 {
        return Vec::new();
    }
    let end = samples.seconds * TO_THE_END;
    watched
        .iter()
        .filter(|one| one.last_s.is_none_or(|last| last < end))
        .map(|one| one.cpu)
        .collect()
}

/// Adds the sizes that rest on how long each processor was watched.
pub(super) fn sizes(
    samples: &Samples,
    watched: &[Watched],
    course: Option<&Course>,
    hz: Option<f64>,
    detectable: &mut Detectable,
) {
    let scale = hz.filter(|hz| hz.is_finite() && *hz > 0.0).map(|hz| 1e9 / hz);
    if let Some(scale) = scale
        && not_to_the_end(samples, watched).is_empty()
        && samples.cpus.len() > 1
    {
        // The last comparison of each processor bounds an earlier step, or a drift up to it.
        let last = |cpu: u32| {
            samples
                .pairs
                .iter()
                .filter(|pair| pair.one == cpu || pair.other == cpu)
                .filter_map(|pair| Some((pair.heard?.last, pair.last?)))
                .max_by_key(|(at, _)| *at)
                .map(|(_, (there, back))| {
                    let (there, back) = (there as f64 * scale, back as f64 * scale);
                    let healthy = there >= 0.0 && back >= 0.0;
                    (if healthy { there.max(back) } else { there + back }) + samples.early_ns
                })
        };
        let all: Vec<Option<f64>> = samples.cpus.iter().map(|cpu| last(*cpu)).collect();
        if let Some(all) = all.into_iter().collect::<Option<Vec<f64>>>() {
            let step = all.into_iter().fold(0.0, f64::max) * MARGIN;
            detectable.cpu_step_ns = Some(step);
            let run = watched.iter().filter_map(|one| one.last_s).fold(f64::INFINITY, f64::min);
            let first = watched.iter().filter_map(|one| one.first_s).fold(0.0, f64::max);
            let run = run - first;
            if run > 0.0 {
                detectable.cpu_drift_ppm = Some(step / (run * 1e3));
            }
        }
    }
    let turns = samples.steps.iter().find(|steps| steps.clock.is_none()).map(|steps| steps.across);
    if let Some(turns) = turns.filter(|turns| turns.reads > 0 && samples.turns_ns > 0) {
        let apart = samples.turns_ns as f64 / turns.reads as f64;
        detectable.glitch_ns = Some(apart * FAR);
        detectable.glitch_one_in = Some((turns.reads as f64 / EXPECTED).floor().max(1.0));
    }
    if let Some(course) = course {
        let longest = samples
            .points
            .windows(2)
            .filter_map(|two| Some(two.get(1)?.raw.saturating_sub(two.first()?.raw)))
            .max();
        // Two readings fall into a stop that is that long, and the second one shows all of the first part.
        detectable.stop_ns = longest.map(|longest| 2.0 * longest as f64 + course.jump_ns);
    }
}

//! The clocks: steps back, user space against the kernel, suspend, settings.

use super::{Found, shown};
use crate::verify::outcome::{FindingId, StepOutcome, Weight};
use crate::verify::samples::{Point, Samples, Steps};

/// By how much a clock in user space may be outside of two system calls around it, in nanoseconds.
const OUTSIDE_NS: i64 = 200;
/// A change between two clocks of the kernel that is larger than noise, in nanoseconds.
const CHANGED_NS: i64 = 1_000_000;

pub(super) fn find(samples: &Samples, hz: Option<f64>, found: &mut Found) -> Vec<StepOutcome> {
    user_space(samples, found);
    let realtime = permanent(&samples.points, |point| point.realtime);
    let boottime = permanent(&samples.points, |point| point.boottime);
    if boottime > CHANGED_NS {
        let summary = format!("The machine was suspended for {}", shown(boottime as f64));
        let evidence = vec!["CLOCK_BOOTTIME advanced against CLOCK_MONOTONIC".to_owned()];
        found.add(FindingId::Suspended, Weight::Note, summary, evidence);
    }
    if realtime.unsigned_abs() > CHANGED_NS.unsigned_abs() {
        let way = if realtime > 0 { "forward" } else { "back" };
        let summary =
            format!("The wall clock was set {way} by {}", shown(realtime.unsigned_abs() as f64));
        let evidence =
            vec!["CLOCK_REALTIME changed permanently against CLOCK_MONOTONIC".to_owned()];
        found.add(FindingId::WallClockSet, Weight::Note, summary, evidence);
    }
    backward(samples, realtime, hz, found);
    samples.steps.iter().map(outcome).collect()
}

/// Returns by how much a difference changed permanently. Noise only ever adds to a difference, so the least values of
/// the beginning and of the end are compared.
fn permanent(points: &[Point], of: impl Fn(&Point) -> i64) -> i64 {
    let quarter = points.len() / 4;
    let least = |points: &[Point]| points.iter().map(&of).min();
    let ends = points.get(..quarter).zip(points.get(points.len() - quarter..));
    let least = ends.and_then(|(begin, end)| least(begin).zip(least(end)));
    least.map_or(0, |(begin, end)| end.saturating_sub(begin))
}

fn backward(samples: &Samples, realtime: i64, hz: Option<f64>, found: &mut Found) {
    let (mut clocks, mut work, mut within, mut across) = (vec![], vec![], vec![], vec![]);
    for steps in &samples.steps {
        let (inside, mut between) = (steps.within, steps.across);
        let scale = match steps.clock {
            Some(_) => 1.0,
            None => hz.map_or(0.0, |hz| 1e9 / hz),
        };
        // Threads see each other's early reads, and never their own.
        if inside.back == 0 && (between.largest as f64 * scale) < samples.early_ns {
            between.back = 0;
        }
        if inside.back == 0 && between.back == 0 {
            continue;
        }
        let largest = inside.largest.max(between.largest);
        let Some(clock) = steps.clock else {
            if inside.back > 0 {
                within.push(format!(
                    "{} of {} reads, by {} cycles at most",
                    inside.back, inside.reads, inside.largest
                ));
            }
            if between.back > inside.back {
                across.push(format!(
                    "{} of {} reads by threads in turn, by {} cycles at most",
                    between.back, between.reads, between.largest
                ));
            }
            continue;
        };
        let line = format!(
            "{}: {} of {} reads in one thread, {} of {} from thread to thread, by {} at most",
            clock.name(),
            inside.back,
            inside.reads,
            between.back,
            between.reads,
            shown(largest as f64)
        );
        // One step back, and the clock stayed there: it was set.
        let was_set = clock.can_be_set() && realtime < 0 && between.back <= 1;
        if clock.is_cpu_time() {
            work.push(line);
        } else if !was_set {
            clocks.push(line);
        }
    }
    let mut add = |id, weight, summary: &str, evidence: Vec<String>| {
        if !evidence.is_empty() {
            found.add(id, weight, summary.to_owned(), evidence);
        }
    };
    add(FindingId::ClockBackward, Weight::Clock, "A clock went backwards", clocks);
    add(
        FindingId::CounterBackward,
        Weight::Counter,
        "A later read of the counter in one thread returned a smaller value",
        within,
    );
    add(
        FindingId::CounterWarp,
        Weight::Counter,
        "A later read of the counter in another thread returned a smaller value",
        across,
    );
    add(FindingId::CpuTimeBackward, Weight::Note, "A CPU-time clock went backwards", work);
}

fn user_space(samples: &Samples, found: &mut Found) {
    let mut evidence = Vec::new();
    let (mut early, mut late) = (0i64, 0i64);
    for point in &samples.points {
        let (before, user, after) = point.user;
        early = early.max(before.saturating_sub(user));
        late = late.max(user.saturating_sub(after));
    }
    let mut note = |place: String, early: i64, late: i64| {
        for (by, what) in [(early, "less than before it"), (late, "more than after it")] {
            if by > OUTSIDE_NS {
                evidence.push(format!("{place}: {} {what}, by system call", shown(by as f64)));
            }
        }
    };
    let cpu = samples.points_cpu;
    note(
        cpu.map_or_else(|| "over time".to_owned(), |cpu| format!("processor {cpu}, over time")),
        early,
        late,
    );
    let mut cpus: Vec<u32> = samples.agreements.iter().map(|agreement| agreement.cpu).collect();
    cpus.sort_unstable();
    cpus.dedup();
    for cpu in cpus {
        let of_cpu = samples.agreements.iter().filter(|agreement| agreement.cpu == cpu);
        let (early, late) = of_cpu.fold((0, 0), |(early, late), agreement| {
            (agreement.early.max(early), agreement.late.max(late))
        });
        note(format!("processor {cpu}"), early, late);
    }
    if !evidence.is_empty() {
        found.add(
            FindingId::ClockDisagrees,
            Weight::Clock,
            "CLOCK_MONOTONIC as programs read it is not that of the kernel".to_owned(),
            evidence,
        );
    }
}

fn outcome(steps: &Steps) -> StepOutcome {
    let reads = steps.within.reads;
    StepOutcome {
        clock: steps.clock,
        reads,
        back_within: steps.within.back,
        back_across: steps.across.back,
        largest_back: steps.within.largest.max(steps.across.largest),
        smallest_step: steps.smallest,
        claimed_step: steps.claimed,
        same_share: if reads == 0 { 0.0 } else { steps.same as f64 / reads as f64 },
    }
}

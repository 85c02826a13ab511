//! The verdict, and how sure it is.

use super::drift::Course;
use super::offsets::Offsets;
use super::{Found, rate, watched};
use crate::verify::outcome::{
    Confidence, Detectable, FindingId, Frequency, Method, Outcome, StepOutcome, Trust, Unpinned,
    Watched, Weight,
};
use crate::verify::samples::{Pair, Samples};
use crate::verify::source::ClockId;
use clocksmith_raw::counter;

/// Offsets above this would affect every program: a run that could not detect them proves nothing.
const BLIND_NS: f64 = 10e6;
/// Reads of a clock that are enough to judge it.
const ENOUGH: u64 = 100;

pub(super) fn give(
    samples: &Samples,
    found: Found,
    course: Option<Course>,
    offsets: Offsets,
    frequencies: Vec<Frequency>,
    steps: Vec<StepOutcome>,
) -> Outcome {
    let (mut findings, mut untested) = found.into_parts();
    findings.sort_by_key(|finding| (finding.weight == Weight::Note, finding.id));
    let watched = watched::list(samples);
    let detectable = detectable(samples, &watched, course.as_ref(), &offsets, &frequencies);
    let mut rate_reference = rate::reference(samples, course.as_ref(), &frequencies);
    let detectable = Detectable {
        rate_ppm: detectable
            .rate_against_kernel_ppm
            .zip(rate_reference.error_ppm)
            .map(|(against_kernel, reference)| against_kernel.max(reference)),
        ..detectable
    };
    // If the kernel assumes a wrong rate of the counter, its clocks agree with the counter nevertheless.
    let rate_unknown = samples.counter_is_clock && rate_reference.source.is_none();
    if course.is_some() && rate_unknown {
        untested.push(
            "the rate of the clocks: it was compared only with the kernel's own assumption, which \
             is based on the same counter. Nothing else here shows how fast the counter runs"
                .to_owned(),
        );
    }
    untested.extend(ends_too_soon(samples, &watched));
    if samples.cut_short {
        untested.insert(0, "the rest of the run: it was interrupted".to_owned());
    }
    untested.extend(left_out(samples));
    let has = |weight| findings.iter().any(|finding| finding.weight == weight);
    let counter = if has(Weight::Counter) {
        Trust::NotTrusted
    } else if counter_tested(samples, &detectable) {
        Trust::Trusted
    } else {
        Trust::Unknown
    };
    let clocks_tested = clocks_tested(samples);
    let wrong = has(Weight::Clock) || (has(Weight::Counter) && samples.counter_is_clock);
    let clocks = match (wrong, clocks_tested && !rate_unknown && !samples.cut_short) {
        (true, _) => Trust::NotTrusted,
        (false, true) => Trust::Trusted,
        (false, false) => Trust::Unknown,
    };
    rate_reference.only_gap =
        clocks == Trust::Unknown && clocks_tested && rate_unknown && !samples.cut_short;
    if !clocks_tested {
        untested
            .push("backward steps of the clocks: threads could not read them in turn".to_owned());
    }
    let verdict = if counter::INSTRUCTION.is_none() { clocks } else { worse(counter, clocks) };
    let (several, partial) = (several(samples), partial(samples));
    let confidence = match verdict {
        Trust::Unknown
            if rate_reference.only_gap && counter == Trust::Trusted && (several || !partial) =>
        {
            sureness(&detectable, several, false)
        }
        Trust::Unknown => Confidence::Low,
        Trust::NotTrusted => {
            let only_rate = findings
                .iter()
                .filter(|finding| finding.weight != Weight::Note)
                .all(|finding| finding.id == FindingId::CounterRate);
            if only_rate { Confidence::Medium } else { Confidence::High }
        }
        // One CPU of several: no two counters were compared, so most programs' assumption of equal counters is not
        // proven.
        Trust::Trusted if partial && !several => Confidence::Low,
        Trust::Trusted => sureness(&detectable, several, untested.is_empty()),
    };
    Outcome {
        verdict,
        confidence,
        counter,
        clocks,
        detectable,
        findings,
        rate_reference,
        watched,
        complete: !samples.cut_short,
        untested,
        pairs: offsets.pairs,
        offset_unit: offsets.unit,
        drift: course.map(|course| course.drift),
        frequencies,
        steps,
        method: method(samples),
    }
}

/// What the run would have detected, except the rate against a reference.
fn detectable(
    samples: &Samples,
    watched: &[Watched],
    course: Option<&Course>,
    offsets: &Offsets,
    frequencies: &[Frequency],
) -> Detectable {
    let mut detectable = Detectable {
        offset_ns: offsets.largest.filter(|_| offsets.unit == "ns").map(|ns| ns * watched::MARGIN),
        // After a jump the points are not on a straight line, so they do not give a rate.
        rate_against_kernel_ppm: course
            .filter(|course| !course.jumped)
            .and_then(|course| rate::detectable(samples, course, frequencies)),
        jump_ns: course.map(|course| course.jump_ns),
        ..Detectable::default()
    };
    let hz = course.map(|course| course.drift.hz);
    watched::sizes(samples, watched, course, hz, &mut detectable);
    detectable
}

/// CPUs that were not watched to the end of the run.
fn ends_too_soon(samples: &Samples, watched: &[Watched]) -> Option<String> {
    let late = watched::not_to_the_end(samples, watched);
    if samples.counter_gap.is_some() || late.is_empty() {
        return None;
    }
    let late: Vec<String> = late.iter().map(u32::to_string).collect();
    Some(format!(
        "the end of the run on processors {}: no message came through, so a step there would not have been seen",
        late.join(", ")
    ))
}

/// Processors, counters and clocks that the run did not read.
fn left_out(samples: &Samples) -> Vec<String> {
    let mut left_out = Vec::new();
    for (cpu, why) in &samples.unpinned {
        left_out.push(format!("processor {cpu}: no thread could be bound to it: {why}"));
    }
    if let Some(why) = &samples.counter_gap {
        left_out.push(format!("the counter: {why}"));
    }
    let cpus = cpus_left_out(samples);
    if cpus > 0 {
        left_out.push(format!(
            "{cpus} of the machine's {} CPUs: this run left them out",
            samples.machine_cpus.len()
        ));
    }
    for steps in samples.steps.iter().filter(|steps| steps.within.reads == 0) {
        let name = steps.clock.map_or("the counter, in turn on all CPUs", ClockId::name);
        left_out.push(format!("{name}: it was not read within the time of the run"));
    }
    left_out
}

fn cpus_left_out(samples: &Samples) -> usize {
    samples.machine_cpus.iter().filter(|cpu| !samples.cpus.contains(cpu)).count()
}

/// Whether the run left CPUs of the machine out.
fn partial(samples: &Samples) -> bool {
    cpus_left_out(samples) > 0
}

fn several(samples: &Samples) -> bool {
    samples.cpus.len() > 1
}

/// Whether the counter was read often enough, and offsets that would affect every program would have been seen.
fn counter_tested(samples: &Samples, detectable: &Detectable) -> bool {
    // Reads of the counter: in turn, under the lock of a pair, in messages, and beside the clock.
    let reads = samples
        .steps
        .iter()
        .filter(|steps| steps.clock.is_none())
        .map(|steps| steps.within.reads)
        .chain(samples.pairs.iter().map(|pair| pair.locked.reads.saturating_add(pair.exchanges)))
        .chain([samples.points.len() as u64])
        .fold(0u64, u64::saturating_add);
    samples.counter_gap.is_none()
        && reads >= ENOUGH
        && detectable.jump_ns.is_some()
        && !samples.cpus.is_empty()
        && (!several(samples) || detectable.offset_ns.is_some_and(|ns| ns <= BLIND_NS))
}

/// Whether the clocks were read often enough, by threads that took turns. All clocks of time have the same source;
/// turns at some of them are enough.
fn clocks_tested(samples: &Samples) -> bool {
    let handovers = samples
        .steps
        .iter()
        .filter(|steps| steps.clock.is_some_and(|clock| !clock.is_cpu_time()))
        .map(|steps| steps.across.handovers)
        .fold(0u64, u64::saturating_add);
    let monotonic = samples.steps.iter().find(|s| s.clock == Some(ClockId::Monotonic));
    monotonic
        .is_some_and(|steps| steps.within.reads >= ENOUGH && (!several(samples) || handovers > 0))
}

fn method(samples: &Samples) -> Method {
    let of_pairs =
        |count: fn(&Pair) -> u64| samples.pairs.iter().map(count).fold(0u64, u64::saturating_add);
    let of_clocks =
        samples.steps.iter().map(|steps| steps.across.reads).fold(0u64, u64::saturating_add);
    let unpinned = samples.unpinned.iter();
    Method {
        counter: counter::INSTRUCTION.filter(|_| samples.counter_gap.is_none()).map(str::to_owned),
        counter_gap: samples.counter_gap.clone(),
        cpus: samples.cpus.clone(),
        machine_cpus: samples.machine_cpus.clone(),
        partial: partial(samples),
        unpinned: unpinned.map(|(cpu, why)| Unpinned { cpu: *cpu, why: why.clone() }).collect(),
        threads: samples.threads,
        exchanges: of_pairs(|pair| pair.exchanges),
        locked_reads: of_pairs(|pair| pair.locked.reads).saturating_add(of_clocks),
        drift_cpu: samples.points_cpu,
        seconds: samples.seconds,
    }
}

fn worse(a: Trust, b: Trust) -> Trust {
    match (a, b) {
        (Trust::NotTrusted, _) | (_, Trust::NotTrusted) => Trust::NotTrusted,
        (Trust::Trusted, Trust::Trusted) => Trust::Trusted,
        _ => Trust::Unknown,
    }
}

/// Returns the confidence in a result without faults.
fn sureness(detectable: &Detectable, several: bool, complete: bool) -> Confidence {
    let within = |value: Option<f64>, limit: f64| value.is_some_and(|value| value <= limit);
    let offset = |limit| !several || within(detectable.offset_ns, limit);
    if complete
        && offset(1e3)
        && within(detectable.rate_against_kernel_ppm, 50.0)
        && within(detectable.jump_ns, 20e3)
    {
        Confidence::High
    } else if offset(100e3) && within(detectable.jump_ns, 1e6) {
        Confidence::Medium
    } else {
        Confidence::Low
    }
}

//! Faults of every kind and size are found, and healthy machines are left in peace.

use super::analyse;
use super::outcome::{Confidence, FindingId, Outcome, Trust, Weight};
use super::run::{History, Options, run};
use super::sim::{Bent, Machine, Random};
use super::source::Source;
use std::time::Duration;

const SEEDS: u64 = 300;

fn judge(machine: &Machine, random: &mut Random) -> Outcome {
    analyse::outcome(&machine.samples(random))
}

fn has(outcome: &Outcome, id: FindingId) -> bool {
    outcome.findings.iter().any(|finding| finding.id == id && finding.weight != Weight::Note)
}

fn faults(outcome: &Outcome) -> Vec<&super::outcome::Finding> {
    outcome.findings.iter().filter(|finding| finding.weight != Weight::Note).collect()
}

#[test]
fn healthy_machines_raise_no_alarm() {
    for seed in 0..3 * SEEDS {
        let mut random = Random(seed);
        let machine = Machine::healthy(&mut random);
        let outcome = judge(&machine, &mut random);
        assert!(faults(&outcome).is_empty(), "seed {seed}: {machine:?} {:#?}", outcome.findings);
        assert_eq!(outcome.verdict, Trust::Trusted, "seed {seed}: {:?}", outcome.untested);
        let drift = outcome.drift.unwrap();
        assert!((drift.hz / machine.hz - 1.0).abs() < 5e-6, "seed {seed}: {drift:?}");
        assert!(drift.hz_interval.has(machine.hz), "seed {seed}: {drift:?} {}", machine.hz);
        assert!(drift.steering_ppm.has(machine.steering_ppm), "seed {seed}: {drift:?}");
    }
}

#[test]
fn an_offset_of_a_microsecond_and_above_is_found() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut machine = Machine::healthy(&mut random);
        machine.busy = machine.busy.min(0.02);
        let bad = random.next() as usize % machine.offsets.len();
        let size = if seed % 2 == 0 { 1_000.0 } else { random.between(1e3, 1e9) };
        machine.offsets[bad] = if random.next().is_multiple_of(2) { size } else { -size };
        let outcome = judge(&machine, &mut random);
        assert_eq!(outcome.counter, Trust::NotTrusted, "seed {seed}: {machine:?}");
        assert!(has(&outcome, FindingId::CounterOffset), "seed {seed}: {:?}", outcome.findings);
        for pair in &outcome.pairs {
            let offset = pair.offset.unwrap();
            let truth =
                machine.offsets[pair.cpus.1 as usize] - machine.offsets[pair.cpus.0 as usize];
            // To a tick, at the measured frequency.
            let tick = 1.0 + truth.abs() * 1e-5;
            assert!(offset.low - tick <= truth && truth <= offset.high + tick, "{seed}: {pair:?}");
        }
    }
}

#[test]
fn a_rate_error_of_50_ppm_and_above_is_found() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut machine = Machine::healthy(&mut random);
        machine.rate_ppm =
            if seed % 2 == 0 { random.signed(50.0, 50.1) } else { random.signed(50.0, 1e5) };
        let outcome = judge(&machine, &mut random);
        assert_eq!(outcome.counter, Trust::NotTrusted, "seed {seed}: {machine:?}");
        assert!(has(&outcome, FindingId::CounterRate), "seed {seed}: {:?}", outcome.findings);
        assert!(!has(&outcome, FindingId::CounterJump), "seed {seed}: {:?}", outcome.findings);
    }
}

#[test]
fn a_single_jump_is_found_and_is_not_drift() {
    for seed in 0..SEEDS {
        let mut random = Random(seed);
        let mut machine = Machine::healthy(&mut random);
        machine.busy = machine.busy.min(0.05);
        let when = random.between(0.05, machine.seconds - 0.05);
        let size = if seed % 2 == 0 { random.signed(5e3, 6e3) } else { random.signed(5e3, 1e10) };
        machine.jump = (size, when);
        let outcome = judge(&machine, &mut random);
        assert_eq!(outcome.counter, Trust::NotTrusted, "seed {seed}: {machine:?}");
        assert!(has(&outcome, FindingId::CounterJump), "seed {seed}: {:?}", outcome.findings);
        assert!(!has(&outcome, FindingId::CounterRate), "seed {seed}: {:?}", outcome.findings);
    }
}

/// Near the threshold: either a fault is found, or the run reports that it could not have found it.
#[test]
fn what_is_not_found_is_below_what_is_said_to_be_detectable() {
    let mut missed = [0; 3];
    for seed in 0..3 * SEEDS {
        let mut random = Random(seed);
        let mut machine = Machine::healthy(&mut random);
        let kind = seed as usize % 3;
        let size = match kind {
            0 => random.signed(10.0, 1_500.0),
            1 => random.signed(0.5, 60.0),
            _ => random.signed(100.0, 5e3),
        };
        match kind {
            0 => machine.offsets[0] = size,
            1 => machine.rate_ppm = size,
            _ => machine.jump = (size, machine.seconds / 2.0),
        }
        let outcome = judge(&machine, &mut random);
        let said = match kind {
            0 => outcome.detectable.offset_ns,
            1 => outcome.detectable.rate_against_kernel_ppm,
            _ => outcome.detectable.jump_ns,
        };
        if outcome.verdict != Trust::NotTrusted {
            missed[kind] += 1;
            let said = said.unwrap();
            assert!(size.abs() <= said * 1.001 + 1.0, "seed {seed}: {size} {said} {machine:?}");
        }
    }
    // The sizes really are near the threshold.
    assert!(missed.iter().all(|missed| (3..297).contains(missed)), "{missed:?}");
}

#[test]
fn stalls_are_distinguished_from_jumps_and_drift() {
    for seed in 0..SEEDS / 10 {
        let mut random = Random(seed);
        let mut machine = Machine::healthy(&mut random);
        machine.busy = 0.0;
        let mut samples = machine.samples(&mut random);
        // The machine is stopped for a while, and everything continues together.
        let (begin, end) = (machine.seconds * 0.4e9, machine.seconds * 0.4e9 + 3e8);
        samples.points.retain(|point| {
            let t = point.raw as f64 - 77.0;
            t < begin || t > end
        });
        let outcome = analyse::outcome(&samples);
        assert_eq!(outcome.verdict, Trust::Trusted, "seed {seed}: {:?}", outcome.findings);
        let stall = outcome.findings.iter().find(|finding| finding.id == FindingId::Stall);
        assert!(stall.unwrap().summary.contains("up to 3"), "{stall:?}");
    }
}

#[test]
fn suspend_and_a_set_wall_clock_are_notes() {
    let mut random = Random(1);
    let mut samples = Machine::healthy(&mut random).samples(&mut random);
    let half = samples.points.len() / 2;
    for point in &mut samples.points[half..] {
        point.boottime += 5_000_000_000;
        point.realtime -= 3_600_000_000_000;
    }
    let outcome = analyse::outcome(&samples);
    assert_eq!(outcome.verdict, Trust::Trusted);
    let ids: Vec<FindingId> = outcome.findings.iter().map(|finding| finding.id).collect();
    assert!(
        ids.contains(&FindingId::Suspended) && ids.contains(&FindingId::WallClockSet),
        "{ids:?}"
    );
}

#[test]
fn a_rate_that_changes_is_found() {
    let mut random = Random(2);
    let mut machine = Machine::healthy(&mut random);
    machine.vdso = false;
    let mut samples = machine.samples(&mut random);
    let middle = samples.points[samples.points.len() / 2];
    for point in &mut samples.points {
        let late = (point.raw - middle.raw).max(0) as f64;
        // A counter that follows a processor's frequency: a third faster.
        let more = (late / 3.0 * machine.hz / 1e9) as u64;
        let (a, b, c) = point.ticks;
        point.ticks = (a.wrapping_add(more), b.wrapping_add(more), c.wrapping_add(more));
    }
    let outcome = analyse::outcome(&samples);
    assert_eq!(outcome.counter, Trust::NotTrusted, "{:?}", outcome.findings);
    assert!(has(&outcome, FindingId::CounterRateChanged), "{:?}", outcome.findings);
    assert!(!has(&outcome, FindingId::CounterJump), "{:?}", outcome.findings);
}

#[test]
fn reads_that_an_emulator_takes_early_are_not_a_warp() {
    let mut random = Random(4);
    let mut machine = Machine::healthy(&mut random);
    machine.hz = 1e9;
    let mut samples = machine.samples(&mut random);
    samples.pairs[0].there = Some(-40);
    samples.pairs[0].locked.back = 3;
    samples.pairs[0].locked.largest = 40;
    assert_eq!(analyse::outcome(&samples).verdict, Trust::NotTrusted);
    samples.early_ns = 200.0;
    let outcome = analyse::outcome(&samples);
    assert_eq!(outcome.verdict, Trust::Trusted, "{:?}", outcome.findings);
    assert!(outcome.detectable.offset_ns.unwrap() > 200.0);
}

#[test]
fn nothing_measured_is_nothing_known() {
    let outcome = analyse::outcome(&super::samples::Samples::default());
    assert_eq!(outcome.verdict, Trust::Unknown);
    let mut random = Random(3);
    let mut samples = Machine::healthy(&mut random).samples(&mut random);
    samples.pairs[0].there = None;
    let outcome = analyse::outcome(&samples);
    assert_eq!(outcome.verdict, Trust::Unknown);
    assert!(outcome.untested[0].contains("no message came through"), "{:?}", outcome.untested);
}

mod any {
    use super::super::samples::{Locked, Pair, Point, Samples, Steps};
    use super::super::source::ClockId;
    use super::analyse;
    use proptest::prelude::*;

    fn points() -> impl Strategy<Value = Vec<Point>> {
        let point = any::<((u64, u64, u64), i64, i64, (i64, i64, i64), i64, i64)>();
        let point = point.prop_map(|(ticks, raw, mono, user, boottime, realtime)| Point {
            ticks,
            raw,
            mono,
            user,
            boottime,
            realtime,
        });
        proptest::collection::vec(point, 0..24)
    }

    proptest! {
        /// For any readings, there is a result.
        #[test]
        fn samples(
            points in points(),
            pairs in proptest::collection::vec(any::<(Option<i64>, Option<i64>, u64, u64)>(), 0..4),
            steps in proptest::collection::vec(any::<(u64, u64, u64, Option<u64>)>(), 0..4),
        ) {
            let mut samples = Samples { points, cpus: vec![0, 1, 2], ..Samples::default() };
            for (index, (there, back, reads, largest)) in (0u32..).zip(pairs) {
                let locked = Locked { reads, back: reads / 2, largest, handovers: reads };
                samples.pairs.push(Pair { there, back, locked, ..Pair::new(index, index + 1) });
            }
            for (index, (reads, back, largest, smallest)) in steps.into_iter().enumerate() {
                let locked = Locked { reads, back, largest, handovers: reads };
                samples.steps.push(Steps {
                    clock: ClockId::ALL.get(index * 2).copied(),
                    claimed: None,
                    within: locked,
                    across: locked,
                    smallest,
                    same: reads,
                });
            }
            let outcome = analyse::outcome(&samples);
            prop_assert!(serde_json::to_string(&outcome).is_ok());
        }
    }
}

fn options(milliseconds: u64) -> Options {
    Options {
        duration: Duration::from_millis(milliseconds),
        cpus: None,
        machine_cpus: Vec::new(),
        claims: Vec::new(),
        counter_is_clock: true,
        early_ns: 0.0,
        wander: 0.0,
    }
}

#[test]
fn outcome_of_one_cpu_of_several_has_low_confidence() {
    let mut random = Random(7);
    let machine = Machine::healthy(&mut random);
    let mut samples = machine.samples(&mut random);
    samples.machine_cpus.clone_from(&samples.cpus);
    let whole = analyse::outcome(&samples);
    assert_eq!((whole.verdict, whole.method.partial), (Trust::Trusted, false));
    assert!(whole.confidence > Confidence::Low, "{whole:?}");
    // One CPU is left out: the comparisons hold, but not for all.
    let most = samples.cpus.iter().copied().max().unwrap();
    samples.machine_cpus.push(most + 1);
    let part = analyse::outcome(&samples);
    assert!(part.method.partial && part.confidence < Confidence::High, "{part:?}");
    assert!(part.untested.iter().any(|gap| gap.starts_with("1 of the machine's")));
    // One CPU alone: no pair was compared.
    samples.cpus.truncate(1);
    samples.pairs.clear();
    let alone = analyse::outcome(&samples);
    assert_eq!(alone.confidence, Confidence::Low, "{alone:?}");
    // On a machine of one CPU there is no pair to compare.
    samples.machine_cpus.clone_from(&samples.cpus);
    assert!(!analyse::outcome(&samples).method.partial);
}

#[test]
fn outcome_of_what_was_not_read_is_not_trusted() {
    let mut random = Random(8);
    let mut samples = Machine::healthy(&mut random).samples(&mut random);
    samples.steps.push(super::samples::Steps {
        clock: Some(super::source::ClockId::ThreadCputime),
        claimed: None,
        within: super::samples::Locked::default(),
        across: super::samples::Locked::default(),
        smallest: None,
        same: 0,
    });
    let outcome = analyse::outcome(&samples);
    assert!(
        outcome
            .untested
            .iter()
            .any(|gap| gap.starts_with("CLOCK_THREAD_CPUTIME_ID: it was not read"))
    );
    assert!(outcome.confidence < Confidence::High, "{outcome:?}");
    samples.steps.retain(|steps| steps.clock.is_some());
    for pair in &mut samples.pairs {
        (pair.locked.reads, pair.exchanges) = (0, 0);
    }
    samples.points.truncate(50);
    assert_eq!(analyse::outcome(&samples).counter, Trust::Unknown);
}

/// With real threads, on a machine with any other load: found, or reported to be too small.
#[test]
fn threads_find_what_they_say_they_find() {
    if Bent::healthy().counter_allowed().is_err() {
        return;
    }
    for fault in 0..4 {
        let mut machine = Bent::healthy();
        match fault {
            0 => machine.offsets[1] = 2_000_000,
            1 => machine.rate_ppm = -400.0,
            2 => machine.jump = (3_000_000, 300_000_000),
            _ => {}
        }
        let outcome = run(&machine, &options(600), &mut History::default());
        let said = match fault {
            0 => outcome.detectable.offset_ns.is_some_and(|ns| ns < 2e6),
            1 => outcome.detectable.rate_against_kernel_ppm.is_some_and(|ppm| ppm < 400.0),
            _ => outcome.detectable.jump_ns.is_some_and(|ns| ns < 3e6),
        };
        let found = outcome.counter == Trust::NotTrusted;
        assert!(found || fault == 3 || !said, "fault {fault}: {outcome:#?}");
        assert!(!found || fault != 3, "{outcome:#?}");
    }
}

/// The kernel takes the counter for 8 or 30 % faster than it is, as `tsc_early_khz=` can make it: all times that it
/// computes from the counter agree with it, and only an independent clock shows the fault.
#[test]
fn outcome_of_wrong_kernel_rate_is_never_trusted() {
    for percent in [8.0, 30.0, -30.0] {
        for seed in 0..20 {
            let mut random = Random(seed);
            let mut machine = Machine::healthy(&mut random);
            machine.vdso = true;
            let mut samples = machine.samples(&mut random);
            let true_hz = machine.hz / (1.0 + percent / 100.0);
            samples.confirmed.clear();
            // Without another source: no claim of the rate, and no verdict on the clocks.
            let alone = analyse::outcome(&samples);
            assert_eq!((alone.verdict, alone.counter), (Trust::Unknown, Trust::Trusted));
            assert_eq!(alone.detectable.rate_ppm, None);
            assert!(alone.rate_reference.only_gap && alone.rate_reference.source.is_none());
            assert!(alone.untested.iter().any(|gap| gap.contains("the kernel's own assumption")));
            let claim = |decisive, doubt_ppm| super::outcome::Frequency {
                source: "CPUID".to_owned(),
                hz: true_hz,
                doubt_ppm,
                decisive,
                steered: false,
                independent: true,
                measured_ppm: None,
            };
            // CPUID's rounded figures contradict it, so they do not confirm it.
            samples.claims.push(claim(false, 10_000.0));
            assert_eq!(analyse::outcome(&samples).verdict, Trust::Unknown);
            // The hypervisor's own figure, or the real-time clock, is decisive.
            samples.claims.push(claim(true, 600.0));
            let told = analyse::outcome(&samples);
            assert!(has(&told, FindingId::CounterRate), "{:?}", told.findings);
            assert_eq!(told.verdict, Trust::NotTrusted);
        }
    }
}

/// A step of one processor at any moment of a run up to a time: with real threads, on a machine with any other load. If
/// a step is not found, the run must report that the processor was not compared to the end, or that the step is below
/// the size.
fn steps_of_one_cpu(runs: u32, most_ms: i64) -> (u32, u32) {
    let (mut found, mut said) = (0, 0);
    for run_number in 0..runs {
        let mut machine = Bent::healthy();
        machine.begun = super::Source::clock(&super::Real, super::ClockId::MonotonicRaw).unwrap();
        let at = most_ms * 1_000_000 * i64::from(run_number * 2 + 1) / i64::from(runs * 2);
        machine.cpu_step = (1_000_000, at);
        let outcome = run(&machine, &options(1_000), &mut History::default());
        if outcome.counter == Trust::NotTrusted {
            found += 1;
        } else if outcome.detectable.cpu_step_ns.is_some_and(|ns| ns < 1e6) {
            said += 1;
            println!(
                "missed at {at}: {:?} {:?} {:?}",
                outcome.watched, outcome.pairs, outcome.method
            );
        }
    }
    (found, said)
}

#[test]
fn step_of_one_cpu_at_any_moment_is_found_or_said_to_be_unseen() {
    if Bent::healthy().counter_allowed().is_ok() {
        let (found, wrongly_said) = steps_of_one_cpu(6, 800);
        assert_eq!(wrongly_said, 0, "{found} of 6 found");
    }
}

#[test]
#[ignore = "figures to read"]
fn step_of_one_cpu_share() {
    let (found, wrongly_said) = steps_of_one_cpu(32, 975);
    println!(
        "step of 1 ms of one CPU at moments from 15 to 960 ms of 1 s: found in {found} of 32, missed though said in {wrongly_said}"
    );
}

#[test]
fn no_time_at_all_still_ends_with_an_answer() {
    let outcome = run(&super::Real, &options(0), &mut History::default());
    assert_ne!(outcome.verdict, Trust::NotTrusted, "{outcome:#?}");
    let nowhere = Options { cpus: Some(vec![100_000]), ..options(20) };
    let outcome = run(&super::Real, &nowhere, &mut History::default());
    assert_eq!(outcome.verdict, Trust::Unknown);
    assert_eq!(outcome.method.unpinned.len(), 1, "{outcome:#?}");
}

/// A machine whose kernel serves no reads of clocks: a filter of seccomp refuses the calls.
struct Filtered(Bent);

impl Source for Filtered {
    fn counter_allowed(&self) -> Result<(), String> {
        self.0.counter_allowed()
    }
    fn counter(&self) -> u64 {
        self.0.counter()
    }
    fn clock(&self, id: super::ClockId) -> Option<i64> {
        self.0.clock(id)
    }
    fn kernel_clock(&self, _: super::ClockId) -> Option<i64> {
        None
    }
    fn claimed_step(&self, id: super::ClockId) -> Option<i64> {
        self.0.claimed_step(id)
    }
    fn cpus(&self) -> Vec<u32> {
        self.0.cpus()
    }
    fn pin(&self, cpu: u32) -> Result<(), String> {
        self.0.pin(cpu)
    }
    fn kernel_hz(&self) -> Option<f64> {
        self.0.kernel_hz()
    }
}

#[test]
fn kernel_that_refuses_reads_holds_nothing_up() {
    let (told, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let outcome = run(&Filtered(Bent::healthy()), &options(100), &mut History::default());
        let _ = told.send(outcome);
    });
    let outcome = end.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(outcome.verdict, Trust::Unknown, "{outcome:#?}");
}

/// A hypervisor's HPET that runs slower by 700 ppm for a moment, as was seen under software emulation.
#[test]
fn a_reference_that_wanders_is_not_a_fault_of_the_counter() {
    let mut random = Random(5);
    let mut machine = Machine::healthy(&mut random);
    (machine.vdso, machine.busy) = (false, 0.0);
    let mut samples = machine.samples(&mut random);
    let from = samples.points[100].raw;
    for point in &mut samples.points[100..] {
        let late = (point.raw - from).min(25_000_000);
        point.raw -= late * 7 / 10_000;
        point.mono -= late * 7 / 10_000;
    }
    assert_eq!(analyse::outcome(&samples).counter, Trust::NotTrusted);
    samples.wander = 5e-3;
    samples.claims[0].doubt_ppm = 2_000.0;
    let outcome = analyse::outcome(&samples);
    assert_eq!(outcome.verdict, Trust::Trusted, "{:?}", outcome.findings);
}

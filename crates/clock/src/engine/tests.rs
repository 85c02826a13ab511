//! The engine over simulated counters and kernels, and over the real ones with a wrong counter.

use super::*;
use std::cell::Cell;

/// Simulated time, which passes only when the test advances it.
#[derive(Clone, Copy)]
struct World {
    /// Nanoseconds that have passed.
    passed: f64,
    /// The counter, and its rate.
    cycles: f64,
    per_ns: f64,
    /// The kernel's clock, and its rate.
    kernel: f64,
    kernel_rate: f64,
    /// The read cost of the kernel's clock, in nanoseconds.
    cost: f64,
    /// Whether the kernel serves reads.
    answers: bool,
    reads: u64,
}

const START: World = World {
    passed: 0.0,
    cycles: 1e12,
    per_ns: 2.596,
    kernel: 5e12,
    kernel_rate: 1.0,
    cost: 25.0,
    answers: true,
    reads: 0,
};

thread_local! {
    static WORLD: Cell<World> = const { Cell::new(START) };
}

fn change(change: impl FnOnce(&mut World)) {
    WORLD.with(|cell| {
        let mut world = cell.get();
        change(&mut world);
        cell.set(world);
    });
}

fn pass(ns: f64) {
    change(|w| {
        w.passed += ns;
        w.cycles += ns * w.per_ns;
        w.kernel += ns * w.kernel_rate;
    });
}

struct Made;

impl Counter for Made {
    fn read() -> u64 {
        pass(5.0);
        WORLD.get().cycles as u64
    }

    fn read_ordered() -> u64 {
        Self::read()
    }
}

impl Kernel for Made {
    fn monotonic() -> Option<u64> {
        let cost = WORLD.get().cost;
        pass(cost / 2.0);
        let ns = WORLD.get().kernel as u64;
        pass(cost / 2.0);
        change(|w| w.reads += 1);
        WORLD.get().answers.then_some(ns)
    }
}

/// An engine that may only follow, in a fresh world.
fn follower() -> Engine {
    WORLD.set(START);
    let engine = Engine::new();
    engine.restrict::<Made>(Source::Disciplined);
    engine.trust::<Made>(true);
    engine
}

/// Reads for a time, each `every` ns; gives the largest error and checks that time rises.
fn read_for(engine: &Engine, ns: f64, every: f64) -> f64 {
    let end = WORLD.get().passed + ns;
    let (mut largest, mut before) = (0.0f64, 0);
    while WORLD.get().passed < end {
        pass(every);
        let now = engine.monotonic::<Made, Made>();
        assert!(now >= before, "backward by {}", before - now);
        before = now;
        largest = largest.max((now as f64 - WORLD.get().kernel).abs());
    }
    largest
}

#[test]
fn a_line_follows_the_kernel() {
    let engine = follower();
    let first = engine.monotonic::<Made, Made>() as f64;
    assert!((first - WORLD.get().kernel).abs() < 100.0, "the first answer is the kernel's");
    read_for(&engine, 3e9, 50_000.0);
    assert_eq!(engine.source::<Made, Made>(), Source::Disciplined);
    let reads = WORLD.get().reads;
    let largest = read_for(&engine, 2e9, 20_000.0);
    assert!(largest <= 40.0, "{largest} ns");
    let reads = WORLD.get().reads - reads;
    assert!(reads < 3_000, "{reads} reads of the kernel's clock for 100000 of ours");
}

#[test]
fn a_line_follows_a_slew_within_the_bound() {
    let engine = follower();
    read_for(&engine, 2e9, 50_000.0);
    for ppm in [500.0, -500.0, 0.0] {
        change(|w| w.kernel_rate = 1.0 + ppm / 1e6);
        let largest = read_for(&engine, 1e9, 20_000.0);
        assert!(largest < 17_000.0, "{ppm} ppm: {largest} ns");
        let largest = read_for(&engine, 1e9, 20_000.0);
        assert!(largest < 60.0, "{ppm} ppm, later: {largest} ns");
        assert_eq!(engine.source::<Made, Made>(), Source::Disciplined);
    }
}

#[test]
fn after_a_long_sleep_the_first_answer_is_right() {
    let engine = follower();
    read_for(&engine, 1e9, 50_000.0);
    // The kernel was slewed meanwhile, so the old line is 500 us off.
    change(|w| w.kernel_rate = 1.0 + 50e-6);
    pass(10e9);
    change(|w| w.kernel_rate = 1.0);
    let error = engine.monotonic::<Made, Made>() as f64 - WORLD.get().kernel;
    assert!(error.abs() < 100.0, "{error} ns");
}

#[test]
fn a_counter_that_jumps_is_given_up() {
    for jump in [3e6, 1e12, -1e9, -1e12 / 2.0] {
        let engine = follower();
        read_for(&engine, 1e9, 50_000.0);
        assert_eq!(engine.source::<Made, Made>(), Source::Disciplined);
        change(|w| w.cycles += jump);
        let largest = read_for(&engine, 1e8, 10_000.0);
        // The jump is noticed at the end of the window; until then no reader may have got more than
        // the end of two windows.
        assert!(largest <= 2.0 * LONGEST_NS as f64, "{jump}: {largest} ns");
        let largest = read_for(&engine, 1e8, 10_000.0);
        assert!(largest <= 60.0, "{jump}: {largest} ns afterwards");
        assert_ne!(engine.source::<Made, Made>(), Source::Disciplined, "{jump}");
        // A second later it may try again, and then finds a good counter.
        read_for(&engine, 5e9, 100_000.0);
        assert_eq!(engine.source::<Made, Made>(), Source::Disciplined, "{jump}");
    }
}

#[test]
fn a_counter_that_keeps_failing_is_left_alone() {
    let engine = follower();
    for _ in 0..300 {
        read_for(&engine, 0.3e9, 1_000_000.0);
        change(|w| w.cycles += 4e6);
    }
    read_for(&engine, 200e9, 10_000_000.0);
    assert_ne!(engine.source::<Made, Made>(), Source::Disciplined);
    // The user allows another attempt.
    engine.restrict::<Made>(Source::Disciplined);
    read_for(&engine, 1e9, 50_000.0);
    assert_eq!(engine.source::<Made, Made>(), Source::Disciplined);
}

#[test]
fn without_a_page_the_price_of_the_kernels_clock_tells() {
    let engine = follower();
    let _ = engine.monotonic::<Made, Made>();
    // As if the page had not been found, and sysfs and behaviour had shown that it is the counter.
    engine.trust::<Made>(false);
    let _ = engine.monotonic::<Made, Made>();
    engine.front.show(nothing());
    engine.state.fetch_or(ELIGIBILITY_KNOWN | ELIGIBLE, Ordering::Relaxed);
    engine.idle_ns.store(0, Ordering::Relaxed);
    read_for(&engine, 1e9, 50_000.0);
    assert_eq!(engine.source::<Made, Made>(), Source::Disciplined);
    // The kernel reads hpet from now on. The counter is as good as before, but must no longer be
    // used.
    change(|w| w.cost = 900.0);
    read_for(&engine, 1e9, 50_000.0);
    assert_ne!(engine.source::<Made, Made>(), Source::Disciplined);
    read_for(&engine, 20e9, 500_000.0);
    assert_ne!(engine.source::<Made, Made>(), Source::Disciplined, "it is not asked again");
}

#[test]
fn a_wrong_rate_is_given_up() {
    let engine = follower();
    read_for(&engine, 1e9, 50_000.0);
    change(|w| w.per_ns *= 1.01);
    let largest = read_for(&engine, 1e9, 10_000.0);
    // 1 % of a window.
    assert!(largest <= 340_000.0, "{largest} ns");
    assert_ne!(engine.source::<Made, Made>(), Source::Disciplined);
}

#[test]
fn a_kernel_that_answers_no_more_leaves_the_last_tick() {
    let engine = follower();
    read_for(&engine, 1e8, 50_000.0);
    change(|w| w.answers = false);
    // No panic, no hang; the page beside the vDSO has the real time, not the simulated one.
    for _ in 0..100 {
        pass(1e6);
        let _ = engine.monotonic::<Made, Made>();
        let _ = engine.monotonic_ordered::<Made, Made>();
    }
}

#[test]
fn reads_go_on_while_a_page_is_locked_for_ever() {
    let engine = follower();
    read_for(&engine, 1e9, 50_000.0);
    let page = memory::page(&engine.own).unwrap();
    page.lock_for_ever();
    let largest = read_for(&engine, 1e9, 100_000.0);
    // One more window by the old line, then by the kernel.
    assert!(largest < 1_000.0, "{largest} ns");
}

#[test]
fn reads_go_on_while_a_page_stays_odd() {
    let engine = follower();
    read_for(&engine, 1e9, 50_000.0);
    memory::page(&engine.own).unwrap().stay_odd();
    let largest = read_for(&engine, 1e8, 100_000.0);
    // Each read waits for a while, in which simulated time passes.
    assert!(largest < 60_000.0, "{largest} ns");
}

/// The real counter and kernel, where the kernel uses the counter; `None` elsewhere.
fn real() -> Option<Engine> {
    let engine = Engine::new();
    let source = engine.source::<clocksmith_raw::counter::Hardware, Asked>();
    if source != Source::Vvar {
        eprintln!("skipped: served by {source} here");
        return None;
    }
    Some(engine)
}

thread_local! {
    static LIE: Cell<u64> = const { Cell::new(0) };
}

struct Liar;

impl Counter for Liar {
    fn read() -> u64 {
        clocksmith_raw::counter::Hardware::read().wrapping_add(LIE.get())
    }

    fn read_ordered() -> u64 {
        clocksmith_raw::counter::Hardware::read_ordered().wrapping_add(LIE.get())
    }
}

#[test]
fn a_counter_that_lies_from_the_start_is_never_used() {
    let Some(_) = real() else { return };
    for lie in [1 << 20, 1 << 34, 0u64.wrapping_sub(1 << 20), 1 << 63] {
        LIE.set(lie);
        let engine = Engine::new();
        let before = kernel::time(ClockId::Monotonic).unwrap();
        let ours = engine.monotonic::<Liar, Asked>();
        let after = kernel::time(ClockId::Monotonic).unwrap();
        assert!((before..=after).contains(&ours), "{lie}");
        assert_ne!(engine.source::<Liar, Asked>(), Source::Vvar, "{lie}");
    }
}

#[test]
fn a_counter_that_begins_to_lie_is_caught() {
    let Some(_) = real() else { return };
    LIE.set(0);
    let engine = Engine::new();
    assert_eq!(engine.source::<Liar, Asked>(), Source::Vvar);
    // Half a second ahead: beyond the span of the proof, so the next read looks.
    LIE.set(1_500_000_000);
    let before = kernel::time(ClockId::Monotonic).unwrap();
    let ours = engine.monotonic::<Liar, Asked>();
    let after = kernel::time(ClockId::Monotonic).unwrap();
    assert!((before..=after).contains(&ours));
    assert_eq!(engine.source::<Liar, Asked>(), Source::Vdso);
    // A millisecond ahead: caught when the proof is renewed.
    LIE.set(0);
    engine.restrict::<Liar>(Source::Vvar);
    assert_eq!(engine.source::<Liar, Asked>(), Source::Vvar);
    LIE.set(2_600_000);
    std::thread::sleep(std::time::Duration::from_nanos(PROOF_NS + PROOF_NS / 4));
    let _ = engine.monotonic::<Liar, Asked>();
    assert_eq!(engine.source::<Liar, Asked>(), Source::Vdso);
}

#[test]
fn every_source_agrees_with_the_kernel() {
    // (`Syscall` is set for the whole process: it is tested in a separate one.)
    for best in [Source::Vvar, Source::Disciplined, Source::Vdso] {
        let engine = Engine::new();
        engine.restrict::<clocksmith_raw::counter::Hardware>(best);
        let read = |ordered: bool| {
            if ordered {
                engine.monotonic_ordered::<clocksmith_raw::counter::Hardware, Asked>()
            } else {
                engine.monotonic::<clocksmith_raw::counter::Hardware, Asked>()
            }
        };
        for round in 0..3_000 {
            let before = kernel::time_by_call(ClockId::Monotonic).unwrap();
            let ours = read(round % 2 == 0);
            let after = kernel::time_by_call(ClockId::Monotonic).unwrap();
            let slack = if best == Source::Disciplined { 20_000 } else { ROUNDING_NS };
            assert!(
                before <= ours + slack && ours <= after + slack,
                "{best} {before} {ours} {after}"
            );
        }
        assert!(engine.source::<clocksmith_raw::counter::Hardware, Asked>() >= best);
    }
}

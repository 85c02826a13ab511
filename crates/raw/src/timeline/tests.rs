//! The clock over simulated counters and kernels: for all their events, time does not go back.
#![allow(clippy::panic)]

use super::plan::Measured;
use super::*;
use crate::discipline::{RATE_SHIFT, cycles, times};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};

/// A simulated counter and kernel, with events.
struct World {
    cycles: Cell<u64>,
    /// The kernel's rate: ns per cycle, times 2^48.
    rate: Cell<u64>,
    /// Where the kernel's line begins: counter and time.
    base: Cell<(u64, u64)>,
    realtime: Cell<u64>,
    boottime: Cell<u64>,
    refuses: Cell<bool>,
    /// Cycles that a read of the counter, and a call, take.
    costs: Cell<(u64, u64)>,
    seed: Cell<u64>,
    calls: Cell<u64>,
    /// The event at the next calls.
    interrupt: RefCell<Option<Box<dyn Fn()>>>,
}

const HZ: u64 = 2_596_145_832;

impl World {
    fn new() -> Self {
        let rate = ((1_000_000_000u128 << RATE_SHIFT) / u128::from(HZ)) as u64;
        Self {
            cycles: Cell::new(1 << 40),
            rate: Cell::new(rate),
            base: Cell::new((1 << 40, 5_000_000_000)),
            realtime: Cell::new(1_700_000_000_000_000_000),
            boottime: Cell::new(7_000_000_000),
            refuses: Cell::new(false),
            costs: Cell::new((25, 3_600)),
            seed: Cell::new(88_172_645_463_325_252),
            calls: Cell::new(0),
            interrupt: RefCell::new(None),
        }
    }

    fn parameters(&self) -> Parameters {
        Parameters { rate: self.rate.get(), slack: 13_000 }
    }

    fn random(&self, below: u64) -> u64 {
        let mut seed = self.seed.get();
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        self.seed.set(seed);
        seed % below.max(1)
    }

    fn now(&self) -> u64 {
        let (begin, ns) = self.base.get();
        ns + times(self.cycles.get().wrapping_sub(begin), self.rate.get())
    }

    fn pass(&self, ns: u64) {
        self.cycles.set(self.cycles.get().wrapping_add(cycles(ns, self.rate.get())));
    }

    /// The counter changes, and the kernel's time does not notice.
    fn leap(&self, cycles: u64) {
        let now = self.now();
        self.cycles.set(self.cycles.get().wrapping_add(cycles));
        self.base.set((self.cycles.get(), now));
    }

    fn slew(&self, ppm: i64) {
        let now = self.now();
        self.base.set((self.cycles.get(), now));
        let nominal = ((1_000_000_000u128 << RATE_SHIFT) / u128::from(HZ)) as i64;
        self.rate.set((nominal + nominal / 1_000_000 * ppm) as u64);
    }

    /// The kernel's time changes, and the counter does not notice.
    fn step(&self, ns: u64) {
        let (begin, base) = self.base.get();
        self.base.set((begin, base.wrapping_add(ns)));
    }
}

impl Environment for World {
    fn counter(&self) -> u64 {
        let (cost, _) = self.costs.get();
        self.cycles.set(self.cycles.get().wrapping_add(cost));
        self.cycles.get()
    }

    fn kernel(&self, clock: Clock) -> Option<u64> {
        self.calls.set(self.calls.get() + 1);
        if let Some(work) = self.interrupt.take() {
            work();
        }
        if self.refuses.get() {
            return None;
        }
        let (_, cost) = self.costs.get();
        // A device is read at about the same place of each call.
        let before = cost / 2 + self.random(cost / 8);
        self.cycles.set(self.cycles.get().wrapping_add(before));
        let now = self.now();
        self.cycles.set(self.cycles.get().wrapping_add(cost - before));
        Some(now.wrapping_add(match clock {
            Clock::Monotonic => 0,
            Clock::Realtime => self.realtime.get(),
            Clock::Boottime => self.boottime.get(),
        }))
    }
}

#[derive(Default)]
struct Memory {
    shared: Shared,
    local: Local,
}

impl Memory {
    fn clock<'a>(&'a self, world: &World) -> Timeline<'a> {
        Timeline { shared: &self.shared, local: &self.local, parameters: world.parameters() }
    }
}

fn time(answer: Answer) -> u64 {
    match answer {
        Answer::Time(ns) => ns,
        Answer::Retired { floor } => panic!("retired at {floor}"),
    }
}

#[test]
fn it_is_the_kernels_time() {
    let world = World::new();
    let memory = Memory::default();
    let mut worst = 0;
    for step in 0..200_000u64 {
        world.pass(world.random(60_000));
        let read = time(memory.clock(&world).read(&world, Clock::Monotonic));
        if step > 1_000 {
            worst = worst.max(read.abs_diff(world.now()));
        }
    }
    // Half a bracket, and the cost of the read itself.
    assert!(worst < 800, "{worst} ns");
    // Six seconds, nine calls every ten milliseconds, and a few at the beginning.
    assert!(world.calls.get() < 12_000, "{}", world.calls.get());
    for (clock, more) in
        [(Clock::Realtime, world.realtime.get()), (Clock::Boottime, world.boottime.get())]
    {
        let read = time(memory.clock(&world).read(&world, clock));
        assert!(read.abs_diff(world.now() + more) < 2_500, "{clock:?}");
    }
}

#[test]
fn most_reads_make_no_call() {
    let world = World::new();
    let memory = Memory::default();
    let clock = memory.clock(&world);
    for _ in 0..100 {
        world.pass(1_000_000);
        let _ = clock.read(&world, Clock::Monotonic);
    }
    let before = world.calls.get();
    for _ in 0..10 {
        let _ = clock.read(&world, Clock::Monotonic);
    }
    assert!(world.calls.get() - before <= 7);
}

#[test]
fn a_step_of_the_wall_clock_is_seen_within_a_piece() {
    let world = World::new();
    let memory = Memory::default();
    let clock = memory.clock(&world);
    for _ in 0..1_000 {
        world.pass(1_000_000);
        let _ = clock.read(&world, Clock::Realtime);
    }
    for step in [3_600_000_000_000, -7_200_000_000_000i64, 50_000] {
        world.realtime.set(world.realtime.get().wrapping_add(step as u64));
        for _ in 0..11 {
            world.pass(1_000_000);
            let _ = clock.read(&world, Clock::Monotonic);
        }
        let read = time(clock.read(&world, Clock::Realtime));
        assert!(read.abs_diff(world.now() + world.realtime.get()) < 2_500, "{step}");
    }
}

#[test]
fn a_kernel_that_refuses_ends_the_line_in_order() {
    let world = World::new();
    let memory = Memory::default();
    let clock = memory.clock(&world);
    world.refuses.set(true);
    assert_eq!(clock.read(&world, Clock::Monotonic), Answer::Retired { floor: 0 });
    let memory = Memory::default();
    let clock = memory.clock(&world);
    world.refuses.set(false);
    let mut last = 0;
    for _ in 0..100 {
        world.pass(500_000);
        last = time(clock.read(&world, Clock::Monotonic));
    }
    world.refuses.set(true);
    world.pass(100_000_000);
    let Answer::Retired { floor } = clock.read(&world, Clock::Monotonic) else { panic!() };
    assert!(floor >= last && floor < last + 30_000_000);
    // For ever.
    world.refuses.set(false);
    assert_eq!(clock.read(&world, Clock::Monotonic), Answer::Retired { floor });
    let calls = world.calls.get();
    let _ = clock.read(&world, Clock::Monotonic);
    assert_eq!(world.calls.get(), calls);
    assert_eq!(not_before(100, 90), 100);
    assert_eq!(not_before(100, 110), 110);
    assert_eq!(not_before(10_000_000_000, 90), 90, "another time");
}

#[test]
fn child_continues_in_order_or_in_its_own_time() {
    for (step, follows) in [(0, true), (3_600_000_000_000, false), (-2_000_000_000i64, false)] {
        let world = World::new();
        let mut memory = Memory::default();
        let mut last = 0;
        for _ in 0..500 {
            world.pass(400_000);
            last = time(memory.clock(&world).read(&world, Clock::Monotonic));
        }
        // The effect of a fork.
        memory.local = Local::default();
        world.step(step as u64);
        let read = time(memory.clock(&world).read(&world, Clock::Monotonic));
        assert!(read.abs_diff(world.now()) < 2_500, "{step}: {read} {}", world.now());
        assert!(!follows || read >= last, "{step}");
    }
}

#[test]
fn a_signal_handler_may_interrupt_any_call() {
    let world: &'static World = Box::leak(Box::new(World::new()));
    let memory: &'static Memory = Box::leak(Box::default());
    let mut last = 0;
    for step in 0..2_000 {
        world.pass(700_000);
        if step % 3 == 0 {
            *world.interrupt.borrow_mut() = Some(Box::new(|| {
                for _ in 0..3 {
                    let _ = memory.clock(world).read(world, Clock::Monotonic);
                    world.pass(5_000);
                }
            }));
        }
        let read = time(memory.clock(world).read(world, Clock::Monotonic));
        assert!(read >= last);
        last = read;
    }
    assert!(last.abs_diff(world.now()) < 3_000, "{last} {}", world.now());
}

/// A thread that is always preempted between two steps, for longer than a state lasts.
struct Starved<'a>(&'a World, u64);

impl Environment for Starved<'_> {
    fn counter(&self) -> u64 {
        self.0.pass(self.0.random(self.1));
        self.0.counter()
    }

    fn kernel(&self, clock: Clock) -> Option<u64> {
        self.0.pass(self.0.random(self.1));
        self.0.kernel(clock)
    }
}

#[test]
fn a_starved_thread_is_in_order_too() {
    for taken in [300_000, 700_000, 3_000_000, 60_000_000] {
        let world = World::new();
        let memory = Memory::default();
        let mut last = time(memory.clock(&world).read(&world, Clock::Monotonic));
        for step in 0..3_000 {
            let clock = memory.clock(&world);
            let answer = if step % 3 == 0 {
                clock.read(&Starved(&world, taken), Clock::Monotonic)
            } else {
                clock.read(&world, Clock::Monotonic)
            };
            match answer {
                Answer::Time(now) => {
                    assert!(now >= last, "{taken} {step}: {now} {last}");
                    last = now;
                }
                Answer::Retired { floor } => {
                    assert!(floor >= last, "{taken} {step}");
                    break;
                }
            }
        }
    }
}

#[test]
fn without_the_lock_it_is_still_a_clock() {
    // A child of a thread that was stopped with the lock held would find it free; a thread that
    // was cancelled there leaves it held for ever.
    let world = World::new();
    let memory = Memory::default();
    for step in 0..100_000 {
        if step == 500 {
            memory.local.lock.store(1, Ordering::Relaxed);
        }
        world.pass(world.random(60_000));
        let read = time(memory.clock(&world).read(&world, Clock::Monotonic));
        assert!(read.abs_diff(world.now()) < 3_000);
    }
}

#[test]
fn a_counter_that_never_agrees_is_given_up() {
    let world = World::new();
    let memory = Memory::default();
    let mut last = 0;
    for step in 0..2_000u64 {
        world.pass(2_000_000);
        // One processor is half a second ahead.
        world.leap(if step % 2 == 0 { HZ / 2 } else { 0u64.wrapping_sub(HZ / 2) });
        match memory.clock(&world).read(&world, Clock::Monotonic) {
            Answer::Time(ns) => {
                assert!(ns >= last);
                last = ns;
            }
            Answer::Retired { floor } => {
                assert!(floor >= last && step > 10);
                return;
            }
        }
    }
    panic!("it was not");
}

#[test]
fn after_a_leap_of_the_counter_it_comes_back() {
    // Set back by less than two pieces (20 ms) it would still be where the line is defined, and
    // would not be noticed; the same is true of the kernel's own vDSO.
    for cycles in [HZ / 100, HZ * 60, 0u64.wrapping_sub(HZ), 0u64.wrapping_sub(HZ / 40)] {
        let world = World::new();
        let memory = Memory::default();
        let read = || time(memory.clock(&world).read(&world, Clock::Monotonic));
        let mut last = 0;
        for step in 0..5_000 {
            world.pass(100_000);
            if step == 1_000 {
                world.leap(cycles);
            }
            let now = read();
            assert!(now >= last, "{cycles} {step}");
            // Never ahead by more than two pieces, plus the counter's jump within one.
            assert!(now < world.now() + 45_000_000, "{cycles} {step}");
            last = now;
        }
        assert!(last.abs_diff(world.now()) < 3_000, "{cycles}: {last} {}", world.now());
    }
}

/// An event between two reads.
#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    Leap(i64),
    Slew(i64),
    Forward(u64),
    Wall(i64),
    Costs(u64, u64),
    /// This many threads read, with states and counters of different age.
    Late(u64),
    Lock,
    Fork,
}

fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => (0u64..30_000_000).prop_map(Event::Pass),
        4 => (0u64..30_000).prop_map(Event::Pass),
        1 => (0u64..1 << 50).prop_map(Event::Pass),
        1 => (-(1i64 << 34)..1 << 34).prop_map(Event::Leap),
        1 => any::<i64>().prop_map(Event::Leap),
        1 => (-500i64..500).prop_map(Event::Slew),
        1 => (0u64..1 << 36).prop_map(Event::Forward),
        1 => any::<i64>().prop_map(Event::Wall),
        1 => (1u64..200, 100u64..100_000).prop_map(|(read, call)| Event::Costs(read, call)),
        3 => (0u64..40_000_000).prop_map(Event::Late),
        1 => Just(Event::Lock),
        1 => Just(Event::Fork),
    ]
}

proptest! {
    /// Time does not go back for any behaviour of the counter and the kernel, as long as the kernel's
    /// own does not; this holds even for a reader that loaded a state long ago, and for one whose
    /// measurement is old.
    #[test]
    fn time_does_not_go_back(events in proptest::collection::vec(events(), 1..120)) {
        let world = World::new();
        let mut memory = Memory::default();
        let mut last = 0;
        let mut floor = None;
        for event in events {
            match event {
                Event::Pass(ns) => world.pass(ns),
                // See `after_a_leap_of_the_counter_it_comes_back`.
                Event::Leap(cycles) if (-(HZ as i64) / 40..0).contains(&cycles) => {}
                Event::Leap(cycles) => world.leap(cycles as u64),
                Event::Slew(ppm) => world.slew(ppm),
                Event::Forward(ns) => world.step(ns),
                Event::Wall(ns) => world.realtime.set(world.realtime.get().wrapping_add(ns as u64)),
                Event::Costs(read, call) => world.costs.set((read, call)),
                Event::Lock => memory.local.lock.store(1, Ordering::Relaxed),
                Event::Fork => {
                    // A child follows the kernel if that is far off; only here may it be less.
                    memory.local = Local::default();
                    last = last.min(world.now());
                }
                Event::Late(ns) => {
                    // A thread has read a state and the counter, and is stopped before it uses them.
                    let word = memory.shared.word(Ordering::Acquire);
                    let state = memory.shared.read(word).unwrap();
                    let early = world.counter();
                    let measured = Measured::take(&world).unwrap();
                    world.pass(ns);
                    // The value that it got is in order with those given before it continued ...
                    if word != Word::NONE
                        && !state.is_retired()
                        && memory.local.here.load(Ordering::Relaxed) == 1
                        && let Which::First(ns) | Which::Second(ns) = state.position(early, 13_000)
                    {
                        prop_assert!(ns >= last, "{ns} {last}");
                        last = ns;
                    }
                    // ... and the state that it publishes, if it can, does not disturb other
                    // threads.
                    if word != Word::NONE && !state.is_retired() {
                        let next = plan::next(Some(&state), &measured, None, false, state.rate);
                        memory.shared.publish(word, &next);
                    }
                }
            }
            match memory.clock(&world).read(&world, Clock::Monotonic) {
                Answer::Time(ns) => {
                    prop_assert!(floor.is_none());
                    prop_assert!(ns >= last, "{ns} after {last}");
                    last = ns;
                }
                Answer::Retired { floor: at } => {
                    prop_assert!(at >= last || last - at > 1 << 40, "{at} {last}");
                    prop_assert!(floor.is_none_or(|before| before == at));
                    floor = Some(at);
                }
            }
        }
    }

    /// Several threads with states of any age: all agree on one function.
    #[test]
    fn states_of_any_age_agree(
        gaps in proptest::collection::vec(0u64..12_000_000, 2..60), ages in proptest::collection::vec(0usize..8, 60),
        slews in proptest::collection::vec(-500i64..500, 60)
    ) {
        let world = World::new();
        let memory = Memory::default();
        let mut states = Vec::new();
        let mut last = 0;
        for (step, gap) in gaps.iter().enumerate() {
            world.pass(*gap);
            world.slew(slews[step]);
            let now = time(memory.clock(&world).read(&world, Clock::Monotonic));
            prop_assert!(now >= last);
            last = now;
            states.push(memory.shared.read(memory.shared.word(Ordering::Acquire)).unwrap());
            // A reader with an old state, whose counter is within it.
            let old = &states[states.len().saturating_sub(1 + ages[step])];
            let counter = world.counter();
            if let Which::First(ns) | Which::Second(ns) = old.position(counter, 0)
                && counter.wrapping_sub(old.begin) < u64::MAX / 2
            {
                let new = memory.shared.read(memory.shared.word(Ordering::Acquire)).unwrap();
                if let Which::First(other) | Which::Second(other) = new.position(counter, 0) {
                    prop_assert_eq!(ns, other);
                }
                prop_assert!(ns >= last, "{} {}", ns, last);
                last = ns;
            }
        }
    }
}

//! Hypervisors' clocks: synthetic pages, over a simulated counter and kernel; and this machine's own
//! page.

use super::*;
use crate::paravirt::{Host, MODE_HVCLOCK, MODE_PVCLOCK, NoCycles, cycles};
use crate::view::Raw;
use clocksmith_raw::counter::Hardware;
use std::cell::Cell;
use std::sync::atomic::AtomicU64;

thread_local! {
    /// Cycles of the counter (2 GHz), the kernel's time, its rounding, and its readings.
    static COUNTER: Cell<u64> = const { Cell::new(0) };
    static KERNEL: Cell<u64> = const { Cell::new(0) };
    static QUANTUM: Cell<u64> = const { Cell::new(1) };
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn pass(ns: u64) {
    COUNTER.set(COUNTER.get() + 2 * ns);
    KERNEL.set(KERNEL.get() + ns);
}

fn kernel_now() -> u64 {
    KERNEL.get() / QUANTUM.get() * QUANTUM.get()
}

struct Made;

impl Counter for Made {
    fn read() -> u64 {
        pass(5);
        COUNTER.get()
    }

    fn read_ordered() -> u64 {
        Self::read()
    }
}

impl Kernel for Made {
    fn monotonic() -> Option<u64> {
        pass(20);
        ASKED.set(ASKED.get() + 1);
        Some(kernel_now())
    }
}

const BEGIN: u64 = 1_000_000_000_000;
const SECONDS: u64 = 5_000;
/// Half a nanosecond per cycle: 2^31 / 2^32. Stable.
const SCALE: u64 = 1 << 40 | 1 << 31;

/// The hypervisor's page and the kernel's, in its longer form.
struct Pages {
    host: [AtomicU64; 4],
    page: [AtomicU64; 5 + 2 * 12],
}

impl Pages {
    /// An engine that has proven them, at the beginning of the simulation.
    fn served(kind: Kind) -> (Engine, &'static Self) {
        let pages: &'static Self = Box::leak(Box::new(Self {
            host: [const { AtomicU64::new(0) }; 4],
            page: [const { AtomicU64::new(0) }; 29],
        }));
        COUNTER.set(BEGIN);
        KERNEL.set(SECONDS * 1_000_000_000);
        ASKED.set(0);
        let (last, mult) = match kind {
            Kind::Pvclock => {
                pages.write_host([2, BEGIN, 7_000, SCALE]);
                (7_000, 1 << 8)
            }
            Kind::HypervPage => {
                pages.write_host([2, u64::MAX / 200 + 1, 0, 0]);
                (BEGIN / 200, 100 << 8)
            }
        };
        QUANTUM.set(if matches!(kind, Kind::Pvclock) { 1 } else { 100 });
        for (index, word) in
            [(0, u64::from(kind.mode()) << 32 | 2), (1, last), (4, 8 << 32 | mult), (7, SECONDS)]
        {
            pages.page[index].store(word, Ordering::Relaxed);
        }
        // SAFETY: leaked memory of this test, of as many words as either has.
        let (host, page) = unsafe {
            (
                Host::new(pages.host.as_ptr().cast()),
                Raw::new(pages.page.as_ptr().cast(), Form::LONG),
            )
        };
        let engine = Engine::new();
        engine.state.store(STARTED, Ordering::Relaxed);
        engine.front.show(page);
        engine.real.show(page);
        let span = crate::paravirt::span(&host, kind, PROOF_NS);
        engine.paravirt.show(host, kind, page, BEGIN, span);
        (engine, pages)
    }

    fn write_host(&self, words: [u64; 4]) {
        for (cell, word) in self.host.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    fn set_mode(&self, mode: u32) {
        let sequence = (self.page[0].load(Ordering::Relaxed) + 2) as u32;
        self.page[0].store(u64::from(mode) << 32 | u64::from(sequence), Ordering::Relaxed);
    }

    /// The hypervisor has moved the machine: another counter, and a page that goes with it.
    fn migrate(&self, counter: u64) {
        let version = self.host[0].load(Ordering::Relaxed) + 2;
        let system_time = 7_000 + (KERNEL.get() - SECONDS * 1_000_000_000);
        COUNTER.set(counter);
        self.write_host([version, counter, system_time, SCALE]);
    }
}

/// Reads ordered and unordered for a while; every time is the kernel's to the nanosecond (or its
/// rounding), and none is earlier than the one before.
fn exactly_for(engine: &Engine, ns: u64, every: u64) {
    let end = KERNEL.get() + ns;
    let mut before = 0;
    while KERNEL.get() < end {
        pass(every);
        for ordered in [false, true] {
            let begin = kernel_now();
            let now = if ordered {
                engine.monotonic_ordered::<Made, Made>()
            } else {
                engine.monotonic::<Made, Made>()
            };
            assert!((begin..=kernel_now()).contains(&now), "{begin} {now} {}", kernel_now());
            assert!(now >= before, "backward by {}", before - now);
            before = now;
        }
    }
}

const KINDS: [(Kind, Source); 2] =
    [(Kind::Pvclock, Source::Pvclock), (Kind::HypervPage, Source::HypervPage)];

#[test]
fn pages_give_the_kernels_time_without_asking_it() {
    for (kind, source) in KINDS {
        let (engine, _) = Pages::served(kind);
        exactly_for(&engine, 240_000_000, 10_000);
        assert_eq!(ASKED.get(), 0, "{kind:?}");
        // The proof is repeated four times a second: two questions each.
        exactly_for(&engine, 3_000_000_000, 10_000);
        assert!((20..=40).contains(&ASKED.get()), "{kind:?} {}", ASKED.get());
        assert_eq!(engine.source::<Made, Made>(), source);
        assert!(engine.rate::<Made, Made>().is_none(), "cycles of the counter are not the page's");
    }
}

#[test]
fn stable_bit_that_goes_and_comes_is_seen_at_once() {
    let (engine, pages) = Pages::served(Kind::Pvclock);
    for round in 0..50 {
        exactly_for(&engine, 1_000_000, 10_000);
        let asked = ASKED.get();
        let version = pages.host[0].load(Ordering::Relaxed);
        pages.host[3].store(SCALE & !(1 << 40), Ordering::Relaxed);
        pages.host[0].store(version + 2, Ordering::Relaxed);
        exactly_for(&engine, 1_000_000, 10_000);
        assert!(ASKED.get() > asked + 50, "each read asks the kernel");
        assert_eq!(engine.source_beside::<Made>(), None);
        pages.host[3].store(SCALE, Ordering::Relaxed);
        let asked = ASKED.get();
        let _ = engine.monotonic::<Made, Made>();
        // Unless its window was over.
        assert!(ASKED.get() <= asked + 2, "{round}");
        assert_eq!(engine.source_beside::<Made>(), Some(Source::Pvclock));
    }
}

#[test]
fn sequence_of_zero_asks_the_kernel() {
    let (engine, pages) = Pages::served(Kind::HypervPage);
    exactly_for(&engine, 1_000_000, 10_000);
    pages.host[0].store(0, Ordering::Relaxed);
    let asked = ASKED.get();
    exactly_for(&engine, 1_000_000, 10_000);
    assert!(ASKED.get() > asked + 50);
    assert_eq!(engine.source_beside::<Made>(), None);
    pages.host[0].store(9, Ordering::Relaxed);
    exactly_for(&engine, 1_000_000, 10_000);
    assert_eq!(engine.source_beside::<Made>(), Some(Source::HypervPage));
}

#[test]
fn migration_to_another_counter_is_exact() {
    let (engine, pages) = Pages::served(Kind::Pvclock);
    for counter in [BEGIN / 1_000, BEGIN * 1_000, 5, BEGIN] {
        exactly_for(&engine, 1_000_000_000, 50_000);
        pages.migrate(counter);
        exactly_for(&engine, 1_000_000_000, 50_000);
        assert_eq!(engine.source_beside::<Made>(), Some(Source::Pvclock), "{counter}");
    }
}

#[test]
fn kernel_that_changes_its_clock_is_followed_at_the_next_read() {
    let (engine, pages) = Pages::served(Kind::Pvclock);
    for mode in [0, MODE_HVCLOCK, 0] {
        exactly_for(&engine, 1_000_000, 10_000);
        pages.set_mode(mode);
        let asked = ASKED.get();
        exactly_for(&engine, 1_000_000, 10_000);
        assert!(ASKED.get() > asked + 50, "{mode}");
        pages.set_mode(MODE_PVCLOCK);
        // Until the kernel has been used for long enough, if a line's reader used it.
        exactly_for(&engine, 1_000_000, 10_000);
        assert_eq!(engine.source_beside::<Made>(), Some(Source::Pvclock));
    }
}

#[test]
fn page_that_lies_is_given_up_at_its_next_proof() {
    for (kind, _) in KINDS {
        let (engine, pages) = Pages::served(kind);
        exactly_for(&engine, 1_000_000, 10_000);
        // A millisecond ahead, without a word.
        let off = if matches!(kind, Kind::Pvclock) { 1_000_000 } else { 10_000 };
        pages.host[2].fetch_add(off, Ordering::Relaxed);
        pass(PROOF_NS);
        let _ = engine.monotonic::<Made, Made>();
        assert_eq!(engine.source_beside::<Made>(), None, "{kind:?}");
        let (before, now) = (kernel_now(), engine.monotonic::<Made, Made>());
        assert!(now >= before && now <= kernel_now(), "{kind:?}");
    }
}

#[test]
fn worse_source_that_is_asked_for_is_used() {
    for (kind, source) in KINDS {
        let (engine, _) = Pages::served(kind);
        assert!(engine.may_use(source));
        for worse in [Source::Disciplined, Source::Vdso] {
            engine.restrict::<Made>(worse);
            assert!(!engine.may_use(source), "{worse}");
            assert_eq!(engine.source_beside::<Made>(), None);
        }
        engine.restrict::<Made>(source);
        assert!(engine.may_use(source) && !engine.may_use(Source::Vvar));
    }
}

/// Where kvm-clock was once in use, its page stays mapped, and this test reads it even if the kernel's clock
/// is now another one. The page must run like CLOCK_MONOTONIC_RAW, to 500 ppm, over 200 ms.
#[test]
fn page_of_this_machine_runs_as_the_kernels_raw_clock() {
    let available = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let listed = std::fs::read_to_string(available).is_ok_and(|text| text.contains("kvm-clock"));
    let Some(found) = discover::find().filter(|_| listed) else {
        return eprintln!("skipped: no kvm-clock here, or no page");
    };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let page = |host: &Host| {
        let address = host.address().expose_provenance() as u64;
        let mapping = clocksmith_raw::maps::around(&maps, address).unwrap();
        assert!(mapping.name.starts_with("[vvar"), "{mapping:?}");
        cycles(host, Kind::Pvclock, Hardware::read_ordered).is_ok()
            && crate::paravirt::span(host, Kind::Pvclock, 1_000_000).clamp(100_000, 100_000_000)
                == crate::paravirt::span(host, Kind::Pvclock, 1_000_000)
    };
    let Some(host) = discover::beside(found.real).find(page) else {
        return eprintln!("skipped: kvm-clock's page is not mapped, or not stable");
    };
    let read = || -> Result<(u64, u64, u64), NoCycles> {
        let best = (0..50).filter_map(|_| {
            let before = kernel::time(ClockId::MonotonicRaw)?;
            let ns = cycles(&host, Kind::Pvclock, Hardware::read_ordered).ok()?.cycles;
            let after = kernel::time(ClockId::MonotonicRaw)?;
            Some((after - before, before + (after - before) / 2, ns))
        });
        best.min().ok_or(NoCycles::AskKernel)
    };
    let first = read().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let second = read().unwrap();
    let (raw, pv) = (second.1 - first.1, second.2 - first.2);
    let doubt = first.0 + second.0 + raw / 2_000;
    assert!(
        raw.abs_diff(pv) <= doubt,
        "{pv} ns by kvm-clock's page, {raw} by the kernel, +-{doubt}"
    );
    eprintln!(
        "kvm-clock's page: {pv} ns, CLOCK_MONOTONIC_RAW: {raw} ns, brackets {} {}",
        first.0, second.0
    );
}

/// Read cost of kvm-clock's page as it is mapped here, under a synthetic kernel's page:
/// `cargo test --release -p clocksmith --lib cost_of_a_read -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_read_by_kvm_clocks_page() {
    let Some(found) = discover::find() else { return };
    let stable = |host: &Host| cycles(host, Kind::Pvclock, Hardware::read).is_ok();
    let Some(host) = discover::beside(found.real).find(stable) else { return };
    let (engine, pages) = Pages::served(Kind::Pvclock);
    let now = cycles(&host, Kind::Pvclock, Hardware::read).unwrap();
    pages.page[1].store(now.cycles, Ordering::Relaxed);
    engine.paravirt.show(host, Kind::Pvclock, engine.front.page(), now.counter, u64::MAX >> 2);
    let best = |read: &dyn Fn()| {
        let rounds = (0..400).map(|_| {
            let begin = std::time::Instant::now();
            (0..500).for_each(|_| read());
            begin.elapsed().as_nanos() as f64 / 500.0
        });
        rounds.fold(f64::INFINITY, f64::min)
    };
    let hint = |value: u64| {
        std::hint::black_box(value);
    };
    let rdtsc = best(&|| hint(Hardware::read()));
    let vdso = best(&|| hint(kernel::time(ClockId::Monotonic).unwrap()));
    for (name, cost) in [
        ("rdtsc", rdtsc),
        ("vDSO", vdso),
        ("unordered", best(&|| hint(engine.monotonic::<Hardware, Asked>()))),
        ("ordered", best(&|| hint(engine.monotonic_ordered::<Hardware, Asked>()))),
        ("on the TSC, unordered", best(&|| hint(crate::monotonic_ns()))),
    ] {
        println!("{name:24}{cost:7.2} ns{:7.3} rdtsc{:7.3} vDSO", cost / rdtsc, cost / vdso);
    }
    assert_eq!(engine.source_beside::<Hardware>(), Some(Source::Pvclock));
}

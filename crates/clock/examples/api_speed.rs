//! The read costs, best of several rounds, in nanoseconds: `cargo run --release --example api_speed`.

use clocksmith::{CachedClock, Clock, FastInstant, Instant, SystemClock, Ticks, source};
use std::hint::black_box;
use std::time::Duration;

const ROUNDS: u32 = 30;
const READS: u32 = 200_000;

fn best<R>(mut read: impl FnMut() -> R) -> f64 {
    (0..ROUNDS)
        .map(|_| {
            let begin = std::time::Instant::now();
            for _ in 0..READS {
                black_box(read());
            }
            begin.elapsed().as_nanos() as f64 / f64::from(READS)
        })
        .fold(f64::INFINITY, f64::min)
}

/// Each read begins when the one before it has ended: the read cost for code that waits for it.
fn serialised<R>(mut read: impl FnMut() -> R) -> f64 {
    best(|| {
        let result = black_box(read());
        fence();
        result
    })
}

/// Takes a moment right before it is used.
fn from<I, R>(moment: I, measure: impl FnOnce(I) -> R) -> R {
    measure(moment)
}

/// Waits until everything before has been executed.
#[inline(always)]
fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        core::arch::x86_64::_mm_lfence()
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: isb has no operands and changes nothing.
    unsafe {
        core::arch::asm!("isb")
    };
}

fn main() {
    static CACHED: CachedClock = CachedClock::new();
    static KEPT: CachedClock = CachedClock::new();
    CACHED.update();
    let updater = KEPT.spawn_updater(Duration::from_millis(1));
    println!("source {}, ticks are cycles: {}", source(), Ticks::are_cycles());
    // The second round looks at moments that are more than a second ago.
    let (long_ours, long_std) = (Instant::now(), std::time::Instant::now());
    for long in [false, true] {
        let ours = || if long { long_ours } else { Instant::now() };
        let std = || if long { long_std } else { std::time::Instant::now() };
        println!("std Instant::now        {:7.2}", best(std::time::Instant::now));
        println!("Instant::now            {:7.2}", best(Instant::now));
        println!("SystemClock::now        {:7.2}", best(|| SystemClock.now()));
        println!("FastInstant::now        {:7.2}", best(FastInstant::now));
        println!("Instant::now_coarse     {:7.2}", best(Instant::now_coarse));
        println!("std elapsed             {:7.2}", from(std(), |i| best(|| i.elapsed())));
        println!("elapsed                 {:7.2}", from(ours(), |i| best(|| i.elapsed())));
        println!("nothing, serialised     {:7.2}", serialised(|| ()));
        println!("std elapsed, serialised {:7.2}", from(std(), |i| serialised(|| i.elapsed())));
        println!("elapsed, serialised     {:7.2}", from(ours(), |i| serialised(|| i.elapsed())));
        println!("Instant::now, serialised{:7.2}", serialised(Instant::now));
        println!("FastInstant, serialised {:7.2}", serialised(FastInstant::now));
        println!(
            "FastInstant elapsed     {:7.2}",
            from(FastInstant::now(), |i| best(|| i.elapsed()))
        );
        println!("Ticks::now              {:7.2}", best(Ticks::now));
        println!("Ticks::now_ordered      {:7.2}", best(Ticks::now_ordered));
        println!("CachedClock by hand     {:7.2}", best(|| CACHED.monotonic_ns()));
        println!("CachedClock by thread   {:7.2}", best(|| KEPT.monotonic_ns()));
        println!("CachedClock::update     {:7.2}", best(|| CACHED.update()));
        println!();
    }
    drop(updater);
}

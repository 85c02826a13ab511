//! What the reads cost, best of several rounds, in nanoseconds: `cargo run --release --example api_speed`.

use clocksmith::{CachedClock, Clock, Instant, SystemClock, Ticks, source};
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

/// Each read waits for the result of the one before it.
fn chained(mut read: impl FnMut(u64) -> u64) -> f64 {
    let mut last = 0u64;
    best(|| {
        last = black_box(read(black_box(last & 1)));
    })
}

fn main() {
    static CACHED: CachedClock = CachedClock::new();
    static KEPT: CachedClock = CachedClock::new();
    CACHED.update();
    let updater = KEPT.spawn_updater(Duration::from_millis(1));
    println!("source {}, ticks are cycles: {}", source(), Ticks::are_cycles());
    let (ours, std) = (Instant::now(), std::time::Instant::now());
    let nanos = |d: Duration| u64::from(d.subsec_nanos());
    for _ in 0..2 {
        println!("std Instant::now        {:7.2}", best(std::time::Instant::now));
        println!("Instant::now            {:7.2}", best(Instant::now));
        println!("SystemClock::now        {:7.2}", best(|| SystemClock.now()));
        println!("Instant::now_ordered    {:7.2}", best(Instant::now_ordered));
        println!("Instant::now_coarse     {:7.2}", best(Instant::now_coarse));
        println!("std elapsed             {:7.2}", best(|| std.elapsed()));
        println!("elapsed                 {:7.2}", best(|| ours.elapsed()));
        println!("std elapsed, chained    {:7.2}", chained(|x| x + nanos(std.elapsed())));
        println!("elapsed, chained        {:7.2}", chained(|x| x + nanos(ours.elapsed())));
        println!("Ticks::now              {:7.2}", best(Ticks::now));
        println!("Ticks::now_ordered      {:7.2}", best(Ticks::now_ordered));
        println!("CachedClock by hand     {:7.2}", best(|| CACHED.monotonic_ns()));
        println!("CachedClock by thread   {:7.2}", best(|| KEPT.monotonic_ns()));
        println!("CachedClock::update     {:7.2}", best(|| CACHED.update()));
        println!();
    }
    drop(updater);
}

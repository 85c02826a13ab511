// As target.c, through std::time.
use std::hint::black_box;
use std::time::{Instant, SystemTime};

#[inline(never)]
fn hot_a(calls: &mut [u64; 3]) {
    black_box(Instant::now());
    calls[0] += 1;
}

#[inline(never)]
fn hot_b(calls: &mut [u64; 3]) {
    black_box(SystemTime::now());
    calls[1] += 1;
}

#[inline(never)]
fn hot_c(calls: &mut [u64; 3], start: Instant) {
    black_box(start.elapsed());
    calls[2] += 1;
}

#[inline(never)]
fn work(seed: u32) {
    for i in 0..20u32 {
        black_box(seed.wrapping_mul(2654435761).wrapping_add(i));
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(1.0);
    let start = Instant::now();
    let mut calls = [0; 3];
    let mut random = 1u32;
    while start.elapsed().as_secs_f64() < seconds {
        for _ in 0..20000 {
            random = random.wrapping_mul(1664525).wrapping_add(1013904223);
            match (random >> 16) % 10 {
                0..=6 => hot_a(&mut calls),
                7..=8 => hot_b(&mut calls),
                _ => hot_c(&mut calls, start),
            }
            work(random);
        }
    }
    println!("hot_a {}\nhot_b {}\nhot_c {}", calls[0], calls[1], calls[2]);
}

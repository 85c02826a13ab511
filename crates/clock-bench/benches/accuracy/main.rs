//! How exact the clock is: `cargo bench -p clocksmith-clock-bench --bench accuracy`.
//!
//! Three parts: `drift` (the error against `CLOCK_MONOTONIC` over two minutes), `starts` (the rate
//! in many fresh processes, half of them on a busy machine) and `threads` (whether a time may be
//! earlier than one that another thread took before). Other clocks are also measured.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clocks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod drift;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod starts;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> anyhow::Result<()> {
    run::run()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("accuracy: for x86-64 Linux only");
}

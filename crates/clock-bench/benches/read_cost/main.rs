//! The read cost of the clock: `cargo bench -p clocksmith-clock-bench --bench read_cost`.
//!
//! One process on one processor; all clocks take turns in short batches, and the medians count. Three figures for each
//! clock, because each hides something: reads back to back (the processor overlaps them: throughput), a read with
//! fences around it (the cost if the program waits for the read), and the addition of a read to a loop of additions
//! (the cost for a busy program).
//!
//! `line` and `vdso` are this library with its own line and with the vDSO (`restrict`).
//!
//! `--quick` takes a few seconds and fails if a ratio is far beyond its target.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clocks;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod cost;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod threads;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> anyhow::Result<std::process::ExitCode> {
    run::run()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("read_cost: for x86-64 Linux only");
}

//! The cost of the first read of the clock in a fresh process:
//! `cargo bench -p clocksmith-clock-bench --bench cold_start`.
//!
//! No other clock library is linked here: some of them run code before `main`, and would warm up the
//! measured code.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod program;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod run;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> anyhow::Result<()> {
    run::run()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {
    println!("cold_start: for x86-64 Linux only");
}

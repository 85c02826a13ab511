//! Reads the library's clocks in several threads, compares them with the kernel's, and reports once
//! a second. It is meant to run during changes of a machine's time.
//!
//!     clock_reader --threads 3 [--best vvar|disciplined|vdso|syscall] [--seconds N] [--trust SECONDS]
//!
//! `--trust` uses the counter although the kernel does not, after a test of at most the given
//! seconds. Each line is `|reader ` and a JSON object with totals since the start. Ends at SIGTERM,
//! or after the seconds. Linux only.

#[cfg(target_os = "linux")]
mod reader {
    use clocksmith::Source;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    static OVER: AtomicBool = AtomicBool::new(false);

    extern "C" fn end(_signal: libc::c_int) {
        OVER.store(true, Relaxed);
    }

    /// Totals. Backward steps are those that one thread saw, and those of ordered reads between
    /// threads.
    #[derive(Default)]
    struct Totals {
        reads: AtomicU64,
        back_steps: AtomicU64,
        largest_back_step: AtomicU64,
        kernel_back_steps: AtomicU64,
        kernel_largest_back_step: AtomicU64,
        largest_error: AtomicU64,
        largest_ordered_error: AtomicU64,
        largest_wall_error: AtomicU64,
        largest_coarse_error: AtomicU64,
        brackets: AtomicU64,
    }

    fn kernel(clock: libc::clockid_t) -> u64 {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes a local `timespec`.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
    }

    /// How far `ours` is outside of two readings of the kernel's clock.
    fn outside(before: u64, ours: u64, after: u64) -> u64 {
        // The wall clock was set back in between: ours may be of either time, and is then earlier than the one after.
        if after < before {
            return 0;
        }
        before.saturating_sub(ours).max(ours.saturating_sub(after))
    }

    fn read(totals: &Totals, shared: &AtomicU64, shared_kernel: &AtomicU64) {
        let step = |count: &AtomicU64, largest: &AtomicU64, before: u64, now: u64| {
            if now < before {
                count.fetch_add(1, Relaxed);
                largest.fetch_max(before - now, Relaxed);
            }
        };
        let (mut last, mut last_kernel) = (0, 0);
        while !OVER.load(Relaxed) {
            for _ in 0..200 {
                let now = clocksmith::monotonic_ns();
                step(&totals.back_steps, &totals.largest_back_step, last, now);
                last = now;
            }
            for _ in 0..20 {
                // Between threads: read after another thread's time has been seen.
                let seen = shared.load(Ordering::Acquire);
                let now = clocksmith::monotonic_ordered_ns();
                step(&totals.back_steps, &totals.largest_back_step, seen, now);
                shared.fetch_max(now, Ordering::AcqRel);
                let seen = shared_kernel.load(Ordering::Acquire);
                let now = kernel(libc::CLOCK_MONOTONIC);
                let before = seen.max(last_kernel);
                step(&totals.kernel_back_steps, &totals.kernel_largest_back_step, before, now);
                last_kernel = now;
                shared_kernel.fetch_max(now, Ordering::AcqRel);
            }
            let bracket = |largest: &AtomicU64, id: libc::clockid_t, clock: fn() -> u64| {
                let before = kernel(id);
                let ours = clock();
                let after = kernel(id);
                // A wide bracket was interrupted; an unordered read may be early by its start.
                let slack = 2;
                largest.fetch_max(outside(before, ours, after).saturating_sub(slack), Relaxed);
            };
            bracket(&totals.largest_error, libc::CLOCK_MONOTONIC, clocksmith::monotonic_ns);
            bracket(
                &totals.largest_ordered_error,
                libc::CLOCK_MONOTONIC,
                clocksmith::monotonic_ordered_ns,
            );
            bracket(&totals.largest_wall_error, libc::CLOCK_REALTIME, clocksmith::realtime_ns);
            let coarse = libc::CLOCK_MONOTONIC_COARSE;
            bracket(&totals.largest_coarse_error, coarse, clocksmith::monotonic_coarse_ns);
            totals.brackets.fetch_add(4, Relaxed);
            totals.reads.fetch_add(200 + 20 + 4, Relaxed);
        }
    }

    fn say(totals: &Totals, threads: u32, sources: &[Source]) {
        let value = |total: &AtomicU64| total.load(Relaxed);
        let names: Vec<String> = sources.iter().map(|source| format!("\"{source}\"")).collect();
        println!(
            "|reader {{\"clock\": \"clocksmith\", \"threads\": {threads}, \"reads\": {}, \
             \"brackets\": {}, \"back_steps\": {}, \"largest_back_step_ns\": {}, \
             \"kernel_back_steps\": {}, \"kernel_largest_back_step_ns\": {}, \
             \"largest_error_ns\": {}, \"largest_ordered_error_ns\": {}, \
             \"largest_wall_error_ns\": {}, \"largest_coarse_error_ns\": {}, \
             \"source\": \"{}\", \"sources\": [{}]}}",
            value(&totals.reads),
            value(&totals.brackets),
            value(&totals.back_steps),
            value(&totals.largest_back_step),
            value(&totals.kernel_back_steps),
            value(&totals.kernel_largest_back_step),
            value(&totals.largest_error),
            value(&totals.largest_ordered_error),
            value(&totals.largest_wall_error),
            value(&totals.largest_coarse_error),
            clocksmith::source(),
            names.join(", "),
        );
    }

    pub(crate) fn run() -> Result<(), String> {
        let (mut threads, mut seconds) = (3, u64::MAX);
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
            let number = || value.parse().map_err(|_| format!("{name}: not a number: {value}"));
            match name.as_str() {
                "--threads" => threads = number()?,
                "--seconds" => seconds = u64::from(number()?),
                "--best" => clocksmith::restrict(match value.as_str() {
                    "vvar" => Source::Vvar,
                    "disciplined" => Source::Disciplined,
                    "vdso" => Source::Vdso,
                    "syscall" => Source::Syscall,
                    _ => return Err(format!("--best: no source is called {value}")),
                }),
                "--trust" => {
                    let limit = Duration::from_secs(u64::from(number()?));
                    eprintln!("--trust {value}: {:?}", clocksmith::trust_counter(limit));
                }
                _ => return Err(format!("no option is called {name}")),
            }
        }
        // SAFETY: the handler stores to an atomic.
        unsafe { libc::signal(libc::SIGTERM, end as extern "C" fn(libc::c_int) as usize) };
        let totals = Totals::default();
        let (shared, shared_kernel) = (AtomicU64::new(0), AtomicU64::new(0));
        let sources = Mutex::new(Vec::new());
        let saying = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| read(&totals, &shared, &shared_kernel));
            }
            let mut passed = 0;
            while !OVER.load(Relaxed) && passed < seconds.saturating_mul(10) {
                std::thread::sleep(Duration::from_millis(100));
                passed += 1;
                let now = clocksmith::source();
                let Ok(mut sources) = sources.lock() else { break };
                if sources.last() != Some(&now) {
                    sources.push(now);
                }
                if saying.fetch_add(1, Relaxed) % 5 == 4 {
                    say(&totals, threads, &sources);
                }
            }
            OVER.store(true, Relaxed);
        });
        if let Ok(sources) = sources.lock() {
            say(&totals, threads, &sources);
        }
        Ok(())
    }
}

fn main() -> Result<(), String> {
    #[cfg(target_os = "linux")]
    return reader::run();
    #[cfg(not(target_os = "linux"))]
    Err("Linux only".into())
}

//! Options of `bench`.

use clap::Args as ClapArgs;
use std::path::PathBuf;
use std::time::Duration;

/// Options of `bench`.
#[derive(ClapArgs, Debug, Clone, Default)]
#[command(after_help = BENCH)]
pub(crate) struct Bench {
    /// Run on this CPU [default: the one where it starts]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Measure with these numbers of threads, such as 1,2,8 [default: 1 up to all CPUs]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) threads: Vec<usize>,
    /// Measure with each available clocksource in turn, then restore the one that was in use (root)
    #[arg(long)]
    pub(crate) every_clocksource: bool,
    /// Also run a known loop: P1 clock-ids, P2 gettimeofday, P3 clock-timing, P4 threads
    #[arg(long, value_name = "LOOP")]
    pub(crate) like: Option<String>,
    /// With --like: set the number of reads in each loop [default: as many as take less than a
    /// second]
    #[arg(long, value_name = "READS", requires = "like", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
    /// With --like: make as many reads as the original loop
    #[arg(long, requires = "like", conflicts_with = "count")]
    pub(crate) full: bool,
    /// Show what faster paths would save in a program that makes this many reads per second
    #[arg(long, value_name = "READS_PER_SECOND", allow_negative_numbers = true)]
    pub(crate) gain: Option<f64>,
    /// Measure only these clocks or paths: CLOCK_MONOTONIC, gettimeofday, rdtsc, or one path such
    /// as CLOCK_TAI/vdso
    #[arg(long, value_name = "CLOCK,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Measure for at most 1.5 seconds, without user and system time and without threads
    #[arg(long, conflicts_with_all = ["duration", "every_clocksource", "like"])]
    pub(crate) quick: bool,
    /// Measure for this long: 500ms, 5s, 2m [default: about 10s]
    #[arg(long, value_name = "TIME", value_parser = crate::verify::duration::parse)]
    pub(crate) duration: Option<Duration>,
    /// Measure in this many processes, one after the other, for later comparisons [default: 1;
    /// with --baseline 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) starts: Option<u16>,
    /// Compare with an earlier run: a file that `bench --json --starts 10` wrote
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Exit with 1 if a row is slower than in the earlier run by more than this percentage
    #[arg(long, value_name = "PERCENT", requires = "baseline")]
    pub(crate) fail_over: Option<f64>,
    /// Also measure how late waits end: nanosleep, timerfd, futex, epoll
    #[arg(long)]
    pub(crate) timers: bool,
    /// Measure one start and print a line of JSON (for `bench` itself)
    #[arg(long, hide = true)]
    pub(crate) one_start: bool,
    /// Do this many percent more work in each row of a start than it counts (for calibration)
    #[arg(long, value_name = "PERCENT", hide = true, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub(crate) burden: Option<u32>,
    /// Write a table for spreadsheets
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write a page in Markdown
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write a self-contained HTML page with plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Read the kernel's clocksource files in this directory (for tests)
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) clocksource_directory: Option<PathBuf>,
}

const BENCH: &str = "Costs: `throughput` measures reads back to back; `latency` waits before and after \
each read; `in a loop` is what a read adds to a loop of additions, which is what a busy program \
pays. All are medians of interleaved batches, without the cost of the loop. Ctrl-C ends the \
measurement and prints what was measured so far (exit code 3).\n\n--baseline compares several \
processes on each side, since two starts of an unchanged program differ: save the earlier run with \
--starts 10. A change of the whole machine, which the counter's row shows, is reported \
separately.\n\n--every-clocksource switches the clocksource of the whole machine for a few seconds, \
as a write to current_clocksource does. If bench is killed, a second process restores the original \
clocksource.";

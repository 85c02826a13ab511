//! How much of the machine a step had, so that its time can be compared with its budget on a machine that is
//! busy or slow.
//!
//! A budget is in seconds of two quiet processors like the ones that the seconds in the table were measured on. Three
//! things are excluded from the wall-clock time:
//!
//! - the share of other programs in the processors (`/proc/stat`, with time that a hypervisor stole, less the time
//!   of this program's children): with half of the processors a step may take twice its budget;
//! - how much slower this machine is, by a piece of work that is timed before and after each step; one that is faster
//!   gets no smaller budget;
//! - waiting for the archives of dependencies, which are fetched before the first step.
//!
//! Where others had more than half of the machine, times are not judged, because then memory, caches and the disk
//! decide, about which `/proc/stat` has no figures. The run reports that.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::thread::available_parallelism;
use std::time::Instant;

/// Clock ticks a second in `/proc`, the same on every architecture of Linux in use.
const TICKS: f64 = 100.0;
/// The value of [`work_time`] on the machine of the table, in seconds, as cargo compiles this by default.
const REFERENCE: f64 = 0.038;
/// The limit of the factor by which the budget grows on a slower machine.
const SLOWEST: f64 = 4.0;
/// With less of the machine than this, a step over its budget is reported, but does not fail.
const JUDGED: f64 = 0.5;

/// A moment at which processor time was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    at: Instant,
    busy: Option<f64>,
    own: Option<f64>,
}

/// The time since a mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    /// On the wall.
    pub(crate) wall: f64,
    /// Processor time of this run's children that have ended.
    pub(crate) cpu: f64,
    /// Share of the machine that others left, 0 to 1.
    pub(crate) share: f64,
}

/// The message for a time over its budget.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Judgement {
    Within,
    Over,
    /// Over, but the machine was too busy to decide whether the step is at fault.
    Unjudged,
}

impl Mark {
    pub(crate) fn now() -> Mark {
        Mark {
            at: Instant::now(),
            busy: fs::read_to_string("/proc/stat").ok().and_then(|text| busy(&text)),
            own: fs::read_to_string("/proc/self/stat").ok().and_then(|text| own(&text)),
        }
    }

    pub(crate) fn spent(&self) -> Spent {
        self.until(Mark::now())
    }

    /// Returns the time since the mark while a process group of children still runs, whose processor time is not yet
    /// included in that of this program's children.
    pub(crate) fn spent_with(&self, group: u32) -> Spent {
        let mut now = Mark::now();
        now.own = now.own.map(|ticks| ticks + ticks_of_group(group));
        self.until(now)
    }

    fn until(&self, now: Mark) -> Spent {
        let wall = now.at.duration_since(self.at).as_secs_f64();
        let since =
            |before: Option<f64>, after: Option<f64>| Some(((after? - before?) / TICKS).max(0.0));
        let cpu = since(self.own, now.own).unwrap_or(0.0);
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        let others = since(self.busy, now.busy).map_or(0.0, |busy| (busy - cpu).max(0.0));
        let share = (1.0 - others / (processors * wall.max(0.001))).clamp(0.05, 1.0);
        Spent { wall, cpu, share }
    }
}

impl Spent {
    /// The time that it would have taken on the quiet machine of the table. `slowness` is that of
    /// [`slowness`].
    pub(crate) fn quiet(self, slowness: f64) -> f64 {
        self.wall * self.share / slowness
    }

    pub(crate) fn judge(self, slowness: f64, budget: u64) -> Judgement {
        if self.quiet(slowness) <= budget as f64 {
            Judgement::Within
        } else if self.share < JUDGED {
            Judgement::Unjudged
        } else {
            Judgement::Over
        }
    }
}

/// How many times slower than the machine of the table this one is, from 1.
///
/// All processors at once, as in most steps: processors that share a core or a cache slow each other down. A map and a
/// sort rather than a loop of arithmetic: compilers wait for memory and guess branches, and a neighbour on the same
/// hardware makes that slow while a loop in registers takes as long as ever.
/// Fails where threads cannot be started.
pub(crate) fn slowness() -> std::io::Result<f64> {
    let processors = available_parallelism().map_or(1, usize::from);
    // The fastest of several short runs is the one that was disturbed least.
    let mut fastest = f64::INFINITY;
    for _ in 0..5 {
        fastest = fastest.min(work_time(processors)?);
    }
    Ok((fastest / REFERENCE).clamp(1.0, SLOWEST))
}

/// Seconds of processor time that a processor needs for a piece of work while all others do the same, on average.
fn work_time(processors: usize) -> std::io::Result<f64> {
    let times: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..processors)
            .map(|_| std::thread::Builder::new().spawn_scoped(scope, one_work_time))
            .collect::<Result<_, _>>()?;
        std::io::Result::Ok(workers.into_iter().filter_map(|worker| worker.join().ok()).collect())
    })?;
    Ok(times.iter().sum::<f64>() / times.len().max(1) as f64)
}

/// Seconds of processor time of this thread's work; wall time where the kernel does not report it.
fn one_work_time() -> f64 {
    let ran = || -> Option<f64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
    };
    let (begun, before) = (Instant::now(), ran());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let map: BTreeMap<u64, u64> = (0..40_000).map(|number| (next(), number)).collect();
    let mut values: Vec<u64> = (0..40_000).map(|_| next()).collect();
    values.sort_unstable();
    let found = values.iter().filter(|value| map.range(**value..).next().is_some()).count();
    black_box(found);
    match (before, ran()) {
        (Some(before), Some(after)) if after > before => after - before,
        _ => begun.elapsed().as_secs_f64(),
    }
}

/// Ticks in which the processors did something, of all programs, from `/proc/stat`.
fn busy(text: &str) -> Option<f64> {
    let numbers: Vec<f64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal; the guests' are in user.
    let &[user, nice, system, _, _, irq, softirq, steal] = numbers.get(..8)? else { return None };
    Some(user + nice + system + irq + softirq + steal)
}

/// Ticks of this process and its children, from `/proc/self/stat`.
fn own(text: &str) -> Option<f64> {
    // After the name, which may have spaces: utime, stime, cutime and cstime are fields 14 to 17.
    let numbers = text.rsplit_once(')')?.1.split_whitespace().skip(11).take(4);
    Some(numbers.filter_map(|word| word.parse::<f64>().ok()).sum())
}

/// Ticks of all processes of a process group, with those of their children that have ended.
fn ticks_of_group(group: u32) -> f64 {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter(|entry| {
        entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit)
    });
    let texts = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    texts.filter(|text| group_of(text) == Some(group)).filter_map(|text| own(&text)).sum()
}

/// The process group, from a process's `stat`: field 5.
fn group_of(text: &str) -> Option<u32> {
    text.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(wall: f64, share: f64) -> Spent {
        Spent { wall, cpu: 0.0, share }
    }

    #[test]
    fn judge_quiet_machine_the_wall_decides() {
        assert_eq!(spent(10.0, 1.0).judge(1.0, 10), Judgement::Within);
        assert_eq!(spent(11.0, 1.0).judge(1.0, 10), Judgement::Over);
    }

    #[test]
    fn judge_busy_machine_gets_more_time() {
        assert_eq!(spent(15.0, 0.6).judge(1.0, 10), Judgement::Within);
        assert_eq!(spent(30.0, 0.6).judge(1.0, 10), Judgement::Over);
        assert_eq!(spent(90.0, 0.3).judge(1.0, 10), Judgement::Unjudged);
    }

    #[test]
    fn judge_slow_machine_gets_more_time() {
        assert_eq!(spent(19.0, 1.0).judge(2.0, 10), Judgement::Within);
    }

    #[test]
    fn slowness_is_within_its_bounds() {
        let slow = slowness().unwrap();
        assert!((1.0..=SLOWEST).contains(&slow), "{slow}");
        assert!(one_work_time() > 0.0);
    }

    #[test]
    fn busy_and_own_read_the_kernels_files() {
        let text = "cpu  100 1 20 9000 7 2 3 4 50 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n";
        assert_eq!(busy(text), Some(130.0));
        assert_eq!(busy("cpu 1 2 3"), None);
        let text = "42 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";
        // The process id is the first field, so the state is the third.
        assert_eq!(own(text), Some(11.0 + 12.0 + 13.0 + 14.0));
        assert_eq!(group_of(text), Some(2));
    }
}

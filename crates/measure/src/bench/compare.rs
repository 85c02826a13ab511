//! Compares two runs, as far as their starts allow. Pure.
//!
//! The figures of starts are compared as logarithms. A change that affects all figures of a start equally (a different
//! frequency of the processor, a neighbour) shows in the reads of the counter; it is removed from the figures, and
//! reported separately. Where these reads changed relative to a loop of additions, the cost of the counter itself
//! changed, and the additions are the control.

use super::starts::{Start, StartRow};
use super::stats::{Difference, Estimate, Ratio, median};
use serde::Serialize;

/// The confidence of the intervals.
pub const CONFIDENCE: f64 = 0.99;
/// The smallest change that is reported, as a share: machines vary by less than that.
pub const SMALLEST: f64 = 0.02;
/// The same for the control, which affects the result of all rows.
const SMALLEST_CONTROL: f64 = 0.05;
/// A row below that is not compared, in nanoseconds: the position of the code changes it by a cycle, which is a third.
pub const SHORTEST_NS: f64 = 2.0;
/// Starts of the present run that are needed to know how far starts differ.
pub const LEAST_STARTS: usize = 3;
/// The share of starts that are calmer than the figure that is compared. This and the next two were chosen from 400 starts on
/// a virtual machine of two busy CPUs; `./test.sh calibration` tests them on fresh ones.
const CALM: f64 = 0.1;
/// Standard deviations from the calmest of about ten starts to their median.
const LOWER_HALF: f64 = 1.5;
/// By how much calm figures of different minutes differ, as a share (one standard deviation).
const SPELLS: f64 = 0.004;
/// The same of reads that enter the kernel: there the spells are longer, and differ by 3 % on that machine.
const KERNEL_SPELLS: f64 = 0.008;
/// A row that costs that share of a system call enters the kernel.
const ENTERS: f64 = 0.6;
/// The row of the system call.
const SYSCALL: &str = "CLOCK_MONOTONIC/syscall";
/// The variance of a median is larger than that of a mean; of few figures by that much.
const MEDIAN: f64 = 1.2;

/// The comparison of one row in two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name of the row.
    pub name: String,
    /// The earlier run: the median of its starts, and their range. The ratios compare the starts of either run that
    /// were not disturbed.
    pub before: Estimate,
    /// The present run.
    pub now: Estimate,
    /// The present run divided by the earlier one; null where the earlier one may be zero.
    pub ratio: Option<Ratio>,
    /// The ratio without the change of the whole machine; null where the row is too short to be compared, or there are
    /// too few starts.
    pub own_ratio: Option<Ratio>,
    /// The result of `own_ratio`: no difference where its interval contains 1, or below the smallest change.
    pub difference: Difference,
}

/// The measurement that shows the change of the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Control {
    /// The reads of the counter.
    Counter,
    /// A loop of additions, where there is no counter to read, or the cost of its reads changed.
    Additions,
    /// No control.
    None,
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Starts of the earlier run, and of this one.
    pub starts: (usize, usize),
    /// The measurement that shows the change of the whole machine.
    pub control: Control,
    /// The change of the whole machine.
    pub machine: Option<Ratio>,
    /// The change from which on a row is called different, as a share: the median over the rows.
    pub smallest: Option<f64>,
    /// The rows that both have, in the order of this run.
    pub rows: Vec<Comparison>,
}

/// A side of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// Its starts.
    pub starts: &'a [Start],
    /// Whether only medians are known of it: an earlier run that kept no starts.
    pub medians: bool,
}

/// Compares this run with an earlier one. `counters` are the names of the reads of the counter.
#[must_use]
pub fn compare(now: Side<'_>, before: Side<'_>, counters: &[String]) -> Compared {
    let medians = now.medians || before.medians;
    let figure = move |row: &StartRow| if medians { row.median_ns } else { row.ns };
    let (now, before) = (now.starts, before.starts);
    let counter = |start: &Start| {
        let logs: Vec<f64> = counters
            .iter()
            .filter_map(|name| start.row(name).map(figure))
            .filter(|ns| *ns > 0.0)
            .map(f64::ln)
            .collect();
        (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    };
    let work = |start: &Start| start.work_ns.filter(|ns| *ns > 0.0).map(f64::ln);
    let both = |of: &dyn Fn(&Start) -> Option<f64>| logs(before, of).zip(logs(now, of));
    let spells = SPELLS;
    let itself = both(&|start| Some(counter(start)? - work(start)?));
    let costs_else =
        itself.and_then(|(before, now)| change(&before, &now, spells)).is_some_and(|change| {
            let beyond = (change.by.abs() - change.half).max(0.0);
            beyond > 0.0 && change.by.abs() >= (1.0 + SMALLEST_CONTROL).ln()
        });
    let control = match (both(&counter), both(&work)) {
        (Some(_), _) if !costs_else => Control::Counter,
        (_, Some(_)) => Control::Additions,
        (Some(_), None) => Control::Counter,
        (None, None) => Control::None,
    };
    let common = |start: &Start| match control {
        Control::Counter => counter(start),
        Control::Additions => work(start),
        Control::None => Some(0.0),
    };
    let machine = (control != Control::None)
        .then(|| both(&common).and_then(|(before, now)| change(&before, &now, spells)))
        .flatten()
        .map(Change::ratio);
    let mut halves = Vec::new();
    let mut rows = Vec::new();
    for row in now.first().map_or(&[][..], |start| &start.rows) {
        let ns = |start: &Start| start.row(&row.name).map(figure);
        let figures = |starts: &[Start]| starts.iter().filter_map(ns).collect::<Vec<f64>>();
        let Some((was, is)) = range(&figures(before)).zip(range(&figures(now))) else { continue };
        let syscall = now.first().and_then(|start| start.row(SYSCALL)).map(figure);
        let enters = syscall.is_some_and(|syscall| is.ns >= syscall * ENTERS);
        let spells = if enters { KERNEL_SPELLS } else { SPELLS };
        let long = was.ns >= SHORTEST_NS && is.ns >= SHORTEST_NS;
        let log = |start: &Start| ns(start).filter(|ns| *ns > 0.0).map(f64::ln);
        let plain = both(&log).and_then(|(before, now)| change(&before, &now, spells));
        let own = both(&|start| Some(log(start)? - common(start)?))
            .and_then(|(before, now)| change(&before, &now, spells))
            .filter(|_| long);
        halves.extend(own.map(|own| (own.half.exp() - 1.0).max(SMALLEST)));
        rows.push(Comparison {
            name: row.name.clone(),
            before: was,
            now: is,
            ratio: plain.map(Change::ratio),
            own_ratio: own.map(Change::ratio),
            difference: own.map_or(Difference::NoDifference, Change::difference),
        });
    }
    Compared {
        starts: (before.len(), now.len()),
        control,
        machine,
        smallest: median(&halves),
        rows,
    }
}

/// The logarithms of a figure of all starts that have it; `None` if none has.
fn logs(starts: &[Start], of: &dyn Fn(&Start) -> Option<f64>) -> Option<Vec<f64>> {
    let logs: Vec<f64> = starts.iter().filter_map(of).filter(|log| log.is_finite()).collect();
    (!logs.is_empty()).then_some(logs)
}

fn range(figures: &[f64]) -> Option<Estimate> {
    let ns = median(figures)?;
    let low = figures.iter().copied().fold(ns, f64::min);
    Some(Estimate { ns, low, high: figures.iter().copied().fold(ns, f64::max) })
}

/// A change and half of its interval, as logarithms.
#[derive(Clone, Copy, Debug)]
struct Change {
    by: f64,
    half: f64,
}

impl Change {
    fn ratio(self) -> Ratio {
        Ratio {
            ratio: self.by.exp(),
            low: (self.by - self.half).exp(),
            high: (self.by + self.half).exp(),
        }
    }

    fn difference(self) -> Difference {
        if self.by.abs() < (1.0 + SMALLEST).ln() {
            return Difference::NoDifference;
        }
        self.ratio().difference()
    }
}

/// Compares two sides. A disturbance of a start only adds to it, and lasts for several starts: so the calm starts of
/// either side are compared, and the spread of starts is taken from their lower halves. If a side is one start, it is
/// compared with the other side's median. `None` with too few starts.
fn change(before: &[f64], now: &[f64], spells: f64) -> Option<Change> {
    let (n, m) = (before.len(), now.len());
    let freedom = (n + m).checked_sub(2)?;
    if m.max(n) < LEAST_STARTS {
        return None;
    }
    let chosen = m.min(n) >= LEAST_STARTS;
    let at = |logs: &[f64]| quantile(logs, if chosen { CALM } else { 0.5 });
    let variance = if chosen {
        let spread =
            |logs: &[f64]| Some((quantile(logs, 0.5)? - quantile(logs, 0.0)?) / LOWER_HALF);
        spread(before)?.max(spread(now)?).powi(2)
    } else {
        let squares = |logs: &[f64]| {
            let mean = logs.iter().sum::<f64>() / logs.len() as f64;
            logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
        };
        (squares(before) + squares(now)) / freedom as f64
    };
    let between = 2.0 * spells * spells;
    let within = MEDIAN * variance * (1.0 / n as f64 + 1.0 / m as f64);
    let half = student(freedom) * (within + between).sqrt();
    Some(Change { by: at(now)? - at(before)?, half })
}

/// Returns the value below which the share `q` of the figures lies, interpolated between two of them.
fn quantile(figures: &[f64], q: f64) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = sorted.len().checked_sub(1)? as f64 * q;
    let (below, above) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(below + (above - below) * place.fract())
}

/// Student's quantile for [`CONFIDENCE`], two sides.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 20] = [
        63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106, 3.055, 3.012,
        2.977, 2.947, 2.921, 2.898, 2.878, 2.861, 2.845,
    ];
    // Beyond the table: Cornish and Fisher's first term, right to 0.015.
    let normal = 2.576f64;
    let beyond = normal + (normal.powi(3) + normal) / (4.0 * freedom.max(1) as f64);
    freedom.checked_sub(1).and_then(|index| TABLE.get(index)).copied().unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Random;

    const COUNTERS: [&str; 2] = ["rdtsc/counter", "rdtscp/counter"];

    fn counters() -> Vec<String> {
        COUNTERS.map(str::to_owned).to_vec()
    }

    /// Starts of a machine: each differs by `spread` from the others, all its rows by `common`.
    fn starts(
        random: &mut Random,
        count: usize,
        (spread, common): (f64, f64),
        rows: &[(&str, f64)],
        work: f64,
    ) -> Vec<Start> {
        let mut one = || {
            let all = random.signed(0.0, common);
            // Every third figure or so is disturbed, and only upwards, as those of real starts are.
            let mut figure = |ns: f64| {
                let disturbed =
                    if random.share() < 0.3 { random.between(0.0, spread) } else { 0.0 };
                ns * (1.0 + all + random.between(0.0, 0.003) + disturbed)
            };
            Start {
                work_ns: Some(figure(work)),
                rows: rows
                    .iter()
                    .map(|(name, ns)| {
                        let ns = figure(*ns);
                        StartRow { name: (*name).to_owned(), ns, median_ns: ns }
                    })
                    .collect(),
            }
        };
        (0..count).map(|_| one()).collect()
    }

    fn side(starts: &[Start]) -> Side<'_> {
        Side { starts, medians: false }
    }

    const ROWS: [(&str, f64); 5] = [
        ("rdtsc/counter", 9.0),
        ("rdtscp/counter", 14.0),
        ("CLOCK_MONOTONIC/libc", 22.0),
        ("CLOCK_MONOTONIC/syscall", 170.0),
        ("time/libc", 1.2),
    ];

    fn scaled(factors: [f64; 5]) -> [(&'static str, f64); 5] {
        let mut rows = ROWS;
        for (row, factor) in rows.iter_mut().zip(factors) {
            row.1 *= factor;
        }
        rows
    }

    fn word(compared: &Compared, name: &str) -> Difference {
        compared.rows.iter().find(|row| row.name == name).unwrap().difference
    }

    #[test]
    fn compare_unchanged_machines_differ_in_few_rows() {
        let (mut rows, mut different, mut inside) = (0, 0, 0);
        for seed in 0..400 {
            let mut random = Random(seed);
            let wander = 1.0 + random.signed(0.0, 0.04);
            let before = starts(&mut random, 8, (0.015, 0.02), &ROWS, 12.0);
            let now = starts(&mut random, 8, (0.015, 0.02), &scaled([wander; 5]), 12.0 * wander);
            for row in compare(side(&now), side(&before), &counters()).rows {
                let Some(ratio) = row.own_ratio else { continue };
                rows += 1;
                different += usize::from(row.difference != Difference::NoDifference);
                inside += usize::from(ratio.low <= 1.0 && 1.0 <= ratio.high);
            }
        }
        assert_eq!(rows, 1600, "the shortest row is not compared");
        assert!(different * 100 <= rows, "{different} of {rows}");
        assert!(inside * 100 >= 98 * rows, "{inside} of {rows}");
    }

    #[test]
    fn compare_finds_a_change_of_five_percent() {
        let mut found = 0;
        for seed in 0..400 {
            let mut random = Random(seed);
            let before = starts(&mut random, 8, (0.02, 0.02), &ROWS, 12.0);
            let changed = scaled([1.0, 1.0, 1.05, 1.0, 1.0]);
            let now = starts(&mut random, 8, (0.02, 0.02), &changed, 12.0);
            let compared = compare(side(&now), side(&before), &counters());
            found += usize::from(word(&compared, "CLOCK_MONOTONIC/libc") == Difference::More);
        }
        assert!(found >= 380, "{found} of 400");
    }

    #[test]
    fn compare_whole_machine_slower_is_not_a_difference_of_rows() {
        let mut random = Random(7);
        let before = starts(&mut random, 8, (0.01, 0.0), &ROWS, 12.0);
        let now = starts(&mut random, 8, (0.01, 0.0), &scaled([1.2; 5]), 12.0 * 1.2);
        let compared = compare(side(&now), side(&before), &counters());
        assert_eq!(compared.control, Control::Counter);
        assert!((compared.machine.unwrap().ratio - 1.2).abs() < 0.02, "{compared:?}");
        assert!(compared.rows.iter().all(|row| row.difference == Difference::NoDifference));
        assert!(compared.rows.iter().all(|row| row.ratio.is_some_and(|ratio| ratio.low > 1.1)));
    }

    #[test]
    fn compare_counter_that_costs_more_is_called_slower() {
        let mut random = Random(8);
        let before = starts(&mut random, 8, (0.01, 0.0), &ROWS, 12.0);
        let now = starts(&mut random, 8, (0.01, 0.0), &scaled([5.0, 5.0, 3.0, 1.0, 1.0]), 12.0);
        let compared = compare(side(&now), side(&before), &counters());
        assert_eq!(compared.control, Control::Additions);
        let words = ROWS.map(|(name, _)| word(&compared, name));
        use Difference::{More, NoDifference};
        assert_eq!(words, [More, More, More, NoDifference, NoDifference]);
    }

    #[test]
    fn compare_former_run_of_one_start_needs_a_larger_change() {
        let mut random = Random(9);
        let before = starts(&mut random, 8, (0.02, 0.0), &ROWS, 12.0);
        let now = starts(&mut random, 8, (0.02, 0.0), &scaled([1.0, 1.0, 1.3, 1.0, 1.0]), 12.0);
        let several = compare(side(&now), side(&before), &counters());
        let one = Side { starts: &before[..1], medians: true };
        let single = compare(side(&now), one, &counters());
        assert!(single.smallest.unwrap() > several.smallest.unwrap());
        assert_eq!(word(&single, "CLOCK_MONOTONIC/libc"), Difference::More);
        // One start on either side shows nothing.
        let neither = compare(side(&now[..1]), one, &counters());
        assert!(neither.rows.iter().all(|row| row.own_ratio.is_none()));
        assert!(compare(side(&[]), one, &counters()).rows.is_empty());
    }

    #[test]
    fn student_follows_the_table() {
        assert_eq!((student(1), student(14), student(20)), (63.657, 2.977, 2.845));
        assert!((student(30) - 2.750).abs() < 0.015 && (student(1000) - 2.581).abs() < 0.01);
    }
}

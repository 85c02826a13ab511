//! The plots: read costs, the distribution of single calls, several threads, clocksources. On a logarithmic axis a
//! length has no meaning, so figures are dots, each with its interval; a dot farther to the right is slower, and a red
//! one entered the kernel.

use super::svg::{Axis, Svg};
use super::{duration, factor, main_rows};
use crate::report::bench::{BaselineReport, BenchReport, RowReport};
use clocksmith_measure::bench::row::Via;
use clocksmith_measure::bench::served::Served;
use clocksmith_measure::bench::stats::{Difference, Estimate};

const WIDTH: f64 = 860.0;
/// The end of the names and the beginning of the axis, and the end of the axis.
const LEFT: f64 = 210.0;
const RIGHT: f64 = 770.0;
const TOP: f64 = 6.0;
/// Room for the figures below the axis.
const BOTTOM: f64 = 24.0;

/// A figure with its interval: one line of a plot.
struct Bar {
    cost: Estimate,
    class: String,
    label: String,
}

/// Lines that belong together.
struct Group {
    name: String,
    bars: Vec<Bar>,
}

fn colour(path: Served) -> &'static str {
    match path {
        Served::Vdso => "vdso",
        Served::Counter => "counter",
        Served::Library => "library",
        Served::Syscall => "syscall",
        Served::Unknown => "unknown",
    }
}

fn bars(groups: &[Group], thick: f64, description: &str) -> String {
    const GAP: f64 = 11.0;
    let count = |group: &Group| group.bars.len() as f64;
    let height: f64 = groups.iter().map(|group| count(group) * thick + GAP).sum();
    let costs =
        groups.iter().flat_map(|group| &group.bars).flat_map(|bar| [bar.cost.low, bar.cost.high]);
    let axis = Axis::over(costs, LEFT, RIGHT);
    let mut svg = Svg::new(WIDTH, TOP + height + BOTTOM);
    axis.draw(&mut svg, TOP, TOP + height);
    let mut y = TOP + GAP / 2.0;
    for group in groups {
        let middle = y + count(group) * thick / 2.0 + 4.0;
        svg.text("name", [LEFT - 8.0, middle], &group.name);
        // Thin bars have one figure, after the longest of them; thick ones have one each.
        let longest = group.bars.iter().map(|bar| axis.at(bar.cost.high)).fold(0.0, f64::max);
        for bar in &group.bars {
            let [low, at, high] = [bar.cost.low, bar.cost.ns, bar.cost.high].map(|ns| axis.at(ns));
            let whisker = y + (thick - 1.5) / 2.0;
            svg.line("whisker", [low, whisker, high, whisker]);
            svg.dot(&bar.class, [at, whisker], if thick < 10.0 { 2.8 } else { 4.2 });
            if !bar.label.is_empty() {
                let [x, y] = if thick < 10.0 { [longest, middle] } else { [high, whisker + 4.0] };
                svg.text("value", [x + 6.0, y], &bar.label);
            }
            y += thick;
        }
        y += GAP;
    }
    svg.finish(description)
}

/// Returns the plot of read costs: three dots each, cheapest first.
pub(super) fn costs(report: &BenchReport) -> String {
    let syscall = report.rows.iter().filter(|row| {
        row.via == Via::Syscall && matches!(row.clock, "CLOCK_MONOTONIC" | "CLOCK_MONOTONIC_COARSE")
    });
    let mut rows: Vec<(&RowReport, f64)> = main_rows(report)
        .chain(syscall)
        .filter_map(|row| Some((row, row.costs.throughput?.ns)))
        .collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    let groups: Vec<Group> = rows
        .into_iter()
        .map(|(row, ns)| {
            let colour = colour(row.path);
            let costs = &row.costs;
            let bar = |cost: Option<Estimate>, shade, label: String| {
                cost.map(|cost| Bar { cost, class: format!("{colour} {shade}"), label })
            };
            let bars = [
                bar(costs.throughput, "strong", duration(ns)),
                bar(costs.serialised, "medium", String::new()),
                bar(costs.in_work, "weak", String::new()),
            ];
            let name = match row.via {
                Via::Syscall => format!("{} (syscall)", row.clock.trim_start_matches("CLOCK_")),
                _ => row.clock.to_owned(),
            };
            Group { name, bars: bars.into_iter().flatten().collect() }
        })
        .collect();
    bars(
        &groups,
        7.0,
        "Dots with intervals: what one read of each clock costs, on a logarithmic axis",
    )
}

/// Renders the distribution of single calls: a hill each, with a line at the median, one at the 99th percentile, and a
/// dot for the slowest.
pub(super) fn distributions(report: &BenchReport) -> String {
    const HILL: f64 = 30.0;
    let rows: Vec<_> =
        main_rows(report).filter_map(|row| Some((row, row.distribution.as_ref()?))).collect();
    // Below a nanosecond is below the timer's step.
    let least = |ns: f64| ns.max(1.0);
    let figures = rows.iter().flat_map(|(_, d)| [least(d.min), least(d.max)]);
    let axis = Axis::over(figures, LEFT, RIGHT);
    let height = HILL * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, TOP + height + BOTTOM);
    axis.draw(&mut svg, TOP, TOP + height);
    for (index, (row, d)) in rows.iter().enumerate() {
        let base = TOP + HILL * (index as f64 + 1.0) - 3.0;
        svg.text("name", [LEFT - 8.0, base - 4.0], row.clock);
        svg.line("base", [LEFT, base, RIGHT, base]);
        let most = d.buckets.iter().map(|(_, calls)| *calls).max().unwrap_or(1).max(1) as f64;
        let colour = colour(row.path);
        for (ns, calls) in &d.buckets {
            // The root, so that one call in a thousand can still be seen.
            let tall = (*calls as f64 / most).sqrt() * (HILL - 6.0);
            let x = axis.at(least(*ns));
            svg.rect(&format!("{colour} hill"), [x - 9.0, base - tall, 9.0, tall.max(1.0)]);
        }
        for (class, ns) in [("p50", d.p50), ("p99", d.p99)] {
            let x = axis.at(least(ns));
            svg.line(class, [x, base - HILL + 6.0, x, base + 2.0]);
        }
        svg.dot("max", [axis.at(least(d.max)), base - 2.0], 2.6);
        svg.text("value", [RIGHT + 10.0, base - 4.0], &duration(d.p50));
    }
    svg.finish("Distribution of single calls of each clock, on a logarithmic axis")
}

/// Several threads: a dot for each number of threads.
pub(super) fn scaling(report: &BenchReport) -> String {
    let mut groups: Vec<Group> = Vec::new();
    for one in &report.scaling {
        let Some(cost) = one.cost else { continue };
        let path = report.rows.iter().find(|row| row.name == one.name).map(|row| row.path);
        let class = format!("{} strong", colour(path.unwrap_or(Served::Unknown)));
        let threads = if one.threads == 1 { "thread" } else { "threads" };
        let label = format!("{} at {} {threads}", duration(cost.ns), one.threads);
        let bar = Bar { cost, class, label };
        match groups.iter_mut().find(|group| group.name == one.name) {
            Some(group) => group.bars.push(bar),
            None => groups.push(Group { name: one.name.clone(), bars: vec![bar] }),
        }
    }
    bars(&groups, 15.0, "Dots with intervals: what a read costs each of several threads")
}

/// Two runs: each row's ratio with its interval, against 1; nothing without such a row.
pub(super) fn compared(baseline: &BaselineReport) -> String {
    const LINE: f64 = 15.0;
    let rows: Vec<_> = baseline.rows.iter().filter_map(|row| Some((row, row.own_ratio?))).collect();
    if rows.is_empty() {
        return String::new();
    }
    // Logarithms, so that twice and half are equally far from 1; at least 10 % to either side.
    let logs =
        rows.iter().flat_map(|(_, ratio)| [ratio.low.max(1e-3).ln(), ratio.high.min(1e3).ln()]);
    let most = logs.map(f64::abs).fold(1.1f64.ln(), f64::max) * 1.05;
    let x = |ratio: f64| {
        let share = ratio.max(1e-9).ln().clamp(-most, most) / most;
        f64::midpoint(LEFT, RIGHT) + share * (RIGHT - LEFT) / 2.0
    };
    let height = LINE * rows.len() as f64;
    let mut svg = Svg::new(WIDTH, TOP + height + BOTTOM);
    let end = most.exp();
    for ratio in [1.0 / end, 1.0 / end.sqrt(), 1.0, end.sqrt(), end] {
        svg.line("grid", [x(ratio), TOP, x(ratio), TOP + height]);
        svg.text("tick", [x(ratio), TOP + height + 14.0], &format!("x{}", factor(ratio)));
    }
    for (index, (row, ratio)) in rows.iter().enumerate() {
        let y = TOP + LINE * (index as f64 + 0.5);
        svg.text("name", [LEFT - 8.0, y + 4.0], &row.name);
        svg.line("whisker", [x(ratio.low), y, x(ratio.high), y]);
        let class = match row.difference {
            Difference::More => "slower",
            Difference::Less => "faster",
            Difference::NoDifference => "unknown",
        };
        svg.dot(class, [x(ratio.ratio), y], 4.0);
        svg.text("value", [RIGHT + 10.0, y + 4.0], &factor(ratio.ratio));
    }
    svg.finish("Each row of this run against the earlier one: ratio with its interval")
}

/// Every clocksource: the time by the counter, and the coarse time.
pub(super) fn clocksources(report: &BenchReport) -> String {
    let group = |source: &crate::report::bench::SourceReport| {
        let bar = |name: &str, what: &str| {
            let row = source.rows.iter().find(|row| row.name == name)?;
            let cost = row.costs.throughput?;
            let label = format!("{} {what}", duration(cost.ns));
            Some(Bar { cost, class: format!("{} strong", colour(row.path)), label })
        };
        let bars = [
            bar("CLOCK_MONOTONIC/libc", "MONOTONIC"),
            bar("CLOCK_MONOTONIC_COARSE/libc", "COARSE"),
        ];
        Group { name: source.name.clone(), bars: bars.into_iter().flatten().collect() }
    };
    let groups: Vec<Group> =
        report.clocksources.iter().map(group).filter(|group| !group.bars.is_empty()).collect();
    bars(&groups, 15.0, "Dots with intervals: what a read costs with each clocksource")
}

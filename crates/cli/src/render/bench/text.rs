//! `bench` as text in 80 columns.

use super::super::{Style, text, wrap};
use super::{by_way, difference, duration, factor, headline, main_rows, median, method, times};
use crate::args::Common;
use crate::report::bench::{BaselineReport, BenchReport, GainReport, RowReport};
use anyhow::Result;
use clocksmith_measure::bench::compare::Comparison;
use clocksmith_measure::bench::gain::Saved;
use clocksmith_measure::bench::row::Via;
use clocksmith_measure::bench::served::Served;
use clocksmith_measure::bench::stats::Difference;

/// Prints the measurement.
pub(crate) fn print(common: &Common, report: &BenchReport) -> Result<()> {
    text(&page(report, Style::of(common), common.quiet, common.verbose))
}

fn page(report: &BenchReport, style: Style, quiet: bool, verbose: bool) -> String {
    let mut out = String::new();
    if let Some(baseline) = &report.baseline {
        out.push_str(&answer(baseline, style));
    }
    out.push_str(&style.bold(&wrap(&headline(report), "", "")));
    if !report.complete {
        out.push_str(&style.yellow(&wrap(
            "Incomplete: the measurement was interrupted. The results until then follow.",
            "",
            "",
        )));
    }
    if quiet {
        return out;
    }
    if let Some(baseline) = &report.baseline {
        compared(&mut out, baseline, style, verbose);
    }
    costs(&mut out, report, style);
    ways(&mut out, report, style);
    singles(&mut out, report, style);
    scaling(&mut out, report, style);
    clocksources(&mut out, report, style);
    if let Some(like) = &report.like {
        heading(&mut out, style, &format!("As {} ({}) prints it", like.code, like.name));
        out.push_str(&super::like::text(like, report));
    }
    if let Some(gain) = &report.gain {
        gained(&mut out, gain, style);
    }
    timers(&mut out, report, style);
    noise(&mut out, report, style);
    if verbose {
        intervals(&mut out, report, style);
    }
    out.push('\n');
    out.push_str(&style.dim(&wrap(&method(report), "", "")));
    out
}

fn heading(out: &mut String, style: Style, title: &str) {
    out.push_str(&format!("\n{}\n", style.bold(title)));
}

fn costs(out: &mut String, report: &BenchReport, style: Style) {
    heading(out, style, "What a read costs");
    out.push_str(&format!(
        "{:<22}{:>11}{:>9}{:>10}{:>10}{:>8}  path\n",
        "", "throughput", "latency", "in a loop", "x counter", "x vDSO"
    ));
    for row in main_rows(report) {
        let costs = &row.costs;
        if let Some(why) = &row.missing {
            out.push_str(&wrap(
                &format!("not here: {why}"),
                &format!("{:<24}", row.clock),
                &" ".repeat(26),
            ));
            continue;
        }
        out.push_str(&format!(
            "{:<22}{:>11}{:>9}{:>10}{:>10}{:>8}  {}\n",
            row.clock,
            median(costs.throughput),
            median(costs.serialised),
            median(costs.in_work),
            times(row.ratio_to_counter),
            times(row.ratio_to_vdso_monotonic),
            path(row, style)
        ));
    }
}

fn path(row: &RowReport, style: Style) -> String {
    match row.path {
        Served::Syscall if row.via != Via::Syscall => style.yellow("syscall"),
        other => other.name().to_owned(),
    }
}

fn ways(out: &mut String, report: &BenchReport, style: Style) {
    let rows: Vec<&RowReport> = report.rows.iter().filter(|row| row.via == Via::Libc).collect();
    if rows.is_empty() {
        return;
    }
    heading(out, style, "The same by path; user and system time through libc");
    out.push_str(&format!(
        "{:<22}{:>9}{:>9}{:>9}{:>7}{:>7}{:>8}{:>9}\n",
        "", "libc", "vDSO", "syscall", "user", "sys", "claimed", "step"
    ));
    for row in rows {
        let way = |via| median(by_way(report, row.clock, via).and_then(|row| row.costs.throughput));
        let share = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
        };
        out.push_str(&format!(
            "{:<22}{:>9}{:>9}{:>9}{:>7}{:>7}{:>8}{:>9}\n",
            row.clock,
            way(Via::Libc),
            way(Via::Vdso),
            way(Via::Syscall),
            share(row.cpu_shares.map(|shares| shares.user)),
            share(row.cpu_shares.map(|shares| shares.system)),
            row.claimed_resolution_ns.map_or_else(|| "-".to_owned(), |ns| duration(ns as f64)),
            row.resolution_ns.map_or_else(|| "-".to_owned(), duration)
        ));
    }
    let mut reasons: Vec<&str> =
        report.rows.iter().filter_map(|row| row.cpu_shares_missing.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    if let Some(why) = reasons.first() {
        out.push_str(&wrap(&format!("No user and sys: {why}."), "", ""));
    }
    if report.rows.iter().any(|row| row.resolution_ns.is_none() && row.missing.is_none()) {
        let text = "No step: the clock was never seen to advance by a single step; on a busy \
                    machine several ticks pass at once.";
        out.push_str(&wrap(text, "", ""));
    }
}

/// Appends how late waits ended.
fn timers(out: &mut String, report: &BenchReport, style: Style) {
    let Some(asked) = report.timers.first().map(|late| late.asked_ns) else { return };
    let title = format!("Waits of {}: late by", duration(asked as f64));
    heading(out, style, &title);
    out.push_str(&format!(
        "{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "", "min", "p50", "p90", "p99", "max"
    ));
    for late in &report.timers {
        let name = format!("{} {}", late.call, late.clock);
        let Some(d) = &late.late else {
            let why = late.missing.as_deref().unwrap_or("no wait ended in time");
            out.push_str(&wrap(&format!("not here: {why}"), &format!("{name:<36}"), "  "));
            continue;
        };
        let columns: String =
            [d.min, d.p50, d.p90, d.p99, d.max].map(|ns| format!("{:>9}", duration(ns))).concat();
        out.push_str(&format!("{name:<34}{columns}\n"));
        if late.early > 0 {
            out.push_str(&wrap(&format!("{} waits ended too early", late.early), "  ", "  "));
        }
    }
}

/// Appends the other activity of the machine, and its effect on the figures.
fn noise(out: &mut String, report: &BenchReport, style: Style) {
    let lines = super::noise::lines(report);
    if lines.is_empty() {
        return;
    }
    heading(out, style, "Noise");
    for line in lines {
        out.push_str(&wrap(&line, "", ""));
    }
}

fn singles(out: &mut String, report: &BenchReport, style: Style) {
    let rows = || main_rows(report).filter_map(|row| Some((row, row.distribution.as_ref()?)));
    if rows().next().is_none() {
        return;
    }
    heading(out, style, "Single calls, including outliers");
    out.push_str(&format!(
        "{:<22}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "", "min", "p50", "p90", "p99", "p99.9", "max"
    ));
    for (row, d) in rows() {
        let columns: String = [d.min, d.p50, d.p90, d.p99, d.p999, d.max]
            .map(|ns| format!("{:>9}", duration(ns)))
            .concat();
        out.push_str(&format!("{:<22}{columns}\n", row.clock));
    }
}

fn scaling(out: &mut String, report: &BenchReport, style: Style) {
    let threads = &report.method.threads;
    if report.scaling.is_empty() {
        return;
    }
    heading(
        out,
        style,
        "Several threads at once: read cost in each, and its ratio to one thread's",
    );
    // Columns that do not fit into the line are in the JSON.
    let shown: Vec<usize> = threads.iter().copied().take(4).collect();
    let columns: String = shown.iter().map(|n| format!("{n:>12}")).collect();
    out.push_str(&format!("{:<30}{columns}\n", ""));
    let mut names: Vec<&str> = report.scaling.iter().map(|one| one.name.as_str()).collect();
    names.truncate(names.len() / threads.len().max(1));
    for name in names {
        let cell = |threads: &usize| {
            let one = report.scaling.iter().find(|s| s.name == name && s.threads == *threads)?;
            let ratio = one.ratio.filter(|_| Some(threads) != shown.first());
            let ratio = ratio.map_or_else(String::new, |ratio| format!(" x{:.1}", ratio.ratio));
            Some(format!("{}{ratio}", one.cost.map_or(0.0, |cost| cost.ns).round()))
        };
        let columns: String =
            shown.iter().map(|n| format!("{:>12}", cell(n).unwrap_or_default())).collect();
        out.push_str(&format!("{name:<30}{columns}\n"));
    }
    out.push_str("(ns)\n");
}

fn clocksources(out: &mut String, report: &BenchReport, style: Style) {
    let Some(first) = report.clocksources.iter().find(|source| !source.rows.is_empty()) else {
        return;
    };
    heading(out, style, "With every clocksource");
    out.push_str(&format!("{:<12}", ""));
    let shown: Vec<(&str, &str)> = [
        ("CLOCK_MONOTONIC/libc", "MONOTONIC"),
        ("gettimeofday/libc", "gettimeof."),
        ("CLOCK_MONOTONIC_COARSE/libc", "COARSE"),
        ("CLOCK_MONOTONIC/syscall", "syscall"),
        ("monotonic_ns/library", "library"),
    ]
    .into_iter()
    .filter(|(name, _)| first.rows.iter().any(|row| row.name == *name))
    .collect();
    for (_, title) in &shown {
        out.push_str(&format!("{title:>12}"));
    }
    out.push_str(&format!("{:>8}\n", "times"));
    for source in &report.clocksources {
        if let Some(why) = &source.not_measured_because {
            let name = format!("{:<12}", source.name);
            out.push_str(&wrap(why, &format!("{name}  "), "              "));
            continue;
        }
        out.push_str(&format!("{:<12}", source.name));
        for (name, _) in &shown {
            let row = source.rows.iter().find(|row| row.name == *name);
            out.push_str(&format!("{:>12}", median(row.and_then(|row| row.costs.throughput))));
        }
        out.push_str(&format!("{:>8}\n", times(source.ratio_to_original)));
    }
    let original = &report.clocksources.first().map(|source| source.name.as_str());
    if let Some(original) = original {
        out.push_str(&wrap(&format!("{original} is in use again."), "", ""));
    }
}

/// CPU time in a second, as a share of one CPU.
fn share(saved: &Saved) -> String {
    format!("{:.2} %", saved.cpu * 100.0)
}

fn gained(out: &mut String, gain: &GainReport, style: Style) {
    let title = format!("What other paths save at {} reads a second", gain.reads_per_second);
    heading(out, style, &title);
    out.push_str(&wrap(
        &format!(
            "CLOCK_MONOTONIC costs {} a read ({}), so this takes {:.2} % of one CPU.",
            duration(gain.now.ns),
            if gain.cost == "in_work" { "in a loop" } else { "throughput" },
            gain.spent * 100.0
        ),
        "",
        "",
    ));
    for way in &gain.ways {
        out.push_str(&format!(
            "{:<34}{:>10}{:>11}  {}\n",
            way.name,
            duration(way.cost.ns),
            share(&way.saved),
            saved_word(&way.saved)
        ));
        out.push_str(&style.dim(&wrap(&way.gives_up, "  gives up ", "    ")));
    }
    for remedy in &gain.remedies {
        let saved = remedy.saved.as_ref().map_or_else(|| "-".to_owned(), share);
        let line = format!("{}: saves {saved} of a CPU ({})", remedy.id, remedy.by);
        out.push_str(&wrap(&line, "remedy ", "       "));
    }
}

fn saved_word(saved: &Saved) -> &'static str {
    if saved.low > 0.0 {
        "saved"
    } else if saved.high < 0.0 {
        "more than now"
    } else {
        "no difference"
    }
}

fn compared(out: &mut String, baseline: &BaselineReport, style: Style, verbose: bool) {
    let title = format!(
        "Compared with {} ({} starts then, {} now; intervals {:.0} %)",
        baseline.file,
        baseline.starts_before,
        baseline.starts_now,
        baseline.confidence * 100.0
    );
    heading(out, style, &title);
    for unlike in &baseline.unlike {
        out.push_str(&style.yellow(&wrap(unlike, "  not the same: ", "    ")));
    }
    for row in &baseline.rows {
        if row.difference == Difference::NoDifference && !verbose {
            continue;
        }
        let interval = row.own_ratio.map_or_else(String::new, |ratio| {
            format!("x{} ({})", factor(ratio.ratio), super::interval(ratio, "-"))
        });
        out.push_str(&format!(
            "{:<30}{:>9}{:>9} {:<17} {}\n",
            row.name,
            duration(row.before.ns),
            duration(row.now.ns),
            interval,
            difference(row.difference, row.own_ratio)
        ));
    }
    let count = |of: fn(&Comparison) -> bool| baseline.rows.iter().filter(|row| of(row)).count();
    let same = count(|row| row.difference == Difference::NoDifference && row.own_ratio.is_some());
    let short = count(|row| row.own_ratio.is_none());
    let mut last = format!("{same} of {} rows: no difference.", baseline.rows.len());
    if short > 0 {
        last.push_str(&format!(" {short} too short to be compared, or with too few starts."));
    }
    out.push_str(&wrap(&last, "", ""));
}

/// Returns the result of a comparison, and of its limit.
fn answer(baseline: &BaselineReport, style: Style) -> String {
    let mut out = style.bold(&wrap(&baseline.summary, "", ""));
    if let Some(percent) = baseline.fail_over_percent {
        let line = match baseline.failed.as_slice() {
            [] => format!("No row is slower by more than {percent} %."),
            rows => format!("Slower by more than {percent} %: {}.", rows.join(", ")),
        };
        out.push_str(&wrap(&line, "", ""));
    }
    out
}

fn intervals(out: &mut String, report: &BenchReport, style: Style) {
    heading(out, style, "Intervals of the medians (99 %), throughput");
    for row in &report.rows {
        let Some(cost) = row.costs.throughput else { continue };
        out.push_str(&format!(
            "{:<32}{:>10}  {:>10} to {:<10} {}\n",
            row.name,
            duration(cost.ns),
            duration(cost.low),
            duration(cost.high),
            row.path.name()
        ));
    }
}

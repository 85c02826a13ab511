//! `--markdown`: the tables, for an issue or a page of documentation.

use super::{
    by_way, difference, duration, factor, figures, headline, main_rows, median, method, times,
};
use crate::report::bench::BenchReport;
use clocksmith_measure::bench::row::Via;

/// The page.
pub(crate) fn page(report: &BenchReport) -> String {
    let mut out = format!("# What reading the time costs\n\n{}\n", headline(report));
    if !report.complete {
        out.push_str("\n**Incomplete: it was interrupted.**\n");
    }
    let machine = [&report.machine.kernel, &report.machine.arch, &report.machine.cpu];
    let machine: Vec<&str> = machine.into_iter().filter_map(Option::as_deref).collect();
    out.push_str(&format!("\n{}\n", machine.join(", ")));
    table(
        &mut out,
        "What a read costs",
        &["", "once", "fenced", "in work", "x counter", "x vDSO", "path"],
        main_rows(report)
            .map(|row| {
                let mut cells = figures(row);
                cells.push(row.missing.clone().unwrap_or_else(|| row.path.name().to_owned()));
                cells
            })
            .collect(),
    );
    let way = |clock, via| median(by_way(report, clock, via).and_then(|row| row.costs.throughput));
    table(
        &mut out,
        "By every way",
        &["", "libc", "vDSO", "syscall", "smallest step"],
        report
            .rows
            .iter()
            .filter(|row| row.via == Via::Libc)
            .map(|row| {
                vec![
                    row.clock.to_owned(),
                    way(row.clock, Via::Libc),
                    way(row.clock, Via::Vdso),
                    way(row.clock, Via::Syscall),
                    row.resolution_ns.map_or_else(|| "-".to_owned(), duration),
                ]
            })
            .collect(),
    );
    let singles = main_rows(report).filter_map(|row| Some((row, row.distribution.as_ref()?)));
    table(
        &mut out,
        "Single calls",
        &["", "min", "p50", "p90", "p99", "p99.9", "max"],
        singles
            .map(|(row, d)| {
                let figures = [d.min, d.p50, d.p90, d.p99, d.p999, d.max].map(duration);
                [vec![row.clock.to_owned()], figures.to_vec()].concat()
            })
            .collect(),
    );
    table(
        &mut out,
        "Several threads",
        &["", "threads", "a read", "x"],
        report
            .scaling
            .iter()
            .map(|one| {
                vec![one.name.clone(), one.threads.to_string(), median(one.cost), times(one.ratio)]
            })
            .collect(),
    );
    let sources = report.clocksources.iter().map(|source| {
        let row = source.rows.iter().find(|row| row.name == "CLOCK_MONOTONIC/libc");
        vec![
            source.name.clone(),
            median(row.and_then(|row| row.costs.throughput)),
            times(source.ratio_to_original),
            source.not_measured_because.clone().unwrap_or_default(),
        ]
    });
    let titles = ["", "CLOCK_MONOTONIC", "times the present one", ""];
    table(&mut out, "With every clocksource", &titles, sources.collect());
    if let Some(baseline) = &report.baseline {
        let rows = baseline.rows.iter().map(|row| {
            let interval = row.ratio.map_or_else(String::new, |r| {
                format!("{} ({} to {})", factor(r.ratio), factor(r.low), factor(r.high))
            });
            let word = difference(row.difference, row.ratio).to_owned();
            vec![row.name.clone(), duration(row.before.ns), duration(row.now.ns), interval, word]
        });
        let title = format!("Compared with {}", baseline.file);
        table(&mut out, &title, &["", "before", "now", "ratio (interval)", ""], rows.collect());
        for unlike in &baseline.unlike {
            out.push_str(&format!("\nNot the same: {unlike}.\n"));
        }
    }
    out.push_str(&format!("\n{}\n", method(report)));
    out
}

/// A table; none without rows.
fn table(out: &mut String, title: &str, titles: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    out.push_str(&format!("\n## {title}\n\n| {} |\n|", titles.join(" | ")));
    for index in 0..titles.len() {
        out.push_str(if index == 0 { "---|" } else { "---:|" });
    }
    out.push('\n');
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
}

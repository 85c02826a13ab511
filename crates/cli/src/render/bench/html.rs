//! `--html`: one page with plots. No script, no network: the page shows only the content of the file.

use super::svg::escape;
use super::{
    by_way, difference, duration, factor, figures, headline, main_rows, median, method, plot, times,
};
use crate::report::bench::{BaselineReport, BenchReport, RowReport};
use clocksmith_measure::bench::row::Via;
use clocksmith_measure::bench::served::Served;
use clocksmith_watch::page::verbatim;

const STYLE: &str = include_str!("page.css");

/// The page.
pub(crate) fn page(report: &BenchReport) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n<title>clocksmith bench</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <h1>What reading the time costs here</h1>\n<p class=\"headline\">{}</p>\n",
        escape(&headline(report))
    );
    if !report.complete {
        out.push_str("<p class=\"warning\">Incomplete: the measurement was interrupted.</p>\n");
    }
    let machine = [&report.machine.kernel, &report.machine.arch, &report.machine.cpu];
    let machine: Vec<&str> = machine.into_iter().filter_map(Option::as_deref).collect();
    out.push_str(&format!("<p class=\"dim\">{}</p>\n", escape(&machine.join(", "))));
    if let Some(baseline) = &report.baseline {
        compared(&mut out, baseline);
    }
    out.push_str(LEGEND);
    costs(&mut out, report);
    clocksources(&mut out, report);
    singles(&mut out, report);
    ways(&mut out, report);
    scaling(&mut out, report);
    extras(&mut out, report);
    out.push_str(&format!("<p class=\"dim\">{}</p>\n</body></html>\n", escape(&method(report))));
    out
}

const LEGEND: &str = "<p class=\"legend\">Farther to the right is slower: each line is ten times the one before it.\
<br><span><i class=\"key vdso\"></i>in user space (vDSO)</span> \
<span><i class=\"key syscall\"></i>in the kernel</span> \
<span><i class=\"key counter\"></i>bare counter</span> \
<span><i class=\"key library\"></i>clocksmith library</span> \
<span><i class=\"key unknown\"></i>not clear</span></p>\n";

fn section(out: &mut String, title: &str, explanation: &str, plot: &str) {
    out.push_str(&format!("<h2>{}</h2>\n<p>{}</p>\n", escape(title), escape(explanation)));
    if !plot.is_empty() {
        out.push_str(&format!("<div class=\"plot\">{plot}</div>\n"));
    }
}

/// A table; the first column is names, the last one words if `words`.
fn table(out: &mut String, titles: &[&str], rows: Vec<Vec<String>>) {
    out.push_str("<div class=\"wide\"><table><thead><tr>");
    for title in titles {
        out.push_str(&format!("<th>{}</th>", escape(title)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let tag = if index == 0 { "th" } else { "td" };
            let class = if cell == "syscall" { " class=\"slow\"" } else { "" };
            out.push_str(&format!("<{tag}{class}>{}</{tag}>", escape(cell)));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn costs(out: &mut String, report: &BenchReport) {
    section(
        out,
        "One read",
        "Three dots each, from the strongest colour to the weakest: throughput (the figure), latency with a fence before and \
         after each, and what a read adds to a loop of additions. The thin line is the interval.",
        &plot::costs(report),
    );
    let path = |row: &RowReport| match (&row.missing, row.path) {
        (Some(why), _) => format!("not here: {why}"),
        (None, Served::Syscall) => "syscall".to_owned(),
        (None, other) => other.name().to_owned(),
    };
    let rows = main_rows(report).map(|row| {
        let mut cells = figures(row);
        cells.push(path(row));
        cells
    });
    let titles =
        ["", "throughput", "latency", "in a loop", "times the counter", "times the vDSO", "path"];
    table(out, &titles, rows.collect());
}

fn clocksources(out: &mut String, report: &BenchReport) {
    if report.clocksources.is_empty() {
        return;
    }
    section(
        out,
        "With every clocksource",
        "The first clocksource was in use, and is in use again.",
        &plot::clocksources(report),
    );
    let cost = |rows: &[RowReport], name: &str| {
        median(rows.iter().find(|row| row.name == name).and_then(|row| row.costs.throughput))
    };
    let rows = report.clocksources.iter().map(|source| {
        vec![
            source.name.clone(),
            cost(&source.rows, "CLOCK_MONOTONIC/libc"),
            cost(&source.rows, "CLOCK_MONOTONIC_COARSE/libc"),
            cost(&source.rows, "CLOCK_MONOTONIC/syscall"),
            times(source.ratio_to_original),
            source.not_measured_because.clone().unwrap_or_default(),
        ]
    });
    let titles = ["", "MONOTONIC", "MONOTONIC_COARSE", "by system call", "times the first", ""];
    table(out, &titles, rows.collect());
}

fn singles(out: &mut String, report: &BenchReport) {
    let rows: Vec<Vec<String>> = main_rows(report)
        .filter_map(|row| Some((row, row.distribution.as_ref()?)))
        .map(|(row, d)| {
            let figures = [d.min, d.p50, d.p90, d.p99, d.p999, d.max].map(duration);
            [vec![row.clock.to_owned()], figures.to_vec()].concat()
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    section(
        out,
        "Single calls",
        "Each curve shows the distribution of single calls: where it is higher, there are more calls. The dark line is \
         the median (the figure), the dashed line the 99th percentile, and the dot the slowest call. The height is the \
         square root of the number of calls, so that rare calls can be seen. Calls that take less than the step of the \
         timer are at the left edge.",
        &plot::distributions(report),
    );
    table(out, &["", "min", "p50", "p90", "p99", "p99.9", "max"], rows);
}

fn ways(out: &mut String, report: &BenchReport) {
    section(
        out,
        "By path",
        "The same clock through the C library, through the kernel's function in user space, and by \
         a system call; throughput. User and system are shares of CPU time through the C library; \
         the step is the smallest in which the clock was seen to move.",
        "",
    );
    let way = |clock, via| median(by_way(report, clock, via).and_then(|row| row.costs.throughput));
    let share = |share: Option<f64>| {
        share.map_or_else(|| "-".to_owned(), |s| format!("{:.0} %", s * 100.0))
    };
    let rows = report.rows.iter().filter(|row| row.via == Via::Libc).map(|row| {
        vec![
            row.clock.to_owned(),
            way(row.clock, Via::Libc),
            way(row.clock, Via::Vdso),
            way(row.clock, Via::Syscall),
            share(row.cpu_shares.map(|shares| shares.user)),
            share(row.cpu_shares.map(|shares| shares.system)),
            row.resolution_ns.map_or_else(|| "-".to_owned(), duration),
        ]
    });
    table(out, &["", "libc", "vDSO", "system call", "user", "system", "step"], rows.collect());
}

fn scaling(out: &mut String, report: &BenchReport) {
    if report.scaling.is_empty() {
        return;
    }
    section(
        out,
        "Several threads",
        "What a read costs each thread while others read too. Dots exactly below one another mean \
         that the threads do not slow each other down.",
        &plot::scaling(report),
    );
    let rows = report.scaling.iter().map(|one| {
        vec![
            one.name.clone(),
            one.threads.to_string(),
            median(one.cost),
            times(one.ratio),
            format!("{:.1} million", one.reads_per_second / 1e6),
        ]
    });
    let titles = ["", "threads", "a read", "times one thread's", "reads a second, together"];
    table(out, &titles, rows.collect());
}

fn extras(out: &mut String, report: &BenchReport) {
    if let Some(like) = &report.like {
        let title = format!("As {} ({}) prints it", like.code, like.name);
        section(out, &title, "", "");
        out.push_str(&format!("<pre>{}</pre>\n", verbatim(&super::like::text(like, report))));
    }
    if let Some(gain) = &report.gain {
        let spent = format!(
            "CLOCK_MONOTONIC costs {} a read, so {} reads a second take {:.2} % of one CPU.",
            duration(gain.now.ns),
            gain.reads_per_second,
            gain.spent * 100.0
        );
        section(out, "What other paths save", &spent, "");
        let percent = |cpu: f64| format!("{:.2} %", cpu * 100.0);
        let ways = gain.ways.iter().map(|way| {
            let cost = duration(way.cost.ns);
            vec![way.name.clone(), cost, percent(way.saved.cpu), way.gives_up.clone()]
        });
        let remedies = gain.remedies.iter().map(|remedy| {
            let saved = remedy.saved.as_ref().map_or_else(|| "-".to_owned(), |s| percent(s.cpu));
            vec![remedy.id.clone(), "-".to_owned(), saved, remedy.by.clone()]
        });
        let titles = ["", "a read", "of a CPU saved", "gives up, or is based on"];
        table(out, &titles, ways.chain(remedies).collect());
    }
}

/// The comparison with an earlier run: the result, the plot, the rows.
fn compared(out: &mut String, baseline: &BaselineReport) {
    let title = format!("Compared with {}", baseline.file);
    let words = std::iter::once(baseline.summary.as_str());
    let words: Vec<&str> = words.chain(baseline.unlike.iter().map(String::as_str)).collect();
    section(out, &title, &words.join(" "), &plot::compared(baseline));
    let rows = baseline.rows.iter().map(|row| {
        let ratio = row.own_ratio.map_or_else(String::new, |r| {
            format!("{} ({})", factor(r.ratio), super::interval(r, " to "))
        });
        let word = difference(row.difference, row.own_ratio).to_owned();
        vec![row.name.clone(), duration(row.before.ns), duration(row.now.ns), ratio, word]
    });
    table(out, &["", "before", "now", "ratio (interval)", ""], rows.collect());
}

//! `--csv`: one line for each row, and for each row of each clocksource.

use crate::report::bench::{BenchReport, RowReport};
use clocksmith_facts::visible;
use clocksmith_measure::bench::stats::Estimate;

const HEADER: &str = "clocksource,name,clock,via,path,throughput_ns,throughput_low,throughput_high,\
serialised_ns,serialised_low,serialised_high,in_work_ns,in_work_low,in_work_high,ratio_to_counter,\
ratio_to_vdso_monotonic,user_share,system_share,resolution_ns,calls,min_ns,p50_ns,p90_ns,p99_ns,\
p999_ns,max_ns,missing\n";

/// The table.
pub(crate) fn page(report: &BenchReport) -> String {
    let mut out = HEADER.to_owned();
    let current = report.clocksource.current.as_deref().unwrap_or_default();
    for row in &report.rows {
        out.push_str(&line(current, row));
    }
    // The first one of a sweep is the present clocksource, measured again together with the others.
    for source in report.clocksources.iter().skip(1) {
        for row in &source.rows {
            out.push_str(&line(&source.name, row));
        }
    }
    out
}

fn line(clocksource: &str, row: &RowReport) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    let three = |e: Option<Estimate>| [e.map(|e| e.ns), e.map(|e| e.low), e.map(|e| e.high)];
    let mut cells: Vec<String> =
        [clocksource, &row.name, row.clock, row.via.name(), row.path.name()].map(quoted).to_vec();
    let costs = &row.costs;
    for cost in [costs.throughput, costs.serialised, costs.in_work] {
        cells.extend(three(cost).map(number));
    }
    let d = row.distribution.as_ref();
    cells.extend(
        [
            row.ratio_to_counter.map(|ratio| ratio.ratio),
            row.ratio_to_vdso_monotonic.map(|ratio| ratio.ratio),
            row.cpu_shares.map(|shares| shares.user),
            row.cpu_shares.map(|shares| shares.system),
            row.resolution_ns,
        ]
        .map(number),
    );
    cells.push(d.map_or_else(String::new, |d| d.calls.to_string()));
    cells.extend(
        [
            d.map(|d| d.min),
            d.map(|d| d.p50),
            d.map(|d| d.p90),
            d.map(|d| d.p99),
            d.map(|d| d.p999),
            d.map(|d| d.max),
        ]
        .map(number),
    );
    cells.push(quoted(row.missing.as_deref().unwrap_or_default()));
    cells.join(",") + "\n"
}

/// Returns a cell as RFC 4180 defines it, with invisible characters shown by name: the file may be a terminal.
fn quoted(text: &str) -> String {
    let text = visible::line(text);
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_are_quoted() {
        assert_eq!(quoted("lfence; rdtsc"), "lfence; rdtsc");
        assert_eq!(quoted("a, \"b\""), "\"a, \"\"b\"\"\"");
    }

    #[test]
    fn quoted_cell_names_what_hides() {
        assert_eq!(quoted("a\x1b[2J\r\nb"), "a<ESC>[2J<CR><LF>b");
    }
}

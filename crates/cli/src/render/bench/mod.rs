//! `bench` for people: text, CSV, Markdown, and a page with plots.

pub(crate) mod csv;
pub(crate) mod html;
mod like;
pub(crate) mod markdown;
mod noise;
mod plot;
mod svg;
pub(crate) mod text;

use crate::report::bench::{BenchReport, RowReport};
use clocksmith_measure::bench::row::Via;
use clocksmith_measure::bench::stats::{Difference, Estimate, Ratio};

/// Formats a duration in nanoseconds: three digits or four.
fn duration(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = match value {
        value if value < 9.995 && unit != "ns" => 2,
        value if value < 999.95 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// An estimate's median, or a dash.
fn median(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "-".to_owned(), |estimate| duration(estimate.ns))
}

/// A ratio, or a dash.
fn times(ratio: Option<Ratio>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| factor(ratio.ratio))
}

fn factor(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 9.995 => format!("{ratio:.2}"),
        ratio if ratio < 99.95 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.0}"),
    }
}

/// A ratio's interval, or a word for a useless one: two starts that differ by chance bound a ratio by millions.
fn interval(ratio: Ratio, between: &str) -> String {
    if ratio.low < 0.01 || ratio.high > 99.0 {
        return "uncertain".to_owned();
    }
    format!("{}{between}{}", factor(ratio.low), factor(ratio.high))
}

/// A comparison's words.
fn difference(difference: Difference, ratio: Option<Ratio>) -> &'static str {
    match (difference, ratio) {
        (_, None) => "too short",
        (Difference::NoDifference, _) => "no difference",
        (Difference::Less, _) => "faster",
        (Difference::More, _) => "slower",
    }
}

/// Returns the rows of the first table: the reads that programs make.
fn main_rows(report: &BenchReport) -> impl Iterator<Item = &RowReport> {
    let alone = |row: &RowReport| by_way(report, row.clock, Via::Libc).is_none();
    let main = |row: &RowReport| matches!(row.via, Via::Libc | Via::Counter | Via::Library);
    report.rows.iter().filter(move |row| main(row) || alone(row))
}

/// A row's name, three costs and two ratios: the cells of the first table, without the path.
fn figures(row: &RowReport) -> Vec<String> {
    vec![
        row.clock.to_owned(),
        median(row.costs.throughput),
        median(row.costs.serialised),
        median(row.costs.in_work),
        times(row.ratio_to_counter),
        times(row.ratio_to_vdso_monotonic),
    ]
}

/// The row of the same clock by another way.
fn by_way<'a>(report: &'a BenchReport, clock: &str, via: Via) -> Option<&'a RowReport> {
    report.rows.iter().find(|row| row.clock == clock && row.via == via)
}

/// Returns the result in one sentence.
fn headline(report: &BenchReport) -> String {
    use clocksmith_measure::bench::row::{ClockId, Row};
    use clocksmith_measure::bench::served::Served;
    let name = report.clocksource.current.as_deref().unwrap_or("an unknown clocksource");
    // If CLOCK_MONOTONIC was not requested, the first clock that was.
    let monotonic = report.row(Row::clock(ClockId::Monotonic, Via::Libc));
    let cost = |row: &RowReport| row.costs.throughput;
    let first = || report.rows.iter().find(|row| cost(row).is_some());
    let answer = monotonic.or_else(first).and_then(|row| Some((row, cost(row)?)));
    let Some((row, cost)) = answer else {
        let missing = report.rows.first().and_then(|row| Some((row.clock, row.missing.as_ref()?)));
        let why = match missing {
            Some((clock, why)) => format!("{clock} could not be measured here: {why}."),
            None if report.rows.iter().all(|row| row.batches == 0) => "Nothing was measured.".to_owned(),
            None => "The read cost could not be measured here: the clock does not advance, or another program emulates \
                     the counter."
                .to_owned(),
        };
        return format!("{why} The clocksource is {name}.");
    };
    let path = match row.path {
        Served::Syscall => "by system call",
        Served::Unknown => "by an unknown path",
        _ => "in user space",
    };
    let ratio = row.ratio_to_counter.filter(|_| row.via != Via::Counter);
    let counter = ratio.map_or_else(String::new, |ratio| {
        format!(", {} times a bare counter read", factor(ratio.ratio))
    });
    format!(
        "A read of {} costs {} here, {path}{counter}. The clocksource is {name}.",
        row.clock,
        duration(cost.ns)
    )
}

/// How it was measured, in one paragraph.
fn method(report: &BenchReport) -> String {
    let method = &report.method;
    let bound = match (method.cpu, &method.not_bound_because) {
        (Some(cpu), _) => format!("bound to CPU {cpu}"),
        (None, Some(why)) => format!("not bound to a CPU ({why})"),
        (None, None) => "not bound to a CPU".to_owned(),
    };
    let loops = &method.loop_ns;
    let nanoseconds = |estimate: Option<Estimate>| {
        estimate.map_or_else(|| "-".to_owned(), |estimate| format!("{:.2}", estimate.ns))
    };
    let single = method
        .single_timing_ns
        .map_or_else(String::new, |ns| format!("; timing a single call takes {}", duration(ns)));
    format!(
        "Medians of {} interleaved batches, {bound}, {:.1} s. Measured and subtracted: {} for timing a \
         batch; {} / {} / {} ns per iteration for the loops{single}. The library's clock comes from {}.",
        method.rounds,
        method.elapsed_s,
        duration(method.timing_ns),
        nanoseconds(loops.throughput),
        nanoseconds(loops.serialised),
        nanoseconds(loops.in_work),
        method.library_source,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_of_two_unequal_starts_is_a_word() {
        let of = |low, high| interval(Ratio { ratio: 1.5, low, high }, "-");
        assert_eq!(of(0.9, 2.25), "0.90-2.25");
        assert_eq!(of(0.0, 2.5e6), "uncertain");
    }

    #[test]
    fn durations_keep_three_digits() {
        let cases = [
            (0.32, "0.3 ns"),
            (23.04, "23.0 ns"),
            (999.96, "1000 ns"),
            (1490.0, "1.49 us"),
            (95_000.0, "95.0 us"),
            (4e6, "4.00 ms"),
            (2.5e9, "2.50 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text);
        }
        assert_eq!(
            (factor(0.414), factor(25.93), factor(104.2)),
            ("0.41".into(), "25.9".into(), "104".into())
        );
        assert_eq!(median(None), "-");
    }
}

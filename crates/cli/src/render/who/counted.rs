//! Calls that were counted one by one.

use super::super::{Style, figures::count, figures::percent, wrap};
use super::{clip, cut};
use crate::report::who::WhoReport;
use clocksmith_who::exact::ExactRow;

/// Appends the exact counts, in addition to the estimates above.
pub(super) fn exact(out: &mut String, report: &WhoReport, most: usize, style: Style) {
    let (Some(rows), Some(summary)) = (&report.exact, &report.exact_summary) else { return };
    out.push_str(&format!(
        "\n{}\n",
        style.bold("       calls  reads/s  of reads  counted exactly")
    ));
    counted(out, rows, most);
    let mut text = format!(
        "{} calls by {} process{}",
        summary.calls,
        summary.processes,
        if summary.processes == 1 { "" } else { "es" }
    );
    if let Some(coarse) = summary.coarse {
        text.push_str(&format!(
            "; of the calls for clocks with a coarse form, at most {} ({} of all) came within a tick ({:.1} ms) \
             of the thread's previous read. These calls could use the coarse clock, if a tick is precise enough \
             for the program",
            coarse.reads,
            percent(coarse.share),
            coarse.tick_ns / 1e6
        ));
    }
    out.push_str(&wrap(&text, "  ", "  "));
}

fn counted(out: &mut String, rows: &[ExactRow], most: usize) {
    for row in rows.iter().take(most) {
        out.push_str(&cut(format!(
            "{:>12}  {:>7}  {:>8}  {}",
            row.calls,
            count(row.per_second),
            percent(row.share),
            clock(row),
        )));
    }
}

/// The clock of counted calls, or the function where it takes none.
fn clock(row: &ExactRow) -> &str {
    row.clock.as_deref().unwrap_or(match row.api {
        clocksmith_who::clock::Api::ClockGettime => "clock_gettime, other clocks",
        api => api.name(),
    })
}

/// The reads that went by system call, counted one by one.
pub(super) fn system_calls(out: &mut String, report: &WhoReport, most: usize, style: Style) {
    let Some(calls) = &report.system_calls else { return };
    if calls.calls == 0 {
        out.push_str(&wrap("No read was a system call (counted).", "\n", "  "));
        return;
    }
    out.push_str(&format!(
        "\n{}\n",
        style.bold("       calls  reads/s  of these  read by system call, counted exactly")
    ));
    counted(out, &calls.rows, most);
    if calls.threads.len() > 1 {
        out.push_str(&style.dim("       calls  of these  by thread, and what it started\n"));
        for thread in calls.threads.iter().take(most) {
            let clocks: Vec<&str> = thread.rows.iter().take(3).map(clock).collect();
            out.push_str(&cut(format!(
                "{:>12}  {:>8}  {} ({}): {}",
                thread.calls,
                percent(thread.calls as f64 / calls.calls as f64),
                clip(&thread.name, 15),
                thread.tid,
                clocks.join(", ")
            )));
        }
        let rest = calls.threads.len().saturating_sub(most);
        if rest > 0 {
            out.push_str(&style.dim(&format!("{:24}{rest} more with -v\n", "")));
        }
    }
}

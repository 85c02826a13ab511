//! `who` as text: the sum, the reads by clock, the functions, the stacks, the findings, the remedies.

mod counted;
mod findings;
mod functions;
mod processes;

use super::figures::{percent, rate_range, share_range};
use super::{Style, wrap};
use crate::args::{Common, Who};
use crate::report::who::WhoReport;
use crate::ui::err;
use anyhow::Result;
pub(crate) use clocksmith_fleet::columns::clip;
use clocksmith_who::account::{Profile, Row};
use clocksmith_who::watched::OwnClock;
use counted::{exact, system_calls};
use findings::{flags, remedies};
use functions::functions;
use processes::processes;

/// Rows of a table that are shown without `-v`.
const ROWS: usize = 12;
/// Stacks that are shown without `-v`, and frames of each.
const STACKS: usize = 3;
const FRAMES: usize = 8;
/// Below this share of the CPU time a row is left out of the short report.
const SMALL: f64 = 0.0005;

/// Prints the report: after a command on standard error, since standard output is the command's.
pub(crate) fn print(common: &Common, args: &Who, report: &WhoReport) -> Result<()> {
    let style = Style::of(common);
    let out = page(common, args, report, style);
    if args.command.is_empty() {
        return super::text(&out);
    }
    err::text(&out);
    Ok(())
}

/// The whole report.
pub(crate) fn page(common: &Common, args: &Who, report: &WhoReport, style: Style) -> String {
    let mut out = style.bold(&wrap(&report.headline, "", ""));
    if common.quiet {
        return out;
    }
    let profile = &report.profile;
    method(&mut out, report);
    own_clocks(&mut out, profile);
    let most = if common.verbose { usize::MAX } else { ROWS };
    if args.all || profile.processes.len() > 1 {
        processes(&mut out, &profile.processes, most, common.verbose, style);
    }
    if !profile.rows.is_empty() {
        let about = "Ranges contain the true value in 95 of 100 cases.";
        out.push_str(&style.dim(&wrap(about, "\n  ", "  ")));
        clocks(&mut out, &profile.rows, most, style);
        functions(&mut out, profile, most, common.verbose, style);
        kernel(&mut out, profile);
        stacks(&mut out, profile, common.verbose, style);
    }
    exact(&mut out, report, most, style);
    system_calls(&mut out, report, most, style);
    flags(&mut out, profile, common.verbose, style);
    remedies(&mut out, profile, style);
    if !report.gaps.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Not seen")));
        for gap in &report.gaps {
            out.push_str(&wrap(gap, "  ", "    "));
        }
    }
    out
}

fn method(out: &mut String, report: &WhoReport) {
    let (method, totals) = (&report.method, &report.profile.totals);
    let clocksource = report.clocksource.current.as_deref().unwrap_or("not known");
    out.push_str(&wrap(clocksource, "  clocksource ", "              "));
    let mut text = format!(
        "{:.1} s, {:.2} s of CPU time, {} samples ({} of reads), {} calls seen by breakpoints",
        method.seconds, totals.cpu_seconds, totals.samples, totals.read_samples, method.hits
    );
    if method.lost > 0 {
        text.push_str(&format!(", {} records lost", method.lost));
    }
    out.push_str(&wrap(&text, "  watched     ", "              "));
}

/// Programs that `clocksmith run` gave a clock.
fn own_clocks(out: &mut String, profile: &Profile) {
    let mut known: Vec<(OwnClock, &str, usize, u32)> = Vec::new();
    for row in &profile.processes {
        let Some(clock) = row.own_clock else { continue };
        match known.iter_mut().find(|(other, name, ..)| (*other, *name) == (clock, &row.name)) {
            Some((.., count, _)) => *count += 1,
            None => known.push((clock, &row.name, 1, row.pid)),
        }
    }
    for (clock, name, count, pid) in known {
        let which = if count == 1 { format!("({pid})") } else { format!("({count} processes)") };
        let text = format!("{name} {which} {}", clock.words());
        out.push_str(&wrap(&text, "  clock       ", "              "));
    }
}

fn clocks(out: &mut String, rows: &[Row], most: usize, style: Style) {
    out.push_str(&format!(
        "\n{}\n",
        style.bold("  reads/s   of reads     of CPU  ns now  ns fast  by        clock")
    ));
    let total = rows.len();
    for row in rows.iter().take(most).filter(|row| row.cpu_share.value >= SMALL || total < 4) {
        out.push_str(&cut(format!(
            "{:>9}  {:>9}  {:>9}  {:>6}  {:>7}  {:<8}  {}",
            rate_range(row.per_second),
            share_range(row.share_of_reads),
            share_range(Some(row.cpu_share)),
            number(row.ns),
            number(row.fast_ns),
            row.path.short(),
            what(row),
        )));
    }
}

/// The clock, or the function where it takes none.
fn what(row: &Row) -> String {
    match (&row.clock, row.api) {
        // The longest name has as many columns as are left.
        (Some(clock), _) if clock.len() > 20 => clock.trim_start_matches("CLOCK_").to_owned(),
        (Some(clock), _) => clock.clone(),
        (None, clocksmith_who::clock::Api::ClockGettime) => {
            "clock_gettime, clock not known".to_owned()
        }
        (None, api) => api.name().to_owned(),
    }
}

fn kernel(out: &mut String, profile: &Profile) {
    if profile.kernel.is_empty() {
        return;
    }
    let rows = profile.kernel.iter().take(4).filter(|row| row.share > 0.01);
    let text: Vec<String> =
        rows.map(|row| format!("{} {}", row.function, percent(row.share))).collect();
    out.push_str(&wrap(&text.join(", "), "\nIn the kernel: ", "  "));
}

fn stacks(out: &mut String, profile: &Profile, verbose: bool, style: Style) {
    if profile.stacks.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Stacks")));
    let (many, frames) = if verbose { (usize::MAX, usize::MAX) } else { (STACKS, FRAMES) };
    for stack in profile.stacks.iter().take(many) {
        let share = percent(stack.cpu_share);
        let mut names: Vec<&str> = stack.frames.iter().take(frames).map(String::as_str).collect();
        if stack.frames.len() > names.len() {
            names.push("...");
        }
        let text = format!("{} < {}", stack.path.name(), names.join(" < "));
        out.push_str(&wrap(&text, &format!("{share:>8}  "), "            "));
    }
}

/// A line that ends with the 80th column.
fn cut(line: String) -> String {
    format!("{}\n", clip(line.trim_end(), super::WIDTH))
}

fn number(ns: Option<f64>) -> String {
    ns.map_or_else(
        || "-".to_owned(),
        |ns| if ns < 99.95 { format!("{ns:.1}") } else { format!("{ns:.0}") },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_the_width() {
        assert_eq!(cut("x".repeat(100)).chars().count(), 81);
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab~");
    }
}

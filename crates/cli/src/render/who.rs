//! `who` as text: the sum, the reads by clock, the functions, the stacks, what looks wrong, what helps.

use super::figures::{count, percent};
use super::{Style, wrap};
use crate::args::{Common, Who};
use crate::report::who::WhoReport;
use crate::ui::err;
use anyhow::Result;
pub(crate) use clocksmith_fleet::columns::clip;
use clocksmith_who::account::{
    Confidence, Estimate, Flag, FlagKind, FunctionRow, ProcessRow, Profile, Row,
};
use clocksmith_who::classify::Path;
use clocksmith_who::exact::ExactRow;

/// Rows of a table that are shown without `-v`.
const ROWS: usize = 12;
/// Stacks that are shown without `-v`, and frames of each.
const STACKS: usize = 3;
const FRAMES: usize = 8;
/// Below this share of the CPU time a row is left out of the short report.
const SMALL: f64 = 0.0005;

/// Prints the report: behind a command on standard error, since standard output is the command's.
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
    let most = if common.verbose { usize::MAX } else { ROWS };
    if args.all || profile.processes.len() > 1 {
        processes(&mut out, &profile.processes, most, style);
    }
    if profile.totals.read_samples > 0 {
        clocks(&mut out, &profile.rows, most, style);
        functions(&mut out, profile, most, args.all, style);
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

fn processes(out: &mut String, rows: &[ProcessRow], most: usize, style: Style) {
    out.push_str(&format!(
        "\n{}\n",
        style.bold("    pid  name             CPU s  on reads   reads/s  mostly    in")
    ));
    let reading: Vec<&ProcessRow> = rows.iter().filter(|row| row.path.is_some()).collect();
    for row in reading.iter().take(most) {
        out.push_str(&cut(format!(
            "{:>7}  {:<14} {:>7.2}  {:>8}  {:>8}  {:<8}  {}",
            row.pid,
            clip(&row.name, 14),
            row.cpu_seconds,
            percent(row.read_share.value),
            row.per_second.map_or_else(|| "-".to_owned(), count),
            row.path.map_or("-", Path::short),
            row.function.as_deref().unwrap_or("-"),
        )));
    }
    let rest = reading.len().saturating_sub(most);
    let idle = rows.len() - reading.len();
    if rest + idle > 0 {
        out.push_str(&style.dim(&format!(
            "         {rest} more, and {idle} that were not seen reading the time\n"
        )));
    }
}

fn clocks(out: &mut String, rows: &[Row], most: usize, style: Style) {
    out.push_str(&format!(
        "\n{}\n",
        style.bold("reads/s  of reads     of CPU  ns now  ns fast  by        clock")
    ));
    let total = rows.len();
    for row in rows.iter().take(most).filter(|row| row.cpu_share.value >= SMALL || total < 4) {
        out.push_str(&cut(format!(
            "{:>7}  {:>8}  {:>9}  {:>6}  {:>7}  {:<8}  {}",
            row.per_second.map_or_else(|| "-".to_owned(), |rate| count(rate.value)),
            row.share_of_reads.map_or_else(|| "-".to_owned(), |share| percent(share.value)),
            interval(row.cpu_share),
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
        (Some(clock), _) => clock.clone(),
        (None, clocksmith_who::clock::Api::ClockGettime) => {
            "clock_gettime, clock not known".to_owned()
        }
        (None, api) => api.name().to_owned(),
    }
}

fn functions(out: &mut String, profile: &Profile, most: usize, all: bool, style: Style) {
    out.push_str(&format!("\n{}\n", style.bold("reads/s  of reads     of CPU  saves   function")));
    let mut shown = 0;
    for row in profile.functions.iter().take(most) {
        if row.cpu_share.value < SMALL && shown > 2 {
            break;
        }
        shown += 1;
        let who =
            if all { format!("{} ({})", row.function, row.pid) } else { row.function.clone() };
        out.push_str(&cut(format!(
            "{:>7}  {:>8}  {:>9}  {:>6}  {who}",
            row.per_second.map_or_else(|| "-".to_owned(), |rate| count(rate.value)),
            row.share_of_reads.map_or_else(|| "-".to_owned(), |share| percent(share.value)),
            interval(row.cpu_share),
            row.saving_cpu_seconds.map_or_else(|| "-".to_owned(), |s| format!("{s:.2} s")),
        )));
        let how = how(row);
        if !how.is_empty() {
            out.push_str(&style.dim(&cut(format!("{:39}{how}", ""))));
        }
    }
    if profile.functions.len() > shown {
        let rest = profile.functions.len() - shown;
        out.push_str(&style.dim(&format!("{:39}{rest} more with -v\n", "")));
    }
}

/// Through what, which clocks, by which way.
fn how(row: &FunctionRow) -> String {
    let mut parts = Vec::new();
    if !row.via.is_empty() {
        let via: Vec<&str> = row.via.iter().take(2).map(String::as_str).collect();
        parts.push(format!("through {}", via.join(", ")));
    }
    parts.extend(row.clocks.iter().map(|clock| clock.trim_start_matches("CLOCK_").to_owned()));
    let slow: Vec<&str> =
        row.paths.iter().filter(|path| **path != Path::Vdso).map(|path| path.short()).collect();
    parts.extend(slow.into_iter().map(str::to_owned));
    parts.join("; ")
}

/// What was counted one by one, beside the estimates above.
fn exact(out: &mut String, report: &WhoReport, most: usize, style: Style) {
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
            "; at most {} of them ({}) came within a tick ({:.1} ms) of the thread's previous read: \
             candidates for a coarse clock, if the program can do with the time of the last tick",
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
fn system_calls(out: &mut String, report: &WhoReport, most: usize, style: Style) {
    let Some(calls) = &report.system_calls else { return };
    if calls.calls == 0 {
        out.push_str(&wrap("No read went by system call (counted).", "\n", "  "));
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

fn flags(out: &mut String, profile: &Profile, verbose: bool, style: Style) {
    if profile.flags.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("To look at")));
    let most = if verbose { usize::MAX } else { 6 };
    // Functions of which the same is said are said together.
    let mut groups: Vec<(&Flag, Vec<&str>)> = Vec::new();
    for flag in &profile.flags {
        let key = |flag: &Flag| (flag.kind, flag.confidence);
        match groups.iter_mut().find(|(known, _)| key(known) == key(flag)) {
            Some((_, functions)) => functions.push(&flag.function),
            None => groups.push((flag, vec![&flag.function])),
        }
    }
    for (flag, functions) in groups {
        let what = match flag.kind {
            FlagKind::WallClockForIntervals if flag.confidence == Confidence::High => {
                "time-outs by the wall clock"
            }
            FlagKind::WallClockForIntervals => {
                "the wall clock, perhaps for a time-out or an interval"
            }
            FlagKind::CoarseCandidate => "candidate for a clock of the last tick",
            FlagKind::CpuTimeInHotPath => "CPU-time clock in a hot path",
            FlagKind::AvoidableSystemCall => "system calls that the vDSO could save",
        };
        let mut names = functions.iter().take(most).copied().collect::<Vec<_>>().join(", ");
        if functions.len() > most {
            names.push_str(&format!(" and {} more", functions.len() - most));
        }
        let which = if functions.len() > 1 { "the first: " } else { "" };
        let text = format!("{names}: {what}; {which}{} ({})", flag.evidence, flag.doubt);
        out.push_str(&wrap(&text, "  ", "    "));
    }
}

fn remedies(out: &mut String, profile: &Profile, style: Style) {
    if profile.remedies.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("What helps")));
    for remedy in &profile.remedies {
        let name = serde_json::to_value(remedy.id).ok();
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
        let saves = remedy.saves_cpu_seconds.map_or_else(String::new, |saves| {
            format!(" (saves {saves:.2} CPU s of those watched)")
        });
        out.push_str(&format!("  {}{saves}\n", style.green(name)));
        out.push_str(&wrap(remedy.summary, "    ", "    "));
        if remedy.risk != "none" {
            out.push_str(&style.dim(&wrap(&format!("risk: {}", remedy.risk), "    ", "    ")));
        }
        if let Some(command) = remedy.command {
            out.push_str(&format!("    $ {command}\n"));
        }
    }
}

/// A line that ends with the 80th column.
fn cut(line: String) -> String {
    format!("{}\n", clip(line.trim_end(), super::WIDTH))
}

/// A share with what chance allows on either side.
fn interval(share: Estimate) -> String {
    let half = (share.high - share.low) / 2.0 * 100.0;
    let digits = usize::from(share.value < 0.0995);
    format!("{:.digits$}±{half:.1} %", share.value * 100.0)
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

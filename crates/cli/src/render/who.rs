//! `who` as text: the sum, the reads by clock, the functions, the stacks, what looks wrong, what helps.

use super::figures::{count, percent};
use super::{Style, wrap};
use crate::args::{Common, Who};
use crate::report::who::WhoReport;
use crate::ui::err;
use anyhow::Result;
pub(crate) use clocksmith_fleet::columns::clip;
use clocksmith_who::account::{
    CallerRow, Confidence, Estimate, Flag, FlagKind, FunctionRow, LineRow, ProcessRow, Profile,
    ProgramRow, Row,
};
use clocksmith_who::classify::Path;
use clocksmith_who::exact::ExactRow;
use clocksmith_who::watched::OwnClock;

/// Rows of a table that are shown without `-v`.
const ROWS: usize = 12;
/// Stacks that are shown without `-v`, and frames of each.
const STACKS: usize = 3;
const FRAMES: usize = 8;
/// Characters of a path below a function.
const PATH: usize = 28;
/// Callers of a function without a name that are shown without `-v`.
const CALLERS: usize = 3;
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
    own_clocks(&mut out, profile);
    let most = if common.verbose { usize::MAX } else { ROWS };
    if args.all || profile.processes.len() > 1 {
        processes(&mut out, &profile.processes, most, common.verbose, style);
    }
    if profile.totals.read_samples > 0 {
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

/// Processes; those of one name in one line, unless each is asked for.
fn processes(out: &mut String, rows: &[ProcessRow], most: usize, each: bool, style: Style) {
    out.push_str(&format!(
        "\n{}\n",
        style.bold("    pid  name             CPU s  on reads   reads/s  mostly    in")
    ));
    let reading: Vec<&ProcessRow> = rows.iter().filter(|row| row.path.is_some()).collect();
    let mut groups: Vec<Vec<&ProcessRow>> = Vec::new();
    for row in &reading {
        let same = |group: &&mut Vec<&ProcessRow>| {
            group.first().is_some_and(|first| {
                (&first.name, first.path, &first.function) == (&row.name, row.path, &row.function)
            })
        };
        match groups.iter_mut().find(same).filter(|_| !each) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let cost = |group: &[&ProcessRow]| -> f64 {
        group.iter().map(|row| row.read_share.value * row.cpu_seconds).sum()
    };
    groups.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    for group in groups.iter().take(most) {
        let Some(first) = group.first() else { continue };
        let cpu: f64 = group.iter().map(|row| row.cpu_seconds).sum();
        let rates: Option<f64> = group.iter().map(|row| row.per_second).sum();
        let which = match group.len() {
            1 => first.pid.to_string(),
            many => format!("{many} x"),
        };
        out.push_str(&cut(format!(
            "{which:>7}  {:<14} {cpu:>7.2}  {:>8}  {:>8}  {:<8}  {}",
            clip(&first.name, 14),
            percent(if cpu > 0.0 { cost(group) / cpu } else { 0.0 }),
            rates.map_or_else(|| "-".to_owned(), count),
            first.path.map_or("-", Path::short),
            first.function.as_deref().unwrap_or("-"),
        )));
    }
    let rest: usize = groups.iter().skip(most).map(Vec::len).sum();
    let idle = rows.len() - reading.len();
    let together = groups.iter().any(|group| group.len() > 1);
    if rest + idle > 0 || together {
        let each = if together { "; each with -v" } else { "" };
        out.push_str(&style.dim(&format!(
            "         {rest} more, and {idle} that were not seen reading the time{each}\n"
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

/// Functions of programs; with `each` those of processes.
fn functions(out: &mut String, profile: &Profile, most: usize, each: bool, style: Style) {
    let programs = profile.programs.iter().map(|row| row.program.as_str());
    let several = programs.collect::<std::collections::BTreeSet<_>>().len() > 1;
    let many = profile.processes.iter().filter(|row| row.path.is_some()).count() > 1;
    let rows: Vec<Line> = if each {
        profile.functions.iter().map(|row| Line::of_process(row, many, each)).collect()
    } else {
        profile.programs.iter().map(|row| Line::of_program(row, several, each)).collect()
    };
    out.push_str(&format!("\n{}\n", style.bold("reads/s  of reads     of CPU  saves   function")));
    let mut shown = 0;
    for row in rows.iter().take(most) {
        if row.cpu_share.value < SMALL && shown > 2 {
            break;
        }
        shown += 1;
        out.push_str(&cut(format!(
            "{:>7}  {:>8}  {:>9}  {:>6}  {}",
            row.per_second.map_or_else(|| "-".to_owned(), |rate| count(rate.value)),
            row.share_of_reads.map_or_else(|| "-".to_owned(), |share| percent(share.value)),
            interval(row.cpu_share),
            row.saving.map_or_else(|| "-".to_owned(), |s| format!("{s:.2} s")),
            row.who,
        )));
        if !row.how.is_empty() {
            out.push_str(&style.dim(&cut(format!("{:39}{}", "", row.how))));
        }
        for line in &row.sources {
            out.push_str(&style.dim(&cut(format!("{:39}{line}", ""))));
        }
    }
    if rows.len() > shown {
        let rest = rows.len() - shown;
        out.push_str(&style.dim(&format!("{:39}{rest} more with -v\n", "")));
    }
}

/// The callers of a function without a name; with `-v` the lines of the source, too.
fn sources(callers: &[CallerRow], lines: &[LineRow], verbose: bool) -> Vec<String> {
    let most = if verbose { usize::MAX } else { CALLERS };
    let mut rows: Vec<String> = callers
        .iter()
        .take(most)
        .map(|caller| format!("called by {} {}", caller.function, percent(caller.share)))
        .collect();
    if verbose {
        let line = |line: &LineRow| {
            format!("{} {}:{}", percent(line.share), ending(&line.file, PATH), line.line)
        };
        rows.extend(lines.iter().map(line));
    }
    rows
}

/// The end of a path that is too long for its column.
fn ending(path: &str, most: usize) -> String {
    let length = path.chars().count();
    if length <= most {
        return path.to_owned();
    }
    let part: String = path.chars().skip(length + 1 - most).collect();
    format!("~{part}")
}

/// A line of the functions.
struct Line {
    who: String,
    how: String,
    /// Callers and lines.
    sources: Vec<String>,
    per_second: Option<Estimate>,
    share_of_reads: Option<Estimate>,
    cpu_share: Estimate,
    saving: Option<f64>,
}

/// Through what, which clocks, by which way.
fn how(through: &[String], clocks: &[String], paths: &[Path]) -> String {
    let mut parts = Vec::new();
    if !through.is_empty() {
        let via: Vec<&str> = through.iter().take(2).map(String::as_str).collect();
        parts.push(format!("through {}", via.join(", ")));
    }
    parts.extend(clocks.iter().map(|clock| clock.trim_start_matches("CLOCK_").to_owned()));
    let slow: Vec<&str> =
        paths.iter().filter(|path| **path != Path::Vdso).map(|path| path.short()).collect();
    parts.extend(slow.into_iter().map(str::to_owned));
    parts.join("; ")
}

impl Line {
    fn of_process(row: &FunctionRow, many: bool, verbose: bool) -> Self {
        let who =
            if many { format!("{} ({})", row.function, row.pid) } else { row.function.clone() };
        Self {
            who,
            how: how(&row.via, &row.clocks, &row.paths),
            sources: sources(&row.callers, &row.lines, verbose),
            per_second: row.per_second,
            share_of_reads: row.share_of_reads,
            cpu_share: row.cpu_share,
            saving: row.saving_cpu_seconds,
        }
    }

    fn of_program(row: &ProgramRow, several: bool, verbose: bool) -> Self {
        let mut who = row.function.clone();
        let processes = (row.processes > 1).then(|| format!("{} processes", row.processes));
        match (several, processes) {
            (true, Some(processes)) => who.push_str(&format!(" ({}, {processes})", row.program)),
            (true, None) => who.push_str(&format!(" ({})", row.program)),
            (false, Some(processes)) => who.push_str(&format!(" ({processes})")),
            (false, None) => {}
        }
        Self {
            who,
            how: how(&row.via, &row.clocks, &row.paths),
            sources: sources(&row.callers, &row.lines, verbose),
            per_second: row.per_second,
            share_of_reads: row.share_of_reads,
            cpu_share: row.cpu_share,
            saving: row.saving_cpu_seconds,
        }
    }
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
            Some((_, functions)) if functions.contains(&flag.function.as_str()) => {}
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
        let of = remedy.program.map_or_else(String::new, |program| format!(" of {program}"));
        out.push_str(&format!("  {}{of}{saves}\n", style.green(name)));
        out.push_str(&wrap(remedy.summary, "    ", "    "));
        if remedy.risk != "none" {
            out.push_str(&style.dim(&wrap(&format!("risk: {}", remedy.risk), "    ", "    ")));
        }
        if let Some(command) = remedy.command {
            out.push_str(&format!("    $ {command}\n"));
        }
        if let Some(source) = remedy.source {
            out.push_str(&style.dim(&format!("    {source}\n")));
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

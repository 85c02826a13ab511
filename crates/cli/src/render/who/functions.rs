//! The functions that read the time.

use super::super::Style;
use super::super::figures::{percent, rate_range, share_range};
use super::{SMALL, cut};
use clocksmith_who::account::{
    CallerRow, Estimate, FunctionReads, FunctionRow, LineRow, Profile, ProgramRow,
};
use clocksmith_who::classify::Path;

/// Characters of a path below a function.
const PATH: usize = 28;
/// Callers of a function without a name that are shown without `-v`.
const CALLERS: usize = 3;
/// Where the function's name begins.
const COLUMN: usize = 41;

/// Functions of programs; with `each` those of processes.
pub(super) fn functions(
    out: &mut String,
    profile: &Profile,
    most: usize,
    each: bool,
    style: Style,
) {
    let programs = profile.programs.iter().map(|row| row.program.as_str());
    let several = programs.collect::<std::collections::BTreeSet<_>>().len() > 1;
    let many = profile.processes.iter().filter(|row| row.path.is_some()).count() > 1;
    let rows: Vec<Line> = if each {
        profile.functions.iter().map(|row| Line::of_process(row, many, each)).collect()
    } else {
        profile.programs.iter().map(|row| Line::of_program(row, several, each)).collect()
    };
    out.push_str(&format!(
        "\n{}\n",
        style.bold("  reads/s   of reads     of CPU   saves  function")
    ));
    let mut shown = 0;
    for row in rows.iter().take(most) {
        if row.cpu_share.value < SMALL && shown > 2 {
            break;
        }
        shown += 1;
        out.push_str(&cut(format!(
            "{:>9}  {:>9}  {:>9}  {:>6}  {}",
            rate_range(row.per_second),
            share_range(row.share_of_reads),
            share_range(Some(row.cpu_share)),
            row.saving.map_or_else(|| "-".to_owned(), |s| format!("{s:.2} s")),
            row.who,
        )));
        if !row.how.is_empty() {
            out.push_str(&style.dim(&cut(format!("{:COLUMN$}{}", "", row.how))));
        }
        for line in &row.sources {
            out.push_str(&style.dim(&cut(format!("{:COLUMN$}{line}", ""))));
        }
    }
    if rows.len() > shown {
        let rest = rows.len() - shown;
        out.push_str(&style.dim(&format!("{:COLUMN$}{rest} more with -v\n", "")));
    }
}

/// The callers of a function without a name; with `-v` also the lines of the source.
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

/// Returns the caller's functions, the clocks and the paths of the reads.
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
    fn of(who: String, reads: &FunctionReads, verbose: bool) -> Self {
        Self {
            who,
            how: how(&reads.via, &reads.clocks, &reads.paths),
            sources: sources(&reads.callers, &reads.lines, verbose),
            per_second: reads.per_second,
            share_of_reads: reads.share_of_reads,
            cpu_share: reads.cpu_share,
            saving: reads.saving_cpu_seconds,
        }
    }

    fn of_process(row: &FunctionRow, many: bool, verbose: bool) -> Self {
        let who =
            if many { format!("{} ({})", row.function, row.pid) } else { row.function.clone() };
        Self::of(who, &row.reads, verbose)
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
        Self::of(who, &row.reads, verbose)
    }
}

//! `verify` as text: the verdict, the findings, the sensitivity of the tests, the figures.

use super::{Style, text, wrap};
use crate::args::Common;
use crate::verify::report::{VerifyReport, scope};
use anyhow::Result;
use clocksmith_measure::verify::{Ended, Interval, Outcome, Trust, Weight};

/// Rows of a table that are shown without `-v`.
const ROWS: usize = 8;
/// Processors that fit into a matrix of 80 columns.
const MATRIX: usize = 6;

/// Prints the result.
pub(crate) fn print(common: &Common, report: &VerifyReport) -> Result<()> {
    let style = Style::of(common);
    let outcome = &report.outcome;
    let sentence = wrap(&report.headline, "", "");
    let mut out = match outcome.verdict {
        Trust::Trusted => style.green(&sentence),
        Trust::NotTrusted => style.red(&sentence),
        Trust::Unknown => style.bold(&sentence),
    };
    if !common.quiet {
        state(&mut out, report);
        findings(&mut out, outcome, style);
        pairs(&mut out, outcome, common, style);
        rate(&mut out, outcome, style);
        clocks(&mut out, outcome, style);
        untested(&mut out, outcome, style);
        abi(&mut out, report, style);
        if let Some(kept) = &report.kept {
            out.push_str(&wrap(&format!("Saved in {kept}; `why` uses it for a day."), "\n", ""));
        }
        if let Some(why) = &report.not_kept {
            out.push_str(&wrap(&format!("This result is not saved: {why}."), "\n", ""));
        }
    }
    text(&out)
}

/// Prints one line for a round of a long watch.
pub(crate) fn round(report: &VerifyReport) -> Result<()> {
    let outcome = &report.outcome;
    let found = outcome.findings.iter().find(|finding| finding.weight != Weight::Note);
    let rest = found.map_or_else(|| seen(outcome), |finding| finding.summary.clone());
    let round = report.rounds.unwrap_or(0);
    text(&wrap(&format!("{}: {rest}", word(outcome.verdict)), &format!("{round:>5}  "), "       "))
}

fn word(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::NotTrusted => "NOT TRUSTED",
        Trust::Unknown => "unknown",
    }
}

/// The smallest faults that would have been found.
fn seen(outcome: &Outcome) -> String {
    let limits = outcome.detectable;
    let per_cpu = limits.cpu_step_ns.map(|ns| format!("a step of one CPU over {}", time(ns)));
    let parts = [
        limits.offset_ns.map(|ns| format!("an offset over {}", time(ns))),
        per_cpu,
        limits.jump_ns.map(|ns| format!("a step of all CPUs over {}", time(ns))),
        limits.cpu_drift_ppm.map(|ppm| format!("a drift of one CPU over {}", small(ppm))),
        match (limits.rate_ppm, limits.rate_against_kernel_ppm) {
            (Some(ppm), _) => Some(format!("a rate error over {ppm:.0} ppm")),
            (None, Some(ppm)) => Some(format!(
                "a rate error over {ppm:.0} ppm, but only against the kernel's own assumption"
            )),
            (None, None) => None,
        },
        limits.glitch_ns.zip(limits.glitch_one_in).map(|(ns, one_in)| {
            format!("a wrong read over {} if one read in {} is wrong", time(ns), count(one_in))
        }),
        limits.stop_ns.map(|ns| format!("a stop over {}", time(ns))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "no fault of the counter".to_owned();
    }
    parts.join(", ")
}

fn small(ppm: f64) -> String {
    if ppm < 1.0 { format!("{ppm:.2} ppm") } else { format!("{ppm:.0} ppm") }
}

/// A large number with three digits or fewer.
fn count(number: f64) -> String {
    match number {
        number if number < 1e3 => format!("{number:.0}"),
        number if number < 1e6 => format!("{:.0} thousand", number / 1e3),
        number => format!("{:.1} million", number / 1e6),
    }
}

/// How long each processor was watched.
fn watched(outcome: &Outcome) -> Option<String> {
    let all = &outcome.watched;
    let times = all.iter().map(|one| one.comparisons).min().filter(|times| *times > 0)?;
    let first = all.iter().filter_map(|one| one.first_s).fold(0.0, f64::max);
    let last = all.iter().filter_map(|one| one.last_s).fold(f64::INFINITY, f64::min);
    let gap = all.iter().filter_map(|one| one.longest_gap_s).fold(0.0, f64::max);
    Some(format!(
        "every CPU from {first:.2} to {last:.2} s of {:.2} s, compared with others {times} times or more, at most {gap:.2} s \
         apart",
        outcome.method.seconds
    ))
}

fn state(out: &mut String, report: &VerifyReport) {
    let outcome = &report.outcome;
    let mut row = |name: &str, value: &str| {
        out.push_str(&wrap(value, &format!("  {name:<14}"), "                "));
    };
    row("detectable", &seen(outcome));
    if let Some(watched) = watched(outcome) {
        row("watched", &watched);
    }
    let reference = &outcome.rate_reference;
    row(
        "rate against",
        reference
            .source
            .as_deref()
            .unwrap_or("only the kernel's own clock, which is based on the same counter"),
    );
    let counter = outcome.method.counter.as_deref().unwrap_or("none");
    row("counter", &format!("{} ({counter})", word(outcome.counter)));
    row("clocks", word(outcome.clocks));
    let current = report.kernel.clocksource.as_deref().unwrap_or("not known");
    row("clocksource", current);
    if let Some(unstable) = &report.kernel.unstable {
        row("kernel says", unstable);
    }
    let method = &outcome.method;
    row(
        "method",
        &format!(
            "{:.1} s, CPUs {}, pairs: {}, round trips of messages: {}, reads under a lock: {}, \
             at most {} threads",
            method.seconds,
            scope(outcome),
            outcome.pairs.len(),
            method.exchanges,
            method.locked_reads,
            method.threads
        ),
    );
}

fn findings(out: &mut String, outcome: &Outcome, style: Style) {
    if outcome.findings.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Found")));
    for finding in &outcome.findings {
        let name = finding.id.name();
        let name = match finding.weight {
            Weight::Note => format!("{name} (no fault)"),
            _ => style.red(name),
        };
        out.push_str(&format!("  {name}\n"));
        out.push_str(&wrap(&finding.summary, "    ", "    "));
        for line in &finding.evidence {
            out.push_str(&style.dim(&wrap(line, "      ", "        ")));
        }
    }
}

fn pairs(out: &mut String, outcome: &Outcome, common: &Common, style: Style) {
    if outcome.pairs.is_empty() {
        return;
    }
    let unit = outcome.offset_unit;
    let title = format!("Offsets between processors, {unit}: column against row");
    out.push_str(&format!("\n{}\n", style.bold(&title)));
    let cpus = &outcome.method.cpus;
    if cpus.len() > MATRIX || cpus.len() <= 2 {
        let limit = if common.verbose { usize::MAX } else { ROWS };
        let mut pairs: Vec<_> = outcome.pairs.iter().collect();
        // The least certain first.
        let bound = |interval: Option<Interval>| {
            interval.map_or(f64::INFINITY, |i| i.low.abs().max(i.high.abs()))
        };
        pairs.sort_by(|a, b| bound(b.offset).total_cmp(&bound(a.offset)));
        for pair in pairs.iter().take(limit) {
            let (one, other) = pair.cpus;
            let warps = match pair.warps {
                0 => "no warp".to_owned(),
                count => format!("{count} warps"),
            };
            out.push_str(&format!(
                "  {one:>4} {other:>4}  {:>22}   {warps} in {} turns\n",
                interval(pair.offset),
                pair.handovers
            ));
        }
        if pairs.len() > limit {
            out.push_str(&format!("  ... and {} more: -v shows all\n", pairs.len() - limit));
        }
        return;
    }
    out.push_str("      ");
    for cpu in cpus {
        out.push_str(&format!("{cpu:>12}"));
    }
    out.push('\n');
    for row in cpus {
        out.push_str(&format!("  {row:>4}"));
        for column in cpus {
            let key = (*row.min(column), *row.max(column));
            let pair = outcome.pairs.iter().find(|pair| pair.cpus == key);
            let cell = match pair.and_then(|pair| pair.offset) {
                _ if row == column => ".".to_owned(),
                Some(found) if row < column => interval(Some(found)),
                Some(found) => interval(Some(Interval { low: -found.high, high: -found.low })),
                None => "?".to_owned(),
            };
            out.push_str(&format!("{cell:>12}"));
        }
        out.push('\n');
    }
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "?".to_owned(), |i| format!("{:+.0}..{:+.0}", i.low, i.high))
}

fn rate(out: &mut String, outcome: &Outcome, style: Style) {
    let Some(drift) = &outcome.drift else { return };
    out.push_str(&format!("\n{}\n", style.bold("Rate of the counter")));
    let width = ((drift.hz_interval.high - drift.hz_interval.low) / drift.hz) * 1e6 / 2.0;
    let mut line = |text: &str| out.push_str(&wrap(text, "  ", "    "));
    line(&format!(
        "{:.6} MHz, +-{width:.2} ppm, from {} readings over {:.1} s, each good to {}",
        drift.hz / 1e6,
        drift.points,
        drift.seconds,
        time(drift.width_ns)
    ));
    if let Some(change) = drift.change_ppm {
        line(&format!("change from first to second half: {}", ppm(change)));
    }
    line(&format!("NTP steers CLOCK_MONOTONIC by {}", ppm(drift.steering_ppm)));
    line(&format!("CLOCK_MONOTONIC in user space against the kernel: {}", ppm(drift.user_ppm)));
    for claim in &outcome.frequencies {
        let off = claim.measured_ppm.map_or_else(String::new, |off| format!(", off {}", ppm(off)));
        line(&format!("{:.6} MHz says {}{off}", claim.hz / 1e6, claim.source));
    }
}

fn clocks(out: &mut String, outcome: &Outcome, style: Style) {
    if outcome.steps.is_empty() {
        return;
    }
    out.push_str(&format!(
        "\n{}\n",
        style.bold("  clock                        reads  went back      step     claimed")
    ));
    for steps in &outcome.steps {
        let name = steps.clock.map_or("counter (cycles)", |clock| clock.name());
        let unit = if steps.clock.is_some() { " ns" } else { "" };
        let step = steps.smallest_step.map_or_else(|| "-".to_owned(), |s| format!("{s}{unit}"));
        let claimed = steps.claimed_step.map_or_else(|| "-".to_owned(), |ns| format!("{ns} ns"));
        out.push_str(&format!(
            "  {name:<24} {:>9}  {:>9} {step:>12} {claimed:>10}\n",
            steps.reads,
            steps.back_within.max(steps.back_across)
        ));
    }
}

fn untested(out: &mut String, outcome: &Outcome, style: Style) {
    if outcome.untested.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Not tested")));
    for what in &outcome.untested {
        out.push_str(&wrap(what, "  - ", "    "));
    }
}

/// Calls with unknown ids and bad pointers.
fn abi(out: &mut String, report: &VerifyReport, style: Style) {
    let Some(cases) = &report.abi else { return };
    out.push_str(&format!(
        "\n{}\n",
        style.bold("  call                                                     vDSO  syscall")
    ));
    for case in cases {
        let vdso = case.vdso.map_or_else(|| "-".to_owned(), ended);
        let line = format!("  {:<52} {vdso:>8} {:>8}", case.call, ended(case.syscall));
        let line = match case.right {
            Some(true) => format!("{line}\n"),
            Some(false) => style.red(&format!("{line} WRONG\n")),
            None => format!("{line} ?\n"),
        };
        out.push_str(&line);
    }
}

fn ended(ended: Ended) -> String {
    match ended {
        Ended::Answered(0) => "0".to_owned(),
        Ended::Answered(number) if number == libc::EINVAL => "EINVAL".to_owned(),
        Ended::Answered(number) if number == libc::EFAULT => "EFAULT".to_owned(),
        Ended::Answered(number) => format!("error {number}"),
        Ended::Signal(number) if number == libc::SIGSEGV => "SIGSEGV".to_owned(),
        Ended::Signal(number) => format!("signal {number}"),
        Ended::Unknown => "?".to_owned(),
    }
}

fn ppm(interval: Interval) -> String {
    format!("{:+.2} to {:+.2} ppm", interval.low, interval.high)
}

/// Formats a time with its unit.
pub(crate) fn time(ns: f64) -> String {
    match ns.abs() {
        size if size < 1e3 => format!("{ns:.0} ns"),
        size if size < 1e6 => format!("{:.1} us", ns / 1e3),
        size if size < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.1} s", ns / 1e9),
    }
}

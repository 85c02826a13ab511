//! The report as text of 80 columns.

use crate::columns::{clip, counted, wrap};
use crate::intake::NAMED;
use crate::report::{Added, FleetReport, Groups, Input, Like};
use clocksmith_facts::visible::Ink;
use std::fmt::Write;

/// The style of a text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// With colours, for callers that print by
    /// [`visible::terminal`](clocksmith_facts::visible::terminal).
    pub ink: Option<Ink>,
    /// The result only.
    pub quiet: bool,
}

impl Look {
    pub(crate) fn bold(self, text: &str) -> String {
        self.ink.map_or_else(|| text.to_owned(), |ink| ink.paint("1", text))
    }
}

/// The whole report.
#[must_use]
pub fn page(report: &FleetReport, look: Look) -> String {
    let mut out = look.bold(wrap(&report.headline, "", "").trim_end());
    out.push('\n');
    if look.quiet {
        return out;
    }
    out.push_str(&input(&report.input, true));
    dates(&mut out, report);
    if let Some(tables) = &report.tables {
        let text = format!("tables written to {tables}: hosts, causes, remedies (.parquet)");
        out.push_str(&wrap(&text, "  ", "    "));
    }
    if let Some(added) = &report.history {
        out.push_str(&history(added));
    }
    if report.hosts == 0 {
        return out;
    }
    changes(&mut out, report, look);
    causes(&mut out, report, look);
    for (title, groups) in [
        ("Verdict", &report.verdicts),
        ("Clocksource", &report.clocksources),
        ("Hypervisor", &report.hypervisors),
        ("Kernel", &report.kernels),
        ("Processor", &report.hardware),
    ] {
        by(&mut out, title, groups, look);
    }
    outliers(&mut out, report, look);
    migration(&mut out, report, look);
    out
}

/// Returns the text about the reports that were added to a history.
#[must_use]
pub fn history(added: &Added) -> String {
    let (reports, days) = (counted(added.added, "report"), counted(added.days, "day"));
    let mut text = format!("{reports} of {days} added to {}", added.directory);
    if added.known > 0 {
        let _ = write!(text, "; {} already known", counted(added.known, "report"));
    }
    if added.undated > 0 {
        let undated = counted(added.undated, "report");
        let _ = write!(text, "; {undated} without a date left out (--date DATE gives one)");
    }
    wrap(&text, "  ", "    ")
}

/// Appends when the reports were taken, unless on one day.
fn dates(out: &mut String, report: &FleetReport) {
    let day = |at: &Option<String>| at.as_deref().and_then(|at| at.get(..10)).map(str::to_owned);
    let dates = &report.dates;
    if let (Some(oldest), Some(newest)) = (day(&dates.oldest), day(&dates.newest)) {
        let mut text = if oldest == newest {
            format!("reports of {newest}")
        } else {
            format!("reports of {oldest} to {newest}")
        };
        if dates.undated > 0 {
            let _ = write!(text, "; {} without a date", counted(dates.undated, "report"));
        }
        out.push_str(&wrap(&text, "  ", "    "));
    }
}

/// Returns the text about inputs that could not be used, and about several reports of one host; `superseded` too, where
/// a report that is not the newest has no other use.
#[must_use]
pub fn input(input: &Input, superseded: bool) -> String {
    let mut out = String::new();
    if input.rejected > 0 {
        let _ = writeln!(
            out,
            "  {} of {} documents could not be used:",
            input.rejected, input.documents
        );
        for reject in input.rejects.iter().take(5) {
            out.push_str(&wrap(&format!("{}: {}", reject.place, reject.why), "    ", "      "));
        }
        more(&mut out, 4, input.rejected.saturating_sub(input.rejects.len().min(5) as u64));
    }
    let mut say = |count: u64, one: &str, many: &str, names: &[String]| {
        if count > 0 {
            let text = if count == 1 { format!("1 {one}") } else { format!("{count} {many}") };
            let such = if names.is_empty() { "" } else { ", such as " };
            let names = names.iter().take(3).map(String::as_str).collect::<Vec<_>>().join("; ");
            out.push_str(&wrap(&format!("{text}{such}{names}"), "  ", "    "));
        }
    };
    if superseded {
        // Many are those of a history.
        let few = input.ties == 0 && input.duplicates <= NAMED as u64;
        say(
            input.duplicates.saturating_sub(input.ties),
            "older report is not counted: only the newest one of each host is",
            "older reports are not counted: only the newest one of each host is",
            if few { &input.duplicate_hosts } else { &[] },
        );
    }
    say(
        input.ties,
        "host has several newest reports (of one moment, or without a date); only the first one \
         given counts",
        "hosts have several newest reports (of one moment, or without a date); only the first one \
         given counts",
        &input.tie_hosts,
    );
    say(
        input.future,
        "report has a date in the future, which is not used",
        "reports have a date in the future, which is not used",
        &input.future_hosts,
    );
    say(
        input.shared_names,
        "name belongs to several machines, according to their machine ids; each machine is a host",
        "names belong to several machines, according to their machine ids; each machine is a host",
        &input.shared_hosts,
    );
    out
}

fn changes(out: &mut String, report: &FleetReport, look: Look) {
    if report.changes.changes.is_empty() && report.changes.without == 0 {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("What one change would fix"));
    let _ = writeln!(
        out,
        "{:<24} {:<10} {:>9} {:>9} {:>9}  example",
        "change", "where", "hosts", "alone", "refused"
    );
    for change in &report.changes.changes {
        let _ = writeln!(
            out,
            "{:<24} {:<10} {:>9} {:>9} {:>9}  {}",
            clip(&change.remedy, 24),
            clip(&change.layer, 10),
            change.hosts,
            change.alone,
            change.refused,
            clip(&change.example, 14)
        );
    }
    more(out, 0, report.changes.more);
    if report.changes.without > 0 {
        let _ = writeln!(out, "{:<35} {:>9}", "(none is advised)", report.changes.without);
    }
    out.push_str(&wrap(
        "hosts: where it is the first remedy that is not refused and that answers the gravest \
         cause; alone: where nothing else is wrong. `clocksmith explain ID` says what it is.",
        "  ",
        "  ",
    ));
}

fn causes(out: &mut String, report: &FleetReport, look: Look) {
    if report.causes.groups.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("By cause"));
    let _ =
        writeln!(out, "{:<32} {:<9} {:>9} {:>10}  example", "", "severity", "hosts", "gravest on");
    for cause in &report.causes.groups {
        let _ = writeln!(
            out,
            "{:<32} {:<9} {:>9} {:>10}  {}",
            clip(&cause.cause, 32),
            cause.severity,
            cause.hosts,
            cause.gravest_on,
            clip(&cause.example, 15)
        );
    }
    more(out, 0, report.causes.more);
}

fn by(out: &mut String, title: &str, groups: &Groups, look: Look) {
    let _ = writeln!(out, "\n{}", look.bold(&format!("By {}", title.to_lowercase())));
    let _ = writeln!(
        out,
        "{:<24} {:>7} {:>7} {:>7} {:>6} {:>7}  example",
        "", "hosts", "ok", "slow", "wrong", "unknown"
    );
    for group in &groups.groups {
        let name = group.name.as_deref().unwrap_or("(not known)");
        // A long name has a separate line: two processors may differ in the last letter.
        let long = name.chars().count() > 24;
        if long {
            out.push_str(&wrap(name, "", "  "));
        }
        let _ = writeln!(
            out,
            "{:<24} {:>7} {:>7} {:>7} {:>6} {:>7}  {}",
            if long { "" } else { name },
            group.hosts,
            group.ok,
            group.slow,
            group.untrustworthy,
            group.unknown,
            clip(&group.example, 15)
        );
    }
    more(out, 0, groups.more);
}

fn outliers(out: &mut String, report: &FleetReport, look: Look) {
    let found = &report.outliers;
    if found.choice.is_empty() && found.cost.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("Hosts that differ from similar ones"));
    for outlier in &found.choice {
        out.push_str(&wrap(&format!("{}: {}", outlier.host, outlier.why), "  ", "    "));
    }
    more(out, 2, found.choice_more);
    for outlier in &found.cost {
        out.push_str(&wrap(&format!("{}: {}", outlier.host, outlier.why), "  ", "    "));
    }
    more(out, 2, found.cost_more);
}

fn migration(out: &mut String, report: &FleetReport, look: Look) {
    let found = &report.migration;
    if found.groups.is_empty() && found.scaling == 0 {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("Guests can move, with their TSC unchanged, among"));
    for group in &found.groups {
        let range = if group.slowest_khz == group.fastest_khz {
            String::new()
        } else {
            format!(" ({} to {})", group.slowest_khz, group.fastest_khz)
        };
        let example =
            group.example.as_deref().map(|host| format!(", as {host}")).unwrap_or_default();
        let text = format!("{} hosts at {} kHz{range}{example}", group.hosts, group.khz);
        out.push_str(&wrap(&text, "  ", "    "));
    }
    more(out, 2, found.more);
    for (count, what) in [
        (found.scaling, "can scale a guest's TSC: they belong to every group"),
        (found.unfit, "have no invariant TSC: they belong to none"),
        (found.unknown, "are not known well enough"),
    ] {
        if count > 0 {
            let _ = writeln!(out, "  {count} {what}");
        }
    }
}

/// The hosts that a host is compared with, in words.
#[must_use]
pub fn like(like: &Like) -> String {
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not known".to_owned());
    let on = match like.hypervisor.as_deref() {
        Some("none") => "on bare metal".to_owned(),
        Some(name) => format!("on {name}"),
        None => "on an unknown hypervisor".to_owned(),
    };
    format!("{}, Linux {}, {on}", known(&like.cpu), known(&like.kernel))
}

/// Formats a cost in nanoseconds, with its unit.
#[must_use]
pub fn ns(ns: f64) -> String {
    match ns {
        ns if ns < 100.0 => format!("{ns:.1} ns"),
        ns if ns < 10_000.0 => format!("{ns:.0} ns"),
        ns => format!("{:.1} us", ns / 1000.0),
    }
}

fn more(out: &mut String, indent: usize, count: u64) {
    if count > 0 {
        let _ = writeln!(out, "{:indent$}and {count} more (--rows N shows more)", "");
    }
}

//! The changes as text of 80 columns.

use super::common::{Change, Common};
use super::{ChangesReport, What};
use crate::columns::{clip, counted, wrap};
use crate::render::{self, Look};
use std::fmt::Write;

/// Returns the result in one sentence.
pub(super) fn sentence(report: &ChangesReport) -> String {
    let day = |at: &Option<String>| {
        at.as_deref().and_then(|at| at.get(..10)).unwrap_or("an unknown day").to_owned()
    };
    let (from, to) = (day(&report.from), day(&report.to));
    let hosts = hosts(report.compared);
    match (report.compared, report.changed) {
        (0, _) => "No host has two dated reports to compare.".to_owned(),
        (_, 0) => format!("None of {hosts} changed between {from} and {to}."),
        (_, changed) => format!("Of {hosts} {changed} changed between {from} and {to}."),
    }
}

fn hosts(count: u64) -> String {
    counted(count, "host")
}

/// The whole text.
#[must_use]
pub fn page(report: &ChangesReport, look: Look) -> String {
    let mut out = look.bold(wrap(&report.headline, "", "").trim_end());
    out.push('\n');
    if look.quiet {
        return out;
    }
    out.push_str(&render::input(&report.input, false));
    compared(&mut out, report);
    transitions(&mut out, report, look);
    common(&mut out, report, look);
    changed(&mut out, report, look);
    out
}

/// Appends which reports were compared, and which were not.
fn compared(out: &mut String, report: &ChangesReport) {
    let mut line = |text: &str| out.push_str(&wrap(text, "  ", "    "));
    match report.since.as_deref().and_then(|since| since.get(..10)) {
        Some(since) => line(&format!(
            "Compared: the newest report of each host, and the last one before {since} or, if there \
             is none, the first one since."
        )),
        None => line(
            "Compared: the newest report of each host and the one before; --since DATE goes back further.",
        ),
    }
    for (count, what) in
        [(report.single, "with one report"), (report.silent, "without a report since then")]
    {
        if count > 0 {
            line(&format!("Not compared: {} {what}.", hosts(count)));
        }
    }
    for (count, what) in [
        (report.undated, "without a date (--date DATE gives them one)"),
        (report.unclear, "without a machine id under a name that several machines have"),
    ] {
        if count > 0 {
            line(&format!("Not compared: {} {what}.", counted(count, "report")));
        }
    }
    if report.replaced > 0 {
        let names: Vec<&str> = report.replaced_hosts.iter().take(3).map(String::as_str).collect();
        let belong = if report.replaced == 1 { "belongs" } else { "belong" };
        line(&format!(
            "{} now {belong} to a different machine (it was replaced or installed again), such as \
             {}.",
            counted(report.replaced, "name"),
            names.join(", ")
        ));
    }
}

fn transitions(out: &mut String, report: &ChangesReport, look: Look) {
    if report.transitions.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("What changed"));
    let _ = writeln!(out, "{:<12} {:<36} {:>9}  example", "", "", "hosts");
    for transition in &report.transitions {
        let (from, to) = (transition.from.as_deref(), transition.to.as_str());
        let (one, two) = match from {
            Some(from) if from.chars().count() + to.chars().count() + 4 > 36 => {
                // Two kernel releases may differ in the last digits only.
                (format!("{from} ->"), Some(to))
            }
            Some(from) => (format!("{from} -> {to}"), None),
            None => (to.to_owned(), None),
        };
        let (before, shown) =
            if two.is_some() { (Some(one), format!("  {to}")) } else { (None, one) };
        let mut name = transition.what.name();
        if let Some(before) = before {
            let _ = writeln!(out, "{name:<12} {}", clip(&before, 66));
            name = "";
        }
        let _ = writeln!(
            out,
            "{name:<12} {:<36} {:>9}  {}",
            clip(&shown, 36),
            transition.hosts,
            clip(&transition.example, 19)
        );
    }
    more(out, 0, report.transitions_more);
    if report.transitions.iter().any(|transition| transition.what == What::Cost) {
        let rule = "cost: a read of CLOCK_REALTIME costs over twice as much and 20 ns more, or less \
                    than half and 20 ns less; smaller differences are noise.";
        out.push_str(&wrap(rule, "  ", "  "));
    }
}

fn said(change: &Change) -> String {
    match &change.from {
        Some(from) => format!("{} {from} -> {}", change.what.name(), change.to),
        None => format!("{} {}", change.what.name(), change.to),
    }
}

fn common(out: &mut String, report: &ChangesReport, look: Look) {
    if report.common.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("What the hosts that changed have in common"));
    for group in &report.common {
        let changes: Vec<String> = group.changes.iter().map(said).collect();
        let title = format!("{} ({}):", changes.join(", "), hosts(group.hosts));
        out.push_str(&wrap(&title, "  ", "  "));
        if group.shared.is_empty() {
            out.push_str(&wrap(&nothing(group), "    ", "    "));
            continue;
        }
        for shared in &group.shared {
            let how_many = if shared.hosts == group.hosts {
                "all".to_owned()
            } else {
                format!("{} of {}", shared.hosts, group.hosts)
            };
            let text = format!("{how_many}: {} {}", shared.property, shared.value);
            out.push_str(&wrap(&text, "    ", "      "));
        }
        let text = format!(
            "Of {} with {}, {} changed in this way; of {} others, {}.",
            hosts(group.with.of),
            if group.shared.len() == 1 { "it" } else { "all of these" },
            group.with.changed,
            group.without.of,
            group.without.changed
        );
        out.push_str(&wrap(&text, "    ", "    "));
    }
}

fn nothing(group: &Common) -> String {
    let others = group.of - group.hosts;
    if others == 0 {
        return "Every host that could change in this way did.".to_owned();
    }
    format!(
        "nothing that distinguishes them from the {others} others that could change in this way"
    )
}

fn changed(out: &mut String, report: &ChangesReport, look: Look) {
    if report.hosts.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{}", look.bold("Which hosts"));
    for host in &report.hosts {
        let day = |at: &str| at.get(..10).unwrap_or(at).to_owned();
        let (from, to) = (day(&host.before.taken_at), day(&host.after.taken_at));
        let text = format!("{}: {} ({from} to {to})", host.host, host.summary);
        out.push_str(&wrap(&text, "  ", "    "));
    }
    more(out, 2, report.hosts_more);
}

fn more(out: &mut String, indent: usize, count: u64) {
    if count > 0 {
        let _ = writeln!(out, "{:indent$}and {count} more (--rows N shows more)", "");
    }
}

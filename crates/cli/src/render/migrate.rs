//! `vm migrate` as text.

use super::{Style, text, wrap};
use crate::args::Common;
use crate::report::migrate::{FleetReport, GuestReport, MigrateReport};
use anyhow::Result;
use clocksmith_vm::migrate::decide::{Answer, Verdict};
use std::fmt::Write;

/// Hosts of one kind, and groups, that are shown without `-v`.
const ROWS: usize = 12;

/// Prints the results.
pub(crate) fn print(common: &Common, report: &MigrateReport) -> Result<()> {
    text(&page(common, report, Style::of(common)))
}

fn page(common: &Common, report: &MigrateReport, style: Style) -> String {
    let sentence = wrap(&report.headline, "", "");
    let mut out = match (report.counts.refused, report.counts.unknown) {
        (0, 0) if report.guest.is_some() => style.green(sentence.trim_end()),
        (0, _) => style.bold(sentence.trim_end()),
        _ => style.red(sentence.trim_end()),
    };
    out.push('\n');
    if common.quiet {
        return out;
    }
    if let Some(guest) = &report.guest {
        out.push_str(&wrap(&about(guest), "  ", "  "));
    }
    if let Some(fleet) = &report.fleet {
        out.push_str(&about_fleet(fleet, report.counts.hosts, common.verbose, style));
    }
    // Hosts with the same result are in one group.
    let mut kinds: Vec<(String, Vec<&Answer>)> = Vec::new();
    for answer in &report.hosts {
        let same = what_holds(answer);
        match kinds.iter_mut().find(|(kind, _)| *kind == same) {
            Some((_, answers)) => answers.push(answer),
            None => kinds.push((same, vec![answer])),
        }
    }
    for (kind, answers) in &kinds {
        out.push('\n');
        out.push_str(&one_kind(kind, answers, common.verbose, style));
    }
    if report.guest.is_some() {
        out.push('\n');
        for note in &report.notes {
            for line in wrap(note, "  ", "  ").lines() {
                out.push_str(&style.dim(line));
                out.push('\n');
            }
        }
    }
    out
}

fn about(guest: &GuestReport) -> String {
    let invtsc = match guest.invtsc {
        Some(true) => "with invtsc",
        Some(false) => "without invtsc",
        None => "with or without invtsc",
    };
    let frequency = match (guest.frequency_hz, guest.frequency) {
        (Some(hz), _) => format!("its TSC set to {hz} Hz"),
        (None, "absent") => "no TSC frequency set".to_owned(),
        _ => "TSC frequency not known".to_owned(),
    };
    let lost = match guest.lost_hz {
        Some(lost) if lost > 0 => {
            format!("; {lost} Hz of that are lost, because QEMU and KVM count in kHz")
        }
        _ => String::new(),
    };
    format!("{invtsc}, {frequency}{lost}")
}

/// Returns the text that is printed once for all hosts to which it applies.
fn what_holds(answer: &Answer) -> String {
    let mut out = answer.why.clone();
    if answer.verdict == Verdict::Refused || answer.verdict == Verdict::Unsafe {
        // Messages with figures of one host are printed next to it.
        if let (Some(by), Some(message)) = (answer.by, &answer.message)
            && !message.contains(|c: char| c.is_ascii_digit())
        {
            let _ = write!(out, ". {by} says: \"{message}\"");
        }
    }
    out
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exact => "can migrate, with the TSC unchanged",
        Verdict::Scaled => "can migrate, with the TSC scaled",
        Verdict::HostRate => "can migrate, with the TSC at the host's rate",
        Verdict::Goes => "can migrate",
        Verdict::Free => "can migrate",
        Verdict::Unsafe => "must not migrate",
        Verdict::Refused => "refused",
        Verdict::Unknown => "not known",
    }
}

fn one_kind(kind: &str, answers: &[&Answer], all: bool, style: Style) -> String {
    let Some(first) = answers.first() else { return String::new() };
    let label = word(first.verdict);
    let label = match first.verdict.goes() {
        Some(true) => style.green(label),
        Some(false) => style.red(label),
        None => style.yellow(label),
    };
    let mut out = format!("{label} ({})\n", answers.len());
    out.push_str(&wrap(kind, "  ", "  "));
    let shown = if all { answers.len() } else { ROWS };
    for answer in answers.iter().take(shown) {
        out.push_str(&wrap(&one(answer), "    ", "      "));
    }
    if answers.len() > shown {
        let _ = writeln!(out, "    and {} more (-v shows all)", answers.len() - shown);
    }
    let mut settled: Vec<&str> = Vec::new();
    for missing in answers.iter().flat_map(|answer| &answer.missing) {
        if !settled.contains(&missing.how.as_str()) {
            settled.push(&missing.how);
            out.push_str(&wrap(&format!("to find out: {}", missing.how), "  ", "  "));
        }
    }
    out
}

fn one(answer: &Answer) -> String {
    let mut out = answer.host.clone();
    if let Some(clock) = &answer.clock {
        let _ = write!(out, ": host {} kHz, ", clock.host_khz);
        if clock.error_ppb == 0 && clock.day_ns == 0 {
            out.push_str("no error");
        } else {
            let rate = match clock.error_ppb {
                0 => "less than 0.001".to_owned(),
                ppb => ppm(ppb),
            };
            let _ = write!(
                out,
                "{rate} ppm: {} a day, {} a year",
                time(clock.day_ns),
                time(clock.year_ns)
            );
        }
    }
    if let (Some(by), Some(message)) = (answer.by, &answer.message)
        && message.contains(|c: char| c.is_ascii_digit())
    {
        let _ = write!(out, ": {by} says: \"{message}\"");
    }
    out
}

/// Parts per billion as ppm, with sign.
fn ppm(ppb: i64) -> String {
    let sign = if ppb < 0 { '-' } else { '+' };
    let ppb = ppb.unsigned_abs();
    format!("{sign}{}.{:03}", ppb / 1000, ppb % 1000)
}

/// A time with sign, in a unit that suits it.
fn time(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    let ns = ns.unsigned_abs();
    let units: [(u64, &str); 5] = [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1000, "us"),
    ];
    for (unit, name) in units {
        if ns >= unit {
            return format!("{sign}{}.{} {name}", ns / unit, ns % unit * 10 / unit);
        }
    }
    format!("{sign}{ns} ns")
}

fn about_fleet(fleet: &FleetReport, hosts: usize, all: bool, style: Style) -> String {
    let mut out = format!("\n{}\n", style.bold("The fleet"));
    let Some(hz) = fleet.frequency_hz else {
        out.push_str("  No host is known well enough.\n");
        return out;
    };
    let best = format!(
        "{hz} Hz serves {} of {hosts} hosts. On {} of them nothing is scaled: their clocks are off by \
         up to {} ppm, and change by up to {} ppm at a move between two of them.",
        fleet.serves,
        fleet.unscaled,
        ppm(fleet.worst_error_ppb.unwrap_or_default()).trim_start_matches('+'),
        ppm(fleet.worst_change_ppb.unwrap_or_default()).trim_start_matches('+'),
    );
    out.push_str(&wrap(&best, "  ", "  "));
    if !fleet.ties_hz.is_empty() {
        let ties: Vec<String> = fleet.ties_hz.iter().map(u64::to_string).collect();
        let ties = format!(
            "Other frequencies serve the fleet as well, and the lowest one is chosen. The others: {} Hz.",
            ties.join(", ")
        );
        out.push_str(&wrap(&ties, "  ", "  "));
    }
    out.push_str(&wrap(
        &format!(
            "libvirt: <timer name='tsc' frequency='{hz}'/> in <clock>; QEMU: tsc-frequency={hz} in -cpu."
        ),
        "  ",
        "  ",
    ));
    let shown = if all { fleet.groups.len() } else { ROWS };
    for group in fleet.groups.iter().take(shown) {
        let names = names(&group.hosts, all);
        let line = format!(
            "{} Hz: {} that cannot scale ({} to {} kHz): {names}",
            group.frequency_hz,
            group.hosts.len(),
            group.slowest_hz / 1000,
            group.fastest_hz / 1000
        );
        out.push_str(&wrap(&line, "  group ", "    "));
    }
    if fleet.groups.len() > shown {
        let _ = writeln!(out, "  and {} more groups (-v shows all)", fleet.groups.len() - shown);
    }
    for (label, hosts) in [
        ("can scale, so in every group", &fleet.scaling),
        ("TSC not invariant, so in none", &fleet.unfit),
        ("too little is known", &fleet.unknown),
    ] {
        if !hosts.is_empty() {
            let line = format!("{label}: {} ({})", names(hosts, all), hosts.len());
            out.push_str(&wrap(&line, "  ", "    "));
        }
    }
    out
}

fn names(hosts: &[String], all: bool) -> String {
    let shown = if all { hosts.len() } else { ROWS };
    let mut out = hosts.iter().take(shown).map(String::as_str).collect::<Vec<_>>().join(", ");
    if hosts.len() > shown {
        let _ = write!(out, " and {} more", hosts.len() - shown);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_a_sign_and_a_unit() {
        assert_eq!(ppm(-93), "-0.093");
        assert_eq!(ppm(240_000), "+240.000");
        assert_eq!(time(-8_047), "-8.0 us");
        assert_eq!(time(20_736_000_000), "+20.7 s");
        assert_eq!(time(7_889_400_000_000), "+2.1 h");
        assert_eq!(time(0), "+0 ns");
    }
}

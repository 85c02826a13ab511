//! Suspicious reads, and their remedies.

use super::super::{Style, wrap};
use clocksmith_who::account::{Confidence, Flag, FlagKind, Profile};

pub(super) fn flags(out: &mut String, profile: &Profile, verbose: bool, style: Style) {
    if profile.flags.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Findings")));
    let most = if verbose { usize::MAX } else { 6 };
    // Functions with the same flag are one entry.
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
            FlagKind::CoarseCandidate => "candidate for a coarse clock",
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

pub(super) fn remedies(out: &mut String, profile: &Profile, style: Style) {
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

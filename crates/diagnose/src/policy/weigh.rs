//! Contradictions between a vendor's rule and the measurement or the findings of this program. The report states both,
//! and the reader decides which to follow: a support contract may require a setting that a measurement does not
//! justify.

use super::Vendor;
use super::answer::Conformity;
use super::judge::Asked;
use crate::causes::against_tsc;
use crate::diagnosis::Verdict;
use crate::remedies::{Remedy, table};
use crate::report::Report;
use clocksmith_facts::path::Path;

/// The part of the cost of a read that justifies a change.
const WORTH_A_CHANGE: f64 = 0.25;

/// The contradictions, each in one sentence.
pub(super) fn contradictions(vendor: &Vendor, asked: &[Asked], report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let Some(current) = report.clocksource.current.as_deref() else { return found };
    for one in asked.iter().filter(|one| one.applies) {
        let super::Ask::Clocksource { preferred, .. } = one.rule.ask else { continue };
        match one.conforms {
            Conformity::No | Conformity::Tolerated if !preferred.contains(&current) => {
                let asked = match one.conforms {
                    Conformity::Tolerated => "preferred",
                    _ => "required",
                };
                let wanted = format!("{} is {asked}", preferred.join(" or "));
                found.extend(cannot_have(preferred, &wanted, current, report));
                found.extend(gains_little(preferred, &wanted, current, report));
            }
            Conformity::Yes | Conformity::Tolerated => {
                found.extend(right_and_slow(vendor, current, report));
            }
            Conformity::No | Conformity::AsksNothing | Conformity::Unknown => (),
        }
        found.extend(sets_reliable(vendor, one.rule.sets, report));
    }
    found.dedup();
    found
}

/// The demanded clocksource is not available, or was found faulty.
fn cannot_have(preferred: &[&str], wanted: &str, current: &str, report: &Report) -> Option<String> {
    let fault = preferred.contains(&"tsc").then(|| against_tsc(&report.causes)).flatten();
    if let Some(fault) = fault {
        return Some(format!(
            "{wanted}, but was found faulty here ({}): fix the cause first",
            fault.id.name()
        ));
    }
    let (available, by) = match (&report.clocksource.available, &report.expected.available) {
        (Some(read), _) => (read, ""),
        (None, Some(expected)) => (expected, " according to the rules of this kernel"),
        (None, None) => return None,
    };
    if preferred.iter().any(|name| available.iter().any(|listed| listed == name)) {
        return None;
    }
    Some(format!(
        "{wanted}, but is not available here{by} ({}): a write to current_clocksource \
         would leave {current} in use",
        available.join(" ")
    ))
}

/// The vendor's image or profile makes the kernel trust the TSC without a check, which is not advised here.
fn sets_reliable(vendor: &Vendor, sets: &[&str], report: &Report) -> Option<String> {
    let advised =
        |remedy: &Remedy| remedy.id == table::TSC_RELIABLE.id && remedy.refused_because.is_none();
    if !sets.contains(&"tsc=reliable") || report.remedies.iter().any(advised) {
        return None;
    }
    Some(format!(
        "{} also sets tsc=reliable, which disables the kernel's checks of the TSC; tsc does not need it, and \
         clocksmith does not advise it here",
        vendor.name
    ))
}

/// A read is already about as cheap as one of the demanded counter would be.
fn gains_little(
    preferred: &[&str],
    wanted: &str,
    current: &str,
    report: &Report,
) -> Option<String> {
    let read = report.read("CLOCK_MONOTONIC")?;
    if read.path != Path::Vdso || report.verdict != Verdict::Ok {
        return None;
    }
    let ns = read.ns?;
    let fast = format!(
        "{wanted}, but the measurement gives no reason for it: a read by {current} \
         takes {ns:.1} ns, without a system call"
    );
    match report.counter_ns.filter(|counter| *counter > 0.0 && *counter <= ns) {
        Some(counter) if preferred.contains(&"tsc") => {
            let gain = ns - counter;
            let share = gain / ns;
            let least = format!(
                "{:.1} ns of that is the bare read of the counter, which tsc takes as well",
                counter
            );
            Some(if share <= WORTH_A_CHANGE {
                format!("{fast}; {least}, so a change gains at most {:.0} %", share * 100.0)
            } else {
                format!("{fast}; {least}")
            })
        }
        _ => Some(fast),
    }
}

/// The clocksource in use conforms to the rule, and is slow or wrong by the evidence.
fn right_and_slow(vendor: &Vendor, current: &str, report: &Report) -> Option<String> {
    let name = vendor.name;
    match report.verdict {
        Verdict::Slow => {
            let cost =
                report.monotonic_ns().map_or_else(String::new, |ns| format!(", {ns:.0} ns a read"));
            Some(format!("{name} accepts {current}, and reads of it are slow here{cost}"))
        }
        Verdict::Untrustworthy => {
            Some(format!("{name} accepts {current}, and the time cannot be trusted here"))
        }
        Verdict::Ok | Verdict::Unknown => None,
    }
}

//! `predict` as text.

use super::{Style, text, wrap};
use crate::args::Common;
use anyhow::Result;
use clocksmith_kernel::Expectation;
use clocksmith_kernel::defaults::{Alternative, Defaults};

/// Prints the prediction.
pub(crate) fn print(common: &Common, expectation: &Expectation, defaults: &Defaults) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    match &expectation.current {
        Some(current) => out.push_str(&format!("Linux would use {}.\n", style.bold(current))),
        None => out.push_str("Which clocksource Linux would use is unknown.\n"),
    }
    if let Some(available) = &expectation.available {
        out.push_str(&wrap(&available.join(" "), "  available  ", "             "));
    }
    let vdso = match expectation.vdso {
        Some(true) => "yes: reads stay in user space",
        Some(false) => "no: every read is a system call",
        None => "depends on the host",
    };
    out.push_str(&wrap(vdso, "  vDSO       ", "             "));
    if !common.quiet {
        out.push_str("\nBecause\n");
        for reason in &expectation.reasons {
            out.push_str(&wrap(&reason.because, "  - ", "    "));
            if common.verbose {
                out.push_str(&style.dim(&wrap(&reason.source, "      ", "      ")));
            }
        }
        if !expectation.assumed.is_empty() {
            out.push_str("\nAssumed (set with --set, --kernel, --cmdline, --cpus, --hypervisor)\n");
            for item in &expectation.assumed {
                let value = if item.value.is_empty() { "none" } else { &item.value };
                let line = format!("{} = {value}: {}", item.fact, item.why);
                out.push_str(&wrap(&line, "  - ", "    "));
            }
        }
        for item in &expectation.undecided {
            out.push_str(&wrap(item, "  ? ", "    "));
        }
        if !expectation.assumed.is_empty() {
            out.push_str(&matters(expectation, defaults));
        }
        if !expectation.at_risk.is_empty() {
            out.push_str("\nAt risk\n");
        }
        for risk in &expectation.at_risk {
            out.push_str(&wrap(&risk.because, "  ! ", "    "));
            if common.verbose {
                out.push_str(&style.dim(&wrap(&risk.source, "      ", "      ")));
            }
        }
    }
    text(&out)
}

/// Returns which of the assumptions matter.
fn matters(expectation: &Expectation, defaults: &Defaults) -> String {
    if defaults.alternatives.is_empty() && defaults.together.is_empty() {
        return "\nA different value of an assumed fact does not change the result.\n".to_owned();
    }
    let mut out = String::from("\nThe result would differ with\n");
    // Values of one fact with the same result are on one line.
    let mut rest: Vec<&Alternative> = defaults.alternatives.iter().collect();
    while let Some(first) = rest.first().copied() {
        let answer = |other: &Alternative| (other.input, answer(expectation, other));
        let alike = |other: &&Alternative| answer(other) == answer(first);
        let (same, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(alike);
        rest = others;
        let values: Vec<&str> = same.iter().map(|other| other.value.as_str()).collect();
        let line = format!("{} {}: {}", first.input.name(), values.join(" or "), answer(first).1);
        out.push_str(&wrap(&line, "  - ", "    "));
    }
    for input in &defaults.together {
        let line = format!("{}, together with a different value of one of these", input.name());
        out.push_str(&wrap(&line, "  - ", "    "));
    }
    out
}

/// Returns the difference: the clocksource, the path of the reads, or only the list.
fn answer(expectation: &Expectation, other: &Alternative) -> String {
    let way = |vdso: Option<bool>| match vdso {
        Some(true) => "read in user space",
        Some(false) => "every read a system call",
        None => "the path of the reads depends on the host",
    };
    let Some(current) = &other.current else { return "unknown".to_owned() };
    if other.current == expectation.current && other.vdso == expectation.vdso {
        let available = other.available.as_deref().unwrap_or_default().join(" ");
        return format!("still {current}, available: {available}");
    }
    if other.vdso == expectation.vdso {
        return current.clone();
    }
    format!("{current}, {}", way(other.vdso))
}

//! Which verdict and which causes a boot must have: from the probe's behaviour, from the kernel's
//! own log, and from the command line. Nothing here comes from the tested program.

use super::answer::Answer;
use super::choice;
use crate::case::Boot;
use crate::record::truth::Truth;

/// The kernel's messages about why the TSC cannot be used, each with the equivalent cause. The first match of a line is
/// used.
const REASONS: &[(&str, &str)] = &[
    ("due to TSCs unsynchronized", "tsc-unsynchronized"),
    ("due to boot parameter notsc", "cmdline-notsc"),
    ("due to boot parameter", "cmdline-tsc-unstable"),
    ("due to could not calculate TSC khz", "no-tsc"),
];

/// Names that some kernel of the matrix can register. Another one on the command line is unknown.
const NAMES: &[&str] = &[
    "tsc",
    "tsc-early",
    "hpet",
    "acpi_pm",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
    "xen",
    "pit",
    "jiffies",
    "refined-jiffies",
];

/// Everything in the answer that contradicts the known facts about the boot.
pub fn check(answer: &Answer, truth: &Truth, boot: &Boot, log: &str) -> Vec<String> {
    let mut list = Vec::new();
    if choice(answer) != truth.choice() {
        list.push(format!("inside, `why` says {}", choice(answer)));
    }
    let path = truth.vdso.get("MONOTONIC").map(String::as_str);
    if let Some(wanted) = boot.verdict.as_deref().or_else(|| verdict(path?))
        && answer.verdict != wanted
    {
        list.push(format!(
            "inside, `why` gives the verdict {}, and it should be {wanted} (CLOCK_MONOTONIC: {})",
            answer.verdict,
            path.unwrap_or("not known")
        ));
    }
    if let (Some(measured), Some(path)) = (answer.path.as_deref(), path)
        && measured != "unknown"
        && measured != if path == "vdso" { "vdso" } else { "syscall" }
    {
        list.push(format!("inside, `why` measured CLOCK_MONOTONIC as {measured}, it is {path}"));
    }
    for wanted in causes(&truth.cmdline, &truth.current, path != Some("vdso"), log) {
        if !answer.causes.contains(wanted) {
            list.push(format!("inside, `why` lacks {wanted}; it has {:?}", answer.causes));
        }
    }
    list
}

/// The verdict for the path on which CLOCK_MONOTONIC is served.
fn verdict(path: &str) -> Option<&'static str> {
    match path {
        "vdso" => Some("ok"),
        "syscall" | "no-vdso" => Some("slow"),
        _ => None,
    }
}

/// The causes that must be named.
fn causes(cmdline: &str, current: &str, slow: bool, log: &str) -> Vec<&'static str> {
    let mut list: Vec<&str> = Vec::new();
    for line in log.lines() {
        if let Some((_, cause)) = REASONS.iter().find(|(words, _)| line.contains(words))
            && !list.contains(cause)
        {
            list.push(cause);
        }
    }
    match wish(cmdline) {
        Some(name) if name == current && slow => list.push("cmdline-clocksource-override"),
        Some(name) if !NAMES.contains(&name) => list.push("cmdline-clocksource-unknown"),
        _ => {}
    }
    list
}

/// The clocksource that the command line requests. The old parameter has one alias.
fn wish(cmdline: &str) -> Option<&str> {
    let wish = |word: &'_ str| -> Option<usize> { word.find('=').map(|at| at + 1) };
    cmdline
        .split_whitespace()
        .filter_map(|word| match &word[..wish(word)?] {
            "clocksource=" => Some(&word[wish(word)?..]),
            "clock=" if word == "clock=pmtmr" => Some("acpi_pm"),
            "clock=" => Some(&word[wish(word)?..]),
            _ => None,
        })
        .next_back()
        .filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wish_counts_and_the_old_parameter_has_an_alias() {
        assert_eq!(wish("quiet clocksource=hpet clocksource=acpi_pm"), Some("acpi_pm"));
        assert_eq!(wish("clock=pmtmr"), Some("acpi_pm"));
        assert_eq!(wish("clock=tsc"), Some("tsc"));
        assert_eq!(wish("clocksource="), None);
        assert_eq!(wish("quiet tsc=reliable"), None);
    }

    #[test]
    fn the_kernels_words_name_the_causes() {
        let log = "[    0.0] tsc: Marking TSC unstable due to boot parameter notsc\n";
        assert_eq!(causes("notsc", "hpet", true, log), ["cmdline-notsc"]);
        let log = "[    0.0] tsc: Marking TSC unstable due to boot parameter\n";
        assert_eq!(causes("tsc=unstable", "hpet", true, log), ["cmdline-tsc-unstable"]);
        let log = "[    0.3] tsc: Marking TSC unstable due to TSCs unsynchronized\n";
        assert_eq!(causes("clocksource=tsc", "hpet", true, log), ["tsc-unsynchronized"]);
    }

    #[test]
    fn a_wish_is_a_cause_if_it_is_in_force_or_has_no_meaning() {
        let override_ = "cmdline-clocksource-override";
        assert_eq!(causes("clocksource=hpet", "hpet", true, ""), [override_]);
        assert!(causes("clocksource=tsc", "tsc", false, "").is_empty());
        assert_eq!(causes("clocksource=bogus", "tsc", false, ""), ["cmdline-clocksource-unknown"]);
        assert!(causes("clocksource=kvm-clock", "tsc", false, "").is_empty());
    }
}

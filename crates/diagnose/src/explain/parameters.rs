//! Kernel parameters, alone or with a value, and whole command lines.

use super::clocksources;
use super::entry::{Entry, Explanation, Kind, fold};
use super::knowledge::PARAMETERS;
use crate::names;
use clocksmith_facts::cmdline::{CommandLine, Word};

fn find(word: &str) -> Option<&'static Entry> {
    let folded = fold(word);
    PARAMETERS.iter().find(|entry| entry.is(&folded))
}

/// The explanations of one word of a command line; empty if it does not concern clocks.
pub(super) fn word(word: &Word) -> Vec<Explanation> {
    let value = word.value.as_deref().unwrap_or("");
    match fold(&word.name).as_str() {
        "clocksource" | "clock" if !value.is_empty() => return choice_of(&word.name, value),
        "tsc" if word.value.is_some() => return tsc(value),
        "hpet" if value.contains(',') => {
            return value
                .split(',')
                .filter_map(|item| find(&format!("hpet={item}")))
                .map(|entry| entry.explanation(Kind::Parameter))
                .collect();
        }
        // Words that are also names of clocksources mean the parameter only with a value.
        "hpet" | "xen" if word.value.is_none() => return Vec::new(),
        "acpi" if value != "off" => return Vec::new(),
        "highres" | "nohz" if !matches!(value, "off" | "0" | "n" | "no") => return Vec::new(),
        _ => {}
    }
    let Some(entry) = find(&word.text()).or_else(|| find(&word.name)) else { return Vec::new() };
    let mut out = entry.explanation(Kind::Parameter);
    if entry.is("tsc early khz")
        && let Some(text) = early_khz(value)
    {
        out.figures.push(text);
    }
    vec![out]
}

fn early_khz(value: &str) -> Option<String> {
    let khz: u64 = value.parse().ok().filter(|khz| (1..1_000_000_000).contains(khz))?;
    let mhz = format!("{khz} kHz are {}.{:03} MHz", khz / 1000, khz % 1000);
    Some(if khz < 100_000 { format!("{mhz}: too small for a TSC; the unit is kHz") } else { mhz })
}

/// `clocksource=NAME` and `clock=NAME`.
fn choice_of(name: &str, value: &str) -> Vec<Explanation> {
    let folded = fold(name);
    let exact = find(&format!("{name}={value}"));
    let general = if folded == "clock" { find("clock=pmtmr") } else { find("clocksource=NAME") };
    let Some(entry) = exact.or(general) else { return Vec::new() };
    let mut out = entry.explanation(Kind::Parameter);
    let kept: String = value.chars().take(31).collect();
    let chosen = if folded == "clock" && value == "pmtmr" { "acpi_pm" } else { kept.as_str() };
    let mut all = Vec::new();
    match names::find(chosen) {
        Some(known) => {
            out.figures.push(format!("Asks for {}: {}.", known.name, known.about));
            all.push(clocksources::named(known));
        }
        None => {
            let mut text = format!(
                "No known kernel from 2.6.32 to 7.1 has a clocksource named {chosen}: the kernel ignores the parameter \
                 without a message."
            );
            if value == "pmtmr" {
                text.push_str(" The PM timer's name is acpi_pm.");
            } else if let Some(near) = super::spelling::nearest_name(chosen) {
                text.push_str(&format!(" The nearest name is {near}."));
            }
            out.figures.push(text);
            out.see_also.push("cmdline-clocksource-unknown".to_owned());
        }
    }
    if value.chars().count() > 31 {
        out.figures.push("The kernel keeps the first 31 characters only.".to_owned());
    }
    all.insert(0, out);
    all
}

/// `tsc=VALUE`.
fn tsc(value: &str) -> Vec<Explanation> {
    if let Some(entry) = find(&format!("tsc={value}")).filter(|_| !value.is_empty()) {
        return vec![entry.explanation(Kind::Parameter)];
    }
    let Some(general) = find("tsc parameter") else { return Vec::new() };
    let mut out = general.explanation(Kind::Parameter);
    let parts: Vec<&str> =
        value.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
    let known = |part: &&str| find(&format!("tsc={part}"));
    let mut all = Vec::new();
    if parts.len() > 1 {
        let repeated: Vec<String> = parts.iter().map(|part| format!("tsc={part}")).collect();
        out.figures.push(format!(
            "tsc={value} is compared as a whole and ignored. Write: {}",
            repeated.join(" ")
        ));
        all.extend(parts.iter().filter_map(known).map(|e| e.explanation(Kind::Parameter)));
    } else if !value.is_empty() {
        out.figures.push(format!("No kernel up to 7.1 knows tsc={value}: it is ignored."));
    }
    all.insert(0, out);
    all
}

/// The explanations of every parameter of a command line that concerns clocks.
pub(super) fn line(text: &str) -> Vec<Explanation> {
    let mut all: Vec<Explanation> = Vec::new();
    for item in CommandLine::parse(text).words() {
        for explanation in word(item) {
            if !all.iter().any(|old| old.title == explanation.title) {
                all.push(explanation);
            }
        }
    }
    all
}

//! Profiles of tuned that a profile includes, and whose `[bootloader]` adds `tsc=reliable`.
//!
//! `network-latency` adds it since tuned 2.21, `realtime` since 2.19, and the others include one of the two. An including
//! profile replaces options of the same name in the same section. Source: tuned, profiles/*/tuned.conf;
//! tuned/profiles/loader.py, `_load_profile()`; merger.py, `_merge_two()`; plugin_bootloader.py, cmdline.

use super::lines::Line;
use crate::finding::{Finding, Severity};
use crate::words::listed;
use std::ops::Range;

/// The profiles, and the first version of tuned in which they add the parameter.
const PROFILES: [(&str, &str); 6] = [
    ("network-latency", "2.21"),
    ("cpu-partitioning", "2.21"),
    ("cpu-partitioning-powersave", "2.21"),
    ("realtime", "2.19"),
    ("realtime-virtual-guest", "2.19"),
    ("realtime-virtual-host", "2.19"),
];

/// The option of `network-latency` that has the parameter.
const OPTION: &str = "cmdline_network_latency";

/// Reports the parameter of an included profile, at the name of that profile.
pub(super) fn judge(all: &[Line<'_>], findings: &mut Vec<Finding>) {
    findings.extend(found(all).into_iter().map(|included| {
        let (name, since) = included.profile;
        Finding::new(rule!("persist-tsc-reliable-blanket"), included.at)
            .severity(Severity::Info)
            .summary(format!("the included profile {name} adds tsc=reliable (tuned {since} or later)"))
            .fix(format!(
                "to omit it, define the option again in [bootloader] ({OPTION}=skew_tick=1), unless `clocksmith verify` \
                 has proven the TSC of these machines"
            ))
    }));
}

/// A name in `include=`.
struct Included {
    profile: (&'static str, &'static str),
    at: Range<usize>,
}

/// Returns the first such profile of each profile in a text, unless the profile omits the parameter again.
fn found(all: &[Line<'_>]) -> Vec<Included> {
    let mut found = Vec::new();
    let mut section = "";
    let mut current: Option<Included> = None;
    let mut omits = false;
    for line in all.iter().filter(|line| !line.is_comment()) {
        let trimmed = line.text.trim();
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
            if section == "main" {
                found.extend(current.take().filter(|_| !omits));
                omits = false;
            }
            continue;
        }
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        let (key, value) = (key.trim(), value.split('#').next().unwrap_or_default().trim());
        match section {
            // A later one replaces it.
            "main" if key == "include" => current = profile(line, value),
            "bootloader" => omits |= replaces(key, value),
            _ => {}
        }
    }
    found.extend(current.filter(|_| !omits));
    found
}

/// Returns the first of the names that adds the parameter.
fn profile(line: &Line<'_>, names: &str) -> Option<Included> {
    names.split([',', ';']).map(str::trim).find_map(|name| {
        let profile = *PROFILES.iter().find(|(known, _)| *known == name)?;
        let at = (name.as_ptr() as usize).checked_sub(line.text.as_ptr() as usize)?;
        let start = line.base + at;
        Some(Included { profile, at: start..start + name.len() })
    })
}

/// Whether a setting of `[bootloader]` omits what an included profile adds, or reports it itself.
fn replaces(key: &str, value: &str) -> bool {
    let on = listed("1 true yes y t", &value.to_ascii_lowercase());
    match key {
        "replace" => on,
        "enabled" => !on,
        "drop" => value.split([',', ';', ' ']).any(|name| name == OPTION),
        key if key.starts_with("cmdline") => key == OPTION || value.contains("tsc=reliable"),
        _ => false,
    }
}

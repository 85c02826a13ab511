//! OpenStack's Nova with libvirt: `nova.conf`, the output of `openstack flavor show` and `openstack image show`, and what
//! gives properties to flavors and images ([`given`]).
//!
//! They become the domain that nova makes, and are judged as that. Source: nova, virt/libvirt/driver.py,
//! _set_kvm_timers() (hpet by the image's property, off by default; hypervclock for os_type windows),
//! _get_guest_cpu_model_config(), _set_features() (hide_hypervisor_id); conf/libvirt.py.

mod given;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::Format;
use crate::formats::libvirt::made::Made;
use crate::guest::Guest;
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::text::Text;
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "nova",
    files: "nova.conf, and properties of OpenStack flavors and images",
    sample: ("nova.conf", "[libvirt]\nvirt_type = kvm\ncpu_mode = host-passthrough\n"),
    rules: rules!("nova"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

/// Keys of the section `[libvirt]`.
const KEYS: [&str; 6] = [
    "virt_type",
    "cpu_mode",
    "cpu_model",
    "cpu_models",
    "cpu_model_extra_flags",
    "hw_machine_type",
];
/// Keys from before Icehouse (2014.1), in the section `[DEFAULT]`: nova.virt.libvirt.driver, `deprecated_name`.
const OLD: [(&str, &str); 3] = [
    ("libvirt_type", "virt_type"),
    ("libvirt_cpu_mode", "cpu_mode"),
    ("libvirt_cpu_model", "cpu_model"),
];
/// Sections that nova.conf has besides `[libvirt]`, which may be empty.
const SECTIONS: [&str; 6] =
    ["[api_database]", "[placement]", "[glance]", "[neutron]", "[compute]", "[vnc]"];
/// Flags of a nova.conf from before Folsom, which has no sections.
const FLAGS: [&str; 6] = [
    "--libvirt_type=",
    "--connection_type=libvirt",
    "--sql_connection=",
    "--network_manager=nova.",
    "--image_service=nova.",
    "--scheduler_driver=nova.",
];
/// Properties that affect a clock.
const PROPERTIES: [&str; 7] = [
    "hw_time_hpet",
    "os_type",
    "hide_hypervisor_id",
    "hw:hide_hypervisor_id",
    "img_hide_hypervisor_id",
    "hw_machine_type",
    "os_distro",
];

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let section = clues.has(|line| line.trim_end() == "[libvirt]");
    let other = || {
        let is = |name: &&&str| clues.has(|line| line.trim_end() == **name);
        SECTIONS.iter().filter(is).count() >= 3
    };
    if section && (clues.keys(&KEYS, '=') >= 1 || clues.base().ends_with("nova.conf") || other()) {
        return Some(Sign::Keys);
    }
    let old = OLD.map(|(name, _)| name);
    if clues.keys(&old, '=') >= 1 && clues.has(|line| line.trim_end() == "[DEFAULT]") {
        return Some(Sign::Keys);
    }
    if clues.base().ends_with("nova.conf") && clues.has(|line| line.trim_end() == "[DEFAULT]") {
        return Some(Sign::Name);
    }
    // Before Folsom (2012.2): a file of flags.
    let flags = FLAGS.iter().filter(|flag| clues.has(|line| line.starts_with(**flag))).count();
    if flags >= 3 {
        return Some(Sign::Lines);
    }
    // A table of `openstack ... show`.
    let table = clues.has(|line| {
        let line = line.trim_start_matches(['|', ' ']);
        line.starts_with("properties ") && line.contains('|')
    });
    let named =
        clues.text.contains("hw:") || clues.text.contains("hw_") || clues.text.contains("os_type");
    if table && named {
        return Some(Sign::Lines);
    }
    // A script or a playbook that sets up a cloud does more than that.
    (given::in_tree(clues) || given::in_commands(clues.text)).then_some(Sign::Part)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let table = document.text.lines().any(|(_, line)| line.trim_start().starts_with('|'));
    if table {
        return properties(document);
    }
    if given::in_commands(document.text.as_str()) {
        return given::script(document);
    }
    if given::in_tree(&Clues::new(&document.name, document.text.as_str())) {
        return given::tree(document);
    }
    configuration(document)
}

/// Returns the entries of `[libvirt]`; the last one of a name applies, and a list continues in indented lines.
fn entries(text: &Text) -> Vec<(&str, &str, Range<usize>)> {
    let mut found: Vec<(&str, &str, Range<usize>)> = Vec::new();
    let mut old: Vec<(&str, &str, Range<usize>)> = Vec::new();
    let mut section = "";
    for (start, line) in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') {
            section = trimmed;
            continue;
        }
        // A flag of a file without sections.
        let flag = section.is_empty() && trimmed.starts_with("--");
        let inside = section == "[libvirt]";
        if !(inside || flag || section == "[DEFAULT]") || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some((key, value)) =
            line.split_once(['=', ':']).filter(|_| !line.starts_with([' ', '\t']))
        {
            let value = value.trim();
            let at = start + crate::text::offset(line, value);
            let key = key.trim();
            let key = key.strip_prefix("--").filter(|_| flag).unwrap_or(key);
            let now = OLD.iter().find(|(name, _)| *name == key).map(|(_, now)| *now);
            if let (false, Some(now), false) = (inside, now, value.is_empty()) {
                old.push((now, value, at..at + value.len()));
            } else if inside && !value.is_empty() {
                found.push((key, value, at..at + value.len()));
            }
        }
    }
    // The new names take precedence over the old ones, and the last one of a name over the others.
    old.extend(found);
    old
}

fn configuration(document: &Document) -> Result<Report, LintError> {
    let entries = entries(&document.text);
    let of = |name: &str| entries.iter().rev().find(|(key, _, _)| *key == name);
    let driver = of("virt_type").map_or("kvm", |(_, value, _)| value);
    let known = KEYS.iter().any(|key| of(key).is_some());
    // Another driver does not read the section.
    if !known || other_driver(document.text.as_str()) || !matches!(driver, "kvm" | "qemu") {
        return Ok(nothing(Guest::Unknown));
    }
    let first = entries.first().map_or(0..0, |(_, _, at)| at.clone());
    let mut made = Made { whole: first, ..Made::default() };
    made.kind = of("virt_type").map(|(_, value, at)| ((*value).to_owned(), at.clone()));
    // `x86_64=q35,aarch64=virt`.
    if let Some((_, value, _)) = of("hw_machine_type") {
        let machine = value.split(',').find_map(|one| one.trim().strip_prefix("x86_64="));
        made.machine = machine.map(str::to_owned);
    }
    match of("cpu_mode") {
        Some((_, "none", _)) => {}
        Some((_, mode, at)) => made.cpu.push(("mode", (*mode).to_owned(), at.clone())),
        None if driver == "kvm" => {
            made.cpu.push(("mode", "host-model".to_owned(), made.whole.clone()))
        }
        None => {}
    }
    if let Some((_, flags, at)) = of("cpu_model_extra_flags") {
        let mut start = at.start;
        for flag in flags.split(',') {
            let name = flag.trim().to_ascii_lowercase();
            let policy = if name.starts_with('-') { "disable" } else { "require" };
            let name = name.trim_start_matches(['+', '-']);
            if !name.is_empty() {
                made.features.push((name.to_owned(), policy.to_owned(), start..start + flag.len()));
            }
            start += flag.len() + 1;
        }
    }
    made.timers.push((timer("hpet", "no"), made.whole.clone()));
    let mut report = made.judge(document, say)?;
    // The guests' systems are set by images and flavors, not here.
    report.partial = true;
    Ok(report)
}

/// Whether nova uses a driver other than libvirt's: for bare metal, VMware or Hyper-V.
fn other_driver(text: &str) -> bool {
    let value = |line: &'_ str| -> Option<String> {
        let (key, value) = line.split_once('=')?;
        let named = matches!(key.trim(), "compute_driver" | "--compute_driver");
        named.then(|| value.trim().to_ascii_lowercase())
    };
    let last = text.lines().filter_map(value).next_back().unwrap_or_default();
    !last.is_empty() && !last.contains("libvirt") && !last.contains(['{', '$', '%', '<', '@'])
}

fn timer(name: &str, present: &str) -> Vec<(String, String)> {
    vec![("name".to_owned(), name.to_owned()), ("present".to_owned(), present.to_owned())]
}

/// `key='value', key='value'` in a table, or `key: value` of `-f yaml`.
fn properties(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let find = |name: &str| -> Option<(&str, Range<usize>)> {
        text.match_indices(name).find_map(|(at, _)| {
            let before = text.get(..at)?.chars().next_back();
            let begins = before.is_none_or(|c| c.is_whitespace() || "|,'\"{".contains(c));
            let rest = text.get(at + name.len()..)?.strip_prefix('=')?;
            let rest = rest.strip_prefix(['\'', '"']).unwrap_or(rest);
            let value =
                rest.split(['\'', '"', ',', ' ', '|', '\n']).next().filter(|it| !it.is_empty())?;
            begins.then(|| (value, at..crate::text::offset(text, value) + value.len()))
        })
    };
    judge(document, &find)
}

/// A value and its place, by the name of a property.
type Find<'f, 'a> = &'f dyn Fn(&str) -> Option<(&'a str, Range<usize>)>;

/// Returns whether a text names a property that affects a clock.
pub(super) fn mentions(text: &str) -> bool {
    PROPERTIES.iter().any(|name| text.contains(name))
}

/// Judges the machine that nova makes with these properties.
pub(super) fn judge(document: &Document, find: Find<'_, '_>) -> Result<Report, LintError> {
    let known: Vec<_> = PROPERTIES.iter().filter_map(|name| Some((*name, find(name)?))).collect();
    let of = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, it)| it.clone());
    let Some((_, (_, first))) = known.first() else { return Ok(nothing(Guest::Unknown)) };
    let mut made = Made { whole: first.clone(), ..Made::default() };
    let system = of("os_type").map(|(value, _)| value.to_ascii_lowercase());
    let by_name = of("os_distro").and_then(|(value, _)| Guest::of_words(value));
    made.declared = match system.as_deref() {
        Some("windows") => Some(Guest::Windows),
        Some("linux") => Some(Guest::Linux),
        _ => by_name,
    };
    if by_name == Some(Guest::Windows) {
        let words =
            ["os_distro", "os_version"].map(|name| find(name).map_or("", |(value, _)| value));
        made.system = Some(words.join(" "));
    }
    made.arch = find("hw_architecture").map(|(value, _)| value.to_owned());
    made.machine = of("hw_machine_type").map(|(value, _)| value.to_owned());
    made.cpu.push(("mode", "host-model".to_owned(), first.clone()));
    let hpet = of("hw_time_hpet").filter(|(value, _)| truth(value));
    let at = hpet.as_ref().map_or_else(|| first.clone(), |(_, at)| at.clone());
    made.timers.push((timer("hpet", if hpet.is_some() { "yes" } else { "no" }), at));
    if system.as_deref() == Some("windows") {
        made.timers.push((timer("hypervclock", "yes"), first.clone()));
    }
    let hidden = PROPERTIES.iter().filter(|name| name.contains("hide")).find_map(|name| of(name));
    made.hidden = hidden.filter(|(value, _)| truth(value)).map(|(_, at)| ("on".to_owned(), at));
    let mut report = made.judge(document, say)?;
    report.partial = true;
    Ok(report)
}

/// oslo.utils' bool_from_string().
fn truth(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "t" | "yes" | "y" | "on" | "1")
}

/// Returns the remedy for a rule, in the terms of OpenStack.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" => "openstack image set --property hw_time_hpet=false IMAGE",
        "lv-hypervclock-missing" => {
            "openstack image set --property os_type=windows IMAGE: nova then adds hypervclock"
        }
        "lv-kvm-hidden" => {
            "openstack flavor unset --property hw:hide_hypervisor_id FLAVOR, or img_hide_hypervisor_id of the image"
        }
        "lv-emulated" => "virt_type = kvm, if the host has KVM",
        "lv-invtsc-no-freq" => {
            "nova sets no TSC frequency: omit invtsc from cpu_model_extra_flags if instances are live-migrated"
        }
        _ => return None,
    })
}

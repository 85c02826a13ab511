//! VMware: `.vmx` files, lines of `key = "value"`; keys are matched without regard to case.
//! Vagrantfiles set them by `NAME.vmx["key"] = "value"`.
//!
//! Only settings that VMware or the kernel documents are judged. Scripts of `govc` or PowerCLI, and other hypervisors,
//! are not here.

mod script;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::{Format, vagrant};
use crate::guest::Guest;
use crate::guest::Known;
use crate::inner::nothing;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::template::in_plain_value;
use crate::text::offset;
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "vmware",
    files: "VMware",
    sample: ("a.vmx", "virtualHW.version = \"19\"\nguestOS = \"ubuntu-64\"\n"),
    rules: rules!("vmware"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys =
        ["virtualHW.version", ".encoding", "config.version", "guestOS", "guestos", "displayName"];
    if clues.keys(&keys, '=') >= 2 || clues.keys(&keys[..1], '=') == 1 {
        return Some(Sign::Keys);
    }
    if vagrant::is(clues.text) && clues.has(|line| vagrant::provides(line, "vmware")) {
        return Some(Sign::Words);
    }
    if script::any(clues) {
        return Some(Sign::Part);
    }
    clues.ends(&["vmx"]).then_some(Sign::Ending)
}

struct Entry<'a> {
    key: String,
    value: &'a str,
    /// The place of the value, without quotes.
    at: Range<usize>,
    /// The line without its end.
    span: Range<usize>,
}

fn entries(document: &Document) -> Vec<Entry<'_>> {
    let text = document.text.as_str();
    let of_vagrant = vagrant::is(text);
    let mut found = Vec::new();
    for (start, line) in document.text.lines() {
        let trimmed = line.trim_start_matches('\u{feff}').trim();
        if trimmed.starts_with('#') {
            continue;
        }
        let trimmed = script::printed(trimmed).unwrap_or(trimmed);
        let Some((key, value)) = trimmed.split_once('=') else { continue };
        let key = match of_vagrant {
            true => key.split_once(".vmx[").map_or("", |(_, key)| key),
            false => key,
        };
        let key = key.trim_matches([' ', '\t', '"', '\'', ']']).to_ascii_lowercase();
        if key.is_empty() || key.contains(char::is_whitespace) {
            continue;
        }
        let value = value.trim();
        // In a string of a shell, the quotes are escaped.
        let value = match value.strip_prefix('"').or_else(|| value.strip_prefix("\\\"")) {
            Some(rest) => rest.split(['"', '\\']).next().unwrap_or_default(),
            None if of_vagrant => {
                value.split(['\'', '#']).find(|it| !it.is_empty()).unwrap_or_default().trim()
            }
            None => value,
        };
        let end = start + line.len();
        let at = offset(text, value);
        let at = at..at + value.len();
        found.push(Entry { key, value, at, span: start..end });
    }
    found
}

fn truth(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" | "t" | "y" => Some(true),
        "false" | "0" | "no" | "off" | "f" | "n" => Some(false),
        _ => None,
    }
}

/// Prefixes of the ids of Linux.
const LINUX: &str = "ubuntu debian rhel redhat centos fedora sles suse opensuse asianux mandrake mandriva \
    turbolinux coreos vmware-photon photon rocky alma amazonlinux sjds crxsys crxpod gentoo";

/// Prefixes of the ids of other systems, which are as specific: ESXi itself, Solaris, and earlier systems.
const NAMED: &str = "vmkernel solaris openserver unixware netware os2 ecomstation dos";

/// Whether an id is of a guest for Arm, which has no TSC.
fn of_arm(id: &str) -> bool {
    id.to_ascii_lowercase().starts_with("arm-")
}

fn guest(id: &str) -> Guest {
    let id = id.to_ascii_lowercase();
    let id = id.strip_prefix("arm-").unwrap_or(&id).to_owned();
    let has = |names: &str| names.split(' ').any(|name| id.starts_with(name));
    // What replaces a placeholder is not known yet.
    let open = in_plain_value(&id) || id.starts_with("__") && id.ends_with("__");
    if id.is_empty() || open {
        Guest::Unknown
    } else if id.contains("linux") || has(LINUX) {
        Guest::Linux
    } else if id.starts_with("win") || id.starts_with("longhorn") {
        Guest::Windows
    } else if id.starts_with("darwin") {
        Guest::Macos
    } else if has("freebsd openbsd netbsd") {
        Guest::Bsd
    } else {
        Guest::Other
    }
}

pub(super) fn lint(document: &Document) -> Result<Report, LintError> {
    let entries = entries(document);
    let last = |key: &str| entries.iter().rev().find(|entry| entry.key == key);
    let on = |key: &str| last(key).and_then(|entry| truth(entry.value));
    // Every machine has some of these; without them the file is not a `.vmx` file, or is a part of one.
    let whole = last("config.version").is_some() || last("virtualhw.version").is_some();
    if entries.is_empty() && vagrant::is(document.text.as_str()) {
        return Ok(nothing(document.system(None, None, []).guest));
    }
    if entries.is_empty() {
        let what = "no line of the form key = \"value\": this is not a .vmx file";
        return Err(LintError::whole(what));
    }
    let os = last("guestos");
    let declared = os.map(|entry| guest(entry.value));
    // "other" does not name a system.
    let plain = os.map(|entry| entry.value.to_ascii_lowercase()).unwrap_or_default();
    let plain = plain.strip_prefix("arm-").unwrap_or(&plain);
    let specific = os.is_some() && !plain.starts_with("other");
    // ESXi on Arm also states it apart.
    let architecture = last("architecture").map(|entry| entry.value.to_ascii_lowercase());
    let arm = os.is_some_and(|entry| of_arm(entry.value))
        || architecture.is_some_and(|it| it.starts_with("arm") || it.starts_with("aarch64"));
    let named = NAMED.split(' ').any(|name| plain.starts_with(name));
    let (firm, hinted) = if specific { (declared, None) } else { (None, declared) };
    let guest = document.system(firm, hinted, []).guest;
    let head = entries.first().map_or(0..0, |entry| entry.span.clone());
    let mut findings = Vec::new();
    if let Some(entry) = last("tools.synctime") {
        match truth(entry.value) {
            Some(true) => findings.push(
                Finding::new(rule!("vmx-sync-on"), entry.span.clone())
                    .fix("tools.syncTime = \"FALSE\", once NTP or chrony runs in the guest"),
            ),
            Some(false) => findings.push(Finding::new(rule!("vmx-sync-off"), entry.span.clone())),
            None => {}
        }
    }
    if arm {
        return Ok(Report::of(Known::declared(guest), !whole, findings));
    }
    if on("monitor_control.virtual_rdtsc") == Some(false) {
        for entry in entries.iter().filter(|entry| entry.key == "monitor_control.virtual_rdtsc") {
            findings.push(
                Finding::new(rule!("vmx-rdtsc-not-virtualised"), entry.span.clone())
                    .fix("monitor_control.virtual_rdtsc = \"TRUE\", which is the default")
                    .edit(entry.at.clone(), "TRUE"),
            );
        }
    } else if whole {
        let span = os.map_or_else(|| head.clone(), |entry| entry.span.clone());
        findings.push(Finding::new(rule!("vmx-default-tsc-ok"), span));
    }
    if let Some(entry) = os.filter(|_| guest == Guest::Other && !named) {
        findings.push(
            Finding::new(rule!("vmx-guestos-other"), entry.span.clone())
                .fix("choose the guest's operating system"),
        );
    }
    if let Some(entry) = last("vcpu.hotadd").filter(|entry| truth(entry.value) == Some(true)) {
        findings.push(Finding::new(rule!("vmx-vcpu-hotadd"), entry.span.clone()));
    }
    if on("hypervisor.cpuid.v0") == Some(false)
        && on("monitor_control.restrict_backdoor") == Some(true)
        && let Some(entry) = last("hypervisor.cpuid.v0")
    {
        let names = [plain, last("displayname").map_or("", |entry| entry.value)];
        let none = guest == Guest::Windows || crate::guest::unaware(guest, names);
        let severity = if none { Severity::Info } else { Severity::Warn };
        findings.push(
            Finding::new(rule!("vmx-hypervisor-hidden"), entry.span.clone())
                .severity(severity)
                .fix("remove hypervisor.cpuid.v0 or monitor_control.restrict_backdoor"),
        );
    }
    Ok(Report::of(Known::declared(guest), !whole, findings))
}

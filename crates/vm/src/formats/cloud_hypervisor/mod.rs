//! Cloud Hypervisor: the configuration of a machine (`vm.create`), and scripts that start it.
//!
//! What must not live here: kernel parameters, which [`crate::parameters`] judges.

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::Finding;
use crate::formats::Format;
use crate::formats::firecracker::{boot_args, script};
use crate::guest::Guest;
use crate::json;
use crate::lint::{LintError, Report};

/// What is known of this kind.
pub(super) const FORMAT: Format = Format {
    name: "cloud-hypervisor",
    files: "Cloud Hypervisor",
    sample: ("vm.json", "{\"cpus\": {\"boot_vcpus\": 2}, \"payload\": {\"cmdline\": \"notsc\"}}"),
    rules: rules!("rules.md"),
    detect,
    lint,
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = ["boot_vcpus", "max_vcpus"].iter().any(|key| clues.quotes(key));
    (keys || (clues.quotes("payload") && clues.quotes("cpus"))).then_some(Sign::Json)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        // A script that starts it, or talks to its socket.
        findings.extend(script(document));
        return Ok(Report {
            guest: Guest::Unknown,
            guessed: false,
            partial: true,
            findings,
            ignored: 0,
        });
    }
    let json = json::read(document)?;
    for leaf in
        json.leaves.iter().filter(|leaf| leaf.ends(&["cmdline"]) || leaf.ends(&["cmdline", "args"]))
    {
        boot_args(&json, leaf, &mut findings);
    }
    let said = |path: &[&str]| json.at(path).and_then(|leaf| json.text.get(leaf.span.clone()));
    // A command line is for a Linux kernel that is started without firmware.
    let linux = json.leaves.iter().any(|leaf| {
        (leaf.ends(&["payload", "cmdline"]) || leaf.ends(&["cmdline", "args"]))
            && json.plain(leaf).is_none_or(|(text, _)| !text.is_empty())
    });
    let guest = if linux { Guest::Linux } else { Guest::Unknown };
    if let Some(leaf) = json.at(&["cpus", "kvm_hyperv"])
        && said(&["cpus", "kvm_hyperv"]) == Some("true")
    {
        findings.push(if linux {
            Finding::new(rule!("ch-kvm-hyperv-linux"), leaf.span.clone())
                .fix("\"kvm_hyperv\": false")
                .edit(leaf.span.clone(), "false")
        } else {
            Finding::new(rule!("ch-kvm-hyperv-ok"), leaf.span.clone())
        });
    }
    let number = |path: &[&str]| said(path).and_then(|text| text.parse::<u64>().ok());
    if let (Some(boot), Some(most)) =
        (number(&["cpus", "boot_vcpus"]), number(&["cpus", "max_vcpus"]))
        && most > boot
        && let Some(leaf) = json.at(&["cpus", "max_vcpus"])
    {
        findings.push(Finding::new(rule!("ch-vcpu-hotplug"), leaf.span.clone()));
    }
    Ok(Report {
        guest,
        guessed: false,
        partial: json.value.get("payload").is_none(),
        findings,
        ignored: 0,
    })
}

//! Cloud Hypervisor: the configuration of a machine (`vm.create`), and scripts that start it.
//!
//! What must not live here: kernel parameters, which [`crate::parameters`] judges.

#[cfg(test)]
mod tests;

use crate::document::Document;
use crate::finding::{Finding, Rule, Severity};
use crate::firecracker::{boot_args, script};
use crate::guest::Guest;
use crate::json;
use crate::lint::{LintError, Report};

const API: &str =
    "Cloud Hypervisor, vmm/src/api/openapi/cloud-hypervisor.yaml, CpusConfig, 40 and later";

const HYPERV_LINUX: Rule = Rule {
    id: "ch-kvm-hyperv-linux",
    severity: Severity::Warn,
    summary: "Hyper-V's interface for a Linux guest",
    why: "Linux then takes the machine for Hyper-V and has no kvm-clock; it is meant for Windows",
    risk: "none known in leaving it out",
    source: API,
};
const HYPERV: Rule = Rule {
    id: "ch-kvm-hyperv-ok",
    severity: Severity::Info,
    summary: "Hyper-V's interface is on",
    why: "right for Windows, which gets a reference TSC page",
    risk: "a Linux guest would take the machine for Hyper-V",
    source: API,
};
const HOTPLUG: Rule = Rule {
    id: "ch-vcpu-hotplug",
    severity: Severity::Info,
    summary: "vCPUs can be added while the guest runs",
    why: "look for messages about the TSC in the guest's kernel log after adding one",
    risk: "none",
    source: API,
};

/// The rules of this kind.
pub(crate) const RULES: &[&Rule] = &[&HYPERV_LINUX, &HYPERV, &HOTPLUG];

pub(crate) fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    if !text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
        // A script that starts it, or talks to its socket.
        findings.extend(script(document));
        return Ok(Report { guest: Guest::Unknown, partial: true, findings });
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
            Finding::new(&HYPERV_LINUX, leaf.span.clone())
                .fix("\"kvm_hyperv\": false")
                .edit(leaf.span.clone(), "false")
        } else {
            Finding::new(&HYPERV, leaf.span.clone())
        });
    }
    let number = |path: &[&str]| said(path).and_then(|text| text.parse::<u64>().ok());
    if let (Some(boot), Some(most)) =
        (number(&["cpus", "boot_vcpus"]), number(&["cpus", "max_vcpus"]))
        && most > boot
        && let Some(leaf) = json.at(&["cpus", "max_vcpus"])
    {
        findings.push(Finding::new(&HOTPLUG, leaf.span.clone()));
    }
    Ok(Report { guest, partial: json.value.get("payload").is_none(), findings })
}

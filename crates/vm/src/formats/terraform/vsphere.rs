//! `vsphere_virtual_machine` of the provider vmware/vsphere: judged as the `.vmx` file that vCenter writes for it.
//!
//! `extra_config` has the keys of that file, and `guest_id` names the same systems. Source: the provider's page
//! `virtual_machine`.

use crate::document::Document;
use crate::finding::Severity;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::inner::{Inner, each, said};
use crate::lint::{LintError, Report};
use crate::placed::UNKNOWN;
use crate::yaml::{Key, Node};
use std::ops::Range;

/// The kind of the resource.
pub(super) const VSPHERE: &str = "vsphere_virtual_machine";

/// The argument for a periodic synchronisation, from vSphere 7.0 Update 1 on.
const PERIODIC: &str = "sync_time_with_host_periodically";
/// The argument that earlier versions of vSphere take for it.
const SYNC: &str = "sync_time_with_host";

pub(super) fn judge(document: &Document, key: &Key, node: &Node) -> Result<Report, LintError> {
    let mut inner = Inner::new(Kind::Vmware, document, key.span.clone());
    inner.object = Some(format!("{VSPHERE}.{}", key.name));
    inner.declared = customised(node);
    let mut settings: Vec<(&str, &str, &Range<usize>)> = Vec::new();
    // A setting that is computed elsewhere may be any of these.
    let mut hidden = false;
    for (name, argument) in [("guestOS", "guest_id"), ("vcpu.hotadd", "cpu_hot_add_enabled")] {
        settings.extend(said(node, &[argument]).map(|(value, at)| (name, value, at)));
    }
    let periodic = said(node, &[PERIODIC]);
    let sync = periodic.or_else(|| said(node, &[SYNC]));
    settings.extend(sync.map(|(value, at)| ("tools.syncTime", value, at)));
    for config in each(node, &["extra_config"]) {
        let Node::Map { entries, .. } = config else {
            hidden = true;
            continue;
        };
        for (key, node) in entries {
            match node.scalar().filter(|_| plain(&key.name)) {
                Some((value, at)) => settings.push((&key.name, value, at)),
                None => hidden = true,
            }
        }
    }
    let unknown = |value: &str| value.contains(UNKNOWN) || value.contains(['"', '\n', '\r']);
    hidden |= settings.iter().any(|(_, value, _)| unknown(value));
    inner.partial = hidden;
    if !hidden {
        inner.own("config.version = \"8\"\n");
    }
    inner.own("displayName = \"a\"\n");
    for (name, value, at) in settings.into_iter().filter(|(_, value, _)| !unknown(value)) {
        inner.own(&format!("{name} = \""));
        inner.value(document, value, at);
        inner.own("\"\n");
    }
    let mut report = inner.judge(document, say)?;
    for finding in report.findings.iter_mut().filter(|_| periodic.is_none()) {
        match finding.rule.id {
            id if id == rule!("vmx-sync-on").id => {
                finding.severity = Severity::Info;
                finding.summary = Some(
                    "on a vSphere before 7.0 Update 1, VMware Tools sets the guest's time every minute"
                        .to_owned(),
                );
            }
            _ => {}
        }
    }
    Ok(report)
}

/// Whether a name of a setting can be one of a line.
fn plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// The system for which a clone is customised.
fn customised(node: &Node) -> Option<Guest> {
    let has = |options: &str| !each(node, &["clone", "customize", options]).is_empty();
    match (has("linux_options"), has("windows_options")) {
        (true, false) => Some(Guest::Linux),
        (false, true) => Some(Guest::Windows),
        _ => None,
    }
}

/// Returns the remedy for a rule, in the terms of the provider.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "vmx-sync-on" => "set it to false, once NTP or chrony runs in the guest",
        "vmx-rdtsc-not-virtualised" => {
            "remove monitor_control.virtual_rdtsc from extra_config: TRUE is the default"
        }
        "vmx-guestos-other" => "choose the guest's operating system in guest_id",
        "vmx-hypervisor-hidden" => {
            "remove hypervisor.cpuid.v0 or monitor_control.restrict_backdoor from extra_config"
        }
        _ => return None,
    })
}

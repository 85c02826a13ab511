//! Ansible tasks that create a Proxmox VE machine by the module `proxmox_kvm`: its options are the keys of the
//! machine's file, which is judged. Nothing is changed in them.
//!
//! Source: community.proxmox, plugins/modules/proxmox_kvm.py, `create_vm()`.

use crate::document::Document;
use crate::formats::pve::Machine;
use crate::inner::{MOST_MACHINES, said, together};
use crate::lint::{LintError, Report};
use crate::yaml::{self, Key, Node};

/// Names of the module.
const MODULES: [&str; 3] =
    ["community.general.proxmox_kvm", "community.proxmox.proxmox_kvm", "proxmox_kvm"];
/// Options that are keys of the machine's file and affect a clock, or name the guest's system.
const KEYS: [&str; 9] =
    ["ostype", "cpu", "args", "machine", "bios", "arch", "name", "efidisk0", "tdf"];
/// Options that occur only where a machine is created or changed.
const MADE: [&str; 8] = ["ostype", "cpu", "args", "kvm", "cores", "memory", "machine", "scsihw"];

fn is_module(name: &str) -> bool {
    MODULES.contains(&name)
}

/// Whether a text has a task of the module.
pub(super) fn any(text: &str) -> bool {
    text.contains("proxmox_kvm:")
        && text.lines().any(|line| {
            let line = line.trim_start();
            let line = line.strip_prefix("- ").map_or(line, str::trim_start);
            line.split_once(':').is_some_and(|(name, _)| is_module(name))
        })
}

pub(super) fn lint(document: &Document) -> Result<Report, LintError> {
    let documents = yaml::parse(document.text.as_str())?;
    let mut tasks: Vec<(&Key, &Node)> = Vec::new();
    for root in &documents {
        root.find(&mut |map| {
            let Node::Map { entries, .. } = map else { return false };
            let task = entries.iter().find(|(key, _)| is_module(&key.name));
            tasks.extend(task.map(|(key, options)| (key, options)));
            task.is_some()
        });
    }
    let made = |options: &&(&Key, &Node)| MADE.iter().any(|key| options.1.entry(key).is_some());
    let reports = tasks.iter().filter(made).take(MOST_MACHINES).map(|task| judge(document, task));
    let report = together(reports.collect::<Result<Vec<_>, _>>()?).map(|mut report| {
        for finding in report.findings.iter_mut().filter(|it| !it.edits.is_empty()) {
            finding.edits.clear();
            finding.left = Some("a playbook gives it to Proxmox VE".to_owned());
        }
        report
    });
    report.ok_or_else(|| LintError::whole("it has no task that makes a Proxmox VE machine"))
}

fn judge(document: &Document, (key, options): &(&Key, &Node)) -> Result<Report, LintError> {
    let name = said(options, &["name"]).map_or("proxmox_kvm", |(name, _)| name);
    let mut machine = Machine::new(document, key.span.clone(), name.to_owned());
    let mut add = |name: &str, node: &Node| {
        let value = node.scalar().filter(|(value, _)| !value.contains("{{"));
        match value {
            Some(value) => machine.key(name, &[("", Some(value))]),
            None => machine.partial(),
        }
    };
    for name in KEYS {
        if let Some((_, node)) = options.entry(name) {
            add(name, node);
        }
    }
    for list in ["ide", "sata", "scsi", "hostpci"] {
        if let Some((_, Node::Map { entries, .. })) = options.entry(list) {
            entries.iter().for_each(|(key, node)| add(&key.name, node));
        }
    }
    if let Some((_, node)) = options.entry("kvm") {
        match node.truth() {
            Some(false) => machine.key("kvm", &[("0", None)]),
            Some(true) => {}
            None => machine.partial(),
        }
    }
    // The machine may have been created by another task.
    machine.partial();
    machine.judge(say)
}

/// Returns the remedy for a rule, in the terms of the module.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "pve-kvm-disabled" => "kvm: true",
        "pve-kvm-hidden" => "remove hidden=1 from cpu:",
        "pve-ostype-windows-unset" => "ostype: win10 or win11, as it is",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::formats::Kind;
    use crate::testing;

    fn bad(options: &str) -> Vec<&'static str> {
        let text = format!(
            "- hosts: localhost\n  tasks:\n    - name: a\n      community.general.proxmox_kvm:\n        node: pve\n{options}"
        );
        testing::bad(Kind::Proxmox, "play.yml", &text)
    }

    #[test]
    fn options_are_keys_of_the_machine() {
        let linux = "        name: web\n        cores: 2\n        ostype: l26\n";
        assert_eq!(bad(linux), [""; 0]);
        assert_eq!(bad(&format!("{linux}        kvm: false\n")), ["pve-kvm-disabled"]);
        assert_eq!(bad(&format!("{linux}        cpu: host,hidden=1\n")), ["pve-kvm-hidden"]);
        let args = bad(&format!("{linux}        args: '-cpu host,-hypervisor'\n"));
        for id in ["pve-args-cpu-override", "q-hypervisor-hidden"] {
            assert!(args.contains(&id), "{args:?}");
        }
        let image = "        ide:\n          ide2: 'local:iso/windows-2022.iso,media=cdrom'\n";
        assert_eq!(bad(&format!("{linux}{image}")), ["pve-ostype-contradicts-name"]);
        assert_eq!(bad(&format!("{linux}        args: '{{{{ args }}}}'\n")), [""; 0]);
    }

    #[test]
    fn only_a_task_that_makes_a_machine_counts() {
        let text = |task: &str| format!("- hosts: a\n  tasks:\n    - {task}\n");
        let kind = |text: &str| Kind::detect("play.yml", text);
        assert_eq!(kind(&text("proxmox_kvm: {name: a, kvm: no, cores: 1}")), Some(Kind::Proxmox));
        assert_eq!(kind(&text("debug: {msg: 'use proxmox_kvm: here'}")), None);
    }
}

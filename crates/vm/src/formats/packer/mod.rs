//! Packer templates, in HCL2 and JSON: machines of the builders of QEMU, VirtualBox, VMware, vCenter and Proxmox VE.
//!
//! They are translated to a QEMU or `VBoxManage` command line, a `.vmx` or a Proxmox VE machine, which is checked.
//! Source: packer-plugin-qemu, builder/qemu/step_run.go (getDefaultArgs(), and qemuargs that replace a default of the
//! same option); the pages of the other builders.

mod signs;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::pve::Machine;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::inner::{Inner, MOST_MACHINES, each, machines, nothing, said};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::placed::UNKNOWN;
use crate::yaml::Node;
use crate::{hcl, json};
use std::collections::HashMap;
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "packer",
    files: "Packer templates",
    sample: ("a.pkr.hcl", "source \"qemu\" \"a\" {\n  qemuargs = [[\"-cpu\", \"host\"]]\n}\n"),
    rules: rules!("packer"),
    detect,
    lint,
    limits: Limits { programs: true, placeholders: true, doubtful: limits::json, ..Limits::PLAIN },
    qemu: None,
};

/// The builders whose machines are known, and the function that judges each.
const BUILDERS: [(&str, Judge); 13] = [
    ("qemu", qemu),
    ("virtualbox-iso", virtualbox),
    ("virtualbox-ovf", virtualbox),
    ("virtualbox-vm", virtualbox),
    ("vmware-iso", vmware),
    ("vmware-vmx", vmware),
    ("proxmox", proxmox),
    ("proxmox-iso", proxmox),
    ("proxmox-clone", proxmox),
    ("vsphere-iso", vsphere),
    ("vsphere-clone", vsphere),
    ("hyperv-iso", hyperv),
    ("hyperv-vmcx", hyperv),
];

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let is = |name: &str| BUILDERS.iter().any(|(builder, _)| *builder == name);
    let typed = || BUILDERS.iter().any(|(name, _)| clues.quotes(name));
    if clues.quotes("builders") && clues.quotes("type") && typed() {
        return Some(Sign::Json);
    }
    let source = |line: &str| {
        let rest = line.strip_prefix("source").filter(|rest| rest.starts_with([' ', '\t', '"']));
        // A label may be without quotes; `source = ...` is an attribute.
        hcl::first_label(rest.unwrap_or_default()).is_some_and(is)
    };
    if clues.has(source) {
        return Some(Sign::Declared);
    }
    // Builders of clouds and containers have no setting of a clock.
    let other = |line: &str| {
        let rest = line.strip_prefix("source").filter(|rest| rest.starts_with([' ', '\t', '"']));
        hcl::first_label(rest.unwrap_or_default()).is_some()
    };
    let list = || {
        let text: String = clues.text.chars().filter(|c| !c.is_whitespace()).collect();
        text.contains("\"builders\":[{")
    };
    let template = clues.quotes("builders") && clues.quotes("type") && list()
        || clues.base().ends_with(".pkr.hcl") && clues.has(other);
    template.then_some(Sign::Name)
}

type Judge = fn(&Source<'_>) -> Result<Report, LintError>;

/// A machine of a builder.
struct Source<'a> {
    document: &'a Document,
    node: &'a Node,
    name: String,
    object: String,
    whole: Range<usize>,
    /// Variables of a template in JSON.
    variables: &'a HashMap<String, String>,
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let begins = document.text.as_str().trim_start_matches('\u{feff}').trim_start();
    let mut variables = HashMap::new();
    let mut reports = Vec::new();
    let mut judge = |node: &Node,
                     builder: &str,
                     name: &str,
                     whole: &Range<usize>,
                     variables: &HashMap<String, String>| {
        let Some((_, judge)) = BUILDERS.iter().find(|(known, _)| *known == builder) else {
            return Ok(());
        };
        if reports.len() >= MOST_MACHINES {
            return Ok(());
        }
        let source = Source {
            document,
            node,
            name: name.to_owned(),
            object: format!("{builder}.{name}"),
            whole: whole.clone(),
            variables,
        };
        let mut report = judge(&source)?;
        // A system that is only inferred changes nothing.
        report.guessed |= document.guest.is_none() && source.guesses();
        reports.push(report);
        Ok(())
    };
    if begins.starts_with('{') {
        let tree = json::tree(document)?;
        for node in each(&tree, &["variables"]) {
            let Node::Map { entries, .. } = node else { continue };
            variables.extend(
                entries.iter().filter_map(|(key, node)| {
                    Some((key.name.clone(), node.scalar()?.0.to_owned()))
                }),
            );
        }
        for node in each(&tree, &["builders"]) {
            let Some((builder, at)) = said(node, &["type"]) else { continue };
            let name = said(node, &["name"]).map_or(builder, |(name, _)| name);
            judge(node, builder, name, at, &variables)?;
        }
    } else {
        let tree = hcl::parse(document.text.as_str())?;
        for node in each(&tree, &["source"]) {
            let Node::Map { entries, .. } = node else { continue };
            for (builder, named) in entries {
                let Node::Map { entries, .. } = named else { continue };
                for (name, node) in entries {
                    judge(node, &builder.name, &name.name, &builder.span, &variables)?;
                }
            }
        }
    }
    Ok(machines(reports).unwrap_or_else(|| nothing(Guest::Unknown)))
}

impl<'a> Source<'a> {
    /// A value without the templates that are filled in later.
    fn value(&self, path: &[&str]) -> Option<(String, &'a Range<usize>)> {
        let (value, at) = said(self.node, path)?;
        Some((self.filled(value), at))
    }

    /// Replaces `{{user `x`}}` by the variable's default; other templates are not known.
    fn filled(&self, value: &str) -> String {
        let mut out = String::new();
        let mut rest = value;
        while let Some((before, after)) = rest.split_once("{{") {
            out.push_str(before);
            let Some((inside, behind)) = after.split_once("}}") else {
                out.push(UNKNOWN);
                return out;
            };
            let name = inside.trim().strip_prefix("user").and_then(|it| it.split('`').nth(1));
            match name.and_then(|name| self.variables.get(name)).filter(|it| !it.contains("{{")) {
                Some(default) => out.push_str(default),
                None => out.push(UNKNOWN),
            }
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    /// Returns whether the type of the system is for the caller to set: a variable whose default names no system.
    fn open_type(&self) -> bool {
        let Some((value, at)) = self.value(&["guest_os_type"]) else { return false };
        let text = self.document.text.slice(at.clone());
        let variable = ["var.", "local.", "{{"].iter().any(|mark| text.contains(mark));
        variable && value.to_ascii_lowercase().starts_with("other")
    }

    /// Returns Windows if the template declares or shows it. Only Windows is installed over WinRM. Other signs of
    /// Windows are used if the builder's own type of the system is absent.
    fn declared(&self) -> Option<Guest> {
        (self.winrm() || self.guesses()).then_some(Guest::Windows)
    }

    fn winrm(&self) -> bool {
        self.value(&["communicator"]).is_some_and(|(value, _)| value == "winrm")
    }

    /// Returns whether commands and files of the installation are the only signs of Windows.
    fn guesses(&self) -> bool {
        !self.winrm() && !self.typed() && signs::of_windows(self)
    }

    /// Returns whether the builder gets a known type of the system; without one VirtualBox and VMware take "other".
    fn typed(&self) -> bool {
        let plain = |value: &str| {
            value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        match self.value(&["guest_os_type"]) {
            Some((value, _)) => plain(&value),
            None => !self.object.starts_with("qemu."),
        }
    }

    fn inner(&self, kind: Kind) -> Inner {
        let mut inner = Inner::new(kind, self.document, self.whole.clone());
        inner.declared = self.declared();
        if self.guesses() {
            // The caller's choice is more certain.
            inner.declared = self.document.guest.or(inner.declared);
        }
        inner.object = Some(self.object.clone());
        inner
    }
}

fn qemu(source: &Source<'_>) -> Result<Report, LintError> {
    let document = source.document;
    let mut inner = source.inner(Kind::Qemu);
    let whole = &source.whole;
    let or = |path: &str, default: &str| {
        source
            .value(&[path])
            .map_or_else(|| (default.to_owned(), whole.clone()), |(value, at)| (value, at.clone()))
    };
    let (program, at) = or("qemu_binary", "qemu-system-x86_64");
    let known = !program.contains(UNKNOWN);
    let program =
        if known && program.contains("qemu") { program } else { "qemu-system-x86_64".to_owned() };
    inner.word(document, &program, &at);
    let mut rows: Vec<Vec<(String, Range<usize>)>> = Vec::new();
    let mut open = false;
    for list in direct(source.node, "qemuargs") {
        open |= !matches!(list, Node::List { .. })
            && !list.scalar().is_some_and(|(_, at)| aside(document, at));
        for row in list.items() {
            let words = row.items().iter().filter_map(Node::scalar);
            let words: Vec<_> =
                words.map(|(value, at)| (source.filled(value), at.clone())).collect();
            open |= words.is_empty() && !row.scalar().is_some_and(|(_, at)| aside(document, at));
            rows.push(words);
        }
    }
    let given = |option: &str| {
        rows.iter()
            .any(|row| row.first().is_some_and(|(word, _)| word.trim_start_matches('-') == option))
    };
    if !given("machine") {
        let (machine, at) = or("machine_type", "pc");
        open |= machine.contains(UNKNOWN);
        let machine = if known { machine } else { UNKNOWN.to_string() };
        inner.word(document, "-machine", whole);
        // Packer chooses KVM if it can open /dev/kvm, and otherwise the emulator (builder/qemu/config.go, Prepare()).
        let (accelerator, _) = or("accelerator", "kvm:tcg");
        let accelerator =
            if accelerator == "none" { String::new() } else { format!(",accel={accelerator}") };
        inner.word(document, &format!("type={machine}{accelerator}"), &at);
    }
    if !given("cpu")
        && let Some((model, at)) = source.value(&["cpu_model"])
    {
        inner.word(document, "-cpu", whole);
        inner.word(document, &model, at);
    }
    if !given("name") {
        let (name, at) = or("vm_name", &source.name);
        let name = if name.contains(UNKNOWN) { source.name.clone() } else { name };
        inner.word(document, "-name", whole);
        inner.word(document, &name, &at);
    }
    if let Some((image, at)) = source.value(&["iso_url"]) {
        inner.word(document, "-cdrom", whole);
        inner.word(document, &image, at);
    }
    for row in &rows {
        if let Some((option, at)) = row.first() {
            inner.word(document, option, at);
        }
        match row.get(1..) {
            Some([(value, at)]) => inner.word(document, value, at),
            // Several values are joined.
            Some([(_, at), ..]) => {
                let all: String = row.iter().skip(1).map(|(value, _)| value.as_str()).collect();
                inner.word(document, &all, at);
            }
            _ => {}
        }
    }
    if open {
        inner.word(document, &UNKNOWN.to_string(), whole);
    }
    inner.own("\n");
    inner.open = open;
    let mut report = inner.judge(document, say)?;
    // The machine exists only while the image is built.
    let short = |it: &&mut Finding| it.rule.id == rule!("q-hpet-default-on").id;
    for finding in report.findings.iter_mut().filter(short) {
        finding.severity = Severity::Info;
        finding.edits.clear();
    }
    Ok(report)
}

/// Returns whether an expression that is not followed has literal options, none of which affects a clock.
fn aside(document: &Document, at: &Range<usize>) -> bool {
    const MATTER: [&str; 9] =
        ["cpu", "machine", "\"-M\"", "hpet", "accel", "kvm", "local.", "(", "readconfig"];
    let text = document.text.slice(at.clone());
    text.contains("[\"-") && !MATTER.iter().any(|word| text.contains(word))
}

/// Returns the values of a key, with lists unchanged.
fn direct<'a>(node: &'a Node, name: &str) -> Vec<&'a Node> {
    let Node::Map { entries, .. } = node else { return Vec::new() };
    entries.iter().filter(|(key, _)| key.name == name).map(|(_, node)| node).collect()
}

/// Returns a word without characters that a shell or a list interprets.
fn tame(value: &str) -> String {
    value.replace(UNKNOWN, "{{unknown}}").replace(['"', '\\', '`', '\n', '\r'], "")
}

fn virtualbox(source: &Source<'_>) -> Result<Report, LintError> {
    let document = source.document;
    let mut inner = source.inner(Kind::Virtualbox);
    inner.name = "template.sh".to_owned();
    // A machine that is imported, or that already exists, has settings that the template does not
    // show.
    let exists =
        source.object.starts_with("virtualbox-ovf.") || source.object.starts_with("virtualbox-vm.");
    let open = source.open_type();
    inner.partial |= exists || open;
    inner.own(match exists || open {
        true => "VBoxManage modifyvm vm\n",
        false => "VBoxManage createvm --name vm --register\n",
    });
    let options = [("--ostype", "guest_os_type"), ("--cpus", "cpus")];
    for (option, path) in options.into_iter().skip(usize::from(open)) {
        if let Some((value, at)) = source.value(&[path]) {
            inner.own(&format!("VBoxManage modifyvm vm {option} \""));
            inner.value(document, &tame(&value), at);
            inner.own("\"\n");
        }
    }
    for list in ["vboxmanage", "vboxmanage_post"] {
        for rows in direct(source.node, list) {
            inner.partial |= !matches!(rows, Node::List { .. });
            for row in rows.items() {
                let words: Vec<_> = row.items().iter().filter_map(Node::scalar).collect();
                let Some((command, at)) = words.first() else { continue };
                inner.own("VBoxManage ");
                inner.add(&tame(command), at);
                inner.own(" vm");
                for (value, at) in words.iter().skip(2) {
                    inner.own(" \"");
                    inner.value(document, &tame(&source.filled(value)), at);
                    inner.own("\"");
                }
                inner.own("\n");
            }
        }
    }
    inner.judge(document, |_| None)
}

fn vmware(source: &Source<'_>) -> Result<Report, LintError> {
    of_vmware(source, |_| None)
}

/// vCenter has its own terms for the functions of VMware Tools.
fn vsphere(source: &Source<'_>) -> Result<Report, LintError> {
    of_vmware(source, |id| {
        (id == rule!("vmx-sync-on").id)
            .then_some("tools_sync_time = false, once NTP or chrony runs in the guest")
    })
}

fn of_vmware(
    source: &Source<'_>,
    words: fn(&str) -> Option<&'static str>,
) -> Result<Report, LintError> {
    let document = source.document;
    let mut inner = source.inner(Kind::Vmware);
    let (version, at) =
        source.value(&["version"]).unwrap_or_else(|| ("19".to_owned(), &source.whole));
    let mut line = |key: &str, value: &str, at: &Range<usize>| {
        inner.add(&tame(key), at);
        inner.own(" = \"");
        inner.value(document, &tame(value), at);
        inner.own("\"\n");
    };
    line("virtualHW.version", &version, at);
    if let Some((system, at)) = source.value(&["guest_os_type"]) {
        line("guestOS", &system, at);
    }
    if let Some((cpus, at)) = source.value(&["cpus"]) {
        line("numvcpus", &cpus, at);
    }
    if let Some((on, at)) = source.value(&["tools_sync_time"]) {
        line("tools.syncTime", &on, at);
    }
    for list in ["vmx_data", "vmx_data_post", "configuration_parameters"] {
        for node in each(source.node, &[list]) {
            let Node::Map { entries, .. } = node else { continue };
            for (key, node) in entries {
                if let Some((value, at)) = node.scalar() {
                    line(&key.name, &source.filled(value), at);
                }
            }
        }
    }
    inner.partial = source.value(&["guest_os_type"]).is_none();
    inner.judge(document, words)
}

fn proxmox(source: &Source<'_>) -> Result<Report, LintError> {
    let mut machine = Machine::new(source.document, source.whole.clone(), source.object.clone());
    let name = source.value(&["vm_name"]).filter(|(name, _)| !name.contains(UNKNOWN));
    machine.key(
        "name",
        &[(
            "",
            name.as_ref()
                .map(|(name, at)| (name.as_str(), *at))
                .or(Some((source.name.as_str(), &source.whole))),
        )],
    );
    for (key, path) in [("ostype", "os"), ("cpu", "cpu_type"), ("args", "qemu_additional_args")] {
        if let Some((value, at)) = source.value(&[path]) {
            machine.key(key, &[("", Some((value.as_str(), at)))]);
        }
    }
    if source.value(&["disable_kvm"]).is_some_and(|(value, _)| value == "true") {
        machine.key("kvm", &[("0", None)]);
    }
    if !each(source.node, &["pci_devices"]).is_empty() {
        machine.key("hostpci0", &[("host", None)]);
    }
    machine.judge(say)
}

/// Hyper-V has no settings of the guest's clock.
fn hyperv(source: &Source<'_>) -> Result<Report, LintError> {
    Ok(nothing(source.document.system(source.declared(), None, []).guest))
}

/// Returns the remedy for a rule, in the terms of Packer.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "q-hpet-default-on" => {
            "[\"-machine\", \"type=TYPE,accel=kvm,hpet=off\"] in qemuargs, which replaces machine_type and accelerator"
        }
        "q-hv-time-missing" => {
            "[\"-cpu\", \"host,hv-time,hv-relaxed,hv-vapic,hv-spinlocks=0x1fff\"] in qemuargs"
        }
        "q-emulated" => {
            "if the host has KVM: accelerator = \"kvm\", and accel=kvm in a -machine of qemuargs, which \
             replaces it"
        }
        "pve-args-cpu-override" => "put it in cpu_type; then remove -cpu from qemu_additional_args",
        "pve-kvm-disabled" => "remove disable_kvm",
        _ => return None,
    })
}

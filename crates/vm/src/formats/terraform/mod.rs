//! Terraform and OpenTofu, in HCL and JSON: machines of the providers dmacvicar/libvirt, bpg/proxmox, Telmate/proxmox,
//! vmware/vsphere, lxc/incus and terraform-lxd/lxd.
//!
//! They are translated to a libvirt domain, or to a Proxmox VE, VMware or Incus machine, which is checked. Source: the
//! providers' pages of `libvirt_domain` (0.8, 0.9), `proxmox_virtual_environment_vm`, `proxmox_vm_qemu` and
//! `incus_instance`.

#[cfg(test)]
mod tests;
mod vsphere;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::Format;
use crate::formats::libvirt::made::{Made, Pairs};
use crate::formats::pve::Machine;
use crate::guest::Guest;
use crate::inner::{MOST_MACHINES, each, machines, nothing, said, together};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::placed::UNKNOWN;
use crate::text::Text;
use crate::xml::Tree;
use crate::yaml::{Key, Node};
use crate::{hcl, json};
use std::ops::Range;
use vsphere::VSPHERE;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "terraform",
    files: "Terraform with libvirt, Proxmox VE or vSphere",
    sample: ("main.tf", "resource \"libvirt_domain\" \"a\" {\n  name = \"a\"\n}\n"),
    rules: rules!("terraform"),
    detect,
    lint,
    limits: Limits { programs: true, doubtful: limits::json, ..Limits::PLAIN },
    qemu: None,
};

/// The kinds of resources that are machines.
const LIBVIRT: &str = "libvirt_domain";
const BPG: &str = "proxmox_virtual_environment_vm";
const TELMATE: &str = "proxmox_vm_qemu";
/// Instances and profiles of the providers lxc/incus and terraform-lxd/lxd.
const INCUS: [&str; 4] = ["incus_instance", "incus_profile", "lxd_instance", "lxd_profile"];

/// Images and flavors of OpenStack, and the argument with their properties.
const OPENSTACK: [(&str, &str); 2] =
    [("openstack_images_image_v2", "properties"), ("openstack_compute_flavor_v2", "extra_specs")];

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let mut kinds = [LIBVIRT, BPG, TELMATE, VSPHERE].into_iter().chain(INCUS).collect::<Vec<_>>();
    // Most of them set nothing of a clock.
    if super::nova::mentions(clues.text) {
        kinds.extend(OPENSTACK.map(|(kind, _)| kind));
    }
    let json = clues.quotes("resource") && kinds.iter().any(|kind| clues.quotes(kind));
    let resource = |line: &str| {
        let rest = line.strip_prefix("resource").filter(|rest| rest.starts_with([' ', '\t', '"']));
        hcl::first_label(rest.unwrap_or_default()).is_some_and(|label| kinds.contains(&label))
    };
    (json || clues.has(resource)).then_some(if json { Sign::Json } else { Sign::Declared })
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str().trim_start_matches('\u{feff}');
    let text = text.trim_start();
    // `{% if x %}` of a template begins no JSON.
    let marked = ["{%", "{{", "{#"].iter().any(|mark| text.starts_with(mark));
    let tree = if text.starts_with(['{', '[']) && !marked {
        json::tree(document)?
    } else {
        hcl::parse(document.text.as_str())?
    };
    let mut reports = Vec::new();
    let kinds =
        [(LIBVIRT, libvirt as Judge), (BPG, bpg), (TELMATE, telmate), (VSPHERE, vsphere::judge)];
    let others = INCUS.map(|kind| (kind, incus as Judge));
    let images = OPENSTACK.map(|(kind, _)| (kind, openstack as Judge));
    for (kind, judge) in kinds.into_iter().chain(others).chain(images) {
        for resources in each(&tree, &["resource", kind]) {
            let Node::Map { entries, .. } = resources else { continue };
            for (key, node) in entries {
                let left = MOST_MACHINES - reports.len();
                let all = each(node, &[]).into_iter().take(left);
                let judged = all.map(|node| judge(document, key, node));
                reports.extend(instances(judged.collect::<Result<_, _>>()?));
            }
        }
    }
    Ok(machines(reports).unwrap_or_else(|| nothing(Guest::Unknown)))
}

/// Joins the reports of the machines that one resource makes by `for_each`. A change in the resource is one of all.
fn instances(reports: Vec<Report>) -> Option<Report> {
    let number = reports.len();
    let mut report = together(reports)?;
    let all = std::mem::take(&mut report.findings);
    for finding in &all {
        let same = |it: &&Finding| it.rule.id == finding.rule.id && it.span == finding.span;
        if report.findings.iter().any(|it| same(&it)) {
            continue;
        }
        let found = all.iter().filter(same);
        let most = found.clone().max_by_key(|it| it.severity).unwrap_or(finding);
        let mut one = most.clone();
        if found.filter(|it| it.edits == one.edits).count() < number {
            one.leave_edits("another machine of the same resource does not need it");
        }
        report.findings.push(one);
    }
    Some(report)
}

type Judge = fn(&Document, &Key, &Node) -> Result<Report, LintError>;

/// Replaces the unknown parts of a value by a placeholder.
fn known(value: &str) -> String {
    value.replace(UNKNOWN, "{{unknown}}")
}

/// Reads `"on"`, `true` and `{ state = "on" }`, the forms in different versions of the provider.
fn state(node: &Node) -> Option<(String, Range<usize>)> {
    let (value, at) = node.scalar().or_else(|| said(node, &["state"]))?;
    let value = match value {
        "true" => "on".to_owned(),
        "false" => "off".to_owned(),
        other => known(other),
    };
    Some((value, at.clone()))
}

/// The properties of an image or of a flavor.
fn openstack(document: &Document, _key: &Key, node: &Node) -> Result<Report, LintError> {
    let of = |name: &str| {
        let paths = OPENSTACK.iter().map(|(_, argument)| [*argument, name]);
        let value = paths.into_iter().find_map(|path| said(node, &path));
        value.filter(|(value, _)| !value.contains(UNKNOWN)).map(|(value, at)| (value, at.clone()))
    };
    super::nova::judge(document, &of)
}

/// The options of an instance: `config = { "raw.qemu" = "..." }`.
fn incus(document: &Document, key: &Key, node: &Node) -> Result<Report, LintError> {
    let mut reports = Vec::new();
    for config in each(node, &["config"]) {
        let of = |name: &str| said(config, &[name]);
        reports.extend(super::incus::judge(document, &of, Some(key.name.clone()), None)?);
    }
    Ok(together(reports).unwrap_or_else(|| nothing(Guest::Unknown)))
}

fn libvirt(document: &Document, key: &Key, node: &Node) -> Result<Report, LintError> {
    let mut made = Made { whole: key.span.clone(), ..Made::default() };
    let of = |path: &[&str]| said(node, path).map(|(value, at)| (known(value), at.clone()));
    let first = |paths: &[&[&str]]| paths.iter().find_map(|path| of(path));
    made.kind = of(&["type"]);
    // A name that is computed elsewhere shows nothing; the name of the resource is used instead.
    let name = of(&["name"]).map(|(name, _)| name).filter(|name| !name.contains("{{"));
    made.name = name.unwrap_or_else(|| key.name.clone());
    made.arch = first(&[&["arch"], &["os", "type_arch"], &["os", "arch"]]).map(|(arch, _)| arch);
    let machine = first(&[&["machine"], &["os", "type_machine"], &["os", "machine"]]);
    made.machine = Some(machine.map_or_else(|| "pc".to_owned(), |(machine, _)| machine));
    if first(&[&["kernel"], &["os", "kernel"]]).is_some() {
        made.declared = Some(Guest::Linux);
    }
    for name in ["mode", "migratable"] {
        let value = of(&["cpu", name]).map(|(value, at)| {
            (
                if value == "true" {
                    "on".to_owned()
                } else if value == "false" {
                    "off".to_owned()
                } else {
                    value
                },
                at,
            )
        });
        made.cpu.extend(value.map(|(value, at)| (name, value, at)));
    }
    for path in [&["cpu", "features"][..], &["cpu", "feature"]] {
        for feature in each(node, path) {
            if let Some((name, at)) = said(feature, &["name"]) {
                let policy = said(feature, &["policy"]).map_or("require", |(policy, _)| policy);
                made.features.push((known(name), known(policy), at.clone()));
            }
        }
    }
    for path in [&["clock", "timer"][..], &["clock", "timers"]] {
        for timer in each(node, path) {
            let Node::Map { entries, .. } = timer else { continue };
            let pairs: Pairs = entries
                .iter()
                .filter_map(|(key, value)| {
                    let (value, _) = value.scalar().filter(|(value, _)| !value.is_empty())?;
                    let value = match (key.name.as_str(), value) {
                        ("present", "true") => "yes",
                        ("present", "false") => "no",
                        _ => value,
                    };
                    plain(&key.name).then(|| (key.name.clone(), known(value)))
                })
                .collect();
            let at = said(timer, &["name"]).map_or_else(|| key.span.clone(), |(_, at)| at.clone());
            made.timers.push((pairs, at));
        }
    }
    for features in each(node, &["features", "hyperv"]) {
        let Node::Map { entries, .. } = features else { continue };
        for (key, node) in entries.iter().filter(|(key, _)| plain(&key.name)) {
            if let Some((value, at)) = state(node) {
                made.hyperv.push((key.name.clone(), value, at));
            }
        }
    }
    made.hidden = each(node, &["features", "kvm", "hidden"]).into_iter().find_map(state);
    // USB and SCSI devices do not prevent a migration.
    let moves = |device: &&Node| {
        let of = |name| !each(device, &[name]).is_empty();
        of("subsys_usb") || of("subsys_scsi")
    };
    let devices = each(node, &["devices", "hostdevs"]);
    made.hostdev = devices.iter().find(|device| !moves(device)).map(|_| key.span.clone());
    let transformed = xslt(&mut made, node);
    let mut report = made.judge(document, say)?;
    if transformed == Transformed::Unseen {
        // The sheet may insert the elements that are missing here.
        report.partial = true;
        let other = sheet_of_another_part(document, node);
        for finding in report.findings.iter_mut().filter(|it| ABSENT.contains(&it.rule.id)) {
            if !other {
                finding.severity = Severity::Info;
            }
            finding.summary =
                Some(format!("{}, unless the XSLT sheet adds it", finding.rule.summary));
        }
    }
    for finding in &mut report.findings {
        finding.object = Some(format!("{LIBVIRT}.{}", key.name));
    }
    Ok(report)
}

/// Returns whether the sheet is a file that is named after a part of a machine without a clock: `evtouch.xsl`. A name such as
/// `windows.xsl` or `patch.xsl` does not show what it changes.
fn sheet_of_another_part(document: &Document, node: &Node) -> bool {
    const PARTS: [&str; 16] = [
        "evtouch",
        "touch",
        "usb",
        "tablet",
        "input",
        "video",
        "vga",
        "graphics",
        "spice",
        "vnc",
        "disk",
        "cdrom",
        "net",
        "network",
        "interface",
        "sound",
    ];
    let Some((_, at)) = said(node, &["xml", "xslt"]) else { return false };
    let source = document.text.slice(at.clone());
    let name = source.trim_end_matches([')', '"', ' ']).rsplit(['"', '/']).next();
    let name = name.unwrap_or_default().to_ascii_lowercase();
    let Some((name, "xsl" | "xslt")) = name.rsplit_once('.') else { return false };
    name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| PARTS.contains(&word))
}

/// Rules about missing elements.
const ABSENT: [&str; 2] = ["lv-hpet-default-on", "lv-hypervclock-missing"];

fn plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
}

#[derive(PartialEq)]
enum Transformed {
    No,
    Seen,
    Unseen,
}

/// Reads `xml { xslt = ... }`: elements that a sheet in the file inserts are added.
fn xslt(made: &mut Made, node: &Node) -> Transformed {
    let Some((sheet, at)) = said(node, &["xml", "xslt"]) else { return Transformed::No };
    let text = Text::new(sheet.to_owned());
    let Ok(tree) = Tree::parse(&text, 0) else { return Transformed::Unseen };
    if sheet.contains(UNKNOWN) || tree.elements.is_empty() {
        return Transformed::Unseen;
    }
    for timer in tree.all("timer") {
        let pairs = timer.attributes.iter().filter(|attribute| plain(&attribute.name));
        let pairs = pairs.map(|it| (it.name.clone(), known(&it.value))).collect();
        made.timers.push((pairs, at.clone()));
    }
    for feature in tree.all("feature") {
        if let (Some(name), Some(policy)) = (feature.value("name"), feature.value("policy")) {
            made.features.push((name.to_owned(), policy.to_owned(), at.clone()));
        }
    }
    for cpu in tree.all("cpu").filter(|cpu| cpu.value("mode").is_some()) {
        made.cpu.clear();
        for name in ["mode", "migratable"] {
            made.cpu.extend(cpu.value(name).map(|value| (name, value.to_owned(), at.clone())));
        }
    }
    for hyperv in tree.all("hyperv") {
        for switch in hyperv.children.iter().filter_map(|child| tree.get(*child)) {
            if let Some(value) = switch.value("state").filter(|_| plain(switch.local())) {
                made.hyperv.push((switch.local().to_owned(), value.to_owned(), at.clone()));
            }
        }
    }
    if let Some(value) = tree.all("hidden").find_map(|hidden| hidden.value("state")) {
        made.hidden = Some((value.to_owned(), at.clone()));
    }
    if tree.all("hostdev").any(|it| !matches!(it.value("type"), Some("usb" | "scsi"))) {
        made.hostdev = Some(at.clone());
    }
    // A `-cpu` for QEMU, and an element with computed content, are not followed.
    let other = tree.elements.iter().any(|it| {
        matches!(it.local(), "commandline" | "element" | "attribute" | "copy-of")
            && it.value("select") != Some("@*")
    });
    if other && (sheet.contains("timer") || sheet.contains("-cpu")) {
        Transformed::Unseen
    } else {
        Transformed::Seen
    }
}

/// The name of a machine, otherwise that of its block.
fn name<'a>(key: &'a Key, node: &'a Node) -> Option<(&'a str, &'a Range<usize>)> {
    let name = said(node, &["name"]).or(Some((&key.name, &key.span)));
    name.filter(|(name, _)| !name.contains(UNKNOWN))
}

fn bpg(document: &Document, key: &Key, node: &Node) -> Result<Report, LintError> {
    let mut machine = Machine::new(document, key.span.clone(), format!("{BPG}.{}", key.name));
    let of = |path: &[&str]| said(node, path);
    machine.key("name", &[("", name(key, node))]);
    if let Some(system) = of(&["operating_system", "type"]) {
        machine.key("ostype", &[("", Some(system))]);
    }
    if let Some(cpu) = of(&["cpu", "type"]) {
        machine.key("cpu", &[("", Some(cpu))]);
    }
    if let Some(args) = of(&["kvm_arguments"]) {
        machine.key("args", &[("", Some(args))]);
    }
    if !each(node, &["hostpci"]).is_empty() {
        machine.key("hostpci0", &[("host", None)]);
    }
    machine.judge(say)
}

fn telmate(document: &Document, key: &Key, node: &Node) -> Result<Report, LintError> {
    let mut machine = Machine::new(document, key.span.clone(), format!("{TELMATE}.{}", key.name));
    let of = |path: &[&str]| said(node, path);
    machine.key("name", &[("", name(key, node))]);
    if let Some(system) = of(&["qemu_os"])
        .or_else(|| of(&["os_type"]).filter(|(os, _)| os.starts_with(['w', 'l']) && os.len() < 6))
    {
        machine.key("ostype", &[("", Some(system))]);
    }
    if let Some(cpu) = of(&["cpu", "type"]).or_else(|| of(&["cpu_type"])).or_else(|| of(&["cpu"])) {
        machine.key("cpu", &[("", Some(cpu))]);
    }
    if let Some(args) = of(&["args"]) {
        machine.key("args", &[("", Some(args))]);
    }
    if of(&["kvm"]).is_some_and(|(kvm, _)| kvm == "false") {
        machine.key("kvm", &[("0", None)]);
    }
    let devices: [&[&str]; 3] = [&["hostpci"], &["pci"], &["pcis"]];
    if devices.iter().any(|path| !each(node, path).is_empty()) {
        machine.key("hostpci0", &[("host", None)]);
    }
    machine.judge(say)
}

/// Returns the remedy for a rule, in the terms of the providers.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "lv-hpet-on" | "lv-hpet-default-on" => {
            "<timer name='hpet' present='no'/> below <clock> by an XSLT sheet (xml { xslt }), or from provider 0.9 on \
             clock = { timer = [{ name = \"hpet\", present = \"no\" }] }"
        }
        "lv-hypervclock-missing" => {
            "<timer name='hypervclock' present='yes'/> below <clock> by an XSLT sheet (xml { xslt }), or from provider \
             0.9 on clock = { timer = [{ name = \"hypervclock\", present = \"yes\" }] }"
        }
        "lv-emulated" => "type = \"kvm\", if the host has KVM",
        "lv-invtsc-no-freq" => {
            "a timer tsc with the frequency of the host (`virsh capabilities` shows it). Leave it if the machine never \
             migrates and is never saved"
        }
        "pve-args-cpu-override" => {
            "put it in the block cpu, or in a separate model in \
             /etc/pve/virtual-guest/cpu-models.conf; then remove -cpu from the arguments"
        }
        _ => return None,
    })
}

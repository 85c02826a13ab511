//! Containers with QEMU in them: the images `qemux/qemu` (qemus/qemu), those of dockur that are made from it, and `vdsm/virtual-dsm`,
//! in files of Compose and in Pods.
//!
//! Their variables become the command line that the image generates, which is judged. Source: qemus/qemu, src/proc.sh
//! (CPU_MODEL, CPU_FLAGS, KVM, HV; `-cpu` of ARGUMENTS is left out) and src/config.sh (MACHINE; hpet=off).

mod device;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::formats::{Format, Kind, kubevirt};
use crate::guest::{Guest, old_windows};
use crate::inner::{Inner, MOST_MACHINES, nothing, said, together};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::placed::UNKNOWN;
use crate::words::here_document;
use crate::yaml::{self, Node};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "container",
    files: "containers of qemus/qemu and dockur",
    sample: (
        "compose.yml",
        "services:\n  vm:\n    image: qemux/qemu\n    environment:\n      CPU_FLAGS: \"+invtsc\"\n",
    ),
    rules: rules!("container"),
    detect,
    lint,
    limits: Limits { programs: true, doubtful: limits::yaml, ..Limits::PLAIN },
    qemu: None,
};

/// Names of images, without a registry and a tag.
const IMAGES: [&str; 15] = [
    "dockurr/windows",
    "dockur/windows",
    "dockurr/windows-arm",
    "dockur/windows-arm",
    "dockurr/macos",
    "dockur/macos",
    "qemux/qemu",
    "qemus/qemu",
    "qemux/qemu-docker",
    "qemux/qemu-arm",
    "dockurr/chromeos",
    "dockur/chromeos",
    "dockurr/zima",
    "dockur/zima",
    VIRTUAL_DSM,
];

/// The image of the same author from which the others were made; it takes the flags of a `-cpu host` in ARGUMENTS.
const VIRTUAL_DSM: &str = "vdsm/virtual-dsm";

/// Other images whose systems are Linux.
const LINUX: [&str; 3] = ["chromeos", "zima", "virtual-dsm"];

/// Returns the name of one of these images.
fn image(text: &str) -> Option<&'static str> {
    let name = text.split(['@', ':']).next().unwrap_or(text);
    let name = match name.matches('/').count() {
        2 => name.split_once('/').map_or(name, |(_, rest)| rest),
        _ => name,
    };
    IMAGES.iter().copied().find(|known| *known == name)
}

fn names_image(line: &str) -> bool {
    let line = line.trim_start_matches(['-', ' ']);
    let value = line.strip_prefix("image:").map(str::trim).unwrap_or_default();
    image(value.trim_matches(['"', '\''])).is_some()
}

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let sign = if clues.starts("#!") { Sign::Part } else { Sign::Declared };
    if clues.has(names_image) {
        return Some(sign);
    }
    // An image of another author: what it generates is not known.
    let other = |line: &str| {
        let line = line.trim_start_matches(['-', ' ']);
        line.strip_prefix("image:").is_some_and(|name| name.contains("qemu"))
    };
    let runs = clues.has(|line| line.contains("/dev/kvm")) && clues.has(other);
    (runs && clues.has(|line| line.starts_with("services:"))).then_some(Sign::Part)
}

/// Returns the text of the here-documents that name an image; all other bytes are blanks, so that places do not change.
fn documents(text: &str) -> String {
    let mut out: Vec<u8> = text.bytes().map(|b| if b == b'\n' { b } else { b' ' }).collect();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find("<<")).map(|n| from + n) {
        from = at + 2;
        let Some((name, length)) = here_document(text.get(at..).unwrap_or_default()) else {
            continue;
        };
        let start = text.get(at + length..).and_then(|rest| rest.find('\n'));
        let Some(start) = start.map(|n| at + length + n + 1) else { break };
        let mut end = start;
        let mut lines = text.get(start..).unwrap_or_default().split_inclusive('\n');
        let closed = lines.any(|line| {
            let last = line.trim() == name;
            end += if last { 0 } else { line.len() };
            last
        });
        let inner = text.get(start..end).unwrap_or_default();
        if closed && inner.contains("image:") && inner.lines().any(names_image) {
            if let Some(place) = out.get_mut(start..end) {
                place.copy_from_slice(inner.as_bytes());
            }
            from = end;
        }
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Returns the part of a file that is YAML, and the reason why nothing of it is edited: a script writes it, or it is a
/// template.
fn source(text: &str) -> (String, Option<&'static str>) {
    let script = text.trim_start().starts_with("#!");
    let of_script = if script { documents(text) } else { text.to_owned() };
    let (source, template) = kubevirt::plain(&of_script);
    let why = match (script, template) {
        (true, _) => Some("a script writes the file, and may change it"),
        (false, true) => Some("the file is a template, and what it makes is not known"),
        (false, false) => None,
    };
    (source, why)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let mut reports = Vec::new();
    let (source, why) = source(document.text.as_str());
    let trees = match yaml::parse(&source) {
        Ok(trees) => trees,
        // The output of a template is not known.
        Err(_) if why.is_some() => return Ok(nothing(Guest::Unknown)),
        Err(error) => return Err(error),
    };
    for tree in trees.into_iter().map(without_fragments) {
        let mut failed = None;
        let compose = tree.entry("services").is_some() && why.is_none();
        tree.find(&mut |node| {
            let named = said(node, &["image"]).filter(|_| reports.len() < MOST_MACHINES);
            let Some((name, at)) = named.and_then(|(name, at)| Some((image(name)?, at))) else {
                return false;
            };
            match container(document, node, name, at) {
                Ok(mut report) => {
                    let missing = (compose && device::has_kvm(node) == Some(false)).then_some(at);
                    report
                        .findings
                        .extend(missing.and_then(|at| without_kvm(document, node, name, at)));
                    reports.push(report);
                }
                Err(error) => failed = Some(error),
            }
            true
        });
        if let Some(error) = failed {
            return Err(error);
        }
    }
    let mut report = together(reports).unwrap_or_else(|| nothing(Guest::Unknown));
    // Several services may share a line of one fragment.
    let mut known = HashSet::new();
    report.findings.retain(|it| known.insert((it.rule.id, it.span.clone(), it.summary.clone())));
    if let Some(why) = why {
        report.partial = true;
        for finding in report.findings.iter_mut().filter(|it| !it.edits.is_empty()) {
            finding.edits.clear();
            finding.left = Some(why.to_owned());
        }
    }
    Ok(report)
}

/// Removes the keys that Compose ignores: those that begin with `x-`, which exist to be merged into services.
fn without_fragments(mut tree: Node) -> Node {
    if let Node::Map { entries, .. } = &mut tree {
        entries.retain(|(key, _)| !key.name.starts_with("x-"));
    }
    tree
}

/// The placeholder for `{{ name }}` of a template.
const FILLED: &str = "____";

type Variables = HashMap<String, (String, Range<usize>)>;

/// Returns the variables of a container, in the notations of Compose and of Kubernetes.
fn variables(document: &Document, node: &Node) -> Variables {
    let mut found = HashMap::new();
    let mut add = |name: &str, value: &str, at: Range<usize>| {
        // `${X}` is filled in elsewhere, and `${X:-default}` may be.
        let value = default(value).unwrap_or(value);
        let open = value.contains('$') || value.contains(FILLED);
        let value = if open { UNKNOWN.to_string() } else { value.trim().to_owned() };
        found.insert(name.trim().to_owned(), (value, at));
    };
    for name in ["environment", "env"] {
        match node.at(&[name]) {
            Some(Node::Map { entries, .. }) => {
                for (key, node) in entries {
                    if let Some((value, at)) = node.scalar() {
                        add(&key.name, value, at.clone());
                    }
                }
            }
            Some(Node::List { items }) => {
                for item in items {
                    if let (Some((name, _)), Some((value, at))) =
                        (said(item, &["name"]), said(item, &["value"]))
                    {
                        add(name, value, at.clone());
                    } else if let Some((text, at)) = item.scalar()
                        && let Some((name, value)) = text.split_once('=')
                    {
                        let raw = document.text.slice(at.clone());
                        let start = raw.find('=').map_or(at.start, |n| at.start + n + 1);
                        let value = value.trim_matches('"');
                        add(name, value, start..at.end);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// The default of a value that is only a variable: `${X:-default}`, `${X-default}`.
fn default(value: &str) -> Option<&str> {
    let inside = value.trim().strip_prefix("${")?.strip_suffix('}')?;
    let (name, default) = inside.split_once('-')?;
    let name = name.strip_suffix(':').unwrap_or(name);
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (plain && !default.contains(['$', '}'])).then_some(default)
}

fn off(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    value.starts_with(['n', '0', 'f']) || value == "off"
}

fn container(
    document: &Document,
    node: &Node,
    image: &str,
    at: &Range<usize>,
) -> Result<Report, LintError> {
    let variables = variables(document, node);
    let of = |name: &str| variables.get(name).filter(|(value, _)| !value.is_empty());
    let is_off = |name: &str| of(name).is_some_and(|(value, _)| off(value));
    let mut inner = Inner::new(Kind::Qemu, document, at.clone());
    inner.object = Some(format!("image {image}"));
    inner.name = "container.sh".to_owned();
    let windows = image.contains("windows");
    let macos = image.contains("macos");
    inner.declared = match (windows, macos) {
        (true, _) => Some(Guest::Windows),
        (_, true) => Some(Guest::Macos),
        _ if LINUX.iter().any(|name| image.ends_with(name)) => Some(Guest::Linux),
        _ => of("BOOT").and_then(|(boot, _)| Guest::of_words(boot)),
    };
    // VERSION: "2k3" (src/define.sh of dockur/windows).
    inner.old =
        windows && of("VERSION").is_some_and(|(version, _)| old_windows(&format!("win-{version}")));
    let arm = image.contains("arm");
    inner.word(document, if arm { "qemu-system-aarch64" } else { "qemu-system-x86_64" }, at);
    inner.own(" -machine type=");
    match of("MACHINE").filter(|(value, _)| !value.contains(UNKNOWN)) {
        Some((machine, at)) => inner.value(document, machine, at),
        None => inner.own(if arm { "virt" } else { "q35" }),
    }
    inner.own(if arm { "" } else { ",hpet=off" });
    inner.own(if is_off("KVM") { "" } else { " -accel kvm" });
    inner.own(" -cpu ");
    match of("CPU_MODEL").filter(|(value, _)| plain(value)) {
        Some((model, at)) => inner.value(document, model, at),
        None => inner.own(if macos { "Haswell-noTSX,vendor=GenuineIntel" } else { "host" }),
    }
    if windows && !is_off("HV") {
        inner.own(",hv-passthrough");
    }
    if !is_off("KVM") && !windows {
        // The value of invtsc depends on whether the host scales its TSC.
        inner.own(",kvm=on,invtsc=${unknown}");
    }
    if let Some((flags, at)) = of("CPU_FLAGS").filter(|(value, _)| plain(value)) {
        inner.own(",");
        inner.value(document, flags, at);
    }
    if image == VIRTUAL_DSM
        && let Some((arguments, at)) = of("ARGUMENTS")
        && let Some(flags) = merged(arguments)
    {
        inner.own(",");
        inner.add(flags, at);
    }
    let mut stray = None;
    let mut stray_page = false;
    if let Some((arguments, at)) = of("ARGUMENTS") {
        let mut rest = arguments.split_whitespace().peekable();
        let mut kept = Vec::new();
        while let Some(word) = rest.next() {
            // A model other than `host` reaches QEMU, which uses the last `-cpu`.
            let other = image == VIRTUAL_DSM
                && rest.peek().is_some_and(|cpu| *cpu != "host" && !cpu.starts_with("host,"));
            if (word == "-cpu" || word.starts_with("-cpu=")) && !other {
                stray = Some(at.clone());
                let value = rest.next_if(|_| word == "-cpu").unwrap_or(word);
                stray_page |= has_page(value);
            } else {
                kept.push(word);
            }
        }
        inner.words(document, &kept.join(" "), at);
    }
    inner.own("\n");
    let mut report = inner.judge(document, say)?;
    report.findings.retain(|finding| finding.rule.id != "q-no-invtsc");
    if is_off("KVM") {
        // It is requested, and not merely omitted.
        let emulated = report.findings.iter_mut().filter(|it| it.rule.id == "q-emulated");
        for finding in emulated {
            finding.severity = Severity::Warn;
            finding.summary = Some("KVM is switched off: the processor is emulated".to_owned());
        }
    }
    if windows && is_off("HV") {
        let beside = stray.as_ref().map(|_| stray_page);
        report.findings.iter_mut().for_each(|finding| without_page(finding, beside));
    }
    if let Some(at) = stray.filter(|_| image != VIRTUAL_DSM) {
        let mut finding =
            Finding::new(rule!("ct-arguments-cpu"), at).fix("CPU_MODEL and CPU_FLAGS");
        finding.object = Some(format!("image {image}"));
        report.findings.push(finding);
    }
    Ok(report)
}

/// Reports a service that wants KVM, and whose container does not get it.
fn without_kvm(
    document: &Document,
    node: &Node,
    image: &str,
    at: &Range<usize>,
) -> Option<Finding> {
    let variables = variables(document, node);
    let kvm = variables.get("KVM").map(|(value, _)| value.as_str());
    if kvm.is_some_and(|value| off(value) || value.contains(UNKNOWN)) {
        return None;
    }
    let mut finding = Finding::new(rule!("ct-kvm-missing"), at.clone())
        .fix("devices: [/dev/kvm], if the host has KVM");
    finding.object = Some(format!("image {image}"));
    Some(finding)
}

/// The flags of a `-cpu host,FLAGS` in ARGUMENTS, which `vdsm/virtual-dsm` adds to its own (src/proc.sh).
fn merged(arguments: &str) -> Option<&str> {
    let (_, rest) = arguments.split_once("-cpu host,")?;
    rest.split_whitespace().next().filter(|flags| plain(flags))
}

/// Whether the value of a `-cpu` requests Hyper-V's reference TSC page.
fn has_page(cpu: &str) -> bool {
    let asks = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, "on"));
        let name = name.trim_start_matches('+').replace('_', "-");
        matches!(name.as_str(), "hv-time" | "hv-passthrough") && !off(value)
    };
    cpu.split(',').any(asks)
}

/// Words the finding about the page that HV withholds from a container; `beside`: whether a -cpu in ARGUMENTS, which
/// older images use, requests that page.
fn without_page(finding: &mut Finding, beside: Option<bool>) {
    if finding.rule.id != "q-hv-time-missing" {
        return;
    }
    finding.leave_edits("HV asks for it: the image would add hv-passthrough");
    match beside {
        Some(true) => {
            finding.severity = Severity::Info;
            finding.summary = Some(
                "Windows without hv-time in images of today, which leave the -cpu of ARGUMENTS out"
                    .to_owned(),
            );
            finding.fix = Some("remove HV: \"N\", and -cpu from ARGUMENTS".to_owned());
        }
        Some(false) => {
            finding.fix = Some(
                "remove HV: \"N\", and -cpu from ARGUMENTS, which images of today leave out and older ones use"
                    .to_owned(),
            );
        }
        None => {}
    }
}

/// Returns whether a value is a plain word of a list.
fn plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,=+".contains(c))
}

/// Returns the remedy for a rule, in the terms of the images.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "q-hv-time-missing" => "remove HV: \"N\"",
        "q-emulated" => "remove KVM: \"N\", if the host has KVM",
        "q-hpet-on" => "hpet=off in ARGUMENTS, or nothing: the image sets hpet=off itself",
        _ => return None,
    })
}

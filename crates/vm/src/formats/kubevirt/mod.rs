//! KubeVirt manifests: machines, instances, templates of them, several in one file, and Helm's.
//!
//! [`crate::yaml`] returns a tree with places.

mod blanks;
mod twice;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::{Finding, Severity};
use crate::formats::libvirt::features::instead;
use crate::formats::qemu::clocks::Clocks;
use crate::formats::qemu::machine;
use crate::formats::{Format, Qemu};
use crate::guest::{self, Guest, Known};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::text::Text;
use crate::yaml::{self, Key, Node};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "kubevirt",
    files: "KubeVirt",
    sample: ("vm.yaml", "apiVersion: kubevirt.io/v1\nspec:\n  domain:\n    cpu: {model: host}\n"),
    rules: rules!("kubevirt"),
    detect,
    lint,
    limits: Limits { doubtful: limits::yaml, ..Limits::PLAIN },
    qemu: Some(Qemu { choose: None, predict: None }),
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let text = clues.text;
    // A part of a manifest: the content of `domain:`.
    let has = |key: &str| clues.has(|line| line.trim_start_matches("- ").trim_end() == key);
    if clues.quotes("kubevirt.io/v1")
        || (clues.quotes("apiVersion") && text.contains("kubevirt.io"))
    {
        Some(Sign::Json)
    } else if clues.has(|line| line.starts_with("apiVersion:") && line.contains("kubevirt.io"))
        || (text.contains("kubevirt.io/") && text.contains("domain:"))
        || clues.has(|line| line.strip_prefix("kind:").is_some_and(own_kind))
    {
        Some(Sign::Declared)
    } else if (has("domain:") && (has("devices:") || has("clock:") || has("cpu:")))
        || (has("clock:") && has("timer:"))
    {
        Some(Sign::Part)
    } else {
        None
    }
}

/// Returns whether a kind of this name exists only in this API.
fn own_kind(name: &str) -> bool {
    let name = name.trim().trim_matches(['"', '\'']);
    name.strip_prefix("VirtualMachine").is_some_and(|rest| {
        let rest = rest.strip_prefix("Cluster").unwrap_or(rest);
        matches!(rest, "Instancetype" | "Preference" | "Instance" | "InstanceReplicaSet" | "Pool")
    })
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let (source, template) = plain(document.text.as_str());
    let mut report = Report::of(Known::default(), template, Vec::new());
    let documents = match yaml::parse(&source) {
        Ok(documents) => documents,
        // The output of a template is not known.
        Err(_) if template => return Ok(report),
        Err(error) => return Err(error),
    };
    let mut found = 0;
    let mut known = Vec::new();
    for root in documents.iter().flat_map(objects) {
        let named = name(root);
        let kind = root.at(&["kind"]).and_then(Node::scalar).map_or("", |(kind, _)| kind);
        let preference = preference(root, kind);
        let mut domains: Vec<&Node> = preference.iter().collect();
        report.partial |= preference.is_some();
        root.find(&mut |node| {
            if let Some((_, domain @ Node::Map { .. })) = node.entry("domain") {
                domains.push(domain);
                return true;
            }
            false
        });
        if domains.is_empty()
            && ["clock", "features", "cpu"].iter().any(|key| root.entry(key).is_some())
        {
            report.partial = true;
            domains.push(root);
        }
        // A field that a machine omits may be set by its preference or its instancetype.
        let elsewhere = preference.is_some()
            || ["preference", "instancetype"].iter().any(|key| root.at(&["spec", key]).is_some());
        report.partial |= elsewhere;
        // Branches of a template may have the same keys.
        if !template && !domains.is_empty() {
            let twice = twice::check(root).into_iter();
            report.findings.extend(
                twice.map(|it| Finding { object: object(root, kind, named.as_deref()), ..it }),
            );
        }
        let foreign = other_architecture(root);
        for domain in domains {
            found += 1;
            if foreign || runs_elsewhere(domain) {
                continue;
            }
            let template = template || elsewhere;
            let said = document.guest.is_some();
            let machine = Machine { domain, text: &document.text, root, template, said };
            let (Known { guest, guessed }, old, unaware) =
                machine.guest(named.as_deref().unwrap_or_default(), document);
            known.push(Known { guest, guessed });
            let mut findings = machine.check(guest, unaware);
            if old {
                findings.retain(|finding| finding.rule.id != rule!("kv-hyperv-timer-missing").id);
            }
            for finding in &mut findings {
                finding.object = object(root, kind, named.as_deref());
            }
            report.findings.extend(findings);
        }
    }
    if found == 0
        && let Some(at) = blanks::no_break_indent(document.text.as_str())
    {
        return Err(LintError::within(&document.text, at, blanks::NO_BREAK));
    }
    report.partial |= found == 0;
    report.guest = Known::of_all(&known);
    report.guessed = known.iter().any(|it| it.guessed);
    Ok(report)
}

/// The label of nodes that names their architecture.
const ARCH: &str = "kubernetes.io/arch";

/// Whether an object is of an architecture other than x86, for which QEMU has none of these timers.
/// Source: KubeVirt staging/src/kubevirt.io/api/core/v1/types.go, VirtualMachineInstanceSpec.Architecture.
fn other_architecture(root: &Node) -> bool {
    let mut other = false;
    let foreign = |node: &Node| {
        node.scalar().is_some_and(|(arch, _)| matches!(arch, "arm64" | "s390x" | "ppc64le"))
    };
    root.find(&mut |node| {
        for name in ["architecture", "preferredArchitecture", ARCH] {
            other |= node.entry(name).is_some_and(|(_, value)| foreign(value));
        }
        let text = |key: &str| node.entry(key).and_then(|(_, value)| value.scalar());
        let nodes = text("key").is_some_and(|(key, _)| key == ARCH)
            && text("operator").is_some_and(|(operator, _)| operator == "In");
        let values = node.entry("values").map_or(&[][..], |(_, values)| values.items());
        other |= nodes && !values.is_empty() && values.iter().all(foreign);
        false
    });
    other
}

/// Whether the machine type is one of another architecture.
fn runs_elsewhere(domain: &Node) -> bool {
    let named = domain.at(&["machine", "type"]).and_then(Node::scalar);
    named.is_some_and(|(name, _)| machine::foreign(name))
}

/// The objects of a document: `kubectl get -o yaml` makes a list of them.
fn objects(root: &Node) -> Vec<&Node> {
    match root.entry("items") {
        Some((_, items)) if !items.items().is_empty() => items.items().iter().collect(),
        _ => vec![root],
    }
}

fn name(root: &Node) -> Option<String> {
    root.at(&["metadata", "name"]).and_then(Node::scalar).map(|(name, _)| name.to_owned())
}

/// Returns the name of an object, with its kind and namespace: a file may have many.
fn object(root: &Node, kind: &str, name: Option<&str>) -> Option<String> {
    let name = name?;
    let space = root.at(&["metadata", "namespace"]).and_then(Node::scalar);
    let space = space.map(|(space, _)| format!("{space}/")).unwrap_or_default();
    Some(format!("{kind} {space}{name}").trim_start().to_owned())
}

/// Returns a preference as the domain that results from it; its settings have other names. Source: KubeVirt
/// staging/src/kubevirt.io/api/instancetype/v1beta1/types.go, VirtualMachinePreferenceSpec.
fn preference(root: &Node, kind: &str) -> Option<Node> {
    if !matches!(kind, "VirtualMachinePreference" | "VirtualMachineClusterPreference") {
        return None;
    }
    let spec = root.at(&["spec"])?;
    let mut entries = Vec::new();
    let groups = [
        ("clock", "clock", [("preferredTimer", "timer"), ("", "")]),
        ("cpu", "cpu", [("preferredCPUFeatures", "features"), ("", "")]),
        ("features", "features", [("preferredHyperv", "hyperv"), ("preferredKvm", "kvm")]),
    ];
    for (group, named, names) in groups {
        let Some((key, node)) = spec.entry(group) else { continue };
        let inside = names.iter().filter_map(|(from, to)| {
            let (key, value) = node.entry(from)?;
            Some((Key { name: (*to).to_owned(), span: key.span.clone() }, value.clone()))
        });
        let map = Node::Map { entries: inside.collect(), start: key.span.start };
        entries.push((Key { name: named.to_owned(), span: key.span.clone() }, map));
    }
    Some(Node::Map { entries, start: 0 })
}

/// Returns the parts in which a change may change more than one value.
pub(crate) fn shared(text: &str) -> Vec<yaml::Shared> {
    yaml::shared(&plain(text).0)
}

/// Returns the text without templates, with the same length in bytes, and whether there were any.
pub(crate) fn plain(text: &str) -> (String, bool) {
    let mut out = String::with_capacity(text.len());
    let mut template = false;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let whole = bare.starts_with("{{") && bare.ends_with("}}")
            || bare.starts_with("{%") && bare.ends_with("%}");
        if whole {
            template = true;
            // A comment of the same length, so that no other place changes.
            let content = line.trim_end_matches(['\r', '\n']);
            out.push('#');
            out.extend(std::iter::repeat_n(' ', content.len().saturating_sub(1)));
            out.push_str(line.get(content.len()..).unwrap_or_default());
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find("{{") {
            let Some(length) = rest.get(start..).and_then(|inner| inner.find("}}")) else {
                break;
            };
            template = true;
            out.push_str(rest.get(..start).unwrap_or_default());
            out.extend(std::iter::repeat_n('_', length + 2));
            rest = rest.get(start + length + 2..).unwrap_or_default();
        }
        out.push_str(rest);
    }
    (out, template)
}

struct Machine<'a> {
    domain: &'a Node,
    text: &'a Text,
    root: &'a Node,
    template: bool,
    /// Whether the command line specifies the guest's system.
    said: bool,
}

impl<'a> Machine<'a> {
    /// Returns the guest's system, and whether its source names a Windows that is older than Hyper-V's reference TSC
    /// page.
    fn guest(&self, name: &str, document: &Document) -> (Known, bool, bool) {
        let timers = self.domain.at(&["clock", "timer"]);
        let mut names = vec![name.to_owned()];
        let mut labels: Vec<String> = Vec::new();
        self.root.find(&mut |node| {
            if let Node::Map { entries, .. } = node {
                for (key, value) in entries {
                    if key.name.contains("kubevirt.io/os")
                        || key.name.contains("template.kubevirt.io")
                    {
                        labels.push(key.name.clone());
                        labels.extend(value.scalar().map(|(value, _)| value.to_owned()));
                    }
                    if key.name == "preference" {
                        let name = value.at(&["name"]).and_then(Node::scalar);
                        labels.extend(name.map(|(name, _)| name.to_owned()));
                    }
                    let telling =
                        matches!(key.name.as_str(), "image" | "claimName" | "url" | "name");
                    if let Some((value, _)) = value.scalar().filter(|_| telling) {
                        names.push(guest::base(value).to_owned());
                    }
                }
            }
            false
        });
        let hyperv = timers.is_some_and(|timers| timers.entry("hyperv").is_some())
            || self.domain.at(&["features", "hyperv"]).is_some();
        let label = labels.iter().find_map(|label| Guest::of_words(label));
        let hinted = hyperv.then_some(Guest::Windows);
        let names = names.iter().map(String::as_str);
        let names = || names.clone().chain([guest::base(&document.name)]);
        let old = match label {
            Some(_) => labels.iter().any(|label| guest::old_windows(label)),
            None => names().any(guest::old_windows),
        };
        let known = document.system(label, hinted, names());
        let unaware = match label {
            Some(_) => guest::unaware(known.guest, labels.iter().map(String::as_str)),
            None => guest::unaware(known.guest, names()),
        };
        (known, old, unaware)
    }

    /// The policy of a feature of the CPU, and its place.
    fn feature(&self, name: &str) -> Option<(bool, Range<usize>)> {
        let features = self.domain.at(&["cpu", "features"])?;
        let item = features.items().iter().find(|item| {
            item.at(&["name"]).and_then(Node::scalar).is_some_and(|(value, _)| value == name)
        })?;
        let policy =
            item.at(&["policy"]).and_then(Node::scalar).map_or("require", |(policy, _)| policy);
        let (_, span) = item.at(&["name"]).and_then(Node::scalar)?;
        match policy {
            "optional" => None,
            policy => Some((!matches!(policy, "disable" | "forbid"), span.clone())),
        }
    }

    /// Returns a timer, and whether it is present: it is, unless its field `present` is false.
    fn timer(&self, name: &str) -> Option<(&'a Key, &'a Node, Option<bool>)> {
        let (key, node) = self.domain.at(&["clock", "timer"])?.entry(name)?;
        let present = match node.entry("present") {
            Some((_, value)) => value.truth(),
            None => Some(true),
        };
        Some((key, node, present))
    }

    /// The value with which KVM is hidden from the guest.
    fn hidden(&self) -> Option<&'a Node> {
        self.domain.at(&["features", "kvm", "hidden"]).filter(|it| it.truth() == Some(true))
    }

    /// Returns whether a Linux guest finds kvm-clock: neither KVM nor the clock is hidden from it.
    fn finds_kvmclock(&self) -> bool {
        let off = matches!(self.timer("kvm"), Some((_, _, Some(false))))
            || matches!(self.feature("hypervisor"), Some((false, _)));
        !off && self.hidden().is_none()
    }

    fn check(&self, guest: Guest, unaware: bool) -> Vec<Finding> {
        let mut out = Vec::new();
        let invtsc = self.feature("invtsc");
        match &invtsc {
            Some((true, span)) => {
                out.push(Finding::new(rule!("kv-invtsc-node-frequency"), span.clone()))
            }
            Some((false, span)) => {
                let words = "nothing, or for an invariant TSC require it: policy: require";
                out.push(Finding::new(rule!("kv-invtsc-disabled"), span.clone()).fix(words));
            }
            None => {
                if let (Some((key, _)), Guest::Linux) = (self.domain.entry("cpu"), guest)
                    && self.finds_kvmclock()
                {
                    out.push(Finding::new(rule!("kv-no-invtsc"), key.span.clone()));
                }
            }
        }
        for item in self.domain.at(&["cpu", "features"]).map_or(&[][..], |it| it.items()) {
            let named = item.at(&["name"]).and_then(Node::scalar);
            let Some((name, span)) = named.filter(|(name, _)| instead(name).is_some()) else {
                continue;
            };
            let finding = Finding::new(rule!("kv-feature-unknown"), span.clone());
            out.push(finding.summary(format!("libvirt has no CPU feature {name}")).fix(
                "remove the feature; KubeVirt's settings are clock.timer.kvm, clock.timer.hyperv and features.hyperv, and for \
                 an invariant TSC the feature invtsc",
            ));
        }
        if let Some((false, span)) = self.feature("hypervisor") {
            let severity = if unaware { Severity::Info } else { Severity::Error };
            let finding = Finding::new(rule!("kv-hypervisor-hidden"), span).severity(severity);
            out.push(finding.fix("remove the feature"));
        }
        if let Some((key, node)) =
            self.domain.at(&["features", "hyperv"]).and_then(|h| h.entry("reenlightenment"))
            && node.entry("enabled").is_none_or(|(_, value)| value.truth() != Some(false))
        {
            out.push(Finding::new(rule!("kv-reenlightenment-frequency"), key.span.clone()));
        }
        if let Some(hidden) = self.hidden() {
            let none = unaware || guest == Guest::Windows;
            let severity = if none { Severity::Info } else { Severity::Warn };
            let span = hidden.scalar().map_or(0..0, |(_, span)| span.clone());
            out.push(
                Finding::new(rule!("kv-kvm-hidden"), span)
                    .severity(severity)
                    .fix("remove hidden: true"),
            );
        }
        out.extend(self.timers(guest, invtsc.is_some_and(|(on, _)| on)));
        out
    }

    fn timers(&self, guest: Guest, invtsc: bool) -> Vec<Finding> {
        let mut out = Vec::new();
        let hpet = self.timer("hpet");
        if let Some((key, node, Some(true))) = hpet {
            let finding = Finding::new(rule!("kv-hpet-on"), key.span.clone());
            let clocks = self.clocks();
            out.push(match clocks.keeps(guest) {
                Some(why) => {
                    let words = match clocks.lack(guest) {
                        Some(_) => format!("{} hpet: {{present: false}}", machine::FIRST),
                        None => "hpet: {present: false}, if the guest is Linux".to_owned(),
                    };
                    Finding { left: Some(why.to_owned()), ..finding.fix(words) }
                }
                None => {
                    let edit = self.off(node).filter(|_| guest != Guest::Macos);
                    finding.fix("hpet: {present: false}").edits(edit)
                }
            });
        }
        if let Some((key, _, Some(false))) = self.timer("kvm") {
            let fatal = !invtsc && matches!(guest, Guest::Linux | Guest::Unknown);
            let rule =
                if fatal { rule!("kv-kvmclock-off-no-invtsc") } else { rule!("kv-kvmclock-off") };
            let finding = Finding::new(rule, key.span.clone());
            out.push(if fatal {
                let words = "a manifest has it only if it was requested: it may be intended";
                let finding = finding.fix("remove the timer kvm, or require invtsc");
                Finding { left: Some(words.to_owned()), ..finding }
            } else {
                finding
            });
        }
        for name in ["rtc", "pit"] {
            let policy = self
                .timer(name)
                .and_then(|(_, node, _)| node.at(&["tickPolicy"]))
                .and_then(Node::scalar);
            let wanted = name == "rtc" && guest == Guest::Windows;
            if let Some((_, span)) = policy.filter(|(policy, _)| *policy == "catchup" && !wanted) {
                out.push(Finding::new(rule!("kv-tickpolicy-catchup-linux"), span.clone()));
            }
        }
        if guest == Guest::Windows {
            let off = matches!(hpet, Some((_, _, Some(false))));
            match (self.timer("hyperv"), self.domain.entry("clock")) {
                (Some((_, _, Some(true))), Some((key, _))) if off => {
                    out.push(Finding::new(rule!("kv-windows-clock-ok"), key.span.clone()));
                }
                (Some((_, _, Some(true) | None)), _) => {}
                (Some((key, node, Some(false))), _) => {
                    let finding = Finding::new(rule!("kv-hyperv-timer-missing"), key.span.clone())
                        .fix("hyperv: {}");
                    let value = node.at(&["present"]).and_then(Node::scalar);
                    out.push(finding.edit_at(value.map(|(_, span)| span.clone()), "true"));
                }
                (None, clock) if !self.template => {
                    let span = clock
                        .or(self.domain.entry("devices"))
                        .map_or(0..0, |(key, _)| key.span.clone());
                    let finding = Finding::new(rule!("kv-hyperv-timer-missing"), span)
                        .fix("clock: {timer: {hyperv: {}, hpet: {present: false}}}");
                    out.push(finding.edits(self.hyperv()));
                }
                _ => {}
            }
        }
        out
    }

    /// Returns the clocks that the guest certainly has; a preference or a template may set those that are missing here.
    fn clocks(&self) -> Clocks {
        let at = |path: &[&str]| self.domain.at(path);
        let hidden = at(&["features", "kvm", "hidden"]).is_some_and(|it| it.truth() != Some(false))
            || self.feature("hypervisor").is_some_and(|(on, _)| !on);
        let present = |name| self.timer(name).map(|(_, _, present)| present == Some(true));
        let stimer = at(&["features", "hyperv", "synictimer"])
            .is_some_and(|it| it.entry("enabled").is_none_or(|(_, on)| on.truth() == Some(true)));
        Clocks {
            kvm: true,
            kvmclock: !self.template && !hidden && present("kvm") != Some(false),
            invtsc: self.feature("invtsc").is_some_and(|(on, _)| on),
            page: present("hyperv") == Some(true),
            stimer,
            said: self.said,
            ..Clocks::default()
        }
    }

    /// Switches a timer off.
    fn off(&self, node: &Node) -> Option<Edit> {
        if let Some((_, span)) = node.at(&["present"]).and_then(Node::scalar) {
            return Some(Edit { span: span.clone(), with: "false".to_owned() });
        }
        // `hpet: {}`
        let start = match node {
            Node::Map { entries, start } if entries.is_empty() => *start,
            _ => return None,
        };
        (self.text.slice(start..start + 2) == "{}")
            .then(|| Edit { span: start..start + 2, with: "{present: false}".to_owned() })
    }

    /// Adds the timer `hyperv` before the first one.
    fn hyperv(&self) -> Option<Edit> {
        let Some(Node::Map { entries, .. }) = self.domain.at(&["clock", "timer"]) else {
            return None;
        };
        let (first, _) = entries.first()?;
        let before = self.text.slice(0..first.span.start);
        let line = before.rfind('\n').map_or(0, |n| n + 1);
        let blanks = before.get(line..)?;
        let at = first.span.start;
        blanks
            .chars()
            .all(|c| c == ' ')
            .then(|| Edit { span: at..at, with: format!("hyperv: {{}}\n{blanks}") })
    }
}

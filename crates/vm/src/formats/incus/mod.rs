//! Incus and LXD virtual machines: the output of `config show` and `profile show`, preseeds, and scripts that give options.
//!
//! `raw.qemu` is appended to a QEMU command line, and the section machine of `raw.qemu.conf` becomes its `-machine`.
//! Source: Incus, doc/reference/instance_options.md (raw),
//! internal/server/instance/drivers/driver_qemu_config_override.go.

mod commands;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::qemu::machine::foreign;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::inner::{Inner, MOST_MACHINES, each, nothing, said, together};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::named;
use crate::words::listed;
use crate::yaml::{self, Node};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "incus",
    files: "Incus and LXD",
    sample: ("a.yaml", "config:\n  raw.qemu: -cpu host\n"),
    rules: rules!("incus"),
    detect,
    lint,
    limits: Limits { programs: true, doubtful: limits::yaml, ..Limits::PLAIN },
    qemu: None,
};

/// Programs that create machines, with `--vm`.
const PROGRAMS: &str = "incus lxc";

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    if clues.has(commands::is_key) {
        return Some(Sign::Keys);
    }
    if commands::any(clues.text) {
        return Some(Sign::Part);
    }
    // An instance, and a profile.
    let keys = [
        "architecture",
        "config",
        "devices",
        "ephemeral",
        "profiles",
        "stateful",
        "used_by",
        "project",
    ];
    let top = |key: &&str| {
        clues.lines.iter().any(|line| line.strip_prefix(*key).is_some_and(|it| it.starts_with(':')))
    };
    if named::is(clues, PROGRAMS, "--vm") {
        return Some(Sign::Name);
    }
    let several = || keys.iter().filter(|key| top(key)).count() >= 4;
    let beside = || ["devices", "description", "name", "type", "profiles"].iter().any(top);
    let any = |test: fn(&str) -> bool| clues.lines.iter().any(|line| test(line));
    let own = || beside() && (any(is_option) || top(&"devices") && any(is_device));
    if top(&"config") && (several() || own()) {
        return Some(Sign::Lines);
    }
    // The output of `list`, in either format.
    if ["expanded_config", "expanded_devices"].iter().all(|key| clues.quotes(key)) {
        return Some(Sign::Json);
    }
    clues.has(|line| line.trim_start().starts_with("expanded_config:")).then_some(Sign::Lines)
}

/// Beginnings of options that only instances and profiles have (doc/reference/instance_options.md).
const OPTIONS: [&str; 22] = [
    "agent.nic_config",
    "boot.autostart",
    "boot.host_shutdown",
    "boot.stop",
    "cloud-init.",
    "image.",
    "limits.",
    "linux.",
    "migration.",
    "nvidia.",
    "raw.",
    "security.agent",
    "security.csm",
    "security.devlxd",
    "security.guestapi",
    "security.nesting",
    "security.privileged",
    "security.secureboot",
    "security.sev",
    "snapshots.",
    "user.",
    "volatile.",
];

/// Whether an indented line is an option of an instance, with a value.
fn is_option(line: &str) -> bool {
    let name = line.trim_start().trim_start_matches(['"', '\'']);
    line.starts_with([' ', '\t'])
        && OPTIONS.iter().any(|option| {
            let rest = name.strip_prefix(option);
            let rest = rest.and_then(|rest| rest.split_once(':')).map(|(rest, _)| rest);
            rest.is_some_and(|rest| {
                rest.chars().all(|c| c.is_ascii_alphanumeric() || "._-\"'".contains(c))
            })
        })
}

/// Whether an indented line is the type of a device.
fn is_device(line: &str) -> bool {
    let kind = line.trim_start().strip_prefix("type:").unwrap_or_default().trim();
    line.starts_with([' ', '\t'])
        && listed(
            "nic disk gpu tpm usb pci proxy unix-char unix-block unix-hotplug infiniband",
            kind,
        )
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let mut reports = Vec::new();
    let trees = match yaml::parse(document.text.as_str()) {
        Ok(trees) if !document.text.as_str().starts_with("#!") => trees,
        other => {
            if let Some(report) = commands::lint(document)? {
                return Ok(report);
            }
            if named::runs(document.text.as_str(), PROGRAMS, "--vm") {
                return Ok(nothing(document.guest.unwrap_or_default()));
            }
            other?
        }
    };
    for tree in trees {
        // One instance, or the output of `list --format yaml`; a preseed has profiles with their options.
        let mut all = each(&tree, &[]);
        all.extend(each(&tree, &["profiles"]));
        for instance in all.into_iter().take(MOST_MACHINES) {
            for config in each(instance, &["config"]) {
                let name =
                    instance.at(&["name"]).and_then(Node::scalar).map(|(name, _)| name.to_owned());
                let arch = instance.at(&["architecture"]).and_then(Node::scalar);
                let arch = arch.map(|(arch, _)| arch).filter(|arch| *arch == "aarch64");
                reports.extend(judge(document, &|key: &str| said(config, &[key]), name, arch)?);
            }
        }
    }
    if reports.is_empty()
        && let Some(report) = commands::lint(document)?
    {
        return Ok(report);
    }
    Ok(together(reports).unwrap_or_else(|| nothing(Guest::Unknown)))
}

/// An option and its place, by its name.
type Options<'f, 'a> = &'f dyn Fn(&str) -> Option<(&'a str, &'a Range<usize>)>;

/// Judges the options of an instance or of a profile.
pub(super) fn judge(
    document: &Document,
    of: Options<'_, '_>,
    name: Option<String>,
    arch: Option<&str>,
) -> Result<Option<Report>, LintError> {
    let (options, conf) = (of("raw.qemu"), of("raw.qemu.conf"));
    let Some((_, at)) = options.or(conf) else { return Ok(None) };
    let mut inner = Inner::new(Kind::Qemu, document, at.clone());
    inner.declared = of("image.os").and_then(|(system, _)| Guest::of_words(system));
    inner.object = name;
    // A profile does not name the architecture; a machine type that x86 does not have shows it.
    let types = options.map(|(text, _)| text.split_whitespace()).into_iter().flatten();
    let virt = types.map(|word| word.split(',').next().unwrap_or(word).trim_start_matches("type="));
    let arch = arch.or(virt.into_iter().any(foreign).then_some("aarch64"));
    // The options that Incus adds are not known here.
    inner.own(&format!("qemu-system-{} -machine accel=kvm", arch.unwrap_or("x86_64")));
    if let Some((text, at)) = conf {
        let mut section = "";
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                section = line;
            } else if section == "[machine]"
                && let Some((key, value)) = line.split_once('=')
            {
                let (key, value) = (key.trim(), value.trim().trim_matches('"'));
                let plain = |text: &str| {
                    !text.is_empty()
                        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
                };
                if plain(key) && plain(value) {
                    inner.own(" -machine ");
                    inner.add(&format!("{key}={value}"), at);
                }
            }
        }
    }
    if let Some((text, at)) = options {
        inner.words(document, text, at);
        // It replaces the -cpu of Incus, which has hv_passthrough (driver_qemu.go, cpuExtensions).
        inner.last_cpu = text.split_whitespace().any(|word| matches!(word, "-cpu" | "--cpu"));
    }
    inner.own("\n");
    inner.open = true;
    inner.judge(document, |_| None).map(Some)
}

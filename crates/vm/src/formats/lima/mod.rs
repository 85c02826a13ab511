//! Instances of Lima and Colima.
//!
//! `cpuType` becomes the `-cpu` of QEMU, and a kernel's command line its `-append`. Source: Lima, templates/default.yaml,
//! pkg/driver/qemu/qemu.go (Cmdline()); Colima, embedded/defaults/colima.yaml.

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::inner::{Inner, each, nothing, said, together};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::yaml;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "lima",
    files: "Lima and Colima",
    sample: ("lima.yaml", "vmType: qemu\narch: x86_64\nimages: []\ncpuType:\n  x86_64: host\n"),
    rules: rules!("lima"),
    detect,
    lint,
    limits: Limits { programs: true, placeholders: true, doubtful: limits::yaml, ..Limits::PLAIN },
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let top = |key: &str| {
        clues.lines.iter().any(|line| line.strip_prefix(key).is_some_and(|it| it.starts_with(':')))
    };
    let own = ["vmType", "cpuType", "minimumLimaVersion"].iter().any(|key| top(key));
    let keys = [
        "arch",
        "images",
        "mounts",
        "ssh",
        "firmware",
        "provision",
        "cpus",
        "cpu",
        "runtime",
        "containerd",
        "plain",
        "memory",
        "video",
        "disk",
        "vmOpts",
        "networks",
        "message",
        "probes",
        "rosetta",
        "hostResolver",
        "portForwards",
        "propagateProxyEnv",
        "additionalDisks",
        "base",
        "param",
        "upgradePackages",
        "nestedVirtualization",
        "timezone",
        "caCerts",
        "mountType",
        "copyToHost",
    ];
    let count = keys.iter().filter(|key| top(key)).count();
    let item =
        |key: &str| clues.has(|line| line.trim_start_matches(['-', ' ', '{']).starts_with(key));
    let images = top("images") && item("location:");
    // Nothing but images, each of an architecture.
    let alone = images && (item("arch:") || clues.has(|line| line.contains(", arch:")));
    if (own && count >= 1) || (images && count >= 2) || alone {
        return Some(Sign::Lines);
    }
    // Pipelines also have templates.
    let base = |line: &str| {
        let value = line.trim_start_matches(['-', ' ']);
        let value = value.strip_prefix("base:").unwrap_or(value).trim_start();
        value.starts_with("template:_") || value.starts_with("template://")
    };
    (top("base") && clues.has(base)).then_some(Sign::Ending)
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let mut reports = Vec::new();
    for tree in yaml::parse(document.text.as_str())? {
        // Apple's own hypervisor has none of these settings.
        if said(&tree, &["vmType"]).is_some_and(|(kind, _)| kind != "qemu") {
            continue;
        }
        let arch = said(&tree, &["arch"]).map(|(arch, _)| arch).filter(|arch| *arch != "default");
        // Lima 2 has it below the options for QEMU.
        let of = |arch: &str| {
            said(&tree, &["vmOpts", "qemu", "cpuType", arch])
                .or_else(|| said(&tree, &["cpuType", arch]))
        };
        let cpu = match arch {
            Some("x86_64") => of("x86_64"),
            Some(other) => of(other),
            None => of("x86_64"),
        };
        let plain =
            arch.is_none_or(|arch| arch == "x86_64").then(|| said(&tree, &["cpuType"])).flatten();
        let kernel = each(&tree, &["images"])
            .into_iter()
            .find_map(|image| said(image, &["kernel", "cmdline"]));
        let Some((_, at)) = cpu.or(plain).or(kernel) else { continue };
        let mut inner = Inner::new(Kind::Qemu, document, at.clone());
        inner.declared = Some(Guest::Linux);
        inner.open = true;
        let arch = arch
            .filter(|arch| arch.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or("x86_64");
        inner.own(&format!("qemu-system-{arch} -machine \"type=${{unknown}},accel=${{unknown}}\""));
        if let Some((cpu, at)) = cpu.or(plain) {
            inner.own(" -cpu");
            inner.word(document, cpu, at);
        }
        if let Some((line, at)) = kernel {
            inner.own(" -kernel k -append");
            inner.word(document, line, at);
        }
        inner.own("\n");
        reports.push(inner.judge(document, |_| None)?);
    }
    Ok(together(reports).unwrap_or_else(|| nothing(Guest::Linux)))
}

//! Files that make a choice of clocksource persistent across boots: tuned profiles, shell scripts,
//! cloud-init, Ansible, systemd units, tmpfiles.d, udev, Ignition, `/etc/default/grub` and similar
//! ones.
//!
//! They are in many languages but have few possible errors, so a file is read as statements: kernel parameters
//! ([`crate::parameters`]), writes to sysfs ([`sysfs`]), changes of GRUB's defaults ([`grub`]). The effect of a
//! parameter in the kernel is defined in `clocksmith-kernel`, not here.

mod beside;
mod grub;
mod included;
mod lines;
mod replaced;
mod sought;
mod sysfs;
#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::Finding;
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::guest::Known;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::parameters::{self, Parameter};
use crate::words::{base, here_document, listed};
pub(crate) use beside::beside;
use lines::{Line, lines};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "persistence",
    files: "settings that keep a choice of clocksource across boots",
    sample: ("a.sh", "#!/bin/sh\necho clocksource=tsc\n"),
    rules: rules!("persist"),
    detect,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

/// The registry entry of tuned's profiles.
pub(super) const TUNED: Format = Format {
    name: "tuned",
    files: "",
    sample: ("tuned.conf", "[main]\nsummary=a\n[bootloader]\ncmdline=notsc\n"),
    rules: &[],
    detect: detect_tuned,
    lint,
    limits: Limits::PLAIN,
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    const WORDS: [&str; 12] = [
        "current_clocksource",
        "clocksource=",
        "tsc=reliable",
        "tsc=unstable",
        "tsc=nowatchdog",
        "notsc",
        "GRUB_CMDLINE_LINUX",
        "grubby",
        "update-grub",
        "grub2-mkconfig",
        "rpm-ostree kargs",
        "kernelParams",
    ];
    if clues.starts("#cloud-config") {
        // It may start a machine, and say nothing of its own clock.
        let starts = clues.text.contains("qemu-system-")
            && !WORDS.iter().any(|word| clues.text.contains(word));
        return Some(if starts { Sign::Ending } else { Sign::Declared });
    }
    if clues.is_log() || clues.is_report() {
        return None;
    }
    WORDS.iter().any(|word| clues.text.contains(word)).then_some(Sign::Words)
}

fn detect_tuned(clues: &Clues<'_>) -> Option<Sign> {
    let section = |name: &str| clues.has(|line| line.trim_end() == name);
    let setting = |beginning: &str| clues.has(|line| line.starts_with(beginning));
    let known = || setting("summary") || setting("include") || section("[sysctl]");
    if (section("[main]") && (known() || section("[bootloader]")))
        || (section("[bootloader]") && setting("cmdline"))
        || (section("[sysfs]") && setting("/"))
    {
        return Some(Sign::Keys);
    }
    (clues.base() == "tuned.conf").then_some(Sign::Name)
}

/// The syntax of a file's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// `/etc/default/grub`, or a drop-in of it.
    Grub,
    /// Only a command line: `/etc/kernel/cmdline`.
    CommandLine,
    /// Sections of a tuned profile.
    Tuned,
    /// Any other file.
    Statements,
}

fn style(document: &Document) -> Style {
    let text = document.text.as_str();
    if document.kind == Kind::Tuned {
        return Style::Tuned;
    }
    let name = document.name.replace('\\', "/");
    let grub_name =
        name.ends_with("default/grub") || name.contains("default/grub.d/") || base(&name) == "grub";
    // A file that consists of settings, as GRUB's defaults do.
    let assignment = |line: &str| {
        let line = line.trim_start_matches("export ");
        line.find('=').and_then(|at| line.get(..at)).is_some_and(|name| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#'));
    let sets = text.contains("GRUB_") && lines.all(assignment);
    if grub_name || sets {
        return Style::Grub;
    }
    if name.ends_with("kernel/cmdline") || name.ends_with("proc/cmdline") {
        return Style::CommandLine;
    }
    Style::Statements
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    match style(document) {
        Style::Grub => grub_defaults(text, &mut findings),
        Style::CommandLine => findings.extend(parameters::lint(text, 0, true)),
        Style::Tuned => tuned(text, &mut findings),
        Style::Statements => script(text, &mut findings),
    }
    let partial = text.contains("{{") || text.contains("<%");
    Ok(Report::of(Known::declared(Guest::Linux), partial, findings))
}

/// Checks the words in quotes that a shell would not change.
fn grub_defaults(text: &str, findings: &mut Vec<Finding>) {
    for line in lines(text) {
        if line.is_comment() || grub::bare_line(&line, findings) {
            continue;
        }
        // Xen's own options have the same names.
        if line.text.contains("GRUB_CMDLINE") && !line.text.contains("GRUB_CMDLINE_XEN") {
            let Some(at) = line.text.find('=') else { continue };
            let value = line.text.get(at + 1..).unwrap_or_default();
            findings.extend(parameters::lint(value, line.base + at + 1, true));
        }
    }
}

fn tuned(text: &str, findings: &mut Vec<Finding>) {
    let mut section = "";
    let all = lines(text);
    included::judge(&all, findings);
    for (index, line) in all.iter().enumerate() {
        let trimmed = line.text.trim();
        if line.is_comment() {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[') {
            section = name.split(']').next().unwrap_or_default();
            continue;
        }
        if section == "bootloader" || trimmed.starts_with("cmdline") {
            let at = line.text.find('=').map_or(0, |at| at + 1);
            let value = line.text.get(at..).unwrap_or_default();
            findings.extend(parameters::lint(value, line.base + at, true));
        } else {
            sysfs::judge(line, all.get(..index).unwrap_or_default(), findings);
        }
    }
}

/// Returns whether a statement only prints a text for people, or tests for one: it changes nothing.
fn only_talks(text: &str) -> bool {
    let first = text
        .trim_start()
        .trim_start_matches("- ")
        .trim_start_matches("sudo ")
        .split_whitespace()
        .next()
        .unwrap_or_default();
    let prints = matches!(
        first,
        "echo" | "printf" | "log" | "info" | "warn" | "print" | "msg:" | "name:" | "description:"
    ) || first.starts_with("log_")
        || first.starts_with("print(")
        || first.starts_with("Description=")
        || reports(text.trim_start(), first)
        || describes(text.trim_start());
    let to_people =
        text.replace(">&2", "").replace("> /dev/stderr", "").replace(">/dev/stderr", "");
    let goes_on = to_people.contains('>') || text.contains('|') || text.contains("tee");
    prints && !goes_on
}

/// Returns whether a function of the script is called whose name only reports the result of a check:
/// `pass "tsc=reliable is set"`.
fn reports(text: &str, first: &str) -> bool {
    const NAMES: &str = "pass warn warning fail failure ok error err die notice note debug success skip say title header \
        section status report check_pass check_fail print_ok print_error print_warning print_success print_info";
    let rest = text.strip_prefix(first).unwrap_or_default().trim_start();
    listed(NAMES, first) && rest.starts_with(['"', '\''])
}

/// Whether a line is a description in words: `description = "Pass tsc=reliable to the kernel";`.
fn describes(text: &str) -> bool {
    let (key, value) = text.split_once(['=', ':']).unwrap_or_default();
    let key = key.trim().trim_matches(['"', '\'']);
    let words = value.trim_start().trim_start_matches(['"', '\'']);
    matches!(key, "description" | "summary" | "help" | "doc") && words.trim_end().contains(' ')
}

/// Returns whether a line belongs to Xen's command line, which has options of the same names: `clocksource=` of
/// `xen.gz`.
/// Source: Xen docs/misc/xen-command-line.pandoc, clocksource.
fn of_xen(text: &str) -> bool {
    let text = text.trim_start();
    let first = text.split([' ', '\t', '=', '"']).next().unwrap_or_default().to_ascii_lowercase();
    let loads = matches!(
        first.as_str(),
        "multiboot" | "multiboot2" | "kernel" | "module" | "xen_hypervisor"
    );
    let image = text.split_ascii_whitespace().skip(1).take(2).map(base);
    let mut image = image.filter(|word| word.starts_with("xen"));
    loads && image.next().is_some()
        || text.contains("GRUB_CMDLINE_XEN")
        || text.contains("hv_platform_tweaks")
        || first.starts_with("xen_c") && first.contains("cmdline")
}

/// Returns whether a part of a statement only searches for a parameter, or removes it.
fn asks(part: &str) -> bool {
    [
        "grep",
        "=~",
        "==",
        "!=",
        "re.search",
        " in /proc/cmdline",
        "--remove-args",
        "--delete",
        "shouldNotExist",
        "should_not_exist",
    ]
    .iter()
    .any(|word| part.contains(word))
        || part.trim_start().starts_with("case ")
        || part.trim_start().starts_with("awk ")
}

/// The parameters that a statement sets.
fn parameters_of(line: &Line<'_>) -> Vec<Parameter> {
    if only_talks(line.text) || of_xen(line.text) {
        return Vec::new();
    }
    let mut found = parameters::of_statement(line.text, line.base);
    let sought = sought::sought(line.text);
    found.retain(|it| !sought.iter().any(|span| span.contains(&(it.span.start - line.base))));
    // Each command of the statement separately: `grep -q X || sed -i ...`.
    let mut at = 0;
    for part in line.text.split_inclusive("||").flat_map(|part| part.split_inclusive("&&")) {
        let range = line.base + at..line.base + at + part.len();
        at += part.len();
        if asks(part) || only_talks(part.trim_start_matches(['&', '|', ' '])) {
            found.retain(|parameter| !range.contains(&parameter.span.start));
        }
    }
    found
}

fn script(text: &str, findings: &mut Vec<Finding>) {
    let all = lines(text);
    included::judge(&all, findings);
    // A here-document for GRUB's defaults, or for another file.
    let mut here: Option<(&str, bool)> = None;
    let mut aliases = sysfs::Aliases::default();
    for (index, line) in all.iter().enumerate() {
        let above = all.get(..index).unwrap_or_default();
        if let Some((end, to_grub)) = here {
            if line.text.trim() == end {
                here = None;
                continue;
            }
            if to_grub && grub::bare_line(line, findings) {
                findings.extend(parameters::judge(&parameters::find(line.text, line.base), false));
                continue;
            }
        } else if let Some((end, _)) =
            line.text.find("<<").and_then(|at| here_document(line.text.get(at..)?))
        {
            here = Some((end, grub::appends(line.text)));
        }
        if line.is_comment() {
            continue;
        }
        aliases.learn(line);
        aliases.judge(line, findings);
        sysfs::judge(line, above, findings);
        let found = parameters_of(line);
        grub::judge(line, above, &found, findings);
        findings.extend(parameters::judge(&found, false));
    }
}

//! Firecracker: the configuration of a machine (`--config-file`) and CPU templates.
//!
//! Kernel parameters are judged by [`crate::parameters`].

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::{Finding, Rule};
use crate::formats::{Format, Kind};
use crate::guest::Guest;
use crate::guest::Known;
use crate::inner::written;
use crate::json::{self, Json};
use crate::limits::{self, Limits};
use crate::lint::{LintError, Report};
use crate::named;
use crate::parameters;
use crate::words::{base, here_documents, listed};
use std::ops::Range;

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "firecracker",
    files: "Firecracker",
    sample: ("vm.json", "{\"boot-source\": {\"boot_args\": \"notsc\"}}"),
    rules: rules!("firecracker"),
    detect,
    lint,
    limits: Limits { script: true, doubtful: limits::json, ..Limits::PLAIN },
    qemu: None,
};

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = [
        // The body of `PUT /boot-source`.
        "kernel_image_path",
        "boot-source",
        "boot_source",
        "machine-config",
        "vcpu_count",
        "cpuid_modifiers",
        "msr_modifiers",
        "reg_modifiers",
    ];
    let loads = clues.quotes("snapshot_path") && MEMORY.iter().any(|key| clues.quotes(key));
    // A script that uses the socket with `curl`; it may also start QEMU machines. The quotes in what it sends may be
    // escaped, or what it sends is in another file.
    let sends = ["/boot-source", "boot_args", "curl"];
    let socket = ["boot-source", "--unix-socket", "curl"];
    let text = clues.text;
    let alone = !text.contains("qemu-system-");
    // A function of the script may send it.
    let function = ["boot-source", "boot_args", "kernel_image_path"];
    // Or it only loads a snapshot.
    let loading = ["/snapshot/load", "curl", "snapshot_path"];
    let all = |marks: [&str; 3]| marks.iter().all(|mark| text.contains(mark));
    if alone
        && (all(sends) || all(socket) || all(loading) || is_shell_script(text) && all(function))
    {
        return Some(Sign::Lines);
    }
    if loads || keys.iter().any(|key| clues.quotes(key)) {
        return Some(Sign::Json);
    }
    let written = || here_documents(text).into_iter().any(|it| text.get(it).is_some_and(is_json));
    if alone && text.contains("\"boot-source\"") && written() {
        return Some(Sign::Part);
    }
    if clues.has(is_resource) {
        return Some(Sign::Declared);
    }
    // Its configuration is in another file.
    named::is(clues, "firecracker jailer", "--api-sock --config-file --no-api --exec-file")
        .then_some(Sign::Name)
}

/// Whether a line begins a machine of Terraform's provider for Firecracker.
fn is_resource(line: &str) -> bool {
    let rest = line.strip_prefix("resource").filter(|it| it.starts_with([' ', '\t', '"']));
    let label = crate::hcl::first_label(rest.unwrap_or_default());
    label.is_some_and(|label| label.starts_with("firecracker_"))
}

/// Whether the first line of a text names a shell. Programs that use the socket have the same strings.
fn is_shell_script(text: &str) -> bool {
    let program = text.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
    program.split_whitespace().any(|word| listed("sh bash dash ksh zsh ash", base(word)))
}

/// Whether a text is the configuration of a machine.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"boot-source\"")
}

/// Keys that mark a body as that of `PUT /snapshot/load`, and not of a configuration; the second is the older name.
const MEMORY: [&str; 2] = ["mem_backend", "mem_file_path"];

fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut findings = Vec::new();
    if !json::begins(text) {
        // A script that uses the socket.
        findings.extend(script(document));
        findings.extend(load_in_script(document));
        // A script that writes the configuration.
        let mut made =
            written(document, Kind::Firecracker, is_json).map_or_else(Vec::new, |it| it.findings);
        made.retain(|it| {
            !findings.iter().any(|one| one.rule.id == it.rule.id && one.span.start == it.span.start)
        });
        findings.extend(made);
        return Ok(Report::of(Known::declared(Guest::Linux), true, findings));
    }
    let json = json::read(document)?;
    for leaf in json.leaves.iter().filter(|leaf| leaf.ends(&["boot_args"])) {
        boot_args(&json, leaf, &mut findings);
    }
    template(&json, &mut findings);
    load(&json, &mut findings);
    let partial = json.value.get("boot-source").is_none();
    Ok(Report::of(Known::declared(Guest::Linux), partial, findings))
}

/// Reports a request that loads a snapshot without the field that advances the guest's clock.
fn load(json: &Json<'_>, findings: &mut Vec<Finding>) {
    let has = |key: &str| json.value.get(key).is_some();
    if !MEMORY.iter().any(|key| has(key)) || has("snapshot_type") {
        return;
    }
    let moves = json.at(&["clock_realtime"]).and_then(|leaf| json.text.get(leaf.span.clone()));
    if let (Some(leaf), false) = (json.at(&["snapshot_path"]), moves == Some("true")) {
        findings.push(Finding::new(rule!("fc-load-wall-clock"), leaf.span.clone()));
    }
}

/// Finds the same in a script that uses the socket.
fn load_in_script(document: &Document) -> Option<Finding> {
    const PATH: &str = "/snapshot/load";
    let text = document.text.as_str();
    if text.contains("clock_realtime") {
        return None;
    }
    let mut statements = crate::words::statements(text).into_iter();
    statements.find_map(|(base, line)| {
        let at = line.find(PATH).filter(|_| !line.trim_start().starts_with('#'))?;
        Some(Finding::new(rule!("fc-load-wall-clock"), base + at..base + at + PATH.len()))
    })
}

/// The kernel parameters of a leaf.
pub(crate) fn boot_args(json: &Json<'_>, leaf: &json::Leaf, findings: &mut Vec<Finding>) {
    if let Some((text, base)) = json.plain(leaf) {
        findings.extend(parameters::lint(text, base, true));
    } else if let Some(text) = json.text.get(leaf.span.clone()) {
        findings.extend(parameters::lint(text, leaf.span.start, false));
    }
}

/// Parameters in the lines of a script.
pub(crate) fn script(document: &Document) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (base, line) in crate::words::statements(document.text.as_str()) {
        if !line.trim_start().starts_with('#') {
            findings.extend(parameters::judge(&parameters::of_statement(line, base), false));
        }
    }
    findings
}

/// Returns the new value of a bit: `Some(false)` if it is cleared, `None` if it is unchanged.
fn bit(bitmap: &str, number: usize) -> Option<bool> {
    let digits: Vec<char> =
        bitmap.strip_prefix("0b")?.chars().rev().filter(|digit| *digit != '_').collect();
    match digits.get(number) {
        Some('1') => Some(true),
        Some('0') => Some(false),
        // Digits that are omitted are `x`.
        _ => None,
    }
}

fn valid(bitmap: &str) -> bool {
    bitmap.strip_prefix("0b").is_some_and(|digits| {
        let count = digits.chars().filter(|digit| *digit != '_').count();
        (1..=32).contains(&count)
            && digits.chars().all(|digit| matches!(digit, '0' | '1' | 'x' | '_'))
    })
}

fn leaf_number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => match text.strip_prefix("0b") {
            Some(binary) => u32::from_str_radix(binary, 2).ok(),
            None => text.parse().ok(),
        },
    }
}

fn template(json: &Json<'_>, findings: &mut Vec<Finding>) {
    let text_at = |path: &[&str]| {
        let leaf = json.at(path)?;
        let (text, start) = json.plain(leaf)?;
        Some((text, start))
    };
    for bitmap in json.leaves.iter().filter(|leaf| leaf.ends(&["bitmap"])) {
        let path = bitmap.path();
        // .../cpuid_modifiers/N/modifiers/M/bitmap
        let Some((above, [.., "modifiers", _, _])) =
            path.len().checked_sub(3).and_then(|at| path.split_at_checked(at))
        else {
            continue;
        };
        let Some((_, modifier)) = path.split_last() else { continue };
        let sibling = |base: &[&str], name: &'static str| {
            let mut path = base.to_vec();
            path.push(name);
            text_at(&path).map(|(text, _)| text.to_owned())
        };
        let leaf = sibling(above, "leaf").and_then(|text| leaf_number(&text));
        let register = sibling(modifier, "register").map(|text| text.to_ascii_lowercase());
        let (Some(leaf), Some(register), Some((map, start))) = (leaf, register, text_at(&path))
        else {
            continue;
        };
        register_bits(leaf, &register, map, start, findings);
    }
}

fn register_bits(leaf: u32, register: &str, map: &str, start: usize, findings: &mut Vec<Finding>) {
    let span = start..start + map.len();
    if !valid(map) {
        let fix = "0b and then at most 32 of 0, 1, x";
        findings.push(Finding::new(rule!("fc-bitmap-invalid"), span).fix(fix));
        return;
    }
    let masks: &[(&'static Rule, usize)] = match (leaf, register) {
        (0x8000_0007, "edx") => &[(rule!("fc-invtsc-masked"), 8)],
        (0x1, "ecx") => &[(rule!("fc-hypervisor-hidden"), 31)],
        (0x1, "edx") => &[(rule!("fc-tsc-masked"), 4)],
        (0x8000_0001, "edx") => &[(rule!("fc-rdtscp-masked"), 27)],
        (0x4000_0001, "eax") => {
            &[(rule!("fc-kvmclock-masked"), 3), (rule!("fc-kvmclock-unstable"), 24)]
        }
        _ => &[],
    };
    for (rule, number) in masks {
        if bit(map, *number) == Some(false)
            && let Some(place) = digit(map, *number)
        {
            let at = start + place.start..start + place.end;
            findings.push(
                Finding::new(rule, span.clone())
                    .fix(format!("leave bit {number} as it is: x"))
                    .edit(at, "x"),
            );
        }
    }
}

/// Returns the place of a bit's digit in the bitmap.
fn digit(map: &str, number: usize) -> Option<Range<usize>> {
    let (at, _) = map.char_indices().rev().filter(|(_, digit)| *digit != '_').nth(number)?;
    Some(at..at + 1)
}

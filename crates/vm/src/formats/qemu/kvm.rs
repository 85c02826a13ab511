//! Whether KVM certainly runs the guest, or only under a condition: in a branch, or as one of several accelerators of which
//! QEMU uses the first that works.

use super::command::Command;
use super::line::Line;
use super::script::Script;
use crate::document::Document;
use crate::finding::{Finding, Severity};
use crate::shell::name_length;

/// The limit of lines above a word that are read.
const MOST_LINES: usize = 2000;
/// The limit of options that request KVM.
const MOST_PLACES: usize = 8;

/// Returns whether every run of a command line has KVM.
pub(super) fn is_certain(
    document: &Document,
    script: &Script,
    command: &Command,
    line: &Line,
) -> bool {
    let text = document.text.as_str();
    let places: Vec<_> = line.kvm_at.iter().rev().take(MOST_PLACES).copied().collect();
    let said = line.accelerators();
    let other = |accel: &String| {
        let mut names = accel.split(',').next().unwrap_or_default().split(':');
        accel.contains(crate::placed::UNKNOWN) || names.any(|name| name != "kvm")
    };
    // Options that are only collected may be of several command lines.
    let home = command.program.as_ref().map(|program| program.span().start);
    let cpu = line.cpus_at.last().copied();
    let beside: Vec<usize> = home.into_iter().chain(cpu).collect();
    let sure = |place: &[usize; 2]| {
        !beside.iter().any(|it| script.sometimes(place[0], *it))
            && !place.iter().any(|at| is_conditional(text, *at, &beside))
    };
    !said.iter().any(other)
        && !alternates(text)
        && !command.apart
        && script.certainly(command, line, &places)
        && places.iter().any(sure)
}

/// Rules about what KVM gives to a guest.
const OF_KVM: [&str; 6] = [
    "q-kvm-off",
    "q-kvmclock-off-no-invtsc",
    "q-stable-bit-off",
    "q-invtsc-migblock",
    "q-hypervisor-hidden",
    "q-hv-time-missing",
];

/// Words a finding that holds only where KVM runs the guest, because an accelerator of another system is tried first.
pub(super) fn only_there(finding: &mut Finding) {
    if !OF_KVM.contains(&finding.rule.id) {
        return;
    }
    let words = finding.summary.take().unwrap_or_else(|| finding.rule.summary.to_owned());
    finding.summary = Some(format!("where KVM runs the guest: {words}"));
    finding.severity = finding.severity.min(Severity::Warn);
}

/// Returns whether the variable with the accelerator is also set to one other than KVM.
fn alternates(text: &str) -> bool {
    const USES: [&str; 6] =
        ["accel=$", "accel=${", "accel $", "accel ${", "accel \"$", "accel \"${"];
    const OTHERS: [&str; 6] = ["hvf", "tcg", "whpx", "nvmm", "xen", "hax"];
    let other = |name: &str| {
        let set = format!("{name}=");
        text.match_indices(&set).take(MOST_PLACES).any(|(at, _)| {
            let front = text.get(..at).and_then(|front| front.chars().next_back());
            let begins = front.is_none_or(|c| c.is_whitespace() || ";()&|".contains(c));
            let value = text.get(at + set.len()..).unwrap_or_default();
            let value = value.trim_start_matches(['"', '\'']);
            begins && OTHERS.iter().any(|accel| value.starts_with(accel))
        })
    };
    USES.iter().any(|uses| {
        text.match_indices(uses).take(MOST_PLACES).any(|(at, _)| {
            let rest = text.get(at + uses.len()..).unwrap_or_default();
            let name = rest.get(..name_length(rest)).unwrap_or_default();
            !name.is_empty() && other(name)
        })
    })
}

/// Returns whether a place is in the block of a condition, or in a conditional expression, and none of the others is: by the
/// indentation of the lines, which every language has.
fn is_conditional(text: &str, at: usize, beside: &[usize]) -> bool {
    let own = conditions(text, at);
    let inline = text.get(own.0..).and_then(|rest| rest.lines().next()).is_some_and(|line| {
        [" if ", " ? ", "optional", " && ", "then "].iter().any(|it| line.contains(it))
            && !line.trim_start().starts_with(['#', '/'])
    });
    let beside: Vec<_> = beside.iter().map(|it| conditions(text, *it)).collect();
    let inline = inline && beside.iter().all(|(line, _)| *line != own.0);
    inline || own.1.iter().any(|it| !beside.iter().any(|(_, others)| others.contains(it)))
}

/// Returns the beginning of the line of a place, and those of the conditions around it.
fn conditions(text: &str, at: usize) -> (usize, Vec<usize>) {
    const WORDS: [&str; 12] = [
        "if ", "if(", "elif ", "else", "case ", "match ", "when ", "switch ", "unless ", "ifeq ",
        "ifdef ", "try",
    ];
    let front = text.get(..at).unwrap_or_default();
    let begin = front.rfind('\n').map_or(0, |n| n + 1);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let line = text.get(begin..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let mut depth = indent(line);
    let mut end = begin;
    let mut found = Vec::new();
    for _ in 0..MOST_LINES {
        let Some(above) = text.get(..end.saturating_sub(1)).filter(|_| end > 0) else { break };
        let start = above.rfind('\n').map_or(0, |n| n + 1);
        let line = above.get(start..).unwrap_or_default();
        end = start;
        if line.trim().is_empty() || indent(line) >= depth {
            continue;
        }
        depth = indent(line);
        let words = line.trim_start().trim_start_matches(['}', ' ', '(']);
        if WORDS.iter().any(|word| words.starts_with(word)) || words.contains(" if ") {
            found.push(start);
        }
        if depth == 0 {
            break;
        }
    }
    (begin, found)
}

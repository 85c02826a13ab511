//! Whether a file says that a setting is there on purpose: a comment that speaks of it, the name or the description of
//! the machine, a date that the guest is to have. Then a change would undo what is meant, and leave words that are not
//! true any more. What must not live here: which settings are wrong (`formats`).

mod prose;

use crate::document::Document;
use crate::finding::Finding;
use crate::formats::Kind;
use crate::words::listed;
use prose::{Prose, Spoken};
use std::ops::Range;

/// Rules whose change leaves the guest as it is: what says so stays true.
const SAME_GUEST: [&str; 7] = [
    "q-no-hpet-removed",
    "q-no-acpi-removed",
    "lv-tsc-timer-noop",
    "lv-rtc-pit-present-noop",
    "lv-duplicate-timer",
    "q-migratable-named-model",
    "lv-override-loses-clock",
];

/// What rules are about, by parts of their ids, and the words by which texts name it: in lower case, with `-` for `_`.
const SUBJECTS: &[(&str, &[&str])] = &[
    ("kvmclock", &["kvmclock", "kvm-clock", "kvm clock", "paravirtual clock", "pvclock"]),
    ("hpet", &["hpet"]),
    ("stable-bit", &["stable-bit", "stable bit"]),
    ("tsc-deadline", &["tsc-deadline", "tscdeadline", "tsc deadline"]),
    ("rdtscp", &["rdtscp"]),
    ("hv-time", &["hv-time", "hypervclock", "hyperv clock", "hyper-v clock"]),
    ("hypervclock", &["hv-time", "hypervclock", "hyperv clock", "hyper-v clock"]),
    ("hyperv-timer", &["hv-time", "hypervclock", "hyperv timer", "hyper-v clock"]),
    ("tied", &["tsctiedtoexecution", "tsctied"]),
    ("provider", &["paravirtprovider", "paravirt-provider", "paravirt provider"]),
    ("tsc-mode", &["tsc-mode", "tscmode", "tsc mode"]),
];

/// Words with which a comment gives a reason, however far from the setting it is.
const REASONS: &str = "must needed needs need required requires because workaround bug bugs keep stay stays remove \
    don't never without disabled disable off avoid avoids hang hangs lockup lockups purpose intentional intentionally \
    deliberately test tests regression instead otherwise breaks fails";

/// How far above and below a setting a comment speaks of it, in lines.
const ABOVE: u32 = 3;
const BELOW: u32 = 1;

/// Takes out the changes of what a file says that it means; the findings say why.
pub(crate) fn leave(document: &Document, findings: &mut [Finding]) {
    let open = |finding: &&mut Finding| {
        !finding.edits.is_empty() && !SAME_GUEST.contains(&finding.rule.id)
    };
    let mut open = findings.iter_mut().filter(open).peekable();
    if open.peek().is_none() {
        return;
    }
    let prose = Prose::of(document);
    let date = date(document);
    for finding in open {
        let subject = SUBJECTS.iter().find(|(part, _)| finding.rule.id.contains(part));
        let Some((name, words)) = subject else { continue };
        let why = spoken(document, &prose, finding, words)
            .or_else(|| date.clone().filter(|_| *name == "kvmclock"));
        if why.is_some() {
            finding.edits.clear();
            finding.left = why;
        }
    }
}

/// Where a file speaks of what a finding would change.
fn spoken(
    document: &Document,
    prose: &Prose<'_>,
    finding: &Finding,
    words: &[&str],
) -> Option<String> {
    let text = document.text.as_str();
    let line = |at: usize| document.text.place(at).line;
    let places = finding.edits.iter().map(|edit| edit.span.clone()).chain([finding.span.clone()]);
    let places: Vec<Range<u32>> = places.map(|it| line(it.start)..line(it.end) + 1).collect();
    for (span, spoken) in &prose.all {
        let said = text.get(span.clone()).unwrap_or_default();
        let Some(at) = mentions(said, words) else { continue };
        let number = line(span.start + at);
        match spoken {
            Spoken::Name => {
                return Some(format!(
                    "line {number}: a name or a description of the machine speaks of it, so it may be meant"
                ));
            }
            Spoken::Comment => {
                let (first, last) = (line(span.start), line(span.end.max(span.start + 1) - 1));
                let beside = places
                    .iter()
                    .any(|place| last + ABOVE >= place.start && first < place.end + BELOW);
                // A command that is switched off gives no reason, nor does its `kvmclock=off`.
                let reason = || {
                    let words = said.split_whitespace();
                    words.map(|it| it.trim_matches(|c: char| !c.is_alphanumeric())).any(is_reason)
                };
                let command = said.contains("qemu-system-") || said.contains("-cpu ");
                if reason() || beside && !command {
                    return Some(format!(
                        "line {number}: a comment speaks of it, so it may be meant"
                    ));
                }
            }
        }
    }
    let file = crate::guest::base(&document.name);
    mentions(file, words)
        .map(|_| "the name of the file speaks of it, so it may be meant".to_owned())
}

fn is_reason(word: &str) -> bool {
    !word.is_empty() && listed(REASONS, &word.to_ascii_lowercase())
}

/// Where a text names one of these; `nohpet` names the HPET, `shpet` does not.
fn mentions(text: &str, words: &[&str]) -> Option<usize> {
    let plain = text.to_ascii_lowercase().replace('_', "-");
    let in_word = |c: char| c.is_ascii_alphanumeric();
    let names = |word: &&str| {
        plain.match_indices(*word).map(|(at, _)| at).find(|at| {
            let before = plain.get(..*at).unwrap_or_default();
            let begins = !before.ends_with(in_word) || before.ends_with("no");
            let behind = plain.get(at + word.len()..).unwrap_or_default();
            begins && (word.len() > 6 || !behind.starts_with(in_word))
        })
    };
    words.iter().find_map(names)
}

/// A date that the guest is to have, which kvm-clock would not give it: it has the host's.
/// Source: Linux arch/x86/kernel/kvmclock.c, `kvm_get_wallclock()`, beside x86_platform.get_wallclock of the RTC.
fn date(document: &Document) -> Option<String> {
    let text = document.text.as_str();
    let at = match document.kind {
        Kind::Libvirt => libvirt_date(text),
        Kind::Proxmox | Kind::Terraform | Kind::Packer => {
            let dated = |line: &str| line.contains(|c: char| c.is_ascii_digit());
            let mut lines = document.text.lines();
            let set = lines.find(|(_, it)| it.trim_start().starts_with("startdate") && dated(it));
            set.map(|(at, _)| at)
        }
        _ => None,
    };
    let at = at.or_else(|| rtc_date(text))?;
    Some(format!(
        "line {}: the guest is to have a date of its own, and kvm-clock would show it the host's",
        document.text.place(at).line
    ))
}

/// `<clock offset='absolute'>`, and `variable` with more than a day.
fn libvirt_date(text: &str) -> Option<usize> {
    let (at, _) = text.match_indices("<clock").next()?;
    let open = text.get(at..)?.split('>').next()?;
    let value = |name: &str| {
        let rest = open.split_once(&format!(" {name}="))?.1;
        rest.get(1..)?.split(['"', '\'']).next()
    };
    let far = || {
        let seconds = value("adjustment").and_then(|it| it.parse::<i64>().ok());
        seconds.is_some_and(|seconds| seconds.unsigned_abs() > 86_400)
    };
    match value("offset") {
        Some("absolute") => Some(at),
        Some("variable") if far() => Some(at),
        _ => None,
    }
}

/// `-rtc base=DATE`, in any spelling of words.
fn rtc_date(text: &str) -> Option<usize> {
    text.match_indices("-rtc").map(|(at, _)| at).find(|at| {
        let behind = text.get(at + "-rtc".len()..).unwrap_or_default();
        let behind =
            behind.trim_start_matches(|c: char| c.is_whitespace() || "\"',=[]\\()".contains(c));
        let value = behind.split(|c: char| c.is_whitespace() || "\"'],)".contains(c)).next();
        let base = value.and_then(|it| it.strip_prefix("base="));
        base.is_some_and(|base| !matches!(base, "utc" | "localtime" | ""))
    })
}

#[cfg(test)]
mod tests;

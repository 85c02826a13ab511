//! Decides whether a file states that a setting is intended: a comment that mentions it, the name or the description of
//! the machine, a date that the guest is to have. Then a change would undo the intention, and leave words that are no
//! longer true. The settings that are wrong are in `formats`.

mod attached;
mod prose;
mod reason;
mod told;

use crate::document::Document;
use crate::finding::Finding;
use crate::formats::Kind;
use crate::words::listed;
use attached::{Attached, Belongs, is_heading, may_give};
use prose::{Prose, Spoken};
use reason::weighs;
use std::ops::Range;

/// Rules whose change leaves the guest as it is: a statement about the guest stays true.
const SAME_GUEST: [&str; 7] = [
    "q-no-hpet-removed",
    "q-no-acpi-removed",
    "lv-tsc-timer-noop",
    "lv-rtc-pit-present-noop",
    "lv-duplicate-timer",
    "q-migratable-named-model",
    "lv-override-loses-clock",
];

/// The subjects of rules, by parts of their ids, and the words that name them in texts: in lower case, with `-` for
/// `_`.
const SUBJECTS: &[(&str, &[&str])] = &[
    (
        "kvmclock",
        &[
            "kvmclock",
            "kvm-clock",
            "kvm clock",
            "kvm's clock",
            "kvm-uhr",
            "clock of kvm",
            "paravirtual clock",
            "pvclock",
            "pv clock",
            "pv-clock",
            PARAVIRTUAL,
        ],
    ),
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
    ("tsc", &["tsc", "invtsc", "time stamp counter"]),
    ("rtc-pit", &["rtc", "pit"]),
    ("acpi", &["acpi"]),
    ("migratable", &["migratable"]),
];

/// The placeholder for words of any language that mention a paravirtual clock.
const PARAVIRTUAL: &str = "\0paravirtual";
const PARAVIRTUAL_STEMS: [&str; 6] =
    ["paravirt", "parawirt", "паравирт", "半虚拟", "准虚拟", "準仮想"];
const CLOCK_STEMS: [&str; 14] = [
    "clock",
    "uhr",
    "horloge",
    "reloj",
    "orolog",
    "relógio",
    "relogio",
    "zegar",
    "klok",
    "час",
    "时钟",
    "時鐘",
    "時計",
    "クロック",
];

/// Clocks that a comment may name instead of the one that is disabled or requested.
const OTHER_CLOCKS: &[&str] = &["tsc", "invtsc", "clocksource", "time stamp counter"];

/// Words with which the description of a machine gives a reason, or requests that a setting be kept. A description
/// applies to the whole machine, so words for its purpose are not among them.
const DESCRIBED: &str = "must because workaround bug bugs remove don't not never change touch edit hang hangs hung lockup \
    lockups jump jumps jumped purpose intentional intentionally deliberately otherwise breaks fails ticket case args please";

/// Removes the changes to settings that the file states to be intended; adds the reason to the findings.
pub(crate) fn leave(document: &Document, findings: &mut [Finding]) {
    let mut open = findings.iter_mut().filter(|finding| !finding.edits.is_empty()).peekable();
    if open.peek().is_none() {
        return;
    }
    let prose = Prose::of(document);
    let attached = Attached::of(document);
    let date = date(document);
    for finding in open {
        let option = SUBJECTS.iter().find(|(part, _)| finding.rule.id.contains(part));
        let subject = option.filter(|_| !SAME_GUEST.contains(&finding.rule.id));
        let named = subject.and_then(|(name, words)| {
            spoken(document, &prose, words)
                .or_else(|| date.clone().filter(|_| *name == "kvmclock"))
                .or_else(|| told::told(document, name))
        });
        // A change that leaves the guest as it is can still make a comment or a description untrue.
        let named = named.or_else(|| {
            let (name, words) = option?;
            // A comment about another clock stays true where the guest does.
            let clocks = subject.is_some() && matches!(*name, "kvmclock" | "hpet");
            let others = if clocks { OTHER_CLOCKS } else { &[] };
            prose.all.iter().filter(|(_, spoken)| *spoken == Spoken::Comment).find_map(
                |(span, _)| {
                    let line = names(document, span, &[*words, others].concat())?;
                    Some(format!("line {line}: a comment mentions it, so it may be intended"))
                },
            )
        });
        let described_by = option.and_then(|(_, words)| {
            let said =
                |span: &Range<usize>| mentions(document.text.slice(span.clone()), words).is_some();
            let found =
                prose.all.iter().find(|(span, it)| *it == Spoken::Description && said(span));
            let line = document.text.place(found?.0.start).line;
            Some(format!(
                "line {line}: the description of the machine mentions it, so it may be intended"
            ))
        });
        let why = named
            .or(described_by)
            .or_else(|| commented(&attached, finding))
            .or_else(|| described(document, &prose));
        if why.is_some() {
            finding.edits.clear();
            finding.left = why;
        }
    }
}

/// Returns the comment that belongs to the setting that a finding would change. An added line has none: the comment
/// above it is about its neighbour.
fn commented(attached: &Attached<'_>, finding: &Finding) -> Option<String> {
    let adds = |edit: &&crate::edit::Edit| edit.span.is_empty() && edit.with.contains('\n');
    let mut changed = finding.edits.iter().filter(|edit| !adds(edit)).peekable();
    let own = changed.peek().map(|_| finding.span.clone());
    let places = changed.map(|edit| edit.span.clone()).chain(own);
    let line = places.flat_map(|place| attached.to(&place)).find_map(|belongs| match belongs {
        Belongs::ToIt(line) => Some(line),
        Belongs::Around(line, said) => weighs(&said).then_some(line),
    })?;
    Some(format!(
        "line {line}: the comment may give the reason for it; if it does not, make the change by hand"
    ))
}

/// Returns the line of the machine's description, if it requests that a setting stay.
fn described(document: &Document, prose: &Prose<'_>) -> Option<String> {
    let asks = |span: &Range<usize>| {
        let said = document.text.slice(span.clone());
        said.split_whitespace().count() > 2 && gives_reason(said, DESCRIBED)
    };
    let (span, _) =
        prose.all.iter().find(|(span, spoken)| *spoken == Spoken::Description && asks(span))?;
    let line = document.text.place(span.start).line;
    Some(format!(
        "line {line}: the description of the machine may give the reason for it; if it does not, make the change by hand"
    ))
}

/// Whether one of the words of a text is in a list.
fn gives_reason(said: &str, list: &str) -> bool {
    let words = said.split_whitespace();
    let mut words = words.map(|it| it.trim_matches(|c: char| !c.is_alphanumeric()));
    words.any(|word| !word.is_empty() && listed(list, &word.to_ascii_lowercase()))
}

/// Returns the line of a comment that names one of these in words. A command that is commented out does not count, nor
/// does a heading.
fn names(document: &Document, span: &Range<usize>, words: &[&str]) -> Option<u32> {
    let said = document.text.slice(span.clone());
    let prose = |line: &&str| may_give(line) && !is_heading(line, words);
    let found = said.lines().filter(prose).find(|line| mentions(line, words).is_some());
    // A name may extend over two lines.
    let joined = || {
        let marks = |c: char| c.is_whitespace() || "#/;*".contains(c);
        said.lines().find(prose)?;
        let lines = said.lines().filter(|line| may_give(line) || !line.contains(['=', '-']));
        let lines = lines.map(|line| line.trim_matches(marks));
        mentions(&lines.collect::<Vec<_>>().join(" "), words)
    };
    let at = match found {
        Some(line) => crate::text::offset(said, line),
        None => joined().map(|_| 0)?,
    };
    Some(document.text.place(span.start + at).line)
}

/// Returns the line where the name or description of a machine mentions the setting that a finding would change.
fn spoken(document: &Document, prose: &Prose<'_>, words: &[&str]) -> Option<String> {
    let text = document.text.as_str();
    for (span, spoken) in &prose.all {
        let said = text.get(span.clone()).unwrap_or_default();
        let Some(at) = mentions(said, words).filter(|_| *spoken != Spoken::Comment) else {
            continue;
        };
        let line = document.text.place(span.start + at).line;
        return Some(format!(
            "line {line}: a name or a description of the machine mentions it, so it may be \
             intended"
        ));
    }
    let file = crate::guest::base(&document.name);
    mentions(file, words)
        .map(|_| "the name of the file mentions it, so it may be intended".to_owned())
}

/// Returns where a text names one of these; `nohpet` names the HPET, `shpet` does not.
fn mentions(text: &str, words: &[&str]) -> Option<usize> {
    let plain = text.to_ascii_lowercase().replace('_', "-");
    let in_word = |c: char| c.is_ascii_alphanumeric();
    let names = |word: &&str| {
        if *word == PARAVIRTUAL {
            let lower = text.to_lowercase();
            let has = |stems: &[&str]| stems.iter().any(|it| lower.contains(it));
            return (has(&PARAVIRTUAL_STEMS) && has(&CLOCK_STEMS)).then_some(0);
        }
        plain.match_indices(*word).map(|(at, _)| at).find(|at| {
            let before = plain.get(..*at).unwrap_or_default();
            let begins = !before.ends_with(in_word) || before.ends_with("no");
            let behind = plain.get(at + word.len()..).unwrap_or_default();
            begins && (word.len() > 6 || !behind.starts_with(in_word))
        })
    };
    words.iter().find_map(names)
}

/// Finds a date that the guest is to have, which kvm-clock would not give it: kvm-clock has the host's. Source: Linux
/// arch/x86/kernel/kvmclock.c, `kvm_get_wallclock()`, next to x86_platform.get_wallclock of the RTC.
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

/// Finds `-rtc base=DATE`, with any quotes and separators.
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
#[cfg(test)]
mod tests_attached;
#[cfg(test)]
mod tests_guest;

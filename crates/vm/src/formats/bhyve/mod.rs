//! bhyve: command lines, and machines of vm-bhyve.
//!
//! The one property that affects a guest's clock is whether the RTC shows UTC. Source: bhyve(8), `-u`; vm-bhyve,
//! sample-templates/config.sample, utctime (the default is yes).

#[cfg(test)]
mod tests;

use crate::detect::{Clues, Sign};
use crate::document::Document;
use crate::finding::Finding;
use crate::formats::Format;
use crate::guest::Guest;
use crate::limits::Limits;
use crate::lint::{LintError, Report};
use crate::shell::{Piece, Programs, Statement, Word, statements};
use crate::words::{self, base};

/// The registry entry of this kind.
pub(super) const FORMAT: Format = Format {
    name: "bhyve",
    files: "bhyve and vm-bhyve",
    sample: ("vm.sh", "bhyve -c 2 -m 1G -H -A -P -l bootrom,x.fd a\n"),
    rules: rules!("bhyve"),
    detect,
    lint,
    limits: Limits { script: true, ..Limits::PLAIN },
    qemu: None,
};

fn is_program(word: &str) -> bool {
    base(word) == "bhyve"
}

fn detect(clues: &Clues<'_>) -> Option<Sign> {
    let keys = [
        "loader",
        "cpu",
        "memory",
        "network0_type",
        "network0_switch",
        "disk0_type",
        "disk0_name",
        "bhyve_options",
        "utctime",
    ];
    // Before version 1.0 of vm-bhyve `guest` was the key, and `uefi="yes"` replaces the loader. A disk has both of its
    // keys in each version.
    let named = ["loader", "guest", "uefi"].iter().any(|key| clues.keys(&[key], '=') == 1);
    let disk = clues.keys(&["disk0_type", "disk0_name"], '=') == 2;
    if (named || disk) && clues.keys(&keys, '=') >= 4 {
        return Some(Sign::Keys);
    }
    let command = |line: &str| {
        let mut words = line.split_whitespace();
        words.any(is_program) && words.any(is_option)
    };
    // Options may be on the continuation lines of a command.
    let continued = || {
        let plain = |line: &str| !line.trim_start().starts_with('#');
        clues.text.contains("bhyve")
            && words::statements(clues.text).iter().any(|(_, it)| plain(it) && command(it))
    };
    // The program may be in a variable: `$BHYVE -c 1 -m 1G`.
    let held = || {
        let all = statements(clues.text);
        let programs = Programs::of(&all, is_program);
        all.iter().any(|statement| started(statement, &programs).is_some())
    };
    let held = || clues.text.contains("bhyve") && held();
    (clues.has(command) || continued() || held()).then_some(Sign::Words)
}

/// Whether a word is an option that many command lines have.
fn is_option(word: &str) -> bool {
    matches!(word, "-c" | "-m" | "-s" | "-A" | "-H" | "-l" | "-AHP" | "-HAP")
}

/// Returns the number of the word that names the program, in a statement that starts it.
fn started(statement: &Statement, programs: &Programs<'_>) -> Option<usize> {
    let words = || statement.words.iter();
    let first = words().position(|word| programs.named(word))?;
    let named = words().take(first).map(|word| word.literal().unwrap_or_default());
    let options = words().skip(first + 1).any(|word| word.literal().is_some_and(is_option));
    (options && !words::only_named(named)).then_some(first)
}

/// Returns whether a system assumes that the RTC is in UTC.
fn unix(guest: Guest) -> bool {
    matches!(guest, Guest::Linux | Guest::Bsd)
}

/// The value of a key of vm-bhyve, and its line.
fn find<'a>(document: &'a Document, name: &str) -> Option<(&'a str, std::ops::Range<usize>)> {
    let of = |(start, line): (usize, &'a str)| {
        let value = line.strip_prefix(name)?.strip_prefix('=')?;
        Some((value.split('#').next()?.trim().trim_matches(['"', '\'']), start..start + line.len()))
    };
    document.text.lines().filter_map(of).last()
}

/// Returns whether a word has the flag `-u`; flags may be combined: `-AHPu`.
fn is_utc(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|flags| {
        flags.contains('u') && flags.len() < 8 && flags.bytes().all(|b| b.is_ascii_alphabetic())
    })
}

/// Returns whether a word is `-u`, or may be: a variable has the values that the script assigns to it; without an
/// assignment it may have any value.
fn may_be_utc(word: &Word, statements: &[Statement]) -> bool {
    if let Some(text) = word.literal() {
        return is_utc(text);
    }
    match word.pieces.as_slice() {
        [Piece::Literal(text), ..] if !text.as_str().starts_with('-') => false,
        [Piece::Variable { name, .. }] => {
            let begin = format!("{name}=");
            let more = format!("{name}+=");
            let all = statements.iter().flat_map(|it| it.words.iter().map(move |word| (it, word)));
            let assigns = all.filter_map(|(statement, word)| {
                let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
                let text = first.as_str();
                text.strip_prefix(&begin)
                    .or_else(|| text.strip_prefix(&more))
                    .map(|rest| (statement, word, rest))
            });
            let mut none = true;
            let utc = assigns.into_iter().any(|(statement, word, rest)| {
                none = false;
                // A variable before it, and an array, are not followed.
                let open = rest.is_empty() && (word.pieces.len() > 1 || statement.array.is_some());
                open || rest.split_whitespace().any(is_utc)
            });
            none || utc
        }
        _ => true,
    }
}

fn lint(document: &Document) -> Result<Report, LintError> {
    let name = crate::guest::base(&document.name);
    let loader = find(document, "loader").map(|(loader, _)| loader);
    let disk = find(document, "disk0_type").is_some();
    let whole = || ["guest", "uefi", "disk0_name"].iter().any(|key| find(document, key).is_some());
    if loader.is_some() || disk && whole() {
        // grub-bhyve starts Linux and OpenBSD.
        let paths = ["grub_run_partition", "grub_run0", "grub_install0"]
            .iter()
            .filter_map(|key| find(document, key));
        let linux = loader == Some("grub")
            && paths
                .into_iter()
                .any(|(value, _)| value.contains("vmlinu") || value.contains("linux"));
        let system = find(document, "guest").map_or("", |(guest, _)| guest);
        let known = document.system(linux.then_some(Guest::Linux), None, [name, system]);
        let mut report = Report::of(known, true, Vec::new());
        report.partial = false;
        let local = find(document, "utctime").filter(|(value, _)| {
            matches!(value.to_ascii_lowercase().as_str(), "no" | "false" | "off" | "0")
        });
        if let Some((_, at)) = local.filter(|_| unix(known.guest)) {
            report.findings.push(Finding::new(rule!("bhyve-rtc-local"), at).fix("utctime=\"yes\""));
        }
        return Ok(report);
    }
    let mut report: Option<Report> = None;
    let statements = statements(document.text.as_str());
    // The loaders of FreeBSD's kernel, and of Linux and OpenBSD; these systems all assume that the RTC is in UTC.
    let loads = |name: &str| {
        statements.iter().any(|it| {
            let mut words = it.words.iter().filter_map(|word| word.literal());
            words.any(|word| base(word) == name)
        })
    };
    let (freebsd, grub) = (loads("bhyveload"), loads("grub-bhyve"));
    let programs = Programs::of(&statements, is_program);
    for statement in &statements {
        let words: Vec<_> =
            statement.words.iter().map(|word| (word.literal(), word.span.clone())).collect();
        let plain = words.iter().position(|(word, _)| word.is_some_and(is_program));
        let Some(first) = plain.or_else(|| started(statement, &programs)) else { continue };
        let options = words.get(first + 1..).unwrap_or_default();
        let Some((_, at)) = words.get(first).filter(|_| !options.is_empty()) else { continue };
        // The last word names the machine.
        let machine = options.last().and_then(|(word, _)| *word).unwrap_or_default();
        let known = document.system(None, freebsd.then_some(Guest::Bsd), [name, machine]);
        let report = report.get_or_insert_with(|| Report::of(known, true, Vec::new()));
        let behind = statement.words.get(first + 1..).unwrap_or_default();
        let utc = behind.iter().any(|word| may_be_utc(word, &statements));
        let loaded = grub && known.guest == Guest::Unknown;
        if !utc && (unix(known.guest) || loaded) {
            report.findings.push(Finding::new(rule!("bhyve-rtc-local"), at.clone()).fix("-u"));
        }
    }
    report.ok_or_else(|| {
        LintError::whole(
            "it contains neither a bhyve command line with options nor a line loader= of vm-bhyve",
        )
    })
}

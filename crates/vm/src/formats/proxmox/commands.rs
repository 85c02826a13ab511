//! Scripts that create a Proxmox VE machine: `qm create` and `qm set`. Their options are the keys of its file, which
//! is judged. Nothing is changed in them.
//!
//! Source: qm(1); PVE/QemuServer.pm, `json_config_properties()` (the options of `create` and `set` are those of the file).

use crate::document::Document;
use crate::formats::pve::Machine;
use crate::formats::qemu::script::expanded;
use crate::inner::{MOST_MACHINES, together};
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::{Statement, Word, statements};
use crate::words::{base, listed};

/// Words before a command.
const BEFORE: &str = "sudo then else do if ! { && exec time command";
/// Keys that affect a clock, and keys that name the guest's system.
const KEYS: &str = "ostype cpu args machine bios arch kvm tdf name hostpci0 hostpci1 efidisk0 amd-sev intel-tdx ide2";

/// Returns the place of the machine's number in a command that creates or changes a machine.
fn number(names: &[&str]) -> Option<usize> {
    let first = names.iter().position(|name| !listed(BEFORE, name))?;
    // `ssh HOST qm set ...`.
    let remote = names.get(first).is_some_and(|name| base(name) == "ssh");
    let first = match remote {
        true => names.iter().position(|name| base(name) == "qm")?,
        false => first,
    };
    let makes = names.get(first).is_some_and(|name| base(name) == "qm")
        && names.get(first + 1).is_some_and(|name| matches!(*name, "create" | "set"));
    makes.then_some(first + 2)
}

fn names(statement: &Statement) -> Vec<&str> {
    statement.words.iter().map(|word| word.literal().unwrap_or_default()).collect()
}

/// Whether a text is a script with such commands.
pub(super) fn any(text: &str) -> bool {
    let option = |word: &Word| word.literal().is_some_and(|word| word.starts_with('-'));
    (text.contains("qm create") || text.contains("qm set"))
        && statements(text).iter().any(|statement| {
            number(&names(statement)).is_some() && statement.words.iter().any(option)
        })
}

/// One option and its value.
type Pair = (String, Placed);

/// Returns the options after the number of a machine.
fn options(words: &[Placed]) -> Vec<Pair> {
    let mut out = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let text = word.as_str();
        let Some(name) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
            continue;
        };
        if let Some((name, value)) = name.split_once('=')
            && text.starts_with("--")
        {
            let at = text.len() - value.len();
            out.push((name.to_owned(), word.slice(at..text.len())));
            continue;
        }
        // The value of `args` begins with a dash itself.
        let value = rest.next_if(|next| name == "args" || !next.as_str().starts_with('-'));
        out.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    out
}

pub(super) fn lint(document: &Document) -> Result<Report, LintError> {
    let text = document.text.as_str();
    let mut machines: Vec<(String, Placed, Vec<Pair>)> = Vec::new();
    for (statement, words) in &expanded(text, |statement| number(&names(statement)).is_some()) {
        let Some(place) = number(&names(statement)) else { continue };
        let Some(word) = statement.words.get(place) else { continue };
        // In its spelling: `$VMID` is the same machine everywhere.
        let id = text.get(word.span.clone()).unwrap_or_default();
        let id = id.replace(['"', '\'', '{', '}'], "");
        let before = words.iter().position(|word| base(word.as_str()) == "qm").unwrap_or(0);
        let given = options(words.get(before + 3..).unwrap_or_default());
        let most = machines.len() >= MOST_MACHINES;
        match machines.iter_mut().find(|(known, _, _)| *known == id) {
            Some((_, _, all)) => all.extend(given),
            None if most => {}
            None => {
                let whole = words.get(before).cloned().unwrap_or_default();
                machines.push((id, whole, given));
            }
        }
    }
    let judge = |(id, whole, pairs): &(String, Placed, Vec<Pair>)| {
        let mut machine = Machine::new(document, whole.span(), format!("qm {id}"));
        for (n, (key, value)) in pairs.iter().enumerate() {
            let other = |(at, (name, other)): (usize, &Pair)| {
                at != n && name == key && other.as_str() != value.as_str()
            };
            // A run uses one of several values.
            let several = pairs.iter().enumerate().any(other);
            if listed(KEYS, key) && !several {
                machine.word(key, value);
            }
        }
        machine.partial();
        machine.judge(say)
    };
    let reports = machines.iter().map(judge).collect::<Result<Vec<_>, _>>()?;
    let report = together(reports).map(|mut report| {
        for finding in report.findings.iter_mut().filter(|it| !it.edits.is_empty()) {
            finding.edits.clear();
            finding.left = Some("a script gives it to qm".to_owned());
        }
        report
    });
    report.ok_or_else(|| LintError::whole("it contains no qm create or qm set with options"))
}

/// Returns the remedy for a rule, in the terms of `qm`.
fn say(id: &str) -> Option<&'static str> {
    Some(match id {
        "pve-kvm-disabled" => "remove --kvm 0",
        "pve-kvm-hidden" => "remove hidden=1 from --cpu",
        "pve-ostype-windows-unset" => "--ostype win10 or win11, as it is",
        _ => return None,
    })
}

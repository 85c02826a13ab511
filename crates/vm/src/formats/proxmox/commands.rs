//! Scripts that create a Proxmox VE machine: `qm create` and `qm set`, and `pvesh` with the path of a machine. Their
//! options are the keys of its file, so they are checked as such a file. The scripts are never edited.
//!
//! Source: qm(1); pvesh(1); PVE/QemuServer.pm, `json_config_properties()` (the options of `create` and `set` are those
//! of the file).

use super::appended;
use crate::document::Document;
use crate::formats::pve::Machine;
use crate::formats::qemu::branches::conditions;
use crate::formats::qemu::script::{begin, expanded};
use crate::guest::Guest;
use crate::inner::{MOST_MACHINES, together};
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::{Piece, Statement, Word, statements};
use crate::words::{base, listed};
use std::borrow::Cow;
use std::collections::HashSet;

/// Words before a command.
pub(super) const BEFORE: &str = "sudo then else do if ! { && exec time command";
/// Keys that affect a clock, and keys that name the guest's system.
const KEYS: &str = "ostype cpu args machine bios arch kvm tdf name hostpci0 hostpci1 efidisk0 amd-sev intel-tdx ide2";
/// The limit of values of one option that are judged.
const MOST_VALUES: usize = 16;
/// Programs that create and change machines.
const PROGRAMS: &str = "qm pvesh";

/// Returns the place of the program's name in a command that creates or changes a machine.
fn program(names: &[String]) -> Option<usize> {
    let first = names.iter().position(|name| !listed(BEFORE, name))?;
    // `ssh HOST qm set ...`.
    let remote = names.get(first).is_some_and(|name| base(name) == "ssh");
    let first = match remote {
        true => names.iter().position(|name| listed(PROGRAMS, base(name)))?,
        false => first,
    };
    let [program, verb, object, ..] = names.get(first..)? else { return None };
    let makes = match base(program) {
        "qm" => matches!(verb.as_str(), "create" | "set"),
        "pvesh" => match verb.as_str() {
            "set" => number(object).is_some(),
            "create" => object.ends_with("/qemu") || number(object).is_some(),
            _ => false,
        },
        _ => false,
    };
    makes.then_some(first)
}

/// Returns the number of a machine in the path of its configuration, as in `/nodes/NODE/qemu/100/config`.
fn number(path: &str) -> Option<&str> {
    path.strip_suffix("/config")?.rsplit_once("/qemu/").map(|(_, number)| number)
}

/// The words of a statement; a variable is its name after `$`.
pub(super) fn names(statement: &Statement) -> Vec<String> {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.as_str().to_owned(),
        Piece::Variable { name, .. } => format!("${name}"),
        // What a command prints may be another word each time.
        Piece::Opaque { at } => format!("$({at})"),
    };
    statement.words.iter().map(|word| word.pieces.iter().map(piece).collect()).collect()
}

/// Returns the machine of a command: `$VMID` is the same one everywhere.
fn machine(names: &[String], program: usize) -> Option<String> {
    let object = names.get(program + 2)?;
    if base(names.get(program)?) == "qm" {
        return Some(object.clone());
    }
    if let Some(number) = number(object) {
        return Some(number.to_owned());
    }
    let option = names.iter().position(|name| matches!(name.as_str(), "-vmid" | "--vmid"))?;
    names.get(option + 1).cloned()
}

/// Returns a program of another language with the commands in its strings on lines of their own: `succeed("qm create 1
/// --kvm 0")` of a test in Nix or Python. All places stay.
fn opened(text: &str) -> Cow<'_, str> {
    const TALKS: [&str; 4] = ["print(", "echo(", "log(", "info("];
    let program = text.contains("testScript")
        || text.lines().any(|it| it.starts_with("import ") || it.starts_with("from "));
    if !program || text.starts_with("#!/bin/") {
        return Cow::Borrowed(text);
    }
    let mut out = text.as_bytes().to_vec();
    for quote in ['"', '\''] {
        for verb in ["qm create ", "qm set "] {
            for (at, _) in text.match_indices(&format!("{quote}{verb}")) {
                let inner = text.get(at + 1..).unwrap_or_default();
                let Some(length) = inner.find([quote, '\n']) else { continue };
                let numbered = inner.get(verb.len()..).unwrap_or_default();
                let before = text.get(..at).unwrap_or_default().trim_end();
                if numbered.starts_with(|c: char| c.is_ascii_digit())
                    && before.ends_with(['(', '[', ','])
                    && !TALKS.iter().any(|it| before.ends_with(it))
                {
                    for place in [at, at + 1 + length] {
                        if let Some(byte) = out.get_mut(place) {
                            *byte = b'\n';
                        }
                    }
                }
            }
        }
    }
    String::from_utf8(out).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Whether a text is a script with such commands.
pub(super) fn any(text: &str) -> bool {
    let text = &*opened(text);
    let option = |word: &Word| word.literal().is_some_and(|word| word.starts_with('-'));
    appended::any(text)
        || ["qm create", "qm set", "pvesh create", "pvesh set"]
            .iter()
            .any(|name| text.contains(name))
            && statements(text).iter().any(|statement| {
                program(&names(statement)).is_some() && statement.words.iter().any(option)
            })
}

/// Other commands of `qm` that make a machine or a part of one.
const OTHERS: &str = "clone importdisk importovf import template resize disk";

/// Whether a text is a script with these commands for a machine, by its number or a variable: they have no option that
/// affects a clock.
pub(super) fn others(text: &str) -> bool {
    let is = |names: &[String]| {
        let first = names.iter().position(|name| !listed(BEFORE, name))?;
        let [program, verb, object, ..] = names.get(first..)? else { return None };
        let object = object.trim_start_matches('-');
        let numbered = object.starts_with('$') || object.parse::<u32>().is_ok();
        Some(base(program) == "qm" && listed(OTHERS, verb) && numbered)
    };
    text.contains("qm ") && statements(text).iter().any(|it| is(&names(it)) == Some(true))
}

/// One option and its value, which is empty if the option is deleted.
struct Given {
    name: String,
    value: Placed,
    /// Whether the command runs whenever the script runs.
    always: bool,
}

/// Returns the options of a command.
fn options(words: &[Placed], always: bool) -> Vec<Given> {
    let mut out = Vec::new();
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        let text = word.as_str();
        let Some(name) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
            continue;
        };
        let (name, value) = match name.split_once('=').filter(|_| text.starts_with("--")) {
            Some((name, value)) => (name, Some(word.slice(text.len() - value.len()..text.len()))),
            // The value of `args` begins with a dash itself.
            None => {
                let value = rest.next_if(|next| name == "args" || !next.as_str().starts_with('-'));
                (name, value.cloned())
            }
        };
        let Some(value) = value else { continue };
        if name == "delete" {
            let gone = value.as_str().split([',', ' ']).map(str::to_owned);
            out.extend(gone.map(|name| Given { name, value: Placed::default(), always }));
        } else {
            out.push(Given { name: name.to_owned(), value, always });
        }
    }
    out
}

/// Returns the value of an option that a machine certainly has: the only one, or the last one if its command always runs.
fn certain<'a>(all: &'a [Given], name: &str, one: bool) -> Option<&'a Placed> {
    let mut given = all.iter().filter(|given| given.name == name);
    let last = given.next_back()?;
    let same = given.all(|other| other.value.as_str() == last.value.as_str());
    let value = (same || last.always && one).then_some(&last.value)?;
    (!value.as_str().is_empty()).then_some(value)
}

/// The different values that commands of several branches give to an option; each is judged as if it were the only one.
/// A command that always runs replaces those before it, unless they are of another machine.
fn values<'a>(all: &'a [Given], name: &str, one: bool) -> Vec<&'a Placed> {
    let given: Vec<&Given> = all.iter().filter(|given| given.name == name).collect();
    let from = given.iter().rposition(|given| given.always && one).unwrap_or(0);
    let mut out: Vec<&Placed> = Vec::new();
    for Given { value, .. } in given.into_iter().skip(from).filter(|it| !it.value.is_empty()) {
        if out.len() < MOST_VALUES && out.iter().all(|it| it.as_str() != value.as_str()) {
            out.push(value);
        }
    }
    out
}

/// Whether a variable may name several machines, one after another.
fn renamed(text: &str, machine: &str) -> bool {
    let Some(name) = machine.strip_prefix('$') else { return false };
    let set = |line: &&str| {
        let line = line.trim_start();
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
            || line.starts_with("for ")
            || line.starts_with("while ")
    };
    text.lines().filter(set).nth(1).is_some()
}

pub(super) fn lint(document: &Document) -> Result<Report, LintError> {
    let text = &*opened(document.text.as_str());
    let conditions = conditions(&statements(text));
    // The body of a function or of a loop is indented.
    let always = |at: usize| {
        let outermost =
            text.get(..at).is_some_and(|front| front.is_empty() || front.ends_with('\n'));
        outermost && !conditions.iter().any(|range| range.contains(&at))
    };
    // The options of each command, where it begins, its machine, and its place.
    let mut found: Vec<(usize, String, Placed, Vec<Given>)> = Vec::new();
    let mut created = HashSet::new();
    let wanted =
        |statement: &Statement| program(&names(statement)).is_some() || appended::writes(statement);
    let targets = appended::Targets::of(text);
    for (statement, words) in &expanded(text, wanted) {
        let names = names(statement);
        let at = begin(statement);
        if appended::writes(statement) {
            let Some((id, file)) = targets.get(at) else { continue };
            let given = appended::line(&appended::text_of(words, *file))
                .map(|(name, value)| Given { name, value, always: always(at) });
            let whole = words.last().cloned().unwrap_or_default();
            found.push((at, id.clone(), whole, given.into_iter().collect()));
            continue;
        }
        let id = program(&names).and_then(|place| machine(&names, place));
        let Some(id) = id else { continue };
        if names.iter().any(|name| name == "create") {
            created.insert(id.clone());
        }
        let before =
            words.iter().position(|word| listed(PROGRAMS, base(word.as_str()))).unwrap_or(0);
        let given = options(words.get(before + 3..).unwrap_or_default(), always(at));
        found.push((at, id, words.get(before).cloned().unwrap_or_default(), given));
    }
    for document in appended::documents(text) {
        let always = always(document.at);
        let Some(whole) = document.lines.first().map(|(_, value)| value.clone()) else { continue };
        let given = document.lines.into_iter().map(|(name, value)| Given { name, value, always });
        found.push((document.at, document.machine, whole, given.collect()));
    }
    found.sort_by_key(|(at, ..)| *at);
    let mut machines: Vec<(String, Placed, Vec<Given>)> = Vec::new();
    for (_, id, whole, given) in found {
        let most = machines.len() >= MOST_MACHINES;
        match machines.iter_mut().find(|(known, _, _)| *known == id) {
            Some((_, _, all)) => all.extend(given),
            None if most => {}
            None => machines.push((id, whole, given)),
        }
    }
    let judge = |(id, whole, all): &(String, Placed, Vec<Given>), args: Option<&Placed>| {
        let mut machine = Machine::new(document, whole.span(), format!("qm {id}"));
        let one = !renamed(text, id);
        for key in KEYS.split(' ') {
            let value = certain(all, key, one);
            if let Some(value) = value.or(args.filter(|_| key == "args")) {
                machine.word(key, value);
            }
        }
        // A machine that is created without an ostype has `other`.
        let unset = created.contains(id) && !all.iter().any(|given| given.name == "ostype");
        let name = certain(all, "name", one).map(Placed::as_str).unwrap_or_default();
        if unset && Guest::of_words(name) == Some(Guest::Windows) {
            machine.key("ostype", &[("other", None)]);
        }
        machine.partial();
        machine.judge(say)
    };
    let mut reports = Vec::new();
    for machine in &machines {
        let (id, _, all) = machine;
        let one = !renamed(text, id);
        let several = values(all, "args", one);
        match certain(all, "args", one) {
            None if !several.is_empty() => {
                for args in several {
                    reports.push(judge(machine, Some(args))?);
                }
            }
            _ => reports.push(judge(machine, None)?),
        }
    }
    let report = together(reports).map(|mut report| {
        // What does not depend on args is found with each of its values.
        let mut known = HashSet::new();
        report.findings.retain(|it| known.insert((it.rule.id, it.span.start, it.span.end)));
        for finding in report.findings.iter_mut().filter(|it| !it.edits.is_empty()) {
            finding.edits.clear();
            finding.left = Some("a script gives it to qm".to_owned());
        }
        report
    });
    report.ok_or_else(|| LintError::whole("it contains no qm create, qm set or pvesh with options"))
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

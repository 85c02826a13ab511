//! An option that a verb does not take.

use super::{at, nearest, with_tip};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command, Error};
use clocksmith_facts::{shell, visible};

/// Verbs (all of them, if there are none), options that users type there, and what to use instead.
const MEANT: [(&[&str], &[&str], &str); 8] = [
    (&[], &["-V", "--version"], "clocksmith --version"),
    (&["fix"], &["--revert", "--rollback", "--restore", "--reset"], "clocksmith fix --undo"),
    (
        &["fix", "vm fix"],
        &["-n", "--dry-run", "--check", "--diff", "--noop", "--simulate", "--plan", "--preview"],
        "fix changes nothing without --apply",
    ),
    (&["fix", "vm fix"], &["-y", "--yes", "--assume-yes"], "--apply does not ask"),
    (&["watch"], &["-p", "--port"], "clocksmith watch --listen 127.0.0.1:9988"),
    (&["bench"], &["--clock"], "clocksmith bench --only CLOCK_MONOTONIC"),
    (
        &["check"],
        &["-H", "--host", "--hostname"],
        "check examines the machine that it runs on: run it there by NRPE, ssh or an agent",
    ),
    (&["why"], &["-f", "--file", "-i", "--input"], "clocksmith why FILE"),
];

/// The most verbs that a tip names.
const MOST_VERBS: usize = 4;

/// Returns the error with what was probably meant. clap's own suggestion is the option whose name has letters in common,
/// which may do the opposite.
pub(super) fn improve(mut error: Error, given: &str, path: &[String], program: &Command) -> Error {
    let verb = path.join(" ");
    let meant = MEANT.iter().find(|(verbs, options, _)| {
        options.contains(&given) && (verbs.is_empty() || verbs.contains(&verb.as_str()))
    });
    if let Some((_, _, tip)) = meant {
        return with_tip(error, (*tip).to_owned());
    }
    let own = at(program, path).map(|verb| names(verb, program)).unwrap_or_default();
    let near = begins(given, &own)
        .map(Tip::Similar)
        .or_else(|| elsewhere(given, program).map(Tip::Say))
        .or_else(|| typed_wrongly(given, &own).map(Tip::Similar));
    match near {
        Some(Tip::Say(tip)) => with_tip(error, tip),
        Some(Tip::Similar(option)) => {
            error.remove(ContextKind::Suggested);
            error.remove(ContextKind::Usage);
            error.insert(ContextKind::SuggestedArg, ContextValue::String(option));
            error
        }
        // Only here a word may begin like an option.
        None if verb == "explain" => {
            let given = visible::line(&shell::quote(given)).into_owned();
            with_tip(error, format!("clocksmith explain -- {given}"))
        }
        None => {
            error.remove(ContextKind::Suggested);
            // The usage with that option.
            if error.remove(ContextKind::SuggestedArg).is_some() {
                error.remove(ContextKind::Usage);
            }
            error
        }
    }
}

enum Tip {
    /// An option of this verb.
    Similar(String),
    /// A sentence.
    Say(String),
}

/// The long options of a verb that its help shows.
fn names(verb: &Command, program: &Command) -> Vec<String> {
    let common = program.get_arguments().filter(|arg| arg.is_global_set());
    let hidden = |arg: &&Arg| verb.get_arguments().any(|own| own.get_id() == arg.get_id());
    let common = common.filter(|arg| !hidden(arg));
    let own = verb.get_arguments().filter(|arg| !arg.is_hide_set());
    let mut all: Vec<String> = own.chain(common).filter_map(long).collect();
    all.extend(["--help".to_owned()]);
    all.sort();
    all.dedup();
    all
}

fn long(arg: &Arg) -> Option<String> {
    arg.get_long().map(|name| format!("--{name}"))
}

/// The one option of which a part was typed.
fn begins(given: &str, own: &[String]) -> Option<String> {
    let mut found = own.iter().filter(|name| given.len() > 4 && name.starts_with(given));
    found.next().filter(|_| found.next().is_none()).cloned()
}

/// The one option that differs by a typing error.
fn typed_wrongly(given: &str, own: &[String]) -> Option<String> {
    let allowed = if given.chars().count() < 8 { 1 } else { 2 };
    nearest(given, own.iter().map(String::as_str), allowed)
}

/// The verbs that have this option.
fn elsewhere(given: &str, program: &Command) -> Option<String> {
    let mut found = Vec::new();
    with_option(given, program, "", &mut found);
    let (first, value) = found.first()?;
    if found.len() > MOST_VERBS {
        return None;
    }
    let verbs: Vec<&str> = found.iter().map(|(verb, _)| verb.as_str()).collect();
    let verbs = match verbs[..] {
        [.., last] if verbs.len() > 1 => {
            format!("{} and {last}", verbs[..verbs.len() - 1].join(", "))
        }
        _ => verbs.concat(),
    };
    let given = visible::line(given);
    Some(format!("{given} is an option of {verbs}: clocksmith {first} {given}{value}"))
}

/// Appends the verbs that have an option, each with the value that it takes there.
fn with_option(given: &str, parent: &Command, above: &str, found: &mut Vec<(String, String)>) {
    for verb in parent.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = format!("{above} {}", verb.get_name()).trim_start().to_owned();
        let is_it = |arg: &&Arg| {
            !arg.is_hide_set() && !arg.is_global_set() && long(arg).as_deref() == Some(given)
        };
        if let Some(arg) = verb.get_arguments().find(is_it) {
            let takes = arg.get_action().takes_values();
            let value = arg.get_value_names().and_then(|names| names.first());
            let value = value.filter(|_| takes).map(|value| format!(" {value}"));
            found.push((name.clone(), value.unwrap_or_default()));
        }
        with_option(given, verb, &name, found);
    }
}

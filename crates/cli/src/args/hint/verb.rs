//! A word where a verb belongs.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use clocksmith_facts::{shell, visible};
use std::path::Path;

/// Words that users type for a verb, and the command for each.
pub(super) const MEANT: [(&[&str], &str); 14] = [
    (&["undo", "revert", "rollback", "restore", "reset"], "fix --undo"),
    (&["apply", "repair", "set", "switch", "use"], "fix"),
    (&["status"], "fix --status"),
    (&["lint"], "vm lint FILE"),
    (&["migrate"], "vm migrate GUEST --to HOSTS"),
    (&["version"], "--version"),
    (&["usage", "-h", "--help"], "--help"),
    (&["what-if", "whatif", "simulate"], "predict"),
    (
        &[
            "diagnose", "doctor", "report", "info", "show", "analyse", "analyze", "time", "date",
            "clock",
        ],
        "why",
    ),
    (&["measure", "benchmark", "cost", "speed"], "bench"),
    (&["test", "trust", "validate"], "verify"),
    (&["profile", "top", "trace", "perf"], "who"),
    (&["monitor", "serve", "daemon"], "watch"),
    (&["bundle", "archive", "sosreport"], "collect"),
];

/// Returns the error with the verb that was probably meant.
pub(super) fn improve(error: &Error, program: &Command) -> Option<Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let below_vm = super::verbs_in_usage(error, program).first().is_some_and(|verb| verb == "vm");
    let parent = if below_vm { program.find_subcommand("vm")? } else { program };
    let command = if below_vm { "clocksmith vm" } else { "clocksmith" };
    let shown = visible::line(word);
    let tip = if below_vm { below(word, parent) } else { meant(word, parent) };
    let tip = tip.map(|tip| format!("\n\n  tip: {command} {tip}")).unwrap_or_default();
    Some(Error::raw(
        ErrorKind::InvalidSubcommand,
        format!(
            "'{shown}' is not a verb of `{command}`{tip}\n\nFor the verbs, try '{command} --help'.\n"
        ),
    ))
}

/// Returns the command for a word: another name of a verb, a verb with a typing error, a file, a word of `explain`.
fn meant(word: &str, program: &Command) -> Option<String> {
    let lower = word.to_lowercase();
    if let Some((_, command)) = MEANT.iter().find(|(words, _)| words.contains(&lower.as_str())) {
        return Some((*command).to_owned());
    }
    // The page of the manual and of the book has that name: vm-lint.
    if let Some(verb) = lower.strip_prefix("vm").map(|rest| rest.trim_start_matches(['-', '_']))
        && program.find_subcommand("vm").is_some_and(|vm| vm.find_subcommand(verb).is_some())
    {
        return Some(format!("vm {verb}"));
    }
    let path = Path::new(word);
    let quoted = || shell::quote(word);
    if path.is_dir() {
        return Some(format!("why --root {}", quoted()));
    }
    if path.exists() {
        return Some(format!("why {}", quoted()));
    }
    let known = clocksmith_diagnose::explain::explain(word);
    if known.iter().any(|known| known.title.eq_ignore_ascii_case(word)) {
        return Some(format!("explain {}", quoted()));
    }
    near(&lower, program)
}

/// Returns the verb of `vm` for a word: one with a typing error, or a file.
fn below(word: &str, parent: &Command) -> Option<String> {
    let file = || Path::new(word).exists().then(|| format!("lint {}", shell::quote(word)));
    near(word, parent).or_else(file)
}

/// The one verb from which a word differs by a typing error.
fn near(word: &str, parent: &Command) -> Option<String> {
    let verbs = parent.get_subcommands().filter(|verb| !verb.is_hide_set());
    let allowed = if word.chars().count() < 5 { 1 } else { 2 };
    super::nearest(word, verbs.map(Command::get_name), allowed)
}

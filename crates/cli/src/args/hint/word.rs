//! A word that a verb does not take: a file, a name or a value without its option.

use crate::verify::duration;
use clocksmith_diagnose::explain::{self, Kind};
use clocksmith_facts::{Facts, Origin, shell, visible};
use clocksmith_kernel::Machine;
use std::path::Path;

/// Returns the command line that was probably meant by a word after this verb.
pub(super) fn meant(word: &str, verb: &str) -> Option<String> {
    let quoted = visible::line(&shell::quote(word)).into_owned();
    let known = kind(word);
    let path = Path::new(word);
    let (is_file, is_dir) = (path.is_file(), path.is_dir());
    let parameter = matches!(known, Some(Kind::Parameter));
    Some(match verb {
        "why" => "clocksmith why reads one file: run it once for each".to_owned(),
        "collect" => format!("clocksmith collect --output {quoted}"),
        "run" => format!("the program comes after --: clocksmith run -- {quoted} ..."),
        "fix" | "check" | "watch" if is_dir => format!("clocksmith {verb} --root {quoted}"),
        "fix" | "check" | "watch" | "verify" | "bench" if is_file => {
            format!("{verb} works on a machine; this reads a file: clocksmith why {quoted}")
        }
        "fix" if parameter => format!("clocksmith fix --param {quoted}"),
        "fix" => format!("clocksmith fix --to {quoted}"),
        "check" | "watch" if known == Some(Kind::Clocksource) => {
            format!("clocksmith {verb} --expect {quoted}")
        }
        "verify" | "bench" if duration::parse(word).is_ok() => {
            format!("clocksmith {verb} --duration {quoted}")
        }
        "predict" if is_file => format!("clocksmith predict --log {quoted}"),
        "predict" if is_dir => format!("clocksmith predict --root {quoted}"),
        "predict" if word.starts_with(|first: char| first.is_ascii_digit()) => {
            format!("clocksmith predict --kernel {quoted}")
        }
        "predict" if known == Some(Kind::Clocksource) => {
            format!("clocksmith predict --cmdline +clocksource={quoted}")
        }
        "predict" if is_fact(word) => format!("clocksmith predict --set {quoted}"),
        "predict" if parameter => format!("clocksmith predict --cmdline +{quoted}"),
        "predict" if blank().set_hypervisor(word).is_ok() => {
            format!("clocksmith predict --hypervisor {quoted}")
        }
        _ => return None,
    })
}

/// The kind of the entry that `explain` has for a word.
fn kind(word: &str) -> Option<Kind> {
    explain::explain(word).first().map(|entry| entry.kind)
}

fn blank() -> Machine {
    Machine::of(&Facts::empty(Origin::Stated))
}

fn is_fact(word: &str) -> bool {
    word.split_once('=').is_some_and(|(fact, value)| blank().set(fact, value).is_ok())
}

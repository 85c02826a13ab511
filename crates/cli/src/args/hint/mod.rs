//! The command line to use instead of one that is not understood. Pure, except that it checks whether a file exists.

use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use clocksmith_facts::{shell, visible};
use std::path::Path;

/// Words that users type for a verb, and the command for each.
const MEANT: [(&[&str], &str); 13] = [
    (&["undo", "revert", "rollback", "restore", "reset"], "fix --undo"),
    (&["apply", "repair", "set", "switch", "use"], "fix"),
    (&["status"], "fix --status"),
    (&["lint"], "vm lint FILE"),
    (&["migrate"], "vm migrate GUEST --to HOSTS"),
    (&["version"], "--version"),
    (&["usage"], "--help"),
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

/// Names of options of `fix` that users type for `--undo`.
const UNDO: [&str; 4] = ["--revert", "--rollback", "--restore", "--reset"];

/// Returns the error with the command that was probably meant, instead of one with a merely similar name.
pub(super) fn improve(error: Error, program: &Command) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => verb(&error, program).unwrap_or(error),
        ErrorKind::UnknownArgument => option(error),
        _ => error,
    }
}

/// A word where a verb belongs.
fn verb(error: &Error, program: &Command) -> Option<Error> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let below_vm = verb_in_usage(error).is_some_and(|verb| verb == "vm");
    let parent = if below_vm { program.find_subcommand("vm")? } else { program };
    let command = if below_vm { "clocksmith vm" } else { "clocksmith" };
    let shown = visible::line(word);
    let tip = if below_vm { near(word, parent) } else { meant(word, parent) };
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

/// The one verb from which a word differs by a typing error.
fn near(word: &str, parent: &Command) -> Option<String> {
    let verbs = parent.get_subcommands().filter(|verb| !verb.is_hide_set());
    let allowed = if word.chars().count() < 5 { 1 } else { 2 };
    let mut found: Vec<_> = verbs
        .map(|verb| (strsim::osa_distance(word, verb.get_name()), verb.get_name()))
        .filter(|(errors, _)| *errors <= allowed)
        .collect();
    found.sort_unstable();
    match found[..] {
        [(_, name)] => Some(name.to_owned()),
        [(best, name), (second, _), ..] if best < second => Some(name.to_owned()),
        _ => None,
    }
}

/// The verb in the usage of a message: the word after the name of the program.
fn verb_in_usage(error: &Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    usage.trim_start_matches("Usage:").split_whitespace().nth(1).map(str::to_owned)
}

/// A word or an option that the verb does not take.
fn option(mut error: Error) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return error };
    let of_verb = verb_in_usage(&error);
    let of = |verb: &str| of_verb.as_deref() == Some(verb);
    let plain = !word.starts_with('-');
    let shown = visible::line(&shell::quote(word)).into_owned();
    let tip = if of("fix") && UNDO.contains(&word.as_str()) {
        "clocksmith fix --undo".to_owned()
    } else if of("fix") && plain {
        format!("clocksmith fix --to {shown}")
    } else if of("predict") && plain && word.starts_with(|first: char| first.is_ascii_digit()) {
        format!("clocksmith predict --kernel {shown}")
    } else if of("predict") && plain && Path::new(word).is_file() {
        format!("clocksmith predict --log {shown}")
    } else if of("collect") && plain {
        format!("clocksmith collect --output {shown}")
    } else if of("why") && plain {
        "clocksmith why reads one file: run it once for each".to_owned()
    } else {
        return error;
    };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

/// The definition whose errors are without colours.
pub(super) fn plain(command: Command) -> Command {
    command.styles(Styles::plain())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::help;

    fn error(words: &str) -> String {
        let all = std::iter::once("clocksmith").chain(words.split_whitespace());
        let error = plain(help::command()).try_get_matches_from(all).unwrap_err();
        improve(error, &help::command()).to_string()
    }

    #[test]
    fn verbs_that_do_not_exist_lead_to_the_command_that_was_meant() {
        for (words, command) in [
            ("undo", "clocksmith fix --undo"),
            ("lint x.xml", "clocksmith vm lint FILE"),
            ("version", "clocksmith --version"),
            ("clock", "clocksmith why"),
            ("wyh", "clocksmith why"),
            ("benhc", "clocksmith bench"),
            ("verfiy", "clocksmith verify"),
            ("explian hpet", "clocksmith explain"),
            ("hpet", "clocksmith explain hpet"),
            ("Cargo.toml", "clocksmith why Cargo.toml"),
            ("src", "clocksmith why --root src"),
            ("vm lnit x.xml", "clocksmith vm lint"),
        ] {
            let text = error(words);
            let tip = text.lines().find_map(|line| line.strip_prefix("  tip: "));
            assert_eq!(tip, Some(command), "{words}: {text}");
        }
    }

    #[test]
    fn words_that_mean_nothing_get_no_tip() {
        for words in ["frobnicate", "x", "vm check x.xml", "guard", "../no such file"] {
            assert!(!error(words).contains("tip:"), "{words}: {}", error(words));
        }
    }

    #[test]
    fn meant_commands_are_understood() {
        for (_, command) in MEANT {
            let words = std::iter::once("clocksmith").chain(command.split(' '));
            let Err(error) = help::command().try_get_matches_from(words) else { continue };
            let fine = [
                ErrorKind::DisplayHelp,
                ErrorKind::DisplayVersion,
                ErrorKind::MissingRequiredArgument,
            ];
            assert!(fine.contains(&error.kind()), "{command}: {error}");
        }
    }

    #[test]
    fn words_where_an_option_belongs_get_the_option() {
        for (words, command) in [
            ("fix tsc", "clocksmith fix --to tsc"),
            ("fix --revert", "clocksmith fix --undo"),
            ("predict 6.12", "clocksmith predict --kernel 6.12"),
            ("collect web1.tgz", "clocksmith collect --output web1.tgz"),
        ] {
            let text = error(words);
            assert!(text.contains(&format!("  tip: {command}\n")), "{words}: {text}");
            assert!(!text.contains("--remove-param"), "{text}");
        }
        // Another verb of the same name.
        assert!(!error("vm fix --revert x.xml").contains("--undo"));
    }

    #[test]
    fn an_option_with_a_typing_error_keeps_the_suggestion_of_clap() {
        assert!(error("why --no-colour").contains("'--no-color'"));
    }

    #[test]
    fn words_with_control_characters_are_shown_without_them() {
        let all = ["clocksmith", "a\u{1b}[2Jb"];
        let error = plain(help::command()).try_get_matches_from(all).unwrap_err();
        let text = improve(error, &help::command()).to_string();
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}

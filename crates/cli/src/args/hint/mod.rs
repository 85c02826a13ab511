//! The command line to use instead of one that is not understood. Pure, except that it checks whether a file exists.

mod option;
mod verb;
mod word;

use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::error::Error as _;
use std::num::ParseIntError;

/// Returns the error with the command that was probably meant, instead of one with a merely similar name.
pub(super) fn improve(error: Error, program: &Command) -> Error {
    match error.kind() {
        ErrorKind::InvalidSubcommand => verb::improve(&error, program).unwrap_or(error),
        ErrorKind::UnknownArgument => unknown(error, program),
        ErrorKind::MissingRequiredArgument => missing(error),
        ErrorKind::ValueValidation => number(&error).unwrap_or(error),
        _ => error,
    }
}

/// A word or an option that the verb does not take.
fn unknown(error: Error, program: &Command) -> Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let given = given.clone();
    let path = verbs_in_usage(&error, program);
    if given.starts_with('-') {
        return option::improve(error, &given, &path, program);
    }
    match word::meant(&given, &path.join(" ")) {
        Some(tip) => with_tip(error, tip),
        None => error,
    }
}

/// A word that is missing. A list of values takes every word that follows it.
fn missing(error: Error) -> Error {
    let Some(usage) = error.get(ContextKind::Usage).map(ToString::to_string) else { return error };
    let lacks = |what: &str| match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(all)) => all.iter().any(|one| one.contains(what)),
        _ => false,
    };
    if usage.contains("clocksmith vm migrate") && lacks("GUEST") && !lacks("--to") {
        let tip = "the guest is named before --to: clocksmith vm migrate GUEST --to HOST...";
        return with_tip(error, tip.to_owned());
    }
    #[cfg(not(feature = "who"))]
    if usage.contains("clocksmith who") {
        return Error::raw(error.kind(), format!("{}\n", crate::build::lacks("who")));
    }
    error
}

/// A value that is no number. The system's words for that name neither the option nor what it takes.
fn number(error: &Error) -> Option<Error> {
    error.source()?.downcast_ref::<ParseIntError>()?;
    let (Some(ContextValue::String(option)), Some(ContextValue::String(value))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidValue))
    else {
        return None;
    };
    let shown = clocksmith_facts::visible::line(value);
    Some(Error::raw(
        error.kind(),
        format!(
            "'{option}' takes a whole number, and '{shown}' is not one\n\nFor more information, try \
             '--help'.\n"
        ),
    ))
}

/// The verbs in the usage of a message, such as `vm lint`; those of the program are the ones that count.
fn verbs_in_usage(error: &Error, program: &Command) -> Vec<String> {
    let Some(usage) = error.get(ContextKind::Usage) else { return Vec::new() };
    let usage = usage.to_string();
    let mut parent = program;
    let mut path = Vec::new();
    for word in usage.trim_start_matches("Usage:").split_whitespace().skip(1) {
        let Some(verb) = parent.find_subcommand(word) else { break };
        path.push(word.to_owned());
        parent = verb;
    }
    path
}

/// The one name from which a word differs by typing errors, at most this many; `None` if two are equally near.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>, allowed: usize) -> Option<String> {
    let mut found: Vec<(usize, &str)> = names
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(errors, _)| *errors <= allowed)
        .collect();
    found.sort_unstable();
    match found[..] {
        [(_, name)] => Some(name.to_owned()),
        [(best, name), (second, _), ..] if best < second => Some(name.to_owned()),
        _ => None,
    }
}

/// The definition of a verb by its words.
fn at<'a>(program: &'a Command, path: &[String]) -> Option<&'a Command> {
    path.iter().try_fold(program, |parent, verb| parent.find_subcommand(verb))
}

/// The error with this tip instead of clap's own, and without the usage of another option.
fn with_tip(mut error: Error, tip: String) -> Error {
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
mod tests;

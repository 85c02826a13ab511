//! `explain`: a word, a parameter or a message in plain words.

use crate::args::{Common, Explain};
use crate::exit::Code;
use crate::render;
use crate::report::ExplainReport;
use anyhow::Result;
use clocksmith_diagnose::explain::{Explanation, Kind, did_you_mean, explain};
use clocksmith_facts::{shell, visible};
use clocksmith_vm::{Rule, Severity};
use std::path::Path;

pub(crate) fn run(common: &Common, args: &Explain) -> Result<Code> {
    if args.words.is_empty() {
        return list(common);
    }
    let query = args.words.join(" ");
    let mut explanations = explain(&query);
    explanations.extend(clocksmith_vm::rules::rule(query.trim()).map(rule));
    let mut offers = Vec::new();
    if explanations.is_empty() {
        offers = did_you_mean(&query);
        offers.extend(near_rules(query.trim()));
    }
    let code = if explanations.is_empty() { Code::Undetermined } else { Code::Done };
    let report = ExplainReport::new(query, explanations, offers);
    if common.json {
        render::json(&report)?;
    } else {
        render::explain::print(common, &report)?;
        if code == Code::Undetermined
            && let Some(file) = file(&report.query)
        {
            render::text(&format!("\nTo read that file: clocksmith why {file}\n"))?;
        }
    }
    Ok(code)
}

/// The name of a file, or of standard input, that was given in place of a word.
fn file(query: &str) -> Option<String> {
    let is_input = query == "-" || Path::new(query).is_file();
    is_input.then(|| visible::line(&shell::quote(query)).into_owned())
}

/// Prints all entries, if no word is given.
fn list(common: &Common) -> Result<Code> {
    let mut all = clocksmith_diagnose::explain::all();
    all.extend(clocksmith_vm::rules().map(rule));
    if common.json {
        render::json(&ExplainReport::new(String::new(), all, Vec::new()))?;
    } else {
        render::explain::list(common, &all)?;
    }
    Ok(Code::Done)
}

/// A rule of `vm lint`, in the form of every explanation.
fn rule(rule: &Rule) -> Explanation {
    let severity = match rule.severity {
        Severity::Error => "an error",
        Severity::Warn => "a warning",
        Severity::Info => "worth saying",
    };
    Explanation {
        title: rule.id.to_owned(),
        kind: Kind::Rule,
        what: format!("{}.", first_upper(rule.summary)),
        figures: Vec::new(),
        versions: String::new(),
        so_what: format!("{}. As a rule it is {severity}.", first_upper(rule.why)),
        do_what: format!(
            "`clocksmith vm lint FILE` shows where, `clocksmith vm fix FILE` shows what it can fix. Risk: {}",
            rule.risk
        ),
        see_also: Vec::new(),
        sources: vec![rule.source.to_owned()],
    }
}

/// Names with which rules begin, and which look like words of a sentence.
const NAMES: &[&str] = &["invtsc", "kubectl", "kvm", "libvirt", "libxl", "notsc", "sed", "tdf"];

/// A sentence begins with a capital, unless its first word is a name of code: an option or a program in capitals does
/// not exist.
fn first_upper(text: &str) -> String {
    let word = text.split([' ', ',', ':']).next().unwrap_or_default();
    let is_plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'\'');
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if is_plain && !NAMES.contains(&word) => {
            first.to_uppercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

/// Rules whose ids begin as the query does, or hold it.
fn near_rules(query: &str) -> Vec<String> {
    if query.len() < 3 || query.contains(' ') {
        return Vec::new();
    }
    clocksmith_vm::rules()
        .map(|rule| rule.id)
        .filter(|id| id.contains(query))
        .map(str::to_owned)
        .take(8)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_keep_their_first_letter() {
        for name in [
            "kvm=off hides KVM",
            "tsc_mode as a number",
            "sed -i on a file",
            "invtsc: on",
            "macOS needs it",
        ] {
            assert_eq!(first_upper(name), name);
        }
        assert_eq!(first_upper("the guest has an HPET"), "The guest has an HPET");
        assert_eq!(first_upper("a clock"), "A clock");
        assert_eq!(first_upper(""), "");
    }

    #[test]
    fn sentences_of_rules_begin_as_the_options_are_spelled() {
        for rule in clocksmith_vm::rules() {
            for text in [rule.summary, rule.why] {
                let word = text.split(' ').next().unwrap_or_default();
                if word.contains(['=', '_', '-']) {
                    assert!(first_upper(text).starts_with(word), "{}: {text}", rule.id);
                }
            }
        }
    }
}

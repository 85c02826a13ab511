//! Kernel parameters in a file, judged by their effect in Linux ([`clocksmith_kernel::mistakes()`]).

use crate::finding::{Finding, Rule, Severity};
use crate::words::{self, listed};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_kernel::{MistakeKind, mistakes};
use std::ops::Range;

/// The rules.
pub(crate) const RULES: &[Rule] = rules!("parameters");

/// A parameter about clocks, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

/// Names that affect clocks without a value.
const ALONE: &str =
    "notsc nohpet nopv no_kvmclock no_kvmclock_vsyscall nokvmclock tsc_reliable hpet_disable";
/// Names that affect clocks with a value, including frequent misspellings.
const WITH_VALUE: &str = "clocksource clock tsc notsc hpet nohpet no_kvmclock nopv acpi pmtmr clearcpuid \
    clocksoure clock_source clocksouce clocksrc clocksources tsc_reliable hpet_disable \
    nokvmclock";

/// Returns whether a name affects clocks; other names are ignored.
fn matters(word: &str) -> bool {
    let (name, value) =
        word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let name = name.to_ascii_lowercase().replace('-', "_");
    // Without a value the others are words of a language, not parameters.
    listed(if value.is_none() { ALONE } else { WITH_VALUE }, &name)
}

/// Finds the parameters about clocks in a piece of text, in any quotes and lists. `base` is where the text begins.
pub(crate) fn find(text: &str, base: usize) -> Vec<Parameter> {
    let mut found = Vec::new();
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '=' | ',' | ':');
    let mut at = 0;
    while at < text.len() {
        let Some(rest) = text.get(at..) else { break };
        let Some(skip) = rest.find(plain) else { break };
        let start = at + skip;
        let rest = text.get(start..).unwrap_or_default();
        let length = rest.find(|c| !plain(c)).unwrap_or(rest.len());
        at = start + length.max(1);
        let word = rest.get(..length).unwrap_or_default();
        let before = text.get(..start).and_then(|before| before.chars().next_back());
        let after = text.get(start + length..).and_then(|after| after.chars().next());
        // A list's comma, and the text after a variable's sign, are not a part of a parameter.
        let trimmed = word.trim_end_matches([',', ':', '.']);
        let lead = trimmed.len() - trimmed.trim_start_matches([',', '=']).len();
        let word = trimmed.get(lead..).unwrap_or_default();
        // `--args=clocksource=tsc`, `options=clocksource=tsc` and `+="clocksource=tsc"`.
        let lead = lead
            + word
                .find("=clocksource=")
                .or_else(|| word.find("=tsc=").filter(|_| !word.starts_with("clocksource")))
                .map_or(0, |at| at + 1);
        let word = trimmed.get(lead..).unwrap_or_default();
        let alone = lead > 0
            || before.is_none_or(|c| !matches!(c, '$' | '{' | '/' | '%' | '@'))
            || before == Some('/') && word.contains('=');
        // A placeholder that is filled in later has no value yet.
        let open = after
            .is_some_and(|c| matches!(c, '$' | '{' | '<' | '%' | '@' | '*' | '(' | '['))
            || (word.ends_with('=') && after.is_some_and(|c| !c.is_whitespace()));
        if alone && !open && matters(word) {
            let from = base + start + lead;
            found.push(Parameter { text: word.to_owned(), span: from..from + word.len() });
        }
    }
    found
}

/// Judges parameters that end on one command line. `editable`: the words are in the file as the kernel will read them,
/// so that they can be changed in place.
pub(crate) fn judge(parameters: &[Parameter], editable: bool) -> Vec<Finding> {
    // No quotes and blanks are left in the words, so their number stays the same.
    let text: Vec<&str> = parameters.iter().map(|p| p.text.as_str()).collect();
    let line = CommandLine::parse(&text.join(" "));
    let mut findings = Vec::new();
    for mistake in mistakes(&line) {
        // In a script, an unknown name may be the script's own, and is not a mistake.
        if !editable && mistake.kind == MistakeKind::NoSuchParameter {
            continue;
        }
        let Some(parameter) = parameters.get(mistake.word) else { continue };
        let (rule, severity): (&'static Rule, Severity) = match mistake.kind {
            // A name that is not similar to any known one may be that of a platform that is not in the list.
            MistakeKind::UnknownClocksource if mistake.instead.is_none() => {
                (rule!("cmdline-unknown-clocksource"), Severity::Warn)
            }
            MistakeKind::UnknownClocksource => {
                (rule!("cmdline-unknown-clocksource"), Severity::Error)
            }
            MistakeKind::UnknownValue if !editable && !parameter.text.contains(',') => {
                (rule!("cmdline-unknown-value"), Severity::Warn)
            }
            MistakeKind::UnknownValue => (rule!("cmdline-unknown-value"), Severity::Error),
            MistakeKind::NoSuchParameter => (rule!("cmdline-no-such-parameter"), Severity::Error),
            // The deprecated name has the same effect.
            MistakeKind::Superseded if mistake.why.starts_with("is the deprecated name") => {
                (rule!("cmdline-superseded"), Severity::Info)
            }
            MistakeKind::Superseded => (rule!("cmdline-superseded"), Severity::Warn),
            MistakeKind::Contradicted => (rule!("cmdline-contradicted"), Severity::Error),
            MistakeKind::Slow => (rule!("cmdline-slow-clocksource"), Severity::Warn),
            MistakeKind::Trusted => (rule!("persist-tsc-reliable-blanket"), Severity::Warn),
        };
        let mut finding = Finding::new(rule, parameter.span.clone())
            .severity(severity)
            .summary(format!("{} {}", parameter.text, mistake.why));
        finding.fix = match (&mistake.instead, mistake.kind) {
            (Some(instead), _) if instead.is_empty() => Some(format!("remove {}", parameter.text)),
            (Some(instead), _) => Some(format!("write {instead}")),
            (None, MistakeKind::Trusted) => Some(
                "remove tsc=reliable, or set it only on machines where `clocksmith verify` has \
                 proven the TSC"
                    .to_owned(),
            ),
            (None, MistakeKind::Slow) => {
                Some(format!("remove {}; the kernel's own choice is never worse", parameter.text))
            }
            (None, MistakeKind::Contradicted) => Some("keep one of the two".to_owned()),
            (None, MistakeKind::UnknownClocksource) => {
                Some("a name that /sys/devices/system/clocksource/clocksource0/available_clocksource lists".to_owned())
            }
            (None, _) => Some(format!("remove {}, or write what was intended", parameter.text)),
        };
        if editable
            && let Some(instead) = &mistake.instead
            && !instead.is_empty()
        {
            finding = finding.edit(parameter.span.clone(), instead.clone());
        }
        findings.push(finding);
    }
    for parameter in parameters {
        let summary = match parameter.text.as_str() {
            "notsc" => None,
            "tsc=unstable" => Some("tsc=unstable: the kernel treats the TSC as unstable"),
            _ => continue,
        };
        let text = &parameter.text;
        let fix = format!("remove {text}, unless the TSC of that machine is known to be wrong");
        let finding = Finding::new(rule!("cmdline-notsc"), parameter.span.clone()).fix(fix);
        findings.push(match summary {
            Some(words) => finding.summary(words),
            None => finding,
        });
    }
    for parameter in parameters {
        if matches!(
            parameter.text.replace('_', "-").as_str(),
            "no-kvmclock" | "no-kvmclock-vsyscall"
        ) {
            let fix = format!(
                "remove {}, unless kvm-clock of that host is known to be wrong",
                parameter.text
            );
            findings
                .push(Finding::new(rule!("cmdline-no-kvmclock"), parameter.span.clone()).fix(fix));
        }
    }
    findings
}

/// Returns the kernel's part of its command line: words after two dashes are for init (`kernel/params.c`,
/// parse_args()).
fn of_kernel(text: &str) -> &str {
    let dashes = text.match_indices("--").map(|(at, _)| at).find(|at| {
        let before = text.get(..*at).and_then(|it| it.chars().next_back());
        let behind = text.get(at + 2..).and_then(|it| it.chars().next());
        before.is_none_or(char::is_whitespace) && behind.is_none_or(char::is_whitespace)
    });
    dashes.and_then(|at| text.get(..at)).unwrap_or(text)
}

/// Finds and judges the parameters of one command line. Words to remove are removed with the blank before them.
pub(crate) fn lint(text: &str, base: usize, editable: bool) -> Vec<Finding> {
    let mut findings = judge(&find(of_kernel(text), base), editable);
    if editable {
        let mut done = 0;
        // A blank between two of them is removed once.
        for finding in
            findings.iter_mut().filter(|finding| finding.rule.id == rule!("cmdline-superseded").id)
        {
            let Some(start) = finding.span.start.checked_sub(base) else { continue };
            let end = finding.span.end - base;
            let bytes = text.as_bytes();
            let blank = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b' ');
            let (from, to) = if start > done && blank(start.checked_sub(1)) {
                (start - 1, end)
            } else if blank(Some(end)) {
                (start, end + 1)
            } else {
                (start, end)
            };
            let from = from.max(done);
            done = to;
            finding
                .edits
                .push(crate::edit::Edit { span: base + from..base + to, with: String::new() });
        }
    }
    findings
}

/// Returns the parameters of a statement in any language, in the places where a command line can be: not `NAME=VALUE`
/// at its beginning, which sets a variable of the script.
pub(crate) fn of_statement(line: &str, base: usize) -> Vec<Parameter> {
    let first = words::words(line, base).into_iter().find(|word| {
        !matches!(
            word.text,
            "export" | "local" | "readonly" | "declare" | "sudo" | "then" | "do" | "-"
        )
    });
    // An item of a list in YAML is not an assignment.
    let item = line.trim_start().starts_with("- ");
    find(line, base)
        .into_iter()
        .filter(|parameter| {
            item || first.as_ref().is_none_or(|first| {
                first.quoted || parameter.span.start > first.span.start || !first.text.contains('=')
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        find(text, 0).into_iter().map(|parameter| parameter.text).collect()
    }

    #[test]
    fn parameters_in_any_quotes() {
        assert_eq!(of("quiet clocksource=tsc tsc=reliable"), ["clocksource=tsc", "tsc=reliable"]);
        assert_eq!(
            of("[ \"tsc=reliable\" \"clocksource=tsc\" ]"),
            ["tsc=reliable", "clocksource=tsc"]
        );
        assert_eq!(of("--args=\"clocksource=tsc\""), ["clocksource=tsc"]);
        assert_eq!(of("--args=clocksource=tsc"), ["clocksource=tsc"]);
        assert_eq!(of("s/quiet/quiet clocksource=tsc/"), ["clocksource=tsc"]);
        assert_eq!(of("kargs = [\"clocksource=tsc\",\"notsc\"],"), ["clocksource=tsc", "notsc"]);
        assert_eq!(of("--append-if-missing=clocksource=tsc"), ["clocksource=tsc"]);
        assert_eq!(of("tsc=reliable,nowatchdog"), ["tsc=reliable,nowatchdog"]);
        for open in
            ["clocksource=$CS", "clocksource={{ cs }}", "clocksource=<name>", "clocksource=\"$x\""]
        {
            assert_eq!(of(open), [""; 0], "{open}");
        }
        assert_eq!(of("/sys/devices/system/clocksource/clocksource0/tsc"), [""; 0]);
    }

    #[test]
    fn tsc_that_is_called_unstable_is_not_used() {
        let of = |text: &str| {
            let found = lint(text, 0, true).into_iter();
            found.map(|it| (it.rule.id, it.summary.unwrap_or_default())).collect::<Vec<_>>()
        };
        let words = "tsc=unstable: the kernel treats the TSC as unstable".to_owned();
        assert_eq!(of("quiet tsc=unstable"), [("cmdline-notsc", words)]);
        assert_eq!(of("quiet notsc"), [("cmdline-notsc", String::new())]);
        assert_eq!(of("quiet tsc=nowatchdog"), []);
    }

    #[test]
    fn what_is_for_init_is_no_parameter() {
        let of = |text| lint(text, 0, true).len();
        assert_eq!(of("root=/dev/vda -- notsc clocksource=hpet tsc=reliable"), 0);
        assert_eq!(of("-- notsc"), 0);
        assert_eq!(of("notsc --"), 1);
        assert_eq!(of("--args notsc"), 1);
    }

    #[test]
    fn a_variable_is_no_parameter() {
        let of = |line| of_statement(line, 0).len();
        assert_eq!(of("clocksource=hpet"), 0);
        assert_eq!(of("export clocksource=hpet"), 0);
        assert_eq!(of("echo clocksource=hpet"), 1);
        assert_eq!(of("- clocksource=hpet"), 1);
        assert_eq!(of("- 'clocksource=hpet'"), 1);
    }

    #[test]
    fn several_in_vain_go_together() {
        let text = "clocksource=hpet clocksource=acpi_pm clocksource=tsc";
        let edits: Vec<_> = lint(text, 0, true).into_iter().flat_map(|f| f.edits).collect();
        assert_eq!(crate::edit::apply(text, &edits).unwrap(), "clocksource=tsc");
    }

    #[test]
    fn edits_write_what_is_meant() {
        let text = "quiet clocksource=hpet clocksource=kvmclock";
        let findings = lint(text, 0, true);
        let edits: Vec<_> = findings.iter().flat_map(|f| f.edits.clone()).collect();
        assert_eq!(crate::edit::apply(text, &edits).unwrap(), "quiet clocksource=kvm-clock");
    }
}

//! `vm lint` and `vm fix` as text.

use super::{Style, text, wrap};
use crate::args::Common;
use crate::report::vm::{FindingReport, FixReport, LintFile, LintReport, RulesReport};
use anyhow::Result;
use clocksmith_vm::Severity;

/// Prints findings, file by file.
pub(crate) fn lint(common: &Common, report: &LintReport) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    for file in report.files.iter().filter(|file| file.error.is_none()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&head(file, style));
        let shown: Vec<&FindingReport> = file
            .findings
            .iter()
            .filter(|finding| !common.quiet || finding.severity >= Severity::Warn)
            .collect();
        if shown.is_empty() {
            out.push_str(&match (file.ignored, common.verbose) {
                (0, _) | (_, true) => "  no findings\n".to_owned(),
                (1, false) => "  no findings; 1 finding is ignored (-v names it)\n".to_owned(),
                (n, false) => {
                    format!("  no findings; {n} findings are ignored (-v names them)\n")
                }
            });
        }
        for finding in shown {
            out.push_str(&one(finding, common, style));
        }
        for ignored in file.left_out.iter().filter(|_| common.verbose) {
            let place = format!("{}:{}", ignored.line, ignored.column);
            let by = match ignored.by {
                "comment" => "by a comment in the file",
                _ => "by --ignore",
            };
            let words = format!("ignored {by}: {} [{}]", ignored.summary, ignored.id);
            out.push_str(&wrap(&words, &format!("  {place:<8}"), "          "));
        }
    }
    text(&commandless(&out))
}

/// Returns the same text without lines that a GitHub job would obey: `::name...`, after any blanks, and `##[name]`
/// anywhere (`ActionCommand.cs` of actions/runner). Quoted text and names of files may contain anything.
fn commandless(text: &str) -> String {
    let line = |line: &str| {
        let line = line.replace("##[", "## [");
        match line.trim_start() {
            rest if rest.starts_with("::") => {
                let (blanks, rest) = line.split_at(line.len() - rest.len());
                format!("{blanks}'{rest}")
            }
            _ => line,
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

fn head(file: &LintFile, style: Style) -> String {
    let kind = file.kind.map_or("", clocksmith_vm::Kind::name);
    let partial = if file.partial {
        ", a part or a template: other settings may be in another file"
    } else {
        ""
    };
    let guess = match (file.guessed, file.overruled) {
        (_, true) => " as the file declares, so --guest is not used",
        (true, false) if file.guest != clocksmith_vm::Guest::Unknown => ", a guess from a name",
        (_, false) => "",
    };
    // The same path, but a GitHub job does not parse it as a command.
    let here = if file.file.trim_start().starts_with("::") { "./" } else { "" };
    let line =
        format!("{here}{} ({kind}, guest: {}{guess}{partial})", file.file, file.guest.name());
    let wrapped = wrap(&line, "", "  ");
    wrapped.lines().map(|line| style.bold(line) + "\n").collect()
}

fn severity(severity: Severity, style: Style) -> String {
    match severity {
        Severity::Error => style.red("error"),
        Severity::Warn => style.yellow("warn "),
        Severity::Info => style.dim("info "),
    }
}

fn one(finding: &FindingReport, common: &Common, style: Style) -> String {
    let place = format!("{}:{}", finding.line, finding.column);
    let first = format!("  {place:<8}");
    let object = finding.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
    let body = wrap(
        &format!("{object}{} [{}]", finding.summary, finding.id),
        &format!("{first}      "),
        "          ",
    );
    // The colour is added after the wrapping, so it counts for no column.
    let mut out = body.replacen(
        &format!("{first}      "),
        &format!("{first}{} ", severity(finding.severity, style)),
        1,
    );
    let mut row = |label: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&wrap(value, &format!("          {label:<7}"), "                 "));
        }
    };
    if common.quiet {
        return out;
    }
    row("found", &finding.place);
    if finding.severity > Severity::Info || common.verbose {
        row("why", finding.why);
        if let Some(fix) = &finding.fix {
            let by = if finding.mendable { " (`vm fix` does it)" } else { "" };
            row("do", &format!("{fix}{by}"));
        }
        if let Some(why) = &finding.by_hand {
            row("", &format!("by hand: {why}"));
        }
    }
    if common.verbose {
        row("risk", finding.risk);
        row("source", finding.source);
    }
    out
}

/// Prints the changes, and the findings that remain.
pub(crate) fn fix(common: &Common, report: &FixReport, apply: bool) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    for file in &report.files {
        if file.error.is_some() && file.diff.is_empty() {
            continue;
        }
        for line in file.diff.lines() {
            out.push_str(&match line.as_bytes().first() {
                Some(b'+') => style.green(line),
                Some(b'-') => style.red(line),
                _ => line.to_owned(),
            });
            out.push('\n');
        }
        if common.quiet {
            continue;
        }
        // Comments to patch(1), so that the output can be piped into it.
        let mut say = |words: &str| out.push_str(&wrap(words, "# ", "#   "));
        if file.diff.is_empty() {
            say(&format!("{}: nothing to change", file.file));
        }
        if file.followed {
            say(&format!("{}: it already has what --invtsc and --tsc-frequency choose", file.file));
        }
        if file.overruled {
            say(&format!(
                "{}: --guest is not used here: the file declares the guest's system ({})",
                file.file,
                file.guest.name()
            ));
        }
        for mended in &file.mended {
            say(&format!(
                "{}: fixed: {} [{}]. Risk: {}",
                file.file, mended.summary, mended.id, mended.risk
            ));
        }
        for (number, left) in file.left.iter().enumerate() {
            if left.severity < Severity::Warn {
                continue;
            }
            let line = file.lines.get(number).copied().unwrap_or(left.line);
            let object =
                left.object.as_ref().map(|object| format!("{object}: ")).unwrap_or_default();
            let by =
                left.by_hand.as_ref().map(|why| format!(" by hand ({why})")).unwrap_or_default();
            let todo =
                left.fix.as_ref().map(|fix| format!(". To do{by}: {fix}")).unwrap_or_default();
            say(&format!(
                "{}:{line}: left: {object}{} [{}]{todo}",
                file.file, left.summary, left.id
            ));
        }
        for why in &file.undecided {
            say(&format!(
                "{}: left: the changes of --invtsc and --tsc-frequency are to be made by hand: {why}",
                file.file
            ));
        }
        if !file.qemu.is_empty() {
            say(&format!("{}: libvirt passes to QEMU: {}", file.file, file.qemu.join(" ")));
        }
        match (&file.backup, file.written) {
            (Some(backup), true) => {
                say(&format!("{}: written; the original is in {backup}", file.file))
            }
            (None, true) => say(&format!("{}: written", file.file)),
            _ if !apply && !file.diff.is_empty() && file.refused.is_some() => {
                let why = file.refused.as_deref().unwrap_or_default();
                say(&format!("nothing is written, and --apply would refuse it: {why}"));
            }
            _ if !apply && !file.diff.is_empty() => {
                say(
                    "nothing was written; --apply writes the file. A running guest keeps its settings until it \
                     is restarted",
                );
            }
            _ => {}
        }
    }
    text(&out)
}

/// Prints every rule: its id, its severity and its summary.
pub(crate) fn rules(common: &Common, report: &RulesReport) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    for rule in &report.rules {
        let first = format!("{:<34}", rule.id);
        let body = wrap(
            rule.summary,
            &format!("{first}      "),
            "                                        ",
        );
        out.push_str(&body.replacen(
            &format!("{first}      "),
            &format!("{first}{} ", severity(rule.severity, style)),
            1,
        ));
    }
    text(&out)
}

//! `why` as text: one sentence, the chain of reasons with evidence, the costs, the remedies.

use super::{Style, text, wrap};
use crate::args::Common;
use anyhow::Result;
use clocksmith_diagnose::symptom::SymptomReport;
use clocksmith_diagnose::{Cause, Confidence, Path, Remedy, Report, Severity, Verdict};
use clocksmith_kernel::Expectation;
use clocksmith_kernel::host::Tsc;

/// Causes that are shown without `-v`.
const CAUSES: usize = 4;
/// Symptoms that are shown.
const SYMPTOMS: usize = 6;
/// Lines of evidence for each cause without `-v`.
const EVIDENCE: usize = 2;

/// Prints the diagnosis.
pub(crate) fn print(common: &Common, report: &Report, expectation: &Expectation) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::new();
    headline(&mut out, report, style);
    if !common.quiet {
        state(&mut out, report, expectation);
        sections(&mut out, report, style);
        symptoms(&mut out, report, style);
        because(&mut out, report, expectation, common, style);
        costs(&mut out, report);
        super::wall::clock(&mut out, report, common, style);
        super::known::paragraph(&mut out, &report.known, style);
        remedies(&mut out, report, style);
        next(&mut out, report, style);
        super::policy::paragraph(&mut out, report, common, style);
        policies(&mut out, report, common, style);
        settles(&mut out, report, style);
        missing(&mut out, report, common);
    } else {
        super::policy::paragraph(&mut out, report, common, style);
    }
    text(&out)
}

fn headline(out: &mut String, report: &Report, style: Style) {
    let sentence = wrap(&report.headline, "", "");
    out.push_str(&match report.verdict {
        Verdict::Ok => style.green(&sentence),
        Verdict::Slow => style.yellow(&sentence),
        Verdict::Untrustworthy => style.red(&sentence),
        Verdict::Unknown => style.bold(&sentence),
    });
}

fn state(out: &mut String, report: &Report, expectation: &Expectation) {
    let row = |out: &mut String, name: &str, value: &str| {
        out.push_str(&wrap(value, &format!("  {name:<12}"), "              "));
    };
    out.push('\n');
    let clock = &report.clocksource;
    let current = clock.current.as_deref().unwrap_or("not known");
    row(out, "in use", &format!("{current}  [{}]", clock.source));
    if let Some(available) = &clock.available {
        row(out, "available", &available.join(" "));
    }
    if report.clocksource.current != report.expected.current
        && let Some(expected) = &report.expected.current
        && clock.current.is_some()
        && expectation.assumed.is_empty()
    {
        row(out, "expected", &format!("{expected} (according to the rules of this kernel)"));
    }
    let machine = &report.machine;
    let parts: Vec<&str> = [&machine.kernel, &machine.arch, &machine.cpu]
        .into_iter()
        .filter_map(Option::as_deref)
        .filter(|part| !part.is_empty())
        .collect();
    if !parts.is_empty() {
        row(out, "machine", &parts.join(", "));
    }
    if let Some(hypervisor) = &machine.hypervisor {
        row(out, "hypervisor", hypervisor);
    }
    if let Some(tsc) = machine.as_host.tsc {
        row(out, "TSC", &frequency(tsc));
    }
    if let Some(verified) = &report.verified {
        let verdict = verified.verdict.name().replace('-', " ");
        let sure = verified.confidence;
        let offset = verified
            .detectable_offset_ns
            .map_or_else(String::new, |ns| format!(", offsets over {}", super::verify::time(ns)));
        row(
            out,
            "verified",
            &format!(
                "CPUs {}: {verdict} ({sure} confidence{offset}), {} min ago  [{}]",
                verified.scope,
                verified.age_s / 60,
                verified.source
            ),
        );
    }
    if let Some(boots) = machine.boots() {
        row(out, "log", &boots);
    }
    if machine.log_is_diff {
        row(out, "log", DIFF);
    }
    if let Some(read) = report.read.as_ref().filter(|read| read.is_told()) {
        row(out, "read", &read.text());
    }
}

/// The machines of a text that shows several.
fn sections(out: &mut String, report: &Report, style: Style) {
    if report.sections.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Each machine, or state of one, in this text")));
    for section in &report.sections {
        let name = section.machine.as_deref().unwrap_or("no name");
        let line = format!("{name}, lines {}: {}", section.lines, section.headline);
        out.push_str(&wrap(&line, "  - ", "    "));
    }
}

/// Appends the messages of other programs, and what they prove.
fn symptoms(out: &mut String, report: &Report, style: Style) {
    if report.symptoms.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Symptoms")));
    let mut before: Option<&SymptomReport> = None;
    for symptom in report.symptoms.iter().take(SYMPTOMS) {
        let line = format!("{}: {}  [{}]", symptom.tool, symptom.says, symptom.source);
        out.push_str(&wrap(&line, "  ", "    "));
        let alike = |other: &SymptomReport| {
            other.proves == symptom.proves && other.leaves_open == symptom.leaves_open
        };
        if before.replace(symptom).is_some_and(alike) {
            continue;
        }
        for (label, text) in
            [("proves: ", &symptom.proves), ("leaves open: ", &symptom.leaves_open)]
        {
            if !text.is_empty() {
                out.push_str(&style.dim(&wrap(&format!("{label}{text}"), "    ", "      ")));
            }
        }
        if !symptom.settled_by.is_empty() {
            // Commands are for copying: never wrapped.
            out.push_str(&format!("    settled by: {}\n", symptom.settled_by));
        }
    }
    if let Some(more) = report.symptoms.len().checked_sub(SYMPTOMS).filter(|more| *more > 0) {
        out.push_str(&format!("  ... and {more} more: --json shows all\n"));
    }
}

/// The description of a log that is a diff of two.
pub(crate) const DIFF: &str = "is a diff of two logs; this is about the new one (+, ! or >)";

/// The TSC's frequency, as far as it is known.
pub(crate) fn frequency(tsc: Tsc) -> String {
    let mhz = f64::from(tsc.khz) / 1000.0;
    match f64::from(tsc.slack_khz) / 1000.0 {
        0.0 => format!("{mhz:.3} MHz"),
        slack => format!("{mhz:.3} MHz +/- {slack:.3} MHz"),
    }
}

fn because(
    out: &mut String,
    report: &Report,
    expectation: &Expectation,
    common: &Common,
    style: Style,
) {
    // The wall clock has its own paragraph.
    let causes: Vec<Cause> =
        report.causes.iter().filter(|cause| !cause.id.concerns_wall_clock()).cloned().collect();
    let healthy = report.verdict == Verdict::Ok
        && causes.iter().all(|cause| cause.severity == Severity::Info);
    if !causes.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold(if healthy { "Worth knowing" } else { "Why" })));
        let limit = if common.verbose { usize::MAX } else { CAUSES };
        let shown = &causes[..causes.len().min(limit)];
        let mut from = 0;
        while let Some(first) = shown.get(from) {
            // Causes that rest on the same lines and are merely possible are one block.
            let alike = |other: &&Cause| {
                from > 0
                    && shown[from - 1].evidence == other.evidence
                    && !other.evidence.is_empty()
                    && other.confidence == Confidence::Low
            };
            let same = shown[from..].iter().take_while(|other| {
                other.summary == first.summary
                    && other.evidence == first.evidence
                    && (other.severity, other.confidence) == (first.severity, first.confidence)
            });
            let count = same.count().max(1);
            let folded = alike(&first);
            show_causes(out, &shown[from..from + count], folded, common, style);
            from += count;
        }
        if causes.len() > limit {
            let more = causes.len() - limit;
            out.push_str(&format!("  ... and {more} more: -v shows all\n"));
        }
    }
    for difference in &report.differences {
        out.push_str(&wrap(difference, "  ~ ", "    "));
    }
    // The chain of rules answers "why" when nothing went wrong, and is detail otherwise.
    let explains = expectation.current == report.clocksource.current;
    if common.verbose || (healthy && causes.is_empty() && explains) {
        let title = if explains && !expectation.assumed.is_empty() {
            "How Linux decided, with the assumptions listed below"
        } else if explains {
            "How Linux decided"
        } else {
            "How Linux would decide by its rules, which do not explain the clocksource in use"
        };
        out.push_str(&format!("\n{}\n", style.bold(title)));
        for reason in &expectation.reasons {
            out.push_str(&wrap(&reason.because, "  - ", "    "));
            if common.verbose {
                out.push_str(&style.dim(&wrap(&reason.source, "      ", "      ")));
            }
        }
        for item in &expectation.assumed {
            let line = format!("assumed {} = {}: {}", item.fact, item.value, item.why);
            out.push_str(&wrap(&line, "  - ", "    "));
        }
    }
}

/// Appends causes with one summary; `folded`: their lines were shown with the cause before.
fn show_causes(out: &mut String, causes: &[Cause], folded: bool, common: &Common, style: Style) {
    let Some(cause) = causes.first() else { return };
    let sure = match cause.confidence {
        Confidence::High => "",
        Confidence::Medium => " (likely)",
        Confidence::Low => " (possible)",
    };
    let names: Vec<&str> = causes.iter().map(|cause| cause.id.name()).collect();
    let name = format!("{}{sure}", names.join(" or "));
    let name = match cause.severity {
        Severity::Critical => style.red(&name),
        Severity::Warning => style.yellow(&name),
        Severity::Info => name,
    };
    out.push_str(&format!("  {name}\n"));
    out.push_str(&wrap(&cause.summary, "    ", "    "));
    if folded {
        out.push_str(&style.dim("      (the same lines)\n"));
        return;
    }
    let limit = if common.verbose { usize::MAX } else { EVIDENCE };
    for evidence in cause.evidence.iter().take(limit) {
        let line = format!("{}: {}", evidence.source, evidence.text);
        out.push_str(&style.dim(&wrap(&line, "      ", "        ")));
    }
}

fn costs(out: &mut String, report: &Report) {
    if report.reads.is_empty() {
        return;
    }
    out.push_str("\n  clock                        a read   by system call   path\n");
    for read in &report.reads {
        let path = match read.path {
            Path::Vdso => "user space (vDSO)",
            Path::Syscall => "system call",
            Path::Unknown => "not clear",
        };
        out.push_str(&format!(
            "  {:<24} {:>10}       {:>10}   {path}\n",
            read.clock,
            duration(read.ns),
            duration(read.syscall_ns)
        ));
    }
    if let Some(ns) = report.counter_ns {
        out.push_str(&format!("  {:<24} {:>10}\n", "raw counter", duration(Some(ns))));
    }
}

pub(super) fn duration(ns: Option<f64>) -> String {
    match ns {
        None => "-".to_owned(),
        Some(ns) if ns < 1000.0 => format!("{ns:.1} ns"),
        Some(ns) => format!("{:.2} us", ns / 1000.0),
    }
}

fn remedies(out: &mut String, report: &Report, style: Style) {
    let (refused, advised): (Vec<&Remedy>, Vec<&Remedy>) =
        report.remedies.iter().partition(|r| r.refused_because.is_some());
    if !advised.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("What to do, best first")));
    }
    for (index, remedy) in advised.iter().enumerate() {
        let layer = remedy.layer.name();
        out.push_str(&wrap(
            &format!("{} [{layer}]", remedy.summary),
            &format!("  {}. ", index + 1),
            "     ",
        ));
        for command in &remedy.commands {
            // Commands are for copying: never wrapped.
            out.push_str(&format!("       {command}\n"));
        }
        for setting in &remedy.settings {
            out.push_str(&wrap(&format!("{}:", setting.r#where), "     in ", "        "));
            for line in setting.text.lines() {
                out.push_str(&format!("       {line}\n"));
            }
        }
        for instruction in &remedy.instructions {
            out.push_str(&wrap(instruction, "     - ", "       "));
        }
        out.push_str(&wrap(&remedy.risk, "     risk: ", "       "));
        out.push_str(&style.dim(&wrap(&remedy.source, "     source: ", "       ")));
    }
    if !refused.is_empty() && report.verdict != Verdict::Ok {
        out.push_str(&format!("\n{}\n", style.bold("What not to do")));
        for remedy in refused {
            let because = remedy.refused_because.as_deref().unwrap_or_default();
            let what = remedy.summary.split(':').next().unwrap_or_default();
            out.push_str(&wrap(&format!("do not {what}: {because}"), "  x ", "    "));
        }
    }
}

/// Appends the next steps: the programs that suffer, remedies without a reboot, permanent remedies.
fn next(out: &mut String, report: &Report, style: Style) {
    if report.next.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Next")));
    for step in &report.next {
        out.push_str(&format!("  {:<28}  {}\n", step.command, step.what));
    }
}

/// Recommendations of the vendor of this cloud, with their dates, because vendors change them.
fn policies(out: &mut String, report: &Report, common: &Common, style: Style) {
    // The paragraph of `--policy` has this for the machine.
    let asked = report.policy.is_some();
    if report.policies.is_empty() || asked || (report.verdict == Verdict::Ok && !common.verbose) {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("What the vendor says")));
    for policy in &report.policies {
        let line =
            format!("{}, {}: {} ({})", policy.who, policy.machines, policy.says, policy.source);
        out.push_str(&wrap(&line, "  - ", "    "));
    }
}

/// Appends the facts that would turn an unknown verdict into a known one.
fn settles(out: &mut String, report: &Report, style: Style) {
    if report.settles.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("To find out, on that machine")));
    for item in &report.settles {
        out.push_str(&wrap(&format!("{}: {}", item.fact, item.how), "  - ", "    "));
    }
}

fn missing(out: &mut String, report: &Report, common: &Common) {
    let useful: Vec<_> =
        report.missing.iter().filter(|m| m.how.is_some() || common.verbose).collect();
    if useful.is_empty() {
        return;
    }
    out.push_str("\nNot seen\n");
    for item in useful {
        let how = item.how.as_deref().map_or_else(String::new, |how| format!("; {how}"));
        out.push_str(&wrap(&format!("{}: {}{how}", item.fact, item.why), "  - ", "    "));
    }
}

//! `why --html`: the verdict, the evidence, the actions. The order is that of the questions of a reader of a ticket:
//! the verdict, the machine, the costs, the causes, the remedies and the refused ones, and then the evidence.

use super::{Made, Page, bars, row, source, text, verbatim};
use clocksmith_diagnose::remedies::Layer;
use clocksmith_diagnose::timeline::{Moment, Step};
use clocksmith_diagnose::{Cause, Evidence, Remedy, Report, Severity, Verdict};
use std::fmt::Write;

/// Lines of the timeline from its beginning, and from its end.
const MOMENTS: usize = 40;

/// The page.
pub(crate) fn page(report: &Report, made: &Made) -> String {
    let (word, _) = verdict(report.verdict);
    let mut page = Page::new("why", &format!("{word}: {}", report.headline));
    head(&mut page.out, report, made);
    page.out.push_str("<main>\n");
    page.section("The machine", &machine(report));
    page.section("What a read of the time costs", &costs(report));
    let (wall, reads): (Vec<Cause>, Vec<Cause>) =
        report.causes.iter().cloned().partition(|cause| cause.id.concerns_wall_clock());
    let healthy =
        report.verdict == Verdict::Ok && reads.iter().all(|cause| cause.severity == Severity::Info);
    page.section(if healthy { "Worth knowing" } else { "Why" }, &causes(&reads));
    page.section("The wall clock", &wall_clock(report, &wall));
    page.section("What is known about such problems", &known(report));
    page.section("What other programs say", &symptoms(report));
    page.section("Where the machine is not as expected", &differences(report));
    let (refused, advised): (Vec<&Remedy>, Vec<&Remedy>) =
        report.remedies.iter().partition(|remedy| remedy.refused_because.is_some());
    page.section("What to do, best first", &advice(&advised));
    page.section("What not to do", &refusals(&refused));
    if let Some(asked) = &report.policy {
        page.section(&format!("What {} requires", asked.name), &super::policy::asked(asked));
    }
    page.section("What the vendor says", &policies(report));
    page.section("Not seen", &missing(report));
    page.section("What the kernel did with its clocks", &timeline(&report.timeline));
    page.section("Every fact, with its source", &facts(report));
    page.out.push_str("</main>\n");
    page.finish(&report.schema, made)
}

/// Renders whether the wall clock is correct.
fn wall_clock(report: &Report, found: &[Cause]) -> String {
    let summary = report.wall_clock.as_ref().map_or("", |wall| &wall.summary);
    if summary.is_empty() {
        return String::new();
    }
    format!("<p>{}</p>\n{}", text(summary), causes(found))
}

/// Renders what the pages say of the subject of a text in prose.
fn known(report: &Report) -> String {
    let mut out = String::new();
    for one in &report.known {
        let _ = writeln!(out, "<p><b>{}</b>: {}</p>", text(&one.word), text(&one.text));
    }
    out
}

/// Renders symptoms, the machines of the text, and the parts of it that were recognised.
fn symptoms(report: &Report) -> String {
    let mut out = String::new();
    for symptom in &report.symptoms {
        let _ = writeln!(
            out,
            "<p><b>{}</b>: {} ({})<br>Proves: {}<br>Leaves open: {}<br>Settled by: <code>{}</code></p>",
            text(&symptom.tool),
            text(&symptom.says),
            text(&symptom.source),
            text(&symptom.proves),
            text(&symptom.leaves_open),
            text(&symptom.settled_by)
        );
    }
    for section in &report.sections {
        let name = section.machine.as_deref().unwrap_or("no name");
        let _ = writeln!(
            out,
            "<p>{}, lines {}: {}</p>",
            text(name),
            text(&section.lines),
            text(&section.headline)
        );
    }
    if let Some(read) = report.read.as_ref().filter(|read| read.is_told()) {
        let _ = writeln!(out, "<p>Read: {}</p>", text(&read.text()));
    }
    out
}

/// The verdict in a word, and the class that colours it.
fn verdict(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Ok => ("OK", "ok"),
        Verdict::Slow => ("SLOW", "warning"),
        Verdict::Untrustworthy => ("UNTRUSTWORTHY", "critical"),
        Verdict::Unknown => ("UNKNOWN", "unknown"),
    }
}

fn head(out: &mut String, report: &Report, made: &Made) {
    let (word, class) = verdict(report.verdict);
    let _ = write!(
        out,
        "<header class=\"{class}\"><p><span class=\"badge\">{word}</span> {} confidence</p>\n\
         <h1>{}</h1>\n<p>clocksmith {} &middot; <time>{}</time> &middot; of {}</p></header>\n",
        report.confidence,
        text(&report.headline),
        env!("CARGO_PKG_VERSION"),
        super::utc(made.at),
        text(&made.of)
    );
}

fn machine(report: &Report) -> String {
    let mut rows = String::new();
    let clock = &report.clocksource;
    let current = clock.current.as_deref().unwrap_or("not known");
    row(&mut rows, "In use", &format!("<b>{}</b> {}", text(current), source(&clock.source)));
    if let Some(available) = &clock.available {
        row(&mut rows, "Available", &text(&available.join(" ")));
    }
    if let Some(expected) = &report.expected.current {
        let list = match &report.expected.available {
            Some(available) if !available.is_empty() => {
                format!(" (available: {})", available.join(" "))
            }
            _ => String::new(),
        };
        let words = format!("{expected}{list}, according to the rules of this kernel");
        row(&mut rows, "Expected", &text(&words));
    }
    if let Some(vdso) = report.expected.vdso {
        let way = if vdso { "in user space (vDSO)" } else { "by system call" };
        row(&mut rows, "Read, as expected", way);
    }
    let machine = &report.machine;
    let kernel: Vec<&str> =
        [&machine.kernel, &machine.arch].into_iter().filter_map(Option::as_deref).collect();
    if !kernel.is_empty() {
        row(&mut rows, "Kernel", &text(&kernel.join(", ")));
    }
    if let Some(cpu) = machine.cpu.as_deref().filter(|cpu| !cpu.is_empty()) {
        row(&mut rows, "Processor", &text(cpu));
    }
    if let Some(hypervisor) = &machine.hypervisor {
        row(&mut rows, "Hypervisor", &text(hypervisor));
    }
    if let Some(tsc) = machine.as_host.tsc {
        row(&mut rows, "TSC", &crate::render::why::frequency(tsc));
    }
    if let Some(words) = machine.boots() {
        row(&mut rows, "Kernel log", &words);
    }
    if machine.log_is_diff {
        row(&mut rows, "Kernel log", &text(crate::render::why::DIFF));
    }
    if let Some(verified) = verified(report) {
        row(&mut rows, "Verified", &verified);
    }
    format!("<table>{rows}</table>\n")
}

fn verified(report: &Report) -> Option<String> {
    let verified = report.verified.as_ref()?;
    let word = verified.verdict.name().replace('-', " ");
    let sure = verified.confidence;
    let mut words = format!("{word} ({sure} confidence), {} min before", verified.age_s / 60);
    if let Some(name) = &verified.clocksource {
        let _ = write!(words, ", on {name}");
    }
    let mut faults = Vec::new();
    let time = crate::render::verify::time;
    faults.extend(verified.detectable_offset_ns.map(|ns| format!("offsets over {}", time(ns))));
    faults.extend(verified.detectable_rate_ppm.map(|ppm| format!("rates off by {ppm:.0} ppm")));
    faults.extend(verified.detectable_jump_ns.map(|ns| format!("jumps over {}", time(ns))));
    if !faults.is_empty() {
        let _ = write!(words, "; it would have detected {}", faults.join(", "));
    }
    Some(format!("{} {}", text(&words), source(&verified.source)))
}

fn costs(report: &Report) -> String {
    let bars = bars::bars(&report.reads, report.counter_ns);
    if bars.is_empty() {
        return "<p class=\"note\">Not measured. To measure it, run <code>clocksmith why</code> \
                there.</p>\n"
            .to_owned();
    }
    format!(
        "{bars}<p class=\"note\">The median of a read, with the clocksource in use. Bars are in proportion; \
         shorter is better.</p>\n"
    )
}

fn causes(causes: &[Cause]) -> String {
    let mut out = String::new();
    let mut before: Option<&Cause> = None;
    for cause in causes {
        let (class, word) = match cause.severity {
            Severity::Critical => ("critical", "critical"),
            Severity::Warning => ("warning", "warning"),
            Severity::Info => ("info", "info"),
        };
        let _ = write!(
            out,
            "<article class=\"{class}\"><h3><span class=\"tag\">{word}</span> <code>{}</code> \
             <span class=\"kind\">{} confidence</span></h3>\n<p>{}</p>\n",
            cause.id.name(),
            cause.confidence,
            text(&cause.summary)
        );
        // As in the text: causes that rest on the same lines show them once.
        match before {
            Some(other) if !cause.evidence.is_empty() && other.evidence == cause.evidence => {
                out.push_str("<p class=\"note\">The same lines.</p>\n");
            }
            _ => quotes(&mut out, &cause.evidence),
        }
        before = Some(cause);
        out.push_str("</article>\n");
    }
    if !causes.is_empty() {
        out.push_str(
            "<p class=\"note\">More about each: <code>clocksmith explain NAME</code>.</p>\n",
        );
    }
    out
}

fn quotes(out: &mut String, evidence: &[Evidence]) {
    for evidence in evidence {
        let _ = writeln!(
            out,
            "<figure><pre>{}</pre><figcaption>{}</figcaption></figure>",
            verbatim(evidence.text.trim()),
            source(&evidence.source)
        );
    }
}

fn differences(report: &Report) -> String {
    if report.differences.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"plain\">\n");
    for difference in &report.differences {
        let _ = writeln!(out, "<li>{}</li>", text(difference));
    }
    out.push_str("</ul>\n");
    out
}

fn layer(layer: Layer) -> &'static str {
    match layer {
        Layer::Program => "the program",
        Layer::Runtime => "the running kernel",
        Layer::Boot => "boot configuration",
        Layer::Hypervisor => "the hypervisor",
        Layer::Firmware => "firmware",
    }
}

fn answers(remedy: &Remedy) -> String {
    let names: Vec<String> =
        remedy.causes.iter().map(|cause| format!("<code>{}</code>", cause.name())).collect();
    names.join(" ")
}

fn advice(remedies: &[&Remedy]) -> String {
    if remedies.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ol class=\"advice\">\n");
    for remedy in remedies {
        let _ = writeln!(
            out,
            "<li><h3>{} <span class=\"tag\">{}</span></h3>",
            text(&remedy.summary),
            layer(remedy.layer)
        );
        if !remedy.commands.is_empty() {
            let _ = writeln!(out, "<pre>{}</pre>", verbatim(&remedy.commands.join("\n")));
        }
        for setting in &remedy.settings {
            let (place, words) = (text(&setting.r#where), verbatim(&setting.text));
            let _ = writeln!(out, "<p>In {place}:</p><pre>{words}</pre>");
        }
        for instruction in &remedy.instructions {
            let _ = writeln!(out, "<p>{}</p>", text(instruction));
        }
        out.push_str("<table>");
        row(&mut out, "Risk", &text(&remedy.risk));
        if !remedy.causes.is_empty() {
            row(&mut out, "Against", &answers(remedy));
        }
        row(&mut out, "Source", &text(&remedy.source));
        row(&mut out, "Name", &format!("<code>{}</code>", text(&remedy.id)));
        out.push_str("</table></li>\n");
    }
    out.push_str("</ol>\n");
    out
}

fn refusals(remedies: &[&Remedy]) -> String {
    if remedies.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ul class=\"refused\">\n");
    for remedy in remedies {
        let _ = write!(
            out,
            "<li><h3>{} <span class=\"tag\">{}</span></h3>\n<p>{}</p>\n<p class=\"note\">{} \
             <code>{}</code></p></li>\n",
            text(&remedy.summary),
            layer(remedy.layer),
            text(remedy.refused_because.as_deref().unwrap_or_default()),
            text(&remedy.source),
            text(&remedy.id)
        );
    }
    out.push_str("</ul>\n");
    out
}

fn policies(report: &Report) -> String {
    if report.policies.is_empty() {
        return String::new();
    }
    let mut out = String::from("<table>");
    for policy in &report.policies {
        let name = format!("{}, {}", policy.who, policy.machines);
        row(&mut out, &name, &format!("{} {}", text(&policy.says), source(&policy.source)));
    }
    out.push_str("</table>\n");
    out
}

fn missing(report: &Report) -> String {
    if report.missing.is_empty() {
        return String::new();
    }
    // Much is often missing for one reason: the log is all there is.
    type Reason<'a> = (&'a str, Option<&'a str>);
    let mut groups: Vec<(Reason, Vec<&str>)> = Vec::new();
    for item in &report.missing {
        let reason = (item.why.as_str(), item.how.as_deref());
        match groups.iter_mut().find(|group| group.0 == reason) {
            Some((_, names)) => names.push(&item.fact),
            None => groups.push((reason, vec![&item.fact])),
        }
    }
    let mut out = String::from("<table>");
    for ((why, how), names) in groups {
        let how = how.map_or_else(String::new, |how| {
            format!("<br><span class=\"kind\">to find out:</span> {}", text(how))
        });
        row(&mut out, &names.join(", "), &format!("{}{how}", text(why)));
    }
    out.push_str("</table>\n");
    out
}

fn timeline(moments: &[Moment]) -> String {
    if moments.is_empty() {
        return String::new();
    }
    let mut out = String::from("<ol class=\"moments\">\n");
    // A log that repeats itself all day is shown by its beginning and its end.
    let skipped = moments.len().saturating_sub(2 * MOMENTS);
    for (index, moment) in moments.iter().enumerate() {
        if skipped > 0 && (MOMENTS..MOMENTS + skipped).contains(&index) {
            if index == MOMENTS {
                let _ = writeln!(
                    out,
                    "<li class=\"gap\">{skipped} more lines are in the document of --json.</li>"
                );
            }
            continue;
        }
        let (class, word) = match moment.step {
            Step::Registered => ("info", "registered"),
            Step::Switched => ("ok", "switched"),
            Step::Choice => ("warning", "choice"),
            Step::Calibration => ("info", "frequency"),
            Step::Check => ("unknown", "check"),
            Step::Unstable => ("critical", "unfit"),
            Step::Suspend => ("unknown", "suspend"),
            Step::Other => ("info", "other"),
        };
        let at = moment.at.filter(|at| at.is_finite());
        let at = at.map_or_else(|| "-".to_owned(), |at| format!("{at:.3} s"));
        let _ = writeln!(
            out,
            "<li class=\"{class}\"><time>{at}</time> <span class=\"tag\">{word}</span> \
             <p><code>{}</code> {}</p></li>",
            text(moment.text.trim()),
            source(&moment.source)
        );
    }
    out.push_str(
        "</ol>\n<p class=\"note\">Seconds since boot, as the kernel's log has them.</p>\n",
    );
    out
}

fn facts(report: &Report) -> String {
    let Some(facts) = &report.facts else { return String::new() };
    let facts = serde_json::to_string_pretty(facts).unwrap_or_default();
    format!("<details><summary>Show</summary><pre>{}</pre></details>\n", verbatim(&facts))
}

#[cfg(test)]
#[path = "why_tests.rs"]
mod tests;

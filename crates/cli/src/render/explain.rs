//! `explain` as text.

use super::{Style, text, wrap};
use crate::args::Common;
use crate::report::ExplainReport;
use anyhow::Result;
use clocksmith_diagnose::explain::{Explanation, Kind};
use clocksmith_facts::visible;
use std::collections::BTreeSet;

/// Characters of an unknown query that are shown again.
const SHOWN: usize = 160;

/// Prints the explanations, or entries close to the query.
pub(crate) fn print(common: &Common, report: &ExplainReport) -> Result<()> {
    let style = Style::of(common);
    if report.explanations.is_empty() {
        return text(&unknown(report));
    }
    let mut out = String::new();
    for (index, explanation) in report.explanations.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(&one(explanation, common.quiet, style));
    }
    text(&out)
}

/// Prints the titles of all explanations, by kind.
pub(crate) fn list(common: &Common, all: &[Explanation]) -> Result<()> {
    let style = Style::of(common);
    let kinds = [
        (Kind::Clocksource, "Clocksources"),
        (Kind::Cause, "Causes, as `why` names them"),
        (Kind::Remedy, "Remedies"),
        (Kind::Parameter, "Kernel parameters"),
        (Kind::Term, "Functions, tools, hypervisors and other terms"),
        (Kind::Policy, "What vendors recommend"),
        (Kind::Rule, "Rules of `vm lint`"),
        (Kind::Message, "Kernel messages (paste the whole line, in quotes)"),
    ];
    let mut out = String::new();
    for (kind, heading) in kinds {
        let titles: BTreeSet<&str> =
            all.iter().filter(|one| one.kind == kind).map(|one| one.title.as_str()).collect();
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&style.bold(heading));
        out.push('\n');
        if kind == Kind::Message {
            for title in titles {
                out.push_str(&wrap(title, "  ", "    "));
            }
        } else {
            let titles: Vec<&str> = titles.into_iter().collect();
            out.push_str(&wrap(&titles.join(", "), "  ", "  "));
        }
    }
    text(&out)
}

/// Renders one explanation. `quiet`: only the description and the action.
fn one(explanation: &Explanation, quiet: bool, style: Style) -> String {
    let kind = explanation.kind.name();
    let title = wrap(&format!("{} ({kind})", explanation.title), "", "  ");
    let mut out = style.bold(title.trim_end());
    out.push('\n');
    let row = |out: &mut String, label: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&wrap(value, &format!("  {label:<10}"), "            "));
        }
    };
    row(&mut out, "what", &explanation.what);
    for (index, figure) in explanation.figures.iter().enumerate() {
        row(&mut out, if index == 0 { "here" } else { "" }, figure);
    }
    if !quiet {
        row(&mut out, "kernels", &explanation.versions);
        row(&mut out, "meaning", &explanation.so_what);
    }
    row(&mut out, "do", &explanation.do_what);
    if !quiet {
        row(&mut out, "see also", &explanation.see_also.join(", "));
        let mut sources = String::new();
        row(&mut sources, "source", &explanation.sources.join("; "));
        out.push_str(&dimmed(&sources, style));
    }
    out
}

/// Each line dimmed by itself, so that no colour runs over a line's end.
fn dimmed(lines: &str, style: Style) -> String {
    lines.lines().map(|line| style.dim(line) + "\n").collect()
}

/// Returns the message for a query without an entry.
fn unknown(report: &ExplainReport) -> String {
    let shown: String = report.query.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = visible::line(&shown);
    let cut: String = shown.chars().take(SHOWN).collect();
    let dots = if cut.len() < shown.len() { "..." } else { "" };
    let sentence = shown.split(' ').count() > 2;
    let kind = if sentence {
        "is not a message, parameter or word that clocksmith knows. It may have nothing to do with \
         clocks, or come from a modified kernel; clocksmith does not guess"
    } else {
        "is not a word that clocksmith knows"
    };
    let mut out = wrap(&format!("\"{cut}{dots}\" {kind}."), "", "");
    if !report.did_you_mean.is_empty() {
        out.push_str("\nDid you mean\n");
        for offer in &report.did_you_mean {
            out.push_str(&wrap(offer, "  ", "    "));
        }
    }
    out.push('\n');
    out.push_str(&wrap(
        "It explains clocksources (hpet), causes (tsc-warp), kernel parameters (tsc=reliable), terms \
         (vDSO), what vendors say (AWS), and kernel messages: paste the line in quotes.",
        "",
        "",
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::WIDTH;
    use clocksmith_diagnose::explain::{all, did_you_mean, explain};

    fn narrow(text: &str, what: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= WIDTH, "{what}: {line}");
            assert_eq!(line.trim_end(), line, "{what}");
        }
    }

    fn plain() -> Style {
        Style::of(&Common { no_color: true, ..Common::default() })
    }

    #[test]
    fn every_explanation_fits_the_width() {
        for explanation in all() {
            let shown = one(&explanation, false, plain());
            narrow(&shown, &explanation.title);
            assert!(shown.contains("  do "), "{}", explanation.title);
            narrow(&one(&explanation, true, plain()), &explanation.title);
        }
    }

    #[test]
    fn figures_fit_the_width() {
        let lines = [
            "Hyper-V: privilege flags low 0x2e7f, high 0x3b8030, hints 0x9e4e24",
            "Long readout interval, skipping watchdog check: cs_nsec: 13312434564 wd_nsec: 13312430817",
            "clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x256be10d3d2, max_idle_ns: \
             440795247362 ns",
            "Clocksource tsc unstable (delta = -95170507948 ns)",
            "tsc=reliable,nowatchdog,unstable",
            "clocksource=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ];
        for line in lines {
            let found = explain(line);
            assert!(!found.is_empty(), "{line}");
            for explanation in found {
                narrow(&one(&explanation, false, plain()), line);
            }
        }
    }

    #[test]
    fn the_unknown_is_said_to_be_unknown() {
        for query in ["hpett", "usb 1-1: new high-speed USB device number 2 \u{1b}[31m", "tsc-wrap"]
        {
            let report = ExplainReport::new(query.to_owned(), explain(query), did_you_mean(query));
            assert!(report.explanations.is_empty());
            let shown = unknown(&report);
            narrow(&shown, query);
            assert!(shown.contains("clocksmith knows"), "{shown}");
            assert!(!shown.contains('\u{1b}'), "{shown}");
        }
    }
}

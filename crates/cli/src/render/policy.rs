//! Vendors' requirements, as text.

use super::{Style, text, wrap};
use crate::args::Common;
use anyhow::Result;
use clocksmith_diagnose::Report;
use clocksmith_diagnose::policy::{AskedReport, Conformity, PolicyAnswer, Stated, VENDORS};

/// Prints the vendors that are known.
pub(crate) fn list(common: &Common) -> Result<()> {
    let style = Style::of(common);
    let mut out = format!("{}\n", style.bold("Vendors whose rules are known"));
    for vendor in VENDORS {
        let line = format!("{} (texts up to {})", vendor.about, vendor.dated());
        out.push_str(&wrap(&line, &format!("  {:<11}", vendor.id), "             "));
    }
    out.push_str("\nclocksmith why --policy VENDOR shows what a vendor requires of a machine.\n");
    text(&out)
}

/// Appends the paragraph. `quiet`: only the result.
pub(super) fn paragraph(out: &mut String, report: &Report, common: &Common, style: Style) {
    let Some(answer) = &report.policy else { return };
    let said = wrap(&answer.summary, "  ", "  ");
    let said = match answer.conforms {
        Conformity::Yes => style.green(&said),
        Conformity::Tolerated | Conformity::No => style.yellow(&said),
        Conformity::AsksNothing | Conformity::Unknown => said,
    };
    if common.quiet {
        out.push_str(&wrap(&answer.summary, "", ""));
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold(&format!("What {} requires", answer.name))));
    out.push_str(&said);
    for asked in &answer.asks {
        out.push_str(&wrap(&rule(asked), "  - ", "    "));
        source(out, &asked.stated, style);
    }
    for avoided in answer.kernels.iter().filter(|one| one.applies || common.verbose) {
        let perhaps = if avoided.applies { "" } else { ", if this kernel is one of them" };
        let line = format!(
            "to avoid: {}: {}, stated since {}{perhaps}",
            avoided.kernels, avoided.fault, avoided.since
        );
        out.push_str(&wrap(&line, "  - ", "    "));
        source(out, &avoided.stated, style);
    }
    for earlier in &answer.before {
        let line = format!(
            "before, {} to {}: {}: {}",
            earlier.since, earlier.until, earlier.machines, earlier.asked
        );
        out.push_str(&wrap(&line, "  - ", "    "));
        if common.verbose {
            source(out, &earlier.stated, style);
        }
    }
    against(out, answer);
}

fn against(out: &mut String, answer: &PolicyAnswer) {
    for contradiction in &answer.contradictions {
        out.push_str(&wrap(contradiction, "  ! ", "    "));
    }
    for settle in &answer.settles {
        // Commands are for copying: never wrapped.
        out.push_str(&format!("    settled by: {}\n", settle.how));
    }
}

/// `EC2, Intel: tsc, stated since 2025-12-02`.
fn rule(asked: &AskedReport) -> String {
    let mut line = asked.machines.clone();
    if let Some(purpose) = &asked.purpose {
        line.push_str(&format!(", for {purpose}"));
    }
    match asked.preferred.is_empty() {
        true => line.push_str(": nothing"),
        false => line.push_str(&format!(": {}", asked.preferred.join(" or "))),
    }
    if !asked.tolerated.is_empty() {
        line.push_str(&format!("; tolerated: {}", asked.tolerated.join(", ")));
    }
    line.push_str(&format!("; stated since {}", asked.since));
    if !asked.applies {
        line.push_str(" (if this is such a machine)");
    }
    line
}

fn source(out: &mut String, stated: &Stated, style: Style) {
    let words = stated.words.as_ref().map_or_else(String::new, |words| format!("\"{words}\" "));
    out.push_str(&style.dim(&wrap(&format!("{words}[{}]", stated.line()), "      ", "      ")));
}

//! `fix` as text: numbered steps, each with a diff, the reason, the risk, and how it is reverted.

use super::{Style, text, wrap};
use crate::args::Common;
use crate::report::fix::{Came, FixReport, Mode, StepReport};
use anyhow::Result;
use clocksmith_change::Action;

/// Lines of a diff that are shown without `-v`.
const LINES: usize = 40;

/// Prints the whole report.
pub(crate) fn print(common: &Common, report: &FixReport) -> Result<()> {
    let style = Style::of(common);
    let mut out = headline(report, style);
    if !common.quiet {
        plan(&mut out, report, common, style);
        outcome(&mut out, report, style);
    }
    text(&out)
}

/// Prints only the plan, before it is carried out.
pub(crate) fn print_plan(common: &Common, report: &FixReport) -> Result<()> {
    let style = Style::of(common);
    let mut out = headline(report, style);
    if !common.quiet {
        plan(&mut out, report, common, style);
    }
    out.push('\n');
    text(&out)
}

/// Prints the outcome, after the plan was printed.
pub(crate) fn print_outcome(common: &Common, report: &FixReport) -> Result<()> {
    let style = Style::of(common);
    let mut out = String::from("\n");
    out.push_str(&headline(report, style));
    if !common.quiet {
        outcome(&mut out, report, style);
        // Without these the change has no effect.
        if report.result == Came::Applied {
            by_hand(&mut out, report, style);
        }
    }
    text(&out)
}

fn headline(report: &FixReport, style: Style) -> String {
    let sentence = wrap(&report.headline, "", "");
    match report.result {
        Came::Applied | Came::InForce | Came::Undone | Came::NothingToDo => style.green(&sentence),
        Came::RolledBack | Came::NotInForce | Came::Refused | Came::PartlyUndone => {
            style.red(&sentence)
        }
        Came::Planned | Came::ByHand | Came::WaitsForReboot => style.yellow(&sentence),
        Came::Undetermined => style.bold(&sentence),
    }
}

fn plan(out: &mut String, report: &FixReport, common: &Common, style: Style) {
    for (index, step) in report.steps.iter().enumerate() {
        out.push('\n');
        show_step(out, index + 1, step, common, style);
    }
    if !report.steps.is_empty() && report.mode == Mode::Plan {
        out.push_str(&wrap(&when(report), "\n", ""));
    }
    list(out, style, "Accepted", &report.accepted, "  ! ");
    if !report.refused.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Refused")));
        for refused in &report.refused {
            out.push_str(&wrap(&format!("{}: {}", refused.what, refused.because), "  x ", "    "));
            if let Some(accept) = &refused.accept {
                out.push_str(&wrap(
                    &format!("to accept that risk: {accept} (it is recorded)"),
                    "    ",
                    "    ",
                ));
            }
            out.push_str(&style.dim(&wrap(&refused.source, "    source: ", "      ")));
        }
    }
    by_hand(out, report, style);
    list(out, style, "Worth knowing", &report.notes, "  - ");
    if !report.mistakes.is_empty() {
        out.push_str(&format!("\n{}\n", style.bold("Mistakes in the boot configuration")));
        for mistake in &report.mistakes {
            out.push_str(&wrap(&format!("{}: {}", mistake.at, mistake.what), "  ~ ", "    "));
            out.push_str(&style.dim(&wrap(&mistake.advice, "    ", "    ")));
        }
    }
}

fn by_hand(out: &mut String, report: &FixReport, style: Style) {
    if report.by_hand.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("To be done by hand")));
    for line in &report.by_hand {
        // For copying: never wrapped if it is a command.
        out.push_str(&if line.starts_with(' ') {
            format!("  {line}\n")
        } else {
            wrap(line, "  ", "    ")
        });
    }
}

fn list(out: &mut String, style: Style, title: &str, lines: &[String], mark: &str) {
    if lines.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold(title)));
    for line in lines {
        out.push_str(&wrap(line, mark, "    "));
    }
}

/// Returns the next step for the user.
fn when(report: &FixReport) -> String {
    let apply =
        "Nothing was changed. To make the change: clocksmith fix --apply with the same options";
    if report.reboot {
        format!("{apply}; it takes effect at the next reboot. To revert it: clocksmith fix --undo")
    } else {
        format!("{apply}. To revert it: clocksmith fix --undo")
    }
}

fn show_step(out: &mut String, number: usize, step: &StepReport, common: &Common, style: Style) {
    let first = format!("{number}. ");
    let what = match &step.action {
        Action::Write { path, .. } => format!("write {}", path.display()),
        Action::Remove { path } => format!("remove {}", path.display()),
        Action::Link { path, target } => {
            out.push_str(&format!("{first}{}\n", style.bold(&format!("link {}", path.display()))));
            format!("   to {}", target.display())
        }
        Action::Run { command, .. } => format!("run {}", command.join(" ")),
        Action::Clocksource { name } => {
            format!("choose the clocksource {name} in the running kernel")
        }
    };
    if matches!(step.action, Action::Link { .. }) {
        out.push_str(&format!("{what}\n"));
    } else {
        out.push_str(&format!("{first}{}\n", style.bold(&what)));
    }
    if let Some(diff) = &step.diff {
        let limit = if common.verbose { usize::MAX } else { LINES };
        for line in diff.lines().take(limit) {
            let shown = format!("     {line}\n");
            out.push_str(&match line.bytes().next() {
                Some(b'+') => style.green(&shown),
                Some(b'-') => style.red(&shown),
                _ => shown,
            });
        }
        let more = diff.lines().count().saturating_sub(limit);
        if more > 0 {
            out.push_str(&format!("     ... and {more} more lines: -v shows all\n"));
        }
    }
    if let Some(holds) = &step.holds {
        out.push_str(&wrap(holds, "   holds: ", "     "));
        return;
    }
    out.push_str(&wrap(&step.why, "   why: ", "     "));
    if step.risk != "none" {
        out.push_str(&wrap(&step.risk, "   risk: ", "     "));
    }
    if !step.undo.is_empty() {
        out.push_str(&style.dim(&wrap(&step.undo, "   undo: ", "     ")));
    }
    out.push_str(&style.dim(&wrap(&step.verified, "   check: ", "     ")));
}

fn outcome(out: &mut String, report: &FixReport, style: Style) {
    if report.mode == Mode::Plan {
        return;
    }
    for line in &report.verified {
        out.push_str(&wrap(line, "  verified  ", "            "));
    }
    if let Some(gain) = report.reads {
        let how = if gain.ratio >= 1.0 {
            format!("{:.1} times as fast", gain.ratio)
        } else {
            format!("{:.1} times as slow", 1.0 / gain.ratio)
        };
        let line = format!(
            "a read of CLOCK_MONOTONIC: {} before, {} after the change; {how}",
            super::why::duration(Some(gain.before_ns)),
            super::why::duration(Some(gain.after_ns)),
        );
        out.push_str(&wrap(&line, "  measured  ", "            "));
    }
    for change in &report.changes {
        let title = format!("Change {}: {}", change.id, change.summary);
        out.push_str(&style.bold(&wrap(&title, "\n", "  ")));
        for (index, step) in change.steps.iter().enumerate() {
            let what = match &step.action {
                Action::Write { path, .. }
                | Action::Remove { path }
                | Action::Link { path, .. } => path.display().to_string(),
                Action::Run { command, .. } => command.join(" "),
                Action::Clocksource { name } => format!("clocksource {name}"),
            };
            let holds = step.holds.as_deref().unwrap_or("unknown");
            let line = format!("{what}: {}", holds.replace("in-force", "in force"));
            out.push_str(&wrap(&line, &format!("  {}. ", index + 1), "     "));
        }
        for seen in &change.seen {
            out.push_str(&wrap(seen, "  - ", "    "));
        }
        for accepted in &change.accepted {
            out.push_str(&wrap(accepted, "  ! accepted: ", "    "));
        }
    }
    for taken in &report.taken_back {
        // The headline already names the only change.
        if report.taken_back.len() > 1 || !report.headline.contains(&taken.summary) {
            let title = format!("Change {}: {}", taken.id, taken.summary);
            out.push_str(&style.bold(&wrap(&title, "\n", "  ")));
        }
        if !report.headline.contains(&taken.because) {
            out.push_str(&wrap(&taken.because, "  because: ", "    "));
        }
        for line in &taken.done {
            out.push_str(&wrap(line, "  - ", "    "));
        }
        for line in &taken.troubles {
            out.push_str(&style.yellow(&wrap(line, "  ~ ", "    ")));
        }
    }
    if report.mode != Mode::Apply {
        list(out, style, "Worth knowing", &report.notes, "  - ");
    }
}

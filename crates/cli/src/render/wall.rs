//! The wall clock, as a paragraph of `why`.

use super::{Style, wrap};
use crate::args::Common;
use clocksmith_diagnose::wall::{WallClockReport, WallState};
use clocksmith_diagnose::{Cause, Confidence, Report, Severity};

/// Appends the paragraph, if there is something to report or all output is requested.
pub(super) fn clock(out: &mut String, report: &Report, common: &Common, style: Style) {
    let Some(wall) = &report.wall_clock else { return };
    let causes: Vec<&Cause> =
        report.causes.iter().filter(|cause| cause.id.concerns_wall_clock()).collect();
    let fine = wall.state == WallState::Synchronised && causes.is_empty() && !wall.at_limit;
    // A text with no other subject is about the wall clock.
    let only = report.clocksource.current.is_none() && report.symptoms.is_empty();
    if fine && !only && !common.verbose || wall.summary.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("Wall clock")));
    out.push_str(&wrap(&wall.summary, "  ", "  "));
    for cause in causes {
        let sure = match cause.confidence {
            Confidence::High => "",
            Confidence::Medium => " (likely)",
            Confidence::Low => " (possible)",
        };
        let name = format!("{}{sure}", cause.id.name());
        let name = if cause.severity >= Severity::Warning { style.yellow(&name) } else { name };
        out.push_str(&format!("    {name}\n"));
        for evidence in cause.evidence.iter().take(if common.verbose { usize::MAX } else { 2 }) {
            let line = format!("{}: {}", evidence.source, evidence.text);
            out.push_str(&style.dim(&wrap(&line, "      ", "        ")));
        }
    }
    if common.verbose {
        details(out, wall);
    }
    let mut told: Vec<&str> = Vec::new();
    for settle in &wall.settles {
        if !told.contains(&settle.how.as_str()) {
            told.push(&settle.how);
            // Commands are for copying: never wrapped.
            out.push_str(&format!("    settled by: {}\n", settle.how));
        }
    }
}

/// Appends the kernel's figures, and the daemon that synchronises the clock.
fn details(out: &mut String, wall: &WallClockReport) {
    let us = |us: i64| {
        #[allow(clippy::cast_precision_loss)]
        let seconds = us as f64 / 1e6;
        format!("{seconds:.6} s")
    };
    let mut figures = Vec::new();
    figures.extend(wall.maxerror_us.map(|value| format!("error at most {}", us(value))));
    figures.extend(wall.esterror_us.map(|value| format!("estimated {}", us(value))));
    figures.extend(wall.offset_ns.map(|ns| format!("still to be slewed {ns} ns")));
    figures.extend(wall.frequency_ppm.map(|ppm| format!("frequency {ppm:+.3} ppm")));
    figures.extend(wall.tai_s.filter(|tai| *tai != 0).map(|tai| format!("TAI - UTC {tai} s")));
    if !figures.is_empty() {
        out.push_str(&wrap(&figures.join(", "), "  kernel: ", "    "));
    }
    let mut kept: Vec<String> =
        wall.keepers.iter().map(|keeper| format!("{} {}", keeper.name, keeper.role)).collect();
    if kept.is_empty() {
        kept.push("nothing that is known to synchronise the time".to_owned());
    }
    let all = if wall.all_seen { "all processes" } else { "not all processes" };
    out.push_str(&wrap(&format!("{} ({all} were seen)", kept.join(", ")), "  seen: ", "    "));
    if let (Some(behind), Some(of)) = (wall.behind_s, &wall.behind_of) {
        out.push_str(&wrap(
            &format!("{behind:+.3} s ({of})"),
            "  another clock is ahead by: ",
            "    ",
        ));
    }
}

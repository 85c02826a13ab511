//! `check` in the forms of monitoring systems.

use crate::args::Common;
use clocksmith_diagnose::Assessment;
use clocksmith_facts::visible;
use clocksmith_watch::range::Range;
use clocksmith_watch::{Judgement, State, Thresholds, metrics};

/// Monitoring plugins: the line; then, after it, details and performance data in base units
/// (`'label'=value[unit];warn;crit;min`).
pub(crate) fn nagios(
    judgement: &Judgement,
    seen: Option<&Assessment>,
    thresholds: &Thresholds,
    common: &Common,
) -> String {
    let mut out = format!("{}\n", judgement.line);
    if common.quiet {
        return out;
    }
    for point in &judgement.points {
        out.push_str(&format!("[{}] {}: {}\n", point.word(), point.id, plain(&point.text)));
    }
    let Some(seen) = seen else { return out };
    if judgement.state != State::Ok {
        out.push_str(&format!("{}\n", plain(&seen.report.headline)));
        for cause in &seen.report.causes {
            out.push_str(&format!("cause {}: {}\n", cause.id.name(), plain(&cause.summary)));
            for evidence in cause.evidence.iter().take(2) {
                out.push_str(&format!(
                    "  {}: {}\n",
                    plain(&evidence.source),
                    plain(&evidence.text)
                ));
            }
        }
    }
    let seconds = |ns: Option<f64>, range: Option<Range>| match (ns, range) {
        (None, Some(range)) => range.text(|ns| number(ns / 1e9)),
        (ns, _) => ns.map_or_else(String::new, |ns| number(ns / 1e9)),
    };
    let figures: Vec<String> = seen
        .report
        .reads
        .iter()
        .filter_map(|read| {
            let bounds = if read.clock == "CLOCK_MONOTONIC" {
                let warn = seconds(thresholds.warn_ns, thresholds.warn_range);
                let critical = seconds(thresholds.critical_ns, thresholds.critical_range);
                format!("{warn};{critical}")
            } else {
                ";".to_owned()
            };
            Some(format!("{}={}s;{bounds};0", read.clock.to_lowercase(), number(read.ns? / 1e9)))
        })
        .collect();
    if !figures.is_empty() {
        // Performance data begins after the first bar, even in the long text.
        out.pop();
        out.push_str(&format!(" | {}\n", figures.join(" ")));
    }
    out
}

/// Formats a number without an exponent, which some readers of performance data cannot parse.
fn number(seconds: f64) -> String {
    let text = format!("{seconds:.12}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns one line of a text. Performance data of monitoring plugins begin after a bar, so bars are replaced.
fn plain(text: &str) -> String {
    visible::line(text).replace('|', " ")
}

/// A custom plugin of node-problem-detector: one line, which it cuts at `max_output_length` (80).
pub(crate) fn npd(judgement: &Judgement) -> String {
    format!("{}\n", judgement.line)
}

/// Test Anything Protocol, version 13.
pub(crate) fn tap(judgement: &Judgement) -> String {
    let mut out = format!("TAP version 13\n1..{}\n", judgement.points.len());
    for (index, point) in judgement.points.iter().enumerate() {
        // A number sign would begin a directive.
        let text = plain(&point.text).replace('#', " ");
        let (ok, directive) = match point.state {
            State::Ok => ("ok", String::new()),
            State::Unknown if !point.looked_at => ("ok", " # SKIP".to_owned()),
            State::Unknown => ("ok", " # SKIP it is not known".to_owned()),
            state => ("not ok", format!(" ({})", state.name())),
        };
        out.push_str(&format!("{ok} {} - {}: {text}{directive}\n", index + 1, point.id));
    }
    out
}

/// Metrics, for a file that node_exporter's textfile collector reads.
pub(crate) fn prometheus(judgement: &Judgement, seen: Option<&Assessment>) -> String {
    let mut text = metrics::Text::default();
    metrics::build(&mut text, env!("CARGO_PKG_VERSION"));
    metrics::judgement(&mut text, judgement);
    if let Some(seen) = seen {
        metrics::clocksources(
            &mut text,
            seen.facts.clocksources.value().map_or(&[], Vec::as_slice),
        );
        metrics::diagnosis(&mut text, &seen.report);
        metrics::kernel_log(&mut text, seen.facts.log.is_known());
    }
    text.finish()
}

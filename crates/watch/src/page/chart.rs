//! The two pictures of the page: the clocksource in use over time, and the cost of a read. Inline SVG that stretches
//! with the page; words are next to it as HTML, so that they do not stretch.

use super::text;
use super::time::{length, utc};
use crate::event::Kind;
use crate::judge::ns_text;
use crate::state::Watch;
use clocksmith_diagnose::names;
use std::fmt::Write;

/// The longest time that is shown, in seconds.
const SPAN: f64 = 86_400.0;
/// The shortest.
const LEAST: f64 = 600.0;

/// Returns the time at which the pictures begin, so that they begin with known values.
fn begin(first: Option<f64>, now: f64) -> f64 {
    first.unwrap_or(now).clamp(now - SPAN, now - LEAST)
}

/// A period with one clocksource.
struct Piece {
    from: f64,
    to: f64,
    name: Option<String>,
}

/// Renders the clocksource in use over time.
pub(super) fn strip(watch: &Watch, now: f64) -> String {
    let first = watch.history().events().next().map(|event| event.time);
    let begin = begin(first, now);
    let mut pieces: Vec<Piece> = Vec::new();
    let known = watch
        .history()
        .events()
        .filter(|event| matches!(event.kind, Kind::Started | Kind::ClocksourceChange));
    for event in known {
        if let Some(last) = pieces.last_mut() {
            last.to = event.time;
        }
        pieces.push(Piece { from: event.time, to: now, name: event.to.clone() });
    }
    pieces.retain(|piece| piece.to > begin && piece.to > piece.from);
    if pieces.is_empty() {
        return "<p class=\"note\">Nothing is known yet.</p>\n".to_owned();
    }
    let scale = |time: f64| (time.max(begin) - begin) / (now - begin) * 1000.0;
    let mut svg = String::new();
    let mut names: Vec<String> = Vec::new();
    for piece in &pieces {
        let name = piece.name.clone().unwrap_or_else(|| "not known".to_owned());
        let (x, end) = (scale(piece.from), scale(piece.to));
        let _ = write!(
            svg,
            "<rect class=\"{}\" x=\"{x:.2}\" y=\"0\" width=\"{:.2}\" height=\"40\"><title>{}: {} to {}\
             </title></rect>",
            class(&name),
            // A short interval must also be visible.
            (end - x).max(1.5),
            text(&name),
            utc(piece.from),
            utc(piece.to)
        );
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut legend = String::new();
    for name in &names {
        let _ = write!(legend, "<span><i class=\"{}\"></i>{}</span>", class(name), text(name));
    }
    format!(
        "<svg class=\"strip\" viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"clocksources of the last {span}: {all}\">{svg}</svg>\n\
         <p class=\"axis\"><span>{span} ago</span><span>now</span></p>\n<p class=\"legend\">{legend}</p>\n",
        span = length(now - begin),
        all = text(&names.join(", ")),
    )
}

/// Returns the colour of a clocksource: it shows whether the clocksource is slow, which matters to a reader.
fn class(name: &str) -> &'static str {
    match name {
        "not known" => "none",
        "hpet" => "slow",
        "acpi_pm" => "slower",
        _ if names::is_slow_by_nature(name) => "slowest",
        "kvm-clock" | "xen" | "hyperv_clocksource_tsc_page" => "paravirtual",
        _ => "fast",
    }
}

/// Renders the cost of a read, on a logarithmic scale, since factors matter.
pub(super) fn costs(watch: &Watch, now: f64) -> String {
    let samples: Vec<_> = watch.history().costs().copied().collect();
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return "<p class=\"note\">Nothing has been measured yet.</p>\n".to_owned();
    };
    let begin = begin(Some(first.time), now);
    let (mut low, mut high) = (f64::INFINITY, 0.0f64);
    for sample in &samples {
        (low, high) = (low.min(f64::from(sample.ns)), high.max(f64::from(sample.ns)));
    }
    // Whole decades, so that there is always a line of the grid, and noise looks small.
    let bottom = low.max(0.1).log10().floor();
    let top = (high * 1.05).max(1.0).log10().ceil().max(bottom + 1.0);
    let mut line = String::new();
    for sample in samples.iter().filter(|sample| sample.time >= begin) {
        let x = (sample.time - begin) / (now - begin) * 1000.0;
        let y = 160.0 - (f64::from(sample.ns).max(0.1).log10() - bottom) / (top - bottom) * 160.0;
        let _ = write!(line, "{}{x:.1} {y:.1}", if line.is_empty() { "M" } else { "L" });
    }
    if samples.len() == 1 {
        line.push_str("h2");
    }
    let mut grid = String::new();
    let mut labels = String::new();
    for (ns, name) in [
        (0.1, "0.1 ns"),
        (1.0, "1 ns"),
        (10.0, "10 ns"),
        (100.0, "100 ns"),
        (1e3, "1 us"),
        (1e4, "10 us"),
        (1e5, "100 us"),
        (1e6, "1 ms"),
    ] {
        let at = (f64::log10(ns) - bottom) / (top - bottom);
        if (0.0..=1.0).contains(&at) {
            let y = 160.0 * (1.0 - at);
            let _ = write!(grid, "<path class=\"grid\" d=\"M0 {y:.1}H1000\"/>");
            let _ = write!(labels, "<span class=\"y\" style=\"top:{:.1}%\">{name}</span>", y / 1.6);
        }
    }
    format!(
        "<div class=\"plot\"><svg viewBox=\"0 0 1000 160\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"cost of a read, last {last}, between {low} and {high}\">{grid}\
         <path class=\"line\" d=\"{line}\"/></svg>{labels}</div>\n\
         <p class=\"axis\"><span>{span} ago</span><span>now</span></p>\n\
         <p class=\"note\">Last {last}; between {low} and {high}; usually {usual}. Logarithmic.</p>\n",
        last = ns_text(f64::from(last.ns)),
        low = ns_text(low),
        high = ns_text(high),
        usual = watch.usual_ns().map_or_else(|| "not known yet".to_owned(), ns_text),
        span = length(now - begin),
    )
}

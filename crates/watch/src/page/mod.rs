//! The page of the watch: state, timeline, costs. One document without scripts and without anything from
//! elsewhere. Pure: from the state machine and the time.

mod chart;
mod escape;
mod time;

use crate::event::{Event, Kind};
use crate::judge::{State, ns_text};
use crate::state::{Latest, Watch};
use chart::{costs, strip};
use clocksmith_diagnose::Path;
pub use escape::{text, verbatim};
use std::fmt::Write;
use time::ago;
pub use time::utc;

/// Events on the page, at most.
const EVENTS: usize = 100;
/// The style of this page and others of the program: light and dark, narrow and wide, no external resources.
pub const STYLE: &str = include_str!("style.css");

/// The page as it is at `now`, in seconds since 1970, of the machine of this name.
#[must_use]
pub fn page(watch: &Watch, now: f64, host: &str, version: &str) -> String {
    let state = watch.latest().map_or(State::Unknown, |latest| latest.judgement.state);
    let mut out = String::with_capacity(16 << 10);
    let host = text(host);
    // Writing to a String cannot fail, here and below.
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"refresh\" content=\"30\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{}: clocks of {host}</title>\n\
         <style>{STYLE}</style></head><body>\n",
        state.word()
    );
    head(&mut out, watch, state, &host);
    out.push_str("<main>\n");
    if let Some(latest) = watch.latest() {
        points(&mut out, latest);
        causes(&mut out, latest);
    }
    section(&mut out, "In use over time", &strip(watch, now));
    section(&mut out, "What a read of CLOCK_MONOTONIC costs", &costs(watch, now));
    events(&mut out, watch, now);
    facts(&mut out, watch, now);
    let _ = write!(
        out,
        "</main>\n<footer>clocksmith {} &middot; {} &middot; <a href=\"/metrics\">metrics</a> &middot; \
         <a href=\"/history\">history</a></footer>\n</body></html>\n",
        text(version),
        utc(now)
    );
    out
}

fn head(out: &mut String, watch: &Watch, state: State, host: &str) {
    let line = watch.latest().map_or("nothing has been seen yet", |latest| {
        latest.judgement.line.split_once(" - ").map_or("", |(_, line)| line)
    });
    let _ = write!(
        out,
        "<header class=\"{}\"><h1><span class=\"badge\">{}</span> Clocks of {host}</h1>\
         <p class=\"line\">{}</p>",
        state.name(),
        state.word(),
        text(line)
    );
    if let Some(latest) = watch.latest() {
        let _ = write!(out, "<p>{}</p>", text(&latest.report.headline));
    }
    out.push_str("</header>\n");
}

fn section(out: &mut String, title: &str, body: &str) {
    let _ = write!(out, "<section><h2>{title}</h2>\n{body}</section>\n");
}

fn points(out: &mut String, latest: &Latest) {
    let mut body = String::from("<ul class=\"points\">");
    for point in &latest.judgement.points {
        let _ = write!(
            body,
            "<li class=\"{}\"><span class=\"tag\">{}</span> <span>{}</span></li>",
            point.state.name(),
            point.word(),
            text(&point.text)
        );
    }
    body.push_str("</ul>\n");
    section(out, "Now", &body);
}

fn causes(out: &mut String, latest: &Latest) {
    if latest.report.causes.is_empty() {
        return;
    }
    let mut body = String::from("<dl>");
    for cause in &latest.report.causes {
        let _ =
            write!(body, "<dt><code>{}</code></dt><dd>{}", cause.id.name(), text(&cause.summary));
        for evidence in cause.evidence.iter().take(3) {
            let _ = write!(
                body,
                "<pre>{}: {}</pre>",
                text(&evidence.source),
                text(evidence.text.trim())
            );
        }
        body.push_str("</dd>");
    }
    body.push_str("</dl>\n<p class=\"note\">What to do: <code>clocksmith why</code></p>\n");
    section(out, "Why", &body);
}

fn events(out: &mut String, watch: &Watch, now: f64) {
    let mut body = String::from("<ol class=\"events\">");
    for event in watch.history().events().rev().take(EVENTS) {
        body.push_str(&one(event, now));
    }
    body.push_str("</ol>\n");
    section(out, "Timeline", &body);
}

fn one(event: &Event, now: f64) -> String {
    let mut out = format!(
        "<li class=\"{}\"><time datetime=\"{}\">{}</time> <span class=\"kind\">{}</span> <b>{}</b>",
        event.state.name(),
        utc(event.time),
        ago(now - event.time),
        event.kind.title(),
        text(&event.text)
    );
    if let Some(reason) = &event.reason {
        let _ = write!(out, "<div>{}", text(&reason.text));
        if let Some(cause) = &reason.cause {
            let _ = write!(out, " <code>{}</code>", text(cause));
        }
        out.push_str("</div>");
        if let Some(evidence) = reason.evidence.as_ref().filter(|line| **line != reason.text) {
            let _ = write!(out, "<pre>{}</pre>", text(evidence.trim()));
        }
    }
    out.push_str("</li>\n");
    out
}

fn facts(out: &mut String, watch: &Watch, now: f64) {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for device in watch.devices() {
        rows.push(("In use", device.current.clone()));
        rows.push(("Available", device.available.join(", ")));
    }
    if let Some(latest) = watch.latest() {
        for read in &latest.report.reads {
            let path = match read.path {
                Path::Vdso => "in user space",
                Path::Syscall => "by system call",
                Path::Unknown => "by an unknown path",
            };
            if let Some(ns) = read.ns {
                rows.push(("A read", format!("{} costs {}, {path}", read.clock, ns_text(ns))));
            }
        }
        let log = if latest.log { "followed" } else { "cannot be read by this user" };
        rows.push(("Kernel log", log.to_owned()));
        rows.push(("Examined", ago(now - latest.time)));
    }
    if let Some(test) = watch.test() {
        let cpus: Vec<String> = test.cpus.iter().map(u32::to_string).collect();
        let found = if test.fault { "a fault" } else { "nothing wrong" };
        let when = ago(now - test.time);
        rows.push(("Short test", format!("{found} on processors {}, {when}", cpus.join(", "))));
    }
    for (kind, count, _) in watch.counts().filter(|(kind, ..)| *kind != Kind::Started) {
        rows.push((kind.title(), count.to_string()));
    }
    rows.push(("Watching since", utc(watch.begun)));
    let mut body = String::from("<table>");
    for (name, value) in rows {
        let _ = write!(body, "<tr><th>{name}</th><td>{}</td></tr>", text(&value));
    }
    body.push_str("</table>\n");
    section(out, "Figures", &body);
}

#[cfg(test)]
mod tests;

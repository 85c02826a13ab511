//! Reports as one HTML page to attach to a ticket: no script, nothing from elsewhere, light and dark, narrow and wide,
//! on paper too. Everything that comes from a machine is escaped by [`text`]; the page's policy forbids anything that
//! would get through.
//!
//! This module has the frame of such a page, and one module for each document that has one. They render the document
//! that `--json` prints, and besides it only the time and the source. Facts, judgement and the current time must not be
//! here.

mod bars;
mod file;
mod policy;
mod why;

use clocksmith_watch::page::{STYLE, text, utc, verbatim};
pub(crate) use file::put;
use std::fmt::Write;
pub(crate) use why::page as why;

/// Styles of the reports besides the style of the watch's page.
const REPORT: &str = include_str!("report.css");
/// Nothing may be loaded, run or sent; the page contains its style.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// When a page was made, and from which source.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// Seconds since 1970.
    pub(crate) at: f64,
    /// The machine, log or bundle, in words.
    pub(crate) of: String,
}

/// A page being written.
struct Page {
    out: String,
}

impl Page {
    /// Begins a page of a verb. The class colours its head.
    fn new(verb: &str, title: &str) -> Self {
        let mut out = String::with_capacity(32 << 10);
        // Writing to a String cannot fail, here and below.
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"generator\" content=\"{} {verb}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{}</title>\n\
             <style>{STYLE}{REPORT}</style></head><body>\n",
            file::GENERATOR,
            text(title)
        );
        Self { out }
    }

    /// A part with a heading; nothing if the body is empty.
    fn section(&mut self, title: &str, body: &str) {
        if !body.is_empty() {
            let _ = write!(
                self.out,
                "<section><h2>{}</h2>\n{}</section>\n",
                text(title),
                body.trim_end_matches(' ')
            );
        }
    }

    /// Ends the page with the program that made it, the time and the source.
    fn finish(mut self, schema: &str, made: &Made) -> String {
        let _ = write!(
            self.out,
            "<footer><p>Made by clocksmith {} at <time>{}</time> of {}. The same as a document for \
             programs: <code>--json</code> ({}).</p></footer>\n</body></html>\n",
            env!("CARGO_PKG_VERSION"),
            utc(made.at),
            text(&made.of),
            text(schema)
        );
        self.out
    }
}

/// A row of a table with a name; the value is HTML.
fn row(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "<tr><th scope=\"row\">{}</th><td>{value}</td></tr>", text(name));
}

/// Renders the source of evidence.
fn source(source: &str) -> String {
    format!("<span class=\"source\">{}</span>", text(source))
}

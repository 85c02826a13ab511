//! What people see: text in 80 columns, colour only on a terminal, or one JSON document.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod explain;
pub(crate) mod facts;
pub(crate) mod figures;
pub(crate) mod fix;
pub(crate) mod html;
pub(crate) mod migrate;
pub(crate) mod predict;
pub(crate) mod verify;
pub(crate) mod vm;
#[cfg(feature = "who")]
pub(crate) mod who;
pub(crate) mod why;

use crate::args::Common;
use anyhow::Result;
#[cfg(any(test, feature = "who"))]
pub(crate) use clocksmith_fleet::columns::WIDTH;
pub(crate) use clocksmith_fleet::columns::wrap;
use serde::Serialize;
use std::io::{IsTerminal, Write, stdout};

/// Whether to use colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// Colour only on a terminal, and only if nothing forbids it.
    pub(crate) fn of(common: &Common) -> Self {
        let forbidden = common.no_color
            || common.json
            || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Self { colour: !forbidden && stdout().is_terminal() }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Something less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Good.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Look here.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Bad.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }
}

/// An error, with its chain of causes, on one or more lines.
pub(crate) fn error(error: &anyhow::Error) -> String {
    let mut text = format!("clocksmith: {error}");
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Prints one JSON document.
pub(crate) fn json<T: Serialize>(document: &T) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(std::io::Error::from)?;
    out.write_all(b"\n")?;
    out.flush()?;
    Ok(())
}

/// Prints one JSON document on one line, for a stream of them.
pub(crate) fn json_line<T: Serialize>(document: &T) -> Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    let mut out = stdout().lock();
    out.write_all(&line)?;
    out.flush()?;
    Ok(())
}

/// Prints text.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

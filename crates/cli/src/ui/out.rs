//! Standard output.
// The one place that may name it: see `super`.
#![allow(clippy::disallowed_methods)]

use super::err;
use anyhow::{Context, Result};
use clocksmith_facts::visible::{self, Ink};
use rustix::fs::OFlags;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write, stdout};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the verb continues without a reader.
static GOES_ON: AtomicBool = AtomicBool::new(false);

/// From here on nothing fails because a reader has gone away (`clocksmith fix --apply | head`): the request is carried
/// out, and the exit code is that of the result. For verbs that print a result and end.
pub(crate) fn go_on_without_reader() {
    GOES_ON.store(true, Ordering::Relaxed);
}

/// What to say if the report of a change cannot be written.
static CHANGED: OnceLock<&'static str> = OnceLock::new();

/// After this call, no error results from a report that cannot be written (a full disk): the machine or a file has been
/// changed, and the exit code is that of the change. The program prints the reason to standard error, and `instead`,
/// which names the place of the result.
pub(crate) fn go_on_after_change(instead: &'static str) {
    let _ = CHANGED.set(instead);
}

/// Whether it is a terminal.
pub(crate) fn is_terminal() -> bool {
    stdout().is_terminal()
}

/// Prints text, made visible.
pub(crate) fn text(text: &str) -> Result<()> {
    write(visible::terminal(text, Some(Ink::of_run())).as_bytes())
}

/// Prints a page of help: its colours are those of the parser of the command line, and all its words are the program's.
pub(crate) fn help(page: &str) -> Result<()> {
    text(&Ink::of_run().adopt(page))
}

/// Prints one JSON document. Invisible characters in it are escaped, which changes no value.
pub(crate) fn json<T: Serialize>(document: &T) -> Result<()> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    write(visible::json(&text).as_bytes())
}

/// Prints one JSON document on one line, for a stream of them.
pub(crate) fn json_line<T: Serialize>(document: &T) -> Result<()> {
    let mut text = serde_json::to_string(document)?;
    text.push('\n');
    write(visible::json(&text).as_bytes())
}

/// Output that is written byte by byte, because a program reads it and not a person.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bytes<'a> {
    /// Compressed: `collect` does not write it to a terminal.
    Bundle(&'a [u8]),
    /// A manual page in roff, of our own words only; `man` reads it.
    Manual(&'a [u8]),
    /// A shell's completions, of our own words only; they may need control characters.
    Completions(&'a [u8]),
}

/// Writes bytes as they are.
pub(crate) fn bytes(what: Bytes<'_>) -> Result<()> {
    match what {
        // A truncated bundle is not a bundle.
        Bytes::Bundle(bytes) => put(bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::BrokenPipe => io::Error::other("the reader ended early"),
                _ => error,
            })
            .context(FAILED),
        Bytes::Manual(bytes) | Bytes::Completions(bytes) => write(bytes),
    }
}

/// Standard output as the guardian's end of a pipe: its protocol is bytes between two processes of ours.
pub(crate) fn pipe() -> io::Stdout {
    stdout()
}

/// The standard library reports success for a write to a file that is open for reading only (`1< FILE`).
fn writable(out: &impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(out)?;
    if flags & OFlags::RWMODE == OFlags::RDONLY || flags.contains(OFlags::PATH) {
        return Err(io::Error::other("it is open for reading only"));
    }
    Ok(())
}

const FAILED: &str = "cannot write to standard output";

fn write(bytes: &[u8]) -> Result<()> {
    match put(bytes) {
        Err(error)
            if error.kind() == io::ErrorKind::BrokenPipe && GOES_ON.load(Ordering::Relaxed) =>
        {
            Ok(())
        }
        Err(error) => match CHANGED.get() {
            Some(instead) => {
                err::line(&format!("clocksmith: {FAILED}: {error}; {instead}"));
                Ok(())
            }
            None => Err(error).context(FAILED),
        },
        Ok(()) => Ok(()),
    }
}

fn put(bytes: &[u8]) -> io::Result<()> {
    let out = stdout().lock();
    writable(&out).and_then(|()| super::put(out, bytes))
}

/// JSON documents, one per line.
pub(crate) struct JsonLines(BufWriter<StdoutLock<'static>>);

impl JsonLines {
    /// Takes standard output for itself.
    pub(crate) fn new() -> Self {
        Self(BufWriter::new(stdout().lock()))
    }

    /// Writes one.
    pub(crate) fn push<T: Serialize>(&mut self, document: &T) -> io::Result<()> {
        writable(self.0.get_ref())?;
        let text = serde_json::to_string(document)?;
        self.0.write_all(visible::json(&text).as_bytes())?;
        self.0.write_all(b"\n")
    }

    /// Writes the rest.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

//! The output: the only place that writes to standard output and standard error. Names in the tables are those of
//! other machines, so invisible characters are made visible here, at the last moment.
// The one place that may name them: see fleet/clippy.toml.
#![allow(clippy::disallowed_methods)]

use crate::args::Args;
use crate::engine::Engine;
use anyhow::{Context, Result};
use clocksmith_facts::visible::{self, Ink};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::pretty::pretty_format_batches;
use futures::StreamExt;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write, stderr, stdout};

/// Rows of a table on the terminal, which is held in memory; the other forms have no limit.
const TABLE_ROWS: usize = 1000;

/// The ink of this run, if standard output is a terminal.
pub(crate) fn ink() -> Option<Ink> {
    stdout().is_terminal().then(Ink::of_run)
}

/// Prints text, made visible.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    out.write_all(visible::terminal(text, ink()).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints text on standard error, made visible. If standard error is closed the error cannot be
/// reported.
pub(crate) fn message(text: &str) {
    let _ = stderr().lock().write_all(visible::visible(text).as_bytes());
}

/// Prints one JSON document. Invisible characters in it are escaped, which changes no value.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<()> {
    let text = format!("{}\n", serde_json::to_string_pretty(document)?);
    let mut out = stdout().lock();
    out.write_all(visible::json(&text).as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Lines on standard output, made visible one by one.
pub(crate) struct Lines {
    out: BufWriter<StdoutLock<'static>>,
    /// The part that is not yet a whole line.
    open: Vec<u8>,
    json: bool,
}

impl Lines {
    /// Lines of JSON: invisible characters are escaped.
    pub(crate) fn json() -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 16, stdout().lock()),
            open: Vec::new(),
            json: true,
        }
    }

    /// Lines of CSV, which has no escapes: invisible characters are shown by name.
    fn csv() -> Self {
        Self { json: false, ..Self::json() }
    }

    /// Writes the rest.
    fn finish(&mut self) -> std::io::Result<()> {
        self.put(self.open.len())?;
        self.out.flush()
    }

    fn put(&mut self, end: usize) -> std::io::Result<()> {
        let lines = String::from_utf8_lossy(&self.open[..end]);
        let seen = if self.json { visible::json(&lines) } else { visible::visible(&lines) };
        self.out.write_all(seen.as_bytes())?;
        self.open.drain(..end);
        Ok(())
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let before = self.open.len();
        self.open.extend_from_slice(bytes);
        if let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
            self.put(before + last + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        // A writer may flush within a line: it goes out when it is whole, or at the end.
        self.out.flush()
    }
}

/// Prints the result of a query.
pub(crate) async fn query(engine: &Engine, query: &str, args: &Args) -> Result<()> {
    let stream = engine.ask(query).await;
    let mut stream = stream.context("this query cannot be answered (the tables: --tables)")?;
    if !args.json && !args.csv {
        let (limit, mut more) = (args.rows.unwrap_or(TABLE_ROWS), 0);
        let (mut batches, mut rows) = (vec![RecordBatch::new_empty(stream.schema())], 0);
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            let kept = batch.num_rows().min(limit - rows);
            rows += kept;
            more += batch.num_rows() - kept;
            batches.push(batch.slice(0, kept));
        }
        let more = if more > 0 {
            format!("and {more} more (--csv and --json print all)\n")
        } else {
            String::new()
        };
        return text(&format!("{}\n{more}", pretty_format_batches(&batches)?));
    }
    let mut out = if args.csv { Lines::csv() } else { Lines::json() };
    if args.csv {
        let mut writer = WriterBuilder::new().with_header(true).build(&mut out);
        // The header, also of a result without rows.
        writer.write(&RecordBatch::new_empty(stream.schema()))?;
        while let Some(batch) = stream.next().await {
            writer.write(&batch?)?;
        }
    } else {
        let mut writer = LineDelimitedWriter::new(&mut out);
        while let Some(batch) = stream.next().await {
            writer.write(&batch?)?;
        }
        writer.finish()?;
    }
    out.finish()?;
    Ok(())
}

/// Whether the error is a closed standard output.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

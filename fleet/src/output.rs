//! What is printed.

use crate::args::Args;
use crate::engine::Engine;
use anyhow::{Context, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::arrow::util::pretty::pretty_format_batches;
use futures::StreamExt;
use std::io::{BufWriter, Write, stdout};

/// Rows of a table on the terminal, which is held in memory; the other forms have no limit.
const TABLE_ROWS: usize = 1000;

/// Prints text.
pub(crate) fn text(text: &str) -> Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints one JSON document.
pub(crate) fn json(document: &clocksmith_fleet::report::FleetReport) -> Result<()> {
    text(&format!("{}\n", serde_json::to_string_pretty(document)?))
}

/// Prints the answer to a query.
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
    let mut out = BufWriter::new(stdout().lock());
    if args.csv {
        let mut writer = WriterBuilder::new().with_header(true).build(&mut out);
        // The header, also of an answer without rows.
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
    out.flush()?;
    Ok(())
}

/// Whether the error is a closed standard output.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

//! `clocksmith-fleet`: the reports of many machines as tables, and SQL on them. `clocksmith fleet` starts
//! it; it can also be used by itself.
//!
//! This program has the edges: files and threads ([`read`]), Parquet ([`tables`]), the engine for queries
//! ([`engine`]), the report's queries ([`queries`], with their texts in `sql/`), and the printing
//! ([`output`]). `crates/fleet` defines the lines, the rows and the report.

// Text reaches a terminal by `output` only.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro, clippy::disallowed_methods)]

mod args;
mod engine;
mod output;
mod queries;
mod read;
mod tables;

use anyhow::{Context, Result, bail};
use args::Args;
use clap::Parser;
use clocksmith_fleet::generate::Fleet;
use clocksmith_fleet::render::{self, Look};
use clocksmith_fleet::report::Input;
use clocksmith_fleet::table;
use std::io::Write;
use std::process::ExitCode;

/// 0 done, 2 wrong usage or unusable input, 3 could not be determined.
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        output::message(&clocksmith_facts::panicked::text("clocksmith-fleet", info));
    }));
    let done = match Args::try_parse() {
        Ok(args) => run(&args),
        // Help, or the version.
        Err(error) if !error.use_stderr() => output::text(&error.render().to_string()).map(|()| 0),
        Err(error) => {
            output::message(&error.render().to_string());
            Ok(2)
        }
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // A message is one line; a line break in it is that of a name.
            let line = clocksmith_facts::visible::line(&format!("{error:#}")).into_owned();
            output::message(&format!("clocksmith-fleet: {line}\n"));
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<u8> {
    if args.table_definitions {
        return output::text(&table::definitions()).map(|()| 0);
    }
    if args.show_sql {
        return output::text(&queries::texts()).map(|()| 0);
    }
    if let Some(hosts) = args.generate {
        return generate(Fleet { hosts, seed: args.seed }).map(|()| 0);
    }
    let inputs = read::Inputs::of(args)?;
    let mut written = tables::Place::new(args.out.as_deref())?;
    let mut counts = Input::default();
    if !inputs.documents.is_empty() {
        counts = read::all(&inputs.documents, &mut written)?;
        if counts.documents == 0 && inputs.tables.is_empty() {
            bail!("no document in what was given; `clocksmith why --json` writes them");
        }
        if counts.documents == counts.rejected && inputs.tables.is_empty() {
            output::message(&render::input(&counts));
            bail!("none of {} documents could be used", counts.documents);
        }
    } else if args.out.is_some() {
        bail!("--out writes the tables of documents; there is none, only tables");
    }
    let mut directories = inputs.tables;
    if !inputs.documents.is_empty() {
        directories.insert(0, written.publish()?);
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().build().context("cannot start threads")?;
    runtime.block_on(async {
        let engine = engine::Engine::open(&directories, args.memory).await?;
        if let Some(query) = &args.sql {
            output::message(&render::input(&counts));
            output::query(&engine, query, args).await?;
            return Ok(0);
        }
        let mut report = queries::report(&engine, counts, args.rows()).await?;
        report.tables = args.out.as_ref().map(|out| out.display().to_string());
        if args.json {
            output::json(&report)?;
        } else {
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            let ink = output::ink().filter(|_| !args.no_color && !no_color && !dumb);
            output::text(&render::page(&report, Look { ink, quiet: args.quiet }))?;
        }
        Ok(if report.with("unknown") == report.hosts { 3 } else { 0 })
    })
}

/// Prints a synthetic fleet, one document a line.
fn generate(fleet: Fleet) -> Result<()> {
    let mut out = output::Lines::json();
    for machine in fleet.machines() {
        serde_json::to_writer(&mut out, &machine.document).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

//! `clocksmith-fleet`: the reports of many machines as tables, and SQL on them. `clocksmith fleet` starts
//! it; it can also be used by itself.
//!
//! This program has the edges: files and threads ([`read`]), Parquet ([`tables`], [`copy`]), tables from several places
//! ([`sources`]) and of many days ([`history`]), the engine for queries ([`engine`]), its memory ([`memory`]) and its stack
//! ([`depth`]), the report's queries ([`queries`], with their texts in `sql/`), and the printing ([`output`]). `crates/fleet` defines
//! the lines, the rows and the report.

// Text reaches a terminal by `output` only.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro, clippy::disallowed_methods)]

mod args;
mod copy;
mod depth;
mod engine;
mod history;
mod memory;
mod output;
mod queries;
mod read;
mod sources;
mod tables;

use anyhow::{Context, Result, bail};
use args::Args;
use clap::Parser;
use clocksmith_facts::memory as process;
use clocksmith_facts::utc;
use clocksmith_fleet::columns::counted;
use clocksmith_fleet::generate::Fleet;
use clocksmith_fleet::render::{self, Look};
use clocksmith_fleet::report::{Added, Input};
use clocksmith_fleet::{changes, intake, table};
use read::Inputs;
use sources::Views;
use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;
use tables::{Set, Staged};

#[global_allocator]
static MEMORY: process::Memory = process::Memory::new(
    "clocksmith-fleet",
    "--memory 4G gives a query more; so may the limit of this process (ulimit -v) or of its control group (memory.max)",
);

/// Threads that wait for files, at most.
const FILE_THREADS: u64 = 64;
/// The stack of each thread that computes: for a query that is as deep as any that is read.
const THREAD_STACK: usize = 4 << 20;
/// Memory of each thread that computes: its stack, and the memory of its part of a query that the engine does not
/// count.
const THREAD: u64 = THREAD_STACK as u64 + (16 << 20);
/// Memory of the tables that are read and of the rows that are printed.
const ROWS: u64 = 512 << 20;

/// 0 done, 2 wrong usage or unusable input, 3 could not be determined.
fn main() -> ExitCode {
    std::panic::set_hook(Box::new(|info| {
        output::message(&clocksmith_facts::panicked::text("clocksmith-fleet", info));
    }));
    let done = match Args::try_parse() {
        Ok(args) => deep(args),
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

/// Runs with a stack on which the engine can go through any query that [`depth::check`] lets pass.
fn deep(args: Args) -> Result<u8> {
    let thread = std::thread::Builder::new().name("queries".to_owned()).stack_size(depth::STACK);
    let thread = thread.spawn(move || run(&args)).context("cannot start threads")?;
    // The hook has said the rest.
    thread.join().unwrap_or_else(|_| bail!("it has panicked"))
}

fn run(args: &Args) -> Result<u8> {
    if args.table_definitions {
        return output::text(&table::definitions()).map(|()| 0);
    }
    if args.show_sql {
        return output::text(&queries::texts()).map(|()| 0);
    }
    if let Some(hosts) = args.generate {
        return generate(Fleet { hosts, seed: args.seed, day: args.day }).map(|()| 0);
    }
    limit(args.memory);
    let inputs = read::Inputs::of(args)?;
    if inputs.documents.is_empty() && inputs.tables.is_empty() {
        return compact(args).map(|()| 0);
    }
    let Given { counts, history, staged } = given(args, &inputs)?;
    let mut look = Look { ink: None, quiet: args.quiet };
    if !args.json {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        look.ink = output::ink().filter(|_| !args.no_color && !no_color && !dumb);
    }
    sources::say_missing(&inputs.tables);
    let (views, counts) = views(args, &inputs, staged.as_ref(), counts)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(FILE_THREADS as usize)
        .thread_stack_size(THREAD_STACK)
        .build()
        .context("cannot start threads")?;
    runtime.block_on(async {
        let engine = engine::Engine::open(&views, args.memory).await?;
        let code = answer(args, &engine, counts, history, look).await?;
        if args.stats {
            let (memory, spilled) = engine.used();
            output::message(&format!("queries: {memory} bytes of memory, {spilled} to the disk\n"));
        }
        Ok(code)
    })
}

/// Runs the requested queries, and prints the results.
async fn answer(
    args: &Args,
    engine: &engine::Engine,
    counts: Input,
    history: Option<Added>,
    look: Look,
) -> Result<u8> {
    if args.changes {
        let report = queries::compare(engine, counts, args).await?;
        if args.json {
            output::json(&report)?;
        } else {
            output::text(&changes::page(&report, look))?;
        }
        return Ok(if report.compared == 0 { 3 } else { 0 });
    }
    if let Some(query) = &args.sql {
        output::message(&render::input(&counts, true));
        if let Some(added) = &history {
            output::message(&render::history(added));
        }
        output::query(engine, query, args).await?;
        return Ok(0);
    }
    let mut report = queries::report(engine, counts, args.rows()).await?;
    report.tables = args.out.as_ref().map(|out| out.display().to_string());
    report.history = history;
    if args.json {
        output::json(&report)?;
    } else {
        output::text(&render::page(&report, look))?;
    }
    Ok(if report.with("unknown") == report.hosts { 3 } else { 0 })
}

/// Ends a query whose functions make values that the engine does not count, such as `repeat()`, and the reading of a
/// table with absurd stated sizes, before they take the memory of this machine. If the kernel cannot, they have no
/// limit.
fn limit(memory: usize) {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    let queries = (memory as u64).saturating_mul(2);
    let rest = ROWS + threads * THREAD + FILE_THREADS * THREAD_STACK as u64;
    let _ = process::limit(queries.saturating_add(rest));
}

/// The results of reading the documents.
struct Given {
    counts: Input,
    history: Option<Added>,
    staged: Option<Staged>,
}

/// Reads the documents, and writes the requested outputs.
fn given(args: &Args, inputs: &Inputs) -> Result<Given> {
    let mut found = Given { counts: Input::default(), history: None, staged: None };
    if inputs.documents.is_empty() {
        for (asked, option) in
            [(args.out.is_some(), "--out"), (args.history.is_some(), "--history")]
        {
            if asked {
                bail!(
                    "{option} writes the content of documents and bundles, but the input has only \
                       tables"
                );
            }
        }
        return Ok(found);
    }
    let place = tables::Place::new(args.out.as_deref())?;
    let date = args.date.map(|date| utc::text(u64::from(date)));
    let (counts, _, mut staged) = read::all(&inputs.documents, date.as_deref(), place)?;
    if counts.documents == 0 && inputs.tables.is_empty() {
        bail!("the input has no document; `clocksmith why --json` writes them");
    }
    if counts.documents == counts.rejected && inputs.tables.is_empty() {
        output::message(&render::input(&counts, true));
        bail!("none of {} documents could be used", counts.documents);
    }
    if let Some(dir) = &args.history {
        let added = history::append(dir, &staged)?;
        if added.added + added.known == 0 && added.undated > 0 {
            bail!(
                "none of {} reports has a date, so none has a place in a history; --date DATE gives them one",
                added.undated
            );
        }
        found.history = Some(added);
        if args.compact {
            history::compact(dir)?;
        }
    }
    staged.publish()?;
    (found.counts, found.staged) = (counts, Some(staged));
    Ok(found)
}

/// Merges the files of a history, without adding any.
fn compact(args: &Args) -> Result<()> {
    let Some(dir) = args.history.as_deref().filter(|_| args.compact) else {
        bail!("no input: give bundles, documents or directories of tables");
    };
    let done = history::compact(dir)?;
    let said = match done.days {
        0 => format!("{}: every day has one file already\n", dir.display()),
        days => {
            let (files, days) = (counted(done.files, "file"), counted(days, "day"));
            format!("{}: {files} of {days} merged, one a day\n", dir.display())
        }
    };
    if args.quiet { Ok(()) } else { output::text(&said) }
}

/// Returns the tables as the engine reads them; and the counts, with those of superseded reports.
fn views(
    args: &Args,
    inputs: &Inputs,
    staged: Option<&Staged>,
    mut counts: Input,
) -> Result<(Views, Input)> {
    let mut views = Views::new()?;
    let all: Vec<&Set> =
        staged.map(|staged| &staged.all).into_iter().chain(&inputs.tables).collect();
    for set in all {
        views.add(true, set)?;
    }
    let mut sets: Vec<Set> = staged.map(|staged| staged.newest.clone()).into_iter().collect();
    if inputs.tables.is_empty() || args.changes {
        sets.iter().try_for_each(|set| views.add(false, set))?;
        if sets.is_empty() {
            inputs.tables.iter().take(1).try_for_each(|set| views.add(false, set))?;
        }
        return Ok((views, counts));
    }
    sets.extend(inputs.tables.iter().cloned());
    let (set, served) = views.newest(&sets)?;
    let places = sources::places(&sets, &intake::named(&served))?;
    let places: HashMap<u32, String> = places.into_iter().collect();
    counts.served(&served, |row| places.get(&row).cloned().unwrap_or_default());
    views.add(false, &set)?;
    Ok((views, counts))
}

/// Prints a synthetic fleet, one document per line.
fn generate(fleet: Fleet) -> Result<()> {
    let mut out = output::Lines::json();
    for machine in fleet.machines() {
        serde_json::to_writer(&mut out, &machine.document).map_err(std::io::Error::from)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}

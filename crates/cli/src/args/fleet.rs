//! The command line of `fleet`.

use clap::Args;
use std::path::PathBuf;

pub(super) const HELP: &str = "Compares the reports of many machines: hosts by verdict, cause, \
clocksource, hardware, kernel and hypervisor; hosts that differ from similar ones; how many hosts \
one change would fix; groups of hosts among which guests can move with their TSC; and SQL on all of \
these.\n\nINPUT is a bundle that `clocksmith collect` wrote, documents of `clocksmith why --json` \
(one per line, or one per file; `-` is standard input), a directory of such files, a directory of \
tables that --out wrote, or a history that --history wrote. If a host has several reports, the \
newest one is used. Two machine ids under one name are two hosts.\n\n--history keeps the reports of \
many days; --changes shows which hosts changed, and what they have in common.\n\nNeeds the program \
clocksmith-fleet, in the directory of clocksmith or in PATH; --lines works without it.\n\nExit codes: 0 done, 2 \
wrong usage or no usable input, 3 nothing is known about any host.";

/// Options of `fleet`.
#[derive(Args, Debug, Clone)]
pub(crate) struct Fleet {
    /// Bundles, documents, tables, or directories of these
    #[arg(value_name = "INPUT", required_unless_present_any = ["tables", "show_sql", "compact"])]
    pub(crate) inputs: Vec<PathBuf>,
    /// Write the tables into this directory: hosts, causes and remedies (.parquet)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Add the dated reports to the history in this directory (hosts/day=2026-01-05/...)
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<PathBuf>,
    /// Merge the files of each day of the history into one
    #[arg(long, requires = "history")]
    pub(crate) compact: bool,
    /// Print what changed between the reports of each host, and what the hosts that changed have in common
    #[arg(long, conflicts_with_all = ["sql", "out", "lines"])]
    pub(crate) changes: bool,
    /// With --changes: compare the newest report with the last one before this date, such as 2026-11-01
    #[arg(long, value_name = "DATE", requires = "changes")]
    pub(crate) since: Option<String>,
    /// Use this date for reports without one, such as 2026-11-01
    #[arg(long, value_name = "DATE")]
    pub(crate) date: Option<String>,
    /// Run this query instead of the report: any SELECT on hosts, causes, remedies
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) sql: Option<String>,
    /// With --sql: print comma-separated values
    #[arg(long, requires = "sql", conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Limit each list to this many rows [default: 12; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// Limit the memory for queries, such as 256M or 4G [default: 512M]; larger queries use the
    /// disk
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<String>,
    /// Print the definitions of the tables and the meaning of their columns
    #[arg(long)]
    pub(crate) tables: bool,
    /// Print the queries of the report
    #[arg(long)]
    pub(crate) show_sql: bool,
    /// Print only the documents of bundles, one per line
    #[arg(long, conflicts_with_all = ["out", "sql", "rows", "memory", "tables", "show_sql", "history", "date"])]
    pub(crate) lines: bool,
    /// The program with the engine, if it is neither in the directory of clocksmith nor in PATH
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) engine: Option<PathBuf>,
}

//! The command line.

use clap::Parser;
use clocksmith_fleet::newest::Moment;
use clocksmith_fleet::row;
use std::path::PathBuf;

/// The reports of many machines: groups, outliers, what one change would fix, and SQL on all of it
#[derive(Parser, Debug)]
#[command(name = "clocksmith-fleet", version, max_term_width = 80, after_help = HELP)]
pub(crate) struct Args {
    /// Documents of `clocksmith why --json` (one a line, or a file each), `-` for standard input, or
    /// directories that --out or --history wrote
    #[arg(value_name = "INPUT", required_unless_present_any = ["files_from", "table_definitions", "show_sql", "generate", "compact"])]
    pub(crate) inputs: Vec<PathBuf>,
    /// Print one JSON document instead of text; with --sql one line for each row
    #[arg(long)]
    pub(crate) json: bool,
    /// With --sql: print comma-separated values
    #[arg(long, requires = "sql", conflicts_with = "json")]
    pub(crate) csv: bool,
    /// Write the tables into this directory: hosts, causes and remedies (.parquet)
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Add the dated reports to the history in this directory: hosts/day=2026-01-05/... and so on
    #[arg(long, value_name = "DIR")]
    pub(crate) history: Option<PathBuf>,
    /// Merge the files of each day of the history into one, after adding
    #[arg(long, requires = "history")]
    pub(crate) compact: bool,
    /// Print what changed between the reports of each host
    #[arg(long, conflicts_with_all = ["sql", "out"])]
    pub(crate) changes: bool,
    /// With --changes: compare with the last report before this date, such as 2026-11-01
    #[arg(long, value_name = "DATE", requires = "changes", value_parser = date)]
    pub(crate) since: Option<Moment>,
    /// Use this date for reports without one, such as 2026-11-01
    #[arg(long, value_name = "DATE", value_parser = date)]
    pub(crate) date: Option<Moment>,
    /// Ask this instead of the report: any SELECT on hosts, causes, remedies
    #[arg(long, value_name = "QUERY", allow_hyphen_values = true)]
    pub(crate) sql: Option<String>,
    /// Print the definitions of the tables, with what the columns mean
    #[arg(long = "tables")]
    pub(crate) table_definitions: bool,
    /// Print the queries of the report
    #[arg(long)]
    pub(crate) show_sql: bool,
    /// Rows of each list [default: 12; with --json 1000]
    #[arg(long, value_name = "N")]
    pub(crate) rows: Option<usize>,
    /// Memory for queries, such as 256M or 4G; what needs more goes to disk
    #[arg(long, value_name = "BYTES", default_value = "512M", value_parser = bytes)]
    pub(crate) memory: usize,
    /// The answer only
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// No colour, also on a terminal
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Read names of inputs from this file, each ended by a NUL byte
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// Print on standard error how much memory and disk the queries took
    #[arg(long, hide = true)]
    pub(crate) stats: bool,
    /// Print documents of a synthetic fleet of so many hosts
    #[arg(long, value_name = "HOSTS", hide = true)]
    pub(crate) generate: Option<u64>,
    /// Seed of the synthetic fleet
    #[arg(long, value_name = "N", hide = true, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Day of the synthetic fleet
    #[arg(long, value_name = "N", hide = true, default_value_t = 0)]
    pub(crate) day: u16,
}

const HELP: &str = "Exit codes: 0 done, 2 wrong usage or unusable input, 3 nothing is known about \
any host. Bundles go through `clocksmith fleet`.";

impl Args {
    /// Rows of each list.
    pub(crate) fn rows(&self) -> usize {
        self.rows.unwrap_or(if self.json { 1000 } else { 12 })
    }
}

fn date(text: &str) -> Result<Moment, String> {
    row::moment(text).ok_or_else(|| "it is not a date, such as 2026-11-01".to_owned())
}

fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: Option<usize> = digits.parse().ok();
    match number.and_then(|number| number.checked_mul(unit)) {
        Some(bytes) if bytes >= 64 << 20 => Ok(bytes),
        Some(_) => Err("less than 64M, which is not enough for every query".to_owned()),
        None => Err("it is not a number of bytes, such as 256M or 4G".to_owned()),
    }
}

//! Rows to Parquet. Files appear under their names when they are whole.

use crate::copy::{self, Sink};
use crate::history;
use anyhow::{Context, Result, bail};
use clocksmith_facts::trusted::{self, Missing};
use clocksmith_fleet::newest::Served;
use clocksmith_fleet::row::{CauseRow, HostRow, RemedyRow, Rows};
use clocksmith_fleet::table::{CAUSES, HOSTS, Kind, REMEDIES, Table, Value};
use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Builder, RecordBatch, StringBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The tables, `hosts` first.
pub(crate) const TABLES: [&str; 3] = [HOSTS.name, CAUSES.name, REMEDIES.name];
/// Rows that are encoded together.
pub(crate) const BATCH: usize = 8192;
/// Rows of a row group, the unit that a reader can skip and that a cluster gives to one worker.
const ROW_GROUP: usize = 128 * 1024;

/// The tables while they are written.
pub(crate) struct Place {
    hosts: Writer<HostRow>,
    causes: Writer<CauseRow>,
    remedies: Writer<RemedyRow>,
    /// The first cause and the first remedy of each report.
    starts: Vec<(u32, u32)>,
    /// The directory of the tables until they are whole; removed with this value.
    temporary: TempDir,
    out: Option<PathBuf>,
}

impl Place {
    /// In `out`, or in a temporary directory.
    pub(crate) fn new(out: Option<&Path>) -> Result<Self> {
        let temporary = match out {
            Some(out) => {
                if history::is_history(out) {
                    bail!("{0} is a history; --history {0} adds to it", out.display());
                }
                for name in TABLES {
                    let file = out.join(format!("{name}.parquet"));
                    if file.symlink_metadata().is_ok() {
                        bail!(
                            "{} already exists; it is not overwritten, give another --out",
                            file.display()
                        );
                    }
                }
                let made = directory(out)?;
                TempDir::with_prefix_in(".clocksmith-fleet-", made)
                    .with_context(|| format!("cannot write into {}", out.display()))?
            }
            None => TempDir::with_prefix("clocksmith-fleet-").with_context(|| {
                format!(
                    "cannot write into {}; TMPDIR names another place",
                    std::env::temp_dir().display()
                )
            })?,
        };
        let dir = temporary.path();
        Ok(Self {
            hosts: Writer::new(HOSTS, dir)?,
            causes: Writer::new(CAUSES, dir)?,
            remedies: Writer::new(REMEDIES, dir)?,
            starts: Vec::new(),
            temporary,
            out: out.map(Path::to_owned),
        })
    }

    /// Adds a report.
    pub(crate) fn push(&mut self, rows: Rows) -> Result<()> {
        self.starts.push((self.causes.pushed, self.remedies.pushed));
        self.hosts.push(rows.host)?;
        rows.causes.into_iter().try_for_each(|row| self.causes.push(row))?;
        rows.remedies.into_iter().try_for_each(|row| self.remedies.push(row))
    }

    /// Ends the files.
    pub(crate) fn finish(mut self, served: &Served) -> Result<Staged> {
        self.hosts.finish()?;
        self.causes.finish()?;
        self.remedies.finish()?;
        let all = Set::flat(self.temporary.path());
        let mut staged = Staged {
            newest: all.clone(),
            all,
            starts: self.starts,
            temporary: self.temporary,
            out: self.out,
        };
        if served.duplicates > 0 {
            let dir = staged.temporary.path().join("newest");
            std::fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
            staged.newest = Set::flat(&dir);
            for table in 0..TABLES.len() {
                let (Some(from), Some(to)) = (staged.all.file(table), staged.newest.file(table))
                else {
                    continue;
                };
                let schema = copy::columns(&fields(table), &[from.to_owned()])?;
                let mut sink = Sink::new(to.to_owned(), schema)?;
                let mut row = staged.rows(table);
                sink.add(from, |_, _| served.serves(row()))?;
                sink.finish()?;
            }
        }
        Ok(staged)
    }
}

/// The three files of tables that belong together.
#[derive(Clone, Debug)]
pub(crate) struct Set {
    files: [Option<PathBuf>; 3],
    /// The day of a partition.
    pub(crate) day: Option<String>,
}

impl Set {
    /// The files that `--out` writes.
    pub(crate) fn flat(dir: &Path) -> Self {
        let files = TABLES.map(|table| Some(dir.join(format!("{table}.parquet"))));
        Self { files, day: None }
    }

    /// One file of each table of a history.
    pub(crate) fn of_day(files: [Option<PathBuf>; 3], day: &str) -> Self {
        Self { files, day: Some(day.to_owned()) }
    }

    /// The file of a table, by its place in [`TABLES`].
    pub(crate) fn file(&self, table: usize) -> Option<&Path> {
        self.files.get(table)?.as_deref()
    }
}

/// The tables of documents: all reports, and those that are used.
pub(crate) struct Staged {
    pub(crate) all: Set,
    pub(crate) newest: Set,
    /// The first cause and the first remedy of each report.
    starts: Vec<(u32, u32)>,
    temporary: TempDir,
    out: Option<PathBuf>,
}

impl Staged {
    /// The reports of a table's rows, one after the other.
    pub(crate) fn rows(&self, table: usize) -> impl FnMut() -> u32 {
        let starts = &self.starts;
        let start = move |report: u32| {
            let start = starts.get(report as usize)?;
            Some(if table == 1 { start.0 } else { start.1 })
        };
        let (mut at, mut report) = (0u32, 0u32);
        move || {
            let here = at;
            at += 1;
            if table == 0 {
                return here;
            }
            while start(report + 1).is_some_and(|next| next <= here) {
                report += 1;
            }
            report
        }
    }

    /// Gives the tables of the newest reports their names. `hosts` comes last: where it exists, the others do.
    pub(crate) fn publish(&mut self) -> Result<()> {
        let Some(out) = &self.out else { return Ok(()) };
        let published = Set::flat(out);
        let same = self.all.file(0) == self.newest.file(0);
        for table in (0..TABLES.len()).rev() {
            if let (Some(from), Some(to)) = (self.newest.file(table), published.file(table)) {
                let place = trusted::place(to).context("nothing is written there")?;
                rustix::fs::renameat(rustix::fs::CWD, from, &place.directory, &place.name)
                    .with_context(|| format!("cannot give {} its name", to.display()))?;
            }
        }
        if same {
            self.all = published.clone();
        }
        self.newest = published;
        Ok(())
    }
}

/// Makes a directory of tables where it is missing, and returns where it is without links. No link of another user is
/// followed, who would choose where the files go.
pub(crate) fn directory(dir: &Path) -> Result<PathBuf> {
    let made = trusted::directory_to_write(dir, Missing::Make(0o777));
    let (place, _) = made.with_context(|| format!("cannot write into {}", dir.display()))?;
    Ok(place)
}

/// The columns of a table, by its place in [`TABLES`].
pub(crate) fn fields(table: usize) -> Vec<Field> {
    match table {
        0 => fields_of(&HOSTS),
        1 => fields_of(&CAUSES),
        _ => fields_of(&REMEDIES),
    }
}

fn fields_of<R>(table: &Table<R>) -> Vec<Field> {
    let field = |column: &clocksmith_fleet::table::Column<R>| {
        let kind = match column.kind {
            Kind::Text => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Float => DataType::Float64,
            Kind::Flag => DataType::Boolean,
        };
        Field::new(column.name, kind, column.nullable)
    };
    table.columns.iter().map(field).collect()
}

/// The properties of every file.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .set_created_by(concat!("clocksmith-fleet ", env!("CARGO_PKG_VERSION")).to_owned())
        .build()
}

/// One table.
struct Writer<R: 'static> {
    table: Table<R>,
    schema: Arc<Schema>,
    rows: Vec<R>,
    pushed: u32,
    file: Option<ArrowWriter<File>>,
    path: PathBuf,
}

impl<R> Writer<R> {
    fn new(table: Table<R>, dir: &Path) -> Result<Self> {
        let path = dir.join(format!("{}.parquet", table.name));
        let schema = Arc::new(Schema::new(fields_of(&table)));
        let file = File::create(&path)
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(ArrowWriter::try_new(file, schema.clone(), Some(properties()))?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        let rows = Vec::with_capacity(BATCH);
        Ok(Self { table, schema, rows, pushed: 0, file: Some(file), path })
    }

    fn push(&mut self, row: R) -> Result<()> {
        self.pushed = self.pushed.checked_add(1).context("more rows than a table can have")?;
        self.rows.push(row);
        if self.rows.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let batch = self.batch()?;
        self.rows.clear();
        if let Some(file) = &mut self.file {
            file.write(&batch).with_context(|| format!("cannot write {}", self.path.display()))?;
        }
        Ok(())
    }

    fn batch(&self) -> Result<RecordBatch> {
        let columns = self.table.columns.iter().map(|column| {
            let values = self.rows.iter().map(column.of);
            // A column's values are of its kind: both come from one line of the table.
            macro_rules! build {
                ($builder:expr, $kind:ident) => {{
                    let mut builder = $builder;
                    for value in values {
                        builder.append_option(match value {
                            Value::$kind(value) => value,
                            _ => None,
                        });
                    }
                    Arc::new(builder.finish()) as ArrayRef
                }};
            }
            match column.kind {
                Kind::Text => build!(StringBuilder::new(), Text),
                Kind::Integer => build!(Int64Builder::new(), Integer),
                Kind::Float => build!(Float64Builder::new(), Float),
                Kind::Flag => build!(BooleanBuilder::new(), Flag),
            }
        });
        let columns: Vec<ArrayRef> = columns.collect();
        Ok(RecordBatch::try_new(self.schema.clone(), columns)?)
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        if let Some(file) = self.file.take() {
            file.into_inner()
                .map_err(anyhow::Error::from)
                .and_then(|file| Ok(file.sync_all()?))
                .with_context(|| format!("cannot write {} to its end", self.path.display()))?;
        }
        Ok(())
    }
}

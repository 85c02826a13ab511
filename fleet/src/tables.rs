//! Rows to Parquet. Files appear under their names when they are whole.

use anyhow::{Context, Result, bail};
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

/// Rows that are encoded together.
const BATCH: usize = 8192;
/// Rows of a row group, the unit that a reader can skip and that a cluster gives to one worker.
const ROW_GROUP: usize = 128 * 1024;

/// The tables while they are written.
pub(crate) struct Place {
    hosts: Writer<HostRow>,
    causes: Writer<CauseRow>,
    remedies: Writer<RemedyRow>,
    /// The directory of the tables until they are whole; removed with this value.
    temporary: TempDir,
    out: Option<PathBuf>,
}

impl Place {
    /// In `out`, or in a temporary directory.
    pub(crate) fn new(out: Option<&Path>) -> Result<Self> {
        let temporary = match out {
            Some(out) => {
                for name in [HOSTS.name, CAUSES.name, REMEDIES.name] {
                    let file = out.join(format!("{name}.parquet"));
                    if file.symlink_metadata().is_ok() {
                        bail!(
                            "{} is there already; it is not overwritten, give another --out",
                            file.display()
                        );
                    }
                }
                std::fs::create_dir_all(out)
                    .and_then(|()| TempDir::with_prefix_in(".clocksmith-fleet-", out))
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
            temporary,
            out: out.map(Path::to_owned),
        })
    }

    /// Adds a host.
    pub(crate) fn push(&mut self, rows: Rows) -> Result<()> {
        self.hosts.push(rows.host)?;
        rows.causes.into_iter().try_for_each(|row| self.causes.push(row))?;
        rows.remedies.into_iter().try_for_each(|row| self.remedies.push(row))
    }

    /// Ends the files and gives them their names; where they are. `hosts` comes last: where that is, the
    /// others are.
    pub(crate) fn publish(&mut self) -> Result<PathBuf> {
        self.hosts.finish()?;
        self.causes.finish()?;
        self.remedies.finish()?;
        let Some(out) = &self.out else { return Ok(self.temporary.path().to_owned()) };
        for name in [REMEDIES.name, CAUSES.name, HOSTS.name] {
            let file = format!("{name}.parquet");
            std::fs::rename(self.temporary.path().join(&file), out.join(&file))
                .with_context(|| format!("cannot give {} its name", out.join(&file).display()))?;
        }
        Ok(out.clone())
    }
}

/// One table.
struct Writer<R: 'static> {
    table: Table<R>,
    schema: Arc<Schema>,
    rows: Vec<R>,
    file: Option<ArrowWriter<File>>,
    path: PathBuf,
}

impl<R> Writer<R> {
    fn new(table: Table<R>, dir: &Path) -> Result<Self> {
        let path = dir.join(format!("{}.parquet", table.name));
        let fields = table.columns.iter().map(|column| {
            let kind = match column.kind {
                Kind::Text => DataType::Utf8,
                Kind::Integer => DataType::Int64,
                Kind::Float => DataType::Float64,
                Kind::Flag => DataType::Boolean,
            };
            Field::new(column.name, kind, column.nullable)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<Field>>()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_created_by(concat!("clocksmith-fleet ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let file = File::create(&path)
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(ArrowWriter::try_new(file, schema.clone(), Some(properties))?))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { table, schema, rows: Vec::with_capacity(BATCH), file: Some(file), path })
    }

    fn push(&mut self, row: R) -> Result<()> {
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

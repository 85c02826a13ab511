//! Rows of Parquet files into other ones. Files of other versions of this program have fewer or more columns: those that one lacks
//! are null, and those that this version does not know are kept.

use crate::tables;
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_fleet::newest::{Moment, key};
use clocksmith_fleet::row::moment;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, StringArray, new_null_array,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{ConvertedType, Type};
use parquet::file::metadata::KeyValue;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns that identify the report of a row.
const KEYS: [&str; 3] = ["host", "machine_id", "taken_at"];
/// The partition of a history, which is not a column of its files.
const DAY: &str = "day";

/// Opens a Parquet file.
pub(crate) fn open(file: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let opened = given::open(file, Kinds::Regular).map_err(anyhow::Error::from);
    opened
        .and_then(|file| {
            let opened = ParquetRecordBatchReaderBuilder::try_new(file)?;
            check_text(&opened)?;
            Ok(opened)
        })
        .with_context(|| format!("cannot read the table {}", file.display()))
}

/// Refuses text that its file does not mark as UTF-8: the library would take its bytes for text without a look at them.
fn check_text(opened: &ParquetRecordBatchReaderBuilder<File>) -> Result<()> {
    let known = |name: &str| {
        let mut fields = (0..tables::TABLES.len()).flat_map(tables::fields);
        fields.any(|field| field.name() == name && has_text(field.data_type()))
    };
    for leaf in opened.parquet_schema().columns() {
        if leaf.physical_type() != Type::BYTE_ARRAY || leaf.converted_type() == ConvertedType::UTF8
        {
            continue;
        }
        let name = leaf.path().parts().first().map_or("", String::as_str);
        let mut fields = opened.schema().fields().iter().filter(|field| field.name() == name);
        if known(name) || fields.any(|field| has_text(field.data_type())) {
            bail!("its column {name} is not marked as text (UTF-8)");
        }
    }
    Ok(())
}

fn has_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, value) => has_text(value),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_text(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_text(field.data_type())),
        _ => false,
    }
}

/// The columns of a table in these files: those that this version knows, then others in the order in which they are found.
pub(crate) fn columns(known: &[Field], files: &[PathBuf]) -> Result<Arc<Schema>> {
    let mut fields: Vec<Field> =
        known.iter().map(|field| field.clone().with_nullable(true)).collect();
    for file in files {
        let opened = open(file)?;
        for field in opened.schema().fields() {
            if field.name() != DAY && !fields.iter().any(|known| known.name() == field.name()) {
                fields.push(field.as_ref().clone().with_nullable(true));
            }
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

/// A file that is written.
pub(crate) struct Sink {
    writer: ArrowWriter<File>,
    schema: Arc<Schema>,
    path: PathBuf,
    pub(crate) rows: u64,
}

impl Sink {
    pub(crate) fn new(path: PathBuf, schema: Arc<Schema>) -> Result<Self> {
        let writer = File::create_new(&path)
            .map_err(anyhow::Error::from)
            .and_then(|file| {
                Ok(ArrowWriter::try_new(file, schema.clone(), Some(tables::properties()))?)
            })
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { writer, schema, path, rows: 0 })
    }

    /// Adds the wanted rows of a batch of `from`.
    fn write(&mut self, batch: &RecordBatch, wanted: &BooleanArray, from: &Path) -> Result<()> {
        if wanted.true_count() == 0 {
            return Ok(());
        }
        let batch = filter_record_batch(batch, wanted)?;
        let rows = batch.num_rows();
        let columns = self.schema.fields().iter().map(|field| -> Result<ArrayRef> {
            let Some(column) = batch.column_by_name(field.name()) else {
                return Ok(new_null_array(field.data_type(), rows));
            };
            as_type(column, field.data_type()).with_context(|| {
                format!("the column {} of {} has another type", field.name(), from.display())
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new(self.schema.clone(), columns)?;
        self.writer
            .write(&batch)
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.rows += rows as u64;
        Ok(())
    }

    /// Adds the rows of a file that are wanted.
    pub(crate) fn add(
        &mut self,
        from: &Path,
        mut wanted: impl FnMut(&Keys, usize) -> bool,
    ) -> Result<()> {
        for batch in read(open(from)?, from)? {
            let batch = batch.with_context(|| format!("cannot read {}", from.display()))?;
            let keys = Keys::of(&batch, from)?;
            let wanted: BooleanArray =
                (0..batch.num_rows()).map(|at| Some(wanted(&keys, at))).collect();
            self.write(&batch, &wanted, from)?;
        }
        Ok(())
    }

    /// Adds a note about the file to its footer.
    pub(crate) fn note(&mut self, name: &str, value: String) {
        self.writer.append_key_value_metadata(KeyValue::new(name.to_owned(), value));
    }

    pub(crate) fn finish(self) -> Result<PathBuf> {
        self.writer
            .into_inner()
            .map_err(anyhow::Error::from)
            .and_then(|file| Ok(file.sync_all()?))
            .with_context(|| format!("cannot write {} to its end", self.path.display()))?;
        Ok(self.path)
    }
}

fn read(
    opened: ParquetRecordBatchReaderBuilder<File>,
    from: &Path,
) -> Result<ParquetRecordBatchReader> {
    let reader = opened.with_batch_size(tables::BATCH).build();
    reader.with_context(|| format!("cannot read {}", from.display()))
}

fn as_type(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef> {
    if column.data_type() == kind {
        return Ok(column.clone());
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(column, kind, &strict)?)
}

/// The reports that the rows of a batch are of.
pub(crate) struct Keys {
    host: StringArray,
    /// `None` where the file is of a version that did not write it.
    machine: Option<StringArray>,
    taken: Option<StringArray>,
}

impl Keys {
    pub(crate) fn of(batch: &RecordBatch, from: &Path) -> Result<Self> {
        let column = |name: &str| -> Result<Option<StringArray>> {
            let Some(column) = batch.column_by_name(name) else { return Ok(None) };
            Ok(Some(as_type(column, &DataType::Utf8)?.as_string::<i32>().clone()))
        };
        let [host, machine, taken] = KEYS;
        let host = column(host)?;
        let host = host.ok_or_else(|| anyhow!("{} has no column host", from.display()))?;
        Ok(Self { host, machine: column(machine)?, taken: column(taken)? })
    }

    pub(crate) fn host(&self, at: usize) -> &str {
        if self.host.is_null(at) { "" } else { self.host.value(at) }
    }

    pub(crate) fn machine(&self, at: usize) -> Option<&str> {
        self.machine.as_ref().filter(|column| !column.is_null(at)).map(|column| column.value(at))
    }

    pub(crate) fn taken_at(&self, at: usize) -> Option<&str> {
        self.taken.as_ref().filter(|column| !column.is_null(at)).map(|column| column.value(at))
    }

    /// When the report was taken; `day` is that of its partition.
    pub(crate) fn moment(&self, at: usize, day: Option<&str>) -> Moment {
        self.taken_at(at).and_then(moment).or_else(|| day.and_then(moment)).unwrap_or(0)
    }

    pub(crate) fn key(&self, at: usize) -> u64 {
        key(self.host(at), self.machine(at), self.moment(at, None))
    }

    /// Returns whether rows identify which of several reports of a host they are of.
    pub(crate) fn are_whole(&self) -> bool {
        self.machine.is_some() && self.taken.is_some()
    }
}

/// Goes through the reports of a table of hosts.
pub(crate) fn each_key(
    from: &Path,
    mut each: impl FnMut(&Keys, usize) -> Result<()>,
) -> Result<()> {
    let opened = open(from)?;
    let mask = ProjectionMask::columns(opened.parquet_schema(), KEYS);
    for batch in read(opened.with_projection(mask), from)? {
        let batch = batch.with_context(|| format!("cannot read {}", from.display()))?;
        let keys = Keys::of(&batch, from)?;
        for at in 0..batch.num_rows() {
            each(&keys, at)?;
        }
    }
    Ok(())
}

/// `host (place)` of some rows of a table of hosts; they are sorted.
pub(crate) fn places(from: &Path, rows: &[u32]) -> Result<Vec<(u32, String)>> {
    let mut found = Vec::new();
    let Some(last) = rows.last() else { return Ok(found) };
    let opened = open(from)?;
    let mask = ProjectionMask::columns(opened.parquet_schema(), ["host", "taken_from"]);
    let mut before = 0u32;
    for batch in read(opened.with_projection(mask), from)? {
        let batch = batch?;
        let count = u32::try_from(batch.num_rows())?;
        let text = |name: &str, at: usize| -> Result<String> {
            let Some(column) = batch.column_by_name(name) else { return Ok(String::new()) };
            let column = as_type(&column.slice(at, 1), &DataType::Utf8)?;
            let column = column.as_string::<i32>();
            Ok(if column.is_null(0) { String::new() } else { column.value(0).to_owned() })
        };
        for row in rows.iter().filter(|row| (before..before + count).contains(row)) {
            let at = (row - before) as usize;
            found.push((*row, format!("{} ({})", text("host", at)?, text("taken_from", at)?)));
        }
        before += count;
        if before > *last {
            break;
        }
    }
    Ok(found)
}

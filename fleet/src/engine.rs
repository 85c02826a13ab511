//! The engine: Apache DataFusion over the tables, with a limit of memory, and reading only.

use crate::copy;
use crate::depth;
use crate::memory::{self, Shares};
use crate::sources::Views;
use crate::tables::{self, TABLES};
use anyhow::{Context, Result, anyhow};
use clocksmith_fleet::table::ALL;
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type, Schema};
use datafusion::common::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream, execute_stream};
use datafusion::prelude::{DataFrame, ParquetReadOptions, SQLOptions, SessionContext};
use futures::StreamExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The day of a partition, where there is one.
const PART: &str = "CASE WHEN part <> '-' THEN part END";
/// The prefix of the names of tables that views are made of.
const TEMPORARY: &str = "of_files_";

/// The files of a table.
struct Columns {
    dir: String,
    schema: Arc<Schema>,
    /// Columns that no file has.
    lacking: Vec<String>,
}

impl Columns {
    fn of(views: &Views, all: bool, table: usize) -> Result<Self> {
        let dir = views.dir(all, table);
        let mut files = Vec::new();
        let mut dirs = vec![dir.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in dir.read_dir().context("cannot list a directory in TMPDIR")? {
                let path = entry?.path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    // A link to it, whose own name tells the user nothing.
                    files.push(path.read_link().unwrap_or(path));
                }
            }
        }
        files.sort_unstable();
        let known = tables::fields(table);
        let schema = copy::columns(&known, &files)?;
        let mut lacking = Vec::new();
        for field in &known {
            let has = |file: &PathBuf| -> Result<bool> {
                Ok(copy::open(file)?.schema().column_with_name(field.name()).is_some())
            };
            let mut found = false;
            for file in &files {
                found |= has(file)?;
                if found {
                    break;
                }
            }
            if !found {
                lacking.push(field.name().clone());
            }
        }
        let dir = dir.to_str().map(|dir| format!("{dir}/"));
        let dir = dir.context("the name of TMPDIR is not text (UTF-8)")?;
        Ok(Self { dir, schema, lacking })
    }

    fn lacks(&self, column: &str) -> bool {
        self.lacking.iter().any(|lacking| lacking == column)
    }

    async fn frame(&self, context: &SessionContext, partition: Option<&str>) -> Result<DataFrame> {
        let mut options = ParquetReadOptions::default().schema(&self.schema);
        if let Some(partition) = partition {
            options = options.table_partition_cols(vec![(partition.to_owned(), DataType::Utf8)]);
        }
        let frame = context.read_parquet(self.dir.as_str(), options).await;
        frame.with_context(|| format!("cannot read the tables in {}", self.dir))
    }
}

/// The tables, ready for queries.
pub(crate) struct Engine {
    context: SessionContext,
    /// The same tables, for a query that needs more memory than there is.
    frugal: SessionContext,
    shares: Arc<Shares>,
    spilled: Arc<AtomicUsize>,
}

impl Engine {
    /// Opens the tables. `memory` is for sorting, grouping and joining, in bytes; larger operations use the disk.
    pub(crate) async fn open(views: &Views, memory: usize) -> Result<Self> {
        let shares = Arc::new(Shares::new(memory));
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(shares.clone())
            .build_arc()
            .context("cannot prepare the engine")?;
        let newest = (0..TABLES.len()).map(|table| Columns::of(views, false, table));
        let newest = newest.collect::<Result<Vec<_>>>()?;
        let all = (0..TABLES.len()).map(|table| Columns::of(views, true, table));
        let all = all.collect::<Result<Vec<_>>>()?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let config = memory::settings(memory, processors);
        let context = SessionContext::new_with_config_rt(config, runtime);
        for (table, columns) in newest.iter().enumerate() {
            let frame = columns.frame(&context, None).await?;
            context.register_table(TABLES[table], frame.into_view())?;
            // A table of a version that did not mark the gravest cause.
            if table == 1 && columns.lacks("gravest") {
                let query = "SELECT c.* EXCEPT (gravest), h.cause = c.cause AS gravest FROM causes c \
                             JOIN hosts h ON h.host = c.host";
                let frame = context.sql(query).await?;
                context.deregister_table(TABLES[table])?;
                context.register_table(TABLES[table], frame.into_view())?;
            }
        }
        for (table, columns) in all.iter().enumerate() {
            let frame = columns.frame(&context, Some("part")).await?;
            let raw = format!("{TEMPORARY}{}", TABLES[table]);
            context.register_table(raw.as_str(), frame.into_view())?;
            let query = format!(
                "SELECT * EXCEPT (part, taken_at), coalesce(taken_at, {PART} || 'T00:00:00Z') AS taken_at, \
                 coalesce(substr(taken_at, 1, 10), {PART}) AS day FROM {raw}"
            );
            let frame = context.sql(&query).await?;
            context.deregister_table(raw.as_str())?;
            context.register_table(format!("{ALL}{}", TABLES[table]), frame.into_view())?;
        }
        let state = SessionStateBuilder::new_from_existing(context.state())
            .with_config(memory::frugal(context.copied_config()))
            .build();
        let frugal = SessionContext::new_with_state(state);
        Ok(Self { context, frugal, shares, spilled: Arc::default() })
    }

    /// Runs a query. Nothing can be changed: no file is written, no table made.
    pub(crate) async fn ask(&self, query: &str) -> Result<SendableRecordBatchStream> {
        depth::check(query)?;
        let mut stream = self.run(&self.context, query).await?;
        // A query that needs more than its share fails before its first row, nearly always.
        let mut first = stream.next().await;
        if let Some(Err(error)) = &first
            && is_want_of_memory(error)
        {
            drop(stream);
            stream = self.run(&self.frugal, query).await?;
            first = stream.next().await;
        }
        let schema = stream.schema();
        let stream = futures::stream::iter(first).chain(stream).map(|batch| batch.map_err(advise));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }

    async fn run(
        &self,
        context: &SessionContext,
        query: &str,
    ) -> Result<SendableRecordBatchStream> {
        let reading = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let frame = context.sql_with_options(query, reading).await?;
        let plan = frame.create_physical_plan().await?;
        let stream = execute_stream(plan.clone(), context.task_ctx())?;
        let schema = stream.schema();
        let count = Count { plan, spilled: self.spilled.clone() };
        let stream = stream.inspect(move |_| {
            let _kept = &count;
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }

    /// The most memory that was in use at one time, and bytes that went to the disk, in all queries until now.
    pub(crate) fn used(&self) -> (usize, usize) {
        (self.shares.peak(), self.spilled.load(Ordering::Relaxed))
    }

    /// Runs a query, and keeps the first rows.
    pub(crate) async fn rows(&self, query: &str, keep: usize) -> Result<Answer> {
        let mut stream = self.ask(query).await?;
        let mut answer = Answer { rows: Vec::new(), more: 0 };
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            let kept = batch.num_rows().min(keep - answer.rows.len());
            answer.more += (batch.num_rows() - kept) as u64;
            let batch = Arc::new(batch.slice(0, kept));
            answer.rows.extend((0..kept).map(|at| Row { batch: batch.clone(), at }));
        }
        Ok(answer)
    }
}

/// Returns whether a query failed for lack of memory.
fn is_want_of_memory(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

/// Adds the remedy to an error.
fn advise(error: DataFusionError) -> DataFusionError {
    if is_want_of_memory(&error) {
        error.context("this query needs more memory than --memory gives it; try twice as much")
    } else {
        error
    }
}

/// Adds up the bytes that a query wrote to the disk, when it is over.
struct Count {
    plan: Arc<dyn ExecutionPlan>,
    spilled: Arc<AtomicUsize>,
}

impl Drop for Count {
    fn drop(&mut self) {
        let mut plans = vec![&self.plan];
        while let Some(plan) = plans.pop() {
            let spilled = plan.metrics().and_then(|metrics| metrics.spilled_bytes());
            self.spilled.fetch_add(spilled.unwrap_or(0), Ordering::Relaxed);
            plans.extend(plan.children());
        }
    }
}

/// The first rows of a result, and how many there are beyond.
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    pub(crate) more: u64,
}

/// A row of a result.
pub(crate) struct Row {
    batch: Arc<RecordBatch>,
    at: usize,
}

impl Row {
    fn value<T>(
        &self,
        name: &str,
        kind: &DataType,
        of: impl Fn(&dyn Array, usize) -> T,
    ) -> Result<Option<T>> {
        let column = self.batch.column_by_name(name);
        let column = column.ok_or_else(|| anyhow!("a query of the report has no column {name}"))?;
        let column = cast(&column.slice(self.at, 1), kind)?;
        Ok((!column.is_null(0)).then(|| of(column.as_ref(), 0)))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        self.value(name, &DataType::Utf8, |c, at| c.as_string::<i32>().value(at).to_owned())
    }

    /// A text that is there, or an empty one.
    pub(crate) fn known(&self, name: &str) -> Result<String> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>> {
        self.value(name, &DataType::Int64, |c, at| c.as_primitive::<Int64Type>().value(at))
    }

    /// A count; `None` stays `None`.
    pub(crate) fn count(&self, name: &str) -> Result<u64> {
        Ok(self.integer(name)?.and_then(|count| u64::try_from(count).ok()).unwrap_or(0))
    }

    pub(crate) fn float(&self, name: &str) -> Result<Option<f64>> {
        self.value(name, &DataType::Float64, |c, at| c.as_primitive::<Float64Type>().value(at))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.value(name, &DataType::Boolean, |c, at| c.as_boolean().value(at))
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;

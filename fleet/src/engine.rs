//! The engine: Apache DataFusion over the tables, with a limit of memory, and reading only.

use anyhow::{Context, Result, anyhow};
use clocksmith_fleet::table::{CAUSES, HOSTS, REMEDIES};
use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::{ParquetReadOptions, SQLOptions, SessionConfig, SessionContext};
use futures::StreamExt;
use std::path::PathBuf;
use std::sync::Arc;

/// The tables, ready for queries.
pub(crate) struct Engine {
    context: SessionContext,
}

impl Engine {
    /// Opens the tables of all directories as one. `memory` is for sorting, grouping and joining, in
    /// bytes; larger operations use the disk.
    pub(crate) async fn open(directories: &[PathBuf], memory: usize) -> Result<Self> {
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(FairSpillPool::new(memory)))
            .build_arc()
            .context("cannot prepare the engine")?;
        // The memory for merging sorted runs is reserved for each sort at once; the default of 10 MiB
        // would use up a small limit.
        let config =
            SessionConfig::new().with_sort_spill_reservation_bytes((memory / 64).min(10 << 20));
        let context = SessionContext::new_with_config_rt(config, runtime);
        for table in [HOSTS.name, CAUSES.name, REMEDIES.name] {
            let mut files = Vec::new();
            for directory in directories {
                let file = directory.join(format!("{table}.parquet"));
                let file = std::path::absolute(&file)?.to_str().map(str::to_owned);
                files.push(file.ok_or_else(|| {
                    anyhow!("the name of {} is not text (UTF-8); rename it", directory.display())
                })?);
            }
            let shown = files.join(", ");
            let frame = context
                .read_parquet(files, ParquetReadOptions::default())
                .await
                .with_context(|| format!("cannot read the table {table} ({shown})"))?;
            context.register_table(table, frame.into_view())?;
        }
        Ok(Self { context })
    }

    /// Asks. Nothing can be changed: no file is written, no table made.
    pub(crate) async fn ask(&self, query: &str) -> Result<SendableRecordBatchStream> {
        let reading = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let frame = self.context.sql_with_options(query, reading).await?;
        Ok(frame.execute_stream().await?)
    }

    /// Asks, and keeps the first rows.
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

/// The first rows of an answer, and how many there are beyond.
pub(crate) struct Answer {
    pub(crate) rows: Vec<Row>,
    pub(crate) more: u64,
}

/// A row of an answer.
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

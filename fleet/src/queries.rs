//! The queries of the report. Their texts are standard SQL and run in other engines as they are.

use crate::args::Args;
use crate::engine::{Engine, Row};
use anyhow::{Context, Result};
use clocksmith_fleet::changes::{ChangesReport, Compare, State, Values};
use clocksmith_fleet::migration::{self, Same};
use clocksmith_fleet::render;
use clocksmith_fleet::report::{
    CauseGroup, Causes, Change, Changes, ChoiceOutlier, CostOutlier, Dates, FLEET, FleetReport,
    Group, Groups, Input, Like, Outliers,
};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use futures::StreamExt;
use std::sync::Arc;

macro_rules! queries {
    ($($name:ident)*) => { &[$((stringify!($name), include_str!(concat!("../sql/", stringify!($name), ".sql")))),*] };
}

/// Names and texts.
pub(crate) const QUERIES: &[(&str, &str)] = queries!(verdicts clocksources causes hardware kernels
    hypervisors choice_outliers cost_outliers changes without frequencies dates states);

/// All of them, as one script.
pub(crate) fn texts() -> String {
    QUERIES.iter().map(|(name, text)| format!("-- {name}\n{};\n\n", text.trim_end())).collect()
}

fn text(name: &str) -> Result<&'static str> {
    let found = QUERIES.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text).with_context(|| format!("no query {name}"))
}

/// Frequencies that are read at most: more than the kHz values of all processors.
const FREQUENCIES: usize = 4_000_000;

/// Runs all queries of the report.
pub(crate) async fn report(engine: &Engine, input: Input, rows: usize) -> Result<FleetReport> {
    let without = engine.rows(text("without")?, 1).await?;
    let totals = without.rows.first().context("no answer for the number of hosts")?;
    let hosts = totals.count("hosts")?;
    let mut report = FleetReport {
        schema: FLEET,
        headline: String::new(),
        hosts,
        input,
        tables: None,
        history: None,
        dates: dates(engine).await?,
        verdicts: groups(engine, "verdicts", rows.max(4)).await?,
        clocksources: groups(engine, "clocksources", rows).await?,
        causes: causes(engine, rows).await?,
        hardware: groups(engine, "hardware", rows).await?,
        kernels: groups(engine, "kernels", rows).await?,
        hypervisors: groups(engine, "hypervisors", rows).await?,
        outliers: outliers(engine, rows).await?,
        changes: changes(engine, rows, totals.count("without")?).await?,
        migration: migration(engine, rows).await?,
    };
    report.headline = report.sentence();
    Ok(report)
}

async fn dates(engine: &Engine) -> Result<Dates> {
    let answer = engine.rows(text("dates")?, 1).await?;
    let row = answer.rows.first().context("no answer for the dates")?;
    Ok(Dates {
        oldest: row.text("oldest")?,
        newest: row.text("newest")?,
        undated: row.count("undated")?,
    })
}

/// Compares the reports of each host.
pub(crate) async fn compare(engine: &Engine, input: Input, args: &Args) -> Result<ChangesReport> {
    let undated = "SELECT count(*) AS reports FROM history_hosts WHERE taken_at IS NULL";
    let undated = engine.rows(undated, 1).await?;
    let undated = undated
        .rows
        .first()
        .context("no answer for the reports without a date")?
        .count("reports")?;
    let mut stream = engine.ask(text("states")?).await?;
    let mut compare = Compare::new(args.since, args.rows());
    let (mut host, mut states): (String, Vec<State>) = Default::default();
    while let Some(batch) = stream.next().await {
        let batch = Arc::new(batch?);
        let texts = Texts::of(&batch)?;
        for at in 0..batch.num_rows() {
            let name = texts.text(0, at).unwrap_or_default();
            if name != host {
                compare.name(&host, &states);
                states.clear();
                name.clone_into(&mut host);
            }
            states.push(texts.state(at));
        }
    }
    compare.name(&host, &states);
    Ok(compare.finish(input, undated))
}

/// The columns of `states.sql`.
struct Texts {
    columns: Vec<StringArray>,
    cost: Float64Array,
}

impl Texts {
    const NAMES: [&str; 8] =
        ["host", "taken_at", "machine_id", "verdict", "clocksource", "kernel", "cpu", "hypervisor"];

    fn of(batch: &RecordBatch) -> Result<Self> {
        let column = |name: &str, kind: &DataType| -> Result<ArrayRef> {
            let column = batch.column_by_name(name);
            Ok(cast(column.with_context(|| format!("no column {name}"))?, kind)?)
        };
        let text = |name: &&str| -> Result<StringArray> {
            Ok(column(name, &DataType::Utf8)?.as_string::<i32>().clone())
        };
        let columns = Self::NAMES.iter().map(text).collect::<Result<_>>()?;
        let cost = column("cost_ns", &DataType::Float64)?;
        Ok(Self { columns, cost: cost.as_primitive::<Float64Type>().clone() })
    }

    fn text(&self, column: usize, at: usize) -> Option<&str> {
        self.columns.get(column).filter(|column| !column.is_null(at)).map(|column| column.value(at))
    }

    fn state(&self, at: usize) -> State {
        let text = |column| self.text(column, at).map(str::to_owned);
        let values = Values {
            taken_at: text(1).unwrap_or_default(),
            verdict: text(3),
            clocksource: text(4),
            kernel: text(5),
            cpu: text(6),
            hypervisor: text(7),
            cost_ns: (!self.cost.is_null(at)).then(|| self.cost.value(at)),
        };
        State { machine_id: text(2), values }
    }
}

async fn groups(engine: &Engine, name: &str, rows: usize) -> Result<Groups> {
    let answer = engine.rows(text(name)?, rows).await?;
    let group = |row: &Row| -> Result<Group> {
        Ok(Group {
            name: row.text("name")?,
            hosts: row.count("hosts")?,
            ok: row.count("ok")?,
            slow: row.count("slow")?,
            untrustworthy: row.count("untrustworthy")?,
            unknown: row.count("unknown")?,
            example: row.known("example")?,
        })
    };
    Ok(Groups { groups: answer.rows.iter().map(group).collect::<Result<_>>()?, more: answer.more })
}

async fn causes(engine: &Engine, rows: usize) -> Result<Causes> {
    let answer = engine.rows(text("causes")?, rows).await?;
    let cause = |row: &Row| -> Result<CauseGroup> {
        Ok(CauseGroup {
            cause: row.known("cause")?,
            severity: row.known("severity")?,
            hosts: row.count("hosts")?,
            gravest_on: row.count("gravest_on")?,
            example: row.known("example")?,
        })
    };
    Ok(Causes { groups: answer.rows.iter().map(cause).collect::<Result<_>>()?, more: answer.more })
}

async fn changes(engine: &Engine, rows: usize, without: u64) -> Result<Changes> {
    let answer = engine.rows(text("changes")?, rows).await?;
    let change = |row: &Row| -> Result<Change> {
        Ok(Change {
            remedy: row.known("remedy")?,
            layer: row.known("layer")?,
            hosts: row.count("hosts")?,
            alone: row.count("alone")?,
            refused: row.count("refused")?,
            example: row.known("example")?,
        })
    };
    let changes = answer.rows.iter().map(change).collect::<Result<_>>()?;
    Ok(Changes { changes, more: answer.more, without })
}

fn like(row: &Row) -> Result<Like> {
    Ok(Like {
        cpu: row.text("cpu")?,
        kernel: row.text("kernel")?,
        hypervisor: row.text("hypervisor")?,
        hosts: row.count("hosts_like")?,
    })
}

async fn outliers(engine: &Engine, rows: usize) -> Result<Outliers> {
    let choice = engine.rows(text("choice_outliers")?, rows).await?;
    let cost = engine.rows(text("cost_outliers")?, rows).await?;
    Ok(Outliers {
        choice: choice.rows.iter().map(choice_outlier).collect::<Result<_>>()?,
        choice_more: choice.more,
        cost: cost.rows.iter().map(cost_outlier).collect::<Result<_>>()?,
        cost_more: cost.more,
    })
}

fn choice_outlier(row: &Row) -> Result<ChoiceOutlier> {
    let mut outlier = ChoiceOutlier {
        host: row.known("host")?,
        clocksource: row.known("clocksource")?,
        verdict: row.known("verdict")?,
        cause: row.text("cause")?,
        usual_clocksource: row.text("usual_clocksource")?,
        usual_verdict: row.known("usual_verdict")?,
        usual_hosts: row.count("usual_hosts")?,
        like: like(row)?,
        why: String::new(),
    };
    outlier.why = format!(
        "{} ({}){}, where {} of {} are on {} ({}): {}",
        outlier.clocksource,
        outlier.verdict,
        outlier.cause.as_ref().map(|cause| format!(" by {cause}")).unwrap_or_default(),
        outlier.usual_hosts,
        outlier.like.hosts,
        outlier.usual_clocksource.as_deref().unwrap_or("one that is not known"),
        outlier.usual_verdict,
        render::like(&outlier.like)
    );
    Ok(outlier)
}

fn cost_outlier(row: &Row) -> Result<CostOutlier> {
    let mut outlier = CostOutlier {
        host: row.known("host")?,
        cost_ns: row.float("cost_ns")?.unwrap_or_default(),
        median_ns: row.float("median_ns")?.unwrap_or_default(),
        clocksource: row.text("clocksource")?,
        like: like(row)?,
        why: String::new(),
    };
    outlier.why = format!(
        "a read takes {}, where the median of {} with {} is {}: {}",
        render::ns(outlier.cost_ns),
        outlier.like.hosts,
        outlier.clocksource.as_deref().unwrap_or("an unknown clocksource"),
        render::ns(outlier.median_ns),
        render::like(&outlier.like)
    );
    Ok(outlier)
}

async fn migration(engine: &Engine, rows: usize) -> Result<clocksmith_fleet::report::Migration> {
    let answer = engine.rows(text("frequencies")?, FREQUENCIES).await?;
    let same = |row: &Row| -> Result<Same> {
        Ok(Same {
            khz: row.integer("tsc_khz")?,
            slack_khz: row.integer("tsc_slack_khz")?,
            scaling: row.flag("tsc_scaling")?,
            invariant: row.flag("tsc_invariant")?,
            hosts: row.count("hosts")?,
            example: row.text("example")?,
        })
    };
    let kinds: Vec<Same> = answer.rows.iter().map(same).collect::<Result<_>>()?;
    let mut found = migration::groups(&kinds);
    found.more = found.groups.len().saturating_sub(rows) as u64;
    found.groups.truncate(rows);
    Ok(found)
}

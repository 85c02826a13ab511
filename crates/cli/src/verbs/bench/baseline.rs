//! `--baseline`: a former run, read from its JSON.

use crate::report::bench::{BaselineReport, BenchReport};
use anyhow::{Context, Result, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_measure::bench::compare;
use clocksmith_measure::bench::stats::Estimate;
use serde::Deserialize;
use std::path::Path;

/// Longest document of a former run, in bytes: of a thousand CPUs it has one.
const LONGEST: u64 = 16 << 20;

/// What is needed of a former run.
#[derive(Deserialize, Debug)]
pub(super) struct Former {
    schema: String,
    #[serde(default)]
    complete: bool,
    machine: FormerMachine,
    clocksource: FormerClocksource,
    method: FormerMethod,
    rows: Vec<FormerRow>,
}

#[derive(Deserialize, Debug)]
struct FormerMachine {
    kernel: Option<String>,
    cpu: Option<String>,
}

#[derive(Deserialize, Debug)]
struct FormerClocksource {
    current: Option<String>,
}

#[derive(Deserialize, Debug)]
struct FormerMethod {
    cpu: Option<u32>,
}

#[derive(Deserialize, Debug)]
struct FormerRow {
    name: String,
    costs: FormerCosts,
}

#[derive(Deserialize, Debug)]
struct FormerCosts {
    throughput: Option<Estimate>,
}

/// Reads a former run.
pub(super) fn read(file: &Path) -> Result<Former> {
    let shown = file.display();
    let text = given::read(file, Kinds::Streams, LONGEST)
        .with_context(|| format!("cannot read the former run {shown}"))?;
    let former: Former = serde_json::from_slice(&text).with_context(|| {
        format!("{shown} is no former run. `clocksmith bench --json >FILE` writes one")
    })?;
    if former.schema != "clocksmith.bench.v1" {
        bail!(
            "{shown} is a document {}, not a former run. `clocksmith bench --json >FILE` writes one",
            former.schema
        );
    }
    Ok(former)
}

/// Compares this run with it.
pub(super) fn compare(report: &BenchReport, former: &Former, file: &Path) -> BaselineReport {
    let now: Vec<(String, Estimate)> = report
        .rows
        .iter()
        .filter_map(|row| Some((row.name.clone(), row.costs.throughput?)))
        .collect();
    let before: Vec<(String, Estimate)> = former
        .rows
        .iter()
        .filter_map(|row| Some((row.name.clone(), row.costs.throughput?)))
        .collect();
    BaselineReport {
        file: file.display().to_string(),
        unlike: unlike(report, former),
        rows: compare::compare(&now, &before),
    }
}

fn unlike(report: &BenchReport, former: &Former) -> Vec<String> {
    let mut out = Vec::new();
    let mut differ = |what: &str, before: Option<&str>, now: Option<&str>| {
        if before != now {
            let [before, now] = [before, now].map(|value| value.unwrap_or("not known"));
            out.push(format!("{what}: {before} then, {now} now"));
        }
    };
    let cpu = |cpu: Option<u32>| cpu.map(|cpu| cpu.to_string());
    differ("kernel", former.machine.kernel.as_deref(), report.machine.kernel.as_deref());
    differ("processor", former.machine.cpu.as_deref(), report.machine.cpu.as_deref());
    let current = former.clocksource.current.as_deref();
    differ("clocksource", current, report.clocksource.current.as_deref());
    differ("bound to CPU", cpu(former.method.cpu).as_deref(), cpu(report.method.cpu).as_deref());
    if !former.complete {
        out.push("the former run was interrupted".to_owned());
    }
    out
}

//! `--baseline`: an earlier run, read from its JSON.

use crate::report::bench::{BaselineReport, BenchReport};
use anyhow::{Context, Result, bail};
use clocksmith_facts::given::{self, Kinds};
use clocksmith_measure::bench::compare::{self, Compared, Control, Side};
use clocksmith_measure::bench::row::{Instruction, Row};
use clocksmith_measure::bench::starts::Start;
use clocksmith_measure::bench::stats::{Difference, Estimate};
use serde::Deserialize;
use std::path::Path;

/// Longest document of an earlier run, in bytes: of a thousand CPUs it has one.
const LONGEST: u64 = 16 << 20;

/// The fields that are needed of an earlier run.
#[derive(Deserialize, Debug)]
pub(super) struct Former {
    schema: String,
    #[serde(default)]
    complete: bool,
    machine: FormerMachine,
    clocksource: FormerClocksource,
    method: FormerMethod,
    rows: Vec<FormerRow>,
    #[serde(default)]
    starts: Vec<Start>,
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
    loop_ns: Option<FormerLoops>,
}

#[derive(Deserialize, Debug)]
struct FormerLoops {
    in_work: Option<Estimate>,
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

/// Reads an earlier run.
pub(super) fn read(file: &Path) -> Result<Former> {
    let shown = file.display();
    let text = given::read(file, Kinds::Streams, LONGEST)
        .with_context(|| format!("cannot read the earlier run {shown}"))?;
    let former: Former = serde_json::from_slice(&text).with_context(|| {
        format!("{shown} is not an earlier run. `clocksmith bench --json >FILE` writes one")
    })?;
    if former.schema != "clocksmith.bench.v1" {
        bail!(
            "{shown} is a document {}, not an earlier run. `clocksmith bench --json >FILE` writes \
             one",
            former.schema
        );
    }
    former.plausible().with_context(|| {
        format!(
            "{shown} is not an earlier run that can be compared. `clocksmith bench --json \
                 >FILE` writes one"
        )
    })?;
    Ok(former)
}

/// Longest time of one read or turn of a loop, in nanoseconds: a second.
const LONGEST_NS: f64 = 1e9;

impl Former {
    /// Refuses figures that no run writes, by the name of their field.
    fn plausible(&self) -> Result<()> {
        let check = |field: &dyn Fn() -> String, ns: f64| {
            if (0.0..=LONGEST_NS).contains(&ns) {
                return Ok(());
            }
            bail!(
                "{} is {ns:e}, and a time in nanoseconds is between 0 and {LONGEST_NS:e}",
                field()
            )
        };
        let estimate = |field: &str, cost: Option<Estimate>| {
            let Some(cost) = cost else { return Ok(()) };
            for (name, ns) in [("ns", cost.ns), ("low", cost.low), ("high", cost.high)] {
                check(&|| format!("{field}.{name}"), ns)?;
            }
            if cost.low > cost.ns || cost.ns > cost.high {
                bail!("{field}.ns is not between {field}.low and {field}.high");
            }
            Ok(())
        };
        let in_work = self.method.loop_ns.as_ref().and_then(|loops| loops.in_work);
        estimate("method.loop_ns.in_work", in_work)?;
        for (index, row) in self.rows.iter().enumerate() {
            estimate(&format!("rows[{index}].costs.throughput"), row.costs.throughput)?;
        }
        for (index, start) in self.starts.iter().enumerate() {
            if let Some(ns) = start.work_ns {
                check(&|| format!("starts[{index}].work_ns"), ns)?;
            }
            for (at, row) in start.rows.iter().enumerate() {
                check(&|| format!("starts[{index}].rows[{at}].ns"), row.ns)?;
                check(&|| format!("starts[{index}].rows[{at}].median_ns"), row.median_ns)?;
            }
        }
        Ok(())
    }

    /// The CPU that it ran on: a comparison also runs there, if that is allowed.
    pub(super) fn cpu(&self) -> Option<u32> {
        self.method.cpu
    }
}

/// Compares this run with it.
pub(super) fn compare(
    report: &BenchReport,
    former: &Former,
    file: &Path,
    fail_over: Option<f64>,
) -> BaselineReport {
    let medians: Vec<(String, Estimate)> = former
        .rows
        .iter()
        .filter_map(|row| Some((row.name.clone(), row.costs.throughput?)))
        .collect();
    let work = former.method.loop_ns.as_ref().and_then(|loops| loops.in_work);
    let kept = !former.starts.is_empty();
    let before = if kept { former.starts.clone() } else { vec![Start::of_medians(&medians, work)] };
    let counters: Vec<String> =
        Instruction::ALL.into_iter().map(|read| Row::counter(read).name()).collect();
    let compared = compare::compare(
        Side { starts: &report.starts, medians: false },
        Side { starts: &before, medians: !kept },
        &counters,
    );
    let mut unlike = unlike(report, former);
    if before.len() < compare::LEAST_STARTS {
        unlike.push(format!(
            "{} then, {} now: only large changes can be detected. Save the earlier run with --starts {}",
            plural(before.len(), "start", "starts"),
            report.starts.len(),
            report.starts.len()
        ));
    }
    let failed = fail_over.map_or_else(Vec::new, |percent| {
        compared
            .rows
            .iter()
            .filter(|row| row.difference == Difference::More)
            .filter(|row| row.own_ratio.is_some_and(|own| own.ratio > 1.0 + percent / 100.0))
            .map(|row| row.name.clone())
            .collect()
    });
    BaselineReport {
        file: file.display().to_string(),
        unlike,
        summary: summary(&compared),
        starts_before: compared.starts.0,
        starts_now: compared.starts.1,
        control: compared.control,
        machine: compared.machine,
        smallest_percent: compared.smallest.map(|share| share * 100.0),
        confidence: compare::CONFIDENCE,
        fail_over_percent: fail_over,
        failed,
        rows: compared.rows,
    }
}

fn plural(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// Returns the result in one sentence.
fn summary(compared: &Compared) -> String {
    let count = |wanted| compared.rows.iter().filter(|row| row.difference == wanted).count();
    let (slower, faster) = (count(Difference::More), count(Difference::Less));
    let comparable = compared.rows.iter().filter(|row| row.own_ratio.is_some()).count();
    let rows = plural(comparable, "row", "rows");
    let Some(smallest) = compared.smallest else {
        return "Nothing can be compared: there are too few starts, or no row that both runs have."
            .to_owned();
    };
    let mut out = match (slower, faster) {
        (0, 0) => format!("No row is slower or faster than before; {rows} were compared."),
        (slower, faster) => {
            format!("{slower} slower and {faster} faster than before, of {rows} compared.")
        }
    };
    out.push_str(&format!(
        " In half of these rows a change of {:.1} % would have been detected.",
        smallest * 100.0
    ));
    if let Some(machine) = compared.machine
        && (machine.ratio - 1.0).abs() >= compare::SMALLEST
        && machine.difference() != Difference::NoDifference
    {
        let by = (machine.ratio - 1.0).abs() * 100.0;
        let way = if machine.ratio > 1.0 { "slower" } else { "faster" };
        let who = match compared.control {
            Control::Counter => "the reads of the counter",
            Control::Additions | Control::None => "a loop of additions",
        };
        out.push_str(&format!(
            " The whole machine is {by:.1} % {way} ({who} show it); the rows are compared without that."
        ));
    }
    if compared.control == Control::Additions {
        out.push_str(" The cost of a read of the counter has changed.");
    }
    out
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
        out.push("the earlier run was interrupted".to_owned());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of reading an earlier run in which one figure is replaced.
    fn read_with(pointer: &str, figure: &str) -> Result<Former> {
        let estimate = serde_json::json!({"ns": 20.0, "low": 19.0, "high": 21.0});
        let mut run = serde_json::json!({
            "schema": "clocksmith.bench.v1", "machine": {}, "clocksource": {},
            "method": {"loop_ns": {"in_work": estimate}},
            "rows": [{"name": "CLOCK_MONOTONIC/vdso", "costs": {"throughput": estimate}}],
            "starts": [{"work_ns": 1.0, "rows": [{"name": "x", "ns": 20.0, "median_ns": 20.0}]}],
        });
        if let Some(value) = run.pointer_mut(pointer) {
            *value = serde_json::json!("FIGURE");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), run.to_string().replace("\"FIGURE\"", figure)).unwrap();
        read(file.path())
    }

    #[test]
    fn read_figure_that_no_run_writes_is_refused_by_its_field() {
        for (pointer, field) in [
            ("/method/loop_ns/in_work/high", "method.loop_ns.in_work.high"),
            ("/rows/0/costs/throughput/ns", "rows[0].costs.throughput.ns"),
            ("/starts/0/work_ns", "starts[0].work_ns"),
            ("/starts/0/rows/0/ns", "starts[0].rows[0].ns"),
            ("/starts/0/rows/0/median_ns", "starts[0].rows[0].median_ns"),
        ] {
            for figure in ["1e308", "-1.0", "-1e-9", "1.1e9"] {
                let error = format!("{:#}", read_with(pointer, figure).unwrap_err());
                assert!(error.contains(field), "{pointer} {figure}: {error}");
            }
            // No JSON has them.
            for figure in ["1e999", "NaN", "inf"] {
                assert!(read_with(pointer, figure).is_err(), "{pointer} {figure}");
            }
        }
        let error = format!("{:#}", read_with("/rows/0/costs/throughput/low", "20.5").unwrap_err());
        assert!(error.contains("rows[0].costs.throughput.ns is not between"), "{error}");
        assert!(read_with("", "0").is_err() && read_with("/none", "0").is_ok());
        assert!(read_with("/starts/0/rows/0/ns", "0.0").is_ok());
    }
}

//! Many boots in one table: cases down, kernels across, in Markdown.

use crate::inside::{self, Inside};
use crate::oracle::Verdict;
use crate::record::truth::Truth;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// What is known about one boot besides the truth: the contents of `verdict.json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Judgement {
    /// The comparison with the prediction.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// What the case file expected, if the kernel did something else.
    pub expected: Option<String>,
    /// What the program said inside the guest, if it was there.
    #[serde(default)]
    pub inside: Option<Inside>,
}

impl Judgement {
    /// Whether anything disagrees.
    pub fn is_bad(&self) -> bool {
        self.verdict.is_bad()
            || self.expected.is_some()
            || self.inside.as_ref().is_some_and(|inside| !inside.disagreements.is_empty())
    }
}

/// One recorded boot.
pub struct Row {
    /// The truth.
    pub truth: Truth,
    /// The judgement.
    pub judgement: Judgement,
}

/// Reads all records of a directory.
pub fn load(directory: &Path) -> Result<Vec<Row>> {
    let mut records: Vec<_> = std::fs::read_dir(directory)
        .with_context(|| format!("reading the records in {}", directory.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.join("truth.json").exists())
        .collect();
    records.sort();
    records.iter().map(|record| load_row(record)).collect()
}

fn load_row(record: &Path) -> Result<Row> {
    let path = record.join("verdict.json");
    let judgement = match std::fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).with_context(|| format!("in {}", path.display()))?
        }
        Err(_) => Judgement { verdict: Verdict::Skipped, expected: None, inside: None },
    };
    Ok(Row { truth: Truth::load(record)?, judgement })
}

/// The agreement table.
pub fn markdown(rows: &[Row]) -> String {
    let kernels: BTreeSet<&str> = rows.iter().map(|row| row.truth.kernel.as_str()).collect();
    let mut cases: BTreeMap<&str, BTreeMap<&str, &Row>> = BTreeMap::new();
    for row in rows {
        cases.entry(&row.truth.case).or_default().insert(&row.truth.kernel, row);
    }
    let mut text = String::from("# What kernels chose\n\n");
    let _ = writeln!(text, "{}\n", summary(rows));
    let header: Vec<&str> = kernels.iter().copied().collect();
    let _ = writeln!(text, "| case | {} |", header.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(header.len()));
    for (case, by_kernel) in &cases {
        let cells: Vec<String> = kernels
            .iter()
            .map(|kernel| by_kernel.get(kernel).map_or_else(|| "–".into(), |row| cell(row)))
            .collect();
        let _ = writeln!(text, "| {case} | {} |", cells.join(" | "));
    }
    text.push_str(
        "\nA cell shows `available_clocksource` with the current one in brackets. ✓: predicted \
         exactly; ✗: predicted otherwise; ?: not predicted; !: not what the case file expects.\n",
    );
    text.push_str("\n## Packages\n\n");
    let packages: BTreeSet<(&str, &str)> =
        rows.iter().map(|row| (row.truth.kernel.as_str(), row.truth.package.as_str())).collect();
    for (kernel, package) in packages {
        let _ = writeln!(text, "- {kernel}: {package}");
    }
    text
}

/// How many boots agree, in a sentence.
pub fn summary(rows: &[Row]) -> String {
    let count = |wanted: fn(&Verdict) -> bool| {
        rows.iter().filter(|row| wanted(&row.judgement.verdict)).count()
    };
    let agree = count(|verdict| *verdict == Verdict::Agrees);
    let skipped = count(|verdict| *verdict == Verdict::Skipped);
    let unexpected = rows.iter().filter(|row| row.judgement.expected.is_some()).count();
    let compared = rows.len() - skipped;
    let mut text = format!("{} boots; {agree} of {compared} compared agree", rows.len());
    if skipped > 0 {
        let _ = write!(text, "; {skipped} were not compared");
    }
    if unexpected > 0 {
        let _ = write!(text, "; {unexpected} were not what their case file expects");
    }
    if let Some(more) = inside::summary(rows.iter().filter_map(|r| r.judgement.inside.as_ref())) {
        let _ = write!(text, "; {more}");
    }
    text
}

fn cell(row: &Row) -> String {
    let (truth, judgement) = (row.truth.choice(), &row.judgement);
    let mut text = match &judgement.verdict {
        Verdict::Agrees => format!("✓ {truth}"),
        Verdict::Disagrees { predicted } => format!("✗ {truth} (predicted {predicted})"),
        Verdict::Failed { .. } => format!("✗ {truth} (no prediction)"),
        Verdict::Skipped => format!("? {truth}"),
    };
    if judgement.expected.is_some() {
        text.insert(0, '!');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::expect::Choice;

    fn row(case: &str, kernel: &str, choice: &str, verdict: Verdict) -> Row {
        let choice: Choice = choice.parse().unwrap();
        let truth = Truth {
            schema: Truth::SCHEMA.into(),
            id: format!("{case}@{kernel}"),
            case: case.into(),
            kernel: kernel.into(),
            package: format!("linux {kernel}"),
            current: choice.current.clone(),
            available: choice.available.clone(),
            early: choice,
            trace: Vec::new(),
            vdso: BTreeMap::new(),
            cmdline: String::new(),
            qemu: String::new(),
            seconds: 1.0,
        };
        Row { truth, judgement: Judgement { verdict, expected: None, inside: None } }
    }

    #[test]
    fn cases_go_down_and_kernels_across() {
        let wrong = Verdict::Disagrees { predicted: "[tsc]".parse().unwrap() };
        let rows = [
            row("a", "6.1", "[tsc] hpet", Verdict::Agrees),
            row("b", "6.1", "[hpet]", wrong),
            row("b", "7.x", "[tsc]", Verdict::Skipped),
        ];
        let text = markdown(&rows);
        assert!(text.contains("| case | 6.1 | 7.x |"));
        assert!(text.contains("| a | ✓ [tsc] hpet | – |"));
        assert!(text.contains("| b | ✗ [hpet] (predicted [tsc]) | ? [tsc] |"));
        assert!(text.contains("3 boots; 1 of 2 compared agree; 1 were not compared"));
    }

    #[test]
    fn a_judgement_survives_its_file() {
        let judgement = Judgement {
            verdict: Verdict::Disagrees { predicted: "[tsc]".parse().unwrap() },
            expected: Some("[hpet]".into()),
            inside: None,
        };
        let text = serde_json::to_string(&judgement).unwrap();
        let back: Judgement = serde_json::from_str(&text).unwrap();
        assert_eq!(back.verdict, judgement.verdict);
    }
}

//! Many boots together: how many agree, and all of them on one page.
//!
//! - [`page`]: the page, in Markdown

pub mod page;

use crate::inside::{self, Inside};
use crate::oracle::Verdict;
use crate::record::{log, truth::Truth};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

/// The data about one boot besides the truth: the contents of `verdict.json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Judgement {
    /// The comparison with the prediction.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The expectation of the case file, if the kernel's choice differs.
    pub expected: Option<String>,
    /// The program's answer inside the guest, if it was there.
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
    /// The kernel's own words about a decision against a clock.
    pub words: Vec<String>,
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
    Ok(Row { truth: Truth::load(record)?, judgement, words: words(record) })
}

/// Returns the lines of a record's log with the reason why a clock is not used.
pub fn words(record: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(record.join("full-dmesg")).unwrap_or_default();
    log::refusals(&log).into_iter().map(String::from).collect()
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::case::expect::Choice;
    use std::collections::BTreeMap;

    pub(crate) fn row(case: &str, kernel: &str, choice: &str, verdict: Verdict) -> Row {
        let choice: Choice = choice.parse().unwrap();
        let path = if choice.current == "tsc" { "vdso" } else { "syscall" };
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
            vdso: BTreeMap::from([("MONOTONIC".into(), path.into())]),
            cmdline: String::new(),
            qemu: String::new(),
            seconds: 1.0,
        };
        Row { truth, judgement: Judgement { verdict, expected: None, inside: None }, words: vec![] }
    }

    #[test]
    fn boots_are_counted() {
        let wrong = Verdict::Disagrees { predicted: "[tsc]".parse().unwrap() };
        let rows = [
            row("a", "6.1", "[tsc] hpet", Verdict::Agrees),
            row("b", "6.1", "[hpet]", wrong),
            row("b", "7.x", "[tsc]", Verdict::Skipped),
        ];
        assert_eq!(summary(&rows), "3 boots; 1 of 2 compared agree; 1 were not compared");
    }

    #[test]
    fn a_judgement_survives_its_file() {
        let judgement = Judgement {
            verdict: Verdict::Disagrees { predicted: "[tsc]".parse().unwrap() },
            expected: Some("[hpet]".into()),
            inside: Some(Inside::default()),
        };
        let text = serde_json::to_string(&judgement).unwrap();
        let back: Judgement = serde_json::from_str(&text).unwrap();
        assert_eq!((back.verdict, back.inside), (judgement.verdict, judgement.inside));
    }
}

//! The prediction of `clocksmith predict` for a record, and whether it is right.

use crate::case::expect::Choice;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A prediction, compared with the truth.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "lowercase")]
pub enum Verdict {
    /// Current and list are both exactly right.
    Agrees,
    /// One of them is not.
    Disagrees {
        /// The prediction.
        predicted: Choice,
    },
    /// There was no program to predict.
    Skipped,
    /// There was no prediction.
    Failed {
        /// Why not.
        why: String,
    },
}

impl Verdict {
    /// Whether the verdict should fail a run.
    pub fn is_bad(&self) -> bool {
        matches!(self, Verdict::Disagrees { .. } | Verdict::Failed { .. })
    }
}

/// The program that predicts.
#[derive(Clone, Debug)]
pub struct Oracle {
    program: PathBuf,
}

impl Oracle {
    /// The program at a path; an error if there is none.
    pub fn at(program: &Path) -> Result<Oracle> {
        let program = std::fs::canonicalize(program).with_context(|| {
            format!(
                "looking for the clocksmith program at {} (build it, or leave --clocksmith out to \
                 record without comparing)",
                program.display()
            )
        })?;
        Ok(Oracle { program })
    }

    /// Asks about a record and compares the answer with the truth.
    pub fn judge(&self, record: &Path, truth: &Choice) -> Verdict {
        match self.predict(&["predict", "--json", "--root"], &record.join("root")) {
            Ok(predicted) => compare(predicted, truth),
            Err(error) => Verdict::Failed { why: format!("{error:#}") },
        }
    }

    /// Returns the choice that a `predict` prints: `words` and then the path are its arguments.
    pub fn predict(&self, words: &[&str], path: &Path) -> Result<Choice> {
        serde_json::from_str(&self.ask(words, path)?)
            .context("reading what `clocksmith predict --json` printed")
    }

    /// The program's output. Status 1 is an answer too: a bad one.
    pub fn ask(&self, words: &[&str], path: &Path) -> Result<String> {
        let output = Command::new(&self.program)
            .args(words)
            .arg(path)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("starting {}", self.program.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) || output.stdout.is_empty() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.trim().lines().last().unwrap_or("nothing on standard error");
            let verb = words.first().copied().unwrap_or_default();
            bail!("`clocksmith {verb}` ended with {}: {last}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn compare(predicted: Choice, truth: &Choice) -> Verdict {
    if predicted == *truth { Verdict::Agrees } else { Verdict::Disagrees { predicted } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn current_and_list_must_both_be_right() {
        let truth: Choice = "[tsc] hpet".parse().unwrap();
        assert_eq!(compare("[tsc] hpet".parse().unwrap(), &truth), Verdict::Agrees);
        assert!(compare("tsc [hpet]".parse().unwrap(), &truth).is_bad());
        assert!(compare("[tsc]".parse().unwrap(), &truth).is_bad());
        assert!(!Verdict::Skipped.is_bad());
    }

    #[test]
    fn the_program_is_asked_about_the_record() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let oracle = Oracle::at(&fixtures.join("oracle.sh")).unwrap();
        let record = tempfile::tempdir().unwrap();
        let cmdline = record.path().join("root/proc/cmdline");
        crate::record::write_file(&cmdline, "quiet clocksource=hpet\n").unwrap();
        let truth: Choice = "tsc [hpet] acpi_pm".parse().unwrap();
        assert_eq!(oracle.judge(record.path(), &truth), Verdict::Agrees);
        let truth: Choice = "tsc [acpi_pm]".parse().unwrap();
        let predicted = "tsc [hpet] acpi_pm".parse().unwrap();
        assert_eq!(oracle.judge(record.path(), &truth), Verdict::Disagrees { predicted });
    }

    #[test]
    fn a_program_that_fails_is_a_failed_verdict_and_not_an_agreement() {
        let truth: Choice = "[tsc]".parse().unwrap();
        let no = Oracle::at(Path::new("/bin/false")).unwrap().judge(Path::new("/"), &truth);
        assert!(matches!(no, Verdict::Failed { .. }));
        let mute = Oracle::at(Path::new("/bin/true")).unwrap().judge(Path::new("/"), &truth);
        assert!(matches!(mute, Verdict::Failed { why } if why.contains("clocksmith predict")));
        assert!(Oracle::at(Path::new("/nonexistent/clocksmith")).is_err());
    }
}

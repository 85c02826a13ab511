//! The program inside the guest, and its answer about the same guest from outside.
//!
//! With `run --guest-clocksmith PATH` each x86-64 guest also runs `clocksmith why --json`, with its
//! measurement, and `clocksmith collect`. Both come out on the serial line. [`judge`] compares the
//! answer with the truth and with the kernel's own log, and then runs the program outside on the
//! bundle, which must give the same answer.
//!
//! - [`answer`]: the part of the program's JSON that is read
//! - [`rules`]: the causes and the verdict that a boot must have

pub mod answer;
pub mod rules;

use crate::case::Boot;
use crate::case::expect::Choice;
use crate::oracle::Oracle;
use crate::record::{truth::Truth, write_file};
use answer::Answer;
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The program's answer inside a guest, and its errors.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Inside {
    /// Its answer; none if it could not be read.
    pub answer: Option<Answer>,
    /// Everything that contradicts the truth, the kernel's log or the answer from outside.
    pub disagreements: Vec<String>,
    /// Seconds of the guest's time that `why` and `collect` took.
    pub seconds: Option<(f64, f64)>,
    /// Bytes of the bundle.
    pub bundle: usize,
}

/// Writes the answer of the guest's program into the record and judges it. `None` if there is none.
pub fn judge(
    directory: &Path,
    boot: &Boot,
    truth: &Truth,
    frames: &BTreeMap<String, String>,
    outside: &Oracle,
) -> Result<Option<Inside>> {
    let frame = |name: &str| frames.get(name).map(String::as_str).unwrap_or_default();
    if !frames.contains_key("clocksmith/why") {
        return Ok(None);
    }
    let (said, complaints) = (frame("clocksmith/why"), frame("clocksmith/why.err"));
    write_file(&directory.join("inside/why.json"), said)?;
    write_file(&directory.join("inside/why.err"), complaints)?;
    let mut inside = Inside { seconds: seconds(frame("clocksmith/uptime")), ..Inside::default() };
    let answer = match Answer::of_why(said) {
        Ok(answer) => answer,
        Err(error) => {
            let last = complaints.trim().replace('\n', " / ");
            inside.disagreements.push(format!("inside, `why`: {error:#} ({last})"));
            return Ok(Some(inside));
        }
    };
    inside.disagreements.extend(rules::check(&answer, truth, boot, frame("full-dmesg")));
    let path = directory.join("inside/bundle.tar.gz");
    match bundle(frame("clocksmith/bundle"), &path) {
        Ok(size) => {
            inside.bundle = size;
            inside.disagreements.extend(from_outside(&answer, truth, outside, &path));
        }
        Err(error) => {
            let last = frame("clocksmith/bundle.err").trim().replace('\n', " / ");
            inside.disagreements.push(format!("inside, `collect`: {error:#} ({last})"));
            write_file(&directory.join("inside/bundle.base64"), frame("clocksmith/bundle"))?;
        }
    }
    inside.answer = Some(answer);
    Ok(Some(inside))
}

fn bundle(text: &str, path: &Path) -> Result<usize> {
    // busybox breaks its lines.
    let text: String = text.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(text).ok().context("the bundle is not base64")?;
    anyhow::ensure!(!bytes.is_empty(), "the bundle is empty");
    std::fs::write(path, &bytes).with_context(|| format!("writing {}", path.display()))?;
    Ok(bytes.len())
}

/// Asks about the bundle outside the guest and lists the differences.
fn from_outside(inside: &Answer, truth: &Truth, outside: &Oracle, bundle: &Path) -> Vec<String> {
    let mut list = Vec::new();
    match outside.ask(&["why", "--json", "--bundle"], bundle).and_then(|said| Answer::of_why(&said))
    {
        Ok(answer) => list.extend(inside.differences(&answer)),
        Err(error) => list.push(format!("outside, `why --bundle`: {error:#}")),
    }
    match outside.predict(&["predict", "--json", "--bundle"], bundle) {
        Ok(predicted) if predicted == truth.choice() => {}
        Ok(predicted) => list.push(format!("outside, `predict --bundle` says {predicted}")),
        Err(error) => list.push(format!("outside, `predict --bundle`: {error:#}")),
    }
    list
}

/// Returns the time that `why` and `collect` took, from `/proc/uptime` before `why`, after it and after `collect`.
fn seconds(text: &str) -> Option<(f64, f64)> {
    let mut times = text.lines().filter_map(|line| line.split(' ').next()?.parse::<f64>().ok());
    let (start, middle, end) = (times.next()?, times.next()?, times.next()?);
    let round = |value: f64| (value * 100.0).round() / 100.0;
    Some((round(middle - start), round(end - middle)))
}

/// How many guests ran the program and how many of their answers are right, in a sentence; `None`
/// if no guest ran it.
pub fn summary<'a>(all: impl Iterator<Item = &'a Inside>) -> Option<String> {
    let all: Vec<&Inside> = all.collect();
    let good = all.iter().filter(|inside| inside.disagreements.is_empty()).count();
    (!all.is_empty())
        .then(|| format!("the program ran in {} guests and was right in {good}", all.len()))
}

/// The choice that an answer names.
fn choice(answer: &Answer) -> Choice {
    Choice { current: answer.current.clone(), available: answer.available.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_become_durations() {
        assert_eq!(seconds("4.10 3.9\n4.60 4.0\n4.75 4.1\n"), Some((0.5, 0.15)));
        assert_eq!(seconds("4.10 3.9\n"), None);
    }

    #[test]
    fn summary_without_guests_is_none() {
        assert_eq!(summary([].into_iter()), None);
        let wrong = Inside { disagreements: vec!["x".into()], ..Inside::default() };
        let text = summary([&wrong, &Inside::default()].into_iter()).unwrap();
        assert!(text.contains("2 guests") && text.contains("right in 1"));
    }
}

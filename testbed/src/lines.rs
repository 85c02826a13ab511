//! Finds lines about clocks in real kernel logs that no parser claims.
//!
//! A line with a clock's name either states something that `clocksmith-facts` reads, or is in
//! `ignored-lines.toml` with the reason why it does not matter. Every other line is a message that
//! was overlooked.

use anyhow::{Context, Result};
use clocksmith_facts::log::KernelLog;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Words that mark a line as one about clocks, in any case.
const WORDS: &[&str] = &["tsc", "clocksource", "hpet", "acpi_pm", "kvm-clock"];

/// Lines that are left unread on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    ignore: Vec<Pattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pattern {
    line: String,
    why: String,
}

/// The findings in many logs.
#[derive(Debug, Default)]
pub struct Found {
    /// Logs.
    pub logs: usize,
    /// Lines about clocks.
    pub lines: usize,
    /// Those that a parser claims.
    pub claimed: usize,
    /// How many each pattern of the list ignores.
    pub ignored: BTreeMap<String, usize>,
    /// The rest: the message without its numbers, its count, and the first such line with its log.
    pub unclaimed: BTreeMap<String, (usize, PathBuf, String)>,
}

impl Ignored {
    /// The list of this repository.
    pub fn standard() -> Result<Ignored> {
        Ignored::parse(include_str!("../ignored-lines.toml"))
    }

    fn parse(text: &str) -> Result<Ignored> {
        toml::from_str(text).context("in ignored-lines.toml")
    }

    /// The pattern that ignores a line.
    fn pattern(&self, line: &str) -> Option<&str> {
        let mut patterns = self.ignore.iter().map(|pattern| pattern.line.as_str());
        patterns.find(|pattern| occurs(pattern, line))
    }

    /// Patterns without a reason, and patterns that ignored nothing.
    pub fn complaints(&self, found: &Found) -> Vec<String> {
        let mut list = Vec::new();
        for pattern in &self.ignore {
            if pattern.why.trim().is_empty() {
                list.push(format!("`{}` has no reason", pattern.line));
            }
            if !found.ignored.contains_key(&pattern.line) {
                list.push(format!("`{}` ignores nothing", pattern.line));
            }
        }
        list
    }
}

impl Found {
    /// Looks through one log.
    pub fn add(&mut self, log: &str, path: &Path, ignored: &Ignored) {
        self.logs += 1;
        for line in log.lines().filter(|line| is_about_clocks(line)) {
            self.lines += 1;
            if KernelLog::message(line).is_some() {
                self.claimed += 1;
            } else if let Some(pattern) = ignored.pattern(line) {
                *self.ignored.entry(pattern.into()).or_default() += 1;
            } else {
                let first = || (0, path.to_path_buf(), line.to_string());
                self.unclaimed.entry(without_numbers(line)).or_insert_with(first).0 += 1;
            }
        }
    }

    /// How many of which kind, in a sentence.
    pub fn summary(&self) -> String {
        let ignored: usize = self.ignored.values().sum();
        format!(
            "{} logs, {} lines about clocks: {} read, {ignored} ignored, {} of {} kinds unclaimed",
            self.logs,
            self.lines,
            self.claimed,
            self.unclaimed.values().map(|(count, ..)| count).sum::<usize>(),
            self.unclaimed.len()
        )
    }
}

/// Looks through the log of every record in the directories, or through a file alone.
pub fn look(paths: &[PathBuf], ignored: &Ignored) -> Result<Found> {
    let mut found = Found::default();
    for path in paths {
        for log in logs(path)? {
            let bytes =
                std::fs::read(&log).with_context(|| format!("reading {}", log.display()))?;
            found.add(&String::from_utf8_lossy(&bytes), &log, ignored);
        }
    }
    Ok(found)
}

fn logs(path: &Path) -> Result<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut logs: Vec<PathBuf> = std::fs::read_dir(path)
        .with_context(|| format!("reading the records in {}", path.display()))?
        .filter_map(|entry| Some(entry.ok()?.path().join("full-dmesg")))
        .filter(|log| log.is_file())
        .collect();
    logs.sort();
    anyhow::ensure!(!logs.is_empty(), "no record with a full-dmesg is in {}", path.display());
    Ok(logs)
}

fn is_about_clocks(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

/// Whether the parts of a pattern, between its stars, occur in a line in that order.
fn occurs(pattern: &str, line: &str) -> bool {
    let mut rest = line;
    pattern.split('*').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// A line's kind: no time stamp, and one sign for each number.
fn without_numbers(line: &str) -> String {
    let message = line.split_once("] ").map_or(line, |(_, message)| message);
    let mut kind = String::new();
    for part in message.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let (word, end) = match part.char_indices().next_back() {
            Some((at, c)) if !c.is_ascii_alphanumeric() => part.split_at(at),
            _ => (part, ""),
        };
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        kind.push_str(if is_number { "#" } else { word });
        kind.push_str(end);
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_or_ignored_or_unclaimed() {
        let text = "[[ignore]]\nline = \"rtc_cmos * hpet irqs\"\nwhy = \"an alarm\"\n\
                    [[ignore]]\nline = \"never\"\nwhy = \"\"\n";
        let ignored = Ignored::parse(text).unwrap();
        let mut found = Found::default();
        let log = "[    0.0] clocksource: Switched to clocksource tsc\n\
                   [    0.1] rtc_cmos 00:05: 242 bytes nvram, hpet irqs\n\
                   [    0.2] tsc: something 17 new\n[    0.3] tsc: something 18 new\n\
                   [    0.4] Freeing memory\n";
        found.add(log, Path::new("one"), &ignored);
        assert_eq!((found.lines, found.claimed), (4, 1));
        assert_eq!(found.ignored["rtc_cmos * hpet irqs"], 1);
        assert_eq!(found.unclaimed["tsc: something # new"].0, 2);
        assert_eq!(ignored.complaints(&found).len(), 2);
    }

    #[test]
    fn star_matches_any_text() {
        assert!(occurs("a*c", "xabcx"));
        assert!(!occurs("c*a", "xabcx"));
    }
}

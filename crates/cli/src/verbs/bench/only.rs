//! `--only`: the rows that were named.

use anyhow::{Result, bail};
use clocksmith_measure::bench::row::{ClockId, Instruction, Row, Via};

/// Rows that every run measures, since others are judged by them: the counter, and `CLOCK_MONOTONIC` by two paths.
fn references() -> Vec<Row> {
    let mut rows = Instruction::ALL.map(Row::counter).to_vec();
    rows.push(Row::clock(ClockId::Monotonic, Via::Vdso));
    rows.push(Row::clock(ClockId::Monotonic, Via::Syscall));
    rows
}

/// The rows to measure and those of them to show: by full name, by subject, or by a clock's name without `CLOCK_`.
pub(super) fn rows(only: &[String]) -> Result<(Vec<Row>, Vec<Row>)> {
    if only.is_empty() {
        return Ok((Row::all(), Row::all()));
    }
    let mut shown = Vec::new();
    for word in only {
        let found: Vec<Row> = Row::all().into_iter().filter(|row| is(*row, word)).collect();
        if found.is_empty() {
            let mut known: Vec<&str> = Row::all().into_iter().map(Row::subject).collect();
            known.dedup();
            bail!(
                "--only {}: there is no such clock; the clocks are {}, each by itself or with a \
                 path (/libc, /vdso, /syscall)",
                clocksmith_facts::visible::line(word),
                known.join(", ")
            );
        }
        shown.extend(found);
    }
    let all = Row::all();
    let shown: Vec<Row> = all.iter().copied().filter(|row| shown.contains(row)).collect();
    let references = references();
    let measured =
        all.into_iter().filter(|row| shown.contains(row) || references.contains(row)).collect();
    Ok((measured, shown))
}

fn is(row: Row, word: &str) -> bool {
    let word = word.trim();
    let subject = row.subject();
    let short = subject.strip_prefix("CLOCK_").unwrap_or(subject);
    [row.name().as_str(), subject, short, &format!("{subject}_ID")]
        .iter()
        .any(|name| name.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(rows: &[Row]) -> Vec<String> {
        rows.iter().map(|row| row.name()).collect()
    }

    #[test]
    fn rows_by_any_name() {
        let only = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            rows(&words).map(|(measured, shown)| (measured.len(), names(&shown)))
        };
        let (measured, shown) = only(&["monotonic", "rdtscp"]).unwrap();
        assert_eq!((measured, shown.len()), (6, 4), "{shown:?}");
        assert_eq!(only(&["CLOCK_TAI/vdso"]).unwrap().1, ["CLOCK_TAI/vdso"]);
        assert_eq!(only(&["CLOCK_REALTIME_ID"]).unwrap().1.len(), 3);
        assert_eq!(only(&[]).unwrap().0, 40);
        let error = only(&["CLOCK_MONOTONIK"]).unwrap_err().to_string();
        assert!(error.contains("no such clock") && error.contains("CLOCK_TAI"), "{error}");
    }
}

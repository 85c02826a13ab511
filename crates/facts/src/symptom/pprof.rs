//! `go tool pprof -top`: flat, flat%, sum%, cum, cum%, function.

use super::perf::percent;
use super::{Counted, Profile, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "pprof top", words: &["%"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if row(page.line(at)).is_none() {
        return 0;
    }
    let mut profile = Profile { counted: Counted::above_pprof(page, at), ..Profile::default() };
    let mut last = at;
    let mut number = at;
    while number < page.len() {
        let line = page.line(number);
        number += 1;
        if let Some((flat, cum, symbol)) = row(line) {
            profile.add(symbol, flat, Some(cum));
            last = number;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    if let Some(profile) = profile.finish() {
        page.symptom(at, READER.name, Seen::Profile(profile));
    }
    last - at
}

/// The function's own share, that with the functions that it calls, and its name.
fn row(line: &str) -> Option<(f64, f64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let flat = words.next()?;
    if !flat.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let flat = share(words.next()?)?;
    percent(words.next()?)?;
    words.next()?;
    let cum = share(words.next()?)?;
    Some((flat, cum, words.next()?))
}

/// A share; pprof prints a plain 0 for none.
fn share(word: &str) -> Option<f64> {
    if word == "0" { Some(0.0) } else { percent(word) }
}

//! `go tool pprof -top`: flat, flat%, sum%, cum, cum%, function.

use super::perf::percent;
use super::{Profile, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "pprof top", words: &["%"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if row(page.line(at)).is_none() {
        return 0;
    }
    let mut profile = Profile::default();
    let mut last = at;
    while let Some((share, symbol)) = (last < page.len()).then(|| row(page.line(last))).flatten() {
        profile.add(symbol, share);
        last += 1;
    }
    if let Some(profile) = profile.finish() {
        page.symptom(at, READER.name, Seen::Profile(profile));
    }
    last - at
}

fn row(line: &str) -> Option<(f64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let flat = words.next()?;
    if !flat.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let own = percent(words.next()?)?;
    percent(words.next()?)?;
    words.next()?;
    percent(words.next()?)?;
    Some((own, words.next()?))
}

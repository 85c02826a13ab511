//! Profiles with one function per line: async-profiler's flat output, and the labels of flame graphs.

use super::perf::percent;
use super::{Counted, Profile, Seen, functions};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader =
    Reader { name: "profile", words: &["samples", "percent", "%"], read };

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if row(page.line(at)).is_none() {
        return 0;
    }
    let mut profile = Profile { counted: Counted::above_flat(page, at), ..Profile::default() };
    let mut last = at;
    for number in at..page.len().min(at + 4000) {
        if number - last > 20 || page.is_prompt(number) {
            break;
        }
        if let Some((share, symbol)) = row(page.line(number)) {
            profile.add(symbol, share, None);
            last = number;
        }
    }
    if let Some(profile) = profile.finish() {
        page.symptom(at, READER.name, Seen::Profile(profile));
    }
    last + 1 - at
}

/// `3817000000  38.17%  382  read_hpet_[k]` and `read_hpet (1,234 samples, 38.17%)`.
fn row(line: &str) -> Option<(f64, &str)> {
    if let Some((symbol, rest)) = line.trim().rsplit_once(" (")
        && let Some((samples, share)) = rest.split_once(", ")
        && samples.contains(" sample")
    {
        let share = share.trim_end_matches([')', ' ', ';']);
        return Some((percent(share)?, symbol.trim()));
    }
    let mut words = line.split_ascii_whitespace();
    let is_count =
        |word: Option<&str>| word.is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
    if !is_count(words.next()) {
        return None;
    }
    let share = percent(words.next()?)?;
    if !is_count(words.next()) {
        return None;
    }
    let symbol = words.next()?;
    (words.next().is_none() || functions::role(symbol).is_some()).then_some((share, symbol))
}

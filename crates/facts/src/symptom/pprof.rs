//! `go tool pprof -top`: flat, flat%, sum%, cum, cum%, function.

use super::perf::percent;
use super::{Counted, Profile, Seen};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "pprof top", words: &["%"], read };

/// `(pprof) list NAME`: a function with its source, and its share in the head.
pub(super) const LIST: Reader =
    Reader { name: "pprof list", words: &["(flat, cum)"], read: read_list };

/// `     2.69s      2.70s (flat, cum) 54.00% of Total`, below `ROUTINE ===== NAME in FILE`.
fn read_list(page: &mut Page<'_>, at: usize) -> usize {
    let Some(above) = at.checked_sub(1).map(|above| page.line(above).trim()) else { return 0 };
    let symbol = above
        .strip_prefix("ROUTINE =")
        .and_then(|rest| rest.trim_start_matches('=').split_ascii_whitespace().next());
    let share_of = |line: &str| {
        let (_, rest) = line.split_once("(flat, cum)")?;
        let share = rest.split_ascii_whitespace().next()?;
        rest.contains(" of Total").then(|| percent(share)).flatten()
    };
    let (Some(symbol), Some(all)) = (symbol, share_of(page.line(at))) else { return 0 };
    if is_of_macos(page, at) {
        return 0;
    }
    let mut profile = Profile { counted: Counted::above_pprof(page, at), ..Profile::default() };
    // The share of the function's own instructions is not in this line.
    profile.add(symbol, 0.0, Some(all));
    if let Some(profile) = profile.finish() {
        page.symptom(at, LIST.name, Seen::Profile(profile));
    }
    1
}

/// Lines around one of a profile in which the files of its functions show another system.
const AROUND: usize = 40;

/// Whether a profile is of macOS, whose clocks are others: its functions are in files of that name.
fn is_of_macos(page: &Page<'_>, at: usize) -> bool {
    const FILES: [&str; 3] = ["_darwin_amd64.s", "_darwin_arm64.s", "libsystem_kernel.dylib"];
    let lines = at.saturating_sub(AROUND)..page.len().min(at + AROUND);
    lines.map(|number| page.line(number)).any(|line| FILES.iter().any(|file| line.contains(file)))
}

fn read(page: &mut Page<'_>, at: usize) -> usize {
    if row(page.line(at)).is_none() || is_of_macos(page, at) {
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

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;
    use crate::symptom::Seen;

    #[test]
    fn a_listed_function_has_its_share_in_the_head() {
        let of = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let symptoms = Pasted::read(&lines, "text").symptoms;
            symptoms.into_iter().find_map(|symptom| match symptom.seen {
                Seen::Profile(profile) => {
                    profile.functions.first().map(|one| (one.name.clone(), one.percent))
                }
                _ => None,
            })
        };
        let text = "Total: 4s\nROUTINE ======================== time.Now in /go/src/time/time.go\n\
                    \x20    0.7s       1.6s (flat, cum) 40.00% of Total\n";
        assert_eq!(of(text), Some(("time.Now".to_owned(), 40.0)));
        assert_eq!(of(&text.replace("time.Now", "main.work")), None);
        assert_eq!(of("0.7s 1.6s (flat, cum) 40.00% of Total\n"), None);
    }
}

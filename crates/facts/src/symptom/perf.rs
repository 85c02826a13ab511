//! `perf report` and `perf top`: a row has a share, the object in brackets, `[k]` or `[.]`, and the symbol. Rows of
//! `perf top` before 3.0 have the object last.

use super::{Profile, Role, Seen, functions};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader { name: "perf report", words: &["%"], read };

/// Lines without a row that may stand between two rows: stacks.
const GAP: usize = 60;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let Some(first) = row(page.line(at)) else { return 0 };
    let mut profile = Profile::default();
    profile.add(first.1, first.0);
    let mut last = at;
    for number in at + 1..page.len() {
        let line = page.line(number);
        if number - last > GAP || page.is_prompt(number) {
            break;
        }
        if let Some((percent, symbol)) = row(line) {
            profile.add(symbol, percent);
            last = number;
        } else if let Some(name) = branch(line) {
            profile.called_by_programs |= functions::role(name) == Some(Role::Library);
            last = number;
        }
    }
    if let Some(profile) = profile.finish() {
        page.symptom(at, READER.name, Seen::Profile(profile));
    }
    last + 1 - at
}

/// The function's own share, and its name.
fn row(line: &str) -> Option<(f64, &str)> {
    let line = line.trim_start_matches(['-', '+', ' ', '\t', '|']);
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    if let Some(own) = percent(first) {
        // With children the share of the function itself is the second one.
        let (own, symbol) = match words.next().map(|word| (percent(word), word)) {
            Some((Some(second), _)) => (second, words.next()),
            Some((None, word)) => (own, Some(word)),
            None => return None,
        };
        let marked = line.find("[k] ").or_else(|| line.find("[.] "));
        if let Some(mark) = marked {
            return Some((own, line[mark + 4..].trim()));
        }
        // A share and a name, and nothing else. A function that programs call is the line of a stack.
        let symbol = symbol?;
        let role = functions::role(symbol).filter(|role| *role != Role::Library);
        return (words.next().is_none() && role.is_some()).then_some((own, symbol));
    }
    // `  3456.00 38.1% acpi_pm_read   [kernel.kallsyms]`
    first.parse::<f64>().ok()?;
    let own = percent(words.next()?)?;
    let symbol = words.next()?;
    let object = words.next()?;
    (object.starts_with('[') && object.ends_with(']')
        || object.contains(".so")
        || object.starts_with('/'))
    .then_some((own, symbol))
}

/// `--36.44%--clock_gettime` and `- 36.44% clock_gettime`: a line of a stack.
fn branch(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(['-', '+', ' ', '\t', '|']);
    if let Some(at) = line.find('%')
        && percent(line.get(..=at)?.trim()).is_some()
    {
        return Some(line[at + 1..].trim_start_matches(['-', ' ']).trim());
    }
    functions::role(line.trim()).map(|_| line.trim())
}

pub(super) fn percent(word: &str) -> Option<f64> {
    let number = word.strip_suffix('%')?;
    number.parse().ok().filter(|share| (0.0..=100.5).contains(share))
}

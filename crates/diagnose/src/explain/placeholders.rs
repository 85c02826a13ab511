//! Messages with figures: the page of `time reset +N s` is that of `time reset -0.31 s`. A figure is a signed decimal, with or without a
//! blank before its unit.

/// The mark for a figure.
const FIGURE: char = '#';
/// Fewest letters of a message beside its figures.
const LETTERS: usize = 9;

/// A line in small letters with marks in the place of its figures.
pub(super) fn of_line(small: &str) -> String {
    let chars: Vec<char> = small.chars().collect();
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut out = String::with_capacity(small.len());
    let mut at = 0;
    while at < chars.len() {
        let signed = matches!(chars[at], '+' | '-') && is_digit(at + 1);
        let begins = at == 0 || !is_part(chars[at - 1]) && chars[at - 1] != '.';
        if begins && (is_digit(at) || signed) {
            at += 1;
            while is_digit(at) || chars.get(at) == Some(&'.') && is_digit(at + 1) {
                at += 1;
            }
            out.push(FIGURE);
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    let words = out.split(' ').map(|word| if stands_for(word) { "#" } else { word });
    joined(&words.collect::<Vec<_>>().join(" "))
}

/// The same of a line in which letters stand for a figure; empty for others.
pub(super) fn of_example(small: &str) -> String {
    if small.split(' ').any(stands_for) { of_line(small) } else { String::new() }
}

/// Whether a word in small letters only stands for a figure: `nnnn`, `xxx`.
fn stands_for(word: &str) -> bool {
    word.len() > 2 && (word.bytes().all(|b| b == b'n') || word.bytes().all(|b| b == b'x'))
}

/// The same of a message whose figures are written as `N` and `M`, in small letters; `None` without any.
pub(super) fn of_message(words: &str) -> Option<String> {
    let chars: Vec<char> = words.chars().collect();
    let is_part = |at: Option<usize>| {
        at.and_then(|at| chars.get(at)).is_some_and(|c| c.is_alphanumeric() || *c == '_')
    };
    let mut out = String::with_capacity(words.len());
    for (at, c) in chars.iter().enumerate() {
        let alone = !is_part(at.checked_sub(1)) && !is_part(Some(at + 1));
        if alone && matches!(c, 'N' | 'M') {
            if out.ends_with(['+', '-']) {
                out.pop();
            }
            out.push(FIGURE);
        } else {
            out.push(*c);
        }
    }
    let letters = out.chars().filter(|c| c.is_alphabetic()).count();
    (out.contains(FIGURE) && letters >= LETTERS).then(|| joined(&out.to_ascii_lowercase()))
}

/// Without blanks between a figure and its unit, and at the end.
fn joined(text: &str) -> String {
    let single = text.split_whitespace().collect::<Vec<_>>().join(" ");
    single.replace("# ", "#").trim_end_matches(['.', ':']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_letters_are_alike() {
        let pattern = of_message("time reset +N s").unwrap_or_default();
        for line in ["ntpd[7]: time reset -0.31 s", "time reset +12.5s", "time reset 3 s"] {
            assert!(of_line(line).contains(&pattern), "{line}");
        }
        for line in ["time reset by hand", "time reset + s", "the time reset3 s"] {
            assert!(!of_line(line).contains(&pattern), "{line}");
        }
        assert_eq!(of_message("tsc: no figure"), None);
        assert_eq!(of_message("N s > M s"), None);
    }
}

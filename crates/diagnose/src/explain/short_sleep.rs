//! A sleep that took less time than it should: `time sleep 10` with `real 0m9.513s`. A sleep never ends early, but the
//! shell measures it by the wall clock: something set that clock back meanwhile.

/// The least difference that is not one of rounding, in seconds and as a share.
const LEAST_S: f64 = 0.01;
const LEAST: f64 = 0.001;
/// The longest sleep that people measure, in seconds.
const LONGEST_S: f64 = 86_400.0;
/// Bytes after the command in which its time is printed.
const NEAR: usize = 400;

/// What follows from such a sleep in a text in small letters, as a sentence.
pub(super) fn said(small: &str) -> Option<String> {
    let (told, took) = found(small)?;
    Some(format!(
        "In the text `sleep {told}` took {took:.3} s. A sleep never ends early, but the shell measures it by the wall clock: something set that \
         clock back by {:.2} s meanwhile. The clock runs fast and is corrected again and again, or two programs \
         set it",
        told - took
    ))
}

/// The seconds of the first such sleep, and what it took.
pub(super) fn found(small: &str) -> Option<(f64, f64)> {
    small.match_indices("sleep ").find_map(|(at, word)| {
        let rest = &small[at + word.len()..];
        let told: f64 = number(rest)?.0.parse().ok().filter(|s| (1.0..LONGEST_S).contains(s))?;
        let end = (0..=rest.len().min(NEAR)).rev().find(|end| rest.is_char_boundary(*end))?;
        let (_, after) = rest[..end].split_once("\nreal")?;
        let (minutes, after) = number(after.trim_start_matches(['\t', ' ', ':']))?;
        let (seconds, _) = number(after.strip_prefix('m')?)?;
        let took = minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?;
        let short = told - took;
        (took > 0.0 && short > LEAST_S && short > told * LEAST).then_some((told, took))
    })
}

/// The number at the beginning of a text, and what follows it.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::{found, said};

    #[test]
    fn sleeps_that_end_early() {
        let text = "$ time sleep 20\n\nreal\t0m18.250s\nuser\t0m0.001s\n";
        assert_eq!(found(text), Some((20.0, 18.25)));
        assert!(said(text).unwrap_or_default().contains("set that clock back by 1.75 s"));
        let again = "time sleep 5\nreal 0m5.003s\n$ time sleep 90\nreal 1m28.000s";
        assert_eq!(found(again), Some((90.0, 88.0)));
    }

    #[test]
    fn other_sleeps() {
        for text in [
            "time sleep 10\nreal\t0m10.004s",
            "time sleep 10\nreal\t0m9.999s",
            "sleep 10 seconds, then real work",
            "while true; do sleep 1; done",
            "sleep 10\nreal\t",
            "sleep \nreal 0m",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}

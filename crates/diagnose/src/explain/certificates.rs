//! What Go says of a certificate in one sentence for both ends of its validity; the times after it show which end is meant.

const BOTH: &str = "certificate has expired or is not yet valid";
const EXPIRED: &str = "certificate has expired";
const EARLY: &str = "certificate is not yet valid";
/// Bytes after the sentence in which the times are.
const NEAR: usize = 160;

/// A text in small letters in which each such sentence names the end that is meant, or both where no times follow.
pub(super) fn one_end(small: &str) -> String {
    let mut left = String::with_capacity(small.len());
    let mut rest = small;
    while let Some(at) = rest.find(BOTH) {
        let (before, after) = (&rest[..at], &rest[at + BOTH.len()..]);
        left.push_str(before);
        left.push_str(meant(after));
        rest = after;
    }
    left.push_str(rest);
    left
}

fn meant(after: &str) -> &'static str {
    let end = (0..=after.len().min(NEAR)).rev().find(|end| after.is_char_boundary(*end));
    let near = &after[..end.unwrap_or(0)];
    let near = near.find(BOTH).map_or(near, |next| &near[..next]);
    let flat = near.split_whitespace().collect::<Vec<_>>().join(" ");
    match (flat.find(" is after "), flat.find(" is before ")) {
        (Some(after), Some(before)) if after < before => EXPIRED,
        (Some(_), None) => EXPIRED,
        (_, Some(_)) => EARLY,
        (None, None) => BOTH,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{explain, of_wall_clock, quoted};
    use super::*;

    #[test]
    fn the_second_half_decides() {
        let line = |way: &str| {
            format!("x509: {BOTH}: current time 2025-02-01T10:00:00Z is {way} 2025-01-09T08:00:00Z")
        };
        let first = |text: &str| explain(text).first().map(|found| found.title.clone());
        assert_eq!(first(&line("after")).as_deref(), Some(EXPIRED));
        assert_eq!(first(&line("before")).as_deref(), Some(EARLY));
        assert_eq!(first(BOTH).as_deref(), Some(EARLY));
        // What is said elsewhere in a text does not decide.
        let text = format!(
            "The date is the same before and is before noon after a restart.\n{}",
            line("after")
        );
        assert_eq!(of_wall_clock(&text).first(), Some(&EXPIRED));
        assert!(!of_wall_clock(&text).contains(&EARLY));
        assert_eq!(quoted(&text), [""; 0]);
        assert_eq!(quoted(&line("before")), [EARLY]);
        assert!(of_wall_clock(BOTH).contains(&EXPIRED) && of_wall_clock(BOTH).contains(&EARLY));
    }
}

//! Whether a sentence says that a machine loses its date at a start: it forgets the time, or comes back to an old date.

/// Beginnings of words about a start.
const STARTS: [&str; 6] = ["reboot", "boot", "restart", "shutdown", "shutting", "unplug"];
/// Verbs that go with `back to`.
const COMES: [&str; 8] = ["comes", "goes", "jumps", "falls", "went", "came", "set", "reverts"];
/// Words before `time` with which it is that of day.
const OF_DAY: [&str; 5] = ["the", "its", "system", "current", "correct"];

/// Whether the words of a sentence, in small letters, say so.
pub(super) fn tells(words: &[&str]) -> bool {
    let starts = words.iter().any(|word| STARTS.iter().any(|start| word.starts_with(start)));
    starts && words.iter().enumerate().any(|(at, _)| is_clock(words, at)) && is_lost(words)
}

fn is_clock(words: &[&str], at: usize) -> bool {
    match words[at] {
        "date" | "clock" => true,
        "time" => at > 0 && OF_DAY.contains(&words[at - 1]),
        _ => false,
    }
}

/// `forgets`, `comes back to dec 2020`, `resets to 1970`.
fn is_lost(words: &[&str]) -> bool {
    let is_year =
        |word: &&str| word.len() == 4 && word.parse().is_ok_and(|n: u32| (1970..2100).contains(&n));
    (0..words.len()).any(|at| {
        let rest = &words[at + 1..];
        let next = rest.first().copied().unwrap_or("");
        let names_a_year = rest.iter().take(6).any(is_year);
        words[at].starts_with("forget")
            || COMES.contains(&words[at]) && next == "back" && names_a_year
            || ["resets", "reset", "reverts"].contains(&words[at]) && next == "to" && names_a_year
    })
}

#[cfg(test)]
mod tests {
    use super::tells;

    fn said(text: &str) -> bool {
        tells(&text.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn machines_that_lose_their_date() {
        assert!(said("after a reboot the date resets to 1 jan 1970"));
        assert!(said("it forgets the time at each boot"));
        assert!(!said("after each boot i forget my password all the times"));
        assert!(!said("the clock comes back to 2020"));
        assert!(!said("after the reboot the date comes back"));
    }
}

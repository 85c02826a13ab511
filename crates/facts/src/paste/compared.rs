//! Two logs that a text compares: `Here's a comparison:`, `mine has instead:`. Their stamps are those of two
//! machines, so that the second one is not a later boot of the first.

use super::WHOLE_LOG;
use crate::log::{strip_prefix, times};

/// Words with which a writer sets one log against another.
const WORDS: [&str; 18] = [
    "comparison",
    "to compare",
    "compare it with",
    "compare this with",
    "compared with",
    "compared to",
    "mine has",
    "mine shows",
    "mine says",
    "mine is",
    "on mine",
    "on my desktop",
    "on my laptop",
    "on my other",
    "zum vergleich",
    "en comparaison",
    "para comparar",
    "per confronto",
];
/// Why the lines of such a text are not of one machine, as the end of a sentence.
pub(super) fn two_logs(lines: &[String]) -> Option<String> {
    let stamps: Vec<(usize, f64)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, line)| Some((at, times(line).0?)))
        .take(WHOLE_LOG + 1)
        .collect();
    if stamps.len() > WHOLE_LOG {
        return None;
    }
    let at = stamps.windows(2).find_map(|pair| {
        let [(above, before), (below, after)] = pair else { return None };
        let goes_back = after < before;
        goes_back.then(|| (above + 1..*below).find(|at| compares(&lines[*at])))?
    })?;
    Some(format!(
        "line {} compares two logs, and an answer holds for one machine: give the lines of one",
        at + 1
    ))
}

/// Whether a sentence sets one log against another.
fn compares(line: &str) -> bool {
    let lower = line.to_lowercase();
    !strip_prefix(line).1 && WORDS.iter().any(|words| lower.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_that_is_set_against_another_is_of_another_machine() {
        let first = "[ 2061.562272] Marking TSC unstable due to: cpufreq changes.\n";
        let second = "[    0.000000] Initializing CPU#0\n\
                      [   16.182650] Marking TSC unstable due to TSCs unsynchronized\n";
        let of = |text: String| two_logs(&text.lines().map(str::to_owned).collect::<Vec<_>>());
        for words in
            ["Here's a comparison:", "Mine has instead:", "and for comparison a box that works:"]
        {
            let told = of(format!("Your log ends with\n{first}\n{words}\n\n{second}"));
            assert!(told.is_some_and(|told| told.contains("line 4")), "{words}");
        }
        assert_eq!(of(format!("{first}Then I rebooted:\n{second}")), None);
        assert_eq!(of(format!("For comparison:\n{first}{first}")), None);
        assert_eq!(of(format!("{second}Compared to yesterday:\n{first}")), None);
    }
}

//! One line per stack: functions from the outermost to the innermost with semicolons between them, a space,
//! the number of samples (Brendan Gregg's stackcollapse format).

use super::names;
use crate::recording::Recording;
use clocksmith_facts::visible;
use std::collections::BTreeMap;

/// Makes the text.
#[must_use]
pub fn folded(recording: &Recording) -> String {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for stack in &recording.stacks {
        let words: Vec<String> = names(recording, stack).map(clean).collect();
        *lines.entry(words.join(";")).or_default() += stack.tally.samples;
    }
    lines.into_iter().map(|(line, samples)| format!("{line} {samples}\n")).collect()
}

/// A name without the format's own signs: a semicolon separates frames, a line end stacks. Readers of the format
/// search for names, so the sign is replaced and not spelled out. Characters that reverse or hide text where the
/// file is shown are also replaced.
fn clean(name: &str) -> String {
    name.chars().map(|c| if c == ';' || visible::hides(c) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made;
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(
            folded(&made::recording()),
            "a_pp;main;cold;clock_gettime;vDSO, fell back to a system call 2\n\
             a_pp;main;hot;clock_gettime 3\n"
        );
        assert_eq!(folded(&Recording::default()), "");
        let hidden = "a;b\u{1b}c\u{202e}d\u{200b}e\u{feff}f\u{2028}g\u{e0041}\u{85}\n";
        assert_eq!(clean(hidden), "a_b_c_d_e_f_g___");
    }
}

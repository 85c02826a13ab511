//! Sentences in the place of a heading above a kernel's log: `Here is the dmesg from inside the virtual machine:`.

use crate::log::strip_prefix;

/// Maximum number of characters in such a sentence, and in its part that names the machine.
const LONGEST: usize = 120;
const NAME: usize = 72;
/// Words for a kernel's log, of which the sentence has one.
const LOGS: [&str; 6] =
    ["dmesg", "kernel log", "boot log", "kern.log", "console log", "kernel messages"];
/// Words that begin a clause about the machine.
const CLAUSES: [&str; 10] =
    [" (", ", ", "; ", " which ", " that ", " where ", " whose ", " with ", " when ", " while "];
/// Lines below the sentence in which the log begins: a blank line, the mark of a fence, the command.
const WITHIN: usize = 3;

/// The part of such a sentence that names the machine.
pub(super) fn read(lines: &[String], number: usize) -> Option<&str> {
    let line = lines.get(number)?.trim().trim_matches(['*', '_', '#', ' ']);
    let sentence = line.strip_suffix(':')?.trim_end_matches(['*', '_', ' ']);
    let lower = sentence.to_ascii_lowercase();
    if sentence.len() > LONGEST
        || !LOGS.iter().any(|word| lower.contains(word))
        || strip_prefix(line).1
    {
        return None;
    }
    let below = lines.iter().skip(number + 1).take(WITHIN);
    if !below.into_iter().any(|line| strip_prefix(line).1) {
        return None;
    }
    let end = CLAUSES.iter().filter_map(|begin| lower.find(begin)).min();
    let name = sentence.get(..end.unwrap_or(sentence.len()))?;
    let names_log = LOGS.iter().any(|word| lower[..name.len()].contains(word));
    (names_log && name.len() <= NAME).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_above_a_log_names_the_machine() {
        let of = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            read(&lines, 0).map(str::to_owned)
        };
        let stamped = "[    0.100000] Console: colour VGA+\n";
        assert_eq!(
            of(&format!("dmesg from dom0 which has the disks (all):\n{stamped}")).as_deref(),
            Some("dmesg from dom0")
        );
        assert_eq!(
            of(&format!("**dmesg of the guest**:\n\n{stamped}")).as_deref(),
            Some("dmesg of the guest")
        );
        for other in [
            "dmesg from dom0:\n\nwas too long\n".to_owned(),
            format!("The guest, of which I sent dmesg:\n{stamped}"),
            format!("dmesg from dom0\n{stamped}"),
            format!("the guest:\n{stamped}"),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
    }
}

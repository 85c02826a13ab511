//! The command line of the guest's kernel in the same file: a clock that it refuses or requests is not added or
//! removed. Source: Linux Documentation/admin-guide/kernel-parameters.txt.

use crate::document::Document;

/// The limit of words of a text that are read.
const MOST: usize = 100_000;

/// Returns the reason to leave a change that contradicts the command line of the guest's kernel; `subject` is the
/// subject of the rule.
pub(super) fn told(document: &Document, subject: &str) -> Option<String> {
    let against: fn(&str) -> bool = match subject {
        "kvmclock" => without_kvm_clock,
        "hpet" => with_hpet,
        _ => return None,
    };
    let text = document.text.as_str();
    let ends = |c: char| c.is_whitespace() || "\"'`,<>()[]{};|&\\".contains(c);
    let word = text.split(ends).take(MOST).find(|word| against(word))?;
    let line = document.text.place(crate::text::offset(text, word)).line;
    Some(format!("line {line}: the guest's own command line has {word}, so it may be intended"))
}

/// Returns whether a word disables kvm-clock. A clocksource that is selected by name stays selected even if kvm-clock
/// registers.
fn without_kvm_clock(word: &str) -> bool {
    matches!(word, "no-kvmclock" | "no_kvmclock" | "nopv")
}

/// Returns whether a word makes the kernel use any HPET, or print its registers.
fn with_hpet(word: &str) -> bool {
    matches!(word, "hpet=force" | "hpet=verbose" | "clocksource=hpet")
}

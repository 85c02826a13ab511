//! What the guest's own kernel is told in the same file: a clock that its command line refuses or asks for is not put in or
//! taken out beside it. Source: Linux Documentation/admin-guide/kernel-parameters.txt.

use crate::document::Document;

/// The most words of a text that are looked at.
const MOST: usize = 100_000;

/// Why a change is left that goes against the command line of the guest's kernel; `subject` is what the rule is about.
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
    Some(format!("line {line}: the guest's own command line has {word}, so it may be meant"))
}

/// A word that takes kvm-clock away. A clocksource that is chosen by its name stays the choice beside kvm-clock.
fn without_kvm_clock(word: &str) -> bool {
    matches!(word, "no-kvmclock" | "no_kvmclock" | "nopv")
}

/// A word with which the kernel uses an HPET wherever there is one, or prints it.
fn with_hpet(word: &str) -> bool {
    matches!(word, "hpet=force" | "hpet=verbose" | "clocksource=hpet")
}

//! Two reasons for which one boot cannot have marked the TSC: the kernel marks it unstable once, with the first reason
//! (`mark_tsc_unstable()` in `arch/x86/kernel/tsc.c`, all versions).

use super::event::{Event, UnstableReason};
use super::{Entry, KernelLog, wall};

/// The reason why lines are not of one boot, as the end of a sentence, if they give two reasons and nothing shows when
/// they were printed: such a text lists messages. Lines with stamps or dates are separated by these.
pub(super) fn marked_twice(log: &KernelLog) -> Option<String> {
    let marks = log.entries.iter().filter_map(|entry| Some((entry, reason(entry)?)));
    let marks: Vec<(&Entry, &UnstableReason)> = marks.collect();
    let (first, second) = marks.iter().zip(marks.get(1..)?).find(|(one, two)| one.1 != two.1)?;
    Some(format!(
        "the kernel marks the TSC unstable once in a boot, and this text gives two reasons ({}, {}): these are examples, or \
         lines of several boots or machines",
        log.source(first.0),
        log.source(second.0)
    ))
}

/// The reason in a line without a stamp or a date. Old kernels print two of the messages apart from a reason.
fn reason(entry: &Entry) -> Option<&UnstableReason> {
    let Event::TscUnstable(reason) = &entry.event else { return None };
    let has_time = entry.at.is_some() || wall::seconds(&entry.text).is_some();
    let is_apart = matches!(reason, UnstableReason::RunningSlowly | UnstableReason::Other(_));
    (!has_time && !is_apart).then_some(reason)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn two_reasons_without_time_are_of_no_single_boot() {
        let scan = |text: &str| KernelLog::scan(text.as_bytes(), "log").unwrap();
        let of = |reason: &str| format!("tsc: Marking TSC unstable due to {reason}\n");
        let (halts, sync) = (of("TSC halts in idle"), of("check_tsc_sync_source failed"));
        let guide = format!("* `{}`: old\n* `{}`: firmware\n", halts.trim(), sync.trim());
        assert!(scan(&guide).mixed.is_some());
        assert!(scan(&format!("{halts}{sync}")).mixed.is_some());
        assert_eq!(scan(&format!("{halts}{halts}")).mixed, None);
        let stamped = format!("[    1.810000] {halts}[  900.120000] {sync}");
        assert!(!scan(&stamped).mixed.is_some_and(|why| why.contains("once in a boot")));
    }
}

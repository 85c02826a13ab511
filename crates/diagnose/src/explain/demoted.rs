//! Sentences about counters that differ from each other, or that the kernel demoted. Their "time skew" is between clocksources, and
//! no clock shows a wrong time because of it.

use super::read_words::OF_WRONG_TIMES;

/// The page of the kernel's comparison of clocksources.
pub(super) const PAGE: &str = "watchdog";

/// Names of clocksources and counters, in small letters.
const COUNTERS: [&str; 11] = [
    "tsc",
    "time stamp counter",
    "time-stamp counter",
    "hpet",
    "acpi_pm",
    "kvm-clock",
    "kvmclock",
    "hyperv_clocksource",
    "xen clocksource",
    "jiffies",
    "arch_sys_counter",
];
/// What the kernel does to a counter, and the part of it that does so.
const DEMOTES: [&str; 5] =
    ["unstable", "clocksource watchdog", "clock source watchdog", "kernel watchdog", "demoted"];
/// A difference of counters.
const DIFFERS: [&str; 3] = ["skew", "diverge", "disagree"];

/// Whether a sentence in small letters is about such counters.
fn is_of_counters(sentence: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has = |word: &&&str| super::wall_words::has(sentence, word, true, is_part);
    let names = COUNTERS.iter().filter(has).count();
    // `TSC (time stamp counter)` is one.
    let doubled = usize::from(sentence.contains("tsc") && sentence.contains("stamp counter"));
    let names = names - doubled.min(names);
    let source = sentence.contains("clocksource") || sentence.contains("clock source");
    let any = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let wrong =
        OF_WRONG_TIMES.iter().any(|word| super::wall_words::has(sentence, word, true, is_part));
    !wrong && ((names > 0 || source) && any(&DEMOTES) || names > 1 && any(&DIFFERS))
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| line.split_inclusive(". "))
}

/// Whether a sentence of a text in small letters says that counters differ, or that the kernel's comparison demoted one.
pub(super) fn tells(small: &str) -> bool {
    let compares =
        |text: &&str| text.contains("watchdog") || DIFFERS.iter().any(|word| text.contains(word));
    sentences(small).filter(compares).any(is_of_counters)
}

/// A text in small letters without such sentences.
pub(super) fn removed(small: &str) -> String {
    sentences(small).filter(|sentence| !is_of_counters(sentence)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{of_reads, of_wall_clock, says_wrong};

    #[test]
    fn skew_between_counters_leads_to_the_watchdog_and_not_to_a_wrong_clock() {
        for text in [
            "Our worker's TSC was marked as unstable by the kernel watchdog, with a large time skew between TSC and kvm-clock.",
            "dmesg complains of time skew between the tsc and the hpet. Is that bad?",
            "Clocksource instability: the TSC (time stamp counter) was demoted after a time skew",
        ] {
            assert_eq!(of_reads(text).first(), Some(&"watchdog"), "{text}");
            assert!(
                of_wall_clock(text).is_empty() && !says_wrong(text),
                "{text}: {:?}",
                of_wall_clock(text)
            );
        }
    }

    #[test]
    fn skew_between_hosts_stays_one_of_wall_clocks() {
        let text = "There is a time skew of 3 s between the clocks of two nodes. Their clocksource is tsc.";
        assert!(!of_wall_clock(text).is_empty());
        assert!(!of_reads(text).contains(&"watchdog"));
    }
}

//! Whether a sentence says of a clock that it shows a wrong time: a noun of a clock and a word of a fault near it.

use super::wall_words::occurs;

/// Words between a noun and a fault, at most.
const NEAR: usize = 6;

/// Nouns of the clock itself.
const CLOCKS: [&str; 4] = ["clock", "clocks", "rtc", "timestamps"];
/// Nouns of what it shows.
const TIMES: [&str; 4] = ["time", "times", "date", "datetime"];

/// Beginnings of words for a fault of what a clock shows.
const FAULTS: [&str; 19] = [
    "wrong",
    "incorrect",
    "behind",
    "ahead",
    "drift",
    "skewed",
    "stale",
    "unsync",
    "desync",
    "resync",
    "synchroni",
    "messed",
    "jumped",
    "resetting",
    "inaccura",
    "mismatch",
    "delayed",
    "lagging",
    "discrepanc",
];
/// Whole words for such a fault.
const WHOLE: [&str; 9] =
    ["sync", "synced", "syncs", "syncing", "skew", "jumps", "resets", "differs", "lags"];
/// Beginnings of words for a fault of a clock, where they would mean something else of a time.
const OF_CLOCKS: [&str; 5] = ["freez", "froze", "stopped", "stopping", "jump"];
/// Whole words of that kind.
const WHOLE_OF_CLOCKS: [&str; 9] =
    ["future", "differ", "different", "off", "late", "lag", "reset", "past", "loses"];
/// What is said of a time that differs; the sentence names the place of the clock, and no work that takes time.
const APART: [&str; 6] = ["difference", "differ", "different", "off", "late", "mismatched"];
/// What a clock does with such a time.
const SHOWS: [&str; 7] = ["shows", "show", "has", "have", "had", "displays", "display"];
/// Places of clocks.
const PLACES: [&str; 22] = [
    "container",
    "containers",
    "docker",
    "guest",
    "guests",
    "vm",
    "vms",
    "host",
    "hosts",
    "server",
    "servers",
    "machine",
    "machines",
    "node",
    "nodes",
    "computer",
    "computers",
    "laptop",
    "wsl",
    "wsl2",
    "pod",
    "pods",
];
/// Words about work that takes time, and about times that no clock shows.
const WORK: [&str; 30] = [
    "take",
    "takes",
    "took",
    "taken",
    "spent",
    "spend",
    "elapsed",
    "needed",
    "run",
    "runs",
    "running",
    "faster",
    "slower",
    "performance",
    "latency",
    "zone",
    "zones",
    "timezone",
    "format",
    "compile",
    "install",
    "request",
    "requests",
    "average",
    "total",
    "duration",
    "seem",
    "measure",
    "measured",
    "benchmark",
];
/// Words before a fault that negate it.
const DENIED: [&str; 7] = ["not", "isn't", "no", "never", "nor", "without", "wasn't"];
/// What a machine does to its time.
const LOSES: [&str; 5] = ["loses", "lose", "losing", "loose", "looses"];

/// Words before `time` with which it is a duration, an occasion or a moment.
const DURATIONS: [&str; 42] = [
    "this",
    "that",
    "first",
    "second",
    "last",
    "next",
    "every",
    "each",
    "same",
    "some",
    "any",
    "no",
    "one",
    "long",
    "short",
    "much",
    "more",
    "less",
    "response",
    "run",
    "execution",
    "build",
    "compile",
    "startup",
    "load",
    "cpu",
    "user",
    "wait",
    "idle",
    "up",
    "down",
    "lead",
    "over",
    "processing",
    "sleep",
    "round-trip",
    "latency",
    "query",
    "render",
    "frame",
    "life",
    "spend",
];
/// Words after a noun with which it names another thing.
const OTHERS: [&str; 16] = [
    "source",
    "sources",
    "frequency",
    "rate",
    "speed",
    "cycle",
    "cycles",
    "domain",
    "signal",
    "generator",
    "gating",
    "out",
    "limit",
    "step",
    "series",
    "complexity",
];

/// Whether one of the sentences of a text in small letters says so.
pub(super) fn tells(small: &str) -> bool {
    sentences(small).any(|text| sentence(text, false))
}

/// The same if a word about synchronisation alone, such as the name of a program for it, does not count.
pub(super) fn states(small: &str) -> bool {
    sentences(small).any(|text| sentence(text, true))
}

fn sentences(small: &str) -> impl Iterator<Item = &str> {
    small.split(['\n', '?', '!', ';', '|']).flat_map(|line| line.split(". "))
}

/// Words by which something is not synchronised.
const FAILED: [&str; 22] = [
    "not", "isn't", "no", "never", "without", "wasn't", "out", "lost", "loses", "lose", "fail",
    "fails", "failed", "cannot", "can't", "doesn't", "won't", "didn't", "unable", "aren't", "goes",
    "fix",
];

fn sentence(text: &str, strictly: bool) -> bool {
    // Parts of all nouns.
    if !["clock", "rtc", "time", "date"].iter().any(|part| occurs(text, part)) {
        return false;
    }
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '-');
    let words: Vec<&str> = text.split(|c| !is_part(c)).filter(|word| !word.is_empty()).collect();
    // The time that a machine slept is missing there by design.
    if text.contains("monotonic clock") {
        return false;
    }
    let failed = words.iter().any(|word| FAILED.contains(word));
    (0..words.len()).any(|at| is_faulty(&words, at, strictly && !failed))
}

/// Whether the word at a place is the noun of a clock with a fault near it.
/// `sure`: a word about synchronisation does not count.
fn is_faulty(words: &[&str], at: usize, sure: bool) -> bool {
    let noun = words[at].trim_end_matches("'s");
    let before = |back: usize| at.checked_sub(back).map_or("", |at| words[at]);
    let is_clock = CLOCKS.contains(&noun);
    if !is_clock && !TIMES.contains(&noun) {
        return false;
    }
    if words.get(at + 1).is_some_and(|next| OTHERS.contains(next)) {
        return false;
    }
    if !is_clock {
        if DURATIONS.contains(&before(1)) || before(1) == "the" && before(2) == "at" {
            return false;
        }
        if LOSES.contains(&before(1)) {
            return true;
        }
    }
    let of_place = !is_clock
        && words.iter().any(|word| PLACES.contains(word))
        && !words.iter().any(|word| WORK.contains(word));
    // `shows a different time`
    if of_place && before(1) == "different" && (2..4).any(|back| SHOWS.contains(&before(back))) {
        return true;
    }
    let from = at.saturating_sub(NEAR);
    let to = words.len().min(at + NEAR + 1);
    (from..to).any(|place| {
        let word = words[place];
        let begins = |faults: &[&str]| faults.iter().any(|fault| word.starts_with(fault));
        // What is not in sync is a fault.
        let denied = place > 0 && DENIED.contains(&words[place - 1]) && !word.contains("sync");
        let is_fault = begins(&FAULTS)
            || WHOLE.contains(&word)
            || of_place && place > at && APART.contains(&word)
            || is_clock && (begins(&OF_CLOCKS) || WHOLE_OF_CLOCKS.contains(&word));
        let is_sync = word.starts_with("sync") || word.starts_with("resync");
        is_fault && !denied && !(sure && is_sync)
    })
}

/// Whether a text says that something shows a time which is a few hours off: `2 hours behind`, `5 hours and 30 minutes off`; of guests also
/// `minutes late`.
pub(super) fn is_off(flat: &str, of_guests: bool) -> bool {
    const UNITS: [&str; 6] = ["minutes", "hours", "hour", "days", "min", "hrs"];
    const OFF: [&str; 4] = ["off", "behind", "ahead", "wrong"];
    const LATE: [&str; 2] = ["late", "slow"];
    let words: Vec<&str> = flat
        .split(' ')
        .map(|word| word.trim_matches(['.', ',', '!', '?', ')', '(', '"']))
        .collect();
    words.windows(2).enumerate().any(|(at, pair)| {
        let counted = at > 0
            && (words[at - 1].bytes().any(|b| b.is_ascii_digit()) || SOME.contains(&words[at - 1]));
        // `two minutes behind schedule`
        let of_plan = words
            .get(at + 2)
            .is_some_and(|next| ["schedule", "work", "the", "me", "us"].contains(next));
        counted
            && !of_plan
            && UNITS.contains(&pair[0])
            && (OFF.contains(&pair[1]) || of_guests && LATE.contains(&pair[1]))
    })
}

/// Words for a small number.
const SOME: [&str; 12] =
    ["some", "several", "few", "a", "an", "one", "two", "three", "four", "five", "six", "many"];

#[cfg(test)]
mod tests {
    use super::tells;

    #[test]
    fn sentences_about_clocks_that_show_a_wrong_time() {
        for text in [
            "every time i restart windows, the time is messed up",
            "after hibernation the clock is way delayed",
            "the vm loses time whenever the lid is closed",
            "the hosts have their date/time not in sync",
            "my guest's clock is two minutes behind",
            "the clock of the second server is off",
            "the rtc drifts by half a minute",
            "why is the date wrong in there?",
            "the time in a container is different from that of its host",
            "time difference between my pods",
            "the guest shows a different time than its host",
        ] {
            assert!(tells(text), "{text}");
        }
    }

    #[test]
    fn other_sentences() {
        for text in [
            "this time the wrong file was loaded",
            "the clock source is slow",
            "a clock rate that differs",
            "at the time i had the wrong version",
            "the response time drifts",
            "the date of the release. it is wrong to say so",
            "clock_gettime is slow, and so is the clock",
            "the clock is not wrong",
            "a time-consuming synchronous write",
            "the time that a job takes in the container is different",
            "the host in another time zone is different",
            "at a different time on that host",
            "time complexity is wrong",
            "",
        ] {
            assert!(!tells(text), "{text}");
        }
    }
}

//! Whether a text says of a guest that its clock was wrong after it had stopped: a guest, a stop or a restore, and a wrong time
//! in one paragraph.

use super::clock_faults;
use super::wall_pages::{OF_GUESTS, PAGES, STALE};
use super::wall_words::has;

/// Words of the list of guests that name the clock, and no guest.
const NO_GUESTS: [&str; 4] = ["wall clock", "wall-clock", "clock_realtime", "not yet valid"];
/// Others that sleep and wake with a clock of their own.
const SLEEPERS: [&str; 11] = [
    "colima",
    "minikube",
    "wsl",
    "wsl2",
    "hyper-v",
    "virtualbox",
    "vmware",
    "hypervisor",
    "container",
    "containers",
    "docker",
];
/// Words of the list of stops that name a clock, and no stop.
const NO_STOPS: [&str; 4] = ["kvm-clock", "kvmclock", "kvm clock", "microvm"];
/// Words of a stop that are too weak to be in that list.
const STOPS: [&str; 9] = [
    "sleep",
    "slept",
    "resume",
    "resumed",
    "restore",
    "restored",
    "suspended",
    "migrated",
    "migration",
];
/// What else is said of a time that is wrong.
const WRONG: [&str; 22] = [
    "stops advancing",
    "stopped advancing",
    "not advance",
    "not yet valid",
    "not valid yet",
    "expired",
    "out of sync",
    "outdated",
    "stale",
    "in the past",
    "old time",
    "time of the snapshot",
    "those of its snapshot",
    "that of the snapshot",
    "not updat",
    "isn't updat",
    "never updat",
    "too skewed",
    "wrong time",
    "old date",
    "clock still s",
    "time jump",
];

/// Whether one of the paragraphs of a text in small letters says so. What a title names is meant in each.
pub(super) fn tells(small: &str) -> bool {
    let title = small.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    small.split("\n\n").any(|paragraph| {
        let lines = format!("{title}\n{paragraph}");
        paragraph_tells(&lines)
    })
}

fn paragraph_tells(lines: &str) -> bool {
    let flat = lines.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_word = |word: &str| has(&flat, word, word.len() > 4, |c| c.is_ascii_alphabetic());
    let mut guests = OF_GUESTS.iter().filter(|word| !NO_GUESTS.contains(word));
    if !guests.any(|word| is_word(word)) && !SLEEPERS.into_iter().any(is_word) {
        return false;
    }
    let of_stops = PAGES.iter().filter(|(word, page)| *page == STALE && !NO_STOPS.contains(word));
    let stops = of_stops.map(|(word, _)| *word).any(is_word) || STOPS.into_iter().any(is_word);
    // Words of other languages are known for stops, and not for wrong times.
    let is_foreign = flat.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count() > 4;
    stops
        && (is_foreign
            || clock_faults::tells(lines)
            || clock_faults::tells(&flat)
            || clock_faults::is_off(&flat, true)
            || WRONG.into_iter().any(|word| flat.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::tells;

    #[test]
    fn guests_whose_clock_is_wrong_after_a_stop() {
        for text in [
            "after each resume of the guest\nits clock is behind",
            "clock of a vm\n\nit was suspended; now `date` is out of sync",
            "the guest was restored, and its certificates are not yet valid",
            "time difference in docker containers after windows sleep",
            "the time in the vm is different after each suspend of the host",
        ] {
            assert!(tells(text), "{text}");
        }
    }

    #[test]
    fn words_of_the_field() {
        for text in [
            "the guest has no kvmclock, so its tsc is calibrated. in the future it will be read from cpuid",
            "after resume the timer is late, since the monotonic clock is off the wall clock by the time of the sleep",
            "use clock_boottime so that a suspended laptop retries at once",
            "a guest has clock_realtime.\n\nafter restore, the process goes on",
            "the vm is suspended for two hours. which functions count that time?",
        ] {
            assert!(!tells(text), "{text}");
        }
    }
}

//! The pages that concern a text in prose, in short: what such a problem means, and what to do about it.

use super::{Explanation, explain};
use serde::{Deserialize, Serialize};

/// Maximum number of pages that are quoted.
const MOST: usize = 3;
/// Pages about a field, which are quoted only if no page is about a product, a function or a state.
const GENERAL: [&str; 2] = [super::WALL_CLOCK, "clocksource"];

/// The core of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Known {
    /// The word that `explain` accepts.
    pub word: String,
    /// What it means, and what to do.
    pub text: String,
}

/// Commands and settings that correct a clock.
const SETTERS: [&str; 10] = [
    "restart systemd-timesyncd",
    "makestep",
    "set-ntp",
    "hwclock -s",
    "hwclock --systohc",
    "ntpd -g",
    "ntpdate",
    "domtime",
    "phc2sys",
    "set-local-rtc",
];

/// Whether an advice has a command or setting that corrects a clock.
pub(super) fn sets_a_clock(advice: &str) -> bool {
    SETTERS.iter().any(|word| advice.contains(word))
}

/// The core of the pages of these words, those about a field only if there is no other, or none that says how to correct
/// the clock.
pub(super) fn known(words: &[&str]) -> Vec<Known> {
    let is_general = |word: &&&str| GENERAL.contains(*word);
    let special = words.iter().filter(|word| !is_general(word));
    let general = words.iter().filter(is_general);
    let mut found: Vec<Known> = special.filter_map(|word| of_word(word)).take(MOST).collect();
    let cures = found.iter().any(|known| sets_a_clock(&known.text));
    let none = found.is_empty();
    let is_it = |word: &&str| none || !cures && *word == super::WALL_CLOCK;
    let more: Vec<Known> =
        general.filter(|word| is_it(word)).filter_map(|word| of_word(word)).take(1).collect();
    found.extend(more);
    // A page has several names.
    let mut once: Vec<Known> = Vec::new();
    for known in found {
        if !once.iter().any(|one| one.text == known.text) {
            once.push(known);
        }
    }
    once
}

fn of_word(word: &str) -> Option<Known> {
    let pages = explain(word);
    let is_it = |page: &&Explanation| page.title == word;
    let page = pages.iter().find(is_it).or_else(|| pages.first())?;
    let text = format!("{} What to do: {}", page.so_what, page.do_what);
    Some(Known { word: word.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::known;

    #[test]
    fn pages_of_products_come_before_those_of_a_field() {
        let words = |words: &[&str]| {
            known(words).into_iter().map(|known| known.word).collect::<Vec<String>>()
        };
        assert_eq!(words(&["wall clock", "WSL"]), ["WSL"]);
        assert_eq!(words(&["wall clock"]), ["wall clock"]);
        assert_eq!(words(&["clocksource", "xen", "vDSO", "hpet"]), ["xen", "vDSO", "hpet"]);
        assert_eq!(words(&["no such page"]), [""; 0]);
        assert_eq!(words(&["etcd", "clock difference against peer"]), ["etcd"]);
    }

    #[test]
    fn a_page_says_what_to_do() {
        let wsl = &known(&["WSL"])[0];
        assert!(wsl.text.contains("behind") && wsl.text.contains("hwclock -s"), "{wsl:?}");
        // The clocksource, and not the hypervisor of the same name.
        assert!(known(&["xen"])[0].text.contains("changing to tsc"));
    }
}

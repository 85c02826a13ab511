//! Mistakes on a kernel command line: clock parameters that the kernel silently ignores, that
//! contradict each other, or that cost more than expected.
//!
//! Pure, and the same for a live machine's command line and for one in a file. Sources:
//! `boot_override_clocksource()` and `boot_override_clock()` in `kernel/time/clocksource.c`,
//! `tsc_setup()` and `notsc_setup()` in `arch/x86/kernel/tsc.c`, `hpet_setup()`, `disable_hpet()` in
//! `arch/x86/kernel/hpet.c`, `parse_no_kvmclock()` in `arch/x86/kernel/kvmclock.c`.

use crate::names;
use clocksmith_facts::cmdline::{CommandLine, Word};

/// The kind of a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MistakeKind {
    /// `clocksource=` requests a name that no kernel registers; the rest of it is silently ignored.
    UnknownClocksource,
    /// `tsc=` has a value that the kernel does not know, or several at once.
    UnknownValue,
    /// The parameter does not exist; another one was probably meant.
    NoSuchParameter,
    /// A later word replaces this one.
    Superseded,
    /// Another word makes this one impossible.
    Contradicted,
    /// The chosen clocksource is slow on every machine.
    Slow,
    /// `tsc=reliable`: the watchdog no longer checks the counter.
    Trusted,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The kind of the mistake.
    pub kind: MistakeKind,
    /// The word: its index in [`CommandLine::words`].
    pub word: usize,
    /// The explanation, as the end of a sentence that begins with the word.
    pub why: String,
    /// The replacement for the word, if one is certain; an empty text removes the word.
    pub instead: Option<String>,
}

/// Values of `tsc=` (`tsc_setup()`), of any version; [`crate::feature`] has the versions.
const TSC: [&str; 7] =
    ["reliable", "noirqtime", "unstable", "nowatchdog", "recalibrate", "watchdog", "auto"];

/// Misspelt parameters, each with the parameter that was meant.
const MISSPELT: &[(&str, &str)] = &[
    ("clocksoure", "clocksource"),
    ("clock_source", "clocksource"),
    ("clocksouce", "clocksource"),
    ("clocksrc", "clocksource"),
    ("clocksources", "clocksource"),
    ("current_clocksource", "clocksource"),
    ("tsc_reliable", "tsc=reliable"),
    ("hpet_disable", "hpet=disable"),
    ("no_tsc", "notsc"),
    ("nokvmclock", "no-kvmclock"),
];

/// Other names of clocksources, each with the name that the kernel knows.
const ALIASES: &[(&str, &str)] = &[
    ("pmtmr", "acpi_pm"),
    ("pm_timer", "acpi_pm"),
    ("pmtimer", "acpi_pm"),
    ("acpipm", "acpi_pm"),
    ("kvmclock", "kvm-clock"),
    ("kvm", "kvm-clock"),
    ("xenclock", "xen"),
    ("xen_clocksource", "xen"),
    ("hyperv", "hyperv_clocksource_tsc_page"),
    ("hyperv_tsc_page", "hyperv_clocksource_tsc_page"),
    ("hyperv_clocksource_tsc", "hyperv_clocksource_tsc_page"),
    ("rdtsc", "tsc"),
    ("arch_sys_timer", "arch_sys_counter"),
    ("arch_timer", "arch_sys_counter"),
];

/// The clocksource that was probably meant by a name that no kernel registers: another case, `-` and
/// `_` exchanged, a usual other name, or one letter more or less.
#[must_use]
pub fn meant_clocksource(name: &str) -> Option<&'static str> {
    let fold = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    let folded = fold(name);
    if let Some((_, meant)) = ALIASES.iter().find(|(alias, _)| fold(alias) == folded) {
        return Some(meant);
    }
    let known = names::NAMES.iter().map(|known| known.name);
    known
        .clone()
        .find(|known| fold(known) == folded)
        .or_else(|| known.filter(|known| known.len() > 2).find(|known| near(&fold(known), &folded)))
}

/// Whether two names differ by one letter that was omitted, inserted or exchanged.
fn near(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() - short.len() > 1 {
        return false;
    }
    let (short, long) = (short.as_bytes(), long.as_bytes());
    let same = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let rest = |text: &[u8], from: usize| text.get(from..).unwrap_or_default().to_vec();
    if short.len() == long.len() {
        // Names of three letters have too many neighbours.
        short.len() > 3 && rest(short, same + 1) == rest(long, same + 1)
    } else {
        rest(short, same) == rest(long, same + 1)
    }
}

/// Finds the mistakes, in the order of the words. This function does not know the machine:
/// [`crate::predict()`] checks whether a clocksource exists on it.
#[must_use]
pub fn mistakes(line: &CommandLine) -> Vec<Mistake> {
    let words = line.words();
    let mut found = Vec::new();
    let asks =
        |word: &Word| matches!(word.name.as_str(), "clocksource" | "clock") && word.value.is_some();
    let last = words.iter().rposition(asks);
    // `clock=` is the deprecated name of `clocksource=`: if both have the same value, `clock=` can be removed.
    let same =
        |word: &Word| last.and_then(|at| words.get(at)).is_some_and(|it| meant(it) == meant(word));
    let agree = words.iter().filter(|word| asks(word)).all(same);
    let named = words.iter().rposition(|word| asks(word) && word.name == "clocksource");
    let last = named.filter(|_| agree).or(last);
    for (index, word) in words.iter().enumerate() {
        let mut add = |kind, why: String, instead: Option<String>| {
            found.push(Mistake { kind, word: index, why, instead });
        };
        if asks(word) {
            if last != Some(index) {
                let winner = last.and_then(|at| words.get(at)).map(Word::text).unwrap_or_default();
                let why = if agree && word.name == "clock" {
                    format!(
                        "is the deprecated name of clocksource=, and has the same effect as \
                             {winner}"
                    )
                } else {
                    format!("has no effect: the last one wins, which is {winner}")
                };
                add(MistakeKind::Superseded, why, Some(String::new()));
            } else {
                let value = word.value.as_deref().unwrap_or_default();
                choice(line, word, value, &mut add);
            }
            continue;
        }
        match (word.name.as_str(), word.value.as_deref()) {
            ("tsc", Some(value)) => tsc(value, &mut add),
            ("clocksource" | "clock", None) => add(
                MistakeKind::UnknownValue,
                "has no effect: it needs a value, clocksource=NAME".to_owned(),
                None,
            ),
            (name, value) => {
                let Some((_, meant)) =
                    MISSPELT.iter().find(|(wrong, _)| same_parameter(wrong, name))
                else {
                    continue;
                };
                let instead = match value {
                    Some(value) if !meant.contains('=') && *meant != "notsc" => {
                        Some(format!("{meant}={value}"))
                    }
                    Some(_) => None,
                    None => Some((*meant).to_owned()),
                };
                add(
                    MistakeKind::NoSuchParameter,
                    format!("has no effect: no such parameter; probably {meant} was intended"),
                    instead,
                );
            }
        }
    }
    found
}

/// The clocksource that `clocksource=` or `clock=` chooses.
fn meant(word: &Word) -> Option<&str> {
    match (word.name.as_str(), word.value.as_deref()) {
        ("clock", Some("pmtmr")) => Some("acpi_pm"),
        (_, value) => value,
    }
}

fn choice(
    line: &CommandLine,
    word: &Word,
    value: &str,
    add: &mut impl FnMut(MistakeKind, String, Option<String>),
) {
    // `clock=pmtmr` is an old spelling that the kernel accepts.
    let name = if word.name == "clock" && value == "pmtmr" { "acpi_pm" } else { value };
    if name.is_empty() {
        return;
    }
    if names::find(name).is_none() {
        let (why, instead) = match meant_clocksource(name) {
            // What is ignored must not become a choice that is slow.
            Some(meant) if names::is_slow_by_nature(meant) => (
                format!(
                    "is silently ignored: no clocksource has this name; {meant} has, and is slow"
                ),
                Some(String::new()),
            ),
            Some(meant) => (
                format!("is silently ignored: no clocksource has this name; {meant} has"),
                Some(format!("clocksource={meant}")),
            ),
            None => ("is silently ignored: no clocksource has this name".to_owned(), None),
        };
        add(MistakeKind::UnknownClocksource, why, instead);
        return;
    }
    let against = match name {
        "tsc" => {
            ["notsc", "tsc=unstable", "clearcpuid=tsc"].into_iter().find(|word| has(line, word))
        }
        "hpet" => ["hpet=disable", "nohpet"].into_iter().find(|word| has(line, word)),
        "kvm-clock" => ["no-kvmclock", "nopv"].into_iter().find(|word| has(line, word)),
        "acpi_pm" => ["acpi=off", "pmtmr=0"].into_iter().find(|word| has(line, word)),
        _ => None,
    };
    if let Some(against) = against {
        let why = format!("has no effect: {against} on the same line disables that clocksource");
        add(MistakeKind::Contradicted, why, None);
    } else if names::is_slow_by_nature(name) {
        let why = format!(
            "chooses {name}: every read is a system call and a slow device access, on every machine"
        );
        add(MistakeKind::Slow, why, None);
    }
}

fn tsc(value: &str, add: &mut impl FnMut(MistakeKind, String, Option<String>)) {
    if value == "reliable" {
        let why = "disables the watchdog and the warp test between CPUs, so a fault of the counter is \
                   never noticed";
        add(MistakeKind::Trusted, why.to_owned(), None);
    } else if !TSC.contains(&value) {
        if value.contains(',') {
            let parts: Vec<&str> = value.split(',').filter(|part| !part.is_empty()).collect();
            let instead =
                (!parts.is_empty() && parts.iter().all(|part| TSC.contains(part))).then(|| {
                    parts.iter().map(|part| format!("tsc={part}")).collect::<Vec<_>>().join(" ")
                });
            let why = "has no effect: the value is compared as a whole; repeat the parameter instead: \
                       tsc=A tsc=B";
            add(MistakeKind::UnknownValue, why.to_owned(), instead);
        } else {
            let why = "has no effect: the kernel knows reliable, nowatchdog, watchdog, recalibrate, \
                       noirqtime and unstable";
            add(MistakeKind::UnknownValue, why.to_owned(), None);
        }
    }
}

fn same_parameter(a: &str, b: &str) -> bool {
    a.replace('-', "_") == b.replace('-', "_")
}

fn has(line: &CommandLine, text: &str) -> bool {
    match text.split_once('=') {
        Some((name, value)) => line.has_value(name, value),
        None => line.has(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<(MistakeKind, String, Option<String>)> {
        let line = CommandLine::parse(text);
        let text = |index: usize| line.words()[index].text();
        mistakes(&line).into_iter().map(|m| (m.kind, text(m.word), m.instead)).collect()
    }

    fn one(text: &str) -> (MistakeKind, Option<String>) {
        let all = of(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        (all[0].0, all[0].2.clone())
    }

    #[test]
    fn what_is_right_is_silent() {
        for text in [
            "",
            "quiet splash root=/dev/sda1",
            "clocksource=tsc",
            "clocksource=tsc tsc=nowatchdog",
            "tsc=nowatchdog tsc=recalibrate",
            "clocksource=kvm-clock hpet=disable",
            "clocksource=arch_sys_counter",
            "clocksource=",
            "notsc clocksource=kvm-clock",
            "acpi=force",
        ] {
            assert_eq!(of(text), [], "{text}");
        }
    }

    #[test]
    fn names_that_no_kernel_knows() {
        for (wrong, meant) in [
            ("kvmclock", "kvm-clock"),
            ("kvm_clock", "kvm-clock"),
            ("TSC", "tsc"),
            ("hyperv_clocksource_tsc_pag", "hyperv_clocksource_tsc_page"),
            ("arch_sys_countr", "arch_sys_counter"),
        ] {
            let (kind, instead) = one(&format!("quiet clocksource={wrong}"));
            assert_eq!(kind, MistakeKind::UnknownClocksource, "{wrong}");
            assert_eq!(instead.as_deref(), Some(format!("clocksource={meant}").as_str()));
        }
        // A slow one is not proposed.
        for wrong in ["pmtmr", "acpi-pm", "hpett", "jifies"] {
            let (kind, instead) = one(&format!("quiet clocksource={wrong}"));
            assert_eq!(kind, MistakeKind::UnknownClocksource, "{wrong}");
            assert_eq!(instead.as_deref(), Some(""), "{wrong}");
        }
        assert_eq!(one("clocksource=sundial"), (MistakeKind::UnknownClocksource, None));
        assert_eq!(one("clocksource=tst"), (MistakeKind::UnknownClocksource, None));
    }

    #[test]
    fn words_that_do_nothing() {
        let two = Some("tsc=reliable tsc=nowatchdog".to_owned());
        assert_eq!(one("tsc=reliable,nowatchdog"), (MistakeKind::UnknownValue, two));
        assert_eq!(one("tsc=fast"), (MistakeKind::UnknownValue, None));
        assert_eq!(one("clocksource"), (MistakeKind::UnknownValue, None));
        let meant = Some("clocksource=tsc".to_owned());
        assert_eq!(one("clock_source=tsc"), (MistakeKind::NoSuchParameter, meant));
        let meant = Some("tsc=reliable".to_owned());
        assert_eq!(one("tsc_reliable"), (MistakeKind::NoSuchParameter, meant));
    }

    #[test]
    fn the_last_choice_wins_and_some_words_exclude_each_other() {
        let all = of("clocksource=hpet clocksource=tsc");
        let gone = Some(String::new());
        assert_eq!(all, [(MistakeKind::Superseded, "clocksource=hpet".to_owned(), gone)]);
        for text in [
            "notsc clocksource=tsc",
            "clocksource=tsc tsc=unstable",
            "hpet=disable clocksource=hpet",
            "clocksource=kvm-clock no_kvmclock",
            "clocksource=acpi_pm acpi=off",
        ] {
            assert_eq!(one(text).0, MistakeKind::Contradicted, "{text}");
        }
    }

    #[test]
    fn deprecated_name_that_says_the_same_is_not_a_conflict() {
        for text in ["clocksource=tsc clock=tsc", "clock=tsc quiet clocksource=tsc"] {
            let all = mistakes(&CommandLine::parse(text));
            assert_eq!(all.len(), 1, "{text}");
            let old = CommandLine::parse(text).words().iter().position(|word| word.name == "clock");
            assert_eq!((all[0].kind, Some(all[0].word)), (MistakeKind::Superseded, old), "{text}");
            assert!(all[0].why.contains("deprecated"), "{text}");
        }
        let all = of("clocksource=tsc clock=pmtmr");
        assert_eq!(all.first().map(|it| it.1.as_str()), Some("clocksource=tsc"));
    }

    #[test]
    fn choices_that_cost() {
        assert_eq!(one("clocksource=hpet").0, MistakeKind::Slow);
        assert_eq!(one("clock=pmtmr").0, MistakeKind::Slow);
        assert_eq!(one("clocksource=tsc tsc=reliable").0, MistakeKind::Trusted);
    }

    proptest! {
        #[test]
        fn any_line(text in "((clocksource|tsc|clock|notsc|hpet|[a-z]{1,5})(=[a-z,_\\-]{0,12})? ?){0,8}") {
            let line = CommandLine::parse(&text);
            for mistake in mistakes(&line) {
                prop_assert!(mistake.word < line.words().len());
            }
        }

        /// A proposed replacement does not have a mistake of the same kind.
        #[test]
        fn what_is_proposed_is_right(text in "((clocksource|clock_source|tsc)=[a-z,_\\-]{0,12} ){0,5}") {
            let line = CommandLine::parse(&text);
            let all = mistakes(&line);
            let mended: Vec<String> = line
                .words()
                .iter()
                .enumerate()
                .map(|(index, word)| {
                    let instead = all.iter().find(|m| m.word == index).and_then(|m| m.instead.clone());
                    instead.unwrap_or_else(|| word.text())
                })
                .collect();
            let again = CommandLine::parse(&mended.join(" "));
            for mistake in mistakes(&again) {
                prop_assert!(
                    mistake.instead.is_none()
                        || matches!(mistake.kind, MistakeKind::Superseded | MistakeKind::UnknownClocksource),
                    "{mistake:?} in {again:?}"
                );
            }
        }
    }
}

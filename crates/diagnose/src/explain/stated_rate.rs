//! The rate at which a clock goes wrong, as a text in prose states it: `20 ms ahead every 30 seconds`, `1.5s/day`.

use super::ratios;
use clocksmith_facts::units;

/// Words between an amount and its time, at most.
const BETWEEN: usize = 4;
/// Bytes of a line from which on its paragraph is prose that was wrapped.
const WRAPPED: usize = 50;
/// Beginnings of an item of a list.
const ITEMS: [&str; 3] = ["- ", "* ", "\u{2022} "];
/// Beginnings of words before an amount that is a limit: `when the drift exceeds 1 s`.
const LIMITS: [&str; 7] = ["exceed", "threshold", "limit", "toleran", "below", "above", "alert"];
/// Beginnings of words before a time after which something is done again: `polled every 64 s`.
const REPEATED: [&str; 12] = [
    "poll", "check", "quer", "sync", "resync", "updat", "measur", "prob", "sampl", "scrap", "retr",
    "run",
];
/// Words before the time in which a clock goes wrong by the amount.
const PER: [&str; 9] = ["per", "every", "each", "a", "an", "/", "in", "over", "within"];
/// Of these, those that need a word about a difference before them: `in` also says when.
const WEAK: [&str; 3] = ["in", "over", "within"];
/// Beginnings of words about a clock that goes wrong; a sentence has one of them.
const WRONG: [&str; 15] = [
    "drift", "gain", "lose", "losing", "loses", "loosing", "fast", "slow", "behind", "ahead",
    "backward", "forward", "late", "skew", "lag",
];
/// Nouns of what does.
const NOUNS: [&str; 9] = ["clock", "clocks", "time", "date", "drift", "drifts", "rtc", "ntp", "vm"];

/// What a quartz is off by at most, and what ntpd corrects at most, in parts per million.
const QUARTZ_PPM: f64 = 100.0;
const NTP_PPM: f64 = 500.0;
/// From here on the counter does not run at the rate that the kernel assumes, or stops at times.
const GROSS_PPM: f64 = 10_000.0;

/// Abbreviations whose full stop ends no sentence.
const ABBREVIATED: [&str; 7] =
    ["i.e. ", "e.g. ", " approx. ", " ca. ", " max. ", " sec. ", " min. "];
/// Small numbers in words.
const NUMBERS: [(&str, f64); 14] = [
    ("a", 1.0),
    ("an", 1.0),
    ("half", 0.5),
    ("one", 1.0),
    ("two", 2.0),
    ("three", 3.0),
    ("four", 4.0),
    ("five", 5.0),
    ("six", 6.0),
    ("seven", 7.0),
    ("eight", 8.0),
    ("ten", 10.0),
    ("twenty", 20.0),
    ("thirty", 30.0),
];
/// Beginnings of verbs that only a clock has next to an amount of time.
const VERBS: [&str; 6] = ["drift", "gain", "lose", "losing", "loosing", "lost"];
/// Beginnings of words about an offset that becomes smaller.
const CORRECTED: [&str; 6] = ["shrink", "decreas", "slew", "catch", "crawl", "converg"];
/// Beginnings of words for what keeps a clock; nothing else that gains or loses time has them near.
const KEEPERS: [&str; 5] = ["ntp", "chrony", "crystal", "oscillator", "quartz"];
/// What is said of a clock that does not run at its rate, and parts per million.
const SPEEDS: [(&str, f64); 8] = [
    ("twice as fast", 1e6),
    ("two times as fast", 1e6),
    ("double speed", 1e6),
    ("double the speed", 1e6),
    ("half speed", 5e5),
    ("half the speed", 5e5),
    ("half as fast", 5e5),
    ("twice as slow", 5e5),
];

/// The rate that a text in small letters states first, in parts per million, and its figures.
pub(super) fn of_small(small: &str) -> Option<(f64, String)> {
    let mut text = small.to_owned();
    for short in ABBREVIATED {
        text = text.replace(short, &short.replace('.', " "));
    }
    let is_of_clock =
        |word: &str| NOUNS.contains(&word.trim_matches(|c: char| !c.is_alphanumeric()));
    let is_keeper = |word: &str| KEEPERS.iter().any(|keeper| word.starts_with(keeper));
    let names = text.split_whitespace().any(|word| is_of_clock(word) || is_keeper(word));
    // A mail breaks its lines within a sentence.
    let blocks: Vec<String> = text
        .split("\n\n")
        .map(|block| match block.lines().any(|line| line.len() > WRAPPED) {
            true => joined(block),
            false => block.to_owned(),
        })
        .collect();
    blocks
        .iter()
        .flat_map(|block| block.split(['\n', '?', '!', ';']))
        .flat_map(|line| line.split(". "))
        .find_map(|text| sentence(text, names))
}

/// A paragraph without its line breaks; each item of a list remains a line.
fn joined(block: &str) -> String {
    let mut out = String::with_capacity(block.len());
    for line in block.lines() {
        let is_item = ITEMS.iter().any(|sign| line.trim_start().starts_with(sign));
        out.push(if is_item { '\n' } else { ' ' });
        out.extend(line.split_whitespace().flat_map(|word| [word, " "]));
    }
    out
}

/// The rate as a sentence, and what follows from it.
pub(super) fn said(small: &str) -> Option<String> {
    let (ppm, figures) = of_small(small)?;
    let (rounded, follows) = match ppm {
        _ if ppm < QUARTZ_PPM => (
            format!("{:.0}", ppm.max(1.0)),
            "a quartz oscillator can have an error of this size; a time daemon corrects it",
        ),
        _ if ppm < NTP_PPM => (
            format!("{:.0}", (ppm / 10.0).round() * 10.0),
            "a larger error than that of a quartz oscillator, but within the 500 ppm that NTP corrects: run a time \
             daemon",
        ),
        _ if ppm < GROSS_PPM => (
            format!("{:.0}", (ppm / 10.0).round() * 10.0),
            "more than the 500 ppm that ntpd and systemd-timesyncd correct (chronyd corrects more): they set the clock again and again. The rate of the clocksource is \
             wrong; compare another one",
        ),
        _ => (
            format!("{:.0}", (ppm / 1000.0).round() * 1000.0),
            "far more than ntpd and systemd-timesyncd correct (500 ppm): the guest is stopped at times, ticks are \
             lost, or the kernel uses a wrong frequency for the counter; compare another clocksource",
        ),
    };
    Some(format!(
        "According to the figures in the text ({figures}), the clock is off by about {rounded} ppm: {follows}"
    ))
}

/// `names`: a noun of a clock is somewhere in the text.
fn sentence(text: &str, names: bool) -> Option<(f64, String)> {
    let words = words(text);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let begins = |word: &&str| WRONG.iter().any(|wrong| word.starts_with(wrong));
    let has_noun = words.iter().any(|word| NOUNS.contains(word));
    let has_verb = words.iter().any(|word| VERBS.iter().any(|verb| word.starts_with(verb)));
    if let Some(found) = ratios::of_words(&words) {
        return Some(found);
    }
    // An offset that a daemon corrects also decreases at a rate.
    let is_corrected = words.iter().any(|word| CORRECTED.iter().any(|verb| word.starts_with(verb)));
    if is_corrected || !(has_noun || has_verb && names) {
        return None;
    }
    if is_bound(text) {
        return None;
    }
    if let Some(found) = relative(text, &words) {
        return Some(found);
    }
    if let Some(found) = advanced(&words) {
        return Some(found);
    }
    if !words.iter().any(begins) {
        return None;
    }
    let found = (0..words.len()).find_map(|at| {
        let (amount, amount_s, after) = duration(&words, at)?;
        let per =
            (after..words.len().min(after + BETWEEN + 1)).find(|at| PER.contains(&words[*at]))?;
        let between = &words[after..per];
        let any_begins = |words: &[&str], with: &[&str]| {
            words.iter().any(|word| with.iter().any(|begin| word.starts_with(begin)))
        };
        if any_begins(between, &REPEATED)
            || any_begins(&words[at.saturating_sub(BETWEEN)..at], &LIMITS)
        {
            return None;
        }
        // `drifts 7 minutes in a week`: the verb may be before the amount.
        let is_verb = |word: &&str| VERBS.iter().any(|verb| word.starts_with(verb));
        let led = words[at.saturating_sub(BETWEEN)..at].iter().any(is_verb);
        if WEAK.contains(&words[per]) && !led && !between.iter().any(begins) {
            return None;
        }
        // `a second time every day`
        if NUMBERS.iter().any(|(name, _)| *name == words[at]) && between.len() > 1 {
            return None;
        }
        let (time, time_s) = match duration(&words, per + 1) {
            Some((time, time_s, _)) => (time, time_s),
            None => {
                let unit = words.get(per + 1)?;
                (format!("1 {unit}"), units::seconds(unit)?)
            }
        };
        rate((amount, amount_s), (time, time_s))
    });
    found.or_else(|| turned(&words))
}

/// Fields and settings that bound a rate, and do not state that of the clock.
const BOUNDS: [&str; 7] =
    ["skew :", "residual freq", "tolerance", "maxskew", "maxdrift", "maxclockerror", "maxslewrate"];

/// Whether a sentence in small letters is such a field: `skew            : 1000000.000 ppm`.
fn is_bound(text: &str) -> bool {
    let spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
    BOUNDS.iter().any(|field| spaced.contains(field))
}

/// The words of a sentence, without punctuation; ranges are two figures, thousands have no comma.
fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let is_digit =
        |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit);
    let mut spaced = String::with_capacity(text.len());
    for (at, c) in chars.iter().enumerate() {
        let inside = is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
        match c {
            ',' if inside => {}
            '-' | '\u{2013}' if inside => spaced.push(' '),
            '/' => spaced.push_str(" / "),
            '~' | '(' | ')' | ',' | '"' | '`' | '*' | ':' | '+' | '\u{2248}' => spaced.push(' '),
            '-' if !is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)) => spaced.push(' '),
            c => spaced.push(*c),
        }
    }
    spaced.split_whitespace().map(|word| word.trim_matches('.').to_owned()).collect()
}

/// A rate of an amount and the time in which it arises.
fn rate(amount: (String, f64), time: (String, f64)) -> Option<(f64, String)> {
    let ppm = amount.1 / time.1 * 1e6;
    (1.0..900_000.0).contains(&ppm).then(|| (ppm, format!("{} in {}", amount.0, time.0)))
}

/// What a clock shows in a time: `advances by one minute approximately every 48 seconds`.
fn advanced(words: &[&str]) -> Option<(f64, String)> {
    let at = words.iter().position(|word| word.starts_with("advanc"))?;
    let mut shown = at + 1..words.len().min(at + BETWEEN);
    let (amount, amount_s, after) = shown.find_map(|at| duration(words, at))?;
    let per = (after..words.len().min(after + BETWEEN + 1)).find(|at| PER.contains(&words[*at]))?;
    let (time, time_s, _) = duration(words, per + 1)?;
    let ppm = (amount_s - time_s).abs() / time_s * 1e6;
    // What a clock is corrected by is not a rate.
    let near = (0.5..2.0).contains(&(amount_s / time_s));
    (near && ppm >= 1.0).then(|| (ppm, format!("{amount} in {time}")))
}

/// The time before the amount: `every 10 minutes it loses 3 seconds`, `in 24 hours it gained 5 minutes`.
fn turned(words: &[&str]) -> Option<(f64, String)> {
    const BEFORE: [&str; 6] = ["every", "each", "per", "in", "over", "within"];
    (0..words.len()).filter(|at| BEFORE.contains(&words[*at])).find_map(|at| {
        let (time, time_s, after) = match duration(words, at + 1) {
            Some(found) => found,
            None if !WEAK.contains(&words[at]) => {
                let unit = *words.get(at + 1)?;
                (format!("1 {unit}"), units::seconds(unit)?, at + 2)
            }
            None => return None,
        };
        let is_verb = |at: &usize| VERBS.iter().any(|verb| words[*at].starts_with(verb));
        let verb = (after..words.len().min(after + BETWEEN + 3)).find(is_verb)?;
        let mut amounts = verb + 1..words.len().min(verb + BETWEEN);
        let (amount, amount_s, _) = amounts.find_map(|at| duration(words, at))?;
        rate((amount, amount_s), (time, time_s))
    })
}

/// A rate without a time: `3000 ppm`, `5 % fast`, `twice as fast`.
fn relative(text: &str, words: &[&str]) -> Option<(f64, String)> {
    let is_clock = words.iter().any(|word| ["clock", "clocks", "rtc"].contains(word));
    let drifts = words.iter().any(|word| word.starts_with("drift") || word.starts_with("skew"));
    let ppm = (0..words.len()).find_map(|at| {
        let word = words[at];
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
        let figure: f64 = word[..end].parse().ok()?;
        let unit = match &word[end..] {
            "" => *words.get(at + 1)?,
            unit => unit,
        };
        match unit {
            // What NTP corrects is named more often than measured.
            "ppm" | "parts-per-million" if figure > NTP_PPM => {
                Some((figure, format!("{figure} ppm")))
            }
            "%" | "percent" if is_clock => {
                let near = &words[at..words.len().min(at + BETWEEN)];
                let is_said = near.iter().any(|word| {
                    ["fast", "faster", "slow", "slower", "fast,", "slow,"].contains(word)
                });
                (is_said && figure < 90.0).then(|| (figure * 1e4, format!("{figure} %")))
            }
            _ => None,
        }
    });
    if let Some(found) = ppm.filter(|_| is_clock || drifts) {
        return Some(found);
    }
    let runs = [
        "clock runs",
        "clock is running",
        "clock running",
        "clock ticks",
        "time runs",
        "time passes",
        "time is running",
        "time advances",
        "clock goes",
    ];
    let (words, ppm) = SPEEDS.iter().find(|(words, _)| text.contains(words))?;
    runs.iter().any(|run| text.contains(run)).then(|| (*ppm, (*words).to_owned()))
}

/// A number with a unit at a place, as one word or two: its text, its seconds, and the place after it.
fn duration(words: &[&str], at: usize) -> Option<(String, f64, usize)> {
    let word = *words.get(at)?;
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let (number, digits, rest) = match NUMBERS.iter().find(|(name, _)| *name == word) {
        // `half a second`
        Some((_, number)) if word == "half" && words.get(at + 1) == Some(&"a") => {
            let unit = *words.get(at + 2)?;
            return Some((format!("0.5 {unit}"), number * units::seconds(unit)?, at + 3));
        }
        Some((_, number)) => (*number, number.to_string(), ""),
        None => (word[..end].parse().ok()?, word[..end].to_owned(), &word[end..]),
    };
    if number <= 0.0 {
        return None;
    }
    let (unit, next) = match rest {
        "" => (*words.get(at + 1)?, at + 2),
        unit => (unit.trim_start_matches('-'), at + 1),
    };
    Some((format!("{digits} {unit}"), number * units::seconds(unit)?, next))
}

#[cfg(test)]
mod tests {
    use super::{of_small, said};

    #[test]
    fn rates_in_prose() {
        for (text, ppm) in [
            ("time in the vm drifts about 20ms ahead of the host every 30 seconds", 667.0),
            ("the clock jumps 20 ms backward every 30s", 667.0),
            ("wall clock drift (~1.5s/day)", 17.4),
            ("the clock loses 3 minutes per day", 2083.0),
            (
                "the current time may advance by one minute approximately every 48 seconds",
                250_000.0,
            ),
            ("our time is 25 seconds slow in 10 minutes", 41_667.0),
            ("the rtc gains 2 seconds a day", 23.1),
            ("drift of 6 seconds per hour", 1667.0),
            (
                "my system drifts about 10 seconds per hour (i.e. time visible in the system)",
                2778.0,
            ),
            (
                "this box gains 4 minutes a day, ntpd cannot keep up; the clock of another is right",
                2778.0,
            ),
            ("you are drifting at around 3,000 parts-per-million, says ntp", 3000.0),
            ("the clock loses 3-5 minutes per day", 3472.0),
            ("the clock is fast by half a second per minute", 8333.0),
            ("every 10 minutes the clock loses about 3 seconds", 5000.0),
            ("in 24 hours the rtc has gained 5 minutes", 3472.0),
            ("the vm's clock runs 5 % slow", 50_000.0),
            ("the clock drifts 7 minutes in 2 days", 2430.6),
            ("our clock loses 40 seconds over a week", 66.1),
            ("my router gains 7 seconds an hour. ntpclient sets it each night", 1944.0),
            ("since the move, time passes twice as fast in there", 1e6),
            (
                "the appliance's clock is behind, by about twenty seconds each hour, says the log of our own",
                5556.0,
            ),
            (
                "we see this in one room of the data centre only: the clock of each of them falls\nbehind by 2 seconds every hour",
                555.6,
            ),
        ] {
            let (found, figures) = of_small(text).unwrap_or_default();
            assert!((found - ppm).abs() < ppm * 0.01, "{text}: {found} {figures}");
        }
    }

    #[test]
    fn other_figures() {
        for text in [
            "the daemon polls every 30 seconds, and the clock drifts",
            "the clock of this box: skew            : 1000000.000 ppm",
            "frequency tolerance of the clock is 15000 ppm",
            "the clock is 5 minutes behind",
            "the clock was ahead in 10 minutes of tests",
            "requests take 20 ms every 30 seconds",
            "the clock is 20 seconds behind after a sleep of 3 hours",
            "time falls behind; restart it every 5 minutes",
            "NTP corrects a drift of up to 500 ppm",
            "a second time every day the clock was set",
            "the program is 10 % slower since we read the time",
            "builds run twice as fast",
            "he gains 5 minutes a day by that",
            "the offset of the clock is 400 seconds, shrinking by 5 seconds a minute",
            "we lose 3 packets per second",
            "the clock is fast. It polls 3 times per minute",
            "reads the host's time and steps the clock when its drift exceeds 1s\n- checks every 30s, and when the guest was restored",
            "a keeper for the clock of the guest:\n- sets it when its drift is 1s, of whatever sign\n- every 30s, and at once after a restore",
            "the vm clock drift must stay below 1s, polled every 64s",
            "alert if clock drift exceeds 5s, checked every 10 minutes",
            "the clock drift is 5s, measured every 10 minutes",
        ] {
            assert!(of_small(text).is_none(), "{text}: {:?}", of_small(text));
        }
    }

    #[test]
    fn what_follows_from_a_rate() {
        let follows = |text: &str| said(text).unwrap_or_default();
        assert!(follows("the clock gains 2 seconds a day").contains("about 23 ppm: a quartz"));
        assert!(follows("the clock gains 20 ms every 30 s").contains("670 ppm: more than the 500"));
        assert!(
            follows("the clock is 25 seconds slow in 10 minutes").contains("another clocksource")
        );
    }
}

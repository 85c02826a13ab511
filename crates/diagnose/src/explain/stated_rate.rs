//! The rate at which a clock goes wrong, as a text in prose states it: `20 ms ahead every 30 seconds`, `1.5s/day`.

/// Seconds of the units, by the beginnings of their names.
const UNITS: [(&str, f64); 24] = [
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("msecs", 1e-3),
    ("millisecond", 1e-3),
    ("milliseconds", 1e-3),
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("mins", 60.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hr", 3600.0),
    ("hrs", 3600.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("week", 604_800.0),
];
/// Words between an amount and its time, at most.
const BETWEEN: usize = 4;
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

/// What a quartz is off by at most, and what NTP corrects at most, in parts per million.
const QUARTZ_PPM: f64 = 100.0;
const NTP_PPM: f64 = 500.0;
/// From here on the counter does not run at the rate that the kernel takes it for, or stops at times.
const GROSS_PPM: f64 = 10_000.0;

/// The rate that a text in small letters states first, in parts per million, and its figures.
pub(super) fn of_small(small: &str) -> Option<(f64, String)> {
    small.split(['\n', '?', '!', ';']).flat_map(|line| line.split(". ")).find_map(sentence)
}

/// The rate as a sentence, and what follows from it.
pub(super) fn said(small: &str) -> Option<String> {
    let (ppm, figures) = of_small(small)?;
    let (rounded, follows) = match ppm {
        _ if ppm < QUARTZ_PPM => (
            format!("{:.0}", ppm.max(1.0)),
            "a quartz is off by as much: a time daemon corrects it",
        ),
        _ if ppm < NTP_PPM => (
            format!("{:.0}", (ppm / 10.0).round() * 10.0),
            "more than a quartz is off by, and within the 500 ppm that NTP corrects: run a time daemon",
        ),
        _ if ppm < GROSS_PPM => (
            format!("{:.0}", (ppm / 10.0).round() * 10.0),
            "more than the 500 ppm that NTP corrects, so a time daemon sets the clock again and again: the rate of the clocksource is \
             wrong; compare another one",
        ),
        _ => (
            format!("{:.0}", (ppm / 1000.0).round() * 1000.0),
            "far more than NTP corrects (500 ppm): the guest is stopped at times, ticks are lost, or the kernel takes the counter for \
             one of another frequency; compare another clocksource",
        ),
    };
    Some(format!(
        "By the text's figures ({figures}) the clock is off by about {rounded} ppm: {follows}"
    ))
}

fn sentence(text: &str) -> Option<(f64, String)> {
    let spaced = text.replace('/', " / ").replace(['~', '(', ')', ',', '"', '`', '*'], " ");
    let words: Vec<&str> = spaced.split_whitespace().map(|word| word.trim_matches('.')).collect();
    let begins = |word: &&str| WRONG.iter().any(|wrong| word.starts_with(wrong));
    if !words.iter().any(begins) || !words.iter().any(|word| NOUNS.contains(word)) {
        return None;
    }
    (0..words.len()).find_map(|at| {
        let (amount, amount_s, after) = duration(&words, at)?;
        let per =
            (after..words.len().min(after + BETWEEN + 1)).find(|at| PER.contains(&words[*at]))?;
        let between = &words[after..per];
        if WEAK.contains(&words[per]) && !between.iter().any(begins) {
            return None;
        }
        let (time, time_s) = match duration(&words, per + 1) {
            Some((time, time_s, _)) => (time, time_s),
            None => {
                let unit = words.get(per + 1)?;
                (format!("1 {unit}"), unit_s(unit)?)
            }
        };
        let ppm = amount_s / time_s * 1e6;
        (1.0..900_000.0).contains(&ppm).then(|| (ppm, format!("{amount} in {time}")))
    })
}

/// A number with a unit at a place, as one word or two: its text, its seconds, and the place after it.
fn duration(words: &[&str], at: usize) -> Option<(String, f64, usize)> {
    let word = *words.get(at)?;
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let number: f64 = word[..end].parse().ok().filter(|number| *number > 0.0)?;
    let (unit, next) = match &word[end..] {
        "" => (*words.get(at + 1)?, at + 2),
        unit => (unit.trim_start_matches('-'), at + 1),
    };
    Some((format!("{} {unit}", &word[..end]), number * unit_s(unit)?, next))
}

fn unit_s(unit: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds)
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
            ("our time is 25 seconds slow in 10 minutes", 41_667.0),
            ("the rtc gains 2 seconds a day", 23.1),
            ("drift of 6 seconds per hour", 1667.0),
        ] {
            let (found, figures) = of_small(text).unwrap_or_default();
            assert!((found - ppm).abs() < ppm * 0.01, "{text}: {found} {figures}");
        }
    }

    #[test]
    fn other_figures() {
        for text in [
            "the daemon polls every 30 seconds, and the clock drifts",
            "the clock is 5 minutes behind",
            "the clock was ahead in 10 minutes of tests",
            "requests take 20 ms every 30 seconds",
            "the clock is 20 seconds behind after a sleep of 3 hours",
            "time falls behind; restart it every 5 minutes",
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

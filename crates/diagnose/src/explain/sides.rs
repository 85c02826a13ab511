//! Two times side by side in prose, by which a clock's speed follows: `a rate of 3:1`, `3 seconds for every real second`, `50 ms in 1 s`;
//! and a correction that recurs: `set back by 5 minutes several times a day`.

use clocksmith_facts::units;

/// The least and the most factors that are a clock's speed.
const LEAST: f64 = 1.02;
const MOST: f64 = 10_000.0;
/// Nouns of a clock in such a sentence.
const CLOCKS: [&str; 5] = ["clock", "clocks", "rtc", "time", "date"];
/// Words before a ratio, and what it is compared with.
const RATES: [&str; 5] = ["rate", "ratio", "speed", "factor", "fast"];
const REAL: [&str; 8] =
    ["real", "actual", "reality", "true", "outside", "host", "world", "wristwatch"];
/// Words between two times.
const PER: [&str; 6] = ["for", "per", "every", "each", "in", "against"];
/// Words between them with which the first is what the clock showed.
const SHOWN: [&str; 8] =
    ["change", "changes", "passes", "progress", "advance", "advances", "elapse", "elapses"];
const SPEEDS: [&str; 6] = ["slow", "slowly", "slower", "fast", "quickly", "faster"];
/// Beginnings of verbs of a correction, and how often `several times` is at least.
const CORRECTS: [&str; 6] = ["adjust", "correct", "step", "set", "jump", "mov"];
const SEVERAL: [&str; 4] = ["several", "many", "multiple", "few"];
const AT_LEAST: f64 = 3.0;
/// Words between the parts, at most.
const NEAR: usize = 10;

/// The error of the speed that the words of a sentence state, in parts per million, and its figures.
pub(super) fn of_words(words: &[&str]) -> Option<(f64, String)> {
    if !words.iter().any(|word| CLOCKS.contains(word)) {
        return None;
    }
    ratio(words).or_else(|| by_real_time(words)).or_else(|| shown(words)).or_else(|| recurs(words))
}

fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|number| *number > 0.0 && *number < 1e6)
}

/// An amount of time at a place: its text, its seconds, and the place after it.
fn amount(words: &[&str], at: usize) -> Option<(String, f64, usize)> {
    let word = *words.get(at)?;
    if let Some(seconds) = units::duration(word).filter(|seconds| *seconds > 0.0) {
        return Some((word.to_owned(), seconds, at + 1));
    }
    let figure = number(word)?;
    let unit = *words.get(at + 1)?;
    Some((format!("{word} {unit}"), figure * units::seconds(unit)?, at + 2))
}

fn speed(shown: f64, real: f64, figures: String) -> Option<(f64, String)> {
    let factor = if shown > real { shown / real } else { real / shown };
    (LEAST..MOST).contains(&factor).then(|| ((shown / real - 1.0).abs() * 1e6, figures))
}

/// `ticks at a rate of about 3:1 against reality`, whose colon is a blank here.
fn ratio(words: &[&str]) -> Option<(f64, String)> {
    (1..words.len().saturating_sub(1)).find_map(|at| {
        let (shown, real) = (number(words[at])?, number(words[at + 1])?);
        let rated = words[at.saturating_sub(3)..at].iter().any(|word| RATES.contains(word));
        let after = words.len().min(at + 6);
        let compared = words[at + 2..after].iter().any(|word| REAL.contains(word));
        (rated && compared)
            .then(|| speed(shown, real, format!("{} to {}", words[at], words[at + 1])))
            .flatten()
    })
}

/// `3 seconds on the clock for every 1 real second`
fn by_real_time(words: &[&str]) -> Option<(f64, String)> {
    (0..words.len()).find_map(|at| {
        let (shown, shown_s, after) = amount(words, at)?;
        let per = (after..words.len().min(after + NEAR)).find(|at| PER.contains(&words[*at]))?;
        let rest: Vec<&str> = words[per..words.len().min(per + 6)]
            .iter()
            .copied()
            .skip_while(|word| PER.contains(word))
            .collect();
        let is_real = rest.iter().take(3).any(|word| REAL.contains(word));
        let of_clock = words[after..per].iter().any(|word| CLOCKS.contains(word));
        if !is_real || !of_clock {
            return None;
        }
        let plain: Vec<&str> = rest.into_iter().filter(|word| !REAL.contains(word)).collect();
        let (real, real_s, _) = amount(&plain, 0).or_else(|| {
            let unit = *plain.first()?;
            Some((format!("1 {unit}"), units::seconds(unit)?, 1))
        })?;
        speed(shown_s, real_s, format!("{shown} in {real}"))
    })
}

/// `time moves slowly: a change of 50 ms in 1 s`
fn shown(words: &[&str]) -> Option<(f64, String)> {
    let said = words.iter().position(|word| SPEEDS.contains(word))?;
    let is_slow = words[said].starts_with("slow");
    // Programs are also slow.
    if !words[said.saturating_sub(5)..said].iter().any(|word| CLOCKS.contains(word)) {
        return None;
    }
    (said + 1..words.len().min(said + NEAR)).find_map(|at| {
        let (shown, shown_s, after) = amount(words, at)?;
        let per = (after..words.len().min(after + 4)).find(|at| PER.contains(&words[*at]))?;
        let near = &words[at.saturating_sub(3)..per];
        let (real, real_s, _) = amount(words, per + 1)?;
        let fits = near.iter().any(|word| SHOWN.contains(word)) && is_slow == (shown_s < real_s);
        fits.then(|| speed(shown_s, real_s, format!("{shown} in {real}"))).flatten()
    })
}

/// `the time is adjusted by 5 minutes several times a day`
fn recurs(words: &[&str]) -> Option<(f64, String)> {
    let corrects = |word: &&str| CORRECTS.iter().any(|verb| word.starts_with(verb));
    (0..words.len()).find_map(|at| {
        let (by, by_s, after) = amount(words, at)?;
        let near = &words[at.saturating_sub(NEAR)..at];
        if !near.iter().any(corrects) || at == 0 || words[at - 1] != "by" {
            return None;
        }
        let times = (after..words.len().min(after + 4)).find(|at| words[*at] == "times")?;
        let count = words.get(times.checked_sub(1)?)?;
        let (count, often) = match number(count) {
            Some(count) => (count, format!("{count} times")),
            None => (SEVERAL.contains(count).then_some(AT_LEAST)?, "at least 3 times".to_owned()),
        };
        let unit = words.get(times + 2).filter(|_| {
            ["a", "an", "per", "each", "every"].contains(words.get(times + 1).unwrap_or(&""))
        })?;
        let ppm = by_s * count / units::seconds(unit)? * 1e6;
        (1.0..900_000.0).contains(&ppm).then(|| (ppm, format!("{by} {often} a {unit}")))
    })
}

#[cfg(test)]
mod tests {
    use super::super::stated_rate::of_small;
    use super::super::{RATE, of_wall_clock, stated_rate};

    #[test]
    fn speeds_in_words() {
        for (text, ppm) in [
            ("the system clock ticks at a ratio of about 4:1 to reality", 3e6),
            ("we count 2 seconds on the clock for every real second", 1e6),
            ("i get 5 seconds of the system clock for every 2 actual seconds", 1.5e6),
            ("the time is passing very slowly (a 20ms change per 1s)", 980_000.0),
            ("chrony adjusts the time by 2 minutes several times a day", 4166.7),
            ("ntpd set the clock back by 10 seconds 4 times an hour", 11_111.0),
        ] {
            let (found, figures) = of_small(text).unwrap_or_default();
            assert!((found - ppm).abs() < ppm * 0.01, "{text}: {found} {figures}");
        }
        let text =
            "System clock of the guest too quick\n\nThe clock runs at a rate of 3:1 vs reality.";
        assert_eq!(of_wall_clock(text).first(), Some(&RATE));
        assert!(stated_rate(text).is_some_and(|said| said.contains("2000000 ppm")));
    }

    #[test]
    fn other_figures_side_by_side() {
        for text in [
            "at 10:30 the clock was read again",
            "the job runs 5 minutes several times a day, and the clock is right",
            "the clock is read 3 times per second",
            "the time of the meeting moved by 5 minutes two times",
            "a mix of 3:1 in real life, says the clock maker",
            "the program is slow: a change of 5 ms in 1 s of time",
        ] {
            assert!(of_small(text).is_none(), "{text}: {:?}", of_small(text));
        }
    }
}

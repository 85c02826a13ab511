//! The speed of a clock, as a text in prose states it without a unit of time: `twice as slow`, `875x slow`, `at half speed`, `counts to
//! 5 while everyone else counts to 4`, `10 seconds take 20 by my watch`.

use clocksmith_facts::units;

/// Words between the noun of a clock and a factor, and between a factor and `fast` or `slow`.
const NEAR: usize = 8;
const BESIDE: usize = 4;
/// The least and the most factors that are a clock's speed, and no figure of another kind.
const LEAST: f64 = 1.02;
const MOST: f64 = 10_000.0;

/// Names of clocks, and of what passes by them.
const CLOCKS: [&str; 3] = ["clock", "clocks", "rtc"];
const TIMES: [&str; 2] = ["time", "seconds"];
/// Words in front of `time` with which it is what a clock shows.
const OWNERS: [&str; 14] = [
    "system",
    "guest",
    "wall",
    "vm",
    "vm's",
    "guest's",
    "local",
    "host",
    "machine",
    "machine's",
    "kernel",
    "system's",
    "emulated",
    "ystem",
];
/// What time does.
const PASSES: [&str; 22] = [
    "runs",
    "run",
    "ran",
    "running",
    "passes",
    "pass",
    "passing",
    "passed",
    "goes",
    "going",
    "advances",
    "advancing",
    "ticks",
    "ticking",
    "flows",
    "moves",
    "moving",
    "elapses",
    "counts",
    "counting",
    "progresses",
    "is",
];
/// Words of texts about what a read or a program costs.
const COSTS: [&str; 40] = [
    "read",
    "reads",
    "reading",
    "call",
    "calls",
    "calling",
    "cost",
    "costs",
    "syscall",
    "syscalls",
    "latency",
    "query",
    "queries",
    "source",
    "sources",
    "clocksource",
    "clocksources",
    "gettimeofday",
    "clock_gettime",
    "hpet",
    "acpi_pm",
    "vdso",
    "function",
    "overhead",
    "throughput",
    "speedup",
    "cycles",
    "mhz",
    "ghz",
    "cpu",
    "build",
    "builds",
    "program",
    "response",
    "execution",
    "benchmark",
    "performance",
    "faster",
    "slower",
    "compile",
];
/// What a factor may compare, of the above, where time itself passes.
const COMPARES: [&str; 2] = ["faster", "slower"];
/// By what else than the clock in question a time was measured.
const REAL: [&str; 16] = [
    "real",
    "actual",
    "actually",
    "reality",
    "stopwatch",
    "watch",
    "wristwatch",
    "phone",
    "wall",
    "everyone",
    "outside",
    "physical",
    "true",
    "host",
    "realtime",
    "real-world",
];
/// Words that put two such times side by side.
const WHILE: [&str; 7] = ["while", "whilst", "when", "whereas", "as", "for", "per"];

/// The error of the speed that a sentence in small letters states, in parts per million, and its figures.
pub(super) fn of_words(words: &[&str]) -> Option<(f64, String)> {
    counted(words)
        .or_else(|| measured(words))
        .or_else(|| factor(words))
        .or_else(|| super::sides::of_words(words))
}

/// `counting to 5 whilst everyone else was counting to 4`
fn counted(words: &[&str]) -> Option<(f64, String)> {
    let number = |at: usize| words.get(at)?.parse::<f64>().ok().filter(|n| (2.0..1e6).contains(n));
    let counts: Vec<(usize, f64)> = (0..words.len())
        .filter(|at| words[*at].starts_with("count"))
        .filter_map(|at| {
            let place = if words.get(at + 1) == Some(&"to") { at + 2 } else { at + 1 };
            Some((at, number(place)?))
        })
        .collect();
    let [(first, own), (second, others), ..] = counts[..] else { return None };
    let is_beside = words[first..second].iter().any(|word| WHILE.contains(word));
    let of_others =
        words[first..second].iter().any(|word| REAL.contains(word) || *word == "others");
    (is_beside && of_others).then(|| {
        let figures = format!("counts to {own} while others count to {others}");
        error(own / others).map(|ppm| (ppm, figures))
    })?
}

/// `10 seconds take 20 real seconds`, `1 minute in the guest is 2 minutes by my watch`
fn measured(words: &[&str]) -> Option<(f64, String)> {
    const VERBS: [&str; 12] = [
        "take",
        "takes",
        "took",
        "last",
        "lasts",
        "lasted",
        "is",
        "are",
        "equals",
        "equal",
        "correspond",
        "corresponds",
    ];
    let real = |from: usize, to: usize| {
        words[from.min(words.len())..to.min(words.len())].iter().any(|word| REAL.contains(word))
    };
    let is_clock = words
        .iter()
        .any(|word| CLOCKS.contains(word) || *word == "guest" || *word == "vm" || *word == "sleep");
    let is_cost = words.iter().any(|word| COSTS.contains(word) && !COMPARES.contains(word));
    if !is_clock || is_cost {
        return None;
    }
    let verb = (1..words.len()).find(|at| VERBS.contains(&words[*at]))?;
    let own = (0..verb).rev().find_map(|at| duration(words, at))?;
    let other = (verb + 1..words.len().min(verb + BESIDE)).find_map(|at| duration(words, at))?;
    // The second time is measured by another clock.
    if !real(other.2, words.len()) && !real(verb, other.2) || real(0, verb) {
        return None;
    }
    let ratio = own.1 / other.1;
    // A sleep is late on a busy machine.
    if ratio > 0.8 && ratio < 1.0 {
        return None;
    }
    Some((error(ratio)?, format!("{} are {} by another clock", own.0, other.0)))
}

/// `twice as slow`, `875x slow`, `5 times faster`, `at half speed`
fn factor(words: &[&str]) -> Option<(f64, String)> {
    (0..words.len()).find_map(|at| {
        let (times, after) = times(words, at)?;
        let end = words.len().min(after + BESIDE);
        let place = (after..end).find(|at| {
            let word = words[*at];
            word.starts_with("fast")
                || word.starts_with("slow")
                || word == "speed"
                || word == "rate"
        })?;
        let is_slow = words[place].starts_with("slow");
        let is_comparison = COMPARES.contains(&words[place]);
        let from = at.saturating_sub(NEAR);
        let noun = (from..at).rev().find(|at| is_noun(words, *at, place))?;
        let is_cost = words.iter().any(|word| COSTS.contains(word) && !COMPARES.contains(word));
        let passes = words[noun..place].iter().any(|word| PASSES.contains(word));
        if is_cost
            || !passes
            || is_comparison
                && !words[noun + 1..at].iter().any(|w| PASSES.contains(w) && *w != "is")
        {
            return None;
        }
        let ratio = if is_slow && times > 1.0 { 1.0 / times } else { times };
        Some((error(ratio)?, words[at..=place].join(" ")))
    })
}

/// Whether a word is a clock, or time as a clock shows it.
fn is_noun(words: &[&str], at: usize, to: usize) -> bool {
    if CLOCKS.contains(&words[at]) {
        return true;
    }
    let before = at.checked_sub(1).map_or("", |at| words[at]);
    let owned = OWNERS.contains(&before);
    let bare =
        at == 0 || ["the", "its", "and", "but", "that", "where", "there", "then"].contains(&before);
    let passes =
        words[at + 1..to].first().is_some_and(|word| PASSES.contains(word) && *word != "is")
            || words.get(at + 1) == Some(&"is")
                && words.get(at + 2).is_some_and(|word| PASSES.contains(word));
    TIMES.contains(&words[at]) && (owned || bare && passes)
}

/// A factor at a place, and the place after it.
fn times(words: &[&str], at: usize) -> Option<(f64, usize)> {
    const NUMBERS: [(&str, f64); 6] = [
        ("two", 2.0),
        ("three", 3.0),
        ("four", 4.0),
        ("five", 5.0),
        ("ten", 10.0),
        ("hundred", 100.0),
    ];
    let word = words[at];
    let next = words.get(at + 1).copied().unwrap_or("");
    match word {
        "twice" | "double" => return Some((2.0, at + 1)),
        "thrice" | "triple" => return Some((3.0, at + 1)),
        "half" => return Some((0.5, at + 1)),
        _ => {}
    }
    if next == "times" {
        let named = NUMBERS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
        return Some((named.or_else(|| word.parse().ok())?, at + 2));
    }
    let number = word.strip_suffix(['x', '\u{d7}'])?;
    Some((number.parse().ok()?, at + 1))
}

/// By how much a speed is off, in parts per million.
fn error(ratio: f64) -> Option<f64> {
    let is_told = ratio.is_finite()
        && ratio > 0.0
        && ratio.max(1.0 / ratio) >= LEAST
        && ratio.max(1.0 / ratio) < MOST;
    is_told.then(|| (ratio - 1.0).abs() * 1e6)
}

/// A figure with a unit of time at a place: its text, its seconds, and the place after it.
fn duration(words: &[&str], at: usize) -> Option<(String, f64, usize)> {
    let word = *words.get(at)?;
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let number: f64 = match word {
        "one" | "a" => 1.0,
        "two" => 2.0,
        _ => word[..end].parse().ok()?,
    };
    // `20 real seconds`
    let skip = usize::from(words.get(at + 1).is_some_and(|word| REAL.contains(word)));
    let (unit, next) = match (end, &word[end..]) {
        (0, _) | (_, "") => (*words.get(at + 1 + skip)?, at + 2 + skip),
        (_, unit) => (unit, at + 1),
    };
    // `sleep 10`
    if end > 0 && at > 0 && words[at - 1] == "sleep" && units::seconds(unit).is_none() {
        return Some((format!("{number} s"), number, at + 1));
    }
    let seconds = units::seconds(unit)?;
    (number > 0.0).then(|| (format!("{number} {unit}"), number * seconds, next))
}

#[cfg(test)]
mod tests {
    use super::super::stated_rate::of_small;

    #[test]
    fn speeds_without_a_unit_of_time() {
        for (text, ppm) in [
            ("the system time is mostly fine, but twice as slow as it should be", 5e5),
            ("guests trust it, and their guest time runs ~875\u{d7} slow", 998_857.0),
            ("the clock runs at half speed", 5e5),
            ("the clock ticks 3 times too fast", 2e6),
            ("the vm's clock is running at double the speed", 1e6),
            ("the clock in the vm counted to 5 while everyone else counted to 4", 250_000.0),
            ("in the guest 10 seconds take 20 seconds by my stopwatch", 5e5),
            ("`sleep 10` takes 20 real seconds in there", 5e5),
            ("time passes 10x faster in this vm", 9e6),
        ] {
            let (found, figures) = of_small(text).unwrap_or_default();
            assert!((found - ppm).abs() < ppm * 0.01, "{text}: {found} {figures}");
        }
    }

    #[test]
    fn other_factors() {
        for text in [
            "reads of the clock are 10x slower",
            "reading the time is twice as slow there",
            "the response time is 3 times slower",
            "with hpet the clock is 5 times slower than tsc",
            "clock_gettime runs at half the speed",
            "the job takes twice as long; the clock is slow",
            "the build takes 10 minutes in the vm and 5 on the host",
            "sleep 10 takes 10.1 real seconds",
            "the cpu clock is twice as fast",
            "we count to 5 and then to 4",
            "the clock generator is 2x faster",
            "",
        ] {
            assert!(of_small(text).is_none(), "{text}: {:?}", of_small(text));
        }
    }
}

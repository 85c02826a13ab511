//! Units of time in texts: as programs print them, and as people write them.

/// Names in small letters, and seconds.
const UNITS: [(&str, f64); 38] = [
    ("ns", 1e-9),
    ("nanosecond", 1e-9),
    ("nanoseconds", 1e-9),
    ("us", 1e-6),
    ("\u{b5}s", 1e-6),
    ("\u{3bc}s", 1e-6),
    ("microsecond", 1e-6),
    ("microseconds", 1e-6),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("msecs", 1e-3),
    ("millis", 1e-3),
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
    ("night", 86_400.0),
    ("w", 604_800.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
    ("month", 2_592_000.0),
    ("months", 2_592_000.0),
];

/// Seconds of a unit in small letters: `ms`, `minutes`.
#[must_use]
pub fn seconds(unit: &str) -> Option<f64> {
    UNITS.iter().find(|(name, _)| *name == unit).map(|(_, seconds)| *seconds)
}

/// A figure with its unit after it, as one word, in seconds: `1.5h`, `300ms`.
#[must_use]
pub fn duration(word: &str) -> Option<f64> {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let figure: f64 = word[..end].parse().ok()?;
    Some(figure * seconds(&word[end..])?)
}

#[cfg(test)]
mod tests {
    use super::{duration, seconds};

    #[test]
    fn units_and_durations() {
        assert_eq!(seconds("minutes"), Some(60.0));
        assert_eq!(seconds("ppm"), None);
        assert_eq!(duration("1.5h"), Some(5400.0));
        assert_eq!(duration("20\u{b5}s").map(|s| (s * 1e6).round()), Some(20.0));
        for text in ["", "s", "3", "3 s", "3parsecs"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}

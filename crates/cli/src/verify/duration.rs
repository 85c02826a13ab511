//! A duration on the command line: `5`, `500ms`, `2m`, `1h`.

use std::time::Duration;

/// The longest that makes sense.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Parses a number with a unit; without one it is seconds.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let bad = || format!("{text:?} is not a duration; expected a number with ms, s, m, h or d");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| bad())?;
    let seconds = match unit.trim() {
        "ms" => number / 1e3,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        _ => return Err(bad()),
    };
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => {
            Err(format!("{text:?} is too short to measure anything"))
        }
        Ok(duration) if duration <= LONGEST => Ok(duration),
        _ => Err(format!("{text:?} is longer than a year")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        for (text, ms) in
            [("5", 5_000), ("1.5s", 1_500), ("250ms", 250), ("2m", 120_000), ("1h", 3_600_000)]
        {
            assert_eq!(parse(text).unwrap().as_millis(), ms, "{text}");
        }
        for bad in ["", "x", "5y", "-1", "0", "1e99", "999999d", "..", "ms"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}

//! `chronyc tracking` and `chronyc sources`.

use super::TimeSource;
use super::choice::Row;
use super::table::{Table, is_reach, is_span};
use super::timesync::span;

/// The fields of `chronyc tracking`.
pub(crate) const TRACKING: [&str; 13] = [
    "Reference ID",
    "Stratum",
    "Ref time (UTC)",
    "System time",
    "Last offset",
    "RMS offset",
    "Frequency",
    "Residual freq",
    "Skew",
    "Root delay",
    "Root dispersion",
    "Update interval",
    "Leap status",
];

impl TimeSource {
    /// A line of `chronyc tracking`.
    #[must_use]
    pub fn of_tracking(name: &str, value: &str) -> Option<Self> {
        let daemon = "chronyd";
        match name.trim() {
            // `0.000006523 seconds slow of NTP time`
            "System time" => {
                let mut words = value.split_ascii_whitespace();
                let seconds: f64 = words.next()?.parse().ok().filter(|s: &f64| s.is_finite())?;
                let slow = match words.nth(1)? {
                    "slow" => true,
                    "fast" => false,
                    _ => return None,
                };
                let ahead_s = Some(if slow { -seconds } else { seconds });
                Some(Self { daemon, ahead_s, ..Self::default() })
            }
            // `12.863 ppm slow`: of the clock without the correction.
            "Frequency" => {
                let (figure, rest) = value.trim().split_once(" ppm ")?;
                let ppm: f64 = figure.parse().ok().filter(|ppm: &f64| ppm.is_finite())?;
                let sign = match rest.trim() {
                    "slow" => 1.0,
                    "fast" => -1.0,
                    _ => return None,
                };
                Some(Self { daemon, frequency_ppm: Some(sign * ppm), ..Self::default() })
            }
            "Skew" => {
                let skew_ppm = Some(figure(value, "ppm")?);
                Some(Self { daemon, skew_ppm, ..Self::default() })
            }
            "Root dispersion" => {
                let dispersion_s = Some(figure(value, "seconds")?);
                Some(Self { daemon, dispersion_s, ..Self::default() })
            }
            "Leap status" => {
                let follows = match value.trim() {
                    "Not synchronised" => Some(false),
                    "Normal" | "Insert second" | "Delete second" => Some(true),
                    _ => None,
                };
                let no_reference = follows == Some(false);
                Some(Self { daemon, follows, no_reference, ..Self::default() })
            }
            "Reference ID" => {
                let is_local = ["(PHC", "(PPS", "(SHM"].iter().any(|kind| value.contains(kind));
                let id = value.split_ascii_whitespace().next().unwrap_or_default();
                let no_reference = id == "00000000";
                // `NTP_REFID_LOCAL` in chrony's ntp.h, as hexadecimal digits or, by old versions, as an address.
                let own_clock = id.eq_ignore_ascii_case("7F7F0101") || id.starts_with("127.127.1.");
                Some(Self { daemon, is_local, own_clock, no_reference, ..Self::default() })
            }
            _ => None,
        }
    }

    /// The table of `chronyc sources`: `^* time.example  2  6  377  34  -12us[ -16us] +/- 14ms`.
    #[must_use]
    pub fn of_sources<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Self, usize)> {
        let mut table = Table::default();
        for line in lines {
            let line = line.trim_start();
            let mut letters = line.chars();
            let (Some('^' | '=' | '#'), Some(state)) = (letters.next(), letters.next()) else {
                break;
            };
            if !"*+-?x~ ".contains(state) {
                break;
            }
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            // Of a state that is a blank the name follows the mode.
            let reach = words.get(if state == ' ' { 5 } else { 4 });
            let Some(reach) = reach.and_then(|word| u32::from_str_radix(word, 8).ok()) else {
                break;
            };
            table.add(reach > 0, state == '*', line.starts_with('#'));
            let sample = line.split_once('[').map(|(head, _)| head);
            let ahead_s = sample.and_then(|head| span(head.split_ascii_whitespace().next_back()?));
            if reach > 0 {
                table.offer(ahead_s, state != '*', state == 'x');
                let bound_s = line.rsplit_once("+/-").and_then(|(_, bound)| span(bound));
                if let (Some(ahead_s), Some(bound_s)) = (ahead_s, bound_s) {
                    let at = usize::from(state != ' ');
                    table.rows.push(Row {
                        name: words.get(at).copied().unwrap_or_default().to_owned(),
                        is_followed: state == '*',
                        is_local: line.starts_with('#'),
                        ahead_s,
                        bound_s,
                    });
                }
            }
        }
        table.finish("chronyd")
    }

    /// Whether a line is a row of `chronyc sources` by all its columns, without the heading of the table.
    #[must_use]
    pub fn is_row_of_sources(line: &str) -> bool {
        let mut letters = line.trim_start().chars();
        let marks = (letters.next(), letters.next());
        let (Some('^' | '=' | '#'), Some(state)) = marks else { return false };
        let mut words = letters.as_str().split_ascii_whitespace();
        let (Some(_), Some(stratum), Some(poll), Some(reach), Some(heard)) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return false;
        };
        "*+-?x~ ".contains(state)
            && stratum.parse::<u8>().is_ok_and(|stratum| stratum <= 16)
            && poll.parse::<i8>().is_ok()
            && is_reach(reach)
            && is_span(heard)
            && words.any(|word| word == "+/-")
    }
}

/// A figure with its unit: `0.057 ppm`.
fn figure(value: &str, unit: &str) -> Option<f64> {
    let figure = value.trim().strip_suffix(unit)?.trim();
    figure.parse().ok().filter(|figure: &f64| figure.is_finite())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_show_what_is_followed_and_what_answers() {
        let sources = "^* 192.0.2.1   2   6   377    34    -12us[  -16us] +/-   14ms\n\
                       ^? 192.0.2.2   0   8     0     -     +0ns[   +0ns] +/-    0ns\n\nend";
        let (source, lines) = TimeSource::of_sources(sources.lines()).unwrap();
        assert_eq!((lines, source.sources, source.follows), (2, Some((2, 1)), Some(true)));
        let phc = "#* PHC0   0   2   377     3     +4ns[   +7ns] +/-  1032ns";
        let (source, _) = TimeSource::of_sources(phc.lines()).unwrap();
        assert!(source.is_local && source.follows == Some(true));
    }

    #[test]
    fn own_clock_is_told_from_a_source() {
        let of_id = |value| TimeSource::of_tracking("Reference ID    ", value).unwrap().own_clock;
        assert!(of_id(" 7F7F0101 ()") && of_id(" 127.127.1.1 ()"));
        assert!(!of_id(" A9FEA97B (169.254.169.123)") && !of_id(" 50484330 (PHC0)"));
    }

    #[test]
    fn tracking_has_its_sign() {
        let of = |value| TimeSource::of_tracking("System time     ", value).unwrap().ahead_s;
        assert_eq!(of(" 62.5 seconds slow of NTP time"), Some(-62.5));
        assert_eq!(of(" 0.000006 seconds fast of NTP time"), Some(0.000_006));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}", name in "[A-Z][a-z ]{0,12}") {
            let _ = &name;
            let _ = TimeSource::of_sources(text.lines());
            let _ = TimeSource::is_row_of_sources(&text);
            let _ = TimeSource::of_tracking(&name, &text);
        }
    }
}

//! The table of `ntpq -p`.

use super::TimeSource;
use super::table::{Table, is_reach, is_span};

impl TimeSource {
    /// The table of `ntpq -p`: `*time.example  .GPS.  1 u  34  64  377  12.3  -0.123  0.045`.
    #[must_use]
    pub fn of_peers<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Self, usize)> {
        let mut table = Table::default();
        // A pulse per second (`o`) disciplines the clock; the source with `*` beside it only numbers the seconds.
        let mut pulse = false;
        for line in lines {
            let line = without_indent(line);
            let Some(tally) = line.chars().next() else { break };
            if !" x.-+#*o".contains(tally) {
                break;
            }
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            // Name, refid, stratum, type, when, poll, reach, delay, offset, jitter.
            let [.., kind, _, _, reach, delay, offset, jitter] = words.as_slice() else { break };
            let pool = words.get(1) == Some(&".POOL.");
            let (Ok(reach), Ok(offset)) = (u32::from_str_radix(reach, 8), offset.parse::<f64>())
            else {
                break;
            };
            if kind.len() > 1 {
                break;
            }
            let followed = matches!(tally, '*' | 'o');
            // The driver that hands out this machine's own clock.
            let name = words.first().map_or("", |word| word.trim_start_matches(['*', 'o']));
            let own = name.starts_with("LOCAL(") || name.starts_with("127.127.1.");
            table.own_clock |= followed && (own || words.get(1) == Some(&".LOCL."));
            if offset.is_finite() && (tally == 'o' || tally == '*' && !pulse) {
                pulse |= tally == 'o';
                // The peer's clock less ours, in milliseconds.
                table.ahead_s = Some(-offset / 1e3);
            }
            if pool {
                table.lines += 1;
            } else {
                table.add(reach > 0, followed, *kind == "l");
            }
            if reach > 0 && *kind != "l" {
                let ahead_s = Some(-offset / 1e3).filter(|ahead| ahead.is_finite());
                table.offer(ahead_s, !followed, tally == 'x');
                let seconds = |word: &str| Some(word.parse::<f64>().ok()? / 1e3);
                if let (Some(delay), Some(jitter), false) =
                    (seconds(delay), seconds(jitter), followed)
                {
                    let found = (jitter, delay);
                    table.unsteady_s = table
                        .unsteady_s
                        .or((jitter > 0.1 && jitter > 20.0 * delay).then_some(found));
                }
            }
        }
        table.finish("ntpd")
    }

    /// Whether a line is a row of `ntpq -p` by all its columns, without the heading of the table.
    #[must_use]
    pub fn is_row_of_peers(line: &str) -> bool {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // A tally that is a blank, and one that is a separate word.
        let words = match words.as_slice() {
            [tally, rest @ ..] if rest.len() == 10 && tally.len() == 1 => rest,
            all => all,
        };
        let [_, _, stratum, kind, when, poll, reach, delay, offset, jitter] = words else {
            return false;
        };
        let is_figure = |word: &&str| word.parse::<f64>().is_ok_and(f64::is_finite);
        stratum.parse::<u8>().is_ok_and(|stratum| stratum <= 16)
            && kind.len() == 1
            && is_span(when)
            && is_span(poll)
            && is_reach(reach)
            && [delay, offset, jitter].into_iter().all(is_figure)
    }
}

/// A row of `ntpq -p` without the blanks that indent code: the tally follows them, if it is a character that no name
/// begins with.
fn without_indent(line: &str) -> &str {
    let bare = line.trim_start();
    let signs = ['*', '+', '-', '#', '.'];
    if line.starts_with("  ") || line.starts_with('\t') {
        return if bare.starts_with(signs) { bare } else { &line[line.len() - bare.len() - 1..] };
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pulse_per_second_outranks_the_source_that_numbers_the_seconds() {
        let pulse = "o127.127.22.0  .PPS.  0 l   12   16  377    0.000   -0.024   0.002\n";
        let named = "*127.127.20.0  .GPS.  0 l   10   16  377    0.000  -50.100   2.000\n";
        for table in [[pulse, named].concat(), [named, pulse].concat()] {
            let (source, _) = TimeSource::of_peers(table.lines()).unwrap();
            assert!((source.ahead_s.unwrap() - 0.000_024).abs() < 1e-12, "{table}");
        }
    }

    #[test]
    fn table_shows_what_is_followed_and_what_answers() {
        let peers = "*192.0.2.1  .GPS.  1 u   34   64  377   12.300   -0.123   0.045\n \
                     192.0.2.9  .INIT. 16 u    -  64    0    0.000    0.000   0.000\n";
        let (source, lines) = TimeSource::of_peers(peers.lines()).unwrap();
        assert_eq!((lines, source.sources, source.follows), (2, Some((2, 1)), Some(true)));
        assert!((source.ahead_s.unwrap() - 0.000_123).abs() < 1e-12);
    }

    #[test]
    fn own_clock_is_told_from_a_server() {
        let of_peer = |row: &str| TimeSource::of_peers(row.lines()).unwrap().0.own_clock;
        assert!(of_peer("*LOCAL(0)  .LOCL.  5 l   34   64  377   0.000   0.000   0.001"));
        assert!(!of_peer(" LOCAL(0)  .LOCL.  5 l   34   64  377   0.000   0.000   0.001"));
        assert!(!of_peer("*GPS_NMEA(0)  .GPS.  0 l   34   64  377   0.000   0.000   0.001"));
        // A server that follows its own clock is still a server.
        assert!(!of_peer("*192.0.2.1  LOCAL(0)  6 u   34   64  377   0.100   0.200   0.001"));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}", name in "[A-Z][a-z ]{0,12}") {
            let _ = &name;
            let _ = TimeSource::of_peers(text.lines());
            let _ = TimeSource::is_row_of_peers(&text);
        }
    }
}

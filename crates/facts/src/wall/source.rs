//! What a time daemon says of its source: `chronyc tracking` and `sources`, `ntpq -p`, `timedatectl timesync-status`.

use super::remark::MOST;
use super::{Correction, Phc, Places, Remark};
use serde::Serialize;

/// What a time daemon says of its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeSource {
    /// The daemon: `chronyd`, `ntpd`, `systemd-timesyncd`; empty where the text does not show it.
    pub daemon: &'static str,
    /// Whether it follows a source; `None` where the text does not show it.
    pub follows: Option<bool>,
    /// Sources in the list, and those of them that answered lately.
    pub sources: Option<(u32, u32)>,
    /// How far the clock is ahead of the source, in seconds.
    pub ahead_s: Option<f64>,
    /// The source is a clock of this machine (`PHC0`, `PPS`).
    pub is_local: bool,
    /// The correction of the rate in parts per million, positive where the clock would be slow without it, as the kernel
    /// counts it.
    pub frequency_ppm: Option<f64>,
    /// How uncertain the rate is, in parts per million.
    pub skew_ppm: Option<f64>,
    /// How far the source itself may be off by the dispersion that it has gathered, in seconds.
    pub dispersion_s: Option<f64>,
    /// The daemon's reference is this machine's own clock (`127.127.1.1`: chrony's `local`, ntpd's LOCAL driver).
    pub own_clock: bool,
    /// chronyd has no reference, so that it prints constants in the place of its figures (`REF_GetReferenceParams()` in
    /// chrony's reference.c).
    pub no_reference: bool,
    /// What the last line of the daemon's log says of following a source.
    pub logged: Option<bool>,
    /// The last line of the daemon's log says that its sources answer and that no majority of them agrees
    /// (`SRC_SelectSource()` in chrony's sources.c).
    pub no_majority: bool,
    /// How fast the offset to a source that answers grows from poll to poll, in parts per million; positive where the
    /// clock runs slow.
    pub drift_ppm: Option<f64>,
    /// How far the clock is ahead of sources that answer and are not followed, in seconds.
    pub offered_s: Vec<f64>,
    /// How far the offset to such a source moves between polls, and how long a packet takes to it and back, in seconds.
    pub unsteady_s: Option<(f64, f64)>,
    /// Sources that answer, where no table has them all.
    pub answering: u32,
    /// Sources that answer and that the daemon holds for wrong, because they disagree with others (`x`, falsetickers).
    pub disagree: u32,
    /// What lines of logs say of the clock beside corrections.
    pub remarks: Vec<Remark>,
    /// What `phc2sys` says.
    pub phc: Option<Phc>,
    /// The corrections that daemons wrote to their logs, in the order of the text.
    pub corrections: Vec<Correction>,
    /// The lines that say these things.
    #[serde(skip)]
    pub places: Places,
}

impl TimeSource {
    /// What another part of the same text adds.
    pub fn add(&mut self, other: Self) {
        if self.daemon.is_empty() {
            self.daemon = other.daemon;
        }
        self.places.add(other.places);
        self.follows = self.follows.or(other.follows);
        self.sources = self.sources.or(other.sources);
        self.ahead_s = self.ahead_s.or(other.ahead_s);
        self.is_local |= other.is_local;
        self.own_clock |= other.own_clock;
        self.frequency_ppm = self.frequency_ppm.or(other.frequency_ppm);
        self.skew_ppm = self.skew_ppm.or(other.skew_ppm);
        self.dispersion_s = self.dispersion_s.or(other.dispersion_s);
        self.drift_ppm = self.drift_ppm.or(other.drift_ppm);
        self.unsteady_s = self.unsteady_s.or(other.unsteady_s);
        if self.offered_s.is_empty() {
            self.offered_s = other.offered_s;
        }
        self.answering = self.answering.max(other.answering);
        self.disagree = self.disagree.max(other.disagree);
        self.remarks.extend(other.remarks);
        self.remarks.truncate(MOST);
        // The later line of a log counts.
        self.no_majority =
            if other.logged.is_some() { other.no_majority } else { self.no_majority };
        self.logged = other.logged.or(self.logged);
        if let Some(follows) = other.logged {
            self.corrections.iter_mut().for_each(|one| one.followed = follows);
        }
        match (&mut self.phc, other.phc) {
            (Some(phc), Some(later)) => phc.add(later),
            (slot @ None, later) => *slot = later,
            (Some(_), None) => {}
        }
        for correction in other.corrections {
            correction.join(&mut self.corrections);
        }
        self.no_reference |= other.no_reference;
        if self.no_reference {
            let is_not = |constant: f64| move |s: &f64| (s - constant).abs() > 1e-9;
            self.ahead_s = self.ahead_s.filter(is_not(0.0));
            self.dispersion_s = self.dispersion_s.filter(is_not(1.0));
        }
    }

    /// Whether sources answer and say different times, so that the daemon holds some of them for wrong.
    #[must_use]
    pub fn sources_disagree(&self) -> bool {
        let answer = self.sources.is_none_or(|(_, answering)| answering > 0);
        self.disagree > 0 || self.no_majority && self.logged == Some(false) && answer
    }

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
            }
        }
        table.finish("chronyd")
    }

    /// The table of `ntpq -p`: `*time.example  .GPS.  1 u  34  64  377  12.3  -0.123  0.045`.
    #[must_use]
    pub fn of_peers<'a>(lines: impl Iterator<Item = &'a str>) -> Option<(Self, usize)> {
        let mut table = Table::default();
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
            if followed && offset.is_finite() {
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

    /// The same without what a table whose heading is not in the text may lack: the rows that were left out.
    #[must_use]
    pub fn of_a_part(mut self) -> Self {
        self.follows = self.follows.filter(|follows| *follows);
        self.sources = None;
        self
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

    /// A line of `timedatectl timesync-status`: `Offset: +1.234ms`, `Packet count: 3`.
    #[must_use]
    pub fn of_timesync(name: &str, value: &str) -> Option<Self> {
        let daemon = "systemd-timesyncd";
        match name.trim() {
            // The server's clock less ours.
            "Offset" => Some(Self { daemon, ahead_s: Some(-span(value)?), ..Self::default() }),
            "Packet count" => {
                let count: u64 = value.trim().parse().ok()?;
                Some(Self { daemon, follows: Some(count > 0), ..Self::default() })
            }
            _ => None,
        }
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

/// The last eight polls as bits, in octal.
fn is_reach(word: &str) -> bool {
    word.len() <= 3 && u16::from_str_radix(word, 8).is_ok_and(|reach| reach <= 0o377)
}

/// Seconds, or a number with the letter of a unit: `34`, `12m`, `-`.
fn is_span(word: &str) -> bool {
    let figure = word.strip_suffix(['s', 'm', 'h', 'd', 'y']).unwrap_or(word);
    word == "-" || !figure.is_empty() && figure.bytes().all(|byte| byte.is_ascii_digit())
}

/// A figure with its unit: `0.057 ppm`.
fn figure(value: &str, unit: &str) -> Option<f64> {
    let figure = value.trim().strip_suffix(unit)?.trim();
    figure.parse().ok().filter(|figure: &f64| figure.is_finite())
}

/// A span of time as systemd writes it: `+1.234ms`, `-1min 2.5s`.
fn span(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 7] = [
        ("us", 1e-6),
        ("ms", 1e-3),
        ("min", 60.0),
        ("s", 1.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("w", 604_800.0),
    ];
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut sum = 0.0;
    let mut words = rest.split_ascii_whitespace().peekable();
    words.peek()?;
    for word in words {
        let digits = word.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (figure, unit) = word.split_at(digits);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += figure.parse::<f64>().ok()? * factor;
    }
    Some(sign * sum)
}

/// A table of sources.
#[derive(Default)]
struct Table {
    lines: usize,
    sources: u32,
    reached: u32,
    follows: bool,
    is_local: bool,
    own_clock: bool,
    ahead_s: Option<f64>,
    offered_s: Vec<f64>,
    unsteady_s: Option<(f64, f64)>,
    disagree: u32,
}

impl Table {
    fn add(&mut self, reached: bool, followed: bool, local: bool) {
        self.lines += 1;
        self.sources = self.sources.saturating_add(1);
        self.reached = self.reached.saturating_add(u32::from(reached));
        self.follows |= followed;
        self.is_local |= followed && local;
    }

    /// What a source that answers says the time is.
    fn offer(&mut self, ahead_s: Option<f64>, other: bool, disagrees: bool) {
        if other {
            self.offered_s.extend(ahead_s);
        }
        self.disagree += u32::from(disagrees);
    }

    fn finish(self, daemon: &'static str) -> Option<(TimeSource, usize)> {
        let source = TimeSource {
            daemon,
            follows: Some(self.follows),
            sources: Some((self.sources, self.reached)),
            ahead_s: self.ahead_s,
            is_local: self.is_local,
            own_clock: self.own_clock,
            answering: self.reached,
            offered_s: if self.follows { Vec::new() } else { self.offered_s },
            unsteady_s: self.unsteady_s.filter(|_| !self.follows),
            disagree: self.disagree,
            ..TimeSource::default()
        };
        (self.lines > 0).then_some((source, self.lines))
    }
}

#[cfg(test)]
mod tests {
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
        let peers = "*192.0.2.1  .GPS.  1 u   34   64  377   12.300   -0.123   0.045\n \
                     192.0.2.9  .INIT. 16 u    -  64    0    0.000    0.000   0.000\n";
        let (source, lines) = TimeSource::of_peers(peers.lines()).unwrap();
        assert_eq!((lines, source.sources, source.follows), (2, Some((2, 1)), Some(true)));
        assert!((source.ahead_s.unwrap() - 0.000_123).abs() < 1e-12);
    }

    #[test]
    fn own_clock_is_told_from_a_source() {
        let of_id = |value| TimeSource::of_tracking("Reference ID    ", value).unwrap().own_clock;
        assert!(of_id(" 7F7F0101 ()") && of_id(" 127.127.1.1 ()"));
        assert!(!of_id(" A9FEA97B (169.254.169.123)") && !of_id(" 50484330 (PHC0)"));
        let of_peer = |row: &str| TimeSource::of_peers(row.lines()).unwrap().0.own_clock;
        assert!(of_peer("*LOCAL(0)  .LOCL.  5 l   34   64  377   0.000   0.000   0.001"));
        assert!(!of_peer(" LOCAL(0)  .LOCL.  5 l   34   64  377   0.000   0.000   0.001"));
        assert!(!of_peer("*GPS_NMEA(0)  .GPS.  0 l   34   64  377   0.000   0.000   0.001"));
        // A server that follows its own clock is still a server.
        assert!(!of_peer("*192.0.2.1  LOCAL(0)  6 u   34   64  377   0.100   0.200   0.001"));
    }

    #[test]
    fn rows_are_known_by_their_columns() {
        for row in [
            "^* 192.0.2.1   2   6   377    34    -12us[  -16us] +/-   14ms",
            "#? PPS         0   4     0     -     +0ns[   +0ns] +/-    0ns",
            "^- a.example   3  10   377   27m  +2129us[+2129us] +/-   12ms",
        ] {
            assert!(TimeSource::is_row_of_sources(row), "{row}");
        }
        for row in [
            "*192.0.2.1  .GPS.  1 u   34   64  377   12.300   -0.123   0.045",
            " 192.0.2.9  .INIT. 16 u    -  64    0    0.000    0.000   0.000",
            "+ 192.0.2.7 192.0.2.1 2 u 5m 1024 377 1.1 0.2 0.3",
        ] {
            assert!(TimeSource::is_row_of_peers(row), "{row}");
        }
        for other in [
            "^* a b c d e f +/- g",
            "^^ the line above",
            "#? what about 3 of 9 servers 377 +/- 12",
            "*a b 99 u 34 64 377 1 2 3",
            "*a b 1 u 34 64 399 1 2 3",
            "",
        ] {
            assert!(!TimeSource::is_row_of_sources(other), "{other}");
            assert!(!TimeSource::is_row_of_peers(other), "{other}");
        }
    }

    #[test]
    fn spans_are_those_of_systemd() {
        for (text, seconds) in
            [("+1.234ms", 0.001_234), ("-22.5s", -22.5), ("1min 2s", 62.0), ("+3us", 3e-6)]
        {
            assert!((span(text).unwrap() - seconds).abs() < 1e-12, "{text}");
        }
        assert_eq!((span(""), span("n/a")), (None, None));
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
            let _ = TimeSource::of_sources(text.lines());
            let _ = TimeSource::of_peers(text.lines());
            let _ = TimeSource::of_timesync(&name, &text);
            let _ = TimeSource::of_tracking(&name, &text);
            let _ = span(&text);
        }
    }
}

//! Two outputs of `date` at one moment: on a machine, and in a container or a guest on it.

use crate::utc::days_since_1970;
use serde::Serialize;

/// The difference of two clocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// The program that ran the second `date`: `docker`, `wsl`; `ssh` runs it on another machine.
    pub with: &'static str,
    /// Seconds by which the second clock is behind the first one, in the newest pair of a text.
    pub behind_s: i64,
    /// The same in an earlier pair of the text, the one with the largest difference.
    pub before_s: Option<i64>,
    /// Seconds since 1970 of the first output of the newest pair.
    pub at_s: i64,
}

impl Apart {
    /// Adds another pair of the same text: the newer one, by its dates, is the state of the clocks.
    pub(crate) fn add(&mut self, other: Self) {
        // Of other clocks: the pair with a difference counts.
        if self.with != other.with {
            if self.behind_s == 0 {
                *self = other;
            }
            return;
        }
        let is_newer = other.at_s >= self.at_s;
        let (newer, older) = if is_newer { (&other, &*self) } else { (&*self, &other) };
        let before = [Some(older.behind_s), older.before_s, newer.before_s];
        let before_s = before.into_iter().flatten().max_by_key(|by| by.abs());
        *self = Self { before_s, ..newer.clone() };
    }
}

/// Programs that run a command in a container or a guest.
const INSIDE: [&str; 14] = [
    "docker",
    "podman",
    "wsl",
    "wsl.exe",
    "limactl",
    "lima",
    "colima",
    "minikube",
    "multipass",
    "vagrant",
    "nerdctl",
    "kubectl",
    "orb",
    "docker-machine",
];

/// Programs that run a command on another machine.
const ELSEWHERE: [&str; 3] = ["ssh", "sshpass", "rsh"];
/// The name for all of those.
const SSH: &str = "ssh";

impl Apart {
    /// Whether the second clock is another machine's.
    #[must_use]
    pub fn is_of_another_machine(&self) -> bool {
        self.with == SSH
    }
}

impl Apart {
    /// Parses a command line that runs `date` here and inside, and perhaps here once more: returns whether the first of
    /// them is the one inside, and the program that runs it.
    #[must_use]
    pub fn asked(command: &str) -> Option<(bool, &'static str)> {
        let mut parts =
            command.split([';', '&', '|']).map(str::trim).filter(|part| !part.is_empty());
        let (first, second) = (parts.next()?, parts.next()?);
        let (first, second) = (date_of(first)?, date_of(second)?);
        match (parts.next(), first, second) {
            (None, None, Some(with)) => Some((false, with)),
            (Some("date"), None, Some(with)) if parts.next().is_none() => Some((false, with)),
            // The first two of more machines.
            (Some(third), None, Some(SSH)) if date_of(third) == Some(Some(SSH)) => {
                Some((false, SSH))
            }
            (None, Some(with), None) => Some((true, with)),
            _ => None,
        }
    }
}

/// Most commands of a line that are looked at.
const COMMANDS: usize = 16;

impl Apart {
    /// The same for a line with other commands, and with a command in quotes for the guest: `podman machine ssh 'uname -a; date -u';
    /// date -u`.
    #[must_use]
    pub fn asked_among(command: &str) -> Option<(bool, &'static str)> {
        let mut found: Vec<Option<&'static str>> = Vec::new();
        for part in parts(command).into_iter().take(COMMANDS) {
            let first = part.split_ascii_whitespace().find(|word| *word != "sudo")?;
            match INSIDE.into_iter().find(|name| *name == first) {
                Some(with) if runs_date(part) => found.push(Some(with)),
                // Its output may be anything.
                Some(_) => return None,
                None => found.extend(date_of(part)),
            }
        }
        match found[..] {
            [None, Some(with)] => Some((false, with)),
            [Some(with), None] => Some((true, with)),
            _ => None,
        }
    }
}

/// The commands of a line, without those in quotes.
fn parts(command: &str) -> Vec<&str> {
    let (mut found, mut from, mut quote) = (Vec::new(), 0, None);
    for (at, letter) in command.char_indices() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, ';' | '&' | '|') => {
                found.push(command[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(command[from..].trim());
    // The target of a redirection of standard error is not a part: `2>&1`.
    found.retain(|part| !part.is_empty() && *part != "1");
    found
}

/// Whether a command for a guest runs `date` there, once.
fn runs_date(command: &str) -> bool {
    let inner = command.split(['\'', '"', ';', '&', '|']).flat_map(str::split_ascii_whitespace);
    inner.filter(|word| *word == "date").count() == 1
}

/// What a command that runs `date` runs it with: `None` inside for here.
pub(crate) fn date_of(command: &str) -> Option<Option<&'static str>> {
    let mut words = command.split_ascii_whitespace().filter(|word| *word != "sudo");
    let first = words.next()?;
    if first == "date" {
        // A format may omit the date.
        return words
            .all(|word| matches!(word, "-u" | "--utc" | "-R" | "--universal"))
            .then_some(None);
    }
    let inside = INSIDE.into_iter().find(|name| *name == first);
    let with = inside.or_else(|| ELSEWHERE.contains(&first).then_some(SSH))?;
    let rest: Vec<&str> = words.collect();
    let at = rest.iter().position(|word| word.trim_matches(['"', '\'']) == "date")?;
    rest[at + 1..].iter().all(|word| word.trim_matches(['"', '\'']) == "-u").then_some(Some(with))
}

/// Returns the seconds since 1970 and the time zone from an output of `date`: `Fri Nov  3 15:26:26 UTC 2017`, `Fr  3
/// Nov 2017 15:20:43 UTC`.
#[must_use]
pub fn date_seconds(text: &str) -> Option<(i64, &str)> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    if !(5..=8).contains(&words.len()) {
        return None;
    }
    let (mut day, mut month, mut year, mut clock, mut zone, mut half) =
        (None, None, None, None, None, 0);
    for word in words {
        let bare = word.trim_end_matches([',', '.']);
        let lower = bare.to_ascii_lowercase();
        let number = bare.parse::<i64>().ok();
        if let Some(found) = month_of(&lower) {
            month = Some(found);
        } else if bare.len() <= 2 && number.is_some_and(|n| (1..=31).contains(&n)) {
            day = number;
        } else if bare.len() == 4 && number.is_some_and(|n| (1970..=2200).contains(&n)) {
            year = number;
        } else if let [hour, minute, second] =
            &bare.split(':').map(str::parse::<i64>).collect::<Vec<_>>()[..]
        {
            let (Ok(hour), Ok(minute), Ok(second)) = (hour, minute, second) else { return None };
            let sane =
                (0..24).contains(hour) && (0..60).contains(minute) && (0..=60).contains(second);
            clock = sane.then_some(hour * 3600 + minute * 60 + second);
        } else if matches!(lower.as_str(), "am" | "pm") {
            half = if lower == "pm" { 1 } else { -1 };
        } else if bare.len() >= 3 && bare.bytes().all(|byte| byte.is_ascii_uppercase())
            || is_offset(bare)
        {
            zone = Some(bare);
        }
    }
    let (year, month, day) = (year?, month?, day?);
    let days = days_since_1970(year, month, day);
    let clock = clock?;
    let clock = match (half, clock / 3600) {
        (1, hour) if hour < 12 => clock + 12 * 3600,
        (-1, 12) => clock - 12 * 3600,
        _ => clock,
    };
    Some((days * 86_400 + clock, zone?))
}

/// Seconds by which a zone is ahead of UTC: an offset, or an abbreviation that means only one zone. `CST`, `IST` and
/// `BST` are used for several.
#[must_use]
pub(crate) fn ahead_of_utc(zone: &str) -> Option<i64> {
    const ZONES: [(&str, i64); 21] = [
        ("UTC", 0),
        ("GMT", 0),
        ("WET", 0),
        ("WEST", 1),
        ("CET", 1),
        ("CEST", 2),
        ("EET", 2),
        ("EEST", 3),
        ("MSK", 3),
        ("JST", 9),
        ("KST", 9),
        ("AEDT", 11),
        ("NZST", 12),
        ("NZDT", 13),
        ("EDT", -4),
        ("MDT", -6),
        ("MST", -7),
        ("PDT", -7),
        ("PST", -8),
        ("AKDT", -8),
        ("AKST", -9),
    ];
    if is_offset(zone) {
        let minutes = if zone.len() == 3 { 0 } else { zone[3..].parse::<i64>().ok()? };
        let hours = zone[1..3].parse::<i64>().ok()?;
        let seconds = hours * 3600 + minutes * 60;
        return Some(if zone.starts_with('-') { -seconds } else { seconds });
    }
    ZONES.into_iter().find(|(name, _)| *name == zone).map(|(_, hours)| hours * 3600)
}

/// The month of an abbreviation: in English, and in other languages if it differs.
fn month_of(word: &str) -> Option<i64> {
    const MONTHS: [&[&str]; 12] = [
        &["jan", "ene", "gen", "janv"],
        &["feb", "fev", "f\u{e9}vr"],
        &["mar", "m\u{e4}r", "mrt", "mars", "mrz"],
        &["apr", "abr", "avr", "avril"],
        &["may", "mai", "maj", "mei", "mag"],
        &["jun", "giu", "juin"],
        &["jul", "lug", "juil"],
        &["aug", "ago", "ao\u{fb}t"],
        &["sep", "set", "sept"],
        &["oct", "okt", "out", "ott"],
        &["nov"],
        &["dec", "dez", "dic", "d\u{e9}c"],
    ];
    let at = MONTHS.iter().position(|names| names.contains(&word))?;
    i64::try_from(at).ok().map(|at| at + 1)
}

/// `+0200`, or `-03` of a zone without an abbreviation.
fn is_offset(word: &str) -> bool {
    matches!(word.len(), 3 | 5)
        && word.starts_with(['+', '-'])
        && word[1..].bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn asked_one_here_and_one_inside() {
        assert_eq!(Apart::asked("date -u ; docker run busybox date"), Some((false, "docker")));
        assert_eq!(Apart::asked("podman machine ssh date -u && date -u"), Some((true, "podman")));
        assert_eq!(
            Apart::asked("date && multipass exec a -- date && date"),
            Some((false, "multipass"))
        );
        let of_three = "date; sshpass -p x ssh n1 date; sshpass -p x ssh n2 date";
        assert_eq!(Apart::asked(of_three), Some((false, "ssh")));
        assert_eq!(Apart::asked("date -u && ssh db date -u"), Some((false, "ssh")));
        for other in [
            "date; date",
            "docker run a date; docker run b date",
            "date +%s; docker run a date",
            "date",
            "cal; docker ps",
        ] {
            assert_eq!(Apart::asked(other), None, "{other}");
        }
    }

    #[test]
    fn asked_among_other_commands() {
        for (command, asked) in [
            (
                "podman machine ssh 'uname -a; date -u && exit' 2>/dev/null; echo; date -u && uname",
                Some((true, "podman")),
            ),
            ("date -u; limactl shell x 'date'; uptime", Some((false, "limactl"))),
            ("date -u; docker ps; docker run a date", None),
            ("date; date; wsl date", None),
            ("podman machine ssh 'date; date'; date", None),
            ("uname -a", None),
        ] {
            assert_eq!(Apart::asked_among(command), asked, "{command}");
        }
    }

    #[test]
    fn date_seconds_orders_and_halves_of_days() {
        let of = |text: &str| date_seconds(text).unwrap().0;
        assert_eq!(of("Fri Nov  3 15:26:26 UTC 2017"), 1_509_722_786);
        assert_eq!(of("Fr  3 Nov 2017 15:26:26 UTC"), 1_509_722_786);
        assert_eq!(of("Fri  3 Nov 03:26:26 PM UTC 2017"), 1_509_722_786);
        assert_eq!(of("Fri, 03 Nov 2017 15:26:26 +0000"), 1_509_722_786);
        assert_eq!(of("Fri Nov  3 15:26:26 -03 2017"), 1_509_722_786);
        assert_eq!(ahead_of_utc("-03"), Some(-10_800));
        assert_eq!(of("sex 03 nov 2017 15:26:26 WET"), 1_509_722_786);
        assert_eq!(of("ter 03 out 2017 15:26:26 WEST"), of("Tue Oct  3 15:26:26 WEST 2017"));
        assert_eq!(date_seconds("Fri Nov  3 15:26:26 2017"), None);
        assert_eq!(date_seconds("the date is 3 Nov 2017 UTC today"), None);
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = date_seconds(&text);
            let _ = Apart::asked(&text);
            let _ = Apart::asked_among(&text);
        }
    }
}

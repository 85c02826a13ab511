//! What any program's log says of a wall clock that moved: a noun of a clock, a verb of moving, a direction, and often by how
//! much. Programs whose lines have a meaning of their own are elsewhere ([`super::programs`], [`super::remark`]).

use super::What;
use crate::log::writer;
use crate::units;

/// Programs by the beginning of the name under which their lines are logged, and their own words where a line names none.
const PROGRAMS: [(&str, &str); 22] = [
    ("dovecot", "Dovecot"),
    ("imap", "Dovecot"),
    ("cron", "cron"),
    ("crond", "cron"),
    ("tor", "Tor"),
    ("named", "BIND"),
    ("mongod", "MongoDB"),
    ("mysqld", "MySQL"),
    ("mariadbd", "MariaDB"),
    ("postgres", "PostgreSQL"),
    ("etcd", "etcd"),
    ("kafka", "Kafka"),
    ("consul", "Consul"),
    ("nomad", "Nomad"),
    ("vault", "Vault"),
    ("asterisk", "Asterisk"),
    ("freeswitch", "FreeSWITCH"),
    ("haproxy", "HAProxy"),
    ("keepalived", "keepalived"),
    ("corosync", "Corosync"),
    ("influxd", "InfluxDB"),
    ("sudo", "sudo"),
];
/// Words that only one program prints, without its name before them.
const OWN_WORDS: [(&str, &str); 4] = [
    ("time just moved backwards by", "Dovecot"),
    ("time moved forwards by", "Dovecot"),
    ("time disparity of", "crond"),
    ("your system clock just jumped", "Tor"),
];

/// Nouns of the wall clock.
const NOUNS: [&str; 3] = ["time", "clock", "walltime"];
/// Verbs.
const VERBS: [&str; 11] = [
    "moved",
    "jumped",
    "jump",
    "went",
    "gone",
    "stepped",
    "leapt",
    "shifted",
    "changed",
    "adjusted",
    "disparity",
];
/// Words of the directions.
const BACK: [&str; 5] = ["back", "backward", "backwards", "past", "behind"];
const FORTH: [&str; 5] = ["forward", "forwards", "ahead", "future", "fwd"];
/// Words between a noun and its verb, and between a verb and the rest, at most.
const NEAR: usize = 3;
const BEHIND: usize = 7;
/// Words of other clocks.
const OTHERS: [&str; 7] = ["monotonic", "media", "rtp", "pts", "dts", "video", "steady"];
/// Seconds below which a move is one of rounding.
const LEAST_S: f64 = 0.001;

/// The remark of a line of a log.
pub(super) fn of_line(line: &str) -> Option<(&'static str, What)> {
    let small = line.to_lowercase();
    let mut of_words = OWN_WORDS.iter().filter(|_| writer(line).is_none());
    let own = of_words.find(|(words, _)| small.contains(words)).map(|(_, program)| *program);
    let named = || {
        let name = writer(line)?.to_lowercase();
        // Postfix logs the name of each of its programs after its own.
        if small.contains(" postfix/") {
            return Some("Postfix");
        }
        let is_it = |part: &str| {
            let rest = name.strip_prefix(part);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
        };
        PROGRAMS.iter().find(|(part, _)| is_it(part)).map(|(_, program)| *program)
    };
    let program = match own.or_else(named) {
        Some(program) => program,
        None if is_of_log(line) => "a program",
        None => return None,
    };
    let words: Vec<&str> = small
        .split(|c: char| {
            c.is_whitespace()
                || matches!(c, '(' | ')' | '[' | ']' | ',' | ';' | '=' | '"' | '\'' | '!')
        })
        .map(|word| word.trim_matches([':', '.']))
        .filter(|word| !word.is_empty())
        .collect();
    if words.iter().any(|word| OTHERS.contains(word)) {
        return None;
    }
    let moved = (0..words.len()).filter(|at| NOUNS.contains(&words[*at])).find_map(|noun| {
        let mut near = noun + 1..words.len().min(noun + 1 + NEAR);
        let verb = near.find(|at| VERBS.contains(&words[*at]))?;
        // `backward time jump`
        let from = noun.saturating_sub(1);
        let to = words.len().min(verb + 1 + BEHIND);
        let way = words[from..to].iter().find_map(|word| {
            let back = BACK.contains(word).then_some(false);
            back.or_else(|| FORTH.contains(word).then_some(true))
        });
        let amount = (verb + 1..to).find_map(|at| amount(&words, at));
        // A sentence about an amount or a direction; `time changed` by itself may refer to many things.
        (way.is_some() || amount.is_some()).then_some((way, amount))
    })?;
    let (forward, by_s) = moved;
    let by_s = by_s.filter(|by| by.abs() >= LEAST_S);
    // A figure may have the sign.
    let forward = forward.or_else(|| by_s.filter(|by| *by < 0.0).map(|_| false));
    Some((program, What::Moved { forward, by_s: by_s.map(f64::abs) }))
}

/// A figure with a unit: `18 seconds`, `3600s`, `-1.5 s`.
fn amount(words: &[&str], at: usize) -> Option<f64> {
    let word = words[at].trim_start_matches(['~', '+']);
    let bare = word.trim_start_matches('-');
    let sign = if bare.len() < word.len() { -1.0 } else { 1.0 };
    if let Some(by_s) = units::duration(bare) {
        return Some(sign * by_s);
    }
    let figure: f64 = bare.parse().ok()?;
    let by_s = figure * units::seconds(words.get(at + 1)?)?;
    by_s.is_finite().then_some(sign * by_s)
}

/// Whether a line has the beginning of one of a log: a system log's, or a date, a time, a level.
fn is_of_log(line: &str) -> bool {
    if writer(line).is_some() {
        return true;
    }
    let bare = line.trim_start().trim_start_matches('[');
    let begins = |digits: usize, next: char| {
        bare.len() > digits
            && bare.bytes().take(digits).all(|b| b.is_ascii_digit())
            && bare[digits..].starts_with(next)
    };
    let levels = [
        "WARN",
        "ERROR",
        "INFO",
        "FATAL",
        "Warning: ",
        "warning: ",
        "W ",
        "level=",
        "time=",
        "ts=",
    ];
    begins(4, '-')
        || begins(4, '/')
        || begins(2, ':')
        || begins(2, '/')
        || levels.iter().any(|level| bare.starts_with(level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_programs_whose_clock_moved() {
        let moved = |program, forward, by_s| Some((program, What::Moved { forward, by_s }));
        for (line, expected) in [
            (
                "Feb  3 04:05:06 mx dovecot: master: Fatal: Time just moved backwards by 42 seconds. I stop now.",
                moved("Dovecot", Some(false), Some(42.0)),
            ),
            ("Time just moved backwards by 7 seconds.", moved("Dovecot", Some(false), Some(7.0))),
            (
                "Feb  3 04:05:06 mx crond[9]: time disparity of 90 minutes detected",
                moved("cron", None, Some(5400.0)),
            ),
            (
                "Feb  3 04:05:06 mx postfix/master[8]: warning: backward time jump detected -- slewing clock",
                moved("Postfix", Some(false), None),
            ),
            (
                "2026-02-03 04:05:06,789 WARN [main] Clock jumped forward by 3600s",
                moved("a program", Some(true), Some(3600.0)),
            ),
            (
                "[2026-02-03T04:05:06Z] system clock stepped by -1.5 s",
                moved("a program", Some(false), Some(1.5)),
            ),
            (
                "Feb 03 04:05:06.000 [warn] Your system clock just jumped 300 seconds forward; assuming established circuits no longer work.",
                moved("Tor", Some(true), Some(300.0)),
            ),
        ] {
            assert_eq!(of_line(line), expected, "{line}");
        }
    }

    #[test]
    fn other_lines() {
        for line in [
            "My time just jumped by a lot",
            "the clock went back by 3 s when I set it",
            "2026-02-03 04:05:06 INFO the time of the job changed",
            "2026-02-03 04:05:06 INFO monotonic clock jumped forward by 3 s",
            "2026-02-03 04:05:06 INFO request took 3 s of time",
            "2026-02-03 04:05:06 INFO moved 3 files back in time",
            "2026-02-03 04:05:06 INFO time step 0.5 s, 100 steps forward",
            "Feb  3 04:05:06 mx player[3]: timestamp went back by 40 ms",
            "",
        ] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text(head in prop::sample::select(vec!["", "2026-02-03 04:05:06 ", "ts="]), text in "\\PC{0,80}") {
            let _ = of_line(&format!("{head}clock jumped {text}"));
        }
    }
}

//! `timedatectl timesync-status`, and spans of time as systemd writes them.

use super::TimeSource;
use crate::units;

impl TimeSource {
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
            // `n/a (n/a)` where it has no server: none is configured, or it believes that the network is down.
            "Server" if value.trim().starts_with("n/a") => {
                Some(Self { daemon, asks_nobody: true, ..Self::default() })
            }
            "Server" if value.trim().starts_with(|c: char| c.is_ascii_hexdigit() || c == ':') => {
                Some(Self { daemon, asks_one: true, ..Self::default() })
            }
            _ => None,
        }
    }

    /// The properties of `timedatectl show-timesync`, each `Name=value`; `None` if they are not those of one output.
    #[must_use]
    pub fn of_properties(lines: &[&str]) -> Option<Self> {
        let value = |name: &str| {
            let mut values = lines.iter().filter_map(|line| line.trim().strip_prefix(name));
            values.find_map(|rest| rest.strip_prefix('='))
        };
        let has_servers =
            ["LinkNTPServers", "SystemNTPServers", "RuntimeNTPServers", "FallbackNTPServers"]
                .iter()
                .any(|name| value(name).is_some_and(|servers| !servers.is_empty()));
        // Both limits are always printed; a part of the output has at least the servers.
        let limits =
            value("PollIntervalMinUSec").is_some() && value("PollIntervalMaxUSec").is_some();
        if !limits && !has_servers {
            return None;
        }
        let polls = value("PollIntervalUSec")?;
        let has_server = value("ServerName").is_some_and(|name| !name.is_empty())
            || value("ServerAddress").is_some_and(|address| !address.is_empty());
        let count = value("NTPMessage").and_then(|message| {
            let (_, rest) = message.split_once("PacketCount=")?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..end].parse::<u64>().ok()
        });
        let daemon = "systemd-timesyncd";
        match (has_server, count) {
            (true, count) => Some(Self {
                daemon,
                asks_one: true,
                follows: Some(count.is_some_and(|count| count > 0)),
                ..Self::default()
            }),
            (false, None) if polls == "0" => Some(Self {
                daemon,
                asks_nobody: true,
                has_servers,
                follows: Some(false),
                ..Self::default()
            }),
            _ => None,
        }
    }
}

/// A span of time as systemd writes it: `+1.234ms`, `-1min 2.5s`.
pub(super) fn span(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut sum = 0.0;
    let mut words = rest.split_ascii_whitespace().peekable();
    words.peek()?;
    for word in words {
        sum += units::duration(word)?;
    }
    Some(sign * sum)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

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
    fn a_server_that_is_not_known_is_told() {
        let of = |value| TimeSource::of_timesync("Server", value);
        assert!(of(" n/a (n/a)").unwrap().asks_nobody);
        assert!(of("192.0.2.1 (a.example)").unwrap().asks_one);
        assert_eq!(of("with the name a"), None);
    }

    #[test]
    fn properties_show_whether_a_server_answers() {
        let limits = ["PollIntervalMinUSec=32s", "PollIntervalMaxUSec=34min 8s"];
        let of = |more: &[&str]| TimeSource::of_properties(&[&limits[..], more].concat());
        let none = of(&["FallbackNTPServers=a.example", "PollIntervalUSec=0"]).unwrap();
        assert_eq!((none.asks_nobody, none.has_servers, none.follows), (true, true, Some(false)));
        assert!(!of(&["FallbackNTPServers=", "PollIntervalUSec=0"]).unwrap().has_servers);
        let part = ["LinkNTPServers=192.0.2.1", "PollIntervalUSec=0"];
        assert!(TimeSource::of_properties(&part).unwrap().has_servers);
        let server = ["ServerName=a.example", "ServerAddress=192.0.2.1", "PollIntervalUSec=32s"];
        let silent = of(&server).unwrap();
        assert_eq!((silent.asks_one, silent.follows), (true, Some(false)));
        let message = ["NTPMessage={ Leap=0, Version=4, PacketCount=3, Jitter=0 }"];
        assert_eq!(of(&[&server[..], &message].concat()).unwrap().follows, Some(true));
        assert_eq!(of(&["ServerName="]), None);
        assert_eq!(TimeSource::of_properties(&["PollIntervalUSec=0"]), None);
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}", name in "[A-Z][a-z ]{0,12}") {
            let _ = &name;
            let _ = TimeSource::of_timesync(&name, &text);
            let _ = span(&text);
        }
    }
}

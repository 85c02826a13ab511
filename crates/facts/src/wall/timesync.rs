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
        assert_eq!(of("192.0.2.1 (a.example)"), None);
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

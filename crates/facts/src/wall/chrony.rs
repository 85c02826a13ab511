//! The settings of chrony's configuration for the wall clock.

use serde::Serialize;

/// chrony's configuration, reduced to the settings that decide how a wrong clock is corrected.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChronyConfig {
    /// Devices of `refclock PHC`: `/dev/ptp0`.
    pub phc: Vec<String>,
    /// `makestep THRESHOLD LIMIT`: the seconds from which on it may step, and the number of updates (negative: all).
    pub makestep: Option<(f64, i64)>,
    /// Whether it informs the kernel that the clock is synchronised.
    pub rtcsync: bool,
    /// Whether leap seconds are smeared, or served smeared.
    pub smears: bool,
    /// Whether it includes more files, which were not read.
    pub includes: bool,
}

impl ChronyConfig {
    /// Parses a `chrony.conf`. Directives are case-insensitive; `!`, `;`, `#` and `%` begin comments (chrony.conf(5)).
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut out = Self::default();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(first) = words.next() else { continue };
            match first.to_ascii_lowercase().as_str() {
                "refclock" if words.next().is_some_and(|kind| kind.eq_ignore_ascii_case("PHC")) => {
                    // `/dev/ptp0:nocrossts`.
                    let device = words.next().map(|word| word.split(':').next().unwrap_or(word));
                    out.phc.extend(device.map(str::to_owned));
                }
                "makestep" => {
                    let threshold = words.next().and_then(|word| word.parse().ok());
                    let limit = words.next().and_then(|word| word.parse().ok());
                    out.makestep = threshold.zip(limit).or(out.makestep);
                }
                "rtcsync" => out.rtcsync = true,
                "leapsecmode" => {
                    out.smears |=
                        words.next().is_some_and(|mode| mode.eq_ignore_ascii_case("slew"));
                }
                "smoothtime" => out.smears = true,
                "include" | "confdir" | "sourcedir" => out.includes = true,
                _ => {}
            }
        }
        out
    }

    /// Whether a line is one of those that are read: servers and keys are not.
    #[must_use]
    pub fn is_of_interest(line: &str) -> bool {
        let first = line.split_ascii_whitespace().next().unwrap_or_default();
        let names = [
            "refclock",
            "makestep",
            "rtcsync",
            "leapsecmode",
            "smoothtime",
            "include",
            "confdir",
            "sourcedir",
        ];
        names.iter().any(|name| first.eq_ignore_ascii_case(name))
    }

    /// Whether it may step the clock at any time.
    #[must_use]
    pub fn steps_always(&self) -> bool {
        self.makestep.is_some_and(|(_, limit)| limit < 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parse_reads_directives_and_no_comments() {
        let text = "# refclock PHC /dev/ptp9\npool 2.debian.pool.ntp.org iburst\n\
                    RefClock PHC /dev/ptp_kvm:nocrossts poll 2\nmakestep 1 -1\nrtcsync\n!smoothtime 400 0.01\n\
                    confdir /etc/chrony/conf.d\n";
        let config = ChronyConfig::parse(text);
        assert_eq!(config.phc, ["/dev/ptp_kvm"]);
        assert_eq!(config.makestep, Some((1.0, -1)));
        assert!(config.rtcsync && config.includes && !config.smears && config.steps_always());
        assert!(!ChronyConfig::parse("makestep 1 3\n").steps_always());
        let kept: Vec<&str> =
            text.lines().filter(|line| ChronyConfig::is_of_interest(line)).collect();
        assert!(kept.iter().all(|line| !line.contains("pool")), "{kept:?}");
        assert_eq!(ChronyConfig::parse(&kept.join("\n")), config);
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,200}") {
            let _ = ChronyConfig::parse(&text);
        }
    }
}

//! The output of linuxptp: `phc2sys`, which steers one clock of a machine by another one, and `ptp4l`, which steers the
//! clock of a network card by a clock of the network; `ts2phc`, which steers it by a pulse.

use super::{Remark, TimeSource, What};
use crate::Source;
use serde::Serialize;

/// The report of `phc2sys` about the wall clock (`CLOCK_REALTIME`) and the clock that it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Phc {
    /// Seconds by which the wall clock was ahead in the last line.
    pub ahead_s: f64,
    /// Whether the servo is locked in the last line (`s2`).
    pub held: bool,
    /// Seconds by which the wall clock was ahead when `phc2sys` set it (`s1`).
    pub set_from_s: Option<f64>,
    /// Whether the wall clock is the reference of the other clock.
    pub is_reference: bool,
    /// The correction of the steered clock's rate in the last line, in parts per million; negative: it is slowed down.
    pub frequency_ppm: Option<f64>,
    /// How long the reads of the other clock took in the last line, in seconds: the offset is known to half of that.
    pub delay_s: Option<f64>,
    /// The line.
    #[serde(skip)]
    pub source: Option<Source>,
}

/// The state of a port of `ptp4l`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    /// It follows a master.
    Slave,
    /// It waits, or measures before it follows a master.
    Listening,
    /// No clock is better than this machine's, which it distributes.
    GrandMaster,
    /// It is out of service.
    Faulty,
}

/// The report of `ptp4l` about its ports.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PtpPort {
    /// The state in the last line.
    pub state: Option<PortState>,
    /// Whether the network card did not return the time stamp of a packet that was sent.
    pub no_stamp: bool,
    /// The offset to the master in the last line with one, as root mean square, in nanoseconds.
    pub rms_ns: Option<f64>,
}

impl PtpPort {
    /// Adds a later line of the same text.
    pub(super) fn add(&mut self, later: Self) {
        self.state = later.state.or(self.state);
        self.no_stamp |= later.no_stamp;
        self.rms_ns = later.rms_ns.or(self.rms_ns);
    }

    /// Parses a line of `ptp4l`: `port_show_transition()` in port.c, `handle_state_decision_event()` in clock.c,
    /// `clock_stats_update()`, `sk_receive()` in sk.c.
    fn of_line(line: &str) -> Option<Self> {
        let state = [
            (" to FAULTY on ", PortState::Faulty),
            (" to SLAVE on ", PortState::Slave),
            (" to UNCALIBRATED on ", PortState::Listening),
            (" to LISTENING on ", PortState::Listening),
            ("assuming the grand master role", PortState::GrandMaster),
        ];
        let state =
            state.into_iter().find(|(words, _)| line.contains(words)).map(|(_, state)| state);
        let no_stamp = line.contains("timed out while polling for tx timestamp");
        let rms_ns = line.split_once(" rms ").and_then(|(_, rest)| {
            let mut words = rest.split_ascii_whitespace();
            let rms = words.next()?.parse().ok().filter(|rms: &f64| rms.is_finite())?;
            (words.next() == Some("max")).then_some(rms)
        });
        let found = Self { state, no_stamp, rms_ns };
        (found != Self::default()).then_some(found)
    }
}

impl Phc {
    /// Adds a later line of the same text.
    pub(super) fn add(&mut self, other: Self) {
        let set_from_s = other.set_from_s.or(self.set_from_s);
        // A line about another steered clock shows nothing about the wall clock.
        if !other.is_reference || self.is_reference {
            *self = Self { set_from_s, ..other };
        }
    }
}

impl TimeSource {
    /// Parses a line of linuxptp.
    ///
    /// Sources: `update_clock()` in phc2sys.c (`CLOCK_REALTIME phc offset N s2 freq F delay D`; `eth0 sys offset N` if
    /// the wall clock is the reference; the offset is that of the steered clock minus the reference),
    /// `clockcheck_sample()` in clockcheck.c.
    pub(super) fn of_ptp(line: &str, source: &Source) -> Option<Self> {
        let program =
            ["phc2sys", "ptp4l", "ts2phc"].into_iter().find(|name| line.contains(name))?;
        let jumped = ["clockcheck: clock jumped forward", "clockcheck: clock jumped backward"];
        if jumped.iter().any(|words| line.contains(words)) {
            let remark = Remark { what: What::OtherThanMonotonic, program, source: source.clone() };
            return Some(Self { remarks: vec![remark], ..Self::default() });
        }
        // `do_phc2sys_loop()` and its set-up in phc2sys.c, with -w.
        if program == "phc2sys" && line.contains("Waiting for ptp4l") {
            let remark = Remark { what: What::WaitsForPtp, program, source: source.clone() };
            return Some(Self { remarks: vec![remark], ..Self::default() });
        }
        // `ts2phc_nmea_pps_source_getppstime()` in ts2phc_nmea_pps_source.c.
        if program == "ts2phc" {
            if !line.contains("UTC time is past leap second table expiry date") {
                return None;
            }
            let remark = Remark { what: What::LeapTableExpired, program, source: source.clone() };
            return Some(Self { remarks: vec![remark], ..Self::default() });
        }
        if program == "ptp4l" {
            let ptp = Some(PtpPort::of_line(line)?);
            return Some(Self { ptp, ..Self::default() });
        }
        let (is_reference, rest) =
            if let Some((_, rest)) = line.split_once("CLOCK_REALTIME phc offset ") {
                (false, rest)
            } else if let Some((_, rest)) = line.split_once("]: phc offset ") {
                // Versions before 1.6 do not name the wall clock.
                (false, rest)
            } else {
                (true, line.split_once(" sys offset ")?.1)
            };
        let mut words = rest.split_ascii_whitespace();
        let ahead_s = words.next()?.parse::<f64>().ok().filter(|ns| ns.is_finite())? / 1e9;
        let state = words.next()?;
        if !matches!(state, "s0" | "s1" | "s2" | "s3") || words.next() != Some("freq") {
            return None;
        }
        // In parts per thousand million.
        let frequency_ppm = words
            .next()
            .and_then(|word| word.parse::<f64>().ok())
            .filter(|ppb| ppb.is_finite())
            .map(|ppb| ppb / 1e3);
        let delay_s = words
            .next()
            .filter(|word| *word == "delay")
            .and_then(|_| words.next()?.parse::<f64>().ok())
            .filter(|ns| ns.is_finite())
            .map(|ns| ns / 1e9);
        let phc = Phc {
            delay_s,
            ahead_s,
            held: matches!(state, "s2" | "s3"),
            set_from_s: (state == "s1" && !is_reference).then_some(ahead_s),
            is_reference,
            frequency_ppm,
            source: Some(source.clone()),
        };
        Some(Self {
            daemon: if is_reference { "" } else { "phc2sys" },
            phc: Some(phc),
            ..Self::default()
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    fn read(lines: &[&str]) -> TimeSource {
        let mut all = TimeSource::default();
        for line in lines {
            all.add(TimeSource::of_ptp(line, &Source("log".into())).unwrap());
        }
        all
    }

    #[test]
    fn wall_clock_that_was_set_is_held_behind_it() {
        let phc = read(&[
            "phc2sys[85.496]: CLOCK_REALTIME phc offset 37000000387 s0 freq   +9442 delay   5364",
            "phc2sys[86.498]: CLOCK_REALTIME phc offset 37000000530 s1 freq   +9585 delay   5628",
            "phc2sys[87.498]: CLOCK_REALTIME phc offset       -12 s2 freq   +9573 delay   5364",
        ])
        .phc
        .unwrap();
        assert!(phc.held && !phc.is_reference);
        assert_eq!((phc.frequency_ppm, phc.delay_s), (Some(9.573), Some(5.364e-6)));
        assert!((phc.set_from_s.unwrap() - 37.000_000_53).abs() < 1e-6 && phc.ahead_s.abs() < 1e-6);
    }

    #[test]
    fn older_versions_do_not_name_the_wall_clock() {
        let phc = read(&["phc2sys[4.479]: phc offset      -710 s2 freq  +1651 delay  87084"])
            .phc
            .unwrap();
        assert!(phc.held && !phc.is_reference && phc.delay_s.unwrap() > 8e-5);
    }

    #[test]
    fn offset_of_a_card_that_is_steered_by_the_wall_clock_is_not_that_of_the_wall_clock() {
        let told =
            read(&["phc2sys[70.460]: eth0 sys offset -189148237 s2 freq -32767999 delay 105580"]);
        assert!(told.phc.unwrap().is_reference && told.daemon.is_empty());
    }

    #[test]
    fn ts2phc_without_a_table_of_leap_seconds_steers_nothing() {
        let line = "ts2phc[90.125]: UTC time is past leap second table expiry date";
        assert_eq!(read(&[line]).remarks[0].what, What::LeapTableExpired);
        let locked = "ts2phc[91.125]: eth0 master offset -5 s2 freq +5257";
        assert!(TimeSource::of_ptp(locked, &Source("log".into())).is_none());
    }

    #[test]
    fn jumps_are_remarks_of_the_program_that_saw_them() {
        let line = "Sep 03 10:53:47 gw ptp4l[307]: [5192.617] clockcheck: clock jumped backward or running slower than expected!";
        let told = read(&[line]);
        assert_eq!(
            (told.remarks[0].program, &told.remarks[0].what),
            ("ptp4l", &What::OtherThanMonotonic)
        );
    }

    #[test]
    fn other_lines_say_nothing() {
        for line in [
            "phc2sys -s CLOCK_REALTIME -c eth0 sys offset 0",
            "phc2sys[1.2]: CLOCK_REALTIME phc offset x s2 freq 1",
            "the CLOCK_REALTIME phc offset 12 s2 freq 3 of another program",
            "ptp4l[1.2]: selected /dev/ptp0 as PTP clock",
            "start ptp4l: it comes from LISTENING to work",
        ] {
            assert_eq!(TimeSource::of_ptp(line, &Source("log".into())), None, "{line}");
        }
    }

    #[test]
    fn port_is_in_the_state_of_its_last_line() {
        let port = |lines: &[&str]| read(lines).ptp.unwrap();
        let slave = port(&[
            "ptp4l[1750.340]: assuming the grand master role",
            "ptp4l[1752.253]: port 1: MASTER to UNCALIBRATED on RS_SLAVE",
            "ptp4l[1752.680]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED",
            "ptp4l[1753.306]: rms 7742463 max 15502682 freq +25830 +/- 95588 delay   231 +/-   0",
            "ptp4l[1758.314]: rms  355 max  546 freq  -5712 +/- 491 delay   231 +/-   0",
        ]);
        assert_eq!((slave.state, slave.rms_ns), (Some(PortState::Slave), Some(355.0)));
        let faulty = port(&[
            "ptp4l[9.1]: timed out while polling for tx timestamp",
            "ptp4l[9.2]: port 1: MASTER to FAULTY on FAULT_DETECTED (FT_UNSPECIFIED)",
        ]);
        assert!(faulty.no_stamp && faulty.state == Some(PortState::Faulty));
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = TimeSource::of_ptp(&format!("phc2sys[1]: CLOCK_REALTIME phc offset {text}"), &Source("log".into()));
        }
    }
}

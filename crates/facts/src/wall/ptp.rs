//! What linuxptp says: `phc2sys`, which steers one clock of a machine by another one, and `ptp4l`, which steers the clock of a
//! network card by a clock of the network.

use super::{Remark, TimeSource, What};
use crate::Source;
use serde::Serialize;

/// What `phc2sys` says of the wall clock (`CLOCK_REALTIME`) and the clock that it is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Phc {
    /// How far the wall clock was ahead by the last line, in seconds.
    pub ahead_s: f64,
    /// By the last line the servo holds it (`s2`).
    pub held: bool,
    /// How far the wall clock was ahead when `phc2sys` set it (`s1`), in seconds.
    pub set_from_s: Option<f64>,
    /// The wall clock is the one that the other clock is steered by.
    pub is_reference: bool,
    /// The line.
    #[serde(skip)]
    pub source: Option<Source>,
}

impl Phc {
    /// What a later line of the same text adds.
    pub(super) fn add(&mut self, other: Self) {
        let set_from_s = other.set_from_s.or(self.set_from_s);
        // What steers another clock says nothing of this one.
        if !other.is_reference || self.is_reference {
            *self = Self { set_from_s, ..other };
        }
    }
}

impl TimeSource {
    /// A line of linuxptp.
    ///
    /// Sources: `update_clock()` in phc2sys.c (`CLOCK_REALTIME phc offset N s2 freq F delay D`; `eth0 sys offset N` where the wall
    /// clock is the reference; the offset is that of the steered clock less the reference), `clockcheck_sample()` in clockcheck.c.
    pub(super) fn of_ptp(line: &str, source: &Source) -> Option<Self> {
        let program = ["phc2sys", "ptp4l"].into_iter().find(|name| line.contains(name))?;
        let jumped = ["clockcheck: clock jumped forward", "clockcheck: clock jumped backward"];
        if jumped.iter().any(|words| line.contains(words)) {
            let remark = Remark { what: What::OtherThanMonotonic, program, source: source.clone() };
            return Some(Self { remarks: vec![remark], ..Self::default() });
        }
        let (is_reference, rest) =
            if let Some((_, rest)) = line.split_once("CLOCK_REALTIME phc offset ") {
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
        let phc = Phc {
            ahead_s,
            held: matches!(state, "s2" | "s3"),
            set_from_s: (state == "s1" && !is_reference).then_some(ahead_s),
            is_reference,
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
        assert!((phc.set_from_s.unwrap() - 37.000_000_53).abs() < 1e-6 && phc.ahead_s.abs() < 1e-6);
    }

    #[test]
    fn offset_of_a_card_that_is_steered_by_the_wall_clock_is_not_that_of_the_wall_clock() {
        let told =
            read(&["phc2sys[70.460]: eth0 sys offset -189148237 s2 freq -32767999 delay 105580"]);
        assert!(told.phc.unwrap().is_reference && told.daemon.is_empty());
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
            "ptp4l[1.2]: port 1: SLAVE to UNCALIBRATED on SYNCHRONIZATION_FAULT",
        ] {
            assert_eq!(TimeSource::of_ptp(line, &Source("log".into())), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            let _ = TimeSource::of_ptp(&format!("phc2sys[1]: CLOCK_REALTIME phc offset {text}"), &Source("log".into()));
        }
    }
}

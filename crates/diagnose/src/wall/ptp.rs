//! The wall clock compared with a PTP clock of the same machine, by `phc2sys`.

use super::difference::text;
use super::judge::View;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::wall::{Phc, PortState, PtpPort};

/// Seconds from which on the two clocks differ.
const APART_S: f64 = 0.5;
/// TAI minus UTC since 2017, in seconds: the error of a wall clock whose offset to a PTP clock was not configured.
const TAI_S: f64 = 37.0;
/// Seconds from which on one of the two clocks was never set: such clocks begin at 1970 or at a start.
const NEVER_SET_S: f64 = 10.0 * 365.25 * 86_400.0;

/// A correction of the rate from which on the counter is wrong, in parts per million: the kernel's own limit.
const RATE_PPM: f64 = 500.0;

/// A time of reads from which on the offset is not known well, in seconds.
const SLOW_READS_S: f64 = 20e-6;

/// The reason for the difference, as the end of a sentence, and whether the wall clock is the one that is wrong now.
fn why(ahead_s: f64, set: bool) -> (String, bool) {
    let is_tai = (ahead_s.abs() - TAI_S).abs() < APART_S;
    if is_tai {
        let now = if set { "is now off by as much" } else { "is pulled off by as much" };
        return (
            format!(
                "37 s is the difference between TAI, which PTP counts, and UTC: phc2sys was started \
                 without it (-w, or -O), and the wall clock {now} if it was correct"
            ),
            true,
        );
    }
    match (ahead_s.abs() >= NEVER_SET_S, ahead_s > 0.0) {
        (true, true) => (
            "that clock was never set, as happens without a grand master, and counts from 1970 or \
             from a start, so the wall clock is moved away from the correct time"
                .to_owned(),
            true,
        ),
        (true, false) => {
            ("the wall clock had never been set, as without a real-time clock".to_owned(), !set)
        }
        (false, _) => {
            ("one of the two was set wrong, stopped or was not synchronised".to_owned(), !set)
        }
    }
}

impl View<'_> {
    /// Adds the report of phc2sys; returns whether it is the answer.
    pub(super) fn phc(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) -> bool {
        let Some(phc) = self.told.and_then(|(told, _)| told.phc.as_ref()) else { return false };
        if phc.is_reference {
            words.push(card(phc));
            return false;
        }
        let now_apart = phc.ahead_s.abs() >= APART_S;
        let set = phc.set_from_s.filter(|by| !now_apart && by.abs() >= APART_S);
        let by = if now_apart { phc.ahead_s } else { set.unwrap_or(0.0) };
        if by == 0.0 {
            if let Some(ppm) = phc.frequency_ppm.filter(|ppm| ppm.abs() >= RATE_PPM) {
                self.wrong_rate_of_phc(phc, ppm, report, words, causes);
                return true;
            }
            if phc.held && self.synchronised() != Some(false) {
                report.state = WallState::Synchronised;
                report.held_at_card = true;
                let slow = phc.delay_s.filter(|delay| *delay >= SLOW_READS_S);
                let known = slow.map_or_else(String::new, |delay| {
                    format!(
                        " A read of that clock takes {}, so the offset is known only to half of that, and its jitter is the \
                         error of these reads: use a card whose driver has PTP_SYS_OFFSET_EXTENDED or cross time stamps, and more \
                         readings each time (phc2sys -N).",
                        small(delay)
                    )
                });
                words.push(format!(
                    "phc2sys holds the wall clock within {} of a PTP clock of this machine.{known}{}",
                    small(phc.ahead_s),
                    self.whether_it_is_right()
                ));
                return true;
            }
            return false;
        }
        let way = if by > 0.0 { "ahead of" } else { "behind" };
        let (why, is_wrong) = why(by, set.is_some());
        let done = match (set.is_some(), phc.held) {
            (true, _) => ", and set it to that clock's time",
            (false, true) => ", and moves it there slowly",
            (false, false) => "",
        };
        let summary = format!(
            "phc2sys found the wall clock {} {way} a PTP clock of this machine{done}: {why}",
            text(by)
        );
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        report.state = if is_wrong { WallState::Unsynchronised } else { WallState::Unknown };
        let severity = if is_wrong { Severity::Warning } else { Severity::Info };
        let evidence = phc
            .source
            .iter()
            .map(|source| Evidence::new(source.0.clone(), format!("phc2sys: offset {by:+.3} s")));
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, severity, Confidence::Medium, summary, evidence.collect()));
        true
    }
}

impl View<'_> {
    /// What is open about a PTP clock unless `ptp4l` follows a master with it.
    fn whether_it_is_right(&self) -> &'static str {
        let follows = |port: &PtpPort| port.state == Some(PortState::Slave);
        if self.told.and_then(|(told, _)| told.ptp.as_ref()).is_some_and(follows) {
            return "";
        }
        " These lines do not show whether that clock is correct: ptp4l has to follow a master with it (SLAVE). A clock \
         that was never set counts from 1970 or from its start, and phc2sys then sets the wall clock to that time. \
         phc_ctl eth0 get shows its time; phc_ctl eth0 set sets it to that of the wall clock."
    }

    /// A wall clock that phc2sys holds by a correction which no quartz needs.
    fn wrong_rate_of_phc(
        &self,
        phc: &Phc,
        ppm: f64,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let way = if ppm > 0.0 { "slow" } else { "fast" };
        let off = match phc.ahead_s.abs() {
            off if off >= 1e-3 => {
                format!(", and according to its last line it is off by {}", text(off))
            }
            _ => String::new(),
        };
        let summary = format!(
            "phc2sys corrects the rate of the wall clock by {:.0} ppm, although a crystal needs at most 100 ppm \
             and ntpd corrects at most 500{off}: the counter runs {way} according to the kernel's figure for it, \
             or another program steers the same clock",
            ppm.abs()
        );
        words.push(sentence(&summary));
        report.state = WallState::Unknown;
        report
            .settles
            .push(settle("what else steers it", "timedatectl; systemctl status chronyd ntpd"));
        let evidence = phc
            .source
            .iter()
            .map(|source| Evidence::new(source.0.clone(), format!("phc2sys: freq {ppm:+.0} ppm")));
        let id = CauseId::WallClockUnsynchronised;
        let severity = Severity::Warning;
        causes.push(cause(id, severity, Confidence::Medium, summary, evidence.collect()));
    }
}

/// The text for a network card's clock that the wall clock steers.
fn card(phc: &Phc) -> String {
    let by = if phc.ahead_s.abs() >= 1e-3 {
        format!(": {} according to the last line", text(phc.ahead_s))
    } else {
        String::new()
    };
    format!(
        "phc2sys synchronises the clock of a network card to the wall clock: the offsets are those \
         of the card{by}, and say nothing about the wall clock."
    )
}

/// A short duration as text.
fn small(seconds: f64) -> String {
    let ns = seconds.abs() * 1e9;
    match ns {
        ns if ns < 1e3 => "1 us".to_owned(),
        ns if ns < 1e7 => format!("{:.0} us", (ns / 1e3).ceil()),
        _ => text(seconds),
    }
}

/// The state of the ports of `ptp4l`, as a sentence.
pub(super) fn port(port: &PtpPort) -> Option<String> {
    if port.no_stamp {
        return Some(
            "ptp4l waited for the time stamp of a packet that it had sent, and the network card did \
             not supply it, so the port is out of service for a few seconds each time: the driver \
             or the card is at fault, or tx_timestamp_timeout is too short. The clocksource is not \
             affected."
                .to_owned(),
        );
    }
    Some(match port.state {
        Some(PortState::Faulty) => {
            "According to its last line, a port of ptp4l is out of service (FAULTY): the link, the \
             driver or the network is at fault."
                .to_owned()
        }
        Some(PortState::GrandMaster) => {
            "ptp4l found no better clock in the network and hands out the time of this machine: it \
             follows nothing, and this does not show what synchronises this clock."
                .to_owned()
        }
        Some(PortState::Listening) => {
            "According to its last line, ptp4l does not follow a master: it waits for one, or has \
             begun to measure."
                .to_owned()
        }
        Some(PortState::Slave) | None => {
            let by = port.rms_ns?;
            format!(
                "According to its last line, ptp4l follows a master within {} (rms): that is the \
                 clock of the network card. The output of phc2sys shows whether the wall clock \
                 follows it.",
                small(by / 1e9)
            )
        }
    })
}

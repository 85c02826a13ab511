//! A time daemon's statements about its source, and the combination of several parts of a text.

use super::remark::MOST;
use super::{Correction, Outvoted, Phc, Places, PtpPort, Rejected, Remark, What};
use serde::Serialize;

/// A time daemon's statements about its source.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeSource {
    /// The daemon: `chronyd`, `ntpd`, `systemd-timesyncd`; empty if the text does not show it.
    pub daemon: &'static str,
    /// Whether it follows a source; `None` if the text does not show it.
    pub follows: Option<bool>,
    /// The number of sources in the list, and of those that answered recently.
    pub sources: Option<(u32, u32)>,
    /// Seconds by which the clock is ahead of the source.
    pub ahead_s: Option<f64>,
    /// Whether the source is a clock of this machine (`PHC0`, `PPS`).
    pub is_local: bool,
    /// The correction of the rate in parts per million, positive if the clock would be slow without it, with the
    /// kernel's sign.
    pub frequency_ppm: Option<f64>,
    /// The corrections of the rate that ntpd's loop asked for beyond what it may make, in parts per million. An offset that it may not step
    /// also asks for one.
    pub asked_ppm: Vec<f64>,
    /// The uncertainty of the rate, in parts per million.
    pub skew_ppm: Option<f64>,
    /// The possible error of the source itself by its accumulated dispersion, in seconds.
    pub dispersion_s: Option<f64>,
    /// Whether the daemon's reference is this machine's clock (`127.127.1.1`: chrony's `local`, ntpd's LOCAL driver).
    pub own_clock: bool,
    /// Whether chronyd has no reference and prints constants in the place of its figures (`REF_GetReferenceParams()` in
    /// chrony's reference.c).
    pub no_reference: bool,
    /// Whether the daemon follows a source, by the last line of its log about that.
    pub logged: Option<bool>,
    /// Whether the last line of the daemon's log states that its sources answer and that no majority of them agrees
    /// (`SRC_SelectSource()` in chrony's sources.c).
    pub no_majority: bool,
    /// The growth of the offset to a source that answers, from poll to poll, in parts per million; positive if the
    /// clock is slow.
    pub drift_ppm: Option<f64>,
    /// Seconds by which the clock is ahead of sources that answer and are not followed.
    pub offered_s: Vec<f64>,
    /// The variation of the offset to such a source between polls, and the round-trip time of a packet to it, in
    /// seconds.
    pub unsteady_s: Option<(f64, f64)>,
    /// Number of sources that answer, if no table lists them all.
    pub answering: u32,
    /// Number of sources that answer and that the daemon rejects, because they disagree with others (`x`,
    /// falsetickers).
    pub disagree: u32,
    /// The source that chronyd selected last, by its log.
    pub selected: Option<String>,
    /// A source that its log rejects.
    pub rejected: Option<Rejected>,
    /// The servers that answer, if all of them contradict the source that it follows.
    pub outvoted: Option<Outvoted>,
    /// Whether the daemon sent no packet and has no server (`systemd-timesyncd`).
    pub asks_nobody: bool,
    /// Whether servers are configured for such a daemon.
    pub has_servers: bool,
    /// Whether the daemon has a server and sent it packets (`systemd-timesyncd`).
    pub asks_one: bool,
    /// Log lines about the clock other than corrections.
    pub remarks: Vec<Remark>,
    /// The report of `phc2sys`.
    pub phc: Option<Phc>,
    /// The report of `ptp4l` about its ports.
    pub ptp: Option<PtpPort>,
    /// The corrections that daemons wrote to their logs, in the order of the text.
    pub corrections: Vec<Correction>,
    /// The lines of these values.
    #[serde(skip)]
    pub places: Places,
}

/// More than any oscillator is off, in parts per million.
const OSCILLATOR_PPM: f64 = 5000.0;
/// The factor from which on two corrections are not those of one rate.
const VARIES: f64 = 2.0;

impl TimeSource {
    /// Adds another part of the same text.
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
        self.asked_ppm.extend(other.asked_ppm);
        self.asked_ppm.truncate(MOST);
        self.skew_ppm = self.skew_ppm.or(other.skew_ppm);
        self.dispersion_s = self.dispersion_s.or(other.dispersion_s);
        self.drift_ppm = self.drift_ppm.or(other.drift_ppm);
        self.unsteady_s = self.unsteady_s.or(other.unsteady_s);
        if self.offered_s.is_empty() {
            self.offered_s = other.offered_s;
        }
        self.answering = self.answering.max(other.answering);
        self.disagree = self.disagree.max(other.disagree);
        self.asks_nobody |= other.asks_nobody;
        self.has_servers |= other.has_servers;
        self.asks_one |= other.asks_one;
        self.outvoted = self.outvoted.take().or(other.outvoted);
        self.add_choice(other.selected, other.rejected);
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
        match (&mut self.ptp, other.ptp) {
            (Some(port), Some(later)) => port.add(later),
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

    /// The correction of the rate, unless ntpd's loop asks for it because of an offset: then its figures vary, are larger than any
    /// oscillator's, or are beside an offset that was not corrected by a small step.
    #[must_use]
    pub fn rate_ppm(&self) -> Option<f64> {
        self.frequency_ppm.filter(|_| !self.asks_by_offset())
    }

    /// Whether the corrections that ntpd's loop asked for may come from an offset.
    #[must_use]
    pub fn asks_by_offset(&self) -> bool {
        let sizes = || self.asked_ppm.iter().map(|ppm| ppm.abs());
        let most = sizes().fold(0.0, f64::max);
        let least = sizes().fold(f64::INFINITY, f64::min);
        let of_step = self.remarks_of(|what| matches!(what, What::TooFar { .. })).next().is_some();
        !self.asked_ppm.is_empty() && (most > OSCILLATOR_PPM || most > least * VARIES || of_step)
    }

    /// Whether sources answer with different times, so that the daemon rejects some of them.
    #[must_use]
    pub fn sources_disagree(&self) -> bool {
        let answer = self.sources.is_none_or(|(_, answering)| answering > 0);
        self.disagree > 0 || self.no_majority && self.logged == Some(false) && answer
    }

    /// The same, reduced to the values that hold although the heading and other rows of the table may be missing.
    #[must_use]
    pub fn of_a_part(mut self) -> Self {
        self.follows = self.follows.filter(|follows| *follows);
        self.sources = None;
        self
    }
}

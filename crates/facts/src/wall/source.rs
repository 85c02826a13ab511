//! What a time daemon says of its source, and how what several parts of a text say is added.

use super::remark::MOST;
use super::{Correction, Phc, Places, PtpPort, Remark};
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
    /// What `ptp4l` says of its ports.
    pub ptp: Option<PtpPort>,
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

    /// Whether sources answer and say different times, so that the daemon holds some of them for wrong.
    #[must_use]
    pub fn sources_disagree(&self) -> bool {
        let answer = self.sources.is_none_or(|(_, answering)| answering > 0);
        self.disagree > 0 || self.no_majority && self.logged == Some(false) && answer
    }

    /// The same without what a table whose heading is not in the text may lack: the rows that were left out.
    #[must_use]
    pub fn of_a_part(mut self) -> Self {
        self.follows = self.follows.filter(|follows| *follows);
        self.sources = None;
        self
    }
}

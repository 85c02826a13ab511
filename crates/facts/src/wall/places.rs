//! The lines that contain the parts of a time source: in a text they may be far apart.

use super::TimeSource;
use crate::Source;

/// Where each part was read; empty if it was not, or from no text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Of [`TimeSource::follows`].
    pub follows: Option<Source>,
    /// Of [`TimeSource::sources`].
    pub sources: Option<Source>,
    /// Of [`TimeSource::ahead_s`].
    pub ahead: Option<Source>,
    /// Of [`TimeSource::frequency_ppm`].
    pub frequency: Option<Source>,
    /// Of [`TimeSource::skew_ppm`].
    pub skew: Option<Source>,
    /// Of [`TimeSource::dispersion_s`].
    pub dispersion: Option<Source>,
    /// Of [`TimeSource::drift_ppm`].
    pub drift: Option<Source>,
    /// Of [`TimeSource::offered_s`] and of the values that are read together with it.
    pub offered: Option<Source>,
    /// Of [`TimeSource::logged`].
    pub logged: Option<Source>,
}

impl TimeSource {
    /// The same, for parts in one line.
    #[must_use]
    pub fn at(mut self, source: &Source) -> Self {
        let here = |said: bool| said.then(|| source.clone());
        self.places = Places {
            follows: here(self.follows.is_some()),
            sources: here(self.sources.is_some()),
            ahead: here(self.ahead_s.is_some()),
            frequency: here(self.frequency_ppm.is_some()),
            skew: here(self.skew_ppm.is_some()),
            dispersion: here(self.dispersion_s.is_some()),
            drift: here(self.drift_ppm.is_some()),
            offered: here(!self.offered_s.is_empty() || self.disagree > 0),
            logged: here(self.logged.is_some()),
        };
        self
    }
}

impl Places {
    /// The first line that contains a part is used, as the part is; of a log the last one.
    pub(super) fn add(&mut self, other: Self) {
        let first = |slot: &mut Option<Source>, other: Option<Source>| {
            if slot.is_none() {
                *slot = other;
            }
        };
        first(&mut self.follows, other.follows);
        first(&mut self.sources, other.sources);
        first(&mut self.ahead, other.ahead);
        first(&mut self.frequency, other.frequency);
        first(&mut self.skew, other.skew);
        first(&mut self.dispersion, other.dispersion);
        first(&mut self.drift, other.drift);
        first(&mut self.offered, other.offered);
        self.logged = other.logged.or(self.logged.take());
    }
}

//! Whether the watch itself ran later than planned: then the machine was stopped, suspended, or too
//! busy.

use crate::edge::own;
use crate::state::Observation;
use std::time::{Duration, Instant};

/// A sleep, and the state before it.
#[derive(Debug)]
pub(super) struct Lateness {
    bound: f64,
    until: Option<Instant>,
    waited: Option<f64>,
    /// Seconds of suspension since boot.
    suspended: f64,
}

impl Lateness {
    pub(super) fn new(bound: Duration) -> Self {
        Self { bound: bound.as_secs_f64(), until: None, waited: None, suspended: 0.0 }
    }

    /// Records that it sleeps from now on, at most so long.
    pub(super) fn sleeps(&mut self, patience: Duration) {
        self.until = Some(Instant::now() + patience);
        self.waited = own::waited();
        self.suspended = own::since_boot() - own::awake();
    }

    /// Records that it woke.
    pub(super) fn woke(&mut self) -> Option<Observation<'static>> {
        let until = self.until.take()?;
        let late = Instant::now().saturating_duration_since(until).as_secs_f64();
        let suspended = own::since_boot() - own::awake() - self.suspended;
        let seconds = late.max(suspended);
        if seconds < self.bound {
            return None;
        }
        let waited = own::waited().zip(self.waited).map(|(now, before)| now - before);
        Some(Observation::Late { seconds, waited, suspended: suspended.max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wakeup_is_late() {
        let mut lateness = Lateness::new(Duration::from_millis(50));
        lateness.sleeps(Duration::from_secs(60));
        assert!(lateness.woke().is_none());
        lateness.sleeps(Duration::ZERO);
        std::thread::sleep(Duration::from_millis(60));
        assert!(matches!(lateness.woke(), Some(Observation::Late { .. })));
        assert!(lateness.woke().is_none());
    }
}

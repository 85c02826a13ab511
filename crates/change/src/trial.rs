//! The trial of a new clocksource, which decides whether the change stays.
//!
//! Pure: observations come through [`Subject`], so that simulated machines can test every outcome of a trial.
//! This module decides what is observed, in which order, and what is evidence against the change. It must
//! not make or revert the change ([`crate::journal`]), measure, or print.

use crate::accept::Accept;
use crate::switch::ChangeError;
use std::time::Duration;
use thiserror::Error;

/// A change that is to make reads faster, and leaves them at more than this share of the cost, does not.
const FASTER: f64 = 0.9;
/// Between two looks at the clocksource.
const LOOK: Duration = Duration::from_millis(200);

/// The terms of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Terms {
    /// The clocksource that was chosen.
    pub target: String,
    /// The read cost before, in nanoseconds, if it was measured.
    pub before_ns: Option<f64>,
    /// Whether the change stays only if reads are faster, because the user did not name the
    /// clocksource.
    pub must_be_faster: bool,
    /// Risks that were accepted by name.
    pub accept: Accept,
    /// The least duration of the watch, from the moment of the change.
    pub watch: Duration,
}

/// The verdict of `verify` with the new clocksource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verified {
    /// It can be trusted.
    Trusted,
    /// It cannot: why.
    NotTrusted(String),
    /// It could not be determined: why.
    Unknown(String),
}

/// The machine on which the trial is.
pub trait Subject {
    /// The clocksource in use.
    ///
    /// # Errors
    /// Returns an error if the kernel does not report it.
    fn current(&mut self) -> Result<String, ChangeError>;
    /// The read cost now, in nanoseconds; `None` if it cannot be measured.
    fn cost(&mut self) -> Option<f64>;
    /// Verifies the counter and the clocks, which takes seconds.
    fn verify(&mut self) -> Verified;
    /// Whether the user wants to stop.
    fn stop(&mut self) -> bool;
    /// The time since the change was made.
    fn elapsed(&mut self) -> Duration;
    /// Waits for `pause`; `left` is the remaining time of the trial, to be shown.
    fn rest(&mut self, pause: Duration, left: Duration);
}

/// The reason why a change is reverted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Objection {
    /// Another clocksource is in use.
    #[error("{current} is in use instead of {target}: the kernel or another process chose it")]
    Left {
        /// The one that was chosen.
        target: String,
        /// The one in use.
        current: String,
    },
    /// Reads cost as much as before.
    #[error("reads of the time are no faster with {0}")]
    NotFaster(String),
    /// A fault was measured.
    #[error("verify objects: {0}")]
    Fault(String),
    /// Whether there is a fault is not known.
    #[error("it could not be verified with the new clocksource: {0}")]
    Unverified(String),
    /// A signal came.
    #[error("it was interrupted before the watch ended")]
    Stopped,
    /// The kernel does not report the clocksource in use.
    #[error("it cannot be watched: {0}")]
    Blind(String),
}

/// Runs the trial: first whether the clocksource is faster, then whether it can be trusted, then whether it
/// lasts. After each of these it checks whether the clocksource is still the chosen one, because otherwise
/// another one was measured.
///
/// # Errors
/// Returns the first evidence against the change.
pub fn hold(terms: &Terms, subject: &mut impl Subject) -> Result<(), Objection> {
    still(terms, subject)?;
    let after = subject.cost();
    still(terms, subject)?;
    if let (true, Some(before), Some(after)) = (terms.must_be_faster, terms.before_ns, after)
        && after > before * FASTER
    {
        return Err(Objection::NotFaster(terms.target.clone()));
    }
    let verified = subject.verify();
    still(terms, subject)?;
    let Accept { backward, unverified } = terms.accept;
    match verified {
        Verified::NotTrusted(why) if !backward => return Err(Objection::Fault(why)),
        Verified::Unknown(why) if !backward && !unverified => {
            return Err(Objection::Unverified(why));
        }
        _ => {}
    }
    loop {
        let left = terms.watch.saturating_sub(subject.elapsed());
        if left.is_zero() {
            return still(terms, subject);
        }
        subject.rest(LOOK.min(left), left);
        still(terms, subject)?;
    }
}

fn still(terms: &Terms, subject: &mut impl Subject) -> Result<(), Objection> {
    match subject.current() {
        Err(error) => return Err(Objection::Blind(error.to_string())),
        Ok(current) if current != terms.target => {
            return Err(Objection::Left { target: terms.target.clone(), current });
        }
        Ok(_) => {}
    }
    if subject.stop() { Err(Objection::Stopped) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which things happen at times, in milliseconds since the change.
    struct MadeUp {
        now: u64,
        /// From then on another clocksource is in use; none: it cannot be read.
        leaves: (u64, Option<&'static str>),
        stops: u64,
        cost: Option<f64>,
        verified: Verified,
        rests: u32,
    }

    const NEVER: u64 = u64::MAX;

    fn good() -> MadeUp {
        let verified = Verified::Trusted;
        MadeUp { now: 0, leaves: (NEVER, None), stops: NEVER, cost: Some(20.0), verified, rests: 0 }
    }

    impl Subject for MadeUp {
        fn current(&mut self) -> Result<String, ChangeError> {
            if self.now < self.leaves.0 {
                return Ok("tsc".to_owned());
            }
            self.leaves.1.map(str::to_owned).ok_or_else(|| ChangeError::Read {
                path: "current_clocksource".into(),
                error: std::io::ErrorKind::PermissionDenied.into(),
            })
        }
        fn cost(&mut self) -> Option<f64> {
            self.now += 300;
            self.cost
        }
        fn verify(&mut self) -> Verified {
            self.now += 5000;
            self.verified.clone()
        }
        fn stop(&mut self) -> bool {
            self.now >= self.stops
        }
        fn elapsed(&mut self) -> Duration {
            Duration::from_millis(self.now)
        }
        fn rest(&mut self, pause: Duration, left: Duration) {
            assert!(pause <= left && !pause.is_zero());
            self.rests += 1;
            self.now += u64::try_from(pause.as_millis()).unwrap();
        }
    }

    fn terms() -> Terms {
        Terms {
            target: "tsc".to_owned(),
            before_ns: Some(900.0),
            must_be_faster: true,
            accept: Accept::default(),
            watch: Duration::from_secs(20),
        }
    }

    fn left(current: &str) -> Result<(), Objection> {
        Err(Objection::Left { target: "tsc".to_owned(), current: current.to_owned() })
    }

    #[test]
    fn hold_good_change_stays_after_whole_watch() {
        let mut machine = good();
        assert_eq!(hold(&terms(), &mut machine), Ok(()));
        assert!(machine.now >= 20_000 && machine.rests > 50, "{}", machine.now);
        // Verifying takes longer than the watch.
        let short = Terms { watch: Duration::from_secs(1), ..terms() };
        let mut machine = good();
        assert_eq!(hold(&short, &mut machine), Ok(()));
        assert_eq!(machine.rests, 0);
    }

    #[test]
    fn another_clocksource_at_any_time_ends_it_with_its_name() {
        for at in [0, 100, 1000, 5300, 5301, 12_345, 19_999, 20_000] {
            let mut machine = MadeUp { leaves: (at, Some("hpet")), ..good() };
            assert_eq!(hold(&terms(), &mut machine), left("hpet"), "{at}");
            assert!(machine.now <= at + 5300, "{at}: seen at {} only", machine.now);
        }
        // The measurement at that time was of another clocksource.
        let verified = Verified::NotTrusted("x".to_owned());
        let mut machine =
            MadeUp { leaves: (200, Some("hpet")), cost: Some(900.0), verified, ..good() };
        assert_eq!(hold(&terms(), &mut machine), left("hpet"));
        let verified = Verified::NotTrusted("x".to_owned());
        let mut machine = MadeUp { leaves: (2000, Some("hpet")), verified, ..good() };
        assert_eq!(hold(&terms(), &mut machine), left("hpet"));
        let mut machine = MadeUp { leaves: (7000, None), ..good() };
        assert!(matches!(hold(&terms(), &mut machine), Err(Objection::Blind(_))));
    }

    #[test]
    fn a_signal_at_any_time_ends_it() {
        for at in [0, 200, 3000, 5300, 7777, 20_000] {
            let mut machine = MadeUp { stops: at, ..good() };
            assert_eq!(hold(&terms(), &mut machine), Err(Objection::Stopped), "{at}");
        }
    }

    #[test]
    fn hold_with_verify_finding_objects_unless_accepted() {
        let fault = Verified::NotTrusted("apart".to_owned());
        let unknown = Verified::Unknown("busy".to_owned());
        let of =
            |backward, unverified| Terms { accept: Accept { backward, unverified }, ..terms() };
        for (verified, terms, expected) in [
            (&fault, of(false, false), Err(Objection::Fault("apart".to_owned()))),
            (&fault, of(false, true), Err(Objection::Fault("apart".to_owned()))),
            (&fault, of(true, false), Ok(())),
            (&unknown, of(false, false), Err(Objection::Unverified("busy".to_owned()))),
            (&unknown, of(false, true), Ok(())),
            (&unknown, of(true, false), Ok(())),
        ] {
            let mut machine = MadeUp { verified: verified.clone(), ..good() };
            assert_eq!(hold(&terms, &mut machine), expected);
        }
        // Accepted or not, it is watched.
        let mut machine = MadeUp { verified: fault, leaves: (9000, Some("hpet")), ..good() };
        assert_eq!(hold(&of(true, true), &mut machine), left("hpet"));
    }

    #[test]
    fn hold_slower_change_objects_unless_named() {
        let slow = || MadeUp { cost: Some(880.0), ..good() };
        let objection = Err(Objection::NotFaster("tsc".to_owned()));
        let mut machine = slow();
        assert_eq!(hold(&terms(), &mut machine), objection);
        assert!(machine.now < 1000, "verified for nothing");
        let named = Terms { must_be_faster: false, ..terms() };
        assert_eq!(hold(&named, &mut slow()), Ok(()));
        // A missing measurement is not an objection.
        let blind = Terms { before_ns: None, ..terms() };
        assert_eq!(hold(&blind, &mut slow()), Ok(()));
        assert_eq!(hold(&terms(), &mut MadeUp { cost: None, ..good() }), Ok(()));
    }
}

//! The wall clock: set, synchronised or no longer synchronised, behind after a pause. Pure.
//!
//! `CLOCK_REALTIME` less `CLOCK_BOOTTIME` changes only by steps: the kernel slews both equally, and counts a suspension
//! in both (`timekeeping_adjust()` and `tk_set_wall_to_mono()` in `kernel/time/timekeeping.c`). So neither a slew nor a
//! smeared leap second is a step.

use super::Watch;
use crate::event::{Event, Kind, Reason};
use crate::judge::State;
use clocksmith_diagnose::CauseId;
use clocksmith_facts::ntp::{NtpState, Timex};

/// A step below this size is not reported, in nanoseconds.
const STEP_NS: i64 = 1_000_000;
/// How far a clock outside must have run ahead between two readings for a pause, in nanoseconds: the host's clock, and a
/// real-time clock, which counts whole seconds.
const PAUSE_HOST_NS: i64 = 500_000_000;
const PAUSE_RTC_NS: i64 = 3_000_000_000;
/// Seconds after a restore during which a step that corrects the clock is expected.
const AFTER: f64 = 900.0;
/// Seconds after the kernel reported that the guest is a copy, during which another clock that ran ahead means the
/// same.
const SAME: f64 = 10.0;
/// A leap second, and how near to one a step is one, in nanoseconds.
const SECOND_NS: i64 = 1_000_000_000;
const NEAR_NS: i64 = 10_000_000;

/// One reading of the wall clock.
#[derive(Clone, Debug, PartialEq)]
pub struct WallReading {
    /// `CLOCK_REALTIME` less `CLOCK_BOOTTIME`, in nanoseconds.
    pub offset_ns: i64,
    /// The error of that, in nanoseconds.
    pub window_ns: i64,
    /// The kernel's discipline, where the system provides it.
    pub timex: Option<Timex>,
    /// A clock that continues while this guest does not run, if it is a guest and has one.
    pub other: Option<Other>,
}

/// A clock outside of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// `ptp0`, `rtc_cmos`.
    pub name: String,
    /// How far it is ahead of the wall clock, in nanoseconds.
    pub ahead_ns: i64,
    /// It is the host's clock; otherwise a real-time clock, which counts whole seconds.
    pub is_host: bool,
}

/// The state of the wall clock.
#[derive(Debug, Default)]
pub(super) struct Wall {
    last: Option<WallReading>,
    /// Whether it was synchronised at the last reading, and since when not.
    synchronised: Option<bool>,
    unsynchronised_at: Option<f64>,
    /// The last restore or pause, until a step of the clock corrects it.
    stale: Option<Stale>,
    /// When the kernel reported that.
    forked_at: Option<f64>,
    /// An outside clock ran ahead; this is reported at the next reading if it is still ahead.
    ran_ahead: Option<i64>,
    /// The steps since that, in nanoseconds.
    stepped: i64,
    /// A whole look at the machine is wanted.
    look: bool,
}

/// A wall clock that is behind because its guest did not run.
#[derive(Clone, Copy, Debug)]
struct Stale {
    /// Since when, by the wall clock.
    since: f64,
    /// By how much the wall clock is behind, in nanoseconds, if a clock outside showed it.
    behind_ns: Option<i64>,
}

impl Stale {
    /// Returns whether a step, seen at a time by the clock after it, corrects the wall clock.
    fn is_mended_by(self, time: f64, step: i64) -> bool {
        // Also by the clock before the step.
        let soon = |time: f64| (0.0..AFTER).contains(&(time - self.since));
        let nearer = match self.behind_ns {
            Some(behind) => behind.saturating_sub(step).saturating_abs() < behind.saturating_abs(),
            None => step > 0,
        };
        nearer && (soon(time) || soon(time - step_s(step)))
    }

    /// Returns the rest of it after such a step; a real-time clock does not show an error of less than a few seconds.
    fn after(self, step: i64) -> Option<Self> {
        let behind = self.behind_ns?.saturating_sub(step);
        let behind_ns = Some(behind).filter(|behind| behind.saturating_abs() >= PAUSE_RTC_NS)?;
        Some(Self { behind_ns: Some(behind_ns), ..self })
    }
}

impl Wall {
    /// Returns whether a whole look is wanted, and clears the wish.
    pub(super) fn look(&mut self) -> bool {
        std::mem::take(&mut self.look)
    }
}

impl Watch {
    /// The last reading of the wall clock.
    #[must_use]
    pub fn wall(&self) -> Option<&WallReading> {
        self.wall.last.as_ref()
    }

    /// Records the kernel's message that this guest was restored, or is a copy.
    pub(super) fn forked(&mut self, time: f64, line: String) {
        let text = "this guest was restored from a snapshot, or is a copy";
        let mut event = Event::new(time, Kind::Restored, State::Warning, text);
        event.reason = Some(Reason {
            cause: Some(CauseId::WallClockStaleAfterRestore.name().to_owned()),
            text: "its generation id changed; the wall clock continues from the time of the \
                   snapshot until something sets it"
                .to_owned(),
            evidence: Some(line),
        });
        self.wall.stale = Some(Stale { since: time, behind_ns: None });
        self.wall.forked_at = Some(time);
        self.wall.look = true;
        self.tell(event);
    }

    /// A reading of the wall clock.
    pub(super) fn wall_clock(&mut self, time: f64, reading: WallReading) {
        let before = self.wall.last.replace(reading.clone());
        self.synchronisation(time, reading.timex);
        let Some(before) = before else { return };
        let step = reading.offset_ns.saturating_sub(before.offset_ns);
        let noise = before.window_ns.saturating_add(reading.window_ns).saturating_mul(2);
        if step.saturating_abs() >= STEP_NS.max(noise) {
            self.step(time, step, &before, &reading);
        }
        self.pause(time, &before, &reading, step);
    }

    fn step(&mut self, time: f64, step: i64, before: &WallReading, now: &WallReading) {
        let timex = now.timex;
        // TIME_INS to TIME_WAIT: a leap second is due, under way, or just over.
        let due = timex.and_then(|timex| timex.state).is_some_and(|state| (1..=4).contains(&state));
        let leap = due && (step.saturating_abs() - SECOND_NS).abs() < NEAR_NS;
        #[allow(clippy::cast_precision_loss)]
        let ms = step as f64 / 1e6;
        let mends = |stale: &Stale| !leap && stale.is_mended_by(time, step);
        let mended = if let Some(stale) = self.wall.stale.filter(mends) {
            self.wall.stale = stale.after(step);
            true
        } else {
            // The step may come before the reading that confirms the pause, or with the first one that shows it.
            let shown = ran_ahead(before, now, step).filter(|(ahead, least)| ahead >= least);
            let ahead = self.wall.ran_ahead.or(shown.map(|(ahead, _)| ahead));
            ahead.is_some_and(|ns| mends(&Stale { since: time, behind_ns: Some(ns) }))
        };
        self.wall.stepped = self.wall.stepped.saturating_add(step);
        let (state, why) = match (leap, mended) {
            (true, _) => (State::Ok, "a leap second"),
            (_, true) => (
                State::Ok,
                "this guest was restored or paused before, and something set the clock since",
            ),
            _ => (
                State::Warning,
                "a time daemon, a hypervisor's agent or a person set it (clock_settime, or a step of adjtimex)",
            ),
        };
        let mut event = Event::new(
            time,
            Kind::WallClockStep,
            state,
            // Digits that the step has: of a minute, microseconds are those of the reading.
            match ms.abs() < 1e4 {
                true => format!("the wall clock was set by {ms:+.3} ms"),
                false => format!("the wall clock was set by {:+.3} s", ms / 1e3),
            },
        );
        event.to = Some(format!("{ms:+.3} ms"));
        event.reason = Some(Reason { cause: None, text: why.to_owned(), evidence: None });
        self.wall.look = true;
        self.tell(event);
    }

    fn synchronisation(&mut self, time: f64, timex: Option<Timex>) {
        let Some(state) = timex.map(NtpState::from) else { return };
        let before = self.wall.synchronised.replace(state.synchronized);
        match (before, state.synchronized) {
            (Some(true), false) => {
                self.wall.unsynchronised_at = Some(time);
                let mut event = Event::new(
                    time,
                    Kind::WallClockSync,
                    State::Warning,
                    "the wall clock is no longer synchronised",
                );
                let text = match state.stated_error_us() {
                    Some(_) => "a time daemon says so, or has just started",
                    None => {
                        "it was set by something other than a time daemon, or no daemon updated it \
                             until the kernel's bound of its error grew to 16 s"
                    }
                };
                event.reason = Some(Reason {
                    cause: Some(CauseId::WallClockUnsynchronised.name().to_owned()),
                    text: text.to_owned(),
                    evidence: None,
                });
                (event.from, event.to) =
                    (Some("synchronised".to_owned()), Some("unsynchronised".to_owned()));
                self.wall.look = true;
                self.tell(event);
            }
            (Some(false), true) => {
                let since = self.wall.unsynchronised_at.take().filter(|at| time >= *at);
                let since =
                    since.map_or_else(String::new, |at| format!(" after {:.0} s", time - at));
                let error = state.stated_error_us().map_or_else(String::new, |us| {
                    #[allow(clippy::cast_precision_loss)]
                    let ms = us as f64 / 1e3;
                    format!(", off by at most {ms:.1} ms")
                });
                let text = format!("the wall clock is synchronised again{since}{error}");
                let mut event = Event::new(time, Kind::WallClockSync, State::Ok, text);
                (event.from, event.to) =
                    (Some("unsynchronised".to_owned()), Some("synchronised".to_owned()));
                self.wall.look = true;
                self.tell(event);
            }
            _ => {}
        }
    }

    /// Reports that this guest did not run, if a clock outside of the guest ran ahead. Two readings must show it,
    /// because a real-time clock may be read while it changes.
    fn pause(&mut self, time: f64, before: &WallReading, now: &WallReading, step: i64) {
        let Some((ahead, least)) = ran_ahead(before, now, step) else {
            self.wall.ran_ahead = None;
            return;
        };
        let Some(now) = &now.other else { return };
        let told = match (self.wall.ran_ahead.take(), ahead) {
            // The outside clock went back as far: the first reading was wrong.
            (Some(first), ahead) if ahead <= -first / 2 => None,
            (Some(first), _) => Some(first),
            (None, ahead) if ahead >= least => {
                self.wall.ran_ahead = Some(ahead);
                self.wall.stepped = step;
                None
            }
            _ => None,
        };
        let Some(ahead) = told else { return };
        let forked = self.wall.forked_at.take();
        if forked.is_some_and(|at| (time - step_s(step) - at).abs() < SAME) {
            // Unless a program has set the clock meanwhile.
            self.wall.stale = self.wall.stale.map(|it| Stale { behind_ns: Some(ahead), ..it });
            self.wall.look = true;
            return;
        }
        #[allow(clippy::cast_precision_loss)]
        let seconds = ahead as f64 / 1e9;
        let text = format!("this guest did not run for {seconds:.1} s");
        let mut event = Event::new(time, Kind::Restored, State::Warning, text);
        let whose = if now.is_host { "the host's clock" } else { "the real-time clock" };
        event.reason = Some(Reason {
            cause: Some(CauseId::WallClockStaleAfterRestore.name().to_owned()),
            text: format!(
                "{whose} ({}) advanced and the guest's clocks did not: it was paused, saved and \
                 restored, or its host slept (or that clock was set)",
                now.name
            ),
            evidence: None,
        });
        // Includes an earlier pause, minus the steps that corrected it since the first reading.
        let left = ahead.saturating_sub(self.wall.stepped);
        let before = self.wall.stale.and_then(|stale| stale.behind_ns).unwrap_or(0);
        let behind_ns = Some(left.saturating_add(before)).filter(|left| *left >= least);
        self.wall.stale = behind_ns.map(|_| Stale { since: time, behind_ns });
        self.wall.look = true;
        self.tell(event);
    }
}

/// Returns how far a clock outside of the guest ran ahead of the guest's clocks between two readings, and the threshold
/// from which that is a pause, both in nanoseconds. `None` if the two readings are not of the same clock.
fn ran_ahead(before: &WallReading, now: &WallReading, step: i64) -> Option<(i64, i64)> {
    let (before, now) = (before.other.as_ref()?, now.other.as_ref()?);
    // A step of the wall clock moves it against all others.
    let ahead = now.ahead_ns.saturating_sub(before.ahead_ns).saturating_add(step);
    let least = if now.is_host { PAUSE_HOST_NS } else { PAUSE_RTC_NS };
    (before.name == now.name).then_some((ahead, least))
}

#[allow(clippy::cast_precision_loss)]
fn step_s(ns: i64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::History;
    use crate::judge::Thresholds;
    use crate::state::Observation;

    const UNSYNC: i64 = 0x40;
    const OFFSET: i64 = 1_780_000_000_000_000_000;

    struct Sim {
        watch: Watch,
        time: f64,
        reading: WallReading,
    }

    impl Sim {
        fn new() -> Self {
            let watch = Watch::new(1e9, Thresholds::default(), true, History::default());
            let timex = Timex { status: 0, maxerror: 9_000, state: Some(0), ..Timex::default() };
            let other = Other { name: "rtc_cmos".into(), ahead_ns: 0, is_host: false };
            let reading = WallReading {
                offset_ns: OFFSET,
                window_ns: 400,
                timex: Some(timex),
                other: Some(other),
            };
            let mut sim = Self { watch, time: 1e9, reading };
            assert!(sim.second().is_empty());
            sim
        }

        /// A second later; the lines of the events.
        fn second(&mut self) -> Vec<Event> {
            self.time += 1.0;
            self.watch.observe(self.time, Observation::WallClock(self.reading.clone()));
            self.watch.take_events()
        }

        fn set(&mut self, ns: i64) {
            self.reading.offset_ns += ns;
            self.reading.other.as_mut().unwrap().ahead_ns -= ns;
        }

        fn timex(&mut self, change: impl FnOnce(&mut Timex)) {
            change(self.reading.timex.as_mut().unwrap());
        }
    }

    fn kinds(events: &[Event]) -> Vec<Kind> {
        events.iter().map(|event| event.kind).collect()
    }

    #[test]
    fn step_is_reported_with_its_size_and_slew_is_not() {
        let mut sim = Sim::new();
        // Readings are as noisy as their windows.
        for noise in [100, -300, 250, 400, -400] {
            sim.reading.offset_ns = OFFSET + noise;
            assert!(sim.second().is_empty());
        }
        sim.reading.offset_ns = OFFSET;
        sim.second();
        sim.set(61_000_000_000);
        let events = sim.second();
        assert_eq!(kinds(&events), [Kind::WallClockStep]);
        assert!(events[0].text.contains("+61.000 s"), "{}", events[0].text);
        assert_eq!(events[0].state, State::Warning);
        sim.set(-5_000_000);
        assert!(sim.second()[0].text.contains("-5.000 ms"));
        // A reading during which the program was not scheduled shows nothing smaller than its window.
        sim.reading.window_ns = 20_000_000;
        sim.set(6_000_000);
        assert!(sim.second().is_empty());
    }

    #[test]
    fn leap_second_is_not_a_warning() {
        let mut sim = Sim::new();
        sim.timex(|timex| timex.state = Some(3));
        sim.set(-1_000_000_000);
        let events = sim.second();
        assert_eq!((events[0].kind, events[0].state), (Kind::WallClockStep, State::Ok));
        // The same by hand.
        sim.timex(|timex| timex.state = Some(0));
        sim.set(-1_000_000_000);
        assert_eq!(sim.second()[0].state, State::Warning);
    }

    #[test]
    fn synchronisation_is_reported_when_it_changes() {
        let mut sim = Sim::new();
        sim.timex(|timex| {
            (timex.status, timex.maxerror, timex.state) = (UNSYNC, 16_000_000, Some(5))
        });
        let events = sim.second();
        assert_eq!((kinds(&events), events[0].state), (vec![Kind::WallClockSync], State::Warning));
        for _ in 0..29 {
            assert!(sim.second().is_empty());
        }
        sim.timex(|timex| (timex.status, timex.maxerror) = (0, 4_200));
        let events = sim.second();
        assert!(
            events[0].text.contains("again after 30 s, off by at most 4.2 ms"),
            "{}",
            events[0].text
        );
    }

    #[test]
    fn pause_is_detected_by_a_clock_that_did_not_stop() {
        let mut sim = Sim::new();
        let ahead = |sim: &mut Sim, ns: i64| sim.reading.other.as_mut().unwrap().ahead_ns += ns;
        // A real-time clock counts whole seconds.
        for jitter in [999_000_000, -999_000_000, 500_000_000, 499_000_000] {
            ahead(&mut sim, jitter);
            assert!(sim.second().is_empty());
        }
        ahead(&mut sim, 60_000_000_000);
        assert!(sim.second().is_empty());
        let events = sim.second();
        assert_eq!(kinds(&events), [Kind::Restored]);
        assert!(events[0].text.contains("60."), "{}", events[0].text);
        // After that, a step of the clock is expected.
        sim.set(60_000_000_000);
        let events = sim.second();
        assert_eq!((kinds(&events), events[0].state), (vec![Kind::WallClockStep], State::Ok));
        // The next one is not.
        sim.set(3_600_000_000_000);
        let events = sim.second();
        assert_eq!((kinds(&events), events[0].state), (vec![Kind::WallClockStep], State::Warning));
        sim.set(-3_600_000_000_000);
        sim.second();
        // One reading that was wrong.
        ahead(&mut sim, 40_000_000_000);
        assert!(sim.second().is_empty());
        ahead(&mut sim, -40_000_000_000);
        assert!(sim.second().is_empty() && sim.second().is_empty());
        // The real-time clock is set back to the system's time by the kernel, every eleven minutes.
        ahead(&mut sim, -5_000_000_000);
        assert!(sim.second().is_empty() && sim.second().is_empty());
    }

    #[test]
    fn step_is_expected_if_it_makes_up_for_a_pause() {
        let first = |steps: &[(u64, i64)]| {
            let mut sim = Sim::new();
            sim.reading.other.as_mut().unwrap().ahead_ns += 30_000_000_000;
            let mut states = Vec::new();
            for (seconds, step) in steps {
                for _ in 0..*seconds {
                    states.extend(sim.second().iter().map(|event| (event.kind, event.state)));
                }
                sim.set(*step);
            }
            states.extend(sim.second().iter().map(|event| (event.kind, event.state)));
            states.retain(|(kind, _)| *kind == Kind::WallClockStep);
            states.into_iter().map(|(_, state)| state).collect::<Vec<_>>()
        };
        let (ok, warning) = (State::Ok, State::Warning);
        // With the reading that shows it, with that which confirms it, and later.
        for seconds in 0..5 {
            assert_eq!(first(&[(seconds, 30_000_000_000)]), [ok], "{seconds}");
            assert_eq!(first(&[(seconds, 29_000_000_000), (2, 900_000_000)]), [ok, warning]);
            assert_eq!(
                first(&[(seconds, 20_000_000_000), (2, 9_000_000_000)]),
                [ok, ok],
                "{seconds}"
            );
            assert_eq!(first(&[(seconds, -30_000_000_000)]), [warning]);
            assert_eq!(first(&[(seconds, 61_000_000_000)]), [warning]);
            assert_eq!(first(&[(seconds, 30_000_000_000), (3, 3_600_000_000_000)]), [ok, warning]);
        }
        // Later than that it is news.
        assert_eq!(first(&[(940, 30_000_000_000)]), [warning]);
    }

    #[test]
    fn restored_guest_is_reported_by_the_kernel() {
        let mut sim = Sim::new();
        let line = "[ 1802.402211] random: crng reseeded due to virtual machine fork\n";
        let want = sim.watch.observe(sim.time, Observation::KernelSaid(line));
        assert!(want.assess);
        let events = sim.watch.take_events();
        assert_eq!(kinds(&events), [Kind::Restored]);
        assert!(events[0].reason.as_ref().unwrap().evidence.as_ref().unwrap().contains("fork"));
    }

    #[test]
    fn clone_is_one_event() {
        let mut sim = Sim::new();
        let line = "[ 1802.402211] random: crng reseeded due to virtual machine fork\n";
        sim.watch.observe(sim.time, Observation::KernelSaid(line));
        assert_eq!(kinds(&sim.watch.take_events()), [Kind::Restored]);
        // The real-time clock shows how long it was away: no second event, and a new judgement.
        sim.reading.other.as_mut().unwrap().ahead_ns += 27_000_000_000;
        assert!(sim.second().is_empty());
        let want = sim.watch.observe(sim.time + 1.0, Observation::WallClock(sim.reading.clone()));
        assert!(want.assess && sim.watch.take_events().is_empty());
        // A pause later is another event.
        sim.time += 60.0;
        sim.reading.other.as_mut().unwrap().ahead_ns += 30_000_000_000;
        assert!(sim.second().is_empty());
        assert_eq!(kinds(&sim.second()), [Kind::Restored]);
    }

    #[test]
    fn an_hour_of_a_busy_guest_reports_nothing() {
        let mut sim = Sim::new();
        for second in 0_i64..3600 {
            // Windows up to 4 ms, offsets within them, a real-time clock at any part of its second, errors that grow.
            sim.reading.window_ns = second * 7_919 % 4_000_000;
            sim.reading.offset_ns = OFFSET + (second * 104_729 % 3 - 1) * sim.reading.window_ns / 2;
            sim.reading.other.as_mut().unwrap().ahead_ns = second * 15_485_863 % 1_000_000_000;
            sim.timex(|timex| timex.maxerror = 2_000 + second % 64 * 500);
            assert!(sim.second().is_empty(), "{second}");
        }
    }
}

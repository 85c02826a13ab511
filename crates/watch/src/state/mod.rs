//! The state machine of the watch: observations in, events out. Pure: the caller passes the time and
//! carries out the requests.

mod claims;
mod kept;
mod limit;
mod overdue;
mod said;
#[cfg(test)]
mod tests;
mod told;
mod wall;

use crate::cost::Cost;
use crate::event::{Event, Kind};
use crate::history::History;
use crate::judge::{self, Judgement, State, Thresholds};
use claims::{Claims, Settled};
use clocksmith_diagnose::Report;
use clocksmith_facts::clockdev::ClocksourceDevice;
use kept::last_known;
use limit::Limit;
use overdue::Look;
use said::line_may_concern;
pub(crate) use said::may_concern;
use std::collections::VecDeque;
use wall::Wall;
pub use wall::{Other, WallReading};

/// Lines by which the kernel demotes one clocksource belong together for that long, in seconds.
const TOGETHER: f64 = 5.0;
/// How long a change waits for its diagnosis before it is reported without one, in seconds.
const PATIENCE: f64 = 10.0;
/// Changes that wait for their diagnosis, at most.
const WAITING: usize = 1024;

/// An observation.
#[derive(Debug)]
pub enum Observation<'a> {
    /// The clocksources in sysfs.
    Clocksources(Vec<ClocksourceDevice>),
    /// Lines that the kernel wrote since the last time.
    KernelSaid(&'a str),
    /// A whole look at the machine.
    Assessed {
        /// The report, with the measurement.
        report: Box<Report>,
        /// Whether the kernel's log could be read.
        log: bool,
    },
    /// A short test of counters and clocks on some processors.
    Tested {
        /// The processors.
        cpus: Vec<u32>,
        /// Faults that were found, and found again.
        faults: Vec<String>,
    },
    /// The wall clock, compared with the clock since boot and with clocks that continue while a guest does not run.
    WallClock(WallReading),
    /// The watch itself continued this much later than intended.
    Late {
        /// Seconds late.
        seconds: f64,
        /// Seconds of it that this program was ready to run and was not scheduled; `None` if that is not known.
        waited: Option<f64>,
        /// Seconds of it that the machine was suspended.
        suspended: f64,
    },
}

/// The next actions that the state machine wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// A whole look at the machine, now.
    pub assess: bool,
    /// Another one soon, since the last sample of the cost was unlike the others.
    pub again: bool,
    /// The clocksources in sysfs, now: they must confirm a message of the kernel's log.
    pub confirm: bool,
}

/// A change that has been seen and not yet explained.
#[derive(Debug)]
struct Pending {
    time: f64,
    from: String,
    to: String,
    before: Vec<String>,
    demotion: Option<String>,
}

/// The result of the last look.
#[derive(Debug)]
pub struct Latest {
    /// When, in seconds since 1970.
    pub time: f64,
    /// The report.
    pub report: Report,
    /// The judgement.
    pub judgement: Judgement,
    /// Whether the kernel's log could be read.
    pub log: bool,
}

/// The last short test.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// When, in seconds since 1970.
    pub time: f64,
    /// Processors.
    pub cpus: Vec<u32>,
    /// Whether a fault was found.
    pub fault: bool,
}

/// The watch.
#[derive(Debug)]
pub struct Watch {
    /// When it began, in seconds since 1970.
    pub begun: f64,
    thresholds: Thresholds,
    /// Whether the kernel's log is followed.
    pub follows_log: bool,
    devices: Vec<ClocksourceDevice>,
    current: Option<String>,
    pending: VecDeque<Pending>,
    /// The claims of the kernel's log that sysfs has not confirmed.
    claims: Claims,
    limit: Limit,
    /// A demotion that waits for its diagnosis: when, and the first line.
    demotion: Option<(f64, String)>,
    demoted_at: f64,
    /// The first line of a demotion since the last change of the clocksource, and when it came.
    fresh_demotion: Option<(f64, String)>,
    cost: Cost,
    latest: Option<Latest>,
    look: Look,
    test: Option<Test>,
    wall: Wall,
    counts: [u64; Kind::ALL.len()],
    last: [Option<f64>; Kind::ALL.len()],
    change: Option<Event>,
    looks: u64,
    history: History,
    new: Vec<Event>,
}

impl Watch {
    /// Begins at `time`, with the history of an earlier watch.
    #[must_use]
    pub fn new(time: f64, thresholds: Thresholds, follows_log: bool, history: History) -> Self {
        Self {
            begun: time,
            thresholds,
            follows_log,
            devices: Vec::new(),
            current: None,
            pending: VecDeque::new(),
            claims: Claims::default(),
            limit: Limit::default(),
            demotion: None,
            demoted_at: f64::NEG_INFINITY,
            fresh_demotion: None,
            cost: Cost::default(),
            latest: None,
            look: Look::None,
            test: None,
            wall: Wall::default(),
            counts: [0; Kind::ALL.len()],
            last: [None; Kind::ALL.len()],
            change: None,
            looks: 0,
            history,
            new: Vec::new(),
        }
    }

    /// Reports that the watch began, in the boot with this id. If an earlier watch of the same boot saw
    /// another clocksource last, the clocksource changed between the two.
    pub fn started(&mut self, time: f64, boot: Option<&str>) {
        let known = last_known(&self.history, boot);
        let now = self.current.clone();
        let text = match &now {
            Some(name) => format!("watch started: {name} is in use"),
            None => "watch started; which clocksource is in use is not known".to_owned(),
        };
        let mut event = Event::new(time, Kind::Started, State::Ok, text);
        event.to.clone_from(&now);
        event.boot = boot.map(str::to_owned);
        self.tell(event);
        if let (Some(from), Some(to)) = (known, now)
            && from != to
        {
            self.pending.push_back(Pending { time, from, to, before: Vec::new(), demotion: None });
        }
    }

    /// Records an observation at `time` (seconds since 1970); returns the next actions.
    pub fn observe(&mut self, time: f64, observation: Observation<'_>) -> Want {
        let mut want = Want::default();
        match observation {
            Observation::Clocksources(devices) => self.clocksources(time, devices),
            Observation::KernelSaid(text) => {
                for line in text.lines().filter(|line| line_may_concern(line)) {
                    self.kernel_said(time, line);
                }
            }
            Observation::Assessed { report, log } => {
                want.again = self.assessed(time, *report, log);
            }
            Observation::Tested { cpus, faults } => self.tested(time, cpus, &faults),
            Observation::WallClock(reading) => self.wall_clock(time, reading),
            Observation::Late { seconds, waited, suspended } => {
                self.late(time, seconds, waited, suspended);
            }
        }
        want.assess = !self.pending.is_empty() || self.demotion.is_some() || self.wall.look();
        want.confirm = self.claims.wait();
        want
    }

    /// Events since the last call.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.new)
    }

    /// The clocksource devices that were seen last.
    #[must_use]
    pub fn devices(&self) -> &[ClocksourceDevice] {
        &self.devices
    }

    /// The result of the last look.
    #[must_use]
    pub fn latest(&self) -> Option<&Latest> {
        self.latest.as_ref()
    }

    /// The last short test.
    #[must_use]
    pub fn test(&self) -> Option<&Test> {
        self.test.as_ref()
    }

    /// The history.
    #[must_use]
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The usual cost of a read in nanoseconds.
    #[must_use]
    pub fn usual_ns(&self) -> Option<f64> {
        self.cost.usual()
    }

    /// How often each kind happened since the watch began, and when last.
    pub fn counts(&self) -> impl Iterator<Item = (Kind, u64, Option<f64>)> {
        Kind::ALL.into_iter().zip(self.counts).zip(self.last).map(|((k, n), at)| (k, n, at))
    }

    /// How many events of each kind were left out, since there were too many of them.
    pub fn suppressed(&self) -> impl Iterator<Item = (Kind, u64)> {
        Kind::ALL.into_iter().map(|kind| (kind, self.limit.suppressed(kind)))
    }

    /// The last change of the clocksource since the watch began.
    #[must_use]
    pub fn change(&self) -> Option<&Event> {
        self.change.as_ref()
    }

    /// Whole looks since the watch began.
    #[must_use]
    pub fn looks(&self) -> u64 {
        self.looks
    }

    fn tell(&mut self, mut event: Event) {
        if event.kind == Kind::ClocksourceChange {
            self.change = Some(event.clone());
        }
        let Some(left_out) = self.limit.admit(event.kind, event.time) else { return };
        if left_out > 0 {
            event
                .text
                .push_str(&format!(" ({left_out} more of this kind before it were left out)"));
        }
        let at = event.kind as usize;
        if let (Some(count), Some(last)) = (self.counts.get_mut(at), self.last.get_mut(at)) {
            *count += 1;
            *last = Some(event.time);
        }
        self.history.add(event.clone());
        self.new.push(event);
    }

    fn clocksources(&mut self, time: f64, devices: Vec<ClocksourceDevice>) {
        let before = std::mem::replace(&mut self.devices, devices);
        self.claims.seen(time, before.first(), self.devices.first());
        let available = |devices: &[ClocksourceDevice]| {
            devices.first().map(|device| device.available.clone()).unwrap_or_default()
        };
        let (had, has) = (available(&before), available(&self.devices));
        let now = self.devices.first().map(|device| device.current.clone());
        if let Some(now) = now.filter(|now| !now.is_empty()) {
            let basis = if before.is_empty() { Vec::new() } else { had.clone() };
            self.now_in_use(time, now, basis);
        }
        if !before.is_empty() && had != has && !has.is_empty() {
            let text = format!("available: {} (before: {})", has.join(" "), had.join(" "));
            let mut event = Event::new(time, Kind::AvailableChange, State::Ok, text);
            (event.from, event.to) = (Some(had.join(" ")), Some(has.join(" ")));
            self.tell(event);
        }
        let Some(device) = self.devices.first() else { return };
        for settled in self.claims.settle(time, device) {
            match settled {
                Settled::Confirmed(claim) => self.confirmed(claim.time, &claim.what, claim.line),
                Settled::Contradicted(claim) => self.contradicted(time, &claim.what, claim.line),
                Settled::Open(claim) => self.open(time, &claim.what, claim.line),
            }
        }
    }

    /// Records that this clocksource is in use.
    fn now_in_use(&mut self, time: f64, now: String, before: Vec<String>) {
        let Some(from) = self.current.replace(now.clone()) else { return };
        if from == now {
            return;
        }
        self.cost.reset();
        // A demotion of long ago is not the reason for a change now.
        let fresh = self.fresh_demotion.take().filter(|(at, _)| time - at < PATIENCE);
        let demotion = fresh.map(|(_, line)| line);
        if self.pending.len() == WAITING {
            self.explain_first(time);
        }
        self.pending.push_back(Pending { time, from, to: now, before, demotion });
    }

    fn assessed(&mut self, time: f64, report: Report, log: bool) -> bool {
        self.looks += 1;
        let judgement = judge::judge(&report, &self.thresholds);
        let before = self.latest.as_ref().map(|latest| latest.judgement.clone());
        let ns = report.monotonic_ns();
        let of_current = report.clocksource.current == self.current;
        self.latest = Some(Latest { time, report, judgement: judgement.clone(), log });
        if let Some((at, line)) = self.demotion.take() {
            self.demoted(at, line);
        }
        while !self.pending.is_empty() {
            self.explain_first(time);
        }
        let mut again = false;
        if let Some(ns) = ns.filter(|_| of_current) {
            self.history.cost(time, ns);
            again = self.cost_sample(time, ns);
        }
        if let Some(before) = before
            && before.state != judgement.state
        {
            let text = format!("{} (before: {})", judgement.line, before.state.word());
            let mut event = Event::new(time, Kind::StateChange, judgement.state, text);
            event.from = Some(before.state.name().to_owned());
            event.to = Some(judgement.state.name().to_owned());
            self.tell(event);
        }
        again
    }
}

//! The state machine of the watch: observations in, events out. Pure: whoever calls it says what time it
//! is, and does what it wants done.

mod claims;
mod kept;
mod limit;
#[cfg(test)]
mod tests;

use crate::cost::{Cost, Seen};
use crate::event::{Event, Kind, Reason};
use crate::history::History;
use crate::judge::{self, Judgement, State, Thresholds};
use crate::reason::{self, Meaning};
use claims::{Claim, Claims, Settled, What};
use clocksmith_diagnose::Report;
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::log::{Event as Said, KernelLog};
use kept::{last_known, without_stamp};
use limit::Limit;
use std::collections::VecDeque;

/// Lines by which the kernel gives up one clocksource belong together for that long, in seconds.
const TOGETHER: f64 = 5.0;
/// How long a change waits for its diagnosis before it is told without one, in seconds.
const PATIENCE: f64 = 10.0;
/// Characters of a line of the kernel's that are kept.
const LINE: usize = 400;
/// Changes that wait for their diagnosis, at most.
const WAITING: usize = 1024;

/// How messages begin that mean something here: all that [`reason::meaning`] knows, and switches.
const BEGINNINGS: [&str; 14] = [
    "clocksource",
    "Clocksource",
    "tsc",
    "TSC",
    "Measured",
    "Marking",
    "timekeeping",
    "Switch",
    "Time",
    "xen",
    "CPU",
    "Long",
    "Watchdog",
    "wd",
];

/// Whether a message of the kernel, without its stamp, may be about clocks. Almost all are not, and cost a look
/// at their beginning; so does a text of a user in a message that begins otherwise.
pub(crate) fn may_concern(message: &[u8]) -> bool {
    let message = message.trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning.as_bytes()))
}

/// The same of a line.
fn line_may_concern(line: &str) -> bool {
    match line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        Some((_, message)) => may_concern(message.as_bytes()),
        // Of a mirror, with what a log daemon puts in front.
        None => BEGINNINGS.iter().any(|beginning| line.contains(beginning)),
    }
}

/// What was seen.
#[derive(Debug)]
pub enum Observation<'a> {
    /// The clocksources in sysfs.
    Clocksources(Vec<ClocksourceDevice>),
    /// Lines that the kernel wrote since the last time.
    KernelSaid(&'a str),
    /// A whole look at the machine.
    Assessed {
        /// The report, with what was measured.
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
    /// The watch itself went on so much later than it wanted to.
    Late {
        /// Seconds late.
        seconds: f64,
        /// Seconds of it that this program could run and was not let to; `None` if that is not known.
        waited: Option<f64>,
        /// Seconds of it that the machine was suspended.
        suspended: f64,
    },
}

/// What the state machine wants to be done next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Want {
    /// A whole look at the machine, now.
    pub assess: bool,
    /// Another one soon, since the last sample of the cost was unlike the others.
    pub again: bool,
    /// The clocksources in sysfs, now: the kernel's log says something that they must confirm.
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

/// What the last look gave.
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
    /// What the kernel's log says and sysfs has not confirmed.
    claims: Claims,
    limit: Limit,
    /// A demotion that waits for its diagnosis: when, and the first line.
    demotion: Option<(f64, String)>,
    demoted_at: f64,
    /// The first line of a demotion since the last change of the clocksource, and when it came.
    fresh_demotion: Option<(f64, String)>,
    cost: Cost,
    latest: Option<Latest>,
    test: Option<Test>,
    counts: [u64; Kind::ALL.len()],
    last: [Option<f64>; Kind::ALL.len()],
    change: Option<Event>,
    looks: u64,
    history: History,
    new: Vec<Event>,
}

impl Watch {
    /// Begins at `time`, with what an earlier watch left.
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
            test: None,
            counts: [0; Kind::ALL.len()],
            last: [None; Kind::ALL.len()],
            change: None,
            looks: 0,
            history,
            new: Vec::new(),
        }
    }

    /// Tells that the watch began, on the boot of this identity. If an earlier watch of the same boot saw
    /// another clocksource last, that is a change that nobody watched.
    pub fn started(&mut self, time: f64, boot: Option<&str>) {
        let known = last_known(&self.history, boot);
        let now = self.current.clone();
        let text = match &now {
            Some(name) => format!("watch began, {name} is in use"),
            None => "watch began; which clocksource is in use is not known".to_owned(),
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

    /// Takes note of what was seen at `time` (seconds since 1970); says what to do next.
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
            Observation::Late { seconds, waited, suspended } => {
                self.late(time, seconds, waited, suspended);
            }
        }
        want.assess = !self.pending.is_empty() || self.demotion.is_some();
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

    /// What the last look gave.
    #[must_use]
    pub fn latest(&self) -> Option<&Latest> {
        self.latest.as_ref()
    }

    /// The last short test.
    #[must_use]
    pub fn test(&self) -> Option<&Test> {
        self.test.as_ref()
    }

    /// What was kept.
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

    /// This clocksource is in use.
    fn now_in_use(&mut self, time: f64, now: String, before: Vec<String>) {
        let Some(from) = self.current.replace(now.clone()) else { return };
        if from == now {
            return;
        }
        self.cost.reset();
        // One that is long over is no reason for what happens now.
        let fresh = self.fresh_demotion.take().filter(|(at, _)| time - at < PATIENCE);
        let demotion = fresh.map(|(_, line)| line);
        if self.pending.len() == WAITING {
            self.explain_first(time);
        }
        self.pending.push_back(Pending { time, from, to: now, before, demotion });
    }

    /// A line of the kernel's log. It claims something, and sysfs has the last word; where there never
    /// was a sysfs (a mirror without it), the line is all there is.
    fn kernel_said(&mut self, time: f64, line: &str) {
        let Some(said) = KernelLog::message(line) else { return };
        let line: String = line.chars().take(LINE).collect();
        let shown = without_stamp(&line).to_owned();
        let what = match &said {
            Said::Switched(name) if self.current.as_ref() == Some(name) => {
                if let Some(claim) = self.claims.switched_back() {
                    self.there_and_back(time, name, claim);
                }
                return;
            }
            Said::TimeWentBackwards | Said::CrossCheckSkew { .. } => What::Apart,
            Said::Switched(name) => What::Switch(name.clone()),
            said => match (reason::meaning(said), reason::about(said)) {
                (Meaning::Stall, _) => {
                    let text = "the kernel could not read its clocks for a while";
                    let mut event = Event::new(time, Kind::Stall, State::Warning, text);
                    event.reason = Some(Reason { cause: None, text: shown, evidence: Some(line) });
                    self.tell(event);
                    return;
                }
                (meaning, name) => match What::of(meaning, name) {
                    Some(what) => what,
                    None => return,
                },
            },
        };
        if self.devices.is_empty() {
            self.confirmed(time, &what, shown);
        } else {
            self.claims.add(time, what, &shown);
        }
    }

    /// The kernel's log says it, and sysfs shows it.
    fn confirmed(&mut self, time: f64, what: &What, line: String) {
        match what {
            // Told already, when sysfs showed it.
            What::Switch(name) => self.now_in_use(time, name.clone(), Vec::new()),
            What::Demotion(_) => {
                // The kernel first switches and then says so, or the other way around.
                match self.pending.back_mut() {
                    Some(pending)
                        if pending.demotion.is_none() && pending.from.starts_with("tsc") =>
                    {
                        pending.demotion = Some(line.clone());
                    }
                    _ => match &self.fresh_demotion {
                        Some((at, _)) if time - at < TOGETHER => {}
                        _ => self.fresh_demotion = Some((time, line.clone())),
                    },
                }
                if time - self.demoted_at > TOGETHER && self.demotion.is_none() {
                    self.demotion = Some((time, line));
                }
                self.demoted_at = time;
            }
            What::Warp(_) | What::Apart => {
                let text = "the kernel says that clocks disagree";
                let mut event = Event::new(time, Kind::Warp, State::Critical, text);
                let evidence = Some(line.clone());
                event.reason = Some(Reason { cause: None, text: line, evidence });
                self.tell(event);
            }
        }
    }

    /// The kernel's log says it, and sysfs shows something else: it did not happen.
    fn contradicted(&mut self, time: f64, what: &What, line: String) {
        let device = self.devices.first();
        let current = device.map_or("", |device| device.current.as_str());
        let available = device.map(|device| device.available.join(" ")).unwrap_or_default();
        let text = format!("a line of the kernel log says that {}; sysfs does not", what.text());
        let why = format!(
            "{current} is in use and {available} are available, so it did not happen: a program can write \
             such a line"
        );
        self.log_alone(time, text, why, line);
    }

    /// The kernel's log says it, and sysfs would look the same either way.
    fn open(&mut self, time: f64, what: &What, line: String) {
        let text = format!("a line of the kernel log says that {}", what.text());
        let why = "sysfs neither confirms nor disproves it: the clocksource stays on its list; the test of \
                   processors, or clocksmith verify, tells (a program can write such a line, too)";
        self.log_alone(time, text, why.to_owned(), line);
    }

    /// The kernel's log says that it switched and switched back since the last look at sysfs.
    fn there_and_back(&mut self, time: f64, current: &str, claim: Claim) {
        let What::Switch(other) = claim.what else { return };
        let text = format!(
            "by the kernel log alone: {current} -> {other} -> {current} between two looks at sysfs"
        );
        let why = format!(
            "sysfs shows {current} before and after, and neither confirms nor disproves what was between (a \
             program can write such a line, too)"
        );
        self.log_alone(time, text, why, claim.line);
    }

    /// Tells what nothing but the kernel's log says, which any user can write into.
    fn log_alone(&mut self, time: f64, text: String, why: String, line: String) {
        let mut event = Event::new(time, Kind::ContradictedEvidence, State::Ok, text);
        event.reason = Some(Reason { cause: None, text: why, evidence: Some(line) });
        self.tell(event);
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

    /// Tells a demotion, with the reason that the diagnosis found.
    fn demoted(&mut self, time: f64, line: String) {
        let cause = self
            .latest
            .as_ref()
            .and_then(|latest| latest.report.causes.iter().find(|c| judge::is_demotion(c)));
        let reason = match cause {
            Some(cause) => reason::from_cause(cause, Some(&line)),
            None => Reason { cause: None, text: line.clone(), evidence: Some(line) },
        };
        let state = self.thresholds.demoted;
        let mut event = Event::new(time, Kind::Demotion, state, "the kernel gave up a clocksource");
        event.reason = Some(reason);
        self.tell(event);
    }

    /// Tells the oldest change that waits, with what is known by now.
    fn explain_first(&mut self, now: f64) {
        let Some(pending) = self.pending.pop_front() else { return };
        let Pending { time, from, to, before, demotion } = pending;
        let available = self.devices.first().map_or(&[][..], |device| &device.available);
        let fresh = self.latest.as_ref().filter(|latest| now - latest.time < PATIENCE);
        let causes = fresh.map_or(&[][..], |latest| &latest.report.causes);
        let reason = reason::of(&reason::Evidence {
            from: &from,
            to: &to,
            before: &before,
            now: available,
            demotion: demotion.as_deref(),
            log: self.follows_log,
            causes,
        });
        let state = fresh.map_or(State::Unknown, |latest| latest.judgement.state);
        let text = format!("{from} -> {to}");
        let mut event = Event::new(time, Kind::ClocksourceChange, state, text);
        (event.from, event.to, event.reason) = (Some(from), Some(to), Some(reason));
        self.tell(event);
    }

    fn cost_sample(&mut self, time: f64, ns: f64) -> bool {
        match self.cost.sample(ns) {
            Seen::Usual => false,
            Seen::Suspicious => true,
            Seen::Changed { from, to } => {
                let (was, is) = (judge::ns_text(from), judge::ns_text(to));
                let state = if to > from { State::Warning } else { State::Ok };
                let text = format!("a read of CLOCK_MONOTONIC costs {is} (before: {was})");
                let mut event = Event::new(time, Kind::CostChange, state, text);
                (event.from, event.to) = (Some(was), Some(is));
                let name = self.current.as_deref().unwrap_or("the clocksource");
                event.reason = Some(Reason {
                    cause: None,
                    text: format!(
                        "{name} is in use as before: the processor's speed, the hypervisor under it, or \
                         what reads go through changed"
                    ),
                    evidence: None,
                });
                self.tell(event);
                false
            }
        }
    }

    fn tested(&mut self, time: f64, cpus: Vec<u32>, faults: &[String]) {
        let before = self.test.as_ref().is_some_and(|test| test.fault);
        let fault = faults.first().cloned();
        if let Some(fault) = fault.clone().filter(|_| !before) {
            let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
            let text = format!("measured on processors {}: {fault}", list.join(","));
            let mut event = Event::new(time, Kind::Warp, State::Critical, text);
            event.reason = Some(Reason {
                cause: None,
                text: "found twice in a row; clocksmith verify says more".to_owned(),
                evidence: None,
            });
            self.tell(event);
        }
        self.test = Some(Test { time, cpus, fault: fault.is_some() });
    }

    fn late(&mut self, time: f64, seconds: f64, waited: Option<f64>, suspended: f64) {
        let (state, text, why) = if suspended > seconds / 2.0 {
            (
                State::Ok,
                format!("suspended for {suspended:.1} s"),
                "the machine was suspended".to_owned(),
            )
        } else if waited.is_some_and(|waited| waited > seconds / 2.0) {
            let why =
                "its processors were too busy to run this program, which may be a stall for others";
            (State::Warning, format!("{seconds:.1} s late"), why.to_owned())
        } else {
            let why = "the machine stood still (paused, moved, or its processors taken away), or a clock \
                       jumped ahead";
            (State::Warning, format!("stood still for {seconds:.1} s"), why.to_owned())
        };
        let mut event = Event::new(time, Kind::Stall, state, text);
        event.reason = Some(Reason { cause: None, text: why, evidence: None });
        self.tell(event);
    }
}

//! Claims of the kernel's log, until sysfs confirms or contradicts them. Any user can write lines into that log that
//! look like the kernel's; only the kernel writes the list of clocksources.

use crate::reason::Meaning;
use clocksmith_facts::clockdev::ClocksourceDevice;

/// How long sysfs may take to show a change that the kernel's log reports, in seconds. The kernel changes both under
/// one lock; only the thread that changes the rating of a clocksource (`clocksource_watchdog_kthread()`) runs a moment
/// later.
const CONFIRM: f64 = 2.0;
/// How long ago a clocksource may have been lost to confirm a line that is read now, in seconds: sysfs
/// may be read before the log.
const BEFORE: f64 = 10.0;
/// Claims that wait, at most: one of a kind for each clocksource.
const WAITING: usize = 16;
/// Clocksources that are remembered as lost, at most.
const LOST: usize = 16;

/// The claim of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// This clocksource is in use now.
    Switch(String),
    /// The kernel demoted this clocksource.
    Demotion(String),
    /// Clocks made of this clocksource disagree, for which the kernel demotes it.
    Warp(String),
    /// Clocks disagree, but the kernel demotes nothing: sysfs does not show it.
    Apart,
}

/// A claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Claim {
    pub(super) what: What,
    /// When its line was read.
    pub(super) time: f64,
    /// The line, without its stamp.
    pub(super) line: String,
}

/// The result for a claim.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Settled {
    /// sysfs shows it.
    Confirmed(Claim),
    /// sysfs contradicts it.
    Contradicted(Claim),
    /// sysfs can neither confirm nor contradict it.
    Open(Claim),
}

/// Claims that wait for sysfs, and recent states of sysfs.
#[derive(Debug, Default)]
pub(super) struct Claims {
    waiting: Vec<Claim>,
    /// Clocksources that were lost, and when: taken off the list, put at its end, or no longer in
    /// use.
    lost: Vec<(String, f64)>,
}

impl Claims {
    /// Adds a claim; further lines that claim the same are part of it.
    pub(super) fn add(&mut self, time: f64, what: What, line: &str) {
        if self.waiting.len() < WAITING && !self.waiting.iter().any(|claim| claim.what == what) {
            self.waiting.push(Claim { what, time, line: line.to_owned() });
        }
    }

    /// Returns whether a claim waits.
    pub(super) fn wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Records that the kernel's log reports this clocksource in use again: earlier claims of others are settled.
    /// Returns the last other one, which sysfs no longer shows.
    pub(super) fn switched_back(&mut self) -> Option<Claim> {
        let switch = |claim: &Claim| matches!(claim.what, What::Switch(_));
        let last = self.waiting.iter().rfind(|claim| switch(claim)).cloned();
        self.waiting.retain(|claim| !switch(claim));
        last
    }

    /// Records the present state of sysfs, after the previous one.
    pub(super) fn seen(
        &mut self,
        time: f64,
        before: Option<&ClocksourceDevice>,
        now: Option<&ClocksourceDevice>,
    ) {
        let (Some(before), Some(now)) = (before, now) else { return };
        for name in &before.available {
            // A clocksource that the kernel demoted loses CLOCK_SOURCE_VALID_FOR_HRES, and is not listed while ticks
            // are one shot (`available_clocksource_show()`); if they are periodic, its rating becomes 0, and the
            // list is sorted by rating.
            let off = !now.available.contains(name);
            let last = |device: &ClocksourceDevice| device.available.last() == Some(name);
            if off || last(now) && !last(before) && now.available.len() > 1 {
                self.lose(name, time);
            }
        }
        self.lost.retain(|(_, at)| time - at < BEFORE);
    }

    fn lose(&mut self, name: &str, time: f64) {
        self.lost.retain(|(lost, _)| lost != name);
        if self.lost.len() < LOST {
            self.lost.push((name.to_owned(), time));
        }
    }

    /// Returns the claims that sysfs has settled so far; `device` is its present state.
    pub(super) fn settle(&mut self, time: f64, device: &ClocksourceDevice) -> Vec<Settled> {
        let mut settled = Vec::new();
        for claim in std::mem::take(&mut self.waiting) {
            if claim.what == What::Apart {
                settled.push(Settled::Open(claim));
                continue;
            }
            let shown = match &claim.what {
                What::Apart => false,
                What::Switch(to) => device.current == *to,
                // Also if the first line that claims it was forged: a later one is part of the claim.
                What::Demotion(name) | What::Warp(name) => {
                    self.lost.iter().any(|(lost, _)| lost == name)
                }
            };
            if shown {
                settled.push(Settled::Confirmed(claim));
            } else if time - claim.time >= CONFIRM {
                settled.push(Settled::Contradicted(claim));
            } else {
                self.waiting.push(claim);
            }
        }
        settled
    }
}

impl What {
    /// Returns the claim of a message of this meaning about a clocksource.
    pub(super) fn of(meaning: Meaning, name: &str) -> Option<Self> {
        match meaning {
            Meaning::Demotion => Some(Self::Demotion(name.to_owned())),
            Meaning::Warp => Some(Self::Warp(name.to_owned())),
            Meaning::Stall | Meaning::Nothing => None,
        }
    }

    /// Returns the claim of the kernel's log, in words.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Switch(to) => format!("the kernel switched to {to}"),
            Self::Demotion(name) => format!("the kernel demoted {name}"),
            Self::Warp(name) => format!("clocks that are based on {name} disagree"),
            Self::Apart => "clocks disagree".to_owned(),
        }
    }
}

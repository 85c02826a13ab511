//! The kernel's log: which lines may concern clocks, and the result for a claim when sysfs confirms it, contradicts it,
//! or does neither.

use super::claims::{Claim, What};
use super::kept::without_stamp;
use super::{TOGETHER, Watch};
use crate::event::{Event, Kind, Reason};
use crate::judge::State;
use crate::reason::{self, Meaning};
use clocksmith_facts::log::{Event as Said, KernelLog};

/// Characters of a line of the kernel's that are kept.
const LINE: usize = 400;

/// The beginnings of relevant messages: all that [`reason::meaning`] knows, and switches.
const BEGINNINGS: [&str; 15] = [
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
    "random: crng reseeded",
];

/// Returns whether a kernel message, without its stamp, may be about clocks. Almost all are not: only their beginning
/// is compared, whichever text of a user follows.
pub(crate) fn may_concern(message: &[u8]) -> bool {
    let message = message.trim_ascii_start();
    BEGINNINGS.iter().any(|beginning| message.starts_with(beginning.as_bytes()))
}

/// The same for a line.
pub(super) fn line_may_concern(line: &str) -> bool {
    match line.strip_prefix('[').and_then(|line| line.split_once("] ")) {
        Some((_, message)) => may_concern(message.as_bytes()),
        // A line of a mirror, with the prefix of a log daemon.
        None => BEGINNINGS.iter().any(|beginning| line.contains(beginning)),
    }
}

impl Watch {
    /// Handles a line of the kernel's log. Its claim waits for sysfs, which decides; without sysfs (a mirror that lacks
    /// it), the line alone counts.
    pub(super) fn kernel_said(&mut self, time: f64, line: &str) {
        let Some(said) = KernelLog::message(line) else { return };
        let line: String = line.chars().take(LINE).collect();
        let shown = without_stamp(&line).to_owned();
        let what = match &said {
            Said::VmFork => {
                self.forked(time, shown);
                return;
            }
            Said::Switched(name) if self.current.as_ref() == Some(name) => {
                if let Some(claim) = self.claims.switched_back() {
                    self.there_and_back(time, name, claim);
                }
                return;
            }
            Said::TimeWentBackwards | Said::XenReadBackwards | Said::CrossCheckSkew { .. } => {
                What::Apart
            }
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

    /// Records a claim of the kernel's log that sysfs confirms.
    pub(super) fn confirmed(&mut self, time: f64, what: &What, line: String) {
        match what {
            // Already reported, when sysfs showed it.
            What::Switch(name) => self.now_in_use(time, name.clone(), Vec::new()),
            What::Demotion(_) => {
                // The kernel may log the switch before or after it switches.
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

    /// Records a claim of the kernel's log that sysfs contradicts: the event did not happen.
    pub(super) fn contradicted(&mut self, time: f64, what: &What, line: String) {
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

    /// Records a claim of the kernel's log that sysfs can neither confirm nor contradict.
    pub(super) fn open(&mut self, time: f64, what: &What, line: String) {
        let text = format!("a line of the kernel log says that {}", what.text());
        let why = "sysfs neither confirms nor disproves it, because the clocksource stays on its \
                   list; the test of processors or clocksmith verify can decide it (a program can \
                   also write such a line)";
        self.log_alone(time, text, why.to_owned(), line);
    }

    /// Records that, by the kernel's log, it switched and switched back since the last look at sysfs.
    pub(super) fn there_and_back(&mut self, time: f64, current: &str, claim: Claim) {
        let What::Switch(other) = claim.what else { return };
        let text = format!(
            "in the kernel log only: {current} -> {other} -> {current} between two reads of sysfs"
        );
        let why = format!(
            "sysfs shows {current} before and after, and neither confirms nor disproves what was in \
             between (a program can also write such a line)"
        );
        self.log_alone(time, text, why, claim.line);
    }

    /// Reports an event that only the kernel's log claims, which any user can write into.
    pub(super) fn log_alone(&mut self, time: f64, text: String, why: String, line: String) {
        let mut event = Event::new(time, Kind::ContradictedEvidence, State::Ok, text);
        event.reason = Some(Reason { cause: None, text: why, evidence: Some(line) });
        self.tell(event);
    }
}

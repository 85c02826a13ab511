//! The events of examinations, tests and delays: a demotion and a change with the reason that the diagnosis found, a new
//! read cost, a fault that a test found, a machine that was stopped.

use super::{PATIENCE, Pending, Test, Watch};
use crate::cost::Seen;
use crate::event::{Event, Kind, Reason};
use crate::judge::{self, State};
use crate::reason;

impl Watch {
    /// Reports a demotion, with the reason that the diagnosis found.
    pub(super) fn demoted(&mut self, time: f64, line: String) {
        let cause = self
            .latest
            .as_ref()
            .and_then(|latest| latest.report.causes.iter().find(|c| judge::is_demotion(c)));
        let reason = match cause {
            Some(cause) => reason::from_cause(cause, Some(&line)),
            None => Reason { cause: None, text: line.clone(), evidence: Some(line) },
        };
        let state = self.thresholds.demoted;
        let mut event = Event::new(time, Kind::Demotion, state, "the kernel demoted a clocksource");
        event.reason = Some(reason);
        self.tell(event);
    }

    /// Reports the oldest pending change, with the information available so far.
    pub(super) fn explain_first(&mut self, now: f64) {
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

    pub(super) fn cost_sample(&mut self, time: f64, ns: f64) -> bool {
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
                        "{name} is still in use: the processor's speed, the hypervisor, or the path \
                         of the reads has changed"
                    ),
                    evidence: None,
                });
                self.tell(event);
                false
            }
        }
    }

    pub(super) fn tested(&mut self, time: f64, cpus: Vec<u32>, faults: &[String]) {
        let before = self.test.as_ref().is_some_and(|test| test.fault);
        let fault = faults.first().cloned();
        if let Some(fault) = fault.clone().filter(|_| !before) {
            let list: Vec<String> = cpus.iter().map(u32::to_string).collect();
            let text = format!("measured on processors {}: {fault}", list.join(","));
            let mut event = Event::new(time, Kind::Warp, State::Critical, text);
            event.reason = Some(Reason {
                cause: None,
                text: "found twice in a row; clocksmith verify shows more".to_owned(),
                evidence: None,
            });
            self.tell(event);
        }
        self.test = Some(Test { time, cpus, fault: fault.is_some() });
    }

    pub(super) fn late(&mut self, time: f64, seconds: f64, waited: Option<f64>, suspended: f64) {
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
            let why = "the machine did not run (paused, moved, or without processors), or a clock \
                       jumped ahead";
            (State::Warning, format!("did not run for {seconds:.1} s"), why.to_owned())
        };
        let mut event = Event::new(time, Kind::Stall, state, text);
        event.reason = Some(Reason { cause: None, text: why, evidence: None });
        self.tell(event);
    }
}

//! Tests a change on the live machine: the measurements that [`clocksmith_change::trial`] needs.

use super::Seen;
use crate::args::{Common, Fix};
use crate::report::fix::{FixReport, Gain};
use crate::ui::err;
use crate::verify::report::scope;
use clocksmith_change::propose::Checked;
use clocksmith_change::switch::ChangeError;
use clocksmith_change::trial::{Objection, Subject, Terms, Verified, hold};
use clocksmith_change::{Guardian, Sysfs};
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::{Origin, collect, verified};
use clocksmith_measure::interrupt;
use clocksmith_measure::verify::{Confidence, Finding, Outcome, Trust, Weight};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// The default time of the watch.
const WATCH: Duration = Duration::from_secs(30);

/// A second process that restores the clocksource at once if this process is killed; the next run restores the files.
pub(super) fn guardian() -> Result<Guardian, ChangeError> {
    let sysfs = Sysfs::live();
    let arguments: [OsString; 3] =
        ["guard-clocksource".into(), "--directory".into(), sysfs.directory().into()];
    Guardian::start(&sysfs, &arguments)
}

/// The objection to the change, in words.
pub(super) fn objection(
    common: &Common,
    args: &Fix,
    seen: &Seen,
    target: &str,
    begun: Instant,
    report: &mut FixReport,
) -> Option<String> {
    let terms = Terms {
        target: target.to_owned(),
        before_ns: seen.cost(),
        // A user who named a clocksource may want the slower one.
        must_be_faster: args.to.is_none(),
        accept: super::wish(args).accept,
        watch: args.watch.unwrap_or(WATCH),
    };
    let shown = err::is_terminal() && !common.quiet;
    let mut live = Live { common, terms: &terms, begun, shown, report };
    let result = hold(&terms, &mut live);
    live.clear();
    match result {
        Ok(()) => None,
        Err(objection @ Objection::Left { .. }) => Some(format!("{objection}{}", log_says(target))),
        Err(objection) => Some(objection.to_string()),
    }
}

struct Live<'a> {
    common: &'a Common,
    terms: &'a Terms,
    begun: Instant,
    shown: bool,
    report: &'a mut FixReport,
}

impl Live<'_> {
    fn clear(&self) {
        if self.shown {
            err::progress_done();
        }
    }
}

impl Subject for Live<'_> {
    fn current(&mut self) -> Result<String, ChangeError> {
        Sysfs::live().current()
    }

    fn cost(&mut self) -> Option<f64> {
        let after = Seen::look(self.common).ok()?.cost()?;
        if let Some(before) = self.terms.before_ns {
            self.report.reads =
                Some(Gain { before_ns: before, after_ns: after, ratio: before / after });
        }
        Some(after)
    }

    fn verify(&mut self) -> Verified {
        match super::super::verify::quick(self.common) {
            Ok(outcome) => {
                let line = format!("after: {}", crate::verify::report::headline(&outcome));
                self.report.verified.push(line);
                of(outcome.verdict, &outcome)
            }
            Err(error) => Verified::Unknown(format!("{error:#}")),
        }
    }

    fn stop(&mut self) -> bool {
        interrupt::wished()
    }

    fn elapsed(&mut self) -> Duration {
        self.begun.elapsed()
    }

    fn rest(&mut self, pause: Duration, left: Duration) {
        if self.shown {
            let target = &self.terms.target;
            err::progress(&format!("watching {target}: {} s left", left.as_secs() + 1));
        }
        std::thread::sleep(pause);
    }
}

/// Returns the result of a run of `verify` before the change for the counter.
pub(super) fn checked(outcome: &Outcome) -> Checked {
    // Read it as other verbs do: it must be of this boot, and recent.
    let kept = verified::recent(&LiveTree::new());
    let counter = match of(outcome.counter, outcome) {
        Verified::Trusted if outcome.method.partial || outcome.confidence == Confidence::Low => {
            Verified::Unknown(format!(
                "verify tested CPUs {} and could not prove the counter for all of them",
                scope(outcome)
            ))
        }
        counter => counter,
    };
    Checked::just_now(kept.as_ref(), counter)
}

fn of(trust: Trust, outcome: &Outcome) -> Verified {
    match trust {
        Trust::Trusted => Verified::Trusted,
        // The reference for the rate was already missing before the change.
        Trust::Unknown if outcome.rate_reference.only_gap && outcome.counter == Trust::Trusted => {
            Verified::Trusted
        }
        Trust::NotTrusted => Verified::NotTrusted(first(&outcome.findings)),
        Trust::Unknown => {
            let why = outcome.untested.first().cloned();
            Verified::Unknown(why.unwrap_or_else(|| "the machine was too busy".to_owned()))
        }
    }
}

fn first(findings: &[Finding]) -> String {
    let fault = findings.iter().find(|finding| finding.weight != Weight::Note);
    fault.map_or_else(|| "a fault was found".to_owned(), |finding| finding.summary.clone())
}

/// The kernel's own words about going away from a clocksource, if they can be read.
fn log_says(target: &str) -> String {
    let facts = collect::collect(&LiveTree::new(), Origin::Live);
    let known = clocksmith_change::known::known(&facts, Vec::new());
    let said = known.demoted.iter().rev().find(|(name, _)| name == target);
    said.map_or_else(String::new, |(_, at)| format!(" (the kernel's log: {at})"))
}

//! Proposes a change: from a diagnosis, a system, the findings of `verify` and the user's request
//! to a plan, or to the reasons why not.
//!
//! Pure: the same facts give the same proposal. This module has the choice (`choose`), the refusals and
//! the names under which a risk can be accepted (`guard`), and the steps (`steps`). It must not
//! configure boot loaders ([`crate::boot`]), read or measure.

mod choose;
mod guard;
mod steps;
#[cfg(test)]
mod tests;

use crate::accept::Accept;
use crate::boot::loader::{Choice, Loader};
use crate::mistakes::Mistake;
use crate::plan::Plan;
use crate::system::System;
use crate::trial::Verified;
use crate::words::Change;
use clocksmith_diagnose::Report;
use clocksmith_facts::Facts;
use clocksmith_facts::verified::{Trust, VerifyResult};
use serde::Serialize;

/// The user's request; if empty: any change that helps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// A clocksource.
    pub to: Option<String>,
    /// Words for the kernel command line.
    pub add: Vec<String>,
    /// Words to remove from it.
    pub remove: Vec<String>,
    /// How the choice persists after a reboot.
    pub boot: Boot,
    /// The boot loader that boots this machine, where the user named it.
    pub loader: Option<Loader>,
    /// Risks that were accepted, by name.
    pub accept: Accept,
    /// The plan is only shown: a requirement for applying it is a note, not a refusal.
    pub plan_only: bool,
}

/// How a choice survives a reboot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boot {
    /// A unit where that is sufficient, the command line where it is required.
    #[default]
    Auto,
    /// A unit that writes at boot.
    Unit,
    /// The kernel command line.
    Cmdline,
    /// None: until the next boot only.
    None,
}

/// The verdict of `verify` on the counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It can be trusted.
    Passed(String),
    /// It cannot: why.
    Failed(String),
    /// It was tried, and could not be determined.
    Unknown(String),
    /// It has not been tried in this boot; applying tries it first.
    NotYet,
}

impl Checked {
    /// From a kept result, which is of this boot and of the last day.
    #[must_use]
    pub fn of(result: Option<&VerifyResult>) -> Self {
        let Some(result) = result else { return Self::NotYet };
        let why = || {
            let fault = result.findings.iter().find(|finding| finding.fault);
            fault.map_or_else(|| "a fault was found".to_owned(), |f| f.summary.clone())
        };
        match (result.verdict, result.counter) {
            (_, Trust::NotTrusted) | (Trust::NotTrusted, _) => Self::Failed(why()),
            // Of some CPUs, or with low confidence: no proof for the machine.
            (_, Trust::Trusted) if !result.proves_counter(&result.machine_cpus) => Self::NotYet,
            (_, Trust::Trusted) => {
                Self::Passed(format!("verify passed {} min ago", result.age_s / 60))
            }
            (_, Trust::Unknown) => Self::Unknown("verify could not test the counter".to_owned()),
        }
    }
}

impl Checked {
    /// From a run that has just ended: `counter` is its verdict on the counter, `kept` the stored result, if it
    /// could be stored.
    #[must_use]
    pub fn just_now(kept: Option<&VerifyResult>, counter: Verified) -> Self {
        match (kept, counter) {
            (_, Verified::NotTrusted(why)) => Self::Failed(why),
            (Some(kept), _) => match Self::of(Some(kept)) {
                Self::NotYet => Self::Unknown(format!(
                    "verify tested CPUs {} and could not prove the counter for all of them",
                    kept.scope()
                )),
                checked => checked,
            },
            (None, Verified::Trusted) => Self::Passed("verify passed just now".to_owned()),
            (None, Verified::Unknown(why)) => Self::Unknown(why),
        }
    }
}

/// The inputs of a proposal.
#[derive(Clone, Debug)]
pub struct Situation<'a> {
    /// The diagnosis.
    pub report: &'a Report,
    /// The facts of the machine.
    pub facts: &'a Facts,
    /// The system.
    pub system: &'a System,
    /// The result of `verify`.
    pub checked: Checked,
}

/// The outcome, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing is wrong that could be fixed here.
    NothingToDo,
    /// There is a plan.
    Planned,
    /// The user must make the change, or it must be made in another place.
    ByHand,
    /// The remedy is refused.
    Refused,
    /// The evidence does not say what is wrong.
    Undetermined,
}

/// Something that is not done, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Refused {
    /// The change.
    pub what: String,
    /// Why.
    pub because: String,
    /// The source of the reason.
    pub source: String,
    /// The option that accepts the risk; null where nothing does.
    pub accept: Option<String>,
}

/// A proposed change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// In one word.
    pub outcome: Outcome,
    /// In one sentence.
    pub summary: String,
    /// The steps.
    pub plan: Plan,
    /// The clocksource that the running kernel is to use.
    pub target: Option<String>,
    /// The changes of the kernel command line.
    pub cmdline: Change,
    /// The owner of the command line, where it changes.
    pub boot_by: Option<&'static str>,
    /// The boot loaders that were found, and the one that boots, where the command line changes.
    pub boot: Option<Choice>,
    /// Whether the counter must be verified before the plan is applied.
    pub verify_first: bool,
    /// Whether it takes effect with the next boot only.
    pub reboot: bool,
    /// The refused changes.
    pub refused: Vec<Refused>,
    /// Instructions for the user: lines to copy.
    pub by_hand: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Errors in the present boot configuration.
    pub mistakes: Vec<Mistake>,
}

/// Makes the proposal.
#[must_use]
pub fn propose(situation: &Situation<'_>, wish: &Wish) -> Proposal {
    let mut proposal = Proposal {
        outcome: Outcome::NothingToDo,
        summary: String::new(),
        plan: Plan::default(),
        target: None,
        cmdline: Change::default(),
        boot_by: None,
        boot: None,
        verify_first: false,
        reboot: false,
        refused: Vec::new(),
        by_hand: Vec::new(),
        notes: Vec::new(),
        mistakes: crate::mistakes::find(situation.system),
    };
    if guard::foreign_kernel(situation, &mut proposal) {
        return proposal;
    }
    choose::choose(situation, wish, &mut proposal);
    guard::guard(situation, wish, &mut proposal);
    steps::build(situation, wish, &mut proposal);
    conclude(situation, &mut proposal);
    proposal
}

/// The word and the sentence.
fn conclude(situation: &Situation<'_>, proposal: &mut Proposal) {
    use clocksmith_diagnose::Verdict;
    let verdict = situation.report.verdict;
    let current =
        situation.report.clocksource.current.as_deref().unwrap_or("an unknown clocksource");
    (proposal.outcome, proposal.summary) = if !proposal.plan.steps.is_empty() {
        (Outcome::Planned, proposal.plan.summary.clone())
    } else if !proposal.refused.is_empty() && !proposal.summary.is_empty() {
        (Outcome::Refused, proposal.summary.clone())
    } else if !proposal.refused.is_empty() {
        let what: Vec<&str> = proposal.refused.iter().map(|r| r.what.as_str()).collect();
        (Outcome::Refused, format!("not done: {}", what.join("; ")))
    } else if !proposal.by_hand.is_empty() {
        (Outcome::ByHand, "what helps must be done by hand, or in another place".to_owned())
    } else if proposal.target.is_some() || !proposal.cmdline.is_empty() {
        (Outcome::NothingToDo, "nothing to do: the change is already in force".to_owned())
    } else if verdict == Verdict::Unknown {
        (
            Outcome::Undetermined,
            "nothing is changed: the evidence does not say what is wrong".to_owned(),
        )
    } else if verdict == Verdict::Ok {
        (
            Outcome::NothingToDo,
            format!("nothing to fix: {current} is in use, and its reads are fast"),
        )
    } else {
        (
            Outcome::NothingToDo,
            format!("nothing on this system fixes it: {}", situation.report.headline),
        )
    };
}

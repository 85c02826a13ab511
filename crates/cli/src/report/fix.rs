//! `fix --json`.

use clocksmith_change::boot::loader::Choice;
use clocksmith_change::journal::{Entry, Report, StepStatus};
use clocksmith_change::mistakes::Mistake;
use clocksmith_change::propose::{Outcome, Proposal, Refused};
use clocksmith_change::system::System;
use clocksmith_change::words::Change;
use clocksmith_change::{Action, Step};
use serde::Serialize;

/// `fix --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FixReport {
    /// Always `clocksmith.fix.v1`.
    schema: &'static str,
    /// The mode of the run.
    pub(crate) mode: Mode,
    /// The result in one word.
    pub(crate) result: Came,
    /// The result in one sentence.
    pub(crate) headline: String,
    /// The root directory of the system; null for this machine.
    pub(crate) root: Option<String>,
    /// The clocksource in use at the end.
    pub(crate) clocksource: Option<String>,
    /// The clocksource that is wanted.
    pub(crate) target: Option<String>,
    /// The change of the kernel command line.
    pub(crate) cmdline: Option<Change>,
    /// The tool that owns the kernel command line, if it changes.
    pub(crate) boot_by: Option<String>,
    /// The boot loaders that were found, and the one in use, if the kernel command line changes.
    pub(crate) boot: Option<Choice>,
    /// The steps, in order.
    pub(crate) steps: Vec<StepReport>,
    /// Whether the change takes effect only at the next boot.
    pub(crate) reboot: bool,
    /// Risks that were accepted by name.
    pub(crate) accepted: Vec<String>,
    /// Changes that are refused, and why.
    pub(crate) refused: Vec<Refused>,
    /// Steps for a person: lines to copy.
    pub(crate) by_hand: Vec<String>,
    /// Additional information.
    pub(crate) notes: Vec<String>,
    /// Mistakes in the present boot configuration.
    pub(crate) mistakes: Vec<Mistake>,
    /// Results of `verify`, before and after.
    pub(crate) verified: Vec<String>,
    /// The read cost of CLOCK_MONOTONIC, if measured.
    pub(crate) reads: Option<Gain>,
    /// The number of the change that was made.
    pub(crate) change: Option<u64>,
    /// With --status: every change in force.
    pub(crate) changes: Vec<ChangeReport>,
    /// Changes that were reverted: by --undo, because they did not last, or because their run was killed.
    pub(crate) taken_back: Vec<TakenBack>,
}

/// The requested action.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Mode {
    /// A plan; nothing is changed.
    Plan,
    /// `--apply`.
    Apply,
    /// `--undo`.
    Undo,
    /// `--status`.
    Status,
}

/// The result of a run of `fix`.
#[derive(Serialize, Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Came {
    /// Nothing is wrong that could be fixed here, or nothing is in force.
    NothingToDo,
    /// The report is a plan.
    Planned,
    /// Only a person can make the change that would help.
    ByHand,
    /// The change that would help is refused.
    Refused,
    /// The evidence does not show whether a change is needed.
    Undetermined,
    /// The change was made.
    Applied,
    /// The change was made and reverted, because it did not last.
    RolledBack,
    /// The change was reverted.
    Undone,
    /// The change was reverted, except for files that another process changed meanwhile, which were kept.
    PartlyUndone,
    /// Every change is still in force.
    InForce,
    /// A change is no longer in force.
    NotInForce,
    /// A change is in force in the files, and takes effect at the next boot.
    WaitsForReboot,
}

impl From<Outcome> for Came {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::NothingToDo => Self::NothingToDo,
            Outcome::Planned => Self::Planned,
            Outcome::ByHand => Self::ByHand,
            Outcome::Refused => Self::Refused,
            Outcome::Undetermined => Self::Undetermined,
        }
    }
}

/// A step.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct StepReport {
    /// The action of the step.
    pub(crate) action: Action,
    /// The reason for the step.
    pub(crate) why: String,
    /// The risk of the step.
    pub(crate) risk: String,
    /// How the step is reverted.
    pub(crate) undo: String,
    /// How the step is checked.
    pub(crate) verified: String,
    /// A unified diff, for a file.
    pub(crate) diff: Option<String>,
    /// With --status: `in-force`, `changed`, `gone`, `left` or `unknown`, and the evidence for it.
    pub(crate) holds: Option<String>,
}

/// The read cost before and after, in nanoseconds.
#[derive(Serialize, Debug, Clone, Copy)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Gain {
    /// The read cost before the change.
    pub(crate) before_ns: f64,
    /// The read cost after the change.
    pub(crate) after_ns: f64,
    /// The cost before divided by the cost after.
    pub(crate) ratio: f64,
}

/// A change in force.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ChangeReport {
    /// The number of the change.
    pub(crate) id: u64,
    /// The effect of the change.
    pub(crate) summary: String,
    /// Time of the change, in seconds since 1970.
    pub(crate) begun: i64,
    /// Risks that were accepted by name.
    pub(crate) accepted: Vec<String>,
    /// The steps of the change, each with its state.
    pub(crate) steps: Vec<StepReport>,
    /// Other observations: the result of the unit, the command line of the running kernel.
    pub(crate) seen: Vec<String>,
    /// The state of the change; `waits-for-reboot` where only the next boot can show it.
    pub(crate) holds: Came,
}

/// A change that was reverted.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct TakenBack {
    /// The number of the change.
    pub(crate) id: u64,
    /// The effect that the change had.
    pub(crate) summary: String,
    /// Why the change was reverted.
    pub(crate) because: String,
    /// The steps that reverted it, one line each.
    pub(crate) done: Vec<String>,
    /// Parts that could not be reverted, or were kept.
    pub(crate) troubles: Vec<String>,
}

impl TakenBack {
    pub(crate) fn new(report: &Report, because: &str) -> Self {
        let mut done: Vec<String> = report
            .restored
            .iter()
            .map(|path| format!("{} is as it was before", path.display()))
            .collect();
        done.extend(
            report.directories.iter().map(|path| format!("{} is gone again", path.display())),
        );
        done.extend(report.ran.iter().map(|command| format!("ran {}", command.join(" "))));
        done.extend(
            report.left.iter().map(|c| format!("run this inside that system: {}", c.join(" "))),
        );
        done.extend(report.clocksource.iter().map(|name| format!("{name} is in use again")));
        let troubles = report.kept.iter().chain(&report.troubles).cloned().collect();
        Self {
            id: report.id,
            summary: report.summary.clone(),
            because: because.to_owned(),
            done,
            troubles,
        }
    }
}

impl FixReport {
    pub(crate) fn new(mode: Mode, root: Option<&std::path::Path>) -> Self {
        Self {
            schema: "clocksmith.fix.v1",
            mode,
            result: Came::NothingToDo,
            headline: String::new(),
            root: root.map(|root| root.display().to_string()),
            clocksource: None,
            target: None,
            cmdline: None,
            boot_by: None,
            boot: None,
            steps: Vec::new(),
            reboot: false,
            accepted: Vec::new(),
            refused: Vec::new(),
            by_hand: Vec::new(),
            notes: Vec::new(),
            mistakes: Vec::new(),
            verified: Vec::new(),
            reads: None,
            change: None,
            changes: Vec::new(),
            taken_back: Vec::new(),
        }
    }

    /// Fills in a proposal.
    pub(crate) fn propose(&mut self, proposal: &Proposal, system: &System) {
        self.result = proposal.outcome.into();
        self.headline = sentence(&proposal.summary);
        self.target.clone_from(&proposal.target);
        self.cmdline = (!proposal.cmdline.is_empty()).then(|| proposal.cmdline.clone());
        self.boot_by = proposal.boot_by.map(str::to_owned);
        self.steps = proposal.plan.steps.iter().map(|step| StepReport::new(step, system)).collect();
        self.boot.clone_from(&proposal.boot);
        self.reboot = proposal.reboot;
        self.accepted.clone_from(&proposal.plan.accepted);
        self.refused.clone_from(&proposal.refused);
        self.by_hand.clone_from(&proposal.by_hand);
        self.notes.clone_from(&proposal.notes);
        self.mistakes.clone_from(&proposal.mistakes);
    }
}

/// Returns the text with a capital and a full stop.
pub(crate) fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with('.') || text.is_empty() { "" } else { "." };
    format!("{first}{}{end}", chars.as_str())
}

impl StepReport {
    pub(crate) fn new(step: &Step, system: &System) -> Self {
        let (undo, verified, diff) = match &step.action {
            Action::Write { path, content, .. } => {
                let old = system.text(path);
                let undo = if system.files.contains_key(path) {
                    "the file's previous content, owner, mode and times are restored"
                } else {
                    "the file is deleted"
                };
                (undo.to_owned(), "the file is read back".to_owned(), Some(diff(path, old, content)))
            }
            Action::Remove { .. } => {
                ("the file is restored".to_owned(), "clocksmith checks that the file is absent".to_owned(), None)
            }
            Action::Link { .. } => {
                ("the link is deleted".to_owned(), "the link is read back".to_owned(), None)
            }
            Action::Run { rewrites, undo, .. } => {
                let mut parts = Vec::new();
                if !rewrites.is_empty() {
                    parts.push(
                        "the files that the command rewrites are saved first, and are restored".to_owned(),
                    );
                }
                if let Some(undo) = undo {
                    parts.push(undo.join(" "));
                }
                (parts.join("; then "), "the command must succeed".to_owned(), None)
            }
            Action::Clocksource { .. } => (
                "choose the previous clocksource again".to_owned(),
                "clocksmith reads it back, then watches it, and reverts the change if it does not last".to_owned(),
                None,
            ),
        };
        Self {
            action: step.action.clone(),
            why: step.why.clone(),
            risk: step.risk.clone(),
            undo,
            verified,
            diff,
            holds: None,
        }
    }
}

impl ChangeReport {
    pub(crate) fn new(entry: &Entry, system: &System) -> Self {
        let steps = entry
            .plan
            .steps
            .iter()
            .map(|step| StepReport { diff: None, ..StepReport::new(step, system) });
        Self {
            id: entry.id,
            summary: entry.plan.summary.clone(),
            begun: entry.begun,
            accepted: entry.plan.accepted.clone(),
            steps: steps.collect(),
            seen: Vec::new(),
            holds: Came::InForce,
        }
    }
}

/// A step's status in words.
pub(crate) fn holds(status: &StepStatus) -> String {
    match status {
        StepStatus::InForce => "in-force".to_owned(),
        StepStatus::Gone => "gone: the previous state is restored".to_owned(),
        StepStatus::Left => "left: run it inside that system".to_owned(),
        StepStatus::Unknown(why) => format!("unknown: {why}"),
        StepStatus::Changed(list) => {
            let list: Vec<String> =
                list.iter().map(|(path, what)| format!("{} ({what})", path.display())).collect();
            format!("changed: {}", list.join(", "))
        }
    }
}

/// A unified diff of a file.
fn diff(path: &std::path::Path, old: Option<&str>, new: &str) -> String {
    let name = path.display().to_string();
    let before = if old.is_some() { name.as_str() } else { "/dev/null" };
    similar::TextDiff::from_lines(old.unwrap_or_default(), new)
        .unified_diff()
        .context_radius(2)
        .header(before, &name)
        .to_string()
}

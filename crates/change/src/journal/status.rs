//! Whether a change still holds.

use super::entry::{Entry, Record};
use super::found::{Found, behind, found};
use super::{JournalError, Place};
use crate::plan::Action;
use std::path::PathBuf;

/// Whether a step still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It does.
    InForce,
    /// The state differs from the change's result: path or name, and the difference.
    Changed(Vec<(PathBuf, String)>),
    /// The former state is in force again: another user or program, or a reboot, reverted the step.
    Gone,
    /// The command must still be run inside that system.
    Left,
    /// The state could not be read; the reason.
    Unknown(String),
}

/// Whether a change still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    /// For each step of the plan.
    pub steps: Vec<StepStatus>,
}

impl Holds {
    /// Whether every step is in force, as far as it was made.
    #[must_use]
    pub fn all(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, StepStatus::InForce | StepStatus::Left))
    }
}

impl Entry {
    /// Whether the change is still in force, step by step. Reads only.
    #[must_use]
    pub fn holds(&self, place: &Place) -> Holds {
        let steps = self.plan.steps.iter().enumerate();
        Holds { steps: steps.map(|(index, step)| self.step(place, index, &step.action)).collect() }
    }

    fn step(&self, place: &Place, index: usize, action: &Action) -> StepStatus {
        if self.left.contains(&index) {
            return StepStatus::Left;
        }
        let result = match action {
            Action::Clocksource { name } => self.clocksource_holds(place, name),
            Action::Run { .. } => {
                let records = self.records.iter();
                files(place, records.filter(|record| record.rewritten_by.contains(&index)))
            }
            _ => {
                let target = self.targets.get(index).copied().flatten();
                files(place, target.and_then(|target| self.records.get(target)).into_iter())
            }
        };
        result.unwrap_or_else(|error| StepStatus::Unknown(error.to_string()))
    }

    fn clocksource_holds(&self, place: &Place, name: &str) -> Result<StepStatus, JournalError> {
        let current = place.sysfs().current()?;
        Ok(if current == name {
            StepStatus::InForce
        } else if self.boot != place.boot() || Some(&current) == self.clocksource.as_ref() {
            StepStatus::Gone
        } else {
            let path = place.sysfs().directory().join("current_clocksource");
            StepStatus::Changed(vec![(path, format!("{current} is in use"))])
        })
    }
}

fn files<'a>(
    place: &Place,
    records: impl Iterator<Item = &'a Record>,
) -> Result<StepStatus, JournalError> {
    let mut changed = Vec::new();
    let mut gone = true;
    for record in records {
        let Some(new) = &record.new else {
            return Ok(StepStatus::Unknown("the change is half done".to_owned()));
        };
        let Found { state: current, link } = found(place.tree(), &record.path)?;
        let hidden = link.map(|link| behind(place, &link));
        if hidden.is_some() || !current.same(new) {
            gone &= current.same(&record.old);
            let difference = hidden.unwrap_or_else(|| new.difference(&current));
            changed.push((place.shown(&record.path), difference));
        }
    }
    Ok(match changed.is_empty() {
        true => StepStatus::InForce,
        false if gone => StepStatus::Gone,
        false => StepStatus::Changed(changed),
    })
}

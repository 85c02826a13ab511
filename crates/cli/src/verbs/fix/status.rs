//! `fix --status`: the changes in force, and whether they still hold.

use super::place;
use crate::args::Common;
use crate::exit::Code;
use crate::render;
use crate::report::fix::{Came, ChangeReport, FixReport, Mode, holds, sentence};
use anyhow::Result;
use clocksmith_change::boot::loader;
use clocksmith_change::journal::run::find;
use clocksmith_change::journal::{Entry, Journal, Phase, Place, StepStatus};
use clocksmith_change::mistakes::{self, clock_words};
use clocksmith_change::system::{self, System};
use clocksmith_change::unit::UNIT;
use clocksmith_change::{Action, Sysfs};
use std::path::Path;
use std::process::Command;

pub(super) fn run(common: &Common) -> Result<Code> {
    let place = place(common)?;
    let system = system::read(common.root.as_deref().unwrap_or(Path::new("/")));
    let mut report = FixReport::new(Mode::Status, common.root.as_deref());
    let entries = Journal::look(&place)?;
    let busy = Journal::is_held(&place);
    for (index, entry) in entries.iter().enumerate() {
        let later = entries.get(index + 1..).unwrap_or_default();
        report.changes.push(one(entry, later, &place, &system, busy));
    }
    if place.is_live() {
        report.clocksource = Sysfs::live().current().ok();
    }
    report.mistakes = mistakes::find(&system);
    if entries.iter().any(|entry| entry.plan.loader.is_some()) {
        let choice = loader::look(&system);
        if choice.found.len() > 1 {
            report.notes.push(choice.sentence());
        }
        report.boot = Some(choice);
    }
    let worst = |came: Came| report.changes.iter().filter(|c| c.holds == came).count();
    let open = entries.iter().find(|entry| entry.phase != Phase::Applied);
    (report.result, report.headline) = if let Some(entry) = open {
        unfinished(entry, busy)
    } else if report.changes.is_empty() {
        (Came::NothingToDo, "no change is in force".to_owned())
    } else if worst(Came::NotInForce) > 0 {
        let all = report.changes.len();
        (
            Came::NotInForce,
            format!("{} of {all} changes are no longer in force", worst(Came::NotInForce)),
        )
    } else if worst(Came::WaitsForReboot) > 0 {
        (
            Came::WaitsForReboot,
            "in force in the files; the running kernel needs a reboot".to_owned(),
        )
    } else if report.changes.len() == 1 {
        (Came::InForce, "1 change is in force".to_owned())
    } else {
        (Came::InForce, format!("{} changes are in force", report.changes.len()))
    };
    report.headline = sentence(&report.headline);
    if common.json {
        render::json(&report)?
    } else {
        render::fix::print(common, &report)?
    }
    Ok(super::code(report.result))
}

/// Returns the state and the text of a change whose run has not ended.
fn unfinished(entry: &Entry, busy: bool) -> (Came, String) {
    let id = entry.id;
    if busy {
        let what = match entry.phase {
            Phase::Applying => "making",
            Phase::Trial | Phase::Applied => "watching",
            Phase::Undoing => "reverting",
        };
        return (Came::Undetermined, format!("another run is {what} change {id} now"));
    }
    let text = match entry.phase {
        _ if entry.stuck => format!("change {id} could not be reverted completely"),
        Phase::Applying => format!("change {id} was made only in part: its run was killed"),
        Phase::Trial | Phase::Applied => {
            format!("change {id} was applied, but the watch did not end: its run was killed")
        }
        Phase::Undoing => format!("change {id} was reverted only in part: its run was killed"),
    };
    (Came::NotInForce, format!("{text}. To revert it: clocksmith fix --undo"))
}

fn one(entry: &Entry, later: &[Entry], place: &Place, system: &System, busy: bool) -> ChangeReport {
    let mut change = ChangeReport::new(entry, system);
    let held = entry.holds_below(place, later);
    for (step, status) in change.steps.iter_mut().zip(&held.steps) {
        step.holds = Some(holds(status));
    }
    let bad = held.steps.iter().any(|s| matches!(s, StepStatus::Changed(_) | StepStatus::Gone));
    if entry.phase != Phase::Applied {
        change.holds = unfinished(entry, busy).0;
    } else if bad {
        change.holds = Came::NotInForce;
    }
    other_loader(entry, system, &mut change);
    if place.is_live() {
        unit(entry, &mut change);
        command_line(entry, place, system, &mut change);
    }
    change
}

/// Checks whether the boot loader that was changed is the one that boots.
fn other_loader(entry: &Entry, system: &System, change: &mut ChangeReport) {
    let Some(changed) = entry.plan.loader else { return };
    let choice = loader::look(system);
    if let Some(boots) = choice.boots
        && boots != changed
    {
        change.seen.push(format!(
            "{} was changed, and {} boots this machine: {}",
            changed.shown(),
            boots.shown(),
            choice.because
        ));
        change.holds = Came::NotInForce;
    }
}

/// Whether the unit did its work in this boot.
fn unit(entry: &Entry, change: &mut ChangeReport) {
    let ours = |path: &Path| path.ends_with(UNIT);
    let has = entry
        .plan
        .steps
        .iter()
        .any(|step| matches!(&step.action, Action::Write { path, .. } if ours(path)));
    if !has {
        return;
    }
    // The caller's PATH is not used: root's may have a directory that others can write to.
    let shown = find("systemctl").ok().map(Command::new);
    let Some(mut program) = shown else {
        change.seen.push(format!("whether {UNIT} ran is not known: systemctl is not installed"));
        return;
    };
    let shown = program
        .args(["show", "--property=ActiveState,Result,UnitFileState,NeedDaemonReload", UNIT])
        .output();
    let Ok(output) = shown else {
        change.seen.push(format!("whether {UNIT} ran is not known: systemctl cannot be run"));
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or("unknown").to_owned()
    };
    let (state, result) = (value("ActiveState"), value("Result"));
    change.seen.push(format!("{UNIT}: {state}, {result}, {}", value("UnitFileState")));
    if state != "active" || result != "success" {
        change.seen.push(format!("see: journalctl -b -u {UNIT}"));
        change.holds = Came::NotInForce;
    }
}

/// Checks whether the running kernel got the parameters that the files contain.
fn command_line(entry: &Entry, place: &Place, system: &System, change: &mut ChangeReport) {
    let wanted = &entry.plan.cmdline;
    let Some(line) = system.cmdline().filter(|_| !wanted.is_empty()) else { return };
    let open = wanted.open(line);
    if open.is_empty() {
        let running = line_of(&clock_words(line));
        change.seen.push(format!("the running kernel's command line agrees: {running}"));
        return;
    }
    for (words, what) in [(&open.add, "not"), (&open.remove, "still")] {
        if !words.is_empty() {
            let words = words.join(" ");
            change.seen.push(format!("{what} on the running kernel's command line: {words}"));
        }
    }
    if change.holds != Came::InForce {
        return;
    }
    let rebooted = entry.boot.is_some() && entry.boot != place.boot();
    change.holds = if rebooted { Came::NotInForce } else { Came::WaitsForReboot };
}

fn line_of(words: &[String]) -> String {
    if words.is_empty() { "no word about clocks".to_owned() } else { words.join(" ") }
}

//! The steps, in order: first those for the running kernel, then those for later boots.

use super::{Boot, Proposal, Refused, Situation, Wish};
use crate::boot;
use crate::plan::{Action, Step};
use crate::unit::{self, UNIT};
use std::path::PathBuf;

/// The directory of the administrator's units.
const UNITS: &str = "/etc/systemd/system";
/// OpenRC's directory of scripts at boot.
const LOCAL: &str = "/etc/local.d/clocksmith.start";

pub(super) fn build(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    let system = situation.system;
    let current = situation.report.clocksource.current.as_deref();
    let mut done = Vec::new();
    if let Some(target) = proposal.target.clone() {
        if system.live && current != Some(target.as_str()) {
            let facts = situation.facts;
            let guest = matches!(facts.hypervisor.value(), Some(Some(_)));
            proposal.plan.steps.push(runtime(&target, current, guest));
            done.push(format!("use {target} now"));
        }
        if matches!(wish.boot, Boot::Auto | Boot::Unit) && at_boot(situation, &target, proposal) {
            proposal.plan.each_boot = Some(target.clone());
            done.push(format!("choose {target} at each boot"));
        }
    }
    if !proposal.cmdline.is_empty() && wish.boot != Boot::None {
        command_line(situation, wish, proposal, &mut done);
    } else if !proposal.cmdline.is_empty() {
        proposal.notes.push("nothing is changed for later boots, as requested".to_owned());
    }
    proposal.plan.summary = done.join("; ");
}

fn runtime(target: &str, current: Option<&str>, guest: bool) -> Step {
    let from = current.map_or_else(String::new, |name| format!(" instead of {name}"));
    let risk = match (target, guest) {
        ("tsc", false) => {
            "if the TSCs of two CPUs differ, time goes backward between them: verify looks for that before \
             and after"
        }
        ("tsc", true) => {
            "if the TSCs of two CPUs differ, time goes backward between them: verify looks for that before \
             and after. A guest that is restored or moved has a stale wall clock until NTP steps it"
        }
        _ => "none for the time: the kernel returns to the previous one if it must",
    };
    Step {
        action: Action::Clocksource { name: target.to_owned() },
        why: format!("the running kernel uses {target}{from} at once"),
        risk: risk.to_owned(),
    }
}

/// A unit, or a script of OpenRC; whether there is something to do.
fn at_boot(situation: &Situation<'_>, target: &str, proposal: &mut Proposal) -> bool {
    let system = situation.system;
    let before = proposal.plan.steps.len();
    if system.read_only.iter().any(|directory| directory.ends_with("etc")) || system.marks.nixos {
        proposal.notes.push(
            "/etc is made by this system's own tool: the choice is kept by what `clocksmith fix --format \
             nixos` (or ignition, ansible, ...) prints"
                .to_owned(),
        );
        return false;
    }
    let risk = "none for the boot: it writes while the system runs, and nothing else fails with it";
    if system.systemd {
        let path = format!("{UNITS}/{UNIT}");
        let content = unit::unit(target);
        if system.text(&path) == Some(content.as_str()) {
            proposal.notes.push(format!("{path} already does so"));
            return false;
        }
        proposal.plan.steps.push(boot::write(
            &path,
            content,
            "a choice through sysfs is lost at a reboot; this unit repeats it at each boot, checks \
             that it is available, and reads it back",
            risk,
        ));
        proposal.plan.steps.push(Step {
            action: Action::Link {
                path: PathBuf::from(format!("{UNITS}/multi-user.target.wants/{UNIT}")),
                target: PathBuf::from(&path),
            },
            why: "this is what `systemctl enable` does".to_owned(),
            risk: "none".to_owned(),
        });
        if system.live {
            proposal.plan.steps.push(systemctl(
                &["daemon-reload"],
                Some(&["daemon-reload"]),
                "systemd reads its units again",
            ));
            proposal.plan.steps.push(systemctl(
                &["restart", UNIT],
                Some(&["stop", UNIT]),
                "proves now that the unit works at a boot",
            ));
        }
    } else if system.openrc {
        let mut content = format!(
            "#!/bin/sh\n# Made by clocksmith: chooses the clocksource {target} at each boot.\n"
        );
        content.push_str(&unit::script(target, unit::SYSFS).join("\n"));
        content.push('\n');
        if system.text(LOCAL) == Some(content.as_str()) {
            return false;
        }
        let mut step =
            boot::write(LOCAL, content, "OpenRC's `local` service runs it at each boot", risk);
        if let Action::Write { mode, .. } = &mut step.action {
            *mode = 0o755;
        }
        proposal.plan.steps.push(step);
        proposal
            .by_hand
            .push("rc-update add local default   # if `local` is not in a runlevel yet".to_owned());
    } else {
        proposal.by_hand.extend([
            "no systemd and no OpenRC here. To keep the choice across boots, on the command line:"
                .to_owned(),
            format!("  clocksmith fix --apply --to {target} --boot cmdline"),
        ]);
    }
    proposal.plan.steps.len() > before
}

fn systemctl(words: &[&str], undo: Option<&[&str]>, why: &str) -> Step {
    let command = |words: &[&str]| {
        std::iter::once("systemctl").chain(words.iter().copied()).map(str::to_owned).collect()
    };
    Step {
        action: Action::Run {
            command: command(words),
            rewrites: Vec::new(),
            undo: undo.map(command),
            regenerate: None,
        },
        why: why.to_owned(),
        risk: "none".to_owned(),
    }
}

fn command_line(
    situation: &Situation<'_>,
    wish: &Wish,
    proposal: &mut Proposal,
    done: &mut Vec<String>,
) {
    let change = proposal.cmdline.clone();
    let mut parts = Vec::new();
    if !change.add.is_empty() {
        parts.push(format!("add {}", change.add.join(" ")));
    }
    if !change.remove.is_empty() {
        parts.push(format!("remove {}", change.remove.join(" ")));
    }
    let parts = parts.join(", ");
    match boot::plan(situation.system, &change, wish.loader) {
        Ok(way) => {
            proposal.plan.loader = way.choice.as_ref().and_then(|choice| choice.boots);
            if let Some(choice) = way.choice.as_ref().filter(|choice| choice.found.len() > 1) {
                proposal.notes.push(choice.sentence());
            }
            proposal.boot = way.choice;
            proposal.boot_by = Some(way.by);
            proposal.notes.extend(way.notes);
            proposal.by_hand.extend(way.by_hand);
            if way.steps.is_empty() {
                if proposal.by_hand.is_empty() {
                    proposal.notes.push(format!("{} already has that", way.by));
                }
                return;
            }
            done.push(format!("kernel command line of later boots: {parts}"));
            proposal.plan.steps.extend(way.steps);
            proposal.plan.cmdline = change;
            proposal.plan.expected = way.expected;
            proposal.reboot = true;
        }
        Err(error) => {
            proposal.boot = Some(boot::loader::look(situation.system));
            if matches!(error, boot::NoWay::Unknown(_)) {
                proposal.summary = format!(
                    "not done, because the boot loader is not known. By hand, on its kernel command line: \
                     {parts}"
                );
            }
            proposal.refused.push(Refused {
                what: format!("changing the kernel command line ({parts})"),
                because: error.to_string(),
                source: "the boot configuration of this system".to_owned(),
                accept: None,
            });
        }
    }
}

//! `runtime-override`: a person or a program wrote a choice to sysfs.

use super::cmdline_clocksource_override::asked_before_restart;
use super::definition::{Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::current::{VERIFIED_WITHIN, is_of_one_boot};
use crate::demotion::demoted_by;
use crate::names;
use crate::remedies::table;
use clocksmith_facts::log::{Event, KernelLog};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("a person or a program chose it at run time"),
    remedies: &[&table::SWITCH_TO_TSC_NOW, &table::CLEAR_OVERRIDE, &table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    if let Some(log) = case.log() {
        written_in_transcript(case, log, causes);
        switched(case, log, causes);
    }
    head_of_list(case, causes);
    against_command_line(case, causes);
}

fn written_in_transcript(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    if let Some((entry, name)) = log.last(|event| match event {
        Event::WroteCurrent(name) => Some(name.clone()),
        _ => None,
    }) && case.current_name() == Some(name.as_str())
    {
        causes.add(
            CauseId::RuntimeOverride,
            case.loss(),
            Confidence::High,
            format!("{name} was written to current_clocksource by hand"),
            vec![Evidence::line(log, entry)],
        );
    }
}

/// Seconds within which nothing in user space answers a choice of the kernel.
const A_MOMENT: f64 = 0.5;

fn rating(name: &str) -> i32 {
    names::find(name).map_or(0, |n| n.rating)
}

/// A switch to a worse clocksource, long after boot and without a demotion, was made by hand.
fn switched(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    // Lines in an unknown order show no sequence.
    if log.newest_first {
        return;
    }
    let switches: Vec<_> = log.all(|e| matches!(e, Event::Switched(_))).collect();
    let Some(last) = switches.last() else { return };
    let Event::Switched(to) = &last.event else { return };
    let Some(previous) = switches.len().checked_sub(2).and_then(|i| switches.get(i)) else {
        return;
    };
    let Event::Switched(from) = &previous.event else { return };
    // Two names in one line are those of a sentence; and within a moment the kernel chooses twice by itself.
    let apart = previous.at.zip(last.at).map(|(then, now)| now - then);
    if previous.line == last.line || apart.is_some_and(|seconds| seconds < A_MOMENT) {
        return;
    }
    // By its stamp it is the earlier one, of another boot or of a log whose newest line comes first.
    if previous.at.zip(last.at).is_some_and(|(then, now)| now < then)
        || log.seconds_between(previous, last).is_some_and(|seconds| seconds < 0.0)
    {
        return;
    }
    if !is_of_one_boot(log, last) {
        return;
    }
    let demotes = |event: &Event| {
        demoted_by(event).is_some()
            || matches!(event, Event::WatchdogSkewed { .. } | Event::SchedClockUnstable)
    };
    let demoted =
        log.all(demotes).any(|e| e.line > previous.line && e.line < last.line.saturating_add(12));
    // Before user space runs, nothing can write to sysfs: the kernel lowered the rating itself. Old kernels do that
    // without a message.
    let user_space = log.first(|e| matches!(e, Event::UserSpace).then_some(()));
    if user_space.is_some_and(|(began, ())| began.line > last.line) {
        return;
    }
    // Kernels with these words (up to 2.6.27) lower the TSC without a message. Without time stamps, only earlier
    // messages of user space show that the switch was late.
    let silent = last.text.contains("clocksource has been installed");
    let late = last.at.map_or(!silent || user_space.is_some(), |at| at > 10.0);
    // A paravirtual clock yields to an invariant TSC by a lower rating than its usual one, in the moment in which the
    // TSC registers.
    let yields = to == "tsc"
        && log.all(|event| matches!(event, Event::Registered { name, .. } if name == "tsc")).any(
            |line| {
                // Up to 4.15 the TSC must be verified first, which takes the watchdog a round or two.
                let soon = match (line.at, last.at) {
                    (Some(then), Some(now)) => now - then < VERIFIED_WITHIN,
                    _ => last.line.saturating_sub(line.line) < 12,
                };
                line.line < last.line && soon
            },
        );
    if rating(to) < rating(from) && !demoted && !yields && late && from != "tsc-early" {
        causes.add(
            CauseId::RuntimeOverride,
            if case.slow == Some(true) { Severity::Warning } else { Severity::Info },
            Confidence::Medium,
            format!(
                "the kernel switched from {from} to {to}, which is rated lower, without demoting {from}: \
                 a person or a program wrote {to} to current_clocksource"
            ),
            vec![Evidence::line(log, previous), Evidence::line(log, last)],
        );
    }
}

/// sysfs itself shows that the best of the list is not the one in use.
fn head_of_list(case: &Case<'_>, causes: &mut Causes) {
    let Some(available) = case.facts.available_clocksources() else { return };
    let (Some(best), Some(current)) = (available.first(), case.current_name()) else { return };
    if !case.machine.lists_by_rating(available) {
        return;
    }
    let override_here = case.machine.cmdline.value.clocksource_override();
    let in_list = available.iter().any(|name| name == current);
    if best == current || !in_list || override_here.as_deref() == Some(current) {
        return;
    }
    if asked_before_restart(case).is_some() {
        return;
    }
    // The kernel demoted it, before or after this list.
    if best.starts_with("tsc") && case.tsc_is_given_up() {
        return;
    }
    let harmless = case.slow == Some(false);
    let seen = case.facts.cmdline.is_known();
    let why = if seen {
        "and the command line does not request it: a service, a tool or a person wrote it to current_clocksource"
    } else {
        "and this evidence does not contain the command line: either the command line requests it (clocksource=), or a \
         service, a tool or a person wrote it to current_clocksource"
    };
    causes.add(
        CauseId::RuntimeOverride,
        if harmless { Severity::Info } else { Severity::Warning },
        if seen { Confidence::High } else { Confidence::Medium },
        format!("{current} is in use although {best} is the first in the list, {why}"),
        list(case, available, current),
    );
}

/// The command line requests one clocksource, which is available, and a different one is in use: a
/// later write won. `clocksmith fix` keeps its choice by such a write at each boot.
fn against_command_line(case: &Case<'_>, causes: &mut Causes) {
    let Some(wanted) = case.machine.cmdline.value.clocksource_override() else { return };
    let Some(available) = case.facts.available_clocksources() else { return };
    let Some(current) = case.current_name() else { return };
    let there = |name: &str| available.iter().any(|n| n == name);
    if wanted == current || !there(&wanted) || !there(current) || current == "tsc-early" {
        return;
    }
    let mut evidence = list(case, available, current);
    evidence.push(super::tsc::clocksource_word(case));
    causes.add(
        CauseId::RuntimeOverride,
        if case.slow == Some(false) || case.tsc_is_current() {
            Severity::Info
        } else {
            Severity::Warning
        },
        Confidence::High,
        format!(
            "{current} is in use although the command line requests {wanted}, which is available: \
             {current} was written to current_clocksource after the boot, as the unit of clocksmith \
             fix does"
        ),
        evidence,
    );
}

fn list(case: &Case<'_>, available: &[String], current: &str) -> Vec<Evidence> {
    let available = available.join(" ");
    let source = case.current.source.clone();
    if case.facts.current_clocksource().is_known() {
        return vec![Evidence::new(source, format!("current {current}; available {available}"))];
    }
    // A switch in the log is younger than the reading of sysfs.
    let read = case.facts.clocksources.source().map_or_else(String::new, |source| source.0.clone());
    vec![
        Evidence::new(source, format!("current {current}")),
        Evidence::new(read, format!("available {available}")),
    ]
}

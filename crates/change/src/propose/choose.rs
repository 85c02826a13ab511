//! Which clocksource, and which words on the kernel command line.

use super::{Boot, Proposal, Situation, Wish};
use crate::known::known;
use crate::switch;
use crate::words::Change;
use clocksmith_diagnose::remedies::{Layer, table};
use clocksmith_diagnose::{Verdict, names};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_kernel::Machine;

pub(super) fn choose(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    proposal.cmdline = Change { add: wish.add.clone(), remove: wish.remove.clone() };
    let current = situation.report.clocksource.current.as_deref();
    if let Some(name) = &wish.to {
        proposal.target = Some(name.clone());
    } else if proposal.cmdline.is_empty() {
        automatic(situation, wish, proposal);
    }
    let Some(target) = proposal.target.clone() else { return };
    // A choice on the command line is for later boots; a conflicting one is removed.
    if wish.boot == Boot::Cmdline {
        override_at_boot(situation, &target, proposal);
    }
    if current == Some(target.as_str()) && situation.system.live {
        proposal.notes.push(format!("{target} is already in use"));
    }
}

/// Any change that helps.
fn automatic(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    let report = situation.report;
    // A fast clocksource may still be wrong, and an unknown one may be right: neither is changed
    // without a request.
    if report.verdict != Verdict::Slow {
        if report.verdict == Verdict::Untrustworthy {
            proposal
                .by_hand
                .push("time may be wrong here; see what can be done: clocksmith why".to_owned());
            proposal
                .by_hand
                .push("a slower but correct clocksource: clocksmith fix --to NAME".to_owned());
        }
        return;
    }
    let advised = |advice: &table::Advice| {
        report.remedies.iter().find(|r| r.id == advice.id && r.refused_because.is_none())
    };
    proposal.target = fast(situation);
    if proposal.target.is_none() {
        // A unit does not take words off the command line.
        if wish.boot != Boot::Unit
            && let Some(remedy) = advised(&table::REMOVE_PARAMETER)
        {
            proposal.cmdline.remove.extend(remedy.parameters.remove.iter().cloned());
        }
        if let Some(remedy) = advised(&table::TSC_NOWATCHDOG) {
            proposal.cmdline.add.extend(remedy.parameters.add.iter().cloned());
            proposal.notes.push(
                "a reboot alone makes the TSC available again, until the next false alarm"
                    .to_owned(),
            );
        }
    }
    // The findings of the kernel's own checks; the guard decides whether the change is made.
    let reliable = report.remedies.iter().any(|remedy| remedy.id == table::TSC_RELIABLE.id);
    if proposal.target.is_none()
        && proposal.cmdline.is_empty()
        && reliable
        && report.causes.iter().any(|cause| cause.id.is_silenced_by_reliable())
    {
        proposal.cmdline.add.push("tsc=reliable".to_owned());
    }
    if proposal.target.is_none() && proposal.cmdline.is_empty() {
        elsewhere(situation, proposal);
    }
}

/// Returns the best clocksource that is available, not in use, fast by nature and not ruled out.
fn fast(situation: &Situation<'_>) -> Option<String> {
    let available = situation.report.clocksource.available.clone()?;
    let current = situation.report.clocksource.current.as_deref();
    let machine = Machine::of(situation.facts);
    let known = known(situation.facts, available.clone());
    let good = |name: &&String| {
        current != Some(name.as_str())
            && !names::is_slow_by_nature(name)
            && clocksmith_kernel::vdso::serves(&machine, name) != Some(false)
            && switch::refuse(name, &known).is_none()
    };
    // If a paravirtual clock is slow, the TSC is the remaining choice; otherwise the kernel's
    // own order applies.
    let tsc = available.iter().filter(good).find(|name| *name == "tsc");
    tsc.or_else(|| available.iter().find(good)).cloned()
}

/// Words that choose a clocksource.
fn overrides(situation: &Situation<'_>) -> Vec<String> {
    let line = situation.system.cmdline().map(CommandLine::parse);
    let line = line.or_else(|| situation.facts.cmdline.value().cloned()).unwrap_or_default();
    let mut words: Vec<String> = line
        .words()
        .iter()
        .filter(|word| (word.name == "clocksource" || word.name == "clock") && word.value.is_some())
        .map(clocksmith_facts::cmdline::Word::text)
        .collect();
    words.dedup();
    words
}

fn override_at_boot(situation: &Situation<'_>, target: &str, proposal: &mut Proposal) {
    let wanted = format!("clocksource={target}");
    let mut machine = Machine::of(situation.facts);
    machine.cmdline.value = machine.cmdline.value.without("clocksource").without("clock");
    let expected = clocksmith_kernel::predict(&machine);
    let natural = expected.assumed.is_empty() && expected.current.as_deref() == Some(target);
    let mut words = overrides(situation);
    words.retain(|word| *word != wanted);
    if natural && !words.is_empty() {
        proposal.notes.push(format!("this kernel chooses {target} by itself: no word is needed"));
    } else if !proposal.cmdline.add.contains(&wanted) {
        proposal.cmdline.add.push(wanted);
    }
    for word in words {
        if !proposal.cmdline.remove.contains(&word) {
            proposal.cmdline.remove.push(word);
        }
    }
}

/// The remedy is outside of this machine.
fn elsewhere(situation: &Situation<'_>, proposal: &mut Proposal) {
    for remedy in &situation.report.remedies {
        if remedy.refused_because.is_some() {
            continue;
        }
        let layer = match remedy.layer {
            Layer::Hypervisor => "in the hypervisor",
            Layer::Firmware => "in firmware",
            Layer::Program => "in the program",
            Layer::Runtime => "now",
            Layer::Boot => "at boot",
        };
        proposal.by_hand.push(format!("{layer}: {}", remedy.summary));
        proposal.by_hand.extend(remedy.commands.iter().map(|command| format!("  {command}")));
        for setting in &remedy.settings {
            proposal.by_hand.push(format!("  {}:", setting.r#where));
            proposal.by_hand.extend(setting.text.lines().map(|line| format!("    {line}")));
        }
        proposal.by_hand.extend(remedy.instructions.iter().map(|text| format!("  {text}")));
    }
}

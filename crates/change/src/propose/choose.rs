//! Which clocksource, and which words on the kernel command line.

use super::{Boot, Proposal, Situation, Wish};
use crate::known::known;
use crate::switch;
use crate::words::Change;
use clocksmith_diagnose::remedies::{Layer, table};
use clocksmith_diagnose::{CauseId, Verdict, names};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_kernel::Machine;

pub(super) fn choose(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    proposal.cmdline = Change { add: wish.add.clone(), remove: wish.remove.clone() };
    let current = situation.diagnosis.current.name.as_deref();
    if let Some(name) = &wish.to {
        proposal.target = Some(name.clone());
    } else if proposal.cmdline.is_empty() {
        automatic(situation, wish, proposal);
    }
    let Some(target) = proposal.target.clone() else { return };
    // A choice on the command line is for later boots; one that is in the way goes.
    if wish.boot == Boot::Cmdline {
        override_at_boot(situation, &target, proposal);
    }
    if current == Some(target.as_str()) && situation.system.live {
        proposal.notes.push(format!("{target} is in use already"));
    }
}

/// Whatever helps.
fn automatic(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    let diagnosis = situation.diagnosis;
    // What is fast may still be wrong, and what is unknown may be right: neither is touched unasked.
    if diagnosis.verdict != Verdict::Slow {
        if diagnosis.verdict == Verdict::Untrustworthy {
            proposal
                .by_hand
                .push("time may be wrong here; see what can be done: clocksmith why".to_owned());
            proposal
                .by_hand
                .push("a slower clocksource that is right: clocksmith fix --to NAME".to_owned());
        }
        return;
    }
    let advised = |id: &str| {
        diagnosis.remedies.iter().any(|remedy| remedy.id == id && remedy.refused_because.is_none())
    };
    let has = |id: CauseId| diagnosis.causes.iter().any(|cause| cause.id == id);
    let likely = |id: CauseId| {
        diagnosis.causes.iter().any(|c| c.id == id && c.confidence >= Confidence::Medium)
    };
    proposal.target = fast(situation);
    for (cause, word) in
        [(CauseId::CmdlineNotsc, "notsc"), (CauseId::CmdlineTscUnstable, "tsc=unstable")]
    {
        if has(cause) && proposal.target.is_none() {
            proposal.cmdline.remove.push(word.to_owned());
        }
    }
    if proposal.target.is_none()
        && (likely(CauseId::CmdlineClocksourceUnknown)
            || likely(CauseId::CmdlineClocksourceOverride))
        && wish.boot != Boot::Unit
    {
        proposal.cmdline.remove.extend(overrides(situation));
    }
    if proposal.target.is_none() && advised("tsc-nowatchdog") {
        proposal.cmdline.add.push("tsc=nowatchdog".to_owned());
        proposal
            .notes
            .push("the reboot alone brings the TSC back, until the next false alarm".to_owned());
    }
    let curable =
        [CauseId::TscUnsynchronized, CauseId::TscWarp, CauseId::TscSkew, CauseId::WatchdogAtFault];
    // What the kernel's own checks stand against; the guard decides whether it is done.
    let reliable = diagnosis.remedies.iter().any(|remedy| remedy.id == "tsc-reliable");
    if proposal.target.is_none()
        && proposal.cmdline.is_empty()
        && reliable
        && curable.into_iter().any(has)
    {
        proposal.cmdline.add.push("tsc=reliable".to_owned());
    }
    if proposal.target.is_none() && proposal.cmdline.is_empty() {
        elsewhere(situation, proposal);
    }
}

/// The best clocksource that is there, not in use, fast by nature and not condemned.
fn fast(situation: &Situation<'_>) -> Option<String> {
    let available = situation.diagnosis.available.clone()?;
    let current = situation.diagnosis.current.name.as_deref();
    let machine = Machine::of(situation.facts);
    let known = known(situation.facts, available.clone());
    let good = |name: &&String| {
        current != Some(name.as_str())
            && !names::is_slow_by_nature(name)
            && clocksmith_kernel::vdso::serves(&machine, name) != Some(false)
            && switch::refuse(name, &known).is_none()
    };
    // Where a paravirtual clock is slow, the TSC is what is left; else the kernel's own order.
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
        proposal.notes.push(format!("left alone, this kernel chooses {target}: no word is needed"));
    } else if !proposal.cmdline.add.contains(&wanted) {
        proposal.cmdline.add.push(wanted);
    }
    for word in words {
        if !proposal.cmdline.remove.contains(&word) {
            proposal.cmdline.remove.push(word);
        }
    }
}

/// What would help is not here.
fn elsewhere(situation: &Situation<'_>, proposal: &mut Proposal) {
    for remedy in &situation.diagnosis.remedies {
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
    }
}

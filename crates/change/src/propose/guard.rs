//! The refusals, and the names under which their risks can be accepted.

use super::{Checked, Outcome, Proposal, Refused, Situation, Wish};
use crate::accept::{BACKWARD, UNVERIFIED};
use crate::known::known;
use crate::switch;
use crate::unit::is_name;
use crate::words::{Change, check};
use clocksmith_diagnose::names;
use clocksmith_diagnose::remedies::table;
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_kernel::MistakeKind;

/// Whether the kernel belongs to another system; then nothing is planned.
pub(super) fn foreign_kernel(situation: &Situation<'_>, proposal: &mut Proposal) -> bool {
    let environment = &situation.facts.environment;
    let (what, because) = if let Some(Some(kind)) = environment.container.value() {
        (
            format!("changes from inside a container ({kind})"),
            "the kernel and its clocksource belong to the host, and so does its boot loader: run this \
             there",
        )
    } else if environment.wsl.value() == Some(&true) {
        (
            "changes inside WSL".to_owned(),
            "Windows starts this kernel: its command line is kernelCommandLine= in %UserProfile%\\.wslconfig",
        )
    } else if environment.gvisor.value() == Some(&true) {
        ("changes inside gVisor".to_owned(), "there is no Linux kernel under this program")
    } else {
        return false;
    };
    proposal.outcome = Outcome::Refused;
    proposal.summary = format!("not done: {what}");
    proposal.refused.push(Refused {
        what,
        because: because.to_owned(),
        source: "clocksources are not namespaced (kernel/time/clocksource.c, all versions)"
            .to_owned(),
        accept: None,
    });
    true
}

/// Removes steps from the proposal that would do harm or nothing.
pub(super) fn guard(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    if !words_are_sane(situation, proposal) {
        // A part of a request is never carried out by itself.
        proposal.target = None;
        proposal.cmdline = Change::default();
        return;
    }
    target(situation, wish, proposal);
    let tsc = proposal.cmdline.add.iter().any(|word| is_tsc(word));
    if tsc {
        for word in proposal.cmdline.add.clone() {
            if is_tsc(&word) && !allowed(situation, wish, &word, proposal) {
                proposal.cmdline.add.retain(|other| *other != word);
                // A part of a request is never carried out by itself.
                proposal.cmdline.remove.clear();
            }
        }
    }
}

/// Words that make the TSC the clock, or disable its watchdog.
fn is_tsc(word: &str) -> bool {
    matches!(word, "tsc=reliable" | "tsc=nowatchdog" | "clocksource=tsc" | "clock=tsc")
}

fn words_are_sane(situation: &Situation<'_>, proposal: &mut Proposal) -> bool {
    let mut sane = true;
    let mut refuse = |what: &str, because: String| {
        proposal.refused.push(Refused {
            what: what.to_owned(),
            because,
            source: "Linux Documentation/admin-guide/kernel-parameters.txt".to_owned(),
            accept: None,
        });
        sane = false;
    };
    for word in proposal.cmdline.add.iter().chain(&proposal.cmdline.remove) {
        if let Err(bad) = check(word) {
            refuse(word, bad.to_string());
        }
    }
    if let Some(word) = proposal.cmdline.add.iter().find(|w| proposal.cmdline.remove.contains(w)) {
        refuse(word, "it is added and removed at once".to_owned());
    }
    let line = situation.system.cmdline().unwrap_or_default();
    let line = CommandLine::parse(&proposal.cmdline.of(line));
    for mistake in clocksmith_kernel::mistakes(&line) {
        let word = line.words().get(mistake.word).map(|word| word.text()).unwrap_or_default();
        let ours = proposal.cmdline.add.contains(&word);
        if ours && !matches!(mistake.kind, MistakeKind::Slow | MistakeKind::Trusted) {
            let instead = mistake.instead.filter(|text| !text.is_empty());
            let instead =
                instead.map_or_else(String::new, |text| format!(". Perhaps you meant: {text}"));
            refuse(&word, format!("it {}{instead}", mistake.why));
        }
    }
    sane
}

/// Whether the running kernel can be given the clocksource.
fn target(situation: &Situation<'_>, wish: &Wish, proposal: &mut Proposal) {
    let Some(name) = proposal.target.clone() else { return };
    let available = situation.report.clocksource.available.clone();
    let why = if !is_name(&name) {
        Some(format!("{name:?} is not the name of a clocksource"))
    } else if names::find(&name).is_none() && !available.iter().flatten().any(|n| *n == name) {
        let meant = clocksmith_kernel::mistakes::meant_clocksource(&name);
        let meant =
            meant.map_or_else(String::new, |meant| format!("; perhaps {meant} was intended"));
        Some(format!("no kernel has a clocksource of this name{meant}"))
    } else {
        available.and_then(|available| {
            let list = available.join(" ");
            let refusal = switch::refuse(&name, &known(situation.facts, available))?;
            Some(format!("{refusal} (available: {list})"))
        })
    };
    if let Some(because) = why {
        proposal.refused.push(Refused {
            what: format!("choosing {name}"),
            because,
            source: "kernel/time/clocksource.c, current_clocksource_store(): such a write returns success \
                     and changes nothing"
                .to_owned(),
            accept: None,
        });
        proposal.target = None;
        proposal.cmdline.add.retain(|word| *word != format!("clocksource={name}"));
        proposal.cmdline.remove.clear();
        return;
    }
    let current = situation.report.clocksource.current.as_deref() == Some("tsc");
    if name == "tsc"
        && !(current && situation.system.live)
        && !allowed(situation, wish, "choosing tsc", proposal)
    {
        proposal.target = None;
        proposal.cmdline.add.retain(|word| word != "clocksource=tsc");
        proposal.cmdline.remove.clear();
    }
}

/// Whether the TSC may be trusted so far: by measurement, or because the user accepts the risk.
fn allowed(situation: &Situation<'_>, wish: &Wish, what: &str, proposal: &mut Proposal) -> bool {
    let risk = if what == "tsc=reliable" { "tsc-reliable" } else { "switch-to-tsc-now" };
    let source = table::find(risk).map_or("", |advice| advice.source);
    let against = match &situation.checked {
        Checked::Failed(why) => Some(format!("verify measured a fault in this boot: {why}")),
        _ => evidence(situation, what),
    };
    if let Some(because) = against {
        if wish.accept.backward {
            accept(proposal, BACKWARD, &because);
            return true;
        }
        refuse(proposal, what, because, source, BACKWARD);
        return false;
    }
    // Another machine, or this one later: nothing can be measured here.
    if !situation.system.live {
        return unverified(
            wish,
            what,
            "a system in a directory cannot be measured",
            source,
            proposal,
        );
    }
    match &situation.checked {
        Checked::Passed(_) | Checked::Failed(_) => true,
        Checked::NotYet => {
            proposal.verify_first = true;
            true
        }
        Checked::Unknown(why) => unverified(wish, what, why, source, proposal),
    }
}

fn unverified(wish: &Wish, what: &str, why: &str, source: &str, proposal: &mut Proposal) -> bool {
    if wish.plan_only {
        proposal.notes.push(format!("applying needs {UNVERIFIED}: {why}"));
        return true;
    }
    if wish.accept.unverified || wish.accept.backward {
        let name = if wish.accept.unverified { UNVERIFIED } else { BACKWARD };
        accept(proposal, name, why);
        return true;
    }
    let because = format!("whether the counter can be trusted is not known: {why}");
    refuse(proposal, what, because, source, UNVERIFIED);
    false
}

/// The diagnosis' evidence against it: the refusal of the same act in the report, then the causes that name the TSC as
/// faulty.
fn evidence(situation: &Situation<'_>, what: &str) -> Option<String> {
    let report = situation.report;
    let refused = |advice: &table::Advice| {
        let remedy = report.remedies.iter().find(|remedy| remedy.id == advice.id);
        remedy.and_then(|remedy| remedy.refused_because.clone())
    };
    if what == "tsc=reliable" {
        return refused(&table::TSC_RELIABLE);
    }
    let act = match what {
        "choosing tsc" => refused(&table::SWITCH_TO_TSC_NOW),
        "clocksource=tsc" | "clock=tsc" => refused(&table::KEEP_TSC_AT_BOOT),
        _ => None,
    };
    let cause = clocksmith_diagnose::against_tsc(&report.causes);
    act.or_else(|| cause.map(|cause| cause.summary.clone()))
}

fn accept(proposal: &mut Proposal, name: &str, risk: &str) {
    let line = format!("{name}: {risk}");
    if !proposal.plan.accepted.contains(&line) {
        proposal.plan.accepted.push(line);
    }
}

fn refuse(proposal: &mut Proposal, what: &str, because: String, source: &str, accept: &str) {
    if proposal.refused.iter().any(|refused| refused.because == because) {
        return;
    }
    proposal.refused.push(Refused {
        what: what.to_owned(),
        because,
        source: source.to_owned(),
        accept: Some(accept.to_owned()),
    });
}

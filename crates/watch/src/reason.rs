//! The reason for a change of the clocksource. Pure: from recent messages of the kernel, and the diagnosis.

use crate::event::Reason;
use crate::judge::is_demotion;
use clocksmith_diagnose::demotion::demoted_by;
use clocksmith_diagnose::{Cause, CauseId, names};
use clocksmith_facts::log::Event as Said;

/// The evidence for the reason of a change.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The previous clocksource.
    pub from: &'a str,
    /// The present clocksource.
    pub to: &'a str,
    /// The available ones before the change; empty if they are not known.
    pub before: &'a [String],
    /// The available ones now.
    pub now: &'a [String],
    /// The line by which the kernel demoted a clocksource since the last change, if there is one.
    pub demotion: Option<&'a str>,
    /// Whether the kernel's log could be followed.
    pub log: bool,
    /// Causes of the diagnosis after the change.
    pub causes: &'a [Cause],
}

/// The reason of a change.
#[must_use]
pub fn of(evidence: &Evidence<'_>) -> Reason {
    let Evidence { from, to, before, now, .. } = *evidence;
    if from == "tsc-early" && to == "tsc" {
        return reason(
            None,
            "the kernel had measured the rate of the TSC, as it does in each boot",
        );
    }
    if let Some(line) = evidence.demotion {
        return demoted(evidence, line);
    }
    let listed = |list: &[String], name: &str| list.iter().any(|listed| listed == name);
    let still_there = listed(now, from);
    if !before.is_empty() && !listed(before, to) && listed(now, to) && rating(to) > rating(from) {
        return reason(None, format!("{to} was registered, and the kernel rates it higher"));
    }
    if still_there && rating(to) > rating(from) {
        let text = format!(
            "a person or a program wrote {to} to current_clocksource; {to} is rated higher"
        );
        return reason(Some(CauseId::RuntimeOverride), text);
    }
    if still_there {
        let silence = if evidence.log { ", and the kernel did not complain about it" } else { "" };
        let text = format!(
            "a service, a tool or a person wrote {to} to current_clocksource: {from} is still \
             available{silence}"
        );
        return reason(Some(CauseId::RuntimeOverride), text);
    }
    if !now.is_empty() && !still_there {
        let cause = evidence.causes.iter().find(|cause| is_demotion(cause));
        if let Some(cause) = cause {
            return from_cause(cause, None);
        }
        let settle = if evidence.log {
            "its log does not say why"
        } else {
            "the reason is in its log, which this user may not read"
        };
        return reason(None, format!("the kernel removed {from} from its list; {settle}"));
    }
    reason(None, "not known: neither the kernel log nor the list of clocksources shows the reason")
}

/// The reason of a demotion that the kernel's log states.
fn demoted(evidence: &Evidence<'_>, line: &str) -> Reason {
    match evidence.causes.iter().find(|cause| is_demotion(cause)) {
        Some(cause) => from_cause(cause, Some(line)),
        None => {
            let text = format!("the kernel demoted {}", evidence.from);
            Reason { cause: None, text, evidence: Some(line.to_owned()) }
        }
    }
}

/// The reason that a cause of the diagnosis is.
#[must_use]
pub fn from_cause(cause: &Cause, line: Option<&str>) -> Reason {
    let line = line.map(str::to_owned);
    Reason {
        cause: Some(cause.id.name().to_owned()),
        text: cause.summary.trim_end_matches('.').to_owned(),
        evidence: line.or_else(|| cause.evidence.first().map(|evidence| evidence.text.clone())),
    }
}

fn reason(cause: Option<CauseId>, text: impl Into<String>) -> Reason {
    Reason { cause: cause.map(|id| id.name().to_owned()), text: text.into(), evidence: None }
}

fn rating(name: &str) -> i32 {
    names::find(name).map_or(0, |name| name.rating)
}

/// The meaning of a kernel message for the watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It demoted a clocksource.
    Demotion,
    /// Clocks or counters disagree.
    Warp,
    /// It could not read a clock for a while.
    Stall,
    /// Nothing that happened just now.
    Nothing,
}

/// The clocksource that a message is about: the TSC unless it names another one.
#[must_use]
pub fn about(said: &Said) -> &str {
    match said {
        Said::ReadbackDelay { name, .. } => name,
        _ => demoted_by(said).unwrap_or("tsc"),
    }
}

/// Returns the meaning of a message.
#[must_use]
pub fn meaning(said: &Said) -> Meaning {
    match said {
        // The line after it reports the evidence.
        Said::WarpHeader { .. } => Meaning::Nothing,
        Said::Warp { .. }
        | Said::WarpRandom
        | Said::CrossCheckSkew { .. }
        | Said::WatchdogCpuOrder
        | Said::TimeWentBackwards
        | Said::XenReadBackwards => Meaning::Warp,
        Said::LongReadout { .. }
        | Said::LongReadoutCut
        | Said::ReadbackDelay { marks: false, .. } => Meaning::Stall,
        _ if demoted_by(said).is_some() => Meaning::Demotion,
        _ => Meaning::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn why(
        from: &str,
        to: &str,
        before: &str,
        now: &str,
        demotion: Option<&str>,
        log: bool,
    ) -> Reason {
        let (before, now) = (list(before), list(now));
        of(&Evidence { from, to, before: &before, now: &now, demotion, log, causes: &[] })
    }

    #[test]
    fn each_change_has_its_reason() {
        let all = "tsc hpet acpi_pm";
        let by_hand = why("tsc", "hpet", all, all, None, true);
        assert_eq!(by_hand.cause.as_deref(), Some("runtime-override"));
        assert!(by_hand.text.contains("did not complain"), "{}", by_hand.text);
        assert!(!why("tsc", "hpet", all, all, None, false).text.contains("complain"));
        assert!(why("hpet", "tsc", all, all, None, true).text.contains("rated higher"));
        let line = "tsc: Marking TSC unstable due to clocksource watchdog";
        let demoted = why("tsc", "hpet", all, "hpet acpi_pm", Some(line), true);
        assert_eq!(demoted.evidence.as_deref(), Some(line));
        let silent = why("tsc", "hpet", all, "hpet acpi_pm", None, false);
        assert!(silent.text.contains("may not read") && silent.cause.is_none());
        assert!(
            why("tsc-early", "tsc", "tsc-early hpet", "tsc hpet", None, true)
                .text
                .contains("each boot")
        );
        assert!(why("hpet", "tsc", "hpet", "tsc hpet", None, true).text.contains("registered"));
        assert!(why("a", "b", "", "", None, false).text.contains("not known"));
    }
}

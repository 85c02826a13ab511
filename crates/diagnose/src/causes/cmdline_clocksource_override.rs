//! `cmdline-clocksource-override`: the command line chooses the clocksource that is in use.

use super::definition::{Definition, PLAIN};
use super::tsc::clocksource_word;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::names;
use crate::remedies::table;
use clocksmith_facts::log::{Entry, Event};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the kernel command line chooses it"),
    returns: true,
    remedies: &[&table::SWITCH_TO_TSC_NOW, &table::REMOVE_PARAMETER, &table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    if let Some((asked, wanted)) = asked_before_restart(case) {
        let severity = if case.slow == Some(false) { Severity::Info } else { Severity::Warning };
        causes.add(
            CauseId::CmdlineClocksourceOverride,
            severity,
            Confidence::Medium,
            format!(
                "the parameters of the next boot were changed to request {wanted}, the machine was restarted, and \
                 {wanted} is in use"
            ),
            case.log().map(|log| Evidence::line(log, asked)).into_iter().collect(),
        );
        return;
    }
    let Some(wanted) = case.machine.cmdline.value.clocksource_override() else { return };
    if !is_of_this_machine(case, &wanted) {
        return;
    }
    let evidence = vec![clocksource_word(case)];
    let Some(current) = case.current_name() else {
        causes.add(
            CauseId::CmdlineClocksourceOverride,
            Severity::Info,
            Confidence::Medium,
            format!(
                "the command line requests {wanted}; whether it is in use is not in this evidence"
            ),
            evidence,
        );
        return;
    };
    if current != wanted {
        return;
    }
    let natural = natural_choice(case);
    let harmless = natural.as_deref() == Some(current) || case.slow == Some(false);
    causes.add(
        CauseId::CmdlineClocksourceOverride,
        if harmless { Severity::Info } else { Severity::Warning },
        Confidence::High,
        match natural {
            Some(natural) if natural != wanted => format!(
                "the command line chooses {wanted}; without that, the kernel would use {natural}"
            ),
            _ => format!("the command line chooses {wanted}"),
        },
        evidence,
    );
}

/// The command of a session that requested the clocksource in use for the next boot (`grubby --args=clocksource=hpet`),
/// if the machine was then restarted and read, and no text shows the command line itself.
pub(super) fn asked_before_restart<'a>(case: &Case<'a>) -> Option<(&'a Entry, &'a str)> {
    if case.facts.cmdline.is_known() {
        return None;
    }
    let log = case.facts.kernel_log()?;
    let last_line = |is: fn(&Event) -> bool| log.all(is).last().map(|entry| entry.line);
    let asked = log.all(|event| matches!(event, Event::SetForNextBoot(_))).last()?;
    let Event::SetForNextBoot(wanted) = &asked.event else { return None };
    let restarted = last_line(|event| matches!(event, Event::Restarted))?;
    let read = last_line(|event| matches!(event, Event::ReadCurrent(_)))?;
    let is_in_use = case.current.name.as_deref() == Some(wanted.as_str());
    (is_in_use && asked.line < restarted && restarted < read).then_some((asked, wanted.as_str()))
}

/// Whether a kernel of this architecture can have a clocksource of this name.
pub(super) fn is_of_this_machine(case: &Case<'_>, wanted: &str) -> bool {
    let x86 = case.machine.arch.value.is_x86();
    names::find(wanted).is_some_and(|n| n.x86 == x86 || n.name == "jiffies")
}

/// The clocksource that the kernel would choose without the override.
fn natural_choice(case: &Case<'_>) -> Option<String> {
    let mut machine = case.machine.clone();
    machine.cmdline.value = machine.cmdline.value.without("clocksource").without("clock");
    clocksmith_kernel::predict(&machine).current
}

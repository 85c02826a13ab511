//! `cmdline-clocksource-unknown`: the command line names a clocksource that does not exist here.

use super::cmdline_clocksource_override::is_of_this_machine;
use super::definition::{Definition, PLAIN};
use super::tsc::clocksource_word;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::names;
use crate::remedies::table;
use clocksmith_facts::log::Event;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the kernel command line names a clocksource that does not exist"),
    returns: true,
    remedies: &[&table::REMOVE_PARAMETER, &table::CHEAPER_READS],
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(wanted) = case.machine.cmdline.value.clocksource_override() else { return };
    let evidence = vec![clocksource_word(case)];
    // A name of another architecture, or of a board, shows the architecture rather than a mistake.
    let arch = &case.machine.arch;
    let elsewhere = match names::find(&wanted) {
        Some(name) => !name.x86 && arch.is_assumed(),
        None if arch.is_assumed() || !arch.value.is_x86() => {
            names::is_known(&wanted) || names::may_be_of_a_board(&wanted)
        }
        None => false,
    };
    if elsewhere {
        return;
    }
    if !is_of_this_machine(case, &wanted) {
        let why = if names::find(&wanted).is_some() {
            "belongs to another architecture"
        } else {
            "no kernel registers"
        };
        causes.add(
            CauseId::CmdlineClocksourceUnknown,
            Severity::Warning,
            Confidence::High,
            format!(
                "the command line requests clocksource={wanted}, which {why}; the kernel ignores it without a message"
            ),
            evidence,
        );
        return;
    }
    // One that is registered and not in use was overridden at run time, or refused.
    let refused_tsc = wanted == "tsc" && case.tsc_is_unstable();
    let elsewhere = case.current_name().is_none_or(|current| current == wanted);
    if elsewhere || refused_tsc || wanted == "tsc-early" || is_registered(case, &wanted) {
        return;
    }
    causes.add(
        CauseId::CmdlineClocksourceUnknown,
        Severity::Info,
        Confidence::Medium,
        format!(
            "the command line requests {wanted}, which this machine does not register: the request has no \
             effect"
        ),
        evidence,
    );
}

/// Whether sysfs lists the clocksource, or the log registers it.
fn is_registered(case: &Case<'_>, wanted: &str) -> bool {
    case.facts.available_clocksources().is_some_and(|list| list.iter().any(|name| name == wanted))
        || case.log().is_some_and(|log| {
            log.any(|event| match event {
                Event::Registered { name, .. } | Event::Switched(name) => name == wanted,
                _ => false,
            })
        })
}

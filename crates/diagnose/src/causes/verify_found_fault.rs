//! `verify-found-fault`: an earlier `clocksmith verify` measured a fault in this boot.

use super::definition::{Blame, Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Evidence, Severity};
use clocksmith_facts::Fact;
use clocksmith_facts::verified::Trust;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("clocksmith verify measured a fault in this boot"),
    blame: Blame::Always,
    against_reliable: Some(|_, _| {
        Some(
            "clocksmith verify measured a fault in this boot; the parameter disables the checks, but the fault remains"
                .to_owned(),
        )
    }),
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Fact::Known { value: result, source } = &case.facts.verified else { return };
    if result.verdict != Trust::NotTrusted {
        return;
    }
    // A fault of the counter is a fault of the time only if the kernel derives the time from the counter, and a fault
    // of the clocks only as long as they are derived from the same source.
    let by_counter = case.tsc_is_current() || case.current_name() == Some("arch_sys_counter");
    let same = result.clocksource.as_deref() == case.current_name();
    let concerns = (result.counter == Trust::NotTrusted && by_counter)
        || (result.clocks == Trust::NotTrusted && same);
    let faults: Vec<_> = result.findings.iter().filter(|finding| finding.fault).collect();
    let what = faults.first().map_or("it did not state which", |first| first.summary.as_str());
    let ago = ago(result.age_s);
    let summary = if concerns {
        format!("clocksmith verify found a fault {ago}: {what}")
    } else {
        format!(
            "clocksmith verify found a fault {ago}, which does not concern the clocksource in use: \
             {what}"
        )
    };
    let severity = if concerns { Severity::Critical } else { Severity::Info };
    let evidence = faults
        .iter()
        .take(8)
        .map(|finding| {
            Evidence::new(source.0.clone(), format!("{}: {}", finding.id, finding.summary))
        })
        .collect();
    causes.add(CauseId::VerifyFoundFault, severity, result.confidence, summary, evidence);
}

/// An age as text.
fn ago(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        _ => format!("{} h ago", seconds / 3600),
    }
}

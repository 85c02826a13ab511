//! `cmdline-parameter-ignored`: parameters that look correct and that the kernel silently ignores.

use super::definition::{Definition, PLAIN};
use super::tsc::cmdline;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::Event;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::{MistakeKind, mistakes};

pub(super) const CAUSE: Definition =
    Definition { returns: true, any_architecture: true, find, ..PLAIN };

fn find(case: &Case<'_>, causes: &mut Causes) {
    let line = &case.machine.cmdline.value;
    for mistake in mistakes(line) {
        // Only ignored parameters; the other causes judge the chosen clocksource against this machine.
        if matches!(mistake.kind, MistakeKind::UnknownValue | MistakeKind::NoSuchParameter)
            && let Some(word) = line.words().get(mistake.word)
        {
            ignore(case, causes, &word.text(), &mistake.why);
        }
    }
    if line.has_value("tsc", "nowatchdog") && !Feature::TscNowatchdog.of(&case.machine.kernel.value)
    {
        let since = Feature::TscNowatchdog.versions();
        let why = format!("has no effect: the kernel knows this parameter only {since}");
        ignore(case, causes, "tsc=nowatchdog", &why);
    }
    notsc_refused(case, causes);
}

fn notsc_refused(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    if let Some(entry) = log.all(|event| matches!(event, Event::NotscRefused)).next() {
        causes.add(
            CauseId::CmdlineParameterIgnored,
            Severity::Info,
            Confidence::High,
            "notsc had no effect: this kernel cannot work without the TSC".to_owned(),
            vec![Evidence::line(log, entry)],
        );
    }
}

fn ignore(case: &Case<'_>, causes: &mut Causes, word: &str, why: &str) {
    causes.add(
        CauseId::CmdlineParameterIgnored,
        Severity::Info,
        Confidence::High,
        format!("{word} {why}"),
        vec![cmdline(case, word)],
    );
}

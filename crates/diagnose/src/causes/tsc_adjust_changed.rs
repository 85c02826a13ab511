//! `tsc-adjust-changed`: TSC_ADJUST was changed, by firmware, a hypervisor or the kernel.

use super::definition::{Blame, Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::TscAdjust;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("something outside the kernel changed the TSC of a CPU"),
    blame: Blame::Warning,
    returns: true,
    against_reliable: Some(|_, cause| {
        (cause.severity > Severity::Info).then(|| {
            "something writes the TSC after boot; the parameter disables the checks, but the fault remains"
                .to_owned()
        })
    }),
    remedies: &[&table::UPDATE_FIRMWARE],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    for entry in log.all(|e| matches!(e, Event::TscAdjust(_))) {
        let Event::TscAdjust(kind) = &entry.event else { continue };
        let (severity, summary) = match kind {
            TscAdjust::Restored => (
                Severity::Warning,
                "something (firmware, during suspend or in SMM) wrote TSC_ADJUST after boot; the \
                 kernel restored the old value",
            ),
            TscAdjust::Forced => (
                Severity::Info,
                "firmware left a non-zero value in TSC_ADJUST at boot; the kernel cleared it",
            ),
            TscAdjust::Compensated => (
                Severity::Info,
                "a CPU came online with a TSC that differed from those of the other CPUs; the kernel corrected it \
                 with TSC_ADJUST",
            ),
            _ => (
                Severity::Info,
                "firmware set TSC_ADJUST to different values on the CPUs; the kernel made them \
                 equal",
            ),
        };
        causes.add(
            CauseId::TscAdjustChanged,
            severity,
            Confidence::High,
            summary,
            vec![Evidence::line(log, entry)],
        );
    }
}

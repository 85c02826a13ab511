//! `tsc-adjust-changed`: firmware wrote TSC_ADJUST.

use super::definition::{Blame, Definition, PLAIN};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::TscAdjust;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("firmware changed the TSC of some CPUs"),
    blame: Blame::Warning,
    returns: true,
    against_reliable: Some(|_, cause| {
        (cause.severity > Severity::Info).then(|| {
            "firmware writes the TSC after boot; it switches the checks off, not the fault off"
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
                "something (firmware, over suspend or in SMM) wrote TSC_ADJUST after boot; the kernel \
                 put the old value back",
            ),
            TscAdjust::Forced => (
                Severity::Info,
                "firmware left a value in TSC_ADJUST at boot; the kernel cleared it",
            ),
            _ => (
                Severity::Info,
                "firmware set TSC_ADJUST differently between CPUs; the kernel evened it out",
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

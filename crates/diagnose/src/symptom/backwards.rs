//! A benchmark that saw the clock go backwards.

use super::{Judged, Weight};
use clocksmith_facts::symptom::Symptom;

pub(super) fn judge(symptom: &Symptom) -> Judged {
    let tool = symptom.tool;
    Judged::new(symptom, format!("{tool} saw the clock go backwards, and stopped"))
        .proves(
            "a read returned an earlier time than the read before it. The number after `Time warp` \
             is in microseconds, or in nanoseconds in new versions, although it is printed with the \
             unit ms",
            "the reason, which may be counters of the CPUs that are not synchronised or, in PostgreSQL before 10 \
             (it reads the wall clock there), a step of the wall clock",
            "clocksmith verify",
        )
        .weighs(
            Weight::Nothing,
            format!(
                "{tool} saw the clock go backwards: CLOCK_MONOTONIC must never go backwards, so its counter is suspect \
                 (PostgreSQL before 10 reads the wall clock instead)."
            ),
        )
}

//! A clock that one source keeps and others contradict: chronyd selects the source and rejects it again, or all other servers say that the
//! clock is off.

use super::difference::text;
use super::judge::View;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::wall::{Outvoted, Rejected};

/// The text for a source that is selected and rejected.
fn in_turn(rejected: &Rejected) -> String {
    let name = &rejected.name;
    format!(
        "chronyd selects {name} and rejects it again (\"Detected falseticker {name}\"), so it does not show that the wall clock is \
         synchronised: {name} disagrees with the other sources, or its offset is larger than the bound of its error. A receiver or a PTP \
         clock has a fixed delay: the options `offset` and `delay` of its refclock line state them"
    )
}

/// The text for a source that all the others contradict, and the evidence.
fn outvoted(found: &Outvoted) -> (String, String) {
    let sizes = || found.ahead_s.iter().map(|ahead| ahead.abs());
    let least = sizes().fold(f64::INFINITY, f64::min);
    let most = sizes().fold(0.0, f64::max);
    let (least, most) = (text(least), text(most));
    let by = if least == most { most } else { format!("{least} to {most}") };
    let way = if found.ahead_s.first().is_some_and(|ahead| *ahead < 0.0) { "slow" } else { "fast" };
    let who = match found.ahead_s.len() {
        1 => "the only server that answers besides says".to_owned(),
        all => format!("all {all} servers that answer say"),
    };
    let name = &found.name;
    let reason = match found.is_local {
        true => format!(
            "that is more than the bounds of their errors, so {name} is off by as much (set `offset` on its refclock line), or another \
             program steers the clock beside chronyd, such as phc2sys"
        ),
        false => {
            format!("that is more than the bounds of their errors: {name} or the others are wrong")
        }
    };
    let summary = format!(
        "chronyd follows {name}, but {who} that the wall clock is {by} {way}; {reason}. Whether the time is right is not in this evidence"
    );
    (summary, format!("follows {name}; the others: {by} {way}"))
}

impl View<'_> {
    /// A source that is followed and contradicted; returns whether there is one.
    pub(super) fn disputed(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) -> bool {
        let Some((told, source)) = self.told else { return false };
        if self.synchronised() == Some(false) {
            return false;
        }
        let (summary, evidence) = match (told.in_turn(), &told.outvoted) {
            (Some(rejected), _) => {
                let place = rejected.source.as_ref().or(told.places.logged.as_ref());
                let says = format!("Detected falseticker {}", rejected.name);
                (in_turn(rejected), Evidence::new(place.unwrap_or(source).0.clone(), says))
            }
            (None, Some(found)) => {
                let (summary, says) = outvoted(found);
                let place = told.places.sources.as_ref().or(told.places.follows.as_ref());
                (summary, Evidence::new(place.unwrap_or(source).0.clone(), says))
            }
            (None, None) => return false,
        };
        report.state = WallState::Unknown;
        words.push(sentence(&summary));
        report.settles.push(settle(
            "which source is right",
            "chronyc sources -v; chronyc selectdata; date -u on a machine whose time is correct",
        ));
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, vec![evidence]));
        true
    }
}

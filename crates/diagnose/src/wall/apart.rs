//! Two outputs of `date` in one text that differ: of a container and its host, or of two machines.

use super::difference::text;
use super::judge::View;
use super::remarks::DATE;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Fact;

/// Seconds below which two outputs of `date` count as equal: the second one may need to start a container.
const APART_S: i64 = 5;

impl View<'_> {
    /// Two outputs of `date` that differ.
    pub(super) fn shown_apart(
        &self,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let Fact::Known { value: apart, source } = &self.facts.wall.apart else { return };
        if apart.behind_s.abs() < APART_S {
            return;
        }
        #[allow(clippy::cast_precision_loss)]
        let seconds = apart.behind_s as f64;
        if apart.is_of_another_machine() {
            self.of_another_machine(seconds, source.0.clone(), report, words, causes);
            return;
        }
        let (way, id) = match seconds > 0.0 {
            true => ("behind", CauseId::WallClockStaleAfterRestore),
            false => ("ahead of", CauseId::WallClockUnsynchronised),
        };
        let summary = format!(
            "the clock inside {} is {} {way} that of the machine on which the command was given: \
             containers have the clock of their kernel, so this is the clock of a virtual machine \
             between the two, which no program synchronises",
            apart.with,
            text(seconds)
        );
        words.push(sentence(&summary));
        if seconds > 0.0 {
            report.state = WallState::Stale;
        } else {
            report.state = WallState::Unsynchronised;
        }
        report.settles.push(settle("the right time", DATE));
        let shown = format!("two outputs of date, {} apart", text(seconds));
        let evidence = vec![Evidence::new(source.0.clone(), shown)];
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, evidence));
    }

    /// The clocks of two machines that one command line queried.
    fn of_another_machine(
        &self,
        behind_s: f64,
        place: String,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let way = if behind_s > 0.0 { "behind" } else { "ahead of" };
        let by = text(behind_s);
        let summary = format!(
            "according to one command line, the clock of another machine is {by} {way} the one \
             here: one of the two is wrong, was paused, or is not synchronised"
        );
        words.push(sentence(&summary));
        let how = "chronyc tracking (or timedatectl timesync-status) on both";
        report.settles.push(settle("which clock is wrong", how));
        let evidence = vec![Evidence::new(place, format!("two outputs of date, {by} apart"))];
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, evidence));
    }
}

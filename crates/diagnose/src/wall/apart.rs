//! Two outputs of `date` in one text that differ: of a container and its host, or of two machines.

use super::difference::text;
use super::judge::View;
use super::remarks::DATE;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::wall::Apart;
use clocksmith_facts::{Fact, Facts};

/// Seconds below which two outputs of `date` count as equal: the second one may need to start a container.
const APART_S: i64 = 5;

/// What an earlier pair of the text adds.
fn agreed_before(apart: &Apart) -> &'static str {
    match apart.before_s {
        Some(before) if before.abs() < APART_S => {
            "; in an earlier pair of this text the two agreed"
        }
        _ => "",
    }
}

/// Whether the text shows that the clock inside a guest or a container is not that of the machine at the prompt: what a daemon
/// says there is then of that machine.
pub(super) fn is_of_a_guest(facts: &Facts) -> bool {
    let apart = facts.wall.apart.value();
    apart.is_some_and(|apart| !apart.is_of_another_machine() && apart.behind_s.abs() >= APART_S)
}

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
            if let Some(before) = apart.before_s.filter(|by| by.abs() >= APART_S) {
                #[allow(clippy::cast_precision_loss)]
                let by = text(before as f64);
                let what = match apart.is_of_another_machine() {
                    true => "the clocks of two machines".to_owned(),
                    false => format!("the clock inside {} and that outside", apart.with),
                };
                words.push(sentence(&format!(
                    "in the last pair of outputs of date in this text {what} agree; in an earlier pair they were {by} apart"
                )));
            }
            return;
        }
        #[allow(clippy::cast_precision_loss)]
        let seconds = apart.behind_s as f64;
        if apart.is_of_another_machine() {
            let before = agreed_before(apart);
            self.of_another_machine(seconds, (before, source.0.clone()), report, words, causes);
            return;
        }
        let (way, id) = match seconds > 0.0 {
            true => ("behind", CauseId::WallClockStaleAfterRestore),
            false => ("ahead of", CauseId::WallClockUnsynchronised),
        };
        let summary = format!(
            "the clock inside {} is {} {way} that of the machine on which the command was given: \
             containers have the clock of their kernel, so this is the clock of a virtual machine \
             between the two, which no program synchronises{}",
            apart.with,
            text(seconds),
            agreed_before(apart)
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
        (before, place): (&str, String),
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let way = if behind_s > 0.0 { "behind" } else { "ahead of" };
        let by = text(behind_s);
        let summary = format!(
            "according to one command line, the clock of another machine is {by} {way} the one \
             here: one of the two is wrong, was paused, or is not synchronised{before}"
        );
        words.push(sentence(&summary));
        let how = "chronyc tracking (or timedatectl timesync-status) on both";
        report.settles.push(settle("which clock is wrong", how));
        let evidence = vec![Evidence::new(place, format!("two outputs of date, {by} apart"))];
        let id = CauseId::WallClockUnsynchronised;
        causes.push(cause(id, Severity::Warning, Confidence::Medium, summary, evidence));
    }
}

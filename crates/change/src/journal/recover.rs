//! What a killed run left is finished or taken back.

use super::entry::Phase;
use super::put_back::{Found, Mode, decide, put_back};
use super::run::end_orphans;
use super::{Journal, JournalError, Recovered, Report};

impl Journal {
    pub(super) fn recover(&mut self) -> Result<(), JournalError> {
        let mut half_done: Vec<_> = self
            .store
            .entries()
            .iter()
            .filter(|entry| entry.phase != Phase::Applied)
            .cloned()
            .collect();
        if half_done.is_empty() {
            return Ok(());
        }
        end_orphans(&self.place)?;
        // Never more than one; if there were, the last one first.
        half_done.reverse();
        for mut entry in half_done {
            let id = entry.id;
            let summary = entry.plan.summary.clone();
            let undoing = entry.phase == Phase::Undoing;
            let result = self.finish(&mut entry);
            self.recovered.push(match result {
                Ok(report) if undoing => Recovered::FinishedUndo(report),
                Ok(report) => Recovered::RolledBack(report),
                Err(error) => {
                    let error = match error {
                        JournalError::Conflicts { conflicts } => {
                            JournalError::Unfinished { id, conflicts }
                        }
                        other => other,
                    };
                    Recovered::Stuck { id, summary, error }
                }
            });
        }
        Ok(())
    }

    fn finish(&mut self, entry: &mut super::Entry) -> Result<Report, JournalError> {
        let mode = if entry.forced { Mode::Forced } else { Mode::Later };
        if entry.phase == Phase::Applying {
            decide(self, entry, mode, &Found::new())?;
        } else {
            super::undo::unhindered(self, entry)?;
        }
        put_back(self, entry)
    }
}

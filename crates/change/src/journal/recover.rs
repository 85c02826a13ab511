//! Finishes or reverts the change that a killed run left.

use super::entry::Phase;
use super::marked::end_orphans;
use super::put_back::{Former, Mode, decide, mend, put_back};
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
            let phase = entry.phase;
            let stuck = entry.stuck;
            let result = self.finish(&mut entry);
            self.recovered.push(match result {
                Ok(report) if stuck => Recovered::Mended(report),
                Ok(report) if phase == Phase::Undoing => Recovered::FinishedUndo(report),
                Ok(report) if phase == Phase::Trial => Recovered::Unconfirmed(report),
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
        match entry.phase {
            Phase::Applying => {
                let decided = decide(self, entry, mode, &Former::new());
                if matches!(decided, Err(JournalError::Conflicts { .. })) {
                    // The conflict may last, and the machine must boot until then.
                    mend(self, entry);
                }
                decided?;
            }
            Phase::Trial | Phase::Applied => {
                decide(self, entry, mode, &Former::new())?;
                entry.phase = Phase::Undoing;
                self.store.save(entry)?;
            }
            Phase::Undoing => super::undo::unhindered(self, entry)?,
        }
        put_back(self, entry)
    }
}

#[cfg(test)]
mod tests {
    use super::super::prepare::{now, prepare};
    use super::super::*;
    use crate::Sysfs;
    use crate::plan::{Action, Plan, Step};
    use std::fs;

    /// Writes the output of a generator.
    struct Generator(bool);

    impl Runner for Generator {
        fn check(&self, _: &Place, _: &str) -> Result<(), JournalError> {
            Ok(())
        }
        fn run(
            &mut self,
            place: &Place,
            _: &[String],
            _: &mut dyn Observer,
        ) -> Result<Ran, JournalError> {
            if !self.0 {
                return Err(JournalError::Stopped);
            }
            let source = fs::read_to_string(place.root().join("source")).unwrap_or_default();
            fs::write(place.root().join("made"), format!("from {source}")).unwrap();
            Ok(Ran::Done(String::new()))
        }
    }

    fn plan() -> Plan {
        let step = |action| Step { action, why: String::new(), risk: String::new() };
        let command = vec!["generate".to_owned()];
        let content = "ours".to_owned();
        let steps = vec![
            step(Action::Write { path: "/source".into(), content, mode: 0o644 }),
            step(Action::Run {
                command: command.clone(),
                rewrites: vec!["/made".into()],
                undo: None,
                regenerate: Some(command),
            }),
        ];
        Plan { summary: "x".to_owned(), steps, ..Plan::default() }
    }

    fn open(place: &Place) -> Journal {
        Journal::open_with(place, Wait::No, Box::new(Generator(true))).unwrap()
    }

    /// Makes a change that was killed in its last step, `age` seconds ago.
    fn killed(age: i64) -> (tempfile::TempDir, Place) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("source"), "old").unwrap();
        fs::write(dir.path().join("made"), "from old").unwrap();
        let place = Place::at(dir.path(), Sysfs::at(dir.path())).unwrap();
        let mut journal = open(&place);
        let mut entry = prepare(&journal, &plan()).unwrap();
        entry.steps_begun = vec![now() - age; 2];
        journal.store.save(&mut entry).unwrap();
        fs::write(dir.path().join("source"), "ours").unwrap();
        drop(journal);
        (dir, place)
    }

    #[test]
    fn recover_remains_of_killed_program_restores() {
        let (dir, place) = killed(5);
        fs::write(dir.path().join("made"), "fro").unwrap();
        let journal = open(&place);
        let Recovered::RolledBack(report) = &journal.recovered()[0] else { panic!() };
        assert_eq!(report.restored.len(), 2);
        assert!(report.ran.is_empty());
        assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "from old");
    }

    #[test]
    fn recover_file_changed_since_is_regenerated() {
        let (dir, place) = killed(7200);
        // A kernel update, an hour later: its file has entries that the saved copy does not have.
        fs::write(dir.path().join("made"), "from ours, with a new kernel").unwrap();
        let journal = open(&place);
        let Recovered::RolledBack(report) = &journal.recovered()[0] else { panic!() };
        assert_eq!(report.ran, [["generate"]]);
        assert_eq!(fs::read_to_string(dir.path().join("source")).unwrap(), "old");
        assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "from old");
    }

    #[test]
    fn recover_conflict_is_kept_until_forced() {
        let (dir, place) = killed(7200);
        fs::write(dir.path().join("source"), "theirs").unwrap();
        let mut journal = open(&place);
        let Recovered::Stuck { id: 1, error, .. } = &journal.recovered()[0] else { panic!() };
        assert!(error.to_string().contains("source (other content)"), "{error}");
        let error = journal.apply(&plan(), &mut Silent).unwrap_err();
        assert!(matches!(error.cause, JournalError::Unfinished { .. }));
        assert!(journal.undo(Which::Last, Force::No).is_err());
        assert_eq!(fs::read_to_string(dir.path().join("source")).unwrap(), "theirs");
        journal.undo(Which::Last, Force::Yes).unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("source")).unwrap(), "old");
        assert!(journal.entries().is_empty());
    }

    #[test]
    fn recover_failed_regeneration_is_tried_again() {
        let (dir, place) = killed(7200);
        fs::write(dir.path().join("made"), "from ours, with a new kernel").unwrap();
        let journal = Journal::open_with(&place, Wait::No, Box::new(Generator(false))).unwrap();
        assert!(matches!(journal.recovered()[0], Recovered::Stuck { .. }));
        drop(journal);
        let journal = open(&place);
        assert!(matches!(journal.recovered()[0], Recovered::RolledBack(_)));
        assert_eq!(fs::read_to_string(dir.path().join("made")).unwrap(), "from old");
    }

    #[test]
    fn recover_unconfirmed_trial_restores_and_confirmed_stays() {
        let (dir, place) = system("hpet");
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let mut journal = open(&place);
        let id = journal.attempt(&choice("tsc"), &mut Silent).unwrap().id;
        assert_eq!(
            (read("current_clocksource").as_str(), read("source").as_str()),
            ("tsc", "ours")
        );
        assert_eq!(journal.entries()[0].phase, Phase::Trial);
        assert!(Journal::is_held(&place));
        // The watching run is killed.
        drop(journal);
        assert!(!Journal::is_held(&place));
        let mut journal = open(&place);
        let Recovered::Unconfirmed(report) = &journal.recovered()[0] else { panic!() };
        assert_eq!((report.id, report.clocksource.as_deref()), (id, Some("hpet")));
        assert_eq!(
            (read("current_clocksource").as_str(), read("source").as_str()),
            ("hpet", "old")
        );
        assert!(journal.entries().is_empty() && journal.confirm(id).is_err());

        let id = journal.attempt(&choice("tsc"), &mut Silent).unwrap().id;
        journal.confirm(id).unwrap();
        assert!(journal.confirm(id).is_err());
        drop(journal);
        let journal = open(&place);
        assert!(journal.recovered().is_empty());
        assert_eq!(journal.entries()[0].phase, Phase::Applied);
        assert_eq!(read("source"), "ours");
    }

    #[test]
    fn recover_trial_with_conflict_does_not_restore() {
        let (dir, place) = system("hpet");
        open(&place).attempt(&choice("tsc"), &mut Silent).unwrap();
        fs::write(dir.path().join("source"), "theirs").unwrap();
        let journal = open(&place);
        assert!(matches!(&journal.recovered()[0], Recovered::Stuck { .. }));
        assert_eq!(fs::read_to_string(dir.path().join("source")).unwrap(), "theirs");
        assert_eq!(journal.place.sysfs().current().unwrap(), "tsc");
    }

    #[test]
    fn undo_all_after_reboot_restores_first_clocksource() {
        let (_dir, place) = system("acpi_pm");
        let mut journal = open(&place);
        journal.apply(&choice("hpet"), &mut Silent).unwrap();
        journal.apply(&choice("tsc"), &mut Silent).unwrap();
        // A reboot, after which the last one's file chose again.
        for mut entry in journal.entries().to_vec() {
            entry.boot = Some("another".to_owned());
            journal.store.save(&mut entry).unwrap();
        }
        let reports = journal.undo(Which::All, Force::No).unwrap();
        assert!(reports.iter().all(|report| report.kept.is_empty()), "{reports:?}");
        assert_eq!(place.sysfs().current().unwrap(), "acpi_pm");
    }

    #[test]
    fn a_clocksource_that_no_file_chose_stays_after_a_reboot() {
        let (_dir, place) = system("hpet");
        let mut journal = open(&place);
        let plan = Plan { each_boot: None, ..choice("tsc") };
        journal.apply(&plan, &mut Silent).unwrap();
        let mut entry = journal.entries()[0].clone();
        entry.boot = Some("another".to_owned());
        journal.store.save(&mut entry).unwrap();
        let reports = journal.undo(Which::Last, Force::No).unwrap();
        assert_eq!(reports[0].kept, ["the clocksource: the machine was booted since"]);
        assert_eq!(place.sysfs().current().unwrap(), "tsc");
    }

    fn system(current: &str) -> (tempfile::TempDir, Place) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("source"), "old").unwrap();
        fs::write(dir.path().join("current_clocksource"), current).unwrap();
        let place = Place::at(dir.path(), Sysfs::at(dir.path())).unwrap();
        (dir, place)
    }

    /// Chooses the clocksource now, and with a file at each boot.
    fn choice(name: &str) -> Plan {
        let step = |action| Step { action, why: "x".to_owned(), risk: "none".to_owned() };
        let steps = vec![
            step(Action::Clocksource { name: name.to_owned() }),
            step(Action::Write { path: "/source".into(), content: "ours".to_owned(), mode: 0o644 }),
        ];
        Plan { steps, each_boot: Some(name.to_owned()), ..Plan::default() }
    }
}

//! Files that another process changes while a change is reverted.

use super::super::{Force, Place, Silent, Wait, Which};
use super::*;
use crate::Sysfs;
use crate::plan::{Plan, Step};
use std::fs;
use std::path::Path;

fn changed() -> (tempfile::TempDir, Journal) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("kept"), "old").unwrap();
    fs::write(dir.path().join("removed"), "old").unwrap();
    fs::write(dir.path().join("last"), "old").unwrap();
    std::os::unix::fs::symlink("old", dir.path().join("link")).unwrap();
    let step = |action| Step { action, why: String::new(), risk: String::new() };
    let write = |path: &str| {
        let content = "ours".to_owned();
        step(Action::Write { path: path.into(), content, mode: 0o644 })
    };
    let steps = vec![
        write("/kept"),
        write("/made"),
        step(Action::Remove { path: "/removed".into() }),
        step(Action::Link { path: "/link".into(), target: "ours".into() }),
        write("/last"),
    ];
    let place = Place::at(dir.path(), Sysfs::at(dir.path())).unwrap();
    let mut journal = Journal::open(&place, Wait::No).unwrap();
    journal.apply(&Plan { steps, ..Plan::default() }, &mut Silent).unwrap();
    (dir, journal)
}

/// Reverts the change, with a change of another process after the files were examined.
fn reverted(mode: Mode, meanwhile: impl Fn(&Path)) -> (tempfile::TempDir, Report) {
    let (dir, mut journal) = changed();
    let mut entry = journal.entries()[0].clone();
    decide(&journal, &mut entry, mode, &Former::new()).unwrap();
    entry.phase = Phase::Undoing;
    meanwhile(dir.path());
    let report = put_back(&mut journal, &mut entry).unwrap();
    assert!(journal.entries().is_empty());
    assert_eq!(fs::read_to_string(dir.path().join("last")).unwrap(), "old");
    for name in fs::read_dir(dir.path()).unwrap() {
        let name = name.unwrap().file_name();
        assert!(!name.to_string_lossy().starts_with(".clocksmith"), "{name:?}");
    }
    (dir, report)
}

#[test]
fn put_back_file_changed_after_the_examination_is_kept_and_named() {
    for mode in [Mode::Later, Mode::Forced] {
        for name in ["kept", "made", "removed", "link"] {
            let (dir, report) = reverted(mode, |root| {
                let _ = fs::remove_file(root.join(name));
                fs::write(root.join(name), "theirs").unwrap();
            });
            let path = dir.path().join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), "theirs", "{mode:?} {name}");
            assert_eq!(report.written_by_others, [path], "{mode:?}");
            assert!(report.kept[0].contains(name), "{report:?}");
            assert_eq!(report.restored.len(), 4, "{mode:?} {name}: {report:?}");
        }
    }
}

#[test]
fn put_back_file_removed_after_the_examination_stays_away() {
    let (dir, report) = reverted(Mode::Later, |root| fs::remove_file(root.join("kept")).unwrap());
    assert!(!dir.path().join("kept").exists());
    assert_eq!(report.written_by_others, [dir.path().join("kept")]);
}

#[test]
fn put_back_file_that_is_as_before_already_is_no_conflict() {
    let (_dir, report) = reverted(Mode::Later, |root| fs::write(root.join("kept"), "old").unwrap());
    assert!(report.written_by_others.is_empty() && report.kept.is_empty(), "{report:?}");
}

#[test]
fn undo_all_of_two_changes_of_a_file_keeps_nothing() {
    let (dir, mut journal) = changed();
    let action = Action::Write { path: "/kept".into(), content: "second".to_owned(), mode: 0o644 };
    let steps = vec![Step { action, why: String::new(), risk: String::new() }];
    journal.apply(&Plan { steps, ..Plan::default() }, &mut Silent).unwrap();
    let reports = journal.undo(Which::All, Force::No).unwrap();
    assert!(reports.iter().all(|report| report.kept.is_empty()), "{reports:?}");
    assert_eq!(fs::read_to_string(dir.path().join("kept")).unwrap(), "old");
}

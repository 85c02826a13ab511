//! If a run is killed at any system call, the next run finds the old state or the new one, never a state in between.
//!
//! The tests kill a run before every fourth system call that changes anything, and a recovery before every eighth. With
//! `CLOCKSMITH_CRASH=all` (`./test.sh crash`) they kill it before every system call, and kill recoveries from more
//! states; this takes a few minutes.

#![cfg(all(target_env = "gnu", target_pointer_width = "64"))]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
#[path = "common/trace.rs"]
mod trace;

use clocksmith_change::journal::*;
use common::*;
use std::fs;
use std::path::Path;
use trace::{Count, End, Victim, killed_at};

struct Case {
    dir: tempfile::TempDir,
    old: Picture,
    new: Picture,
}

impl Case {
    /// `dir` has the previous system (`old`), and a changed one (`new`).
    fn make() -> Self {
        let dir = temporary();
        let [old, new] = ["old", "new"].map(|name| dir.path().join(name));
        build(&old);
        let picture_of_old = picture(&old);
        copy(&old, &new);
        open(&new).unwrap().apply(&plan(), &mut Silent).unwrap();
        let new = timeless(picture(&new));
        Self { dir, old: picture_of_old, new }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    /// Which state the next run leaves; fails if it is neither.
    fn recovered(&self, root: &Path, what: &str) -> &'static str {
        let journal = open(root).unwrap_or_else(|error| panic!("{what}: {error}"));
        for recovered in journal.recovered() {
            let report = match recovered {
                Recovered::RolledBack(report)
                | Recovered::Unconfirmed(report)
                | Recovered::Mended(report)
                | Recovered::FinishedUndo(report) => report,
                Recovered::Stuck { error, .. } => panic!("{what}: stuck: {error}"),
            };
            assert!(report.troubles.is_empty() && report.kept.is_empty(), "{what}: {report:?}");
        }
        let entries = journal.entries().to_vec();
        drop(journal);
        let now = picture(root);
        if now == self.old {
            assert!(entries.is_empty(), "{what}: an entry is left");
            assert!(!root.join("var/lib/clocksmith").exists(), "{what}: the journal is left");
            return "old";
        }
        let (differs, now) = (differences(&self.old, &now), timeless(now));
        if now == self.new {
            assert!(entries[0].holds(&place(root)).all(), "{what}");
            return "new";
        }
        let new = differences(&self.new, &now);
        panic!(
            "{what}: between the states. From the old one:\n{differs}\nfrom the new one:\n{new}"
        );
    }
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    copy_tree(from, to);
}

fn apply(root: &Path) -> i32 {
    match open(root) {
        // Until the trial ends, the next run reverts the change.
        Ok(mut journal) => match journal.attempt(&plan(), &mut Silent) {
            Ok(applied) => i32::from(journal.confirm(applied.id).is_err()),
            Err(_) => 1,
        },
        Err(_) => 2,
    }
}

fn undo(root: &Path) -> i32 {
    match open(root) {
        Ok(mut journal) => i32::from(journal.undo(Which::Last, Force::No).is_err()),
        Err(_) => 2,
    }
}

fn recover(root: &Path) -> i32 {
    i32::from(open(root).is_err())
}

/// Kills `job` at every stop, on a copy of `from`; returns the number of stops, and how often each state was left.
fn everywhere(
    case: &Case,
    from: &str,
    victim: Victim,
    job: fn(&Path) -> i32,
) -> (usize, usize, usize) {
    kill_each(case, from, victim, job, (1, if thorough() { 1 } else { 4 }))
}

/// Like [`everywhere`], at the stop of this number and each one that is so many stops later.
fn kill_each(
    case: &Case,
    from: &str,
    victim: Victim,
    job: fn(&Path) -> i32,
    (mut stop, every): (usize, usize),
) -> (usize, usize, usize) {
    let work = case.path(&format!("work-{from}-{victim:?}"));
    let (mut points, mut old, mut new, mut finished) = (0, 0, 0, 0);
    // The number of polls of a program varies: one run that finishes is not the end yet.
    while finished < 3 {
        copy(&case.path(from), &work);
        let what = format!("{from}, {victim:?}, stop {stop}");
        let at = work.clone();
        let (end, tracer) = killed_at(stop, which(), victim, move || job(&at));
        match end {
            End::Finished(status) => {
                assert_eq!(status, 0, "{what}");
                finished += 1;
            }
            End::Killed => points += 1,
            End::Survived(status) => {
                assert!(status <= 1, "{what}");
                points += 1;
            }
        }
        match case.recovered(&work, &what) {
            "old" => old += 1,
            _ => new += 1,
        }
        tracer.join().unwrap();
        stop += every;
    }
    let _ = fs::remove_dir_all(&work);
    (points, old, new)
}

fn thorough() -> bool {
    std::env::var("CLOCKSMITH_CRASH").is_ok_and(|value| value == "all")
}

fn which() -> Count {
    if thorough() { Count::All } else { Count::Changing }
}

#[test]
fn an_apply_killed_at_every_stop() {
    let case = Case::make();
    let (points, old, new) = everywhere(&case, "old", Victim::Alone, apply);
    println!("apply: killed at {points} points: {old} old, {new} new");
    let (most, last) = if thorough() { (200, 3) } else { (100, 1) };
    assert!(points >= most && old >= most && new >= last);
}

#[test]
fn an_undo_killed_at_every_stop() {
    let case = Case::make();
    let (points, old, new) = everywhere(&case, "new", Victim::Alone, undo);
    println!("undo: killed at {points} points: {old} old, {new} new");
    let (most, first) = if thorough() { (90, 80) } else { (45, 25) };
    assert!(points >= most && old >= first && new >= 10);
}

#[test]
fn an_apply_killed_with_its_programs() {
    let case = Case::make();
    let (points, old, new) = everywhere(&case, "old", Victim::Everything, apply);
    println!("apply, in its program, all killed: {points} points: {old} old, {new} new");
    assert!(points >= 50 && old >= 50);
}

#[test]
fn an_apply_whose_programs_are_killed() {
    let case = Case::make();
    let (points, old, new) = everywhere(&case, "old", Victim::Child, apply);
    println!("apply, only its program killed: {points} points: {old} old, {new} new");
    assert!(points >= 50 && old >= 20);
}

#[test]
fn a_recovery_killed_at_every_stop() {
    let case = Case::make();
    let (mut total, mut states) = (0, 0);
    for (from, job, end) in [("old", apply as fn(&Path) -> i32, "old"), ("new", undo, "old")] {
        let mut stop = 41;
        loop {
            let half = case.path("half");
            copy(&case.path(from), &half);
            let at = half.clone();
            let (end_of_job, tracer) = killed_at(stop, which(), Victim::Alone, move || job(&at));
            tracer.join().unwrap();
            if end_of_job != End::Killed {
                break;
            }
            // A killed recovery followed by another one has the same result as one whole recovery.
            let check = case.path("check");
            copy(&half, &check);
            if case.recovered(&check, "the first") == end {
                // Recoveries from neighbouring states make nearly the same calls: each is killed at some of them, the
                // next one at others.
                let stops = if thorough() { (1 + states % 9, 9) } else { (1 + states % 8, 8) };
                states += 1;
                let (points, old, new) = kill_each(&case, "half", Victim::Alone, recover, stops);
                assert!(new == 0 && old > 0, "{from}, stop {stop}");
                total += points;
            }
            stop += if thorough() { 106 } else { 162 };
        }
    }
    println!("recovery: killed at {total} points, from {states} states");
    assert!(total >= 100);
}

//! Loss by a power cut: every name and content is on the disk before anything relies on it.
//!
//! The system calls of an apply and of an undo are recorded (by strace, if it is installed) and
//! compared with these rules:
//! - a file gets its name (`rename`) only when its content is synced;
//! - nothing is changed before an entry of the journal exists and its directory is synced;
//! - an entry is renewed or removed only when everything changed before it is synced.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use clocksmith_change::journal::*;
use common::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Not a test: the recorded program.
#[test]
#[ignore = "run by the other one"]
fn recorded() {
    let Some(root) = std::env::var_os("CLOCKSMITH_RECORDED") else { return };
    let root = Path::new(&root);
    if root.join("many").exists() {
        let entry =
            |number: u32| write(&format!("/boot/loader/entries/{number}.conf"), "options a\n");
        let plan = clocksmith_change::Plan { steps: (0..MANY).map(entry).collect(), ..plan() };
        let mut journal = open(root).unwrap();
        journal.apply(&plan, &mut Silent).unwrap();
        journal.undo(Which::Last, Force::No).unwrap();
    } else if root.join("undo").exists() {
        open(root).unwrap().undo(Which::Last, Force::No).unwrap();
    } else {
        open(root).unwrap().apply(&plan(), &mut Silent).unwrap();
    }
}

/// Files of a large change.
const MANY: u32 = 200;

fn record(root: &Path) -> Option<String> {
    let log = root.with_extension("log");
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "0", "-o"])
        .arg(&log)
        .args(["-e", "trace=file,desc,fsync,ftruncate,fallocate"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "recorded", "--test-threads=1"])
        .env("CLOCKSMITH_RECORDED", root)
        .output()
        .ok()?;
    if !status.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&status.stderr));
        return None;
    }
    fs::read_to_string(log).ok()
}

/// `7</some/file>` at the start of an argument, or after a comma.
fn descriptors(arguments: &str) -> Vec<&str> {
    arguments
        .split('<')
        .skip(1)
        .filter_map(|part| part.split_once('>').map(|(path, _)| path))
        .collect()
}

fn quoted(arguments: &str) -> Vec<&str> {
    arguments.split('"').skip(1).step_by(2).collect()
}

/// Breaches of the rules, in words.
fn breaches(log: &str, root: &Path) -> (usize, Vec<String>) {
    let root = root.to_str().unwrap();
    let journal = format!("{root}/var/lib/clocksmith/journal");
    let mut unsynced_files: BTreeSet<String> = BTreeSet::new();
    let mut unsynced_names: BTreeSet<String> = BTreeSet::new();
    let mut links: BTreeSet<String> = BTreeSet::new();
    let mut entries: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    let mut seen = 0;
    // Programs of a step are not checked; the journal syncs their files.
    let us = log.lines().find(|line| line.contains(&format!("{journal}>, \"lock\"")));
    let us = us.and_then(|line| line.split_whitespace().next()).unwrap_or("");
    for line in log.lines().filter(|line| line.split_whitespace().next() == Some(us)) {
        let call = line[us.len()..].trim_start();
        let Some((name, rest)) = call.split_once('(') else { continue };
        if rest.contains(" = -1 ") || !rest.contains(root) {
            continue;
        }
        let arguments = rest.rsplit_once(" = ").map_or(rest, |(arguments, _)| arguments);
        let (directories, names) = (descriptors(arguments), quoted(arguments));
        let path = |index: usize| {
            let directory = directories.get(index).copied().unwrap_or("");
            Path::new(directory)
                .join(names.get(index).copied().unwrap_or(""))
                .to_str()
                .unwrap()
                .to_owned()
        };
        let directory = directories.first().copied().unwrap_or("").to_owned();
        let is_entry = |path: &str| path.starts_with(&journal) && path.ends_with(".json");
        let mut changed = None;
        match name {
            "openat" if arguments.contains("O_CREAT") => {
                changed = Some(path(0));
                let counts = !["-reserve", "/lock", "/current_clocksource"]
                    .iter()
                    .any(|end| path(0).ends_with(end));
                if counts {
                    unsynced_files.insert(path(0));
                }
            }
            "write" | "fchmod" | "fchown" | "fsetxattr" | "utimensat" | "futimens" => {
                // Written data is shown as an empty string.
                let named = names.first().is_some_and(|name| !name.is_empty());
                let file = if named { path(0) } else { directory.clone() };
                // A link cannot be synced but with its directory.
                if file.starts_with(root)
                    && !links.contains(&file)
                    && !file.contains("/sys/")
                    && !file.ends_with("/lock")
                {
                    unsynced_files.insert(file);
                }
            }
            "fsync" => {
                unsynced_files.remove(&directory);
                unsynced_names.remove(&directory);
            }
            "renameat" | "renameat2" => {
                let (from, to) = (path(0), path(1));
                if unsynced_files.remove(&from) {
                    found.push(format!("{from} was not synced before it became {to}"));
                }
                if is_entry(&to) {
                    let others: Vec<_> = unsynced_names
                        .iter()
                        .chain(&unsynced_files)
                        .filter(|it| **it != journal)
                        .collect();
                    if !others.is_empty() {
                        found.push(format!("{to} while {others:?} are not synced"));
                    }
                    entries.insert(to.clone());
                }
                unsynced_names.insert(directory.clone());
                changed = Some(to);
            }
            "unlinkat" => {
                let gone = path(0);
                unsynced_files.remove(&gone);
                if is_entry(&gone) && !unsynced_names.is_empty() {
                    found.push(format!("{gone} removed while {unsynced_names:?} are not synced"));
                }
                unsynced_names.insert(directory.clone());
                changed = Some(gone);
            }
            "mkdirat" => {
                unsynced_names.insert(directory.clone());
                changed = Some(path(0));
            }
            "symlinkat" => {
                // Under a temporary name: the final name counts.
                let link = Path::new(&directory).join(names.get(1).copied().unwrap_or(""));
                links.insert(link.to_str().unwrap().to_owned());
                changed = Some(format!("{directory}/"));
            }
            _ => continue,
        }
        seen += 1;
        let outside =
            changed.filter(|path| !path.starts_with(&format!("{root}/var/lib/clocksmith")));
        match outside {
            Some(path) if entries.is_empty() || unsynced_names.contains(&journal) => {
                found.push(format!("{path} changed before the journal was on the disk"));
            }
            _ => {}
        }
    }
    // The journal's own directory is removed at the end.
    unsynced_names.retain(|path| !path.contains("/var/lib"));
    if !unsynced_names.is_empty() || !unsynced_files.is_empty() {
        found.push(format!("at the end {unsynced_names:?} {unsynced_files:?} are not synced"));
    }
    (seen, found)
}

#[test]
fn everything_is_on_the_disk_before_anything_relies_on_it() {
    let dir = temporary();
    let root = dir.path().join("root");
    build(&root);
    let Some(log) = record(&root) else {
        eprintln!("skipped: no strace here");
        return;
    };
    let (seen, found) = breaches(&log, &root);
    assert!(found.is_empty(), "{found:#?}");
    assert!(seen > 100, "{seen}");
    fs::write(root.join("undo"), "").unwrap();
    let log = record(&root).unwrap();
    let (seen, found) = breaches(&log, &root);
    assert!(found.is_empty(), "{found:#?}");
    assert!(seen > 50, "{seen}");
}

/// A sync of a directory takes as long as the disk, so its number must not grow with the files.
#[test]
fn names_of_many_files_are_synced_together() {
    let dir = temporary();
    let root = dir.path().join("root");
    build(&root);
    fs::write(root.join("many"), "").unwrap();
    let Some(log) = record(&root) else {
        eprintln!("skipped: no strace here");
        return;
    };
    let of_directory = |line: &&str| line.contains("fsync(") && line.contains("/loader/entries>");
    let synced = log.lines().filter(of_directory).count();
    assert!((1..20).contains(&synced), "{synced}");
    let (_, found) = breaches(&log, &root);
    assert!(found.is_empty(), "{found:#?}");
}

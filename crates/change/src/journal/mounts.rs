//! Mounts over the files of a change, added or removed while a program of the change runs.
//!
//! A mount over a file, or over a directory on its path, hides the file on disk: the checked file is then not the one
//! that boots, and a restore writes to the wrong file. So the mounts over everything that a change touches are recorded
//! before its first step ([`of`]). A mount that a program of the change adds over files of the change is removed again
//! ([`settle`]). As long as any other difference remains, nothing is restored ([`hinders`]).

use super::entry::{Entry, Record, State};
use super::found::found;
use super::surroundings::{Differences, Fault};
use super::{Journal, Place};
use clocksmith_facts::mounts::{MountLine, mounts};
use rustix::mount::{UnmountFlags, unmount};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One mount. Its number is left out: it differs after it was mounted again.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mount {
    /// The path that it covers, as of the system that is changed.
    pub at: PathBuf,
    /// The device, as `8:1`.
    pub device: String,
    /// The part of the filesystem that is seen there.
    pub part: PathBuf,
}

/// Directories of boot loaders; every mount below them is recorded.
const BOOT: [&str; 2] = ["/boot", "/efi"];

/// Returns the mounts over the paths of an entry, and in directories of boot loaders; `None` if the system does not
/// list its mounts.
pub(super) fn of(journal: &Journal, entry: &Entry) -> Option<Vec<Mount>> {
    let paths = paths(entry, |_| true);
    let boot = |at: &Path| BOOT.iter().any(|top| at.starts_with(top));
    let mut all = all(journal.place.real())?;
    all.retain(|mount| paths.contains(mount.at.as_path()) || boot(&mount.at));
    Some(all)
}

/// The paths of records and of the directories in which programs make files, with all directories above them.
fn paths(entry: &Entry, which: impl Fn(&Record) -> bool) -> BTreeSet<&Path> {
    let records = entry.records.iter().filter(|record| which(record));
    let watches = entry.watches.iter().filter(|watch| !watch.observed);
    records
        .map(|record| record.path.as_path())
        .chain(watches.map(|watch| watch.directory.as_path()))
        .flat_map(Path::ancestors)
        .collect()
}

/// Returns the differences between the mounts before the first step and the present ones: the added ones, and the
/// removed ones.
fn differences(
    journal: &Journal,
    entry: &Entry,
    before: Option<&[Mount]>,
) -> (Vec<Mount>, Vec<Mount>) {
    let (Some(before), Some(now)) = (before, of(journal, entry)) else {
        return (Vec::new(), Vec::new());
    };
    let lacks = |all: &[Mount], other: &[Mount]| {
        // The number is compared, because the same may be mounted twice.
        let mut left = other.to_vec();
        let mut rest = all.to_vec();
        rest.retain(|mount| match left.iter().position(|it| it == mount) {
            Some(at) => {
                left.swap_remove(at);
                false
            }
            None => true,
        });
        rest
    };
    (lacks(&now, before), lacks(before, &now))
}

/// Removes mounts that a program added over files of the change since `before` was recorded. Returns the differences.
pub(super) fn settle(journal: &Journal, entry: &Entry, before: Option<&[Mount]>) -> Differences {
    let (new, gone) = differences(journal, entry, before);
    let ours = paths(entry, |record| !record.observed);
    let mut faults = Differences::default();
    // The one that was mounted last is on top.
    for mount in new.iter().rev() {
        let mut mended = false;
        let how = if ours.contains(mount.at.as_path()) {
            let outside =
                journal.place.real().join(mount.at.strip_prefix("/").unwrap_or(&mount.at));
            match unmount(&outside, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
                Ok(()) => {
                    mended = true;
                    "(it was unmounted)".to_owned()
                }
                Err(error) => format!("and could not be unmounted ({error})"),
            }
        } else {
            "and is left as it is".to_owned()
        };
        let why = format!(
            "had another filesystem or file mounted over it while it ran {how}, so the content that \
             can be read there is not that on the disk"
        );
        faults.add(&mount.at, if mended { Fault::mended(why) } else { Fault::lasting(why) });
    }
    for mount in gone {
        let why = "was unmounted while it ran: mount it again, so that its files can be restored";
        faults.add(&mount.at, Fault::lasting(why));
    }
    faults
}

/// Returns the reasons why files of an incomplete change cannot be restored: new mounts hide them, or they are on one
/// that is no longer mounted.
pub(super) fn hinders(journal: &Journal, entry: &Entry) -> Vec<String> {
    // Another boot has other mounts: a missing file may be on one that failed.
    if entry.boot.is_none() || entry.boot != journal.place.boot() {
        let records = entry.records.iter().filter(|it| !it.observed && it.old != State::Absent);
        let absent = records.filter(|it| {
            found(journal.place.tree(), &it.path).is_ok_and(|now| now.state == State::Absent)
        });
        let mut at: Vec<&Path> =
            absent.filter_map(|it| missing(&journal.place, entry, &it.path)).collect();
        at.sort();
        at.dedup();
        return at
            .into_iter()
            .map(|at| format!("{} is not mounted: mount it", journal.place.shown(at).display()))
            .collect();
    }
    let (new, gone) = differences(journal, entry, entry.mounts.as_deref());
    let ours = paths(entry, |record| !record.observed);
    let hides = |mount: &&Mount| ours.contains(mount.at.as_path());
    let shown = |mount: &Mount| journal.place.shown(&mount.at).display().to_string();
    let new = new.iter().filter(hides).map(|mount| {
        format!("{} has another filesystem or file mounted over it: unmount it", shown(mount))
    });
    let gone = gone
        .iter()
        .filter(hides)
        .map(|mount| format!("{} is no longer mounted: mount it again", shown(mount)));
    new.chain(gone).collect()
}

/// Returns the mount point of a path before the first step of a change, if that is not mounted now. After another boot,
/// devices may have other numbers: then any mount at that place is accepted.
pub(super) fn missing<'a>(place: &Place, entry: &'a Entry, path: &Path) -> Option<&'a Path> {
    let before = entry.mounts.as_deref()?;
    let now = all(place.real())?;
    let over = before.iter().filter(|mount| path.starts_with(&mount.at));
    let booted = entry.boot.is_none() || entry.boot != place.boot();
    let there = |mount: &Mount| {
        now.iter().any(|it| it.at == mount.at && (booted || it.device == mount.device))
    };
    over.filter(|mount| !there(mount)).map(|mount| mount.at.as_path()).next()
}

/// All mounts below a root, in the order in which they were made.
fn all(root: &Path) -> Option<Vec<Mount>> {
    // Of this thread, which may have a separate namespace.
    let list = ["/proc/thread-self/mountinfo", "/proc/self/mountinfo"];
    let list = list.into_iter().find_map(|path| std::fs::read(path).ok())?;
    Some(mounts(&list).filter_map(|line| mount(line, root)).collect())
}

/// Parses one line of the list; `None` for a mount that is not below the root.
fn mount(line: MountLine<'_>, root: &Path) -> Option<Mount> {
    let below = line.point.strip_prefix(root).ok()?;
    (!below.as_os_str().is_empty()).then(|| Mount {
        at: Path::new("/").join(below),
        device: format!("{}:{}", line.device.0, line.device.1),
        part: line.root,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_lines_are_read_below_their_root() {
        let mount = |list, root: &str| mounts(list).find_map(|line| mount(line, Path::new(root)));
        let line = b"40 21 0:40 /a\\040b /srv/x\\134y/boot rw,nosuid - tmpfs none rw";
        let found = mount(line, "/srv/x\\y").unwrap();
        assert_eq!((found.at, found.part), ("/boot".into(), "/a b".into()));
        assert_eq!(found.device, "0:40");
        assert_eq!(mount(line, "/srv/x\\y/boot"), None);
        assert_eq!(mount(line, "/srv/x"), None);
        assert_eq!(mount(b"", "/"), None);
        assert!(mount(b"21 1 8:1 / / rw - ext4 /dev/sda1 rw", "/").is_none());
    }

    #[test]
    fn file_that_was_on_a_mount_in_another_boot_hinders_while_both_are_gone() {
        use crate::plan::{Action, Plan, Step};
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("boot")).unwrap();
        std::fs::write(dir.path().join("boot/a"), "old").unwrap();
        let place = Place::at(dir.path(), crate::Sysfs::at(dir.path())).unwrap();
        let mut journal = Journal::open(&place, super::super::Wait::No).unwrap();
        let action =
            Action::Write { path: "/boot/a".into(), content: "new".to_owned(), mode: 0o644 };
        let step = Step { action, why: String::new(), risk: String::new() };
        let plan = Plan { steps: vec![step], ..Plan::default() };
        journal.apply(&plan, &mut super::super::Silent).unwrap();
        let mut entry = journal.entries()[0].clone();
        let line = b"40 21 8:2 / /boot rw - ext4 /dev/sda2 rw";
        entry.mounts = Some(vec![mounts(line).find_map(|it| mount(it, Path::new("/"))).unwrap()]);
        entry.boot = Some("another".to_owned());
        assert!(hinders(&journal, &entry).is_empty());
        std::fs::remove_file(dir.path().join("boot/a")).unwrap();
        let [why] = &hinders(&journal, &entry)[..] else { panic!() };
        assert!(why.ends_with("/boot is not mounted: mount it"), "{why}");
    }
}

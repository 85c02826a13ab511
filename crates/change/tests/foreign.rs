//! Every function that opens a journal refuses one that another user could have written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use clocksmith_change::journal::{Journal, JournalError};
use common::{build, open, place, plan, temporary};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::{Path, PathBuf};

const JOURNAL: &str = "var/lib/clocksmith/journal";

/// A system with a change in force.
fn changed() -> tempfile::TempDir {
    let dir = temporary();
    build(dir.path());
    open(dir.path()).unwrap().apply(&plan(), &mut clocksmith_change::journal::Silent).unwrap();
    dir
}

/// The files of the journal.
fn files(root: &Path) -> Vec<PathBuf> {
    fs::read_dir(root.join(JOURNAL)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns all paths that must belong to one user only.
fn guarded(root: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = ["", "var", "var/lib", "var/lib/clocksmith", JOURNAL]
        .iter()
        .map(|it| root.join(it))
        .collect();
    all.extend(files(root));
    all
}

/// Refused by every operation, with its path, owner and mode, and with nothing changed.
fn refused(root: &Path, path: &Path) {
    let before = common::picture(root);
    let (owner, mode) =
        fs::symlink_metadata(path).map(|it| (it.uid(), it.mode() & 0o7777)).unwrap();
    let check = |error: JournalError| {
        let JournalError::Foreign(foreign) = &error else { panic!("{}: {error}", path.display()) };
        assert_eq!((foreign.owner, foreign.mode), (owner, mode), "{error}");
        assert_eq!(fs::canonicalize(&foreign.path).unwrap(), fs::canonicalize(path).unwrap());
        assert!(error.to_string().contains("is not trusted"), "{error}");
    };
    check(open(root).map(drop).unwrap_err());
    check(Journal::look(&place(root)).map(drop).unwrap_err());
    assert_eq!(common::picture(root), before);
}

#[test]
fn journal_that_others_can_write_is_refused() {
    let dir = changed();
    for path in guarded(dir.path()) {
        let before = fs::metadata(&path).unwrap().permissions();
        for bits in [0o020, 0o002] {
            fs::set_permissions(&path, fs::Permissions::from_mode(before.mode() | bits)).unwrap();
            refused(dir.path(), &path);
        }
        fs::set_permissions(&path, before).unwrap();
    }
    drop(open(dir.path()).unwrap());
}

#[test]
fn journal_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = changed();
    for path in guarded(dir.path()) {
        chown(&path, Some(1000), None).unwrap();
        refused(dir.path(), &path);
        chown(&path, Some(0), None).unwrap();
    }
    drop(open(dir.path()).unwrap());
}

#[test]
fn content_that_others_can_write_is_not_restored() {
    let dir = changed();
    let old = fs::read_dir(dir.path().join(JOURNAL)).unwrap().map(|entry| entry.unwrap().path());
    let old = old.filter(|path| path.extension() == Some("content".as_ref())).find(|path| {
        fs::read_to_string(path)
            .unwrap()
            .starts_with("GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"quiet\"\n")
    });
    let path = old.expect("the former settings are kept");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    refused(dir.path(), &path);
}

#[test]
fn way_through_links_of_others_is_refused() {
    let dir = changed();
    let root = dir.path();
    let (home, moved) = (root.join("var/lib/clocksmith"), root.join("srv/clocksmith"));
    fs::create_dir_all(root.join("srv")).unwrap();
    fs::rename(&home, &moved).unwrap();
    symlink("/srv/clocksmith", &home).unwrap();
    // A link of this user to a directory of this user.
    drop(open(root).unwrap());
    assert_eq!(Journal::look(&place(root)).unwrap().len(), 1);
    fs::set_permissions(root.join("srv"), fs::Permissions::from_mode(0o777)).unwrap();
    refused(root, &root.join("srv"));
    fs::set_permissions(root.join("srv"), fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&moved, Some(1000), None).unwrap();
        refused(root, &moved);
        chown(&moved, Some(0), None).unwrap();
        lchown(&home, Some(1000), None).unwrap();
        assert!(matches!(open(root), Err(JournalError::Foreign(_))));
        assert!(matches!(Journal::look(&place(root)), Err(JournalError::Foreign(_))));
    }
    // The lock and an entry.
    fs::remove_file(&home).unwrap();
    fs::rename(&moved, &home).unwrap();
    for path in files(root).into_iter().filter(|path| path.extension() != Some("content".as_ref()))
    {
        let aside = root.join("aside");
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        assert!(matches!(open(root), Err(JournalError::Foreign(_))), "{}", path.display());
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
}

#[test]
fn tree_whose_ancestor_others_can_write_is_refused() {
    let dir = temporary();
    let root = dir.path().join("way/root");
    fs::create_dir_all(&root).unwrap();
    build(&root);
    fs::set_permissions(dir.path().join("way"), fs::Permissions::from_mode(0o777)).unwrap();
    // There is no journal yet: none is begun, and its absence is not trusted.
    assert!(matches!(open(&root), Err(JournalError::Foreign(_))));
    assert!(matches!(Journal::look(&place(&root)), Err(JournalError::Foreign(_))));
    assert!(!root.join("var/lib/clocksmith").exists());
    // As /tmp is.
    fs::set_permissions(dir.path().join("way"), fs::Permissions::from_mode(0o1777)).unwrap();
    drop(open(&root).unwrap());
}

#[test]
fn absence_of_the_journal_is_believed_only_where_its_presence_would_be() {
    let dir = changed();
    let root = dir.path();
    let (var, home, journal) =
        (root.join("var"), root.join("var/lib/clocksmith"), root.join(JOURNAL));
    fs::rename(&journal, root.join("saved")).unwrap();
    let refused = |what: &str| {
        assert!(matches!(Journal::look(&place(root)), Err(JournalError::Foreign(_))), "{what}");
        assert!(matches!(open(root), Err(JournalError::Foreign(_))), "{what}");
    };
    assert_eq!(Journal::look(&place(root)).unwrap(), []);
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for above in [&home, &var] {
        for bits in [0o775, 0o757] {
            mode(above, bits);
            refused("a directory that others can write");
        }
        mode(above, 0o755);
    }
    if rustix::process::geteuid().is_root() {
        for above in [&home, &var] {
            chown(above, Some(1000), None).unwrap();
            refused("a directory of another user");
            chown(above, Some(0), None).unwrap();
        }
        symlink("/nowhere", &journal).unwrap();
        lchown(&journal, Some(1000), None).unwrap();
        refused("a link of another user to nothing");
        fs::remove_file(&journal).unwrap();
        fs::remove_dir_all(&home).unwrap();
        chown(&var, Some(1000), None).unwrap();
        refused("no directory below one of another user");
        chown(&var, Some(0), None).unwrap();
    }
    assert_eq!(Journal::look(&place(root)).unwrap(), []);
}

//! The sources of facts: the live machine, a directory that mirrors one, a bundle.
//!
//! A [`Tree`] is read by relative paths such as `proc/cmdline` or
//! `sys/devices/system/clocksource`. Some names are not files of a machine but results of queries
//! ([`VIRTUAL`]): `cpuid`, `dmesg`, `uname` and so on. The live tree computes them
//! on request; a mirror or a bundle may contain them as files of these names.
//!
//! Not in this module: the meaning of any file.

pub mod bundle;
pub mod decode;
pub mod dir;
pub mod holes;
pub mod live;
mod manifest;
pub mod memory;
pub mod record;
pub(crate) mod ways;

pub use bundle::{BundleError, BundleTree};
pub use dir::DirTree;
pub use live::LiveTree;
pub use memory::MemoryTree;

use crate::{Missing, Why};
use std::io::{self, Read};

/// The names that the live tree answers by a query of the machine and not by opening a file, each
/// with the command whose output replaces that file in a mirror.
pub const VIRTUAL: [(&str, Option<&str>); 9] = [
    ("cpuid", Some("cpuid -r")),
    ("dmesg", Some("sudo dmesg")),
    ("uname", Some("uname -a")),
    ("adjtimex", None),
    ("clocks", None),
    ("timekeepers", None),
    ("vdso", None),
    ("namespaces", None),
    ("verify", None),
];

/// The command whose output replaces the file of a virtual name.
#[must_use]
pub(crate) fn command_for(path: &str) -> Option<&'static str> {
    VIRTUAL.iter().find(|(name, _)| *name == path).and_then(|(_, command)| *command)
}

/// Whether the name is a virtual one.
#[must_use]
pub(crate) fn is_virtual(path: &str) -> bool {
    VIRTUAL.iter().any(|(name, _)| *name == path)
}

/// Whether the running machine's file of this name is obeyed: the proof of an earlier run. It counts only if no other
/// user can have written it.
fn is_obeyed(path: &str) -> bool {
    crate::verified::PATHS.contains(&path)
}

/// A source of facts.
pub trait Tree {
    /// The common name of a place: `/proc/cmdline`, `DIR/proc/cmdline`,
    /// `bundle:proc/cmdline`.
    fn describe(&self, path: &str) -> String;

    /// Opens one file.
    ///
    /// # Errors
    /// Returns the reason if the file cannot be read: it is absent, not permitted, not a regular file, or its path
    /// leaves the tree.
    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing>;

    /// The names in one directory, sorted by bytes.
    ///
    /// # Errors
    /// See [`Tree::open`].
    fn list(&self, dir: &str) -> Result<Vec<String>, Missing>;

    /// The whole content of one file of at most `limit` bytes.
    ///
    /// # Errors
    /// See [`Tree::open`]; also returns [`Why::Unreadable`] if the file is longer than `limit` or cannot be read to its
    /// end.
    fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, Missing> {
        let mut content = Vec::new();
        let read = self.open(path)?.take(limit.saturating_add(1)).read_to_end(&mut content);
        if let Err(error) = read {
            return Err(from_io(&error, self.describe(path)));
        }
        if content.len() as u64 > limit {
            let why = Why::Unreadable(format!("it is longer than {limit} bytes"));
            return Err(Missing::new(why, self.describe(path)));
        }
        Ok(content)
    }
}

/// The reason for an I/O error.
#[must_use]
pub(crate) fn from_io(error: &io::Error, at: String) -> Missing {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Missing::new(Why::Absent, at),
        // Containers and security modules also refuse root.
        io::ErrorKind::PermissionDenied if rustix::process::geteuid().is_root() => {
            Missing::new(Why::Permission, at).how(ways::OUTSIDE)
        }
        io::ErrorKind::PermissionDenied => Missing::new(Why::Permission, at).how(ways::AS_ROOT),
        _ => Missing::new(Why::Unreadable(error.to_string()), at),
    }
}

/// The components of a relative path, or its fault: absolute, empty, `..`, a NUL.
///
/// # Errors
/// Returns the fault as text.
pub fn components(path: &str) -> Result<Vec<&str>, &'static str> {
    if path.starts_with('/') {
        return Err("an absolute path");
    }
    if path.contains('\0') {
        return Err("a NUL byte in a path");
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.is_empty() {
        return Err("an empty path");
    }
    if parts.contains(&"..") {
        return Err("a path with '..'");
    }
    Ok(parts)
}

/// The normal form of a relative path (`./a//b` is `a/b`).
///
/// # Errors
/// See [`components`].
pub fn normal(path: &str) -> Result<String, &'static str> {
    Ok(components(path)?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_stay_relative() {
        assert_eq!(normal("./proc//cmdline").as_deref(), Ok("proc/cmdline"));
        for bad in ["/proc", "", "./", "..", "a/../b", "a\0b"] {
            assert!(normal(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn normal_paths_never_climb(path in "[./a-c\\x00]{0,12}") {
            if let Ok(normal) = normal(&path) {
                prop_assert!(!normal.starts_with('/'));
                prop_assert!(normal.split('/').all(|part| !matches!(part, "" | "." | "..")));
                prop_assert_eq!(super::normal(&normal), Ok(normal.clone()));
            }
        }
    }
}

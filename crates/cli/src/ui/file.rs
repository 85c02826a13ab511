//! Files that a verb writes by a name from the command line.
//!
//! The name may lie in a directory that others can write, and the verb may be root. So a file is made under a temporary
//! name next to its place, and renamed ([`clocksmith_watch::edge::files`]): no file that already has the name is
//! opened, no link of another user is followed, and neither a full disk nor a signal leaves anything behind.

use super::err;
use anyhow::{Context, Result, bail};
use clocksmith_facts::{given, trusted};
use clocksmith_measure::interrupt;
use clocksmith_watch::edge::files::{self, Durable, Over};
use std::io::ErrorKind;
use std::path::{Component, Path};

/// Writes a file that every user can read, or replaces a regular file.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<()> {
    if is_stream(path) {
        return stream(path, content);
    }
    check(path)?;
    put(path, content, 0o644, Over::Former)
}

/// Whether [`replace`] finds a place for a file of this name, so that a wrong name costs no measurement.
pub(crate) fn check(path: &Path) -> Result<()> {
    if is_stream(path) {
        return Ok(());
    }
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            bail!("{} exists and is not a regular file: name a new file", path.display())
        }
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| cannot(path));
        }
        _ => {}
    }
    trusted::place(path).map(|_| ()).with_context(|| cannot(path))
}

/// Writes a new file that only its owner can read. An existing one stays.
pub(crate) fn new_private(path: &Path, content: &[u8]) -> Result<()> {
    put(path, content, 0o600, Over::Nothing)
}

fn put(path: &Path, content: &[u8], mode: u32, over: Over) -> Result<()> {
    let write = || {
        let place = trusted::place(path)?;
        files::put(&place.directory, &place.name, content, mode, Durable::Yes, over)
    };
    interrupt::whole(write).with_context(|| cannot(path))
}

fn cannot(path: &Path) -> String {
    format!("cannot write {}. Name a file in a directory that exists", path.display())
}

/// Returns whether a name is that of an open stream or of `/dev/null`: only root makes such names.
fn is_stream(path: &Path) -> bool {
    let named = ["/dev/null", "/dev/stdout", "/dev/stderr"].map(Path::new).contains(&path);
    let below = |directory: &str| {
        path.strip_prefix(directory)
            .is_ok_and(|rest| rest.components().all(|part| matches!(part, Component::Normal(_))))
    };
    named || below("/dev/fd") || below("/proc/self/fd")
}

#[allow(clippy::disallowed_methods)]
fn stream(path: &Path, content: &[u8]) -> Result<()> {
    std::fs::write(path, content).with_context(|| format!("cannot write to {}", path.display()))
}

/// Whether a name in a directory is another user's link, which may lead to a file that its owner may not read; says that
/// it is left out.
pub(crate) fn leaves_out_link(path: &Path) -> bool {
    let Some(user) = given::link_of_another_user(path) else { return false };
    let path = path.display();
    err::line(&format!("clocksmith: {path} is a link of another user ({user}), and is left out"));
    true
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::fs::{read_to_string, symlink_metadata, write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn replace_opens_nothing_that_lies_at_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, path) = (dir.path().join("precious"), dir.path().join("out"));
        write(&precious, "precious").unwrap();
        symlink(&precious, &path).unwrap();
        let error = replace(&path, b"new").unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
        assert!(replace(dir.path(), b"new").is_err());
        assert_eq!(read_to_string(&precious).unwrap(), "precious");
        // A second name of a file that is not to be written.
        std::fs::remove_file(&path).unwrap();
        std::fs::hard_link(&precious, &path).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(read_to_string(&path).unwrap(), "new");
        assert_eq!(read_to_string(&precious).unwrap(), "precious");
        let error = format!("{:#}", replace(&dir.path().join("none/out"), b"x").unwrap_err());
        assert!(error.contains("cannot write") && error.contains("No such file"), "{error}");
        let error = format!("{:#}", check(&dir.path().join("none/out")).unwrap_err());
        assert!(error.contains("cannot write") && error.contains("No such file"), "{error}");
        assert!(check(dir.path()).is_err() && check(&dir.path().join("new")).is_ok());
        assert!(!dir.path().join("new").exists());
        replace(Path::new("/dev/null"), b"x").unwrap();
    }

    #[test]
    fn new_private_replaces_nothing_and_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("b.tar.gz");
        new_private(&path, b"one").unwrap();
        assert_eq!(symlink_metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(new_private(&path, b"two").is_err());
        assert_eq!(read_to_string(&path).unwrap(), "one");
        symlink(dir.path().join("nothing"), dir.path().join("link")).unwrap();
        assert!(new_private(&dir.path().join("link"), b"two").is_err());
        assert!(new_private(&dir.path().join("none/b.tar.gz"), b"x").is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn is_stream_only_by_names_of_roots() {
        for name in ["/dev/null", "/dev/stdout", "/dev/fd/3", "/proc/self/fd/1"] {
            assert!(is_stream(Path::new(name)), "{name}");
        }
        for name in ["/dev/shm/x", "/dev/fd/../shm/x", "/tmp/null", "stdout", "-"] {
            assert!(!is_stream(Path::new(name)), "{name}");
        }
    }
}

//! Reading below a root directory: links are followed inside it, as the system itself would, and lead
//! nowhere else.

use clocksmith_facts::visible;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Most links in one path; as the kernel's `MAXSYMLINKS`.
const LINKS: u32 = 40;

/// A root directory.
pub(super) struct Root<'a>(pub(super) &'a Path);

/// Whether the end of a name must be in the same letters, or may be in capitals, as on FAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Same,
    Any,
}

impl Root<'_> {
    /// Returns where a path of that system leads, and whether a file exists there.
    fn walk(&self, path: &str) -> Option<(PathBuf, bool)> {
        let mut todo: Vec<OsString> = parts(Path::new(path));
        let mut at = PathBuf::new();
        let mut links = 0;
        let mut there = true;
        while let Some(part) = todo.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            let here = self.0.join(&at).join(&part);
            let meta = fs::symlink_metadata(&here).ok();
            there &= meta.is_some();
            if !meta.is_some_and(|meta| meta.file_type().is_symlink()) {
                at.push(part);
                continue;
            }
            links += 1;
            if links > LINKS {
                return None;
            }
            let target = fs::read_link(&here).ok()?;
            if target.is_absolute() {
                at = PathBuf::new();
            }
            todo.extend(parts(&target));
        }
        Some((at, there))
    }

    /// The real place of a path of that system.
    fn find(&self, path: &str) -> Option<PathBuf> {
        let (at, there) = self.walk(path)?;
        there.then(|| self.0.join(at))
    }

    /// Returns the reason why a path of that system is not a file of settings, if links are the reason: they lead to a
    /// place that does not survive a boot, or to nothing.
    pub(super) fn astray(&self, path: &str) -> Option<String> {
        let asked = Path::new(path.trim_start_matches('/'));
        let parent = asked.parent().and_then(|parent| self.find(parent.to_str()?))?;
        let here = fs::symlink_metadata(parent.join(asked.file_name()?)).ok()?;
        let is_link = here.file_type().is_symlink();
        let Some((at, there)) = self.walk(path) else {
            return is_link.then(|| "it is a link whose links lead in circles".to_owned());
        };
        if let Some(top) = passing(&at).filter(|top| !asked.starts_with(top)) {
            return Some(format!(
                "it is a link to /{}, and what is in /{top} does not survive a boot",
                at.display()
            ));
        }
        (is_link && !there).then(|| format!("it is a link to /{}, where nothing is", at.display()))
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.find(path).is_some()
    }

    pub(super) fn real(&self, path: &str) -> Option<PathBuf> {
        self.find(path)
    }

    /// Opens the path that [`Root::find`] found, one directory at a time, because one of them may have become a link
    /// that leads out of the root.
    fn open(&self, place: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = rustix::fs::open(self.0, way, Mode::empty())?;
        let mut names = parts(place.strip_prefix(self.0).unwrap_or(place));
        while let Some(name) = names.pop() {
            let flags = if names.is_empty() { flags | OFlags::CLOEXEC } else { way };
            at = rustix::fs::openat(&at, &name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(at)
    }

    /// A regular file of at most `limit` bytes; `None` if there is none of this name.
    pub(super) fn read(&self, path: &str, limit: u64) -> Option<io::Result<Vec<u8>>> {
        let place = self.find(path)?;
        // The opened file is checked, not its name: the name may become a link or a pipe in between.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.open(&place, flags) {
            Ok(file) => fs::File::from(file),
            // A socket; gone.
            Err(Errno::NXIO | Errno::NOENT | Errno::LOOP) => return None,
            Err(error) => return Some(Err(error.into())),
        };
        // A pipe or a directory where a file belongs: a program of that system would fail on it.
        if !file.metadata().ok()?.is_file() {
            return Some(Err(io::Error::other("it is not a regular file")));
        }
        let read = || {
            let mut bytes = Vec::new();
            file.take(limit + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > limit {
                return Err(io::Error::other(format!("it is longer than {limit} bytes")));
            }
            Ok(bytes)
        };
        Some(read())
    }

    /// Names in a directory that end with `suffix`, sorted; none if it does not exist, or is not a
    /// directory.
    pub(super) fn names(
        &self,
        directory: &str,
        suffix: &str,
        case: Case,
    ) -> io::Result<Vec<String>> {
        let Some(place) = self.find(directory) else { return Ok(Vec::new()) };
        let opened = match self.open(&place, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Vec::new()),
            Err(error) => return Err(error.into()),
        };
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(opened)? {
            let name = OsString::from_vec(entry?.file_name().to_bytes().to_vec());
            let bytes = name.as_encoded_bytes();
            let end = bytes.len().checked_sub(suffix.len()).and_then(|at| bytes.get(at..));
            let wanted = suffix.as_bytes();
            if !end.is_some_and(|end| {
                end == wanted || case == Case::Any && end.eq_ignore_ascii_case(wanted)
            }) {
                continue;
            }
            let text = name.into_string().map_err(|name| {
                io::Error::other(format!("the name {} in it is not UTF-8", name.display()))
            })?;
            // A line break in a name would add a line to the output.
            if text.chars().any(visible::hides) {
                return Err(io::Error::other(format!(
                    "the name {} in it has a character that a terminal does not show",
                    visible::line(&text)
                )));
            }
            if names.len() >= MOST_NAMES {
                return Err(io::Error::other(format!(
                    "it has more than {MOST_NAMES} files, which is too many for a configuration"
                )));
            }
            names.push(text);
        }
        names.sort();
        Ok(names)
    }
}

/// The limit of names in a directory of a boot loader, because each file takes a system call whenever it is read.
const MOST_NAMES: usize = 1024;

/// The directory at the top of a path (without the first `/`) in which nothing survives a boot: the kernel's own file
/// systems, and those in memory (hier(7), file-hierarchy(7)).
pub(crate) fn passing(path: &Path) -> Option<&'static str> {
    ["dev", "proc", "sys", "run", "tmp"].into_iter().find(|top| path.starts_with(top))
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<OsString> {
    let mut parts: Vec<OsString> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn astray_names_links_to_what_passes_and_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root(dir.path());
        for directory in ["etc", "run", "opt"] {
            fs::create_dir_all(dir.path().join(directory)).unwrap();
        }
        for file in ["run/there", "opt/there", "run/itself"] {
            fs::write(dir.path().join(file), "x\n").unwrap();
        }
        for (name, target) in [
            ("null", "/dev/null"),
            ("proc", "../proc/x"),
            ("run", "/run/there"),
            ("chain", "null"),
            ("gone", "/opt/gone"),
            ("loop", "loop"),
            ("fine", "/opt/there"),
            ("d", "/run"),
        ] {
            symlink(target, dir.path().join("etc").join(name)).unwrap();
        }
        let why = |name: &str| root.astray(&format!("/etc/{name}"));
        for (name, words) in [
            ("null", "link to /dev/null, and what is in /dev does not survive"),
            ("proc", "link to /proc/x, and what is in /proc does not survive"),
            ("run", "link to /run/there, and"),
            ("chain", "link to /dev/null, and"),
            ("d/there", "link to /run/there, and"),
            ("gone", "link to /opt/gone, where nothing is"),
            ("loop", "circles"),
        ] {
            assert!(why(name).unwrap().contains(words), "{name}: {:?}", why(name));
        }
        for name in ["fine", "absent", "absent/x", "d/absent"] {
            assert_eq!(why(name), None, "{name}");
        }
        assert_eq!(root.astray("/run/itself"), None);
    }

    #[test]
    fn links_stay_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root(dir.path());
        fs::create_dir_all(dir.path().join("usr/lib")).unwrap();
        fs::write(dir.path().join("usr/lib/os-release"), "ID=x\n").unwrap();
        fs::create_dir_all(dir.path().join("etc")).unwrap();
        symlink("../usr/lib/os-release", dir.path().join("etc/a")).unwrap();
        symlink("/usr/lib/os-release", dir.path().join("etc/b")).unwrap();
        symlink("../../../../../../usr/lib/os-release", dir.path().join("etc/c")).unwrap();
        symlink("/etc/loop", dir.path().join("etc/loop")).unwrap();
        symlink("/etc/passwd", dir.path().join("etc/d")).unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(root.read(&format!("/etc/{name}"), 99).unwrap().unwrap(), b"ID=x\n");
        }
        assert!(root.read("/etc/loop", 99).is_none());
        assert!(root.read("/etc/d", 99).is_none());
        assert!(root.read("/etc/a", 3).unwrap().is_err());
        assert_eq!(root.names("/etc", "a", Case::Same).unwrap(), ["a"]);
        assert!(root.names("/none", "a", Case::Same).unwrap().is_empty());
        fs::write(dir.path().join("etc").join(OsString::from_vec(b"\xff.conf".to_vec())), "")
            .unwrap();
        assert!(
            root.names("/etc", ".conf", Case::Same).unwrap_err().to_string().contains("not UTF-8")
        );
        // A file that became a link after it was found.
        let found = root.find("/usr/lib/os-release").unwrap();
        fs::rename(dir.path().join("usr"), dir.path().join("other")).unwrap();
        symlink("/usr", dir.path().join("usr")).unwrap();
        assert!(root.open(&found, OFlags::RDONLY).is_err());
        let pipe = dir.path().join("etc/pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, Mode::from_raw_mode(0o600)).unwrap();
        assert!(root.read("/etc/pipe", 9).unwrap().is_err());
    }

    #[test]
    fn names_of_a_crowded_directory_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("etc/default/grub.d");
        std::fs::create_dir_all(&directory).unwrap();
        let root = Root(dir.path());
        let names = || root.names("/etc/default/grub.d", ".cfg", Case::Same);
        for number in 0..MOST_NAMES {
            std::fs::write(directory.join(format!("{number}.cfg")), "").unwrap();
        }
        assert_eq!(names().unwrap().len(), MOST_NAMES);
        std::fs::write(directory.join("more.cfg"), "").unwrap();
        assert!(names().unwrap_err().to_string().contains("more than 1024 files"));
    }
}

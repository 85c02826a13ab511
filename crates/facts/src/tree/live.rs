//! The running machine, even if its `/proc` and `/sys` are mounted below another directory.

use super::dir::DirTree;
use super::holes::Dense;
use super::{Tree, dir, from_io, is_obeyed, normal};
use crate::cpu::CpuList;
use crate::given::{self, Kinds};
use crate::probe::{self, kernel_log::LiveLog};
use crate::{Missing, Why};
use rustix::fs::{Mode, OFlags};
use std::cell::OnceCell;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// The running machine: its files, and facts from sources other than files. Each of those is read once, when
/// it is first needed.
#[derive(Debug, Default)]
pub struct LiveTree {
    /// Where its files are, if not below `/`.
    below: Option<DirTree>,
    log: OnceCell<Result<LiveLog, Missing>>,
    cpuid: OnceCell<Result<String, Missing>>,
}

impl LiveTree {
    /// The running machine. Nothing is read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The running machine, whose `/proc` and `/sys` are below `root`, as a container mounts those of its host; `None` if
    /// it is the directory of another one. A mounted procfs and a mounted sysfs are always those of the running kernel,
    /// and nothing else has their magic numbers. `/` counts as a mirror.
    ///
    /// # Errors
    /// Returns the system's error if `root` is not a directory, or cannot be opened.
    pub fn below(root: impl AsRef<Path>) -> io::Result<Option<Self>> {
        let files = DirTree::new(root)?;
        let is_it = files.is_running() && files.path() != Path::new("/");
        Ok(is_it.then(|| Self { below: Some(files), ..Self::default() }))
    }

    /// The directory that its files are below.
    fn root(&self) -> &Path {
        self.below.as_ref().map_or(Path::new("/"), DirTree::path)
    }

    fn log(&self) -> Result<&LiveLog, Missing> {
        self.log.get_or_init(probe::kernel_log::read).as_ref().map_err(Clone::clone)
    }

    fn cpuid(&self) -> Result<&str, Missing> {
        let list = |path: &str| {
            let text = self.read(path, 1 << 16).unwrap_or_default();
            CpuList::parse(&String::from_utf8_lossy(&text)).unwrap_or_default()
        };
        let dump = || {
            let online = list("sys/devices/system/cpu/online");
            let isolated = list("sys/devices/system/cpu/isolated");
            Ok(probe::cpuid::dump(&online, &isolated)?.to_string())
        };
        self.cpuid.get_or_init(dump).as_deref().map_err(Clone::clone)
    }

    /// The answer for a virtual name; `None` for all other names.
    fn answer(&self, path: &str) -> Option<Result<Box<dyn Read + '_>, Missing>> {
        let text = |text: Result<String, Missing>| -> Result<Box<dyn Read + '_>, Missing> {
            text.map(|text| Box::new(Cursor::new(text)) as Box<dyn Read + '_>)
        };
        Some(match path {
            "dmesg" => self.log().map(|log| Box::new(log.text.as_slice()) as Box<dyn Read + '_>),
            "cpuid" => self.cpuid().map(|text| Box::new(text.as_bytes()) as Box<dyn Read + '_>),
            "uname" => text(Ok(probe::identity::uname())),
            "namespaces" => text(probe::identity::namespaces()),
            "adjtimex" => text(probe::adjtimex::timex().map(|timex| timex.to_string())),
            "clocks" => text(Ok(probe::wall::clocks(self.root()))),
            "timekeepers" => text(probe::wall::keepers(self.root())),
            "verify" => self.verify(),
            "vdso" => text(probe::auxv::vdso().map(|image| image.to_string())),
            _ => return None,
        })
    }

    /// The saved result of this user's own `verify`. Root's is at a fixed place, and root trusts no other user's.
    fn verify(&self) -> Result<Box<dyn Read + '_>, Missing> {
        let at = self.describe("verify");
        match probe::state::file() {
            Some(path) => dir::open_trusted(&path, at).map(|file| Box::new(file) as Box<dyn Read>),
            None => Err(Missing::new(Why::Absent, at)),
        }
    }

    fn path(&self, path: &str) -> Result<PathBuf, Missing> {
        match normal(path) {
            Ok(path) => Ok(Path::new("/").join(path)),
            Err(what) => Err(Missing::new(Why::Unreadable(what.to_owned()), self.describe(path))),
        }
    }
}

impl Tree for LiveTree {
    fn describe(&self, path: &str) -> String {
        match path {
            "dmesg" => self.log().map_or_else(|_| "/dev/kmsg".to_owned(), |log| log.source.clone()),
            "cpuid" => probe::cpuid::SOURCE.to_owned(),
            "uname" => "uname(2)".to_owned(),
            "adjtimex" => "adjtimex(2)".to_owned(),
            "clocks" => "clock_gettime(2)".to_owned(),
            "timekeepers" => self.root().join("proc").display().to_string(),
            "verify" => probe::state::file().map_or_else(
                || "the user's state directory".to_owned(),
                |path| path.display().to_string(),
            ),
            "vdso" => "AT_SYSINFO_EHDR".to_owned(),
            "namespaces" => "/proc/self/ns".to_owned(),
            path => match &self.below {
                Some(files) => files.describe(path),
                None => format!("/{path}"),
            },
        }
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing> {
        if let Some(answer) = self.answer(path) {
            return answer;
        }
        if let Some(files) = &self.below {
            return files.open(path);
        }
        if is_obeyed(path) {
            let file = dir::open_trusted(&self.path(path)?, self.describe(path))?;
            return Ok(Box::new(file));
        }
        match given::open(&self.path(path)?, Kinds::Regular) {
            // The kernel's own files have no holes.
            Ok(file) if path.starts_with("var/") => Ok(Box::new(Dense::new(file))),
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(from_io(&error, self.describe(path))),
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        if let Some(files) = &self.below {
            return files.list(dir);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(self.path(dir)?, flags, Mode::empty())
            .map_err(Into::into)
            .and_then(dir::names)
            .map_err(|error| from_io(&error, self.describe(dir)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_answers() {
        let tree = LiveTree::new();
        assert_eq!(tree.describe("proc/cmdline"), "/proc/cmdline");
        assert!(!tree.read("proc/version", 4096).unwrap().is_empty());
        assert!(tree.list("proc").unwrap().contains(&"version".to_owned()));
        let missing = tree.read("proc/no-such-file", 10).unwrap_err();
        assert_eq!(missing.why, Why::Absent);
        assert!(matches!(tree.read("../etc/passwd", 10).unwrap_err().why, Why::Unreadable(_)));
        assert!(matches!(tree.read("dev/null", 10).unwrap_err().why, Why::Unreadable(_)));
        for (name, _) in super::super::VIRTUAL {
            match tree.read(name, 1 << 26) {
                Ok(content) => assert!(!content.is_empty(), "{name}"),
                Err(missing) => assert_ne!(missing.why, Why::NotAsked, "{name}"),
            }
        }
    }

    #[test]
    fn only_mounted_procfs_and_sysfs_are_of_the_running_kernel() {
        let dir = tempfile::tempdir().unwrap();
        assert!(LiveTree::below(dir.path()).unwrap().is_none());
        for name in ["proc", "sys"] {
            std::os::unix::fs::symlink(Path::new("/").join(name), dir.path().join(name)).unwrap();
        }
        // A user who sends a directory can put links into it.
        assert!(LiveTree::below(dir.path()).unwrap().is_none());
        assert!(LiveTree::below("/").unwrap().is_none());
        assert!(LiveTree::below(dir.path().join("none")).is_err());
    }

    #[test]
    fn directories_cannot_be_read_as_files() {
        assert!(LiveTree::new().read("proc", 10).is_err());
        assert!(LiveTree::new().list("proc/version").is_err());
    }
}

//! The system, as far as a change must know it: distribution, boot loader, owner of the kernel
//! command line, service manager. Plain data: planning on it is pure.
//!
//! This module reads it ([`read`]), through a root directory, and does nothing else to the machine. It
//! must not edit a boot loader's files ([`crate::boot`]).

mod efi;
mod longest;
pub mod os;
mod read;
mod root;

pub(crate) use root::passing;

pub use efi::Efi;
pub use longest::Longest;
pub use os::Os;
pub use read::read;
pub(crate) use read::{settings_directories, settings_files};

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A system in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct System {
    /// From os-release.
    pub os: Os,
    /// Whether it is the running one: its programs can be run.
    pub live: bool,
    /// Texts of files that matter, by absolute path; missing files are not included.
    pub files: BTreeMap<PathBuf, Text>,
    /// Programs that were looked for and found, by name.
    pub programs: BTreeSet<String>,
    /// Unified kernel images: the command line is inside them, and signed with them.
    pub unified: Vec<PathBuf>,
    /// Whether systemd is the service manager (running, or installed in another root).
    pub systemd: bool,
    /// Whether OpenRC is.
    pub openrc: bool,
    /// Marks of systems where a tool of the system owns the command line.
    pub marks: Marks,
    /// The data of the firmware and the boot loader about this boot.
    pub efi: Efi,
    /// Directories that are mounted read-only, of those that a change could write to.
    pub read_only: Vec<PathBuf>,
    /// Of `/boot/firmware` and `/boot`, where a FAT partition is mounted, which a Raspberry Pi's firmware may read.
    pub firmware: Vec<PathBuf>,
    /// Pairs of directories of boot entries that are one directory, mounted twice or behind a link.
    pub same: Vec<(PathBuf, PathBuf)>,
    /// The length of a command line that its kernels read.
    pub longest: Longest,
}

/// Marks of systems where a tool of the system owns the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// `/run/ostree-booted`, or `/ostree` with a deployment.
    pub ostree: bool,
    /// Made by bootc: its status program and `/usr/lib/bootc`.
    pub bootc: bool,
    /// `/etc/NIXOS`.
    pub nixos: bool,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text {
    /// Its text.
    Is(String),
    /// It exists but cannot be used, for this reason.
    Not(String),
}

impl System {
    /// The text of a file.
    #[must_use]
    pub fn text(&self, path: impl AsRef<Path>) -> Option<&str> {
        match self.files.get(path.as_ref()) {
            Some(Text::Is(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns the reason why an existing file cannot be used.
    #[must_use]
    pub fn trouble(&self, path: impl AsRef<Path>) -> Option<&str> {
        match self.files.get(path.as_ref()) {
            Some(Text::Not(why)) => Some(why),
            _ => None,
        }
    }

    /// Whether a program was found.
    #[must_use]
    pub fn has(&self, program: &str) -> bool {
        self.programs.contains(program)
    }

    /// Files below a directory with texts, in the order of their names.
    pub fn below<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a Path, &'a str)> {
        self.files.iter().filter_map(move |(path, text)| {
            let inside = path.parent() == Some(Path::new(directory));
            match text {
                Text::Is(text) if inside => Some((path.as_path(), text.as_str())),
                _ => None,
            }
        })
    }

    /// A directory that cannot be listed, and files below it that are there and cannot be used, with why.
    pub fn troubles<'a>(&'a self, directory: &'a str) -> impl Iterator<Item = (&'a Path, &'a str)> {
        self.files.iter().filter_map(move |(path, text)| {
            let inside =
                path == Path::new(directory) || path.parent() == Some(Path::new(directory));
            match text {
                Text::Not(why) if inside => Some((path.as_path(), why.as_str())),
                _ => None,
            }
        })
    }

    /// The running kernel's command line, if it is known.
    #[must_use]
    pub fn cmdline(&self) -> Option<&str> {
        self.text("/proc/cmdline").map(|text| text.trim_end_matches('\n'))
    }

    /// Adds a text, for tests and hypothetical cases.
    #[must_use]
    pub fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(PathBuf::from(path), Text::Is(text.to_owned()));
        self
    }
}

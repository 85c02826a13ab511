//! The code that a process has mapped now, by the files that it comes from.

use super::super::guard::Owners;
use super::super::jdk::{self, About, Written};
use super::super::maps::{self, Mapping};
use super::super::patient;
use super::super::served::Mounts;
use super::{MAPS, Process};
use std::ops::Range;

impl Process {
    /// Whether it has mapped code that is not in a file, except the kernel's and this project's
    /// clocks: code that it makes.
    #[must_use]
    pub fn has_code_without_file(&self) -> bool {
        self.maps.iter().any(|mapping| {
            let made = mapping.executable && !mapping.is_file() && !mapping.name.starts_with("[v");
            let start = &mapping.range.start;
            made && !self.files.contains_key(start) && !self.in_ours(*start)
        })
    }

    /// Returns the code in a Java virtual machine that is neither its JDK's nor the system's, by readable names. The
    /// map is read now: a library may have been loaded since the last read. `code` is the range of the JVM's
    /// compiled code.
    pub(in crate::watched) fn strangers(&self, code: Range<u64>) -> Vec<String> {
        let text = patient::text(self.at, "maps", MAPS).unwrap_or_default();
        let mounts = Mounts::of(self.at);
        // A filesystem that a program serves is omitted: the program may never answer.
        let written = |mapping: &Mapping| {
            let local = !mounts.is_served(mapping.device);
            local.then(|| self.written(mapping)).flatten()
        };
        let Some(owners) = Owners::of(self.at) else {
            return vec!["a JVM that has ended".to_owned()];
        };
        let ours = |address| self.in_ours(address);
        jdk::strangers(
            &maps::parse(&text),
            &About { code, user: owners.user, written: &written, ours: &ours },
        )
    }

    /// Returns the users who may have written the file of a mapping: through the mapping itself, which needs a
    /// capability, otherwise by its name, if that is the same file.
    fn written(&self, mapping: &Mapping) -> Option<Written> {
        let Range { start, end } = mapping.range;
        let through = format!("/proc/{}/map_files/{start:x}-{end:x}", self.at);
        let below = || {
            let path = format!("/proc/{}/root{}", self.at, mapping.name);
            let stat = patient::ask(self.pid, || rustix::fs::lstat(path).ok());
            stat.filter(|stat| stat.st_ino == mapping.inode)
        };
        // To follow the first path, the kernel looks at the map.
        let stat = patient::ask(self.pid, || rustix::fs::stat(through).ok()).or_else(below)?;
        Some(Written { user: stat.st_uid, loose: stat.st_mode & 0o022 != 0 })
    }
}

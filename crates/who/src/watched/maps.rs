//! Mappings: `/proc/PID/maps`. Pure.

use std::ops::Range;

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Addresses.
    pub range: Range<u64>,
    /// Whether code can run there.
    pub executable: bool,
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// The device of the file's filesystem: major and minor.
    pub device: (u32, u32),
    /// The file's inode; 0 if there is no file.
    pub inode: u64,
    /// The file as the process sees it, or a name in brackets, or empty.
    pub name: String,
    /// Whether the file is gone.
    pub deleted: bool,
}

impl Mapping {
    /// Whether it is a file's.
    #[must_use]
    pub fn is_file(&self) -> bool {
        self.name.starts_with('/') && !self.name.starts_with("/memfd:")
    }

    /// Whether it is of a file in memory (`memfd_create`): a program, or code that a program makes.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.deleted && self.name.starts_with("/memfd:")
    }

    /// The file's name without its directories.
    #[must_use]
    pub fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// Reads the file's text; lines that are not understood are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<Mapping> {
    clocksmith_raw::maps::parse(text).map(Mapping::from).collect()
}

impl From<clocksmith_raw::maps::Mapping<'_>> for Mapping {
    fn from(found: clocksmith_raw::maps::Mapping<'_>) -> Self {
        let name = found.name.strip_suffix(" (deleted)");
        Self {
            range: found.range,
            executable: found.executable,
            offset: found.offset,
            device: found.device,
            inode: found.inode,
            deleted: name.is_some(),
            // The kernel writes a line feed in a name as an octal escape.
            name: name.unwrap_or(found.name).replace("\\012", "\n"),
        }
    }
}

/// The mapping that holds an address; the list is in order of addresses, as the kernel writes it.
#[must_use]
pub fn find(maps: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = maps.partition_point(|mapping| mapping.range.start <= address);
    maps.get(after.checked_sub(1)?).filter(|mapping| mapping.range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a program
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7f1000000000-7f1000001000 r-xp 00000000 00:05 12                         /opt/x.so (deleted)
7ffd0000-7ffd2000 r-xp 00000000 00:00 0                                  [vdso]
";

    #[test]
    fn lines() {
        let maps = parse(TEXT);
        assert_eq!(maps.len(), 4);
        assert_eq!(maps[0].name, "/usr/bin/a program");
        assert_eq!((maps[0].base_name(), maps[0].offset), ("a program", 0x1000));
        assert_eq!((maps[0].inode, maps[1].inode), (173_521, 0));
        assert_eq!((maps[0].device, maps[1].device), ((8, 2), (0, 0)));
        assert!(maps[1].name.is_empty() && !maps[1].executable);
        assert!(maps[2].deleted && maps[2].name == "/opt/x.so");
        assert!(!maps[3].is_file() && maps[0].is_file());
    }

    #[test]
    fn addresses() {
        let mut maps = parse(TEXT);
        maps.sort_by_key(|mapping| mapping.range.start);
        assert_eq!(find(&maps, 0x400000).unwrap().name, "/usr/bin/a program");
        assert_eq!(find(&maps, 0x451fff).unwrap().name, "/usr/bin/a program");
        assert!(find(&maps, 0x452000).is_none() && find(&maps, 0).is_none());
    }
}

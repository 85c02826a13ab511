//! Reads files of a watched program, whose user controls their content and may change them meanwhile.
//!
//! A file is read in parts, and no part is larger than the file's blocks on the disk allow: a sparse file may claim
//! any size. The library that finds names maps a file as a whole, and shortening a mapped file ends the program that
//! reads it (SIGBUS). So the library gets a copy of a file that another user could write; a file of root, or of the
//! user of this program, is mapped directly.

use super::names::NameSource;
use clocksmith_facts::trusted;
use object::ReadRef;
use object::read::ReadCache;
use rustix::fs::MemfdFlags;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of one piece at most; the largest programs have a tenth of it in a section with tables.
const LARGEST: u64 = 256 << 20;
/// How much longer a part may be than the file's blocks on the disk: some file systems compress.
const COMPRESSED: u64 = 16;
/// Unit of `st_blocks`.
const BLOCK: u64 = 512;
/// Any file may have a piece of this length: small ones may have no block of their own.
const SMALL: u64 = 1 << 20;
/// Bytes of all copies together at most.
const COPIES: u64 = 512 << 20;
/// Bytes that are copied at once.
const STEP: usize = 1 << 16;

/// An ELF file to parse.
#[derive(Debug)]
pub(super) struct Bounded {
    cache: ReadCache<File>,
    piece: u64,
}

impl Bounded {
    /// Of an open file.
    pub(super) fn new(file: File) -> Option<Self> {
        let blocks = file.metadata().ok()?.blocks();
        let piece = blocks.saturating_mul(BLOCK).saturating_mul(COMPRESSED).clamp(SMALL, LARGEST);
        Some(Self { cache: ReadCache::new(file), piece })
    }
}

impl<'a> ReadRef<'a> for &'a Bounded {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size > self.piece {
            return Err(());
        }
        (&self.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        (&self.cache).read_bytes_at_until(range, delimiter)
    }
}

/// A file that may be mapped as a whole, and where its names are.
#[derive(Debug)]
pub struct Mappable {
    /// The file itself, or a copy in memory.
    pub file: File,
    /// Where the names of its functions come from.
    pub names: NameSource,
}

/// Makes files that may be mapped.
#[derive(Debug)]
pub struct Copies {
    left: u64,
}

impl Default for Copies {
    fn default() -> Self {
        Self { left: COPIES }
    }
}

impl Copies {
    /// A file that no other user can shorten while it is mapped. `None`: all copies together would be too large, or
    /// the file cannot be read.
    pub fn mappable(&mut self, file: &File) -> Option<Mappable> {
        let file = match trusted::file(file, Path::new("a mapped file")) {
            Ok(()) => file.try_clone().ok()?,
            Err(_) => self.copy(file)?,
        };
        // The copy's metadata: the file may have changed meanwhile.
        let bounded = Bounded::new(file.try_clone().ok()?)?;
        let names = object::File::parse(&bounded).map(|elf| NameSource::of(&elf)).ok()?;
        Some(Mappable { file, names })
    }

    /// The present content of a file, in memory.
    fn copy(&mut self, file: &File) -> Option<File> {
        let length = file.metadata().ok()?.len();
        // By its length: a reader of a part that has nothing takes memory for it.
        self.left = self.left.checked_sub(length)?;
        let copy = File::from(rustix::fs::memfd_create("clocksmith", MemfdFlags::CLOEXEC).ok()?);
        let mut step = vec![0; STEP];
        let mut at = 0;
        while at < length {
            let read = match file.read_at(&mut step, at) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            // It may have grown.
            let read = read.min(usize::try_from(length - at).unwrap_or(read));
            copy.write_all_at(step.get(..read)?, at).ok()?;
            at += read as u64;
        }
        Some(copy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::Symbols;
    use std::os::unix::fs::PermissionsExt;

    /// A copy of this test in a file that others can write.
    fn loose() -> (tempfile::TempDir, File) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        std::fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        let file = File::options().read(true).write(true).open(path).unwrap();
        (dir, file)
    }

    #[test]
    fn a_file_that_others_can_write_is_copied_and_its_end_may_go() {
        let (_dir, file) = loose();
        let length = file.metadata().unwrap().len();
        let mut copies = Copies::default();
        let copied = copies.mappable(&file).unwrap();
        assert_ne!(copied.file.metadata().unwrap().ino(), file.metadata().unwrap().ino());
        assert_eq!(copied.file.metadata().unwrap().len(), length);
        assert!(copies.left < COPIES);
        // Names are looked up in it before and after; in a map of the file, that would end this test by a signal.
        let symbols = Symbols::default();
        let names = |number: u64| symbols.name_in(&copied, length / 64 * number);
        assert!(names(30).is_some() || names(20).is_some());
        file.set_len(4096).unwrap();
        assert!((1..64).filter(|number| names(*number).is_some()).count() > 5);
        assert_eq!(copied.file.metadata().unwrap().len(), length);
        // A file of this program's user is mapped directly.
        file.set_permissions(PermissionsExt::from_mode(0o644)).unwrap();
        assert!(copies.mappable(&file).is_none(), "it is not an ELF file any more");
        let own = File::open("/proc/self/exe").unwrap();
        let same = |file: &File| (file.metadata().unwrap().dev(), file.metadata().unwrap().ino());
        if trusted::file(&own, Path::new("own")).is_ok() {
            assert_eq!(same(&copies.mappable(&own).unwrap().file), same(&own));
        }
    }

    #[test]
    fn copies_have_an_end() {
        let (_dir, file) = loose();
        let length = file.metadata().unwrap().len();
        let mut copies = Copies { left: 2 * length };
        assert_eq!(copies.copy(&file).unwrap().metadata().unwrap().len(), length);
        file.set_len(7 << 30).unwrap();
        assert!(copies.mappable(&file).is_none());
        assert_eq!(copies.left, length);
    }

    #[test]
    fn a_piece_that_the_disk_does_not_have_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        let file = File::options().read(true).write(true).create_new(true).open(path).unwrap();
        file.set_len(7 << 30).unwrap();
        let bounded = Bounded::new(file).unwrap();
        assert!((&bounded).read_bytes_at(0, 6 << 30).is_err());
        assert!((&bounded).read_bytes_at(0, 4096).is_ok());
    }
}

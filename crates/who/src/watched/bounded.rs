//! Reads files of a watched program, whose user controls their content and may change them meanwhile.
//!
//! A file is read in parts, and no part is larger than the file's blocks on the disk allow: a sparse file may claim any
//! size. All parts of a file are limited together, and so is the data that is kept of all files: less for files that
//! another user could write, but also for those of root, which may be of an image that another user has built. The
//! library that finds names maps a file as a whole, and shortening a mapped file ends the program that reads it
//! (SIGBUS): a separate process does that (`symbols::apart`).

use clocksmith_facts::trusted;
use object::ReadRef;
use object::read::ReadCache;
use std::cell::Cell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest size of one piece, in bytes; the largest programs have a tenth of it in a section with tables.
const LARGEST: u64 = 256 << 20;
/// How much longer a part may be than the file's blocks on the disk: some file systems compress.
const COMPRESSED: u64 = 16;
/// Unit of `st_blocks`.
const BLOCK: u64 = 512;
/// Bytes that a part of any file may have: a small file may have no disk block.
const SMALL: u64 = 1 << 20;
/// Bytes of all pieces of a file that another user could write, while it is read.
const OTHERS: u64 = 32 << 20;
/// The same of any other file: the largest programs have tables and symbols of that size.
const OWN: u64 = 96 << 20;
/// Bytes that are kept of all files together that another user could write.
const KEPT: u64 = 48 << 20;
/// The same of all others.
const OWN_KEPT: u64 = 128 << 20;

/// Whether no other user could have written a file.
pub(super) fn is_own(file: &File) -> bool {
    trusted::file(file, Path::new("a mapped file")).is_ok()
}

/// An ELF file to parse.
#[derive(Debug)]
pub(super) struct Bounded {
    cache: ReadCache<File>,
    piece: u64,
    left: Cell<u64>,
}

impl Bounded {
    /// Wraps an open file.
    pub(super) fn new(file: File) -> Option<Self> {
        let own = is_own(&file);
        Self::of(file, own)
    }

    /// Wraps a file; `own` means that no other user could have written its content.
    pub(super) fn of(file: File, own: bool) -> Option<Self> {
        Self::of_at_most(file, if own { OWN } else { OTHERS })
    }

    /// Wraps a file with a limit for all parts together.
    fn of_at_most(file: File, most: u64) -> Option<Self> {
        let blocks = file.metadata().ok()?.blocks();
        let piece = blocks.saturating_mul(BLOCK).saturating_mul(COMPRESSED).clamp(SMALL, LARGEST);
        Some(Self { cache: ReadCache::new(file), piece, left: Cell::new(most) })
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
        self.left.set(self.left.get().checked_sub(size).ok_or(())?);
        (&self.cache).read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        (&self.cache).read_bytes_at_until(range, delimiter)
    }
}

/// Room for the data that is kept of files.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<AtomicU64>);

impl Room {
    /// For files of which it is known whether no other user could have written them.
    pub(super) fn new(own: bool) -> Self {
        Self(Arc::new(AtomicU64::new(if own { OWN_KEPT } else { KEPT })))
    }

    /// Takes as much; `false` if there is less.
    pub(super) fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn pieces_of_a_file_are_limited_together_for_any_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("many");
        let piece = 8 << 20;
        std::fs::write(&path, vec![1; 2 * piece]).unwrap();
        let piece = piece as u64;
        let file = || File::open(&path).unwrap();
        // Repeated reads of the same bytes count each time: each may be another copy.
        let read = |bounded: &Bounded| {
            (0..100).take_while(|at| { bounded }.read_bytes_at(*at, piece).is_ok()).count() as u64
        };
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o666);
        assert_eq!(read(&Bounded::new(file()).unwrap()), OTHERS / piece);
        assert_eq!(read(&Bounded::of_at_most(file(), 3 * piece).unwrap()), 3);
        mode(0o600);
        assert_eq!(read(&Bounded::new(file()).unwrap()), OWN / piece);
        let room = Room::new(false);
        assert!(room.clone().take(KEPT - 1) && !room.take(2) && room.take(1) && !room.take(1));
    }
}

//! Sparse files: a log of a few kilobytes may have terabytes of holes before them, if a program continued to write at
//! its old position after the file was emptied, or in a hostile file.

use super::decode::Compression;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// Maximum size of a hole that is read as zeros, in bytes.
const SMALL: u64 = 64 << 10;

/// A reader of a file that skips its holes: each of them is read as one line end. In compressed data a
/// hole is an error. Input without holes (a pipe, a file of the kernel) is read unchanged.
#[derive(Debug)]
pub struct Dense {
    file: File,
    plain: bool,
    /// The position of the next byte.
    at: u64,
    /// The end of the data without a hole.
    end: u64,
}

impl Dense {
    /// A reader from the current position of the file.
    #[must_use]
    pub fn new(file: File) -> Self {
        let at = rustix::fs::seek(&file, SeekFrom::Current(0));
        let mut start = [0; 6];
        // Input that cannot be read at a position has no holes.
        let got = file.read_at(&mut start, at.unwrap_or(0)).unwrap_or(0);
        let plain = Compression::sniff(start.get(..got).unwrap_or_default()) == Compression::Plain;
        Self { file, plain, at: at.unwrap_or(0), end: if at.is_ok() { 0 } else { u64::MAX } }
    }

    /// Moves to the next data; returns whether a hole was skipped.
    fn go_on(&mut self) -> io::Result<bool> {
        let next = match rustix::fs::seek(&self.file, SeekFrom::Data(self.at)) {
            Ok(next) => Some(next),
            Err(Errno::NXIO) => None,
            // The file system does not support it.
            Err(_) => return self.all(),
        };
        let size = self.file.metadata()?.len();
        let hole = next.unwrap_or(size).saturating_sub(self.at);
        if hole == 0 && next.is_none() {
            // The end, or a file of the kernel that does not state its length.
            return self.all();
        }
        let passed = hole > SMALL;
        if passed && !self.plain {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it is damaged: compressed data with a hole of {hole} bytes"),
            ));
        }
        if passed {
            self.at += hole;
        }
        self.end = match next {
            Some(next) => rustix::fs::seek(&self.file, SeekFrom::Hole(next))?,
            None => size,
        };
        rustix::fs::seek(&self.file, SeekFrom::Start(self.at))?;
        Ok(passed)
    }

    fn all(&mut self) -> io::Result<bool> {
        self.end = u64::MAX;
        rustix::fs::seek(&self.file, SeekFrom::Start(self.at))?;
        Ok(false)
    }
}

impl Read for Dense {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(first) = buffer.first_mut() else { return Ok(0) };
        if self.at >= self.end && self.go_on()? {
            *first = b'\n';
            return Ok(1);
        }
        let most = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let count = self.file.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text(file: &File) -> io::Result<String> {
        let mut out = String::new();
        Dense::new(file.try_clone().unwrap()).read_to_string(&mut out).map(|_| out)
    }

    /// A file with this text at each of these places.
    fn file(parts: &[(u64, &[u8])], length: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        for (at, part) in parts {
            file.write_all_at(part, *at).unwrap();
        }
        file
    }

    #[test]
    fn read_passes_over_a_hole_of_a_terabyte_at_the_beginning_in_the_middle_and_at_the_end() {
        const TIB: u64 = 1 << 40;
        let line = b"[    0.000000] Linux version 6.1.0\n";
        let made = text(&file(&[(TIB, line), (2 * TIB, line)], 3 * TIB)).unwrap();
        assert!(made.starts_with('\n') && made.matches("Linux version").count() == 2);
        // Only the blocks around the text are allocated.
        assert!(made.len() < 1 << 20, "{}", made.len());
        assert_eq!(text(&file(&[], TIB)).unwrap(), "\n");
    }

    #[test]
    fn read_of_what_has_no_large_hole_is_exact() {
        assert_eq!(text(&file(&[(0, b"abc\n")], 4)).unwrap(), "abc\n");
        assert_eq!(text(&file(&[], 0)).unwrap(), "");
        let small = text(&file(&[(0, b"a"), (40_000, b"b")], 40_001)).unwrap();
        assert!(small.len() == 40_001 && small.ends_with("\0b"));
        assert_eq!(text(&file(&[], 9000)).unwrap(), "\0".repeat(9000));
        let version = text(&File::open("/proc/version").unwrap()).unwrap();
        assert_eq!(version, std::fs::read_to_string("/proc/version").unwrap());
        let (read, mut write) = io::pipe().unwrap();
        write.write_all(&[0x1f, 0x8b, b'x']).unwrap();
        drop(write);
        let mut out = Vec::new();
        let file = File::from(std::os::fd::OwnedFd::from(read));
        Dense::new(file).read_to_end(&mut out).unwrap();
        assert_eq!(out, [0x1f, 0x8b, b'x']);
    }

    #[test]
    fn read_of_compressed_data_with_a_hole_is_an_error() {
        let made = file(&[(0, &[0xfd, b'7', b'z', b'X', b'Z', 0])], 1 << 40);
        let mut out = Vec::new();
        let error = Dense::new(made).read_to_end(&mut out).unwrap_err();
        assert!(error.to_string().contains("hole of"), "{error}");
    }
}

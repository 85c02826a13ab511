//! Tar files, also those that no archiver writes. The tests of the program use them, too.

#![allow(clippy::unwrap_used)]

use flate2::write::GzEncoder;
use std::io::Write;
use tar::{EntryType, Header};

/// The header of an entry, even of one that is refused.
pub(crate) fn header(path: &str, size: u64, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    // Written directly: the setter refuses the names that are tested here.
    header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    header.set_cksum();
    header
}

/// A tar file of the entries, with the end mark.
pub(crate) fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (path, kind, content) in entries {
        bytes.extend_from_slice(header(path, content.len() as u64, *kind).as_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

//! Bundles: any bytes end in facts and a diagnosis, or in an error.
//!
//! Checksums and block sizes keep a fuzzer out of a tar file, so an input that begins with `=` is
//! the text of one: `=PATH` begins a file, everything up to the next such line is its content. A
//! second `=` (`==PATH`) makes it a directory, `=@PATH` a symbolic link.

#![no_main]

use clocksmith_facts::collect::{collect, write_bundle};
use clocksmith_facts::tree::{BundleTree, Tree};
use clocksmith_facts::{Origin, log};
use libfuzzer_sys::fuzz_target;
use std::io::Write;
use tar::{EntryType, Header};

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'=') {
        let tar = tar_of(data);
        look_at(&tar);
        if data.len() % 8 == 1 {
            look_at(&gzip(&tar));
        }
    } else {
        look_at(data);
    }
});

fn look_at(bytes: &[u8]) {
    let Ok(tree) = BundleTree::read(bytes, "bundle") else { return };
    for (path, _) in tree.files() {
        assert!(!path.starts_with('/') && !path.split('/').any(|part| part == ".."), "{path}");
        assert!(tree.open(path).is_ok(), "{path}");
    }
    let mut facts = collect(&tree, Origin::Bundle("bundle".to_owned()));
    log::complete(&mut facts);
    clocksmith_fuzz::judge(&facts);
    // A bundle of a bundle can be written, and be read again.
    let mut again = Vec::new();
    if write_bundle(&tree, &mut again).is_ok() {
        assert!(BundleTree::read(again.as_slice(), "again").is_ok(), "its own bundle is refused");
    }
}

fn tar_of(text: &[u8]) -> Vec<u8> {
    let mut files: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        match (line.strip_prefix(b"="), files.last_mut()) {
            (Some(path), _) => files.push((path.trim_ascii_end(), Vec::new())),
            (None, Some((_, content))) => content.extend_from_slice(line),
            (None, None) => {}
        }
    }
    let mut tar = Vec::new();
    for (path, content) in files {
        let (kind, path) = match path.split_first() {
            Some((b'=', path)) => (EntryType::Directory, path),
            Some((b'@', path)) => (EntryType::Symlink, path),
            _ => (EntryType::Regular, path),
        };
        let mut header = Header::new_gnu();
        // Written directly: the setter refuses the names that matter here.
        let path = &path[..path.len().min(100)];
        header.as_mut_bytes()[..path.len()].copy_from_slice(path);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_entry_type(kind);
        header.set_cksum();
        tar.extend_from_slice(header.as_bytes());
        tar.extend_from_slice(&content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    match encoder.write_all(bytes).and_then(|()| encoder.finish()) {
        Ok(packed) => packed,
        Err(_) => Vec::new(),
    }
}

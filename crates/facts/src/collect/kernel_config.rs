//! The configuration of a kernel in a bundle: without the values of its options that are texts.
//!
//! A user who builds a kernel can state the host's name in it (`CONFIG_DEFAULT_HOSTNAME`), a command line, and the paths of keys
//! in a home directory. No option about a clock is a text.

use crate::tree::decode::decoded;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

/// Bytes of an unpacked configuration that are read; that of a distribution with every driver has 0.3 MiB.
const MOST: u64 = 16 << 20;

/// Whether a file is a kernel's configuration.
pub(super) fn is_config(path: &str) -> bool {
    path == "proc/config.gz"
        || path.starts_with("boot/config-")
        || path.contains("lib/modules/") && path.ends_with("/config")
}

/// The content without texts, packed if it was packed. An archive that cannot be read has no content.
pub(super) fn without_texts(content: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let read = decoded(content).and_then(|(_, inner)| inner.take(MOST).read_to_end(&mut text));
    if read.is_err() {
        return Vec::new();
    }
    if text == content {
        return of_text(content);
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(&of_text(&text));
    written.and_then(|()| encoder.finish()).unwrap_or_default()
}

fn of_text(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        match memchr::memmem::find(line, b"=\"") {
            Some(at) => {
                out.extend_from_slice(&line[..at]);
                out.extend_from_slice(b"=\"\"");
                out.extend(line.ends_with(b"\n").then_some(b'\n'));
            }
            None => out.extend_from_slice(line),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kconfig::KernelConfig;
    use flate2::read::GzDecoder;

    #[test]
    fn texts_are_left_out_and_options_stay() {
        let text = "# Linux/x86 6.1.0 Kernel Configuration\nCONFIG_HPET_TIMER=y\nCONFIG_HZ=250\n\
                    CONFIG_DEFAULT_HOSTNAME=\"acme-db1\"\nCONFIG_XEN=y\n";
        let kept = without_texts(text.as_bytes());
        let kept = String::from_utf8(kept).unwrap();
        assert_eq!(kept, text.replace("acme-db1", ""));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        let packed = without_texts(&encoder.finish().unwrap());
        let mut unpacked = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, kept);
        assert_eq!(KernelConfig::parse(&kept), KernelConfig::parse(text));
        assert!(without_texts(b"\x1f\x8bno archive").is_empty());
    }
}

//! Bytes as text: attributes and checksums in the journal.

use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal.
pub(super) fn digest(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

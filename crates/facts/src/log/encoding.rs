//! Refuses what is no text, with the reason.

use super::LogError;

/// Bytes that are looked at.
const LOOKED_AT: usize = 8192;
/// A run of NUL bytes this long is a hole in a text: a crash leaves blocks of them in log files, and
/// a truncated one begins with them. In binary files there are shorter runs and other bytes, too.
const HOLE: usize = 64;

/// Looks at the beginning of the input.
pub(super) fn check(window: &[u8], name: &str) -> Result<(), LogError> {
    let head = &window[..window.len().min(LOOKED_AT)];
    let name = || name.to_owned();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) || alternates(head) {
        return Err(LogError::Utf16 { name: name() });
    }
    let head = without_holes(window);
    let strange = head.iter().filter(|b| matches!(b, 0..=8 | 11 | 14..=26 | 28..=31 | 127)).count();
    // A log may hold a few control characters.
    let nothing = head.is_empty() && !window.is_empty();
    if nothing || head.len() >= 16 && strange * 10 > head.len() {
        return Err(LogError::Binary { name: name() });
    }
    Ok(())
}

/// The first bytes that do not belong to a hole.
fn without_holes(window: &[u8]) -> Vec<u8> {
    let runs = window.chunk_by(|a, b| *a == 0 && *b == 0);
    let text = runs.filter(|run| run.len() < HOLE);
    text.flatten().copied().take(LOOKED_AT).collect()
}

/// Every second byte is NUL: UTF-16 without a byte order mark.
fn alternates(head: &[u8]) -> bool {
    let pairs = head.chunks_exact(2);
    let n = pairs.len();
    if n < 16 {
        return false;
    }
    let zero_high = head.chunks_exact(2).filter(|pair| pair[1] == 0 && pair[0] != 0).count();
    let zero_low = head.chunks_exact(2).filter(|pair| pair[0] == 0 && pair[1] != 0).count();
    zero_high * 10 > n * 9 || zero_low * 10 > n * 9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> bool {
        check(bytes, "x").is_err()
    }

    #[test]
    fn holes_are_no_reason() {
        let line = b"[    0.000000] Linux version 6.1.0\n";
        for size in [1, 100, 5000, 200_000] {
            let hole = vec![0; size];
            assert!(!refused(&[&hole[..], line, line].concat()), "{size}");
            assert!(!refused(&[line, &hole[..], line].concat()), "{size}");
        }
    }

    #[test]
    fn binary_is_refused() {
        assert!(refused(&[0; 100_000]));
        let scattered: Vec<u8> = (0..9000u32).map(|i| ((i * i) >> 3) as u8 & 0x1f).collect();
        assert!(refused(&scattered));
        // Little-endian numbers.
        let numbers: Vec<u8> = (0..3000u32).flat_map(|i| (i * 7).to_le_bytes()).collect();
        assert!(refused(&numbers));
    }
}

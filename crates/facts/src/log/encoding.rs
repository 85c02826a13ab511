//! Refuses what is no text, with the reason.

use super::LogError;

/// Looks at the beginning of the input.
pub(super) fn check(window: &[u8], name: &str) -> Result<(), LogError> {
    let head = &window[..window.len().min(8192)];
    let name = || name.to_owned();
    if head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]) || alternates(head) {
        return Err(LogError::Utf16 { name: name() });
    }
    let strange = head.iter().filter(|b| matches!(b, 0..=8 | 11 | 14..=26 | 28..=31 | 127)).count();
    // A log may hold a few control characters (a crash leaves NUL bytes in /var/log files).
    if head.len() >= 16 && strange * 10 > head.len() {
        return Err(LogError::Binary { name: name() });
    }
    Ok(())
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

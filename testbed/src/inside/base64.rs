//! The standard alphabet, as busybox writes it.

/// The bytes that a text stands for, line ends ignored; `None` if something else is in it.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let groups = text.len() / 4;
    for (index, group) in text.chunks_exact(4).enumerate() {
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        if padding > 2 || (padding > 0 && index + 1 != groups) {
            return None;
        }
        let mut bits = 0u32;
        for byte in group.iter().take(4 - padding) {
            bits = (bits << 6) | value(*byte)?;
        }
        bits <<= 6 * padding;
        bytes.extend(bits.to_be_bytes().into_iter().skip(1).take(3 - padding));
    }
    Some(bytes)
}

fn value(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_what_others_encode() {
        assert_eq!(decode("aGVsbG8=\n").as_deref(), Some(&b"hello"[..]));
        assert_eq!(decode("aGVs\nbG8h\n").as_deref(), Some(&b"hello!"[..]));
        assert_eq!(decode("/+8=").as_deref(), Some(&[0xff, 0xef][..]));
        assert_eq!(decode("").as_deref(), Some(&b""[..]));
    }

    #[test]
    fn refuses_what_is_not_base64() {
        for text in ["abc", "a===", "aG=sbG8=", "aGVs!G8="] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}

//! Lines of Python's source, by the tables that code objects carry. Pure; a damaged table gives no line.

/// How a version writes its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lines {
    /// Until 3.5: pairs of bytes and lines, both unsigned (`Objects/lnotab_notes.txt`).
    Unsigned,
    /// 3.6 to 3.9: the same with signed lines.
    Signed,
    /// 3.10: pairs of a length in bytes and a signed number of lines, of which one means no line
    /// (`Objects/lnotab_notes.txt`).
    Lengths,
    /// From 3.11: entries of several forms (`Objects/locations.md`).
    Entries,
}

/// Largest number of a line; more is damage.
const LAST: i64 = 10_000_000;

impl Lines {
    /// The line of the instruction at an offset in bytes.
    pub(super) fn line(self, table: &[u8], first: u32, offset: u64) -> Option<u32> {
        let first = i64::from(first);
        let line = match self {
            Self::Unsigned | Self::Signed => {
                let (mut line, mut at) = (first, 0);
                for pair in table.chunks_exact(2) {
                    let [bytes, lines] = pair else { break };
                    at += u64::from(*bytes);
                    if at > offset {
                        break;
                    }
                    let signed = i64::from(*lines as i8);
                    line += if self == Self::Signed { signed } else { i64::from(*lines) };
                }
                line
            }
            Self::Lengths => {
                let (mut line, mut end) = (first, 0);
                let found = table.chunks_exact(2).find_map(|pair| {
                    let [bytes, lines] = pair else { return None };
                    end += u64::from(*bytes);
                    let lines = *lines as i8;
                    let known = lines != i8::MIN;
                    line += if known { i64::from(lines) } else { 0 };
                    (offset < end).then_some(known.then_some(line))
                });
                found??
            }
            Self::Entries => entries(table, first, offset)?,
        };
        (1..=LAST).contains(&line).then(|| u32::try_from(line).ok())?
    }
}

/// Each entry begins with a byte whose highest bit is set; the form and the number of code units follow in it.
fn entries(table: &[u8], first: i64, offset: u64) -> Option<i64> {
    const NONE: u8 = 15;
    const LONG: u8 = 14;
    const NO_COLUMNS: u8 = 13;
    const ONE_LINE: u8 = 10;
    let (mut line, mut end) = (first, 0u64);
    let mut rest = table;
    while let Some((head, behind)) = rest.split_first() {
        let length = behind.iter().position(|byte| byte & 0x80 != 0).unwrap_or(behind.len());
        let (body, next) = behind.split_at_checked(length)?;
        rest = next;
        let form = (head >> 3) & 15;
        line = line.saturating_add(match form {
            LONG | NO_COLUMNS => signed(body)?,
            ONE_LINE..NO_COLUMNS => i64::from(form - ONE_LINE),
            _ => 0,
        });
        end += 2 * (u64::from(head & 7) + 1);
        if offset < end {
            return (form != NONE).then_some(line);
        }
    }
    None
}

/// A signed number: six bits in each byte, the least first; the lowest bit is the sign.
fn signed(bytes: &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for (shift, byte) in (0..36).step_by(6).zip(bytes) {
        value |= u64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            let whole = i64::try_from(value >> 1).ok()?;
            return Some(if value & 1 == 1 { -whole } else { whole });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn line_of_each_form_of_table() {
        // Two instructions on line 10, then two on 12, then one on 11.
        let pairs = [0, 0, 4, 2, 4, 0xff];
        let of = |lines: Lines, table: &[u8], offset| lines.line(table, 10, offset);
        assert_eq!(of(Lines::Signed, &pairs, 2), Some(10));
        assert_eq!(of(Lines::Signed, &pairs, 4), Some(12));
        assert_eq!(of(Lines::Signed, &pairs, 9), Some(11));
        assert_eq!(of(Lines::Unsigned, &pairs, 9), Some(12 + 255));
        let lengths = [4, 0, 4, 2, 2, 0x80, 2, 0xff];
        assert_eq!(of(Lines::Lengths, &lengths, 3), Some(10));
        assert_eq!(of(Lines::Lengths, &lengths, 6), Some(12));
        assert_eq!(of(Lines::Lengths, &lengths, 8), None);
        assert_eq!(of(Lines::Lengths, &lengths, 10), Some(11));
        assert_eq!(of(Lines::Lengths, &lengths, 12), None);
        // Short form, one-line form (+2), no location, no columns (-1).
        let entries = [0x80 | 1, 0x12, 0x80 | 12 << 3 | 1, 1, 2, 0x80 | 15 << 3, 0x80 | 13 << 3, 3];
        assert_eq!(of(Lines::Entries, &entries, 3), Some(10));
        assert_eq!(of(Lines::Entries, &entries, 6), Some(12));
        assert_eq!(of(Lines::Entries, &entries, 8), None);
        assert_eq!(of(Lines::Entries, &entries, 10), Some(11));
        assert_eq!(of(Lines::Entries, &entries, 12), None);
    }

    proptest! {
        #[test]
        fn any_table(table: Vec<u8>, first: u32, offset: u64) {
            for lines in [Lines::Unsigned, Lines::Signed, Lines::Lengths, Lines::Entries] {
                let _ = lines.line(&table, first, offset);
            }
        }
    }
}

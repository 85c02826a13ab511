//! A text with positions: byte offsets to lines and columns.

/// A line and a column, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// A text, and where its lines begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    starts: Vec<usize>,
    /// The characters before each [`STEP`] bytes, so that a place in a long line takes no longer than one in a short line.
    characters: Vec<usize>,
    encoding: Encoding,
    /// Whether the line ends are those of Windows.
    crlf: bool,
}

/// The distance of the offsets whose characters are counted once, in bytes.
const STEP: usize = 1024;

/// The encoding of the file. A changed file is written in the same encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    /// With a byte order mark.
    Utf8Mark,
    /// With a byte order mark, little-endian.
    Utf16Little,
    /// With a byte order mark, big-endian.
    Utf16Big,
    /// Some code page, each byte of it as one character: all texts that are searched for are ASCII in each of them.
    Bytes,
}

impl Encoding {
    /// Returns whether an XML document may have this encoding and declare `declared`: the encoding's name in lower
    /// case.
    pub(crate) fn fits(self, declared: Option<&str>) -> bool {
        let says = |name: &str| declared.is_some_and(|it| it.starts_with(name));
        let wide = says("utf-16") || says("utf16") || says("ucs") || says("utf-32");
        match self {
            Self::Utf8 | Self::Utf8Mark => !wide,
            Self::Utf16Little | Self::Utf16Big => declared.is_none() || says("utf-16"),
            Self::Bytes => declared.is_some() && !wide && !says("utf") && !says("us-ascii"),
        }
    }
}

impl Text {
    /// Creates a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        let crlf = text.contains("\r\n");
        let count = |sum: &mut usize, piece: &[u8]| {
            let before = *sum;
            *sum += characters(piece);
            Some(before)
        };
        let characters = text.as_bytes().chunks(STEP).scan(0, count).collect();
        Self { text, starts, characters, encoding: Encoding::default(), crlf }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Decodes the bytes of a file: UTF-8, UTF-16 with a byte order mark, or an 8-bit code page.
    ///
    /// # Errors
    /// Returns an error if the file is not text; the message names the format that it resembles.
    pub fn decode(bytes: &[u8]) -> Result<Self, String> {
        let (text, encoding) = match bytes {
            [0xff, 0xfe, rest @ ..] => (utf16(rest, u16::from_le_bytes)?, Encoding::Utf16Little),
            [0xfe, 0xff, rest @ ..] => (utf16(rest, u16::from_be_bytes)?, Encoding::Utf16Big),
            _ => {
                let (rest, marked) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
                    Some(rest) => (rest, true),
                    None => (bytes, false),
                };
                if let Some(at) = rest.iter().position(|b| *b == 0) {
                    return Err(binary(bytes, at));
                }
                match std::str::from_utf8(rest) {
                    Ok(text) if marked => (text.to_owned(), Encoding::Utf8Mark),
                    Ok(text) => (text.to_owned(), Encoding::Utf8),
                    Err(error) => {
                        let odd = bytes.iter().filter(|b| control(**b)).count();
                        if odd * 20 > bytes.len() {
                            return Err(binary(bytes, error.valid_up_to()));
                        }
                        (bytes.iter().map(|b| char::from(*b)).collect(), Encoding::Bytes)
                    }
                }
            }
        };
        Ok(Self { encoding, ..Self::new(text) })
    }

    /// Returns the bytes of a changed text in the file's encoding.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let wide = |mark: &[u8], unit: fn(u16) -> [u8; 2]| {
            mark.iter().copied().chain(text.encode_utf16().flat_map(unit)).collect()
        };
        match self.encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf8Mark => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            Encoding::Utf16Little => wide(&[0xff, 0xfe], u16::to_le_bytes),
            Encoding::Utf16Big => wide(&[0xfe, 0xff], u16::to_be_bytes),
            Encoding::Bytes => text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')).collect(),
        }
    }

    /// Another text in the same encoding.
    #[must_use]
    pub fn changed(&self, text: String) -> Self {
        Self { encoding: self.encoding, ..Self::new(text) }
    }

    /// A piece of it; empty if the range does not fit.
    #[must_use]
    pub fn slice(&self, span: std::ops::Range<usize>) -> &str {
        self.text.get(span).unwrap_or_default()
    }

    /// Returns the line end that the text uses.
    pub(crate) fn line_end(&self) -> &'static str {
        if self.crlf { "\r\n" } else { "\n" }
    }

    /// Returns the blanks at the beginning of the line of an offset, before the offset.
    pub(crate) fn indentation(&self, offset: usize) -> &str {
        let before = self.line_before(offset);
        before
            .get(..before.len() - before.trim_start_matches([' ', '\t']).len())
            .unwrap_or_default()
    }

    /// Returns the same if only blanks precede the offset.
    pub(crate) fn indent(&self, offset: usize) -> Option<&str> {
        let blanks = self.indentation(offset);
        (blanks.len() == self.line_before(offset).len()).then_some(blanks)
    }

    /// Returns a range with its line, if nothing else is on the line.
    pub(crate) fn with_its_line(&self, span: std::ops::Range<usize>) -> std::ops::Range<usize> {
        let Some(blanks) = self.indent(span.start) else {
            return span;
        };
        let rest = self.slice(span.end..self.text.len());
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        if line.ends_with('\n') && line.trim().is_empty() {
            return span.start - blanks.len()..span.end + line.len();
        }
        span
    }

    /// Returns the part of a line before an offset.
    fn line_before(&self, offset: usize) -> &str {
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        self.text.get(start..offset).unwrap_or_default()
    }

    /// All of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the place of a byte offset. An offset after the end is the end.
    #[must_use]
    pub fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let column = self.before(offset) - self.before(start) + 1;
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place { line: clamp(line), column: clamp(column) }
    }

    /// The number of characters before an offset.
    fn before(&self, offset: usize) -> usize {
        // The end of the text can be the beginning of a step that has no characters.
        let step = (offset / STEP).min(self.characters.len().saturating_sub(1));
        let known = self.characters.get(step).copied().unwrap_or(0);
        known + characters(self.text.as_bytes().get(step * STEP..offset).unwrap_or_default())
    }

    /// The lines with the offset at which each begins; the line ends (`\n`, `\r\n`) are not part of
    /// them.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split_inclusive('\n').scan(0, |next, line| {
            let start = *next;
            *next += line.len();
            let line = line.strip_suffix('\n').unwrap_or(line);
            Some((start, line.strip_suffix('\r').unwrap_or(line)))
        })
    }
}

/// Counts characters by their first bytes, so an offset inside one is not an error.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Returns the offset of a borrowed part in the text that it was borrowed from.
pub(crate) fn offset(text: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len())
}

/// Returns whether a byte is a control character that text does not have.
fn control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c | 0x1b)
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, String> {
    let broken = || "it begins like UTF-16, but is not".to_owned();
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(broken());
    }
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).map_err(|_| broken())
}

/// Describes a file that is not text by the format that it resembles.
fn binary(bytes: &[u8], at: usize) -> String {
    let known: [(&[u8], &str); 7] = [
        (b"QFI\xfb", "a disk image (qcow2)"),
        (b"KDMV", "a disk image (VMDK)"),
        (b"conectix", "a disk image (VHD)"),
        (b"\x7fELF", "a program"),
        (b"\x1f\x8b", "a compressed file (gzip); uncompress it first"),
        (b"PK\x03\x04", "an archive (zip); unpack it first"),
        (
            b"LibvirtQemudSave",
            "a saved machine; `virsh save-image-dumpxml` prints its configuration",
        ),
    ];
    match known.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, what)) => format!("it is not text but {what}"),
        None => format!("it is not text: byte {at} is something else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = Text::new("ab\nzürich=1\r\n\nend".to_owned());
        let place = |needle: &str| text.place(text.as_str().find(needle).unwrap());
        assert_eq!(place("ab"), Place { line: 1, column: 1 });
        assert_eq!(place("rich"), Place { line: 2, column: 3 });
        assert_eq!(place("end"), Place { line: 4, column: 1 });
        assert_eq!(text.place(usize::MAX), Place { line: 4, column: 4 });
        let lines: Vec<_> = text.lines().map(|(_, line)| line).collect();
        assert_eq!(lines, ["ab", "zürich=1", "", "end"]);
    }

    #[test]
    fn places_in_a_long_line_are_counted_in_steps() {
        for length in [STEP - 1, STEP, 3 * STEP, 3 * STEP + 1] {
            let line = "a\u{fc}".repeat(length / 2);
            let text = Text::new(format!("x\n{line}\ny"));
            for offset in 0..=text.as_str().len() {
                let before = &text.as_str().as_bytes()[..offset];
                let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let column = characters(&before[start..]) + 1;
                assert_eq!(text.place(offset).column as usize, column, "{length} {offset}");
            }
        }
        assert_eq!(Text::new(String::new()).place(5), Place { line: 1, column: 1 });
    }

    proptest! {
        #[test]
        fn lines_stand_where_they_say(text in "(?s).{0,200}") {
            let text = Text::new(text);
            for (index, (start, line)) in text.lines().enumerate() {
                prop_assert!(text.as_str()[start..].starts_with(line));
                prop_assert_eq!(text.place(start), Place { line: index as u32 + 1, column: 1 });
            }
        }
    }
}

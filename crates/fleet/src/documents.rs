//! An input as a sequence of documents: JSON lines, or whole documents over many lines, or an array of
//! them. One bad line is one bad document; no content of an input makes the memory grow beyond the
//! limits here.

use serde::de::IgnoredAny;
use std::io::{self, BufRead, Read};

/// Bytes of a line. A document with all facts (`why --json -v`) has a few hundred thousand.
pub const MAX_LINE: usize = 16 << 20;

/// Bytes of an input that is not one document per line: it is read as a whole.
pub const MAX_WHOLE: usize = 64 << 20;

/// The kind of an input, as its beginning shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One document a line.
    Lines,
    /// A document over many lines, several of them, or an array.
    Whole,
    /// A compressed file or a tar archive: a bundle.
    Packed,
    /// A Parquet file.
    Parquet,
}

/// The kind of an input, from its first bytes; a few hundred are enough.
#[must_use]
pub fn shape(begin: &[u8]) -> Shape {
    // gzip, xz, zstd; and a plain tar has its mark at byte 257.
    let packed: [&[u8]; 3] = [b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"];
    if packed.iter().any(|magic| begin.starts_with(magic)) || begin.get(257..262) == Some(b"ustar")
    {
        return Shape::Packed;
    }
    if begin.starts_with(b"PAR1") {
        return Shape::Parquet;
    }
    let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(begin).trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    if line == b"{" || line.starts_with(b"[") { Shape::Whole } else { Shape::Lines }
}

/// A document of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The line that it begins on, from 1.
    pub line: u64,
    /// Its text, or why it cannot be one.
    pub text: Result<Vec<u8>, &'static str>,
}

const NO_TEXT: &str = "it is not text, and is not read to its end";
const TOO_LONG: &str = "it is longer than 16 MiB: no document of `clocksmith why --json` is";

/// The documents of JSON lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    line: u64,
    /// Whether the rest is not read.
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Reads from the beginning.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, ended: false }
    }

    /// The next document; empty lines are skipped.
    ///
    /// # Errors
    /// Returns an error if the input cannot be read.
    pub fn next_document(&mut self) -> io::Result<Option<Document>> {
        while !self.ended {
            let mut text = Vec::new();
            let limit = MAX_LINE as u64 + 1;
            if Read::take(&mut self.input, limit).read_until(b'\n', &mut text)? == 0 {
                return Ok(None);
            }
            self.line += 1;
            let line = self.line;
            if text.len() > MAX_LINE && text.last() != Some(&b'\n') {
                // An image of a disk, for example, or a sparse file: hours of zeros.
                self.ended = text.contains(&0);
                drop(text);
                if self.ended {
                    return Ok(Some(Document { line, text: Err(NO_TEXT) }));
                }
                self.skip_line()?;
                return Ok(Some(Document { line, text: Err(TOO_LONG) }));
            }
            while text.last().is_some_and(u8::is_ascii_whitespace) {
                text.pop();
            }
            if line == 1 && text.starts_with(b"\xef\xbb\xbf") {
                text.drain(..3);
            }
            if text.iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Ok(Some(Document { line, text: Ok(text) }));
            }
        }
        Ok(None)
    }

    /// Skips the rest of a line without keeping it.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if buffer.is_empty() {
                return Ok(());
            }
            let (used, done) = match buffer.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (buffer.len(), false),
            };
            self.input.consume(used);
            if done {
                return Ok(());
            }
        }
    }
}

/// The documents of a text that is not one document per line. Documents after a broken one are not
/// found: then the last one of the list is the broken one.
#[must_use]
pub fn whole(text: &[u8]) -> Vec<Document> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let array = text.trim_ascii_start().starts_with(b"[");
    let mut out = Vec::new();
    let (mut rest, mut line) = (text, 1);
    let skip = |rest: &mut &[u8], n: usize, line: &mut u64| {
        let (before, after) = rest.split_at(n.min(rest.len()));
        *line += before.iter().filter(|byte| **byte == b'\n').count() as u64;
        *rest = after;
    };
    let mut opened = !array;
    loop {
        let between = |byte: &u8| byte.is_ascii_whitespace() || (array && matches!(byte, b','));
        let gap = rest.iter().take_while(|byte| between(byte)).count();
        skip(&mut rest, gap, &mut line);
        match rest.first() {
            None => return out,
            Some(b'[') if !opened => {
                opened = true;
                skip(&mut rest, 1, &mut line);
                continue;
            }
            Some(b']') if array => {
                skip(&mut rest, 1, &mut line);
                continue;
            }
            Some(_) => {}
        }
        let mut stream = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        let good = matches!(stream.next(), Some(Ok(_)));
        // A broken document is passed on unchanged, so that its reader reports the error.
        let end = if good { stream.byte_offset() } else { rest.len() };
        let end = end.clamp(1, rest.len());
        let taken = rest.get(..end).unwrap_or_default();
        let text = if taken.len() > MAX_LINE { Err(TOO_LONG) } else { Ok(taken.to_vec()) };
        out.push(Document { line, text });
        skip(&mut rest, end, &mut line);
    }
}

#[cfg(test)]
#[path = "documents_tests.rs"]
mod tests;

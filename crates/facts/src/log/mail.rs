//! Parts of mails as text: quoted-printable and base64 (RFC 2045, sections 6.7 and 6.8). A line that was broken for
//! transport is joined; [`SKIPPED`] lines replace its other parts, so that line numbers stay those of the mail.

use super::pieces::Pieces;
use std::io::{self, BufRead, BufReader, Read};

/// The replacement of a continuation line. It is blank for every reader, and skipped by those that join wrapped
/// lines.
pub(super) const SKIPPED: &[u8] = b"\x0b";
/// Minimum number of codes that a text without a header has, and of soft line breaks among them.
const SIGNS: (u32, u32) = (3, 2);
/// Maximum bytes of one joined line; no message of a kernel is longer.
const LINE: usize = 64 << 10;

/// The encoding of the current part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    /// No header has stated it.
    Untold,
    Printable,
    Base64,
    Plain,
}

/// The state of the headers of a mail.
struct Headers {
    encoding: Encoding,
    boundaries: Vec<Vec<u8>>,
    /// Whether the current line is a header or folds one; the headers end at an empty line.
    inside: bool,
    begun: bool,
}

impl Headers {
    fn new() -> Self {
        Self { encoding: Encoding::Untold, boundaries: Vec::new(), inside: false, begun: false }
    }

    /// Reads a line; returns whether it is a header, or a boundary between parts.
    fn read(&mut self, line: &[u8]) -> bool {
        const NAME: &[u8] = b"content-transfer-encoding:";
        let line = line.trim_ascii_end();
        self.inside = match std::mem::replace(&mut self.begun, true) {
            true => self.inside && !line.is_empty(),
            false => begins_mail(line),
        };
        if line.starts_with(b"--") && self.boundaries.iter().any(|name| line[2..].starts_with(name))
        {
            // A part without a header is plain.
            self.encoding = Encoding::Plain;
            self.inside = !line.ends_with(b"--");
            return true;
        }
        if let Some(at) = memchr::memmem::find(line, b"boundary=").filter(|_| line.len() < 300) {
            let name = line[at + 9..].split(|byte| *byte == b';').next().unwrap_or_default();
            let name = name.strip_prefix(b"\"").unwrap_or(name);
            let name = name.strip_suffix(b"\"").unwrap_or(name);
            if name.len() > 4 && self.boundaries.len() < 16 && !name.starts_with(b"3D") {
                self.boundaries.push(name.to_vec());
            }
            return false;
        }
        if line.len() < NAME.len() || !line[..NAME.len()].eq_ignore_ascii_case(NAME) {
            return false;
        }
        self.encoding = match line[NAME.len()..].trim_ascii().to_ascii_lowercase().as_slice() {
            b"quoted-printable" => Encoding::Printable,
            b"base64" => Encoding::Base64,
            _ => Encoding::Plain,
        };
        // Other headers may follow it.
        self.inside = true;
        true
    }
}

/// Whether the first line of a text is the first header of a mail.
fn begins_mail(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 8] = [
        b"return-path:",
        b"delivered-to:",
        b"from:",
        b"subject:",
        b"mime-version:",
        b"date:",
        b"to:",
        b"from ",
    ];
    let is_one_of =
        |name: &&[u8]| line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    !line.starts_with(b"\t") && (is_header(line) || NAMES.iter().any(is_one_of))
}

/// Whether a text has encoded parts. In quoted-printable text each equals sign begins a code or ends the line;
/// in a decoded log that kept its header, some equals signs precede a word.
pub(super) fn found(window: &[u8]) -> bool {
    let mut headers = Headers::new();
    let (mut codes, mut breaks, mut others) = (0, 0, 0);
    let (mut told, mut base64) = (false, false);
    for line in window.split(|byte| *byte == b'\n') {
        if headers.read(line) {
            told |= headers.encoding == Encoding::Printable;
            continue;
        }
        // Headers contain equals signs.
        if headers.inside {
            continue;
        }
        match headers.encoding {
            Encoding::Plain => continue,
            Encoding::Base64 => {
                base64 |= is_base64(line);
                continue;
            }
            // Headers contain equals signs.
            Encoding::Untold if is_header(line) => continue,
            Encoding::Untold | Encoding::Printable => {}
        }
        let line = line.trim_ascii_end();
        for at in memchr::memchr_iter(b'=', line) {
            match () {
                () if at + 1 == line.len() => breaks += 1,
                () if code(&line[at..]).is_some() => codes += 1,
                () => others += 1,
            }
        }
    }
    let signs = codes + breaks;
    let enough = if told { signs > 0 } else { signs >= SIGNS.0 && breaks >= SIGNS.1 && codes > 0 };
    base64 || enough && others * 8 <= signs
}

/// Whether a line is `Name: value`, or the rest of a header, before a mail.
fn is_header(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 9] = [
        b"dkim-",
        b"arc-",
        b"x-",
        b"authentication-",
        b"received:",
        b"content-",
        b"list-",
        b"references:",
        b"message-id:",
    ];
    line.starts_with(b"\t")
        || line.first().is_some_and(u8::is_ascii_alphabetic)
            && NAMES.iter().any(|name| {
                line.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
            })
}

/// The byte that a code such as `=3D` encodes.
fn code(text: &[u8]) -> Option<u8> {
    let digit = |at: usize| match text.get(at)? {
        digit @ b'0'..=b'9' => Some(digit - b'0'),
        letter @ b'A'..=b'F' => Some(letter - b'A' + 10),
        _ => None,
    };
    Some(digit(1)? << 4 | digit(2)?)
}

/// Whether a line is base64 of text.
fn is_base64(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let mut bytes = Vec::new();
    line.len() >= 8
        && Base64::default().decode(line, &mut bytes)
        && bytes
            .iter()
            .all(|byte| *byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b | 0))
        && bytes.iter().filter(|byte| **byte == 0).count() * 16 <= bytes.len()
}

/// Bits that are not yet a byte.
#[derive(Default)]
struct Base64 {
    bits: u32,
    count: u32,
}

impl Base64 {
    /// Appends the decoded line; `false` if it is not base64.
    fn decode(&mut self, line: &[u8], out: &mut Vec<u8>) -> bool {
        for byte in line {
            let value = match byte {
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                b'=' => {
                    self.count = 0;
                    continue;
                }
                _ => return false,
            };
            self.bits = self.bits << 6 | u32::from(value);
            self.count += 6;
            if self.count >= 8 {
                self.count -= 8;
                out.push((self.bits >> self.count & 0xff) as u8);
            }
        }
        true
    }
}

/// Reads a mail as plain text.
pub(super) struct Parts<R> {
    inner: BufReader<R>,
    headers: Headers,
    line: Vec<u8>,
    /// The quotation characters (`> `) before the joined line.
    quote: Vec<u8>,
    /// Whether the previous line ended in a soft line break.
    joins: bool,
    /// Number of lines that were joined into another one, and whose replacement has not been
    /// written yet.
    owed: i64,
    base64: Base64,
    /// Whether this part is text: `None` until its first line was read.
    is_text: Option<bool>,
}

impl<R: Read> Parts<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner: BufReader::new(inner),
            headers: Headers::new(),
            line: Vec::new(),
            quote: Vec::new(),
            joins: false,
            owed: 0,
            base64: Base64::default(),
            is_text: None,
        }
    }

    /// Ends a line, and writes a [`SKIPPED`] line for each line that was joined into it.
    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.push(b'\n');
        while self.owed > 0 {
            out.extend_from_slice(SKIPPED);
            out.push(b'\n');
            self.owed -= 1;
        }
    }

    fn printable(&mut self, has_end: bool, out: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let mut rest = line.trim_ascii_end();
        let soft = rest.last() == Some(&b'=');
        if !soft {
            rest = line.strip_suffix(b"\n").unwrap_or(&line);
            rest = rest.strip_suffix(b"\r").unwrap_or(rest);
        }
        let quote = quote(rest);
        if !self.joins {
            self.quote = quote.to_vec();
        } else if !quote.is_empty() && quote.trim_ascii() == self.quote.trim_ascii() {
            // A quotation of the encoded text.
            rest = &rest[quote.len()..];
        }
        rest = if soft { &rest[..rest.len().saturating_sub(1)] } else { rest };
        while let Some(at) = memchr::memchr(b'=', rest) {
            out.extend_from_slice(&rest[..at]);
            match code(&rest[at..]) {
                Some(b'\n') => {
                    out.push(b'\n');
                    self.owed -= 1;
                }
                Some(b'\r') => {}
                Some(0) => out.push(b' '),
                Some(byte) => out.push(byte),
                None => out.push(b'='),
            }
            rest = &rest[at + if code(&rest[at..]).is_some() { 3 } else { 1 }..];
        }
        out.extend_from_slice(rest);
        self.joins = soft && has_end;
        if self.joins {
            self.owed += 1;
        } else if has_end {
            self.end_line(out);
        }
        self.line = line;
    }
}

/// The quotation characters (`> `) before a line.
fn quote(line: &[u8]) -> &[u8] {
    let length = line.iter().take_while(|byte| matches!(byte, b'>' | b' ')).count();
    if line[..length].contains(&b'>') { &line[..length] } else { &[] }
}

impl<R: Read> Pieces for Parts<R> {
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        self.line.clear();
        let got = self.inner.by_ref().take(LINE as u64).read_until(b'\n', &mut self.line)?;
        if got == 0 {
            return Ok(false);
        }
        let before = self.headers.encoding;
        let has_end = self.line.ends_with(b"\n");
        if self.headers.read(&self.line) {
            if before == Encoding::Base64 && self.is_text == Some(true) {
                out.push(b'\n');
            }
            if self.joins {
                self.joins = false;
                self.end_line(out);
            }
            (self.base64, self.is_text) = (Base64::default(), None);
            out.extend_from_slice(&self.line);
            return Ok(true);
        }
        if self.headers.inside {
            out.extend_from_slice(&self.line);
            return Ok(true);
        }
        match self.headers.encoding {
            Encoding::Base64 if self.is_text != Some(false) => {
                let line = self.line.trim_ascii();
                // An empty line separates the rest of the headers.
                let is_text = self.is_text.or_else(|| {
                    (!line.contains(&b':') && line.len() >= 8).then(|| is_base64(line))
                });
                self.is_text = is_text;
                let begin = out.len();
                if is_text != Some(true) || !self.base64.decode(line, out) {
                    out.extend_from_slice(&self.line);
                }
                // Null bytes of a damaged log become blanks, as elsewhere in a text.
                out[begin..].iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
            }
            Encoding::Printable | Encoding::Untold if self.joins || !is_header(&self.line) => {
                self.printable(has_end, out);
            }
            _ => out.extend_from_slice(&self.line),
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::{Given, Slow};
    use super::*;

    fn read(text: &str) -> String {
        if !found(text.as_bytes()) {
            return text.to_owned();
        }
        let mut out = String::new();
        Given::new(Parts::new(text.as_bytes())).read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn broken_lines_are_joined_and_keep_their_numbers() {
        let head = "Content-Transfer-Encoding: quoted-printable\n\n";
        assert_eq!(
            read(&format!("{head}a=3Db=20c=\n de=\nf=E2=80=99s\ng=\n")),
            format!("{head}a=b c def\u{2019}s\n\x0b\n\x0b\ng")
        );
        // Without a header, and quoted.
        assert_eq!(read("> a=3Db=\n> c\n>> d=\nf\n> g=20\n"), "> a=bc\n\x0b\n>> df\n\x0b\n> g \n");
    }

    #[test]
    fn headers_with_signs_of_their_own_are_no_text() {
        let head = "Return-Path: <a@example.org>\nDKIM-Signature: v=1; a=rsa-sha256; t=1574953811;\n        \
                    s=strato; d=example.org;\n        b=DXZ5O83KDuy25z+CSfoYmxWGuDbEgWgev;\n        h=To:Cc;\n\
                    Content-Transfer-Encoding: quoted-printable\nX-Report: a=b,c=d;\n e=f\n\n";
        assert_eq!(read(&format!("{head}a=3Db=\nc\n")), format!("{head}a=bc\n\x0b\n"));
    }

    #[test]
    fn encoded_line_ends_end_lines() {
        assert_eq!(read("a=3D1=0D=0A=\nb=0A=\nc=\nd\n"), "a=1\nb\ncd\n\x0b\n");
    }

    #[test]
    fn text_that_was_decoded_stays() {
        let head = "Content-Transfer-Encoding: quoted-printable\n\n";
        for text in ["root=/dev/sda1 nr_cpus=20\n", "a=20\n=====\nb=30\n", "x=\ny=\n"] {
            assert_eq!(read(text), text);
            if text.len() > 8 {
                assert_eq!(read(&format!("{head}{text}")), format!("{head}{text}"));
            }
        }
        // Another part of the same mail.
        let parts = "Content-Type: multipart/mixed; boundary=\"=_12345\"\n\n--=_12345\n\
                     Content-Transfer-Encoding: quoted-printable\n\na=3D1=\n2\n--=_12345\n\nnr_cpus=20\n";
        let plain = parts.replace("a=3D1=\n2\n", "a=12\n\x0b\n");
        assert_eq!(read(parts), plain);
    }

    #[test]
    fn text_in_base64_is_read() {
        let head = "Content-Type: text/plain\nContent-Transfer-Encoding: base64\nX-A: b\n\n";
        // "[    0.1] first line\n[    0.2] second\n"
        let text = "WyAgICAwLjFdIGZpcnN0IGxpbmUK\nWyAgICAwLjJdIHNlY29uZAo=\n";
        assert_eq!(
            read(&format!("{head}{text}")),
            format!("{head}[    0.1] first line\n[    0.2] second\n")
        );
        // A byte that is not text, and headers after the one of the encoding.
        let torn = "WwAgICAwLjFdIGZpcnN0IGxpbmUK\n";
        assert_eq!(read(&format!("{head}{torn}")), format!("{head}[    0.1] first line\n"));
        for more in [
            "Content-Disposition: attachment;\n filename=\"dmesg_2019.txt\"\n",
            "Content-Disposition: attachment;\n\tfilename*0*=UTF-8''dmesg;\n filename*1*=x.txt\n",
            "X-Spam-Report: Content analysis details\n  0.0 RULE  BODY something\n",
        ] {
            let head = format!("Content-Transfer-Encoding: base64\n{more}\n");
            assert_eq!(
                read(&format!("{head}{text}")),
                format!("{head}[    0.1] first line\n[    0.2] second\n")
            );
        }
        let picture = format!("{head}iVBORw0KGgoAAAANSUhEUgAA\n");
        assert_eq!(read(&picture), picture);
    }

    #[test]
    fn borders_of_what_is_read_change_nothing() {
        let text = "> a=3D\"b=\n> c=C2=A0d\n".repeat(400);
        let mut out = String::new();
        Given::new(Parts::new(Slow(text.as_bytes()))).read_to_string(&mut out).unwrap();
        assert_eq!(out, read(&text));
        assert_eq!(out.lines().count(), text.lines().count());
    }
}

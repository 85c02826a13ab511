//! Converts to lines of a log: records with each field on a separate line, and lines that a program has written as one
//! string with escapes. Each line stays a line, except for a string that contains many.

use super::journal::Record;
use super::lines::text;
use super::pieces::Pieces;
use super::prefix::strip;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

/// Maximum bytes of one record.
const RECORD: usize = 256 << 10;

/// The format of the records in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `MESSAGE=...` (`journalctl -o export` and `-o verbose`).
    Fields,
    /// `"MESSAGE" : "...",` (`journalctl -o json-pretty`, `dmesg --json`).
    Json,
    /// `"[ 0.0] ...\r\n[ 0.1] ..."`: the output of `aws ec2 get-console-output` and `az vm boot-diagnostics`.
    String,
    /// `{"log":"...\n","stream":"stdout","time":"..."}`: the files of containers. Each record has one line of a
    /// program.
    Container,
}

/// Whether a line is of a container's file.
fn is_of_container(line: &[u8]) -> bool {
    line.starts_with(b"{\"log\":")
        && memchr::memmem::find(line, b"\"stream\":").is_some()
        && line.ends_with(b"}")
}

/// Whether a text consists of such records.
pub(super) fn found(window: &[u8]) -> Option<Style> {
    let (mut message, mut journal, mut brace, mut json) = (false, false, false, false);
    for line in window.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if is_of_container(line) {
            return Some(Style::Container);
        }
        match line.first() {
            Some(b'M') => message |= line == b"MESSAGE" || line.starts_with(b"MESSAGE="),
            Some(b'_') => {
                journal |= [&b"_TRANSPORT="[..], b"__CURSOR=", b"_BOOT_ID="]
                    .iter()
                    .any(|name| line.starts_with(name));
            }
            Some(b'{' | b'}') => brace |= matches!(line, b"{" | b"}" | b"}," | b"},{"),
            Some(b'"') if line.len() < RECORD => {
                let line = text(line, 0, line.len());
                json |= member(&line).is_some_and(|(name, _)| Record::default().set(name, ""));
            }
            _ => {}
        }
        if message && journal {
            return Some(Style::Fields);
        }
        if brace && json {
            return Some(Style::Json);
        }
        if is_string(line) {
            return Some(Style::String);
        }
    }
    None
}

/// Whether a line is a string that contains at least three lines of a kernel log.
fn is_string(line: &[u8]) -> bool {
    let quoted = begins_a_string(line);
    let stamp = |at: &usize| {
        let rest = &line[at + 2..line.len().min(at + 40)];
        rest.first() == Some(&b'[') && strip(&text(rest, 0, rest.len())).at.is_some()
    };
    quoted
        && memchr::memmem::find_iter(line, b"\\n").filter(stamp).take(2).count() == 2
        && super::journal::message(&text(line, 0, line.len())).is_none()
}

fn begins_a_string(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [b'"' | b'\'' | b'{', ..] | [b'b', b'"' | b'\'', ..])
}

/// Whether a byte may be in the name of a field of journald.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

/// `"name" : value,`: the name and the value, in a line of JSON.
fn member(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim().strip_prefix('"')?.split_once('"')?;
    Some((name, rest.trim_start().strip_prefix(':')?.trim().trim_end_matches(',')))
}

/// How the further lines of a record are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// As its fields.
    Fields,
    /// As fields that show nothing: some were lost, perhaps those that name another writer.
    Unsure,
    /// As text: the length of a value with line breaks was lost, so that its end is not known.
    Text,
}

/// A value that is read by its length.
struct Value {
    name: String,
    /// The index of the line of its name.
    at: usize,
    /// The bytes that are still to be read.
    left: u64,
    text: Vec<u8>,
}

/// Reads records as lines.
pub(super) struct Lines<R> {
    inner: BufReader<R>,
    style: Style,
    line: Vec<u8>,
    /// Bytes that were read as a length, and are a part of the next lines.
    ahead: VecDeque<u8>,
    /// A value that is being read by its length.
    value: Option<Value>,
    /// For each line of the current record, whether it has an end.
    held: Vec<bool>,
    size: usize,
    record: Record,
    /// The indentation of the current record's fields.
    indent: usize,
    /// Whether an empty line ended the previous record, whose fields were indented: further lines of its last value may
    /// follow (`journalctl -o verbose`).
    broken: bool,
    /// How the rest of the current record is read.
    rest: Rest,
    /// The index of the stored line that has the message.
    message: usize,
    /// Whether the previous piece ended inside a string.
    in_string: bool,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(inner: R, style: Style) -> Self {
        let inner = BufReader::new(inner);
        let (line, held, record) = (Vec::new(), Vec::new(), Record::default());
        Self {
            inner,
            style,
            line,
            ahead: VecDeque::new(),
            value: None,
            held,
            size: 0,
            record,
            indent: 0,
            broken: false,
            rest: Rest::Fields,
            message: 0,
            in_string: false,
        }
    }

    /// Reads the next line, or a part of an overlong one; returns the number of its bytes.
    fn next(&mut self) -> io::Result<usize> {
        self.line.clear();
        while let Some(byte) = self.ahead.pop_front() {
            self.line.push(byte);
            if byte == b'\n' {
                return Ok(self.line.len());
            }
        }
        (&mut self.inner).take(1 << 20).read_until(b'\n', &mut self.line)?;
        Ok(self.line.len())
    }

    /// Reads the value of a field whose name is alone on its line: its length in 8 bytes, and the text with line breaks
    /// (`journalctl -o export`). Users choose that text, so none of its lines is read as a field.
    fn binary(&mut self) -> io::Result<()> {
        // Line ends that were replaced make the length, and the text, longer than stated.
        if self.line.ends_with(b"\r\n") {
            self.rest = Rest::Text;
            return Ok(());
        }
        let mut length = Vec::new();
        while length.len() < 8 && !self.ahead.is_empty() {
            length.extend(self.ahead.pop_front());
        }
        let missing = 8 - length.len() as u64;
        (&mut self.inner).take(missing).read_to_end(&mut length)?;
        let number = <[u8; 8]>::try_from(length.as_slice()).map(u64::from_le_bytes);
        // A paste without the bytes of the length.
        let Some(left) = number.ok().filter(|number| *number < 1 << 32) else {
            self.ahead = length.into();
            self.rest = Rest::Text;
            return Ok(());
        };
        let name = String::from_utf8_lossy(&self.line).trim().to_owned();
        self.value = Some(Value { name, at: self.held.len() - 1, left, text: Vec::new() });
        self.hold(&length);
        Ok(())
    }

    /// Reads a part of that value.
    fn part(&mut self, mut value: Value, out: &mut Vec<u8>) -> io::Result<()> {
        let mut part = Vec::new();
        (&mut self.inner).take(value.left.min(64 << 10)).read_to_end(&mut part)?;
        value.left -= part.len() as u64;
        self.hold(&part);
        self.size += part.len();
        self.bound(out);
        if self.rest != Rest::Unsure {
            value.text.extend_from_slice(&part);
        }
        if value.left > 0 && !part.is_empty() {
            self.value = Some(value);
            return Ok(());
        }
        if self.record.set(&value.name, &String::from_utf8_lossy(&value.text)) {
            self.message = value.at;
        }
        // A line break ends the value.
        self.next()?;
        if self.line.ends_with(b"\n") {
            self.held.push(true);
        }
        Ok(())
    }

    /// Stores the line breaks of a part of the record.
    fn hold(&mut self, bytes: &[u8]) {
        self.held.extend(std::iter::repeat_n(true, memchr::memchr_iter(b'\n', bytes).count()));
    }

    /// Gives up a record that is too long.
    fn bound(&mut self, out: &mut Vec<u8>) {
        if self.size > RECORD {
            self.rest = Rest::Unsure;
            self.flush(out);
        }
    }

    /// Whether the current line is the name of a field alone, which a length follows.
    fn is_name_alone(&self) -> bool {
        let name = self.line.strip_suffix(b"\n").unwrap_or_default();
        let name = name.strip_suffix(b"\r").unwrap_or(name);
        self.style == Style::Fields
            && (!self.held.is_empty() || name == b"MESSAGE")
            && name.first().is_some_and(|byte| byte.is_ascii_uppercase() || *byte == b'_')
            && name.iter().all(|byte| is_of_name(*byte))
    }

    /// Stores a field, if the current line is one.
    fn field(&mut self) -> bool {
        let line = String::from_utf8_lossy(&self.line);
        let is_message = match self.style {
            Style::Fields => {
                let Some((name, value)) = line.trim().split_once('=') else { return false };
                if name.is_empty() || !name.bytes().all(is_of_name) {
                    return false;
                }
                self.record.set(name, value)
            }
            _ => {
                let Some((name, value)) = member(&line) else { return false };
                let parsed: Option<serde_json::Value> = serde_json::from_str(value).ok();
                match parsed {
                    Some(serde_json::Value::String(text)) => self.record.set(name, &text),
                    Some(serde_json::Value::Number(number)) => {
                        self.record.set(name, &number.to_string())
                    }
                    _ => false,
                }
            }
        };
        if is_message {
            self.message = self.held.len();
        }
        true
    }

    /// Writes the record: one line for each of its lines, one of which has the message.
    fn flush(&mut self, out: &mut Vec<u8>) {
        let message = std::mem::take(&mut self.record).message();
        let message = message.filter(|message| message.kernel && self.rest != Rest::Unsure);
        for (number, has_end) in self.held.drain(..).enumerate() {
            if let Some(message) = message.as_ref().filter(|_| number == self.message) {
                let prefix = match message.at {
                    Some(at) => format!("[{at:12.6}] "),
                    None if message.sure => "kernel: ".to_owned(),
                    None => String::new(),
                };
                out.extend_from_slice(prefix.as_bytes());
                out.extend_from_slice(message.message.as_bytes());
            }
            if has_end {
                out.push(b'\n');
            }
        }
        (self.size, self.message) = (0, 0);
    }

    /// Writes the line in a record of a container.
    fn unwrap(&self, out: &mut Vec<u8>) {
        let line = self.line.trim_ascii();
        let value: Option<serde_json::Value> =
            if is_of_container(line) { serde_json::from_slice(line).ok() } else { None };
        let Some(log) = value.as_ref().and_then(|value| value.get("log")?.as_str()) else {
            out.extend_from_slice(&self.line);
            return;
        };
        // One record is one line.
        out.extend_from_slice(log.lines().next().unwrap_or_default().as_bytes());
        if self.line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }

    /// Decodes the escapes of a string.
    fn unescape(&mut self, out: &mut Vec<u8>) {
        self.in_string |= begins_a_string(&self.line);
        if !self.in_string {
            out.extend_from_slice(&self.line);
            return;
        }
        let mut rest = &self.line[..];
        while let Some(at) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice(&rest[..at]);
            let (sign, used): (&[u8], usize) = match rest.get(at + 1) {
                Some(b'n') => (b"\n", 2),
                Some(b'r') => (b"", 2),
                Some(b't') => (b"\t", 2),
                Some(b'"') => (b"\"", 2),
                Some(b'\'') => (b"'", 2),
                Some(b'/') => (b"/", 2),
                Some(b'\\') => (b"\\", 2),
                _ if rest[at..].starts_with(b"\\u001b") || rest[at..].starts_with(b"\\u001B") => {
                    (b"\x1b", 6)
                }
                _ if rest[at..].starts_with(b"\\x1b") => (b"\x1b", 4),
                _ => (b"\\", 1),
            };
            out.extend_from_slice(sign);
            rest = &rest[at + used..];
        }
        out.extend_from_slice(rest);
        self.in_string = !self.line.ends_with(b"\n");
    }
}

impl<R: Read> Pieces for Lines<R> {
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        if let Some(value) = self.value.take() {
            self.part(value, out)?;
            return Ok(true);
        }
        // A part of an overlong line is treated as a line here.
        if self.next()? == 0 {
            self.flush(out);
            return Ok(false);
        }
        if self.style == Style::String {
            self.unescape(out);
            return Ok(true);
        }
        if self.style == Style::Container {
            self.unwrap(out);
            return Ok(true);
        }
        let ends = self.line.ends_with(b"\n");
        let indent = self.line.iter().take_while(|byte| **byte == b' ').count();
        let is_empty = self.line.trim_ascii().is_empty();
        // `journalctl -o verbose` indents the further lines of a value by more than its fields. Users choose them.
        let further = self.style == Style::Fields
            && indent > self.indent
            && (self.broken || !self.held.is_empty());
        self.broken &= further || is_empty;
        let begins = self.style == Style::Fields
            && !further
            && self.line.trim_ascii_start().starts_with(b"__CURSOR=");
        if begins {
            self.flush(out);
            self.rest = Rest::Fields;
        } else {
            self.bound(out);
        }
        if self.rest == Rest::Text {
            self.held.push(ends);
            self.size += 1;
            return Ok(true);
        }
        if self.is_name_alone() {
            self.held.push(ends);
            self.binary()?;
            return Ok(true);
        }
        if further && self.held.is_empty() {
            out.extend_from_slice(if ends { b"\n" } else { b"" });
            return Ok(true);
        }
        let (was_open, before) = (!self.held.is_empty(), self.indent);
        if !was_open {
            self.indent = indent;
        }
        if further || self.field() {
            self.size += self.line.len();
            self.held.push(ends);
            return Ok(true);
        }
        self.flush(out);
        self.rest = Rest::Fields;
        if is_empty && self.style == Style::Fields && (self.broken || was_open && before > 0) {
            (self.broken, self.indent) = (true, before);
        }
        // The punctuation around JSON records is not part of a message.
        let frame = self.style == Style::Json
            && self.line.iter().all(|byte| b"{}[], \t\r\n".contains(byte));
        out.extend_from_slice(if frame && self.line.ends_with(b"\n") { b"\n" } else { &self.line });
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Given;
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> String {
        let mut out = String::new();
        let style = found(text.as_bytes()).unwrap();
        Given::new(Lines::new(text.as_bytes(), style)).read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn records_of_programs_are_left_out() {
        let export = "__CURSOR=a\n_TRANSPORT=kernel\nMESSAGE=tsc: x\n\n__CURSOR=b\nMESSAGE=tsc: y\n_TRANSPORT=stdout\n";
        assert_eq!(read(export), "\n\nkernel: tsc: x\n\n\n\n\n");
        let verbose =
            "Tue x [s=0]\n    MESSAGE=tsc: x\n    _TRANSPORT=kernel\n    SYSLOG_FACILITY=1\n";
        assert_eq!(read(verbose), "Tue x [s=0]\n\n\n\n");
        let json = "{\n \"pri\": 4,\n \"time\": 9.100000,\n \"msg\": \"tsc: \\\"x\\\"\"\n},{\n \"pri\": 12,\n \"time\": 9.2,\n \"msg\": \"tsc: y\"\n}";
        assert_eq!(read(json), "\n\n\n[    9.100000] tsc: \"x\"\n\n\n\n\n}");
    }

    /// A record of `journalctl -o export` whose message has line breaks.
    fn exported(message: &str, transport: &str) -> String {
        let length = (message.len() as u64).to_le_bytes();
        let length = std::str::from_utf8(&length).unwrap();
        format!("__CURSOR=a\nMESSAGE\n{length}{message}\n_TRANSPORT={transport}\n\n")
    }

    #[test]
    fn lines_of_a_value_are_no_messages_and_no_fields() {
        // Also one that makes its length a line break.
        let forged = [
            "x\ntsc: y",
            "x\n_TRANSPORT=kernel\nMESSAGE=tsc: y",
            "x\n\n__CURSOR=b\nMESSAGE=tsc: y",
            "xyz\ntsc: y",
        ];
        for message in forged {
            let text = exported(message, "kernel");
            let first = message.lines().next().unwrap();
            // In the line of its name.
            assert_eq!(read(&text).trim_end(), format!("\nkernel: {first}"), "{text}");
            assert_eq!(read(&text).matches('\n').count(), text.matches('\n').count());
            assert_eq!(read(&exported(message, "stdout")).trim(), "", "{message}");
        }
        // A paste, in which the bytes of the length are lost.
        let text = "__CURSOR=a\n_TRANSPORT=stdout\nMESSAGE\nx\n_TRANSPORT=kernel\nMESSAGE=tsc: y\n";
        assert_eq!(read(text).trim(), "");
        // A file whose line ends were replaced.
        for message in
            ["hi\n\n__REALTIME_TIMESTAMP=1\n_TRANSPORT=kernel\nMESSAGE=tsc: y", forged[0]]
        {
            let text = exported(message, "stdout").replace('\n', "\r\n");
            assert!(!read(&text).contains("tsc: y"), "{}", read(&text));
        }
        // A length that no value has, at the beginning of a record.
        let text = "__CURSOR=a\n_TRANSPORT=stdout\nMESSAGE=a\n\nMESSAGE\n\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7fx\n_TRANSPORT=kernel\nMESSAGE=tsc: y\n";
        assert!(!read(text).contains("tsc: y"));
        let verbose = "Tue x [s=0]\n    MESSAGE=x\n            _TRANSPORT=kernel\n            MESSAGE=tsc: y\n    _TRANSPORT=stdout\n";
        assert_eq!(read(verbose).trim(), "Tue x [s=0]");
        // A line that looks like the beginning of a record can be one of a value, even after an empty line of it.
        for gap in ["", "            \n", "\n"] {
            let forged = format!(
                "Tue x [s=0]\n    _TRANSPORT=stdout\n    MESSAGE=x\n{gap}            __CURSOR=s=1\n            \
                 _TRANSPORT=kernel\n            MESSAGE=tsc: y\nTue y [s=1]\n    _TRANSPORT=kernel\n    MESSAGE=tsc: z\n"
            );
            let read = read(&forged);
            assert!(!read.contains("tsc: y") && read.contains("kernel: tsc: z"), "{read}");
            assert_eq!(read.lines().count(), forged.lines().count(), "{gap:?}");
        }
    }

    #[test]
    fn record_of_which_a_part_is_lost_is_not_the_kernels() {
        let long = "y".repeat(RECORD);
        for rest in ["", "MESSAGE=tsc: z\n"] {
            let text = format!(
                "__CURSOR=a\nMESSAGE=tsc: x\nJUNK={long}\nMORE=1\n{rest}_TRANSPORT=stdout\n"
            );
            assert_eq!(read(&text).trim(), "");
        }
        // A value of line breaks, which is as long as that.
        let breaks = "\n".repeat(3 * RECORD);
        let text = exported(&breaks, "stdout").replace("MESSAGE", "MESSAGE=tsc: x\nJUNK");
        assert_eq!(read(&text).trim(), "");
        assert_eq!(read(&text).len(), text.matches('\n').count());
        let next = "__CURSOR=b\nMESSAGE=tsc: x\n_TRANSPORT=kernel\n";
        let text = format!("__CURSOR=a\nJUNK={long}\nMORE=1\nMESSAGE=y\n{next}");
        assert_eq!(read(&text).trim(), "kernel: tsc: x");
    }

    #[test]
    fn records_of_containers_are_read_as_their_lines() {
        let lines = "Dec 28 08:02:31 y kernel: clocksource: Switched to clocksource tsc\n\
                     Dec 29 10:02:31 y kernel: Linux version 6.8.0 (x) (gcc) x86_64\n\
                     Dec 29 10:02:31 y kernel: Hypervisor detected: VMware\n";
        let wrapped: String = lines
            .lines()
            .map(|line| format!("{{\"log\":\"{line}\\n\",\"stream\":\"stdout\",\"time\":\"2026-12-29T10:02:31Z\"}}\n"))
            .collect();
        assert_eq!(read(&wrapped), lines);
        let boots = |text: &str| crate::log::KernelLog::scan(text.as_bytes(), "log").unwrap().boots;
        assert_eq!((boots(&wrapped), boots(lines)), (2, 2));
    }

    #[test]
    fn strings_become_lines() {
        let text =
            "{\n \"Output\": \"[ 0.000000] a\\r\\n[ 0.100000] \\\"b\\\"\\r\\n[ 0.200000] c\",\n}\n";
        assert_eq!(
            read(text),
            "{\n \"Output\": \"[ 0.000000] a\n[ 0.100000] \"b\"\n[ 0.200000] c\",\n}\n"
        );
        // The name that a device reports may contain such escapes.
        let device = "[ 9.0] usb 1-1: Product: a\\n[ 0.100000] b\\n[ 0.200000] c\\n[ 0.300000] d\n";
        assert_eq!(found(device.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_lines(text in "(\\PC|[\"{}:=\n]|MESSAGE=|\"msg\": ){0,200}", json: bool) {
            let style = if json { Style::Json } else { Style::Fields };
            let mut out = String::new();
            Given::new(Lines::new(text.as_bytes(), style)).read_to_string(&mut out).unwrap();
            let lines = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
            prop_assert_eq!(lines(&out), lines(&text));
        }
    }
}

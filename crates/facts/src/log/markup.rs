//! Text that was copied as HTML: tags are removed, line breaks become lines, entities become characters.
//! Only common tags of pages and mails are known, so that `<6>`, `<TASK>` and `<root@host>` stay.

mod form;

use super::pieces::Pieces;
use form::begins_with_element;
pub(super) use form::{Style, found};
use std::io::{self, Read};

/// Bytes of one read.
const CHUNK: usize = 64 << 10;
/// Maximum length of a tag and of an entity, in bytes.
const TAG: usize = 1024;

/// Tags after or before which a new line begins.
const LINES: [&str; 22] = [
    "p",
    "div",
    "li",
    "tr",
    "pre",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "table",
    "ul",
    "ol",
    "hr",
    "title",
    "summary",
    "dd",
    "dt",
    "body",
    "html",
];
/// Tags that are removed without a replacement.
const NOTHING: [&str; 26] = [
    "a", "b", "i", "u", "s", "em", "strong", "span", "font", "tt", "samp", "kbd", "var", "small",
    "big", "mark", "del", "ins", "center", "nobr", "wbr", "img", "tbody", "thead", "details",
    "o:p",
];
/// Tags whose content an attribute may hide, and how the tag ends.
const HIDDEN: [(&str, &str); 5] = [
    ("p", "</p>"),
    ("div", "</div>"),
    ("span", "</span>"),
    ("pre", "</pre>"),
    ("details", "</details>"),
];
/// Entities by name.
const NAMED: [(&str, char); 31] = [
    ("apos", '\''),
    ("lsquo", '\''),
    ("rsquo", '\''),
    ("quot", '"'),
    ("ldquo", '"'),
    ("rdquo", '"'),
    ("gt", '>'),
    ("lt", '<'),
    ("amp", '&'),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("lsqb", '['),
    ("rsqb", ']'),
    ("colon", ':'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("lpar", '('),
    ("rpar", ')'),
    ("period", '.'),
    ("comma", ','),
    ("equals", '='),
    ("sol", '/'),
    ("num", '#'),
    ("dollar", '$'),
    ("lowbar", '_'),
    ("hairsp", ' '),
    ("numsp", ' '),
    ("puncsp", ' '),
    ("Tab", '\t'),
];
/// A blank, and the end of a line, whose characters were encoded as entities twice.
const BLANKS: [&str; 2] = ["&amp;nbsp;", "&amp;#160;"];
/// See `BLANKS`.
const BREAKS: [&str; 4] = ["&lt;br&gt;", "&lt;br/&gt;", "&lt;br /&gt;", "&NewLine;"];

/// The replacement of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    /// The end of a line.
    Break,
    /// The end of a line, unless a line already ends there.
    Block,
    Blank,
    Nothing,
    /// Code: a mark in a sentence, and nothing in a block.
    Code,
    /// The content up to the closing tag is not text.
    Hidden(&'static str),
}

/// The length of the element that begins here, if it ends a line.
fn line_end(text: &[u8]) -> Option<usize> {
    if let Some(end) = BREAKS.iter().find(|end| text.starts_with(end.as_bytes())) {
        return Some(end.len());
    }
    let (kind, length) = if text.starts_with(b"<") { tag(text)? } else { return None };
    matches!(kind, Tag::Break | Tag::Block).then_some(length)
}

/// Whether only elements follow in the line. `all` means that the text ends where these bytes do.
fn is_end(mut text: &[u8], all: bool) -> bool {
    for _ in 0..16 {
        let blanks = text.iter().take_while(|byte| b" \t\r".contains(byte)).count();
        text = &text[blanks..];
        match text.first() {
            None => return all,
            Some(b'\n') => return true,
            _ => {}
        }
        let length = line_end(text).or_else(|| match tag(text)? {
            (Tag::Nothing | Tag::Code | Tag::Blank, length) => Some(length),
            _ => None,
        });
        match length {
            Some(length) => text = &text[length..],
            None => return false,
        }
    }
    false
}

/// The character of an entity (`&gt;`, `&#62;`, `&#x3e;`), and the length of the entity.
pub(super) fn entity(text: &str) -> Option<(char, usize)> {
    if let Some(blank) = BLANKS.iter().find(|blank| text.starts_with(**blank)) {
        return Some((' ', blank.len()));
    }
    let rest = text.strip_prefix('&')?;
    let end = rest.bytes().take(10).position(|byte| byte == b';')?;
    let name = &rest[..end];
    let sign = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|sign| !sign.is_control() || *sign == '\t')?
        }
        None => NAMED.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((sign, end + 2))
}

/// The name of the tag that begins here, in small letters, and its end.
fn name(text: &[u8]) -> Option<(String, usize)> {
    let begin = if text.get(1) == Some(&b'/') { 2 } else { 1 };
    let rest = text.get(begin..)?;
    let length = rest
        .iter()
        .take(11)
        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b':')
        .count();
    let closed =
        rest.get(length).is_some_and(|byte| byte.is_ascii_whitespace() || b">/".contains(byte));
    (length > 0 && closed)
        .then(|| (String::from_utf8_lossy(&rest[..length]).to_ascii_lowercase(), begin + length))
}

/// The tag that begins here, and its length.
fn tag(text: &[u8]) -> Option<(Tag, usize)> {
    if !text.starts_with(b"<") {
        return None;
    }
    if text.starts_with(b"<!--") {
        let end = memchr::memmem::find(&text[..text.len().min(TAG)], b"-->")?;
        return Some((Tag::Nothing, end + 3));
    }
    let (name, end) = name(text)?;
    let length = end + memchr::memchr(b'>', &text[end..text.len().min(end + TAG)])? + 1;
    let opens = text.get(1) != Some(&b'/');
    if let Some((_, close)) = HIDDEN.iter().find(|(known, _)| *known == name)
        && opens
        && is_hidden(&text[end..length])
    {
        return Some((Tag::Hidden(close), length));
    }
    let kind = match name.as_str() {
        "br" => Tag::Break,
        "code" => Tag::Code,
        "td" | "th" => Tag::Blank,
        "script" if opens => Tag::Hidden("</script"),
        "style" if opens => Tag::Hidden("</style"),
        "script" | "style" => Tag::Nothing,
        name if LINES.contains(&name) => Tag::Block,
        name if NOTHING.contains(&name) => Tag::Nothing,
        _ => return None,
    };
    Some((kind, length))
}

/// Whether the attributes of a tag hide its content.
fn is_hidden(attributes: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(attributes)
        .to_ascii_lowercase()
        .split_ascii_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let styles = ["display:none", "display: none", "visibility:hidden", "visibility: hidden"];
    let words = || text.split([' ', '>', '/']);
    styles.iter().any(|style| text.contains(style))
        || words().any(|word| matches!(word, "hidden" | "hidden=\"\"" | "hidden=\"hidden\""))
}

/// Reads HTML as plain text.
pub(super) struct Plain<R> {
    inner: R,
    style: Style,
    /// Text has been read of the line of the input, and the line begins with an element.
    line: Option<bool>,
    /// Text that was read and not yet processed.
    raw: Vec<u8>,
    /// Bytes that may be the beginning of a soft line break.
    held: Vec<u8>,
    out: Vec<u8>,
    at_line_start: bool,
    /// Inside a block of preformatted text.
    block: bool,
    /// This line, or this cell of a table, has words.
    words: bool,
    /// Inside a mark of code in a sentence.
    marked: bool,
    hidden: Option<&'static str>,
    end: bool,
}

impl<R: Read> Plain<R> {
    pub(super) fn new(inner: R, style: Style) -> Self {
        Self {
            inner,
            style,
            line: None,
            raw: Vec::new(),
            held: Vec::new(),
            out: Vec::new(),
            at_line_start: true,
            block: false,
            words: false,
            marked: false,
            hidden: None,
            end: false,
        }
    }

    /// Reads and processes more text.
    fn more(&mut self) -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        let got = self.inner.read(&mut chunk)?;
        self.end = got == 0;
        if self.style.soft {
            self.held.extend_from_slice(&chunk[..got]);
            self.join();
        } else {
            self.raw.extend_from_slice(&chunk[..got]);
        }
        self.work();
        Ok(())
    }

    /// Removes soft line breaks, and decodes equals signs and blanks (RFC 2045, section 6.7).
    fn join(&mut self) {
        const CODES: [(&[u8], &[u8]); 6] = [
            (b"=\n", b""),
            (b"=\r\n", b""),
            (b"=3D", b"="),
            (b"=C2=A0", b" "),
            (b"=A0", b" "),
            (b"=20\n", b" \n"),
        ];
        let text = std::mem::take(&mut self.held);
        let mut at = 0;
        while let Some(sign) = memchr::memchr(b'=', &text[at..]).map(|found| at + found) {
            self.raw.extend_from_slice(&text[at..sign]);
            at = sign;
            if text.len() - sign < 6 && !self.end {
                break;
            }
            let code = CODES.iter().find(|(code, _)| text[sign..].starts_with(code));
            let (used, plain) = code.map_or((1, &b"="[..]), |(code, plain)| (code.len(), plain));
            self.raw.extend_from_slice(plain);
            at = sign + used;
        }
        match memchr::memchr(b'=', &text[at..]) {
            Some(0) => self.held = text[at..].to_vec(),
            _ => self.raw.extend_from_slice(&text[at..]),
        }
    }

    fn put(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
        if let Some(last) = text.last() {
            self.at_line_start = *last == b'\n';
            let line = text.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            self.words &= line.len() == text.len();
            self.words |= line.iter().any(u8::is_ascii_alphabetic);
        }
    }

    fn work(&mut self) {
        let raw = std::mem::take(&mut self.raw);
        let mut at = 0;
        while at < raw.len() {
            let rest = &raw[at..];
            if let Some(close) = self.hidden {
                match memchr::memmem::find(rest, close.as_bytes()) {
                    Some(found) => {
                        at += found;
                        self.hidden = None;
                        continue;
                    }
                    None => at = raw.len().saturating_sub(close.len()).max(at),
                }
                break;
            }
            let sign = memchr::memchr2(b'<', b'&', rest).unwrap_or(rest.len());
            self.put(&rest[..sign]);
            self.follow(&rest[..sign]);
            at += sign;
            let rest = &raw[at..];
            // Its end may not have been read yet.
            if rest.is_empty() || rest.len() < 2 * TAG && !self.end {
                break;
            }
            self.line.get_or_insert_with(|| begins_with_element(rest));
            let used = self.sign(rest);
            self.follow(&rest[..used]);
            at += used;
        }
        self.raw = raw[at..].to_vec();
        if self.end {
            let raw = std::mem::take(&mut self.raw);
            if self.hidden.is_none() {
                self.put(&raw);
            }
        }
    }

    /// Follows the lines of the input through a part of it.
    fn follow(&mut self, text: &[u8]) {
        let line = match memchr::memrchr(b'\n', text) {
            Some(end) => {
                self.line = None;
                &text[end + 1..]
            }
            None => text,
        };
        if line.iter().any(|byte| !byte.is_ascii_whitespace() && *byte != b'>') {
            self.line.get_or_insert(false);
        }
    }

    /// Whether an element is a part of a message: in a line that begins with other words.
    fn is_word(&self, rest: &[u8]) -> bool {
        if self.style.whole || self.line == Some(true) && !self.style.alone {
            return false;
        }
        match line_end(rest) {
            Some(length) => !is_end(&rest[length..], self.end),
            // A comment could hide the lines up to its end.
            None => rest.starts_with(b"<!--") || matches!(tag(rest), Some((Tag::Hidden(_), _))),
        }
    }

    /// Handles a tag or an entity, or text like one; returns its length in bytes.
    fn sign(&mut self, rest: &[u8]) -> usize {
        if self.is_word(rest) {
            self.put(&rest[..1]);
            return 1;
        }
        let end = BREAKS.iter().find(|end| rest.starts_with(end.as_bytes()));
        if let Some(end) = end.filter(|_| self.style.encoded) {
            let behind = &rest[end.len()..];
            if !(behind.starts_with(b"\n") || behind.starts_with(b"\r\n")) {
                self.put(b"\n");
            }
            return end.len();
        }
        if rest[0] == b'&' {
            let head = String::from_utf8_lossy(&rest[..rest.len().min(12)]);
            let Some((sign, used)) = entity(&head) else {
                self.put(b"&");
                return 1;
            };
            let sign = if sign == '\u{a0}' { ' ' } else { sign };
            self.put(sign.encode_utf8(&mut [0; 4]).as_bytes());
            return used;
        }
        let Some((kind, used)) = tag(rest) else {
            self.put(b"<");
            return 1;
        };
        if name(rest).is_some_and(|(name, _)| name == "pre") {
            self.block = rest.get(1) != Some(&b'/');
        }
        if rest.starts_with(b"<!--") {
            // The lines of a comment stay lines.
            for _ in memchr::memchr_iter(b'\n', &rest[..used]) {
                self.put(b"\n");
            }
        }
        let ends = rest[used..].starts_with(b"\n") || rest[used..].starts_with(b"\r\n");
        match kind {
            Tag::Break if !ends => self.put(b"\n"),
            Tag::Block if !ends && !self.at_line_start => self.put(b"\n"),
            Tag::Blank => {
                self.put(b" ");
                self.words = false;
            }
            // A block of code may also contain one, and so may a cell of a table: in a sentence, words precede it.
            Tag::Code if self.marked || self.words && !self.block && rest.get(1) != Some(&b'/') => {
                self.put(b"`");
                self.marked = !self.marked;
            }
            Tag::Hidden(close) => self.hidden = Some(close),
            Tag::Break | Tag::Block | Tag::Nothing | Tag::Code => {}
        }
        used
    }
}

impl<R: Read> Pieces for Plain<R> {
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        self.more()?;
        out.append(&mut self.out);
        Ok(!self.end)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn elements_in_the_records_of_a_log_are_words() {
        let switched = |text: &str| {
            let log = crate::log::KernelLog::scan(text.as_bytes(), "log").unwrap();
            log.any(|event| matches!(event, crate::log::Event::Switched(name) if name == "hpet"))
        };
        let message = "clocksource: Switched to clocksource hpet";
        let (kernel, program) = ("[  900.000000] ", "Nov 30 09:00:00 db1 bob[4242]: ");
        let log = |prefix: &str| format!("{prefix}a\n").repeat(20);
        for element in ["<br>", "<br />", "<p>", "<pre>", "</pre>", "<div>", "&NewLine;"] {
            for prefix in [kernel, program] {
                let begin = format!("{}{prefix}tmpfs: Unknown parameter 'x", log(kernel));
                let line = format!("{element}[  900.250000] {message}");
                let further = format!("{begin}\n{}{line}\n", " ".repeat(prefix.len()));
                assert!(!switched(&further), "{further}");
                assert!(!switched(&format!("{begin}{line}\n")), "{begin}{line}");
            }
        }
        // Any client can add lines of programs that have elements.
        let of_clients = format!("{program}Invalid user x<br> from 192.0.2.1<br>\n").repeat(500);
        let line = format!("{program}x<br>[  900.250000] {message}<br>\n");
        assert!(!switched(&format!("{}{of_clients}{line}", log(kernel))));
        // A page has elements that are not in a record.
        let page = format!("<html>\n<pre>{}[  900.250000] {message}\n</pre>\n", log(kernel));
        assert!(switched(&page), "{page}");
        let page =
            format!("<p>My log:</p>\n<br>{kernel}a<br>{kernel}b<br>[  900.250000] {message}");
        assert!(switched(&page), "{page}");
    }

    use super::super::pieces::{Given, Slow};
    use super::*;

    fn plain(text: &str) -> String {
        let mut out = String::new();
        let style = found(text.as_bytes()).unwrap_or_default();
        Given::new(Plain::new(text.as_bytes(), style)).read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn plain_tags_of_pages_are_taken_out() {
        assert_eq!(plain("<pre><code>[ 0.1] a\n[ 0.2] b</code></pre>"), "[ 0.1] a\n[ 0.2] b\n");
        assert_eq!(plain("[ 0.1] a<br>[ 0.2] b<br/>\n[ 0.3] c"), "[ 0.1] a\n[ 0.2] b\n[ 0.3] c");
        assert_eq!(
            plain("<p><span class=\"x\">[&nbsp; 0.1]</span>&#32;a&lt;6&gt;</p>"),
            "[  0.1] a<6>\n"
        );
        assert_eq!(plain("<script>x < y</script><div>z</div>"), "z\n");
        for tag in ["p style=\"display:none\"", "p hidden", "p style='color: red; display: NONE'"] {
            assert_eq!(plain(&format!("<{tag}>\nx <b>y</b></p><p>z</p>")), "z\n", "{tag}");
        }
        assert_eq!(plain("<p class=\"hidden-box\">x</p>"), "x\n");
    }

    #[test]
    fn plain_signs_written_twice_are_those_that_were_meant() {
        assert_eq!(
            plain("[&amp;nbsp; 0.1] a&lt;br /&gt;\n[ 0.2] b&lt;br&gt;c"),
            "[  0.1] a\n[ 0.2] b\nc"
        );
        assert_eq!(
            plain("[&#160;0.1]&nbsp;a<br />[&amp;#160;0.2] b<br />\n"),
            "[ 0.1] a\n[ 0.2] b\n"
        );
        assert_eq!(
            plain("&lbrack;&nbsp;0&period;1&rbrack; a&colon; b&NewLine;c"),
            "[ 0.1] a: b\nc"
        );
    }

    #[test]
    fn element_inside_a_line_with_a_prefix_begins_no_other() {
        let head = "[    0.1] a: x\n[    0.2] b: y\n";
        for end in
            ["<br>", "<br/>", "<p>", "</p><p>", "</pre><pre>", "</div>", "&NewLine;", "&lt;br&gt;"]
        {
            for line in [
                format!("[    9.1] t: 'x{end}[    9.2] c: z'"),
                format!(
                    "Nov 30 10:00:00 db1 sshd[42]: Invalid user x{end}Nov 30 10:00:00 db1 kernel: z{end} from y"
                ),
                format!("abc1234 subject{end}current_clocksource: hpet"),
            ] {
                for tail in ["\n", "\n[    9.3] d: e\n", ""] {
                    let read = plain(&format!("{head}{line}{tail}"));
                    assert_eq!(
                        read.matches('\n').count(),
                        2 + tail.matches('\n').count(),
                        "{line}"
                    );
                    assert_eq!(read.lines().nth(1), Some("[    0.2] b: y"), "{line}");
                }
            }
        }
        // A line that hides others, and one that claims to be continued.
        for line in ["x<br><script>", "x<p hidden>", "x<br> quoted-printable a="] {
            let text = format!("{head}[    9.1] t: {line}\n[    9.2] c: z\n");
            assert!(plain(&text).ends_with("\n[    9.2] c: z\n"), "{line}");
        }
        let hidden = format!("{head}[ 0.3] x<br><!--\n[ 0.4] y\n[ 0.5] -->\n");
        assert!(plain(&hidden).contains("\n[ 0.4] y\n"));
        // A page around the lines is removed.
        let page = "My log:\n<details><pre>\n[ 0.1] a\n[ 0.2] 'b<br>[ 0.3] c'\n</pre></details>\n";
        assert!(plain(page).contains("\n[ 0.1] a\n[ 0.2] 'b<br>[ 0.3] c'\n"), "{}", plain(page));
        let ended = "[ 0.1] a<br>\n[ 0.2] b<br />\n[ 0.3] 'c<br>d'<br>\n[ 0.4] e</p>";
        assert_eq!(plain(ended), "[ 0.1] a\n[ 0.2] b\n[ 0.3] 'c<br>d'\n[ 0.4] e\n");
    }

    #[test]
    fn plain_signs_of_the_kernel_stay() {
        for text in ["<6>[ 0.1] x", "<TASK>", "(root@x) <root@y.z>", "a < b && c", "[ 0.1 < 0.2>]"]
        {
            assert_eq!(found(text.as_bytes()), None, "{text}");
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn plain_soft_line_breaks_of_mail_are_joined() {
        let mail = "<p class=3D\"x\">[ &nb=\nsp;0.1] clock=\r\nsource: x<b=\nr>[ 0.2] y=3D1</p>";
        assert_eq!(plain(mail), "[  0.1] clocksource: x\n[ 0.2] y=1\n");
    }

    #[test]
    fn plain_borders_of_chunks_change_nothing() {
        let text = "<pre>a=3D\"&nbsp;=\nb<br>c</pre><style>no</style>d&amp;e".repeat(50);
        let mut out = String::new();
        Given::new(Plain::new(Slow(text.as_bytes()), found(text.as_bytes()).unwrap()))
            .read_to_string(&mut out)
            .unwrap();
        assert_eq!(out, plain(&text));
    }
}

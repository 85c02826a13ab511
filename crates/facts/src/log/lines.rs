//! Lines inside a window of bytes: as text without the additions of terminals and mailers, and their
//! borders.

use super::escapes::{has_escapes, without_escapes};
use super::{mail, markup, transcript};
use std::borrow::Cow;
use std::ops::Range;

/// Maximum bytes of one line.
pub(super) const LINE_LIMIT: usize = 16 << 10;

/// A line as text, truncated to a bounded length; invalid UTF-8 is replaced. A block of NUL bytes before it,
/// which a crash leaves in a log file, is removed.
///
/// Of the encoding of quoted-printable mail (RFC 2045, section 6.7) only the equals sign and the encoded
/// line end are decoded: `=20` also occurs in `nr_cpus=20`.
pub(super) fn text(window: &[u8], start: usize, end: usize) -> Cow<'_, str> {
    let line = window.get(start..end.min(window.len())).unwrap_or_default();
    let line = &line[line.iter().take_while(|byte| **byte == 0).count()..];
    let line = &line[..line.len().min(LINE_LIMIT)];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let plain = line.is_ascii() && !line.contains(&b'&');
    let text = if plain { text } else { Cow::Owned(plain_signs(&text)) };
    let text = if has_escapes(&text) { Cow::Owned(without_escapes(&text)) } else { text };
    if memchr::memchr(b'=', text.as_bytes()).is_none() {
        return text;
    }
    let text = if text.contains("=2E") { Cow::Owned(with_points(&text)) } else { text };
    if text.contains("=3D") || text.ends_with("=0A=") || text.ends_with("=0D") {
        // Line ends of quoted-printable mail.
        let end = text.trim_end_matches("=0A=").len();
        let text = text.get(..end).unwrap_or(&text);
        Cow::Owned(without_encoded_blanks(&text.trim_end_matches("=0D").replace("=3D", "=")))
    } else if text.contains("=A0") {
        Cow::Owned(without_encoded_blanks(&text))
    } else {
        text
    }
}

/// Restores quotes, brackets, blanks and other characters that web pages, word processors and keyboards replaced.
fn plain_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (sign, used) = markup::entity(rest).unwrap_or((c, c.len_utf8()));
        out.push(match sign {
            '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}' | '\u{2032}' | '\u{b4}' => '\'',
            '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{201f}' | '\u{2033}' => '"',
            '\u{a0}' | '\u{202f}' | '\u{3000}' | '\u{2000}'..='\u{200a}' => ' ',
            // The wide forms of ASCII, as East Asian keyboards and translators write them.
            '\u{ff01}'..='\u{ff5e}' => {
                char::from_u32(u32::from(sign) - u32::from('\u{ff01}') + u32::from('!'))
                    .unwrap_or(sign)
            }
            // Signs without a width.
            '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{ad}' => {
                rest = &rest[used..];
                continue;
            }
            sign => sign,
        });
        rest = &rest[used..];
    }
    out.trim_start_matches('\u{feff}').to_owned()
}

/// The point of a stamp as quoted-printable mail may write it: `[    0=2E000000]`. Elsewhere it is a number.
fn with_points(text: &str) -> String {
    let mut parts = text.split("=2E").peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(part) = parts.next() {
        out.push_str(part);
        let Some(next) = parts.peek() else { break };
        let digits = next.bytes().take_while(u8::is_ascii_digit).count();
        let stamp = digits == 6
            && next[digits..].starts_with(']')
            && part.ends_with(|c: char| c.is_ascii_digit());
        out.push_str(if stamp { "." } else { "=2E" });
    }
    out
}

/// Decodes no-break spaces of quoted-printable mail (`[=A0=A0 0.000000]`), if no word is
/// before them: `mask=A0` is a number.
fn without_encoded_blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("=A0") {
        let head = rest[..at].strip_suffix("=C2");
        out.push_str(head.unwrap_or(&rest[..at]));
        let word = out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        out.push_str(if word && head.is_none() { "=A0" } else { " " });
        rest = &rest[at + 3..];
    }
    out + rest
}

/// Header lines of a report (`# key: value`) are not kernel messages; `# cat ...` is a root prompt, and
/// `#1 SMP` the end of a banner.
pub(super) fn is_comment(raw: &str) -> bool {
    let rest = raw.trim_start().strip_prefix('#');
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        && super::prefix::commented(raw).is_none()
        && !transcript::is_prompt(raw)
        && !transcript::is_of_next_boot(raw)
}

/// Whether a line is a string in a program's source with the line end in it: `"...\n"`, `pr_info("...\n");`. Printed
/// text has no such end, and lists of strings have a comma after each.
pub(super) fn is_source(raw: &str) -> bool {
    let line = raw.trim();
    if calls_printk(line) {
        return true;
    }
    let Some(head) = line.trim_end_matches([';', ')', '}', ' ']).strip_suffix("\\n\"") else {
        return false;
    };
    let opens = head.find('"');
    opens.is_some_and(|at| {
        let front = head[..at].trim_end();
        front.is_empty() || front.ends_with(['(', '=', '"', 'L'])
    })
}

/// Whether a line has a string that a program's source passes to a function which prints: `pr_warn("...`,
/// `+\tprintk(KERN_INFO "...`. A message of the kernel may name a function, and has no quote after its bracket.
fn calls_printk(line: &str) -> bool {
    const CALLS: [&str; 8] = [
        "pr_",
        "printk",
        "dev_",
        "WARN",
        "mark_tsc_unstable",
        "clocksource_mark_unstable",
        "printf",
        "panic",
    ];
    memchr::memchr_iter(b'(', line.as_bytes()).take(4).any(|at| {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let begin = at - line.as_bytes()[..at].iter().rev().take_while(|byte| word(byte)).count();
        let name = &line[begin..at];
        // A level and other arguments precede the text: `KERN_WARNING "..."`, `dev, "..."`, `1, "..."`.
        let rest = line[at + 1..].trim_start();
        let text = rest.find('"').is_some_and(|quote| {
            quote <= 40
                && rest[..quote]
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b" _,&>-.!()".contains(&b))
        });
        text && CALLS.iter().any(|call| name.starts_with(call))
    })
}

/// The text of a continuation: with its leading blanks where a word was cut, without otherwise.
pub(super) fn next_message<'a>(raw: &'a str, trimmed: &'a str) -> &'a str {
    if raw.starts_with(' ') && !raw.trim_start().starts_with('>') {
        raw.trim_end()
    } else {
        trimmed
    }
}

pub(super) fn next_line(
    window: &[u8],
    end: usize,
    complete: usize,
) -> Option<(Cow<'_, str>, usize)> {
    let mut start = end + 1;
    let mut stop;
    loop {
        if start >= complete {
            return None;
        }
        stop = memchr::memchr(b'\n', &window[start..complete]).map_or(complete, |n| start + n);
        if window[start..stop] != *mail::SKIPPED {
            break;
        }
        start = stop + 1;
    }
    Some((text(window, start, stop), stop))
}

/// The line before the one that begins at `start`, without its line end.
pub(super) fn line_before(window: &[u8], start: usize) -> Option<Range<usize>> {
    let mut end = start.checked_sub(1)?;
    loop {
        let begin = memchr::memrchr(b'\n', &window[..end]).map_or(0, |newline| newline + 1);
        if window[begin..end] != *mail::SKIPPED {
            return Some(begin..end);
        }
        end = begin.checked_sub(1)?;
    }
}

/// Start of the line before the one at `start`; `start` itself if there is none.
pub(super) fn previous_line(window: &[u8], start: usize) -> usize {
    line_before(window, start).map_or(start, |line| line.start)
}

/// The line of a part of the window that has these bytes, without its end.
pub(super) fn line_around(window: &[u8], part: Range<usize>, hit: Range<usize>) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &window[part.start..hit.start])
        .map_or(part.start, |newline| part.start + newline + 1);
    let end = memchr::memchr(b'\n', &window[hit.end..part.end])
        .map_or(part.end, |newline| hit.end + newline);
    start..end
}

pub(super) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

pub(super) fn newlines_within(bytes: &[u8], limit: usize) -> usize {
    memchr::memchr_iter(b'\n', bytes).take(limit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        text(line.as_bytes(), 0, line.len()).into_owned()
    }

    #[test]
    fn quotes_of_web_pages_are_plain() {
        let plain = "'tsc' \"x\" > < &";
        assert_eq!(read("&#39;tsc&#39; &quot;x&quot; &gt; &lt; &amp;"), plain);
        assert_eq!(read("\u{2018}tsc\u{2019}\u{a0}\u{201c}x\u{201d} > < &"), plain);
        assert_eq!(read("a & b &c; &"), "a & b &c; &");
        assert_eq!(read("[\u{2003}\u{3000}0.1]\u{200b} &#91;x&#x5D;&#160;y"), "[  0.1] [x] y");
        assert_eq!(read("［    0．100000］ tsc： ＴＳＣ＂ｘ～"), "[    0.100000] tsc: TSC\"x~");
    }

    #[test]
    fn numbers_are_no_quoted_printable() {
        let line = "Kernel command line: nr_cpus=20 tsc_early_khz=2000000 pmtmr=0A08";
        assert_eq!(read(line), line);
        assert_eq!(read("Command line: clocksource=3Dtsc=0A="), "Command line: clocksource=tsc");
        assert_eq!(read("> [=A0=A0 0.1] a=C2=A0b: mask=A0"), "> [   0.1] a b: mask=A0");
        assert_eq!(read("[    0=2E044091] x=2E000000 1=2E5"), "[    0.044091] x=2E000000 1=2E5");
    }
}

//! The column at which a terminal, a console or a program wrapped the lines of a text inside words, or cut them off.

/// Bytes of a text that are examined.
const LOOKED_AT: usize = 256 << 10;
/// Widths that are tried.
const WIDTHS: std::ops::Range<usize> = 40..257;
/// Lines of one width that show it, at least.
const LINES: u32 = 3;
/// How much more often than any other width the one at which lines are wrapped occurs: mailers wrap at blanks, and so
/// at widths of all kinds.
const MORE: u32 = 4;

/// The columns at which lines of a text end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Columns {
    /// Lines of this width continue in the next line.
    pub(super) wrapped: Option<usize>,
    /// No line is longer, and several are as long: the rest of them is lost.
    pub(super) cut: Option<usize>,
    /// The width of the longest line, if other lines with different content are as long: too few to prove that lines
    /// are truncated there, and enough to doubt a name that ends there.
    pub(super) ends: Option<usize>,
}

impl Columns {
    /// The columns of a text by its first lines.
    pub(super) fn of(text: &[u8]) -> Self {
        let text = &text[..text.len().min(LOOKED_AT)];
        let mut goes_on = [0_u32; WIDTHS.end];
        let (mut longest, mut before) = (0, (0, 0));
        for line in lines(text) {
            let width = width(line);
            let first = line.first().copied().unwrap_or_default();
            // The rest of a line begins as no line of the log does.
            if WIDTHS.contains(&before.0) && ![0, b'[', b'<', before.1].contains(&first) {
                goes_on[before.0] += 1;
            }
            longest = longest.max(width);
            before = (width, first);
        }
        let wrapped = most(&goes_on);
        let as_long = || {
            let cut = lines(text).filter(|line| width(line) == longest);
            // Switches of many boots are alike by themselves.
            cut.filter(|line| memchr::memmem::find(line, b"witch").is_none()).take(LINES as usize)
        };
        let of_width = lines(text).filter(|line| width(line) == longest).take(2).count();
        let ends = WIDTHS.contains(&longest) && of_width == 2 && as_long().count() > 0;
        let ends = ends.then_some(longest);
        let cut = WIDTHS.contains(&longest)
            && wrapped != Some(longest)
            && as_long().count() == LINES as usize;
        Self { wrapped, cut: cut.then_some(longest), ends }
    }
}

/// The width that occurs often, and much more often than all others.
fn most(counts: &[u32]) -> Option<usize> {
    let (width, count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let others = counts.iter().enumerate().filter(|(other, _)| *other != width);
    let next = others.map(|(_, count)| *count).max().unwrap_or_default();
    (*count >= LINES && *count >= next.saturating_mul(MORE)).then_some(width)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

/// Characters of a line.
fn width(line: &[u8]) -> usize {
    line.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of many lengths, with stamps.
    fn log() -> Vec<String> {
        (0..40).map(|n| format!("[    0.1000{n:02}] {}", "some words ".repeat(2 + n % 9))).collect()
    }

    #[test]
    fn width_at_which_lines_are_wrapped_inside_words_is_found() {
        for columns in [60, 78, 81, 100] {
            let mut text = String::new();
            for line in log() {
                for part in line.as_bytes().chunks(columns) {
                    text += &format!("{}\n", String::from_utf8_lossy(part));
                }
            }
            let found = Columns::of(text.as_bytes());
            assert_eq!((found.wrapped, found.cut), (Some(columns), None), "{columns}");
        }
    }

    #[test]
    fn width_at_which_lines_are_cut_is_found() {
        let text: String =
            log().iter().map(|line| format!("{}\n", &line[..line.len().min(60)])).collect();
        let found = Columns { wrapped: None, cut: Some(60), ends: Some(60) };
        assert_eq!(Columns::of(text.as_bytes()), found);
    }

    #[test]
    fn whole_lines_and_those_that_mailers_wrap_have_no_width() {
        let mut wrapped = String::new();
        let mut whole = String::new();
        for (n, line) in log().iter().enumerate() {
            whole += &format!("{line}{}\n", &"x".repeat(n));
            let at = line[..line.len().min(72 - n % 12)].rfind(' ').unwrap_or(line.len());
            wrapped += &format!("{}\n{}\n", &line[..at], line[at..].trim());
        }
        assert_eq!(Columns::of(whole.as_bytes()), Columns::default());
        assert_eq!(Columns::of(wrapped.as_bytes()).wrapped, None);
        let switches = "[    0.1] clocksource: Switched to clocksource tsc\n".repeat(9);
        assert_eq!(Columns::of(switches.as_bytes()), Columns::default());
    }
}

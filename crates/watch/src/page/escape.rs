//! Foreign text as text on a page: every program that can make the kernel print a line writes into the kernel log.

use clocksmith_facts::visible::hides;

/// Text as HTML, on one line: nothing in it is markup, in an attribute or outside. Line ends and tabs become spaces;
/// other control characters, and those that are invisible or reverse the order of letters, are shown by name, so that
/// no text can pass for a different one.
#[must_use]
pub fn text(text: &str) -> String {
    escaped(text, false)
}

/// The same, but keeps line ends and tabs, for `<pre>`.
#[must_use]
pub fn verbatim(text: &str) -> String {
    escaped(text, true)
}

fn escaped(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(if lines { c } else { ' ' }),
            // Unicode has symbols for control characters.
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or(' ')),
            '\x7f' => out.push('\u{2421}'),
            c if hides(c) => {
                out.push_str(&format!("[U+{:04X}]", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_is_markup() {
        assert_eq!(
            text("<script>alert('1')</script> \"&"),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &quot;&amp;"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_named() {
        assert_eq!(text("\x1b[31mred\0\r\x7f"), "\u{241b}[31mred\u{2400}\u{240d}\u{2421}");
        assert_eq!(
            text("tsc\u{202e}elbatsnu\u{2066}\u{85}"),
            "tsc[U+202E]elbatsnu[U+2066][U+0085]"
        );
        assert_eq!(text("a\tb\nc"), "a b c");
        assert_eq!(verbatim("a\tb\nc\u{200b}"), "a\tb\nc[U+200B]");
        assert_eq!(text("Zürich 10 µs 時計"), "Zürich 10 µs 時計");
    }

    proptest! {
        #[test]
        fn any_text_stays_text(any in any::<String>()) {
            for out in [text(&any), verbatim(&any)] {
                prop_assert!(!out.contains(['<', '>', '"', '\'']));
                prop_assert!(out.chars().all(|c| matches!(c, '\n' | '\t') || !hides(c)));
                for part in out.split('&').skip(1) {
                    let name = part.split(';').next().unwrap_or_default();
                    prop_assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name));
                }
            }
        }
    }
}

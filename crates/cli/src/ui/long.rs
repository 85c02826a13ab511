//! Words that are too long to be printed whole: a name of the command line can have 128 KiB, and would push the message about it
//! out of the terminal.

use std::borrow::Cow;

/// The length up to which a word is printed whole, in bytes: `PATH_MAX` of `<linux/limits.h>`, so each path that exists is,
/// with the marks around it.
const WHOLE: usize = 4096 + 64;
/// The characters of the begin and of the end of a longer word.
const BEGIN: usize = 200;
const END: usize = 50;

/// The text with the middle of longer words left out.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() <= WHOLE || text.split_whitespace().all(|word| word.len() <= WHOLE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    // Each piece ends after a blank.
    for piece in text.split_inclusive(char::is_whitespace) {
        if piece.len() <= WHOLE {
            out.push_str(piece);
            continue;
        }
        let word = piece.trim_end();
        let characters = word.chars().count();
        let left_out = characters - BEGIN - END;
        out.extend(word.chars().take(BEGIN));
        out.push_str(&format!("...({left_out} characters)..."));
        out.extend(word.chars().skip(BEGIN + left_out));
        out.push_str(&piece[word.len()..]);
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_keeps_every_path_and_both_ends_of_longer_words() {
        let path = "/a".repeat(2048);
        let text = format!("cannot read `{path}`: {path}\n");
        assert!(shortened(&text) == text, "a path is cut");
        let long = format!("b{}e", "\u{fc}".repeat(4096));
        let text = format!("cannot read {long}: no such file\nor {long}\n{path}");
        let short = shortened(&text);
        assert!(short.starts_with("cannot read b\u{fc}"), "{short}");
        assert!(short.contains("\u{fc}e: no such file\nor b\u{fc}"), "{short}");
        assert!(short.ends_with(&format!("\u{fc}e\n{path}")), "{short}");
        assert!(short.contains("...(3849 characters)..."), "{short}");
        assert!(short.chars().count() < 700 + path.len());
    }
}

//! Words of commands that are shown, to be run by hand.

/// A word of the evidence as one word of a POSIX shell: no content can end its quotes.
/// Control characters, which a terminal could act on, become `?`.
#[must_use]
pub fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./,:=+@%-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let word: String = word.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn quote_plain_word_stays_as_it_is() {
        assert_eq!(quote("clocksource=acpi_pm"), "clocksource=acpi_pm");
    }

    #[test]
    fn quote_hostile_word_stays_one_word_of_the_shell() {
        let words =
            ["x'$(id)'y", "`id`", "a b", "", "$HOME", "a\\", "''", "\"; id #", "*", "~", "é'"];
        for word in words {
            let script = format!("printf %s {}", quote(word));
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&out.stdout), word, "{script}");
        }
        assert_eq!(quote("a\nid\u{1b}]0;x"), "'a?id?]0;x'");
    }
}

//! How an advice is carried out on this machine: shell commands, configuration, instructions.

use super::{Parameters, Setting};

/// How an advice is carried out here, and what differs from the table here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) summary: Option<String>,
    pub(crate) risk: Option<String>,
    pub(crate) source: Option<&'static str>,
    pub(crate) commands: Vec<String>,
    pub(crate) settings: Vec<Setting>,
    pub(crate) instructions: Vec<String>,
    pub(crate) parameters: Parameters,
}

impl Offer {
    /// Another summary than the table's.
    pub(crate) fn saying(summary: impl Into<String>) -> Self {
        Self { summary: Some(summary.into()), ..Self::default() }
    }

    /// Adds a shell command, which runs as it is.
    pub(crate) fn command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Adds configuration: where it goes, and the text.
    pub(crate) fn setting(mut self, r#where: &str, text: impl Into<String>) -> Self {
        self.settings.push(Setting { r#where: r#where.to_owned(), text: text.into() });
        self
    }

    /// Adds an instruction for a person.
    pub(crate) fn instruction(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Adds instructions.
    pub(crate) fn instructions(mut self, texts: impl Iterator<Item = String>) -> Self {
        self.instructions.extend(texts);
        self
    }

    /// Another source than the table's.
    pub(crate) fn citing(mut self, source: &'static str) -> Self {
        self.source = Some(source);
        self
    }

    /// Another risk than the table's.
    pub(crate) fn risking(mut self, risk: impl Into<String>) -> Self {
        self.risk = Some(risk.into());
        self
    }
}

/// A word of the evidence as one word of a POSIX shell: whatever it holds, it cannot leave its quotes.
/// Control characters, which a terminal could act on, become `?`.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./,:=+@%-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let word: String = word.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

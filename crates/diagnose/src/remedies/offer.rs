//! How an advice is carried out on this machine: shell commands, configuration, instructions.

use super::{Parameters, Setting};

/// The way in which an advice is carried out here, and the differences from the table.
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
    /// A summary that replaces the table's.
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

    /// A source that replaces the table's.
    pub(crate) fn citing(mut self, source: &'static str) -> Self {
        self.source = Some(source);
        self
    }

    /// A risk that replaces the table's.
    pub(crate) fn risking(mut self, risk: impl Into<String>) -> Self {
        self.risk = Some(risk.into());
        self
    }
}

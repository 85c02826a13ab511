//! One explanation: the entry in the tables, and the explanation in a report.

use serde::Serialize;

/// What an explanation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A clocksource by name.
    Clocksource,
    /// A cause id of the diagnosis.
    Cause,
    /// A kernel parameter, or one value of it.
    Parameter,
    /// A message of a kernel (or of a program that people paste with it).
    Message,
    /// A technical term.
    Term,
    /// What a cloud or vendor recommends.
    Policy,
    /// A remedy id of the diagnosis.
    Remedy,
    /// A rule of `vm lint`.
    Rule,
}

impl Kind {
    /// The word in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Clocksource => "clocksource",
            Self::Cause => "cause",
            Self::Parameter => "parameter",
            Self::Message => "message",
            Self::Term => "term",
            Self::Policy => "policy",
            Self::Remedy => "remedy",
            Self::Rule => "rule",
        }
    }
}

/// The explanation of one word or message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The word, or the message as the kernel prints it.
    pub title: String,
    /// What it is about.
    pub kind: Kind,
    /// What it is, in one to three sentences.
    pub what: String,
    /// The figures of the pasted message or parameter, decoded; empty for a word.
    pub figures: Vec<String>,
    /// In which kernels.
    pub versions: String,
    /// What it means for the reader.
    pub so_what: String,
    /// What to do, and what not to do.
    pub do_what: String,
    /// Other words that `explain` knows.
    pub see_also: Vec<String>,
    /// Where it was read.
    pub sources: Vec<String>,
}

/// One text of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Stable name; the first word except for messages.
    pub(super) id: &'static str,
    /// The title, then other words (for messages: other parts of the text) for the same entry.
    pub(super) words: &'static [&'static str],
    pub(super) what: &'static str,
    pub(super) versions: &'static str,
    pub(super) so_what: &'static str,
    pub(super) do_what: &'static str,
    pub(super) see_also: &'static [&'static str],
    pub(super) sources: &'static [&'static str],
}

impl Entry {
    /// The title.
    pub(super) fn title(&self) -> &'static str {
        self.words.first().copied().unwrap_or(self.id)
    }

    /// Whether a word (already folded by [`fold`]) matches this entry.
    pub(super) fn is(&self, folded: &str) -> bool {
        fold(self.id) == folded || self.words.iter().any(|word| fold(word) == folded)
    }

    /// The explanation, without figures.
    pub(super) fn explanation(&self, kind: Kind) -> Explanation {
        let owned = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect();
        Explanation {
            title: self.title().to_owned(),
            kind,
            what: self.what.to_owned(),
            figures: Vec::new(),
            versions: self.versions.to_owned(),
            so_what: self.so_what.to_owned(),
            do_what: self.do_what.to_owned(),
            see_also: owned(self.see_also),
            sources: owned(self.sources),
        }
    }
}

/// Normalises a spelling: case, quotes, final full stops and a function's `()` are ignored, and `-`, `_`, `=` and a
/// blank are the same.
pub(super) fn fold(word: &str) -> String {
    let quotes = ['"', '\'', '`', '*'];
    let trimmed = word.trim().trim_matches(quotes).trim_end_matches(['.', ':', ',', '?', '!']);
    let trimmed = trimmed.strip_suffix("()").unwrap_or(trimmed);
    let mut out = String::with_capacity(trimmed.len());
    for c in trimmed.chars() {
        let c = match c {
            '_' | '-' | '=' => ' ',
            c if c.is_whitespace() => ' ',
            c => c.to_ascii_lowercase(),
        };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn spellings_are_equal() {
        for word in ["tsc=reliable", "TSC reliable", "`tsc=reliable`", " tsc  =reliable."] {
            assert_eq!(fold(word), "tsc reliable", "{word}");
        }
        assert_eq!(fold("Processor.Max_CState"), "processor.max cstate");
    }
}

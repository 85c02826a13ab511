//! Shell scripts, read by a grammar that knows every construct or refuses the file: it alone
//! decides what may be edited. [`crate::shell`] reads any text, for findings; this reader is for
//! changes.
//!
//! The grammar has the constructs that POSIX shells and bash have in common, and bash's arrays, `[[`, `((` and
//! process substitutions. Sources: POSIX, Shell Command Language, 2.3 (tokens), 2.6 (expansions), 2.10
//! (grammar); bash(1).

mod compound;
mod grammar;
mod remark;
mod torn;
mod word;

#[cfg(test)]
mod tests;

use std::ops::Range;

/// The reason why a script cannot be edited: the first construct that is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Obstacle {
    /// Its place.
    pub(crate) at: usize,
    /// A description of it.
    pub(crate) what: String,
}

/// How a variable is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `$NAME` or `${NAME}`.
    Plain,
    /// `${NAME[@]}`.
    All,
    /// Anything else.
    Other,
}

/// A use of a variable in a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) name: String,
    pub(crate) form: Form,
    pub(crate) quoted: bool,
}

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The whole word, with its quotes.
    pub(crate) span: Range<usize>,
    /// Its text without quotes; an expansion is its source between two U+0001.
    pub(crate) text: String,
    /// The parts that are literal in the file, which may be edited.
    pub(crate) runs: Vec<Range<usize>>,
    /// Variables in its expansions.
    pub(crate) uses: Vec<Use>,
    /// Whether it has an expansion.
    pub(crate) expands: bool,
    /// Whether a shell may split it into several words, or expand it to names of files.
    pub(crate) splits: bool,
    /// Whether it extends over several lines.
    pub(crate) lines: bool,
}

impl Word {
    /// Returns its text, if it is only text.
    pub(crate) fn literal(&self) -> Option<&str> {
        (!self.expands && !self.splits).then_some(self.text.as_str())
    }

    /// Returns whether an edit is inside a part that may be edited.
    pub(crate) fn editable(&self, span: &Range<usize>) -> bool {
        !self.lines && self.runs.iter().any(|run| run.start <= span.start && span.end <= run.end)
    }
}

/// The value of an assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    One(Word),
    Array(Vec<Word>),
}

/// An assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assign {
    pub(crate) name: String,
    pub(crate) append: bool,
    pub(crate) value: Value,
}

/// The context of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nesting {
    /// In a branch of `if` or `case`, in the body of `while`, or after `&&` or `||`.
    pub(crate) branch: bool,
    /// In a command substitution.
    pub(crate) substitution: bool,
    /// In a function.
    pub(crate) function: bool,
    /// In the body of a loop.
    pub(crate) looped: bool,
    /// In a subshell, or a part of a pipeline.
    pub(crate) apart: bool,
    /// In a condition.
    pub(crate) condition: bool,
}

impl Nesting {
    /// Returns whether it is in none of these: then it always runs, and in the shell itself.
    pub(crate) fn is_outermost(self) -> bool {
        self == Self::default()
    }
}

/// The standard input of a command, where the script sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The output of the parts of a pipeline before it.
    Pipe(Range<usize>),
    /// A file, by `<`.
    File(Word),
    /// A text, by `<<<`.
    Text(Word),
}

/// A simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) span: Range<usize>,
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<Word>,
    /// Operators and targets of its redirections.
    pub(crate) redirects: Vec<(String, Word)>,
    pub(crate) place: Nesting,
    /// From its own redirection or from that of an enclosing command.
    pub(crate) input: Option<Input>,
    /// The place of the element after it, if it is a single element of a plain sequence and not the last one.
    pub(crate) next: Option<Range<usize>>,
}

/// A script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Script {
    /// The commands, in the order of their starts.
    pub(crate) commands: Vec<Command>,
    /// Names of functions.
    pub(crate) functions: Vec<String>,
    /// Texts of here-documents.
    pub(crate) documents: Vec<Range<usize>>,
    pub(crate) comments: Vec<Range<usize>>,
    /// Words that are not in a simple command: those of `for`, `case` and `[[`.
    pub(crate) others: Vec<Word>,
}

/// Reads a script.
///
/// # Errors
/// Returns the first construct that is not understood.
pub(crate) fn read(text: &str) -> Result<Script, Obstacle> {
    grammar::read(text)
}

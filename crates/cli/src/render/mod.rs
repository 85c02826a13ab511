//! Output for people: text in 80 columns, colour only on a terminal, or one JSON document.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod explain;
pub(crate) mod facts;
pub(crate) mod figures;
pub(crate) mod fix;
pub(crate) mod html;
pub(crate) mod known;
pub(crate) mod migrate;
pub(crate) mod policy;
pub(crate) mod predict;
pub(crate) mod verify;
pub(crate) mod vm;
pub(crate) mod vm_ci;
mod wall;
#[cfg(feature = "who")]
pub(crate) mod who;
pub(crate) mod why;

use crate::args::Common;
use crate::ui;
pub(crate) use crate::ui::out::{json, json_line, text};
use clocksmith_facts::visible::{self, Ink};
#[cfg(any(test, feature = "who"))]
pub(crate) use clocksmith_fleet::columns::WIDTH;
pub(crate) use clocksmith_fleet::columns::wrap;

/// Whether to use colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    ink: Option<Ink>,
}

impl Style {
    /// Colour only on a terminal, and only if nothing forbids it.
    pub(crate) fn of(common: &Common) -> Self {
        let forbidden = common.no_color
            || common.json
            || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty())
            || std::env::var_os("TERM").is_some_and(|v| v == "dumb");
        Self { ink: (!forbidden && ui::out::is_terminal()).then(Ink::of_run) }
    }

    /// Without colour.
    pub(crate) fn plain() -> Self {
        Self { ink: None }
    }

    /// Returns whether the output has no colours.
    pub(crate) fn is_plain(self) -> bool {
        self.ink.is_none()
    }

    fn paint(self, code: &str, text: &str) -> String {
        self.ink.map_or_else(|| text.to_owned(), |ink| ink.paint(code, text))
    }

    /// A heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Marks less important text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Good.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Look here.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Bad.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }
}

/// An error, with its chain of causes, on one or more lines.
pub(crate) fn error(error: &anyhow::Error) -> String {
    // A message is one line; a line break in it is that of a name.
    let mut text = format!("clocksmith: {}", visible::line(&error.to_string()));
    for cause in error.chain().skip(1) {
        let cause = visible::line(&cause.to_string()).into_owned();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    without_numbers(&text)
}

/// A message without the numbers of the system's errors, which their words repeat.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(')') {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                out.push_str(rest);
            }
            _ => {
                out.push_str(" (os error ");
                out.push_str(part);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_are_words_and_not_numbers() {
        let error = std::io::Error::from_raw_os_error(2);
        let text = super::error(&anyhow::Error::from(error).context("cannot open x"));
        assert_eq!(text, "clocksmith: cannot open x: No such file or directory");
        assert_eq!(without_numbers("a (os error 13): b (os error x)"), "a: b (os error x)");
    }
}

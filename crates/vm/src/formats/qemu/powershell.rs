//! `Start-Process` of PowerShell: its program and the list or the string of its arguments, with variables that the script
//! sets once.
//!
//! Source: about_Quoting_Rules, about_Operators (`+` joins strings), Start-Process (the elements of `-ArgumentList` are
//! joined by blanks).

use super::command::{Command, is_program};
use super::script::MOST_WORDS;
use crate::document::Document;
use crate::placed::{Placed, UNKNOWN};
use std::cell::Cell;

const NAME: &str = "start-process";
/// Options without a value.
const SWITCHES: [&str; 5] =
    ["-nonewwindow", "-wait", "-passthru", "-loaduserprofile", "-usenewenvironment"];
/// The limit of calls, and of variables within variables.
const MOST_CALLS: usize = 64;
/// The limit of uses of variables.
const MOST_USES: usize = 256;
const DEEPEST: usize = 4;

/// Whether a document is a script of PowerShell.
fn is(document: &Document) -> bool {
    let name = document.name.to_ascii_lowercase();
    name.ends_with(".ps1") || name.ends_with(".psm1")
}

/// Returns the QEMU command lines that the calls start; empty if one of them is not completely known.
pub(super) fn commands(document: &Document) -> Vec<Command> {
    let text = document.text.as_str();
    let lower = text.to_ascii_lowercase();
    if !is(document) || !lower.contains(NAME) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let left = Cell::new(MOST_USES);
    for (at, _) in lower.match_indices(NAME).take(MOST_CALLS) {
        let line = text.get(..at).and_then(|front| front.rsplit('\n').next()).unwrap_or_default();
        if line.contains('#') {
            continue;
        }
        let mut reader = Reader { text, at: at + NAME.len(), depth: 0, left: &left };
        let (program, words) = reader.call();
        let Some(program) = program else { continue };
        if !is_program(program.as_str()) {
            continue;
        }
        let Some(words) = words.map(|words| split(&words)) else { return Vec::new() };
        // Nothing in strings of another language is edited.
        out.push(Command {
            program: Some(program),
            words,
            apart: false,
            written: true,
            foreign: false,
        });
    }
    out
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// How many more uses of variables are read.
    left: &'a Cell<usize>,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks and continued lines.
    fn blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let continued = ["`\r\n", "`\n"].iter().find(|it| rest.starts_with(**it));
            match (blanks, continued) {
                (0, None) => return,
                (0, Some(end)) => self.at += end.len(),
                _ => self.at += blanks,
            }
        }
    }

    /// Skips blanks, lines and comments.
    fn lines(&mut self) {
        loop {
            self.blanks();
            let rest = self.rest();
            if rest.starts_with('#') {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with(['\n', '\r']) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    /// The program and the arguments of a call, as far as they are known.
    fn call(&mut self) -> (Option<Placed>, Option<Placed>) {
        let (mut program, mut words) = (None, Some(Placed::default()));
        let mut given = 0;
        loop {
            self.blanks();
            let rest = self.rest();
            if rest.is_empty() || rest.starts_with(['\n', '\r', ';', '|', '}', ')', '#']) {
                return (program, words);
            }
            let name = match rest.strip_prefix('-') {
                Some(_) => {
                    let length = rest.find(|c: char| c.is_whitespace() || c == ':');
                    let length = length.unwrap_or(rest.len());
                    self.at += length;
                    let name = rest.get(..length).unwrap_or_default().to_ascii_lowercase();
                    if SWITCHES.contains(&name.as_str()) {
                        continue;
                    }
                    name
                }
                None => {
                    given += 1;
                    let name = if given == 1 { "-filepath" } else { "-argumentlist" };
                    name.to_owned()
                }
            };
            // After a value that is not read, nothing is certain.
            let Some(value) = self.expression() else { return (program, None) };
            match name.as_str() {
                "-filepath" => program = Some(value),
                "-argumentlist" | "-args" => words = Some(value),
                _ => {}
            }
        }
    }

    /// Strings that are joined by `+`, or the elements of a list.
    fn expression(&mut self) -> Option<Placed> {
        let mut all = Placed::default();
        loop {
            self.blanks();
            all.append(&self.term()?);
            self.blanks();
            let rest = self.rest();
            let Some(operator) = rest.chars().next().filter(|c| matches!(c, ',' | '+')) else {
                return Some(all);
            };
            if operator == ',' {
                all.push(' ', self.at);
            }
            self.at += 1;
            self.lines();
        }
    }

    fn term(&mut self) -> Option<Placed> {
        let rest = self.rest();
        let c = rest.chars().next()?;
        match c {
            '"' => self.string(),
            '\'' => {
                let length = rest.get(1..)?.find('\'')?;
                let value = Placed::new(rest.get(1..=length)?, self.at + 1);
                self.at += length + 2;
                Some(value)
            }
            '@' | '(' => self.list(),
            '$' => self.variable(),
            _ if c.is_alphanumeric() || "./\\-".contains(c) => {
                let ends = |c: char| c.is_whitespace() || ",;)|}".contains(c);
                let length = rest.find(ends).unwrap_or(rest.len());
                let value = Placed::new(rest.get(..length)?, self.at);
                self.at += length;
                Some(value)
            }
            _ => None,
        }
    }

    /// A string whose variables are not known.
    fn string(&mut self) -> Option<Placed> {
        let mut value = Placed::default();
        self.at += 1;
        loop {
            let c = self.rest().chars().next()?;
            let start = self.at;
            self.at += c.len_utf8();
            match c {
                '"' => return Some(value),
                '`' => {
                    let next = self.rest().chars().next()?;
                    value.push(next, self.at);
                    self.at += next.len_utf8();
                }
                '$' => {
                    let rest = self.rest();
                    let name = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
                    let length = match rest.chars().next()? {
                        '(' => rest.find(')')? + 1,
                        '{' => rest.find('}')? + 1,
                        _ => rest.find(name).unwrap_or(rest.len()),
                    };
                    value.push(UNKNOWN, start);
                    self.at += length;
                }
                _ => value.push(c, start),
            }
        }
    }

    /// `@( ... )`: elements on lines of their own, or separated by commas.
    fn list(&mut self) -> Option<Placed> {
        let rest = self.rest();
        self.at += if rest.starts_with("@(") { 2 } else { usize::from(rest.starts_with('(')) };
        if self.rest().len() == rest.len() {
            return None;
        }
        // A command in brackets: what it prints is not known.
        self.lines();
        if rest.starts_with('(') && !self.rest().starts_with(['"', '\'', '$']) {
            return None;
        }
        let mut all = Placed::default();
        loop {
            self.lines();
            if self.rest().starts_with(')') {
                self.at += 1;
                return Some(all);
            }
            let at = self.at;
            all.append(&self.expression()?);
            all.push(' ', at);
            self.lines();
            if self.rest().starts_with(',') {
                self.at += 1;
            }
        }
    }

    /// A variable that is set once, and never extended.
    fn variable(&mut self) -> Option<Placed> {
        let rest = self.rest();
        let name = |c: char| !(c.is_alphanumeric() || c == '_');
        let length = rest.get(1..)?.find(name).unwrap_or(rest.len() - 1) + 1;
        let variable = rest.get(..length)?;
        if self.depth >= DEEPEST || length < 2 || rest.get(length..)?.starts_with(['.', '[', '(']) {
            return None;
        }
        self.left.set(self.left.get().checked_sub(1)?);
        let used = self.at;
        self.at += length;
        let mut values = Vec::new();
        for (at, _) in self.text.match_indices(variable) {
            let behind = self.text.get(at + length..)?;
            if behind.starts_with(|c: char| !name(c)) {
                continue;
            }
            let value = behind.trim_start_matches([' ', '\t']);
            if value.starts_with("+=") || value.starts_with(".Add") {
                return None;
            }
            if let Some(value) = value.strip_prefix('=').filter(|it| !it.starts_with('=')) {
                values.push(crate::text::offset(self.text, value));
            }
        }
        // Of several values of a program, each one may be used.
        let mut read = values.into_iter().map(|at| {
            let mut reader = Reader { text: self.text, at, depth: self.depth + 1, left: self.left };
            reader.blanks();
            reader.expression()
        });
        match (read.next(), read.next()) {
            (Some(value), None) => value.filter(|value| value.span().start < used),
            (Some(_), Some(_)) => {
                let last = self.last_program(variable);
                last.filter(|value| is_program(value.as_str()))
            }
            _ => None,
        }
    }

    /// The last of several values, if it is a string with the name of a program.
    fn last_program(&self, variable: &str) -> Option<Placed> {
        let (at, _) = self.text.match_indices(&format!("{variable} = ")).last()?;
        let mut reader = Reader {
            text: self.text,
            at: at + variable.len() + 3,
            depth: DEEPEST,
            left: self.left,
        };
        reader.blanks();
        reader.term()
    }
}

/// Splits arguments at blanks outside of quotes, and removes the quotes around a word.
fn split(arguments: &Placed) -> Vec<Placed> {
    let text = arguments.as_str();
    let mut out = Vec::new();
    let (mut start, mut quote) = (None, false);
    let mut add = |from: usize, to: usize| {
        let word = text.get(from..to).unwrap_or_default();
        let inner = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
        let edge = usize::from(inner.is_some());
        out.push(arguments.slice(from + edge..to - edge));
    };
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let blank = c.is_whitespace() && (!quote || at == text.len());
        match (blank, start) {
            (true, Some(from)) => {
                add(from, at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
        quote ^= c == '"';
    }
    out.truncate(MOST_WORDS);
    out
}

#[cfg(test)]
mod tests {
    use super::commands;
    use crate::document::Document;
    use crate::formats::Kind;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<String> {
        let text = format!("{text}\n#");
        let document = Document::of_kind("run.ps1", text.as_bytes(), Kind::Qemu).unwrap();
        let line = |command: super::Command| {
            let words: Vec<_> = command.words.iter().map(|it| it.as_str().to_owned()).collect();
            words.join("|")
        };
        commands(&document).into_iter().map(line).collect()
    }

    #[test]
    fn arguments_are_a_list_or_a_string() {
        for text in [
            "Start-Process -FilePath \"C:\\qemu\\qemu-system-x86_64.exe\" -ArgumentList \"-no-hpet\",\"-m\",\"1G\" -Wait\n",
            "$q = \"qemu-system-x86_64\"\nStart-Process $q -ArgumentList @(\n  '-no-hpet' # a\n  '-m', '1G'\n) -NoNewWindow\n",
            "$q = 'qemu-system-x86_64.exe'\n$a = \"-no-hpet \" +\n  \"-m 1G\"\n$p = start-process $q -PassThru -ArgumentList $a -WindowStyle Hidden\n",
            "$q = (Get-Command qemu-system-x86_64).Source\nif (-not $q) { $q = 'C:\\q\\qemu-system-x86_64.exe' }\nStart-Process $q `\n  -ArgumentList '-no-hpet -m 1G'\n",
        ] {
            assert_eq!(of(text), ["-no-hpet|-m|1G"], "{text}");
        }
        let quoted = "Start-Process qemu-system-x86_64 \"-drive `\"file=$d\\a b.img`\" -m 1G\"\n";
        assert_eq!(
            of(quoted),
            ["-drive|file=\u{1}\\a b.img|-m|1G".replace('\u{1}', &super::UNKNOWN.to_string())]
        );
    }

    #[test]
    fn what_is_not_known_is_left() {
        for text in [
            "$a = '-m 1G'\n$a += ' -no-hpet'\nStart-Process qemu-system-x86_64 $a\n",
            "# Start-Process qemu-system-x86_64 '-no-hpet'\n",
            "Start-Process notepad 'qemu-system-x86_64'\n",
            "Start-Process qemu-system-x86_64 -ArgumentList (Get-Content a.txt)\n",
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text(text in "(Start-Process |qemu |[$]a ?|[-\"'`+,@(){}\n=ä]){0,30}") {
            of(&text);
        }
    }
}

//! Decides whether a command line of a script starts a PC, with any arguments of the script: only a PC has the property
//! `hpet`. Other machine types refuse it, and QEMU does not start.

use super::options::{is_alone, is_pc_program};
use super::own::is_ordinary;
use super::script::Guard;
use crate::placed::UNKNOWN;
use crate::sh::{Assign, Command, Form, Nesting, Value, Word};
use crate::shell::name_length;

/// The first QEMU with `-machine hpet=` (hw/i386/pc.c pc_machine_set_hpet()).
const FIRST: (u32, u32) = (5, 2);

/// The QEMU version that the path of a program names: `/opt/qemu-4.2/bin/qemu-system-x86_64`.
fn version(program: &str) -> Option<(u32, u32)> {
    program.split('/').find_map(|part| {
        let (_, behind) = part.split_once("qemu")?;
        let start = behind.find(|c: char| c.is_ascii_digit())?;
        let number =
            behind.get(start..)?.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
        let mut numbers = number.split('.').map(|it| it.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    })
}

/// A word of a command line; U+0001 replaces each part that is known only when the script runs.
struct Item {
    text: String,
    /// Whether it may be any number of words: `"$@"`, `{a,b}`.
    spreads: bool,
}

impl Guard<'_> {
    /// Checks that a command certainly starts a PC; `first` is the place of its program.
    pub(super) fn is_pc(&self, command: &Command, first: usize) -> Result<(), String> {
        self.pc(command, first).map_err(|why| {
            format!(
                "line {}: only a run shows which machine it is and which clocks it has: {why}",
                self.line(command.span.start)
            )
        })
    }

    fn pc(&self, command: &Command, first: usize) -> Result<(), String> {
        let mut items = Vec::new();
        for word in command.words.iter().skip(first + 1) {
            self.items(word, command.span.start, &mut items);
        }
        let mut named = false;
        let mut items = items.iter().peekable();
        while let Some(item) = items.next() {
            let text = item.text.as_str();
            if !text.starts_with('-') {
                // A file name is one word, whatever its parts are; another unknown word may be options.
                let file = !text.starts_with(UNKNOWN) || text.contains(['/', '.']);
                if item.spreads || !file {
                    return Err("a word may have other options in it".to_owned());
                }
                continue;
            }
            if text.contains(UNKNOWN) {
                return Err("an option is not known".to_owned());
            }
            let name = text.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(text);
            if name == "-readconfig" {
                return Err("-readconfig may name it".to_owned());
            }
            let machine = matches!(name, "-machine" | "-M");
            let value = match items.peek() {
                _ if is_alone(name) => continue,
                Some(value) if machine || !value.text.starts_with('-') => items.next(),
                _ => None,
            };
            if value.is_some_and(|value| value.spreads) {
                return Err("a word may have other options in it".to_owned());
            }
            if machine {
                named |= type_of(value.map(|value| value.text.as_str()).unwrap_or_default())?;
            }
        }
        let program = command.words.get(first).and_then(Word::literal).unwrap_or_default();
        if version(program).is_some_and(|version| version < FIRST) {
            return Err("its path names a version of QEMU before 5.2".to_owned());
        }
        if named || is_pc_program(program) {
            Ok(())
        } else {
            Err("the program may have a default of its own".to_owned())
        }
    }

    /// The simple commands.
    fn commands(&self) -> &[Command] {
        &self.script.commands
    }

    /// Whether a variable has no meaning to the shell, and nothing changes it without its name.
    fn is_private(&self, name: &str) -> bool {
        is_ordinary(name) && self.open.is_none()
    }

    /// Returns how often a name is in the script, without its comments.
    fn count(&self, name: &str) -> usize {
        self.names.get(name).copied().unwrap_or(0)
    }

    /// The text between the comments.
    fn without_comments(&self) -> impl Iterator<Item = &str> {
        let text = self.document.text.as_str();
        let comments = self.script.comments.iter();
        let starts = std::iter::once(0).chain(comments.clone().map(|it| it.end));
        let ends = comments.map(|it| it.start).chain(std::iter::once(text.len()));
        starts.zip(ends).map(|(start, end)| text.get(start..end).unwrap_or_default())
    }

    /// Adds the words that a shell makes of one word.
    fn items(&self, word: &Word, before: usize, out: &mut Vec<Item>) {
        if let ([one], true) = (word.uses.as_slice(), is_one_expansion(word)) {
            if one.form == Form::All
                && !word.splits
                && let Some(elements) = self.elements(&one.name, before)
            {
                let of = |it: &&Word| Item { text: self.put_in(it, before), spreads: spreads(it) };
                out.extend(elements.iter().map(of));
                return;
            }
            if one.form == Form::Plain
                && !one.quoted
                && let Some(value) = self.constant(&one.name, before)
            {
                let of = |it: &str| Item { text: it.to_owned(), spreads: false };
                out.extend(value.split_ascii_whitespace().map(of));
                return;
            }
        }
        out.push(Item { text: self.put_in(word, before), spreads: spreads(word) });
    }

    /// Returns a word after the expansion of its known variables.
    fn put_in(&self, word: &Word, before: usize) -> String {
        let mut out = String::new();
        for (n, piece) in word.text.split('\u{1}').enumerate() {
            if n % 2 == 0 {
                out.push_str(piece);
                continue;
            }
            let name = piece.strip_prefix('$').map(|it| it.trim_matches(['{', '}']));
            let name = name.filter(|it| !it.is_empty() && name_length(it) == it.len());
            match name.and_then(|name| self.constant(name, before)) {
                Some(value) => out.push_str(value),
                None => out.push(UNKNOWN),
            }
        }
        out
    }

    /// Returns the value of a variable with a single value, assigned before a place.
    fn constant(&self, name: &str, before: usize) -> Option<&str> {
        match self.assigned(name, before, &["$", "${"])?.as_slice() {
            [Assign { append: false, value: Value::One(word), .. }] => word.literal(),
            _ => None,
        }
    }

    /// Returns the elements of an array with a single value, assigned before a place.
    fn elements(&self, name: &str, before: usize) -> Option<Vec<&Word>> {
        let assigns = self.assigned(name, before, &["${"])?;
        let mut all = Vec::new();
        for (n, assign) in assigns.into_iter().enumerate() {
            match &assign.value {
                Value::Array(words) if assign.append == (n > 0) => all.extend(words),
                _ => return None,
            }
        }
        Some(all)
    }

    /// Returns the assignments of a variable, if all of them are before a place, in plain sequence, and the script only
    /// reads it elsewhere.
    fn assigned(&self, name: &str, before: usize, signs: &[&str]) -> Option<Vec<&Assign>> {
        if !self.is_private(name) {
            return None;
        }
        let mut found = Vec::new();
        for command in self.commands() {
            for assign in command.assigns.iter().filter(|assign| assign.name == name) {
                let plain = command.words.is_empty()
                    && command.redirects.is_empty()
                    && command.place == Nesting::default();
                if !plain || command.span.end > before {
                    return None;
                }
                found.push(assign);
            }
        }
        let read = self.reads(name, signs);
        (!found.is_empty() && self.count(name) == found.len() + read).then_some(found)
    }

    /// Returns how often a variable's name occurs without a change of the variable: `$NAME`, `${NAME}`, `${NAME[@]}`,
    /// ` -NAME`.
    fn reads(&self, name: &str, signs: &[&str]) -> usize {
        let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let of = |text: &str| {
            let reads = |at: usize| {
                let (front, behind) = (text.get(..at), text.get(at + name.len()..));
                let (front, behind) = (front.unwrap_or_default(), behind.unwrap_or_default());
                match signs.iter().rev().find(|sign| front.ends_with(**sign)) {
                    Some(&"${") => behind.starts_with('}') || behind.starts_with("[@]}"),
                    Some(_) => !behind.starts_with(in_name),
                    // The letter of an option, such as -M.
                    None => [" -", "\t-", "\n-"].iter().any(|option| front.ends_with(option)),
                }
            };
            text.match_indices(name).filter(|(at, _)| reads(*at)).count()
        };
        self.without_comments().map(of).sum()
    }
}

/// Returns whether a word consists of one expansion.
fn is_one_expansion(word: &Word) -> bool {
    let inner = word.text.strip_prefix('\u{1}').and_then(|rest| rest.strip_suffix('\u{1}'));
    inner.is_some_and(|inner| !inner.contains('\u{1}'))
}

/// Returns whether a word may expand to several.
fn spreads(word: &Word) -> bool {
    let braces = word.splits && word.text.split('\u{1}').step_by(2).any(|it| it.contains('{'));
    let all = word.text.split('\u{1}').skip(1).step_by(2).any(|it| it.contains(['@', '*']));
    braces || all
}

/// Whether a value of `-machine` names the type, which must be a PC.
fn type_of(value: &str) -> Result<bool, String> {
    let mut named = false;
    for (n, part) in value.split(',').enumerate() {
        let (name, of) = match part.split_once('=') {
            Some((name, of)) => (name, of),
            None if n == 0 => ("type", part),
            None => (part, ""),
        };
        if name.contains(UNKNOWN) {
            return Err("a part of the value of -machine is not known".to_owned());
        }
        if name == "type" {
            let pc = matches!(of, "q35" | "pc")
                || ["pc-q35-", "pc-i440fx-"].iter().any(|family| of.starts_with(family));
            if !pc || of.contains(UNKNOWN) {
                return Err("the value of -machine is not pc, q35 or a version of them".to_owned());
            }
            named = true;
        }
    }
    Ok(named)
}

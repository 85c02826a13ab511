//! Changes of scripts of a shell.

use super::itself::own_text;
use super::options::{
    is_option, is_qemu, is_value, is_vboxmanage, options_of_set, prints, prints_script, program,
};
use super::own::{appends, divides_a_name, is_ordinary, names, only_reads, only_variables};
use super::tree::looks_around;
use super::used::{NOT_WHOLE, is_whole_array};
use crate::document::Document;
use crate::edit::Edit;
use crate::formats::Kind;
use crate::sh::{self, Assign, Command, Form, Script, Value, Word};
use crate::words::listed;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

/// Commands that may use a variable although its name is not in the script, or that read the script.
const REACHES: &str = "eval . source alias unalias trap compgen printenv mapfile readarray let enable builtin declare \
    typeset";

/// The facts about a script that decide on its changes.
pub(super) struct Guard<'a> {
    pub(super) document: &'a Document,
    pub(super) script: Script,
    /// How often each name is in it, without its comments.
    pub(super) names: HashMap<&'a str, usize>,
    /// The reason why no variable of it is edited.
    pub(super) open: Option<String>,
    /// The reason why no line of it is removed.
    lines: Option<String>,
    /// The ranges that search for nothing, computed at the first request.
    pub(super) understood: OnceCell<Vec<Range<usize>>>,
    /// The result of the check for commands that read a text that may be changed, computed at the first request.
    pub(super) looked: OnceCell<Result<(), String>>,
    /// Commands that start a machine, by their words, and the start of one of each, computed at the first request.
    pub(super) started: OnceCell<HashMap<String, usize>>,
}

/// The place of an edit.
pub(super) enum Spot<'s> {
    Word(&'s Command, usize),
    Assigned(&'s Command, &'s Assign),
    Nowhere,
}

impl<'a> Guard<'a> {
    /// Reads a script.
    pub(super) fn new(document: &'a Document) -> Result<Self, String> {
        let text = document.text.as_str();
        let line = |at: usize| document.text.place(at).line;
        let script = sh::read(text).map_err(|obstacle| {
            format!(
                "line {} has {}, so it is not certain what the script does",
                line(obstacle.at),
                obstacle.what
            )
        })?;
        let names = names(text, &script);
        let has = |name: &str| names.contains_key(name);
        for mark in ["$_ ", "$_\n", "$_\"", "$_;", "${_}", "BASH_COMMAND"] {
            if text.contains(mark) {
                return Err("the script looks at its own commands ($_ or BASH_COMMAND)".to_owned());
            }
        }
        let mut open = None;
        for command in &script.commands {
            let said = |what: &str| format!("line {}: {what}", line(command.span.start));
            let Some(first) = command.words.first() else { continue };
            let name = first.literal();
            if matches!(name, Some("alias")) {
                return Err(said("an alias may change what a command is"));
            }
            if name == Some("set") && prints_script(options_of_set(&command.words)) {
                return Err(said("`set -v` prints the script"));
            }
            if matches!(name, Some("type" | "declare" | "typeset"))
                && command
                    .words
                    .iter()
                    .any(|word| matches!(word.text.as_str(), "-f" | "-p" | "-fp"))
            {
                return Err(said("the script prints its own functions or variables"));
            }
            let reach = match name {
                None => Some("a command that only a run shows".to_owned()),
                Some("set") => {
                    let flags = |word: &Word| {
                        let text = word.literal().unwrap_or("-a");
                        text == "pipefail"
                            || text.strip_prefix(['-', '+']).is_some_and(|it| {
                                !it.is_empty() && it.chars().all(|c| "euxo".contains(c))
                            })
                    };
                    let plain =
                        command.words.len() > 1 && options_of_set(&command.words).iter().all(flags);
                    (!plain).then(|| "`set`".to_owned())
                }
                Some(name) if listed(REACHES, name) => Some(format!("`{name}`")),
                _ => None,
            };
            if let (Some(what), None) = (reach, &open) {
                open = Some(said(&format!("{what} may use any variable")));
            }
        }
        own_text(document, &script)?;
        looks_around(document, &script)?;
        if open.is_none() && (text.contains("${!") || has("IFS")) {
            open = Some("the script has IFS or ${!...}, which may use any variable".to_owned());
        }
        if open.is_none() && divides_a_name(text) {
            open = Some("a continued line may divide the name of a variable".to_owned());
        }
        let status = ["$?", "${?", "PIPESTATUS", "LINENO", "pipestatus"]
            .into_iter()
            .find(|mark| text.contains(mark));
        let lines = status
            .map(|mark| format!("the script looks at {mark}, which a removed command may change"));
        Ok(Self {
            document,
            script,
            names,
            open,
            lines,
            understood: OnceCell::new(),
            looked: OnceCell::new(),
            started: OnceCell::new(),
        })
    }

    pub(super) fn line(&self, at: usize) -> u32 {
        self.document.text.place(at).line
    }

    /// Decides on one change; it may be moved after the closing quote of a word.
    pub(super) fn one(&self, edit: &Edit) -> Result<Edit, String> {
        let plain =
            edit.with.chars().all(|c| c.is_ascii_alphanumeric() || "_./:,@%+=- ".contains(c));
        let quoted = self.document.kind == Kind::Persistence && edit.with.starts_with('\'');
        if !plain && !quoted {
            return Err("what would be written has quotes".to_owned());
        }
        if self.document.kind == Kind::Virtualbox {
            self.extradata(edit)?;
        }
        let removed = self.document.kind == Kind::Virtualbox && edit.with.is_empty();
        let certain = match self.spot(&edit.span) {
            _ if removed => self.removed(edit)?,
            Spot::Word(command, index) => self.in_word(command, index, edit)?,
            Spot::Assigned(command, assign) => self.in_variable(command, assign, edit)?,
            Spot::Nowhere => return Err(self.elsewhere(&edit.span)),
        };
        self.looked_for(edit)?;
        Ok(certain)
    }

    /// Returns whether only closing quotes follow a place in a word, so that text inserted there is appended to the
    /// whole word.
    fn ends_at(&self, word: &Word, at: usize) -> bool {
        let rest = self.document.text.as_str().get(at..word.span.end).unwrap_or("?");
        rest.replace("\\\n", "").chars().all(|c| matches!(c, '"' | '\''))
    }

    /// Decides on a change in a file of settings, such as GRUB's.
    pub(super) fn setting(&self, edit: &Edit) -> Result<Edit, String> {
        let cannot = |what: &str| Err(format!("line {}: {what}", self.line(edit.span.start)));
        match self.spot(&edit.span) {
            Spot::Assigned(command, Assign { name, value: Value::One(word), .. }) => {
                let place = command.place;
                let exported =
                    matches!(command.words.as_slice(), [word] if word.literal() == Some("export"));
                if !place.is_outermost() {
                    return cannot("the assignment may not run");
                }
                if !(command.words.is_empty() || exported) {
                    return cannot("something other than an assignment");
                }
                let bare = edit.span == command.span && !name.starts_with("GRUB_");
                let within = word.editable(&edit.span) && name.starts_with("GRUB_CMDLINE");
                if bare || within { Ok(edit.clone()) } else { cannot("not a plain text in quotes") }
            }
            Spot::Assigned(..) | Spot::Word(..) => cannot("something other than NAME=VALUE"),
            Spot::Nowhere => Err(self.elsewhere(&edit.span)),
        }
    }

    /// Returns the word or the assignment that contains a place.
    pub(super) fn spot(&self, span: &Range<usize>) -> Spot<'_> {
        let commands = &self.script.commands;
        let after = commands.partition_point(|command| command.span.start <= span.start);
        let before = commands.get(..after).unwrap_or_default();
        // Commands of substitutions are inside others; at most this many of them are skipped.
        let Some(command) = before.iter().rev().take(64).find(|c| span.end <= c.span.end) else {
            return Spot::Nowhere;
        };
        let inside = |word: &Word| word.span.start <= span.start && span.end <= word.span.end;
        if let Some(index) = command.words.iter().position(inside) {
            return Spot::Word(command, index);
        }
        let assigned = command.assigns.iter().find(|assign| match &assign.value {
            Value::One(word) => inside(word) || *span == command.span,
            Value::Array(words) => words.iter().any(inside),
        });
        assigned.map_or(Spot::Nowhere, |assign| Spot::Assigned(command, assign))
    }

    fn elsewhere(&self, span: &Range<usize>) -> String {
        let within = |ranges: &[Range<usize>]| {
            ranges.iter().any(|it| it.start <= span.start && span.end <= it.end)
        };
        let what = if within(&self.script.documents) {
            "in a here-document"
        } else if within(&self.script.comments) {
            "in a comment"
        } else {
            "not in one word of one command"
        };
        format!("line {}: the text is {what}", self.line(span.start))
    }

    /// Checks that a command passes its words to the program unchanged, and returns the place of the program.
    fn direct(&self, command: &Command) -> Result<usize, String> {
        let line = self.line(command.span.start);
        let place = command.place;
        if place.substitution {
            return Err(format!("line {line}: the command is in a command substitution"));
        }
        if place.branch {
            return Err(format!("line {line}: the command runs only in a branch"));
        }
        let is = match self.document.kind {
            Kind::Qemu => is_qemu,
            Kind::Virtualbox => is_vboxmanage,
            _ => prints,
        };
        let words = &command.words;
        let found = if self.document.kind == Kind::Qemu {
            program(words, is)
        } else {
            words.first().and_then(Word::literal).filter(|name| is(name)).map(|_| 0)
        };
        let Some(first) = found else {
            // Other commands may use the variable's value.
            let named = words.first().filter(|word| word.literal().is_none());
            if let Some(name) = named.and_then(|word| self.program_in(word)) {
                return Err(format!(
                    "line {line}: the program of the command is the value of {name}, and such a command is not edited"
                ));
            }
            return Err(format!(
                "line {line}: the text is in another command, or the program of the command is known only at \
                 run time"
            ));
        };
        for word in words.get(..=first).unwrap_or_default() {
            if let Some(name) = self.script.functions.iter().find(|name| word.text == **name) {
                return Err(format!("line {line}: {name} is a function of the script"));
            }
        }
        Ok(first)
    }

    /// Returns the variable that is a word, if one of its values is the name of QEMU.
    fn program_in<'w>(&self, word: &'w Word) -> Option<&'w str> {
        let [one] = word.uses.as_slice() else { return None };
        let assigns = self.script.commands.iter().flat_map(|it| &it.assigns);
        let mut values =
            assigns.filter(|it| it.name == one.name).filter_map(|it| match &it.value {
                Value::One(value) => value.literal(),
                Value::Array(_) => None,
            });
        values.any(is_qemu).then_some(one.name.as_str())
    }

    fn in_word(&self, command: &Command, index: usize, edit: &Edit) -> Result<Edit, String> {
        let first = self.direct(command)?;
        let line = self.line(edit.span.start);
        let Some(word) = command.words.get(index) else { return Err("no such word".to_owned()) };
        if self.document.kind == Kind::Qemu && is_hpet(edit) {
            self.is_pc(command, first)?;
        }
        if word.lines {
            return Err(format!("line {line}: the text spans several lines"));
        }
        let whole = self.document.kind == Kind::Persistence
            && edit.span == word.span
            && word.literal().is_some();
        if !word.editable(&edit.span) && !whole {
            return Err(format!("line {line}: the text is a part of an expansion, or has escapes"));
        }
        match self.document.kind {
            Kind::Qemu if index == first => Err(format!("line {line}: the text is the program")),
            Kind::Qemu => {
                let whole = edit.span == word.span && is_option(&command.words, index, first + 1);
                if whole && is_gone(&word.text) {
                    return Ok(edit.clone());
                }
                let value = is_value(&command.words, index, first + 1);
                if appends(edit) && !self.ends_at(word, edit.span.end) {
                    return Err(format!("line {line}: the value continues after its last part"));
                }
                if edit.with.contains(' ') || !value || (word.splits && !only_variables(word)) {
                    return Err(format!(
                        "line {line}: the text is not the plain value of one option"
                    ));
                }
                Ok(edit.clone())
            }
            Kind::Virtualbox if edit.with.contains(' ') || word.splits => {
                Err(format!("line {line}: the text is not one plain word"))
            }
            Kind::Virtualbox => Ok(edit.clone()),
            _ => {
                let written = command
                    .redirects
                    .iter()
                    .any(|(operator, target)| operator.ends_with('>') && !target.text.is_empty());
                if !written || command.place.apart {
                    return Err(format!("line {line}: what is printed goes to another command"));
                }
                Ok(edit.clone())
            }
        }
    }

    fn in_variable(&self, command: &Command, assign: &Assign, edit: &Edit) -> Result<Edit, String> {
        let line = self.line(edit.span.start);
        let name = assign.name.as_str();
        let cannot =
            |why: &str| Err(format!("line {line}: the text is the value of {name}, {why}"));
        if self.document.kind != Kind::Qemu {
            return cannot("and variables are edited only for options of QEMU");
        }
        let place = command.place;
        if !command.words.is_empty() || !command.redirects.is_empty() {
            return cannot("which a command gets or declares");
        }
        if !place.is_outermost() {
            return cannot("which is assigned only in a branch, a loop or a function");
        }
        if !is_ordinary(name) {
            return cannot("which has a meaning to the shell");
        }
        if let Some(why) = &self.open {
            return cannot(&format!("and {why}"));
        }
        let assigned: Vec<&Assign> = self
            .script
            .commands
            .iter()
            .flat_map(|c| &c.assigns)
            .filter(|a| a.name == name)
            .collect();
        let used = match self.used_once(command, assign) {
            Ok(used) => used,
            Err(why) => return cannot(&why),
        };
        if self.names.get(name).copied() != Some(assigned.len() + 1) {
            return cannot("which is also used or changed in another place");
        }
        let (user, around, index) = (used.user, used.words, used.index);
        let first = self.direct(user)?;
        if used.at <= first {
            return cannot(NOT_WHOLE);
        }
        if is_hpet(edit) {
            self.is_pc(user, first)?;
        }
        let Some(word) = around.get(index) else { return cannot("which is used elsewhere") };
        match &assign.value {
            Value::One(value) => {
                let whole = value.literal().is_some_and(|it| {
                    it.chars().all(|c| c.is_ascii_alphanumeric() || "_./:,@%+=-".contains(c))
                });
                if assigned.len() != 1 || assign.append || !whole || !value.editable(&edit.span) {
                    return cannot("which is made of several parts");
                }
                if appends(edit) && !self.ends_at(value, edit.span.end) {
                    return cannot("which continues after its last part");
                }
                if !is_value(around, index, used.from(first))
                    || word.uses.iter().any(|it| it.form != Form::Plain)
                {
                    return cannot("which is not the plain value of one option where it is used");
                }
                if edit.with.contains(' ') || (word.splits && !only_variables(word)) {
                    return cannot("which a shell may split where it is used");
                }
                Ok(edit.clone())
            }
            Value::Array(words) => {
                if !is_whole_array(word, &assigned, name) {
                    return cannot(NOT_WHOLE);
                }
                let inside = |word: &Word| {
                    word.span.start <= edit.span.start && edit.span.end <= word.span.end
                };
                let Some(at) = words.iter().position(inside) else {
                    return cannot("of which it is not a word");
                };
                let Some(element) = words.get(at) else {
                    return cannot("of which it is not a word");
                };
                let removed =
                    edit.span == element.span && is_option(words, at, 0) && is_gone(&element.text);
                let end = !appends(edit) || self.ends_at(element, edit.span.end);
                let plain = !edit.with.contains(' ') && !element.splits;
                let value = is_value(words, at, 0) && plain && end;
                if (removed || value) && element.editable(&edit.span) {
                    return Ok(edit.clone());
                }
                cannot("in which it is not the plain value of one option")
            }
        }
    }

    /// Decides on the removal of a line with one command.
    fn removed(&self, edit: &Edit) -> Result<Edit, String> {
        let line = self.line(edit.span.start);
        let cannot = |why: &str| Err(format!("line {line}: {why}"));
        let text = self.document.text.as_str();
        let found = self
            .script
            .commands
            .iter()
            .find(|c| edit.span.start <= c.span.start && c.span.start < edit.span.end);
        let Some(command) = found else { return cannot("the text is not one command") };
        let inside =
            text.get(edit.span.start..command.span.start).is_some_and(|it| it.trim().is_empty())
                && text.get(command.span.end..edit.span.end).is_some_and(|it| it.trim().is_empty());
        if !inside || command.span.end > edit.span.end {
            return cannot("the line has more than the command");
        }
        self.direct(command)?;
        let plain = command.assigns.is_empty() && command.redirects.is_empty();
        if !plain || !command.words.iter().all(only_reads) {
            return cannot("the command has more than plain words");
        }
        let place = command.place;
        let Some(next) =
            command.next.clone().filter(|_| !place.condition && !place.looped && !place.apart)
        else {
            return cannot(
                "the command is the last one of its list, or is not in a plain sequence of commands",
            );
        };
        if let Some(why) = &self.lines {
            return cannot(why);
        }
        let after = text.get(next).unwrap_or_default();
        let first = after.split([' ', ';', '\n']).next().unwrap_or_default();
        if matches!(first, "return" | "exit") {
            return cannot("the command after it gives its status to the caller");
        }
        Ok(edit.clone())
    }

    /// Returns whether another script does the same, except for the words of the edited commands.
    pub(super) fn same_but_for_values(&self, other: &Self) -> bool {
        let edited = |command: &Command| {
            let name = |word: &Word| {
                let text = word.literal().unwrap_or_default();
                is_qemu(text) || is_vboxmanage(text) || prints(text)
            };
            command.words.iter().any(name)
        };
        let shape = |command: &Command| {
            let assigns: Vec<(String, bool)> =
                command.assigns.iter().map(|a| (a.name.clone(), a.append)).collect();
            let words: Vec<String> = match edited(command) {
                true => Vec::new(),
                false => command.words.iter().map(|word| word.text.clone()).collect(),
            };
            let targets: Vec<String> =
                command.redirects.iter().map(|(it, to)| format!("{it}{}", to.text)).collect();
            (assigns, words, targets, command.place)
        };
        let removable = |command: &&Command| {
            let is = |index: usize, name: &str| {
                command.words.get(index).is_some_and(|word| word.text.eq_ignore_ascii_case(name))
            };
            !(is(0, "VBoxManage") && is(1, "setextradata"))
        };
        let all = |script: &Script| {
            script.commands.iter().filter(removable).map(shape).collect::<Vec<_>>()
        };
        let texts = |guard: &Self, ranges: &[Range<usize>]| {
            let text = guard.document.text.as_str();
            ranges
                .iter()
                .map(|it| text.get(it.clone()).unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        all(&self.script) == all(&other.script)
            && self.script.functions == other.script.functions
            && texts(self, &self.script.documents) == texts(other, &other.script.documents)
            && texts(self, &self.script.comments) == texts(other, &other.script.comments)
    }
}

/// Returns whether a change removes the HPET: other options may select another machine, or remove its better clock.
fn is_hpet(edit: &Edit) -> bool {
    edit.with == "off" || edit.with.contains("hpet=off")
}

/// Returns whether a word is an option that QEMU 9.0 removed, and which is replaced by another one.
fn is_gone(word: &str) -> bool {
    matches!(word.trim_start_matches('-'), "no-hpet" | "no-acpi")
}

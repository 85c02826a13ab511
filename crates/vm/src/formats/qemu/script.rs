//! Finds the command lines in statements.

use super::appended::Helpers;
use super::argument;
use super::batch::Variables as Batch;
use super::beginnings;
use super::branches::{Branches, conditions, united};
use super::called::Functions;
use super::command::{Command, closed, command, is_program, strong};
use super::constants::{self, unchained};
use super::guards::{asking, may_ask, taken_out};
use super::line::Line;
use super::pooled::{self, Pooled};
use super::printed::{in_call, talks};
use super::reach::Reach;
use super::spaced::spaced;
use super::variables::Variables;
use super::{machine, manifest, nix, powershell, python, together};
use crate::certain::{is_python, is_shell, is_yaml};
use crate::document::Document;
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Piece, Statement, Word, is_unit, name_length, statements};
use std::ops::Range;

/// The most words of one command line.
pub(super) const MOST_WORDS: usize = 4096;
/// The most command lines of one file, with each value that a variable may have.
const MOST_COMMANDS: usize = 256;
/// The limit of command lines of a file whose variables are compared.
const MOST_COMPARED: usize = 512;
/// The limit of ranges that run under conditions.
const MOST_CONDITIONS: usize = 2048;
/// The limit of newer spellings of options.
const MOST_NEWER: usize = 64;

/// The command lines of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) commands: Vec<Command>,
    /// The branches; only one of each condition runs.
    pub(crate) branches: Branches,
    /// The ranges that run only under a condition.
    conditional: Vec<Range<usize>>,
    /// The parts that may not run.
    reach: Reach,
    /// Whether any condition queries a version of QEMU or a feature of the host.
    pub(crate) asks: bool,
    /// The ranges that run only after a condition that queried a version or a feature.
    asking: Vec<Range<usize>>,
    /// Assignments from which such a range removes words.
    taken_out: Vec<Range<usize>>,
    /// The places of options in the spelling of newer versions.
    newer: Vec<usize>,
    /// Whether the script is larger than the part that is read: a missing option may be there nevertheless.
    pub(crate) cut: bool,
    /// The call of a function that gets QEMU options, and whose use of them is not known.
    pub(crate) helper: Option<Range<usize>>,
    /// The statements, grouped by command line, because no command was found.
    pooled: Pooled,
    /// The numbers of command lines that only begin the value of another variable.
    begun: Vec<usize>,
    /// The variables, if it is a batch file.
    batch: Batch,
}

impl Script {
    /// Returns whether the text at an offset runs under a condition that does not apply to the command.
    pub(crate) fn conditional(&self, command: &Command, at: usize) -> bool {
        let home = command.program.as_ref().map_or(usize::MAX, |program| program.span().start);
        self.cut || self.sometimes(at, home)
    }

    /// Returns whether one position runs only under a condition that does not apply to another one.
    pub(crate) fn sometimes(&self, at: usize, beside: usize) -> bool {
        self.conditional.iter().any(|range| range.contains(&at) && !range.contains(&beside))
    }

    /// Returns whether a command line that starts certainly has one of these options, each with the places of its words. Options
    /// that were only collected may be of another machine.
    pub(crate) fn certainly(&self, command: &Command, line: &Line, options: &[[usize; 2]]) -> bool {
        let cpu = line.cpus_at.last().copied();
        let home = command.program.as_ref().map(|program| program.span().start);
        let beside: Vec<usize> = home.into_iter().chain(cpu).collect();
        let sure = |place: &[usize; 2]| {
            let one = cpu.is_none_or(|cpu| self.pooled.joins(cpu, place[0]));
            one && !place.iter().any(|at| self.reach.optional(*at, &beside))
        };
        options.iter().any(|place| self.cut || sure(place))
    }

    /// Returns whether two words certainly belong to one command: words of several statements may only have been
    /// collected.
    pub(crate) fn of_one(&self, command: &Command, first: usize, last: usize) -> bool {
        command.program.is_some() || self.pooled.of_one(first, last)
    }

    /// Returns whether the text at an offset runs only after a version or a feature was queried.
    pub(crate) fn asked(&self, at: usize) -> bool {
        self.cut || self.asking.iter().any(|range| range.contains(&at))
    }

    /// Returns whether the text at an offset is in a value from which a later query of a version or a feature takes words.
    pub(crate) fn taken_out(&self, at: usize) -> bool {
        self.taken_out.iter().any(|range| range.contains(&at))
    }

    /// Returns whether another branch of the condition around an offset has the same option in the spelling of newer
    /// versions.
    pub(crate) fn newer(&self, at: usize) -> bool {
        self.newer.iter().any(|other| self.branches.apart(at, *other))
    }

    /// Reads a document by its language.
    pub(crate) fn of(document: &Document) -> Self {
        let text = document.text.as_str();
        if is_yaml(document) {
            let mut script = Self::read(&manifest::joined(text));
            let lists = manifest::commands(text);
            if !lists.is_empty() {
                // Options without a program are those of the lists.
                script.commands.retain(|command| command.program.is_some());
                script.commands.extend(lists);
                script.commands.truncate(MOST_COMMANDS);
            }
            return script;
        }
        if !is_python(document) {
            let mut script = match is_shell(document) {
                true => Self::read(text),
                false => Self::read(&spaced(&unchained(text))),
            };
            // Words that were only collected are those of a call.
            let called = powershell::commands(document);
            if !called.is_empty() && script.commands.iter().all(|it| it.program.is_none()) {
                script.commands = called;
            }
            return script;
        }
        let mut script = Self { commands: python::commands(text), ..Self::default() };
        script.commands.truncate(MOST_COMMANDS);
        if script.commands.is_empty() {
            // A command line of a shell in a text of several lines.
            let plain = Self::read(text);
            if plain.commands.iter().any(|command| command.program.is_some()) {
                return plain;
            }
            let words = python::pool(text);
            if words.iter().any(|word| strong(word.as_str())) {
                script.commands.push(Command {
                    program: None,
                    words,
                    apart: false,
                    written: false,
                    foreign: machine::names_only_foreign(text),
                });
            }
        }
        script
    }

    /// Reads a file: a script, a unit, a Makefile, or options alone.
    pub(crate) fn read(text: &str) -> Self {
        Self::read_with(text, true)
    }

    /// `helpers`: whether functions that write a command line are read.
    fn read_with(text: &str, helpers: bool) -> Self {
        let statements = statements(text);
        let conditional = conditions(&statements);
        let branches = Branches::of(text, &statements);
        let all = united(&conditional);
        let mut script =
            Self { cut: conditional.len() > MOST_CONDITIONS, branches, ..Self::default() };
        script.reach = Reach::of(text, &statements, &conditional);
        script.conditional = conditional.into_iter().take(MOST_CONDITIONS).collect();
        let spelled = ["hpet=off", "acpi=off"].iter().flat_map(|it| text.match_indices(it));
        script.batch = Batch::of(text);
        script.newer = spelled.map(|(at, _)| at).take(MOST_NEWER).collect();
        script.asks = text.contains("/proc/cpuinfo") || text.contains("--version");
        if script.asks || may_ask(text) {
            script.asking = asking(text, &statements);
            script.cut |= script.asking.len() > MOST_CONDITIONS;
            script.asking.truncate(MOST_CONDITIONS);
            script.taken_out = taken_out(text, &statements, &script.asking);
        }
        let mut variables = Variables::default();
        // The environment of a unit applies to its commands, wherever it is set.
        if is_unit(text) {
            let named = |statement: &&Statement| {
                let first = statement.words.first().and_then(|word| word.pieces.first());
                matches!(first, Some(Piece::Literal(text)) if text.as_str().starts_with("Environment="))
            };
            for statement in statements.iter().filter(named) {
                variables.assign(statement, false);
            }
        }
        let mut helpers = match helpers {
            true => Helpers::of(text, &statements),
            false => Helpers::default(),
        };
        let functions = Functions::of(text, &statements);
        let (mut told, mut alone) = (None, None);
        let begins = beginnings::of(&statements);
        let (mut separators, mut compared) = (Vec::new(), 0);
        for (number, statement) in statements.iter().enumerate() {
            // The words of an array are joined as IFS is at this place, whatever it is later.
            separators.resize(number, variables.separator());
            if helpers.inside(number) {
                continue;
            }
            let at = begin(statement);
            let before = all.partition_point(|range| range.start <= at);
            let under = before.checked_sub(1).and_then(|n| all.get(n)).is_some_and(|r| at < r.end);
            let rest = variables.assign(statement, under);
            if script.commands.len() >= MOST_COMMANDS {
                script.cut = true;
                break;
            }
            if helpers.any() && helpers.take(&mut variables, rest) {
                continue;
            }
            functions.follow(number, &mut variables);
            if functions.chooses(statement) {
                continue;
            }
            let expanded = variables.expand(rest, None);
            if let Some(at) = argument::of_script(&expanded) {
                told.get_or_insert(at);
                continue;
            }
            alone = alone.or_else(|| argument::in_variables(&expanded));
            let first = script.commands.len();
            let program = expanded.iter().any(|word| is_program(word.as_str()));
            let named = !variables.named(rest).is_empty();
            compared += usize::from(program || named);
            let crossed = program
                && compared <= MOST_COMPARED
                && together::crossed(rest, &variables, &script.branches);
            if !crossed {
                script.take(&expanded);
            }
            let taken = script.commands.len();
            script.in_strings(text, &variables, statement);
            if beginnings::sets(statement).is_some_and(|name| begins.contains(name)) {
                script.begun.extend(taken..script.commands.len());
            }
            let other = crossed || compared <= MOST_COMPARED && named;
            let read = script.commands.len();
            for way in other
                .then(|| together::ways(rest, &variables, &script.branches))
                .into_iter()
                .flatten()
            {
                script.take(&way);
            }
            if crossed && script.commands.len() == read {
                script.take(&expanded);
            }
            script.alternatives_from(first);
        }
        script.drop_begun();
        script.cut |= helpers.cut || compared > MOST_COMPARED;
        for written in helpers.written() {
            script.written(written);
        }
        script.helper = helpers.unknown(&statements).or(told);
        if script.commands.is_empty() {
            script.pool(text, &mut variables, &statements, &separators);
        }
        if script.commands.is_empty() {
            script.helper = script.helper.or(alone);
        }
        if script.commands.iter().all(|command| command.program.is_none()) {
            script.helper = script.helper.or_else(|| nix::options(text));
        }
        let words = nix::words(text);
        if !words.is_empty() {
            // NixOS appends them to a command line of its own.
            script.commands.retain(|command| command.program.is_some());
            let (program, apart, written, foreign) = (None, false, true, false);
            script.commands.push(Command { program, words, apart, written, foreign });
        }
        let foreign = machine::names_only_foreign(text);
        script.commands.iter_mut().for_each(|command| command.foreign = foreign);
        script.cut |= variables.exhausted();
        script
    }

    /// Adds the command lines in a text that functions of the script write.
    fn written(&mut self, text: &Placed) {
        for mut command in Self::read_with(text.as_str(), false).commands {
            command.program = command.program.map(|program| program.through(text));
            command.words = command.words.into_iter().map(|word| word.through(text)).collect();
            command.written = true;
            self.commands.extend(self.branches.alternatives(command));
            self.commands.truncate(MOST_COMMANDS);
        }
    }

    fn take(&mut self, words: &[Placed]) {
        if let Some(command) = command(&self.batch.words(words))
            && self.commands.len() < MOST_COMMANDS
        {
            self.commands.extend(self.branches.alternatives(command));
            self.commands.truncate(MOST_COMMANDS);
        }
    }

    /// Removes the values that only begin those of other variables, if these were read.
    fn drop_begun(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        if begun.len() < self.commands.len() {
            let mut number = 0..;
            self.commands.retain(|_| number.next().is_none_or(|it| !begun.contains(&it)));
        }
    }

    /// Marks the command lines from a number on, which are one line with several values of its variables: if one of
    /// them chooses what runs the guest, the others do not show that nothing does.
    fn alternatives_from(&mut self, first: usize) {
        let Some(all) = self.commands.get_mut(first..).filter(|all| all.len() > 1) else { return };
        let chooses = |command: &Command| Line::of_words(&command.words).kvm().is_some();
        if all.iter().any(chooses) {
            all.iter_mut().filter(|it| !chooses(it)).for_each(|it| it.apart = true);
        }
    }

    /// Reads command lines inside a string: `CMD="qemu-system-x86_64 ..."`, `sh -c "..."`, `eval "..."`.
    fn in_strings(&mut self, source: &str, variables: &Variables, statement: &Statement) {
        let words = statement.words.iter().map(|word| word.literal().unwrap_or_default());
        if talks(words) || self.commands.len() >= MOST_COMMANDS {
            return;
        }
        for word in &statement.words {
            let whole = word.pieces.iter().any(|piece| {
                matches!(piece, Piece::Literal(text) if text.as_str().contains(' ') && names_program(text.as_str()))
            });
            if !whole || in_call(source, word.span.start) {
                continue;
            }
            let mut text = Placed::default();
            word.pieces.iter().for_each(|piece| variables.piece(piece, None, &mut text));
            let assigned = text
                .as_str()
                .find('=')
                .filter(|n| name_length(text.as_str()) == *n)
                .map_or(0, |n| n + 1);
            // A list of another language opens before it.
            let value = text.as_str().get(assigned..).unwrap_or_default();
            let opens = value.len() - value.trim_start_matches(['[', '{']).len();
            let words = text.slice(assigned + opens..text.as_str().len()).words();
            let words: Vec<Placed> = words.iter().map(unquoted).collect();
            let program = words.iter().position(|word| is_program(word.as_str()));
            // `cd DIR; exec qemu-system-x86_64 ...`
            let behind = |at: usize| {
                let before =
                    at.checked_sub(1).and_then(|n| words.get(n)).map_or("", Placed::as_str);
                matches!(before, "exec" | "&&" | "||") || before.ends_with(';')
            };
            let begins = program.is_some_and(|at| at < 4 || behind(at));
            let from = program.filter(|at| behind(*at)).unwrap_or_default();
            if begins && words.len() <= MOST_WORDS {
                self.take(words.get(from..).unwrap_or_default());
            }
        }
    }

    /// If no command was found, takes every word of the file, in order, as one list of options.
    fn pool(
        &mut self,
        text: &str,
        variables: &mut Variables,
        statements: &[Statement],
        separators: &[Option<char>],
    ) {
        let functions = Functions::of(text, statements);
        let mut words = Vec::new();
        let mut option = false;
        let constants = constants::of(text);
        self.pooled = Pooled::of(statements);
        let last = variables.separator();
        for (number, statement) in statements.iter().enumerate() {
            if tests(statement) || queries(statement) {
                continue;
            }
            if variables.is_shortened(statement) || functions.chooses(statement) {
                continue;
            }
            variables.join_with(separators.get(number).copied().unwrap_or(last));
            let prints = talks(statement.words.iter().map(|it| it.literal().unwrap_or_default()));
            for word in statement.words.iter().chain(statement.array.iter().flatten()) {
                let expanded = variables.expand(std::slice::from_ref(word), None);
                // Options in one string, as in files of variables for a unit.
                let options = |word: &&Placed| {
                    word.words().iter().filter(|w| strong(w.as_str())).count() >= 3
                };
                let split = expanded.iter().find(options).map(Placed::words);
                let split = split.or_else(|| match expanded.as_slice() {
                    [one] if !prints => pooled::value(one),
                    _ => None,
                });
                let whole = split.unwrap_or(expanded);
                // After `"-cpu",` of another language a name without quotes is a variable.
                let source = text.get(word.span.clone()).unwrap_or_default();
                let quoted = source.starts_with(['"', '\'', '`']);
                match whole.as_slice() {
                    [one] if option && !quoted && !one.is_empty() => {
                        let name = source.trim_end_matches([',', ')', ']', '}', ';']);
                        let known = constants.get(name.trim_start_matches('&')).cloned();
                        words.push(known.unwrap_or_else(|| unknown(one.span().start)));
                    }
                    [one] => words.push(bare(&element(one, source))),
                    _ => words.extend(whole.iter().map(bare)),
                }
                let name = source.trim_start_matches(['[', '(', '{']);
                option = name.starts_with(['"', '\'', '`'])
                    && name.get(1..).is_some_and(|it| it.starts_with('-'))
                    && name.ends_with(',');
                if words.len() > MOST_WORDS {
                    return;
                }
            }
        }
        if pooled::enough(&words) {
            let (program, apart, written, foreign) = (None, false, false, false);
            self.commands.push(Command { program, words, apart, written, foreign });
        }
    }
}

/// Returns the statements of a script that pass `wanted`, and their words after the expansion of variables with one
/// value.
pub(crate) fn expanded(
    text: &str,
    wanted: fn(&Statement) -> bool,
) -> Vec<(Statement, Vec<Placed>)> {
    let statements = statements(text);
    let all = united(&conditions(&statements));
    let mut variables = Variables::default();
    let mut out = Vec::new();
    for statement in statements {
        let at = begin(&statement);
        let before = all.partition_point(|range| range.start <= at);
        let under = before.checked_sub(1).and_then(|n| all.get(n)).is_some_and(|r| at < r.end);
        let rest = variables.assign(&statement, under);
        if out.len() >= MOST_COMMANDS || !wanted(&statement) {
            continue;
        }
        let word = |word: &Word| match variables.named(std::slice::from_ref(word)).is_empty() {
            true => variables.expand(std::slice::from_ref(word), None),
            false => vec![unknown(word.span.start)],
        };
        let words = rest.iter().flat_map(word).collect();
        out.push((statement, words));
    }
    out
}

fn unknown(at: usize) -> Placed {
    let mut unknown = Placed::default();
    unknown.push(UNKNOWN, at);
    unknown
}

/// Whether a statement only compares: `if [ "$1" = -cpu ]`.
pub(super) fn tests(statement: &Statement) -> bool {
    let mut words = statement.words.iter().map(|word| word.literal().unwrap_or_default());
    let first = words.find(|word| !matches!(*word, "if" | "elif" | "while" | "until" | "!"));
    matches!(first, Some("[" | "[[" | "test"))
}

/// Whether a statement only queries what QEMU supports: `qemu-system-x86_64 -cpu help`.
fn queries(statement: &Statement) -> bool {
    let words: Vec<&str> =
        statement.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let pairs = words.iter().zip(words.iter().skip(1));
    pairs.into_iter().any(|(option, value)| strong(option) && matches!(*value, "help" | "?"))
}

/// Returns the first element of a list without the text that opens the list: `[]string{"-cpu",`, `{"-cpu",`.
fn element(word: &Placed, source: &str) -> Placed {
    let opens = |at: usize| source.get(..at).is_some_and(|before| before.ends_with(['{', '[']));
    let quote = source.find(['"', '\'', '`']).filter(|at| *at > 0 && opens(*at));
    let prefix = quote.and_then(|at| source.get(..at)).unwrap_or_default();
    match word.as_str().starts_with(prefix) {
        true => word.slice(prefix.len()..word.as_str().len()),
        false => word.clone(),
    }
}

/// Returns a word of a list in another language without the commas and quotes around it, and without the name of the
/// variable that it is assigned to.
fn bare(word: &Placed) -> Placed {
    let text = word.as_str();
    let from = text.find("=-").filter(|n| name_length(text) == *n).map_or(0, |n| n + 1);
    let end = closed(text.trim_end_matches([',', ']', '"', '\''])).len();
    let begin = text.len() - text.trim_start_matches(['[', '"', '\'']).len();
    let from = from.max(begin);
    word.slice(from..end.max(from))
}

/// Returns a word of a string without the quotes that the shell which gets the string removes: `-cpu 'host,kvm=off'`.
fn unquoted(word: &Placed) -> Placed {
    let text = word.as_str();
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c));
    let once = quote.filter(|quote| {
        text.len() > 1 && text.ends_with(*quote) && text.matches(*quote).count() == 2
    });
    match once {
        Some(_) => word.slice(1..text.len() - 1),
        None => word.clone(),
    }
}

/// Returns where a statement begins.
pub(crate) fn begin(statement: &Statement) -> usize {
    statement.words.first().map_or(0, |word| word.span.start)
}

pub(crate) fn end(statement: &Statement) -> usize {
    let last = statement.words.iter().chain(statement.array.iter().flatten()).map(|w| w.span.end);
    last.max().unwrap_or(0)
}

/// Returns whether a text may contain the name of QEMU.
pub(super) fn names_program(text: &str) -> bool {
    text.contains("qemu-system-") || text.contains("qemu-kvm")
}

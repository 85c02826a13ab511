//! The parts of a script that are understood and therefore do not search for the text of an option: comments, commands
//! that start a machine, and variables that only those commands use. Everything else may search for it.

use super::looked_for::{looked_for, may_look_for};
use super::options::{is_qemu, is_vboxmanage, program};
use super::own::is_ordinary;
use super::script::{Guard, Spot};
use crate::edit::Edit;
use crate::formats::Kind;
use crate::sh::{Assign, Command, Value, Word};
use crate::words::{base, listed};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The limit of variables in searches that are checked in a script.
const MOST_NAMES: usize = 256;

impl Guard<'_> {
    /// Checks that no other part of the script searches for the edited text: `pgrep -f 'kvmclock=off'`.
    pub(super) fn looked_for(&self, edit: &Edit) -> Result<(), String> {
        let is: fn(&str) -> bool = match self.document.kind {
            Kind::Qemu => is_qemu,
            Kind::Virtualbox => is_vboxmanage,
            _ => return Ok(()),
        };
        let text = self.document.text.as_str();
        let (Spot::Word(command, _) | Spot::Assigned(command, _)) = self.spot(&edit.span) else {
            return Ok(());
        };
        let mut left_out = self.understood(is).to_vec();
        left_out.extend(self.without_inner(command, is));
        if let Some((at, piece)) = looked_for(text, edit, &command.span, &left_out) {
            return Err(may_look_for(self.document, at, piece));
        }
        self.unknown_patterns()?;
        self.looks(is)?;
        self.is_twin(edit, is)
    }

    /// Checks that a change does not make a command equal to another one: the difference would be intended.
    fn is_twin(&self, edit: &Edit, is: fn(&str) -> bool) -> Result<(), String> {
        let Spot::Word(command, index) = self.spot(&edit.span) else { return Ok(()) };
        let Some(word) = command.words.get(index) else { return Ok(()) };
        let text = self.document.text.as_str();
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        let front = part(word.span.start..edit.span.start.max(word.span.start));
        let back = part(edit.span.end.min(word.span.end)..word.span.end);
        let changed = format!("{front}{}{back}", edit.with).replace(['"', '\''], "");
        let first = program(&command.words, is).unwrap_or(0);
        let words = command.words.iter().enumerate().skip(first);
        let after = words.filter_map(|(at, word)| match (at == index, changed.as_str()) {
            (true, "") => None,
            (true, changed) => Some(changed),
            (false, _) => Some(word.text.as_str()),
        });
        let started = self.started.get_or_init(|| {
            let machines = self.script.commands.iter().filter(|it| starts(it, is));
            let words = |it: &Command| -> String {
                let first = program(&it.words, is).unwrap_or(0);
                joined(it.words.iter().skip(first).map(|word| word.text.as_str()))
            };
            machines.map(|it| (words(it), it.span.start)).collect()
        });
        match started.get(&joined(after)) {
            Some(twin) if *twin != command.span.start => Err(format!(
                "line {} starts the same machine without it: the difference may be intended",
                self.line(*twin)
            )),
            _ => Ok(()),
        }
    }

    /// Returns the ranges that search for nothing, in any order.
    pub(super) fn understood(&self, is: fn(&str) -> bool) -> &[Range<usize>] {
        self.understood.get_or_init(|| self.left_out(is))
    }

    /// Computes the ranges that search for nothing.
    fn left_out(&self, is: fn(&str) -> bool) -> Vec<Range<usize>> {
        let known = self.only_of_machines(is);
        let understood = |command: &Command| match command.words.is_empty() {
            true => command.assigns.iter().all(|assign| known.contains(assign.name.as_str())),
            false => starts(command, is),
        };
        let mut left_out = self.script.comments.clone();
        for command in self.script.commands.iter().filter(|it| understood(it)) {
            left_out.extend(self.without_inner(command, is));
        }
        left_out
    }

    /// Returns the ranges of a command without the commands of substitutions in it.
    fn without_inner(&self, command: &Command, is: fn(&str) -> bool) -> Vec<Range<usize>> {
        let commands = &self.script.commands;
        let first = commands.partition_point(|it| it.span.start < command.span.start);
        let within = commands.iter().skip(first).take_while(|it| it.span.start < command.span.end);
        let mut found = Vec::new();
        let mut at = command.span.start;
        for inner in within.filter(|it| it.span != command.span && !starts(it, is)) {
            found.push(at..inner.span.start.max(at));
            at = at.max(inner.span.end);
        }
        found.push(at..command.span.end.max(at));
        found
    }

    /// Returns the variables that only commands which start a machine use.
    fn only_of_machines(&self, is: fn(&str) -> bool) -> HashSet<&str> {
        if self.open.is_some() {
            return HashSet::new();
        }
        // The number of understood uses of each variable, and the variables in the values of each one.
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut values: HashMap<&str, Vec<&str>> = HashMap::new();
        let mut known: HashSet<&str> = HashSet::new();
        for command in &self.script.commands {
            if command.words.is_empty() {
                for assign in &command.assigns {
                    let name = assign.name.as_str();
                    known.insert(name);
                    *counts.entry(name).or_default() += 1;
                    for used in words(assign).iter().flat_map(|word| &word.uses) {
                        values.entry(name).or_default().push(used.name.as_str());
                        *counts.entry(used.name.as_str()).or_default() += 1;
                    }
                }
            } else if starts(command, is) {
                for used in command.words.iter().flat_map(|word| &word.uses) {
                    *counts.entry(used.name.as_str()).or_default() += 1;
                }
            }
        }
        let all = |name: &str, counts: &HashMap<&str, usize>| {
            is_ordinary(name) && self.names.get(name) == counts.get(name)
        };
        let mut doubtful: Vec<&str> =
            known.iter().copied().filter(|name| !all(name, &counts)).collect();
        while let Some(name) = doubtful.pop() {
            if !known.remove(name) {
                continue;
            }
            // Its content may go anywhere.
            for used in values.remove(name).unwrap_or_default() {
                if let Some(count) = counts.get_mut(used) {
                    *count = count.saturating_sub(1);
                }
                doubtful.push(used);
            }
        }
        known
    }

    /// Checks that no command searches command lines for a pattern that is not in the script: `pkill -f "$PATTERN"`.
    fn unknown_patterns(&self) -> Result<(), String> {
        let text = self.document.text.as_str();
        let mut asked: HashSet<&str> = HashSet::new();
        for command in &self.script.commands {
            let looks = |word: &Word| {
                let name = word.literal().unwrap_or_default();
                matches!(base(name), "pgrep" | "pkill")
            };
            if !command.words.iter().any(looks) {
                continue;
            }
            let unknown = |name: &str| {
                !name.is_empty()
                    && is_ordinary(name)
                    && !text.contains(&format!("{name}="))
                    && !text.contains(&format!("for {name} "))
            };
            let names = command.words.iter().flat_map(|word| &word.uses).map(|it| it.name.as_str());
            let mut names = names.filter(|name| asked.len() < MOST_NAMES && asked.insert(*name));
            if let Some(name) = names.find(|name| unknown(name)) {
                return Err(format!(
                    "line {}: what is looked for is in {name}, which another file sets",
                    self.line(command.span.start)
                ));
            }
        }
        Ok(())
    }
}

/// Joins words to one text in which each ends with U+0000.
fn joined<'w>(words: impl Iterator<Item = &'w str>) -> String {
    words.flat_map(|word| [word, "\0"]).collect()
}

/// Commands that run another command, which follows their own words.
const RUNNERS: &str = "exec sudo doas nohup command time setsid nice ionice taskset chrt numactl env timeout unshare ssh \
    screen tmux systemd-run docker podman chroot ip runuser su stdbuf strace gdb valgrind";

/// Returns whether a command starts a machine. A pattern that begins with the name of the program is not a program.
pub(super) fn starts(command: &Command, is: fn(&str) -> bool) -> bool {
    let is = |text: &str| is(text) && !text.contains([' ', '*', '=']);
    let first = command.words.first().and_then(Word::literal);
    let runs = first.is_some_and(|name| listed(RUNNERS, base(name)));
    program(&command.words, is).is_some()
        || runs && command.words.iter().filter_map(Word::literal).any(is)
}

/// The words of a value.
pub(super) fn words(assign: &Assign) -> &[Word] {
    match &assign.value {
        Value::One(word) => std::slice::from_ref(word),
        Value::Array(words) => words,
    }
}

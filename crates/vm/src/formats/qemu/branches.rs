//! The branches of a script's conditions: of one `if` or `case` only one branch runs, so options in several of them are
//! alternatives, and not one command line.

use super::command::Command;
use super::line::takes_value;
use super::script::{begin, end};
use crate::placed::Placed;
use crate::shell::{Statement, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The limit of branches that are read.
const MOST_ARMS: usize = 1024;
/// The most conditions of one command line whose branches are distinguished.
const MOST_FORKS: usize = 4;
/// The limit of `-cpu` options of one command line that are read.
const MOST_CPUS: usize = 32;

/// The branches of a path: one of each condition, or none of those that matter.
type Path = BTreeMap<usize, Option<usize>>;

/// A branch of a condition.
#[derive(Clone, Debug)]
struct Arm {
    range: Range<usize>,
    fork: usize,
    arm: usize,
}

/// The branches of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branches {
    arms: Vec<Arm>,
}

/// A condition that is open: its number, its branch, and the branch's start.
struct Open {
    fork: usize,
    arm: usize,
    from: usize,
    case: bool,
}

impl Branches {
    pub(crate) fn of(text: &str, statements: &[Statement]) -> Self {
        let mut arms = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let (mut forks, mut last) = (0, 0);
        for statement in statements {
            let at = begin(statement);
            let first = statement.words.first().and_then(Word::literal).unwrap_or_default();
            // The text between two statements; a comment may have the same marks.
            let between = text.get(last..at).unwrap_or_default();
            let ends = |line: &str| {
                line.split('#')
                    .next()
                    .is_some_and(|line| line.contains(";;") || line.contains(";&"))
            };
            last = end(statement).max(last);
            let next = match first {
                "else" | "elif" => true,
                _ => open.last().is_some_and(|open| open.case) && between.lines().any(ends),
            };
            match first {
                "if" | "case" | "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                    if next && let Some(open) = open.last_mut() {
                        arms.push(Arm { range: open.from..at, fork: open.fork, arm: open.arm });
                        (open.arm, open.from) = (open.arm + 1, at);
                    }
                    open.push(Open { fork: forks, arm: 0, from: at, case: first == "case" });
                    forks += 1;
                }
                "fi" | "esac" | "endif" => {
                    let closed = open.pop();
                    arms.extend(closed.map(|it| Arm {
                        range: it.from..at,
                        fork: it.fork,
                        arm: it.arm,
                    }));
                }
                _ if next => {
                    if let Some(open) = open.last_mut() {
                        arms.push(Arm { range: open.from..at, fork: open.fork, arm: open.arm });
                        (open.arm, open.from) = (open.arm + 1, at);
                    }
                }
                _ => {}
            }
            if arms.len() >= MOST_ARMS {
                break;
            }
        }
        Self { arms }
    }

    /// Returns the branches that contain an offset, by their conditions.
    pub(super) fn at(&self, at: usize) -> BTreeMap<usize, usize> {
        let here = self.arms.iter().filter(|arm| arm.range.contains(&at));
        here.map(|arm| (arm.fork, arm.arm)).collect()
    }

    /// Returns whether two places never run together: they are in different branches of one condition.
    pub(crate) fn apart(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.at(one), self.at(other));
        one.iter().any(|(fork, arm)| other.get(fork).is_some_and(|it| it != arm))
    }

    /// Returns whether two places always run together.
    pub(crate) fn together(&self, one: usize, other: usize) -> bool {
        self.at(one) == self.at(other)
    }

    /// Returns the alternatives of a command line, where several branches have a `-cpu`.
    pub(crate) fn alternatives(&self, command: Command) -> Vec<Command> {
        let cpus: Vec<BTreeMap<usize, usize>> = command
            .words
            .iter()
            .filter(|word| matches!(word.as_str(), "-cpu" | "--cpu"))
            .take(MOST_CPUS)
            .map(|word| self.at(word.span().start))
            .collect();
        if self.arms.is_empty() || cpus.len() < 2 {
            return vec![command];
        }
        let home = command.program.as_ref().map(|program| self.at(program.span().start));
        let home = home.unwrap_or_default();
        let mut paths: Vec<Path> =
            vec![home.iter().map(|(fork, arm)| (*fork, Some(*arm))).collect()];
        let forks: BTreeSet<usize> = cpus.iter().flat_map(BTreeMap::keys).copied().collect();
        for fork in forks.into_iter().filter(|fork| !home.contains_key(fork)).take(MOST_FORKS) {
            let taken: BTreeSet<Option<usize>> =
                cpus.iter().map(|cpu| cpu.get(&fork).copied()).collect();
            if taken.len() > 1 {
                let with = |path: &Path| {
                    let each = |arm: &Option<usize>| {
                        let mut path = path.clone();
                        path.insert(fork, *arm);
                        path
                    };
                    taken.iter().map(each).collect::<Vec<_>>()
                };
                paths = paths.iter().flat_map(with).take(32).collect();
            }
        }
        let mut out: Vec<Command> = Vec::new();
        for path in paths {
            let words = self.on(&path, &command.words);
            let cpu = words.iter().any(|word| matches!(word.as_str(), "-cpu" | "--cpu"));
            if cpu && !out.iter().any(|other| same(&other.words, &words)) {
                let program = command.program.clone();
                out.push(Command { program, words, apart: true, ..command });
            }
        }
        match out.as_slice() {
            [one] if one.words.len() == command.words.len() => vec![command],
            [] => vec![command],
            _ => out,
        }
    }

    /// The options that are on a path, with their values.
    fn on(&self, path: &Path, words: &[Placed]) -> Vec<Placed> {
        let arms: Vec<&Arm> = self.arms.iter().filter(|arm| path.contains_key(&arm.fork)).collect();
        let off = |word: &Placed| {
            let at = word.span().start;
            arms.iter().any(|arm| {
                arm.range.contains(&at)
                    && path.get(&arm.fork).is_some_and(|on| *on != Some(arm.arm))
            })
        };
        let mut out = Vec::new();
        let (mut left, mut owes) = (false, false);
        for word in words {
            let option = word.as_str().starts_with('-');
            // A value goes with its option, wherever its text was written.
            left = if option { off(word) } else { left && (owes || off(word)) };
            owes = option && left && takes_value(word.as_str());
            if !left {
                out.push(word.clone());
            }
        }
        out
    }
}

/// Whether two lines have the same words.
fn same(one: &[Placed], other: &[Placed]) -> bool {
    let key = |word: &Placed| (word.span().start, word.as_str().len());
    one.iter().map(key).eq(other.iter().map(key))
}

/// Returns the ranges that run only under a condition: bodies of `if` and `case`, commands after `&&`.
pub(crate) fn conditions(statements: &[Statement]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for statement in statements {
        let first = statement.words.first().and_then(Word::literal).unwrap_or_default();
        match first {
            "if" | "case" => open.push(begin(statement)),
            "fi" | "esac" | "endif" => {
                if let Some(start) = open.pop() {
                    ranges.push(start..begin(statement));
                }
            }
            "ifeq" | "ifneq" | "ifdef" | "ifndef" => open.push(begin(statement)),
            _ if statement.conditional => ranges.push(begin(statement)..end(statement)),
            _ => {}
        }
    }
    ranges
}

/// Returns the same ranges in order, with overlapping ones joined.
pub(super) fn united(ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sorted = ranges.to_vec();
    sorted.sort_by_key(|range| range.start);
    let mut out: Vec<Range<usize>> = Vec::new();
    for range in sorted {
        match out.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

//! The values of several variables that belong together: those that one run of the script gives. A program of one branch with
//! the `-cpu` of another one is not a command line.

use super::branches::Branches;
use super::variables::{Value, Variables};
use crate::placed::Placed;
use crate::shell::{Piece, Word};
use std::collections::{BTreeMap, BTreeSet};

/// The most places from which a value is known to come.
const MOST_PLACES: usize = 16;
/// The most branches whose values are combined.
const MOST_WAYS: usize = 8;

/// Where a value was assigned.
#[derive(Clone, Debug, Default)]
pub(super) struct Origin {
    /// The assignment that replaced the value before; `None` if others were added to it, in any branches.
    own: Option<usize>,
    /// Whether this assignment always runs where its branch runs.
    sure: bool,
    /// The assignments of the values that are parts of it.
    from: Vec<usize>,
}

impl Origin {
    /// The origin of a value that a statement assigns. `parts` are the values that the statement reads.
    pub(super) fn of<'a>(at: usize, sure: bool, parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut origin = Self { own: Some(at), sure, from: Vec::new() };
        parts.for_each(|part| origin.join(part));
        origin
    }

    /// The place of the assignment.
    pub(super) fn at(&self) -> usize {
        self.own.unwrap_or_default()
    }

    /// Adds the places of another value.
    fn join(&mut self, other: &Self) {
        for at in &other.from {
            if self.from.len() < MOST_PLACES && !self.from.contains(at) {
                self.from.push(*at);
            }
        }
    }

    /// Returns the origin of a new value: this is that of its statement, `old` that of the value before.
    pub(super) fn replaces(&self) -> Self {
        let mut origin = self.clone();
        if let Some(own) = origin.own.filter(|own| !origin.from.contains(own)) {
            origin.from.push(own);
        }
        origin
    }

    /// Returns the origin of a value to which a statement adds: it keeps the place of its beginning.
    pub(super) fn adds(&self, old: Option<&Self>) -> Self {
        let mut origin = old.cloned().unwrap_or_default();
        origin.join(self);
        origin
    }

    /// Returns the places that the origins of other values are compared with. A value to which several branches add
    /// has no place.
    fn places(&self, places: &Places) -> &[usize] {
        let apart = |one: &usize| self.from.iter().any(|other| places.apart(*one, *other));
        if self.from.iter().any(apart) { &[] } else { &self.from }
    }
}

/// A value of a variable, and where it comes from.
pub(super) type Given = (Value, Origin);

/// The variables in some words, with the values that each may have, the last one at the end.
struct Named<'a> {
    of: BTreeMap<&'a str, Vec<&'a Origin>>,
    /// Those of which no value has an option that matters here: a display or a disk belongs to any machine.
    indifferent: BTreeSet<&'a str>,
    places: Places,
}

/// The branches around places, each computed once.
#[derive(Default)]
struct Places(BTreeMap<usize, BTreeMap<usize, usize>>);

impl Places {
    fn at(&self, place: usize) -> impl Iterator<Item = (&usize, &usize)> {
        self.0.get(&place).into_iter().flatten()
    }

    /// Returns whether two places never run together: they are in different branches of one condition.
    fn apart(&self, one: usize, other: usize) -> bool {
        let other = self.0.get(&other);
        self.at(one)
            .any(|(fork, arm)| other.and_then(|it| it.get(fork)).is_some_and(|it| it != arm))
    }

    /// Returns whether one place is in every branch in which the other one is, and so runs where that does.
    fn within(&self, one: usize, other: usize) -> bool {
        let other = self.0.get(&other);
        self.inside(one)
            && self.at(one).all(|(fork, arm)| other.and_then(|it| it.get(fork)) == Some(arm))
    }

    /// Returns whether a place is in any branch.
    fn inside(&self, place: usize) -> bool {
        self.at(place).next().is_some()
    }
}

/// Options that decide a finding, without their dashes, and parts of their names.
const DECIDE: [&str; 14] = [
    "cpu", "machine", "-M", "accel", "kvm", "tcg", "hpet", "acpi", "global", "append", "object",
    "rtc", "icount", "loadvm",
];

/// Returns whether a value only has options that decide no finding.
fn is_indifferent(value: &Value) -> bool {
    let plain = |text: &str| !DECIDE.iter().any(|it| text.contains(it));
    match value {
        Value::Scalar(text) => {
            let text = text.as_str().trim_start();
            (text.is_empty() || text.starts_with('-')) && plain(text)
        }
        Value::Array(words) => {
            words.first().is_none_or(|word| word.as_str().starts_with('-'))
                && words.iter().all(|word| plain(word.as_str()))
        }
    }
}

/// The words of one run: their variables, and the numbers of the values.
type Choice<'a> = BTreeMap<&'a str, usize>;

impl<'a> Named<'a> {
    fn of(words: &'a [Word], variables: &'a Variables, branches: &'a Branches) -> Self {
        let mut of: BTreeMap<&str, Vec<&Origin>> = BTreeMap::new();
        for piece in words.iter().flat_map(|word| &word.pieces) {
            if let Piece::Variable { name, .. } = piece
                && let Some(now) = variables.origin(name)
            {
                let others = variables.others.get(name).into_iter().flatten();
                let all = others.map(|(_, origin)| origin).chain([now]).collect();
                of.insert(name.as_str(), all);
            }
        }
        let alike = |(name, all): (&&'a str, &Vec<&Origin>)| {
            let mut values = (0..all.len()).filter_map(|number| variables.given(name, number));
            values.all(is_indifferent).then_some(*name)
        };
        let indifferent = of.iter().filter_map(alike).collect();
        let mut places = Places::default();
        for origin in of.values().flatten() {
            for at in origin.from.iter().copied().chain(origin.own) {
                places.0.entry(at).or_insert_with(|| branches.at(at));
            }
        }
        Self { of, indifferent, places }
    }

    /// The choice of the last value of each variable.
    fn last(&self) -> Choice<'a> {
        self.of.iter().map(|(name, all)| (*name, all.len().saturating_sub(1))).collect()
    }

    /// Returns the choice of the values with a number, of the variables that have several: a condition without branches,
    /// such as `[ -n "$1" ] && { A=1; B=2; }`, assigns all of them.
    fn of_number(&self, number: usize) -> Choice<'a> {
        let value = |all: &[&Origin]| if all.len() > 1 { number } else { 0 };
        self.of.iter().map(|(name, all)| (*name, value(all))).collect()
    }

    fn origin(&self, name: &str, value: usize) -> Option<&'a Origin> {
        self.of.get(name)?.get(value).copied()
    }

    /// Returns whether no run has all these values.
    fn crossed(&self, choice: &Choice<'a>) -> bool {
        let chosen: Vec<(&str, &Origin)> = choice
            .iter()
            .filter(|(name, _)| !self.indifferent.contains(*name))
            .filter_map(|(name, value)| Some((*name, self.origin(name, *value)?)))
            .collect();
        let against = |(one, first): &(&str, &Origin), (other, second): &(&str, &Origin)| {
            let places = second.places(&self.places);
            let apart = |at: &usize| places.iter().any(|it| self.places.apart(*at, *it));
            one != other
                && (first.places(&self.places).iter().any(apart)
                    || places.iter().any(|at| self.replaced(one, first, *at)))
        };
        chosen.iter().any(|one| chosen.iter().any(|other| against(one, other)))
    }

    /// Returns whether the branch around a place certainly assigns another value after this one.
    fn replaced(&self, name: &str, origin: &Origin, at: usize) -> bool {
        let Some(own) = origin.own else { return false };
        let later = |other: &&Origin| {
            let place = other.own.filter(|place| other.sure && *place > own);
            place.is_some_and(|place| self.places.within(place, at))
        };
        self.of.get(name).into_iter().flatten().any(later)
    }

    /// Returns the values that the branch around a place gives: of each variable the last one that certainly is
    /// assigned there, or before the condition, or the last one of another condition. A variable with values of other
    /// branches only is left out.
    fn of_branch(&self, at: usize) -> Choice<'a> {
        let given = |origin: &&Origin| match origin.own {
            Some(own) => self.places.within(own, at) || !self.places.inside(own),
            None => true,
        };
        let may_be = |origin: &&Origin| origin.own.is_none_or(|own| !self.places.apart(own, at));
        let last = |name: &str, all: &[&'a Origin]| {
            let any = self.indifferent.contains(name).then(|| all.len().saturating_sub(1));
            all.iter().rposition(given).or_else(|| all.iter().rposition(may_be)).or(any)
        };
        self.of.iter().filter_map(|(name, all)| Some((*name, last(name, all)?))).collect()
    }
}

/// Returns whether the last values of the variables in some words are of branches that never run together.
pub(super) fn crossed(words: &[Word], variables: &Variables, branches: &Branches) -> bool {
    let named = Named::of(words, variables, branches);
    named.of.len() > 1 && named.crossed(&named.last())
}

/// Returns what the words are with the other values that their variables may have, of which each run has all.
pub(super) fn ways(words: &[Word], variables: &Variables, branches: &Branches) -> Vec<Vec<Placed>> {
    let named = Named::of(words, variables, branches);
    let last = named.last();
    let mut ways: Vec<Choice<'_>> = Vec::new();
    let mut out = Vec::new();
    // The values of one branch.
    if named.of.len() > 1 && variables.may_pair() {
        let places = named.of.values().flatten().filter_map(|origin| origin.own);
        let of_branches =
            places.filter(|at| named.places.inside(*at)).map(|at| named.of_branch(at));
        let most =
            named.of.values().map(|all| all.len().saturating_sub(1)).filter(|n| *n > 0).min();
        let before = (0..most.unwrap_or_default()).map(|number| named.of_number(number));
        for way in of_branches.chain(before) {
            let new = way != last && !ways.contains(&way);
            if new && ways.len() < MOST_WAYS && !named.crossed(&way) {
                ways.push(way);
            }
        }
        for way in &ways {
            let value = |name: &&str| {
                let value = way.get(name).and_then(|n| variables.given(name, *n));
                ((*name).to_owned(), value.cloned())
            };
            let with = named.of.keys().map(value);
            out.push(variables.with(with).expand(words, None));
        }
    }
    // Another value of one variable.
    for (name, all) in &named.of {
        for number in 0..all.len().saturating_sub(1).min(MOST_WAYS) {
            let mut way = last.clone();
            way.insert(*name, number);
            if let Some(value) = variables.given(name, number)
                && !ways.contains(&way)
                && !named.crossed(&way)
            {
                out.push(variables.expand(words, Some((&(*name).to_owned(), value))));
            }
        }
    }
    out
}

//! Properties that the hosts with one change have in common, and other hosts lack. This is a comparison of counts: it
//! shows where to look, and is not a cause.

use super::{Kind, What, Words};
use serde::Serialize;
use std::collections::HashMap;

/// Hosts with a change from which on a common property is searched.
const ENOUGH: u64 = 3;
/// Changes that are looked at; each is a pass over all kinds of hosts.
const LOOKED_AT: usize = 256;

/// Properties that the hosts with one change have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Common {
    /// The changes; several where the same hosts have them.
    pub changes: Vec<Change>,
    /// The number of hosts with these changes.
    pub hosts: u64,
    /// Hosts that could change in this way: those with the same previous values, the changed ones
    /// among them.
    pub of: u64,
    /// The properties that nine in ten of them have, and that hosts without the change have less than half as often. Empty where
    /// there is none.
    pub shared: Vec<Shared>,
    /// Hosts with all these properties: how many changed, and how many could.
    pub with: Share,
    /// Hosts without at least one of them.
    pub without: Share,
}

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The value that changed.
    pub what: What,
    /// The previous value; null for costs.
    pub from: Option<String>,
    /// The present value; for costs `higher` or `lower`.
    pub to: String,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shared {
    /// `kernel`, `cpu`, `hypervisor`; `kernel change` and `clocksource change` for changes at the same time.
    pub property: &'static str,
    /// The value of the property; for a change the previous and the present value, with ` -> ` between.
    pub value: String,
    /// Changed hosts that have it.
    pub hosts: u64,
}

/// A part of the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Share {
    /// Hosts that changed.
    pub changed: u64,
    /// Hosts that could.
    pub of: u64,
}

type Transition = (What, u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Property {
    KernelChange,
    ClocksourceChange,
    Kernel,
    Cpu,
    Hypervisor,
}

impl Property {
    const ALL: [Self; 5] =
        [Self::KernelChange, Self::ClocksourceChange, Self::Kernel, Self::Cpu, Self::Hypervisor];

    fn name(self) -> &'static str {
        match self {
            Self::KernelChange => "kernel change",
            Self::ClocksourceChange => "clocksource change",
            Self::Kernel => "kernel",
            Self::Cpu => "cpu",
            Self::Hypervisor => "hypervisor",
        }
    }

    /// Its value, if it is known.
    fn of(self, kind: &Kind) -> Option<(u32, u32)> {
        let one = |value: u32| (value != 0).then_some((value, value));
        match self {
            Self::KernelChange => kind.change(What::Kernel),
            Self::ClocksourceChange => kind.change(What::Clocksource),
            Self::Kernel => one(kind.kernel.1),
            Self::Cpu => one(kind.cpu),
            Self::Hypervisor => one(kind.hypervisor),
        }
    }

    /// Returns whether it adds information to the change itself.
    fn tells_of(self, what: What) -> bool {
        match self {
            Self::KernelChange | Self::Kernel => what != What::Kernel,
            Self::ClocksourceChange => matches!(what, What::Verdict | What::Cost),
            Self::Cpu | Self::Hypervisor => true,
        }
    }
}

/// Finds the common properties, for the first `most` transitions that enough hosts have.
pub(super) fn find(
    transitions: &[(Transition, u64)],
    kinds: &HashMap<Kind, u64>,
    words: &Words,
    most: usize,
) -> Vec<Common> {
    let mut groups: Vec<(Vec<Transition>, Vec<Kind>)> = Vec::new();
    let frequent = transitions.iter().filter(|(_, hosts)| *hosts >= ENOUGH);
    for (transition, _) in frequent.take(LOOKED_AT) {
        let (what, from, to) = *transition;
        let mut changed: Vec<Kind> =
            kinds.keys().filter(|kind| kind.change(what) == Some((from, to))).copied().collect();
        changed.sort_unstable();
        // Of the same kinds are the same hosts.
        if let Some((all, _)) = groups.iter_mut().find(|(_, known)| *known == changed) {
            all.push(*transition);
        } else if groups.len() < most {
            groups.push((vec![*transition], changed));
        }
    }
    groups.iter().map(|(all, changed)| common(all, changed, kinds, words)).collect()
}

fn common(
    all: &[Transition],
    changed: &[Kind],
    kinds: &HashMap<Kind, u64>,
    words: &Words,
) -> Common {
    let could = |kind: &Kind| {
        all.iter().all(|(what, from, _)| kind.pair(*what).is_some_and(|pair| pair.0 == *from))
    };
    let could: Vec<(&Kind, u64)> =
        kinds.iter().filter(|(kind, _)| could(kind)).map(|(kind, hosts)| (kind, *hosts)).collect();
    let share = |with: &dyn Fn(&Kind) -> bool| {
        let mut share = Share::default();
        for (kind, hosts) in could.iter().filter(|(kind, _)| with(kind)) {
            share.of += hosts;
            if changed.binary_search(kind).is_ok() {
                share.changed += hosts;
            }
        }
        share
    };
    let whole = share(&|_| true);
    let mut found: Vec<(Property, (u32, u32), u64)> = Vec::new();
    for property in Property::ALL {
        if !all.iter().all(|(what, ..)| property.tells_of(*what)) {
            continue;
        }
        let mut values: HashMap<(u32, u32), u64> = HashMap::new();
        for kind in changed {
            if let Some(value) = property.of(kind) {
                *values.entry(value).or_default() += kinds.get(kind).copied().unwrap_or(0);
            }
        }
        let Some((value, _)) = values.into_iter().max_by_key(|(value, hosts)| (*hosts, *value))
        else {
            continue;
        };
        let with = share(&|kind| property.of(kind) == Some(value));
        let without = Share { changed: whole.changed - with.changed, of: whole.of - with.of };
        // The kernel that a change of kernel led to adds no information.
        let repeats = property == Property::Kernel
            && found.iter().any(|(known, pair, hosts)| {
                *known == Property::KernelChange && pair.1 == value.1 && *hosts == with.changed
            });
        if with.changed * 10 >= whole.changed * 9 && is_more_frequent(with, without) && !repeats {
            found.push((property, value, with.changed));
        }
    }
    // A property that another one implies adds no information: all hosts with a processor are bare metal, but not the
    // reverse.
    let of = |all: &[(Property, (u32, u32))]| {
        share(&|kind| all.iter().all(|(property, value)| property.of(kind) == Some(*value)))
    };
    let known: Vec<(Property, (u32, u32))> = found.iter().map(|one| (one.0, one.1)).collect();
    found.retain(|(property, value, _)| {
        let this = (*property, *value);
        let size = of(&[this]).of;
        let implies = |other: &(Property, (u32, u32))| {
            let alone = of(&[*other]).of;
            *other != this && alone < size && of(&[*other, this]).of == alone
        };
        !known.iter().any(implies)
    });
    let with = if found.is_empty() {
        Share::default()
    } else {
        of(&found.iter().map(|one| (one.0, one.1)).collect::<Vec<_>>())
    };
    let said = |(property, (from, to), hosts): &(Property, (u32, u32), u64)| Shared {
        property: property.name(),
        value: match property {
            Property::KernelChange | Property::ClocksourceChange => {
                format!("{} -> {}", words.word(*from), words.word(*to))
            }
            _ => words.word(*to).to_owned(),
        },
        hosts: *hosts,
    };
    Common {
        changes: all
            .iter()
            .map(|(what, from, to)| Change {
                what: *what,
                from: (*what != What::Cost).then(|| words.word(*from).to_owned()),
                to: words.word(*to).to_owned(),
            })
            .collect(),
        hosts: whole.changed,
        of: whole.of,
        shared: found.iter().map(said).collect(),
        with,
        without: Share { changed: whole.changed - with.changed, of: whole.of - with.of },
    }
}

/// Whether hosts with a property changed at least twice as often as the others.
fn is_more_frequent(with: Share, without: Share) -> bool {
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    without.of > 0 && product(with.changed, without.of) >= 2 * product(without.changed, with.of)
}

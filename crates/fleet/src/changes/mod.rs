//! Changes between the reports of a host, and the common properties of the hosts that changed.
//!
//! Two reports of each host are compared: its newest one and the one before, or the last one before a date. A value
//! that is unknown in one of them has not changed. The cost of a read has changed if it differs by more than one host
//! varies between two days: over twice as much and 20 ns more, or less than half and 20 ns less.
//!
//! Hosts are counted by their previous and present values, so the memory grows with the kinds of hosts and not
//! with their number. Their common properties are found in these counts (`common`).

mod common;
mod page;

pub use common::{Common, Share, Shared};
pub use page::page;

use crate::newest::Moment;
use crate::report::Input;
use crate::row::moment;
use clocksmith_facts::utc;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Its schema.
pub const CHANGES: &str = "clocksmith.fleet-changes.v1";

/// Different texts that are distinguished; further ones count as not known.
const WORDS: usize = 1 << 16;
/// Kinds of hosts that are distinguished when common properties are searched.
const KINDS: usize = 1 << 20;

/// A report of a host, as far as it is compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The id of the machine.
    pub machine_id: Option<String>,
    /// The values that are compared.
    pub values: Values,
}

/// A value that can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// The verdict of `why`.
    Verdict,
    /// The clocksource in use.
    Clocksource,
    /// The cost of a read of CLOCK_REALTIME.
    Cost,
    /// The kernel release.
    Kernel,
}

impl What {
    const ALL: [Self; 4] = [Self::Verdict, Self::Clocksource, Self::Cost, Self::Kernel];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Clocksource => "clocksource",
            Self::Cost => "cost",
            Self::Kernel => "kernel",
        }
    }
}

/// The changes on the hosts; `fleet --changes --json`. Fields are added, never removed or renamed.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangesReport {
    /// Always `clocksmith.fleet-changes.v1`.
    pub schema: &'static str,
    /// The result in one sentence.
    pub headline: String,
    /// The input.
    pub input: Input,
    /// The date that `--since` names: the last report before it is compared with the newest one. Null without that option:
    /// then the newest report is compared with the one before.
    pub since: Option<String>,
    /// When the oldest of the compared reports was taken.
    pub from: Option<String>,
    /// When the newest of them was taken.
    pub to: Option<String>,
    /// Hosts of which two reports were compared.
    pub compared: u64,
    /// Hosts of these with a change.
    pub changed: u64,
    /// Hosts with one report, which were not compared.
    pub single: u64,
    /// Hosts with no report since the date that `--since` names, which were not compared.
    pub silent: u64,
    /// Reports without a date, which were not compared.
    pub undated: u64,
    /// Reports without a machine id under a name that several machines have, which were not compared.
    pub unclear: u64,
    /// Names that now belong to a different machine: all reports of the new machine are newer than
    /// those of the one before. The machine was replaced, or its system was installed again. The two
    /// are not compared.
    pub replaced: u64,
    /// The first of them.
    pub replaced_hosts: Vec<String>,
    /// The changes, most hosts first.
    pub transitions: Vec<Transition>,
    /// The number of further changes.
    pub transitions_more: u64,
    /// Properties that the hosts with one change have in common.
    pub common: Vec<Common>,
    /// The hosts that changed: those with a worse verdict first, then by name.
    pub hosts: Vec<HostChange>,
    /// The number of further hosts.
    pub hosts_more: u64,
}

/// A change, and the number of hosts with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transition {
    /// The value that changed.
    pub what: What,
    /// The previous value; null for costs.
    pub from: Option<String>,
    /// The present value; for costs `higher` or `lower`.
    pub to: String,
    /// The number of hosts with this change.
    pub hosts: u64,
    /// A host with this change: the first by name.
    pub example: String,
}

/// A host that changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostChange {
    /// The host.
    pub host: String,
    /// The id of the machine.
    pub machine_id: Option<String>,
    /// The values that changed.
    pub changed: Vec<What>,
    /// The older report.
    pub before: Values,
    /// The newest report.
    pub after: Values,
    /// In one sentence.
    pub summary: String,
}

/// The values that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Values {
    /// When the report was taken.
    pub taken_at: String,
    /// The verdict.
    pub verdict: Option<String>,
    /// The clocksource in use.
    pub clocksource: Option<String>,
    /// Nanoseconds a read of CLOCK_REALTIME.
    pub cost_ns: Option<f64>,
    /// The kernel release.
    pub kernel: Option<String>,
    /// The processor.
    pub cpu: Option<String>,
    /// The hypervisor.
    pub hypervisor: Option<String>,
}

/// The previous and present values of one host, as numbers of words; 0 is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Kind {
    verdict: (u32, u32),
    clocksource: (u32, u32),
    kernel: (u32, u32),
    cost: Cost,
    cpu: u32,
    hypervisor: u32,
}

/// The change of the read cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Cost {
    NotKnown,
    Same,
    Higher,
    Lower,
}

impl Cost {
    fn between(before: Option<f64>, after: Option<f64>) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return Self::NotKnown };
        if after > 2.0 * before && after > before + 20.0 {
            Self::Higher
        } else if 2.0 * after < before && after + 20.0 < before {
            Self::Lower
        } else {
            Self::Same
        }
    }
}

impl Kind {
    /// From and to, where both are known.
    fn pair(&self, what: What) -> Option<(u32, u32)> {
        let (from, to) = match what {
            What::Verdict => self.verdict,
            What::Clocksource => self.clocksource,
            What::Kernel => self.kernel,
            What::Cost => match self.cost {
                Cost::NotKnown => return None,
                Cost::Same => (SAME, SAME),
                Cost::Higher => (SAME, HIGHER),
                Cost::Lower => (SAME, LOWER),
            },
        };
        (from != 0 && to != 0).then_some((from, to))
    }

    fn change(&self, what: What) -> Option<(u32, u32)> {
        self.pair(what).filter(|(from, to)| from != to)
    }
}

/// Numbers of words. The first ones are fixed.
const SAME: u32 = 1;
const HIGHER: u32 = 2;
const LOWER: u32 = 3;

#[derive(Debug)]
struct Words {
    numbers: HashMap<String, u32>,
    words: Vec<String>,
}

impl Words {
    fn new() -> Self {
        let words = ["not known", "same", "higher", "lower"].map(str::to_owned).to_vec();
        Self { numbers: HashMap::new(), words }
    }

    fn number(&mut self, word: Option<&str>) -> u32 {
        let Some(word) = word else { return 0 };
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let Ok(number) = u32::try_from(self.words.len()) else { return 0 };
        if self.words.len() >= WORDS {
            return 0;
        }
        self.words.push(word.to_owned());
        self.numbers.insert(word.to_owned(), number);
        number
    }

    fn word(&self, number: u32) -> &str {
        self.words.get(number as usize).map_or("not known", String::as_str)
    }
}

/// A comparison while the hosts come in.
#[derive(Debug)]
pub struct Compare {
    since: Option<Moment>,
    rows: usize,
    words: Words,
    kinds: HashMap<Kind, u64>,
    examples: BTreeMap<(What, u32, u32), String>,
    worse: Vec<HostChange>,
    others: Vec<HostChange>,
    report: ChangesReport,
}

impl Compare {
    /// Compares the last report before `since` with the newest one, or the last two. Lists have `rows` rows at most.
    #[must_use]
    pub fn new(since: Option<Moment>, rows: usize) -> Self {
        let report = ChangesReport {
            schema: CHANGES,
            headline: String::new(),
            input: Input::default(),
            since: since.map(|since| utc::text(u64::from(since))),
            from: None,
            to: None,
            compared: 0,
            changed: 0,
            single: 0,
            silent: 0,
            undated: 0,
            unclear: 0,
            replaced: 0,
            replaced_hosts: Vec::new(),
            transitions: Vec::new(),
            transitions_more: 0,
            common: Vec::new(),
            hosts: Vec::new(),
            hosts_more: 0,
        };
        Self {
            since,
            rows,
            words: Words::new(),
            kinds: HashMap::new(),
            examples: BTreeMap::new(),
            worse: Vec::new(),
            others: Vec::new(),
            report,
        }
    }

    /// Adds a name with all its reports, the oldest first.
    pub fn name(&mut self, host: &str, states: &[State]) {
        let mut machines: Vec<Option<&str>> = Vec::new();
        for state in states {
            if !machines.contains(&state.machine_id.as_deref()) {
                machines.push(state.machine_id.as_deref());
            }
        }
        let known = machines.iter().flatten().count();
        if known < 2 {
            // Reports without an id are of the one machine that has this name.
            self.machine(host, &states.iter().collect::<Vec<_>>());
            return;
        }
        let mut spans: Vec<(&str, &str)> = Vec::new();
        for machine in machines {
            let of: Vec<&State> =
                states.iter().filter(|state| state.machine_id.as_deref() == machine).collect();
            if machine.is_none() {
                self.report.unclear += of.len() as u64;
                continue;
            }
            if let (Some(first), Some(last)) = (of.first(), of.last()) {
                spans.push((&first.values.taken_at, &last.values.taken_at));
            }
            self.machine(host, &of);
        }
        // In the order of their first reports.
        if spans.windows(2).all(|pair| matches!(pair, [a, b] if a.1 < b.0)) {
            self.report.replaced += 1;
            if self.report.replaced_hosts.len() < self.rows {
                self.report.replaced_hosts.push(host.to_owned());
            }
        }
    }

    /// Adds a machine.
    fn machine(&mut self, host: &str, states: &[&State]) {
        let Some(after) = states.last() else { return };
        // Of several reports of one moment the first one is used.
        let first_of =
            |moment: &str| states.iter().find(|state| state.values.taken_at == moment).copied();
        let Some(after) = first_of(&after.values.taken_at) else { return };
        let older: Vec<&State> = states
            .iter()
            .copied()
            .filter(|state| state.values.taken_at < after.values.taken_at)
            .collect();
        let at = |state: &State| moment(&state.values.taken_at).unwrap_or(0);
        let before = match self.since {
            Some(since) if at(after) < since => {
                self.report.silent += 1;
                return;
            }
            // A host that had none by then: the first one since.
            Some(since) => older.iter().rev().find(|state| at(state) < since).or(older.first()),
            None => older.last(),
        };
        let Some(before) = before.and_then(|state| first_of(&state.values.taken_at)) else {
            self.report.single += 1;
            return;
        };
        self.compare(host, before, after);
    }

    fn compare(&mut self, host: &str, before: &State, after: &State) {
        let machine_id = after.machine_id.as_ref().or(before.machine_id.as_ref()).cloned();
        let (before, after) = (&before.values, &after.values);
        self.report.compared += 1;
        if self.report.from.as_ref().is_none_or(|from| before.taken_at < *from) {
            self.report.from = Some(before.taken_at.clone());
        }
        if self.report.to.as_ref().is_none_or(|to| after.taken_at > *to) {
            self.report.to = Some(after.taken_at.clone());
        }
        let mut pair = |of: fn(&Values) -> Option<&str>| {
            (self.words.number(of(before)), self.words.number(of(after)))
        };
        let kind = Kind {
            // `unknown` means that this report has no verdict, and nothing about the host.
            verdict: pair(|values| {
                values.verdict.as_deref().filter(|verdict| *verdict != "unknown")
            }),
            clocksource: pair(|values| values.clocksource.as_deref()),
            kernel: pair(|values| values.kernel.as_deref()),
            cpu: pair(|values| values.cpu.as_deref()).1,
            hypervisor: pair(|values| values.hypervisor.as_deref()).1,
            cost: Cost::between(before.cost_ns, after.cost_ns),
        };
        if self.kinds.len() < KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
        let changed: Vec<What> =
            What::ALL.into_iter().filter(|what| kind.change(*what).is_some()).collect();
        if changed.is_empty() {
            return;
        }
        self.report.changed += 1;
        for what in &changed {
            if let Some((from, to)) = kind.change(*what) {
                self.examples.entry((*what, from, to)).or_insert_with(|| host.to_owned());
            }
        }
        let worse = grave(after) > grave(before) && changed.contains(&What::Verdict);
        let list = if worse { &mut self.worse } else { &mut self.others };
        if list.len() < self.rows {
            let summary = summary(&changed, before, after);
            list.push(HostChange {
                host: host.to_owned(),
                machine_id,
                changed,
                before: before.clone(),
                after: after.clone(),
                summary,
            });
        }
    }

    /// The report.
    #[must_use]
    pub fn finish(mut self, input: Input, undated: u64) -> ChangesReport {
        let mut counts: HashMap<(What, u32, u32), u64> = HashMap::new();
        for (kind, hosts) in &self.kinds {
            for what in What::ALL {
                if let Some((from, to)) = kind.change(what) {
                    *counts.entry((what, from, to)).or_default() += hosts;
                }
            }
        }
        let mut found: Vec<((What, u32, u32), u64)> = counts.into_iter().collect();
        found.sort_by(|a, b| {
            let word = |id: u32| self.words.word(id);
            a.0.0
                .cmp(&b.0.0)
                .then(b.1.cmp(&a.1))
                .then_with(|| (word(a.0.1), word(a.0.2)).cmp(&(word(b.0.1), word(b.0.2))))
        });
        let mut report = self.report;
        (report.input, report.undated) = (input, undated);
        report.common = common::find(&found, &self.kinds, &self.words, self.rows);
        report.transitions_more = found.len().saturating_sub(self.rows) as u64;
        // The most frequent ones of each, so that many kernels do not hide changes of the clocksource.
        let most = self.rows;
        let mut place: HashMap<What, usize> = HashMap::new();
        let mut ranked: Vec<(usize, usize)> = (0..found.len())
            .map(|at| {
                let place = place.entry(found[at].0.0).or_default();
                *place += 1;
                (*place, at)
            })
            .collect();
        ranked.sort_unstable();
        ranked.truncate(most);
        ranked.sort_unstable_by_key(|(_, at)| *at);
        for (_, at) in ranked {
            let ((what, from, to), hosts) = found[at];
            report.transitions.push(Transition {
                what,
                from: (what != What::Cost).then(|| self.words.word(from).to_owned()),
                to: self.words.word(to).to_owned(),
                hosts,
                example: self.examples.remove(&(what, from, to)).unwrap_or_default(),
            });
        }
        report.hosts = self.worse;
        report.hosts.append(&mut self.others);
        report.hosts.truncate(self.rows);
        report.hosts_more = report.changed - report.hosts.len() as u64;
        report.headline = page::sentence(&report);
        report
    }
}

fn grave(values: &Values) -> u8 {
    match values.verdict.as_deref() {
        Some("ok") => 1,
        Some("slow") => 2,
        Some("untrustworthy") => 3,
        _ => 0,
    }
}

fn summary(changed: &[What], before: &Values, after: &Values) -> String {
    let part = |what: &What| {
        let text = |of: fn(&Values) -> Option<&str>| {
            let value = |state| of(state).unwrap_or("not known").to_owned();
            (value(before), value(after))
        };
        let (from, to) = match what {
            What::Verdict => text(|values| values.verdict.as_deref()),
            What::Clocksource => text(|values| values.clocksource.as_deref()),
            What::Kernel => text(|values| values.kernel.as_deref()),
            What::Cost => {
                let ns =
                    |values: &Values| values.cost_ns.map_or_else(String::new, crate::render::ns);
                (ns(before), ns(after))
            }
        };
        format!("{} {from} -> {to}", what.name())
    };
    changed.iter().map(part).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "../changes_tests.rs"]
mod tests;

//! From a vendor's rules and a machine to the answer. With less evidence the answer becomes unknown, never a different
//! one.

use super::answer::{AskedReport, Conformity, EarlierReport, KernelReport, PolicyAnswer, Stated};
use super::when::{CURRENT, FLAGS, Holds, Needed};
use super::{Ask, Rule, Vendor, weigh};
use crate::report::Report;
use clocksmith_facts::Facts;

/// Compares a machine with the rules of a vendor.
#[must_use]
pub fn answer(vendor: &Vendor, facts: &Facts, report: &Report) -> PolicyAnswer {
    let current = report.clocksource.current.as_deref();
    let mut needed = Vec::new();
    let mut asked = Vec::new();
    let general = of_purpose(vendor, None, facts, current, &mut needed);
    let mut conforms = general.conforms;
    asked.extend(general.asked);
    for purpose in purposes(vendor) {
        let group = of_purpose(vendor, Some(purpose), facts, current, &mut needed);
        // A rule for all machines decides; a rule for one program decides only if there is no such rule.
        if asked.iter().all(|one: &Asked| one.rule.purpose.is_some()) {
            conforms = conforms.and(group.conforms);
        }
        asked.extend(group.asked);
    }
    let mut kernels = Vec::new();
    for avoided in vendor.kernels {
        let applies = match avoided.when.holds(facts) {
            Holds::No => continue,
            Holds::Yes => true,
            Holds::Open(facts) => {
                needed.extend(facts);
                false
            }
        };
        conforms = conforms.and(if applies { Conformity::No } else { Conformity::Unknown });
        kernels.push(KernelReport {
            kernels: avoided.kernels.to_owned(),
            fault: avoided.fault.to_owned(),
            applies,
            since: avoided.since.to_owned(),
            stated: Stated::of(&avoided.source),
        });
    }
    let mut settles = Vec::new();
    if conforms == Conformity::Unknown {
        let mut seen: Vec<Needed> = Vec::new();
        for fact in needed {
            if !seen.contains(&fact) {
                seen.push(fact);
                settles.push(fact.into());
            }
        }
    }
    let mut answer = PolicyAnswer {
        vendor: vendor.id.to_owned(),
        name: vendor.name.to_owned(),
        conforms,
        summary: String::new(),
        asks: Vec::new(),
        before: before(vendor, facts),
        kernels,
        contradictions: weigh::contradictions(vendor, &asked, report),
        settles,
    };
    answer.summary = summary(&answer, &asked, current);
    answer.asks = asked.iter().map(Asked::report).collect();
    answer
}

/// A rule that applies, or may apply.
pub(super) struct Asked {
    pub(super) rule: &'static Rule,
    pub(super) applies: bool,
    pub(super) conforms: Conformity,
    /// Processor flags that the rule requires and that the machine lacks.
    pub(super) flags_missing: Vec<&'static str>,
}

/// The rules of one purpose.
struct Group {
    asked: Vec<Asked>,
    conforms: Conformity,
}

fn purposes(vendor: &Vendor) -> Vec<&'static str> {
    let mut found = Vec::new();
    for purpose in vendor.rules.iter().filter_map(|rule| rule.purpose) {
        if !found.contains(&purpose) {
            found.push(purpose);
        }
    }
    found
}

/// Finds the first rule that applies to the machine, and the earlier rules that may apply.
fn of_purpose(
    vendor: &Vendor,
    purpose: Option<&str>,
    facts: &Facts,
    current: Option<&str>,
    needed: &mut Vec<Needed>,
) -> Group {
    let mut asked = Vec::new();
    let mut decided = false;
    for rule in vendor.rules.iter().filter(|rule| rule.purpose == purpose && rule.until.is_none()) {
        decided = match rule.when.holds(facts) {
            Holds::No => continue,
            Holds::Yes => true,
            Holds::Open(facts) => {
                needed.extend(facts);
                false
            }
        };
        let (conforms, flags_missing) = conform(&rule.ask, facts, current, needed);
        // An earlier rule may be the first one that applies.
        let applies = decided && asked.is_empty();
        asked.push(Asked { rule, applies, conforms, flags_missing });
        if decided {
            break;
        }
    }
    // If no rule applies for certain, the vendor may require nothing.
    let nothing = (!decided).then_some(Conformity::AsksNothing);
    let mut outcomes = asked.iter().map(|one| one.conforms).chain(nothing);
    let first = outcomes.next().unwrap_or(Conformity::AsksNothing);
    let conforms = if outcomes.all(|one| one == first) { first } else { Conformity::Unknown };
    Group { asked, conforms }
}

fn conform(
    ask: &Ask,
    facts: &Facts,
    current: Option<&str>,
    needed: &mut Vec<Needed>,
) -> (Conformity, Vec<&'static str>) {
    let Ask::Clocksource { preferred, tolerated, flags } = ask else {
        return (Conformity::AsksNothing, Vec::new());
    };
    let Some(current) = current else {
        needed.push(CURRENT);
        return (Conformity::Unknown, Vec::new());
    };
    if tolerated.contains(&current) {
        return (Conformity::Tolerated, Vec::new());
    }
    if !preferred.contains(&current) {
        return (Conformity::No, Vec::new());
    }
    if current != "tsc" || flags.is_empty() {
        return (Conformity::Yes, Vec::new());
    }
    match facts.cpu.flags.value() {
        None => {
            needed.push(FLAGS);
            (Conformity::Unknown, Vec::new())
        }
        Some(shown) => {
            let missing: Vec<_> = flags.iter().copied().filter(|flag| !shown.has(flag)).collect();
            let conforms = if missing.is_empty() { Conformity::Yes } else { Conformity::Tolerated };
            (conforms, missing)
        }
    }
}

/// The earlier rules for this machine, latest first.
fn before(vendor: &Vendor, facts: &Facts) -> Vec<EarlierReport> {
    let mut earlier: Vec<EarlierReport> = vendor
        .rules
        .iter()
        .filter(|rule| rule.when.holds(facts) == Holds::Yes)
        .filter_map(|rule| {
            Some(EarlierReport {
                machines: rule.machines.to_owned(),
                asked: rule.ask.text(),
                since: rule.since.to_owned(),
                until: rule.until?.to_owned(),
                stated: Stated::of(&rule.source),
            })
        })
        .collect();
    earlier.sort_by(|a, b| b.until.cmp(&a.until));
    earlier
}

/// The answer in one sentence.
fn summary(answer: &PolicyAnswer, asked: &[Asked], current: Option<&str>) -> String {
    let name = &answer.name;
    if let Some(avoided) = answer.kernels.iter().find(|avoided| avoided.applies) {
        return format!(
            "{name} says to avoid this kernel ({}): {}.",
            avoided.kernels, avoided.fault
        );
    }
    // The deciding rule: the one whose conformity is that of the whole answer.
    let decisive = asked.iter().find(|one| one.conforms == answer.conforms);
    let wanted = decisive.map(|one| one.rule.ask.text()).unwrap_or_default();
    let purpose = decisive
        .and_then(|one| one.rule.purpose)
        .map_or_else(String::new, |purpose| format!(" for {purpose}"));
    let current = current.unwrap_or("not known");
    match (answer.conforms, decisive) {
        (Conformity::Yes, _) if wanted == current => {
            format!("{name} asks for {wanted}{purpose}, which is in use.")
        }
        (Conformity::Yes, _) => {
            format!("{name} asks for {wanted}{purpose}, and {current} is in use.")
        }
        (Conformity::Tolerated, Some(one)) if !one.flags_missing.is_empty() => format!(
            "{name} asks for {wanted}{purpose}, which is in use, and for processor flags that this machine \
             lacks: {}.",
            one.flags_missing.join(", ")
        ),
        (Conformity::Tolerated, Some(Asked { rule, .. })) => format!(
            "{name} supports {current}{purpose}, which is in use, and prefers {}.",
            match rule.ask {
                Ask::Clocksource { preferred, .. } => preferred.join(" or "),
                Ask::Nothing => String::new(),
            }
        ),
        (Conformity::No | Conformity::Tolerated, _) => {
            format!("{name} asks for {wanted}{purpose}, and {current} is in use.")
        }
        (Conformity::AsksNothing, Some(one)) => {
            format!("{name} requires nothing of this machine ({}).", one.rule.machines)
        }
        (Conformity::AsksNothing, None) => {
            format!("No known text of {name} has a requirement for such a machine.")
        }
        (Conformity::Unknown, _) => {
            let facts: Vec<&str> = answer.settles.iter().map(|one| one.fact.as_str()).collect();
            let what = format!("Whether this machine conforms to what {name} requires");
            match facts.as_slice() {
                [] => format!("{what} is not known."),
                facts => format!(
                    "{what} depends on what the evidence does not show: {}.",
                    facts.join(", ")
                ),
            }
        }
    }
}

impl Asked {
    fn report(&self) -> AskedReport {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect();
        let (preferred, tolerated, flags) = match self.rule.ask {
            Ask::Clocksource { preferred, tolerated, flags } => {
                (names(preferred), names(tolerated), names(flags))
            }
            Ask::Nothing => Default::default(),
        };
        AskedReport {
            machines: self.rule.machines.to_owned(),
            purpose: self.rule.purpose.map(str::to_owned),
            preferred,
            tolerated,
            flags,
            applies: self.applies,
            conforms: self.conforms,
            since: self.rule.since.to_owned(),
            stated: Stated::of(&self.rule.source),
        }
    }
}

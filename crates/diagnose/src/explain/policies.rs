//! The vendors' recommendations for a clocksource, from the modules of [`crate::policy`], and the remedies of the
//! diagnosis, from the advice table.

use super::entry::{Explanation, Kind, fold};
use crate::policy::{Rule, Stated, VENDORS, Vendor};
use crate::remedies::table::{ADVICE, Advice};

/// The present and the earlier recommendations of a vendor.
fn vendor(vendor: &Vendor) -> Explanation {
    let mut rules: Vec<&Rule> = vendor.rules.iter().collect();
    rules.sort_by_key(|rule| rule.since);
    let one = |rule: &Rule| {
        let said = rule.recommendation(vendor.name);
        match rule.until {
            Some(until) => format!("{}: {} ({} to {until})", said.machines, said.says, rule.since),
            None => format!("{}: {} (since {})", said.machines, said.says, rule.since),
        }
    };
    let of = |past: bool| {
        let listed = rules.iter().filter(|rule| rule.until.is_some() == past);
        listed.map(|rule| one(rule)).collect::<Vec<_>>().join("; ")
    };
    let past = of(true);
    let mut sources: Vec<String> =
        rules.iter().map(|rule| Stated::of(&rule.source).line()).collect();
    sources.dedup();
    Explanation {
        title: vendor.name.to_owned(),
        kind: Kind::Policy,
        what: format!("{} asks for a clocksource ({}). {}.", vendor.name, vendor.about, of(false)),
        figures: Vec::new(),
        versions: match past.is_empty() {
            true => "The dates are those of the texts; vendors change their advice.".to_owned(),
            false => format!("Earlier advice of this vendor: {past}."),
        },
        so_what: vendor.so_what.to_owned(),
        do_what: format!(
            "{} clocksmith why --policy {} shows what it requires of a machine, and whether the \
             machine conforms.",
            vendor.do_what, vendor.id
        ),
        see_also: vendor.see_also.iter().map(|&word| word.to_owned()).collect(),
        sources,
    }
}

fn remedy(advice: &Advice) -> Explanation {
    Explanation {
        title: advice.id.to_owned(),
        kind: Kind::Remedy,
        what: format!("A remedy: {}.", advice.summary),
        figures: Vec::new(),
        versions: "See the source.".to_owned(),
        so_what: format!("The risk: {}.", advice.risk),
        do_what: "clocksmith why recommends it, with its commands, if it helps, and refuses it if it would do \
                  harm."
            .to_owned(),
        see_also: Vec::new(),
        sources: vec![advice.source.to_owned()],
    }
}

/// The explanations of a folded word in these tables.
pub(super) fn named(folded: &str) -> Vec<Explanation> {
    let means = |vendor: &Vendor| {
        [vendor.id, vendor.name].iter().chain(vendor.words).any(|word| fold(word) == folded)
    };
    VENDORS.iter().copied().filter(|found| means(found)).map(vendor).collect()
}

/// The remedy with an id.
pub(super) fn remedy_of(id: &str) -> Option<Explanation> {
    ADVICE.iter().copied().find(|advice| advice.id.eq_ignore_ascii_case(id)).map(remedy)
}

/// All explanations of these tables.
pub(super) fn all() -> Vec<Explanation> {
    let vendors = VENDORS.iter().copied().map(vendor);
    vendors.chain(ADVICE.iter().copied().map(remedy)).collect()
}

/// The words with an explanation in these tables.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    VENDORS
        .iter()
        .flat_map(|vendor| [vendor.id, vendor.name].into_iter().chain(vendor.words.iter().copied()))
        .chain(ADVICE.iter().map(|advice| advice.id))
}

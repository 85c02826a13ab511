//! What clouds and vendors say, and the remedies of the diagnosis, from the advice table.

use super::entry::{Explanation, Kind, fold};
use crate::remedies::table::{ADVICE, Advice, POLICIES, Policy};

/// What a reader should know about one vendor's recommendation.
struct Note {
    who: &'static str,
    words: &'static [&'static str],
    so_what: &'static str,
    do_what: &'static str,
    see_also: &'static [&'static str],
}

const NOTES: &[Note] = &[
    Note {
        who: "AWS",
        words: &["aws", "amazon", "ec2", "eks", "nitro", "bottlerocket"],
        so_what: "AWS has said different things over the years: tsc instead of xen on the Xen \
                  families, kvm-clock on Nitro, and later tsc again.",
        do_what: "tsc is right on EC2 where the instance has an invariant TSC. Take it without \
                  tsc=reliable: the parameter adds nothing there and switches every check off.",
        see_also: &["kvm-clock", "clocksource=tsc", "tsc=reliable", "xen"],
    },
    Note {
        who: "ScyllaDB",
        words: &["scylla", "scylladb", "seastar", "perftune"],
        so_what: "The setup script writes the choice at run time, and the image puts it on the \
                  command line. Both count as somebody's choice in the diagnosis.",
        do_what: "Follow it where the support contract asks for it, and run clocksmith verify once: \
                  tsc=reliable means that nobody else looks.",
        see_also: &["tsc=reliable", "runtime-override", "cmdline-clocksource-override"],
    },
    Note {
        who: "SAP",
        words: &["sap", "hana", "sap hana"],
        so_what: "A support condition for HANA: the checks of the vendor look at \
                  current_clocksource and report anything else.",
        do_what: "Match the list for your platform. On bare metal with a demoted TSC fix the cause \
                  first: a forced, unstable TSC is worse than a slow clock.",
        see_also: &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "timebase"],
    },
    Note {
        who: "Microsoft",
        words: &["microsoft", "azure", "hyper-v", "wsl", "wsl2"],
        so_what: "Linux does this by itself since 5.6; there is nothing to configure in the guest.",
        do_what: "Leave the choice to the kernel. Do not force tsc on hosts that do not grant it: \
                  its rate may change when the guest moves.",
        see_also: &["AccessTscInvariant", "hyperv_clocksource_tsc_page", "invariant-tsc-withheld"],
    },
];

fn policy(policy: &Policy) -> Explanation {
    let note = NOTES.iter().find(|note| note.who == policy.who);
    Explanation {
        title: format!("{}: {}", policy.who, policy.machines),
        kind: Kind::Policy,
        what: format!("{} recommends for {}: {}.", policy.who, policy.machines, policy.says),
        figures: Vec::new(),
        versions: "See the date in the source; vendors change their minds.".to_owned(),
        so_what: note
            .map_or("A recommendation, not a rule of the kernel.", |note| note.so_what)
            .to_owned(),
        do_what: note
            .map_or("Compare it with clocksmith why on your machine.", |note| note.do_what)
            .to_owned(),
        see_also: note
            .map(|note| note.see_also.iter().map(|&word| word.to_owned()).collect())
            .unwrap_or_default(),
        sources: vec![policy.source.to_owned()],
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
        do_what: "clocksmith why proposes it, with its commands, where it helps, and refuses it \
                  where it would harm."
            .to_owned(),
        see_also: Vec::new(),
        sources: vec![advice.source.to_owned()],
    }
}

/// What a folded word means here.
pub(super) fn named(folded: &str) -> Vec<Explanation> {
    let who = NOTES.iter().find(|note| note.words.iter().any(|word| fold(word) == folded));
    POLICIES
        .iter()
        .filter(|p| {
            fold(p.who) == folded
                || who.is_some_and(|note| note.who == p.who)
                || fold(&format!("{}: {}", p.who, p.machines)) == folded
        })
        .map(policy)
        .collect()
}

/// The remedy of an id.
pub(super) fn remedy_of(id: &str) -> Option<Explanation> {
    ADVICE.iter().copied().find(|advice| advice.id.eq_ignore_ascii_case(id)).map(remedy)
}

/// Everything of this table.
pub(super) fn all() -> Vec<Explanation> {
    POLICIES.iter().map(policy).chain(ADVICE.iter().copied().map(remedy)).collect()
}

/// Words that find something here.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    POLICIES
        .iter()
        .map(|policy| policy.who)
        .chain(NOTES.iter().flat_map(|note| note.words.iter().copied()))
        .chain(ADVICE.iter().map(|advice| advice.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vendor_has_a_note() {
        for policy in POLICIES {
            assert!(NOTES.iter().any(|note| note.who == policy.who), "{}", policy.who);
        }
    }
}

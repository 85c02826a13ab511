//! Common clocksources; every other name of [`crate::names`] gets a short entry.

use super::entry::{Explanation, Kind};
use super::knowledge::CLOCKSOURCES;
use crate::names::Name;

/// The explanations of a name.
pub(super) fn named(name: &Name) -> Explanation {
    if let Some(entry) = CLOCKSOURCES.iter().find(|entry| entry.words.contains(&name.name)) {
        return entry.explanation(Kind::Clocksource);
    }
    let slow = crate::names::is_slow_by_nature(name.name);
    Explanation {
        title: name.name.to_owned(),
        kind: Kind::Clocksource,
        what: format!("A clocksource: {}. Usual rating {}.", name.about, name.rating),
        figures: Vec::new(),
        versions: "Some kernels from 2.6.32 to 7.1, on this hardware only.".to_owned(),
        so_what: if name.x86 || slow {
            "A device on a bus: every read is a system call and a slow access."
        } else {
            "The usual clock of this hardware. Whether it is read in the vDSO depends on the \
             architecture and the kernel."
        }
        .to_owned(),
        do_what: "Nothing, if reads are as fast as you need. Measure them.".to_owned(),
        see_also: vec!["clocksource".to_owned(), "vDSO".to_owned()],
        sources: vec!["clocksource drivers of Linux 2.6.32 to 7.1".to_owned()],
    }
}

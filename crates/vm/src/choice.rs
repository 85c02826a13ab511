//! Changes that need a decision, which cannot be made from a file: an invariant TSC, and its frequency.

use crate::certain;
use crate::document::Document;
use crate::edit::Edit;
use crate::formats::{libvirt, qemu};
use crate::migrate::host::{MAX_HZ, MIN_HZ};
use crate::saved;
use crate::unchosen;

/// The user's decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The guest is to have an invariant TSC. Without a frequency it can neither migrate nor be saved.
    pub invtsc: bool,
    /// The frequency of the guest's TSC, in Hz.
    pub tsc_frequency: Option<u64>,
}

impl Choices {
    /// Returns whether nothing was decided.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns the changes that make a file follow the choices. They are grouped by machine; apply a group as a whole,
/// because a part of it would apply only a part of the choices. Empty if the file already follows the choices, or if
/// its kind cannot (see [`Kind::takes_choices`](crate::Kind::takes_choices)).
#[must_use]
pub fn edits(document: &Document, choices: &Choices) -> Vec<Vec<Edit>> {
    decided(document, choices).0
}

/// Returns the reasons why changes that follow the choices are left to be made by hand, one line for each.
#[must_use]
pub fn left(document: &Document, choices: &Choices) -> Vec<String> {
    let left = decided(document, choices).1;
    left.into_iter().map(|why| unchosen::with_words(document, choices, why)).collect()
}

fn decided(document: &Document, choices: &Choices) -> (Vec<Vec<Edit>>, Vec<String>) {
    // A rule reports it as impossible.
    if let Some(hertz) = choices.tsc_frequency.filter(|hz| !(MIN_HZ..=MAX_HZ).contains(hz)) {
        let why = format!("no processor has a TSC of {hertz} Hz; give the host's frequency, in Hz");
        return (Vec::new(), vec![why]);
    }
    let qemu = document.kind.format().qemu.as_ref().filter(|_| !choices.is_empty());
    let choose = qemu.and_then(|qemu| qemu.choose);
    let edits = choose.map(|choose| choose(document, choices)).unwrap_or_default();
    let (edits, mut left) = saved::choices(document, edits);
    let (edits, more) = certain::certain(document, edits);
    left.extend(more);
    if !choices.is_empty() && document.kind == crate::Kind::Libvirt && libvirt::emulated(document) {
        left.push("a domain of type='qemu' is emulated, and does not start with either".to_owned());
    }
    if !choices.is_empty() && document.kind == crate::Kind::Libvirt {
        left.extend(libvirt::choice::left(document, choices).into_iter().map(str::to_owned));
    }
    if !choices.is_empty() && document.kind == crate::Kind::Qemu {
        left.extend(qemu::choice::left(document, choices).into_iter().map(|(at, why)| {
            let line = document.text.place(at).line;
            format!("line {line}: {why}")
        }));
    }
    (edits, left)
}

//! Changes that need a decision, which no file can make: an invariant TSC, and its frequency.

use crate::document::Document;
use crate::edit::Edit;
use crate::kind::Kind;

/// What somebody has decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// The guest is to have an invariant TSC. Without a frequency it can neither migrate nor be saved.
    pub invtsc: bool,
    /// The frequency of the guest's TSC, in Hz.
    pub tsc_frequency: Option<u64>,
}

impl Choices {
    /// Whether nothing was decided.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The changes that make a file follow the choices. None where it does already, or where its kind
/// cannot (see [`supported`]).
#[must_use]
pub fn edits(document: &Document, choices: &Choices) -> Vec<Edit> {
    if choices.is_empty() {
        return Vec::new();
    }
    match document.kind {
        Kind::Libvirt => crate::libvirt::choice::edits(document, choices),
        Kind::Qemu => crate::qemu::choice::edits(document, choices),
        Kind::Proxmox => crate::proxmox::choice(document, choices),
        _ => Vec::new(),
    }
}

/// Whether files of a kind can be made to follow choices.
#[must_use]
pub fn supported(kind: Kind) -> bool {
    matches!(kind, Kind::Libvirt | Kind::Qemu | Kind::Proxmox)
}

//! Words of the field.

mod hardware;
mod kernel;

use super::entry::Entry;

/// Every word.
pub(super) fn entries() -> impl Iterator<Item = &'static Entry> {
    kernel::ENTRIES.iter().chain(hardware::ENTRIES)
}

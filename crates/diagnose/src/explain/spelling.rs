//! Typing errors: how far apart two words may be, and the nearest name of a clocksource.

use super::entry::fold;
use crate::names::NAMES;

/// The nearest name of a clocksource, if one is near.
pub(super) fn nearest_name(word: &str) -> Option<&'static str> {
    let folded = fold(word);
    NAMES
        .iter()
        .map(|name| (strsim::osa_distance(&folded, &fold(name.name)), name.name))
        .filter(|(distance, _)| *distance <= allowed(&folded))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Edits that a slip of the fingers makes.
pub(super) fn allowed(word: &str) -> usize {
    match word.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        5..=9 => 2,
        _ => 3,
    }
}

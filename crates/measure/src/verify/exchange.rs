//! The two sides of an exchange of counters, as a pair.

use super::samples::Pair;
use clocksmith_raw::exchange::Side;

/// Both sides as a pair.
pub(crate) fn pair(one: u32, other: u32, asked: &Side, answered: &Side) -> Pair {
    Pair {
        exchanges: asked.exchanges,
        there: answered.least,
        back: asked.least,
        ..Pair::new(one, other)
    }
}

//! Exact counts of calls, from whoever counts them: the place where a counting vDSO, or a tracepoint,
//! is joined to the samples. Pure.

use crate::clock::{Api, ClockId};
use schemars::JsonSchema;
use serde::Serialize;

/// Calls of one function for one clock, counted one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The function.
    pub api: Api,
    /// The clock; `None` where the function takes none.
    pub clock: Option<ClockId>,
    /// Calls.
    pub calls: u64,
}

/// A source of exact counts for the whole of a recording: started with it, asked at its end.
pub trait Counter {
    /// How it counts, in words.
    fn method(&self) -> String;
    /// The counts so far, one for each function and clock.
    ///
    /// # Errors
    /// Why there are none.
    fn counts(&mut self) -> Result<Vec<Count>, String>;
}

/// A row of exact counts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExactRow {
    /// The function.
    pub api: Api,
    /// The clock's name; null where the function takes none.
    pub clock: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Calls in each second.
    pub per_second: f64,
    /// Share of all calls, 0 to 1.
    pub share: f64,
}

/// Exact counts, most frequent first.
#[must_use]
pub fn rows(counts: &[Count], seconds: f64) -> Vec<ExactRow> {
    let all: u64 = counts.iter().map(|count| count.calls).sum();
    let mut rows: Vec<ExactRow> = counts
        .iter()
        .filter(|count| count.calls > 0)
        .map(|count| ExactRow {
            api: count.api,
            clock: count.clock.map(ClockId::name),
            calls: count.calls,
            per_second: count.calls as f64 / seconds.max(1e-9),
            share: count.calls as f64 / all.max(1) as f64,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
    rows
}

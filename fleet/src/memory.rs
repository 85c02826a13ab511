//! How the queries of a run share their memory.
//!
//! A sort that has filled its share merges its rows into one run before it writes that to the disk, and at the end it
//! merges the runs. Both take memory that the engine requests beside the share, and without it the query fails. So
//! three parts are separate: a quarter for operators that can go to the disk, half for the merges of sorts, and a
//! quarter for operators that can do neither, such as the smaller side of a join. Within the first two, every operator
//! has the same share, so none can take the memory that another one needs to continue; a merge can also have the
//! remaining memory. A sort counts its rows twice while it collects them; a merge takes them once and, beside them,
//! their keys in a form that is compared, which for narrow rows is larger than the rows.

use datafusion::common::{DataFusionError, Result};
use datafusion::config::SpillCompression;
use datafusion::execution::memory_pool::{
    MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::prelude::SessionConfig;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The least memory for one more partition, which is sorted and grouped beside the others.
const PARTITION: usize = 64 << 20;
/// Memory for each row of a batch: a sort merges dozens of runs, and holds some batches of each.
const ROW: usize = 256 << 10;

/// Settings of the engine for this much memory and this many processors.
pub(crate) fn settings(bytes: usize, processors: usize) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions((bytes / PARTITION).clamp(1, processors.max(1)))
        .with_batch_size((bytes / ROW).clamp(1024, 8192))
        // [`Shares`] keeps the memory for merges; this part of it is taken beforehand.
        .with_sort_spill_reservation_bytes((bytes / 1024).min(10 << 20));
    config.options_mut().execution.spill_compression = SpillCompression::Lz4Frame;
    config
}

/// The configuration for a query that failed for lack of memory: joins that sort both sides and can go to the disk.
pub(crate) fn frugal(mut config: SessionConfig) -> SessionConfig {
    config.options_mut().optimizer.prefer_hash_join = false;
    // The tables are those of the other context, whose catalogue a new one would replace.
    config
        .with_create_default_catalog_and_schema(false)
        .with_target_partitions(1)
        .with_batch_size(1024)
}

/// The use that an operator makes of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Spills,
    Merges,
    Other,
}

fn kind(consumer: &MemoryConsumer) -> Kind {
    if consumer.can_spill() {
        Kind::Spills
    } else if consumer.name().starts_with("ExternalSorterMerge") {
        Kind::Merges
    } else {
        Kind::Other
    }
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of each operator that can spill, by its number.
    spilling: HashMap<usize, usize>,
    /// Bytes for merging of each sort, by its number.
    merging: HashMap<usize, usize>,
    other: usize,
    used: usize,
    peak: usize,
}

impl State {
    /// Returns the bytes of the operator, or of all operators that are not distinguished.
    fn of(&mut self, consumer: &MemoryConsumer) -> &mut usize {
        match kind(consumer) {
            Kind::Spills => self.spilling.entry(consumer.id()).or_default(),
            Kind::Merges => self.merging.entry(consumer.id()).or_default(),
            Kind::Other => &mut self.other,
        }
    }

    fn grow(&mut self, consumer: &MemoryConsumer, bytes: usize) {
        *self.of(consumer) += bytes;
        self.used += bytes;
        self.peak = self.peak.max(self.used);
    }

    /// Bytes that the operator may have.
    fn share(&self, consumer: &MemoryConsumer, limit: usize) -> usize {
        let quarter = limit / 4;
        let (spilling, merging) = (self.spilling.len(), self.merging.len());
        match kind(consumer) {
            Kind::Spills if merging == 0 => 3 * quarter / spilling.max(1),
            Kind::Spills => quarter / spilling.max(1),
            Kind::Merges => 2 * quarter / merging.max(1),
            Kind::Other if spilling + merging == 0 => limit,
            Kind::Other => quarter,
        }
    }
}

impl State {
    /// Returns the bytes that a merge can have beyond its share: those that no operator has, and none is owed.
    fn free(&self, merge: &MemoryConsumer, limit: usize) -> usize {
        let share = self.share(merge, limit);
        let others = self.merging.iter().filter(|(id, _)| **id != merge.id());
        let owed: usize = others.map(|(_, has)| share.saturating_sub(*has)).sum();
        let collecting = (limit / 4).saturating_sub(self.spilling.values().sum());
        limit.saturating_sub(self.used + owed + collecting)
    }
}

/// The memory of a run's queries.
#[derive(Debug)]
pub(crate) struct Shares {
    limit: usize,
    state: Mutex<State>,
}

impl Shares {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// The most that was in use at one time.
    pub(crate) fn peak(&self) -> usize {
        self.state().peak
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Display for Shares {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "shares of {} bytes", self.limit)
    }
}

impl MemoryPool for Shares {
    fn name(&self) -> &str {
        "shares"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.state().of(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        let mut state = self.state();
        let left = match kind(consumer) {
            Kind::Spills => state.spilling.remove(&consumer.id()),
            Kind::Merges => state.merging.remove(&consumer.id()),
            Kind::Other => None,
        };
        state.used = state.used.saturating_sub(left.unwrap_or(0));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.state().grow(reservation.consumer(), additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        let mut state = self.state();
        let bytes = state.of(reservation.consumer());
        *bytes = bytes.saturating_sub(shrink);
        state.used = state.used.saturating_sub(shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let consumer = reservation.consumer();
        let mut state = self.state();
        let share = state.share(consumer, self.limit);
        let has = *state.of(consumer);
        let beyond = has.saturating_add(additional) > share;
        if beyond
            && (kind(consumer) != Kind::Merges || additional > state.free(consumer, self.limit))
        {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} has {has} bytes and needs {additional} more; its share is {share}",
                consumer.name()
            )));
        }
        state.grow(consumer, additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.state().used
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::sync::Arc;

    fn pool(limit: usize) -> (Arc<Shares>, Arc<dyn MemoryPool>) {
        let shares = Arc::new(Shares::new(limit));
        (shares.clone(), shares)
    }

    #[test]
    fn a_full_sort_and_a_full_join_leave_the_memory_that_merges_need() {
        let (shares, pool) = pool(1600);
        let sort = |number| {
            let collects = MemoryConsumer::new(format!("ExternalSorter[{number}]"));
            let merges = MemoryConsumer::new(format!("ExternalSorterMerge[{number}]"));
            (collects.with_can_spill(true).register(&pool), merges.register(&pool))
        };
        let ((first, merges), (second, others)) = (sort(0), sort(1));
        let join = MemoryConsumer::new("HashJoinInput").register(&pool);
        first.try_grow(200).unwrap();
        assert!(first.try_grow(1).is_err(), "the other sort has the same share");
        join.try_grow(400).unwrap();
        assert!(join.try_grow(1).is_err());
        second.try_grow(200).unwrap();
        // A merge takes its share in parts: of the rows, and of their keys.
        let keys = merges.new_empty();
        merges.try_grow(300).unwrap();
        keys.try_grow(100).unwrap();
        assert!(keys.try_grow(1).is_err());
        others.try_grow(400).unwrap();
        assert_eq!((shares.reserved(), shares.peak()), (1600, 1600));
        drop((first, merges, keys, second, others));
        assert_eq!((shares.reserved(), shares.peak()), (400, 1600));
        join.try_grow(1200).unwrap();
        drop(join);
        assert_eq!(shares.reserved(), 0);
    }

    #[test]
    fn without_sorts_groupings_have_more() {
        let (_, pool) = pool(1600);
        let group = MemoryConsumer::new("GroupedHashAggregateStream[0]").with_can_spill(true);
        let group = group.register(&pool);
        group.try_grow(1200).unwrap();
        assert!(group.try_grow(1).is_err());
    }
}

//! A time namespace: the real page, with offsets from the front page.

use super::{Engine, FAILURES, NAMESPACE_PROVEN, PATIENCE, PROOF, ROUNDING_NS};
use crate::discover;
use crate::kernel::{self, ClockId};
use crate::line::{self, Unread};
use crate::source::Source;
use crate::view::{Raw, nothing};
use clocksmith_raw::counter::Counter;
use core::sync::atomic::Ordering;

impl Engine {
    /// The time in a time namespace: that of the real page, with the offset from the front page.
    ///
    /// The real page exists only as long as the front page is a namespace's, and `setns(2)` may end
    /// that (in a process with one thread; so not between these lines). So the front page is
    /// looked at first, at each read.
    pub(super) fn in_namespace<C: Counter, const ORDERED: bool>(&self, id: ClockId) -> Option<u64> {
        let front = self.front.page();
        if front.is_nothing() || !discover::is_time_namespace(front) {
            self.state.fetch_and(!NAMESPACE_PROVEN, Ordering::AcqRel);
            return None;
        }
        if !self.may_use(Source::Vvar) {
            return None;
        }
        if self.state.load(Ordering::Acquire) & NAMESPACE_PROVEN == 0 {
            self.enter_namespace::<C>()?;
        }
        let front = self.front.page();
        let raw = matches!(id, ClockId::MonotonicRaw);
        let real = if raw { &self.real_raw } else { &self.real };
        self.namespace_time::<C, ORDERED>(front, real.page(), id)
    }

    pub(super) fn namespace_time<C: Counter, const ORDERED: bool>(
        &self,
        front: Raw,
        real: Raw,
        id: ClockId,
    ) -> Option<u64> {
        let offset = match id {
            ClockId::Realtime | ClockId::Tai => 0,
            _ => discover::offset(front, id),
        };
        let counter = if ORDERED { C::read_ordered } else { C::read };
        (0..PATIENCE).find_map(|_| match line::read(&real, id as usize, counter) {
            Ok((line, cycles)) => Some(Some(line.at(cycles).wrapping_add(offset))),
            Err(Unread::Changing) => None,
            Err(Unread::Mode(_)) => Some(None),
        })?
    }

    /// A coarse clock in a time namespace whose pages have been proven.
    pub(super) fn coarse_in_namespace(&self, id: ClockId) -> Option<u64> {
        let front = self.front.page();
        if self.state.load(Ordering::Acquire) & NAMESPACE_PROVEN == 0
            || front.is_nothing()
            || !discover::is_time_namespace(front)
        {
            return None;
        }
        let offset = match id {
            ClockId::RealtimeCoarse => 0,
            _ => discover::offset(front, id),
        };
        let real = self.real.page();
        let (seconds, ns) =
            (0..PATIENCE).find_map(|_| line::read_times(&real, id as usize).ok())?;
        // The nanoseconds of a coarse clock are not shifted.
        Some(seconds.wrapping_mul(1_000_000_000).wrapping_add(ns).wrapping_add(offset))
    }

    /// Finds and proves the pages of a namespace. Not the injected kernel of tests: this is about
    /// real pages.
    #[cold]
    pub(super) fn enter_namespace<C: Counter>(&self) -> Option<()> {
        let now = kernel::time(ClockId::Monotonic)?;
        if now < self.retry_ns.load(Ordering::Relaxed)
            || self.failures.load(Ordering::Relaxed) >= FAILURES
        {
            return None;
        }
        let found = self.locate().filter(|found| found.front != found.real);
        let right = found.as_ref().is_some_and(|found| {
            [ClockId::Monotonic, ClockId::Boottime, ClockId::Realtime].iter().all(|id| {
                (0..PROOF).all(|_| {
                    let Some(before) = kernel::time(*id) else { return false };
                    let ours = self.namespace_time::<C, true>(found.front, found.real, *id);
                    let (Some(ours), Some(after)) = (ours, kernel::time(*id)) else {
                        return false;
                    };
                    before <= ours + ROUNDING_NS && ours <= after + ROUNDING_NS
                })
            })
        });
        if !right {
            self.failed(now);
            return None;
        }
        let raw = found.and_then(|found| discover::raw_beside(found.real));
        self.real_raw.show(raw.unwrap_or(nothing()));
        self.state.fetch_or(NAMESPACE_PROVEN, Ordering::AcqRel);
        Some(())
    }
}

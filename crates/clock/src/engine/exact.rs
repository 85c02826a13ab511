//! The kernel's own page: proving it, serving by it.

use super::{Engine, Kernel, PATIENCE, PROOF, PROOF_NS, ROUNDING_NS, TRIES};
use crate::discover;
use crate::kernel::{self, ClockId};
use crate::line::{self, Line};
use crate::page;
use crate::view::{LIMIT, Raw};
use clocksmith_raw::counter::Counter;

impl Engine {
    /// Serves by the kernel's page from now on.
    pub(super) fn serve<C: Counter>(&self, page: Raw) {
        let read = || line::read(&page, ClockId::Monotonic as usize, C::read_ordered).ok();
        let Some((line, now)) = read() else { return };
        if !self.hand_over::<C>(|| read().map(|(line, now)| line.at(now))) {
            return;
        }
        let span = page::span(PROOF_NS, &line);
        for view in [&self.exact, &self.mono] {
            view.show(page);
            view.arm(now, span);
        }
        if let Some(raw) = discover::raw_beside(page) {
            if self.prove::<C>(raw, ClockId::MonotonicRaw, || kernel::time(ClockId::MonotonicRaw)) {
                self.raw.show(raw);
                self.raw.arm(now, span);
            }
        }
    }

    /// Whether the kernel's page gives the time of all its clocks.
    pub(super) fn prove_all<C: Counter, K: Kernel>(&self, page: Raw) -> bool {
        let Ok((line, _)) = line::read(&page, ClockId::Monotonic as usize, C::read) else {
            return false;
        };
        // A clock that the kernel does not have yet cannot be wrong; every page has the others.
        let right =
            |id| kernel::time(id).is_none() || self.prove::<C>(page, id, || kernel::time(id));
        Line::limit(line.mult, line.shift) >= LIMIT
            && self.prove_monotonic::<C, K>(page, PROOF)
            && right(ClockId::Realtime)
            && right(ClockId::Boottime)
            && right(ClockId::Tai)
    }

    pub(super) fn prove_monotonic<C: Counter, K: Kernel>(&self, page: Raw, brackets: u32) -> bool {
        (0..brackets).all(|_| self.prove::<C>(page, ClockId::Monotonic, K::monotonic))
    }

    /// Whether the page gives a time between two readings of the kernel's clock.
    pub(super) fn prove<C: Counter>(
        &self,
        page: Raw,
        id: ClockId,
        clock: impl Fn() -> Option<u64>,
    ) -> bool {
        (0..TRIES).any(|_| {
            let Some(before) = clock() else { return false };
            let ours = (0..PATIENCE).find_map(|_| {
                line::read(&page, id as usize, C::read_ordered)
                    .ok()
                    .map(|(line, cycles)| line.at(cycles))
            });
            let (Some(ours), Some(after)) = (ours, clock()) else { return false };
            before <= ours.saturating_add(ROUNDING_NS) && ours <= after.saturating_add(ROUNDING_NS)
        })
    }
}

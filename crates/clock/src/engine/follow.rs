//! The library's own line: its beginning, renewal and end.

use super::{BRACKETS, ELIGIBLE, Engine, Kernel, Looked};
use crate::line::Cells;
use crate::memory;
use crate::page::{self, Page, Renewed};
use crate::view::{Reading, nothing};
use clocksmith_raw::counter::Counter;
use clocksmith_raw::discipline::Sample;
use core::sync::atomic::Ordering;

impl Engine {
    /// Begins the library's own line, or continues it.
    pub(super) fn follow<C: Counter, K: Kernel>(&self, now_ns: u64) {
        let Some(page) = memory::page(&self.own) else { return };
        page.take_form(self.form());
        if page.is_too_early(now_ns) {
            return;
        }
        let raw = memory::as_raw(page);
        if page.is_running() && self.mono.shows(raw) {
            return;
        }
        let _ = self.renew_from::<C, K>(page);
    }

    /// A line's window is over.
    pub(super) fn renew<C: Counter, K: Kernel>(&self, page: &Page, reading: &Reading) -> Looked {
        match self.renew_from::<C, K>(page) {
            Renewed::Until { .. } => Looked::Again,
            // The next piece begins on this one, so its continuation is as good; but not for long.
            Renewed::Busy if self.mono.is_just_over(reading) => Looked::InOrder,
            Renewed::Busy => Looked::Again,
            Renewed::Waiting | Renewed::Wrong => Looked::Gone,
        }
    }

    pub(super) fn renew_from<C: Counter, K: Kernel>(&self, page: &Page) -> Renewed {
        // The counter must still be the kernel's clock, unless the program has vouched for it
        // (`trust_counter`).
        let front = self.front.page();
        let counts = self.trusted.load(Ordering::Relaxed)
            || front.is_nothing()
            || front.word(Ordering::Acquire).is_odd()
            || front.word(Ordering::Acquire).is_counter();
        // Without the kernel's page only the read cost of its clock shows that the kernel has left
        // the counter.
        let only_width_tells = front.is_nothing() && !self.trusted.load(Ordering::Relaxed);
        let sample = || {
            let sample = counts.then(|| page::sample::<C>(BRACKETS, K::monotonic)).flatten();
            sample.map(|sample| Sample { only_width_tells, ..sample })
        };
        page.take_form(self.form());
        let renewed = page.renew::<C>(sample, &self.floor_ns);
        match renewed {
            Renewed::Until { armed, window } => {
                self.mono.show(memory::as_raw(page));
                self.mono.arm(armed, window);
            }
            Renewed::Wrong => {
                self.mono.show(nothing());
                if only_width_tells {
                    // Whether the kernel uses the counter is no longer known, and is not determined
                    // again.
                    self.state.fetch_and(!ELIGIBLE, Ordering::AcqRel);
                }
                if counts {
                    self.failed(K::monotonic().unwrap_or(0));
                }
            }
            Renewed::Waiting | Renewed::Busy => {}
        }
        renewed
    }
}

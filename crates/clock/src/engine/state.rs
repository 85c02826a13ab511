//! Queries and settings of the engine.

use super::{
    ELIGIBILITY_KNOWN, ELIGIBLE, Engine, FORBIDDEN, Kernel, NAMESPACE_PROVEN, PATIENCE, STARTED,
};
use crate::eligible;
use crate::kernel::{self, ClockId};
use crate::line::{Cells, MODE_TIMENS};
use crate::memory;
use crate::paravirt::Kind;
use crate::source::Source;
use clocksmith_raw::counter::Counter;
use core::sync::atomic::Ordering;

impl Engine {
    /// The source that serves CLOCK_MONOTONIC now.
    pub(crate) fn source<C: Counter, K: Kernel>(&self) -> Source {
        // Work that is due is done first.
        let _ = self.monotonic::<C, K>();
        let front = self.front.page();
        let mode = front.word(Ordering::Acquire).mode();
        let exact = self.exact.page();
        if !exact.is_nothing()
            && self.mono.shows(exact)
            && exact.word(Ordering::Acquire).is_counter()
            || !front.is_nothing()
                && mode == MODE_TIMENS
                && self.state.load(Ordering::Acquire) & NAMESPACE_PROVEN != 0
        {
            return Source::Vvar;
        }
        if let Some(source) = self.source_beside::<C>() {
            return source;
        }
        if let Some(page) = memory::there(&self.own) {
            if page.is_running() && self.mono.shows(memory::as_raw(page)) {
                return Source::Disciplined;
            }
        }
        // Mode 0 is `VDSO_CLOCKMODE_NONE`: the vDSO makes a system call itself. A hypervisor's page
        // may also send the vDSO to the kernel; only the read cost shows that.
        let by_call = !front.is_nothing()
            && (mode == 0
                || Kind::of_mode(mode).is_some() && !eligible::is_served_without_call::<C>());
        if kernel::vdso_address().is_none() || !kernel::may_use_vdso() || by_call {
            Source::Syscall
        } else {
            Source::Vdso
        }
    }

    /// Sets the best source that may be used, and starts the search again.
    pub(crate) fn restrict<C: Counter>(&self, best: Source) {
        self.best.store(best.rank(), Ordering::Relaxed);
        self.leave_pages::<C>();
        self.begin_anew();
    }

    /// Whether the counter may be used although the kernel does not use it.
    pub(crate) fn trust<C: Counter>(&self, trusted: bool) {
        self.trusted.store(trusted, Ordering::Relaxed);
        if !trusted {
            self.leave_line::<C>();
        }
        self.begin_anew();
    }

    fn begin_anew(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.retry_ns.store(0, Ordering::Relaxed);
        self.idle_ns.store(0, Ordering::Relaxed);
        let asked_once = STARTED | FORBIDDEN | ELIGIBILITY_KNOWN | ELIGIBLE;
        self.state.fetch_and(!asked_once, Ordering::AcqRel);
    }

    /// Nanoseconds per cycle by the page that serves CLOCK_MONOTONIC, as (mult, shift).
    pub(crate) fn rate<C: Counter, K: Kernel>(&self) -> Option<(u32, u32)> {
        // Work that is due is done first. By a hypervisor's page the rate is the product of two
        // rates, which is not published.
        let by_counter = matches!(self.source::<C, K>(), Source::Vvar | Source::Disciplined);
        let view = if self.mono.is_empty() { &self.real } else { &self.mono };
        let read = |_| crate::line::read_coarse(&view.page(), ClockId::Monotonic as usize).ok();
        let line = (0..PATIENCE).find_map(read).filter(|_| by_counter)?;
        (line.mult != 0 && line.shift < 64).then_some((line.mult, line.shift))
    }
}

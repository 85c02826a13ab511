//! The choice of the source, and the change to another one when it fails.
//!
//! The hot path is [`View::now`]. Every read that it cannot serve comes here: the first read, a page that is being
//! written, a counter that is far from the page, a window that is over, a kernel that has left the counter, a time
//! namespace. There is no lock in here, no allocation, and no waiting but a bounded spin, so all of it may run in a
//! signal handler and after a fork; two threads that do the same at once come to the same result.

mod exact;
mod follow;
mod namespace;
mod paravirt;
#[cfg(all(test, target_arch = "x86_64", not(any(miri, clocksmith_loom))))]
mod paravirt_tests;
mod state;
#[cfg(all(test, not(any(miri, clocksmith_loom))))]
mod tests;

use crate::discover::{self, Found};
use crate::eligible;
use crate::kernel::{self, ClockId};
use crate::line::{Cells, MODE_TIMENS, Unread};
use crate::memory;
use crate::page::{self, Page};
use crate::paravirt::Kind;
use crate::source::Source;
use crate::view::{Form, Reading, View, nothing};
use clocksmith_raw::counter::Counter;
use clocksmith_raw::discipline::LONGEST_NS;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

/// Brackets of the first proof, and of each later one.
const PROOF: u32 = 32;
const REPROOF: u32 = 1;
/// How often a bracket may fail before it counts: the thread may be moved between its reads to a
/// processor whose counter is a little off, which the kernel's own clock shows just the same.
const TRIES: u32 = 4;
/// How long a proof holds.
const PROOF_NS: u64 = 250_000_000;
/// The amount by which the kernel's own clock may go back when it changes its rate, because of
/// rounding.
const ROUNDING_NS: u64 = 2;
/// Brackets of a reading for the disciplined page.
const BRACKETS: u32 = 8;
/// How long a reader waits for a page that is being written, in rounds of a pause.
const PATIENCE: u32 = 200;
/// After a failed proof the next one comes after a second, then two, four and so on; after this
/// number the counter is not used.
const FAILURES: u32 = 6;
const RETRY_NS: u64 = 1_000_000_000;
/// How long reads use the kernel before another source is considered again.
const IDLE_NS: u64 = 100_000_000;

/// Flags of `state`.
const STARTED: u32 = 1;
/// The counter must not be read (`PR_SET_TSC`).
const FORBIDDEN: u32 = 2;
/// The kernel's page has been proven in a time namespace.
const NAMESPACE_PROVEN: u32 = 4;
/// The check whether the kernel's clock is the counter, for pages that do not show this: whether the check was made,
/// and its result.
const ELIGIBILITY_KNOWN: u32 = 8;
const ELIGIBLE: u32 = 16;

/// How the kernel's monotonic clock is read. The real one is [`Asked`]; tests use others.
pub(crate) trait Kernel {
    /// CLOCK_MONOTONIC in nanoseconds, from the best remaining source.
    fn monotonic() -> Option<u64>;
}

/// By `clock_gettime`.
pub(crate) struct Asked;

impl Kernel for Asked {
    fn monotonic() -> Option<u64> {
        kernel::time(ClockId::Monotonic)
    }
}

/// The state of a clock. There is one for the process; tests make more.
pub(crate) struct Engine {
    /// The page that serves CLOCK_MONOTONIC unordered: the kernel's or the library's own.
    mono: View,
    /// The kernel's page, when its fine clocks are proven.
    exact: View,
    /// The kernel's page for CLOCK_MONOTONIC_RAW.
    raw: View,
    /// The kernel's page with a hypervisor's, where it counts in that.
    paravirt: paravirt::Served,
    /// The kernel's page, as soon as it is found: coarse clocks, and its mode.
    front: View,
    /// The kernel's real page, when `front` is a time namespace's.
    real: View,
    /// The page for CLOCK_MONOTONIC_RAW next to it.
    real_raw: View,
    state: AtomicU32,
    /// The form of all pages; 0 until it is known.
    tail: AtomicUsize,
    /// The best source that may be used.
    best: AtomicU8,
    /// Whether the counter may be used although the kernel does not use it.
    trusted: AtomicBool,
    own: AtomicPtr<Page>,
    failures: AtomicU32,
    /// The kernel's time before which nothing is tried again.
    retry_ns: AtomicU64,
    /// Until this time of the kernel's, and as long as its page has this mode, nothing is tried.
    idle_ns: AtomicU64,
    idle_mode: AtomicU32,
    /// The latest time that the library's own line may have given.
    floor_ns: AtomicU64,
}

impl Engine {
    pub(crate) const fn new() -> Self {
        Self {
            mono: View::new(),
            exact: View::new(),
            raw: View::new(),
            paravirt: paravirt::Served::new(),
            front: View::new(),
            real: View::new(),
            real_raw: View::new(),
            state: AtomicU32::new(0),
            tail: AtomicUsize::new(0),
            best: AtomicU8::new(Source::Vvar.rank()),
            trusted: AtomicBool::new(false),
            own: AtomicPtr::new(core::ptr::null_mut()),
            failures: AtomicU32::new(0),
            retry_ns: AtomicU64::new(0),
            idle_ns: AtomicU64::new(0),
            idle_mode: AtomicU32::new(0),
            floor_ns: AtomicU64::new(0),
        }
    }

    /// CLOCK_MONOTONIC, unordered.
    #[inline(always)]
    pub(crate) fn monotonic<C: Counter, K: Kernel>(&self) -> u64 {
        match self.mono.now::<C, false>(ClockId::Monotonic as usize) {
            Some(ns) => ns,
            None => self.monotonic_beside::<C, K>(),
        }
    }

    /// CLOCK_MONOTONIC, ordered: from the kernel's page or the kernel itself, never from the library's own line.
    #[inline(always)]
    pub(crate) fn monotonic_ordered<C: Counter, K: Kernel>(&self) -> u64 {
        self.exact::<C, K, true>(ClockId::Monotonic)
    }

    /// The kernel's page for a fine clock.
    #[inline(always)]
    fn exact_view(&self, id: ClockId) -> &View {
        if matches!(id, ClockId::MonotonicRaw) { &self.raw } else { &self.exact }
    }

    /// Any fine clock, from the kernel's page or the kernel itself.
    #[inline(always)]
    pub(crate) fn exact<C: Counter, K: Kernel, const ORDERED: bool>(&self, id: ClockId) -> u64 {
        match self.exact_view(id).now::<C, ORDERED>(id as usize) {
            Some(ns) => ns,
            None => self.exact_beside::<C, K, ORDERED>(id),
        }
    }

    /// A coarse clock.
    #[inline(always)]
    pub(crate) fn coarse<C: Counter, K: Kernel>(&self, id: ClockId) -> u64 {
        match crate::line::read_times(&self.front.page(), id as usize) {
            // The nanoseconds of a coarse clock are not shifted.
            Ok((seconds, ns)) => seconds.wrapping_mul(1_000_000_000).wrapping_add(ns),
            Err(_) => self.coarse_slow::<C, K>(id),
        }
    }

    #[cold]
    #[inline(never)]
    fn monotonic_slow<C: Counter, K: Kernel>(&self) -> u64 {
        if let Some(ns) = self.by_kernel_for_now::<K>() {
            return ns;
        }
        kernel::keep_errno(|| {
            self.start::<C, K>();
            let served = self.by_view::<C, K, false>(&self.mono, ClockId::Monotonic);
            let served = served.or_else(|| self.by_paravirt::<C, K, false>(ClockId::Monotonic));
            served.unwrap_or_else(|| self.not_by_page::<C, K>())
        })
    }

    #[cold]
    #[inline(never)]
    fn exact_slow<C: Counter, K: Kernel, const ORDERED: bool>(&self, id: ClockId) -> u64 {
        if self.cannot_be_exact::<C>() {
            if let Some(ns) = asked::<K>(id).filter(|ns| !self.is_due_beside(id, *ns)) {
                return ns;
            }
        }
        kernel::keep_errno(|| {
            self.start::<C, K>();
            let view = self.exact_view(id);
            let served = self.by_view::<C, K, ORDERED>(view, id);
            let served = served.or_else(|| self.by_paravirt::<C, K, ORDERED>(id));
            if let Some(ns) = served.or_else(|| self.in_namespace::<C, ORDERED>(id)) {
                return ns;
            }
            // Reconsiders, because the pages cannot be used; the result still comes from the kernel.
            let now = self.ask::<K>(ClockId::Monotonic);
            self.reconsider::<C, K>(now);
            if matches!(id, ClockId::Monotonic) { now } else { self.ask::<K>(id) }
        })
    }

    /// Reads a page that the hot path could not read: it is being written, the counter is far from
    /// it, or it is due for renewal or a proof. `None` if it cannot be used.
    fn by_view<C: Counter, K: Kernel, const ORDERED: bool>(
        &self,
        view: &View,
        id: ClockId,
    ) -> Option<u64> {
        for _ in 0..PATIENCE {
            match view.reading::<C, ORDERED>(id as usize) {
                Ok(reading) if !view.is_over(&reading) => return Some(reading.time()),
                Ok(reading) => match self.look_after::<C, K>(&reading) {
                    Looked::InOrder => return Some(reading.time()),
                    Looked::Again => {}
                    Looked::Gone => return None,
                },
                Err(Unread::Changing) => {}
                Err(Unread::Mode(_)) => return None,
            }
            core::hint::spin_loop();
        }
        None
    }

    #[cold]
    #[inline(never)]
    fn coarse_slow<C: Counter, K: Kernel>(&self, id: ClockId) -> u64 {
        if let Some(ns) = self.coarse_in_namespace(id) {
            return ns;
        }
        kernel::keep_errno(|| {
            self.start::<C, K>();
            if self.in_namespace::<C, false>(ClockId::Monotonic).is_some() {
                if let Some(ns) = self.coarse_in_namespace(id) {
                    return ns;
                }
            }
            let page = self.front.page();
            for _ in 0..PATIENCE {
                match crate::line::read_times(&page, id as usize) {
                    Ok((seconds, ns)) => return seconds.wrapping_mul(1_000_000_000) + ns,
                    Err(Unread::Changing) => core::hint::spin_loop(),
                    Err(Unread::Mode(_)) => break,
                }
            }
            kernel::time(id).unwrap_or_else(|| self.ask::<K>(ClockId::Monotonic))
        })
    }

    /// The kernel's time, if it is known that no other source can be used: the path on a machine whose
    /// clock is not the counter. It costs little more than the vDSO itself.
    fn by_kernel_for_now<K: Kernel>(&self) -> Option<u64> {
        let idle = self.idle_ns.load(Ordering::Acquire);
        if idle == 0 || self.front_mode() != self.idle_mode.load(Ordering::Relaxed) {
            return None;
        }
        let now = K::monotonic().filter(|now| *now < idle)?;
        Some(self.not_before_floor(now))
    }

    /// The library's own line may have been a little ahead when it went out of use: then the clock
    /// stays at the line's last time until the kernel's clock reaches it. If the difference is
    /// larger than a line can be ahead, the kernel's clock itself has changed (a process can enter
    /// another time namespace), and the clock follows it.
    fn not_before_floor(&self, now: u64) -> u64 {
        let floor = self.floor_ns.load(Ordering::Relaxed);
        if floor.wrapping_sub(now) <= 2 * LONGEST_NS {
            return floor;
        }
        if floor > now {
            self.floor_ns.store(0, Ordering::Relaxed);
        }
        now
    }

    /// Whether the kernel's page cannot be used, and has been retired.
    fn cannot_be_exact<C: Counter>(&self) -> bool {
        let mode = self.front_mode();
        self.state.load(Ordering::Acquire) & STARTED != 0
            && !self.may_be_beside::<C>()
            && (self.exact.is_empty() || Kind::of_mode(mode).is_some())
            && (!self.may_use(Source::Vvar)
                || !clocksmith_raw::counter::is_counter_mode(mode) && mode != MODE_TIMENS
                || self.front.is_empty())
    }

    /// Whether it is time to look for a hypervisor's page, at this time of this clock. Without this check
    /// a program that makes only ordered reads would never find the page.
    fn is_due_beside(&self, id: ClockId, now: u64) -> bool {
        if !matches!(id, ClockId::Monotonic) || Kind::of_mode(self.front_mode()).is_none() {
            return false;
        }
        let due = self.idle_ns.load(Ordering::Relaxed);
        if now >= due {
            self.idle_mode.store(self.front_mode(), Ordering::Relaxed);
            self.idle_ns.store(now.saturating_add(IDLE_NS), Ordering::Release);
        }
        now >= due
    }

    fn front_mode(&self) -> u32 {
        self.front.page().word(Ordering::Acquire).mode()
    }

    /// Finds the available sources. Runs once, and again after `restrict`.
    fn start<C: Counter, K: Kernel>(&self) {
        if self.state.load(Ordering::Acquire) & STARTED != 0 {
            return;
        }
        let allowed = kernel::counter_is_allowed();
        // The vDSO reads the counter too.
        kernel::use_vdso(allowed && self.best.load(Ordering::Relaxed) < Source::Syscall.rank());
        if !allowed {
            self.state.fetch_or(FORBIDDEN, Ordering::AcqRel);
        }
        self.locate();
        if let Some(now) = K::monotonic() {
            self.reconsider::<C, K>(now);
        }
        self.state.fetch_or(STARTED, Ordering::AcqRel);
    }

    fn locate(&self) -> Option<Found> {
        let found = discover::find()?;
        // The first one settles the form, for good: there is one kernel to a process.
        if self.form_or(found.front.form()) != found.front.form() {
            return None;
        }
        self.real.show(found.real);
        self.front.show(found.front);
        Some(found)
    }

    /// The form of all pages of this engine.
    fn form(&self) -> Form {
        self.form_or(Form::SHORT)
    }

    fn form_or(&self, form: Form) -> Form {
        let settled =
            self.tail.compare_exchange(0, form.tail(), Ordering::Relaxed, Ordering::Relaxed);
        settled.err().and_then(Form::of_tail).unwrap_or(form)
    }

    fn may_use(&self, source: Source) -> bool {
        let best = self.best.load(Ordering::Relaxed);
        best <= source.rank() && self.state.load(Ordering::Acquire) & FORBIDDEN == 0
    }

    /// No page can be used: reads a time namespace's page, or calls the kernel.
    fn not_by_page<C: Counter, K: Kernel>(&self) -> u64 {
        if let Some(ns) = self.in_namespace::<C, false>(ClockId::Monotonic) {
            return ns;
        }
        let now = self.ask::<K>(ClockId::Monotonic);
        let mode = self.front_mode();
        self.reconsider::<C, K>(now);
        let own = memory::there(&self.own);
        if self.mono.is_empty() && !self.may_be_beside::<C>() && !own.is_some_and(Page::is_begun) {
            self.idle_mode.store(mode, Ordering::Relaxed);
            self.idle_ns.store(now.saturating_add(IDLE_NS), Ordering::Release);
        } else {
            self.idle_ns.store(0, Ordering::Relaxed);
        }
        let now = self.not_before_floor(now);
        // And a line that is in use, or begins, must not fall behind this.
        match memory::there(&self.own) {
            Some(page) => page.raise::<C>(&self.floor_ns, now, PATIENCE).unwrap_or(now),
            None => self.floor_ns.fetch_max(now, Ordering::Relaxed).max(now),
        }
    }

    /// Returns the kernel's time; if the kernel refuses even that, the last tick.
    fn ask<K: Kernel>(&self, id: ClockId) -> u64 {
        asked::<K>(id).unwrap_or_else(|| {
            let tick = match id {
                ClockId::Realtime | ClockId::Tai => ClockId::RealtimeCoarse,
                _ => ClockId::MonotonicCoarse,
            };
            let (seconds, nanoseconds) = self.front.page().base(tick as usize);
            seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds)
        })
    }

    /// Looks for a source that uses the counter, if it is time for that.
    fn reconsider<C: Counter, K: Kernel>(&self, now_ns: u64) {
        if now_ns < self.retry_ns.load(Ordering::Relaxed)
            || self.failures.load(Ordering::Relaxed) >= FAILURES
        {
            return;
        }
        let front = self.front.page();
        let mode = front.word(Ordering::Acquire).mode();
        if !front.is_nothing() && mode == MODE_TIMENS {
            // Served by `in_namespace`.
            self.leave_pages::<C>();
        } else if !front.is_nothing() && clocksmith_raw::counter::is_counter_mode(mode) {
            if self.may_use(Source::Vvar) {
                if self.exact.shows(front) {
                    return;
                }
                if self.prove_all::<C, K>(front) {
                    return self.serve::<C>(front);
                }
                self.failed(now_ns);
            }
            if self.may_use(Source::Disciplined) {
                self.follow::<C, K>(now_ns);
            }
        } else {
            if let Some(kind) = Kind::of_mode(mode).filter(|_| !front.is_nothing()) {
                if self.may_use(Source::of_kind(kind))
                    && (self.paravirt.knows(front)
                        || self.begin_beside::<C, K>(front, kind, now_ns))
                {
                    return;
                }
            }
            // The kernel has left the counter, or its page was not found.
            self.leave_exact();
            let unknown = front.is_nothing();
            if self.may_use(Source::Disciplined)
                && (self.trusted.load(Ordering::Relaxed) || unknown && self.is_eligible::<C>())
            {
                self.follow::<C, K>(now_ns);
            } else {
                self.leave_line::<C>();
            }
        }
    }

    /// Whether the kernel's clock is the counter, according to sysfs and behaviour. Both are checked
    /// once, at the start: later, a filter may kill the process for these calls.
    fn is_eligible<C: Counter>(&self) -> bool {
        if self.state.load(Ordering::Acquire) & ELIGIBILITY_KNOWN == 0 {
            let eligible = if eligible::by_behaviour::<C>() { ELIGIBLE } else { 0 };
            self.state.fetch_or(ELIGIBILITY_KNOWN | eligible, Ordering::AcqRel);
        }
        self.state.load(Ordering::Acquire) & ELIGIBLE != 0
    }

    /// A page's window is over.
    fn look_after<C: Counter, K: Kernel>(&self, reading: &Reading) -> Looked {
        if let Some(page) = memory::there(&self.own) {
            if self.mono.shows(memory::as_raw(page)) {
                return self.renew::<C, K>(page, reading);
            }
        }
        let page = self.exact.page();
        if page.is_nothing() {
            return Looked::Gone;
        }
        if self.prove_monotonic::<C, K>(page, REPROOF) {
            let span = page::span(PROOF_NS, &reading.line);
            for view in [&self.exact, &self.mono, &self.raw] {
                view.arm(reading.cycles, span);
            }
            return Looked::InOrder;
        }
        if page.word(Ordering::Acquire).is_counter() {
            self.failed(K::monotonic().unwrap_or(0));
        }
        self.leave_exact();
        Looked::Gone
    }

    fn failed(&self, now_ns: u64) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).min(FAILURES);
        self.retry_ns.store(now_ns.saturating_add(RETRY_NS << failures), Ordering::Relaxed);
    }

    fn leave_exact(&self) {
        let page = self.exact.page();
        self.exact.show(nothing());
        self.raw.show(nothing());
        if !page.is_nothing() && self.mono.shows(page) {
            self.mono.show(nothing());
        }
    }

    /// Ends the line for a source that gives this time. The line may have been a little ahead: the source serves when
    /// it has reached that; until then the result is `false`, and the caller tries again.
    fn hand_over<C: Counter>(&self, time: impl Fn() -> Option<u64>) -> bool {
        let has_reached = || time().is_some_and(|time| self.not_before_floor(time) == time);
        self.leave_line::<C>() && (0..PATIENCE).any(|_| has_reached())
    }

    /// `false` if another thread renews the line now, and has not ended that in a while.
    fn leave_line<C: Counter>(&self) -> bool {
        let Some(page) = memory::there(&self.own).filter(|page| page.is_begun()) else {
            return true;
        };
        let away = (0..PATIENCE).any(|_| {
            let away = page.put_away::<C>(&self.floor_ns);
            core::hint::spin_loop();
            away
        });
        if self.mono.shows(memory::as_raw(page)) {
            self.mono.show(nothing());
        }
        away
    }

    fn leave_pages<C: Counter>(&self) {
        self.leave_exact();
        self.paravirt.hide();
        self.leave_line::<C>();
    }
}

fn asked<K: Kernel>(id: ClockId) -> Option<u64> {
    if matches!(id, ClockId::Monotonic) { K::monotonic() } else { kernel::time(id) }
}

/// The result of the check of a page at the end of its window.
enum Looked {
    /// Its reading is good.
    InOrder,
    /// Read it once more.
    Again,
    /// It cannot be used.
    Gone,
}

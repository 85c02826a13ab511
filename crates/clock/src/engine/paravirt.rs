//! A hypervisor's clock under the kernel's: finding its page, proving it, serving by it.

use super::{Engine, IDLE_NS, Kernel, PATIENCE, PROOF, PROOF_NS, REPROOF, ROUNDING_NS, TRIES};
use crate::discover;
use crate::kernel::{self, ClockId};
use crate::line::{Cells, Line};
use crate::paravirt::{self, Host, Kind, NoCycles, NoTime};
use crate::source::Source;
use crate::view::{LIMIT, Raw, View, nothing};
use clocksmith_raw::counter::Counter;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The pages of a clock that is served by two pages: the kernel's and the hypervisor's.
pub(super) struct Served {
    /// The kernel's page, and the counter value until which it may be read without a new proof.
    page: View,
    /// The page for CLOCK_MONOTONIC_RAW.
    raw: View,
    /// The hypervisor's page of each kind, once it has been proven; it does not change after that.
    pvclock: AtomicPtr<u8>,
    hyperv: AtomicPtr<u8>,
}

impl Served {
    pub(super) const fn new() -> Self {
        Self {
            page: View::new(),
            raw: View::new(),
            pvclock: AtomicPtr::new(core::ptr::null_mut()),
            hyperv: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    fn place(&self, kind: Kind) -> &AtomicPtr<u8> {
        match kind {
            Kind::Pvclock => &self.pvclock,
            Kind::HypervPage => &self.hyperv,
        }
    }

    #[inline(always)]
    fn host(&self, kind: Kind) -> Option<Host> {
        let address = self.place(kind).load(Ordering::Acquire);
        // SAFETY: `show` keeps the contract of `Host::new`.
        (!address.is_null()).then(|| unsafe { Host::new(address) })
    }

    fn view(&self, id: ClockId) -> &View {
        if matches!(id, ClockId::MonotonicRaw) { &self.raw } else { &self.page }
    }

    /// The kind of clock that the kernel's page counts in now, and its page, if it is known.
    #[inline(always)]
    fn now_by(&self, page: Raw) -> Option<(Kind, Host)> {
        let kind = Kind::of_mode(page.word(Ordering::Relaxed).mode())?;
        Some((kind, self.host(kind)?))
    }

    /// The time of a clock, if there is nothing to look after.
    #[inline(always)]
    fn now<C: Counter, const ORDERED: bool>(&self, id: ClockId) -> Option<u64> {
        let view = self.view(id);
        let window = view.window()?;
        let page = view.page();
        let (kind, host) = self.now_by(page)?;
        let counter = || if ORDERED { C::read_ordered() } else { C::read() };
        let (line, cycles) = paravirt::read(&host, kind, &page, id as usize, counter).ok()?;
        let delta = cycles.cycles.wrapping_sub(line.cycle_last);
        (delta < LIMIT && window.holds(cycles.counter)).then(|| line.near(delta))
    }

    /// Serves reads from these pages, from this counter value on.
    ///
    /// The hypervisor's page is one of the kernel's next to the vDSO, which stay as long as the process lives.
    pub(super) fn show(&self, host: Host, kind: Kind, page: Raw, now: u64, span: u64) {
        self.place(kind).store(host.address() as *mut u8, Ordering::Release);
        self.page.show(page);
        self.page.arm(now, span);
    }

    pub(super) fn hide(&self) {
        self.page.show(nothing());
        self.raw.show(nothing());
    }

    /// Returns whether the next read can be served, by the state of both pages.
    fn may_serve<C: Counter>(&self) -> bool {
        let page = self.page.page();
        self.now_by(page).is_some_and(|(kind, host)| {
            paravirt::cycles(&host, kind, C::read) != Err(NoCycles::AskKernel)
        })
    }

    /// Whether that clock has been proven.
    pub(super) fn knows(&self, page: Raw) -> bool {
        self.page.shows(page) && self.now_by(page).is_some()
    }
}

/// How a proof went.
enum Proof {
    Right,
    /// The page sends readers to the kernel, or the kernel now uses a different clock.
    NotNow,
    Wrong,
}

impl Engine {
    /// CLOCK_MONOTONIC, unordered, where the kernel's page does not count in the counter's cycles.
    #[inline(never)]
    pub(super) fn monotonic_beside<C: Counter, K: Kernel>(&self) -> u64 {
        match self.paravirt.now::<C, false>(ClockId::Monotonic) {
            Some(ns) => ns,
            None => self.monotonic_slow::<C, K>(),
        }
    }

    /// Any fine clock, likewise.
    #[inline(never)]
    pub(super) fn exact_beside<C: Counter, K: Kernel, const ORDERED: bool>(
        &self,
        id: ClockId,
    ) -> u64 {
        match self.paravirt.now::<C, ORDERED>(id) {
            Some(ns) => ns,
            None => self.exact_slow::<C, K, ORDERED>(id),
        }
    }

    /// Whether the kernel's page counts in a hypervisor's clock, and that page can be read now.
    pub(super) fn may_be_beside<C: Counter>(&self) -> bool {
        self.paravirt.may_serve::<C>()
    }

    /// The source that serves next to the kernel's page now.
    pub(super) fn source_beside<C: Counter>(&self) -> Option<Source> {
        let (kind, _) = self.paravirt.now_by(self.paravirt.page.page())?;
        self.may_be_beside::<C>().then_some(match kind {
            Kind::Pvclock => Source::Pvclock,
            Kind::HypervPage => Source::HypervPage,
        })
    }

    /// Reads pages that the hot path could not read. `None` if they cannot be used.
    pub(super) fn by_paravirt<C: Counter, K: Kernel, const ORDERED: bool>(
        &self,
        id: ClockId,
    ) -> Option<u64> {
        let view = self.paravirt.view(id);
        let window = view.window()?;
        let page = view.page();
        let (kind, host) = self.paravirt.now_by(page)?;
        let counter = if ORDERED { C::read_ordered } else { C::read };
        for _ in 0..PATIENCE {
            match paravirt::read(&host, kind, &page, id as usize, counter) {
                Ok((line, cycles)) => {
                    if !window.holds(cycles.counter) {
                        self.look_beside::<C, K>(host, kind)?;
                    }
                    return Some(line.at(cycles.cycles));
                }
                Err(NoTime::Changing) => core::hint::spin_loop(),
                Err(NoTime::AskKernel | NoTime::Mode(_)) => return None,
            }
        }
        None
    }

    /// Proves the pages again at the end of the window.
    fn look_beside<C: Counter, K: Kernel>(&self, host: Host, kind: Kind) -> Option<()> {
        let page = self.paravirt.page.page();
        match prove_beside::<C>(host, kind, page, ClockId::Monotonic, REPROOF, K::monotonic) {
            Proof::Right => {
                let (span, now) = (paravirt::span(&host, kind, PROOF_NS), C::read());
                for view in [&self.paravirt.page, &self.paravirt.raw] {
                    if !view.is_empty() {
                        view.arm(now, span);
                    }
                }
                Some(())
            }
            Proof::NotNow => None,
            Proof::Wrong => {
                self.failed(K::monotonic().unwrap_or(0));
                self.paravirt.hide();
                None
            }
        }
    }

    /// Looks for the page of the clock that the kernel's page counts in, and serves by it if it is right.
    pub(super) fn begin_beside<C: Counter, K: Kernel>(
        &self,
        page: Raw,
        kind: Kind,
        now_ns: u64,
    ) -> bool {
        let mut wrong = false;
        let known = self.paravirt.host(kind);
        let others = discover::beside(page).filter(|_| known.is_none());
        for host in known.into_iter().chain(others) {
            match prove_clocks_beside::<C, K>(host, kind, page) {
                Proof::Right => {
                    let id = ClockId::Monotonic as usize;
                    let read = || paravirt::read(&host, kind, &page, id, C::read_ordered).ok();
                    if !self.hand_over::<C>(|| read().map(|(line, now)| line.at(now.cycles))) {
                        return false;
                    }
                    let (span, now) = (paravirt::span(&host, kind, PROOF_NS), C::read());
                    self.paravirt.show(host, kind, page, now, span);
                    let raw = discover::raw_beside(page).filter(|raw| {
                        let clock = || kernel::time(ClockId::MonotonicRaw);
                        let id = ClockId::MonotonicRaw;
                        matches!(prove_beside::<C>(host, kind, *raw, id, 1, clock), Proof::Right)
                    });
                    if let Some(raw) = raw {
                        self.paravirt.raw.show(raw);
                        self.paravirt.raw.arm(now, span);
                    }
                    return true;
                }
                Proof::NotNow => {}
                Proof::Wrong => wrong = true,
            }
        }
        // Other pages also exist, and are wrong for this clock. A wrong page counts only if no page
        // requires the kernel to be used, which may change at any time.
        if wrong {
            self.retry_ns.store(now_ns.saturating_add(IDLE_NS), Ordering::Relaxed);
        }
        false
    }
}

/// Whether the pages give the time of all clocks.
fn prove_clocks_beside<C: Counter, K: Kernel>(host: Host, kind: Kind, page: Raw) -> Proof {
    let monotonic = ClockId::Monotonic;
    match paravirt::read(&host, kind, &page, monotonic as usize, C::read) {
        Ok((line, _)) if Line::limit(line.mult, line.shift) >= LIMIT => {}
        Ok(_) => return Proof::Wrong,
        Err(_) => return Proof::NotNow,
    }
    let mut proof = prove_beside::<C>(host, kind, page, monotonic, PROOF, K::monotonic);
    for id in [ClockId::Realtime, ClockId::Boottime, ClockId::Tai] {
        // A clock that is too new for the kernel cannot be wrong.
        if matches!(proof, Proof::Right) && kernel::time(id).is_some() {
            proof = prove_beside::<C>(host, kind, page, id, 1, || kernel::time(id));
        }
    }
    proof
}

/// Whether the pages give times between two readings of the kernel's clock, in all `brackets`.
fn prove_beside<C: Counter>(
    host: Host,
    kind: Kind,
    page: Raw,
    id: ClockId,
    brackets: u32,
    clock: impl Fn() -> Option<u64>,
) -> Proof {
    let ours = || {
        for _ in 0..PATIENCE {
            match paravirt::read(&host, kind, &page, id as usize, C::read_ordered) {
                Ok((line, cycles)) => return Ok(line.at(cycles.cycles)),
                Err(NoTime::Changing) => {}
                Err(_) => return Err(Proof::NotNow),
            }
        }
        Err(Proof::NotNow)
    };
    'brackets: for _ in 0..brackets {
        for _ in 0..TRIES {
            let Some(before) = clock() else { return Proof::Wrong };
            let ours = match ours() {
                Ok(ours) => ours,
                Err(proof) => return proof,
            };
            let Some(after) = clock() else { return Proof::Wrong };
            if before <= ours.saturating_add(ROUNDING_NS)
                && ours <= after.saturating_add(ROUNDING_NS)
            {
                continue 'brackets;
            }
        }
        return Proof::Wrong;
    }
    Proof::Right
}

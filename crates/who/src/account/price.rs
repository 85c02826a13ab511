//! The cost of a read on a path, and which reads can be there. Pure.

use crate::calibrate::{Costs, Span};
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::Own;
use crate::watched::OwnClock;

/// Whether reads of a clock can be on this path.
pub(super) fn fits(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
    own: Option<&Own>,
) -> bool {
    let served = costs.of(api, clock).in_user_space();
    let by_own = own.is_some_and(|own| own.clock.serves(api, clock));
    match path {
        Path::Vdso => served != Some(false) && !by_own,
        Path::VdsoFallback => served != Some(true) && !by_own,
        Path::ClocksmithRun => by_own,
        Path::Syscall | Path::Counter => true,
    }
}

/// The clock to calculate with. A vDSO that serves the time here passes the clocks that no vDSO serves on to the
/// kernel: those of CPU time and of devices.
pub(super) fn reckoned(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
) -> Option<ClockId> {
    let passed_on = path == Path::VdsoFallback && api == Api::ClockGettime && clock.is_none();
    match costs.of(api, None).in_user_space() {
        Some(true) if passed_on => Some(ClockId::THREAD_CPUTIME),
        _ => clock,
    }
}

/// The read cost on this path.
pub(super) fn cost(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
    own: Option<&Own>,
) -> Option<f64> {
    let cost = costs.of(api, reckoned(path, api, clock, costs));
    match path {
        Path::ClocksmithRun => match own {
            Some(own) if own.clock.serves(api, clock) => own.cost(api, clock).map(|span| span.ns),
            _ => cost.library_ns,
        },
        Path::Vdso | Path::Counter => cost.library_ns,
        Path::VdsoFallback => match cost.in_user_space() {
            // Here the library does not fall back for this clock, so the cost of the system call
            // itself is used.
            Some(true) => cost.syscall_ns,
            _ => cost.library_ns,
        },
        Path::Syscall => cost.syscall_ns,
    }
}

/// Whether a read waits for the instructions before it: it reads the counter, or enters the kernel.
pub(super) fn in_order(path: Path, api: Api, clock: Option<ClockId>, own: Option<&Own>) -> bool {
    let coarse = match path {
        Path::ClocksmithRun => own.is_some_and(|own| own.clock == OwnClock::Coarse),
        _ => api == Api::Time || clock.is_some_and(ClockId::is_coarse),
    };
    !coarse && path != Path::Counter
}

/// Returns the span of the cost of a read, in nanoseconds, as far as samples see it.
pub(super) fn seen(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
    own: Option<&Own>,
) -> Option<Span> {
    let unevenness = costs.of(api, reckoned(path, api, clock, costs)).unevenness;
    let whole = || Some(Span::around(cost(path, api, clock, costs, own)?).uneven(unevenness));
    match path {
        Path::ClocksmithRun => match own {
            Some(own) if own.clock.serves(api, clock) => own.cost(api, clock),
            _ => whole(),
        },
        Path::Vdso if costs.of(api, clock).in_user_space() != Some(false) => {
            costs.served(api, clock)
        }
        Path::Counter => costs.counted(api),
        Path::Vdso | Path::VdsoFallback | Path::Syscall => whole(),
    }
}

//! Finds the kernel's page beside the vDSO, and proves that it is what it seems to be.
//!
//! Nothing here is an ABI: the page moved and changed its form several times. So nothing is
//! assumed. The pages below the vDSO are tried one after the other (asking the kernel first whether
//! they can be read at all), every place in them and both known forms; a place is taken for the
//! kernel's clock only if the coarse wall clock and the coarse monotonic clock stand there, to the
//! nanosecond, where the form says, between two readings of them. Whether its fine clocks are right
//! is proven separately, by `engine`, as often as need be.

use crate::kernel::{self, ClockId};
use crate::line::{self, Cells, MODE_TIMENS, Word};
use crate::view::{Form, Raw};
use core::sync::atomic::Ordering;

/// How many pages below the vDSO are tried. Six are in use in 6.18 on x86; the nearest ones come
/// first, so that other people's memory is not touched where the page is found.
const PAGES: usize = 8;

/// How much of each page is searched. The numbers stand at 0 (6.13 and later, aarch64) or 128 (x86
/// before, `arch/x86/include/asm/vvar.h`).
const SEARCHED: usize = 1024;

/// Bytes from the tail to the end of the bases.
const TAIL_LENGTH: usize = 8 + 16 * 12;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// What user space finds first, at the place where the kernel's clock normally is. In a time
    /// namespace it holds offsets (`MODE_TIMENS`).
    pub(crate) front: Raw,
    /// The real clock; the same as `front`, outside of a time namespace.
    pub(crate) real: Raw,
}

/// What the kernel says of its coarse clocks, as (seconds, nanoseconds).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coarse {
    realtime: (u64, u64),
    monotonic: (u64, u64),
}

impl Coarse {
    fn now() -> Option<Self> {
        let split = |ns: u64| (ns / NS_PER_SECOND, ns % NS_PER_SECOND);
        Some(Self {
            realtime: split(kernel::time(ClockId::RealtimeCoarse)?),
            monotonic: split(kernel::time(ClockId::MonotonicCoarse)?),
        })
    }
}

/// Looks for the page. Takes some microseconds; allocates nothing; may run in several threads at
/// once, and in a signal handler.
pub(crate) fn find() -> Option<Found> {
    let vdso = kernel::vdso_address()?;
    // A tick may fall into the search, and then what was found before is not what is there now.
    (0..3).find_map(|_| find_once(vdso))
}

fn find_once(vdso: usize) -> Option<Found> {
    let before = Coarse::now()?;
    let size = kernel::page_size();
    let readable = |page: &usize| kernel::is_readable(*page);
    let pages = || (1..=PAGES).map(|back| vdso.wrapping_sub(back * size)).filter(readable);
    for page in pages() {
        for (at, form) in places() {
            let Some(real) = place(page, at, form, size) else { continue };
            if real.base(ClockId::RealtimeCoarse as usize) != before.realtime || !is_plausible(real)
            {
                continue;
            }
            let found = if real.base(ClockId::MonotonicCoarse as usize) == before.monotonic {
                Found { front: real, real }
            } else {
                // Another page has the offsets to it, if this is a time namespace.
                let is_front = |front: &Raw| {
                    front.word(Ordering::Relaxed) == Word::NONE
                        && shifted(real, *front, ClockId::MonotonicCoarse) == Some(before.monotonic)
                };
                let front = pages()
                    .filter(|other| *other != page)
                    .filter_map(|other| place(other, at, form, size))
                    .find(is_front)?;
                Found { front, real }
            };
            // No tick meanwhile: so the numbers were compared with their equals.
            return (Coarse::now()? == before).then_some(found);
        }
    }
    None
}

/// All places in a page, the known ones first, in both forms.
fn places() -> impl Iterator<Item = (usize, Form)> {
    let known = [0usize, 128].into_iter();
    let others = (8..SEARCHED).step_by(8).filter(|at| *at != 128);
    known.chain(others).flat_map(|at| [(at, Form::LONG), (at, Form::SHORT)])
}

fn place(page: usize, at: usize, form: Form, size: usize) -> Option<Raw> {
    let head = core::ptr::with_exposed_provenance::<u8>(page.checked_add(at)?);
    // SAFETY: the page is readable (asked just now), the numbers end in it, and pages beside the
    // vDSO stay as long as the process lives, unless somebody unmaps the vDSO itself.
    (at + Form::LONG.tail() + TAIL_LENGTH <= size).then(|| unsafe { Raw::new(head, form) })
}

/// Whether the other numbers can be a clock's. A kernel that has never had a clocksource for the
/// vDSO has not written them yet (`update_vsyscall()`, before 6.13).
fn is_plausible(page: Raw) -> bool {
    let Ok(line) = line::read_coarse(&page, ClockId::Monotonic as usize) else { return false };
    let mode = page.word(Ordering::Relaxed).mode();
    let is_clock = line.mult != 0
        && (1..=32).contains(&line.shift)
        && line.snsec >> line.shift < 2 * NS_PER_SECOND
        // The mask is one less than a power of two.
        && (line.mask & line.mask.wrapping_add(1)) == 0;
    mode == 0 || mode < 16 && is_clock
}

/// The numbers of `CS_RAW`: the next place in the page that looks like the same clock with only one
/// base, that of `CLOCK_MONOTONIC_RAW`.
pub(crate) fn raw_beside(first: Raw) -> Option<Raw> {
    let size = kernel::page_size();
    let address = first.head().expose_provenance();
    let (page, at) = (address & !(size - 1), address & (size - 1));
    let form = first.form();
    let begin = at + form.tail() + TAIL_LENGTH;
    (begin..begin + 256).step_by(8).find_map(|at| {
        let raw = place(page, at, form, size)?;
        let same = raw.word(Ordering::Relaxed) == first.word(Ordering::Relaxed);
        let others_are_zero =
            (0..12).filter(|i| *i != ClockId::MonotonicRaw as usize).all(|i| raw.base(i) == (0, 0));
        (same && others_are_zero && is_plausible_scale(raw)).then_some(raw)
    })
}

fn is_plausible_scale(page: Raw) -> bool {
    line::read_coarse(&page, ClockId::MonotonicRaw as usize).is_ok_and(|line| {
        line.mult != 0
            && (1..=32).contains(&line.shift)
            && line.snsec >> line.shift < 2 * NS_PER_SECOND
    })
}

/// The offset of a clock in a time namespace, in nanoseconds (`struct timens_offset { s64 sec; u64
/// nsec; }`, which stands in place of the base).
pub(crate) fn offset(front: Raw, id: ClockId) -> u64 {
    let (seconds, nanoseconds) = front.base(id as usize);
    seconds.wrapping_mul(NS_PER_SECOND).wrapping_add(nanoseconds)
}

fn shifted(real: Raw, front: Raw, id: ClockId) -> Option<(u64, u64)> {
    let (seconds, nanoseconds) = real.base(id as usize);
    let ns = seconds.checked_mul(NS_PER_SECOND)?.checked_add(nanoseconds)?;
    let ns = ns.wrapping_add(offset(front, id));
    Some((ns / NS_PER_SECOND, ns % NS_PER_SECOND))
}

/// Whether a page is the front of a time namespace now.
pub(crate) fn is_time_namespace(front: Raw) -> bool {
    front.word(Ordering::Acquire).mode() == MODE_TIMENS
}

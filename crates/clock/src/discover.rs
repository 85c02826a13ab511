//! Finds the kernel's page next to the vDSO, and proves that it is this page.
//!
//! The page is not an ABI: it moved and changed its form several times. So nothing is assumed. The pages below the vDSO
//! are tried one after the other, every place in them and both known forms. A place is accepted as the kernel's clock
//! only if it contains the coarse wall clock and the coarse monotonic clock, to the nanosecond, at the offsets of the
//! form, between two readings of them. Whether its fine clocks are right is proven separately, by `engine`, as often as
//! needed.
//!
//! The pages farther below are the program's memory, and another thread may unmap them at any moment. So no page is
//! read in the search: the kernel compares its words (`kernel::compare`). A page is read only after it has been found:
//! the kernel reports that it is neither a page of a file nor writable memory, and it contains the time of both coarse
//! clocks. The search ends at the first page of the program: the kernel maps its pages and the vDSO next to each other
//! (`map_vdso()`, x86; `__setup_additional_pages()`, arm64).

use crate::kernel::{self, ClockId, Held};
use crate::line::{self, Cells, MODE_TIMENS, Word};
use crate::paravirt::Host;
use crate::view::{Form, Raw};
use core::sync::atomic::Ordering;

/// How many pages below the vDSO are tried, the nearest ones first. Six are in use in 6.18 on x86.
const PAGES: usize = 8;

/// How much of each page is searched. The numbers begin at 0 (6.13 and later, aarch64) or 128 (x86
/// before, `arch/x86/include/asm/vvar.h`).
const SEARCHED: usize = 1024;

/// Bytes from the tail to the end of the bases.
const TAIL_LENGTH: usize = 8 + 16 * 12;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// The kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The page at the place where the kernel's clock normally is. In a time namespace it holds
    /// offsets (`MODE_TIMENS`).
    pub(crate) front: Raw,
    /// The real clock; the same as `front`, outside of a time namespace.
    pub(crate) real: Raw,
}

/// The kernel's coarse clocks, as (seconds, nanoseconds).
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

/// Looks for the page. Takes a few microseconds; allocates nothing; may run in several threads at
/// once, and in a signal handler.
pub(crate) fn find() -> Option<Found> {
    let vdso = kernel::vdso_address()?;
    for _ in 0..TRIES {
        match search(vdso, Coarse::now) {
            Searched::Found(found) => return Some(found),
            Searched::Nothing => return None,
            Searched::Ticked => {}
        }
    }
    None
}

/// How often a search starts again because of a tick. Ticks are at least a millisecond apart, and a
/// search takes a few microseconds.
const TRIES: u32 = 8;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Searched {
    Found(Found),
    /// The page is not there.
    Nothing,
    /// The coarse clocks have advanced meanwhile, so the page may have been missed.
    Ticked,
}

fn search(vdso: usize, clock: impl Fn() -> Option<Coarse>) -> Searched {
    let Some(before) = clock() else { return Searched::Nothing };
    let size = kernel::page_size();
    // The known places of all pages first: each comparison is a call.
    let candidates = [true, false]
        .into_iter()
        .flat_map(|known| pages(vdso, size).map(move |page| (page, known)));
    for (page, known) in candidates {
        let found = find_in(page, known, vdso, size, &before);
        // No tick meanwhile: so the numbers were compared with their equals.
        if clock() != Some(before) {
            return Searched::Ticked;
        }
        if let Some(found) = found {
            return Searched::Found(found);
        }
    }
    Searched::Nothing
}

/// The pages below the vDSO that can be read, up to the first one that is the program's.
fn pages(vdso: usize, size: usize) -> impl Iterator<Item = usize> {
    (1..=PAGES)
        .filter_map(move |back| vdso.checked_sub(back * size))
        .filter(|page| kernel::is_readable(*page))
        .take_while(|page| kernel::may_be_the_kernels(*page))
}

fn find_in(page: usize, known: bool, vdso: usize, size: usize, coarse: &Coarse) -> Option<Found> {
    places(known).find_map(|(at, form)| {
        let base = |id: ClockId| page + at + form.base(id as usize);
        if at + form.tail() + TAIL_LENGTH > size
            || !holds(base(ClockId::RealtimeCoarse), coarse.realtime)
        {
            return None;
        }
        // Whose it was a moment ago, another thread may have changed.
        if !kernel::may_be_the_kernels(page) {
            return None;
        }
        if holds(base(ClockId::MonotonicCoarse), coarse.monotonic) {
            let real = place(page, at, form, size).filter(|real| is_plausible(*real))?;
            return Some(Found { front: real, real });
        }
        // Another page has the offsets to it, if this is a time namespace.
        let fronts = pages(vdso, size).filter(|other| *other != page && is_front(other + at));
        fronts.filter_map(|other| place(other, at, form, size)).find_map(|front| {
            let real = place(page, at, form, size).filter(|real| is_plausible(*real))?;
            let shifted = shifted(real, front, ClockId::MonotonicCoarse);
            (shifted == Some(coarse.monotonic)).then_some(Found { front, real })
        })
    })
}

/// Whether the kernel confirms that this address holds the base.
fn holds(address: usize, (seconds, nanoseconds): (u64, u64)) -> bool {
    let words = [seconds as u32, nanoseconds as u32, (seconds >> 32) as u32];
    let places = [address, address + 8, address + 4];
    places.into_iter().zip(words).all(|(at, word)| kernel::compare(at, word) == Held::Equal)
}

/// Whether the kernel confirms that this address holds the head of a time namespace's front page.
fn is_front(head: usize) -> bool {
    kernel::compare(head, Word::NONE.0 as u32) == Held::Equal
        && kernel::compare(head + 4, Word::NONE.mode()) == Held::Equal
}

/// The known places in a page, or all others, in both forms.
fn places(known: bool) -> impl Iterator<Item = (usize, Form)> {
    (0..SEARCHED)
        .step_by(8)
        .filter(move |at| matches!(at, 0 | 128) == known)
        .flat_map(|at| [(at, Form::LONG), (at, Form::SHORT)])
}

fn place(page: usize, at: usize, form: Form, size: usize) -> Option<Raw> {
    let head = core::ptr::with_exposed_provenance::<u8>(page.checked_add(at)?);
    // SAFETY: the numbers end within the page, which is one of the kernel's data pages next to the vDSO:
    // `pages` has excluded pages of the program, and the kernel has compared the page's content. These pages
    // stay mapped as long as the process lives, unless the program unmaps the vDSO itself.
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

/// The kernel's other pages: those between the page with the clock and the vDSO, which the kernel has put
/// there in one piece. A hypervisor's page is one of them, if there is one (`arch/x86/entry/vdso/vma.c`).
pub(crate) fn beside(clock: Raw) -> impl Iterator<Item = Host> {
    let size = kernel::page_size();
    let page = clock.head().expose_provenance() & !(size - 1);
    let vdso = kernel::vdso_address().unwrap_or(0);
    (page.saturating_add(size)..vdso)
        .step_by(size)
        .take(PAGES)
        .filter(move |_| vdso.wrapping_sub(page) <= PAGES * size)
        // A page that this machine does not have is fatal to touch.
        .filter(|other| kernel::is_readable(*other))
        // SAFETY: a page of the kernel's that can be read, and that stays as long as the process lives.
        .map(|other| unsafe { Host::new(core::ptr::with_exposed_provenance(other)) })
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

/// The offset of a clock in a time namespace, in nanoseconds
/// (`struct timens_offset { s64 sec; u64 nsec; }`, which takes the place of the base).
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

#[cfg(all(test, not(any(miri, clocksmith_loom))))]
mod tests {
    use super::*;
    use core::ptr;
    use std::cell::Cell;
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    /// Sixteen pages with nothing in them, and the address after them, where a vDSO would be.
    struct Memory {
        begin: usize,
        size: usize,
    }

    impl Memory {
        const PAGES: usize = 16;

        fn new() -> Self {
            let size = kernel::page_size();
            let begin = map(0, Self::PAGES * size, libc::PROT_NONE, 0);
            Self { begin, size }
        }

        fn vdso(&self) -> usize {
            self.begin + Self::PAGES * self.size
        }

        fn page(&self, back: usize) -> usize {
            self.vdso() - back * self.size
        }

        /// New, empty memory with that access.
        fn put(&self, back: usize, access: libc::c_int) {
            map(self.page(back), self.size, access, libc::MAP_FIXED);
        }

        /// Writes a page like the kernel's, with these times.
        fn write(&self, back: usize, coarse: &Coarse) {
            self.put(back, libc::PROT_READ | libc::PROT_WRITE);
            let place = |at: usize| ptr::with_exposed_provenance_mut::<u64>(self.page(back) + at);
            let base = |id: ClockId| Form::LONG.base(id as usize);
            let mut words = vec![(0, 1 << 32), (32, 24 << 32 | 6_462_355)];
            for (id, (seconds, ns)) in [
                (ClockId::RealtimeCoarse, coarse.realtime),
                (ClockId::MonotonicCoarse, coarse.monotonic),
            ] {
                words.extend([(base(id), seconds), (base(id) + 8, ns)]);
            }
            for (at, word) in words {
                // SAFETY: memory of this test.
                unsafe { place(at).write(word) };
            }
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            let begin = ptr::with_exposed_provenance_mut(self.begin);
            // SAFETY: mapped by `new`, and the threads that use it have ended.
            unsafe { libc::munmap(begin, Self::PAGES * self.size) };
        }
    }

    fn map(at: usize, length: usize, access: libc::c_int, flags: libc::c_int) -> usize {
        let at = ptr::with_exposed_provenance_mut(at);
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: anywhere, or in memory of this test.
        let made = unsafe { libc::mmap(at, length, access, flags, -1, 0) };
        assert_ne!(made, libc::MAP_FAILED);
        made.expose_provenance()
    }

    const TIMES: Coarse = Coarse { realtime: (1_800_000_000, 7), monotonic: (5_000, 123_456_789) };

    fn search_for(memory: &Memory, coarse: Coarse) -> Searched {
        search(memory.vdso(), || Some(coarse))
    }

    /// Another thread maps and unmaps the page seven pages below: no search may crash. Runs for a
    /// second, or for `CLOCKSMITH_NEIGHBOUR_SECONDS`.
    #[test]
    fn neighbour_that_unmaps_its_memory_is_not_touched() {
        let seconds = std::env::var("CLOCKSMITH_NEIGHBOUR_SECONDS").ok();
        let seconds = seconds.and_then(|text| text.parse().ok()).unwrap_or(1);
        let end = Instant::now() + Duration::from_secs(seconds);
        let memory = Memory::new();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // The times of another tick.
                let other = Coarse { monotonic: (5_000, 7), ..TIMES };
                while !over.load(Ordering::Relaxed) {
                    // Memory that looks like the kernel's, writable and not, and none.
                    memory.write(7, &other);
                    memory.put(7, libc::PROT_NONE);
                    memory.put(7, libc::PROT_READ);
                    memory.put(7, libc::PROT_NONE);
                }
            });
            let found = || {
                // Also the real vDSO, with times that no page has.
                let here = kernel::vdso_address().map(|vdso| search(vdso, || Some(TIMES)));
                search_for(&memory, TIMES) != Searched::Nothing
                    || here.is_some_and(|here| here != Searched::Nothing)
            };
            let mut wrong = 0;
            while Instant::now() < end {
                wrong += (0..100).filter(|_| found()).count();
            }
            over.store(true, Ordering::Relaxed);
            assert_eq!(wrong, 0);
        });
    }

    #[test]
    fn memory_of_the_program_is_not_taken_for_the_kernels() {
        let memory = Memory::new();
        memory.write(2, &TIMES);
        assert!(kernel::is_readable(memory.page(2)));
        assert!(!kernel::may_be_the_kernels(memory.page(2)));
        assert!(!kernel::is_readable(memory.page(1)));
        assert_eq!(search_for(&memory, TIMES), Searched::Nothing);
        // A page of a file.
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        // SAFETY: a page of this test, from which nothing is read here.
        let made = unsafe {
            let at = ptr::with_exposed_provenance_mut(memory.page(1));
            let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
            libc::mmap(at, memory.size, libc::PROT_READ, flags, descriptor, 0)
        };
        assert_eq!(made.expose_provenance(), memory.page(1));
        assert!(kernel::is_readable(made.expose_provenance()));
        assert!(!kernel::may_be_the_kernels(made.expose_provenance()));
    }

    #[test]
    fn search_with_tick_starts_again() {
        let memory = Memory::new();
        memory.put(1, libc::PROT_READ);
        let looks = Cell::new(0);
        let ticking = || {
            looks.set(looks.get() + 1);
            Some(Coarse { monotonic: (5_000, looks.get()), ..TIMES })
        };
        assert_eq!(search(memory.vdso(), ticking), Searched::Ticked);
        assert_eq!(search(memory.vdso(), || None), Searched::Nothing);
    }

    /// The found page is in the mapping that the kernel names as the vDSO's data.
    #[test]
    fn page_that_is_found_is_named_vvar() {
        let Some(found) = find() else { return };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        for page in [found.front, found.real] {
            let address = page.head().expose_provenance() as u64;
            let mapping = clocksmith_raw::maps::around(&maps, address).unwrap();
            assert!(mapping.name.starts_with("[vvar"), "{mapping:?}");
        }
        let vdso = kernel::vdso_address().unwrap();
        for page in pages(vdso, kernel::page_size()) {
            // Or memory that cannot be written, which its content distinguishes.
            let mapping = clocksmith_raw::maps::around(&maps, page as u64).unwrap();
            assert!(mapping.readable, "{mapping:?}");
        }
    }
}

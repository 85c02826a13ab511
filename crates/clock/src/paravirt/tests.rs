//! The arithmetic against one without bounds; pages that change between the looks.

use super::*;
use crate::line::Word;
use proptest::prelude::*;
use std::cell::Cell;

/// A hypervisor's page that becomes the next of some states at a look at its first word.
struct Script<'a> {
    states: Cell<&'a [[u64; 4]]>,
    looks: Cell<usize>,
    /// The look before which it changes.
    at: usize,
}

impl<'a> Script<'a> {
    fn still(state: &'a [[u64; 4]]) -> Self {
        Self { states: Cell::new(state), looks: Cell::new(0), at: usize::MAX }
    }

    fn changes(states: &'a [[u64; 4]], at: usize) -> Self {
        Self { at, ..Self::still(states) }
    }
}

impl Words for Script<'_> {
    fn word(&self, index: usize) -> u64 {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() == self.at {
            self.states.set(&self.states.get()[1..]);
        }
        self.states.get()[0][index]
    }
}

/// The kernel's page: one nanosecond a cycle.
struct Page(Word);

impl Cells for Page {
    fn word(&self, _order: Ordering) -> Word {
        self.0
    }

    fn line(&self, _clock: usize) -> Line {
        Line { cycle_last: 1_000, mask: u64::MAX, mult: 1 << 8, shift: 8, sec: 5, snsec: 0 }
    }
}

const fn pvclock_page(
    version: u32,
    timestamp: u64,
    system: u64,
    mul: u32,
    shift: i8,
    flags: u8,
) -> [u64; 4] {
    let scale = (flags as u64) << 40 | (shift as u8 as u64) << 32 | mul as u64;
    [version as u64, timestamp, system, scale]
}

/// One nanosecond per cycle of the counter.
const PV: [u64; 4] = pvclock_page(4, 100, 1_000, 1 << 31, 1, 1);
/// A hundred nanoseconds per 256 cycles of the counter.
const HV: [u64; 4] = [7, 1 << 56, 1_000, 0];

fn time(host: &Script<'_>, kind: Kind) -> Result<u64, NoTime> {
    let page = Page(Word::new(2, kind.mode()));
    read(host, kind, &page, 1, || 612).map(|(line, cycles)| line.at(cycles.cycles))
}

#[test]
fn time_comes_through_both_pages() {
    assert_eq!(time(&Script::still(&[PV]), Kind::Pvclock), Ok(5_000_000_512));
    assert_eq!(time(&Script::still(&[HV]), Kind::HypervPage), Ok(5_000_000_002));
}

#[test]
fn stable_bit_is_looked_at_in_each_read() {
    let unstable = pvclock_page(4, 100, 1_000, 1 << 31, 1, 2);
    assert_eq!(time(&Script::still(&[unstable]), Kind::Pvclock), Err(NoTime::AskKernel));
    let never_written = pvclock_page(0, 100, 1_000, 1 << 31, 1, 1);
    assert_eq!(time(&Script::still(&[never_written]), Kind::Pvclock), Err(NoTime::AskKernel));
}

#[test]
fn sequence_without_a_page_asks_the_kernel() {
    for sequence in [0, u64::from(u32::MAX)] {
        let host = [sequence, 1 << 56, 1_000, 0];
        assert_eq!(time(&Script::still(&[host]), Kind::HypervPage), Err(NoTime::AskKernel));
    }
}

#[test]
fn page_that_changes_at_any_look_is_not_read() {
    let after = pvclock_page(6, 200, 2_000, 1 << 31, 1, 1);
    let unstable = pvclock_page(6, 200, 2_000, 1 << 31, 1, 0);
    // A read is five looks. A change before the first look does not count.
    for at in 2..=5 {
        for next in [after, unstable, pvclock_page(5, 100, 1_000, 1 << 31, 1, 1)] {
            let states = [PV, next];
            let got = time(&Script::changes(&states, at), Kind::Pvclock);
            assert_eq!(got, Err(NoTime::Changing), "{at}");
        }
    }
    let states = [PV, after];
    assert_eq!(time(&Script::changes(&states, 1), Kind::Pvclock), Ok(5_000_001_412));
    assert_eq!(time(&Script::changes(&states, 6), Kind::Pvclock), Ok(5_000_000_512));
    for next in [[8, 1 << 56, 9_000, 0], [0, 0, 0, 0]] {
        let states = [HV, next];
        for at in 2..=4 {
            let got = time(&Script::changes(&states, at), Kind::HypervPage);
            assert_eq!(got, Err(NoTime::Changing), "{at}");
        }
        assert_eq!(time(&Script::changes(&states, 5), Kind::HypervPage), Ok(5_000_000_002));
    }
}

#[test]
fn kernel_that_has_left_the_clock_is_seen() {
    let host = Script::still(&[PV]);
    let read = |word| read(&host, Kind::Pvclock, &Page(word), 1, || 612).map(|_| ());
    assert_eq!(read(Word::new(2, 1)), Err(NoTime::Mode(1)));
    assert_eq!(read(Word::new(2, MODE_HVCLOCK)), Err(NoTime::Mode(MODE_HVCLOCK)));
    assert_eq!(read(Word::new(3, MODE_PVCLOCK)), Err(NoTime::Changing));
    assert_eq!(read(Word::NONE), Err(NoTime::Mode(MODE_TIMENS)));
}

#[test]
fn modes_have_their_clocks() {
    for kind in [Kind::Pvclock, Kind::HypervPage] {
        let there = cfg!(any(target_arch = "x86_64", target_arch = "x86"));
        assert_eq!(Kind::of_mode(kind.mode()), there.then_some(kind));
    }
    assert_eq!([0, 1, 4, MODE_TIMENS].map(Kind::of_mode), [None; 4]);
}

#[test]
fn spans_are_those_of_the_hypervisors_rate() {
    // 2.596 GHz.
    let mul = (2.0f64.powi(32) / 2.596 * 2.0) as u32;
    let pv = pvclock_page(4, 0, 0, mul, -1, 1);
    let hv = [1, (2.0f64.powi(64) / 259.6) as u64, 0, 0];
    for (page, kind) in [(pv, Kind::Pvclock), (hv, Kind::HypervPage)] {
        let span = super::span(&Script::still(&[page]), kind, 250_000_000);
        assert!(span.abs_diff(649_000_000) < 1_000, "{kind:?} {span}");
        assert!(super::span(&Script::still(&[[0; 4]]), kind, u64::MAX) <= u64::MAX >> 1);
    }
}

/// A product without bounds, by halves.
fn wide(a: u64, b: u64) -> (u64, u64) {
    let halves = |n: u64| (n >> 32, n & 0xffff_ffff);
    let ((ah, al), (bh, bl)) = (halves(a), halves(b));
    let middle = ((al * bl) >> 32) + ((ah * bl) & 0xffff_ffff) + ((al * bh) & 0xffff_ffff);
    let high = ah * bh + ((ah * bl) >> 32) + ((al * bh) >> 32) + (middle >> 32);
    (high, (middle << 32) | ((al * bl) & 0xffff_ffff))
}

proptest! {
    /// Against products by halves, over the whole range.
    #[test]
    fn cycles_of_kvm_clock_are_exact(
        counter: u64, delta in any::<u64>(), system_time in 0u64..1 << 62, mul: u32, shift in -31i8..=31
    ) {
        let delta = delta >> 1 >> shift.max(0);
        let timestamp = counter.wrapping_sub(delta);
        let shifted = if shift < 0 { delta >> -shift } else { delta << shift };
        let (high, low) = wide(shifted, u64::from(mul));
        let ns = high << 32 | low >> 32;
        let got = pvclock(counter, timestamp, system_time, mul, shift);
        prop_assert_eq!(got, system_time.wrapping_add(ns));
        // Behind counts as at.
        let behind = timestamp.wrapping_sub(1 + delta / 2);
        prop_assert_eq!(pvclock(behind, timestamp, system_time, mul, shift), system_time);
    }

    #[test]
    fn cycles_of_hyperv_are_exact(counter: u64, scale: u64, offset: u64) {
        let (high, _) = wide(counter, scale);
        prop_assert_eq!(hyperv(counter, scale, offset), high.wrapping_add(offset));
    }

    /// A later counter is not an earlier time, on pages as real hypervisors write them.
    #[test]
    fn cycles_do_not_go_backward(
        timestamp in 0u64..1 << 60, a in 0u64..1 << 40, b in 0u64..1 << 40, mul in 1u32 << 31.., shift in -2i8..=1
    ) {
        let (early, late) = (timestamp + a.min(b), timestamp + a.max(b));
        let pv = |counter| pvclock(counter, timestamp, 5_000, mul, shift);
        prop_assert!(pv(early) <= pv(late));
        let hv = |counter| hyperv(counter, u64::from(mul) << 24, 5_000);
        prop_assert!(hv(early) <= hv(late));
    }

    /// Any pages at all: a time or a reason, no panic.
    #[test]
    fn any_pages_at_all(words: [u64; 4], counter: u64) {
        for kind in [Kind::Pvclock, Kind::HypervPage] {
            let _ = cycles(&Script::still(&[words]), kind, || counter);
        }
    }
}

//! The reader over pages that are made here: words in memory, and a file of one page in place of the device.
// clippy allows it in tests, but does not see that helpers here are only for tests.
#![allow(clippy::unwrap_used)]

use super::device::{look, map};
use super::page::{self, COUNTER, Copied, WORDS, consistent, copy};
use super::*;
use crate::paravirt::Words;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use proptest::prelude::*;
use std::cell::Cell;

const SIZE: u64 = 4096;
const BOTH: u64 = page::PERIOD_MAXERROR_VALID | page::TIME_MAXERROR_VALID;
/// 2.5 GHz, in units of 2^-(64 + 31) s, so that the period has 64 bits.
const SHIFT: u32 = 31;
const PERIOD: u64 = ((1u128 << (64 + SHIFT)) / 2_500_000_000) as u64;
/// 2026-03-01.
const SECONDS: u64 = 1_772_323_200;

/// A synchronised clock at its reference.
fn words(marker: u64) -> [u64; WORDS] {
    let constant = 1 | u64::from(COUNTER) << 16;
    let fourth = 2 << 16 | u64::from(SHIFT) << 56;
    [
        SIZE << 32 | u64::from(page::MAGIC),
        2 << 32 | constant,
        marker,
        BOTH,
        fourth,
        1 << 40,
        PERIOD,
        0,
        // 10 ppm.
        PERIOD / 100_000,
        SECONDS,
        0,
        0,
        1_000,
        0,
    ]
}

#[test]
fn state_is_what_the_page_says() {
    let mut words = words(77);
    words[3] |= page::TAI_OFFSET_VALID
        | page::DISRUPTION_SOON
        | page::TIME_ESTERROR_VALID
        | page::TIME_MONOTONIC
        | page::GENERATION_PRESENT;
    words[4] |= 0xffdb << 32 | 4 << 48;
    words[11] = 20;
    words[13] = 5;
    let expected = State {
        disruption_marker: 77,
        vm_generation: Some(5),
        status: Status::Synchronised,
        leap: Leap::AfterInserted,
        tai_offset_seconds: Some(-37),
        maintenance: Some(Maintenance::Soon),
        is_monotonic: true,
        esterror_ns: Some(20),
        maxerror_ns: Some(1_000),
    };
    assert_eq!(Copied::new(words).state(), expected);
    words[3] = page::DISRUPTION_SOON | page::DISRUPTION_IMMINENT;
    let plain = State {
        vm_generation: None,
        tai_offset_seconds: None,
        maintenance: Some(Maintenance::Imminent),
        is_monotonic: false,
        esterror_ns: None,
        maxerror_ns: None,
        ..expected
    };
    assert_eq!(Copied::new(words).state(), plain);
    // Fields beyond the size are absent, even if their flags are set.
    words[3] = u64::MAX;
    words[0] = u64::from(page::LEAST) << 32 | u64::from(page::MAGIC);
    let short = State { status: Status::Unknown, leap: Leap::None, is_monotonic: true, ..plain };
    assert_eq!(Copied::new(words).state(), short);
    assert_eq!(Copied::new(words).utc(1 << 40), None);
}

#[test]
fn utc_is_not_stated_without_every_condition() {
    let good = words(1);
    let at = |words: [u64; WORDS]| Copied::new(words).utc(1 << 40);
    let (earliest, latest) = at(good).unwrap();
    assert_eq!((earliest + latest) / 2, SECONDS * 1_000_000_000);
    assert_eq!(latest - earliest, 2 * 1_003);
    let with = |index: usize, change: fn(u64) -> u64| {
        let mut words = good;
        words[index] = change(words[index]);
        at(words)
    };
    assert_eq!(with(3, |flags| flags & !page::PERIOD_MAXERROR_VALID), None);
    assert_eq!(with(3, |flags| flags & !page::TIME_MAXERROR_VALID), None);
    // Another counter, TAI, a status other than 2, a leap indicator that is not known, an error without end.
    assert_eq!(with(1, |word| word ^ 1 << 16), None);
    assert_eq!(with(1, |word| word | 1 << 24), None);
    for status in [0, 1, 3, 4, 5u64] {
        let mut words = good;
        words[4] = words[4] & !(0xff << 16) | status << 16;
        assert_eq!(at(words), None, "{status}");
    }
    assert_eq!(with(4, |word| word | 6 << 48), None);
    assert_eq!(with(12, |_| u64::MAX), None);
    assert_eq!(with(9, |_| u64::MAX), None);
    // Before and in a leap second a second is added.
    for (leap, second) in [(1u64, true), (2, true), (3, true), (4, false), (5, false)] {
        let mut words = good;
        words[4] |= leap << 48;
        let (earliest, latest) = at(words).unwrap();
        assert_eq!(latest - earliest > 1_000_000_000, second, "{leap}");
    }
}

proptest! {
    /// Every page gives a state, and no page a panic.
    #[test]
    fn any_page_is_read(words: [u64; WORDS], counter: u64) {
        let copied = Copied::new(words);
        prop_assert_eq!(copied.state().disruption_marker, words[2]);
        if let Some((earliest, latest)) = copied.utc(counter) {
            prop_assert!(earliest <= latest);
        }
    }

    /// Numbers of states and leap seconds return.
    #[test]
    fn numbers_are_kept(number: u8) {
        prop_assert_eq!(Status::of(number).number(), number);
        prop_assert_eq!(Leap::of(number).number(), number);
    }

    /// For any true rate and true time at the reference, within the page's bounds: the true times are in the interval,
    /// on both sides of the reference.
    #[test]
    fn utc_holds_the_true_time(
        cycles in prop_oneof![-(1i64 << 36)..0, 0..1i64 << 48], rate in -1.0..1.0f64, offset in -1.0..1.0f64, shift in 20u32..32,
        fraction: u64,
    ) {
        let mut words = words(1);
        let period = (1u128 << (64 + shift)) / 2_500_000_000;
        words[4] = words[4] & !(0xff << 56) | u64::from(shift) << 56;
        words[6] = period as u64;
        words[8] = (period / 50_000) as u64;
        words[10] = fraction;
        let (earliest, latest) = Copied::new(words).utc((1u64 << 40).wrapping_add(cycles as u64)).unwrap();
        // In nanoseconds since the reference, whose fractions are a small part of the errors.
        let unit_ns = 1e9 / 2f64.powi(64 + shift as i32);
        let since = cycles as f64 * (words[6] as f64 + 0.999 * rate * words[8] as f64) * unit_ns;
        let truth = since + fraction as f64 / 2f64.powi(64) * 1e9 + 0.999 * offset * 1_000.0;
        let base = SECONDS * 1_000_000_000;
        let (earliest, latest) = (earliest as i64 - base as i64, latest as i64 - base as i64);
        // The arithmetic of this test itself is good to 53 bits.
        let slack = truth.abs() / 1e15 + 1e-3;
        prop_assert!(earliest as f64 <= truth + slack && truth <= latest as f64 + slack, "{} {} {}", earliest, truth, latest);
        // No wider than stated, rounded.
        let error = 1_000.0 + (cycles as f64 * words[8] as f64 * unit_ns).abs();
        prop_assert!((latest - earliest) as f64 <= 2.0 * (error + 5.0) + 2.0 * slack);
    }

    /// The hypervisor writes at any moments between the reader's loads, several states in turn: the result is one of
    /// them, or nothing.
    #[test]
    fn states_are_not_mixed(steps in proptest::collection::vec(0usize..40, 1..200)) {
        let page = Interleaved::new(steps);
        for _ in 0..4 {
            let Some(read) = consistent(&page, copy) else { continue };
            let marker = read.state().disruption_marker;
            let whole = Interleaved::whole(marker);
            prop_assert_eq!(read.state(), whole.state());
            prop_assert_eq!(read.utc(1 << 40), whole.utc(1 << 40));
        }
    }
}

/// A page that changes by some stores of the hypervisor before each load.
struct Interleaved {
    steps: Vec<usize>,
    loads: Cell<usize>,
    stores: Cell<usize>,
}

impl Interleaved {
    /// The sequence number, fourteen words, the sequence number.
    const STORES: usize = WORDS + 2;

    fn new(steps: Vec<usize>) -> Self {
        Self { steps, loads: Cell::new(0), stores: Cell::new(0) }
    }

    /// A word of the state with that number: all of its fields differ between states.
    fn value(state: usize, index: usize) -> u64 {
        let mut words = words(state as u64);
        words[9] += state as u64;
        words[12] += state as u64;
        words[index]
    }

    fn whole(marker: u64) -> Copied {
        Copied::new(std::array::from_fn(|index| Self::value(marker as usize, index)))
    }
}

impl Words for Interleaved {
    fn word(&self, index: usize) -> u64 {
        let load = self.loads.replace(self.loads.get() + 1);
        let stores = self.stores.get() + self.steps.get(load).copied().unwrap_or(0);
        self.stores.set(stores);
        let (state, done) = (stores / Self::STORES, stores % Self::STORES);
        if index == 1 {
            // Odd from the first store of a round to the last one.
            let sequence = 2 * state as u64 + u64::from(done != 0);
            return words(0)[1] & 0xffff_ffff | sequence << 32;
        }
        // The stores of the fields, in the order of the words.
        let written = done != 0 && index < done - 1;
        Self::value(state + usize::from(written), index)
    }
}

/// A file in place of the device.
struct Device {
    path: std::ffi::CString,
    memory: &'static [AtomicU64],
}

impl Device {
    fn new(name: &str, words: [u64; WORDS]) -> Self {
        use std::os::fd::AsRawFd as _;
        let file = format!("clocksmith-vmclock-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(file);
        let length = crate::kernel::page_size();
        let options = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        let file = options.unwrap();
        file.set_len(length as u64).unwrap();
        // SAFETY: new memory, which stays; the file keeps its length.
        let memory = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let memory = libc::mmap(
                core::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            assert_ne!(memory, libc::MAP_FAILED);
            core::slice::from_raw_parts(memory.cast::<AtomicU64>(), WORDS)
        };
        let device = Self {
            path: std::ffi::CString::new(path.into_os_string().into_encoded_bytes()).unwrap(),
            memory,
        };
        device.memory.iter().zip(words).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        device
    }

    /// As the hypervisor writes.
    fn write(&self, words: [u64; WORDS]) {
        let sequence = self.memory[1].load(Ordering::Relaxed);
        self.memory[1].store(sequence + (1 << 32), Ordering::Relaxed);
        core::sync::atomic::fence(Ordering::Release);
        for (index, (to, word)) in self.memory.iter().zip(words).enumerate() {
            if index != 1 {
                to.store(word, Ordering::Relaxed);
            }
        }
        self.memory[1].store(sequence + (2 << 32), Ordering::Release);
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let path = std::path::Path::new(self.path.to_str().unwrap());
        std::fs::remove_file(path).unwrap();
    }
}

#[cfg(not(miri))]
#[test]
fn migration_is_an_event() {
    let device = Device::new("event", words(1));
    let clock = VmClock::open_at(&device.path).unwrap();
    let mut disruptions = clock.disruptions();
    assert!(!disruptions.happened());
    device.write(words(2));
    assert!(disruptions.happened() && !disruptions.happened());
    assert_eq!(clock.disruption_marker(), 2);
    assert_eq!(clock.state(), Some(Copied::new(words(2)).state()));
    // A hypervisor that stopped while it wrote: the marker is still a load.
    device.memory[1].fetch_or(1 << 32, Ordering::Relaxed);
    assert_eq!((clock.state(), clock.utc_bounded()), (None, None));
    assert!(!disruptions.happened());
}

#[cfg(not(miri))]
#[test]
fn reader_beside_a_writer_sees_one_state() {
    let device = Device::new("writer", words(0));
    let clock = VmClock::open_at(&device.path).unwrap();
    let done = core::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut seen, mut disruptions) = (0u64, clock.disruptions());
            while !done.load(Ordering::Relaxed) || seen == 0 {
                let Some(state) = clock.state() else { continue };
                assert_eq!(state.maxerror_ns, Some(state.disruption_marker + 1_000));
                disruptions.happened();
                seen += 1;
            }
            seen
        });
        for marker in 0..50_000 {
            let mut words = words(marker);
            words[12] += marker;
            device.write(words);
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(seen > 0);
}

#[cfg(not(miri))]
#[test]
fn utc_comes_from_the_counter_of_this_machine() {
    use clocksmith_raw::counter::{Counter as _, Hardware};
    if !crate::kernel::counter_is_allowed() {
        return;
    }
    let mut now = words(1);
    now[5] = Hardware::read_ordered();
    let device = Device::new("utc", now);
    let clock = VmClock::open_at(&device.path).unwrap();
    let (first, second) = (clock.utc_bounded().unwrap(), clock.utc_bounded().unwrap());
    assert!(first.0 > SECONDS * 1_000_000_000 - 1_000_000);
    assert!(second.0 >= first.0 && second.1 >= first.1, "{first:?} {second:?}");
}

#[cfg(not(miri))]
#[test]
fn other_files_are_refused_with_a_reason() {
    assert_eq!(map(c"/nonexistent/vmclock0"), Err(Unavailable::Absent));
    assert_eq!(map(c"/dev/null"), Err(Unavailable::NotAVmClock));
    assert_eq!(map(c"/proc/self/stat"), Err(Unavailable::NotAVmClock));
    let refused = |name, change: fn(&mut [u64; WORDS])| {
        let mut words = words(1);
        change(&mut words);
        map(&Device::new(name, words).path)
    };
    assert_eq!(refused("magic", |words| words[0] ^= 1), Err(Unavailable::NotAVmClock));
    assert_eq!(refused("size", |words| words[0] &= 0xffff_ffff), Err(Unavailable::NotAVmClock));
    assert_eq!(refused("version", |words| words[1] += 1), Err(Unavailable::Version(2)));
    assert!(refused("good", |_| ()).is_ok());
}

#[cfg(not(miri))]
#[test]
fn first_result_is_kept() {
    let place = AtomicPtr::new(core::ptr::null_mut());
    let none = c"/nonexistent/vmclock0";
    assert_eq!(look(&place, none), Err(Unavailable::Absent));
    assert!(!place.load(Ordering::Relaxed).is_null());
    let device = Device::new("kept", words(1));
    assert_eq!(look(&place, &device.path), Err(Unavailable::Absent), "as another thread found");
    let place = AtomicPtr::new(core::ptr::null_mut());
    let mapped = look(&place, &device.path).unwrap();
    assert_eq!(look(&place, none), Ok(mapped));
    assert_eq!(VmClock::open(), VmClock::open());
    if std::fs::metadata("/dev/vmclock0").is_err() {
        assert_eq!(VmClock::open(), Err(Unavailable::Absent));
    }
}

#[test]
fn reasons_are_kept_as_numbers() {
    let all = [
        Unavailable::Unsupported,
        Unavailable::Absent,
        Unavailable::Refused,
        Unavailable::NotAVmClock,
        Unavailable::Version(0),
        Unavailable::Version(2),
        Unavailable::Failed(1),
        Unavailable::Failed(133),
    ];
    for why in all {
        assert!((1..4096).contains(&why.code()));
        assert_eq!(Unavailable::of_code(why.code()), why);
        assert!(!why.to_string().is_empty());
    }
}

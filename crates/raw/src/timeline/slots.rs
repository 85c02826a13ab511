//! States, and how they are published: whole, and without waits.

use super::{Clock, Which};
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};

/// How many slots there are. Each writer needs one for some instructions, and the state in force
/// occupies one.
#[cfg(not(clocksmith_loom))]
const SLOTS: usize = 16;
#[cfg(clocksmith_loom)]
const SLOTS: usize = 3;

/// The number of the slot in force: the lower 8 bits; the others count publications. 0: none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) const NONE: Self = Self(0);

    fn index(self) -> usize {
        (self.0 & 0xff) as usize % SLOTS
    }

    fn next(self, index: usize) -> Self {
        Self((self.0 >> 8).wrapping_add(1) << 8 | index as u64)
    }
}

/// Slots with states, and the word with the number of the one in force. Zero bytes are a new one.
#[repr(C)]
#[cfg_attr(not(clocksmith_loom), derive(Default))]
pub struct Shared {
    word: AtomicU64,
    unused: [u64; 7],
    slots: [Slot; SLOTS],
}

/// The places of a state's numbers in a slot.
const NUMBERS: usize = 14;

/// A state, as in memory.
#[repr(C, align(64))]
#[cfg_attr(not(clocksmith_loom), derive(Default))]
pub(crate) struct Slot {
    numbers: [AtomicU64; NUMBERS],
    /// 1 while a writer fills it.
    taken: AtomicU32,
}

/// Two pieces of the line, and their parameters. Counters in cycles, rates in nanoseconds per cycle
/// times 2^48.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The counter at which the first piece begins, its time there, its rate and its length.
    pub begin: u64,
    /// Nanoseconds of CLOCK_MONOTONIC at `begin`.
    pub first_ns: u64,
    /// The rate of the first piece.
    pub first_rate: u64,
    /// The length of the first piece; the second begins after it.
    pub first_length: u64,
    /// Nanoseconds at the beginning of the second piece.
    pub second_ns: u64,
    /// Its rate.
    pub second_rate: u64,
    /// Its length; nothing is known beyond.
    pub second_length: u64,
    /// The offset from CLOCK_MONOTONIC to CLOCK_REALTIME.
    pub to_realtime: u64,
    /// The offset from CLOCK_MONOTONIC to CLOCK_BOOTTIME.
    pub to_boottime: u64,
    /// The rate without corrections.
    pub rate: u64,
    /// The counter at the last reading of the kernel's clock.
    pub read_at: u64,
    /// The kernel's time at that reading.
    pub read_ns: u64,
    /// Grows when a reading contradicts the line; beyond a bound the line is given up.
    pub faults: u64,
    /// 1 when it has been.
    pub retired: u64,
}

impl State {
    fn numbers(&self) -> [u64; NUMBERS] {
        [
            self.begin,
            self.first_ns,
            self.first_rate,
            self.first_length,
            self.second_ns,
            self.second_rate,
            self.second_length,
            self.to_realtime,
            self.to_boottime,
            self.rate,
            self.read_at,
            self.read_ns,
            self.faults,
            self.retired,
        ]
    }

    fn of(numbers: [u64; NUMBERS]) -> Self {
        let [
            begin,
            first_ns,
            first_rate,
            first_length,
            second_ns,
            second_rate,
            second_length,
            to_realtime,
            to_boottime,
            rate,
            read_at,
            read_ns,
            faults,
            retired,
        ] = numbers;
        Self {
            begin,
            first_ns,
            first_rate,
            first_length,
            second_ns,
            second_rate,
            second_length,
            to_realtime,
            to_boottime,
            rate,
            read_at,
            read_ns,
            faults,
            retired,
        }
    }

    /// The offset from CLOCK_MONOTONIC to a clock.
    pub(crate) fn offset(&self, clock: Clock) -> u64 {
        match clock {
            Clock::Monotonic => 0,
            Clock::Realtime => self.to_realtime,
            Clock::Boottime => self.to_boottime,
        }
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired != 0
    }

    /// The counter at the end of the second piece.
    pub(crate) fn end_at(&self) -> u64 {
        self.begin.wrapping_add(self.first_length).wrapping_add(self.second_length)
    }

    /// The time there: no reader has returned a later one.
    pub(crate) fn end(&self) -> u64 {
        self.second_ns.wrapping_add(ns(self.second_length, self.second_rate))
    }

    /// The place of a counter value, and the time there.
    pub(crate) fn position(&self, cycles: u64, slack: u64) -> Which {
        let ahead = cycles.wrapping_sub(self.begin);
        if ahead <= self.first_length {
            return Which::First(self.first_ns.wrapping_add(ns(ahead, self.first_rate)));
        }
        if ahead > u64::MAX / 2 {
            // The state was published when the counter was past its beginning already.
            return if ahead.wrapping_neg() <= slack {
                Which::First(self.first_ns)
            } else {
                Which::Behind
            };
        }
        let ahead = ahead - self.first_length;
        if ahead <= self.second_length {
            return Which::Second(self.second_ns.wrapping_add(ns(ahead, self.second_rate)));
        }
        Which::Beyond
    }

    /// The state after which there is none: readers go to the kernel.
    pub(crate) fn retired(&self) -> Self {
        // No reader takes a time from pieces without a length, except for one cycle, which is the end.
        Self {
            begin: self.end_at(),
            first_ns: self.end(),
            first_rate: 0,
            first_length: 0,
            second_ns: self.end(),
            second_rate: 0,
            second_length: 0,
            retired: 1,
            ..*self
        }
    }
}

/// Cycles at a rate.
#[inline(always)]
fn ns(cycles: u64, rate: u64) -> u64 {
    ((u128::from(cycles) * u128::from(rate)) >> crate::discipline::RATE_SHIFT) as u64
}

impl Slot {
    #[inline(always)]
    fn number<const N: usize>(&self) -> u64 {
        const { assert!(N < NUMBERS) };
        self.numbers[N].load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn begin(&self) -> u64 {
        self.number::<0>()
    }

    /// The time of the first piece, `ahead` cycles after its beginning.
    #[inline(always)]
    pub(crate) fn first(&self, ahead: u64) -> u64 {
        self.number::<1>().wrapping_add(ns(ahead, self.number::<2>()))
    }

    #[inline(always)]
    pub(crate) fn first_length(&self) -> u64 {
        self.number::<3>()
    }

    #[inline(always)]
    pub(crate) fn offset(&self, clock: Clock) -> u64 {
        match clock {
            Clock::Monotonic => 0,
            Clock::Realtime => self.number::<7>(),
            Clock::Boottime => self.number::<8>(),
        }
    }
}

// The model's atomics have a default, but not in arrays.
#[cfg(clocksmith_loom)]
impl Default for Slot {
    fn default() -> Self {
        Self { numbers: core::array::from_fn(|_| AtomicU64::new(0)), taken: AtomicU32::new(0) }
    }
}

#[cfg(clocksmith_loom)]
impl Default for Shared {
    fn default() -> Self {
        Self {
            word: AtomicU64::new(0),
            unused: [0; 7],
            slots: core::array::from_fn(|_| Slot::default()),
        }
    }
}

impl Shared {
    #[inline(always)]
    pub(crate) fn word(&self, order: Ordering) -> Word {
        Word(self.word.load(order))
    }

    /// Whether that word is still in force, after all earlier loads.
    ///
    /// A slot is filled again only after its writer has seen that it is no longer in force. A reader that loads one of
    /// the new numbers sees that here.
    #[inline(always)]
    pub(crate) fn is_still(&self, word: Word) -> bool {
        fence(Ordering::Acquire);
        self.word(Ordering::Relaxed) == word
    }

    #[inline(always)]
    pub(crate) fn slot(&self, word: Word) -> &Slot {
        &self.slots[word.index()]
    }

    /// The whole state, if it is still in force when it has been loaded.
    pub(crate) fn read(&self, word: Word) -> Option<State> {
        let slot = self.slot(word);
        let mut numbers = [0; NUMBERS];
        for (number, place) in numbers.iter_mut().zip(&slot.numbers) {
            *number = place.load(Ordering::Relaxed);
        }
        self.is_still(word).then(|| State::of(numbers))
    }

    /// Puts a state in force, if that word still is.
    pub(crate) fn publish(&self, word: Word, state: &State) -> bool {
        for step in 1..SLOTS {
            let index = (word.index() + step) % SLOTS;
            let slot = &self.slots[index];
            if slot.taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
                continue;
            }
            // The slot is not the one in force, and only its holder can make it that.
            let published = self.word(Ordering::Acquire) == word && {
                // A reader that sees one of these numbers also sees the values that were loaded above.
                fence(Ordering::Release);
                for (place, number) in slot.numbers.iter().zip(state.numbers()) {
                    place.store(number, Ordering::Relaxed);
                }
                self.word
                    .compare_exchange(
                        word.0,
                        word.next(index).0,
                        Ordering::AcqRel,
                        Ordering::Relaxed,
                    )
                    .is_ok()
            };
            slot.taken.store(0, Ordering::Release);
            return published;
        }
        false
    }
}

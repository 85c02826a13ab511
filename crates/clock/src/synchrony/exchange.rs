//! The test: messages between threads on two processors.

use super::{Refused, Synchrony};
use crate::kernel;
use clocksmith_raw::counter;
use clocksmith_raw::exchange::{EXCHANGES, Meeting};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Tests the counters of all processors that this thread may run on, for at most about that long.
///
/// # Errors
///
/// Returns the reason if the counters cannot be used or tested.
pub fn test_counters(limit: Duration) -> Result<Synchrony, Refused> {
    if !kernel::counter_is_allowed() {
        return Err(Refused::Forbidden);
    }
    if !is_invariant() {
        return Err(Refused::NotInvariant);
    }
    let processors = allowed_processors()?;
    let mut found =
        Synchrony { processors: processors.len(), exchanges: 0, undetectable_cycles: 0 };
    // Without any processor nothing would be tested, and nothing untested is used.
    let Some((first, others)) = processors.split_first() else {
        return Err(Refused::NotListed { error: 0 });
    };
    let each = limit / u32::try_from(others.len()).unwrap_or(u32::MAX).max(1);
    for other in others {
        let pair = exchange(*first, *other, each)?;
        found.exchanges += pair.exchanges;
        // Each is known against the first, so two others may be twice as far apart.
        let factor = if others.len() > 1 { 2 } else { 1 };
        found.undetectable_cycles = found.undetectable_cycles.max(factor * pair.undetectable());
    }
    Ok(found)
}

/// Whether the processor promises a counter of one rate (x86); others always have one.
fn is_invariant() -> bool {
    #[cfg(target_arch = "x86")]
    use core::arch::x86::__cpuid;
    #[cfg(target_arch = "x86_64")]
    use core::arch::x86_64::__cpuid;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    {
        // SAFETY: every x86 CPU that these targets run on has the instruction, and it reads no memory.
        // Newer compilers know that: there the call is safe.
        #[allow(unused_unsafe)]
        let leaf = |number| unsafe { __cpuid(number) };
        leaf(0x8000_0000).eax >= 0x8000_0007 && leaf(0x8000_0007).edx >> 8 & 1 == 1
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    true
}

/// Processors that a mask holds: eight times as many as the kernel of a distribution. `cpu_set_t` holds 1,024, and the
/// kernel refuses a mask that is too small for the machine.
const MOST: usize = 65_536;
const BITS: usize = usize::BITS as usize;
type Mask = [usize; MOST / BITS];

fn allowed_processors() -> Result<Vec<usize>, Refused> {
    let mut mask: Mask = [0; MOST / BITS];
    // SAFETY: the call writes the mask and nothing beyond.
    let result = unsafe {
        libc::sched_getaffinity(0, size_of::<Mask>(), (&raw mut mask).cast::<libc::cpu_set_t>())
    };
    if result == 0 {
        Ok(members(&mask))
    } else {
        Err(Refused::NotListed { error: kernel::last_error() })
    }
}

fn members(mask: &Mask) -> Vec<usize> {
    let words = mask.iter().enumerate();
    words
        .flat_map(|(at, word)| {
            (0..BITS).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * BITS + bit)
        })
        .collect()
}

fn bind(processor: usize) -> Result<(), Refused> {
    let mut mask: Mask = [0; MOST / BITS];
    if let Some(word) = mask.get_mut(processor / BITS) {
        *word = 1 << (processor % BITS);
    }
    // SAFETY: a local mask; binds only this thread. (The kernel ignores what is beyond its own masks.)
    let result = unsafe {
        libc::sched_setaffinity(0, size_of::<Mask>(), (&raw const mask).cast::<libc::cpu_set_t>())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(Refused::NotBound { processor, error: kernel::last_error() })
    }
}

/// The exchanges between two processors: the least cycles from one to the other, and back.
#[derive(Clone, Copy, Debug)]
struct Pair {
    exchanges: u64,
    there: i64,
    back: i64,
}

impl Pair {
    fn undetectable(&self) -> u64 {
        u64::try_from(self.there.max(self.back)).unwrap_or(0)
    }
}

fn exchange(one: usize, other: usize, limit: Duration) -> Result<Pair, Refused> {
    let meeting = Meeting::default();
    let over = AtomicBool::new(false);
    let (there, back, exchanges) = std::thread::scope(|scope| {
        // A scope's own `spawn` panics where a limit allows no further thread.
        let answering = Builder::new().spawn_scoped(scope, || {
            bind(other)?;
            Ok(meeting.answer(counter::read_ordered, || {
                let mut turns = 0u32;
                let over = &over;
                move || {
                    core::hint::spin_loop();
                    turns = turns.wrapping_add(1);
                    turns % 1_024 != 0 || !over.load(Ordering::Relaxed)
                }
            }))
        });
        let answering = answering.map_err(|error| no_thread(&error))?;
        let asking = Builder::new().spawn_scoped(scope, || {
            // The other one may have failed to start: it is not waited for beyond the limit.
            let asked = bind(one).map(|()| {
                let in_time = within(limit);
                meeting.ask(counter::read_ordered, || in_time)
            });
            over.store(true, Ordering::Relaxed);
            asked
        });
        let asking = asking.map_err(|error| {
            over.store(true, Ordering::Relaxed);
            no_thread(&error)
        })?;
        let (asked, answered) = (asking.join(), answering.join());
        // Neither thread can panic.
        let (Ok(asked), Ok(answered)) = (asked, answered) else {
            return Err(Refused::TooBusy { processors: (one, other), exchanges: 0 });
        };
        let (asked, answered) = (asked?, answered?);
        Ok((answered.least, asked.least, asked.exchanges))
    })?;
    let known = |least: Option<i64>| least.unwrap_or(i64::MAX);
    judge(one, other, Pair { exchanges, there: known(there), back: known(back) })
}

/// Whether the limit, which begins now, is not over yet. One beyond the clock's range is not a limit.
fn within(limit: Duration) -> impl Fn() -> bool + Copy {
    let end = Instant::now().checked_add(limit);
    move || end.is_none_or(|end| Instant::now() < end)
}

fn no_thread(error: &std::io::Error) -> Refused {
    Refused::NoThread { error: error.raw_os_error().unwrap_or(libc::EAGAIN) }
}

fn judge(one: usize, other: usize, pair: Pair) -> Result<Pair, Refused> {
    if pair.exchanges > 0 && pair.there < 0 {
        return Err(Refused::Warp { processors: (one, other), cycles: pair.there.unsigned_abs() });
    }
    if pair.exchanges > 0 && pair.back < 0 {
        return Err(Refused::Warp { processors: (other, one), cycles: pair.back.unsigned_abs() });
    }
    if pair.exchanges < EXCHANGES / 40 {
        let exchanges = pair.exchanges;
        return Err(Refused::TooBusy { processors: (one, other), exchanges });
    }
    Ok(pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_judged() {
        let pair = |there, back, exchanges| judge(2, 5, Pair { exchanges, there, back });
        assert_eq!(pair(300, 280, 4_000).unwrap().undetectable(), 300);
        assert_eq!(
            pair(-20, 600, 4_000).unwrap_err(),
            Refused::Warp { processors: (2, 5), cycles: 20 }
        );
        assert_eq!(
            pair(600, -20, 4_000).unwrap_err(),
            Refused::Warp { processors: (5, 2), cycles: 20 }
        );
        assert!(matches!(pair(300, 280, 3), Err(Refused::TooBusy { exchanges: 3, .. })));
        assert!(matches!(pair(i64::MAX, i64::MAX, 0), Err(Refused::TooBusy { .. })));
    }

    // (Miri does not know PR_GET_TSC.)
    #[cfg(not(miri))]
    #[test]
    fn this_machine_is_tested_or_says_why_not() {
        match test_counters(Duration::from_millis(300)) {
            Ok(found) => assert!(found.processors == 1 || found.exchanges > 0, "{found:?}"),
            // Loaded machines, and ones without an invariant counter; with words for it.
            Err(why) => assert!(!why.to_string().is_empty()),
        }
    }

    #[test]
    fn processors_beyond_1024_are_members() {
        let mut mask: Mask = [0; MOST / BITS];
        for processor in [0, 63, 1_023, 1_024, 8_191, MOST - 1] {
            mask[processor / BITS] |= 1 << (processor % BITS);
        }
        assert_eq!(members(&mask), [0, 63, 1_023, 1_024, 8_191, MOST - 1]);
        assert!(members(&[0; MOST / BITS]).is_empty());
    }

    #[test]
    fn limit_beyond_the_range_of_the_clock_is_none() {
        assert!(within(Duration::MAX)() && within(Duration::from_secs(3600))());
        assert!(!within(Duration::ZERO)());
    }

    #[test]
    fn a_processor_that_is_not_there() {
        for missing in [60_000, MOST + 7] {
            let refused = std::thread::spawn(move || bind(missing)).join().unwrap().unwrap_err();
            assert!(
                matches!(refused, Refused::NotBound { processor, .. } if processor == missing),
                "{refused}"
            );
        }
    }
}

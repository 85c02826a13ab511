//! Whether the counters of two CPUs agree.
//!
//! Two threads on two CPUs pass messages in both directions, each with the counter of its sender. A counter
//! that is read after the message came must be beyond the one in the message, if the two counters agree;
//! otherwise this is a *warp*, and time goes backward between threads. So the shortest outward delay bounds
//! from above how far the other counter is ahead, and the shortest return delay bounds it from below: without
//! locks, and for any delay. (The kernel's own test is `check_tsc_warp()`, `arch/x86/kernel/tsc_sync.c`.)

use core::sync::atomic::{AtomicU64, Ordering};

/// Exchanges in one run; more hardly shorten the shortest delay.
pub const EXCHANGES: u64 = 4_000;

/// A message with a counter; 0 means that there is no message. Alone in its cache line.
#[repr(align(128))]
struct Letterbox(AtomicU64);

impl Letterbox {
    const fn empty() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Waits for a message as long as `wait` returns `true`.
    #[inline]
    fn take(&self, mut wait: impl FnMut() -> bool) -> Option<u64> {
        loop {
            let value = self.0.load(Ordering::Acquire);
            if value != 0 {
                self.0.store(0, Ordering::Relaxed);
                return Some(value);
            }
            if !wait() {
                return None;
            }
        }
    }

    #[inline]
    fn put(&self, value: u64) {
        self.0.store(value.max(1), Ordering::Release);
    }
}

/// The memory in which two threads meet.
pub struct Meeting {
    there: Letterbox,
    back: Letterbox,
}

/// The result of one of the two threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Side {
    /// The least cycles that a message to it took; negative after a warp.
    pub least: Option<i64>,
    /// Messages to it.
    pub exchanges: u64,
}

impl Default for Meeting {
    fn default() -> Self {
        Self { there: Letterbox::empty(), back: Letterbox::empty() }
    }
}

impl Meeting {
    /// The thread that begins. `counter` reads this CPU's counter, ordered. `patience` makes the function that
    /// is called once in each turn of a waiting loop, and returns whether to continue waiting.
    pub fn ask<W: FnMut() -> bool>(
        &self,
        counter: impl Fn() -> u64,
        patience: impl Fn() -> W,
    ) -> Side {
        let mut side = Side::default();
        while side.exchanges < EXCHANGES {
            self.there.put(counter());
            let Some(answer) = self.back.take(patience()) else { break };
            side.took(counter(), answer);
        }
        side
    }

    /// The thread that replies; parameters as of [`Meeting::ask`].
    pub fn answer<W: FnMut() -> bool>(
        &self,
        counter: impl Fn() -> u64,
        patience: impl Fn() -> W,
    ) -> Side {
        let mut side = Side::default();
        while side.exchanges < EXCHANGES {
            let Some(sent) = self.there.take(patience()) else { break };
            side.took(counter(), sent);
            self.back.put(counter());
        }
        side
    }
}

impl Side {
    fn took(&mut self, now: u64, sent: u64) {
        // Counters may wrap; a difference of more than half of all values counts as behind.
        let took = now.wrapping_sub(sent) as i64;
        self.least = Some(self.least.map_or(took, |least| least.min(took)));
        self.exchanges += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two counters, the second ahead by `ahead`, which advance by one with each look of either
    /// side.
    fn sides(ahead: i64) -> (Side, Side) {
        let (meeting, looks) = (Meeting::default(), AtomicU64::new(1 << 40));
        let tick = || looks.fetch_add(1, Ordering::SeqCst);
        let waiting = || || true;
        std::thread::scope(|scope| {
            let answered =
                scope.spawn(|| meeting.answer(|| tick().wrapping_add_signed(ahead), waiting));
            let asked = meeting.ask(tick, waiting);
            (asked, answered.join().unwrap_or_default())
        })
    }

    #[test]
    fn exchange_counters_agree_no_warp() {
        let (asked, answered) = sides(0);
        assert_eq!((asked.exchanges, answered.exchanges), (EXCHANGES, EXCHANGES));
        assert!(asked.least >= Some(1) && answered.least >= Some(1), "{asked:?} {answered:?}");
    }

    #[test]
    fn exchange_counter_ahead_is_bounded_from_both_sides() {
        let (asked, answered) = sides(1_000_000);
        // The reply has a later counter; the first message took that much longer.
        assert!(asked.least < Some(0) && answered.least > Some(900_000), "{asked:?} {answered:?}");
    }

    #[test]
    fn exchange_other_thread_missing_ends() {
        let side = Meeting::default().ask(|| 7, || || false);
        assert_eq!(side, Side::default());
    }
}

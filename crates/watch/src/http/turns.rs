//! The order in which passwords are compared. Pure, except for the moments that it is given.
//!
//! Addresses wait in turn: first one that sent a right pair before, then one where nothing has been compared yet, then
//! the one that was served longest ago ([`Budget::rank`]). So any number of addresses that guess are behind one that
//! comes for the first time, and none of them keeps out an address that was right.

use super::budget::{Budget, Place};
use std::collections::VecDeque;
use std::time::Instant;

/// Right pairs that are remembered.
const KNOWN: usize = 64;
/// Comparisons at the same time, and for one address.
const AT_ONCE: usize = 2;
/// Requests of one address that may wait for their turn.
const WAITING: usize = 2;
/// Requests that may wait in all: fewer than there are connections ([`super::slots::AT_ONCE`]).
const IN_ALL: usize = 32;

/// The remembered pairs, and the waiting requests.
#[derive(Debug, Default)]
pub(super) struct Doorkeeper {
    known: VecDeque<Right>,
    pub(super) budget: Budget,
    /// Addresses whose passwords are being compared.
    pub(super) busy: Vec<Place>,
    /// The requests that wait for that, in the order in which they came.
    waiting: Vec<Waiter>,
    /// The number of requests that have waited so far.
    numbers: u64,
}

/// One request that waits for its turn.
#[derive(Debug)]
struct Waiter {
    number: u64,
    from: Place,
    user: String,
    /// It made room for a request whose turn is before its own.
    put_off: bool,
}

impl Doorkeeper {
    /// Returns whether a pair was right before.
    pub(super) fn knows(&self, right: &Right) -> bool {
        self.known.iter().any(|known| known.digest == right.digest)
    }

    /// Remembers a pair that was right; of too many, the oldest one is forgotten.
    pub(super) fn remember(&mut self, right: Right) {
        self.known.retain(|known| known.digest != right.digest);
        if self.known.len() == KNOWN {
            self.known.pop_front();
        }
        self.known.push_back(right);
    }

    /// Returns whether a user was right at an address: guesses from elsewhere do not affect it.
    pub(super) fn trusts(&self, from: Place) -> bool {
        self.known.iter().any(|known| known.from == from)
    }

    /// Adds a request to those that wait. Returns `None` if too many requests of its address are waiting, or if the
    /// address has guessed too often. If too many requests wait in all, the one whose turn is last gives up its place.
    pub(super) fn enter(
        &mut self,
        from: Place,
        user: &str,
        cost: u32,
        now: Instant,
    ) -> Option<u64> {
        let of_it = self.waiting.iter().filter(|waiter| waiter.from == from).count();
        if of_it >= WAITING || !self.budget.wait(from, cost, now) {
            return None;
        }
        self.numbers += 1;
        let number = self.numbers;
        self.waiting.push(Waiter { number, from, user: user.to_owned(), put_off: false });
        if self.waiting.iter().filter(|waiter| !waiter.put_off).count() > IN_ALL {
            let (budget, known) = (&self.budget, &self.known);
            let trusts = |from: Place| known.iter().any(|known| known.from == from);
            let last = self
                .waiting
                .iter_mut()
                .filter(|waiter| !waiter.put_off)
                .max_by_key(|it| (!trusts(it.from), budget.rank(it.from), it.number));
            if let Some(last) = last {
                last.put_off = true;
            }
        }
        Some(number)
    }

    pub(super) fn is_put_off(&self, number: u64) -> bool {
        self.waiting.iter().any(|waiter| waiter.number == number && waiter.put_off)
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.waiting.retain(|waiter| waiter.number != number);
    }

    /// Returns the request whose turn it is: of those whose password can be compared now, the first in order.
    pub(super) fn next(&mut self, cost: u32, now: Instant) -> Option<u64> {
        if self.busy.len() >= AT_ONCE {
            return None;
        }
        let mut first: Option<(bool, _, u64)> = None;
        for at in 0..self.waiting.len() {
            let waiter = &self.waiting[at];
            if waiter.put_off || self.busy.contains(&waiter.from) {
                continue;
            }
            let trusted = self.trusts(waiter.from);
            let allowed = trusted || self.budget.until(&waiter.user, cost, now).is_zero();
            let turn = (!trusted, self.budget.rank(waiter.from), waiter.number);
            if allowed && first.is_none_or(|first| turn < first) {
                first = Some(turn);
            }
        }
        first.map(|(.., number)| number)
    }
}

/// A pair that was right, and its address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Right {
    pub(super) digest: [u8; 32],
    pub(super) from: Place,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_beyond_those_that_may_wait_makes_room_or_takes_the_room_of_the_last() {
        let (mut state, now) = (Doorkeeper::default(), Instant::now());
        let place = |last: u8| Place::of([192, 0, 2, last].into());
        for last in 0..u8::try_from(IN_ALL).unwrap() {
            assert!(state.budget.take(place(last), "a", true, 10, now).is_some());
            assert!(state.enter(place(last), "a", 10, now).is_some());
        }
        let number = state.enter(place(200), "b", 10, now).unwrap();
        assert!(!state.is_put_off(number));
        assert_eq!(state.waiting.iter().filter(|waiter| waiter.put_off).count(), 1);
        assert_eq!(state.next(10, now), Some(number));
    }

    #[test]
    fn new_address_is_first_among_many_where_nothing_was_compared_yet() {
        let (mut state, now) = (Doorkeeper::default(), Instant::now());
        let place = |last: u8| Place::of([192, 0, 2, last].into());
        let at = |ms: u64| now + std::time::Duration::from_millis(ms);
        // They guess in turn, so that all of them have waited before.
        for last in 0..100 {
            state.enter(place(last), "a", 10, at(u64::from(last))).unwrap();
        }
        let number = state.enter(place(200), "a", 10, at(200)).unwrap();
        assert!(!state.is_put_off(number));
        assert_eq!(state.next(10, at(200)), Some(number));
        assert!(state.enter(place(0), "a", 10, at(201)).is_some());
        assert_eq!(state.next(10, at(201)), Some(number));
    }

    #[test]
    fn ever_new_networks_come_behind_one_that_was_right_and_one_of_elsewhere() {
        let (mut state, now) = (Doorkeeper::default(), Instant::now());
        let place = |text: &str| Place::of(text.parse::<std::net::IpAddr>().unwrap());
        let at = |ms: u64| now + std::time::Duration::from_millis(ms);
        let right = place("2001:db8:1:ffff::1");
        state.remember(Right { digest: [1; 32], from: right });
        let guesses = |state: &mut Doorkeeper, from: u64| {
            for number in from..from + 100 {
                let from = place(&format!("2001:db8:1:{number:x}::1"));
                state.enter(from, "a", 10, at(number)).unwrap();
            }
        };
        // A comparison was made for one of them.
        assert!(state.budget.take(place("2001:db8:1::1"), "a", false, 10, now).is_some());
        // The one that was right was compared recently, with a password that has changed since.
        assert!(state.budget.take(right, "a", true, 10, at(50)).is_some());
        let known = state.enter(right, "a", 10, at(60)).unwrap();
        let other = state.enter(place("2001:db9::1"), "a", 10, at(61)).unwrap();
        guesses(&mut state, 100);
        guesses(&mut state, 1000);
        assert!(!state.is_put_off(known) && !state.is_put_off(other));
        assert_eq!(state.next(10, at(2000)), Some(known));
        state.leave(known);
        assert_eq!(state.next(10, at(2000)), Some(other));
    }
}

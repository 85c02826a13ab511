//! The standing of addresses when places for connections are short: by the requests that were served, and the places that
//! were used for nothing. Pure: the caller passes the time.

use super::budget::Place;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long an address counts as one that was served: longer than the longest interval at which one is monitored.
const LATELY: Duration = Duration::from_secs(3600);
/// The number of connections without a request since the last served one after which an address has the standing of one
/// that was never served. Probes that only connect make fewer between two scrapes.
const TOO_MANY: f64 = 16.0;
/// Half of the connections for nothing are forgotten after this long.
const HALF: f64 = 60.0;
/// Addresses that are remembered; beyond, one that was not served is forgotten, the one not heard of for longest.
const ADDRESSES: usize = 1024;

/// The standing of an address; the worst is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Standing(i16);

impl Standing {
    const SERVED: Self = Self(2);
    /// The standing of an address that comes for the first time.
    pub(super) const FRESH: Self = Self(0);

    /// Returns whether it is better by more than the effect of a retry or a second connection.
    #[must_use]
    pub(super) fn clearly_better(self, than: Self) -> bool {
        self.0 >= than.0.saturating_add(2)
    }
}

#[derive(Clone, Copy, Debug)]
struct Record {
    served: Option<Instant>,
    /// Connections for nothing, at that moment.
    wasted: f64,
    at: Instant,
}

impl Record {
    fn wasted(&self, now: Instant) -> f64 {
        self.wasted * (-now.saturating_duration_since(self.at).as_secs_f64() / HALF).exp2()
    }

    fn is_good(&self, now: Instant) -> bool {
        let lately = |at| now.saturating_duration_since(at) < LATELY;
        self.served.is_some_and(lately) && self.wasted(now) < TOO_MANY
    }
}

/// The records of addresses.
#[derive(Debug, Default)]
pub(super) struct Records(HashMap<Place, Record>);

impl Records {
    /// The standing of an address that has `open` connections which were not served.
    pub(super) fn standing(&self, place: Place, open: usize, now: Instant) -> Standing {
        let record = self.0.get(&place);
        if record.is_some_and(|record| record.is_good(now)) {
            return Standing::SERVED;
        }
        let own = record.map_or(0.0, |record| record.wasted(now)) + open as f64;
        let around = place
            .around()
            .filter_map(|(network, share)| Some(self.0.get(&network)?.wasted(now) / share));
        let weight = around.fold(own, f64::max);
        // Steps of a factor of two: an address with one more failure than another is not worse.
        #[expect(clippy::cast_possible_truncation, reason = "a logarithm is small")]
        Standing(-(weight.max(1.0).log2() as i16))
    }

    /// Records that an address was served: places that it wasted before no longer count.
    pub(super) fn served(&mut self, place: Place, now: Instant) {
        let record = self.record(place, now);
        (record.served, record.wasted) = (Some(now), 0.0);
    }

    /// Records a connection without a request. The networks around its address also count it, so
    /// that an unknown address does not have the standing of a new one where very many of its
    /// network connected for nothing.
    pub(super) fn wasted(&mut self, place: Place, now: Instant) {
        for (network, _) in place.around() {
            self.record(network, now).wasted += 1.0;
        }
        self.record(place, now).wasted += 1.0;
    }

    fn record(&mut self, place: Place, now: Instant) -> &mut Record {
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&place) {
            // Removes, among those last seen at the same moment, the single addresses rather than their networks, and
            // not the worst network.
            let least = self.0.iter().min_by(|(a, one), (b, other)| {
                let key = |place: &Place, record: &Record| {
                    (record.is_good(now), record.at, place.is_network())
                };
                let wasted = || one.wasted(now).total_cmp(&other.wasted(now));
                key(a, one).cmp(&key(b, other)).then_with(wasted)
            });
            if let Some(least) = least.map(|(place, _)| *place) {
                self.0.remove(&least);
            }
        }
        let record = self.0.entry(place).or_insert(Record { served: None, wasted: 0.0, at: now });
        (record.wasted, record.at) = (record.wasted(now), now);
        record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u32) -> Place {
        Place::of(std::net::Ipv4Addr::from_bits(0xC633_0000 + number).into())
    }

    #[test]
    fn served_address_has_the_best_standing_until_it_wastes_or_is_long_gone() {
        let (mut records, now) = (Records::default(), Instant::now());
        let minute = Duration::from_secs(60);
        assert_eq!(records.standing(place(1), 1, now), Standing::FRESH);
        for _ in 0..4 {
            records.wasted(place(1), now);
        }
        let bad = records.standing(place(1), 1, now);
        assert!(Standing::FRESH.clearly_better(bad));
        // Old records no longer count.
        assert_eq!(records.standing(place(1), 1, now + 10 * minute), Standing::FRESH);
        records.served(place(1), now);
        let good = records.standing(place(1), 1, now);
        assert!(good.clearly_better(Standing::FRESH));
        assert_eq!(records.standing(place(1), 1, now + 10 * minute), good);
        assert_eq!(records.standing(place(1), 1, now + LATELY), Standing::FRESH);
        for _ in 0..20 {
            records.wasted(place(1), now);
        }
        assert!(Standing::FRESH.clearly_better(records.standing(place(1), 1, now)));
    }

    #[test]
    fn one_failure_or_a_second_connection_makes_no_clear_difference() {
        let (mut records, now) = (Records::default(), Instant::now());
        records.wasted(place(1), now);
        assert!(!Standing::FRESH.clearly_better(records.standing(place(1), 1, now)));
        assert!(!Standing::FRESH.clearly_better(records.standing(place(2), 2, now)));
    }

    #[test]
    fn new_addresses_of_one_network_have_a_worse_standing_than_one_of_another() {
        let of = |text: &str| Place::of(text.parse::<std::net::IpAddr>().unwrap());
        let (mut records, now) = (Records::default(), Instant::now());
        records.served(of("2001:db8:1:aaaa::1"), now);
        for number in 0..2 * ADDRESSES {
            records.wasted(of(&format!("2001:db8:1:{number:x}::1")), now);
        }
        let new = records.standing(of("2001:db8:1:ffff::1"), 1, now);
        assert!(Standing::FRESH.clearly_better(new), "{new:?}");
        assert_eq!(records.standing(of("2001:db9::1"), 1, now), Standing::FRESH);
        assert_eq!(records.standing(of("192.0.2.1"), 1, now), Standing::FRESH);
        // The standing of a served address in that network does not change.
        assert_eq!(records.standing(of("2001:db8:1:aaaa::1"), 1, now), Standing::SERVED);
        // Ever new /48.
        let mut records = Records::default();
        for number in 0..2 * ADDRESSES {
            records.wasted(of(&format!("2001:db8:{number:x}::1")), now);
        }
        assert!(Standing::FRESH.clearly_better(records.standing(of("2001:db8:ffff::1"), 1, now)));
        // A few failures of neighbours do not matter.
        let mut records = Records::default();
        for number in 0..8 {
            records.wasted(of(&format!("2001:db8:1:{number:x}::1")), now);
        }
        assert_eq!(records.standing(of("2001:db8:1:ffff::1"), 1, now), Standing::FRESH);
    }

    #[test]
    fn many_addresses_do_not_make_one_forgotten_that_was_served() {
        let (mut records, now) = (Records::default(), Instant::now());
        records.served(place(0), now);
        for number in 1..3 * ADDRESSES as u32 {
            records.wasted(place(number), now);
        }
        assert_eq!(records.0.len(), ADDRESSES);
        assert_eq!(records.standing(place(0), 1, now), Standing::SERVED);
    }
}

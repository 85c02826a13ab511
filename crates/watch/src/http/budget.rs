//! How much CPU time comparisons of passwords may take: for each address, and for each user over all addresses. Pure.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Share of one CPU for the guesses of one address, and what may be saved up.
const ADDRESS: Rate = Rate { share: 0.25, most: 2.0 };
/// The same for one user, of all addresses at which nobody was right yet.
const USER: Rate = Rate { share: 0.5, most: 4.0 };
/// Addresses that are remembered; beyond, the one that has guessed least lately is forgotten.
const ADDRESSES: usize = 1024;
/// Users share so many budgets, also those that do not exist: an answer must not tell who does.
const USERS: u64 = 256;

/// Where a client is: its address, or its network where one client has many addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place(IpAddr);

impl Place {
    /// Of an address: IPv6 addresses of one /64 are one place, and so is all of loopback.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self(match address {
            address if address.is_loopback() => Ipv6Addr::LOCALHOST.into(),
            IpAddr::V6(address) => {
                let network = u128::from(address) >> 64 << 64;
                Ipv6Addr::from(network).into()
            }
            v4 => v4,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Rate {
    share: f64,
    most: f64,
}

/// Seconds that may be used, and since when that is true.
#[derive(Clone, Copy, Debug)]
struct Account {
    seconds: f64,
    at: Instant,
}

impl Account {
    fn at(&mut self, rate: Rate, now: Instant) -> &mut Self {
        let more = now.saturating_duration_since(self.at).as_secs_f64() * rate.share;
        self.seconds = (self.seconds + more).min(rate.most);
        self.at = self.at.max(now);
        self
    }
}

/// All of it.
#[derive(Debug, Default)]
pub struct Budget {
    addresses: HashMap<Place, Account>,
    users: HashMap<u64, Account>,
    keys: RandomState,
    /// How long a comparison takes, by cost.
    takes: HashMap<u32, Duration>,
}

impl Budget {
    /// Takes the time for one comparison of a cost; `None` if there is none left. `trusted`: at that address somebody
    /// was right, so guesses from elsewhere do not count there.
    pub fn take(
        &mut self,
        from: Place,
        user: &str,
        trusted: bool,
        cost: u32,
        now: Instant,
    ) -> Option<Duration> {
        let reserved = self.takes.get(&cost).copied().unwrap_or(Duration::from_millis(50));
        if self.addresses.len() >= ADDRESSES && !self.addresses.contains_key(&from) {
            self.addresses.values_mut().for_each(|account| {
                account.at(ADDRESS, now);
            });
            let full = self.addresses.iter().max_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
            let full = full.map(|(place, _)| *place);
            full.map(|place| self.addresses.remove(&place));
        }
        let fresh = |rate: Rate| Account { seconds: rate.most, at: now };
        let key = self.keys.hash_one(user) % USERS;
        let address = self.addresses.entry(from).or_insert_with(|| fresh(ADDRESS));
        let by_user = self.users.entry(key).or_insert_with(|| fresh(USER));
        let (address, by_user) = (address.at(ADDRESS, now), by_user.at(USER, now));
        // One that costs more than can be saved up is allowed when all is saved.
        let enough = |account: &Account, rate: Rate| {
            account.seconds >= reserved.as_secs_f64().min(rate.most)
        };
        if !enough(address, ADDRESS) || !trusted && !enough(by_user, USER) {
            return None;
        }
        address.seconds -= reserved.as_secs_f64();
        by_user.seconds -= reserved.as_secs_f64();
        Some(reserved)
    }

    /// What was taken was reserved only: this is what was spent.
    pub fn settle(&mut self, from: Place, user: &str, reserved: Duration, spent: Duration) {
        let back = reserved.as_secs_f64() - spent.as_secs_f64();
        let key = self.keys.hash_one(user) % USERS;
        if let Some(account) = self.addresses.get_mut(&from) {
            account.seconds += back;
        }
        if let Some(account) = self.users.get_mut(&key) {
            account.seconds += back;
        }
    }

    /// A comparison of a cost took so long.
    pub fn learn(&mut self, cost: u32, took: Duration) {
        self.takes.insert(cost, took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(last: u8) -> Place {
        Place::of([192, 0, 2, last].into())
    }

    #[test]
    fn one_place_has_many_addresses() {
        let of = |text: &str| Place::of(text.parse().unwrap());
        assert_eq!(of("127.0.0.1"), of("127.9.9.9"));
        assert_eq!(of("127.0.0.1"), of("::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
    }

    #[test]
    fn guesses_for_a_user_are_limited_and_not_where_one_was_right() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        let second = Duration::from_secs(1);
        let mut taken = 0;
        for from in 0..200 {
            if let Some(reserved) = budget.take(place(from), "a", false, 10, now) {
                budget.settle(place(from), "a", reserved, second);
                taken += 1;
            }
        }
        assert_eq!(taken, 4);
        assert!(budget.take(place(201), "a", true, 10, now).is_some());
        assert!(budget.take(place(201), "a", false, 10, now + 3 * second).is_some());
    }

    #[test]
    fn addresses_are_bounded() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        for number in 0..2000_u32 {
            let from = Place::of(IpAddr::from(number.to_be_bytes()));
            let _ = budget.take(from, &number.to_string(), true, 10, now);
        }
        assert!(budget.addresses.len() <= ADDRESSES);
    }

    #[test]
    fn a_comparison_that_takes_longer_than_is_saved_is_made_at_last() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        budget.learn(16, Duration::from_secs(60));
        let reserved = budget.take(place(1), "a", false, 16, now).unwrap();
        budget.settle(place(1), "a", reserved, reserved);
        assert_eq!(budget.take(place(1), "a", false, 16, now), None);
        assert!(budget.take(place(1), "a", false, 16, now + Duration::from_secs(600)).is_some());
    }
}

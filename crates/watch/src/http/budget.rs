//! How much CPU time comparisons of passwords may take: for each address, and for each user over all addresses. Pure.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Share of one CPU for the guesses of one address, and the most seconds that it may save up.
const ADDRESS: Rate = Rate { share: 0.25, most: 2.0 };
/// The same for one user, of all addresses that have not sent a right pair yet.
const USER: Rate = Rate { share: 0.5, most: 4.0 };
/// Addresses that are remembered; beyond, the one that has guessed least recently is forgotten.
const ADDRESSES: usize = 1024;
/// Users share this many budgets, including users that do not exist: a response must not reveal which users exist.
const USERS: u64 = 256;

/// The origin of a client: its address, or its network if one client has many addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place(IpAddr);

impl Place {
    /// The place of an address that sends a password: as [`Place::of`], but each loopback address is a separate place,
    /// since guesses at one of them must not keep others out.
    #[must_use]
    pub fn of_guess(address: IpAddr) -> Self {
        let address = address.to_canonical();
        if address.is_loopback() { Self(address) } else { Self::of(address) }
    }

    /// The place of an address: IPv6 addresses of one /64 are one place, and so is all of loopback.
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

    /// Whether it is one of [`Place::around`].
    pub(super) fn is_network(self) -> bool {
        matches!(self.0, IpAddr::V6(address) if !address.is_loopback() && u128::from(address) as u64 != 0)
    }

    /// Returns the networks around an IPv6 one, each with the number of places that may be of different clients in it:
    /// a client with a /48 or a /32 has a new /64 for each connection.
    pub fn around(self) -> impl Iterator<Item = (Self, f64)> {
        let address = match self.0 {
            IpAddr::V6(address) if !address.is_loopback() => Some(u128::from(address)),
            _ => None,
        };
        let network = move |(length, share): (u32, f64)| {
            let network = address? >> (128 - length) << (128 - length);
            // The lower half distinguishes it from a /64 of the same beginning.
            Some((Self(Ipv6Addr::from(network | u128::from(length)).into()), share))
        };
        [(48, 8.0), (32, 64.0)].into_iter().filter_map(network)
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
    /// When a comparison for it was last made.
    served: Option<Instant>,
    /// Since when one waits for a comparison.
    waits: Option<Instant>,
}

impl Account {
    fn fresh(rate: Rate, now: Instant) -> Self {
        Self { seconds: rate.most, at: now, served: None, waits: None }
    }

    /// Returns whether there is enough. A comparison that costs more than the maximum is allowed when the maximum is
    /// saved up.
    fn has(&self, reserved: Duration, rate: Rate) -> bool {
        self.seconds >= reserved.as_secs_f64().min(rate.most)
    }

    fn at(&mut self, rate: Rate, now: Instant) -> &mut Self {
        let more = now.saturating_duration_since(self.at).as_secs_f64() * rate.share;
        self.seconds = (self.seconds + more).min(rate.most);
        self.at = self.at.max(now);
        self
    }
}

/// The budgets of all addresses and users.
#[derive(Debug, Default)]
pub struct Budget {
    addresses: HashMap<Place, Account>,
    /// When a comparison was last made for any place of a network.
    networks: HashMap<Place, Instant>,
    users: HashMap<u64, Account>,
    keys: RandomState,
    /// How long a comparison takes, by cost.
    takes: HashMap<u32, Duration>,
}

impl Budget {
    /// A place begins to wait: its turn is by how long it waits and when it was served last. `false` if it has guessed so
    /// much that it must not wait at all.
    pub fn wait(&mut self, from: Place, cost: u32, now: Instant) -> bool {
        self.make_room(from, now);
        let reserved = self.reserved(cost);
        let address = self.addresses.entry(from).or_insert_with(|| Account::fresh(ADDRESS, now));
        if !address.at(ADDRESS, now).has(reserved, ADDRESS) {
            return false;
        }
        address.waits.get_or_insert(now);
        true
    }

    /// Returns the turn of a place that waits: one where nothing has been compared yet comes first, then the one that
    /// was served longest ago. Of those where nothing was compared, the one that came last is first: a hundred that
    /// guess have all waited before, and would keep a new one behind them for as many comparisons. Comparisons for
    /// another place of its network also count: a client that guesses from one new place after the other is not new.
    #[must_use]
    pub fn rank(&self, from: Place) -> (Option<Instant>, Reverse<Option<Instant>>) {
        let account = self.addresses.get(&from);
        let around = from.around().filter_map(|(network, _)| self.networks.get(&network).copied());
        let served = around.chain(account.and_then(|it| it.served)).max();
        (served, Reverse(account.and_then(|it| it.waits)))
    }

    /// The time until the budget suffices for a comparison for a user at an address that has not sent a right pair.
    pub fn until(&mut self, user: &str, cost: u32, now: Instant) -> Duration {
        let reserved = self.reserved(cost);
        let key = self.keys.hash_one(user) % USERS;
        let account = self.users.entry(key).or_insert_with(|| Account::fresh(USER, now));
        let lacks = reserved.as_secs_f64().min(USER.most) - account.at(USER, now).seconds;
        Duration::from_secs_f64((lacks / USER.share).max(0.0))
    }

    /// Takes the time for one comparison of a cost; `None` if there is none left. `trusted`: that address has sent a
    /// right pair, so guesses from other addresses do not count there.
    pub fn take(
        &mut self,
        from: Place,
        user: &str,
        trusted: bool,
        cost: u32,
        now: Instant,
    ) -> Option<Duration> {
        let reserved = self.reserved(cost);
        self.make_room(from, now);
        let key = self.keys.hash_one(user) % USERS;
        let address = self.addresses.entry(from).or_insert_with(|| Account::fresh(ADDRESS, now));
        let by_user = self.users.entry(key).or_insert_with(|| Account::fresh(USER, now));
        let (address, by_user) = (address.at(ADDRESS, now), by_user.at(USER, now));
        if !address.has(reserved, ADDRESS) || !trusted && !by_user.has(reserved, USER) {
            return None;
        }
        address.seconds -= reserved.as_secs_f64();
        by_user.seconds -= reserved.as_secs_f64();
        (address.served, address.waits) = (Some(now), None);
        for (network, _) in from.around() {
            if self.networks.len() >= ADDRESSES && !self.networks.contains_key(&network) {
                let oldest = self.networks.iter().min_by_key(|(_, at)| **at);
                let oldest = oldest.map(|(network, _)| *network);
                oldest.map(|network| self.networks.remove(&network));
            }
            self.networks.insert(network, now);
        }
        Some(reserved)
    }

    fn reserved(&self, cost: u32) -> Duration {
        self.takes.get(&cost).copied().unwrap_or(Duration::from_millis(50))
    }

    /// Forgets the address that has guessed least recently, if there are too many; of those that
    /// wait, the last one.
    fn make_room(&mut self, from: Place, now: Instant) {
        if self.addresses.len() < ADDRESSES || self.addresses.contains_key(&from) {
            return;
        }
        self.addresses.values_mut().for_each(|account| {
            account.at(ADDRESS, now);
        });
        let least = self.addresses.iter().max_by(|(_, a), (_, b)| {
            let idle = |it: &Account| it.waits.is_none();
            idle(a).cmp(&idle(b)).then(a.waits.cmp(&b.waits)).then(a.seconds.total_cmp(&b.seconds))
        });
        let least = least.map(|(place, _)| *place);
        least.map(|place| self.addresses.remove(&place));
    }

    /// Replaces the reserved time by the time that was spent.
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

    /// Records how long a comparison of a cost took.
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
        let guess = |text: &str| Place::of_guess(text.parse().unwrap());
        assert_ne!(guess("127.0.0.1"), guess("127.9.9.9"));
        assert_eq!(guess("2001:db8::1"), of("2001:db8::ffff:1"));
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
    fn turn_is_of_who_was_not_served_yet_then_of_who_was_served_longest_ago() {
        let (mut budget, now) = (Budget::default(), Instant::now());
        let second = Duration::from_secs(1);
        for (from, at) in [(1, 3), (2, 1), (3, 2)] {
            assert!(budget.take(place(from), "a", true, 10, now + at * second).is_some());
            assert!(budget.wait(place(from), 10, now + 4 * second));
        }
        assert!(budget.wait(place(5), 10, now + 6 * second));
        assert!(budget.wait(place(4), 10, now + 5 * second));
        // A place that waits again keeps the moment of the first time.
        assert!(budget.wait(place(4), 10, now + 7 * second));
        let mut order = [1, 2, 3, 4, 5];
        order.sort_by_key(|from| budget.rank(place(*from)));
        assert_eq!(order, [5, 4, 2, 3, 1]);
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

//! Who may ask: basic authentication against bcrypt hashes.
//!
//! A bcrypt comparison takes tens of milliseconds on purpose. So a pair that was right once is remembered by its
//! digest, also when the configuration is read anew; and comparisons for what is not remembered have a budget of CPU
//! time, one for each address and one for each user ([`super::budget`]). Whoever guesses exhausts only their
//! own. Nothing is compared while a lock is held.

use super::budget::{Budget, Place};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Right pairs that are remembered.
const KNOWN: usize = 64;
/// Comparisons at the same time, and for one address.
const AT_ONCE: usize = 2;
/// Requests of one address that may wait for their turn.
const WAITING: usize = 2;
/// How long one may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(4);
/// bcrypt takes no more of a password, and what follows would be anything.
const LONGEST: usize = 72;
/// A hash without its cost, of nothing that anybody knows.
const NOBODY: &str = "6VPoYVz6rxkzRagSjt4xtOFqxZrsHg4bdwrRUM9K6T1GelbUY6CQe";
/// The cost where no user tells one.
const COST: u32 = 10;

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Come in.
    Granted,
    /// Wrong, or nothing was said.
    Denied,
    /// Too many wrong ones lately from there or for this user; nothing was compared.
    Later,
}

/// The users.
#[derive(Debug, Default)]
pub struct Users {
    hashes: BTreeMap<String, String>,
    /// The largest cost of a hash: a wrong password takes as long, whatever user it was for.
    cost: u32,
    memory: Arc<Memory>,
}

/// What outlives a configuration.
#[derive(Debug, Default)]
struct Memory {
    state: Mutex<Doorkeeper>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct Doorkeeper {
    known: VecDeque<Right>,
    budget: Budget,
    /// Addresses for which something is compared.
    busy: Vec<Place>,
    /// Addresses for which somebody waits for that.
    waiting: Vec<Place>,
}

/// A pair that was right, and where it came from.
#[derive(Debug, PartialEq, Eq)]
struct Right {
    digest: [u8; 32],
    from: Place,
}

impl Users {
    /// Users with their bcrypt hashes; nobody: everybody may ask.
    #[must_use]
    pub fn new(hashes: BTreeMap<String, String>) -> Self {
        let cost = hashes.values().map(|hash| cost(hash)).max().unwrap_or(COST);
        Self { hashes, cost, memory: Arc::default() }
    }

    /// The same users with what is remembered of former ones. A pair is remembered with its hash: one whose hash
    /// has changed is forgotten.
    #[must_use]
    pub fn after(mut self, former: &Self) -> Self {
        self.memory = Arc::clone(&former.memory);
        self
    }

    /// Whether anybody must say who they are.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Whether a request from an address with this header `Authorization` may be answered, at `now`.
    pub fn admit(&self, from: IpAddr, authorization: Option<&str>, now: Instant) -> Access {
        if !self.any() {
            return Access::Granted;
        }
        let Some((user, password)) = authorization.and_then(credentials) else {
            return Access::Denied;
        };
        if password.len() > LONGEST || password.contains('\0') {
            return Access::Denied;
        }
        let from = Place::of(from);
        let hash = self.hashes.get(&user).map(String::as_str);
        let right = Right { digest: digest(&user, &password, hash), from };
        let Some(turn) = self.turn(&user, hash.is_some(), &right, now) else {
            return if self.knows(&right, hash.is_some()) {
                Access::Granted
            } else {
                Access::Later
            };
        };
        let begun = Instant::now();
        let good = self.compare(&password, hash);
        turn.end(begun.elapsed(), good.then_some(right));
        if good { Access::Granted } else { Access::Denied }
    }

    /// Whether a pair was right before.
    fn knows(&self, right: &Right, exists: bool) -> bool {
        let state = self.memory.lock();
        exists && state.known.iter().any(|known| known.digest == right.digest)
    }

    /// Waits for a turn to compare; `None` if it needs none, or gets none.
    fn turn(&self, user: &str, exists: bool, right: &Right, now: Instant) -> Option<Turn<'_>> {
        let end = now + PATIENCE;
        let from = right.from;
        let mut state = self.memory.lock();
        loop {
            if exists && state.known.iter().any(|known| known.digest == right.digest) {
                return None;
            }
            // Guesses for a user from elsewhere are no matter of an address where a user was right.
            let trusted = state.known.iter().any(|known| known.from == from);
            if state.busy.len() < AT_ONCE && !state.busy.contains(&from) {
                let reserved = state.budget.take(from, user, trusted, self.cost, now)?;
                state.busy.push(from);
                let user = user.to_owned();
                return Some(Turn { memory: &self.memory, from, user, reserved, cost: self.cost });
            }
            let left = end.saturating_duration_since(Instant::now());
            let waiting = state.waiting.iter().filter(|place| **place == from).count();
            if left.is_zero() || waiting >= WAITING {
                return None;
            }
            state.waiting.push(from);
            state = self
                .memory
                .free
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if let Some(at) = state.waiting.iter().position(|place| *place == from) {
                state.waiting.swap_remove(at);
            }
        }
    }

    /// Compares; a wrong password takes as long as the costliest hash, also for a user that does not exist.
    fn compare(&self, password: &str, hash: Option<&str>) -> bool {
        let own = match hash {
            Some(hash) => {
                if matches!(bcrypt::verify(password, hash), Ok(true)) {
                    return true;
                }
                cost(hash)
            }
            None => {
                let _ = bcrypt::verify(password, &nobody(self.cost));
                self.cost
            }
        };
        // Work doubles with each step: those of c, c, c + 1, .. and n - 1 together are one of n.
        for step in own..self.cost {
            let _ = bcrypt::verify(password, &nobody(step));
        }
        false
    }
}

impl Memory {
    fn lock(&self) -> std::sync::MutexGuard<'_, Doorkeeper> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A comparison that is being made.
struct Turn<'a> {
    memory: &'a Memory,
    from: Place,
    user: String,
    reserved: Duration,
    cost: u32,
}

impl Turn<'_> {
    fn end(self, took: Duration, right: Option<Right>) {
        let mut state = self.memory.lock();
        let spent = if right.is_some() { Duration::ZERO } else { took };
        state.budget.settle(self.from, &self.user, self.reserved, spent);
        if let Some(right) = right {
            state.known.retain(|known| known.digest != right.digest);
            if state.known.len() == KNOWN {
                state.known.pop_front();
            }
            state.known.push_back(right);
        } else {
            state.budget.learn(self.cost, took);
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.memory.lock().busy.retain(|busy| *busy != self.from);
        self.memory.free.notify_all();
    }
}

/// The cost that a hash states.
fn cost(hash: &str) -> u32 {
    hash.split('$').nth(2).and_then(|cost| cost.parse().ok()).unwrap_or(COST)
}

/// A hash that no password fits, of a cost.
fn nobody(cost: u32) -> String {
    format!("$2y${cost:02}${NOBODY}")
}

fn digest(user: &str, password: &str, hash: Option<&str>) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [user, password, hash.unwrap_or("")] {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// User and password of a header `Basic BASE64`.
fn credentials(header: &str) -> Option<(String, String)> {
    let (scheme, rest) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let text = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn here() -> IpAddr {
        [192, 0, 2, 1].into()
    }

    fn there() -> IpAddr {
        [192, 0, 2, 2].into()
    }

    fn users_of(list: &[(&str, &str, u32)]) -> Users {
        let hashed = list.iter().map(|(user, password, cost)| {
            ((*user).to_owned(), bcrypt::hash(password, *cost).unwrap())
        });
        Users::new(hashed.collect())
    }

    fn users() -> Users {
        users_of(&[("prometheus", "secret", 4)])
    }

    fn header(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    /// Guesses until nothing is compared any more.
    fn exhaust(users: &Users, from: IpAddr, user: &str, now: Instant) {
        for guess in 0..100_000 {
            let guess = header(&format!("{user}:{guess}"));
            if users.admit(from, Some(&guess), now) == Access::Later {
                return;
            }
        }
        panic!("no limit");
    }

    #[test]
    fn the_right_pair_and_no_other() {
        let (users, now) = (users(), Instant::now());
        let admit = |text: &str| users.admit(here(), Some(&header(text)), now);
        assert_eq!(admit("prometheus:secret"), Access::Granted);
        for wrong in ["prometheus:Secret", "prometheus:", "nobody:secret"] {
            assert_eq!(admit(wrong), Access::Denied, "{wrong}");
        }
        for strange in ["", "Basic", "Basic x", "Bearer abc", "Basic !!!!"] {
            assert_eq!(users.admit(here(), Some(strange), now), Access::Denied, "{strange}");
        }
        assert_eq!(users.admit(here(), None, now), Access::Denied);
        assert_eq!(Users::default().admit(here(), None, now), Access::Granted);
    }

    #[test]
    fn guesses_keep_no_other_address_out() {
        let (users, now) = (users_of(&[("a", "secret", 4), ("b", "secret", 4)]), Instant::now());
        exhaust(&users, there(), "a", now);
        assert_eq!(users.admit(there(), Some(&header("a:secret")), now), Access::Later);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), now), Access::Granted);
        assert_eq!(users.admit(here(), Some(&header("b:secret")), now), Access::Granted);
        let later = now + Duration::from_secs(60);
        assert_eq!(users.admit(there(), Some(&header("a:secret")), later), Access::Granted);
    }

    #[test]
    fn who_was_right_is_known_also_after_the_configuration_was_read_anew() {
        let now = Instant::now();
        let hashes: BTreeMap<_, _> = [("a".to_owned(), bcrypt::hash("secret", 4).unwrap())].into();
        let users = Users::new(hashes.clone());
        assert_eq!(users.admit(here(), Some(&header("a:secret")), now), Access::Granted);
        let users = Users::new(hashes).after(&users);
        exhaust(&users, here(), "a", now);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), now), Access::Granted);
        // With another password the old one is not right any more, nor without the user.
        let users =
            Users::new([("a".to_owned(), bcrypt::hash("other", 4).unwrap())].into()).after(&users);
        let later = now + Duration::from_secs(60);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), later), Access::Denied);
        let users =
            Users::new([("b".to_owned(), bcrypt::hash("x", 4).unwrap())].into()).after(&users);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), later), Access::Denied);
    }

    #[test]
    fn a_wrong_password_takes_as_long_whoever_it_is_for() {
        let users = users_of(&[("cheap", "x", 4), ("costly", "x", 8)]);
        // By the thread's own clock: others may keep the machine busy.
        let spent = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
        };
        let took = |user: &str| {
            let of = |_| {
                let begun = spent();
                assert!(!users.compare("wrong", users.hashes.get(user).map(String::as_str)));
                spent() - begun
            };
            (0..7).map(of).fold(f64::INFINITY, f64::min)
        };
        let (cheap, costly, unknown) = (took("cheap"), took("costly"), took("unknown"));
        for other in [cheap, unknown] {
            let ratio = other / costly;
            assert!((0.6..1.6).contains(&ratio), "{cheap} {costly} {unknown}");
        }
    }

    #[test]
    fn what_bcrypt_would_cut_off_is_refused() {
        let long = "x".repeat(LONGEST);
        let (users, now) = (users_of(&[("a", &long, 4)]), Instant::now());
        let admit =
            |password: &str| users.admit(here(), Some(&header(&format!("a:{password}"))), now);
        assert_eq!(admit(&format!("{long}y")), Access::Denied);
        assert_eq!(admit(&format!("{}\0", &long[1..])), Access::Denied);
        assert_eq!(admit(&long), Access::Granted);
        assert_eq!(admit(&format!("{long}y")), Access::Denied);
    }

    #[test]
    fn who_is_known_does_not_wait_for_a_comparison() {
        let users = Arc::new(users_of(&[("a", "secret", 4), ("b", "x", 11)]));
        let right = header("a:secret");
        assert_eq!(users.admit(here(), Some(&right), Instant::now()), Access::Granted);
        let guessing = {
            let users = Arc::clone(&users);
            std::thread::spawn(move || {
                users.admit(there(), Some(&header("b:wrong")), Instant::now());
            })
        };
        let mut during = 0;
        while !guessing.is_finished() {
            assert_eq!(users.admit(here(), Some(&right), Instant::now()), Access::Granted);
            during += 1;
        }
        assert!(during > 10, "{during}");
        guessing.join().unwrap();
    }

    #[test]
    fn nobody_can_be_nobody() {
        for cost in [4, 10] {
            assert!(matches!(bcrypt::verify("x", &nobody(cost)), Ok(false)));
        }
    }

    proptest! {
        #[test]
        fn any_header(header in any::<String>()) {
            let _ = credentials(&header);
        }
    }
}

//! Authentication of clients: basic authentication against bcrypt hashes.
//!
//! A bcrypt comparison takes tens of milliseconds on purpose. So a pair that was once right is remembered by its
//! digest, even when the configuration is reloaded; and comparisons of other pairs have a budget of CPU time, one for
//! each address and one for each user ([`super::budget`]). An address that exhausts its own is refused at once. For the
//! rest of a user's budget, addresses wait in turn: first those that have sent a right pair before, then those for
//! which nothing has been compared yet, then the one that was served longest ago. So even if many addresses guess
//! without end, a right pair from another address waits for at most one comparison for each new address that came
//! before it. No comparison is made while a lock is held.

use super::budget::Place;
use super::turns::{Doorkeeper, Right};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Added to the wait for a share of CPU time, so that the share is sufficient when the wait ends.
const BEAT: Duration = Duration::from_millis(2);
/// How long a request may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(4);
/// bcrypt uses no more bytes of a password, so that the bytes after them would not matter.
const LONGEST: usize = 72;
/// A hash without its cost, of an unknown password.
const NOBODY: &str = "6VPoYVz6rxkzRagSjt4xtOFqxZrsHg4bdwrRUM9K6T1GelbUY6CQe";
/// The cost if no user defines one.
const COST: u32 = 10;

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The client may proceed.
    Granted,
    /// A wrong pair, or none.
    Denied,
    /// Too many wrong ones recently from there or for this user; nothing was compared.
    Later,
}

/// The users.
#[derive(Debug, Default)]
pub struct Users {
    hashes: BTreeMap<String, String>,
    /// The largest cost of a hash: a wrong password takes as long for every user.
    cost: u32,
    memory: Arc<Memory>,
}

/// The state that outlives a configuration.
#[derive(Debug, Default)]
struct Memory {
    state: Mutex<Doorkeeper>,
    free: Condvar,
}

impl Users {
    /// Users with their bcrypt hashes; without users, every request is granted.
    #[must_use]
    pub fn new(hashes: BTreeMap<String, String>) -> Self {
        let cost = hashes.values().map(|hash| cost(hash)).max().unwrap_or(COST);
        Self { hashes, cost, memory: Arc::default() }
    }

    /// Returns the same users with the remembered state of previous ones. A pair is remembered with
    /// its hash: one whose hash has changed is forgotten.
    #[must_use]
    pub fn after(mut self, former: &Self) -> Self {
        self.memory = Arc::clone(&former.memory);
        self
    }

    /// Returns whether requests need a user and a password.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Returns whether a request from an address with this header `Authorization` may be served, at `now`.
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
        let from = Place::of_guess(from);
        let hash = self.hashes.get(&user).map(String::as_str);
        let right = Right { digest: digest(&user, &password, hash), from };
        let Some(turn) = self.turn(&user, hash.is_some(), &right, now) else {
            return if self.knows(&right, hash.is_some()) {
                Access::Granted
            } else {
                Access::Later
            };
        };
        let begun = cpu_time();
        let good = self.compare(&password, hash);
        turn.end(cpu_time().saturating_sub(begun), good.then_some(right));
        if good { Access::Granted } else { Access::Denied }
    }

    /// Returns whether a pair was right before.
    fn knows(&self, right: &Right, exists: bool) -> bool {
        exists && self.memory.lock().knows(right)
    }

    /// Waits for a turn to compare; `None` if it needs none, or gets none.
    fn turn(&self, user: &str, exists: bool, right: &Right, now: Instant) -> Option<Turn<'_>> {
        let begun = Instant::now();
        let from = right.from;
        let mut state = self.memory.lock();
        if exists && state.knows(right) {
            return None;
        }
        let number = state.enter(from, user, self.cost, now)?;
        loop {
            let spent = begun.elapsed();
            let now = now + spent;
            if exists && state.knows(right) || state.is_put_off(number) || spent >= PATIENCE {
                state.leave(number);
                return None;
            }
            let mut nap = PATIENCE - spent;
            if state.next(self.cost, now) == Some(number) {
                let trusted = state.trusts(from);
                if let Some(reserved) = state.budget.take(from, user, trusted, self.cost, now) {
                    state.leave(number);
                    state.busy.push(from);
                    let user = user.to_owned();
                    let (memory, cost) = (&self.memory, self.cost);
                    return Some(Turn { memory, from, user, reserved, cost });
                }
                // This client's guesses count, not those of others.
                state.leave(number);
                self.memory.free.notify_all();
                return None;
            }
            if !state.trusts(from) {
                let until = state.budget.until(user, self.cost, now);
                if !until.is_zero() {
                    nap = nap.min(until + BEAT);
                }
            }
            let waited = self.memory.free.wait_timeout(state, nap);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Compares; a wrong password takes as long as the costliest hash, even for a user that does not exist.
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

/// CPU time of this thread: the budgets are of CPU time, and on a busy machine a comparison takes many times as long.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Turn<'_> {
    fn end(self, took: Duration, right: Option<Right>) {
        let mut state = self.memory.lock();
        let spent = if right.is_some() { Duration::ZERO } else { took };
        state.budget.settle(self.from, &self.user, self.reserved, spent);
        if let Some(right) = right {
            state.remember(right);
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

    /// Guesses until nothing more is compared.
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
    fn right_pairs_are_remembered_after_the_configuration_was_reloaded() {
        let now = Instant::now();
        let hashes: BTreeMap<_, _> = [("a".to_owned(), bcrypt::hash("secret", 4).unwrap())].into();
        let users = Users::new(hashes.clone());
        assert_eq!(users.admit(here(), Some(&header("a:secret")), now), Access::Granted);
        let users = Users::new(hashes).after(&users);
        exhaust(&users, here(), "a", now);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), now), Access::Granted);
        // After a change of the password the old one is no longer right; nor is it after the user was removed.
        let users =
            Users::new([("a".to_owned(), bcrypt::hash("other", 4).unwrap())].into()).after(&users);
        let later = now + Duration::from_secs(60);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), later), Access::Denied);
        let users =
            Users::new([("b".to_owned(), bcrypt::hash("x", 4).unwrap())].into()).after(&users);
        assert_eq!(users.admit(here(), Some(&header("a:secret")), later), Access::Denied);
    }

    #[test]
    fn a_wrong_password_takes_as_long_for_any_user() {
        let users = users_of(&[("cheap", "x", 4), ("costly", "x", 8)]);
        // By the thread's own CPU time: other programs may keep the machine busy.
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
    fn cpu_time_is_not_that_in_which_others_run() {
        let (begun, wall) = (cpu_time(), Instant::now());
        std::thread::sleep(Duration::from_millis(50));
        assert!(cpu_time() - begun < wall.elapsed() / 2);
        assert!(cpu_time() > Duration::ZERO);
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

    /// After a restart no pair is remembered, and sixteen addresses guess for the user whose budget they have exhausted.
    #[test]
    fn right_pair_of_a_new_address_gets_in_among_sixteen_that_guess() {
        use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
        let users = users_of(&[("a", "secret", 6)]);
        let now = Instant::now();
        {
            let mut state = users.memory.lock();
            let place = Place::of_guess([198, 51, 100, 1].into());
            let reserved = state.budget.take(place, "a", false, 6, now).unwrap();
            state.budget.settle(place, "a", reserved, Duration::from_secs(4));
        }
        let (over, refused) = (AtomicBool::new(false), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for last in 10..26_u8 {
                let (users, over, refused) = (&users, &over, &refused);
                scope.spawn(move || {
                    for guess in 0.. {
                        if over.load(Ordering::Relaxed) {
                            return;
                        }
                        let guess = header(&format!("a:{guess}"));
                        let from = [127, 0, 0, last].into();
                        if users.admit(from, Some(&guess), Instant::now()) == Access::Later {
                            refused.fetch_add(1, Ordering::Relaxed);
                            std::thread::sleep(Duration::from_millis(5));
                        }
                    }
                });
            }
            std::thread::sleep(Duration::from_secs(1));
            let got = users.admit([127, 0, 0, 1].into(), Some(&header("a:secret")), Instant::now());
            over.store(true, Ordering::Relaxed);
            assert_eq!(got, Access::Granted);
        });
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
    fn no_password_fits_the_unknown_user() {
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

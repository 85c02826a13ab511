//! Who may ask: basic authentication against bcrypt hashes.
//!
//! A bcrypt comparison takes tens of milliseconds on purpose. So a pair that was right once is remembered
//! by its digest, wrong ones are answered at a bounded rate, and one comparison runs at a time: neither
//! scrapes nor guesses keep a processor busy.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Right pairs that are remembered.
const KNOWN: usize = 64;
/// Comparisons for what is not remembered, at once and then each [`PAUSE`].
const BURST: u32 = 5;
/// See [`BURST`].
const PAUSE: Duration = Duration::from_secs(1);
/// The hash of nothing that anybody knows, to be compared with for names that do not exist: they must
/// not be told by a quick answer.
const NOBODY: &str = "$2y$10$6VPoYVz6rxkzRagSjt4xtOFqxZrsHg4bdwrRUM9K6T1GelbUY6CQe";

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Come in.
    Granted,
    /// Wrong, or nothing was said.
    Denied,
    /// Too many wrong ones lately; nothing was compared.
    Later,
}

/// The users.
#[derive(Debug, Default)]
pub struct Users {
    hashes: BTreeMap<String, String>,
    state: Mutex<Doorkeeper>,
}

#[derive(Debug, Default)]
struct Doorkeeper {
    known: VecDeque<[u8; 32]>,
    recent: VecDeque<Instant>,
}

impl Users {
    /// Users with their bcrypt hashes; nobody: everybody may ask.
    #[must_use]
    pub fn new(hashes: BTreeMap<String, String>) -> Self {
        Self { hashes, state: Mutex::default() }
    }

    /// Whether anybody must say who they are.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.hashes.is_empty()
    }

    /// Whether a request with this header `Authorization` may be answered, at `now`.
    pub fn admit(&self, authorization: Option<&str>, now: Instant) -> Access {
        if !self.any() {
            return Access::Granted;
        }
        let Some((user, password)) = authorization.and_then(credentials) else {
            return Access::Denied;
        };
        let mut digest = Sha256::new();
        digest.update((user.len() as u64).to_le_bytes());
        digest.update(&user);
        digest.update(&password);
        let digest: [u8; 32] = digest.finalize().into();
        // Held during the comparison: one at a time.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.known.contains(&digest) {
            return Access::Granted;
        }
        while state.recent.front().is_some_and(|at| now.duration_since(*at) > PAUSE * BURST) {
            state.recent.pop_front();
        }
        if state.recent.len() >= BURST as usize {
            return Access::Later;
        }
        state.recent.push_back(now);
        let hash = self.hashes.get(&user);
        let right = bcrypt::verify(&password, hash.map_or(NOBODY, String::as_str));
        if hash.is_none() || !matches!(right, Ok(true)) {
            return Access::Denied;
        }
        state.recent.pop_back();
        if state.known.len() == KNOWN {
            state.known.pop_front();
        }
        state.known.push_back(digest);
        Access::Granted
    }
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

    fn users() -> Users {
        let hash = bcrypt::hash("secret", 4).unwrap();
        Users::new([("prometheus".to_owned(), hash)].into())
    }

    fn header(text: &str) -> String {
        format!("Basic {}", STANDARD.encode(text))
    }

    #[test]
    fn the_right_pair_and_no_other() {
        let (users, now) = (users(), Instant::now());
        assert_eq!(users.admit(Some(&header("prometheus:secret")), now), Access::Granted);
        for wrong in ["prometheus:Secret", "prometheus:", "nobody:secret"] {
            assert_eq!(users.admit(Some(&header(wrong)), now), Access::Denied, "{wrong}");
        }
        for strange in ["", "Basic", "Basic x", "Bearer abc", "Basic !!!!"] {
            assert_eq!(users.admit(Some(strange), now), Access::Denied, "{strange}");
        }
        assert_eq!(users.admit(None, now), Access::Denied);
        assert_eq!(Users::default().admit(None, now), Access::Granted);
    }

    #[test]
    fn guesses_are_slowed_down_and_who_is_known_comes_in() {
        let (users, now) = (users(), Instant::now());
        let right = header("prometheus:secret");
        assert_eq!(users.admit(Some(&right), now), Access::Granted);
        for guess in 0..BURST {
            let guess = header(&format!("prometheus:{guess}"));
            assert_eq!(users.admit(Some(&guess), now), Access::Denied);
        }
        assert_eq!(users.admit(Some(&header("prometheus:x")), now), Access::Later);
        assert_eq!(users.admit(Some(&right), now), Access::Granted);
        let later = now + PAUSE * (BURST + 1);
        assert_eq!(users.admit(Some(&header("prometheus:x")), later), Access::Denied);
    }

    #[test]
    fn nobody_can_be_nobody() {
        // The comparison for unknown names takes as long as a real one: its hash is well formed.
        assert!(matches!(bcrypt::verify("x", NOBODY), Ok(false)));
    }

    proptest! {
        #[test]
        fn any_header(header in any::<String>()) {
            let _ = credentials(&header);
        }
    }
}

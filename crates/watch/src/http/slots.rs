//! Places for connections. When there are none left, the connection that has kept the server waiting longest makes room
//! for the new one. A connection is not blamed for what the server has not read yet.

use super::budget::Place;
use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections of one address at the same time; twice as many while the server has not read what they have sent.
pub const OF_ONE: usize = 32;
/// Connections at the same time.
pub const AT_ONCE: usize = 64;
/// How long a connection may be silent at its beginning.
const YOUNG: Duration = Duration::from_millis(20);
/// How long the server may take to read what has come.
const SLOW: Duration = Duration::from_secs(1);
/// How often a new connection looks for a place, and how many times.
const PAUSE: Duration = Duration::from_millis(5);
const TRIES: u32 = 100;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It was answered, and is waited for; its end is no loss.
    Ending,
    /// Its request comes, or the beginning of its TLS handshake.
    Unknown,
    /// Its half of a TLS handshake has begun as one does; its request comes. A client that dribbles a handshake makes room first.
    Greeted,
    /// A refusal goes, or what everybody may have.
    Unproven,
    /// The answer that it may have goes.
    Answered,
    /// The server works for it.
    Working,
}

#[derive(Debug)]
struct Slot {
    from: Place,
    phase: Phase,
    since: Instant,
    stream: TcpStream,
}

/// All connections.
#[derive(Debug)]
pub struct Slots {
    open: Mutex<(u64, BTreeMap<u64, Slot>)>,
    most: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Slots {
    /// So many places.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { open: Mutex::default(), most }
    }

    /// How many places there are.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Ends the connection that makes room next. Says whether there was one.
    pub fn make_room(&self) -> bool {
        evict(&mut self.lock().1, None)
    }

    /// Takes a place for a connection, and makes room first if there is none.
    ///
    /// # Errors
    /// The system has no descriptor left, or the server works for all others and none of them ends.
    pub fn take(&self, stream: &TcpStream, from: Place) -> std::io::Result<u64> {
        let stream = stream.try_clone()?;
        for tried in 0..TRIES {
            let mut open = self.lock();
            let (next, slots) = &mut *open;
            let mut of_it = slots.values().filter(|slot| slot.from == from).count();
            // There may be more than one too many, of a time when none could be blamed.
            while of_it >= OF_ONE.min(self.most) && evict(slots, Some(from)) {
                of_it -= 1;
            }
            // Of one address none waits for another one's place.
            if of_it >= 2 * OF_ONE {
                drop(open);
                // Connections that have just come are not young for long.
                if PAUSE * tried > 2 * YOUNG {
                    break;
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            // An address that has its share already takes no place of another one.
            let own = (of_it >= OF_ONE.min(self.most)).then_some(from);
            if slots.len() < self.most || evict(slots, own) {
                *next += 1;
                let since = Instant::now();
                slots.insert(*next, Slot { from, phase: Phase::Unknown, since, stream });
                return Ok(*next);
            }
            drop(open);
            std::thread::sleep(PAUSE);
        }
        Err(std::io::Error::other("no place is left"))
    }

    /// A connection does something else now.
    pub fn set(&self, number: u64, phase: Phase) {
        if let Some(slot) = self.lock().1.get_mut(&number) {
            (slot.phase, slot.since) = (phase, Instant::now());
        }
    }

    /// A connection has ended.
    pub fn leave(&self, number: u64) {
        self.lock().1.remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, (u64, BTreeMap<u64, Slot>)> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Whether it keeps the server waiting.
    fn waits(&self) -> bool {
        let age = self.since.elapsed();
        match self.phase {
            Phase::Working => false,
            Phase::Ending => true,
            _ if age < YOUNG => false,
            Phase::Unknown | Phase::Greeted if age < SLOW => {
                // Its request may be here, and its thread have had no processor yet.
                rustix::io::ioctl_fionread(&self.stream).unwrap_or(0) == 0
            }
            // The answer may not have been written yet.
            Phase::Unproven | Phase::Answered if age < SLOW => unread(&self.stream) > 0,
            _ => true,
        }
    }
}

/// Bytes that were written and have not reached the client.
fn unread(stream: &TcpStream) -> libc::c_int {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int to the pointer, which is to a live one.
    let got = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if got == 0 { bytes } else { 0 }
}

/// Ends one connection, of an address or of the one that has most: one that keeps the server waiting, of those the
/// least known, and of those the one that takes longest. Says whether there was one.
fn evict(slots: &mut BTreeMap<u64, Slot>, from: Option<Place>) -> bool {
    let many = |place: Place| slots.values().filter(|slot| slot.from == place).count();
    let chosen = slots
        .iter()
        .filter(|(_, slot)| from.is_none_or(|from| slot.from == from) && slot.waits())
        .min_by_key(|(_, slot)| (slot.phase, std::cmp::Reverse(many(slot.from)), slot.since))
        .map(|(number, _)| *number);
    let Some(slot) = chosen.and_then(|number| slots.remove(&number)) else { return false };
    // Its thread sees the end of the stream.
    let _ = slot.stream.shutdown(Shutdown::Both);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn place(last: u8) -> Place {
        Place::of([192, 0, 2, last].into())
    }

    #[test]
    fn storm_of_one_address_takes_no_place_of_another() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let mut open = Vec::new();
        let mut add = |from: u8| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let number = slots.take(&stream, place(from));
            open.push((client, stream));
            number
        };
        let other = add(2).unwrap();
        std::thread::sleep(2 * YOUNG);
        for _ in 0..2 * AT_ONCE {
            let _ = add(1);
        }
        assert!(slots.lock().1.contains_key(&other));
    }

    #[test]
    fn the_slowest_of_the_one_who_has_most_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let mut open = Vec::new();
        let mut add = |from: u8, says: &[u8]| {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(says).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let number = slots.take(&stream, place(from)).unwrap();
            open.push((client, stream));
            number
        };
        let first = add(1, b"");
        let spoke = add(1, b"GET");
        let other = add(2, b"");
        let works = add(1, b"");
        slots.set(works, Phase::Working);
        std::thread::sleep(2 * YOUNG);
        for _ in 3..OF_ONE {
            add(1, b"");
        }
        let has = |number: u64| slots.lock().1.contains_key(&number);
        assert!(has(first));
        // One more than an address may have.
        add(1, b"");
        assert!(!has(first) && has(spoke) && has(other) && has(works));
    }

    #[test]
    fn few_places_go_to_who_comes_last() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::new(4);
        let mut open = Vec::new();
        for last in 0..20 {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let number = slots.take(&stream, place(last)).unwrap();
            open.push((client, stream));
            assert!(slots.lock().1.contains_key(&number) && slots.lock().1.len() <= 4);
        }
        std::thread::sleep(2 * YOUNG);
        assert!(slots.make_room());
        assert_eq!(slots.lock().1.len(), 3);
    }

    #[test]
    fn evict_dribbled_handshake_goes_before_whole_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let mut open = Vec::new();
        let mut add = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let number = slots.take(&stream, place(1)).unwrap();
            open.push((client, stream));
            number
        };
        // The oldest one, and silent.
        let greeted = add();
        slots.set(greeted, Phase::Greeted);
        for _ in 1..3 * OF_ONE {
            std::thread::sleep(YOUNG / 4);
            add();
        }
        std::thread::sleep(2 * YOUNG);
        add();
        assert!(slots.lock().1.contains_key(&greeted));
    }

    #[test]
    fn take_of_an_address_that_has_too_many_ends_all_that_are() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let mut open = Vec::new();
        let mut add = || {
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            client.write_all(b"GET").unwrap();
            let (stream, _) = listener.accept().unwrap();
            slots.take(&stream, place(1)).unwrap();
            open.push((client, stream));
        };
        let many = || slots.lock().1.len();
        for _ in 0..2 * OF_ONE {
            add();
        }
        // What they have sent was not read yet.
        assert!(many() > OF_ONE, "{}", many());
        std::thread::sleep(SLOW + 2 * YOUNG);
        add();
        assert_eq!(many(), OF_ONE);
    }
}

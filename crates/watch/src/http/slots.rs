//! Places for connections. When none is left, a connection that keeps the server waiting makes room for the new one: of
//! the address that has wasted most places, the one that takes longest. An address that was served recently comes
//! before all others (`standing`), so addresses that only hold connections, however many, hinder it as little as they
//! hinder a new address. A connection is not held responsible for data that the server has not
//! read yet.

use super::budget::Place;
use super::standing::{Records, Standing};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Connections of one address at the same time; twice as many while the server has not read their bytes.
pub const OF_ONE: usize = 32;
/// Connections at the same time.
pub const AT_ONCE: usize = 64;
/// How long a connection may be silent at its beginning.
const YOUNG: Duration = Duration::from_millis(20);
/// How long the server may take to read the bytes that have arrived.
const SLOW: Duration = Duration::from_secs(1);
/// How often a new connection tries to get a place, and how many times.
const PAUSE: Duration = Duration::from_millis(5);
const TRIES: u32 = 100;

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// The response was sent, and the client's end of the connection is awaited; closing the connection loses nothing.
    Ending,
    /// Its request is arriving, or the beginning of its TLS handshake.
    Unknown,
    /// Its half of a TLS handshake has begun as usual; its request is arriving. A client that dribbles a handshake
    /// makes room first.
    Greeted,
    /// The server sends a refusal, or a public page.
    Unproven,
    /// The response that it may have is being sent.
    Answered,
    /// The server works for it.
    Working,
}

#[derive(Debug)]
struct Slot {
    from: Place,
    /// The place that shares [`OF_ONE`] where places are short: all of loopback, since one local user can use all of
    /// it.
    share: Place,
    phase: Phase,
    since: Instant,
    /// It got a response that its address may have.
    served: bool,
    stream: TcpStream,
}

/// All connections.
#[derive(Debug)]
pub struct Slots {
    open: Mutex<Open>,
    most: usize,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of connections so far.
    numbers: u64,
    slots: BTreeMap<u64, Slot>,
    records: Records,
}

/// The result of a request for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Made,
    /// Nothing waits.
    None,
    /// The connections that wait are of clearly better addresses.
    Better,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(AT_ONCE)
    }
}

impl Slots {
    /// Makes this many places.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { open: Mutex::default(), most }
    }

    /// Returns the number of places.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most
    }

    /// Ends the connection that makes room next. Returns whether there was one.
    pub fn make_room(&self) -> bool {
        self.lock().evict(Standing::FRESH, |_| true) == Room::Made
    }

    /// Takes a place for a connection, and makes room first if there is none.
    ///
    /// # Errors
    /// Returns an error if the system has no descriptor left, or if no connection can be ended to make room: the server
    /// is busy with all of them, or they come from better addresses.
    pub fn take(&self, stream: &TcpStream, client: IpAddr) -> std::io::Result<u64> {
        let stream = stream.try_clone()?;
        let (from, share) = (Place::of_guess(client), Place::of(client));
        for tried in 0..TRIES {
            let mut open = self.lock();
            let standing = open.standing_with_one_more(from);
            let mut of_it = open.slots.values().filter(|slot| slot.from == from).count();
            // There may be several too many, from a time when none could be ended.
            while of_it >= OF_ONE.min(self.most)
                && open.evict(standing, |slot| slot.from == from) == Room::Made
            {
                of_it -= 1;
            }
            // A connection beyond its address's share does not wait for the place of another address.
            if of_it >= 2 * OF_ONE {
                drop(open);
                // Connections that have just come are not young for long.
                if PAUSE * tried > 2 * YOUNG {
                    break;
                }
                std::thread::sleep(PAUSE);
                continue;
            }
            // A client that already has its share does not get the place of another one.
            let of_share = open.slots.values().filter(|slot| slot.share == share).count();
            let own = of_share >= OF_ONE.min(self.most);
            let room = if open.slots.len() < self.most {
                Room::Made
            } else {
                open.evict(standing, |slot| !own || slot.share == share)
            };
            match room {
                Room::Made => {
                    let (since, phase) = (Instant::now(), Phase::Unknown);
                    open.numbers += 1;
                    let number = open.numbers;
                    let slot = Slot { from, share, phase, since, served: false, stream };
                    open.slots.insert(number, slot);
                    return Ok(number);
                }
                // While it waits, better ones would wait behind it.
                Room::Better => break,
                Room::None => {}
            }
            drop(open);
            std::thread::sleep(PAUSE);
        }
        self.lock().records.wasted(from, Instant::now());
        Err(std::io::Error::other("no place is left"))
    }

    /// Sets the phase of a connection.
    pub fn set(&self, number: u64, phase: Phase) {
        if let Some(slot) = self.lock().slots.get_mut(&number) {
            (slot.phase, slot.since) = (phase, Instant::now());
        }
    }

    /// A connection got a response that its address may have, or proved that it may have it.
    pub fn served(&self, number: u64) {
        let mut open = self.lock();
        let open = &mut *open;
        if let Some(slot) = open.slots.get_mut(&number) {
            slot.served = true;
            open.records.served(slot.from, Instant::now());
        }
    }

    /// A connection has ended.
    pub fn leave(&self, number: u64) {
        self.lock().end(number);
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Returns whether it may be ended, because it keeps the server waiting. `better`: also young ones, for a better
    /// one.
    fn waits(&self, better: bool) -> bool {
        let age = self.since.elapsed();
        match self.phase {
            Phase::Working => false,
            Phase::Ending => true,
            _ if better => true,
            _ if age < YOUNG => false,
            Phase::Unknown | Phase::Greeted if age < SLOW => {
                // Its request may have arrived, while its thread has not run yet.
                rustix::io::ioctl_fionread(&self.stream).unwrap_or(0) == 0
            }
            // The response may not have been written yet.
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

impl Open {
    /// The standing of an address with one more connection.
    fn standing_with_one_more(&self, from: Place) -> Standing {
        let open = self.slots.values().filter(|slot| slot.from == from && !slot.served).count();
        self.records.standing(from, open + 1, Instant::now())
    }

    /// Ends one connection for one of that standing: one that keeps the server waiting, of the addresses with the worst
    /// standing, of those the least known, and of those the one that takes longest. A connection with a clearly better
    /// standing than the new one is kept while it may still be quick.
    fn evict(&mut self, new: Standing, which: impl Fn(&Slot) -> bool) -> Room {
        let now = Instant::now();
        let mut many: HashMap<Place, (usize, usize)> = HashMap::new();
        for slot in self.slots.values() {
            let (all, unserved) = many.entry(slot.from).or_default();
            *all += 1;
            *unserved += usize::from(!slot.served);
        }
        let many: HashMap<Place, (usize, Standing)> = many
            .into_iter()
            .map(|(from, (all, unserved))| {
                (from, (all, self.records.standing(from, unserved, now)))
            })
            .collect();
        let (mut better, mut chosen) = (false, None);
        for (number, slot) in self.slots.iter().filter(|(_, slot)| which(slot)) {
            let (all, standing) = many.get(&slot.from).copied().unwrap_or((0, new));
            if !slot.waits(new.clearly_better(standing)) {
                continue;
            }
            let ending = slot.phase == Phase::Ending;
            if !ending && standing.clearly_better(new) && slot.since.elapsed() < SLOW {
                better = true;
                continue;
            }
            // A connection whose response was sent loses nothing when it ends, from any address.
            let key = (!ending, standing, slot.phase, Reverse(all), slot.since);
            if chosen.as_ref().is_none_or(|(least, _)| key < *least) {
                chosen = Some((key, *number));
            }
        }
        let Some((_, number)) = chosen else {
            return if better { Room::Better } else { Room::None };
        };
        if let Some(slot) = self.end(number) {
            // Its thread sees the end of the stream, and ends.
            let _ = slot.stream.shutdown(Shutdown::Both);
        }
        Room::Made
    }

    /// Removes a connection, and remembers whether it was served.
    fn end(&mut self, number: u64) -> Option<Slot> {
        let slot = self.slots.remove(&number)?;
        if !slot.served {
            self.records.wasted(slot.from, Instant::now());
        }
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn place(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
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
        assert!(slots.lock().slots.contains_key(&other));
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
        let has = |number: u64| slots.lock().slots.contains_key(&number);
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
            assert!(slots.lock().slots.contains_key(&number) && slots.lock().slots.len() <= 4);
        }
        std::thread::sleep(2 * YOUNG);
        assert!(slots.make_room());
        assert_eq!(slots.lock().slots.len(), 3);
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
        assert!(slots.lock().slots.contains_key(&greeted));
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
        let many = || slots.lock().slots.len();
        for _ in 0..2 * OF_ONE {
            add();
        }
        // Their bytes have not been read yet.
        assert!(many() > OF_ONE, "{}", many());
        std::thread::sleep(SLOW + 2 * YOUNG);
        add();
        assert_eq!(many(), OF_ONE);
    }

    /// Twice as many addresses as there are places come again and again, send one half of a handshake and go. An
    /// address that was served before, and one that comes for the first time, are as slow as those, and keep their
    /// places.
    #[test]
    fn addresses_that_only_hold_connections_keep_no_other_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let take = |from: IpAddr| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let number = slots.take(&stream, from);
            (number, client, stream)
        };
        let mut held = std::collections::VecDeque::new();
        let mut storm = |rounds: u8| {
            for last in (0..rounds).flat_map(|_| 1..=2 * AT_ONCE as u8) {
                let (number, client, stream) = take(IpAddr::from([127, 0, 4, last]));
                let Ok(number) = number else { continue };
                slots.set(number, Phase::Greeted);
                held.push_back((number, client, stream));
                if held.len() > 2 * AT_ONCE
                    && let Some((number, ..)) = held.pop_front()
                {
                    slots.leave(number);
                }
            }
        };
        let served = IpAddr::from([127, 0, 9, 1]);
        let (number, ..) = take(served);
        slots.served(number.as_ref().copied().unwrap());
        slots.leave(number.unwrap());
        storm(3);
        for from in [served, [127, 0, 9, 2].into()] {
            let (number, _client, _stream) = take(from);
            let number = number.unwrap();
            // It has sent nothing yet, and then no more than those.
            storm(1);
            assert!(slots.lock().slots.contains_key(&number), "{from} at the beginning");
            slots.set(number, Phase::Greeted);
            storm(1);
            assert!(slots.lock().slots.contains_key(&number), "{from} in its handshake");
            slots.leave(number);
        }
    }

    /// Each connection comes from another /64 of one network. One that was served, and one that comes for the first time from
    /// elsewhere, keep their places.
    #[test]
    fn ever_new_networks_keep_no_other_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let take = |from: IpAddr| {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            (slots.take(&stream, from), client, stream)
        };
        let mut held = std::collections::VecDeque::new();
        let mut new = 0;
        let mut storm = |rounds: usize| {
            for _ in 0..rounds * 2 * AT_ONCE {
                new += 1;
                let from: IpAddr = format!("2001:db8:1:{new:x}::1").parse().unwrap();
                let (number, client, stream) = take(from);
                let Ok(number) = number else { continue };
                slots.set(number, Phase::Greeted);
                held.push_back((number, client, stream));
                if held.len() > 2 * AT_ONCE
                    && let Some((number, ..)) = held.pop_front()
                {
                    slots.leave(number);
                }
            }
        };
        let served: IpAddr = "2001:db8:1:ffff::1".parse().unwrap();
        let (number, ..) = take(served);
        slots.served(number.as_ref().copied().unwrap());
        slots.leave(number.unwrap());
        storm(3);
        for from in [served, "2001:db9::1".parse().unwrap(), [192, 0, 2, 1].into()] {
            let (number, _client, _stream) = take(from);
            let number = number.unwrap();
            storm(1);
            assert!(slots.lock().slots.contains_key(&number), "{from} at the beginning");
            slots.set(number, Phase::Greeted);
            storm(1);
            assert!(slots.lock().slots.contains_key(&number), "{from} in its handshake");
            slots.leave(number);
        }
    }

    #[test]
    fn one_who_is_young_makes_no_room_while_there_are_places() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let slots = Slots::default();
        let mut open = Vec::new();
        for last in 1..=AT_ONCE as u8 {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            slots.take(&stream, [127, 0, 4, last].into()).unwrap();
            open.push((client, stream));
            std::thread::sleep(YOUNG / 10);
            assert_eq!(slots.lock().slots.len(), usize::from(last));
        }
    }
}
